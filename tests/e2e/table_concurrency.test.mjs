// Many clients of one table at once: transactions are seen whole, conditions decide between writers,
// and a table is locked by leasing a blob that clients have agreed on ("Managing Concurrency in
// Microsoft Azure Storage", the table service).

import test from 'node:test';
import assert from 'node:assert/strict';
import { seeded } from './helpers/random.mjs';
import { startServer, stopsCleanly } from './helpers/server.mjs';
import { all, newTable, refusal, tableClient } from './helpers/table.mjs';

const server = await startServer();

const times = (count, make) => Promise.all(Array.from({ length: count }, (_, i) => make(i)));

// Runs `work` while `watchers` of `watch` run again and again, at least once each.
async function watched(work, watchers, watch) {
  let working = true;
  const watching = times(watchers, async (i) => {
    do await watch(i); while (working);
  });
  try {
    await work();
  } finally {
    working = false;
  }
  await watching;
}

// --- optimistic ---

test('of many who insert one entity exactly one succeeds', async () => {
  const table = await newTable(server);
  const outcomes = await times(20, (n) => table.createEntity({ partitionKey: 'p', rowKey: 'r', n })
    .then(() => n, (error) => {
      assert.equal(error.statusCode, 409);
      return null;
    }));
  const winners = outcomes.filter((n) => n !== null);
  assert.equal(winners.length, 1);
  assert.equal((await table.getEntity('p', 'r')).n, winners[0]);
});

test('no increment under If-Match is lost, and no ETag comes twice', async () => {
  const table = await newTable(server);
  await table.createEntity({ partitionKey: 'p', rowKey: 'r', n: 0 });
  const etags = [];
  let conflicts = 0;
  await times(8, async () => {
    for (let done = 0; done < 10;) {
      const entity = await table.getEntity('p', 'r');
      try {
        const { etag } = await table.updateEntity({ ...entity, n: entity.n + 1 }, 'Replace',
          { etag: entity.etag });
        etags.push(etag);
        done++;
      } catch (error) {
        refusal(412, 'UpdateConditionNotSatisfied')(error);
        conflicts++;
      }
    }
  });
  assert.equal((await table.getEntity('p', 'r')).n, 80);
  assert.equal(new Set(etags).size, 80);
  assert.ok(conflicts > 0, 'the writers never met');
});

test('a reader sees the upsert of one writer whole, never a mix of two', async () => {
  const table = await newTable(server);
  const properties = (n) => Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`p${i}`, n]));
  const check = async () => {
    const entity = await table.getEntity('p', 'r');
    const values = new Set(Array.from({ length: 20 }, (_, i) => entity[`p${i}`]));
    assert.equal(values.size, 1, 'two writers are mixed');
  };
  await table.upsertEntity({ partitionKey: 'p', rowKey: 'r', ...properties(-1) }, 'Replace');
  await watched(() => times(6, async (writer) => {
    for (let i = 0; i < 10; i++) {
      await table.upsertEntity({ partitionKey: 'p', rowKey: 'r', ...properties(writer) },
        i % 2 === 0 ? 'Replace' : 'Merge');
    }
  }), 3, check);
  await check();
});

test('a deletion under If-Match does not remove what another has written since', async () => {
  const table = await newTable(server);
  const { etag } = await table.createEntity({ partitionKey: 'p', rowKey: 'r', n: 1 });
  await table.upsertEntity({ partitionKey: 'p', rowKey: 'r', n: 2 }, 'Merge');
  await assert.rejects(table.deleteEntity('p', 'r', { etag }),
    refusal(412, 'UpdateConditionNotSatisfied'));
  assert.equal((await table.getEntity('p', 'r')).n, 2);
});

// --- transactions ---

// Money moves between accounts of one partition; whatever is read at any time, the sum is the same.
test('money that transactions move is neither made nor lost, for any reader', async () => {
  const accounts = 12;
  const each = 1000;
  const table = await newTable(server);
  await table.submitTransaction(Array.from({ length: accounts }, (_, i) =>
    ['create', { partitionKey: 'bank', rowKey: `a${i}`, balance: each }]));
  const random = seeded('table_concurrency');
  let moved = 0;
  const transfer = async () => {
    const from = random.between(0, accounts - 1);
    const to = (from + random.between(1, accounts - 1)) % accounts;
    const [payer, payee] = await Promise.all([from, to].map((i) => table.getEntity('bank', `a${i}`)));
    const amount = random.between(1, 100);
    const change = (entity, by) => ['update', { partitionKey: 'bank', rowKey: entity.rowKey,
      balance: entity.balance + by }, 'Merge', { etag: entity.etag }];
    try {
      await table.submitTransaction([change(payer, -amount), change(payee, amount)]);
      moved++;
    } catch (error) {
      assert.equal(error.statusCode, 412, error.message);
    }
  };
  const sum = async () => {
    const entities = await all(table.listEntities());
    assert.equal(entities.length, accounts);
    assert.equal(entities.reduce((total, { balance }) => total + balance, 0), accounts * each);
  };
  await watched(() => times(8, async () => {
    for (let i = 0; i < 25; i++) await transfer();
  }), 4, sum);
  await sum();
  assert.ok(moved > 20, `only ${moved} transfers succeeded`);
});

test('of many writers of a group all is seen of one of them', async () => {
  const rows = 100;
  const table = await newTable(server);
  const write = (n) => table.submitTransaction(Array.from({ length: rows }, (_, i) =>
    ['upsert', { partitionKey: 'p', rowKey: String(i), n }, 'Replace']));
  const remove = () => table.submitTransaction(Array.from({ length: rows }, (_, i) =>
    ['delete', { partitionKey: 'p', rowKey: String(i) }]))
    .catch((error) => assert.equal(error.statusCode, 404));
  await watched(() => times(4, async (writer) => {
    for (let i = 0; i < 12; i++) {
      await write(writer * 100 + i);
      if (i % 4 === 3) await remove();
    }
  }), 4, async () => {
    const entities = await all(table.listEntities());
    assert.ok([0, rows].includes(entities.length), `${entities.length} of ${rows}`);
    assert.ok(new Set(entities.map(({ n }) => n)).size <= 1, 'two groups are mixed');
    assert.ok(new Set(entities.map(({ etag }) => etag)).size <= 1, 'two groups are mixed');
  });
});

// --- pessimistic: a table is locked by leasing a blob ---

// Takes the lease, waiting for whoever has it; gives the lease's client.
async function lock(blob) {
  const lease = blob.getBlobLeaseClient();
  for (;;) {
    try {
      await lease.acquireLease(60);
      return lease;
    } catch (error) {
      assert.equal(error.statusCode, 409);
      assert.equal(error.code, 'LeaseAlreadyPresent');
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }
}

async function newLock() {
  const container = server.client().getContainerClient('locks');
  await container.createIfNotExists();
  const blob = container.getBlockBlobClient(`lock-${process.hrtime.bigint()}`);
  await blob.upload('', 0);
  return blob;
}

// Each reads what it then writes, without conditions and over two partitions, which no transaction
// could do; only the lease keeps them apart.
test('clients that lock a table by leasing a blob change it one at a time', async () => {
  const table = await newTable(server);
  const blob = await newLock();
  for (const partitionKey of ['a', 'b']) {
    await table.createEntity({ partitionKey, rowKey: 'r', n: 0 });
  }
  let holders = 0;
  await times(6, async () => {
    const own = tableClient(server, table.tableName);
    for (let i = 0; i < 8; i++) {
      const lease = await lock(blob);
      assert.equal(++holders, 1, 'two hold the lock');
      const a = await own.getEntity('a', 'r');
      const b = await own.getEntity('b', 'r');
      assert.equal(a.n, b.n);
      await own.updateEntity({ partitionKey: 'a', rowKey: 'r', n: a.n + 1 }, 'Replace');
      await own.updateEntity({ partitionKey: 'b', rowKey: 'r', n: b.n + 1 }, 'Replace');
      holders--;
      await lease.releaseLease();
    }
  });
  assert.equal((await table.getEntity('a', 'r')).n, 48);
  assert.equal((await table.getEntity('b', 'r')).n, 48);
});

test('a lock that is broken passes on, and its old holder can see that it has lost it', async () => {
  const blob = await newLock();
  const first = await lock(blob);
  await assert.rejects(blob.getBlobLeaseClient().acquireLease(15),
    { statusCode: 409, code: 'LeaseAlreadyPresent' });
  await blob.getBlobLeaseClient().breakLease(0);
  const second = await lock(blob);
  await assert.rejects(first.renewLease(), { statusCode: 409 });
  await assert.rejects(blob.setMetadata({ by: 'first' }, { conditions: { leaseId: first.leaseId } }),
    { statusCode: 412 });
  await blob.setMetadata({ by: 'second' }, { conditions: { leaseId: second.leaseId } });
  await second.releaseLease();
});

stopsCleanly(server);
