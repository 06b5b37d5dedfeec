// A full disk.  What stores more is refused with 507 InsufficientStorage before its body is read;
// reads and deletes go on; when there is space again, so does everything, without a restart.  Nothing
// acknowledged is lost on the way and nothing that was refused is there.
//
// The disk is simulated by fail.c, which counts the bytes of the data directory, and where the
// system allows it a small real one is filled, too.

import test from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import {
  Server, binary, emptyDirectory, eventually, fsck, within,
} from '../e2e/helpers/server.mjs';
import { messagePath, messageXml, messagesOf } from '../e2e/helpers/queue.mjs';
import { blockBlob } from '../e2e/helpers/http.mjs';
import { accountSas } from '../e2e/helpers/sign.mjs';
import { md5 } from '../e2e/helpers/digest.mjs';
import { Disk, ENOSPC, EVER, RESIZE } from './helpers/disk.mjs';
import { Caller, bytes } from './helpers/scenario.mjs';

const MIB = 1024 * 1024;
const RESERVE = 64;
const BLOB = bytes(1, 4 * MIB);
const BLOB_MD5 = md5(BLOB);
const RECOVERY_MS = 60_000;
const ARGS = ['--diskReserve', String(RESERVE)];
const JSON_BODY = { 'Content-Type': 'application/json' };

const putBlob = (call, name, body = BLOB) => call.blob('PUT', `box/${name}`, blockBlob, body);
const insert = (call, row) => call.table('POST', 'Things', JSON_BODY,
  JSON.stringify({ PartitionKey: 'p', RowKey: row }));

// Something of every service, to be read and deleted later.
async function prepare(call) {
  const makeNode = { 'x-ms-file-permission': 'Inherit', 'x-ms-file-creation-time': 'Now',
    'x-ms-file-last-write-time': 'Now' };
  for (const answer of [
    await call.blob('PUT', 'box?restype=container'),
    await putBlob(call, 'small', Buffer.from('small')),
    await call.blob('PUT', 'box/small?comp=lease', { 'x-ms-lease-action': 'acquire',
      'x-ms-lease-duration': '-1' }),
    await call.queue('PUT', 'queue'),
    await call.queue('POST', 'queue/messages', {}, messageXml('one')),
    await call.table('POST', 'Tables', JSON_BODY, '{"TableName":"Things"}'),
    await insert(call, 'a'),
    await call.file('PUT', 'share?restype=share'),
    await call.file('PUT', 'share/file', { ...makeNode, 'x-ms-type': 'file',
      'x-ms-content-length': MIB, 'x-ms-file-attributes': 'None' }),
  ]) assert.equal(answer.status, 201, `${answer.code} ${answer.body}`);
}

// Puts blobs until one is refused; the names of those that were not.
async function fill(call, names) {
  for (let i = 0; i < 1000; i++) {
    const name = `blob${i}`;
    const answer = await putBlob(call, name);
    if (answer.status === 507) return name;
    assert.equal(answer.status, 201, `${answer.code}`);
    names.add(name);
  }
  throw new Error('the disk does not get full');
}

async function assertReads(call, names) {
  for (const name of names) {
    const { status, body } = await call.blob('GET', `box/${name}`);
    assert.deepEqual([status, md5(body)], [200, BLOB_MD5], name);
  }
  const listed = await call.blob('GET', 'box?restype=container&comp=list');
  const found = [...listed.body.toString().matchAll(/<Name>(blob\d+)<\/Name>/g)].map(([, n]) => n);
  assert.deepEqual(found.sort(), [...names].sort());
  assert.equal((await call.queue('GET', 'queue/messages?peekonly=true')).status, 200);
  assert.equal((await call.table('GET', 'Things()')).status, 200);
}

// What every service says to a write.
async function assertRefusals(call) {
  const range = { 'x-ms-write': 'update', 'x-ms-range': 'bytes=0-511' };
  const xml = [
    await putBlob(call, 'refused', Buffer.from('a few bytes')),
    await putBlob(call, 'refused', BLOB),
    await call.blob('PUT', 'other?restype=container'),
    await call.blob('PUT', 'box?restype=container&comp=metadata', { 'x-ms-meta-a': '1' }),
    await call.queue('POST', 'queue/messages', {}, messageXml('two')),
    await call.file('PUT', 'share/file?comp=range', range, bytes(2, 512)),
  ];
  for (const { status, code, body } of xml) {
    assert.deepEqual([status, code], [507, 'InsufficientStorage']);
    assert.match(body.toString(), /<Code>InsufficientStorage<\/Code><Message>The server has no space/);
  }
  const json = await insert(call, 'refused');
  assert.deepEqual([json.status, json.code], [507, 'InsufficientStorage']);
  assert.equal(JSON.parse(json.body)['odata.error'].code, 'InsufficientStorage');
}

// Deletes go on in every service, with what they need: leases are broken, messages handed out.
async function assertDeletes(call, names) {
  const broken = await call.blob('PUT', 'box/small?comp=lease', { 'x-ms-lease-action': 'break' });
  assert.equal(broken.status, 202, broken.code);
  assert.equal((await call.blob('DELETE', 'box/small')).status, 202);
  const got = await call.queue('GET', 'queue/messages');
  assert.equal(got.status, 200, got.code);
  assert.equal((await call.queue('DELETE', messagePath('queue', messagesOf(got)[0]))).status, 204);
  const removed = await call.table('DELETE', "Things(PartitionKey='p',RowKey='a')",
    { 'If-Match': '*' });
  assert.equal(removed.status, 204, removed.code);
  assert.equal((await call.file('DELETE', 'share/file')).status, 202);
  for (const name of names) {
    const answer = await call.blob('DELETE', `box/${name}`);
    assert.equal(answer.status, 202, `${name}: ${answer.code}`);
  }
}

// Writes are taken again, by the same process.
async function assertRecovers(call, names) {
  await eventually(RECOVERY_MS, 'a write is taken again', async () => {
    const { status, code } = await putBlob(call, 'blob1000');
    assert.ok(status === 201 || status === 507, `${status} ${code}`);
    return status === 201;
  });
  names.add('blob1000');
  const answer = await call.queue('POST', 'queue/messages', {}, messageXml('three'));
  assert.equal(answer.status, 201, answer.code);
}

// The end: what was acknowledged, and nothing else, is there after a restart, too.
async function assertKept(server, names) {
  assert.ok(server.isRunning(), server.log);
  assert.deepEqual(await server.stop(), { code: 0, signal: null }, server.log);
  const checked = await fsck(server.directory);
  assert.equal(checked.code, 0, checked.lines.join('\n'));
  const again = new Server({ location: server.directory });
  await again.start();
  const call = new Caller(again);
  await assertReads(call, names);
  call.close();
  assert.deepEqual(await again.stop(), { code: 0, signal: null });
}

test('a disk that gets full refuses what stores more, and nothing else, until there is space',
  async (t) => {
    const disk = new Disk();
    disk.budget(250 * MIB);
    const server = disk.server({ args: ARGS });
    await server.start();
    const call = new Caller(server);
    const names = new Set();
    await prepare(call);
    await fill(call, names);
    t.diagnostic(`${names.size} blobs of 4 MiB stored, ${Math.floor(disk.free / MIB)} MiB left`);
    assert.ok(names.size > 10, `only ${names.size} blobs fit`);
    assert.ok(disk.free >= (RESERVE - 1) * MIB, 'the reserve is used up');

    // Now somebody else writes, and the reserve is all that is left.
    disk.budget((RESERVE - 8) * MIB);
    await eventually(RECOVERY_MS, 'a small write is refused', async () =>
      (await putBlob(call, 'refused', Buffer.from('a few bytes'))).status === 507 ||
      (await call.blob('DELETE', 'box/refused'), false));
    await assertRefusals(call);
    await assertReads(call, names);
    const some = [...names].slice(0, 10);
    await assertDeletes(call, some);
    for (const name of some) names.delete(name);
    await assertReads(call, names);
    await assertRecovers(call, names);
    call.close();
    assert.match(server.log, /error space: the disk is nearly full/);
    assert.match(server.log, /info space: there is space again/);
    await assertKept(server, names);
  });

test('a payload that does not fit is refused before its body is sent', async () => {
  const disk = new Disk();
  disk.budget(250 * MIB);
  const server = disk.server({ args: ARGS });
  await server.start();
  const call = new Caller(server);
  await prepare(call);
  // The client waits to be told to go on, and never is.
  const answer = await within(RECOVERY_MS, 'an answer', call.blob('PUT', 'box/huge',
    { ...blockBlob, 'Content-Length': 400 * MIB, Expect: '100-continue' }));
  assert.deepEqual([answer.status, answer.code], [507, 'InsufficientStorage']);
  assert.equal((await putBlob(call, 'blob0')).status, 201);
  call.close();
  await assertKept(server, new Set(['blob0']));
});

test('uploads at the same time are not promised the same space', async () => {
  const disk = new Disk();
  disk.budget(250 * MIB);
  const server = disk.server({ args: ARGS });
  await server.start();
  const call = new Caller(server);
  assert.equal((await call.blob('PUT', 'box?restype=container')).status, 201);
  // Each of these fits, all of them do not; none has sent a byte when the last one asks.
  const agent = new http.Agent({ maxSockets: 64 });
  const uploads = [];
  for (let i = 0; i < 8; i++) {
    uploads.push(new Promise((resolve) => {
      const { host, port, account } = server;
      const request = http.request({ host, port, agent, method: 'PUT',
        path: `/${account}/box/up${i}?${accountSas()}`,
        headers: { ...blockBlob, 'x-ms-version': '2021-12-02', 'Content-Length': 60 * MIB,
          Expect: '100-continue' } });
      request.on('continue', () => resolve({ request, status: 100 }));
      request.on('response', (response) => resolve({ request, status: response.statusCode }));
      request.on('error', () => resolve({ request, status: 0 }));
      request.flushHeaders();
    }));
  }
  const answers = await within(RECOVERY_MS, 'answers', Promise.all(uploads));
  const statuses = answers.map(({ status }) => status).sort();
  assert.ok(statuses.includes(100) && statuses.includes(507), String(statuses));
  assert.ok(statuses.filter((status) => status === 100).length <= 3, String(statuses));
  for (const { request } of answers) request.destroy();
  agent.destroy();
  // What was promised to clients that went away is there for others.
  await eventually(RECOVERY_MS, 'the space is there again', async () =>
    (await putBlob(call, 'blob0', bytes(3, 60 * MIB))).status === 201);
  call.close();
  assert.deepEqual(await server.stop(), { code: 0, signal: null }, server.log);
  assert.equal((await fsck(server.directory)).code, 0);
});

test('a disk that others have filled to the last byte: reads go on, and all when they make room',
  async () => {
    const disk = new Disk();
    disk.budget(250 * MIB);
    // A file system without preallocation, so that the database's log has no room of its own.
    disk.fail(RESIZE, ENOSPC, { nth: 1, repeat: EVER });
    const server = disk.server({ args: ['--diskReserve', '0'] });
    await server.start();
    const call = new Caller(server);
    const names = new Set();
    await prepare(call);
    for (const name of ['blob0', 'blob1']) {
      assert.equal((await putBlob(call, name)).status, 201);
      names.add(name);
    }
    disk.budget(0);
    // What is left of the last block of its log may take a small one.
    await eventually(RECOVERY_MS, 'a write is refused', async () => {
      const answer = await putBlob(call, 'filler', bytes(4, 8000));
      assert.ok([201, 507].includes(answer.status), `${answer.status} ${answer.code}`);
      return answer.status === 507;
    });
    await assertRefusals(call);
    await assertReads(call, names);
    disk.heal();
    disk.budget(200 * MIB);
    await assertRecovers(call, names);
    call.close();
    await assertKept(server, names);
  });

test('a server that cannot start for lack of space says so, and loses nothing', async () => {
  const disk = new Disk();
  const server = disk.server({});
  await server.start();
  const call = new Caller(server);
  const names = new Set(['blob0']);
  await prepare(call);
  assert.equal((await putBlob(call, 'blob0')).status, 201);
  call.close();
  await server.stop('SIGKILL');
  disk.budget(0);
  await assert.rejects(server.start(), /cannot be opened: the disk is full/);
  assert.deepEqual(server.process.end, { code: 1, signal: null });
  disk.budget(null);
  await server.start();
  await assertKept(server, names);
});

// --- a real disk ---

// A program that runs the server on a file system of its own, or null where that is not allowed.
function onSmallDisk(directory, sizeMib) {
  const mount = `mount -t tmpfs -o size=${sizeMib}m tmpfs ${directory}`;
  const tried = spawnSync('unshare', ['-Urm', 'sh', '-c', mount]);
  if (tried.status !== 0) return null;
  const script = path.join(emptyDirectory(), 'zaffre');
  fs.writeFileSync(script, `#!/bin/sh\nexec unshare -Urm sh -c '${mount} && exec "$0" "$@"' ` +
    `'${binary}' "$@"\n`, { mode: 0o755 });
  return script;
}

test('a small real disk is filled, emptied by deletes, and written to again', async (t) => {
  const directory = emptyDirectory();
  const program = onSmallDisk(directory, 200);
  if (program === null) return t.skip('no file system can be mounted here');
  const server = new Server({ location: directory, program, args: ['--diskReserve', '12'] });
  await server.start();
  const call = new Caller(server);
  const names = new Set();
  await prepare(call);
  await fill(call, names);
  t.diagnostic(`${names.size} blobs of 4 MiB stored`);
  // The rest, by small ones, until they are refused, too.
  for (let i = 0; ; i++) {
    const { status } = await putBlob(call, `filler${i}`, bytes(i, 64 * 1024));
    if (status === 507) break;
    assert.ok(i < 4096, 'the disk does not get full');
  }
  await assertReads(call, names);
  const some = [...names].slice(0, 10);
  await assertDeletes(call, some);
  for (const name of some) names.delete(name);
  await assertRecovers(call, names);
  await assertReads(call, names);
  call.close();
  assert.deepEqual(await server.stop(), { code: 0, signal: null }, server.log);
});
