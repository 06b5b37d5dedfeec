// The conditional headers: every combination of the four, for every operation that takes them,
// against an oracle of its own.
//
// The oracle follows the reference.  T is Last-Modified, in whole seconds.
//   Reads take any combination and pass iff
//     If-Match and If-Unmodified-Since and (If-None-Match or If-Modified-Since),
//   where an absent one is neutral; 412 when one of the first two fails, else 304.
//   If-None-Match: * on a read can never hold: 400.
//   Writes take one, or If-None-Match with If-Modified-Since (the first counts), or If-Match with
//   If-Unmodified-Since (the first counts), and one ETag; else 400.  A failure is 412, but
//   If-None-Match: * for Put Blob over an existing blob is 409.

import test from 'node:test';
import assert from 'node:assert/strict';
import { startServer, stopsCleanly } from './helpers/server.mjs';
import { sasSender, blockBlob } from './helpers/http.mjs';

const server = await startServer();
const send = sasSender(server);
const OTHER = '"0x8D0000000000001"';
const ANOTHER = '"0x8D0000000000002"';
const HOUR_MS = 3_600_000;

// --- the values of each header, by name; made for the ETag and date of the resource ---

const MATCH = {
  absent: () => undefined,
  match: (etag) => etag,
  unquoted: (etag) => etag.replaceAll('"', ''),
  mismatch: () => OTHER,
  any: () => '*',
  'several with': (etag) => `${OTHER}, ${etag}`,
  'several without': () => `${OTHER},${ANOTHER}`,
};
const NONE_MATCH = {
  absent: MATCH.absent,
  match: MATCH.match,
  mismatch: MATCH.mismatch,
  any: MATCH.any,
  'several with': MATCH['several with'],
  'several without': MATCH['several without'],
};
const SINCE = {
  absent: () => undefined,
  older: (at) => new Date(at - HOUR_MS).toUTCString(),
  equal: (at) => new Date(at).toUTCString(),
  newer: (at) => new Date(at + HOUR_MS).toUTCString(),
};

// --- the oracle; a case names the values: { im, inm, ims, ius } ---

const names = (value) => ['match', 'unquoted', 'several with'].includes(value);
const several = (value) => value.startsWith('several');
const imHolds = (im) => im === 'any' || names(im);
const inmHolds = (inm) => inm !== 'any' && !names(inm);
const imsHolds = (ims) => ims === 'older';
const iusHolds = (ius) => ius !== 'older';

function oracleRead({ im, inm, ims, ius }) {
  if (inm === 'any') return '400 UnsatisfiableCondition';
  if (im !== 'absent' && !imHolds(im)) return '412 ConditionNotMet';
  if (ius !== 'absent' && !iusHolds(ius)) return '412 ConditionNotMet';
  const terms = [];
  if (inm !== 'absent') terms.push(inmHolds(inm));
  if (ims !== 'absent') terms.push(imsHolds(ims));
  return terms.length === 0 || terms.includes(true) ? 'ok' : '304 ConditionNotMet';
}

function badShape({ im, inm, ims, ius }) {
  const given = { im, inm, ims, ius };
  const list = Object.keys(given).filter((name) => given[name] !== 'absent').join();
  return several(im) || several(inm) ||
    !['', 'im', 'inm', 'ims', 'ius', 'inm,ims', 'im,ius'].includes(list);
}

function oracleWrite(values) {
  const { im, inm, ims, ius } = values;
  if (badShape(values)) return '400 MultipleConditionHeadersNotSupported';
  let holds = true;
  if (im !== 'absent') holds = imHolds(im);
  else if (inm !== 'absent') holds = inmHolds(inm);
  else if (ims !== 'absent') holds = imsHolds(ims);
  else if (ius !== 'absent') holds = iusHolds(ius);
  return holds ? 'ok' : '412 ConditionNotMet';
}

function oracleReplace(values) {
  const outcome = oracleWrite(values);
  if (values.inm === 'any' && outcome.startsWith('412')) return '409 BlobAlreadyExists';
  return outcome;
}

// The same operations when there is no blob: only Put Blob can succeed.
function oracleReplaceMissing(values) {
  if (badShape(values)) return '400 MultipleConditionHeadersNotSupported';
  if (values.im !== 'absent') return '412 ConditionNotMet';
  if (values.inm !== 'absent' || values.ims !== 'absent') return 'ok';
  return values.ius === 'absent' ? 'ok' : '412 ConditionNotMet';
}

function* matrix() {
  for (const im of Object.keys(MATCH)) {
    for (const inm of Object.keys(NONE_MATCH)) {
      for (const ims of Object.keys(SINCE)) {
        for (const ius of Object.keys(SINCE)) yield { im, inm, ims, ius };
      }
    }
  }
}

function headersOf({ im, inm, ims, ius }, etag, at) {
  const headers = {
    'If-Match': MATCH[im](etag),
    'If-None-Match': NONE_MATCH[inm](etag),
    'If-Modified-Since': SINCE[ims](at),
    'If-Unmodified-Since': SINCE[ius](at),
  };
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
}

// --- the operations ---

const blobPath = (i) => `matrix/blob-${i}`;
const containerPath = (i) => `matrix-${i}`;
const createBlob = (path) => send('PUT', path, blockBlob, 'content');
const createContainer = (path) => send('PUT', `${path}?restype=container`);
const lookBlob = (path) => send('HEAD', path);
const lookContainer = (path) => send('HEAD', `${path}?restype=container`);
const leaseHeaders = { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '-1' };

const onBlob = { path: blobPath, create: createBlob, look: lookBlob };
const onContainer = { path: containerPath, create: createContainer, look: lookContainer };

// `keeps` says that a success leaves the resource as it was, so it serves for the next case;
// `leaves` what a success makes of it: a new ETag, a lease, or nothing at all.
const OPERATIONS = [
  { name: 'Get Blob', ...onBlob, oracle: oracleRead, status: 200, keeps: true,
    send: (path, headers) => send('GET', path, headers) },
  { name: 'Get Blob with a range', ...onBlob, oracle: oracleRead, status: 206, keeps: true,
    send: (path, headers) => send('GET', path, { 'x-ms-range': 'bytes=1-3', ...headers }) },
  { name: 'Get Blob Properties', ...onBlob, oracle: oracleRead, status: 200, keeps: true,
    send: (path, headers) => send('HEAD', path, headers) },
  { name: 'Get Blob Metadata', ...onBlob, oracle: oracleRead, status: 200, keeps: true,
    send: (path, headers) => send('GET', `${path}?comp=metadata`, headers) },
  { name: 'Set Blob Metadata', ...onBlob, oracle: oracleWrite, status: 200, leaves: 'changed',
    send: (path, headers) => send('PUT', `${path}?comp=metadata`,
      { 'x-ms-meta-a': '1', ...headers }) },
  { name: 'Set Blob Properties', ...onBlob, oracle: oracleWrite, status: 200, leaves: 'changed',
    send: (path, headers) => send('PUT', `${path}?comp=properties`,
      { 'x-ms-blob-content-type': 'a/b', ...headers }) },
  { name: 'Put Blob', ...onBlob, oracle: oracleReplace, status: 201, leaves: 'changed',
    send: (path, headers) => send('PUT', path, { ...blockBlob, ...headers }, 'other') },
  { name: 'Put Blob of 100 KiB', ...onBlob, oracle: oracleReplace, status: 201, leaves: 'changed',
    send: (path, headers) => send('PUT', path, { ...blockBlob, ...headers },
      Buffer.alloc(100 * 1024, 'x')) },
  { name: 'Delete Blob', ...onBlob, oracle: oracleWrite, status: 202, leaves: 'gone',
    send: (path, headers) => send('DELETE', path, headers) },
  { name: 'Lease Blob', ...onBlob, oracle: oracleWrite, status: 201, leaves: 'leased',
    send: (path, headers) => send('PUT', `${path}?comp=lease`, { ...leaseHeaders, ...headers }) },
  { name: 'Set Container Metadata', ...onContainer, oracle: oracleWrite, status: 200,
    leaves: 'changed',
    send: (path, headers) => send('PUT', `${path}?restype=container&comp=metadata`,
      { 'x-ms-meta-a': '1', ...headers }) },
  { name: 'Delete Container', ...onContainer, oracle: oracleWrite, status: 202, leaves: 'gone',
    send: (path, headers) => send('DELETE', `${path}?restype=container`, headers) },
  { name: 'Lease Container', ...onContainer, oracle: oracleWrite, status: 201, leaves: 'leased',
    send: (path, headers) => send('PUT', `${path}?restype=container&comp=lease`,
      { ...leaseHeaders, ...headers }) },
];

const outcomeOf = (answer) => (answer.status < 300 ? 'ok' : `${answer.status} ${answer.code}`);

// What the resource has become, seen from outside.
async function checkEffect(operation, path, before, succeeded, what) {
  const after = await operation.look(path);
  if (!succeeded || operation.keeps) {
    assert.equal(after.headers.etag, before.headers.etag, `${what}: a refusal changes nothing`);
    assert.equal(after.headers['x-ms-lease-state'], 'available', what);
  } else if (operation.leaves === 'gone') {
    assert.equal(after.status, 404, what);
  } else if (operation.leaves === 'leased') {
    assert.equal(after.headers['x-ms-lease-state'], 'leased', what);
  } else {
    assert.notEqual(after.headers.etag, before.headers.etag, what);
  }
}

let made = 0;
async function freshResource(operation) {
  const path = operation.path(++made);
  assert.equal((await operation.create(path)).status, 201);
  return { path, before: await operation.look(path) };
}

// One operation against the whole matrix, the cases spread over a few workers that each own their
// resource and make a new one after a success that used it up.
async function checkAll(operation) {
  const cases = [...matrix()];
  const failures = [];
  let next = 0;
  const worker = async () => {
    let resource = await freshResource(operation);
    while (next < cases.length) {
      const values = cases[next++];
      const { path, before } = resource;
      const at = Date.parse(before.headers['last-modified']);
      const answer = await operation.send(path, headersOf(values, before.headers.etag, at));
      const expected = operation.oracle(values);
      const got = outcomeOf(answer);
      const what = JSON.stringify(values);
      if (got !== expected) failures.push(`${what}: ${got}, not ${expected}`);
      else if (got === 'ok') assert.equal(answer.status, operation.status, what);
      await checkEffect(operation, path, before, answer.status < 300, what);
      if (answer.status < 300 && !operation.keeps) resource = await freshResource(operation);
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  assert.deepEqual(failures.slice(0, 20), [], `${failures.length} of ${cases.length} cases`);
  return cases.length;
}

await createContainer('matrix');

for (const operation of OPERATIONS) {
  test(`${operation.name} honours every combination of conditions`, async (t) => {
    const count = await checkAll(operation);
    t.diagnostic(`${count} cases`);
  });
}

test('Put Blob honours every combination of conditions when there is no blob', async () => {
  const failures = [];
  for (const values of matrix()) {
    const path = blobPath(`missing-${++made}`);
    const answer = await send('PUT', path,
      { ...blockBlob, ...headersOf(values, '"0x8D0000000000009"', Date.now()) }, 'x');
    const expected = oracleReplaceMissing(values);
    const got = outcomeOf(answer);
    if (got !== expected) failures.push(`${JSON.stringify(values)}: ${got}, not ${expected}`);
    assert.equal((await lookBlob(path)).status, answer.status < 300 ? 200 : 404);
  }
  assert.deepEqual(failures.slice(0, 20), []);
});

test('what is missing is 404 whatever the conditions, for all but Put Blob', async () => {
  for (const operation of OPERATIONS.filter(({ name }) => !name.startsWith('Put Blob'))) {
    for (const im of Object.keys(MATCH)) {
      const values = { im, inm: 'absent', ims: 'absent', ius: 'absent' };
      if (operation.oracle !== oracleRead && badShape(values)) continue;
      const answer = await operation.send(operation.path('never-made'),
        headersOf(values, '"0x8D0000000000009"', Date.now()));
      assert.equal(answer.status, 404, `${operation.name} ${im}`);
    }
  }
});

test('a condition that is not one is refused', async () => {
  const path = blobPath('malformed');
  await createBlob(path);
  for (const name of ['If-Modified-Since', 'If-Unmodified-Since']) {
    for (const value of ['yesterday', '2020-01-01', '12345', 'Mon, 99 Foo 2020 00:00:00 GMT']) {
      const read = await send('GET', path, { [name]: value });
      assert.equal(outcomeOf(read), '400 InvalidHeaderValue', `${name}: ${value}`);
      const write = await send('PUT', path, { ...blockBlob, [name]: value }, 'x');
      assert.equal(outcomeOf(write), '400 InvalidHeaderValue', `${name}: ${value}`);
    }
  }
});

stopsCleanly(server);
