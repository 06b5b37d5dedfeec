// The Nth write, sync, open, rename, read or allocation fails, for N = 1, 2, 3 ... until a run passes
// without the failure being reached: while the server starts, and while it works.
//
// After each: the server is still there and answers, or has ended with a line in its log that says
// why.  It never acknowledged what is lost: on a disk that works again it starts, every acknowledged
// change is there, none that was refused is, and fsck finds nothing.
//
//   ZAFFRE_SEED         repeats the choices of a run
//   ZAFFRE_FAIL_STEP    only every so many N are tried, from a random one on; 1 tries all

import test from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Server, eventually, fsck, within } from '../e2e/helpers/server.mjs';
import { seeded } from '../e2e/helpers/random.mjs';
import {
  copyOf, Disk, EIO, EMFILE, ENOMEM, ENOSPC, MEMORY, OPEN, READ, RENAME, RESIZE, SYNC, UNLINK, WRITE,
} from './helpers/disk.mjs';
import { Caller, Scenario } from './helpers/scenario.mjs';

const STEP = process.env.ZAFFRE_FAIL_STEP === undefined ? null : Number(process.env.ZAFFRE_FAIL_STEP);
const END_MS = 60_000;
const random = seeded('failing');

// How the server may end by itself: by panic, which aborts, after a line that says why.
function assertEndedWithReason(server, why) {
  const { code, signal } = server.process.end;
  const log = server.process.log;
  const lines = log.split('\n');
  const reason = lines.find((line) => / error (panic|main): /.test(line)) ??
    lines.find((line) => /bad_alloc/.test(line));
  assert.ok(reason !== undefined, `${why}: the server ended (${code ?? signal}) without a word:\n${log}`);
  assert.ok(signal === 'SIGABRT' || code === 1, `${why}: ended with ${code ?? signal}:\n${log}`);
  assert.ok(!/Sanitizer|runtime error|[Aa]ssertion/.test(log), `${why}:\n${log}`);
}

// Starts the server, which may end instead.  False if it did.
async function starts(server) {
  try {
    await server.start();
    return true;
  } catch (error) {
    if (server.isRunning()) throw error;
    return false;
  }
}

// Everything is as it must be, on a disk that works.
async function assertSound(directory, scenario, why) {
  const checked = await fsck(directory);
  assert.equal(checked.code, 0, `${why}: ${checked.lines.join('\n')}\n${checked.err}`);
  const server = new Server({ location: directory });
  await server.start();
  const call = new Caller(server);
  await scenario.checkAll(call, why, { must: true });
  call.close();
  assert.deepEqual(await server.stop(), { code: 0, signal: null }, why);
}

// Ends a server that may have ended by itself.
async function stop(server, why) {
  const alone = !server.isRunning();
  const { code, signal } = await server.stop();
  // What the failure left behind may come out only while it stops.
  if (alone || signal !== null || code !== 0) assertEndedWithReason(server, why);
}

// A failure at the Nth call while the scenario is played.  False if it was not reached.
async function failAtWork(fault, nth, counts) {
  const why = `${fault.name} at ${nth}`;
  const disk = new Disk();
  const server = disk.server({ args: fault.args });
  const scenario = new Scenario();
  await server.start();
  const call = new Caller(server);
  disk.fail(fault.classes, fault.error, { nth, repeat: fault.repeat ?? 1 });
  const alive = await within(END_MS, why, scenario.play(call));
  // What is done behind the clients' backs comes a little later.
  if (fault.lingerMs) await Promise.race([server.process.exited, sleep(fault.lingerMs)]);
  const reached = disk.failed > 0;
  disk.heal();
  if (alive) {
    await within(END_MS, why, scenario.checkAll(call, why, { must: true }));
    await eventually(END_MS, `${why}: a write is taken again`, async () =>
      (await call.blob('PUT', 'afterwards?restype=container')).status === 201);
  }
  call.close();
  if (!alive) await within(END_MS, `${why}: the server's end`, server.process.exited);
  await stop(server, why);
  if (!fault.mayRefuse) {
    const wrong = [...scenario.refusals].filter((text) => !/^50[037] /.test(text));
    assert.ok(reached || wrong.length === 0, `${why}: refused with ${wrong}`);
  }
  await assertSound(server.directory, scenario, why);
  fs.rmSync(server.directory, { recursive: true });
  counts.runs++;
  counts.ends += alive ? 0 : 1;
  for (const text of scenario.refusals) counts.refusals.add(text);
  return reached;
}

// The same while the server starts on a directory with data in it.
async function failAtStart(fault, nth, counts, template) {
  const why = `${fault.name} at ${nth}`;
  const directory = copyOf(template.directory);
  const disk = new Disk();
  const server = disk.server({ location: directory });
  disk.fail(fault.classes, fault.error, { nth, repeat: fault.repeat ?? 1 });
  const alive = await starts(server);
  const reached = disk.failed > 0;
  disk.heal();
  if (alive) {
    const call = new Caller(server);
    await template.scenario.checkAll(call, why);
    call.close();
  }
  await stop(server, why);
  await assertSound(directory, template.scenario, why);
  fs.rmSync(directory, { recursive: true });
  counts.runs++;
  counts.ends += alive ? 0 : 1;
  return reached;
}

// N = 1, 2, 3 ... until the failure is not reached.
async function loop(t, fault, fail) {
  const counts = { runs: 0, ends: 0, refusals: new Set() };
  const step = STEP ?? fault.step ?? 1;
  let nth = random.between(1, step);
  while (await fail(fault, nth, counts)) nth += step;
  t.diagnostic(`N up to ${nth}: ${counts.runs} runs, the server ended in ${counts.ends}; refused with ` +
    ([...counts.refusals].sort().join(', ') || 'nothing'));
}

// Data as a kill leaves it: the log is replayed at the start.
async function killedDirectory() {
  const server = new Server({});
  await server.start();
  const call = new Caller(server);
  const scenario = new Scenario();
  assert.ok(await scenario.play(call));
  call.close();
  assert.deepEqual([...scenario.refusals], []);
  await server.stop('SIGKILL');
  return { directory: server.directory, scenario };
}

const template = await killedDirectory();

const AT_WORK = [
  { name: 'a write fails with EIO', classes: WRITE, error: EIO, step: 9 },
  { name: 'a write finds the disk full', classes: WRITE, error: ENOSPC, step: 9 },
  { name: 'a sync fails with EIO', classes: SYNC, error: EIO, step: 9 },
  { name: 'a file cannot be opened or made', classes: OPEN, error: EMFILE, step: 5 },
  { name: 'a file cannot be made for lack of space', classes: OPEN, error: ENOSPC, step: 5 },
  { name: 'a read fails with EIO', classes: READ, error: EIO, step: 9 },
  { name: 'names cannot be changed', classes: RENAME | UNLINK | RESIZE, error: EIO,
    lingerMs: 2000 },
  { name: 'there is no memory', classes: MEMORY, error: ENOMEM, step: 97 },
];

const AT_START = [
  { name: 'a write fails with EIO', classes: WRITE, error: EIO, step: 7 },
  { name: 'a write finds the disk full', classes: WRITE, error: ENOSPC, step: 7 },
  { name: 'a sync fails with EIO', classes: SYNC, error: EIO, step: 5 },
  { name: 'a file cannot be opened or made', classes: OPEN, error: EMFILE, step: 9 },
  { name: 'a name cannot be changed', classes: RENAME | UNLINK | RESIZE, error: EIO, step: 3 },
  { name: 'a read fails with EIO', classes: READ, error: EIO, step: 5 },
  { name: 'there is no memory', classes: MEMORY, error: ENOMEM, step: 29 },
];

for (const fault of AT_WORK) {
  test(`at work: ${fault.name}, and nothing acknowledged is lost`, (t) =>
    loop(t, fault, failAtWork));
}

for (const fault of AT_START) {
  test(`at the start: ${fault.name}, and nothing is lost`, (t) =>
    loop(t, fault, (...args) => failAtStart(...args, template)));
}
