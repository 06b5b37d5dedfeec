// The power goes off at random points of one recorded run of the whole server, RocksDB included.
//
// record.so writes down every effect of the server on its files; replay.mjs makes of the log the
// directory that a cut leaves at any point, with what was not synced dropped, torn or reordered.  For
// each cut: fsck finds nothing, the server starts, everything that a client had an answer for is
// there byte for byte, nothing else is, and new writes are taken.  The run itself has kills, a kill
// during recovery and clean stops, so that cuts fall into these, too.
//
//   ZAFFRE_SEED              repeats the choices of a run (its timing is the machine's)
//   ZAFFRE_POWER_CUTS        how many cuts; 80 by default
//   ZAFFRE_POWER_ROUNDS      how many times the recorded server is killed; 1 by default
//   ZAFFRE_POWER_STEPS       requests of a client between two stops; 40 by default, and with 600
//                            RocksDB's write buffer is filled several times
//   ZAFFRE_POWER_RECORDING   a recording that a failed run kept: the same cuts of the same run

import test from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Server, emptyDirectory, fsck } from '../e2e/helpers/server.mjs';
import { md5 } from '../e2e/helpers/digest.mjs';
import { blockBlob, sasSender } from '../e2e/helpers/http.mjs';
import { Random, seeded } from '../e2e/helpers/random.mjs';
import { DATA, Recorder, Recording, load, save } from './helpers/recording.mjs';
import { choosePoints, cutAt } from './helpers/cuts.mjs';
import { Replay } from './replay.mjs';

const CUTS = Number(process.env.ZAFFRE_POWER_CUTS ?? 80);
const ROUNDS = Number(process.env.ZAFFRE_POWER_ROUNDS ?? 1);
const CLIENTS = 2; // of each service
const EFFECTS = 24; // of a first start until it opens RocksDB
const STARTS = Math.min(EFFECTS, CUTS / 8); // that are interrupted
const STEPS = Number(process.env.ZAFFRE_POWER_STEPS ?? 40);

const random = seeded('power_cut');
const seed = random.between(0, 2 ** 30);
const choice = () => new Random(seed); // the same with a recording that was kept
let recording;

function report(found, kept) {
  const texts = found.slice(0, 5).map(({ index, position, style, complaints }) =>
    `cut ${index} at ${position} (${style}):\n  ${complaints.slice(0, 5).join('\n  ')}`);
  return `${found.length} cuts lost something; repeat them with this ZAFFRE_SEED and ` +
    `ZAFFRE_POWER_RECORDING=${kept}\n${texts.join('\n')}`;
}

// What is in a directory: { path: digest of its bytes }, but for RocksDB's messages and sockets.
function contents(directory, below = '') {
  const found = {};
  for (const entry of fs.readdirSync(path.join(directory, below), { withFileTypes: true })) {
    const name = path.join(below, entry.name);
    if (entry.isDirectory()) Object.assign(found, { [name]: null }, contents(directory, name));
    else if (entry.isFile() && !entry.name.startsWith('LOG')) {
      found[name] = md5(fs.readFileSync(path.join(directory, name)));
    }
  }
  return found;
}

test('a run of the server under load is recorded, with every byte', async (t) => {
  if (process.env.ZAFFRE_POWER_RECORDING) {
    recording = load(process.env.ZAFFRE_POWER_RECORDING);
    return;
  }
  const run = new Recording(random, { clients: CLIENTS, steps: STEPS, rounds: ROUNDS });
  await run.run();
  recording = run.result();
  t.diagnostic(`${run.total('acknowledged')} writes acknowledged, ${run.total('refused')} refused, ` +
    `${run.total('unknown')} in flight at a kill; ${recording.log.length} bytes of log`);
  assert.ok(run.total('acknowledged') > 10 * STEPS, 'too few writes to show anything');

  const replay = new Replay(recording.log, recording.root);
  replay.advance(recording.log.length);
  const replayed = emptyDirectory();
  replay.cut(replayed, random, 'kept');
  assert.deepEqual(contents(replayed), contents(recording.root));
});

test(`nothing acknowledged is lost and fsck is clean in ${CUTS} power cuts`, async (t) => {
  const points = choosePoints(recording.log, recording.ready, choice(), CUTS);
  const found = await cutAt(recording, points, seed);
  const kept = path.join(os.tmpdir(), `zaffre-power-${seed}`);
  if (found.length > 0) save(recording, kept);
  assert.equal(found.length, 0, report(found, kept));
  t.diagnostic(`${new Set(points).size} different points`);
});

// The first start ends after so many effects; the second finds a directory that was never synced.
async function interrupted(events) {
  const recorder = new Recorder();
  const { server } = recorder;
  await recorder.dieAtStart(events);
  await server.start();
  const send = sasSender(server);
  assert.equal((await send('PUT', 'first?restype=container')).status, 201);
  assert.equal((await send('PUT', 'first/blob', blockBlob, Buffer.alloc(50_000, 'f'))).status, 201);
  const log = fs.readFileSync(recorder.logPath);
  await server.stop();
  recorder.close();

  const directory = emptyDirectory();
  const replay = new Replay(log, recorder.root);
  replay.advance(log.length);
  replay.cut(directory, random, 'dropped');
  const location = path.join(directory, DATA);
  const when = `after a first start of ${events} effects`;
  assert.equal((await fsck(location)).code, 0, when);
  const again = await new Server({ location }).start();
  const { status, body } = await sasSender(again)('GET', 'first/blob');
  assert.equal(status, 200, when);
  assert.ok(body.equals(Buffer.alloc(50_000, 'f')), when);
  await again.stop();
  again.discard();
}

test('a directory whose making was interrupted is durable with the first write', async () => {
  const order = choice();
  const left = Array.from({ length: EFFECTS }, (_, i) => ({ events: i + 1, at: order.next() }))
    .sort((a, b) => a.at - b.at).slice(0, STARTS);
  const worker = async () => {
    while (left.length > 0) await interrupted(left.pop().events);
  };
  await Promise.all([worker(), worker()]);
});

// The list is short here, so that no record of a recorded run reaches into a second sector.
test('a torn change of the list of files that RocksDB has is cut off', async () => {
  const server = await new Server({}).start();
  const send = sasSender(server);
  assert.equal((await send('PUT', 'kept?restype=container')).status, 201);
  await server.stop();
  const meta = path.join(server.directory, 'meta');
  const name = fs.readFileSync(path.join(meta, 'CURRENT'), 'utf8').trim();
  const list = fs.readFileSync(path.join(meta, name));
  const record = Buffer.alloc(7 + 1000, 3);
  record.writeUInt16LE(1000, 4);
  record.writeUInt8(1, 6);
  record.fill(0, 512 - list.length % 512, 1024 - list.length % 512);
  fs.appendFileSync(path.join(meta, name), record);

  const { code, err } = await fsck(server.directory);
  assert.equal(code, 1);
  assert.match(err, /the last 1007 bytes were being written .* a start of the server cuts them off/);
  await server.start();
  assert.match(server.log, /the last 1007 bytes were being written .* nothing relies on them/);
  assert.equal((await sasSender(server)('GET', 'kept?restype=container')).status, 200);
  await server.stop();
  assert.equal((await fsck(server.directory)).code, 0);
});

// Without these the first test would show nothing.
for (const [what, ignores] of [
  ["RocksDB's log", (name) => name.endsWith('.log')],
  ['extents', (name) => name.endsWith('.ext')],
  ['the directory of RocksDB', (name) => name.endsWith('/meta')],
  ['the directory of extents', (name) => name.endsWith('/extents')],
]) {
  test(`a disk that does not sync ${what} is found out`, async (t) => {
    const points = choosePoints(recording.log, recording.ready, choice(), 60)
      .filter((position) => position > recording.prepared);
    const found = await cutAt(recording, points, seed,
      { ignores, isEnough: ({ length }) => length > 0 });
    assert.notEqual(found.length, 0, 'nothing was lost');
    t.diagnostic(found[0].complaints[0].slice(0, 300));
  });
}
