// What no client of the table service should send: each gets the documented answer, and nothing is
// changed by it.

import test from 'node:test';
import assert from 'node:assert/strict';
import { startServer, stopsCleanly } from '../e2e/helpers/server.mjs';
import { newTable, send, sendBatch } from '../e2e/helpers/table.mjs';

const server = await startServer();
const table = await newTable(server);
await table.createEntity({ partitionKey: 'p', rowKey: 'r', a: 1 });
const path = `/${table.tableName}`;
const entityPath = `${path}(PartitionKey='p',RowKey='r')`;
const state = async () => (await send(server, 'GET', path)).body;
const before = await state();

async function refused(answer, status, code) {
  const { status: got, body } = await answer;
  assert.equal(got, status, body);
  const error = JSON.parse(body)['odata.error'];
  assert.equal(error.code, code);
  assert.match(error.message.value, /\nRequestId:[0-9a-f-]{36}\nTime:\d{4}-/);
  assert.equal(error.message.lang, 'en-US');
}

const wrap = (members) => `{"PartitionKey":"p","RowKey":"new"${members}}`;

const bodies = [
  ['nothing', ''],
  ['a cut-off object', '{"PartitionKey":"p","RowKey":"new"'],
  ['text behind the object', `${wrap('')} x`],
  ['an array', '[]'],
  ['a comma too many', '{"PartitionKey":"p",}'],
  ['a comment', '/* c */{}'],
  ['a value that is nested', wrap(',"a":{"b":1}')],
  ['a value nested 100,000 deep', wrap(`,"a":${'['.repeat(100_000)}`)],
  ['objects nested 100,000 deep', '{"a":'.repeat(100_000)],
  ['half of a surrogate pair', wrap(',"a":"\\ud83d"')],
  ['a control character in a string', wrap(',"a":"\u0001"')],
  ['a number that is none', wrap(',"a":01')],
  ['a number out of range', wrap(',"a":1e999')],
  ['an unknown type', wrap(',"a@odata.type":"Edm.Decimal","a":"1"')],
  ['an Int64 that is none', wrap(',"a@odata.type":"Edm.Int64","a":"x"')],
  ['an Int64 out of range', wrap(',"a@odata.type":"Edm.Int64","a":"9223372036854775808"')],
  ['a Guid that is none', wrap(',"a@odata.type":"Edm.Guid","a":"x"')],
  ['a DateTime that is none', wrap(',"a@odata.type":"Edm.DateTime","a":"yesterday"')],
  ['a DateTime before 1601', wrap(',"a@odata.type":"Edm.DateTime","a":"1600-12-31T23:59:59Z"')],
  ['a Binary that is none', wrap(',"a@odata.type":"Edm.Binary","a":"!"')],
  ['a Boolean that is a number', wrap(',"a@odata.type":"Edm.Boolean","a":1')],
  ['a String that is a number', wrap(',"a@odata.type":"Edm.String","a":1')],
  ['a key that is a number', '{"PartitionKey":1,"RowKey":"new"}'],
];
for (const [what, body] of bodies) {
  test(`an entity that is ${what} is refused`, async () => {
    await refused(send(server, 'POST', path, { body }), 400, 'InvalidInput');
    assert.equal(await state(), before);
  });
}

test('bytes that are no UTF-8 are refused', async () => {
  const body = Buffer.concat([Buffer.from('{"PartitionKey":"p","RowKey":"new","a":"'),
    Buffer.from([0xff, 0xfe]), Buffer.from('"}')]);
  await refused(send(server, 'POST', path, { body }), 400, 'InvalidInput');
});

test('a property given twice, and more of them than may be, are refused', async () => {
  await refused(send(server, 'POST', path, { body: wrap(',"a":1,"a":1') }), 400,
    'DuplicatePropertiesSpecified');
  const many = Array.from({ length: 100_000 }, (_, i) => `,"p${i}":null`).join('');
  await refused(send(server, 'POST', path, { body: wrap(many) }), 400, 'TooManyProperties');
  assert.equal(await state(), before);
});

test('a body that is too large is refused', async () => {
  const large = wrap(`,"a":"${'x'.repeat(9 * 1024 * 1024)}"`);
  const answer = await send(server, 'POST', path, { body: large }).catch((error) => error);
  if (!(answer instanceof Error)) assert.equal(answer.status, 413);
  await refused(send(server, 'POST', path, { body: wrap(`,"a":"${'x'.repeat(2 * 1024 * 1024)}"`) }),
    400, 'PropertyValueTooLarge');
  assert.equal(await state(), before);
});

const open = '--batch_1\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n';

const batches = [
  ['is empty', ''],
  ['is JSON', '{}'],
  ['is cut off', `${open}--c\r\n`],
  ['has no parts', '--batch_1--\r\n'],
  ['has a change outside a change set', '--batch_1\r\nContent-Type: application/http\r\n\r\n' +
    `POST ${server.tableUrl}${path} HTTP/1.1\r\n\r\n${wrap('')}\r\n--batch_1--\r\n`],
  ['has a change set without a boundary',
    '--batch_1\r\nContent-Type: multipart/mixed\r\n\r\n--c\r\n--c--\r\n--batch_1--\r\n'],
  ['has a change set without changes', `${open}--c--\r\n--batch_1--\r\n`],
  ['has two change sets', `${`${open}--c\r\nContent-Type: application/http\r\n\r\n` +
    `POST ${server.tableUrl}${path} HTTP/1.1\r\n\r\n${wrap('')}\r\n--c--\r\n`}`.repeat(2) +
    '--batch_1--\r\n'],
  ['has change sets nested 1,000 deep', Array.from({ length: 1000 }, (_, i) =>
    `--${i === 0 ? 'batch_1' : `b${i}`}\r\n` +
    `Content-Type: multipart/mixed; boundary=b${i + 1}\r\n\r\n`).join('')],
];
for (const [what, body] of batches) {
  test(`a batch that ${what} is refused`, async () => {
    await refused(sendBatch(server, body), 400, 'InvalidInput');
    assert.equal(await state(), before);
  });
}

test('a batch that is too large is refused', async () => {
  const answer = await sendBatch(server, 'x'.repeat(4 * 1024 * 1024 + 1)).catch((error) => error);
  if (!(answer instanceof Error)) assert.equal(answer.status, 413);
});

test('parts of a batch never leave the account of the batch', async () => {
  const body = ['--batch_1', 'Content-Type: multipart/mixed; boundary=c', '',
    '--c', 'Content-Type: application/http', '',
    `POST http://other.example/otheraccount${path} HTTP/1.1`, 'Host: other.example', '',
    wrap(''), '--c--', '--batch_1--', ''].join('\r\n');
  const answer = await sendBatch(server, body);
  assert.equal(answer.status, 202);
  assert.match(answer.body, /HTTP\/1\.1 400 Bad Request/);
  assert.equal(await state(), before);
});

const paths = ["(PartitionKey='p')", "(PartitionKey='p',RowKey='r'", "(PartitionKey=p,RowKey=r)",
  "('p','r')", "(PartitionKey='p',RowKey='r',X='x')", "(PartitionKey='p',RowKey='%ff')",
  "(PartitionKey='p''',RowKey=')"];
for (const bad of paths) {
  test(`the path ${bad} names nothing`, async () => {
    for (const method of ['GET', 'PUT', 'DELETE', 'MERGE']) {
      await refused(send(server, method, path + bad, { headers: { 'If-Match': '*' }, body: '{}' }),
        400, 'InvalidUri');
    }
    assert.equal(await state(), before);
  });
}

test('what is quoted in an error is text, whatever was sent', async () => {
  for (const query of ['$filter=%ff%fe', '$top=%ff', '$select=%ff', '$filter=a%20eq%20%27%ff%27'])
    assert.equal((await send(server, 'GET', `${path}?${query}`)).status, 400, query);
  const answer = await send(server, 'PUT', entityPath,
    { headers: { 'If-Match': '\xff' }, body: '{}' });
  assert.equal(answer.status, 400);
  assert.ok(!answer.body.includes('\ufffd'));
});

test('conditions that are none are refused', async () => {
  const put = (headers) => send(server, 'PUT', entityPath, { headers, body: '{}' });
  await refused(put({ 'If-Match': 'x' }), 400, 'InvalidInput');
  await refused(put({ 'If-Match': '' }), 400, 'InvalidInput');
  // A weak ETag that the service never gave is one that nothing has.
  await refused(put({ 'If-Match': 'W/"wrong"' }), 412, 'UpdateConditionNotSatisfied');
  await refused(put({ 'If-Match': '*, *' }), 400, 'InvalidInput');
  await refused(put({ 'If-None-Match': '*' }), 400, 'InvalidInput');
  await refused(put({ 'If-Match': '*', 'If-None-Match': '*' }), 400, 'InvalidInput');
  await refused(send(server, 'DELETE', entityPath), 400, 'MissingRequiredHeader');
  assert.equal(await state(), before);
});

test('methods that are none are refused', async () => {
  await refused(send(server, 'PUT', path, { body: '{}' }), 405, 'UnsupportedHttpVerb');
  await refused(send(server, 'PUT', '/Tables', { body: '{}' }), 405, 'UnsupportedHttpVerb');
  const tunnel = (method, named) =>
    send(server, method, entityPath, { headers: { 'X-HTTP-Method': named }, body: '{}' });
  await refused(tunnel('POST', 'BREW'), 400, 'XMethodIncorrectValue');
  await refused(tunnel('PUT', 'MERGE'), 400, 'XMethodNotUsingPost');
  assert.equal(await state(), before);
});

test('continuation tokens that were made up are refused', async () => {
  for (const token of ['x', '1!', '1!4!AAAA', '1!3!AAA', '2!4!cGs-', '1!99999999999999999999!',
    '1!4!////'])
    await refused(send(server, 'GET', `${path}?NextPartitionKey=${encodeURIComponent(token)}`), 400,
      'InvalidInput');
  await refused(send(server, 'GET', '/Tables?NextTableName=1!4!AAAA'), 400, 'InvalidInput');
});

test('pages of no length, of too great a length and of none at all are refused', async () => {
  await refused(send(server, 'GET', `${path}?$top=0`), 400, 'OutOfRangeInput');
  await refused(send(server, 'GET', `${path}?$top=1001`), 400, 'OutOfRangeInput');
  await refused(send(server, 'GET', `${path}?$top=many`), 400, 'InvalidInput');
  await refused(send(server, 'GET', `${path}?$select=a,,b`), 400, 'InvalidQueryParameterValue');
});

test('headers and bodies of answers are those of the service', async () => {
  const made = await send(server, 'POST', path, { body: wrap('') });
  assert.equal(made.status, 201);
  assert.equal(made.reason, 'Created');
  assert.equal(made.headers['cache-control'], 'no-cache');
  assert.equal(made.headers['x-content-type-options'], 'nosniff');
  assert.equal(made.headers['x-ms-version'], '2019-02-02');
  assert.match(made.headers.server, /^Windows-Azure-Table\/1\.0/);
  assert.ok(made.headers['x-ms-request-id']);
  const missing = await send(server, 'GET', `${path}(PartitionKey='p',RowKey='x')`);
  assert.equal(missing.reason, 'Not Found');
  assert.equal(missing.headers['content-type'],
    'application/json;odata=minimalmetadata;streaming=true;charset=utf-8');
  const gone = await send(server, 'DELETE', `${path}(PartitionKey='p',RowKey='new')`,
    { headers: { 'If-Match': '*' } });
  assert.equal(gone.status, 204);
});

stopsCleanly(server);
