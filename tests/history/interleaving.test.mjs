// Every order of the steps of clients that get in each other's way (interleavings.mjs) has the
// outcome that one step after the other has.  Bodies are sent in two parts, so requests that are
// under way at the same time are among the orders; nobody waits for somebody else's other half.

import test, { after } from 'node:test';
import assert from 'node:assert/strict';
import http from 'node:http';
import { check } from './checker.mjs';
import { INTERLEAVINGS } from './interleavings.mjs';
import { SERVICES } from './recorder.mjs';
import { startServer, stopsCleanly, within } from '../e2e/helpers/server.mjs';
import { VERSION, accountSas } from '../e2e/helpers/sign.mjs';

const STEP_MS = 20_000;
const AT_ONCE = 8;

const server = await startServer();
const agent = new http.Agent({ keepAlive: true, maxSockets: 256 });

const services = Object.fromEntries(Object.entries(SERVICES).map(([name, { url, sas }]) => {
  const { hostname, port, pathname } = new URL(url(server));
  return [name, { host: hostname, port, account: pathname, signature: accountSas(sas),
    url: (rest) => `${url(server)}/${rest}` }];
}));

// A request that can be stopped in its middle: after half of its body, or of the answer's.
class Exchange {
  constructor(service, [method, path, headers = {}, body = null]) {
    const { host, port, account, signature } = services[service];
    this.body = body === null ? Buffer.alloc(0) : Buffer.from(body);
    this.request = http.request({ host, port, method, agent,
      path: `${account}/${path}${path.includes('?') ? '&' : '?'}${signature}`,
      headers: { 'x-ms-version': VERSION, 'Content-Length': this.body.length, ...headers } });
    this.answered = new Promise((resolve, reject) => {
      this.request.on('response', resolve);
      this.request.on('error', reject);
    });
    this.answered.catch(() => {});
  }

  // Sends half of the body; what the server does with it is its own affair.
  sendHalf() {
    const half = Math.ceil(this.body.length / 2);
    return new Promise((resolve) => {
      this.request.write(this.body.subarray(0, half), () => setTimeout(resolve, 2));
      this.body = this.body.subarray(half);
    });
  }

  // The answer as far as its headers.
  async begin() {
    this.request.end(this.body);
    this.response = await this.answered;
    return this.response;
  }

  async finish() {
    const response = this.response ?? await this.begin();
    const pieces = [];
    for await (const piece of response) pieces.push(piece);
    return { status: response.statusCode, headers: response.headers, body: Buffer.concat(pieces),
      code: response.headers['x-ms-error-code'] };
  }
}

// One order of the steps, on an object of its own.
class Order {
  constructor({ workload }, object) {
    Object.assign(this, { workload, object, seen: {}, history: [], exchanges: new Map() });
  }

  exchange(operation) {
    const { workload, object } = this;
    return new Exchange(workload.service,
      workload.request(object, operation, services[workload.service]));
  }

  operation([name, args]) {
    return { name, args: typeof args === 'function' ? args(this.seen) : args };
  }

  // Notes an operation at the place of its effect.
  note(operation, client) {
    const at = 2 * this.history.length;
    const noted = { id: at, client, start: at, end: at + 1, clock: [0, 0], ...operation };
    this.history.push(noted);
    return noted;
  }

  async answer(noted, exchange, label) {
    noted.result = this.workload.result(noted, await exchange.finish(), this.object);
    if (label) this.seen[label] = noted.result;
  }

  async whole(step, client) {
    const noted = this.note(this.operation(step), client);
    await this.answer(noted, this.exchange(noted), step[2]);
  }

  async half({ half, effect, step }, client) {
    if (half === 'begin') {
      const operation = this.operation(step);
      const exchange = this.exchange(operation);
      const noted = effect ? this.note(operation, client) : operation;
      this.exchanges.set(client, { exchange, noted });
      await (effect ? exchange.begin() : exchange.sendHalf());
    } else {
      const { exchange, noted } = this.exchanges.get(client);
      await this.answer(effect ? this.note(noted, client) : noted, exchange, step[2]);
    }
  }

  take(step, client) {
    const what = `${this.object}: ${JSON.stringify(step)} of client ${client}`;
    return within(STEP_MS, what, step.half ? this.half(step, client) : this.whole(step, client));
  }
}

// All ways to merge lists of steps: [step, client] each.
function* orders(sessions) {
  if (sessions.every(({ length }) => length === 0)) yield [];
  for (const [client, [step, ...rest]] of sessions.entries()) {
    if (step === undefined) continue;
    const left = sessions.map((session, index) => (index === client ? rest : session));
    for (const order of orders(left)) yield [[step, client + 1], ...order];
  }
}

async function runOrder(spec, object, order) {
  const run = new Order(spec, object);
  for (const request of spec.workload.setUp(object)) {
    const { status } = await new Exchange(spec.workload.service, request).finish();
    assert.ok(status < 300 || status === 409, `setting up: ${status}`);
  }
  for (const step of spec.before) await run.take(step, 0);
  for (const [step, client] of order) await run.take(step, client);
  for (const step of spec.after) await run.take(step, 0);
  const { ok, explanation } = check(spec.workload.model, run.history, { object });
  const told = run.history.map((operation) =>
    `  client ${operation.client}: ${spec.workload.model.describe(operation)}`).join('\n');
  assert.ok(ok, `${explanation}\nall of it:\n${told}`);
}

for (const [number, spec] of INTERLEAVINGS.entries()) {
  const all = [...orders(spec.sessions)];
  test(`in ${all.length} orders ${spec.name}`, async () => {
    for (let at = 0; at < all.length; at += AT_ONCE) {
      await Promise.all(all.slice(at, at + AT_ONCE).map((order, index) =>
        runOrder(spec, `interleaved-${number}-${at + index}`, order)));
    }
  });
}

test('the orders are all that keep the order of each client', () => {
  const words = [...orders([['a', 'b'], ['1', '2']])].map((order) =>
    order.map(([step]) => step).join(''));
  assert.deepEqual(words.sort(), ['12ab', '1a2b', '1ab2', 'a12b', 'a1b2', 'ab12']);
});

after(() => agent.destroy());

stopsCleanly(server);
