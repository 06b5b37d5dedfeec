// Clients of tables: the load of table.test.mjs.

import assert from 'node:assert/strict';
import { changeSet, tableSender } from '../../e2e/helpers/table.mjs';
import { ABSENT, Client, Thing } from './kills.mjs';

const CLIENTS = 8;
const SHARED = 'shared';
const ROWS = 60; // that a client uses, so that most operations meet an entity
const GROUP_MAX = 40;

// --- what a PartitionKey holds ---
//
// A state is null (the table is not there), or a map from RowKey to { n, more, etag }; an ETag that
// the answer would have told is undefined.

const sameEntity = (known, seen) => seen !== undefined && known.n === seen.n &&
  known.more === seen.more && (known.etag === undefined || known.etag === seen.etag);

function agrees(state, seen) {
  if (state === ABSENT || seen === ABSENT) return state === seen;
  return state.size === seen.size &&
    [...state].every(([rowKey, entity]) => sameEntity(entity, seen.get(rowKey)));
}

const describe = (state) => (state === ABSENT ? 'absent' : JSON.stringify([...state].map(
  ([rowKey, { n, more, etag }]) => `${rowKey}: ${n}/${more?.length} ${etag}`)));

// Everything under the PartitionKey, as it is.
async function observed(send, { table, partitionKey }) {
  const filter = encodeURIComponent(`PartitionKey eq '${partitionKey}'`);
  const { status, body } = await send('GET', `${table}()?$filter=${filter}`);
  if (status === 404) return ABSENT;
  assert.equal(status, 200, `${table}: ${body}`);
  return new Map(JSON.parse(body).value.map((entity) =>
    [entity.RowKey, { n: entity.N, more: entity.More, etag: entity['odata.etag'] }]));
}

// --- a client ---

const point = ({ table, partitionKey }, rowKey) =>
  `${table}(PartitionKey='${partitionKey}',RowKey='${rowKey}')`;

// The time in an ETag, in a form whose order is that of time.
const timeOf = (etag) => {
  const [, time] = /^W\/"datetime'(.*)Z'"$/.exec(decodeURIComponent(etag));
  return time.includes('.') ? time.padEnd(27, '0') : `${time}.`.padEnd(27, '0');
};

class TableClient extends Client {
  constructor(index, seed, server) {
    super(index, seed);
    this.server = server;
    this.count = 0;
    this.lastEtag = '';
    this.things = [[SHARED, `c${index}`], [`own${index}`, 'p']].map(([table, partitionKey]) =>
      Object.assign(new Thing(`${table}/${partitionKey}`, agrees, describe),
        { table, partitionKey }));
    this.things[0].states = [new Map()];
  }

  checkRises(etag) {
    const time = timeOf(etag);
    assert.ok(time > this.lastEtag, `${etag} is not later than the ETag of the write before`);
    this.lastEtag = time;
  }

  step() {
    const thing = this.random.pick(this.things);
    const roll = this.random.next();
    if (thing.state === ABSENT) return this.makeTable(thing);
    if (thing.table !== SHARED && roll < 0.05) return this.removeTable(thing);
    if (roll < 0.15) return this.refusedGroup(thing);
    return this.change(thing, roll < 0.5 ? 1 : this.random.between(2, GROUP_MAX));
  }

  makeTable(thing) {
    return this.attempt(thing, new Map(), 'POST', 'Tables',
      { 'Content-Type': 'application/json' }, JSON.stringify({ TableName: thing.table }));
  }

  removeTable(thing) {
    return this.attempt(thing, ABSENT, 'DELETE', `Tables('${thing.table}')`);
  }

  // One operation that may be done, as [method, path, body, headers], and what it makes of `after`.
  operation(thing, rowKey, after) {
    const old = after.get(rowKey);
    const fresh = { N: ++this.count, More: 'x'.repeat(this.random.pick([0, 10, 300, 9000])) };
    const made = { n: fresh.N, more: fresh.More, etag: undefined };
    const path = `/${point(thing, rowKey)}`;
    const ifMatch = { 'If-Match': this.random.next() < 0.5 ? '*' : old?.etag ?? '*' };
    const roll = this.random.next();
    if (old === undefined && roll < 0.5) {
      after.set(rowKey, made);
      return ['POST', `/${thing.table}`,
        { PartitionKey: thing.partitionKey, RowKey: rowKey, ...fresh }, {}];
    }
    if (old !== undefined && roll < 0.3) {
      after.delete(rowKey);
      return ['DELETE', path, undefined, ifMatch];
    }
    if (old !== undefined && roll < 0.6) {
      after.set(rowKey, { ...old, n: fresh.N, etag: undefined });
      return ['PATCH', path, { N: fresh.N }, ifMatch];
    }
    after.set(rowKey, made);
    return ['PUT', path, fresh, old === undefined ? {} : ifMatch];
  }

  group(thing, count, after) {
    const rows = new Set();
    while (rows.size < count) rows.add(`r${this.random.between(0, ROWS - 1)}`);
    return [...rows].map((rowKey) => this.operation(thing, rowKey, after));
  }

  // A batch; one that is refused says so inside an answer of success.
  async sendGroup(operations) {
    const body = changeSet(this.server, operations.map(([method, path, entity, headers]) =>
      [method, path, entity, { ...headers, Prefer: 'return-no-content' }]));
    const answer = await this.send('POST', '$batch',
      { 'Content-Type': 'multipart/mixed; boundary=batch_1' }, body);
    const parts = [...answer.body.toString().matchAll(/HTTP\/1\.1 (\d+)/g)];
    return { answer, statuses: parts.map(([, status]) => Number(status)) };
  }

  async change(thing, count) {
    const after = new Map(thing.state);
    const operations = this.group(thing, count, after);
    thing.states.push(after);
    let etags;
    try {
      etags = count === 1 && this.random.next() < 0.5 ? await this.alone(operations[0])
        : await this.together(operations);
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      this.counts.unknown++;
      this.lost = true;
      return;
    }
    this.counts.acknowledged++;
    thing.states = [after];
    const unknown = [...after.values()].filter(({ etag }) => etag === undefined);
    assert.equal(etags.length, unknown.length);
    if (etags.length === 0) return;
    assert.equal(new Set(etags).size, 1, 'the entities of one group have one ETag');
    this.checkRises(etags[0]);
    for (const entity of unknown) [entity.etag] = etags;
  }

  // Both give the ETags of what was written.
  async alone([method, path, entity, headers]) {
    const answer = await this.send(method, path.slice(1), { 'Content-Type': 'application/json',
      ...headers }, entity === undefined ? null : JSON.stringify(entity));
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.body}`);
    return answer.headers.etag === undefined ? [] : [answer.headers.etag];
  }

  async together(operations) {
    const { answer, statuses } = await this.sendGroup(operations);
    assert.deepEqual(statuses, operations.map(() => 204), answer.body.toString());
    return [...answer.body.toString().matchAll(/^ETag: (.*)\r$/gm)].map(([, etag]) => etag);
  }

  // One operation among others that cannot be done: the thing stays as it is, whatever happens.
  async refusedGroup(thing) {
    const there = [...thing.state.keys()];
    if (there.length === 0) return this.change(thing, GROUP_MAX);
    const bad = this.random.pick(there);
    const operations = this.group(thing, this.random.between(2, GROUP_MAX), new Map(thing.state))
      .filter(([, path, entity]) => entity?.RowKey !== bad && !path.includes(`'${bad}'`));
    operations.splice(this.random.between(0, operations.length), 0,
      ['POST', `/${thing.table}`, { PartitionKey: thing.partitionKey, RowKey: bad }, {}]);
    try {
      const { statuses, answer } = await this.sendGroup(operations);
      assert.deepEqual(statuses, [409], answer.body.toString());
      this.counts.refused++;
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      this.lost = true;
    }
    return undefined;
  }

  async verify(send, when) {
    for (const thing of this.things) thing.settle(await observed(send, thing), when);
  }
}

// The load; see killsUnderLoad.
export async function tableLoad(server, seed) {
  const clients = Array.from({ length: CLIENTS }, (_, i) => new TableClient(i, seed, server));
  const made = await tableSender(server)('POST', 'Tables', { 'Content-Type': 'application/json' },
    JSON.stringify({ TableName: SHARED }));
  assert.equal(made.status, 201);
  return { clients, sender: tableSender,
    verify: (send, when) => Promise.all(clients.map((client) => client.verify(send, when))) };
}
