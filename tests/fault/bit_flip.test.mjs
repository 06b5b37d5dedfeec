// One bit of one file of the data directory is another: wherever it is, no client ever gets a wrong
// byte as a good one, and fsck and the server's log name what is damaged.
//
// The flips are made in a copy of a directory that a server was stopped or killed on, and in the
// extents of a running one.
//
//   ZAFFRE_SEED         repeats the choices of a run
//   ZAFFRE_FLIPS        bits flipped in each kind of file

import test from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { Server, run, within } from '../e2e/helpers/server.mjs';
import { seeded } from '../e2e/helpers/random.mjs';
import { copyOf } from './helpers/disk.mjs';
import { Caller, STEPS, Scenario, bytes } from './helpers/scenario.mjs';

const FLIPS = Number(process.env.ZAFFRE_FLIPS ?? 6);
const KIB = 1024;
const END_MS = 60_000;
const random = seeded('bit_flip');

// --- data ---

// Everything the scenario makes and does not delete, in tables of RocksDB and in its log.
async function makeDirectory(signal) {
  const server = new Server({});
  const scenario = new Scenario();
  // Rows that stay in the log, after a start that has put those of the first half into a table.
  for (const steps of [STEPS.slice(0, 16), STEPS.slice(16, 23)]) {
    await server.start();
    const call = new Caller(server);
    assert.ok(await scenario.play(call, steps));
    call.close();
    await server.stop(signal);
  }
  assert.deepEqual([...scenario.refusals], []);
  return { directory: server.directory, scenario };
}

const killed = await makeDirectory('SIGKILL');
const stopped = await makeDirectory('SIGTERM');

// --- flips ---

function filesOf(directory, pattern) {
  return fs.readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(directory, path.join(entry.path ?? entry.parentPath, entry.name)))
    .filter((name) => pattern.test(name) && fs.statSync(path.join(directory, name)).size > 0)
    .sort();
}

function flip(file, bit) {
  const handle = fs.openSync(file, 'r+');
  const byte = Buffer.alloc(1);
  fs.readSync(handle, byte, 0, 1, Math.floor(bit / 8));
  byte[0] ^= 1 << bit % 8;
  fs.writeSync(handle, byte, 0, 1, Math.floor(bit / 8));
  fs.closeSync(handle);
}

// `zaffre fsck`, which may end in any way but by itself: { code, log }.
async function check(directory) {
  const fsck = run(['fsck', '--location', directory]);
  const { code, signal } = await within(END_MS, 'the end of fsck', fsck.exited);
  assert.equal(signal, null, fsck.log);
  return { code, log: fsck.log };
}

// What a server makes of a damaged directory: { started, log }.  Whatever it answers is right.
async function serve(directory, scenario) {
  const server = new Server({ location: directory });
  let started = true;
  try {
    await server.start();
  } catch (error) {
    assert.ok(!server.isRunning(), error.message);
    started = false;
  }
  if (started) {
    const call = new Caller(server);
    await scenario.checkAll(call, 'with a bit flipped');
    call.close();
    await server.stop();
  }
  const { signal } = server.process.end;
  assert.ok(signal === null || /panic/.test(server.log), server.log);
  return { started, log: server.log };
}

// One flip, in a copy.
async function tryFlip(source, name, bit) {
  const directory = copyOf(source.directory);
  flip(path.join(directory, name), bit);
  const checked = await check(directory);
  let served;
  try {
    served = await serve(directory, source.scenario);
  } catch (error) {
    error.message = `bit ${bit} (byte ${Math.floor(bit / 8)}) of ${name}: ${error.message}`;
    throw error;
  }
  fs.rmSync(directory, { recursive: true });
  return { name, bit, checked, served };
}

async function tryFlips(t, source, pattern, choose = (size) => random.between(0, size * 8 - 1)) {
  const names = filesOf(source.directory, pattern);
  assert.ok(names.length > 0, `no file like ${pattern}`);
  const results = [];
  for (let i = 0; i < FLIPS; i++) {
    const name = names[i % names.length];
    const { size } = fs.statSync(path.join(source.directory, name));
    results.push(await tryFlip(source, name, choose(size)));
  }
  t.diagnostic(`${names.length} files, ${results.length} flips; fsck found ` +
    `${results.filter(({ checked }) => checked.code !== 0).length}, and ` +
    `${results.filter(({ served }) => !served.started).length} kept the server from starting`);
  return results;
}

const where = ({ name, bit, checked }) =>
  `bit ${bit} (byte ${Math.floor(bit / 8)}) of ${name}: ${checked.log}`;

// --- tests ---

test('a bit of an extent: fsck names the extent, and the server refuses or sends what is right',
  async (t) => {
    for (const result of await tryFlips(t, killed, /^extents\//)) {
      assert.notEqual(result.checked.code, 0, where(result));
      assert.ok(result.checked.log.includes(path.basename(result.name, '.ext')), where(result));
      assert.ok(result.served.started);
    }
  });

// A bit of a file that RocksDB reads: fsck says that the store cannot be opened or read, and the
// server does not start or answers with an error.  What serve() read was right in any case.
for (const [source, how] of [[stopped, 'stopped'], [killed, 'killed']]) {
  for (const [kind, pattern] of [['a log', /\.log$/], ['the manifest', /MANIFEST/],
    ['CURRENT or FORMAT', /CURRENT$|FORMAT$/]]) {
    // A server that stops leaves nothing in its log.
    if (filesOf(source.directory, pattern).length === 0) continue;
    test(`a bit of ${kind} of a server that was ${how}: fsck and the server say so`, async (t) => {
      for (const result of await tryFlips(t, source, pattern)) {
        assert.notEqual(result.checked.code, 0, where(result));
        assert.match(result.checked.log, / error (corrupt|rocksdb|store): /);
        assert.ok(!result.served.started, where(result));
      }
    });
  }

  // Tables have filters, which RocksDB does without when they are damaged, and some padding.
  test(`a bit of a table of a server that was ${how}: fsck says so if it matters`, async (t) => {
    // The one with the rows; there may be others with next to nothing in them.
    const [largest] = filesOf(source.directory, /\.sst$/).sort((a, b) =>
      fs.statSync(path.join(source.directory, b)).size -
      fs.statSync(path.join(source.directory, a)).size);
    const results = await tryFlips(t, source, new RegExp(`${path.basename(largest)}$`));
    const found = results.filter(({ checked }) => checked.code === 1);
    assert.ok(found.length * 2 > results.length, 'fsck finds less than half');
    for (const result of results) {
      if (result.checked.code === 1) assert.match(result.checked.log, / error (corrupt|rocksdb): /);
      else assert.ok(result.served.started, where(result));
    }
  });
}

test('a bit of a file of large values: fsck says so', async (t) => {
  for (const result of await tryFlips(t, stopped, /\.blob$/)) {
    assert.equal(result.checked.code, 1, where(result));
    assert.match(result.checked.log, / error (corrupt|rocksdb): /);
  }
});

// Every length of every record: one that is too large looks like a write that a power cut has torn.
test('a bit of the length of a record in the log is no torn write', async (t) => {
  const directory = copyOf(killed.directory);
  const [name] = filesOf(directory, /\.log$/);
  const log = fs.readFileSync(path.join(directory, name));
  const lengths = [];
  for (let at = 0; at + 7 <= log.length; at += 7 + log.readUInt16LE(at + 4)) lengths.push(at + 4);
  assert.ok(lengths.length > 3);
  for (let i = 0; i < 3 * FLIPS; i++) {
    const bit = random.pick(lengths) * 8 + random.between(0, 15);
    flip(path.join(directory, name), bit);
    const { code, log: said } = await check(directory);
    assert.equal(code, 1, `bit ${bit} of ${name}: ${said}`);
    flip(path.join(directory, name), bit);
  }
  assert.equal((await check(directory)).code, 0);
  t.diagnostic(`${lengths.length} records, ${3 * FLIPS} flips`);
});

test('files that are no data: a flipped bit changes nothing', async (t) => {
  for (const result of await tryFlips(t, killed, /OPTIONS-|IDENTITY$|LOG(\.old.*)?$/)) {
    assert.equal(result.checked.code, 0, where(result));
    assert.ok(result.served.started);
  }
});

test('a bit that flips under a running server is not sent, however often it was before', async () => {
  const server = new Server({});
  await server.start();
  const call = new Caller(server);
  const content = bytes(9, 1024 * KIB);
  assert.equal((await call.blob('PUT', 'box?restype=container')).status, 201);
  for (const name of ['box/hit', 'box/missed']) {
    const answer = await call.blob('PUT', name, { 'x-ms-blob-type': 'BlockBlob' }, content);
    assert.equal(answer.status, 201);
  }
  const read = async (name, headers) => {
    try {
      const { status, body } = await call.blob('GET', name, headers);
      return status < 300 ? body : null;
    } catch {
      return null; // cut short
    }
  };
  // Twice, so that what is remembered of the first can be used for the second.
  for (let i = 0; i < 2; i++) assert.ok(content.equals(await read('box/hit')));
  const [extent] = filesOf(server.directory, /^extents\//);
  const at = 300 * KIB; // the first blob begins the extent
  flip(path.join(server.directory, extent), at * 8);
  for (let i = 0; i < 3; i++) assert.equal(await read('box/hit'), null, 'damage was sent');
  assert.match(server.log, new RegExp(`corrupt: .*${path.basename(extent, '.ext')}: block 4 `));
  // The blocks that are good are still there, and so are other blobs.
  const part = await read('box/hit', { 'x-ms-range': 'bytes=0-262143' });
  assert.ok(content.subarray(0, 256 * KIB).equals(part));
  assert.ok(content.equals(await read('box/missed')));
  call.close();
  assert.deepEqual(await server.stop(), { code: 0, signal: null });
  const { code, log } = await check(server.directory);
  assert.equal(code, 1);
  assert.match(log, /belongs to devstoreaccount1\/box\/hit/);
});
