// The bytes of answers: status line, headers, error bodies, as the recorded answers of the service
// have them.

import test from 'node:test';
import assert from 'node:assert/strict';
import { account, startServer, stopsCleanly } from '../e2e/helpers/server.mjs';
import { RawConnection, exchange, head } from '../e2e/helpers/raw.mjs';
import { accountSas, VERSION } from '../e2e/helpers/sign.mjs';
import { blockBlob, sasSender } from '../e2e/helpers/http.mjs';
import { crc64, md5 } from '../e2e/helpers/digest.mjs';

const server = await startServer();
const send = sasSender(server);
const sas = accountSas();
const target = (path) => `/${account}/${path}${path.includes('?') ? '&' : '?'}${sas}`;
const host = ['Host', `${server.host}:${server.port}`];

const GUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const SERVER = 'Windows-Azure-Blob/1.0 Microsoft-HTTPAPI/2.0';
const RFC1123 = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/;

function ask(method, path, headers = {}, body = '') {
  const all = [host, ['x-ms-version', VERSION], ...Object.entries(headers)];
  if (method === 'PUT') all.push(['Content-Length', Buffer.byteLength(body)]);
  return exchange(server, head(method, target(path), all) + body, { head: method === 'HEAD' });
}

function assertCommonHeaders(answer, version = VERSION) {
  assert.equal(answer.headers.server, SERVER);
  assert.match(answer.headers['x-ms-request-id'], GUID);
  assert.equal(answer.headers['x-ms-version'], version);
  assert.match(answer.headers.date, RFC1123);
  assert.ok(Math.abs(Date.parse(answer.headers.date) - Date.now()) < 5_000);
}

// A whole error answer: line, headers, and the body to the byte.
function assertError(answer, status, code, message, extra = '') {
  assert.equal(answer.line, `HTTP/1.1 ${status} ${message}`);
  assert.equal(answer.headers['x-ms-error-code'], code);
  assert.equal(answer.headers['content-type'], 'application/xml');
  const text = answer.body.toString('utf8');
  const time = /Time:(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z)<\/Message>/.exec(text)?.[1];
  assert.equal(text, `\ufeff<?xml version="1.0" encoding="utf-8"?><Error><Code>${code}</Code>` +
    `<Message>${message}\nRequestId:${answer.headers['x-ms-request-id']}\nTime:${time}</Message>` +
    `${extra}</Error>`);
  assert.ok(Math.abs(Date.parse(time) - Date.now()) < 5_000);
}

await send('PUT', 'wire?restype=container');
await send('PUT', 'wire/b', blockBlob, 'hello');
await send('PUT', 'wire/leased', blockBlob, 'hello');
await send('PUT', 'wire/leased?comp=lease',
  { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': -1 });
await send('PUT', 'wire-leased?restype=container');
await send('PUT', 'wire-leased?restype=container&comp=lease',
  { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': -1 });

// --- errors whose text was recorded from the service ---

const headerValue = (name, value) =>
  `<HeaderName>${name}</HeaderName><HeaderValue>${value}</HeaderValue>`;

const ERRORS = [
  ['a missing container', ['GET', 'none?restype=container'],
    404, 'ContainerNotFound', 'The specified container does not exist.'],
  ['a missing container under a blob', ['GET', 'none/b'],
    404, 'ContainerNotFound', 'The specified container does not exist.'],
  ['a missing blob', ['GET', 'wire/none'],
    404, 'BlobNotFound', 'The specified blob does not exist.'],
  ['a container that exists', ['PUT', 'wire?restype=container'],
    409, 'ContainerAlreadyExists', 'The specified container already exists.'],
  ['a blob that exists', ['PUT', 'wire/b', { ...blockBlob, 'If-None-Match': '*' }, 'x'],
    409, 'BlobAlreadyExists', 'The specified blob already exists.'],
  ['a condition that does not hold', ['GET', 'wire/b', { 'If-Match': '"0x1"' }],
    412, 'ConditionNotMet', 'The condition specified using HTTP conditional header(s) is not met.'],
  ['conditions that may not be combined',
    ['PUT', 'wire/b', { ...blockBlob, 'If-Match': '*', 'If-None-Match': '"0x1"' }, 'x'],
    400, 'MultipleConditionHeadersNotSupported', 'Multiple condition headers are not supported.'],
  ['a leased blob', ['PUT', 'wire/leased', blockBlob, 'x'], 412, 'LeaseIdMissing',
    'There is currently a lease on the blob and no lease ID was specified in the request.'],
  ['a leased container', ['DELETE', 'wire-leased?restype=container'], 412, 'LeaseIdMissing',
    'There is currently a lease on the container and no lease ID was specified in the request.'],
  ['a second lease', ['PUT', 'wire/leased?comp=lease',
    { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '15' }],
  409, 'LeaseAlreadyPresent', 'There is already a lease present.'],
  ['a break of no lease on a container', ['PUT', 'wire?restype=container&comp=lease',
    { 'x-ms-lease-action': 'break' }],
  409, 'LeaseNotPresentWithLeaseOperation', 'There is currently no lease on the container.'],
  ['another lease id', ['GET', 'wire/leased',
    { 'x-ms-lease-id': '00000000-1111-2222-3333-444444444444' }],
  412, 'LeaseIdMismatchWithBlobOperation',
  'The lease ID specified did not match the lease ID for the blob.'],
  ['a range beyond the end', ['GET', 'wire/b', { 'x-ms-range': 'bytes=5-' }],
    416, 'InvalidRange', 'The range specified is invalid for the current size of the resource.'],
  ['bad characters in a container name', ['PUT', 'Wire_Bad?restype=container'],
    400, 'InvalidResourceName', 'The specifed resource name contains invalid characters.'],
  ['a short container name', ['PUT', 'ab?restype=container'], 400, 'OutOfRangeInput',
    'The specified resource name length is not within the permissible limits.'],
  ['another MD5', ['PUT', 'wire/md5', { ...blockBlob, 'Content-MD5': md5('x') }, 'y'],
    400, 'Md5Mismatch',
    'The MD5 value specified in the request did not match with the MD5 value calculated by the server.',
    `<UserSpecifiedMd5>${md5('x')}</UserSpecifiedMd5>` +
    `<ServerCalculatedMd5>${md5('y')}</ServerCalculatedMd5>`],
  ['another CRC64', ['PUT', 'wire/crc', { ...blockBlob, 'x-ms-content-crc64': crc64('x') }, 'y'],
    400, 'Crc64Mismatch',
    'The CRC64 value specified in the request did not match with the CRC64 value calculated by the server.',
    `<UserSpecifiedCrc>${crc64('x')}</UserSpecifiedCrc>` +
    `<ServerCalculatedCrc>${crc64('y')}</ServerCalculatedCrc>`],
  ['an MD5 that is none', ['PUT', 'wire/md5', { ...blockBlob, 'Content-MD5': 'abc' }, 'y'],
    400, 'InvalidMd5',
    'The MD5 value specified in the request is invalid. The MD5 value must be 128 bits and Base64-encoded.'],
  ['both hashes of a range', ['GET', 'wire/b', { 'x-ms-range': 'bytes=0-1',
    'x-ms-range-get-content-md5': 'true', 'x-ms-range-get-content-crc64': 'true' }],
  400, 'BothCrc64AndMd5RangeHeaderPresent',
  'Both x-ms-range-get-content-crc64 header and x-ms-range-get-content-md5 header are present.'],
  ['a lease duration out of range', ['PUT', 'wire/b?comp=lease',
    { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '5' }],
  400, 'InvalidHeaderValue', 'The value for one of the HTTP headers is not in the correct format.',
  headerValue('x-ms-lease-duration', '5')],
  ['a malformed version', ['GET', 'wire/b', { 'x-ms-version': '2021-1-1' }], 400,
    'InvalidHeaderValue', 'The value for one of the HTTP headers is not in the correct format.',
    headerValue('x-ms-version', '2021-1-1')],
];

for (const [what, request, status, code, message, extra] of ERRORS) {
  test(`${what} is answered as recorded: ${status} ${code}`, async () => {
    const [method, path, headers = {}, body = ''] = request;
    const names = Object.keys(headers);
    const all = [host, ...(names.includes('x-ms-version') ? [] : [['x-ms-version', VERSION]]),
      ...Object.entries(headers)];
    if (method === 'PUT') all.push(['Content-Length', body.length]);
    const answer = await exchange(server, head(method, target(path), all) + body);
    assertError(answer, status, code, message, extra);
    assert.equal(answer.headers.server, SERVER);
    assert.match(answer.headers['x-ms-request-id'], GUID);
    if (status === 416) assert.equal(answer.headers['content-range'], 'bytes */5');
  });
}

test('a value in an error body is escaped', async () => {
  const answer = await ask('PUT', 'wire/b?comp=lease',
    { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '<5&"6\'>' });
  assert.equal(answer.code, 'InvalidHeaderValue');
  assert.match(answer.body.toString(),
    /<HeaderValue>&lt;5&amp;("|&quot;)6('|&apos;|&#39;)(>|&gt;)<\/HeaderValue>/);
});

test('an error to HEAD has its code in the headers and no body', async () => {
  const connection = await RawConnection.connect(server);
  const headers = [host, ['x-ms-version', VERSION]];
  await connection.write(head('HEAD', target('wire/none'), headers));
  const answer = await connection.response({ head: true });
  assert.equal(answer.line, 'HTTP/1.1 404 The specified blob does not exist.');
  assert.equal(answer.code, 'BlobNotFound');
  assertCommonHeaders(answer);
  // The next answer follows directly: nothing of a body came between.
  await connection.write(head('HEAD', target('none/b'), headers));
  const next = await connection.response({ head: true });
  assert.equal(next.code, 'ContainerNotFound');
  connection.close();
});

test('304 has the code, no ETag, no body, and leaves the connection open', async () => {
  const { headers: { etag } } = await send('HEAD', 'wire/b');
  for (const method of ['GET', 'HEAD']) {
    const connection = await RawConnection.connect(server);
    const headers = [host, ['x-ms-version', VERSION]];
    await connection.write(head(method, target('wire/b'), [...headers, ['If-None-Match', etag]]));
    const answer = await connection.response({ head: method === 'HEAD' });
    assert.equal(answer.status, 304);
    assert.equal(answer.reason,
      'The condition specified using HTTP conditional header(s) is not met.');
    assert.equal(answer.code, 'ConditionNotMet');
    assert.equal(answer.headers.etag, undefined);
    assert.equal(answer.headers['content-type'], undefined);
    assertCommonHeaders(answer);
    await connection.write(head('GET', target('wire/b'), headers));
    assert.equal((await connection.response()).body.toString(), 'hello');
    connection.close();
  }
});

// --- successes ---

test('Put Blob answers with digests, ETag and date and an empty body', async () => {
  const answer = await ask('PUT', 'wire/put', blockBlob, 'hello world');
  assert.equal(answer.line, 'HTTP/1.1 201 Created');
  assertCommonHeaders(answer);
  assert.equal(answer.headers['content-length'], '0');
  assert.equal(answer.headers['content-md5'], md5('hello world'));
  assert.equal(answer.headers['x-ms-content-crc64'], 'vo7q9sPVKY0=');
  assert.equal(answer.headers['x-ms-request-server-encrypted'], 'true');
  assert.match(answer.headers.etag, /^"0x[0-9A-F]+"$/);
  assert.match(answer.headers['last-modified'], RFC1123);
});

test('an ETag is the time of the write that Last-Modified shows in seconds', async () => {
  const { headers } = await ask('PUT', 'wire/ticks', blockBlob, 'x');
  const ticks = BigInt(JSON.parse(headers.etag));
  const EPOCH_TICKS = 621355968000000000n;
  const seconds = (ticks - EPOCH_TICKS) / 10_000_000n;
  assert.equal(Number(seconds) * 1000, Date.parse(headers['last-modified']));
});

const BLOB_HEADERS = {
  'accept-ranges': 'bytes', 'content-type': 'application/octet-stream',
  'x-ms-blob-type': 'BlockBlob', 'x-ms-lease-state': 'available',
  'x-ms-lease-status': 'unlocked', 'x-ms-server-encrypted': 'true',
};

test('Get Blob and Get Blob Properties answer with the recorded headers', async () => {
  for (const method of ['GET', 'HEAD']) {
    const answer = await ask(method, 'wire/b');
    assert.equal(answer.line, 'HTTP/1.1 200 OK');
    assertCommonHeaders(answer);
    for (const [name, value] of Object.entries(BLOB_HEADERS)) {
      assert.equal(answer.headers[name], value, `${method} ${name}`);
    }
    assert.equal(answer.headers['content-length'], '5');
    assert.equal(answer.headers['content-md5'], md5('hello'));
    assert.match(answer.headers['x-ms-creation-time'], RFC1123);
    assert.equal(answer.headers['x-ms-lease-duration'], undefined);
    if (method === 'GET') assert.equal(answer.body.toString(), 'hello');
  }
});

test('a range is answered with 206, its place, and the MD5 of the whole apart', async () => {
  for (const [range, from, to] of [['bytes=0-0', 0, 0], ['bytes=1-3', 1, 3], ['bytes=2-', 2, 4],
    ['bytes=0-4', 0, 4], ['bytes=0-99', 0, 4], ['bytes=4-4', 4, 4]]) {
    for (const name of ['Range', 'x-ms-range']) {
      const answer = await ask('GET', 'wire/b', { [name]: range });
      assert.equal(answer.line, 'HTTP/1.1 206 Partial Content');
      assert.equal(answer.headers['content-range'], `bytes ${from}-${to}/5`);
      assert.equal(answer.body.toString(), 'hello'.slice(from, to + 1));
      assert.equal(answer.headers['content-md5'], undefined);
      assert.equal(answer.headers['x-ms-blob-content-md5'], md5('hello'));
    }
  }
});

test('x-ms-range is preferred to Range', async () => {
  const answer = await ask('GET', 'wire/b', { Range: 'bytes=0-0', 'x-ms-range': 'bytes=1-2' });
  assert.equal(answer.body.toString(), 'el');
});

test('a range that cannot be read is as good as none', async () => {
  for (const range of ['bytes=-3', 'bytes=', 'bytes', 'lines=1-2', 'bytes=a-b', 'bytes=3-1',
    'bytes=0-1,3-4', '0-1', 'bytes=99999999999999999999999-']) {
    const answer = await ask('GET', 'wire/b', { Range: range });
    if (range === 'bytes=99999999999999999999999-' && answer.status === 416) continue;
    assert.equal(answer.status, 200, range);
    assert.equal(answer.body.toString(), 'hello');
  }
});

test('metadata headers come back in the case they were sent', async () => {
  await ask('PUT', 'wire/cased',
    { ...blockBlob, 'x-ms-meta-CamelCase': 'V', 'X-MS-META-Shout': 'W' }, 'x');
  for (const [method, path] of [['GET', 'wire/cased'], ['HEAD', 'wire/cased'],
    ['GET', 'wire/cased?comp=metadata'], ['HEAD', 'wire/cased?comp=metadata']]) {
    const answer = await ask(method, path);
    assert.equal(answer.status, 200);
    const names = answer.rawHeaders.map(([name]) => name)
      .filter((name) => /^x-ms-meta-/i.test(name));
    assert.deepEqual(names.map((name) => name.slice('x-ms-meta-'.length)).sort(),
      ['CamelCase', 'Shout']);
  }
});

test('a metadata value may be empty', async () => {
  await ask('PUT', 'wire/empty-value',
    { ...blockBlob, 'x-ms-meta-empty': '', 'x-ms-meta-full': '1' }, 'x');
  const { headers } = await ask('HEAD', 'wire/empty-value');
  assert.equal(headers['x-ms-meta-empty'], '');
  assert.equal(headers['x-ms-meta-full'], '1');
});

test('listings are XML with a byte order mark and the recorded elements', async () => {
  const blobs = await ask('GET',
    'wire?restype=container&comp=list&prefix=b&maxresults=1&include=metadata');
  assert.equal(blobs.line, 'HTTP/1.1 200 OK');
  assert.equal(blobs.headers['content-type'], 'application/xml');
  assertCommonHeaders(blobs);
  const { headers } = await send('HEAD', 'wire/b');
  const created = headers['x-ms-creation-time'];
  const endpoint = `http://${server.host}:${server.port}/${account}`;
  const text = blobs.body.toString('utf8').replace(/(ServiceEndpoint="[^"]*?)\/?"/, '$1"');
  const start = `\ufeff<?xml version="1.0" encoding="utf-8"?><EnumerationResults ` +
    `ServiceEndpoint="${endpoint}" ContainerName="wire"><Prefix>b</Prefix>` +
    '<MaxResults>1</MaxResults><Blobs><Blob><Name>b</Name><Properties>' +
    `<Creation-Time>${created}</Creation-Time>` +
    `<Last-Modified>${headers['last-modified']}</Last-Modified>` +
    `<Etag>${JSON.parse(headers.etag)}</Etag><Content-Length>5</Content-Length>` +
    '<Content-Type>application/octet-stream</Content-Type><Content-Encoding />' +
    `<Content-Language /><Content-CRC64 /><Content-MD5>${md5('hello')}</Content-MD5>` +
    '<Cache-Control /><Content-Disposition /><BlobType>BlockBlob</BlobType>';
  assert.equal(text.slice(0, start.length), start);
  assert.match(text, /<LeaseStatus>unlocked<\/LeaseStatus><LeaseState>available<\/LeaseState>/);
  assert.match(text, /<ServerEncrypted>true<\/ServerEncrypted>/);
  assert.match(text, /<Metadata ?\/>/);
  assert.match(text, /<\/Blob><\/Blobs><NextMarker ?\/><\/EnumerationResults>$/);

  const containers = await ask('GET', '?comp=list&prefix=wire&maxresults=1');
  const list = containers.body.toString('utf8');
  const { headers: own } = await send('HEAD', 'wire?restype=container');
  assert.ok(list.includes('<Container><Name>wire</Name><Properties>' +
    `<Last-Modified>${own['last-modified']}</Last-Modified><Etag>${own.etag}</Etag>` +
    '<LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState>'), list);
  assert.ok(list.includes('<HasImmutabilityPolicy>false</HasImmutabilityPolicy>' +
    '<HasLegalHold>false</HasLegalHold>'));
  assert.match(list, /<NextMarker>[^<]+<\/NextMarker><\/EnumerationResults>$/);
});

test('names that XML cannot hold as they are come out escaped', async () => {
  const name = '<&>"\'';
  await send('PUT', `wire/${encodeURIComponent(name)}`, blockBlob, 'x');
  const { body } = await send('GET', 'wire?restype=container&comp=list&prefix=%3C');
  assert.match(body.toString(), /<Name>&lt;&amp;(>|&gt;)("|&quot;)('|&apos;|&#39;)<\/Name>/);
});

test('the client\'s request id is repeated up to 1024 characters', async () => {
  for (const [id, echoed] of [['my-id', true], ['x'.repeat(1024), true],
    ['x'.repeat(1025), false]]) {
    const answer = await ask('GET', 'wire/b', { 'x-ms-client-request-id': id });
    assert.equal(answer.headers['x-ms-client-request-id'], echoed ? id : undefined);
  }
  const refused = await ask('GET', 'wire/none', { 'x-ms-client-request-id': 'my-id' });
  assert.equal(refused.headers['x-ms-client-request-id'], 'my-id');
});

test('no two answers share a request id', async () => {
  const ids = new Set();
  for (let i = 0; i < 50; i++) ids.add((await send('HEAD', 'wire/b')).headers['x-ms-request-id']);
  assert.equal(ids.size, 50);
});

test('every version is accepted and repeated, newer than known ones too', async () => {
  for (const version of ['2009-09-19', '2011-08-18', '2012-02-12', '2015-02-21', '2017-07-29',
    '2018-03-28', '2019-12-12', '2021-08-06', '2026-06-06', '2031-12-31']) {
    const answer = await send('GET', 'wire/b', { 'x-ms-version': version });
    assert.equal(answer.status, 200, version);
    if (version < '2030') assert.equal(answer.headers['x-ms-version'], version);
  }
  for (const version of ['x', '2021', '2021-13-01', '20210101', '2021-08-06T00:00', '0000-00-00']) {
    const answer = await send('GET', 'wire/b', { 'x-ms-version': version });
    assert.equal(`${answer.status} ${answer.code}`, '400 InvalidHeaderValue', version);
  }
});

stopsCleanly(server);
