// What the crash tests share: things with the states they may have, clients that change them until
// the server is gone, and the rounds of kill, restart and comparison.

import assert from 'node:assert/strict';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { assertNoComplaint, fsck, run, startServer } from '../../e2e/helpers/server.mjs';
import { Random, seeded } from '../../e2e/helpers/random.mjs';
import { sasSender } from '../../e2e/helpers/http.mjs';

export const ABSENT = null;

// A thing of the service that one client changes.  `agrees(state, seen)` says whether what was seen
// may be that state, and `describe(state)` tells a failure's reader what it is.
export class Thing {
  constructor(path, agrees, describe) {
    Object.assign(this, { path, agrees, describe, states: [ABSENT] });
  }

  get state() {
    assert.equal(this.states.length, 1);
    return this.states[0];
  }

  // Takes what was seen after a restart as the state, or fails.  `taken` makes the new state of the
  // one that agrees and what was seen, when the latter does not tell all.
  settle(seen, when, taken = () => seen) {
    const state = this.states.find((possible) => this.agrees(possible, seen));
    if (state === undefined) {
      assert.fail(`${when}: ${this.path} is ${this.describe(seen)}, but must be ` +
        this.states.map(this.describe).join(' or '));
    }
    this.states = [taken(state, seen)];
  }
}

// A client of things that no other client changes.  A test gives it step(), which sends one
// request, and verify(send, when), which compares.
export class Client {
  constructor(index, seed) {
    this.random = new Random(seed + 7919 * (index + 1));
    this.counts = { acknowledged: 0, refused: 0, unknown: 0 };
    this.lastEtag = 0n;
  }

  // Sends a request that makes `after` of `thing`.  A lost connection leaves both possible.
  // Returns the answer, undefined when it was lost.
  async attempt(thing, after, method, path, headers = {}, body = null) {
    thing.states.push(after);
    let answer;
    try {
      answer = await this.send(method, path, headers, body);
    } catch {
      this.counts.unknown++;
      this.lost = true;
      return undefined;
    }
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.code}`);
    this.counts.acknowledged++;
    thing.states = [after];
    return answer;
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

  // Works until the server is gone.
  async work(send) {
    this.send = send;
    this.lost = false;
    while (!this.lost) await this.step();
  }
}

// Kills the server under the clients' load and restarts it, so many times, and stops it properly in
// the end.  `verify(send, when)` compares everything with what it must be.  `sender` makes the
// functions that clients send requests with.
export async function killRounds({ t, server, clients, rounds, random, verify,
  sender = sasSender }) {
  for (let round = 1; round <= rounds; round++) {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
    const send = sender(server, { agent });
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
    await verify(sender(server), `after kill ${round}`);
  }

  assert.deepEqual(await server.restart('SIGTERM'), { code: 0, signal: null });
  await verify(sender(server), 'after a clean stop');
  assert.deepEqual(await server.stop(), { code: 0, signal: null });
  assertNoComplaint(server.log);

  const total = (name) => clients.reduce((sum, { counts }) => sum + counts[name], 0);
  t.diagnostic(`${total('acknowledged')} writes acknowledged, ${total('refused')} refused, ` +
    `${total('unknown')} in flight at a kill`);
  assert.ok(total('acknowledged') > 10 * rounds, 'too few writes to show anything');
  assert.ok(total('unknown') >= rounds, 'the kills came when nothing was going on');
}

// A whole test: a server under loads, killed so many times, and a check of the store in the end.  A
// load is a function of the server and a seed.  It prepares what its clients need and gives them, the
// sender of their service, verify(send, when), and if it wants finish(t, rounds), which sees whether
// enough has happened.
export async function killsUnderLoad(t, { name, rounds, loads }) {
  const random = seeded(name);
  const seed = random.between(0, 2 ** 30);
  const server = await startServer();
  const made = [];
  for (const load of loads) made.push(await load(server, seed));
  const clients = made.flatMap((load, i) => load.clients.map((client) =>
    ({ counts: client.counts, work: (sends) => client.work(sends[i]) })));
  await killRounds({ t, server, clients, rounds, random,
    sender: (...options) => made.map(({ sender }) => sender(...options)),
    verify: (sends, when) => Promise.all(made.map(({ verify }, i) => verify(sends[i], when))) });
  for (const { finish } of made) finish?.(t, rounds);
  const { code, lines } = await fsck(server.directory);
  assert.equal(code, 0, lines.join('\n'));
}

// Kills a server while it starts, that is while it recovers from the kill before.
async function killAtStart(server, afterMs) {
  const attempt = run(['--blobPort', '0', '--queuePort', '0', '--tablePort', '0', '--filePort', '0',
    '--adminPort', '0', '--location', server.directory]);
  await sleep(afterMs);
  attempt.child.kill('SIGKILL');
  await attempt.exited;
}

// The names in a listing; `query` adds to it.
export async function listed(send, container, query = '') {
  const { body } = await send('GET', `${container}?restype=container&comp=list${query}`);
  return [...body.toString().matchAll(/<Name>(.*?)<\/Name>/g)].map(([, name]) => name);
}
