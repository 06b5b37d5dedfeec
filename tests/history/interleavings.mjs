// Pairs of clients that get in each other's way, as data.
//
//   name       what they show
//   workload   whose requests the steps are (workloads/)
//   before     steps that are done first
//   sessions   what each client does.  Every order of the steps of all of them that keeps each
//              client's own order is run.
//   after      steps that are done last
//
// A step is [operation, arguments, label].  The arguments may be a function of the results by
// label, those of steps that were done before.  What the answers must be in an order is what the
// workload's model says for one step after the other.
//
//   slow(step)     a request with a body, as two steps: the first half is sent; the rest is sent
//                  and answered.  It takes effect in the second.
//   paused(step)   a read, as two steps: the answer begins; the rest is read.  It takes effect in
//                  the first.

import { appends, blockLists, pageBlobs, registers, snapshots } from './workloads/blob.mjs';
import { containers } from './workloads/container.mjs';
import { shares } from './workloads/file.mjs';
import { queues } from './workloads/queue.mjs';
import { tables } from './workloads/table.mjs';

const slow = (step) =>
  [{ half: 'begin', effect: false, step }, { half: 'finish', effect: true, step }];
const paused = (step) =>
  [{ half: 'begin', effect: true, step }, { half: 'finish', effect: false, step }];

const A = 'aaaaaaaa-0000-4000-8000-000000000000';
const B = 'bbbbbbbb-0000-4000-8000-000000000000';
const get = ['get', {}];
const etagOf = (label) => (seen) => seen[label].etag;
const put = (value, conditions = {}) => ['put', (seen) => ({ value,
  ...Object.fromEntries(Object.entries(conditions).map(([name, condition]) =>
    [name, typeof condition === 'function' ? condition(seen) : condition])) })];
const acquire = (id) => ['lease', { action: 'acquire', id, seconds: -1 }];
const release = (id) => ['lease', { action: 'release', id }];
const NO_SNAPSHOT = '2020-01-01T00:00:00.0000000Z'; // where there was nothing to take one of
const taken = (seen) => ({ snapshot: seen.s.snapshot ?? NO_SNAPSHOT });
const HUGE = 500; // a value of many bytes (workloads/common.mjs)

// --- blobs ---

const BLOBS = [
  { name: 'of two slow puts the one that is finished last wins',
    workload: registers,
    before: [put(1001)],
    sessions: [slow(put(1002)), slow(put(1009)), [get]],
    after: [get] },
  { name: 'of two who put with the ETag they have read one wins',
    workload: registers,
    before: [put(1001)],
    sessions: [[['get', {}, 'a'], ...slow(put(1002, { ifMatch: etagOf('a') }))],
      [['get', {}, 'b'], ...slow(put(1003, { ifMatch: etagOf('b') }))]],
    after: [get] },
  { name: 'a slow reader gets what was there when it began, whatever is put or deleted meanwhile',
    workload: registers,
    before: [put(HUGE)],
    sessions: [paused(get), [put(HUGE + 1), ['delete', {}], put(1003)]],
    after: [get] },
  { name: 'a lease that is taken during a put stops it',
    workload: registers,
    before: [put(1001)],
    sessions: [slow(put(1002)), [acquire(A), put(1003, { lease: A }), release(A)]],
    after: [get] },
  { name: 'of two who take the lease one may write until it is released',
    workload: registers,
    before: [put(1001)],
    sessions: [[acquire(A), put(1002, { lease: A }), release(A)],
      [acquire(B), put(1003, { lease: B }), release(B)]],
    after: [get] },
  { name: 'a holder whose lease is broken and taken by another cannot finish its put',
    workload: registers,
    before: [put(1001), acquire(A)],
    sessions: [slow(put(1002, { lease: A })),
      [['lease', { action: 'break', seconds: 0 }], acquire(B), put(1003, { lease: B })]],
    after: [get] },
  { name: 'a delete meets slow puts with conditions',
    workload: registers,
    before: [['put', { value: 1001 }, 'first']],
    sessions: [slow(put(1002, { ifMatch: etagOf('first') })), slow(put(1009, { ifNoneMatch: '*' })),
      [['delete', {}]]],
    after: [get] },
  { name: 'a snapshot has the blob before or after a slow put',
    workload: snapshots,
    before: [put(1001)],
    sessions: [slow(put(1009)), [['snapshot', {}, 's'],
      ['getSnapshot', taken]], [['delete', {}]]],
    after: [get] },
  { name: 'a snapshot of pages has each write wholly or not at all',
    workload: pageBlobs,
    before: [['create', { slots: 4 }], ['putPages', { from: 0, to: 4, value: 1 }]],
    sessions: [slow(['putPages', { from: 0, to: 3, value: 2 }]),
      slow(['putPages', { from: 1, to: 4, value: 3 }]),
      [['snapshot', {}, 's'], ['getSnapshot', taken]]],
    after: [get] },
];

// --- block lists and appends ---

const X = Buffer.from('block-x').toString('base64');
const Y = Buffer.from('block-y').toString('base64');
const block = (id, value) => ['putBlock', { id, value }];
const list = (...parts) => ['putList', { list: parts }];

const PIECES = [
  { name: 'of two lists of the same staged block the second finds it gone',
    workload: blockLists,
    before: [block(X, '1/50')],
    sessions: [slow(list(['uncommitted', X])), slow(list(['uncommitted', X])), [['getList', {}]]],
    after: [get, ['getList', {}]] },
  { name: 'a block that is staged during a list is of the next one',
    workload: blockLists,
    before: [block(X, '1/50'), list(['latest', X])],
    sessions: [slow(block(X, '2/60')), slow(list(['latest', X])), [block(Y, '3/70')]],
    after: [get, ['getList', {}]] },
  { name: 'a put list meets the deletion of the blob and of its blocks',
    workload: blockLists,
    before: [block(X, '1/50'), list(['latest', X]), block(Y, '2/60')],
    sessions: [slow(list(['latest', X], ['latest', Y])), [['delete', {}]], [block(X, '3/70')]],
    after: [get, ['getList', {}]] },
  { name: 'of appends at one position the first that is finished is taken',
    workload: appends,
    before: [['create', {}]],
    sessions: [slow(['append', { value: 1, length: 50, position: 0 }]),
      slow(['append', { value: 2, length: 60, position: 0 }]),
      slow(['append', { value: 3, length: 70 }])],
    after: [get] },
  { name: 'an append meets a blob that is made anew',
    workload: appends,
    before: [['create', {}], ['append', { value: 1, length: 50 }]],
    sessions: [slow(['append', { value: 2, length: 60, position: 50 }]), [['create', {}]], [get]],
    after: [get] },
  { name: 'a copy has one state of a source that is overwritten and deleted',
    workload: containers,
    before: [['put', { name: 'a', value: 1001 }]],
    sessions: [slow(['put', { name: 'a', value: 1009 }]),
      [['copy', { name: 'b', from: 'a' }], ['list', {}]], [['delete', { name: 'a' }]]],
    after: [['list', {}]] },
];

// --- entity group transactions ---

const upsert = (row, value) => ({ kind: 'upsert', row, value });
const group = (...changes) => ['group', { changes }];
const THREE = group(upsert('r0', 1), upsert('r1', 1), upsert('r2', 1));
const pageFrom = (label) => (seen) =>
  ({ most: 2, ...(seen[label].next && { from: seen[label].next }) });

const TABLES = [
  { name: 'of two slow groups the one that is finished last is there, wholly',
    workload: tables,
    before: [THREE],
    sessions: [slow(group(upsert('r0', 2), upsert('r1', 2))),
      slow(group(upsert('r1', 3), upsert('r2', 3))), [['query', {}]]],
    after: [['query', {}]] },
  { name: 'of two groups with the ETag they have read one is made, the other not in any part',
    workload: tables,
    before: [THREE],
    sessions: [2, 3].map((value) => [['get', { row: 'r1' }, `e${value}`],
      ...slow(['group', (seen) => ({ changes: [upsert('r0', value),
        { kind: 'replace', row: 'r1', value, ifMatch: seen[`e${value}`].etag }] })])]),
    after: [['query', {}]] },
  { name: 'a group that inserts meets one that deletes',
    workload: tables,
    before: [THREE],
    sessions: [slow(group({ kind: 'delete', row: 'r0', ifMatch: '*' }, upsert('r1', 2))),
      slow(group({ kind: 'insert', row: 'r0', value: 3 }, upsert('r2', 3))), [['query', {}]]],
    after: [['query', {}]] },
  { name: 'each page of a query is one state of its own',
    workload: tables,
    before: [THREE],
    sessions: [[['query', { most: 2 }, 'page'], ['query', pageFrom('page')]],
      slow(group(upsert('r1', 2), upsert('r2', 2))),
      [['change', { kind: 'delete', row: 'r0', ifMatch: '*' }]]],
    after: [['query', {}]] },
];

// --- messages ---

const take = (label) => ['get', { most: 1, seconds: 300 }, label];
const held = (label, more = {}) => (seen) => {
  const { id, receipt } = seen[label].messages?.[0] ?? seen.put;
  return { id, receipt, ...more };
};

const QUEUES = [
  { name: 'of two consumers one gets the message, and only its receipt deletes it',
    workload: queues,
    before: [['put', { text: 'm1', seconds: 0 }, 'put']],
    sessions: [[take('a'), ['delete', held('a')]], [take('b'), ['delete', held('b')]]],
    after: [['peek', { most: 32 }]] },
  { name: 'a message that is given back is the next consumer\'s, and the old receipt is dead',
    workload: queues,
    before: [['put', { text: 'm1', seconds: 0 }, 'put']],
    sessions: [[take('a'), ['update', held('a', { seconds: 0 })], ['delete', held('a')]],
      [take('b'), ['delete', held('b')]]],
    after: [['peek', { most: 32 }]] },
  { name: 'of those who update and delete by one receipt one does',
    workload: queues,
    before: [['put', { text: 'm1', seconds: 0 }, 'put'], take('a')],
    sessions: [slow(['update', held('a', { seconds: 0, to: 'm2' })]), [['delete', held('a')]],
      [take('b'), ['clear', {}]]],
    after: [['peek', { most: 32 }]] },
];

// --- files ---

const file = (name) => ['create', { name, slots: 3 }];
const range = (name, from, to, value) => ['putRange', { name, from, to, value }];
const read = (name) => ['get', { name }];

const FILES = [
  { name: 'ranges that overlap are each written wholly, in the order in which they are finished',
    workload: shares,
    before: [file('a'), range('a', 0, 3, 1)],
    sessions: [slow(range('a', 0, 2, 2)), slow(range('a', 1, 3, 3)), [read('a')]],
    after: [read('a')] },
  { name: 'a range meets the renaming of its file',
    workload: shares,
    before: [file('a'), range('a', 0, 3, 1)],
    sessions: [slow(range('a', 0, 2, 2)), [['rename', { name: 'a', to: 'b', replaces: false }]],
      [['list', {}], read('b')]],
    after: [read('a'), read('b'), ['list', {}]] },
  { name: 'a range meets a file that is renamed over its own',
    workload: shares,
    before: [file('a'), range('a', 0, 3, 1), file('b'), range('b', 0, 3, 4)],
    sessions: [slow(range('a', 0, 2, 2)), [['rename', { name: 'b', to: 'a', replaces: true }]],
      slow(range('b', 0, 1, 3))],
    after: [read('a'), read('b'), ['list', {}]] },
  { name: 'a range meets a file that is deleted and made again',
    workload: shares,
    before: [file('a'), range('a', 0, 3, 1)],
    sessions: [slow(range('a', 0, 2, 2)), [['delete', { name: 'a' }], file('a')],
      paused(read('a'))],
    after: [read('a')] },
  { name: 'a snapshot of a share has all files at one instant',
    workload: shares,
    before: [file('a'), file('b')],
    sessions: [slow(range('a', 0, 3, 1)), slow(range('b', 0, 3, 2)), [['snapshot', {}, 's']]],
    after: ['a', 'b'].map((name) => ['getSnapshot', (seen) => ({ ...taken(seen), name })]) },
  { name: 'of two renames of one file one is made',
    workload: shares,
    before: [file('a')],
    sessions: [[['rename', { name: 'a', to: 'b', replaces: false }], read('b')],
      [['rename', { name: 'a', to: 'c', replaces: false }], read('c')]],
    after: [['list', {}]] },
];

export const INTERLEAVINGS = [...BLOBS, ...PIECES, ...TABLES, ...QUEUES, ...FILES];
