// What bad input gets: the documented status and code, nothing changed, and a connection that can
// be used again where HTTP allows it.  Nothing a client sends ends the server.

import test from 'node:test';
import assert from 'node:assert/strict';
import { account, startServer, stopsCleanly } from '../e2e/helpers/server.mjs';
import { RawConnection, exchange, head } from '../e2e/helpers/raw.mjs';
import { accountSas, VERSION } from '../e2e/helpers/sign.mjs';
import { blockBlob, sasSender } from '../e2e/helpers/http.mjs';
import { seeded } from '../e2e/helpers/random.mjs';
import { crc64, md5 } from '../e2e/helpers/digest.mjs';

const server = await startServer();
const send = sasSender(server);
const sas = accountSas();
const target = (path) => `/${account}/${path}${path.includes('?') ? '&' : '?'}${sas}`;
const host = ['Host', `${server.host}:${server.port}`];
const version = ['x-ms-version', VERSION];
const plain = [host, version];

const result = ({ status, code }) => (status < 400 ? String(status) : `${status} ${code}`);

await send('PUT', 'bad?restype=container');
await send('PUT', 'bad/kept', { ...blockBlob, 'x-ms-meta-a': 'b' }, 'kept');

async function assertAlive() {
  const answer = await send('GET', 'bad/kept');
  assert.equal(answer.status, 200);
  assert.equal(answer.body.toString(), 'kept');
}

// --- requests that are not HTTP ---

test('a request line that is none is refused or its connection closed', async () => {
  const lines = ['\r\n\r\n\r\n', 'GET\r\n\r\n', 'GET /\r\n\r\n', '\0\0\0\0\r\n\r\n',
    'GET / HTTP/9.9\r\n\r\n', 'GET / FTP/1.1\r\n\r\n', `${'A'.repeat(3000)} / HTTP/1.1\r\n\r\n`,
    '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 'GET  /  HTTP/1.1\r\n\r\n',
    'get /devstoreaccount1 http/1.1\r\n\r\n', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'GET / HTTP/1.1\r\nNoColon\r\n\r\n', 'GET / HTTP/1.1\r\n: empty\r\n\r\n',
    'GET / HTTP/1.1\nHost: x\n\n',
    'GET / HTTP/1.1\r\nHost: x\r\n folded: y\r\n\r\n', 'GET * HTTP/1.1\r\nHost: x\r\n\r\n'];
  for (const line of lines) {
    const connection = await RawConnection.connect(server);
    await connection.write(Buffer.from(line, 'latin1'));
    connection.socket.end();
    await connection.closed();
    const first = connection.received.toString('latin1').split('\r\n')[0];
    assert.match(first, /^$|^HTTP\/1\.[01] [45]\d\d /, JSON.stringify(line));
    connection.close();
  }
  await assertAlive();
});

test('random bytes never end the server', async () => {
  const random = seeded('bad_input');
  const starts = ['', 'GET ', `GET ${target('bad/kept')} HTTP/1.1\r\n`,
    `PUT ${target('bad/x')} HTTP/1.1\r\nHost: x\r\nContent-Length: `];
  for (let i = 0; i < 60; i++) {
    const connection = await RawConnection.connect(server);
    await connection.write(Buffer.concat([Buffer.from(starts[i % starts.length]),
      random.bytes(random.between(1, 2000)), Buffer.from('\r\n\r\n')]));
    connection.socket.end();
    await connection.closed();
    connection.close();
  }
  await assertAlive();
});

test('a method the service does not have is refused', async () => {
  for (const method of ['PATCH', 'TRACE', 'MKCOL', 'FOO', 'POST', 'LOCK']) {
    const answer = await exchange(server, head(method, target('bad/kept'),
      [...plain, ['Content-Length', 0]]));
    assert.ok([400, 404, 405, 501].includes(answer.status), `${method} ${answer.status}`);
  }
  await assertAlive();
});

test('a flood of headers is refused and the connection closed', async () => {
  const floods = [
    [...plain, ['x-ms-meta-big', 'v'.repeat(200_000)]],
    [...plain, ...Array.from({ length: 20_000 }, (_, i) => [`x-flood-${i}`, 'v'.repeat(20)])],
    [...plain, ['n'.repeat(100_000), 'v']],
  ];
  for (const headers of floods) {
    const connection = await RawConnection.connect(server);
    connection.write(head('GET', target('bad/kept'), headers));
    const answer = await connection.responseOrClose();
    // The server may close while the flood is still coming in, and the answer be lost with it.
    if (answer !== null) assert.ok(answer.status >= 400 && answer.status < 500, answer.line);
    await connection.closed();
    connection.close();
  }
  await assertAlive();
});

test('a URL that is too long is refused', async () => {
  const connection = await RawConnection.connect(server);
  connection.write(head('GET', target(`bad/${'x'.repeat(200_000)}`), plain));
  const answer = await connection.responseOrClose();
  if (answer !== null) assert.ok(answer.status >= 400 && answer.status < 500, answer.line);
  connection.close();
  await assertAlive();
});

test('as many headers as are legal are accepted', async () => {
  const headers = Object.fromEntries(
    Array.from({ length: 200 }, (_, i) => [`x-ms-meta-n${i}`, 'v']));
  const answer = await send('PUT', 'bad/many-headers', { ...blockBlob, ...headers }, 'x');
  assert.equal(answer.status, 201);
  const { headers: back } = await send('HEAD', 'bad/many-headers');
  assert.equal(Object.keys(back).filter((name) => name.startsWith('x-ms-meta-')).length, 200);
});

// --- lengths ---

test('a PUT without a length is refused with 411', async () => {
  const answer = await exchange(server, head('PUT', target('bad/no-length'),
    [...plain, ...Object.entries(blockBlob)]));
  assert.equal(result(answer), '411 MissingContentLengthHeader');
  assert.equal((await send('HEAD', 'bad/no-length')).status, 404);
});

test('a chunked PUT without a length is refused with 411', async () => {
  const connection = await RawConnection.connect(server);
  await connection.write(head('PUT', target('bad/chunked'),
    [...plain, ...Object.entries(blockBlob), ['Transfer-Encoding', 'chunked']]));
  await connection.write('5\r\nhello\r\n0\r\n\r\n');
  const answer = await connection.response();
  assert.equal(result(answer), '411 MissingContentLengthHeader');
  connection.close();
  assert.equal((await send('HEAD', 'bad/chunked')).status, 404);
});

test('a Content-Length that is no number is refused', async () => {
  for (const length of ['x', '-1', '1.5', '0x10', '99999999999999999999999', '5 5', '+5', '']) {
    const connection = await RawConnection.connect(server);
    await connection.write(head('PUT', target('bad/length'),
      [...plain, ...Object.entries(blockBlob), ['Content-Length', length]]));
    const answer = await connection.responseOrClose();
    if (answer !== null) {
      assert.ok(answer.status >= 400 && answer.status < 500, `${length}: ${answer.line}`);
    }
    connection.close();
    assert.equal((await send('HEAD', 'bad/length')).status, 404, length);
  }
  await assertAlive();
});

test('two lengths that differ are refused', async () => {
  const connection = await RawConnection.connect(server);
  await connection.write(head('PUT', target('bad/smuggled'), [...plain,
    ...Object.entries(blockBlob), ['Content-Length', 5], ['Content-Length', 6]]) + 'hello!');
  const answer = await connection.responseOrClose();
  if (answer !== null) assert.equal(answer.status, 400, answer.line);
  connection.close();
  assert.equal((await send('HEAD', 'bad/smuggled')).status, 404);
});

test('a length and chunks together are refused', async () => {
  const connection = await RawConnection.connect(server);
  await connection.write(head('PUT', target('bad/smuggled'), [...plain,
    ...Object.entries(blockBlob), ['Content-Length', 5], ['Transfer-Encoding', 'chunked']]) +
    '5\r\nhello\r\n0\r\n\r\n');
  const answer = await connection.responseOrClose();
  if (answer !== null) assert.ok([400, 411].includes(answer.status), answer.line);
  connection.close();
  assert.equal((await send('HEAD', 'bad/smuggled')).status, 404);
});

test('the longest request the reference allows is served, and its answer', async () => {
  const name = encodeURIComponent('語'.repeat(1024));
  const metadata = Object.fromEntries(Array.from({ length: 16 },
    (_, i) => [`x-ms-meta-name_${String(i).padStart(2, '0')}`, 'v'.repeat(504)]));
  const put = await send('PUT', `bad/${name}`, { ...blockBlob, ...metadata,
    'x-ms-client-request-id': 'c'.repeat(1024) }, 'x');
  assert.equal(result(put), '201');
  const got = await send('GET', `bad/${name}`, { 'x-ms-client-request-id': 'c'.repeat(1024) });
  assert.equal(got.status, 200);
  assert.equal(got.headers['x-ms-meta-name_15'].length, 504);
});

test('a body larger than the service takes is refused before it is sent', async () => {
  const connection = await RawConnection.connect(server);
  await connection.write(head('PUT', target('bad/huge'), [...plain, ...Object.entries(blockBlob),
    ['Content-Length', 6_000 * 1024 * 1024], ['Expect', '100-continue']]));
  const answer = await connection.response();
  assert.equal(result(answer), '413 RequestBodyTooLarge');
  assert.match(answer.body.toString(), /<MaxLimit>5242880000<\/MaxLimit>/);
  connection.close();
});

// --- integrity ---

test('digests that are wrong, malformed or too many are refused', async () => {
  const cases = [
    [{ 'Content-MD5': md5('other') }, '400 Md5Mismatch'],
    [{ 'x-ms-blob-content-md5': md5('other') }, '400 Md5Mismatch'],
    [{ 'Content-MD5': 'not base64!' }, '400 InvalidMd5'],
    [{ 'Content-MD5': 'AAAA' }, '400 InvalidMd5'],
    [{ 'x-ms-content-crc64': crc64('other') }, '400 Crc64Mismatch'],
    [{ 'x-ms-content-crc64': crc64('body'), 'Content-MD5': md5('body') },
      '400 BothCrc64AndMd5HeaderPresent'],
  ];
  for (const size of [4, 100_000]) {
    for (const [headers, expected] of cases) {
      const answer = await send('PUT', 'bad/digest', { ...blockBlob, ...headers },
        size === 4 ? 'body' : Buffer.alloc(size));
      assert.equal(result(answer), expected, JSON.stringify(headers));
      assert.equal((await send('HEAD', 'bad/digest')).status, 404);
    }
  }
  for (const headers of [{ 'Content-MD5': md5('body') }, { 'x-ms-content-crc64': crc64('body') }]) {
    const answer = await send('PUT', 'bad/digest-ok', { ...blockBlob, ...headers }, 'body');
    assert.equal(answer.status, 201);
  }
});

test('the hash of a range needs a range of at most 4 MiB', async () => {
  const size = 5 * 1024 * 1024;
  await send('PUT', 'bad/five', blockBlob, Buffer.alloc(size, 'x'));
  for (const name of ['x-ms-range-get-content-md5', 'x-ms-range-get-content-crc64']) {
    const whole = await send('GET', 'bad/five', { [name]: 'true' });
    assert.equal(whole.status, 400, name);
    const long = await send('GET', 'bad/five',
      { [name]: 'true', 'x-ms-range': `bytes=0-${size - 1}` });
    assert.equal(long.status, 400, name);
    const good = await send('GET', 'bad/five', { [name]: 'true', 'x-ms-range': 'bytes=0-4194303' });
    assert.equal(good.status, 206, name);
  }
});

// --- headers of operations ---

test('Put Blob needs a blob type it knows', async () => {
  assert.equal(result(await send('PUT', 'bad/typeless', {}, 'x')), '400 MissingRequiredHeader');
  const odd = await send('PUT', 'bad/typeless', { 'x-ms-blob-type': 'OddBlob' }, 'x');
  assert.equal(result(odd), '400 InvalidHeaderValue');
  assert.equal((await send('HEAD', 'bad/typeless')).status, 404);
});

test('metadata names are identifiers, not empty, not twice', async () => {
  for (const [name, code] of [['1digit', 'InvalidMetadata'], ['with-dash', 'InvalidMetadata'],
    ['dot.dot', 'InvalidMetadata'], ['', 'EmptyMetadataKey']]) {
    for (const path of ['bad/meta', 'bad/kept?comp=metadata',
      'bad?restype=container&comp=metadata', 'bad-meta?restype=container']) {
      const body = path === 'bad/meta' ? 'x' : '';
      const answer = await exchange(server, head('PUT', target(path), [...plain,
        ...(body ? Object.entries(blockBlob) : []), [`x-ms-meta-${name}`, 'v'],
        ['Content-Length', body.length]]) + body);
      assert.equal(result(answer), `400 ${code}`, `${path} ${name}`);
    }
  }
  const twice = await exchange(server, head('PUT', target('bad/kept?comp=metadata'), [...plain,
    ['x-ms-meta-same', '1'], ['x-ms-meta-Same', '2'], ['Content-Length', 0]]));
  assert.equal(twice.status, 400);
  assert.equal((await send('HEAD', 'bad/kept')).headers['x-ms-meta-a'], 'b');
  assert.equal((await send('HEAD', 'bad-meta?restype=container')).status, 404);
});

test('metadata is at most 8 KiB', async () => {
  const most = { 'x-ms-meta-a': 'v'.repeat(8191) };
  const over = { 'x-ms-meta-a': 'v'.repeat(8192) };
  assert.equal((await send('PUT', 'bad/meta-most', { ...blockBlob, ...most }, 'x')).status, 201);
  assert.equal((await send('HEAD', 'bad/meta-most')).headers['x-ms-meta-a'].length, 8191);
  for (const [path, headers, body] of [['bad/meta-over', blockBlob, 'x'],
    ['bad/kept?comp=metadata', {}, null], ['bad?restype=container&comp=metadata', {}, null]]) {
    const answer = await send('PUT', path, { ...headers, ...over }, body);
    assert.equal(result(answer), '400 MetadataTooLarge', path);
  }
  assert.equal((await send('HEAD', 'bad/meta-over')).status, 404);
  assert.equal((await send('HEAD', 'bad/kept')).headers['x-ms-meta-a'], 'b');
});

test('resource names are held to their rules in every operation', async () => {
  const cases = [['ab', 'OutOfRangeInput'], ['x'.repeat(64), 'OutOfRangeInput'],
    ...['Upper', 'a--b', '-ab', 'ab-', 'a_b', 'a%20b', '%C3%A4%C3%A4%C3%A4']
      .map((name) => [name, 'InvalidResourceName'])];
  for (const [name, code] of cases) {
    for (const [method, path] of [['PUT', `${name}?restype=container`],
      ['GET', `${name}?restype=container`], ['GET', `${name}?restype=container&comp=list`],
      ['GET', `${name}/b`]]) {
      assert.equal(result(await send(method, path)), `400 ${code}`, `${method} ${path}`);
    }
  }
});

test('query parameters of a listing are held to their rules', async () => {
  const list = 'bad?restype=container&comp=list';
  for (const value of ['0', '-1', 'x', '', '1.5', '99999999999999999999']) {
    const answer = await send('GET', `${list}&maxresults=${value}`);
    if (value === '') continue; // an empty parameter is as good as none
    assert.equal(answer.status, 400, value);
    assert.match(answer.code, /^(OutOfRange|Invalid)QueryParameterValue$/);
  }
  const zero = await send('GET', `${list}&maxresults=0`);
  assert.equal(zero.code, 'OutOfRangeQueryParameterValue');
  assert.ok(zero.body.includes('<QueryParameterName>maxresults</QueryParameterName>' +
    '<QueryParameterValue>0</QueryParameterValue><MinimumAllowed>1</MinimumAllowed>' +
    '<MaximumAllowed>5000</MaximumAllowed>'));
  const include = await send('GET', `${list}&include=nonsense`);
  assert.equal(result(include), '400 InvalidQueryParameterValue');
});

test('an operation that does not exist is refused', async () => {
  for (const [method, path] of [['GET', 'bad/kept?comp=nonsense'], ['PUT', 'bad?restype=nonsense'],
    ['GET', 'bad?restype=container&comp=nonsense'], ['DELETE', '?comp=list'], ['PUT', '']]) {
    const answer = await send(method, path);
    assert.ok(answer.status >= 400 && answer.status <= 501 && answer.status !== 500,
      `${method} ${path} ${answer.status}`);
    assert.ok(answer.code);
  }
  await assertAlive();
});

test('a header that may come once and comes twice does not confuse the server', async () => {
  for (const name of ['x-ms-version', 'x-ms-range', 'If-Match', 'Host', 'x-ms-lease-id']) {
    const answer = await exchange(server, head('GET', target('bad/kept'),
      [...plain, [name, 'one'], [name, 'two']]));
    assert.ok(answer.status < 500, `${name} ${answer.line}`);
  }
  await assertAlive();
});

stopsCleanly(server);
