// What shared access signatures allow in the table service: of the account, of a table, with stored
// policies and with ranges of keys, made by the official SDK.

import test from 'node:test';
import assert from 'node:assert/strict';
import {
  AzureNamedKeyCredential, TableServiceClient, generateAccountSas, generateTableSas,
} from '@azure/data-tables';
import { startServer, stopsCleanly } from './helpers/server.mjs';
import { all, newTable, refusal, tableClient, tableClientBySas } from './helpers/table.mjs';

const server = await startServer();
const credential = new AzureNamedKeyCredential(server.account, server.key);
const expiresOn = new Date(Date.now() + 3600_000);
const everything = { query: true, add: true, update: true, delete: true };

const bySas = (table, options) => tableClientBySas(server, table.tableName,
  generateTableSas(table.tableName, credential, { expiresOn, ...options }));

const permission = refusal(403, 'AuthorizationPermissionMismatch');
const failure = refusal(403, 'AuthorizationFailure');

test('a SAS of a table allows what its letters say', async () => {
  const table = await newTable(server);
  await table.createEntity({ partitionKey: 'p', rowKey: 'r', a: 1 });
  const reader = bySas(table, { permissions: { query: true } });
  assert.equal((await reader.getEntity('p', 'r')).a, 1);
  assert.equal((await all(reader.listEntities())).length, 1);
  await assert.rejects(reader.createEntity({ partitionKey: 'p', rowKey: 'x' }), permission);
  await assert.rejects(reader.deleteEntity('p', 'r'), permission);

  const adder = bySas(table, { permissions: { add: true } });
  await adder.createEntity({ partitionKey: 'p', rowKey: 'added' });
  await assert.rejects(adder.getEntity('p', 'r'), permission);
  await assert.rejects(adder.upsertEntity({ partitionKey: 'p', rowKey: 'r' }), permission);

  const updater = bySas(table, { permissions: { update: true } });
  await updater.updateEntity({ partitionKey: 'p', rowKey: 'r', a: 2 });
  await assert.rejects(updater.upsertEntity({ partitionKey: 'p', rowKey: 'r' }), permission);

  const upserter = bySas(table, { permissions: { add: true, update: true } });
  await upserter.upsertEntity({ partitionKey: 'p', rowKey: 'upserted' });

  const deleter = bySas(table, { permissions: { delete: true } });
  await deleter.deleteEntity('p', 'added');
  assert.equal((await table.getEntity('p', 'r')).a, 2);
});

test('a SAS of a table is not for others, nor for tables themselves', async () => {
  const table = await newTable(server);
  const other = await newTable(server);
  const sas = generateTableSas(table.tableName, credential, { expiresOn, permissions: everything });
  const wrong = tableClientBySas(server, other.tableName, sas);
  await assert.rejects(all(wrong.listEntities()), refusal(403, 'AuthenticationFailed'));
  await assert.rejects(tableClientBySas(server, table.tableName, sas).deleteTable(), failure);
  await assert.rejects(tableClientBySas(server, table.tableName, sas).getAccessPolicy(), failure);
});

test('a SAS that is over, or signed with another key, is refused', async () => {
  const table = await newTable(server);
  const refused = refusal(403, 'AuthenticationFailed');
  await assert.rejects(bySas(table, { permissions: everything,
    expiresOn: new Date(Date.now() - 60_000) }).getEntity('p', 'r'), refused);
  const forged = generateTableSas(table.tableName,
    new AzureNamedKeyCredential(server.account, Buffer.alloc(32).toString('base64')),
    { expiresOn, permissions: everything });
  const forger = tableClientBySas(server, table.tableName, forged);
  await assert.rejects(forger.getEntity('p', 'r'), refused);
});

test('a stored policy gives and takes', async () => {
  const table = await newTable(server);
  await table.createEntity({ partitionKey: 'p', rowKey: 'r' });
  await table.setAccessPolicy(
    [{ id: 'policy', accessPolicy: { expiry: expiresOn, permission: 'r' } }]);
  const sas = generateTableSas(table.tableName, credential, { identifier: 'policy' });
  const client = tableClientBySas(server, table.tableName, sas);
  await client.getEntity('p', 'r');
  await assert.rejects(client.deleteEntity('p', 'r'), permission);
  await table.setAccessPolicy([]);
  await assert.rejects(client.getEntity('p', 'r'), refusal(403, 'AuthenticationFailed'));
});

test('transactions go with a SAS, each change for itself', async () => {
  const table = await newTable(server);
  const client = bySas(table, { permissions: { add: true } });
  await client.submitTransaction([['create', { partitionKey: 'p', rowKey: '1' }],
    ['create', { partitionKey: 'p', rowKey: '2' }]]);
  await assert.rejects(client.submitTransaction([['create', { partitionKey: 'p', rowKey: '3' }],
    ['delete', { partitionKey: 'p', rowKey: '1' }]]), { statusCode: 403 });
  assert.equal((await all(table.listEntities())).length, 2);
});

test('a range of keys hides what is outside and refuses to change it', async () => {
  const table = await newTable(server);
  for (const [partitionKey, rowKey] of ['a9', 'b1', 'b5', 'c0', 'c7', 'd0'])
    await table.createEntity({ partitionKey, rowKey });
  const seen = async (range) => (await all(bySas(table, { permissions: everything, ...range })
    .listEntities())).map(({ partitionKey, rowKey }) => partitionKey + rowKey).join(' ');
  assert.equal(await seen({ startPartitionKey: 'b' }), 'b1 b5 c0 c7 d0');
  assert.equal(await seen({ startPartitionKey: 'b', endPartitionKey: 'c' }), 'b1 b5 c0 c7');
  assert.equal(await seen({ startPartitionKey: 'b', startRowKey: '2',
    endPartitionKey: 'c', endRowKey: '5' }), 'b5 c0');
  assert.equal(await seen({ endPartitionKey: 'b', endRowKey: '1' }), 'a9 b1');

  const client = bySas(table, { permissions: everything, startPartitionKey: 'b', startRowKey: '2',
    endPartitionKey: 'c', endRowKey: '5' });
  await client.createEntity({ partitionKey: 'b', rowKey: '3' });
  await client.upsertEntity({ partitionKey: 'c', rowKey: '5' });
  await assert.rejects(client.createEntity({ partitionKey: 'b', rowKey: '0' }), failure);
  await assert.rejects(client.upsertEntity({ partitionKey: 'c', rowKey: '6' }), failure);
  await assert.rejects(client.updateEntity({ partitionKey: 'd', rowKey: '0' }), failure);
  await assert.rejects(client.deleteEntity('a', '9'), failure);
  await assert.rejects(client.getEntity('a', '9'), { statusCode: 404 });
  await assert.rejects(client.submitTransaction([
    ['create', { partitionKey: 'b', rowKey: '4' }], ['create', { partitionKey: 'b', rowKey: '1x' }],
  ]), { statusCode: 403 });
  assert.equal(await seen({}), 'a9 b1 b3 b5 c0 c5 c7 d0');
});

test('a SAS of the account is for its services, resource types and letters', async () => {
  const table = await newTable(server);
  const options = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };
  const sasOf = (more) => generateAccountSas(credential, { expiresOn, ...more });
  const service = (sas) => new TableServiceClient(`${server.tableUrl}?${sas}`, options);
  const whole = sasOf({ services: { table: true }, resourceTypes: 'sco',
    permissions: { query: true, write: true, delete: true, list: true, add: true, create: true,
      update: true, process: true } });
  await service(whole).createTable('BySas');
  assert.ok((await all(service(whole).listTables())).some(({ name }) => name === 'BySas'));
  await service(whole).deleteTable('BySas');
  await tableClientBySas(server, table.tableName, whole)
    .upsertEntity({ partitionKey: 'p', rowKey: 'r' });

  const objects = sasOf({ services: { table: true }, resourceTypes: 'o',
    permissions: { query: true, list: true } });
  await tableClientBySas(server, table.tableName, objects).getEntity('p', 'r');
  await assert.rejects(all(service(objects).listTables()),
    refusal(403, 'AuthorizationResourceTypeMismatch'));
  const blobs = sasOf({ services: { blob: true }, resourceTypes: 'sco',
    permissions: { query: true } });
  await assert.rejects(tableClientBySas(server, table.tableName, blobs).getEntity('p', 'r'),
    refusal(403, 'AuthorizationServiceMismatch'));
});

test('a wrong key is refused before anything is looked up', async () => {
  const { TableClient } = await import('@azure/data-tables');
  const client = new TableClient(server.tableUrl, 'NoSuchTable',
    new AzureNamedKeyCredential(server.account, Buffer.alloc(32).toString('base64')),
    { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } });
  await assert.rejects(client.getEntity('p', 'r'), refusal(403, 'AuthenticationFailed'));
  await assert.rejects(client.submitTransaction([['create', { partitionKey: 'p', rowKey: 'r' }]]),
    refusal(403, 'AuthenticationFailed'));
  await assert.rejects(tableClient(server, 'NoSuchTable').getEntity('p', 'r'), { statusCode: 404 });
});

stopsCleanly(server);
