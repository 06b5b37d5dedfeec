// `zaffre fsck`: what a server leaves behind holds together, after a stop and after a kill under
// load; damage is found and named; checking changes nothing.

import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import assert from 'node:assert/strict';
import { emptyDirectory, eventually, fsck, run, startServer, stopsCleanly }
  from './helpers/server.mjs';
import { Random } from './helpers/random.mjs';

const server = await startServer();
const random = new Random(7);
const KIB = 1024;

const id = (number) => Buffer.from(String(number).padStart(6, '0')).toString('base64');

// Every kind of blob, small and large, with snapshots, tags and what nobody committed.
async function fill(name) {
  const container = server.client().getContainerClient(name);
  await container.create();
  for (const size of [0, 10, 100 * KIB]) {
    await container.getBlockBlobClient(`whole-${size}`).upload(random.bytes(size), size,
      { tags: { size: String(size) } });
  }
  const blocks = container.getBlockBlobClient('blocks');
  for (let i = 0; i < 4; i++) {
    const bytes = random.bytes(i % 2 ? 10 : 70 * KIB);
    await blocks.stageBlock(id(i), bytes, bytes.length);
  }
  await blocks.commitBlockList([id(0), id(1), id(0)]);
  await blocks.stageBlock(id(5), random.bytes(50 * KIB), 50 * KIB);
  await blocks.createSnapshot();

  const log = container.getAppendBlobClient('log');
  await log.create();
  await log.appendBlock(random.bytes(80 * KIB), 80 * KIB);
  await log.createSnapshot();
  for (let i = 0; i < 80; i++) await log.appendBlock('line', 4);

  const pages = container.getPageBlobClient('pages');
  await pages.create(1024 * KIB);
  await pages.uploadPages(random.bytes(128 * KIB), 0, 128 * KIB);
  await pages.uploadPages(random.bytes(4 * KIB), 8 * KIB, 4 * KIB);
  await pages.createSnapshot();
  await pages.clearPages(16 * KIB, 16 * KIB);
  return container;
}

// Changes without end, until the server is gone.
async function load(container, number) {
  for (let i = 0; ; i++) {
    try {
      const blob = container.getBlockBlobClient(`load-${number}-${i % 3}`);
      await blob.stageBlock(id(i), random.bytes(90 * KIB), 90 * KIB);
      if (i % 2) await blob.commitBlockList([id(i)]);
      else await blob.upload(random.bytes(100 * KIB), 100 * KIB);
      if (i % 5 === 4) await blob.delete();
    } catch {
      return;
    }
  }
}

// Every file with the hash of its bytes.  LOG is what RocksDB writes for people.
function everyFile(directory) {
  const files = {};
  for (const name of fs.readdirSync(directory, { recursive: true })) {
    const file = path.join(directory, name);
    if (!fs.statSync(file).isFile() || path.basename(file).startsWith('LOG')) continue;
    files[name] = crypto.createHash('sha256').update(fs.readFileSync(file)).digest('hex');
  }
  return files;
}

const CLEAN = /^fsck: \d+ containers, \d+ blobs, \d+ bytes in \d+ extents: clean$/;

async function assertClean() {
  const { code, lines } = await fsck(server.directory);
  assert.equal(code, 0, lines.join('\n'));
  assert.match(lines.at(-1), CLEAN);
  return lines;
}

test('a directory that a server uses is not checked', async () => {
  const { code, lines, err } = await fsck(server.directory);
  assert.equal(code, 2);
  assert.deepEqual(lines, ['']);
  assert.match(err, /is in use by a zaffre; stop it first/);
});

test('what a server leaves behind is clean, and the summary counts it', async () => {
  const container = await fill('fsck-kinds');
  const other = server.client().getContainerClient('fsck-other');
  await other.create();
  await other.getBlockBlobClient('b').upload('x', 1);
  const gone = await fill('fsck-gone');
  await gone.delete();
  await container.getBlockBlobClient('whole-10').delete();
  await server.stop();
  const lines = await assertClean();
  assert.match(lines.at(-1), /^fsck: 2 containers, 6 blobs, [1-9]\d* bytes in [1-9]/);
});

test('checking changes nothing', async () => {
  const before = everyFile(server.directory);
  assert.ok(Object.keys(before).length > 3);
  await assertClean();
  assert.deepEqual(everyFile(server.directory), before);
});

test('after a kill under load it is clean, before and after the restart', async () => {
  for (let round = 0; round < 3; round++) {
    await server.start();
    const container = server.client().getContainerClient(`fsck-load-${round}`);
    await container.create();
    const clients = [0, 1, 2, 3].map((number) => load(container, number));
    await new Promise((resolve) => setTimeout(resolve, 700));
    await server.stop('SIGKILL');
    await Promise.all(clients);
    await assertClean();
  }
  await server.start();
  await server.stop();
  await assertClean();
});

test('a flipped bit in an extent is found, with the name of the blob', async () => {
  await server.start();
  const container = server.client().getContainerClient('fsck-damage');
  await container.create();
  const mark = random.bytes(100 * KIB);
  await container.getBlockBlobClient('folder/victim').upload(mark, mark.length);
  await server.stop();

  const directory = path.join(server.directory, 'extents');
  const damaged = fs.readdirSync(directory).map((name) => path.join(directory, name))
    .map((file) => ({ file, at: fs.readFileSync(file).indexOf(mark.subarray(0, 64)) }))
    .find(({ at }) => at >= 0);
  const write = (byte) => {
    const fd = fs.openSync(damaged.file, 'r+');
    fs.writeSync(fd, Buffer.from([byte]), 0, 1, damaged.at + 70 * KIB);
    fs.closeSync(fd);
  };
  write(mark[70 * KIB] ^ 1);
  const { code, lines } = await fsck(server.directory);
  assert.equal(code, 1);
  assert.equal(lines.filter((line) => !line.startsWith('fsck:')).length, 1);
  assert.match(lines[0], new RegExp('^extent [0-9a-f]{16}: the range of 102400 bytes at \\d+ is ' +
    'damaged: .*; it belongs to devstoreaccount1/fsck-damage/folder/victim$'));
  assert.match(lines.at(-1), /: 1 findings$/);
  write(mark[70 * KIB]);
  await assertClean();
});

test('a missing extent is found', async () => {
  const directory = path.join(server.directory, 'extents');
  const [name] = fs.readdirSync(directory).sort();
  fs.renameSync(path.join(directory, name), path.join(server.directory, name));
  const { code, lines } = await fsck(server.directory);
  assert.equal(code, 1);
  assert.match(lines[0], /^extent [0-9a-f]{16} is missing, with the range of .*; it belongs to /);
  fs.renameSync(path.join(server.directory, name), path.join(directory, name));
  await assertClean();
});

// Changes a byte of a file, and returns what puts it back.
function flip(file, at) {
  const fd = fs.openSync(file, 'r+');
  const byte = Buffer.alloc(1);
  fs.readSync(fd, byte, 0, 1, at);
  fs.writeSync(fd, Buffer.from([byte[0] ^ 1]), 0, 1, at);
  return () => {
    fs.writeSync(fd, byte, 0, 1, at);
    fs.closeSync(fd);
  };
}

test('--repair sets right what can be derived, and nothing while something cannot be read',
  async () => {
    await server.start();
    const container = server.client().getContainerClient('fsck-repair');
    await container.create();
    const contents = ['a', 'b', 'c'].map(() => random.bytes(100 * KIB));
    for (const [i, bytes] of contents.entries()) {
      await container.getBlockBlobClient('abc'[i]).upload(bytes, bytes.length);
    }
    const directory = path.join(server.directory, 'extents');
    const places = contents.map((bytes) => fs.readdirSync(directory)
      .map((name) => path.join(directory, name))
      .map((file) => ({ file, at: fs.readFileSync(file).indexOf(bytes.subarray(0, 64)) }))
      .find(({ at }) => at >= 0));
    await server.restart(); // an extent that is found is settled
    await server.client().getContainerClient('fsck-repair').getBlockBlobClient('b')
      .deleteIfExists();
    const { file, at } = places[1];
    const isHole = () => !fs.readFileSync(file).subarray(at, at + 100 * KIB).some((byte) => byte);
    await eventually(20_000, 'the space is given back', isHole);
    await server.stop();
    await assertClean();

    flip(file, at + 5000);
    assert.equal((await fsck(server.directory)).code, 1);
    const heal = flip(places[0].file, places[0].at + 70 * KIB);
    const kept = await fsck(server.directory, '--repair');
    assert.equal(kept.code, 1);
    assert.match(kept.lines.join('\n'), /1 repairs are only right if everything can be read/);
    assert.match(kept.lines.join('\n'), /fsck: 0 repairs were made/);
    assert.match(kept.lines.at(-1), /: 2 findings$/);
    heal();

    const repaired = await fsck(server.directory, '--repair');
    assert.equal(repaired.code, 0, repaired.lines.join('\n'));
    assert.match(repaired.lines.join('\n'), /that belong to nothing.*\nfsck: 1 repairs were made/);
    assert.match(repaired.lines.at(-1), CLEAN);
    await server.start();
    assert.ok(isHole(), 'the server has settled the extent again');
    for (const i of [0, 2]) {
      assert.ok((await server.client().getContainerClient('fsck-repair')
        .getBlobClient('abc'[i]).downloadToBuffer()).equals(contents[i]));
    }
    await server.stop();
    await assertClean();
    const again = await fsck(server.directory, '--repair');
    assert.equal(again.code, 0);
    assert.match(again.lines[0], /^fsck: 0 repairs were made$/);
  });

test('a directory without data is not checked, and stays as it is', async () => {
  const empty = emptyDirectory();
  for (const directory of [empty, path.join(empty, 'nothing')]) {
    const { code, err } = await fsck(directory);
    assert.equal(code, 2);
    assert.match(err, /there is no data of zaffre in/);
  }
  assert.deepEqual(fs.readdirSync(empty), []);
});

test('a wrong command line is explained', async () => {
  for (const args of [['--what'], ['--location'], ['-l'], ['--location='], ['.'], ['-l', '']]) {
    const process_ = run(['fsck', ...args]);
    assert.equal((await process_.exited).code, 2, args.join(' '));
    assert.match(process_.err, /^Usage: zaffre fsck/);
  }
  const help = run(['fsck', '--help']);
  assert.equal((await help.exited).code, 0);
  assert.match(help.out, /^Usage: zaffre fsck/);
  for (const args of [['-l', server.directory], [`--location=${server.directory}`],
    [`-l=${server.directory}`]]) {
    assert.equal((await run(['fsck', ...args]).exited).code, 0, args.join(' '));
  }
  assert.equal((await run(['fsck'], { cwd: server.directory }).exited).code, 0);
});

test('the server goes on with a directory that was checked', async () => {
  await server.start();
  const blob = server.client().getContainerClient('fsck-other').getBlobClient('b');
  assert.equal((await blob.downloadToBuffer()).toString(), 'x');
});

stopsCleanly(server);
