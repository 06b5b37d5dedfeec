// TLS with --cert and --key, by a certificate made for the test.

import test from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import https from 'node:https';
import path from 'node:path';
import { execFileSync, spawnSync } from 'node:child_process';
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

// What openssl's client makes of the server when it offers only this.
function handshake(options) {
  const { status, stdout, stderr } = spawnSync('openssl', ['s_client', '-connect',
    `${server.host}:${server.port}`, '-CAfile', cert, ...options],
  { input: '', encoding: 'utf8', timeout: 20_000 });
  const agreed = /^New, (\S+), Cipher is (\S+)$/m.exec(stdout);
  return { agreed: status === 0 && agreed?.[2] !== '(NONE)' ? `${agreed[1]} ${agreed[2]}` : null,
    // Otherwise it is the client that has nothing to offer.
    wasSent: !/no (protocols|ciphers) available|no cipher match/.test(stderr) };
}

// Security level 0 keeps the client from being the one that refuses.
const offered = (cipher) => [`-tls1_2`, '-cipher', `${cipher}:@SECLEVEL=0`];

test('TLS 1.2 and 1.3 are spoken, with ciphers that authenticate and forget', () => {
  assert.match(handshake(['-tls1_3']).agreed, /^TLSv1\.3 TLS_/);
  for (const suite of ['TLS_AES_256_GCM_SHA384', 'TLS_AES_128_GCM_SHA256',
    'TLS_CHACHA20_POLY1305_SHA256']) {
    assert.equal(handshake(['-tls1_3', '-ciphersuites', suite]).agreed, `TLSv1.3 ${suite}`);
  }
  for (const cipher of ['ECDHE-RSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES128-GCM-SHA256',
    'ECDHE-RSA-CHACHA20-POLY1305']) {
    assert.equal(handshake(offered(cipher)).agreed, `TLSv1.2 ${cipher}`);
  }
});

test('the server refuses old versions of TLS', () => {
  for (const version of ['-tls1', '-tls1_1']) {
    const { agreed, wasSent } = handshake([version, '-cipher', 'ALL:@SECLEVEL=0']);
    assert.equal(agreed, null, version);
    assert.ok(wasSent, `${version}: the client did not try`);
  }
});

test('the server refuses weak ciphers, and keys that a stolen certificate would open', () => {
  const known = execFileSync('openssl', ['ciphers', '-tls1_2', '-s',
    'ALL:COMPLEMENTOFALL:@SECLEVEL=0'], { encoding: 'utf8' }).trim().split(':');
  const strong = /^(ECDHE-RSA|ECDHE-ECDSA)-(AES(256|128)-GCM|CHACHA20-POLY1305)|^TLS_/;
  const weak = known.filter((cipher) => !strong.test(cipher));
  assert.ok(weak.length > 20, 'the client knows weak ciphers');
  assert.equal(handshake(offered(weak.join(':'))).agreed, null, 'all of them at once');
  const single = /^(AES|ECDHE-RSA|DHE-RSA|ADH|NULL|DES|RC4)/;
  for (const cipher of weak.filter((name) => single.test(name))) {
    const { agreed, wasSent } = handshake(offered(cipher));
    assert.equal(agreed, null, cipher);
    assert.ok(wasSent, `${cipher}: the client did not try`);
  }
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
