// Clients of blobs: registers with conditions, leases and snapshots; block lists; appends; pages.

import { append, blocks, pages, register } from '../models/blob.mjs';
import { bytesOf, choose, conditionsOf, elements, record, recordsOf, refusalOf, slotBytes, slotsOf,
  someSlots, unquoted, valueOf } from './common.mjs';

const CONTAINER = 'history';
const LEASES = ['a', 'b', 'c'].map((letter) => `${letter.repeat(8)}-0000-4000-8000-000000000000`);
const SNAPSHOTS_REMEMBERED = 3;

const setUp = () => [['PUT', `${CONTAINER}?restype=container`]];
const pathOf = (object, query = '') => `${CONTAINER}/${object}${query && `?${query}`}`;
const snapshotQuery = (id) => `snapshot=${encodeURIComponent(id)}`;

// --- what all kinds of blobs have ---

// Conditions as a client may send them, true ones more often than not.
function someConditions(random, memory) {
  const kind = choose(random, { none: 5, match: 4, stale: 1, exists: 0.5, absent: 1 });
  const ifMatch = { match: memory.etag, stale: memory.staleEtag, exists: '*' }[kind];
  return { ...(ifMatch && { ifMatch }), ...(kind === 'absent' && { ifNoneMatch: '*' }) };
}

// The lease id a client sends with a use of the blob.
const someLease = (random, memory) => (random.next() < 0.5 && memory.lease
  ? { lease: memory.lease } : random.next() < 0.05 ? { lease: random.pick(LEASES) } : {});

function leaseAction(random, memory) {
  const action = choose(random, { acquire: 5, renew: 1, change: 1, release: 3, break: 2 });
  const id = random.next() < 0.8 && memory.lease ? memory.lease : random.pick(LEASES);
  switch (action) {
    case 'acquire':
      return { action, id: random.pick(LEASES), seconds: random.pick([15, 15, 20, 30, 60, -1]) };
    case 'change':
      return { action, id, to: random.pick(LEASES) };
    case 'break':
      return { action, seconds: random.pick([undefined, 0, 5, 20, 60]) };
    default:
      return { action, id };
  }
}

function leaseRequest(object, { action, id, to, seconds }) {
  const headers = { 'x-ms-lease-action': action };
  if (action === 'acquire') {
    headers['x-ms-proposed-lease-id'] = id;
    headers['x-ms-lease-duration'] = seconds;
  } else if (action === 'break') {
    if (seconds !== undefined) headers['x-ms-lease-break-period'] = seconds;
  } else {
    headers['x-ms-lease-id'] = id;
    if (to) headers['x-ms-proposed-lease-id'] = to;
  }
  return ['PUT', pathOf(object, 'comp=lease'), headers];
}

const REQUESTS = {
  get: (object, args) => ['GET', pathOf(object), conditionsOf(args)],
  delete: (object, args) => ['DELETE', pathOf(object),
    { 'x-ms-delete-snapshots': 'include', ...conditionsOf(args) }],
  snapshot: (object) => ['PUT', pathOf(object, 'comp=snapshot')],
  getSnapshot: (object, { snapshot }) => ['GET', pathOf(object, snapshotQuery(snapshot))],
  deleteSnapshot: (object, { snapshot }) => ['DELETE', pathOf(object, snapshotQuery(snapshot))],
  lease: leaseRequest,
};

const NEXT = {
  get: (random, memory) => ({
    ...(random.next() < 0.2 && memory.etag ? { ifNoneMatch: memory.etag } : {}),
    ...(random.next() < 0.2 ? someLease(random, memory) : {}) }),
  delete: (random, memory) => ({ ...someLease(random, memory),
    ...(random.next() < 0.5 && memory.etag ? { ifMatch: memory.etag } : {}) }),
  snapshot: () => ({}),
  getSnapshot: (random, memory) => ({ snapshot: random.pick(memory.snapshots) }),
  deleteSnapshot: (random, memory) => ({ snapshot: random.pick(memory.snapshots) }),
  lease: leaseAction,
};

const NEEDS_SNAPSHOT = ['getSnapshot', 'deleteSnapshot'];

function learn(memory, { name, args }, result) {
  if (result.etag) {
    memory.staleEtag = memory.etag;
    memory.etag = result.etag;
  }
  if (result.snapshot) {
    memory.snapshots = [result.snapshot, ...memory.snapshots ?? []].slice(0, SNAPSHOTS_REMEMBERED);
  }
  if (name === 'deleteSnapshot') {
    memory.snapshots = memory.snapshots.filter((snapshot) => snapshot !== args.snapshot);
  }
  if (name === 'lease' && result.code === undefined) {
    memory.lease = { acquire: args.id, renew: args.id, change: args.to }[args.action];
  }
}

// A workload of blobs.  `kind` has its own operations: for each a weight, what comes next, the
// request; and how the content is read.
function blobWorkload(name, model, objects, kind) {
  const requests = { ...REQUESTS, ...kind.requests };
  const next = { ...NEXT, ...kind.next };
  const results = {
    get: ({ headers, body }) => ({ etag: unquoted(headers.etag), content: kind.content(body),
      lease: headers['x-ms-lease-state'] }),
    delete: () => ({}),
    snapshot: ({ headers }) => ({ snapshot: headers['x-ms-snapshot'],
      etag: unquoted(headers.etag) }),
    getSnapshot: ({ headers, body }) => ({ etag: unquoted(headers.etag),
      content: kind.content(body) }),
    deleteSnapshot: () => ({}),
    lease: ({ headers }) => ({ etag: unquoted(headers.etag),
      ...(headers['x-ms-lease-time'] && { time: Number(headers['x-ms-lease-time']) }) }),
    ...kind.results,
  };
  const written = ({ headers }) => ({ etag: unquoted(headers.etag) });
  return {
    name,
    service: 'blob',
    model,
    objects,
    setUp,
    learn,
    settle: () => [{ name: 'get', args: {} }, ...kind.settle ?? []],
    next(random, memory, value) {
      const chosen = choose(random, kind.weights);
      const known = memory.snapshots?.length ?? 0;
      // There are no more snapshots than somebody remembers.
      const operation = NEEDS_SNAPSHOT.includes(chosen) && known === 0 ? 'get'
        : chosen === 'snapshot' && known === SNAPSHOTS_REMEMBERED ? 'deleteSnapshot' : chosen;
      return { name: operation, args: next[operation](random, memory, value) };
    },
    request: (object, { name: operation, args }) => requests[operation](object, args),
    result: ({ name: operation }, answer) =>
      refusalOf(answer) ?? (results[operation] ?? written)(answer),
  };
}

const someWrite = (random, memory) =>
  ({ ...someConditions(random, memory), ...someLease(random, memory) });

// --- registers ---

const PUT = {
  requests: { put: (object, { value, ...conditions }) => ['PUT', pathOf(object),
    { 'x-ms-blob-type': 'BlockBlob', ...conditionsOf(conditions) }, bytesOf(value)] },
  next: { put: (random, memory, value) => ({ value: value(), ...someWrite(random, memory) }) },
  content: valueOf,
};

export const registers = blobWorkload('registers', register, ['register-0', 'register-1'],
  { ...PUT, weights: { put: 8, get: 8, delete: 1 } });

export const leases = blobWorkload('leases', register, ['leased-0', 'leased-1'],
  { ...PUT, weights: { put: 6, get: 4, delete: 0.3, lease: 10 } });

export const snapshots = blobWorkload('snapshots', register, ['snapshot-0'],
  { ...PUT, weights: { put: 6, get: 3, delete: 0.3, snapshot: 3, getSnapshot: 4,
    deleteSnapshot: 3.5 } });

// --- block lists ---

const BLOCKS = ['block-0', 'block-1', 'block-2'].map((id) => Buffer.from(id).toString('base64'));
const sizeOf = (value) => Number(value.split('/')[1]);

function someList(random) {
  return Array.from({ length: random.between(1, 3) }, () => random.pick(BLOCKS))
    .filter((id, index, all) => all.indexOf(id) === index)
    .map((id) => [choose(random, { latest: 5, uncommitted: 2, committed: 2 }), id]);
}

const listXml = (list) => `<?xml version="1.0" encoding="utf-8"?><BlockList>${
  list.map(([kind, id]) => {
    const tag = kind[0].toUpperCase() + kind.slice(1);
    return `<${tag}>${id}</${tag}>`;
  }).join('')}</BlockList>`;

const blocksIn = (text, element) => elements(elements(text, element)[0] ?? '', 'Block')
  .map((inner) => [elements(inner, 'Name')[0], Number(elements(inner, 'Size')[0])]);

export const blockLists = blobWorkload('block lists', blocks, ['blocks-0', 'blocks-1'], {
  weights: { putBlock: 8, putList: 6, getList: 4, get: 4, delete: 0.7 },
  settle: [{ name: 'getList', args: {} }],
  content: (bytes) => recordsOf(bytes).map(([id, value]) => [id, value]),
  requests: {
    putBlock: (object, { id, value }) => ['PUT',
      pathOf(object, `comp=block&blockid=${encodeURIComponent(id)}`), {},
      record(id, value, sizeOf(value))],
    putList: (object, { list, ...conditions }) => ['PUT', pathOf(object, 'comp=blocklist'),
      conditionsOf(conditions), listXml(list)],
    getList: (object) => ['GET', pathOf(object, 'comp=blocklist&blocklisttype=all')],
  },
  next: {
    putBlock: (random, memory, value) => {
      const number = value();
      return { id: random.pick(BLOCKS), value: `${number}/${number % 7 === 0 ? 20_000 + number % 997
        : 50 + number % 997}` };
    },
    putList: (random, memory) => ({ list: someList(random),
      ...(random.next() < 0.3 ? someConditions(random, memory) : {}) }),
    getList: () => ({}),
  },
  results: {
    putBlock: () => ({}),
    getList: ({ headers, body }) => ({ etag: unquoted(headers.etag),
      committed: blocksIn(body.toString(), 'CommittedBlocks'),
      staged: blocksIn(body.toString(), 'UncommittedBlocks') }),
  },
});

// --- appends ---

export const appends = blobWorkload('appends', append, ['append-0', 'append-1'], {
  weights: { create: 0.7, append: 10, get: 4, delete: 0.2 },
  content: (bytes) => recordsOf(bytes).map(([, value, size]) => [Number(value), size]),
  requests: {
    create: (object, args) => ['PUT', pathOf(object),
      { 'x-ms-blob-type': 'AppendBlob', ...conditionsOf(args) }],
    append: (object, { value, length, position, most, ...conditions }) => ['PUT',
      pathOf(object, 'comp=appendblock'), { ...conditionsOf(conditions),
        ...(position !== undefined && { 'x-ms-blob-condition-appendpos': position }),
        ...(most !== undefined && { 'x-ms-blob-condition-maxsize': most }) },
      record('append', value, length)],
  },
  next: {
    create: (random) => (random.next() < 0.4 ? { ifNoneMatch: '*' } : {}),
    append: (random, memory, value) => ({ value: value(),
      length: random.pick([40, 60, 100, 5000]),
      ...(random.next() < 0.4 && memory.end !== undefined ? { position: memory.end } : {}),
      ...(random.next() < 0.2 ? { most: random.between(1, 40) * 1000 } : {}),
      ...(random.next() < 0.1 && memory.etag ? { ifMatch: memory.etag } : {}) }),
  },
  results: {
    append: ({ headers }) => ({ etag: unquoted(headers.etag),
      offset: Number(headers['x-ms-blob-append-offset']) }),
  },
});

// A client that knows where the blob ends can say so.
appends.learn = (memory, operation, result) => {
  learn(memory, operation, result);
  if (result.offset !== undefined) memory.end = result.offset + operation.args.length;
  if (result.content) memory.end = result.content.reduce((sum, [, size]) => sum + size, 0);
  if (operation.name === 'create' && result.etag) memory.end = 0;
};

// --- pages ---

const SLOTS = 4;
const SLOT_BYTES = 8192;

export const pageBlobs = blobWorkload('pages', pages, ['pages-0'], {
  weights: { create: 0.4, putPages: 9, get: 4, snapshot: 1.5, getSnapshot: 4, deleteSnapshot: 2,
    delete: 0.1 },
  content: (bytes) => slotsOf(bytes, SLOT_BYTES),
  requests: {
    create: (object, { slots, ...conditions }) => ['PUT', pathOf(object),
      { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': slots * SLOT_BYTES,
        ...conditionsOf(conditions) }],
    putPages: (object, { from, to, value, ...conditions }) => ['PUT', pathOf(object, 'comp=page'),
      { 'x-ms-page-write': value === 0 ? 'clear' : 'update',
        'x-ms-range': `bytes=${from * SLOT_BYTES}-${to * SLOT_BYTES - 1}`,
        ...conditionsOf(conditions) },
      value === 0 ? null : slotBytes(value, to - from, SLOT_BYTES)],
  },
  next: {
    create: (random) => ({ slots: SLOTS, ...(random.next() < 0.5 ? { ifNoneMatch: '*' } : {}) }),
    putPages(random, memory, value) {
      const [from, to] = someSlots(random, SLOTS);
      return { from, to, value: random.next() < 0.15 ? 0 : value(),
        ...(random.next() < 0.2 && memory.etag ? { ifMatch: memory.etag } : {}) };
    },
  },
});
