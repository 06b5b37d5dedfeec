// The rules of replay.mjs, each by a log of a few events.

import test from 'node:test';
import assert from 'node:assert/strict';
import { Random, seeded } from '../e2e/helpers/random.mjs';
import { Replay } from './replay.mjs';

const ROUNDS = 400;
const KIND = { open: 2, write: 3, truncate: 4, allocate: 5, rename: 6, unlink: 7, mkdir: 9,
  syncBegin: 11, syncEnd: 12 };
const CREATE = 0o100;
const seed = seeded('replay').between(0, 2 ** 30);

function event(kind, { file = '', other = '', handle = 0, flags = 0, offset = 0, size = 0,
  data = '' }) {
  const full = (name) => Buffer.from(name === '' ? '' : `/r${name}`.replace(/\/$/, ''));
  const bytes = Buffer.from(data);
  const head = Buffer.alloc(40);
  head.writeUInt32LE(0x5a465245, 0);
  head.writeUInt16LE(KIND[kind], 4);
  head.writeUInt16LE(full(file).length, 6);
  head.writeUInt32LE(handle, 8);
  head.writeUInt32LE(flags, 12);
  head.writeBigUInt64LE(BigInt(offset), 16);
  head.writeBigUInt64LE(BigInt(size), 24);
  head.writeUInt32LE(full(other).length, 32);
  head.writeUInt32LE(bytes.length, 36);
  return Buffer.concat([head, full(file), full(other), bytes]);
}

let handles = 0;
let syncs = 0;
const create = (file) => {
  const handle = ++handles;
  return [handle, event('open', { file, handle, flags: CREATE, size: 1 })];
};
const open = (file) => {
  const handle = ++handles;
  return [handle, event('open', { file, handle })];
};
const sync = (handle) => {
  const size = ++syncs;
  return [event('syncBegin', { handle, size }), event('syncEnd', { handle, size })];
};
const [root, openRoot] = open('/');

// What the cuts after these events leave, with many seeds: the different { name: bytes }.
const outcomes = (...events) => outcomesOf(ROUNDS, ...events);

function outcomesOf(rounds, ...events) {
  const log = Buffer.concat([openRoot, ...events]);
  const found = new Map();
  for (let round = 0; round < rounds; round++) {
    const replay = new Replay(log, '/r');
    replay.advance(log.length);
    const names = [...replay.left(new Random(seed + round), 'mixed')]
      .map(([name, content]) => [name, content.toString('latin1')]);
    const left = Object.fromEntries(names.sort());
    found.set(JSON.stringify(left), left);
  }
  return [...found.values()];
}

test('what was synced is there, and a name after the sync of its directory', () => {
  const [file, made] = create('/a');
  const written = event('write', { handle: file, data: 'bytes' });
  assert.deepEqual(outcomes(made, written, ...sync(file), ...sync(root)), [{ a: 'bytes' }]);
  const unnamed = outcomes(made, written, ...sync(file));
  assert.deepEqual(unnamed.length, 2);
  assert.ok(unnamed.some((left) => !('a' in left)), 'the name is lost at times');
  assert.ok(unnamed.every((left) => !('a' in left) || left.a === 'bytes'));
});

test('a sync says nothing of what was written after it began', () => {
  const [file, made] = create('/a');
  const [begin, end] = sync(file);
  const late = event('write', { handle: file, data: 'late' });
  const found = outcomes(made, begin, late, end, ...sync(root));
  assert.ok(found.some(({ a }) => a === ''));
  assert.ok(found.some(({ a }) => a === 'late'));
});

test('each sector has any number of its writes, in their order', () => {
  const [file, made] = create('/a');
  const write = (letter) => event('write', { handle: file, data: letter.repeat(1024) });
  // Some of them are rare.
  const found = outcomesOf(10 * ROUNDS, made, write('o'), ...sync(file), ...sync(root), write('x'),
    write('y'));
  const sectors = new Set(found.map(({ a }) => [0, 512].map((at) => {
    const sector = a.slice(at, at + 512);
    assert.equal(sector, sector[0].repeat(512), 'a sector is whole');
    return sector[0];
  }).join('')));
  assert.deepEqual([...sectors].sort(), ['oo', 'ox', 'oy', 'xo', 'xx', 'xy', 'yo', 'yx', 'yy']);
});

test('a file that grew ends anywhere, with zeroes for what is missing', () => {
  const [file, made] = create('/a');
  const found = outcomes(made, ...sync(root), event('write', { handle: file,
    data: 'z'.repeat(2048) }));
  const sizes = new Set(found.map(({ a }) => a.length));
  assert.ok(sizes.has(0) && sizes.has(2048) && sizes.size > 5);
  assert.ok(found.every(({ a }) => /^[z\0]*$/.test(a)));
  assert.ok(found.some(({ a }) => /\0z/.test(a)), 'a later sector without an earlier one');
  assert.ok(found.some(({ a }) => /z\0+$/.test(a)), 'zeroes at the end');
});

test('of the changes of names those up to a point are there, and a rename is one', () => {
  const [file, made] = create('/a');
  const [, second] = create('/b');
  const found = outcomes(made, event('write', { handle: file, data: 'a' }), ...sync(file),
    event('rename', { file: '/a', other: '/c' }), second, event('unlink', { file: '/c' }));
  const names = found.map((left) => Object.keys(left).join(''));
  assert.deepEqual([...new Set(names)].sort(), ['', 'a', 'b', 'bc', 'c']);
});

test('an unlinked file comes back with its bytes until its directory is synced', () => {
  const [file, made] = create('/a');
  const before = [made, event('write', { handle: file, data: 'a' }), ...sync(file), ...sync(root),
    event('unlink', { file: '/a' })];
  assert.deepEqual(new Set(outcomes(...before).map(({ a }) => a)), new Set(['a', undefined]));
  assert.deepEqual(outcomes(...before, ...sync(root)), [{}]);
});

test('a truncation is not overtaken by what was written after it', () => {
  const [file, made] = create('/a');
  const found = outcomes(made, event('write', { handle: file, data: 'o'.repeat(600) }),
    ...sync(file), ...sync(root), event('truncate', { handle: file, size: 0 }),
    event('write', { handle: file, offset: 0, data: 'n'.repeat(100) }));
  for (const { a } of found) assert.match(a, /^(o{600}|[n\0]*)$/);
  assert.ok(found.some(({ a }) => a === ''));
});

test('a hole is zeroes or what was there, and setting space aside changes nothing', () => {
  const [file, made] = create('/a');
  const before = [made, event('write', { handle: file, data: 'o'.repeat(1024) }), ...sync(file),
    ...sync(root)];
  assert.deepEqual(outcomes(...before, event('allocate', { handle: file, flags: 1, offset: 0,
    size: 1 << 20 })).map(({ a }) => a), ['o'.repeat(1024)]);
  const punched = event('allocate', { handle: file, flags: 3, offset: 512, size: 4096 });
  const [hole] = outcomes(...before, punched, ...sync(file));
  assert.equal(hole.a, 'o'.repeat(512) + '\0'.repeat(512));
  assert.equal(outcomes(...before, punched).length, 2);
});
