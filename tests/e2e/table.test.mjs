// Tables: made, listed, deleted, their access policies, the properties and statistics of the
// service, through the official SDK.

import test from 'node:test';
import assert from 'node:assert/strict';
import { odata } from '@azure/data-tables';
import { startServer, stopsCleanly } from './helpers/server.mjs';
import { all, newTable, refusal, send, tableClient, tableService } from './helpers/table.mjs';

const server = await startServer();
const service = tableService(server);

const create = (name) =>
  send(server, 'POST', '/Tables', { body: JSON.stringify({ TableName: name }) });
const names = async (options) => (await all(service.listTables(options))).map(({ name }) => name);

test('a table is made, listed and deleted', async () => {
  await service.createTable('Made');
  assert.deepEqual(await names({ queryOptions: { filter: odata`TableName eq ${'Made'}` } }),
    ['Made']);
  await service.deleteTable('Made');
  assert.ok(!(await names()).includes('Made'));
});

test('making a table that is there is a conflict the SDK passes over, in any case', async () => {
  assert.equal((await create('Twice')).status, 201);
  const again = await create('TWICE');
  assert.equal(again.status, 409);
  assert.equal(again.json['odata.error'].code, 'TableAlreadyExists');
  assert.equal(again.reason, 'Conflict');
  await service.createTable('twice');
  assert.equal((await names()).filter((name) => /twice/i.test(name)).join(), 'Twice');
});

test('deleting a table that is not there is not found, which the SDK passes over', async () => {
  const answer = await send(server, 'DELETE', "/Tables('NeverWas')");
  assert.equal(answer.status, 404);
  assert.equal(answer.json['odata.error'].code, 'ResourceNotFound');
  await service.deleteTable('NeverWas');
});

test('a deleted table is gone with its entities, and its name is free at once', async () => {
  const table = await newTable(server);
  await table.createEntity({ partitionKey: 'p', rowKey: 'r' });
  await table.deleteTable();
  await assert.rejects(table.getEntity('p', 'r'), refusal(404, 'TableNotFound'));
  await assert.rejects(all(table.listEntities()), refusal(404, 'TableNotFound'));
  await assert.rejects(table.createEntity({ partitionKey: 'p', rowKey: 'r' }),
    refusal(404, 'TableNotFound'));
  await table.createTable();
  assert.deepEqual(await all(table.listEntities()), []);
});

test('names are three to 63 letters and digits', async () => {
  const refused = async (name, code) => {
    const answer = await create(name);
    assert.equal(answer.status, 400, name);
    assert.equal(answer.json['odata.error'].code, code, name);
  };
  await refused('ab', 'OutOfRangeInput');
  await refused('a'.repeat(64), 'OutOfRangeInput');
  await refused('1abc', 'InvalidResourceName');
  await refused('a-bc', 'InvalidResourceName');
  await refused('a_bc', 'InvalidResourceName');
  await refused('täble', 'InvalidResourceName');
  await refused('tables', 'InvalidResourceName');
  const longest = `a${'B3'.repeat(31)}`;
  await service.createTable(longest);
  assert.ok((await names()).includes(longest));
  await service.deleteTable(longest);
});

test('a listing goes on page by page, each table once and in order', async () => {
  const wanted = [];
  for (let i = 0; i < 25; i++) wanted.push(`paged${String(i).padStart(2, '0')}`);
  await Promise.all(wanted.map((name) => service.createTable(name)));
  const found = [];
  let pages = 0;
  const filter = odata`TableName ge ${'paged'} and TableName lt ${'pagee'}`;
  for await (const page of service.listTables({ queryOptions: { filter } })
    .byPage({ maxPageSize: 10 })) {
    pages++;
    assert.ok(page.length <= 10);
    found.push(...page.map(({ name }) => name));
  }
  assert.deepEqual(found, wanted);
  assert.ok(pages >= 3);
  // From a token that was kept.
  const first = await service.listTables({ queryOptions: { filter } })
    .byPage({ maxPageSize: 10 }).next();
  const token = first.value.continuationToken;
  assert.ok(token);
  const rest = [];
  for await (const page of service.listTables({ queryOptions: { filter } })
    .byPage({ maxPageSize: 100, continuationToken: token })) {
    rest.push(...page.map(({ name }) => name));
  }
  assert.deepEqual(rest, wanted.slice(10));
});

test('access policies are kept and replaced whole', async () => {
  const table = await newTable(server);
  assert.deepEqual([...await table.getAccessPolicy()], []);
  await table.setAccessPolicy([
    { id: 'one', accessPolicy: { start: new Date('2026-01-02T03:04:05Z'),
      expiry: new Date('2036-01-02T03:04:05Z'), permission: 'raud' } },
    { id: 'two', accessPolicy: { permission: 'r' } },
  ]);
  const kept = await table.getAccessPolicy();
  assert.equal(kept.length, 2);
  assert.equal(kept[0].id, 'one');
  assert.equal(kept[0].accessPolicy.permission, 'raud');
  assert.equal(kept[0].accessPolicy.start.toISOString(), '2026-01-02T03:04:05.000Z');
  assert.equal(kept[1].accessPolicy.permission, 'r');
  await table.setAccessPolicy([]);
  assert.equal((await table.getAccessPolicy()).length, 0);
  const many = Array.from({ length: 6 },
    (_, i) => ({ id: `id${i}`, accessPolicy: { permission: 'r' } }));
  await assert.rejects(table.setAccessPolicy(many), refusal(400, 'InvalidXmlDocument'));
  await assert.rejects(tableClient(server, 'noSuchTable').getAccessPolicy(),
    refusal(404, 'ResourceNotFound'));
});

test('the properties of the service are set, kept and refused as documented', async () => {
  await service.setProperties({
    logging: { version: '1.0', read: true, write: true, delete: false,
      retentionPolicy: { enabled: true, days: 5 } },
    hourMetrics: { version: '1.0', enabled: true, includeAPIs: true,
      retentionPolicy: { enabled: true, days: 5 } },
    cors: [{ allowedOrigins: 'http://a', allowedMethods: 'GET,PUT', allowedHeaders: 'x-ms-*',
      exposedHeaders: '', maxAgeInSeconds: 9 }],
  });
  const kept = await service.getProperties();
  assert.equal(kept.logging.read, true);
  assert.equal(kept.hourMetrics.includeAPIs, true);
  assert.equal(kept.cors[0].allowedOrigins, 'http://a');
  await assert.rejects(service.setProperties({
    logging: { version: '1.0', read: true, write: true, delete: true,
      retentionPolicy: { enabled: true, days: 366 } } }),
  refusal(400, 'InvalidXmlDocument'));
});

test('a page of another origin is served as the rules say', async () => {
  await service.setProperties({
    cors: [{ allowedOrigins: 'http://a', allowedMethods: 'GET,PUT', allowedHeaders: 'x-ms-*',
      exposedHeaders: 'x-ms-*', maxAgeInSeconds: 9 }],
  });
  const preflight = (origin) => send(server, 'OPTIONS', '/Any', { sas: 'sv=2019-02-02',
    headers: { Origin: origin, 'Access-Control-Request-Method': 'GET' } });
  const allowed = await preflight('http://a');
  assert.equal(allowed.status, 200);
  assert.equal(allowed.headers['access-control-allow-origin'], 'http://a');
  assert.equal((await preflight('http://b')).status, 403);
  const answer = await send(server, 'GET', '/Tables', { headers: { Origin: 'http://a' } });
  assert.equal(answer.headers['access-control-allow-origin'], 'http://a');
  await service.setProperties({ cors: [] });
});

// The SDK looks for the account in the host; the secondary of a path-style URL it does not find.
const secondary = { tableUrl: `${server.tableUrl}-secondary`, account: server.account,
  key: server.key };

test('the statistics are those of a live secondary, and the secondary has them', async () => {
  const { geoReplication } = await tableService(secondary).getStatistics();
  assert.equal(geoReplication.status, 'live');
  assert.ok(Math.abs(geoReplication.lastSyncTime - Date.now()) < 60_000);
  await assert.rejects(service.getStatistics(), (error) => error.statusCode === 400);
});

test('the account may be in the host, and then is in the URLs of the answer', async () => {
  const { port, origin } = new URL(server.tableUrl);
  const host = `${server.account}.table.localhost:${port}`;
  const byHost = { tableUrl: origin, account: server.account, key: server.key };
  const table = await newTable(server);
  const path = `/${table.tableName}`;
  const made = await send(byHost, 'POST', path, { headers: { Host: host },
    body: '{"PartitionKey":"p","RowKey":"r"}' });
  assert.equal(made.status, 201);
  assert.equal(made.headers.location, `http://${host}${path}(PartitionKey='p',RowKey='r')`);
  assert.equal(made.json['odata.metadata'], `http://${host}/$metadata#${table.tableName}/@Element`);
  assert.ok(await table.getEntity('p', 'r'));
});

test('the secondary endpoint is read and not written', async () => {
  const table = await newTable(server);
  await table.createEntity({ partitionKey: 'p', rowKey: 'r', a: 1 });
  const read = await send(secondary, 'GET', `/${table.tableName}(PartitionKey='p',RowKey='r')`);
  assert.equal(read.status, 200);
  assert.equal(read.json.a, 1);
  const write = await send(secondary, 'POST', '/Tables', { body: '{"TableName":"OnSecondary"}' });
  assert.equal(write.status, 403);
  assert.equal(write.json['odata.error'].code, 'WriteOperationNotSupportedOnSecondary');
});

stopsCleanly(server);
