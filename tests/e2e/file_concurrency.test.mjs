// Files under many hands at once: what readers see of writers, of renames and of snapshots.

import test from 'node:test';
import assert from 'node:assert/strict';
import { startServer, stopsCleanly } from './helpers/server.mjs';
import { fileClient, fileSender, list, makeFile, read } from './helpers/file.mjs';

const server = await startServer();
const service = fileClient(server);
const raw = fileSender(server);
const share = service.getShareClient('share');
await share.create();
const root = share.rootDirectoryClient;

const put = (path, offset, bytes) => raw('PUT', `${path}?comp=range`, { 'x-ms-write': 'update',
  'x-ms-range': `bytes=${offset}-${offset + bytes.length - 1}` }, bytes);

test('a Put Range is seen whole or not at all, and the last one wins', async () => {
  const LENGTH = 300_000;
  await makeFile(root, 'whole', Buffer.alloc(LENGTH, 'a'));
  let running = true;
  const seen = new Set();
  const writers = ['b', 'c', 'd', 'e'].map(async (letter) => {
    while (running) {
      assert.equal((await put('share/whole', 0, Buffer.alloc(LENGTH, letter))).status, 201);
    }
  });
  for (let i = 0; i < 60; i += 1) {
    const { status, body } = await raw('GET', 'share/whole');
    assert.equal(status, 200);
    assert.equal(body.length, LENGTH);
    assert.ok(body.equals(Buffer.alloc(LENGTH, body[0])), 'a mix of two writes');
    seen.add(body[0]);
  }
  running = false;
  await Promise.all(writers);
  assert.ok(seen.size > 1);
});

test('writers of different ranges do not undo each other', async () => {
  const file = root.getFileClient('disjoint');
  await file.create(64 * 1000);
  await Promise.all(Array.from({ length: 64 }, async (_, i) => {
    assert.equal((await put('share/disjoint', i * 1000, Buffer.alloc(1000, i))).status, 201);
  }));
  const content = await read(file);
  for (let i = 0; i < 64; i += 1) {
    assert.ok(content.subarray(i * 1000, (i + 1) * 1000).equals(Buffer.alloc(1000, i)));
  }
});

test('of many that create a directory, or rename a file to one name, one succeeds', async () => {
  const made = await Promise.all(Array.from({ length: 16 },
    () => raw('PUT', 'share/once?restype=directory')));
  assert.equal(made.filter(({ status }) => status === 201).length, 1);
  assert.equal(made.filter(({ code }) => code === 'ResourceAlreadyExists').length, 15);
  for (let i = 0; i < 16; i += 1) await makeFile(root, `from-${i}`, String(i));
  const renamed = await Promise.all(Array.from({ length: 16 }, (_, i) =>
    raw('PUT', 'share/to?comp=rename',
      { 'x-ms-file-rename-source': `${server.fileUrl}/share/from-${i}` })));
  const winner = renamed.findIndex(({ status }) => status === 200);
  assert.equal(renamed.filter(({ status }) => status === 200).length, 1);
  assert.equal((await read(root.getFileClient('to'))).toString(), String(winner));
  assert.equal((await list(root, { prefix: 'from-' })).length, 15);
});

test('a directory that is moved about is always in just one place', async () => {
  await root.getDirectoryClient('here').create();
  await makeFile(root.getDirectoryClient('here'), 'file', 'content');
  let running = true;
  const mover = (async () => {
    for (let i = 0; running; i += 1) {
      const [from, to] = i % 2 === 0 ? ['here', 'there'] : ['there', 'here'];
      const answer = await raw('PUT', `share/${to}?restype=directory&comp=rename`,
        { 'x-ms-file-rename-source': `${server.fileUrl}/share/${from}` });
      assert.equal(answer.status, 200);
    }
  })();
  for (let i = 0; i < 100; i += 1) {
    const { body } = await raw('GET', 'share?restype=directory&comp=list');
    const found = ['here', 'there'].filter((name) => body.includes(`<Name>${name}</Name>`));
    assert.equal(found.length, 1, found.join());
    const answers = await Promise.all(['here', 'there'].map((name) =>
      raw('GET', `share/${name}/file`)));
    for (const { status, body: content } of answers) {
      assert.ok(status === 200 || status === 404, String(status));
      if (status === 200) assert.equal(content.toString(), 'content');
    }
  }
  running = false;
  await mover;
});

test('a snapshot is one instant of the whole share', async () => {
  const busy = service.getShareClient('busy');
  await busy.create();
  const FILES = 8;
  for (let i = 0; i < FILES; i += 1) {
    await makeFile(busy.rootDirectoryClient, `f${i}`, Buffer.alloc(8));
  }
  // One writer counts up in all files, one after the other: at any instant the numbers fall by one
  // at one place at most.
  let running = true;
  const writer = (async () => {
    for (let round = 1; running; round += 1) {
      const bytes = Buffer.alloc(8);
      bytes.writeBigUInt64LE(BigInt(round));
      for (let i = 0; i < FILES; i += 1) {
        assert.equal((await put(`busy/f${i}`, 0, bytes)).status, 201);
      }
    }
  })();
  const snapshots = [];
  for (let i = 0; i < 10; i += 1) snapshots.push((await busy.createSnapshot()).snapshot);
  running = false;
  await writer;
  for (const snapshot of snapshots) {
    const numbers = [];
    for (let i = 0; i < FILES; i += 1) {
      const { body } = await raw('GET', `busy/f${i}?sharesnapshot=${snapshot}`);
      numbers.push(Number(body.readBigUInt64LE()));
    }
    const sorted = [...numbers].sort((a, b) => b - a);
    assert.deepEqual(numbers, sorted, 'later files are not ahead of earlier ones');
    assert.ok(numbers[0] - numbers[FILES - 1] <= 1, numbers.join());
  }
});

stopsCleanly(server);
