// Clients that mean harm, or behave as if: they dribble, flood, never read, and break off.  The
// server's memory stays bounded, others are served meanwhile, and it is well afterwards.  How an
// ordinary connection lives is in connection.test.mjs.

import test from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { account, eventually, startServer, stopsCleanly, within } from '../e2e/helpers/server.mjs';
import { RawConnection, head } from '../e2e/helpers/raw.mjs';
import { accountSas, VERSION } from '../e2e/helpers/sign.mjs';
import { blockBlob, sasSender } from '../e2e/helpers/http.mjs';

const KIB = 1024;
const MIB = 1024 * KIB;

const server = await startServer();
const send = sasSender(server);
const sas = accountSas();
const target = (name) => `/${account}/${name}${name.includes('?') ? '&' : '?'}${sas}`;
const plain = [['Host', `${server.host}:${server.port}`], ['x-ms-version', VERSION]];
const putHead = (name, length, more = []) => head('PUT', target(name),
  [...plain, ...Object.entries(blockBlob), ['Content-Length', length], ...more]);
const getHead = (name) => head('GET', target(name), plain);
const connect = () => RawConnection.connect(server);

await send('PUT', 'hostile?restype=container');
await send('PUT', 'hostile/b', blockBlob, 'hello');
const LARGE = 32 * MIB;
await send('PUT', 'hostile/large', blockBlob, Buffer.alloc(LARGE, 'l'));

// --- how the others fare ---

const residentKib = (of = server) => Number(/^VmRSS:\s+(\d+) kB/m
  .exec(fs.readFileSync(`/proc/${of.child.pid}/status`, 'utf8'))[1]);

// A sanitizer keeps freed memory, so growth says nothing there.
const sanitized = /[at]san/.test(fs.readFileSync(`/proc/${server.child.pid}/maps`, 'utf8'));

// The median time of a small write and read, in ms.
async function ownPace(name, rounds = 40) {
  const times = [];
  for (let i = 0; i < rounds; i++) {
    const began = performance.now();
    assert.equal((await send('PUT', `hostile/${name}`, blockBlob, 'x')).status, 201);
    assert.equal((await send('GET', 'hostile/b')).body.toString(), 'hello');
    times.push(performance.now() - began);
  }
  return times.sort((a, b) => a - b)[rounds >> 1];
}

// Twice as long is what is promised; the machine that runs the tests has other things to do, so
// short times have to be much longer before they say something.
function assertServed(during, calm) {
  assert.ok(during < Math.max(2 * calm, calm + 50), `${calm} ms became ${during} ms`);
}

function assertGrewBy(beforeKib, mostKib, of = server) {
  if (sanitized) return;
  const grown = residentKib(of) - beforeKib;
  assert.ok(grown < mostKib, `grew by ${grown} KiB`);
}

// Runs `attack`, which makes connections that stay; the others are served as before, and memory
// has grown by less than `mostKib`.  Afterwards the connections are cut.
async function underAttack(name, mostKib, attack) {
  const calm = await ownPace(`${name}-calm`);
  const before = residentKib();
  const connections = await attack();
  try {
    // What can be done for them at once is done first.
    await ownPace(`${name}-first`);
    assertServed(await ownPace(`${name}-during`), calm);
    assertGrewBy(before, mostKib);
  } finally {
    connections.forEach((connection) => connection.close());
  }
  assertServed(await ownPace(`${name}-after`), calm);
}

const many = (count, make) => Promise.all(Array.from({ length: count }, (_, i) => make(i)));

async function assertIdle() {
  await eventually(20_000, 'the server to have no request in flight', async () => {
    const metrics = await (await fetch(`${server.adminUrl}/metrics`)).text();
    return Number(/^zaffre_requests_in_flight (\d+)$/m.exec(metrics)[1]) <= 1;
  });
}

// --- slow senders ---

test('400 clients that dribble their headers hold nobody up', async () => {
  await underAttack('dribbled-heads', 400 * 48, () => many(400, async (i) => {
    const connection = await connect();
    const bytes = putHead(`hostile/dribbled-${i}`, 5);
    for (let at = 0; at < 200; at += 20) await connection.write(bytes.slice(at, at + 20));
    connection.socket.write(bytes.slice(200, -2));
    return connection;
  }));
  await assertIdle();
});

test('200 clients that dribble their bodies hold nobody up and leave nothing', async () => {
  await underAttack('dribbled-bodies', 200 * 80, () => many(200, async (i) => {
    const connection = await connect();
    await connection.write(putHead(`hostile/body-${i}`, MIB));
    await connection.write(Buffer.alloc(10 * KIB, 'd'));
    for (let j = 0; j < 10; j++) await connection.write('d');
    return connection;
  }));
  await assertIdle();
  for (let i = 0; i < 200; i += 20) {
    assert.equal((await send('HEAD', `hostile/body-${i}`)).status, 404);
  }
});

test('documents that are announced and not sent cost nothing', async () => {
  const announced = 8 * MIB - 1;
  await underAttack('documents', 200 * 80, () => many(200, async () => {
    const connection = await connect();
    await connection.write(head('PUT', target('hostile/b?comp=blocklist'),
      [...plain, ['Content-Length', announced]]));
    await connection.write('<BlockList>');
    return connection;
  }));
  await assertIdle();
});

// --- floods ---

test('requests are not read faster than their answers are taken', async () => {
  const COUNT = 3000;
  const FLOODERS = 10;
  const one = getHead('hostile/b');
  await underAttack('pipelined', FLOODERS * KIB, () => many(FLOODERS, async () => {
    const connection = await connect();
    connection.socket.pause();
    connection.socket.write(one.repeat(COUNT));
    return connection;
  }));
  await assertIdle();
});

test('a flood of pipelined requests is answered whole and in order', async () => {
  const connection = await connect();
  const COUNT = 2000;
  const requests = [];
  for (let i = 0; i < COUNT; i++) {
    requests.push(getHead(i % 2 === 0 ? 'hostile/b' : 'hostile/none'));
  }
  connection.socket.write(requests.join(''));
  for (let i = 0; i < COUNT; i++) {
    const answer = await connection.response();
    assert.equal(answer.status, i % 2 === 0 ? 200 : 404, `answer ${i}`);
  }
  connection.close();
});

// --- chunks ---

// Uploads need a Content-Length: what comes in chunks is read, dropped and refused.
const chunkedHead = head('PUT', target('hostile/chunked'),
  [...plain, ...Object.entries(blockBlob), ['Transfer-Encoding', 'chunked']]);

test('20,000 chunks of one byte are dropped, and the connection goes on', async () => {
  const connection = await connect();
  await connection.write(chunkedHead + '1\r\nx\r\n'.repeat(20_000) + '0\r\n\r\n');
  assert.equal((await connection.response()).code, 'MissingContentLengthHeader');
  await connection.write(getHead('hostile/b'));
  assert.equal((await connection.response()).body.toString(), 'hello');
  connection.close();
});

test('chunks with extensions and trailers are dropped, and the connection goes on', async () => {
  const connection = await connect();
  const chunk = `5;name=value;other="quoted ; value";${'e'.repeat(1000)}\r\nhello\r\n`;
  await connection.write(chunkedHead + chunk.repeat(50) +
    `0\r\n${'X-Trailer: value\r\n'.repeat(20)}\r\n`);
  assert.equal((await connection.response()).code, 'MissingContentLengthHeader');
  await connection.write(getHead('hostile/b'));
  assert.equal((await connection.response()).body.toString(), 'hello');
  connection.close();
});

const BAD_CHUNKS = {
  'a size beyond 64 bits': 'FFFFFFFFFFFFFFFFF\r\nx',
  'the largest size there is': 'FFFFFFFFFFFFFFFF\r\nx',
  'a negative size': '-1\r\nx\r\n0\r\n\r\n',
  'a size of letters': 'xyz\r\nx\r\n0\r\n\r\n',
  'no size': '\r\nx\r\n0\r\n\r\n',
  'a size with a space': '5 5\r\nhello\r\n0\r\n\r\n',
  'an extension that never ends': `5;${'e'.repeat(200 * KIB)}`,
  'a chunk that is longer than its size': '1\r\nhello\r\n0\r\n\r\n',
  'trailers without end': `0\r\n${'X-Trailer: value\r\n'.repeat(20_000)}`,
};

for (const [what, bytes] of Object.entries(BAD_CHUNKS)) {
  test(`a body with ${what} is not taken for a request, and harms nobody`, async () => {
    const connection = await connect();
    connection.socket.write(chunkedHead + bytes);
    // It may wait for the rest: the client goes away then.
    const answer = await Promise.race([connection.responseOrClose(),
      new Promise((resolve) => { setTimeout(() => resolve('waits'), 1000).unref(); })]);
    // The HTTP library says 500 when its buffer is full before it knows how long a chunk is.
    if (answer !== null && answer !== 'waits') {
      assert.ok(answer.status >= 400 && answer.status <= 500, `status ${answer.status}`);
    }
    connection.close();
    assert.equal((await send('HEAD', 'hostile/chunked')).status, 404);
    assert.equal((await send('GET', 'hostile/b')).body.toString(), 'hello');
  });
}

// --- heads ---

// LIMIT_CONNECTION_BUFFER_BYTES: line and headers of a request share 64 KiB with its answer.
const BUFFER = 64 * KIB;

test('a head is as long as a client needs, and not as long as the buffer', async () => {
  for (const [length, wanted] of [[40 * KIB, [200]], [BUFFER, [431, 413, 400]],
    [BUFFER + 1, [431, 413, 400]], [MIB, [431, 413, 400]]]) {
    const connection = await connect();
    const start = getHead('hostile/b').slice(0, -2);
    const padding = 'X-Padding: '.length + 4;
    connection.socket.write(`${start}X-Padding: ${'p'.repeat(length - start.length - padding)}` +
      '\r\n\r\n');
    const answer = await connection.responseOrClose();
    if (length <= 40 * KIB) assert.notEqual(answer, null, `${length} bytes`);
    if (answer !== null) assert.ok(wanted.includes(answer.status), `${length}: ${answer.status}`);
    connection.close();
  }
});

test('a flood of headers is refused or cut off, and harms nobody', async () => {
  for (const count of [1000, 5000, 100_000]) {
    const connection = await connect();
    connection.socket.write(getHead('hostile/b').slice(0, -2) +
      Array.from({ length: count }, (_, i) => `x-ms-meta-a${i}: ${i}\r\n`).join('') + '\r\n');
    const answer = await connection.responseOrClose();
    if (count > 2000 && answer !== null) assert.ok(answer.status >= 400 && answer.status < 500);
    connection.close();
  }
  assert.equal((await send('GET', 'hostile/b')).body.toString(), 'hello');
});

test('a giant request line is refused or cut off, and harms nobody', async () => {
  for (const length of [BUFFER - 1, BUFFER, BUFFER + 1, 4 * MIB]) {
    for (const request of [`GET /${account}/${'a'.repeat(length)} HTTP/1.1\r\n\r\n`,
      `GET /${account}/hostile/b?${'a=b&'.repeat(length >> 2)} HTTP/1.1\r\n\r\n`,
      `${'G'.repeat(length)} / HTTP/1.1\r\n\r\n`]) {
      const connection = await connect();
      connection.socket.write(request);
      const answer = await connection.responseOrClose();
      if (answer !== null) {
        assert.ok(answer.status >= 400 && answer.status <= 501, request.slice(0, 20));
      }
      connection.close();
    }
  }
  assert.equal((await send('GET', 'hostile/b')).body.toString(), 'hello');
});

// LIMIT_CLIENT_REQUEST_ID_MAX
test('an id of the client is echoed if it has up to 1,024 characters', async () => {
  for (const length of [1, 1023, 1024, 1025, 8000]) {
    const id = 'i'.repeat(length);
    const { headers } = await send('GET', 'hostile/b', { 'x-ms-client-request-id': id });
    assert.equal(headers['x-ms-client-request-id'], length <= 1024 ? id : undefined);
  }
});

// --- bodies nobody wants ---

// LIMIT_DRAIN_BYTES
test('a refused body of 64 MiB is dropped, and a longer one ends the connection', async () => {
  const DRAIN = 64 * MIB;
  const chunk = Buffer.alloc(MIB, 'n');
  const connection = await connect();
  await connection.write(head('PUT', target('none/x'),
    [...plain, ...Object.entries(blockBlob), ['Content-Length', DRAIN]]));
  for (let at = 0; at < DRAIN; at += MIB) await connection.write(chunk);
  assert.equal((await connection.response()).code, 'ContainerNotFound');
  await connection.write(getHead('hostile/b'));
  assert.equal((await connection.response()).status, 200);
  connection.close();

  const longer = await connect();
  await longer.write(head('PUT', target('none/x'),
    [...plain, ['x-ms-blob-type', 'none'], ['Content-Length', DRAIN + 1]]));
  assert.equal((await longer.response()).status, 400);
  await longer.closed();
  longer.close();
});

// --- clients that never read ---

test('100 clients that ask for a large blob and never read it take little memory', async () => {
  await underAttack('unread-blobs', 100 * 240, () => many(100, async () => {
    const connection = await connect();
    connection.socket.pause();
    await connection.write(getHead('hostile/large'));
    return connection;
  }));
  await assertIdle();
});

test('clients that ask for long lists and never read them take what the lists have', async () => {
  const LISTERS = 20;
  await send('PUT', 'lists?restype=container');
  const metadata = { 'x-ms-meta-a': 'm'.repeat(7 * KIB) };
  // More than LIMIT_LIST_BODY_BYTES of text.
  for (let at = 0; at < 700; at += 50) {
    await many(50, (i) => send('PUT', `lists/${at + i}`, { ...blockBlob, ...metadata }, ''));
  }
  // A list is made in memory, which grows by doubling: up to twice the 4 MiB it has at most.
  await underAttack('unread-lists', LISTERS * 8 * KIB + 16 * KIB, () => many(LISTERS, async () => {
    const connection = await connect();
    connection.socket.pause();
    await connection.write(getHead('lists?restype=container&comp=list&include=metadata'));
    return connection;
  }));
  await assertIdle();
});

// --- and all of them at once ---

const CROWD = Number(process.env.ZAFFRE_HOSTILE ?? 500);

test(`${CROWD} clients of all these kinds at once leave the server well`, async () => {
  const kinds = [
    (i) => ['', getHead('hostile/b').slice(0, 20 + (i % 50))],
    (i) => [putHead(`hostile/crowd-${i}`, MIB), 'x'.repeat(i * 10)],
    () => [getHead('hostile/large')],
    () => [chunkedHead, '1\r\nx\r\n'.repeat(100)],
    () => [getHead('hostile/b').repeat(50)],
    () => [`GET / HTTP/1.1\r\n${'A: b\r\n'.repeat(500)}`],
    () => [Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3])],
  ];
  const before = residentKib();
  await underAttack('crowd', CROWD * 80, () => many(CROWD, async (i) => {
    const connection = await connect();
    connection.socket.pause();
    for (const bytes of kinds[i % kinds.length](i)) connection.socket.write(bytes);
    return connection;
  }));
  await assertIdle();
  assertGrewBy(before, CROWD * 80);
});

// LIMIT_CONNECTIONS_MAX; each takes a descriptor here and one in the server.
const CONNECTIONS = 16_384;
const descriptors = Number(/^Max open files +\d+ +(\d+|unlimited)/m
  .exec(fs.readFileSync('/proc/self/limits', 'utf8'))[1]);

test('a listener takes 16,384 connections, and others when some of them end', {
  skip: descriptors < CONNECTIONS + 1000 ? 'there are too few descriptors' : false,
}, async (t) => {
  const crowded = await startServer();
  const connections = [];
  t.after(() => {
    connections.forEach((connection) => connection.close());
    return crowded.stop();
  });
  const request = `GET /${account}/none?restype=container&${sas} HTTP/1.1\r\nHost: a\r\n\r\n`;
  const before = residentKib(crowded);
  const open = async (count) => {
    for (let left = count; left > 0; left -= Math.min(left, 256)) {
      connections.push(...await many(Math.min(left, 256), () => RawConnection.connect(crowded)));
    }
  };
  const last = () => connections[connections.length - 1];
  await open(CONNECTIONS);
  await last().write(request);
  assert.equal((await last().response()).status, 404);
  assertGrewBy(before, CONNECTIONS * 2, crowded);

  // One more is connected by the kernel, and waits.
  await open(1);
  await last().write(request);
  await new Promise((resolve) => { setTimeout(resolve, 500); });
  assert.equal(last().received.length, 0);
  connections[0].close();
  assert.equal((await last().response()).status, 404);
});

// --- the end ---

// LIMIT_STOP_SEC is 30 s.
test('a client that never ends its body cannot keep the server from stopping', async () => {
  const other = await startServer();
  const own = sasSender(other);
  await own('PUT', 'stop?restype=container');
  const connection = await RawConnection.connect(other);
  await connection.write(head('PUT', `/${account}/stop/x?${sas}`,
    [['Host', `${other.host}:${other.port}`], ['x-ms-version', VERSION],
      ...Object.entries(blockBlob), ['Content-Length', 100]]));
  await connection.write('x');
  assert.equal((await own('GET', '?comp=list')).status, 200);
  const began = Date.now();
  other.child.ref();
  other.child.kill('SIGTERM');
  const end = await within(60_000, 'the end of the server', other.process.exited);
  assert.deepEqual(end, { code: 0, signal: null });
  const spent = Date.now() - began;
  assert.ok(spent > 25_000 && spent < 50_000, `${spent} ms`);
  connection.close();
});

stopsCleanly(server);
