// Entities, one at a time: every type, what the operations do, ETags, through the official SDK.

import test from 'node:test';
import assert from 'node:assert/strict';
import { startServer, stopsCleanly } from './helpers/server.mjs';
import { all, newTable, plain, refusal, send } from './helpers/table.mjs';

const server = await startServer();
const keys = { partitionKey: 'p', rowKey: 'r' };

test('every type of value comes back as it was stored', async () => {
  const table = await newTable(server);
  const entity = {
    ...keys,
    text: 'it\'s "quoted" \\ \u0001 \n é 日本 😀',
    empty: '',
    small: 42,
    least: -2147483648,
    half: 0.5,
    yes: true,
    no: false,
    big: 9223372036854775807n,
    negative: -9223372036854775808n,
    when: new Date('1973-10-04T01:02:03.456Z'),
    bytes: new Uint8Array([0, 1, 2, 254, 255]),
    none: new Uint8Array(0),
    guid: { type: 'Guid', value: 'c9da6455-213d-42c9-9a79-3e9149a57833' },
    whole: { type: 'Double', value: 5 },
    nan: { type: 'Double', value: 'NaN' },
    infinite: { type: 'Double', value: '-Infinity' },
    huge: { type: 'Double', value: '1.7976931348623157E+308' },
    precise: { type: 'DateTime', value: '9999-12-31T23:59:59.9999999Z' },
    earliest: { type: 'DateTime', value: '1601-01-01T00:00:00Z' },
    absent: null,
  };
  await table.createEntity(entity);
  const read = plain(await table.getEntity('p', 'r'));
  const { guid, whole, nan, infinite, huge, precise, earliest, absent, ...same } = entity;
  assert.deepEqual(read, {
    ...same,
    bytes: Buffer.from(same.bytes),
    none: Buffer.from(same.none),
    guid,
    whole: 5,
    nan: 'NaN',
    infinite: '-Infinity',
    huge: Number.MAX_VALUE,
    precise: new Date('9999-12-31T23:59:59.999Z'),
    earliest: new Date('1601-01-01T00:00:00Z'),
  });
  assert.ok(!('absent' in read));
  const raw = await send(server, 'GET', `/${table.tableName}(PartitionKey='p',RowKey='r')`);
  assert.match(raw.body, /"whole":5\.0/);
  assert.match(raw.body, /"nan@odata.type":"Edm.Double","nan":"NaN"/);
  assert.match(raw.body, /"precise":"9999-12-31T23:59:59.9999999Z"/);
});

test('keys may be empty, quoted, percent-encoded and in any language', async () => {
  const table = await newTable(server);
  const odd = ['', "'", "it's", "''", '%', '%20', 'a b', '+', '&=', '(),', '日本', '😀', '"', '!*~',
    'x'.repeat(512), ';:@$,<>[]{}|^`'];
  for (const [i, key] of odd.entries()) {
    const entity = { partitionKey: key, rowKey: odd[odd.length - 1 - i], i };
    await table.createEntity(entity);
    assert.deepEqual(plain(await table.getEntity(entity.partitionKey, entity.rowKey)), entity);
    await table.updateEntity({ ...entity, j: i }, 'Merge');
    assert.equal((await table.getEntity(entity.partitionKey, entity.rowKey)).j, i);
  }
  assert.equal((await all(table.listEntities())).length, odd.length);
  for (const [i, key] of odd.entries()) await table.deleteEntity(key, odd[odd.length - 1 - i]);
  assert.equal((await all(table.listEntities())).length, 0);
});

test('property names are case-sensitive', async () => {
  const table = await newTable(server);
  const entity = { ...keys, Birthday: 1, birthday: 2, _x1: 3 };
  await table.createEntity(entity);
  assert.deepEqual(plain(await table.getEntity('p', 'r')), entity);
});

test('an insert of what is there is a conflict', async () => {
  const table = await newTable(server);
  await table.createEntity({ ...keys, a: 1 });
  await assert.rejects(table.createEntity({ ...keys, a: 2 }),
    refusal(409, 'EntityAlreadyExists'));
  assert.equal((await table.getEntity('p', 'r')).a, 1);
});

test('replacing leaves nothing of what was, merging leaves the rest', async () => {
  const table = await newTable(server);
  await table.createEntity({ ...keys, a: 1, b: 2 });
  await table.updateEntity({ ...keys, b: 'x', c: 3 }, 'Merge');
  assert.deepEqual(plain(await table.getEntity('p', 'r')), { ...keys, a: 1, b: 'x', c: 3 });
  await table.updateEntity({ ...keys, d: 4 }, 'Replace');
  assert.deepEqual(plain(await table.getEntity('p', 'r')), { ...keys, d: 4 });
  // A null property is an absent one: merging it changes nothing.
  await table.updateEntity({ ...keys, d: null }, 'Merge');
  assert.deepEqual(plain(await table.getEntity('p', 'r')), { ...keys, d: 4 });
});

test('upserts make what is not there and check nothing', async () => {
  const table = await newTable(server);
  await table.upsertEntity({ ...keys, a: 1 }, 'Merge');
  await table.upsertEntity({ ...keys, b: 2 }, 'Merge');
  assert.deepEqual(plain(await table.getEntity('p', 'r')), { ...keys, a: 1, b: 2 });
  await table.upsertEntity({ ...keys, c: 3 }, 'Replace');
  assert.deepEqual(plain(await table.getEntity('p', 'r')), { ...keys, c: 3 });
  await table.upsertEntity({ partitionKey: 'p', rowKey: 'r2' }, 'Replace');
});

test('updates, merges and deletes of what is not there are not found', async () => {
  const table = await newTable(server);
  const missing = refusal(404, 'ResourceNotFound');
  await assert.rejects(table.getEntity('p', 'r'), missing);
  await assert.rejects(table.updateEntity(keys, 'Merge'), missing);
  await assert.rejects(table.updateEntity(keys, 'Replace'), missing);
  await assert.rejects(table.deleteEntity('p', 'r'), missing);
  assert.deepEqual(await all(table.listEntities()), []);
});

// The third worked example of the contract.
test('an update with an old ETag fails and changes nothing; with * it succeeds', async () => {
  const table = await newTable(server);
  await table.createEntity({ partitionKey: 'Harp', rowKey: 'Walter', phone: '425-555-0101' });
  const mine = await table.getEntity('Harp', 'Walter');
  await table.updateEntity({ partitionKey: 'Harp', rowKey: 'Walter', phone: 'other' }, 'Replace');
  const stale = refusal(412, 'UpdateConditionNotSatisfied');
  const update = { ...plain(mine), phone: 'mine' };
  await assert.rejects(table.updateEntity(update, 'Replace', { etag: mine.etag }), stale);
  await assert.rejects(table.updateEntity(update, 'Merge', { etag: mine.etag }), stale);
  await assert.rejects(table.deleteEntity('Harp', 'Walter', { etag: mine.etag }), stale);
  assert.equal((await table.getEntity('Harp', 'Walter')).phone, 'other');
  await table.updateEntity(update, 'Replace', { etag: '*' });
  const now = await table.getEntity('Harp', 'Walter');
  assert.equal(now.phone, 'mine');
  await table.deleteEntity('Harp', 'Walter', { etag: now.etag });
});

test('an ETag is the Timestamp, in the header and the entity, and never comes twice', async () => {
  const table = await newTable(server);
  const seen = new Set();
  let headers;
  const onResponse = (response) => { headers = response.headers; };
  await table.createEntity(keys, { onResponse });
  for (let i = 0; i < 50; i++) {
    const etag = headers.get('etag');
    assert.match(etag, /^W\/"datetime'\d{4}-\d\d-\d\dT\d\d%3A\d\d%3A\d\d(\.\d{1,7})?Z'"$/);
    assert.ok(!seen.has(etag));
    seen.add(etag);
    const read = await table.getEntity('p', 'r');
    assert.equal(read.etag, etag);
    assert.equal(etag, `W/"datetime'${encodeURIComponent(read.timestamp)}'"`);
    await table.updateEntity({ ...keys, i }, 'Replace', { etag, onResponse });
  }
});

test('of writers with one ETag exactly one succeeds', async () => {
  const table = await newTable(server);
  await table.createEntity({ ...keys, count: 0 });
  let done = 0;
  await Promise.all(Array.from({ length: 8 }, async () => {
    for (let i = 0; i < 10;) {
      const entity = await table.getEntity('p', 'r');
      try {
        await table.updateEntity({ ...keys, count: entity.count + 1 }, 'Replace',
          { etag: entity.etag });
        i++;
        done++;
      } catch (error) {
        assert.equal(error.statusCode, 412);
      }
    }
  }));
  assert.equal((await table.getEntity('p', 'r')).count, done);
  assert.equal(done, 80);
});

test('the limits of an entity hold and what is beyond is refused as documented', async () => {
  const table = await newTable(server);
  const refused = (entity, code) =>
    assert.rejects(table.createEntity({ ...keys, ...entity }), refusal(400, code));
  const many = (count) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, i]));
  await refused(many(253), 'TooManyProperties');
  await refused({ a: 'x'.repeat(32 * 1024 + 1) }, 'PropertyValueTooLarge');
  await refused({ a: new Uint8Array(64 * 1024 + 1) }, 'PropertyValueTooLarge');
  await refused({ ['n'.repeat(256)]: 1 }, 'PropertyNameTooLong');
  await refused({ 'a-b': 1 }, 'PropertyNameInvalid');
  await refused({ partitionKey: 'x'.repeat(513) }, 'KeyValueTooLarge');
  await refused({ rowKey: 'x'.repeat(513) }, 'KeyValueTooLarge');
  for (const sign of ['/', '\\', '#', '?', '\t', '\u0085'])
    await refused({ rowKey: `a${sign}` }, 'OutOfRangeInput');
  const large = Object.fromEntries(Array.from({ length: 17 },
    (_, i) => [`b${i}`, new Uint8Array(64 * 1024)]));
  await refused(large, 'EntityTooLarge');
  assert.deepEqual(await all(table.listEntities()), []);

  await table.createEntity({ ...keys, ...many(252) });
  await table.updateEntity({ ...keys, a: 'x'.repeat(32 * 1024), b: new Uint8Array(64 * 1024),
    ['n'.repeat(255)]: 1 }, 'Replace');
  const { b15, b16, ...fitting } = large;
  await table.updateEntity({ ...keys, ...fitting }, 'Replace');
  assert.equal((await table.getEntity('p', 'r')).b0.length, 64 * 1024);
  await assert.rejects(table.updateEntity({ ...keys, b15, b16 }, 'Merge'),
    refusal(400, 'EntityTooLarge'));
});

test('entities are still there after a restart', async () => {
  const table = await newTable(server);
  await table.createEntity({ ...keys, big: 5n, text: 'kept' });
  const before = await table.getEntity('p', 'r');
  await server.restart();
  const { tableClient } = await import('./helpers/table.mjs');
  assert.deepEqual(await tableClient(server, table.tableName).getEntity('p', 'r')
    .then(({ 'odata.metadata': _, ...rest }) => rest),
  (({ 'odata.metadata': _, ...rest }) => rest)(before));
});

stopsCleanly(server);
