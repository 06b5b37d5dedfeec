// What a wall clock that is moved does to a server, and what it does not: the server's time goes
// forward with it, and never behind the last change.

import test from 'node:test';
import assert from 'node:assert/strict';
import http from 'node:http';
import { Server, assertNoComplaint, eventually } from '../e2e/helpers/server.mjs';
import { blockBlob, sasSender } from '../e2e/helpers/http.mjs';
import { messageXml, messagesOf, queueSender } from '../e2e/helpers/queue.mjs';
import { RawConnection, exchange, head } from '../e2e/helpers/raw.mjs';
import { VERSION, accountSas } from '../e2e/helpers/sign.mjs';
import { WallClock } from './wall_clock.mjs';

const A = 'aaaaaaaa-0000-4000-8000-000000000000';
const HOUR = 3600;

// A server with a clock of its own: { server, clock, send, sendQueue, restart }.
async function withClock(t) {
  const clock = new WallClock();
  const server = await new Server({ env: clock.env() }).start();
  const at = { server, clock };
  const connect = () => {
    at.agent?.destroy();
    at.agent = new http.Agent({ keepAlive: true });
    at.send = sasSender(server, { agent: at.agent });
    at.sendQueue = queueSender(server, { agent: at.agent });
  };
  connect();
  at.restart = async (signal) => {
    await server.restart(signal);
    connect();
  };
  t.after(async () => {
    at.agent.destroy();
    assert.deepEqual(await server.stop(), { code: 0, signal: null });
    assertNoComplaint(server.log);
    clock.close();
  });
  assert.equal((await at.send('PUT', 'clock?restype=container')).status, 201);
  return at;
}

const etagOf = ({ headers }) => BigInt(JSON.parse(headers.etag));
const put = (at, name, headers = {}) =>
  at.send('PUT', `clock/${name}`, { ...blockBlob, ...headers }, 'x');
const lease = (at, name, action, headers) =>
  at.send('PUT', `clock/${name}?comp=lease`, { 'x-ms-lease-action': action, ...headers });
const leaseState = async (at, name) =>
  (await at.send('HEAD', `clock/${name}`)).headers['x-ms-lease-state'];

test('a lease and a hidden message end when the clock is moved past them', async (t) => {
  const at = await withClock(t);
  await put(at, 'b');
  await lease(at, 'b', 'acquire', { 'x-ms-lease-duration': 15, 'x-ms-proposed-lease-id': A });
  await at.sendQueue('PUT', 'queue');
  await at.sendQueue('POST', 'queue/messages?visibilitytimeout=15', {}, messageXml('m'));
  const seen = async () =>
    messagesOf(await at.sendQueue('GET', 'queue/messages?peekonly=true')).length;
  at.clock.forward(14);
  assert.deepEqual([await leaseState(at, 'b'), await seen()], ['leased', 0]);
  assert.equal((await put(at, 'b')).code, 'LeaseIdMissing');
  at.clock.forward(1);
  assert.deepEqual([await leaseState(at, 'b'), await seen()], ['expired', 1]);
  assert.equal((await put(at, 'b')).status, 201);
});

test('ETags rise when the clock is set back, also over a kill', async (t) => {
  const at = await withClock(t);
  let last = await put(at, 'b');
  for (const signal of [null, 'SIGKILL', 'SIGTERM']) {
    at.clock.back(HOUR);
    if (signal !== null) await at.restart(signal);
    for (let i = 0; i < 3; i++) {
      const next = await put(at, 'b');
      assert.ok(etagOf(next) > etagOf(last), `after ${signal}`);
      const modified = (answer) => Date.parse(answer.headers['last-modified']);
      assert.ok(modified(next) >= modified(last), `after ${signal}`);
      last = next;
    }
  }
});

test('what had ended at the last change stays ended when the clock is set back', async (t) => {
  const at = await withClock(t);
  await put(at, 'b');
  await lease(at, 'b', 'acquire', { 'x-ms-lease-duration': 60, 'x-ms-proposed-lease-id': A });
  await at.sendQueue('PUT', 'queue');
  await at.sendQueue('POST', 'queue/messages?visibilitytimeout=60', {}, messageXml('m'));
  await at.sendQueue('POST', 'queue/messages?messagettl=60', {}, messageXml('gone'));
  at.clock.forward(61);
  await put(at, 'other');
  at.clock.back(HOUR);
  for (const signal of [null, 'SIGKILL']) {
    if (signal !== null) await at.restart(signal);
    assert.equal(await leaseState(at, 'b'), 'expired', `after ${signal}`);
    const seen = messagesOf(await at.sendQueue('GET',
      'queue/messages?peekonly=true&numofmessages=9'));
    assert.deepEqual(seen.map(({ MessageText }) => MessageText), ['m'], `after ${signal}`);
  }
  assert.equal((await put(at, 'b', { 'x-ms-lease-id': A })).code, 'LeaseLost');
});

test('a lease that is taken while the clock is behind runs when it has caught up', async (t) => {
  const at = await withClock(t);
  await put(at, 'b');
  at.clock.back(HOUR);
  await lease(at, 'b', 'acquire', { 'x-ms-lease-duration': 15, 'x-ms-proposed-lease-id': A });
  assert.equal(await leaseState(at, 'b'), 'leased');
  at.clock.forward(14);
  assert.equal(await leaseState(at, 'b'), 'leased');
  at.clock.forward(2);
  assert.equal(await leaseState(at, 'b'), 'expired');
});

for (const move of ['forward', 'back']) {
  test(`a stop waits for a request under way when the wall clock is set ${move}`, async (t) => {
    const at = await withClock(t);
    at.clock[move](24 * HOUR);
    const sas = accountSas({ st: '2020-01-01T00:00:00Z', se: '2099-01-01T00:00:00Z' });
    const headers = { Host: 'x', 'x-ms-version': VERSION };
    const connection = await RawConnection.connect(at.server);
    await connection.write(head('PUT', `/${at.server.account}/clock/slow?${sas}`,
      { ...headers, 'x-ms-blob-type': 'BlockBlob', 'Content-Length': 10 }) + '01234');
    // One that was sent later is answered, so this one is under way.
    const { status } = await exchange(at.server, head('GET',
      `/${at.server.account}/clock?restype=container&${sas}`, headers));
    assert.equal(status, 200);
    const stopped = at.server.stop();
    await eventually(5000, 'the stop to begin', () => at.server.log.includes('SIGTERM'));
    await connection.write('56789');
    assert.equal((await connection.response()).status, 201);
    connection.close();
    assert.deepEqual(await stopped, { code: 0, signal: null });
  });
}
