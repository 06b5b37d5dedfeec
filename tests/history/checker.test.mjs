// The checker and its models against histories of which a person can tell whether they are right.
// A history is written as it happened: one line for each operation,
//
//   [client, start, end, name, args, result]     no result: unknown; an end of Infinity: never over
//
// Bad ones have a good twin that differs in the one thing that is wrong, so that a model that
// accepts nothing is found out, too.

import test from 'node:test';
import assert from 'node:assert/strict';
import { check } from './checker.mjs';
import { Random, seeded } from '../e2e/helpers/random.mjs';
import { append, blocks, pages, register } from './models/blob.mjs';
import { container } from './models/container.mjs';
import { share } from './models/file.mjs';
import { queue } from './models/queue.mjs';
import { table } from './models/table.mjs';

const NEVER = Infinity;

// What follows the result is the range of clock readings.
const historyOf = (lines) => lines.map(([client, start, end, name, args, result, clock = [0, 0]],
  id) => ({ id, client, start, end, name, args, result, clock }));

const verdict = (model, lines, options) => check(model, historyOf(lines), options);

function accepts(model, lines, options) {
  const { ok, explanation } = verdict(model, lines, options);
  assert.ok(ok, explanation);
}

// Checks that the history is refused, for the answer of the operation in this line.
function refuses(model, lines, line, options) {
  const { ok, explanation, failed } = verdict(model, lines, options);
  assert.ok(!ok, 'a bad history is accepted');
  assert.equal(failed.id, line, explanation);
  assert.match(explanation, /is not linearizable/);
  assert.equal(explanation.match(/no order explains this answer/g).length, 1, explanation);
}

// --- blobs as registers ---

const got = (value, etag, lease = 'available') => ({ content: value, etag, lease });
const refused = (code) => ({ code });
const gone = refused('BlobNotFound');

const put = (client, start, end, value, etag, conditions = {}) =>
  [client, start, end, 'put', { value, ...conditions }, typeof etag === 'string' ? { etag } : etag];
const get = (client, start, end, value, etag, lease) =>
  [client, start, end, 'get', {}, value === null ? gone : got(value, etag, lease)];

test('one operation after the other is accepted as the model has it', () => {
  accepts(register, [
    get(1, 1, 2, null),
    put(1, 3, 4, 'a', '0x1', { ifNoneMatch: '*' }),
    put(2, 5, 6, 'b', refused('BlobAlreadyExists'), { ifNoneMatch: '*' }),
    get(2, 7, 8, 'a', '0x1'),
    put(1, 9, 10, 'c', '0x2', { ifMatch: '0x1' }),
    [1, 11, 12, 'delete', {}, {}],
    get(1, 13, 14, null),
  ]);
});

test('a stale read is refused, and allowed while the write is under way', () => {
  const lines = (end) => [put(1, 1, 2, 'a', '0x1'), put(1, 3, end, 'b', '0x2'),
    get(2, 6, 7, 'a', '0x1')];
  accepts(register, lines(8));
  refuses(register, lines(5), 2);
});

test('a read of what nobody wrote is refused', () => {
  accepts(register, [put(1, 1, 2, 'a', '0x1'), get(1, 3, 4, 'a', '0x1')]);
  refuses(register, [put(1, 1, 2, 'a', '0x1'), get(1, 3, 4, 'b', '0x1')], 1);
  refuses(register, [put(1, 1, 2, 'a', '0x1'), get(1, 3, 4, 'torn', '0x1')], 1);
});

test('two readers see two concurrent writes in one order', () => {
  const lines = (second) => [
    put(1, 1, 2, 'o', '0x1'),
    put(1, 3, 20, 'a', undefined), put(2, 3, 20, 'b', undefined),
    get(3, 4, 5, 'a', '0x2'), get(3, 6, 7, 'b', '0x3'), ...second,
  ];
  accepts(register, lines([get(4, 8, 9, 'b', '0x3')]));
  refuses(register, lines([get(4, 8, 9, 'b', '0x3'), get(4, 10, 11, 'a', '0x2')]), 6);
});

test('a lost update is refused: two writers cannot both win with one ETag', () => {
  const lines = (other) => [put(0, 1, 2, 'o', '0x1'),
    put(1, 3, 10, 'a', '0x2', { ifMatch: '0x1' }), put(2, 3, 11, 'b', other, { ifMatch: '0x1' })];
  accepts(register, lines(refused('ConditionNotMet')));
  refuses(register, lines('0x3'), 2);
});

test('a phantom is refused: a put that failed its condition leaves no trace', () => {
  const lines = (seen, etag) => [put(0, 1, 2, 'o', '0x1'), put(0, 3, 4, 'p', '0x2'),
    put(1, 5, 8, 'a', refused('ConditionNotMet'), { ifMatch: '0x1' }), get(2, 9, 10, seen, etag)];
  accepts(register, lines('p', '0x2'));
  refuses(register, lines('a', '0x3'), 3);
});

test('a condition that failed although it held is refused', () => {
  const lines = (ifMatch) => [put(0, 1, 2, 'o', '0x1'),
    put(1, 3, 4, 'a', refused('ConditionNotMet'), { ifMatch })];
  accepts(register, lines('0x0'));
  refuses(register, lines('0x1'), 1);
});

test('an ETag that is given twice or goes back is refused', () => {
  accepts(register, [put(0, 1, 2, 'o', '0x5'), put(0, 3, 4, 'p', '0x6')]);
  refuses(register, [put(0, 1, 2, 'o', '0x5'), put(0, 3, 4, 'p', '0x5')], 1);
  refuses(register, [put(0, 1, 2, 'o', '0x5'), put(0, 3, 4, 'p', '0x4')], 1);
  refuses(register, [put(0, 1, 2, 'o', '0x5'), [0, 3, 4, 'delete', {}, {}],
    put(0, 5, 6, 'p', '0x4')], 2);
  // The earlier one took effect first, if that is possible.
  accepts(register, [put(0, 1, 9, 'o', '0x6'), put(1, 3, 4, 'p', '0x5')]);
});

test('new bytes with the old ETag, and old bytes with the new one, are refused', () => {
  const lines = (value, etag) => [put(0, 1, 2, 'o', '0x1'), put(1, 3, 10, 'a', '0x2'),
    get(2, 4, 5, value, etag)];
  accepts(register, lines('o', '0x1'));
  accepts(register, lines('a', '0x2'));
  refuses(register, lines('a', '0x1'), 2);
  refuses(register, lines('o', '0x2'), 2);
});

// --- unknown results ---

test('a write of unknown result may show at any later time, or never', () => {
  const lines = (...reads) =>
    [put(0, 1, 2, 'o', '0x1'), put(1, 3, NEVER, 'a', undefined), ...reads];
  accepts(register, lines(get(2, 5, 6, 'o', '0x1'), get(2, 7, 8, 'o', '0x1')));
  accepts(register, lines(get(2, 5, 6, 'o', '0x1'), get(2, 7, 8, 'a', '0x2')));
  refuses(register, lines(get(2, 5, 6, 'a', '0x2'), get(2, 7, 8, 'o', '0x1')), 3);
  refuses(register, lines(get(2, 5, 6, 'a', '0x2'), get(2, 7, 8, 'a', '0x3')), 3);
});

test('a write that a killed server had not done by its end never shows', () => {
  const lines = (at) => [put(0, 1, 2, 'o', '0x1'), put(1, 3, 5, 'a', undefined),
    get(2, at, at + 1, 'o', '0x1'), get(2, 10, 11, 'a', '0x2')];
  accepts(register, lines(4));
  refuses(register, lines(6), 3);
});

test('a write of unknown result can be what a condition failed for', () => {
  const lines = (...more) => [put(0, 1, 2, 'o', '0x1'), ...more,
    put(2, 5, 6, 'b', refused('ConditionNotMet'), { ifMatch: '0x1' })];
  accepts(register, lines(put(1, 3, NEVER, 'a', undefined)));
  refuses(register, lines(), 1);
});

test('nobody can hold the ETag of a write that nobody has seen', () => {
  refuses(register, [put(0, 1, 2, 'o', '0x1'), put(1, 3, NEVER, 'a', undefined),
    put(2, 5, 6, 'b', '0x3', { ifMatch: '0x2' })], 2);
});

// --- leases ---

const lease = (client, start, end, action, args, result, clock) =>
  [client, start, end, 'lease', { action, ...args }, result, clock];
const present = refused('LeaseAlreadyPresent');
const CLOCK = { readings: [0, 14_000, 16_000] };
const made = put(0, 1, 2, 'o', '0x1');
const same = { etag: '0x1' };
const acquired = lease(1, 3, 4, 'acquire', { id: 'A', seconds: 15 }, same, [0, 0]);

test('two holders of a lease are refused, one after the other is not', () => {
  const second = (at) => lease(2, 5, 6, 'acquire', { id: 'B', seconds: 15 }, same, [at, at]);
  accepts(register, [made, acquired, second(2)], CLOCK);
  refuses(register, [made, acquired, second(1)], 2, CLOCK);
  // The clock was moved while it was under way: either is right.
  for (const result of [same, present]) {
    accepts(register, [made, acquired,
      lease(2, 5, 6, 'acquire', { id: 'B', seconds: 15 }, result, [1, 2])], CLOCK);
  }
  const both = (end) => [made, lease(1, 3, 10, 'acquire', { id: 'A', seconds: -1 }, same, [0, 0]),
    lease(2, 3, 10, 'acquire', { id: 'B', seconds: -1 }, end, [0, 0])];
  accepts(register, both(present), CLOCK);
  refuses(register, both(same), 2, CLOCK);
});

test('a lease that was seen expired does not come back to life', () => {
  const shown = (start, state, at) =>
    get(2, start, start + 1, 'o', '0x1', state).concat([[at, at]]);
  accepts(register, [made, acquired, shown(5, 'leased', 1), shown(7, 'expired', 2)], CLOCK);
  refuses(register, [made, acquired, shown(5, 'expired', 2), shown(7, 'leased', 2)], 3, CLOCK);
});

test('a write without the id is refused by the model while the lease is held', () => {
  const write = (etag, conditions, at) => put(2, 5, 6, 'b', etag, conditions).concat([[at, at]]);
  accepts(register, [made, acquired, write(refused('LeaseIdMissing'), {}, 1)], CLOCK);
  accepts(register, [made, acquired, write('0x2', { lease: 'A' }, 1)], CLOCK);
  accepts(register, [made, acquired, write('0x2', {}, 2)], CLOCK);
  accepts(register, [made, acquired, write(refused('LeaseLost'), { lease: 'A' }, 2)], CLOCK);
  refuses(register, [made, acquired, write('0x2', {}, 1)], 2, CLOCK);
  refuses(register, [made, acquired, write('0x2', { lease: 'B' }, 1)], 2, CLOCK);
  refuses(register, [made, acquired, write('0x2', { lease: 'A' }, 2)], 2, CLOCK);
});

test('a break never outlives the lease, and a write makes an expired lease be forgotten', () => {
  const broken = (time) => lease(2, 5, 6, 'break', { seconds: 60 }, { etag: '0x1', time }, [1, 1]);
  accepts(register, [made, acquired, broken(1)], CLOCK);
  refuses(register, [made, acquired, broken(60)], 2, CLOCK);
  const renewed = (result) => lease(1, 7, 8, 'renew', { id: 'A' }, result, [2, 2]);
  const written = put(2, 5, 6, 'b', '0x2').concat([[2, 2]]);
  accepts(register, [made, acquired, renewed(same)], CLOCK);
  accepts(register, [made, acquired, written,
    renewed(refused('LeaseIdMismatchWithLeaseOperation'))], CLOCK);
  refuses(register, [made, acquired, written, renewed({ etag: '0x2' })], 3, CLOCK);
});

// --- snapshots ---

test('a snapshot shows what was there when it was taken, for ever', () => {
  const lines = (value, etag) => [put(0, 1, 2, 'o', '0x1'),
    [1, 3, 4, 'snapshot', {}, { snapshot: 's1', etag: '0x1' }], put(0, 5, 6, 'p', '0x2'),
    [1, 7, 8, 'getSnapshot', { snapshot: 's1' }, { content: value, etag }]];
  accepts(register, lines('o', '0x1'));
  refuses(register, lines('p', '0x2'), 3);
  accepts(register, [...lines('o', '0x1'), [0, 9, 10, 'deleteSnapshot', { snapshot: 's1' }, {}],
    [0, 11, 12, 'getSnapshot', { snapshot: 's1' }, gone]]);
});

test('a snapshot of pages is of one instant', () => {
  const lines = (slots) => [
    [0, 1, 2, 'create', { slots: 2 }, { etag: '0x1' }],
    [1, 3, 20, 'putPages', { from: 0, to: 1, value: 7 }, { etag: '0x2' }],
    [1, 21, 22, 'putPages', { from: 1, to: 2, value: 8 }, { etag: '0x3' }],
    [2, 4, 23, 'snapshot', {}, { snapshot: 's', etag: '0x2' }],
    [2, 24, 25, 'getSnapshot', { snapshot: 's' }, { content: slots, etag: '0x2' }]];
  accepts(pages, lines([7, 0]));
  refuses(pages, lines([0, 8]), 4);
  refuses(pages, lines([7, 8]), 4);
});

// --- block lists ---

const block = (client, start, end, id, value) =>
  [client, start, end, 'putBlock', { id, value }, {}];
const putList = (client, start, end, list, result) =>
  [client, start, end, 'putList', { list }, result];

test('a list is of the blocks as they were staged, and takes all of them or none', () => {
  const staged = [block(0, 1, 2, 'x', 1), block(0, 3, 4, 'y', 2)];
  const read = (content) => get(2, 9, 10, content, '0x1');
  const list = putList(1, 5, 6, [['latest', 'x'], ['uncommitted', 'y']], { etag: '0x1' });
  accepts(blocks, [...staged, list, read([['x', 1], ['y', 2]])]);
  refuses(blocks, [...staged, list, read([['x', 1]])], 3);
  const missing = (result) => putList(1, 5, 6, [['latest', 'x'], ['latest', 'z']], result);
  accepts(blocks, [...staged, missing(refused('InvalidBlockList')), get(2, 9, 10, null)]);
  refuses(blocks, [...staged, missing({ etag: '0x1' })], 2);
});

test('two lists of the same staged blocks: the first takes them away from the second', () => {
  const both = (result) => [block(0, 1, 2, 'x', 1),
    putList(1, 3, 10, [['uncommitted', 'x']], { etag: '0x1' }),
    putList(2, 3, 11, [['uncommitted', 'x']], result)];
  accepts(blocks, both(refused('InvalidBlockList')));
  refuses(blocks, both({ etag: '0x2' }), 2);
});

// --- appends ---

test('appends are at places of their own, and none is lost or done twice', () => {
  const add = (client, start, end, value, offset, etag, more = {}) => [client, start, end, 'append',
    { value, length: 10, ...more }, typeof etag === 'string' ? { etag, offset } : etag];
  const created = [0, 1, 2, 'create', {}, { etag: '0x1' }];
  const lines = (offset, content) => [created, add(1, 3, 10, 'a', 0, '0x2'),
    add(2, 3, 11, 'b', offset, '0x3'), get(3, 12, 13, content, '0x3')];
  accepts(append, lines(10, [['a', 10], ['b', 10]]));
  refuses(append, lines(0, [['b', 10]]), 2);
  refuses(append, lines(10, [['b', 10]]), 3);
  refuses(append, lines(10, [['a', 10], ['b', 10], ['b', 10]]), 3);
  const conditional = (result) => [created, add(1, 3, 10, 'a', 0, '0x2', { position: 0 }),
    add(2, 3, 11, 'b', 0, result, { position: 0 })];
  accepts(append, conditional(refused('AppendPositionConditionNotMet')));
  refuses(append, conditional('0x3'), 2);
});

// --- listings ---

test('a listing shows all names at one instant', () => {
  const lines = (blobs) => [
    [0, 1, 2, 'put', { name: 'x', value: 1 }, { etag: '0x1' }],
    [1, 3, 4, 'put', { name: 'y', value: 2 }, { etag: '0x2' }],
    [1, 5, 6, 'delete', { name: 'x' }, {}],
    [2, 1, 9, 'list', {}, { blobs }]];
  accepts(container, lines({ x: [1, '0x1'] }));
  accepts(container, lines({ x: [1, '0x1'], y: [2, '0x2'] }));
  accepts(container, lines({ y: [2, '0x2'] }));
  refuses(container, lines({ y: [2, '0x1'] }), 3);
  // The first is gone before the third is there.
  refuses(container, [...lines({ x: [1, '0x1'], z: [3, '0x3'] }),
    [1, 7, 8, 'put', { name: 'z', value: 3 }, { etag: '0x3' }]], 3);
});

test('a copy is of a state that its source had', () => {
  const lines = (value) => [
    [0, 1, 2, 'put', { name: 'x', value: 1 }, { etag: '0x1' }],
    [0, 3, 4, 'put', { name: 'x', value: 2 }, { etag: '0x2' }],
    [1, 3, 10, 'copy', { name: 'y', from: 'x' }, { etag: '0x3' }],
    [0, 5, 6, 'put', { name: 'x', value: 3 }, { etag: '0x4' }],
    [2, 11, 12, 'get', { name: 'y' }, { value, etag: '0x3' }]];
  for (const value of [1, 2, 3]) accepts(container, lines(value));
  refuses(container, lines(4), 4);
  refuses(container, [lines(1)[0], [0, 3, 4, 'put', { name: 'x', value: 2 }, { etag: '0x2' }],
    [1, 5, 6, 'copy', { name: 'y', from: 'x' }, { etag: '0x3' }],
    [2, 7, 8, 'get', { name: 'y' }, { value: 1, etag: '0x3' }]], 3);
});

// --- entity group transactions ---

const group = (client, start, end, changes, result) =>
  [client, start, end, 'group', { changes }, result];
const upsert = (row, value) => ({ kind: 'upsert', row, value });

test('a torn group is refused', () => {
  const lines = (entities) => [
    group(0, 1, 2, [upsert('a', 1), upsert('b', 1)], { etags: ['0x1', '0x1'] }),
    group(1, 3, 10, [upsert('a', 2), upsert('b', 2)], { etags: ['0x2', '0x2'] }),
    [2, 4, 5, 'query', {}, { entities }]];
  accepts(table, lines({ a: [1, '0x1'], b: [1, '0x1'] }));
  accepts(table, lines({ a: [2, '0x2'], b: [2, '0x2'] }));
  refuses(table, lines({ a: [2, '0x2'], b: [1, '0x1'] }), 2);
});

test('a refused group changes nothing, and is refused for the first change that fails', () => {
  const inserted = { kind: 'insert', row: 'b', value: 2 };
  const lines = (result, entities) => [
    group(0, 1, 2, [upsert('a', 1), upsert('b', 1)], { etags: ['0x1', '0x1'] }),
    group(1, 3, 4, [upsert('a', 2), inserted], result),
    [2, 5, 6, 'query', {}, { entities }]];
  const exists = refused('EntityAlreadyExists');
  accepts(table, lines(exists, { a: [1, '0x1'], b: [1, '0x1'] }));
  refuses(table, lines(exists, { a: [2, '0x2'], b: [1, '0x1'] }), 2);
  refuses(table, lines({ etags: ['0x2', '0x2'] }, { a: [2, '0x2'], b: [2, '0x2'] }), 1);
  refuses(table, lines(refused('ResourceNotFound'), { a: [1, '0x1'], b: [1, '0x1'] }), 1);
});

test('reads of two entities see two groups in one order', () => {
  const read = (client, start, row, value, etag) =>
    [client, start, start + 1, 'get', { row }, { value, etag }];
  const lines = (...last) => [
    group(0, 1, 2, [upsert('a', 1), upsert('b', 1)], { etags: ['0x1', '0x1'] }),
    group(1, 3, 20, [upsert('a', 2), upsert('b', 2)], { etags: ['0x2', '0x2'] }),
    read(2, 4, 'a', 2, '0x2'), read(2, 6, 'b', ...last)];
  accepts(table, lines(2, '0x2'));
  refuses(table, lines(1, '0x1'), 3);
});

// --- queues ---

const sent = (start, text, id, more = {}) => [0, start, start + 1, 'put',
  { text, seconds: 0, ...more }, { id, receipt: `r-${id}` }, [0, 0]];
const take = (client, start, end, messages, clock = [0, 0], most = 1) =>
  [client, start, end, 'get', { most, seconds: 15 }, { messages }, clock];
const message = (text, id, count, receipt) => ({ text, id, count, receipt });
const first = message('m', 1, 1, 'r1');

test('a message that is handed out twice within its time is refused', () => {
  const lines = (second, at) => [sent(1, 'm', 1), take(1, 3, 9, [first]),
    take(2, 4, 10, [second], [0, at])];
  accepts(queue, lines(message('m', 1, 2, 'r2'), 2), CLOCK);
  refuses(queue, lines(message('m', 1, 2, 'r2'), 1), 2, CLOCK);
  refuses(queue, lines(message('m', 1, 1, 'r2'), 2), 2, CLOCK);
});

test('a lost message, an invented one and one that comes back deleted are refused', () => {
  refuses(queue, [sent(1, 'm', 1), take(1, 3, 4, [])], 1);
  const two = [sent(1, 'm', 1), sent(3, 'n', 2)];
  accepts(queue, [...two, take(1, 5, 6, [first])]);
  refuses(queue, [...two, take(1, 5, 6, [message('n', 2, 1, 'r')])], 2);
  refuses(queue, [sent(1, 'm', 1), take(1, 3, 4, [message('n', 2, 1, 'r')])], 1);
  const deleted = [1, 5, 6, 'delete', { id: 1, receipt: 'r1' }, {}, [0, 0]];
  accepts(queue, [sent(1, 'm', 1), take(1, 3, 4, [first]), deleted, take(2, 7, 8, [], [2, 2])],
    CLOCK);
  refuses(queue, [sent(1, 'm', 1), take(1, 3, 4, [first]), deleted,
    take(2, 7, 8, [message('m', 1, 2, 'r2')], [2, 2])], 3, CLOCK);
});

test('a receipt is good until the message is handed out again', () => {
  const lines = (between, result) => [sent(1, 'm', 1), take(1, 3, 4, [first]), ...between,
    [1, 7, 8, 'delete', { id: 1, receipt: 'r1' }, result, [2, 2]]];
  const again = take(2, 5, 6, [message('m', 1, 2, 'r2')], [2, 2]);
  accepts(queue, lines([], {}), CLOCK);
  accepts(queue, lines([again], refused('PopReceiptMismatch')), CLOCK);
  refuses(queue, lines([again], {}), 3, CLOCK);
});

test('a message is gone when its time to live is over', () => {
  const lines = (at, messages) => [sent(1, 'm', 1, { ttl: 15 }), take(1, 3, 4, messages, [at, at])];
  accepts(queue, lines(1, [first]), CLOCK);
  accepts(queue, lines(2, []), CLOCK);
  refuses(queue, lines(2, [first]), 1, CLOCK);
  refuses(queue, lines(1, []), 1, CLOCK);
});

test('what a killed server handed out is out of sight, or was never handed out', () => {
  const lines = (...peeked) => [sent(1, 'm', 1), sent(3, 'n', 2),
    [1, 5, 6, 'get', { most: 1, seconds: 15 }, undefined, [0, 0]],
    [2, 7, 8, 'peek', { most: 32 }, { messages: peeked }, [0, 0]]];
  const m = message('m', 1, 0);
  const n = message('n', 2, 0);
  for (const peeked of [[m, n], [n]]) accepts(queue, lines(...peeked), CLOCK);
  for (const peeked of [[], [m], [n, m]]) refuses(queue, lines(...peeked), 3, CLOCK);
  accepts(queue, [...lines(n), [2, 9, 10, 'peek', { most: 32 },
    { messages: [n, message('m', 1, 1)] }, [2, 2]]], CLOCK);
  refuses(queue, [...lines(n), [2, 9, 10, 'peek', { most: 32 },
    { messages: [n, m] }, [2, 2]]], 4, CLOCK);
});

test('a change counts from a time that the clock showed while it was under way', () => {
  const lines = (start, clock) => [
    [0, start, 20, 'put', { text: 'm', seconds: 15 }, { id: 1, receipt: 'r' }, clock],
    [1, 5, 6, 'peek', { most: 32 }, { messages: [] }, [2, 2]],
    [1, 21, 22, 'peek', { most: 32 }, { messages: [message('m', 1, 0)] }, [2, 2]]];
  accepts(queue, lines(3, [0, 2]), CLOCK);
  refuses(queue, lines(7, [2, 2]), 2, CLOCK);
  // Nor does time go back from one change to the next.
  refuses(queue, [
    [0, 3, 20, 'put', { text: 'm', seconds: 15 }, { id: 1, receipt: 'r' }, [0, 2]],
    [1, 4, 5, 'put', { text: 'n', seconds: 0 }, { id: 2, receipt: 's' }, [2, 2]],
    [1, 6, 7, 'peek', { most: 32 }, { messages: [message('n', 2, 0)] }, [2, 2]],
    [1, 30, 31, 'peek', { most: 32 },
      { messages: [message('m', 1, 0), message('n', 2, 0)] }, [2, 2]]], 3, CLOCK);
});

// --- files ---

test('a range is written as a whole, and a rename moves a file at one instant', () => {
  const created = [0, 1, 2, 'create', { name: 'f', slots: 2 }, { etag: '0x1' }];
  const written = [1, 3, 10, 'putRange', { name: 'f', from: 0, to: 2, value: 7 }, { etag: '0x2' }];
  const read = (slots, etag) => [2, 4, 9, 'get', { name: 'f' }, { slots, etag }];
  accepts(share, [created, written, read([0, 0], '0x1')]);
  accepts(share, [created, written, read([7, 7], '0x2')]);
  refuses(share, [created, written, read([7, 0], '0x2')], 2);
  const renamed = [1, 3, 10, 'rename', { name: 'f', to: 'g' }, { etag: '0x2' }];
  const listed = (files) => [2, 4, 9, 'list', {}, { files }];
  accepts(share, [created, renamed, listed({ f: '0x1' })]);
  accepts(share, [created, renamed, listed({ g: '0x2' })]);
  refuses(share, [created, renamed, listed({ f: '0x1', g: '0x2' })], 2);
  refuses(share, [created, renamed, listed({})], 2);
  refuses(share, [created, renamed,
    [2, 11, 12, 'putRange', { name: 'f', from: 0, to: 1, value: 3 }, { etag: '0x3' }]], 2);
});

test('a snapshot of a share is one instant of all of its files', () => {
  const lines = (f, g) => [
    [0, 1, 2, 'create', { name: 'f', slots: 1 }, { etag: '0x1' }],
    [0, 3, 4, 'create', { name: 'g', slots: 1 }, { etag: '0x2' }],
    [1, 5, 6, 'putRange', { name: 'f', from: 0, to: 1, value: 7 }, { etag: '0x3' }],
    [1, 7, 8, 'putRange', { name: 'g', from: 0, to: 1, value: 8 }, { etag: '0x4' }],
    [2, 5, 9, 'snapshot', {}, { snapshot: 's' }],
    [2, 10, 11, 'getSnapshot', { snapshot: 's', name: 'f' },
      { slots: [f], etag: f ? '0x3' : '0x1' }],
    [2, 12, 13, 'getSnapshot', { snapshot: 's', name: 'g' },
      { slots: [g], etag: g ? '0x4' : '0x2' }],
  ];
  for (const [f, g] of [[0, 0], [7, 0], [7, 8]]) accepts(share, lines(f, g));
  refuses(share, lines(0, 8), 6);
});

// --- the search itself ---

test('the explanation has the operations of the contradiction, and no others', () => {
  const noise = Array.from({ length: 30 }, (_, i) => get(9, 100 + 2 * i, 101 + 2 * i, 'a', '0x1'));
  const { explanation } = verdict(register, [put(1, 1, 2, 'a', '0x1'), ...noise,
    put(3, 200, 201, 'b', '0x2'), get(4, 202, 203, 'b', '0x2'), get(4, 204, 205, 'a', '0x1')],
  { object: 'x/y' });
  assert.equal(explanation, [
    'blob x/y is not linearizable',
    '  before: {"exists":true,"etag":"0x2","floor":"0x2","content":"b",' +
      '"lease":{"state":"available"},"snapshots":{}}',
    '  204 to 205  client 4: get -> content=a etag=0x1 lease=available' +
      '   <- no order explains this answer',
  ].join('\n'));
});

test('a check goes on where the one before it ended, with everything that was possible', () => {
  const unseen = historyOf([put(0, 1, 2, 'o', '0x1'), put(1, 3, 5, 'a', undefined)]);
  const { situations } = check(register, unseen);
  assert.equal(situations.length, 2);
  for (const [value, etag] of [['o', '0x1'], ['a', '0x2']]) {
    accepts(register, [get(2, 6, 7, value, etag)], { situations });
  }
  refuses(register, [get(2, 6, 7, 'b', '0x2')], 0, { situations });
});

// Histories that a random order of random operations makes are linearizable by construction, and
// stop being so when one answer is changed for one that no operation can have.
test('random histories are accepted if right and refused with one wrong answer', () => {
  const random = seeded('checker');
  for (let round = 0; round < 150; round++) {
    const own = new Random(random.between(0, 2 ** 30));
    const lines = randomHistory(own, own.between(2, 30), own.between(1, 5));
    accepts(register, lines);
    const reads = lines.filter(([, , , name, , result]) => name === 'get' && result.etag);
    if (reads.length === 0) continue;
    const wrong = own.pick(reads);
    const changed = lines.map((line) => (line === wrong
      ? [...line.slice(0, 5), { ...line[5], etag: '0xffffff' }] : line));
    assert.ok(!verdict(register, changed).ok, 'a wrong answer is accepted');
  }
});

// Operations that take effect one after the other, each at an instant of an interval that overlaps
// those of up to `width` others.
function randomHistory(random, count, width) {
  let value = null;
  let etag = 0;
  const hex = () => `0x${etag.toString(16).padStart(6, '0')}`;
  return Array.from({ length: count }, (_, i) => {
    const instant = 1000 * (i + 1);
    const start = instant - random.between(1, 1000 * width - 1);
    const end = instant + random.between(1, 1000 * width - 1);
    if (random.next() < 0.5) return get(i, start, end, value, hex());
    value = `v${i}`;
    etag++;
    return put(i, start, end, value, hex());
  });
}
