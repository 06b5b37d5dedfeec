// Query Entities: filters, selections, pages, through the official SDK.

import test from 'node:test';
import assert from 'node:assert/strict';
import { odata } from '@azure/data-tables';
import { startServer, stopsCleanly } from './helpers/server.mjs';
import { all, newTable, plain, send } from './helpers/table.mjs';

const server = await startServer();

const table = await newTable(server, 'people');
const people = [
  { partitionKey: 'a', rowKey: '1', name: "O'Hara", age: 39, tall: true, ratio: 3.1,
    big: 5000000000n, born: new Date('1973-10-04T00:00:00Z'), raw: new Uint8Array([1, 2, 255]),
    id: { type: 'Guid', value: 'c9da6455-213d-42c9-9a79-3e9149a57833' } },
  { partitionKey: 'a', rowKey: '2', name: 'Ada', age: 36, tall: false, ratio: 3 },
  { partitionKey: 'a', rowKey: '3', name: 'Bob', age: '36' },
  { partitionKey: 'b', rowKey: '1', name: 'Zoé', age: 20, tall: true },
  { partitionKey: 'b', rowKey: '10', name: '', age: -1 },
  { partitionKey: 'c', rowKey: '2' },
];
for (const person of people) await table.createEntity(person);

async function found(filter) {
  const entities = await all(table.listEntities({ queryOptions: { filter } }));
  return entities.map((entity) => entity.partitionKey + entity.rowKey).join(' ');
}

test('a query without a filter gives everything by its keys', async () => {
  assert.equal(await found(undefined), 'a1 a2 a3 b1 b10 c2');
});

const filters = [
  [odata`PartitionKey eq ${'a'}`, 'a1 a2 a3'],
  [odata`PartitionKey eq ${'a'} and RowKey eq ${'2'}`, 'a2'],
  [odata`PartitionKey eq ${'a'} and RowKey ge ${'2'} and RowKey lt ${'3'}`, 'a2'],
  [odata`PartitionKey gt ${'a'}`, 'b1 b10 c2'],
  [odata`PartitionKey le ${'b'} and RowKey eq ${'1'}`, 'a1 b1'],
  ["(PartitionKey eq 'a' and RowKey eq '1') or (PartitionKey eq 'c' and RowKey eq '2')", 'a1 c2'],
  ["PartitionKey ne 'b'", 'a1 a2 a3 c2'],
  [odata`name eq ${"O'Hara"}`, 'a1'],
  ["name eq 'Zoé'", 'b1'],
  ["name eq ''", 'b10'],
  ["name gt 'B'", 'a1 a3 b1'],
  ['age eq 36', 'a2'],
  ["age eq '36'", 'a3'],
  ['age gt 20 and age le 39', 'a1 a2'],
  ['age lt 0', 'b10'],
  ['age ge -1 and not (age eq 20)', 'a1 a2 b10'],
  ['ratio eq 3.1', 'a1'],
  ['ratio eq 3.0', 'a2'],
  ['ratio lt 3.1', 'a2'],
  ['tall', 'a1 b1'],
  ['tall eq true', 'a1 b1'],
  ['tall eq false', 'a2'],
  ['not (tall eq true)', 'a2 a3 b10 c2'],
  ['big eq 5000000000L', 'a1'],
  [odata`big gt ${4000000000n}`, 'a1'],
  ["born eq datetime'1973-10-04T00:00:00Z'", 'a1'],
  [odata`born lt ${new Date('1980-01-01T00:00:00Z')}`, 'a1'],
  ["id eq guid'c9da6455-213d-42c9-9a79-3e9149a57833'", 'a1'],
  ["raw eq X'0102ff'", 'a1'],
  ["raw eq binary'0102ff'", 'a1'],
  ["36 eq age", 'a2'],
  ["PartitionKey eq 'a' or PartitionKey eq 'b' and age lt 0", 'a1 a2 a3 b10'],
  ["(PartitionKey eq 'a' or PartitionKey eq 'b') and age lt 0", 'b10'],
  ["Timestamp gt datetime'2020-01-01T00:00:00Z'", 'a1 a2 a3 b1 b10 c2'],
  ["Timestamp lt datetime'2020-01-01T00:00:00Z'", ''],
  ["missing eq 1", ''],
  ["PartitionKey eq 'none'", ''],
];
for (const [filter, wanted] of filters) {
  test(`filter ${filter}`, async () => assert.equal(await found(filter), wanted));
}

test('filters that are none are refused, with the place of the fault', async () => {
  const refused = async (filter) => {
    const answer = await send(server, 'GET',
      `/${table.tableName}()?$filter=${encodeURIComponent(filter)}`);
    assert.equal(answer.status, 400, filter);
    assert.equal(answer.json['odata.error'].code, 'InvalidInput', filter);
    return answer.json['odata.error'].message.value.split('\n')[0];
  };
  assert.equal(await refused('aaa bbb ccc'), "Syntax error at position 7 in 'aaa bbb ccc'.");
  for (const filter of ["age eq", "eq 5", "(age eq 5", "age eq 5)", "age eq 'x", "age = 5",
    "age eq 5 5", "age eq datetime'x'", "age eq guid'x'", "age eq X'1'", "age EQ 5", "\0", "'", "(",
    '('.repeat(10000), `${'not '.repeat(5000)}tall`, `age eq ${'9'.repeat(400)}`,
    Array(600).fill('age eq 1').join(' or ')]) {
    await refused(filter);
  }
  const called = await send(server, 'GET', `/${table.tableName}()?$filter=startswith(name,'a')`);
  assert.ok([400, 501].includes(called.status));
});

test('keys with a NUL in a filter match nothing and harm nothing', async () => {
  const get = (filter) => send(server, 'GET', `/${table.tableName}()?$filter=${filter}`);
  for (const filter of ["PartitionKey%20eq%20'a%00'",
    "PartitionKey%20gt%20'a%00'%20and%20RowKey%20lt%20'%00'",
    "PartitionKey%20eq%20'a'%20and%20RowKey%20eq%20'1%00'"]) {
    const answer = await get(filter);
    assert.ok([200, 400].includes(answer.status), answer.body);
  }
});

test('a selection gives the properties that are named and there', async () => {
  const entities = await all(table.listEntities({
    queryOptions: { filter: "PartitionKey eq 'a'", select: ['rowKey', 'age', 'missing'] },
  }));
  assert.deepEqual(entities.map(({ etag, ...rest }) => rest),
    [{ rowKey: '1', age: 39 }, { rowKey: '2', age: 36 }, { rowKey: '3', age: '36' }]);
  assert.ok(entities[0].etag.startsWith('W/'));
  const one = await table.getEntity('a', '1', { queryOptions: { select: ['name'] } });
  assert.equal(one.name, "O'Hara");
  assert.equal(one.age, undefined);
});

test('pages are as long as asked for, resume exactly, and stay within 1,000', async () => {
  const many = await newTable(server, 'many');
  const rows = 2500;
  for (let at = 0; at < rows; at += 100) {
    await many.submitTransaction(Array.from({ length: 100 }, (_, i) =>
      ['create', { partitionKey: 'p', rowKey: String(at + i).padStart(5, '0'), n: at + i }]));
  }
  const sizes = [];
  const seen = [];
  for await (const page of many.listEntities().byPage()) {
    sizes.push(page.length);
    seen.push(...page.map(({ n }) => n));
  }
  assert.deepEqual(sizes, [1000, 1000, 500]);
  assert.deepEqual(seen, Array.from({ length: rows }, (_, i) => i));

  const odd = [];
  for await (const page of many.listEntities({ queryOptions: { filter: 'n ge 7 and n lt 100' } })
    .byPage({ maxPageSize: 10 })) {
    assert.ok(page.length <= 10);
    odd.push(...page.map(({ n }) => n));
  }
  assert.deepEqual(odd, Array.from({ length: 93 }, (_, i) => i + 7));

  // The token of a page is good after the entities before and behind it have changed.
  const first = await many.listEntities().byPage({ maxPageSize: 100 }).next();
  await many.deleteEntity('p', '00099');
  await many.deleteEntity('p', '00100');
  const second = await many.listEntities()
    .byPage({ maxPageSize: 1, continuationToken: first.value.continuationToken }).next();
  assert.equal(second.value[0].n, 101);
});

test('the level of metadata is what the client asks for', async () => {
  const path = `/${table.tableName}(PartitionKey='a',RowKey='1')`;
  const get = (accept, format) => send(server, 'GET',
    `${path}${format ? `?$format=${encodeURIComponent(format)}` : ''}`,
    { headers: accept ? { Accept: accept } : {} });
  const type = (level) => `application/json;odata=${level};streaming=true;charset=utf-8`;
  for (const [accept, format, level] of [
    [undefined, undefined, 'minimalmetadata'],
    ['*/*', undefined, 'minimalmetadata'],
    ['application/json', undefined, 'minimalmetadata'],
    ['application/json;odata=nometadata', undefined, 'nometadata'],
    ['application/json;odata=fullmetadata', undefined, 'fullmetadata'],
    ['application/json; odata=minimalmetadata', undefined, 'minimalmetadata'],
    ['text/html, application/json;odata=nometadata', undefined, 'nometadata'],
    ['application/json;odata=nometadata', 'application/json;odata=fullmetadata', 'fullmetadata'],
  ]) {
    const answer = await get(accept, format);
    assert.equal(answer.status, 200, accept);
    assert.equal(answer.headers['content-type'], type(level));
  }
  const full = (await get('application/json;odata=fullmetadata')).json;
  const endpoint = server.tableUrl;
  assert.equal(full['odata.metadata'], `${endpoint}/$metadata#${table.tableName}/@Element`);
  assert.equal(full['odata.type'], `${server.account}.${table.tableName}`);
  assert.equal(full['odata.id'], `${endpoint}${path}`);
  assert.equal(full['odata.editLink'], path.slice(1));
  assert.equal(full['Timestamp@odata.type'], 'Edm.DateTime');
  assert.equal(full['big@odata.type'], 'Edm.Int64');
  const none = (await get('application/json;odata=nometadata')).json;
  assert.ok(Object.keys(none).every((name) => !name.includes('odata')));
  assert.equal(none.big, '5000000000');
  assert.equal((await get('application/atom+xml')).status, 415);
});

test('an insert is echoed or not as the client prefers', async () => {
  const echo = await newTable(server);
  const insert = (rowKey, headers) => send(server, 'POST', `/${echo.tableName}`,
    { headers, body: JSON.stringify({ PartitionKey: 'p', RowKey: rowKey, a: 1 }) });
  const plainAnswer = await insert('1', {});
  assert.equal(plainAnswer.status, 201);
  assert.equal(plainAnswer.json.a, 1);
  assert.equal(plainAnswer.headers['preference-applied'], undefined);
  const content = await insert('2', { Prefer: 'return-content' });
  assert.equal(content.status, 201);
  assert.equal(content.headers['preference-applied'], 'return-content');
  const no = await insert('3', { Prefer: 'return-no-content' });
  assert.equal(no.status, 204);
  assert.equal(no.body, '');
  assert.equal(no.headers['preference-applied'], 'return-no-content');
  assert.equal(no.headers.location,
    `${server.tableUrl}/${echo.tableName}(PartitionKey='p',RowKey='3')`);
  assert.equal(no.headers.dataserviceid, no.headers.location);
  assert.equal(plain(await echo.getEntity('p', '3')).a, 1);
});

stopsCleanly(server);
