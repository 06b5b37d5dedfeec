// Entities, alone and in transactions, in tables made and deleted, for the power cuts.

import assert from 'node:assert/strict';
import { md5 } from '../../e2e/helpers/digest.mjs';
import { changeSet, tableSender } from '../../e2e/helpers/table.mjs';
import { LoadClient, Thing, UNKNOWN } from './timeline.mjs';

const ROWS = 20; // that a client uses, so that most operations meet an entity
const GROUP_MAX = 12;
const JSON_TYPE = { 'Content-Type': 'application/json' };

// A model is { rows: { RowKey: { n, more, etag } } }.
const shown = ({ rows }) => Object.fromEntries(Object.entries(rows).map(
  ([rowKey, { n, more, etag }]) => [rowKey, { n, more: md5(more), etag }]));

async function observed(send, table) {
  const { status, body } = await send('GET', `${table}()`);
  if (status === 404) return null;
  assert.equal(status, 200, `${table}: ${body}`);
  return Object.fromEntries(JSON.parse(body).value.map((entity) => [entity.RowKey,
    { n: entity.N, more: md5(entity.More), etag: entity['odata.etag'] }]));
}

class TableClient extends LoadClient {
  constructor(...args) {
    super(...args);
    this.table = new Thing('table', `power${this.index}`, shown);
    this.things = [this.table];
  }

  step() {
    const { model, path } = this.table;
    const roll = this.random.next();
    if (model === null) {
      return this.change(this.table, { rows: {} }, () => {}, 'POST', 'Tables', JSON_TYPE,
        JSON.stringify({ TableName: path }));
    }
    if (roll < 0.02) {
      return this.change(this.table, null, () => {}, 'DELETE', `Tables('${path}')`);
    }
    if (roll < 0.12) return this.refusedGroup();
    return roll < 0.5 ? this.alone() : this.together(this.random.between(2, GROUP_MAX));
  }

  // One operation on a row, and what it makes of `rows`.
  operation(rowKey, rows) {
    const { random, table } = this;
    const path = `/${table.path}(PartitionKey='p',RowKey='${rowKey}')`;
    const fresh = { N: ++this.count, More: 'y'.repeat(random.pick([0, 10, 300, 9000, 30_000])) };
    const made = { n: fresh.N, more: fresh.More, etag: UNKNOWN };
    const roll = random.next();
    if (!(rowKey in rows)) {
      rows[rowKey] = made;
      return ['POST', `/${table.path}`, { PartitionKey: 'p', RowKey: rowKey, ...fresh }];
    }
    if (roll < 0.3) {
      delete rows[rowKey];
      return ['DELETE', path, undefined, { 'If-Match': '*' }];
    }
    if (roll < 0.6) {
      rows[rowKey] = { ...rows[rowKey], n: fresh.N, etag: UNKNOWN };
      return ['PATCH', path, { N: fresh.N }, { 'If-Match': '*' }];
    }
    rows[rowKey] = made;
    return ['PUT', path, fresh, { 'If-Match': '*' }];
  }

  rowKey() {
    return `r${this.random.between(0, ROWS - 1)}`;
  }

  // What was written has the ETag of the answer.
  static learn(rows, etag) {
    for (const row of Object.values(rows)) if (row.etag === UNKNOWN) row.etag = etag;
  }

  alone() {
    const rows = { ...this.table.model.rows };
    const [method, path, entity, headers] = this.operation(this.rowKey(), rows);
    return this.change(this.table, { rows },
      (answer) => TableClient.learn(rows, answer.headers.etag), method, path.slice(1),
      { ...JSON_TYPE, ...headers }, entity === undefined ? null : JSON.stringify(entity));
  }

  group(count, rows) {
    const keys = new Set();
    while (keys.size < count) keys.add(this.rowKey());
    return [...keys].map((rowKey) => this.operation(rowKey, rows));
  }

  batch(operations) {
    return ['POST', '$batch', { 'Content-Type': 'multipart/mixed; boundary=batch_1' },
      changeSet(this.server, operations.map(([method, path, entity, headers = {}]) =>
        [method, path, entity, { ...headers, Prefer: 'return-no-content' }]))];
  }

  together(count) {
    const rows = { ...this.table.model.rows };
    const operations = this.group(count, rows);
    return this.change(this.table, { rows }, ({ body }) => {
      const statuses = [...body.toString().matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, one]) => one);
      assert.deepEqual(statuses, operations.map(() => '204'), body.toString());
      TableClient.learn(rows, /^ETag: (.*)\r$/m.exec(body)?.[1]);
    }, ...this.batch(operations));
  }

  // The last operation of the group cannot be done, so none is.
  async refusedGroup() {
    const { model, path } = this.table;
    const [taken] = Object.keys(model.rows);
    if (taken === undefined) return this.together(GROUP_MAX);
    const operations = this.group(5, { ...model.rows })
      .filter(([, target, entity]) => entity?.RowKey !== taken && !target.includes(`'${taken}'`));
    const answer = await this.ask(...this.batch([...operations,
      ['POST', `/${path}`, { PartitionKey: 'p', RowKey: taken }]]));
    if (answer === undefined) return undefined;
    assert.match(answer.body.toString(), /HTTP\/1\.1 409/);
    this.counts.refused++;
    return undefined;
  }

  adopt({ rows }, seen) {
    for (const rowKey of Object.keys(rows)) rows[rowKey].etag = seen[rowKey].etag;
  }
}

export const tableLoad = {
  service: 'table',
  sender: tableSender,
  url: (server) => server.tableUrl,
  Client: TableClient,
  observers: { table: observed },
  async prepare() {},
};
