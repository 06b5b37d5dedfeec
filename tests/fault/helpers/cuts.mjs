// Power cuts of a recording: which points, and what must be true of the directory each leaves.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { Server, emptyDirectory, fsck } from '../../e2e/helpers/server.mjs';
import { Random } from '../../e2e/helpers/random.mjs';
import { blockBlob, sasSender } from '../../e2e/helpers/http.mjs';
import { Replay, eventsOf, treeOf } from '../replay.mjs';
import { DATA, Recorder, loads } from './recording.mjs';
import { complaint, fits, possible } from './timeline.mjs';

const AT_ONCE = 3; // directories that are looked at
const TWICE = 0.25; // of the cuts are followed by another while the server starts
const COMMON = new Set(['write', 'syncBegin', 'syncEnd', 'open']);

// So many points of the log, in order: some while the directory is made, some at changes of names,
// some when a sync has begun and most is at stake, the others anywhere.
export function choosePoints(log, ready, random, count) {
  const events = [...eventsOf(log)].map(({ kind, end }) => ({ kind, end }));
  const early = events.filter(({ end }) => end <= ready);
  const rare = events.flatMap(({ kind }, i) => (COMMON.has(kind) ? [] : events.slice(i, i + 3)));
  const syncs = events.filter(({ kind }) => kind === 'syncBegin');
  const pick = () => {
    const roll = random.next();
    return random.pick(roll < 0.1 ? early : roll < 0.35 ? rare : roll < 0.6 ? syncs : events).end;
  };
  return Array.from({ length: count }, pick).sort((a, b) => a - b);
}

// Looks at all things on a server that runs on what a cut left: a list of complaints.
async function compare(server, things, position) {
  const complaints = [];
  for (const load of loads) {
    const send = load.sender(server);
    const own = things.filter(({ kind }) => kind in load.observers);
    await Promise.all(own.map(async (thing) => {
      const seen = await load.observers[thing.kind](send, thing.path);
      const entries = possible(thing.history, position);
      const found = entries.filter(({ state }) => fits(state, seen));
      if (found.length === 0) {
        complaints.push(complaint(thing, entries.map(({ state }) => state), seen));
      } else if (load.probe !== undefined) {
        let refusal = null;
        for (const { extra } of found) {
          refusal = await load.probe(send, thing.path, extra ?? []);
          if (refusal === null) break;
        }
        if (refusal !== null) complaints.push(refusal);
      }
    }));
  }
  return complaints;
}

// The server takes writes, and has them.
async function takesWrites(server) {
  const send = sasSender(server);
  const body = Buffer.alloc(100_000, 'z');
  const made = await send('PUT', 'after-the-cut?restype=container');
  const put = await send('PUT', 'after-the-cut/blob', blockBlob, body);
  const got = await send('GET', 'after-the-cut/blob');
  return made.status === 201 && put.status === 201 && got.body.equals(body) ? []
    : [`a write after the cut: ${made.status} ${put.status} ${got.status}`];
}

// fsck changes nothing, so it cannot look behind a torn list of files.
const TORN_LIST = /a start of the server cuts them off/;

async function checked(directory, when) {
  const { code, lines, err } = await fsck(directory);
  return code === 0 || TORN_LIST.test(err) ? [] : [`fsck ${when} (status ${code}): ${lines.join('\n')}\n${err}`];
}

// What is wrong with the directory that a cut at `position` left, as a list of texts.
async function lookAt(directory, { ready, prepared, things }, position, random) {
  const location = path.join(directory, DATA);
  const complaints = position >= ready ? await checked(location, 'after the cut') : [];
  const server = new Server({ location });
  try {
    await server.start();
  } catch (error) {
    return [...complaints, `no start: ${error.message}`];
  }
  try {
    if (position >= prepared) complaints.push(...await compare(server, things, position));
    complaints.push(...await takesWrites(server));
  } catch (error) {
    complaints.push(`${error.stack}\n${server.log}`);
  }
  const kills = random.next() < 0.5;
  const end = await server.stop(kills ? 'SIGKILL' : 'SIGTERM');
  if (!kills && end.code !== 0) complaints.push(`status ${end.code} at the end:\n${server.log}`);
  if (random.next() < 0.3) complaints.push(...await checked(location, 'after the run'));
  server.discard();
  return complaints;
}

// Starts the server on what a cut left, and cuts its power again, somewhere on the way: the
// directory of that.
async function cutAgain(directory, random) {
  const tree = treeOf(directory);
  const recorder = new Recorder(directory);
  await recorder.server.start();
  await recorder.server.stop();
  const log = fs.readFileSync(recorder.logPath);
  recorder.close();
  const replay = new Replay(log, recorder.root, { tree });
  replay.advance(random.pick([...eventsOf(log)]).end);
  const again = emptyDirectory();
  replay.cut(again, random);
  fs.rmSync(directory, { recursive: true, force: true });
  return again;
}

async function lookAtCut(directory, recording, position, random) {
  let left = directory;
  try {
    // A directory that is not made yet has nothing that a second cut could leave.
    const twice = position >= recording.ready && random.next() < TWICE;
    if (twice) left = await cutAgain(directory, random);
    return (await lookAt(left, recording, position, random))
      .map((text) => (twice ? `after a second cut: ${text}` : text));
  } catch (error) {
    return [error.stack];
  } finally {
    fs.rmSync(left, { recursive: true, force: true });
  }
}

// Cuts the recording at these points.  `isEnough(found)` ends it early.  The result is a list of
// { position, style, complaints }, of the cuts that there is something to say about.
export async function cutAt(recording, points, seed, { ignores, isEnough = () => false } = {}) {
  const replay = new Replay(recording.log, recording.root, { ignores });
  const found = [];
  const going = new Set();
  for (const [index, position] of points.entries()) {
    if (isEnough(found)) break;
    const random = new Random(seed + index);
    const directory = emptyDirectory();
    replay.advance(position);
    const style = replay.cut(directory, random);
    const look = lookAtCut(directory, recording, position, random).then((complaints) => {
      if (complaints.length > 0) found.push({ index, position, style, complaints });
      going.delete(look);
    });
    going.add(look);
    if (going.size >= AT_ONCE) await Promise.race(going);
  }
  await Promise.all(going);
  assert.equal(going.size, 0);
  return found.sort((a, b) => a.index - b.index);
}
