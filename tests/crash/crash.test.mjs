// The server is killed at random moments under concurrent writers, restarted on the same
// directory, and everything it acknowledged is checked: every byte, ETag, metadata and lease.
//
// Each client writes names of its own, so it knows what each must be.  It keeps for every name the
// list of states it may have: one, after an answer; two while a request is in flight, since a
// kill lets it happen or not.  What was refused must never have happened.
//
//   ZAFFRE_SEED            repeats the choices of a run (its timing is the machine's)
//   ZAFFRE_CRASH_ROUNDS    how many kills; 50 by default

import test from 'node:test';
import assert from 'node:assert/strict';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { assertNoComplaint, run, startServer } from '../e2e/helpers/server.mjs';
import { Random, seeded } from '../e2e/helpers/random.mjs';
import { blockBlob, sasSender } from '../e2e/helpers/http.mjs';

const ROUNDS = Number(process.env.ZAFFRE_CRASH_ROUNDS ?? 50);
const CLIENTS = 8;
const BLOBS_PER_CLIENT = 6;
const LEASE_ID = 'aaaaaaaa-0000-4000-8000-00000000000a';
const KIB = 1024;

// --- what a thing is, and whether the server agrees ---

const ABSENT = null;

// A blob: { body, etag, meta, leased }, where an ETag not yet known is undefined.
function blobAgrees(state, seen) {
  if (state === ABSENT || seen === ABSENT) return state === seen;
  return (state.etag === undefined || state.etag === seen.etag) && state.meta === seen.meta &&
    state.leased === seen.leased && state.body.equals(seen.body);
}

// A container: { etag, meta, blobs }, the names of its blobs in one string.
function containerAgrees(state, seen) {
  if (state === ABSENT || seen === ABSENT) return state === seen;
  return (state.etag === undefined || state.etag === seen.etag) && state.meta === seen.meta &&
    state.blobs === seen.blobs;
}

function describe(state) {
  if (state === ABSENT) return 'absent';
  const { body, ...rest } = state;
  return JSON.stringify(body === undefined ? rest
    : { ...rest, bytes: body.length, head: body.toString('hex', 0, 8) });
}

class Thing {
  constructor(path, agrees) {
    this.path = path;
    this.agrees = agrees;
    this.states = [ABSENT];
  }

  get state() {
    assert.equal(this.states.length, 1);
    return this.states[0];
  }

  // Takes what was seen after a restart as the state, or fails.
  settle(seen, when) {
    if (!this.states.some((state) => this.agrees(state, seen))) {
      assert.fail(`${when}: ${this.path} is ${describe(seen)}, but must be ` +
        this.states.map(describe).join(' or '));
    }
    this.states = [seen];
  }
}

// --- a client ---

class Client {
  constructor(index, seed) {
    this.random = new Random(seed + 7919 * (index + 1));
    this.blobs = Array.from({ length: BLOBS_PER_CLIENT },
      (_, i) => new Thing(`crash/client-${index}-${i}`, blobAgrees));
    this.container = new Thing(`crash-own-${index}`, containerAgrees);
    this.count = 0;
    this.counts = { acknowledged: 0, refused: 0, unknown: 0 };
    this.lastEtag = 0n;
  }

  // Sends a request that makes `after` of `thing`.  A lost connection leaves both possible.
  async change(thing, after, method, path, headers = {}, body = null) {
    thing.states.push(after);
    let answer;
    try {
      answer = await this.send(method, path, headers, body);
    } catch {
      this.counts.unknown++;
      this.lost = true;
      return;
    }
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.code}`);
    this.counts.acknowledged++;
    if (after !== ABSENT && answer.headers.etag) after.etag = answer.headers.etag;
    thing.states = [after];
    if (answer.headers.etag && !path.includes('comp=lease')) this.checkRises(answer.headers.etag);
  }

  // An ETag is a time that never goes back, whatever happened to the server in between.
  checkRises(etag) {
    const value = BigInt(JSON.parse(etag));
    assert.ok(value > this.lastEtag, `${etag} is not later than the ETag of the write before`);
    this.lastEtag = value;
  }

  // Sends a request that must be refused, so the thing stays as it is whatever happens.
  async refused(thing, code, method, path, headers = {}, body = null) {
    try {
      const answer = await this.send(method, path, headers, body);
      assert.equal(answer.code, code, `${method} ${path}: ${answer.status} ${answer.code}`);
      this.counts.refused++;
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      this.lost = true;
    }
  }

  content() {
    const { random } = this;
    const kind = random.next();
    if (kind < 0.5) return random.bytes(random.between(0, 2 * KIB));
    if (kind < 0.65) return random.bytes(random.between(60 * KIB, 70 * KIB));
    return random.bytes(random.between(100 * KIB, 1024 * KIB));
  }

  async step() {
    if (this.random.next() < 0.15) await this.containerStep();
    else await this.blobStep(this.random.pick(this.blobs));
  }

  async blobStep(thing) {
    const { random } = this;
    const { state, path } = thing;
    const meta = String(++this.count);
    const id = state?.leased ? { 'x-ms-lease-id': LEASE_ID } : {};
    const put = (headers) => {
      const body = this.content();
      return [{ body, etag: undefined, meta, leased: state?.leased ?? false }, 'PUT', path,
        { ...blockBlob, ...id, 'x-ms-meta-count': meta, ...headers }, body];
    };
    const roll = random.next();
    if (state === ABSENT || roll < 0.35) return this.change(thing, ...put({}));
    if (roll < 0.45) return this.change(thing, ...put({ 'If-Match': state.etag }));
    if (roll < 0.6) {
      return this.change(thing, { ...state, etag: undefined, meta }, 'PUT', `${path}?comp=metadata`,
        { ...id, 'x-ms-meta-count': meta });
    }
    if (roll < 0.72) return this.change(thing, ABSENT, 'DELETE', path, id);
    if (roll < 0.82) {
      const [, ...request] = put({ 'If-Match': '"0x1"' });
      return this.refused(thing, 'ConditionNotMet', ...request);
    }
    return this.leaseStep(thing);
  }

  async leaseStep(thing) {
    const { state, path } = thing;
    const target = `${path}?comp=lease`;
    if (!state.leased) {
      return this.change(thing, { ...state, leased: true }, 'PUT', target, {
        'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': -1,
        'x-ms-proposed-lease-id': LEASE_ID });
    }
    if (this.random.next() < 0.5) {
      return this.refused(thing, 'LeaseIdMissing', 'PUT', path, blockBlob, this.content());
    }
    return this.change(thing, { ...state, leased: false }, 'PUT', target,
      { 'x-ms-lease-action': 'release', 'x-ms-lease-id': LEASE_ID });
  }

  async containerStep() {
    const thing = this.container;
    const { state, path } = thing;
    const meta = String(++this.count);
    if (state === ABSENT) {
      return this.change(thing, { etag: undefined, meta, blobs: '' }, 'PUT',
        `${path}?restype=container`, { 'x-ms-meta-count': meta });
    }
    const roll = this.random.next();
    if (roll < 0.2) return this.change(thing, ABSENT, 'DELETE', `${path}?restype=container`);
    if (roll < 0.4) {
      return this.change(thing, { ...state, etag: undefined, meta }, 'PUT',
        `${path}?restype=container&comp=metadata`, { 'x-ms-meta-count': meta });
    }
    // A blob changes what the container holds and not the container's own ETag.
    const name = `b-${this.random.between(0, 9)}`;
    const blobs = [...new Set([...state.blobs.split(' ').filter(Boolean), name])].sort().join(' ');
    const { etag } = state;
    await this.change(thing, { ...state, blobs }, 'PUT', `${path}/${name}`, blockBlob,
      this.random.bytes(this.random.pick([100, 80 * KIB])));
    for (const possible of thing.states) if (possible !== ABSENT) possible.etag = etag;
    return undefined;
  }

  // Works until the server is gone.
  async work(send) {
    this.send = send;
    this.lost = false;
    while (!this.lost) await this.step();
  }

  // Compares everything with the server and takes it as it is.
  async verify(send, when) {
    await Promise.all(this.blobs.map(async (thing) => {
      const answer = await send('GET', thing.path);
      thing.settle(answer.status === 404 ? ABSENT : {
        body: answer.body,
        etag: answer.headers.etag,
        meta: answer.headers['x-ms-meta-count'],
        leased: answer.headers['x-ms-lease-state'] === 'leased',
      }, when);
    }));
    const { path } = this.container;
    const answer = await send('GET', `${path}?restype=container`);
    this.container.settle(answer.status === 404 ? ABSENT : {
      etag: answer.headers.etag,
      meta: answer.headers['x-ms-meta-count'],
      blobs: (await listed(send, path)).join(' '),
    }, when);
  }
}

async function listed(send, container) {
  const { body } = await send('GET', `${container}?restype=container&comp=list`);
  return [...body.toString().matchAll(/<Name>(.*?)<\/Name>/g)].map(([, name]) => name);
}

async function verifyAll(clients, send, when) {
  await Promise.all(clients.map((client) => client.verify(send, when)));
  const expected = clients.flatMap((client) => client.blobs).filter(({ state }) => state !== ABSENT)
    .map(({ path }) => path.slice('crash/'.length)).sort();
  assert.deepEqual(await listed(send, 'crash'), expected, `${when}: the listing`);
}

test(`no acknowledged write is lost in ${ROUNDS} kills under load`, async (t) => {
  const random = seeded('crash');
  const seed = random.between(0, 2 ** 30);
  const server = await startServer();
  const clients = Array.from({ length: CLIENTS }, (_, i) => new Client(i, seed));
  await sasSender(server)('PUT', 'crash?restype=container');

  for (let round = 1; round <= ROUNDS; round++) {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
    const send = sasSender(server, { agent });
    const work = clients.map((client) => client.work(send));
    // A client that finds a wrong answer ends the round at once.
    const killAfterMs = random.between(1, random.next() < 0.3 ? 50 : 700);
    await Promise.race([sleep(killAfterMs), Promise.all(work)]);
    await server.stop('SIGKILL');
    await Promise.all(work);
    agent.destroy();
    assertNoComplaint(server.log);

    if (random.next() < 0.25) await killAtStart(server, random.between(0, 120));
    await server.start();
    await verifyAll(clients, sasSender(server), `after kill ${round}`);
  }

  assert.deepEqual(await server.restart('SIGTERM'), { code: 0, signal: null });
  await verifyAll(clients, sasSender(server), 'after a clean stop');
  assert.deepEqual(await server.stop(), { code: 0, signal: null });
  assertNoComplaint(server.log);

  const total = (name) => clients.reduce((sum, { counts }) => sum + counts[name], 0);
  t.diagnostic(`${total('acknowledged')} writes acknowledged, ${total('refused')} refused, ` +
    `${total('unknown')} in flight at a kill`);
  assert.ok(total('acknowledged') > 10 * ROUNDS, 'too few writes to show anything');
  assert.ok(total('unknown') >= ROUNDS, 'the kills came when nothing was going on');
});

// Kills a server while it starts, that is while it recovers from the kill before.
async function killAtStart(server, afterMs) {
  const attempt = run(['--blobPort', '0', '--queuePort', '0', '--tablePort', '0', '--filePort', '0',
    '--adminPort', '0', '--location', server.directory]);
  await sleep(afterMs);
  attempt.child.kill('SIGKILL');
  await attempt.exited;
}
