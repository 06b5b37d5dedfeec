// Clients of shares: files of few names that are made, written, renamed, deleted and listed, and
// snapshots of the share.

import { share } from '../models/file.mjs';
import { choose, elements, refusalOf, slotBytes, slotsOf, someSlots, unquoted } from './common.mjs';

const NAMES = ['a', 'b', 'c'];
const SLOTS = 3;
// On both sides of what is stored with the record.
const slotBytesOf = (object) => (object === 'share-1' ? 30_000 : 1000);
const SNAPSHOTS_REMEMBERED = 3;

const snapshotQuery = (id) => `sharesnapshot=${encodeURIComponent(id)}`;

const REQUESTS = {
  create: (object, { name, slots }) => ['PUT', `${object}/${name}`,
    { 'x-ms-type': 'file', 'x-ms-content-length': slots * slotBytesOf(object) }],
  putRange: (object, { name, from, to, value }) => ['PUT', `${object}/${name}?comp=range`,
    { 'x-ms-write': value === 0 ? 'clear' : 'update',
      'x-ms-range': `bytes=${from * slotBytesOf(object)}-${to * slotBytesOf(object) - 1}` },
    value === 0 ? null : slotBytes(value, to - from, slotBytesOf(object))],
  delete: (object, { name }) => ['DELETE', `${object}/${name}`],
  rename: (object, { name, to, replaces }, { url }) => ['PUT', `${object}/${to}?comp=rename`,
    { 'x-ms-file-rename-source': url(`${object}/${name}`),
      'x-ms-file-rename-replace-if-exists': String(replaces) }],
  get: (object, { name }) => ['GET', `${object}/${name}`],
  list: (object) => ['GET', `${object}?restype=directory&comp=list&include=Etag`,
    { 'x-ms-file-extended-info': 'true' }],
  snapshot: (object) => ['PUT', `${object}?restype=share&comp=snapshot`],
  getSnapshot: (object, { snapshot, name }) => ['GET',
    `${object}/${name}?${snapshotQuery(snapshot)}`],
  deleteSnapshot: (object, { snapshot }) => ['DELETE',
    `${object}?restype=share&${snapshotQuery(snapshot)}`],
};

const read = (object, { headers, body }) => ({ etag: unquoted(headers.etag),
  slots: slotsOf(body, slotBytesOf(object)) });

const RESULTS = {
  get: read,
  getSnapshot: read,
  list: (object, { body }) => ({ files: Object.fromEntries(elements(body.toString(), 'File')
    .map((file) => [elements(file, 'Name')[0], unquoted(elements(file, 'Etag')[0])])) }),
  snapshot: (object, { headers }) => ({ snapshot: headers['x-ms-snapshot'] }),
  delete: () => ({}),
  deleteSnapshot: () => ({}),
};

export const shares = {
  name: 'shares',
  service: 'file',
  model: share,
  objects: ['share-0', 'share-1'],
  setUp: (object) => [['PUT', `${object}?restype=share`]],
  // A snapshot has no ETag that would tell when it was taken, so those of the round are looked at.
  settle: (history) => [{ name: 'list', args: {} },
    ...NAMES.map((name) => ({ name: 'get', args: { name } })),
    ...history.filter(({ result }) => result?.snapshot).flatMap(({ result: { snapshot } }) =>
      NAMES.map((name) => ({ name: 'getSnapshot', args: { snapshot, name } })))],
  next(random, memory, value) {
    // There are no more snapshots than somebody remembers.
    const known = memory.snapshots?.length ?? 0;
    const kind = choose(random, { create: 3, putRange: 8, delete: 2, rename: 4, get: 5, list: 3,
      ...(known < SNAPSHOTS_REMEMBERED && { snapshot: 1 }),
      ...(known > 0 && { getSnapshot: 2, deleteSnapshot: 0.9 }) });
    const name = random.pick(NAMES);
    switch (kind) {
      case 'create':
        return { name: kind, args: { name, slots: SLOTS } };
      case 'putRange': {
        const [from, to] = someSlots(random, SLOTS);
        return { name: kind, args: { name, from, to, value: random.next() < 0.1 ? 0 : value() } };
      }
      case 'rename':
        return { name: kind, args: { name, to: random.pick(NAMES.filter((other) => other !== name)),
          replaces: random.next() < 0.5 } };
      case 'list':
      case 'snapshot':
        return { name: kind, args: {} };
      case 'getSnapshot':
        return { name: kind, args: { snapshot: random.pick(memory.snapshots), name } };
      case 'deleteSnapshot':
        return { name: kind, args: { snapshot: random.pick(memory.snapshots) } };
      default:
        return { name: kind, args: { name } };
    }
  },
  request: (object, { name, args }, at) => REQUESTS[name](object, args, at),
  result: ({ name }, answer, object) => refusalOf(answer) ??
    (RESULTS[name] ?? ((_, { headers }) => ({ etag: unquoted(headers.etag) })))(object, answer),
  learn(memory, { name, args }, result) {
    if (result.snapshot) {
      memory.snapshots = [result.snapshot, ...memory.snapshots ?? []];
    }
    if (name === 'deleteSnapshot') {
      memory.snapshots = memory.snapshots.filter((id) => id !== args.snapshot);
    }
  },
};
