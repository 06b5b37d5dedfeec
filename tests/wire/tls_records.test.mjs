// Where the records of TLS end, and where the segments do that carry them, means nothing to HTTP:
// requests and answers are the same however they are cut.

import test from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import { Duplex } from 'node:stream';
import { execFileSync } from 'node:child_process';
import { emptyDirectory, startServer, stopsCleanly } from '../e2e/helpers/server.mjs';
import { blockBlob, sasSender } from '../e2e/helpers/http.mjs';
import { head, RawConnection } from '../e2e/helpers/raw.mjs';
import { Random } from '../e2e/helpers/random.mjs';
import { accountSas, VERSION } from '../e2e/helpers/sign.mjs';

const directory = emptyDirectory();
const cert = path.join(directory, 'cert.pem');
const key = path.join(directory, 'key.pem');
execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt',
  'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj', '/CN=localhost', '-addext',
  'subjectAltName=DNS:localhost,IP:127.0.0.1', '-keyout', key, '-out', cert], { stdio: 'ignore' });

const server = await startServer({ args: ['--cert', cert, '--key', key] });
const trusted = { ca: fs.readFileSync(cert) };
const send = sasSender(server, { tls: trusted });
const sas = accountSas({ sp: 'rwdlactf' }, { account: server.account, key: server.key });

// Between TLS and the socket: keeps the client's records until they are delivered.
class Segments extends Duplex {
  constructor(socket) {
    super();
    this.socket = socket;
    this.kept = null; // records, while they are kept
    socket.on('data', (data) => { if (!this.push(data)) socket.pause(); });
    socket.on('end', () => this.push(null));
    socket.on('error', (error) => this.destroy(error));
  }

  _read() {
    this.socket.resume();
  }

  _write(data, encoding, done) {
    if (this.kept === null) {
      this.socket.write(data, done);
    } else {
      this.kept.push(data);
      done();
    }
  }

  _final(done) {
    this.socket.end(done);
  }

  _destroy(error, done) {
    this.socket.destroy();
    done(error);
  }

  keep() {
    this.kept = [];
  }

  // What was kept, `bytes` at a time.
  async deliver(bytes = Infinity) {
    const all = Buffer.concat(this.kept);
    this.kept = null;
    const step = Math.min(bytes, all.length);
    for (let at = 0; at < all.length; at += step) {
      this.socket.write(all.subarray(at, at + step));
      await new Promise((resolve) => { setImmediate(resolve); });
    }
    return all;
  }
}

// A connection over TLS, and the segments below it.
async function connect(options = {}) {
  const socket = net.connect({ host: server.host, port: server.port });
  socket.setNoDelay(true);
  const segments = new Segments(socket);
  const secure = tls.connect({ socket: segments, host: 'localhost', ...trusted, ...options });
  await new Promise((resolve, reject) => {
    secure.once('secureConnect', resolve);
    secure.once('error', reject);
  });
  return { connection: new RawConnection(secure), segments };
}

function request(method, name, headers = {}) {
  return head(method, `/${server.account}/${name}?${sas}`,
    { Host: 'localhost', 'x-ms-version': VERSION, ...headers });
}

const put = (name, length) => request('PUT', name, { ...blockBlob, 'Content-Length': length });

const small = new Random(1).bytes(1024);
const large = new Random(2).bytes(300_000);
await send('PUT', 'records?restype=container');
await send('PUT', 'records/small', blockBlob, small);
await send('PUT', 'records/large', blockBlob, large);
await send('PUT', 'records/empty', blockBlob, Buffer.alloc(0));

const protocols = [{ minVersion: 'TLSv1.3' }, { maxVersion: 'TLSv1.2' }];

for (const protocol of protocols) {
  const name = Object.values(protocol)[0];

  test(`several requests in one record are all answered, ${name}`, async () => {
    const { connection } = await connect(protocol);
    await connection.write(request('GET', 'records/small').repeat(3));
    for (let i = 0; i < 3; i++) assert.ok((await connection.response()).body.equals(small));
    connection.close();
  });

  test(`several records in one segment, and nothing after them, are all read, ${name}`,
    async () => {
      const { connection, segments } = await connect(protocol);
      segments.keep();
      for (let i = 0; i < 3; i++) await connection.write(request('GET', 'records/small'));
      assert.equal(segments.kept.length, 3);
      await segments.deliver();
      for (let i = 0; i < 3; i++) assert.ok((await connection.response()).body.equals(small));
      connection.close();
    });

  test(`a request spread over many records is one, ${name}`, async () => {
    const { connection, segments } = await connect(protocol);
    const text = request('GET', 'records/small');
    segments.keep();
    for (let at = 0; at < text.length; at += 10) await connection.write(text.slice(at, at + 10));
    assert.ok(segments.kept.length > 10);
    await segments.deliver();
    assert.ok((await connection.response()).body.equals(small));
    connection.close();
  });

  test(`a record that comes byte by byte is read, ${name}`, async () => {
    const { connection, segments } = await connect(protocol);
    segments.keep();
    await connection.write(request('GET', 'records/small'));
    await segments.deliver(1);
    assert.ok((await connection.response()).body.equals(small));
    connection.close();
  });

  test(`uploads and downloads may be cut anywhere, ${name}`, async () => {
    for (const cut of [1000, 4096, 5000, 16_406, 100_000, Infinity]) {
      const { connection, segments } = await connect(protocol);
      segments.keep();
      await connection.write(put('records/cut', large.length));
      await connection.write(large);
      await connection.write(request('GET', 'records/cut'));
      await segments.deliver(cut);
      assert.equal((await connection.response()).status, 201);
      assert.ok((await connection.response()).body.equals(large), `cut at ${cut}`);
      connection.close();
    }
  });
}

test('answers with and without a body follow each other on one connection', async () => {
  const { connection } = await connect();
  const { headers: { etag } } = await send('GET', 'records/small');
  const rows = [
    ['GET', 'records/small', {}, 200, small],
    ['HEAD', 'records/small', {}, 200, null],
    ['GET', 'records/small', { 'If-None-Match': etag }, 304, null],
    ['HEAD', 'records/small', { 'If-None-Match': etag }, 304, null],
    ['GET', 'records/empty', {}, 200, Buffer.alloc(0)],
    ['GET', 'records/small', { 'x-ms-range': 'bytes=7-7' }, 206, small.subarray(7, 8)],
    ['GET', 'records/none', {}, 404, undefined],
    ['HEAD', 'records/none', {}, 404, null],
    ['HEAD', 'records/large', {}, 200, null],
    ['GET', 'records/large', {}, 200, large],
    ['DELETE', 'records/none', {}, 404, undefined],
    ['OPTIONS', 'records/none', {}, 400, undefined],
  ];
  for (const [method, name, headers, status, body] of [...rows, ...rows]) {
    await connection.write(request(method, name, headers));
    const answer = await connection.response({ head: method === 'HEAD' });
    assert.equal(answer.status, status, `${method} ${name}`);
    if (body === undefined) assert.ok(answer.body.length > 0, `${method} ${name}`);
    else assert.ok(answer.body.equals(body ?? Buffer.alloc(0)), `${method} ${name}`);
  }
  await connection.write(put('records/new', 0));
  assert.equal((await connection.response()).status, 201);
  await connection.write(request('DELETE', 'records/new'));
  assert.equal((await connection.response()).status, 202);
  connection.close();
});

test('the head of an answer and its body come in one segment', async () => {
  const { connection, segments } = await connect();
  await connection.write(request('GET', 'records/small')); // and the tickets of the session
  await connection.response();
  const sizes = [];
  segments.socket.on('data', (data) => sizes.push(data.length));
  for (let i = 0; i < 10; i++) {
    await connection.write(request('GET', 'records/small'));
    await connection.response();
  }
  assert.equal(sizes.length, 10);
  assert.ok(sizes.every((size) => size > small.length));
  connection.close();
});

test('a client that asks for much and reads late gets all of it', async () => {
  const { connection } = await connect();
  const COUNT = 20_000; // more than the buffers of both sockets hold
  connection.socket.pause();
  connection.socket.write(request('GET', 'records/small').repeat(COUNT));
  await new Promise((resolve) => { setTimeout(resolve, 500); });
  connection.socket.resume();
  for (let i = 0; i < COUNT; i++) {
    assert.ok((await connection.response()).body.equals(small), `answer ${i}`);
  }
  connection.close();
});

test('an upload cut off in the middle leaves no blob', async () => {
  const { connection } = await connect();
  await connection.write(put('records/half', large.length));
  await connection.write(large.subarray(0, 100_000));
  connection.close();
  assert.equal((await send('GET', 'records/half')).status, 404);
});

stopsCleanly(server);
