// Entity group transactions: all or nothing, through the official SDK and without it.

import test from 'node:test';
import assert from 'node:assert/strict';
import { TableTransaction } from '@azure/data-tables';
import { startServer, stopsCleanly } from './helpers/server.mjs';
import { all, changeSet, newTable, plain, sendBatch } from './helpers/table.mjs';

const server = await startServer();

const entity = (rowKey, more = {}) => ({ partitionKey: 'p', rowKey, ...more });
const rows = async (table) =>
  (await all(table.listEntities())).map(({ rowKey }) => rowKey).join(' ');

test('a transaction does everything it says', async () => {
  const table = await newTable(server);
  await table.createEntity(entity('merge', { a: 1 }));
  await table.createEntity(entity('replace', { a: 1 }));
  await table.createEntity(entity('delete'));
  const answer = await table.submitTransaction([
    ['create', entity('create', { n: 5n })],
    ['update', entity('merge', { b: 2 }), 'Merge'],
    ['update', entity('replace', { b: 2 }), 'Replace'],
    ['upsert', entity('upsert', { b: 2 }), 'Merge'],
    ['upsert', entity('other', { b: 2 }), 'Replace'],
    ['delete', entity('delete')],
  ]);
  assert.equal(answer.status, 202);
  assert.deepEqual(answer.subResponses.map(({ status }) => status), [204, 204, 204, 204, 204, 204]);
  assert.equal(await rows(table), 'create merge other replace upsert');
  assert.deepEqual(plain(await table.getEntity('p', 'merge')), entity('merge', { a: 1, b: 2 }));
  assert.deepEqual(plain(await table.getEntity('p', 'replace')), entity('replace', { b: 2 }));
  const created = await table.getEntity('p', 'create');
  assert.equal(created.n, 5n);
  assert.equal(answer.getResponseForEntity('create').etag, created.etag);
});

test('up to 100 changes are made at once', async () => {
  const table = await newTable(server);
  const transaction = new TableTransaction();
  for (let i = 0; i < 100; i++) transaction.createEntity(entity(String(i).padStart(3, '0'), { i }));
  await table.submitTransaction(transaction.actions);
  assert.equal((await all(table.listEntities())).length, 100);
  transaction.createEntity(entity('one too many'));
  await assert.rejects(table.submitTransaction(transaction.actions.map(([verb, { rowKey }]) =>
    [verb, { partitionKey: 'q', rowKey }])), (error) => {
    assert.equal(error.statusCode, 400);
    assert.equal(error.code, 'InvalidInput');
    assert.match(error.message,
      /^99:The batch request operation exceeds the maximum 100 changes per change set\./);
    return true;
  });
  assert.equal((await all(table.listEntities())).length, 100);
});

const failures = [
  ['an insert of what is there', ['create', entity('there')], 409, 'EntityAlreadyExists'],
  ['an update of what is not there', ['update', entity('missing'), 'Merge'], 404,
    'ResourceNotFound'],
  ['a delete of what is not there', ['delete', entity('missing')], 404, 'ResourceNotFound'],
  ['an old ETag', ['update', entity('there', { a: 9 }), 'Replace',
    { etag: "W/\"datetime'2012-06-15T22%3A51%3A44.9662825Z'\"" }], 412,
  'UpdateConditionNotSatisfied'],
  ['an entity twice', ['upsert', entity('first'), 'Merge'], 400, 'InvalidDuplicateRow'],
  ['a value of the wrong type', ['create', entity('x', { a: { type: 'Int64', value: 'five' } })],
    400, 'InvalidInput'],
  ['a value too large', ['create', entity('x', { a: 'x'.repeat(33 * 1024) })], 400,
    'PropertyValueTooLarge'],
];
for (const [what, action, statusCode, code] of failures) {
  test(`${what} fails the whole transaction, and the answer says which change`, async () => {
    const table = await newTable(server);
    await table.createEntity(entity('there', { a: 1 }));
    await assert.rejects(table.submitTransaction([
      ['create', entity('first')], action, ['create', entity('last')],
    ]), (error) => {
      assert.equal(error.statusCode, statusCode);
      assert.equal(error.code, code);
      assert.match(error.message, /^1:/);
      return true;
    });
    assert.equal(await rows(table), 'there');
    assert.equal((await table.getEntity('p', 'there')).a, 1);
  });
}

test('changes of two partitions or tables are refused', async () => {
  const table = await newTable(server);
  const other = await newTable(server);
  const path = `/${table.tableName}`;
  for (const [second, pattern] of [
    [['POST', path, { PartitionKey: 'q', RowKey: '2' }], /CommandsInBatchActOnDifferentPartitions/],
    [['PUT', `${path}(PartitionKey='q',RowKey='2')`, {}],
      /CommandsInBatchActOnDifferentPartitions/],
    [['POST', `/${other.tableName}`, { PartitionKey: 'p', RowKey: '2' }], /"1:/],
  ]) {
    const answer = await sendBatch(server, changeSet(server,
      [['POST', path, { PartitionKey: 'p', RowKey: '1' }], second]));
    assert.equal(answer.status, 202);
    assert.match(answer.body, /HTTP\/1\.1 400 Bad Request/);
    assert.match(answer.body, pattern);
    assert.match(answer.body, /"1:All commands in a batch must operate on same entity group\./);
  }
  assert.equal(await rows(table), '');
  assert.equal(await rows(other), '');
});

test('a transaction on a table that is not there is not found', async () => {
  const answer = await sendBatch(server,
    changeSet(server, [['POST', '/NoSuchTable', { PartitionKey: 'p', RowKey: '1' }]]));
  assert.equal(answer.status, 202);
  assert.match(answer.body, /HTTP\/1\.1 404 Not Found/);
  assert.match(answer.body, /"TableNotFound".*"0:The table specified does not exist\./);
});

test('the parts of an answer are those of the operations', async () => {
  const table = await newTable(server);
  const path = `/${table.tableName}`;
  const answer = await sendBatch(server, changeSet(server, [
    ['POST', path, { PartitionKey: 'p', RowKey: '1', a: 1 },
      { Accept: 'application/json;odata=nometadata' }],
    ['POST', path, { PartitionKey: 'p', RowKey: '2' }, { Prefer: 'return-no-content' }],
    ['POST', `${path}(PartitionKey='p',RowKey='3')`, { b: 1 }, { 'X-HTTP-Method': 'MERGE' }],
  ]));
  assert.equal(answer.status, 202);
  assert.match(answer.headers['content-type'], /^multipart\/mixed; boundary=batchresponse_/);
  const parts = answer.body.split('--changesetresponse_').slice(1, -1);
  assert.equal(parts.length, 3);
  assert.match(parts[0], /HTTP\/1\.1 201 Created\r\n/);
  assert.match(parts[0], /"PartitionKey":"p","RowKey":"1",.*"a":1\}\r\n$/);
  assert.match(parts[1], /HTTP\/1\.1 204 No Content\r\n/);
  assert.match(parts[1], /Preference-Applied: return-no-content\r\n/);
  assert.match(parts[1], /Location: .*RowKey='2'\)\r\n/);
  assert.match(parts[2], /DataServiceVersion: 1\.0;\r\nETag: W\/"datetime'/);
});

test('a batch may hold one query in place of changes', async () => {
  const table = await newTable(server);
  await table.createEntity(entity('r', { a: 1 }));
  const body = (line) => ['--batch_1', 'Content-Type: application/http',
    'Content-Transfer-Encoding: binary', '', `GET ${server.tableUrl}/${line} HTTP/1.1`,
    'Accept: application/json;odata=nometadata', '', '--batch_1--', ''].join('\r\n');
  const point = await sendBatch(server, body(`${table.tableName}(PartitionKey='p',RowKey='r')`));
  assert.equal(point.status, 202);
  assert.match(point.body, /HTTP\/1\.1 200 OK\r\n/);
  assert.match(point.body, /"a":1\}\r\n--batchresponse_/);
  const query = await sendBatch(server, body(`${table.tableName}()?$filter=a%20eq%201`));
  assert.match(query.body, /\{"value":\[\{"PartitionKey":"p","RowKey":"r",/);
});

test('readers see all of a transaction or nothing', async () => {
  const table = await newTable(server);
  const count = 20;
  const write = (n) => table.submitTransaction(Array.from({ length: count },
    (_, i) => ['upsert', entity(String(i), { n }), 'Replace']));
  await write(0);
  let writing = true;
  const reader = async () => {
    while (writing) {
      const seen = new Set((await all(table.listEntities())).map(({ n }) => n));
      assert.equal(seen.size, 1, `values of different transactions: ${[...seen]}`);
    }
  };
  const readers = [reader(), reader(), reader()];
  for (let n = 1; n <= 30; n++) await write(n);
  writing = false;
  await Promise.all(readers);
});

stopsCleanly(server);
