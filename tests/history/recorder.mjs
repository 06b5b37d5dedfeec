// Records what many clients of one server do at once, while the server is killed and its clock is
// moved, and checks the history of every object.
//
// A run goes in rounds.  In a round every client does a number of operations, one after the other,
// and at some moment of it something may happen to the server.  Then everybody is quiet: what there
// is is read once more, and the histories of the round are checked, each beginning with what was
// possible at the end of the round before.  So a run can be as long as one likes.
//
// Time stands still for the server unless the run moves it (clock.c), so that lease and visibility
// are not a matter of luck: the model knows the time to the millisecond.  When the clock is set
// back, the server's time stays where its latest change was, over a restart, too.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import { Undecided, check } from './checker.mjs';
import { Server, assertNoComplaint } from '../e2e/helpers/server.mjs';
import { send } from '../e2e/helpers/http.mjs';
import { Random } from '../e2e/helpers/random.mjs';
import { VERSION, accountSas } from '../e2e/helpers/sign.mjs';
import { WallClock } from './wall_clock.mjs';

const CLIENTS = 6; // of a workload that does not say otherwise
export const SETTLING_CLIENT = 0;
const TEN_YEARS_SEC = 10 * 365 * 86400;

// What may happen in a round; `both` is to move the clock forward and to kill.
const DISTURBANCES = ['nothing', 'forward', 'forward', 'back', 'kill', 'both', 'back and kill'];

export const SERVICES = {
  blob: { url: (server) => server.url, sas: { ss: 'b', sp: 'rwdlac' } },
  queue: { url: (server) => server.queueUrl, sas: { ss: 'q', sp: 'rwdlacup' } },
  table: { url: (server) => server.tableUrl, sas: { ss: 't', sp: 'rwdlacu' } },
  file: { url: (server) => server.fileUrl, sas: { ss: 'f', sp: 'rwdlc' } },
};

// A client of the objects of one workload.
class HistoryClient {
  constructor(index, workload, seed) {
    Object.assign(this, { index, workload, random: new Random(seed + 7919 * index), values: 0 });
    this.memories = Object.fromEntries(workload.objects.map((object) => [object, {}]));
  }

  next() {
    const object = this.random.pick(this.workload.objects);
    const value = () => this.index * 1_000_000 + ++this.values;
    return { object, ...this.workload.next(this.random, this.memories[object], value) };
  }
}

export class Run {
  // Nothing happens to the server of a calm run.
  constructor({ workloads, seed, calm = false }) {
    Object.assign(this, { workloads, calm, random: new Random(seed) });
    this.clock = new WallClock();
    this.server = new Server({ env: this.clock.env() });
    this.clients = workloads.flatMap((workload) =>
      Array.from({ length: workload.clients ?? CLIENTS }, () => workload))
      .map((workload, index) => new HistoryClient(index + 1, workload, seed));
    this.histories = new Map(); // object to the operations of the round
    this.possible = new Map(); // object to the situations at the end of the round before
    for (const { objects } of workloads) {
      for (const object of objects) this.histories.set(object, []);
    }
    this.events = 0;
    this.operations = 0;
    this.counts = { operations: 0, refused: 0, unknown: 0, kills: 0, forward: 0, back: 0,
      rounds: 0, situations: 0 };
    this.violations = [];
  }

  async start() {
    await this.server.start();
    this.connect();
    for (const workload of this.workloads) {
      for (const object of workload.objects) {
        for (const request of workload.setUp(object)) {
          const { status, body } = await this.send(workload, request);
          assert.ok(status < 300 || status === 409, `${status} ${body}`);
        }
      }
    }
  }

  // Connections and signatures for the server as it is now.
  connect() {
    this.agent?.destroy();
    this.agent = new http.Agent({ keepAlive: true, maxSockets: Infinity });
    this.services = Object.fromEntries(Object.entries(SERVICES).map(([name, { url, sas }]) => {
      const { hostname, port, pathname } = new URL(url(this.server));
      const signature = accountSas({ ...sas, se: farAway() }, this.server);
      return [name, { endpoint: { host: hostname, port: Number(port) }, account: pathname,
        signature, url: (rest) => `${url(this.server)}/${rest}`.replace(/\/$/, '') +
          (rest === '' ? '/' : '') }];
    }));
  }

  send(workload, [method, where, headers = {}, body = null]) {
    const { endpoint, account, signature } = this.services[workload.service];
    const needsLength = body === null && method !== 'GET' ? { 'Content-Length': 0 } : {};
    return send(endpoint, { method, body, agent: this.agent,
      target: `${account}/${where}${where.includes('?') ? '&' : '?'}${signature}`,
      headers: { 'x-ms-version': VERSION, ...needsLength, ...headers } });
  }

  // Does one operation and records it.  False if the connection was lost.
  async perform(client, workload, { object, name, args }, memory) {
    const operation = { id: ++this.operations, client, name, args, result: undefined,
      start: ++this.events, end: Infinity, clock: [this.clock.latest, this.clock.latest] };
    this.histories.get(object).push(operation);
    const request = workload.request(object, operation, this.services[workload.service]);
    let answer;
    try {
      answer = await this.send(workload, request);
    } catch {
      this.counts.unknown++;
      return false;
    }
    operation.end = ++this.events;
    operation.clock[1] = this.clock.latest;
    assert.ok(answer.status < 500 || answer.status === 503,
      `${request.slice(0, 2).join(' ')}: ${answer.status} ${answer.body}`);
    operation.result = workload.result(operation, answer, object);
    workload.learn(memory, operation, operation.result);
    this.counts.operations++;
    if (operation.result.code !== undefined) this.counts.refused++;
    return true;
  }

  async work(client, count) {
    for (let i = 0; i < count; i++) {
      const { object, ...operation } = client.next();
      const going = await this.perform(client.index, client.workload, { object, ...operation },
        client.memories[object]);
      if (!going) return;
      this.onProgress?.();
    }
  }

  // Resolves when the clients have done so many operations more, or their work.
  progress(count, work) {
    const until = this.counts.operations + count;
    const reached = new Promise((resolve) => {
      this.onProgress = () => {
        if (this.counts.operations >= until) resolve();
      };
    });
    return Promise.race([reached, work]);
  }

  // A change of which the server has told that it is durable: its time does not go back behind it.
  async anchor() {
    const { status } = await this.send({ service: 'blob' },
      ['PUT', 'anchor?restype=container&comp=metadata', { 'x-ms-meta-at': this.clock.latest }]);
    if (status === 404) {
      await this.send({ service: 'blob' }, ['PUT', 'anchor?restype=container']);
      await this.anchor();
    }
  }

  moveForward() {
    this.counts.forward++;
    this.clock.forward(this.random.pick([1, 3, 6, 11, 16, 31]));
  }

  async moveBack() {
    this.counts.back++;
    await this.anchor();
    this.clock.back(this.random.pick([1, 20, 3600]));
  }

  // Kills the server, and starts it again when everybody has noticed.
  async kill(work) {
    this.counts.kills++;
    await this.server.stop('SIGKILL');
    const end = ++this.events;
    await work;
    // What it had not done by then it will never do.
    for (const history of this.histories.values()) {
      for (const operation of history) {
        if (operation.end !== Infinity) continue;
        operation.end = end;
        operation.clock[1] = this.clock.latest;
      }
    }
    assertNoComplaint(this.server.log);
    if (this.random.next() < 0.3) this.moveForward();
    await this.server.start();
    this.connect();
  }

  // What happens in a round, besides the clients' work.
  async disturb(kind, work, expected) {
    const part = (share) => Math.floor(expected * share * this.random.next());
    if (kind === 'forward' || kind === 'both') {
      for (let i = this.random.between(1, 3); i > 0; i--) {
        await this.progress(part(0.3), work);
        this.moveForward();
      }
    }
    if (kind === 'back' || kind === 'back and kill') {
      await this.progress(part(0.4), work);
      await this.moveBack();
    }
    if (kind === 'kill' || kind === 'both' || kind === 'back and kill') {
      await this.progress(part(0.5), work);
      await this.kill(work);
    }
  }

  async round(operationsEach) {
    this.counts.rounds++;
    const kind = this.calm ? 'nothing' : this.random.pick(DISTURBANCES);
    const work = Promise.all(this.clients.map((client) => this.work(client, operationsEach)));
    work.catch(() => {});
    await Promise.all([work,
      this.disturb(kind, work, this.clients.length * operationsEach)]);
    await this.settle(kind.includes('kill') || kind === 'both');
    this.checkAll();
  }

  // Reads everything while nobody else does anything; now and then when all leases are over and
  // nothing is hidden, and more often after a kill, of which that shows what it left undone.
  async settle(wasKilled) {
    if (!this.calm && this.random.next() < (wasKilled ? 0.6 : 0.2)) this.clock.forward(62);
    for (const workload of this.workloads) {
      for (const object of workload.objects) {
        for (const operation of workload.settle(this.histories.get(object))) {
          await this.perform(SETTLING_CLIENT, workload, { object, ...operation }, {});
        }
      }
    }
  }

  checkAll() {
    for (const { model, objects } of this.workloads) {
      for (const object of objects) this.check(model, object);
    }
  }

  check(model, object) {
    let outcome;
    try {
      outcome = check(model, this.histories.get(object), { object,
        readings: this.clock.readings, situations: this.possible.get(object) });
    } catch (error) {
      if (!(error instanceof Undecided)) throw error;
      outcome = { ok: false, explanation: `${model.name} ${object}: ${error.message}` };
    }
    this.histories.set(object, []);
    if (!outcome.ok) {
      this.violations.push(outcome.explanation);
      return;
    }
    this.counts.situations = Math.max(this.counts.situations, outcome.situations.length);
    this.possible.set(object, outcome.situations);
  }

  async stop() {
    const end = await this.server.stop();
    this.agent.destroy();
    assert.deepEqual(end, { code: 0, signal: null });
    assertNoComplaint(this.server.log);
    this.clock.close();
    fs.rmSync(this.server.directory, { recursive: true, force: true });
  }
}

const farAway = () =>
  new Date(Date.now() + TEN_YEARS_SEC * 1000).toISOString().replace(/\.\d+/, '');
