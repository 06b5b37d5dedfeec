// TLS with --cert and --key, by a certificate made for the test.

import test from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import https from 'node:https';
import path from 'node:path';
import tls from 'node:tls';
import { execFileSync } from 'node:child_process';
import { emptyDirectory, run, startServer, stopsCleanly, within } from '../e2e/helpers/server.mjs';
import { blockBlob, sasSender } from '../e2e/helpers/http.mjs';
import { Random } from '../e2e/helpers/random.mjs';

const directory = emptyDirectory();
const cert = path.join(directory, 'cert.pem');
const key = path.join(directory, 'key.pem');
execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj',
  '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-keyout', key,
  '-out', cert],
{ stdio: 'ignore' });

const server = await startServer({ args: ['--cert', cert, '--key', key] });
const trusted = { ca: fs.readFileSync(cert) };
const send = sasSender(server, { tls: trusted });

test('the ready line says https', () => {
  assert.match(server.origin, /^https:/);
});

test('blobs go over TLS and back', async () => {
  assert.equal((await send('PUT', 'secure?restype=container')).status, 201);
  for (const size of [0, 10, 64 * 1024, 3_000_000]) {
    const body = new Random(size).bytes(size);
    assert.equal((await send('PUT', 'secure/b', blockBlob, body)).status, 201);
    assert.ok((await send('GET', 'secure/b')).body.equals(body), `${size} bytes`);
    if (size > 0) {
      const range = await send('GET', 'secure/b', { 'x-ms-range': 'bytes=1-' });
      assert.ok(range.body.equals(body.subarray(1)));
    }
  }
});

test('a client that does not trust the certificate goes away and harms nobody', async () => {
  const stranger = sasSender(server, { tls: { agent: new https.Agent() } });
  await assert.rejects(stranger('GET', '?comp=list'), /self.signed/i);
  assert.equal((await send('GET', '?comp=list')).status, 200);
});

test('a client that speaks plain HTTP to it gets no service, and the server lives', async () => {
  await assert.rejects(sasSender(server)('GET', '?comp=list'));
  assert.equal((await send('GET', '?comp=list')).status, 200);
});

test('old versions of TLS are refused', async () => {
  const attempt = new Promise((resolve, reject) => {
    const socket = tls.connect({ host: server.host, port: server.port, ...trusted,
      minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' },
    () => resolve(socket));
    socket.on('error', reject);
  });
  await assert.rejects(attempt);
});

test('the official client works over TLS', async () => {
  // The SDK takes its trust from the process.
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  const container = server.client().getContainerClient('secure');
  const blob = container.getBlockBlobClient('by-sdk');
  await blob.upload('hello', 5);
  assert.equal((await blob.downloadToBuffer()).toString(), 'hello');
  delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
});

test('a certificate or key that cannot be used stops the server with a message', async () => {
  const broken = path.join(directory, 'broken.pem');
  fs.writeFileSync(broken, 'not a certificate');
  const base = ['--blobPort', '0', '--queuePort', '0', '--tablePort', '0', '--adminPort', '0',
    '--inMemoryPersistence'];
  for (const args of [['--cert', broken, '--key', key], ['--cert', cert, '--key', broken],
    ['--cert', path.join(directory, 'none.pem'), '--key', key], ['--cert', cert]]) {
    const attempt = run([...base, ...args]);
    const end = await within(15_000, `a refusal of ${args.join(' ')}`, attempt.exited)
      .finally(() => attempt.child.kill('SIGKILL'));
    assert.ok(end.code !== 0 && end.code !== null, args.join(' '));
    assert.ok(attempt.err.length > 0);
  }
});

stopsCleanly(server);
