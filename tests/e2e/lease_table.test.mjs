// The outcome tables of Lease Blob and Lease Container as data: every action in every state with
// every id, and every use of a leased resource.  The ids: A holds the lease, B and C do not.
//
// An expired lease takes 15 seconds to make, so all resources of a table are made first, in one
// go, and waited for once.

import test from 'node:test';
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { startServer, stopsCleanly } from './helpers/server.mjs';
import { sasSender, blockBlob } from './helpers/http.mjs';

const server = await startServer();
const send = sasSender(server);

const A = 'aaaaaaaa-0000-4000-8000-00000000000a';
const B = 'bbbbbbbb-0000-4000-8000-00000000000b';
const C = 'cccccccc-0000-4000-8000-00000000000c';

// --- the two resources: how to make one, lease it, look at it ---

const blobs = {
  kind: 'blob',
  path: (name) => `leases/${name}`,
  query: '',
  create: (path) => send('PUT', path, blockBlob, 'x'),
  look: (path) => send('HEAD', path),
};

const containers = {
  kind: 'container',
  path: (name) => name,
  query: 'restype=container&',
  create: (path) => send('PUT', `${path}?restype=container`),
  look: (path) => send('HEAD', `${path}?restype=container`),
};

function act(resource, path, action, headers = {}) {
  return send('PUT', `${path}?${resource.query}comp=lease`,
    { 'x-ms-lease-action': action, ...headers });
}

const acquire = (id, duration = 60) => ({ 'x-ms-lease-duration': duration,
  ...(id ? { 'x-ms-proposed-lease-id': id } : {}) });

const EXPIRES_MS = 15_500;

// Brings a new resource into the state; the expired ones are only begun.
const STATES = {
  available: async () => {},
  leased: (resource, path) => act(resource, path, 'acquire', acquire(A)),
  infinite: (resource, path) => act(resource, path, 'acquire', acquire(A, -1)),
  breaking: async (resource, path) => {
    await act(resource, path, 'acquire', acquire(A));
    await act(resource, path, 'break', { 'x-ms-lease-break-period': 50 });
  },
  broken: async (resource, path) => {
    await act(resource, path, 'acquire', acquire(A));
    await act(resource, path, 'break', { 'x-ms-lease-break-period': 0 });
  },
  expired: (resource, path) => act(resource, path, 'acquire', acquire(A, 15)),
};

// --- table 1: lease actions ---

const present = '409 LeaseAlreadyPresent';
const mismatch = '409 LeaseIdMismatchWithLeaseOperation';
const notPresent = '409 LeaseNotPresentWithLeaseOperation';
const noRenew = '409 LeaseIsBrokenAndCannotBeRenewed';

// A row is an action; a cell is `status code` of a refusal, or of a success
// `status id=I state=S [time=T]`: the id answered (- for none), the state after, and the most
// that x-ms-lease-time may be.
const ACTIONS = [
  { name: 'acquire with no id', action: 'acquire', headers: acquire(null),
    available: '201 id=new state=leased', leased: present, infinite: present, breaking: present,
    broken: '201 id=new state=leased', expired: '201 id=new state=leased' },
  { name: 'acquire with the holder\'s id', action: 'acquire', headers: acquire(A),
    available: '201 id=A state=leased', leased: '201 id=A state=leased',
    infinite: '201 id=A state=leased', breaking: '409 LeaseIsBreakingAndCannotBeAcquired',
    broken: '201 id=A state=leased', expired: '201 id=A state=leased' },
  { name: 'acquire with another id', action: 'acquire', headers: acquire(B),
    available: '201 id=B state=leased', leased: present, infinite: present, breaking: present,
    broken: '201 id=B state=leased', expired: '201 id=B state=leased' },
  { name: 'acquire for ever with the holder\'s id', action: 'acquire', headers: acquire(A, -1),
    available: '201 id=A state=infinite', leased: '201 id=A state=infinite',
    infinite: '201 id=A state=infinite', breaking: '409 LeaseIsBreakingAndCannotBeAcquired',
    broken: '201 id=A state=infinite', expired: '201 id=A state=infinite' },
  { name: 'renew with the holder\'s id', action: 'renew', headers: { 'x-ms-lease-id': A },
    available: mismatch, leased: '200 id=A state=leased', infinite: '200 id=A state=infinite',
    breaking: noRenew, broken: noRenew, expired: '200 id=A state=leased' },
  { name: 'renew with another id', action: 'renew', headers: { 'x-ms-lease-id': B },
    available: mismatch, leased: mismatch, infinite: mismatch, breaking: mismatch,
    broken: mismatch, expired: mismatch },
  { name: 'change from the holder\'s id to another', action: 'change',
    headers: { 'x-ms-lease-id': A, 'x-ms-proposed-lease-id': B },
    available: notPresent, leased: '200 id=B state=leased', infinite: '200 id=B state=infinite',
    breaking: '409 LeaseIsBreakingAndCannotBeChanged', broken: notPresent, expired: notPresent },
  { name: 'change to the id it has', action: 'change',
    headers: { 'x-ms-lease-id': B, 'x-ms-proposed-lease-id': A },
    available: notPresent, leased: '200 id=A state=leased', infinite: '200 id=A state=infinite',
    breaking: mismatch, broken: notPresent, expired: notPresent },
  { name: 'change between two other ids', action: 'change',
    headers: { 'x-ms-lease-id': B, 'x-ms-proposed-lease-id': C },
    available: notPresent, leased: mismatch, infinite: mismatch, breaking: mismatch,
    broken: notPresent, expired: notPresent },
  { name: 'release with the holder\'s id', action: 'release', headers: { 'x-ms-lease-id': A },
    available: mismatch, leased: '200 id=- state=available',
    infinite: '200 id=- state=available', breaking: '200 id=- state=available',
    broken: '200 id=- state=available', expired: '200 id=- state=available' },
  { name: 'release with another id', action: 'release', headers: { 'x-ms-lease-id': B },
    available: mismatch, leased: mismatch, infinite: mismatch, breaking: mismatch,
    broken: mismatch, expired: mismatch },
  { name: 'break', action: 'break', headers: {},
    available: notPresent, leased: '202 id=- state=breaking time=60',
    infinite: '202 id=- state=broken time=0', breaking: '202 id=- state=breaking time=50',
    broken: '202 id=- state=broken time=0', expired: '202 id=- state=broken time=0' },
  { name: 'break at once', action: 'break', headers: { 'x-ms-lease-break-period': 0 },
    available: notPresent, leased: '202 id=- state=broken time=0',
    infinite: '202 id=- state=broken time=0', breaking: '202 id=- state=broken time=0',
    broken: '202 id=- state=broken time=0', expired: '202 id=- state=broken time=0' },
  { name: 'break in 30 seconds', action: 'break', headers: { 'x-ms-lease-break-period': 30 },
    available: notPresent, leased: '202 id=- state=breaking time=30',
    infinite: '202 id=- state=breaking time=30', breaking: '202 id=- state=breaking time=30',
    broken: '202 id=- state=broken time=0', expired: '202 id=- state=broken time=0' },
  { name: 'break in 60 seconds', action: 'break', headers: { 'x-ms-lease-break-period': 60 },
    available: notPresent, leased: '202 id=- state=breaking time=60',
    infinite: '202 id=- state=breaking time=60', breaking: '202 id=- state=breaking time=50',
    broken: '202 id=- state=broken time=0', expired: '202 id=- state=broken time=0' },
];

// How a state shows in the properties: [state, status, duration].
const SHOWN = {
  available: ['available', 'unlocked', undefined],
  leased: ['leased', 'locked', 'fixed'],
  infinite: ['leased', 'locked', 'infinite'],
  breaking: ['breaking', 'locked', undefined],
  broken: ['broken', 'unlocked', undefined],
  expired: ['expired', 'unlocked', undefined],
};

function assertShown(answer, state) {
  const names = ['x-ms-lease-state', 'x-ms-lease-status', 'x-ms-lease-duration'];
  assert.deepEqual(names.map((name) => answer.headers[name]), SHOWN[state]);
}

const TIME_SLACK_SEC = 25; // the table's break times count from the making of the resource

async function checkAction(resource, path, state, row) {
  const before = await resource.look(path);
  assertShown(before, state);
  const answer = await act(resource, path, row.action, row.headers);
  const expected = row[state];
  const [status, rest] = [Number(expected.slice(0, 3)), expected.slice(4)];
  assert.equal(answer.status, status, `${answer.status} ${answer.code}, not ${expected}`);
  const after = await resource.look(path);
  assert.equal(after.headers.etag, before.headers.etag, 'a lease action leaves the ETag');
  assert.equal(after.headers['last-modified'], before.headers['last-modified']);

  if (status >= 400) {
    assert.equal(answer.code, rest);
    assertShown(after, state);
    return;
  }
  assert.equal(answer.headers.etag, before.headers.etag);
  assert.equal(answer.headers['last-modified'], before.headers['last-modified']);
  const cell = Object.fromEntries(rest.split(' ').map((part) => part.split('=')));
  const id = answer.headers['x-ms-lease-id'];
  if (cell.id === 'new') assert.match(id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  else assert.equal(id, { A, B, '-': undefined }[cell.id]);
  assertShown(after, cell.state);
  const time = answer.headers['x-ms-lease-time'];
  if (cell.time === undefined) {
    assert.equal(time, undefined);
  } else {
    assert.ok(Number(time) <= Number(cell.time), `x-ms-lease-time ${time}, at most ${cell.time}`);
    assert.ok(Number(time) >= Number(cell.time) - TIME_SLACK_SEC, `x-ms-lease-time ${time}`);
  }
}

// --- table 2: using a leased resource ---

const missing = '412 LeaseIdMissing';
const lost = '412 LeaseLost';

// The outcome of a use by [state][id]; `writes` need the id while locked, the others do not.
function useOutcome(kind, writes, state, id) {
  const With = kind === 'blob' ? 'WithBlobOperation' : 'WithContainerOperation';
  const locked = ['leased', 'infinite', 'breaking'].includes(state);
  if (locked && id === null) return writes ? missing : 'ok';
  if (locked) return id === A ? 'ok' : `412 LeaseIdMismatch${With}`;
  if (id === null) return 'ok';
  if (state === 'available' || id !== A) return `412 LeaseNotPresent${With}`;
  return lost;
}

const BLOB_USES = [
  { name: 'Put Blob', writes: true, status: 201,
    send: (path, headers) => send('PUT', path, { ...blockBlob, ...headers }, 'y') },
  { name: 'Set Blob Metadata', writes: true, status: 200,
    send: (path, headers) => send('PUT', `${path}?comp=metadata`,
      { 'x-ms-meta-a': 'b', ...headers }) },
  { name: 'Set Blob Properties', writes: true, status: 200,
    send: (path, headers) => send('PUT', `${path}?comp=properties`,
      { 'x-ms-blob-content-type': 'a/b', ...headers }) },
  { name: 'Delete Blob', writes: true, status: 202,
    send: (path, headers) => send('DELETE', path, headers) },
  { name: 'Get Blob', writes: false, status: 200,
    send: (path, headers) => send('GET', path, headers) },
  { name: 'Get Blob Properties', writes: false, status: 200,
    send: (path, headers) => send('HEAD', path, headers) },
  { name: 'Get Blob Metadata', writes: false, status: 200,
    send: (path, headers) => send('GET', `${path}?comp=metadata`, headers) },
];

const CONTAINER_USES = [
  { name: 'Delete Container', writes: true, status: 202,
    send: (path, headers) => send('DELETE', `${path}?restype=container`, headers) },
  { name: 'Get Container Properties', writes: false, status: 200,
    send: (path, headers) => send('GET', `${path}?restype=container`, headers) },
  { name: 'Get Container Metadata', writes: false, status: 200,
    send: (path, headers) => send('GET', `${path}?restype=container&comp=metadata`, headers) },
  { name: 'Set Container Metadata', writes: false, status: 200,
    send: (path, headers) => send('PUT', `${path}?restype=container&comp=metadata`,
      { 'x-ms-meta-a': 'b', ...headers }) },
];

async function checkUse(resource, path, state, use, id) {
  const before = await resource.look(path);
  assertShown(before, state);
  const answer = await use.send(path, id === null ? {} : { 'x-ms-lease-id': id });
  const expected = useOutcome(resource.kind, use.writes, state, id);
  const got = answer.status < 400 ? 'ok' : `${answer.status} ${answer.code}`;
  assert.equal(got, expected);
  const after = await resource.look(path);
  if (expected !== 'ok') {
    assert.equal(after.headers.etag, before.headers.etag, 'a refused request changes nothing');
    assertShown(after, state);
    return;
  }
  assert.equal(answer.status, use.status);
  if (use.name.startsWith('Delete')) {
    assert.equal(after.status, 404);
    return;
  }
  // A blob that is written while its lease is over forgets the lease.
  const forgets = resource.kind === 'blob' && use.writes && ['broken', 'expired'].includes(state);
  assertShown(after, forgets ? 'available' : state);
  if (forgets) {
    const renewed = await act(resource, path, 'renew', { 'x-ms-lease-id': A });
    assert.equal(`${renewed.status} ${renewed.code}`, mismatch);
  }
}

// --- the tests: every resource is made, the expired leases are waited for, every cell checked ---

await send('PUT', 'leases?restype=container');

function cases() {
  const all = [];
  for (const resource of [blobs, containers]) {
    for (const state of Object.keys(STATES)) {
      for (const row of ACTIONS) {
        all.push({ resource, state, name: `${row.name} on ${resource.kind}: ${state}`,
          check: (path) => checkAction(resource, path, state, row) });
      }
      for (const use of resource === blobs ? BLOB_USES : CONTAINER_USES) {
        for (const [id, whose] of [[A, 'the holder\'s'], [B, 'another'], [null, 'no']]) {
          all.push({ resource, state, name: `${use.name} with ${whose} id: ${state}`,
            check: (path) => checkUse(resource, path, state, use, id) });
        }
      }
    }
  }
  return all.map((one, i) => ({ ...one, path: one.resource.path(`lease-case-${i}`) }));
}

test('the outcome table of leases', async (t) => {
  const all = cases();
  // The expiring leases are taken first, so that the others are young when they are looked at.
  const make = async ({ resource, path, state }) => {
    assert.equal((await resource.create(path)).status, 201);
    await STATES[state](resource, path);
  };
  await Promise.all(all.filter(({ state }) => state === 'expired').map(make));
  const expiresAt = Date.now() + EXPIRES_MS;
  for (const one of all.filter(({ state }) => state !== 'expired')) {
    await t.test(one.name, async () => {
      await make(one);
      await one.check(one.path);
    });
  }
  await sleep(Math.max(0, expiresAt - Date.now()));
  for (const one of all.filter(({ state }) => state === 'expired')) {
    await t.test(one.name, () => one.check(one.path));
  }
});

// --- what is not a row of the table ---

let fresh = 0;
async function leased(duration = -1) {
  const path = blobs.path(`other-${++fresh}`);
  await blobs.create(path);
  await act(blobs, path, 'acquire', acquire(A, duration));
  return path;
}

const result = ({ status, code }) => (status < 400 ? String(status) : `${status} ${code}`);

test('a duration is 15 to 60 seconds or infinite', async () => {
  const path = blobs.path('durations');
  await blobs.create(path);
  for (const duration of [0, 1, 14, 61, -2, 1000, 'x', '', '15.5', '99999999999999999999']) {
    const answer = await act(blobs, path, 'acquire', { 'x-ms-lease-duration': duration });
    assert.equal(result(answer), '400 InvalidHeaderValue', String(duration));
    assert.match(answer.body.toString(), /<HeaderName>x-ms-lease-duration<\/HeaderName>/);
  }
  const none = await act(blobs, path, 'acquire');
  assert.equal(result(none), '400 MissingRequiredHeader');
  for (const duration of [15, 60, -1]) {
    const answer = await act(blobs, path, 'acquire', acquire(A, duration));
    assert.equal(answer.status, 201, String(duration));
  }
});

test('a break period is 0 to 60 seconds', async () => {
  const path = await leased();
  for (const period of [-1, 61, 'x', '1.5']) {
    const answer = await act(blobs, path, 'break', { 'x-ms-lease-break-period': period });
    assert.equal(result(answer), '400 InvalidHeaderValue', String(period));
  }
  const answer = await act(blobs, path, 'break', { 'x-ms-lease-break-period': 60 });
  assert.equal(answer.status, 202);
  assert.equal(answer.headers['x-ms-lease-time'], '60');
});

test('a lease id is a GUID in any of its forms and any case', async () => {
  const path = blobs.path('forms');
  await blobs.create(path);
  for (const id of ['x', '', '12345', `${A}0`, `{${A}`, A.slice(1)]) {
    const answer = await act(blobs, path, 'acquire',
      { 'x-ms-lease-duration': -1, 'x-ms-proposed-lease-id': id });
    if (id === '') continue; // an empty header is as good as none
    assert.equal(result(answer), '400 InvalidHeaderValue', id);
  }
  await act(blobs, path, 'release', { 'x-ms-lease-id': A });
  const forms = [A, A.toUpperCase(), A.replaceAll('-', ''), `{${A}}`, `(${A})`];
  const answer = await act(blobs, blobs.path('forms-2'), 'acquire', acquire(A));
  assert.equal(answer.status, 404);
  const other = await leased();
  for (const id of forms) {
    const write = await send('PUT', other, { ...blockBlob, 'x-ms-lease-id': id }, 'z');
    assert.equal(write.status, 201, id);
    const renewed = await act(blobs, other, 'renew', { 'x-ms-lease-id': id });
    assert.equal(renewed.headers['x-ms-lease-id'], A, id);
  }
  const malformed = await send('PUT', other, { ...blockBlob, 'x-ms-lease-id': 'nonsense' }, 'z');
  assert.equal(result(malformed), '400 InvalidHeaderValue');
});

test('an action that needs an id is refused without one, and an unknown action too', async () => {
  const path = await leased();
  for (const action of ['renew', 'release', 'change']) {
    assert.equal(result(await act(blobs, path, action)), '400 MissingRequiredHeader', action);
  }
  const change = await act(blobs, path, 'change', { 'x-ms-lease-id': A });
  assert.equal(result(change), '400 MissingRequiredHeader');
  assert.equal(result(await act(blobs, path, 'steal')), '400 InvalidHeaderValue');
  const none = await send('PUT', `${path}?comp=lease`);
  assert.equal(result(none), '400 MissingRequiredHeader');
});

test('a break may shorten a break and never lengthen it', async () => {
  const path = await leased();
  const time = async (period) => Number((await act(blobs, path, 'break',
    period === undefined ? {} : { 'x-ms-lease-break-period': period })).headers['x-ms-lease-time']);
  assert.equal(await time(40), 40);
  assert.ok(await time(60) <= 40);
  assert.ok(await time(20) <= 20);
  const kept = await time();
  assert.ok(kept <= 20 && kept > 0);
  assert.equal(await time(0), 0);
  assert.equal((await act(blobs, path, 'acquire', acquire(B))).status, 201);
});

test('a break longer than the lease ends with the lease', async () => {
  const path = await leased(15);
  const answer = await act(blobs, path, 'break', { 'x-ms-lease-break-period': 60 });
  assert.ok(Number(answer.headers['x-ms-lease-time']) <= 15);
});

test('an overwrite with the lease id keeps the lease and a change moves it', async () => {
  const path = await leased();
  await send('PUT', path, { ...blockBlob, 'x-ms-lease-id': A }, 'new');
  assertShown(await blobs.look(path), 'infinite');
  await act(blobs, path, 'change', { 'x-ms-lease-id': A, 'x-ms-proposed-lease-id': B });
  const old = await send('PUT', path, { ...blockBlob, 'x-ms-lease-id': A }, 'new');
  assert.equal(result(old), '412 LeaseIdMismatchWithBlobOperation');
  assert.equal((await send('PUT', path, { ...blockBlob, 'x-ms-lease-id': B }, 'new')).status, 201);
});

test('a lease id for a blob that does not exist is refused', async () => {
  const path = blobs.path('never-written');
  const answer = await send('PUT', path, { ...blockBlob, 'x-ms-lease-id': A }, 'x');
  assert.equal(answer.status, 412);
  assert.equal((await blobs.look(path)).status, 404);
});

test('a container full of leased blobs is deleted without their ids', async () => {
  await send('PUT', 'full?restype=container');
  await send('PUT', 'full/b', blockBlob, 'x');
  await act(blobs, 'full/b', 'acquire', acquire(A, -1));
  assert.equal((await send('DELETE', 'full?restype=container')).status, 202);
});

test('a missing lease id comes before a failing condition and after a missing blob', async () => {
  const path = await leased();
  const both = await send('PUT', path, { ...blockBlob, 'If-None-Match': '*' }, 'x');
  assert.equal(result(both), '412 LeaseIdMissing');
  const holder = await send('PUT', path,
    { ...blockBlob, 'If-None-Match': '*', 'x-ms-lease-id': A }, 'x');
  assert.equal(holder.status, 201, 'the holder overwrites although the blob exists');
  const gone = await send('DELETE', blobs.path('absent'), { 'x-ms-lease-id': A });
  assert.equal(result(gone), '404 BlobNotFound');
});

stopsCleanly(server);
