// What was acknowledged is there after a restart: containers, blobs, bytes, ETags, metadata,
// leases to the second.  After a stop, and after a kill.

import test from 'node:test';
import assert from 'node:assert/strict';
import { startServer, stopsCleanly } from './helpers/server.mjs';
import { sasSender, blockBlob } from './helpers/http.mjs';
import { Random } from './helpers/random.mjs';

const server = await startServer();
const random = new Random(3);

// The sender holds connections to a server that is gone after a restart, so it is made anew.
let send = sasSender(server);
async function restart(signal) {
  const end = await server.restart(signal);
  send = sasSender(server);
  return end;
}

const KEPT = ['etag', 'last-modified', 'content-length', 'content-type', 'content-md5',
  'content-language', 'cache-control', 'x-ms-creation-time', 'x-ms-lease-state',
  'x-ms-lease-status', 'x-ms-lease-duration', 'x-ms-blob-type'];

const kept = ({ headers }) => Object.fromEntries(Object.entries(headers)
  .filter(([name]) => KEPT.includes(name) || name.startsWith('x-ms-meta-')));

const CONTAINERS = ['restart-a', 'restart-b', 'restart-empty'];
const SIZES = [0, 5, 1024, 65_536, 65_537, 300_000, 2_000_000];
const LEASE_ID = 'aaaaaaaa-0000-4000-8000-00000000000a';

async function fill() {
  for (const name of CONTAINERS) {
    await send('PUT', `${name}?restype=container`, { 'x-ms-meta-which': name });
  }
  for (const container of CONTAINERS.slice(0, 2)) {
    for (const size of SIZES) {
      const answer = await send('PUT', `${container}/size-${size}`, { ...blockBlob,
        'x-ms-meta-Size': String(size), 'x-ms-blob-content-type': 'text/x-test',
        'x-ms-blob-content-language': 'en', 'x-ms-blob-cache-control': 'no-cache' },
      random.bytes(size));
      assert.equal(answer.status, 201);
    }
  }
  await send('PUT', 'restart-a/changed', blockBlob, 'old content');
  await send('PUT', 'restart-a/changed', blockBlob, 'new content');
  await send('PUT', 'restart-a/changed?comp=metadata', { 'x-ms-meta-a': 'b' });
  await send('PUT', 'restart-a/deleted', blockBlob, random.bytes(100_000));
  await send('DELETE', 'restart-a/deleted');
  await send('PUT', 'restart-gone?restype=container');
  await send('PUT', 'restart-gone/b', blockBlob, 'x');
  await send('DELETE', 'restart-gone?restype=container');
  await send('PUT', 'restart-b?restype=container&comp=lease', { 'x-ms-lease-action': 'acquire',
    'x-ms-lease-duration': -1, 'x-ms-proposed-lease-id': LEASE_ID });
}

async function everything() {
  const all = {};
  for (const container of CONTAINERS) {
    all[container] = kept(await send('GET', `${container}?restype=container`));
    const list = (await send('GET', `${container}?restype=container&comp=list`)).body.toString();
    for (const [, name] of list.matchAll(/<Name>(.*?)<\/Name>/g)) {
      const answer = await send('GET', `${container}/${name}`);
      assert.equal(answer.status, 200);
      all[`${container}/${name}`] = { ...kept(answer), body: answer.body.toString('base64') };
    }
  }
  all.list = (await send('GET', '?comp=list&include=metadata')).body.toString()
    .replace(/ServiceEndpoint="[^"]*"/, '');
  return all;
}

await fill();
const before = await everything();
assert.equal(Object.keys(before).length, CONTAINERS.length + 2 * SIZES.length + 1 + 1);

for (const signal of ['SIGTERM', 'SIGKILL', 'SIGINT']) {
  test(`everything is as it was after ${signal} and a restart`, async () => {
    const end = await restart(signal);
    if (signal === 'SIGKILL') assert.equal(end.signal, 'SIGKILL');
    else assert.deepEqual(end, { code: 0, signal: null });
    assert.deepEqual(await everything(), before);
    assert.equal((await send('HEAD', 'restart-a/deleted')).code, 'BlobNotFound');
    assert.equal((await send('HEAD', 'restart-gone/b')).code, 'ContainerNotFound');
  });
}

test('ETags go on rising after a restart', async () => {
  const value = async (path) => {
    const answer = await send('PUT', path, blockBlob, 'x');
    return BigInt(JSON.parse(answer.headers.etag));
  };
  let last = await value('restart-a/rising');
  for (const signal of ['SIGKILL', 'SIGTERM']) {
    await restart(signal);
    const next = await value('restart-a/rising');
    assert.ok(next > last, `${next} after ${last}`);
    last = next;
  }
});

test('a lease ends at the second it was to end, restart or not', async () => {
  const act = (path, action, headers) => send('PUT', `${path}?comp=lease`,
    { 'x-ms-lease-action': action, ...headers });
  const path = 'restart-a/leased';
  await send('PUT', path, blockBlob, 'x');
  await send('PUT', `${path}-breaking`, blockBlob, 'x');
  await send('PUT', `${path}-broken`, blockBlob, 'x');
  const proposed = { 'x-ms-proposed-lease-id': LEASE_ID };
  for (const suffix of ['-breaking', '-broken']) {
    await act(path + suffix, 'acquire', { 'x-ms-lease-duration': 60, ...proposed });
  }
  await act(`${path}-breaking`, 'break', { 'x-ms-lease-break-period': 50 });
  await act(`${path}-broken`, 'break', { 'x-ms-lease-break-period': 0 });
  const takenBefore = Date.now();
  await act(path, 'acquire', { 'x-ms-lease-duration': 15, ...proposed });
  const takenAfter = Date.now();
  await restart('SIGKILL');

  const state = async (suffix = '') => {
    const { headers } = await send('HEAD', path + suffix);
    return headers['x-ms-lease-state'];
  };
  assert.equal(await state('-breaking'), 'breaking');
  assert.equal(await state('-broken'), 'broken');
  const denied = await send('PUT', path, blockBlob, 'y');
  assert.equal(`${denied.status} ${denied.code}`, '412 LeaseIdMissing');
  const held = await send('PUT', path, { ...blockBlob, 'x-ms-lease-id': LEASE_ID }, 'y');
  assert.equal(held.status, 201);

  // Poll to the end: it comes after the earliest instant it could, and soon after the latest.
  let seenLeasedAt = 0;
  for (;;) {
    const askedAt = Date.now();
    if (await state() === 'expired') break;
    seenLeasedAt = askedAt;
    assert.ok(Date.now() < takenAfter + 17_000, 'the lease outlived its time');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.ok(Date.now() >= takenBefore + 14_950, 'the lease ended before its time');
  assert.ok(seenLeasedAt > takenAfter);
  const lost = await send('PUT', path, { ...blockBlob, 'x-ms-lease-id': LEASE_ID }, 'z');
  assert.equal(lost.code, 'LeaseLost');
});

test('a container made again after a delete stays empty after a restart', async () => {
  await send('PUT', 'restart-again?restype=container');
  for (let i = 0; i < 50; i++) await send('PUT', `restart-again/b-${i}`, blockBlob, 'x');
  await send('DELETE', 'restart-again?restype=container');
  await send('PUT', 'restart-again?restype=container');
  await send('PUT', 'restart-again/new', blockBlob, 'x');
  for (const signal of ['SIGKILL', 'SIGTERM']) {
    await restart(signal);
    const list = (await send('GET', 'restart-again?restype=container&comp=list')).body.toString();
    assert.deepEqual([...list.matchAll(/<Name>(.*?)<\/Name>/g)].map(([, name]) => name), ['new']);
  }
});

stopsCleanly(server);
