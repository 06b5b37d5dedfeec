// The life of a connection: kept after errors, pipelined, continued or not, slow, dropped, idle.

import test from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import { account, eventually, startServer, stopsCleanly } from '../e2e/helpers/server.mjs';
import { RawConnection, head } from '../e2e/helpers/raw.mjs';
import { accountSas, VERSION } from '../e2e/helpers/sign.mjs';
import { blockBlob, sasSender } from '../e2e/helpers/http.mjs';
import { Random } from '../e2e/helpers/random.mjs';
import { md5 } from '../e2e/helpers/digest.mjs';
import { bytesOnDisk } from '../e2e/helpers/space.mjs';

const server = await startServer();
const send = sasSender(server);
const sas = accountSas();
const random = new Random(5);
const target = (name) => `/${account}/${name}${name.includes('?') ? '&' : '?'}${sas}`;
const plain = [['Host', `${server.host}:${server.port}`], ['x-ms-version', VERSION]];
const putHead = (name, length, more = []) => head('PUT', target(name),
  [...plain, ...Object.entries(blockBlob), ['Content-Length', length], ...more]);
const getHead = (name) => head('GET', target(name), plain);
const result = ({ status, code }) => (status < 400 ? String(status) : `${status} ${code}`);

const KIB = 1024;
const MIB = 1024 * KIB;

await send('PUT', 'conn?restype=container');
await send('PUT', 'conn/b', blockBlob, 'hello');

const connect = () => RawConnection.connect(server);

// --- one connection, many requests ---

test('a connection serves requests of all kinds one after the other', async () => {
  const connection = await connect();
  for (let i = 0; i < 20; i++) {
    const body = `body ${i}`;
    await connection.write(putHead('conn/kept-alive', body.length) + body);
    assert.equal((await connection.response()).status, 201);
    await connection.write(getHead('conn/kept-alive'));
    assert.equal((await connection.response()).body.toString(), body);
    await connection.write(getHead('conn/none'));
    assert.equal((await connection.response()).code, 'BlobNotFound');
    await connection.write(head('HEAD', target('conn/b'), plain));
    assert.equal((await connection.response({ head: true })).headers['content-length'], '5');
  }
  connection.close();
});

// A request refused before its body is read, with a body of each size.
const REFUSALS = [
  ['a missing container', (size) => putHead('none/x', size), '404 ContainerNotFound'],
  ['a bad signature', (size) => head('PUT', `/${account}/conn/x?${sas}x`,
    [...plain, ...Object.entries(blockBlob), ['Content-Length', size]]),
  '403 AuthenticationFailed'],
  ['a bad header', (size) => putHead('conn/x', size, [['x-ms-lease-id', 'nonsense']]),
    '400 InvalidHeaderValue'],
  ['a failing condition', (size) => putHead('conn/b', size, [['If-None-Match', '*']]),
    '409 BlobAlreadyExists'],
];

for (const [what, request, expected] of REFUSALS) {
  test(`a connection is usable after ${what} and a body nobody wanted`, async () => {
    for (const size of [0, 1, 1000, 70 * KIB, 3 * MIB]) {
      const connection = await connect();
      await connection.write(request(size));
      await connection.write(Buffer.alloc(size, 'x'));
      assert.equal(result(await connection.response()), expected, `${size} bytes`);
      await connection.write(getHead('conn/b'));
      const next = await connection.response();
      assert.equal(next.status, 200, `${size} bytes`);
      assert.equal(next.body.toString(), 'hello');
      connection.close();
    }
  });
}

test('a GET with a body is answered and the body not taken for a request', async () => {
  const connection = await connect();
  const smuggled = getHead('conn/none');
  await connection.write(head('GET', target('conn/b'),
    [...plain, ['Content-Length', smuggled.length]]) + smuggled);
  assert.ok([200, 400].includes((await connection.response()).status));
  await connection.write(getHead('conn/b'));
  assert.equal((await connection.response()).body.toString(), 'hello');
  connection.close();
});

test('pipelined requests are answered in their order', async () => {
  const connection = await connect();
  const requests = [];
  for (let i = 0; i < 10; i++) {
    const body = `pipelined ${i}`;
    requests.push(putHead(`conn/pipelined-${i}`, body.length) + body);
    requests.push(getHead(`conn/pipelined-${i}`));
    requests.push(getHead('conn/none'));
  }
  await connection.write(requests.join(''));
  for (let i = 0; i < 10; i++) {
    assert.equal((await connection.response()).status, 201);
    assert.equal((await connection.response()).body.toString(), `pipelined ${i}`);
    assert.equal((await connection.response()).code, 'BlobNotFound');
  }
  connection.close();
});

test('Connection: close is obeyed', async () => {
  const connection = await connect();
  await connection.write(head('GET', target('conn/b'), [...plain, ['Connection', 'close']]));
  assert.equal((await connection.response()).status, 200);
  await connection.closed();
  connection.close();
});

test('an HTTP/1.0 request is answered and its connection closed', async () => {
  const connection = await connect();
  await connection.write(getHead('conn/b').replace('HTTP/1.1', 'HTTP/1.0'));
  await connection.closed();
  assert.match(connection.received.toString(), /^HTTP\/1\.[01] 200 /);
  assert.ok(connection.received.toString().endsWith('hello'));
  connection.close();
});

// --- Expect: 100-continue ---

test('a client that asks is told to continue, and only then sends its body', async () => {
  for (const size of [5, 200 * KIB]) {
    const connection = await connect();
    const body = random.bytes(size);
    await connection.write(putHead(`conn/expected-${size}`, size, [['Expect', '100-continue']]));
    assert.equal((await connection.response()).status, 100);
    await connection.write(body);
    assert.equal((await connection.response()).status, 201);
    assert.ok((await send('GET', `conn/expected-${size}`)).body.equals(body));
    connection.close();
  }
});

test('a client that asks and is refused never needs to send its body', async () => {
  const cases = [
    [head('PUT', `/${account}/conn/x?${sas}x`, [...plain, ...Object.entries(blockBlob),
      ['Content-Length', 10 * MIB], ['Expect', '100-continue']]), '403 AuthenticationFailed'],
    [putHead('conn/x', 10 * MIB, [['Expect', '100-continue'], ['x-ms-lease-id', 'nonsense']]),
      '400 InvalidHeaderValue'],
    [head('PUT', target('conn/x'), [...plain, ['Content-Length', 10 * MIB],
      ['Expect', '100-continue']]), '400 MissingRequiredHeader'],
  ];
  for (const [request, expected] of cases) {
    const connection = await connect();
    await connection.write(request);
    assert.equal(result(await connection.response()), expected);
    connection.close();
  }
  assert.equal((await send('HEAD', 'conn/x')).status, 404);
});

// --- slow and broken clients ---

test('a request that comes byte by byte is served', async () => {
  const connection = await connect();
  const request = Buffer.from(putHead('conn/slow', 11) + 'hello world');
  for (const byte of request) await connection.write(Buffer.from([byte]));
  assert.equal((await connection.response()).status, 201);
  assert.equal((await send('GET', 'conn/slow')).body.toString(), 'hello world');
  connection.close();
});

test('a body that comes in odd pieces is stored whole', async () => {
  const body = random.bytes(700_001);
  const connection = await connect();
  await connection.write(putHead('conn/pieces', body.length));
  for (let at = 0; at < body.length;) {
    const length = random.between(1, 40_000);
    await connection.write(body.subarray(at, at + length));
    at += length;
  }
  const answer = await connection.response();
  assert.equal(answer.headers['content-md5'], md5(body));
  assert.ok((await send('GET', 'conn/pieces')).body.equals(body));
  connection.close();
});

test('a reader that takes its time gets every byte', async () => {
  const body = random.bytes(8 * MIB);
  await send('PUT', 'conn/large', blockBlob, body);
  const connection = await connect();
  connection.socket.pause();
  await connection.write(getHead('conn/large'));
  // Others are served while this one does not read.
  for (let i = 0; i < 50; i++) assert.equal((await send('GET', 'conn/b')).status, 200);
  connection.socket.resume();
  assert.ok((await connection.response()).body.equals(body));
  connection.close();
});

const leave = {
  'by closing its side': async (connection) => {
    connection.socket.end();
    await connection.closed();
  },
  'by closing': async (connection) => connection.socket.destroy(),
  'by a reset': async (connection) => connection.socket.resetAndDestroy(),
};

for (const [how, go] of Object.entries(leave)) {
  test(`a client that leaves ${how} is let go, whenever it does so`, () => leaveOften(go));
}

async function leaveOften(go) {
  const requests = [
    '', 'GET / HT', getHead('conn/b'), getHead('conn/none'), head('HEAD', target('conn/b'), plain),
    getHead('conn/large'), putHead('conn/let-go', 1) + 'x', putHead('conn/cut', 10) + 'x',
    putHead('conn/cut', MIB) + 'x'.repeat(300 * KIB),
  ];
  for (const request of requests) {
    for (const wait of [false, true]) {
      await Promise.all(Array.from({ length: 10 }, async () => {
        const connection = await connect();
        if (request !== '') await connection.write(request);
        // A request to another connection gives the server time to have read this one.
        if (wait) await send('GET', 'conn/b');
        await go(connection);
        connection.close();
      }));
    }
  }
  await eventually(20_000, 'the server to have no request in flight', async () => {
    const metrics = await (await fetch(`${server.adminUrl}/metrics`)).text();
    // The request for the metrics may count itself.
    return Number(/^zaffre_requests_in_flight (\d+)$/m.exec(metrics)[1]) <= 1;
  });
}

test('an upload cut off in the middle leaves no blob and no bytes on the disk', async () => {
  const size = 4 * MIB;
  const REPETITIONS = 20;
  const cutOff = async (i) => {
    const connection = await connect();
    await connection.write(putHead(`conn/cut-${i}`, size));
    await connection.write(random.bytes(size - 1 - i * 1000));
    connection.close();
  };
  await cutOff(0);
  const before = bytesOnDisk(server.directory);
  for (let i = 0; i < REPETITIONS; i++) await cutOff(i);
  for (let i = 0; i < REPETITIONS; i++) {
    assert.equal((await send('HEAD', `conn/cut-${i}`)).status, 404);
  }
  // Twenty uploads of four megabytes would show; what one of them may leave for a while does not.
  await eventually(20_000, 'the space of the cut-off uploads to be given back',
    () => bytesOnDisk(server.directory) < before + 3 * size);
});

test('a cut-off overwrite leaves the blob as it was', async () => {
  for (const size of [1000, 200 * KIB]) {
    const old = random.bytes(size);
    const { headers } = await send('PUT', 'conn/overwritten', blockBlob, old);
    const connection = await connect();
    await connection.write(putHead('conn/overwritten', size));
    await connection.write(Buffer.alloc(size - 1, 'x'));
    connection.close();
    const after = await send('GET', 'conn/overwritten');
    assert.ok(after.body.equals(old));
    assert.equal(after.headers.etag, headers.etag);
  }
});

test('a download the client walks away from harms nobody', async () => {
  for (let i = 0; i < 20; i++) {
    const connection = await connect();
    await connection.write(getHead('conn/large'));
    await connection.waitFor('the first bytes',
      () => (connection.received.length > 0 ? true : undefined));
    connection.close();
  }
  assert.equal((await send('GET', 'conn/b')).body.toString(), 'hello');
});

test('overwritten and deleted blobs give their space back', async () => {
  const size = 4 * MIB;
  await send('PUT', 'conn/rewritten', blockBlob, random.bytes(size));
  const before = bytesOnDisk(server.directory);
  for (let i = 0; i < 20; i++) {
    assert.equal((await send('PUT', 'conn/rewritten', blockBlob, random.bytes(size))).status, 201);
  }
  await eventually(20_000, 'the space of the overwritten blobs to be given back',
    () => bytesOnDisk(server.directory) < before + 4 * size);
  await send('DELETE', 'conn/rewritten');
});

test('a connection that goes quiet is closed after the time it may be', async () => {
  const impatient = await startServer({ args: ['--blobKeepAliveTimeout', '1'] });
  const quiet = ['', 'GET / HT', getHead('conn/b'), putHead('conn/x', 10) + 'x'];
  await Promise.all(quiet.map(async (bytes) => {
    const connection = await RawConnection.connect(impatient);
    if (bytes !== '') await connection.write(bytes);
    await connection.closed();
    connection.close();
  }));
  assert.equal((await impatient.stop()).code, 0);
});

// --- memory ---

const residentKib = () => Number(/^VmRSS:\s+(\d+) kB/m
  .exec(fs.readFileSync(`/proc/${server.child.pid}/status`, 'utf8'))[1]);

// A sanitizer keeps freed memory, so growth says nothing there.
const sanitized = /[at]san/.test(fs.readFileSync(`/proc/${server.child.pid}/maps`, 'utf8'));

test('a large upload and its download do not grow the server', { skip: sanitized }, async () => {
  const chunk = random.bytes(MIB);
  const count = 200;
  await send('PUT', 'conn/grown', blockBlob, chunk);
  const before = residentKib();
  const connection = await connect();
  await connection.write(putHead('conn/grown', count * MIB));
  let most = 0;
  for (let i = 0; i < count; i++) {
    await connection.write(chunk);
    most = Math.max(most, residentKib());
  }
  assert.equal((await connection.response()).status, 201);
  connection.close();

  let received = 0;
  const reader = net.connect({ host: server.host, port: server.port });
  reader.write(getHead('conn/grown'));
  for await (const data of reader) {
    received += data.length;
    most = Math.max(most, residentKib());
    if (received > count * MIB) break;
  }
  assert.ok(most - before < 32 * KIB, `grew from ${before} to ${most} KiB`);
  await send('DELETE', 'conn/grown');
});

// --- many ---

// Each connection takes a descriptor here and one in the server; ZAFFRE_IDLE chooses their number.
const IDLE = Number(process.env.ZAFFRE_IDLE ?? 2_000);

test(`${IDLE} idle connections do not keep others from being served`, async (t) => {
  const sockets = [];
  t.after(() => sockets.forEach((socket) => socket.destroy()));
  const open = () => new Promise((resolve, reject) => {
    const socket = net.connect({ host: server.host, port: server.port }, () => resolve(socket));
    // Once it is connected, an error says no more than that it was closed.
    socket.on('error', reject);
    socket.unref();
  });
  const BATCH = 100;
  while (sockets.length < IDLE) {
    const batch = await Promise.all(Array.from({ length: BATCH }, open));
    sockets.push(...batch);
  }
  for (let i = 0; i < 50; i++) {
    assert.equal((await send('PUT', `conn/busy-${i}`, blockBlob, 'x')).status, 201);
    assert.equal((await send('GET', 'conn/b')).body.toString(), 'hello');
  }
  assert.ok(sockets.every((socket) => !socket.destroyed), 'the idle ones are still connected');
  // One of them wakes up and is served as well.
  const connection = new RawConnection(sockets[IDLE >> 1]);
  await connection.write(getHead('conn/b'));
  assert.equal((await connection.response()).body.toString(), 'hello');
});

test('200 connections that upload at once are all served', async () => {
  const answers = await Promise.all(Array.from({ length: 200 }, async (_, i) => {
    const connection = await connect();
    const body = Buffer.alloc(10_000 + i * 500, i);
    await connection.write(putHead(`conn/parallel-${i}`, body.length));
    await connection.write(body);
    const answer = await connection.response();
    connection.close();
    return answer.headers['content-md5'] === md5(body);
  }));
  assert.ok(answers.every(Boolean));
});

stopsCleanly(server);
