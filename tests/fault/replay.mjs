// What a power cut leaves of a directory, from the log of what a process did to it.
//
// The log is written by record.c.  An event is, in little-endian:
//
//   u32 magic "ERFZ", u16 kind, u16 length of the path, u32 handle, u32 flags, u64 offset, u64 size,
//   u32 length of the other path, u32 length of the bytes; then path, other path, bytes
//
// The rules, which are those a careful program may rely on:
//
//   - What was written to a file before an fsync or fdatasync of it began is there once the sync has
//     ended: bytes, size and holes.  The file's name is not.
//   - A name made, changed or removed is durable after a sync of its directory.  Before that, of the
//     operations on one directory those up to any point survive; directories do not wait for each
//     other.  A rename is one operation.
//   - Of what was written since the sync, each sector of 512 bytes is as it was after any number of
//     the writes to it, whatever happened to others.  Where a file grew, its size is anything between,
//     and what did not get there reads as zeroes.
//   - A change of size by truncation is not overtaken by what was written after it.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

const MAGIC = 0x5a465245;
const HEAD_BYTES = 40;
const SECTOR = 512;
const KINDS = [undefined, 'start', 'open', 'write', 'truncate', 'allocate', 'rename',
  'unlink', 'link', 'mkdir', 'rmdir', 'syncBegin', 'syncEnd', 'socket'];
const O_CREAT = 0o100;
const O_TRUNC = 0o1000;
const O_DSYNC = 0o10000;
const KEEP_SIZE = 1;
const PUNCH_HOLE = 2;
const ZERO_RANGE = 16;

// The events of a log, each with the position of its end.
export function* eventsOf(log) {
  let at = 0;
  while (at + HEAD_BYTES <= log.length) {
    assert.equal(log.readUInt32LE(at), MAGIC, `no event at ${at} of the log`);
    const pathLength = log.readUInt16LE(at + 6);
    const otherLength = log.readUInt32LE(at + 32);
    const dataLength = log.readUInt32LE(at + 36);
    const pathAt = at + HEAD_BYTES;
    const otherAt = pathAt + pathLength;
    const dataAt = otherAt + otherLength;
    const end = dataAt + dataLength;
    if (end > log.length) return;
    yield {
      kind: KINDS[log.readUInt16LE(at + 4)],
      handle: log.readUInt32LE(at + 8),
      flags: log.readUInt32LE(at + 12),
      offset: Number(log.readBigUInt64LE(at + 16)),
      size: Number(log.readBigUInt64LE(at + 24)),
      path: log.toString('utf8', pathAt, otherAt),
      other: log.toString('utf8', otherAt, dataAt),
      data: log.subarray(dataAt, end),
      end,
    };
    at = end;
  }
}

// --- contents ---

// Bytes that can grow; what was never written is zero.
class Content {
  constructor(bytes = Buffer.alloc(0), size = 0) {
    this.bytes = bytes;
    this.size = size;
  }

  copy() {
    return new Content(Buffer.from(this.bytes.subarray(0, this.size)), this.size);
  }

  resize(size) {
    if (size > this.bytes.length) {
      const grown = Buffer.alloc(Math.max(size, 2 * this.bytes.length));
      this.bytes.copy(grown, 0, 0, this.size);
      this.bytes = grown;
    } else if (size < this.size) {
      this.bytes.fill(0, size, this.size);
    }
    this.size = size;
  }

  // Writes `data`, or zeroes where it is null.
  write(from, end, data) {
    if (end > this.size) this.resize(end);
    if (data === null) this.bytes.fill(0, from, end);
    else data.copy(this.bytes, from);
  }
}

// A file: what is durable of it, and what was done since: { from, end, data, grows } for bytes
// written or (null) zeroed, { size } for a truncation.
class File {
  constructor() {
    this.durable = new Content();
    this.pending = [];
    this.settled = 0; // how many are in `durable`
    this.size = 0; // as the process sees it
  }

  static of(bytes) {
    const file = new File();
    file.durable = new Content(bytes, bytes.length);
    file.size = bytes.length;
    return file;
  }

  change(change) {
    this.pending.push(change);
    if (change.size !== undefined) this.size = change.size;
    else this.size = Math.max(this.size, change.end);
  }

  static apply(content, { size, from, end, data }) {
    if (size !== undefined) content.resize(size);
    else content.write(from, end, data);
  }

  get mark() {
    return this.settled + this.pending.length;
  }

  // Everything before `mark` is durable.
  sync(mark) {
    const count = mark - this.settled;
    if (count <= 0) return;
    for (const change of this.pending.splice(0, count)) File.apply(this.durable, change);
    this.settled = mark;
  }

  // The bytes that are there after a cut.
  cut(random, style) {
    const { pending } = this;
    if (pending.length === 0 || style === 'dropped') {
      return this.durable.bytes.subarray(0, this.durable.size);
    }
    const content = this.durable.copy();
    const way = style === 'kept' ? 'kept' : random.pick(['kept', 'dropped', 'prefix', 'sectors',
      'sectors']);
    if (way === 'kept') for (const change of pending) File.apply(content, change);
    if (way === 'prefix') this.#keepPrefix(content, random);
    if (way === 'sectors') this.#keepSectors(content, random);
    return content.bytes.subarray(0, content.size);
  }

  // The writes up to one of which some sectors are there.
  #keepPrefix(content, random) {
    const count = random.between(0, this.pending.length - 1);
    for (const change of this.pending.slice(0, count)) File.apply(content, change);
    const { from, end, data } = this.pending[count];
    if (from === undefined) return;
    const kept = Math.min(end, (Math.floor(from / SECTOR) +
      random.between(0, Math.ceil((end - from) / SECTOR))) * SECTOR);
    if (kept > from) content.write(from, kept, data === null ? null : data.subarray(0, kept - from));
  }

  #keepSectors(content, random) {
    // Nothing overtakes a truncation.
    const truncations = this.pending.flatMap(({ size }, i) => (size === undefined ? [] : [i]));
    const limit = random.pick([...truncations, this.pending.length]);
    const changes = this.pending.slice(0, limit);
    const likely = random.pick([0.1, 0.5, 0.9, 0.99]);
    const kept = new Map(); // sector to how many of the changes it has
    const keptOf = (sector) => {
      if (!kept.has(sector)) {
        kept.set(sector, random.next() < likely ? limit
          : random.next() < 0.7 ? 0 : random.between(0, limit));
      }
      return kept.get(sector);
    };
    let sure = content.size; // the file is at least that long
    let most = content.size;
    changes.forEach(({ size, from, end, data }, i) => {
      if (size !== undefined) {
        content.resize(size);
        sure = size;
        most = size;
        return;
      }
      most = Math.max(most, end);
      for (let at = from; at < end;) {
        const next = Math.min(end, (Math.floor(at / SECTOR) + 1) * SECTOR);
        if (i < keptOf(Math.floor(at / SECTOR))) {
          content.write(at, next, data === null ? null : data.subarray(at - from, next - from));
        }
        at = next;
      }
    });
    const roll = random.next();
    if (roll < 0.3) content.resize(random.between(content.size, Math.max(content.size, most)));
    else if (roll < 0.5) content.resize(random.between(Math.min(sure, content.size), content.size));
  }
}

// --- names ---

class Directory {
  constructor() {
    this.entries = new Map(); // as the process sees them
    this.durable = new Map();
    this.pending = []; // functions that change such a map
    this.settled = 0;
  }

  change(change) {
    change(this.entries);
    this.pending.push(change);
  }

  get mark() {
    return this.settled + this.pending.length;
  }

  sync(mark) {
    const count = mark - this.settled;
    if (count <= 0) return;
    for (const change of this.pending.splice(0, count)) change(this.durable);
    this.settled = mark;
  }

  // The names that are there after a cut.
  cut(random, style) {
    const entries = new Map(this.durable);
    const count = this.pending.length;
    const kept = style === 'kept' ? count : style === 'dropped' ? 0
      : random.pick([0, count, random.between(0, count), random.between(0, count)]);
    for (const change of this.pending.slice(0, kept)) change(entries);
    return entries;
  }
}

// A name without content, which nobody misses.
class Socket {}

// --- the log played back ---

// A directory as it is, all of it durable.
export function treeOf(directory) {
  const tree = new Directory();
  for (const entry of fs.readdirSync(directory, { withFileTypes: true })) {
    const where = path.join(directory, entry.name);
    if (!entry.isDirectory() && !entry.isFile()) continue;
    const node = entry.isDirectory() ? treeOf(where) : File.of(fs.readFileSync(where));
    tree.durable.set(entry.name, node);
    tree.entries.set(entry.name, node);
  }
  return tree;
}

export class Replay {
  // `tree` is what was there when the recording began.  Syncs of paths for which `ignores` is true
  // are taken as not done.
  constructor(log, root, { tree = new Directory(), ignores = () => false } = {}) {
    this.events = eventsOf(log);
    this.root = root;
    this.ignores = ignores;
    this.tree = tree;
    this.handles = new Map();
    this.syncs = new Map();
    this.next = this.events.next();
  }

  // Plays all events that end at `position` or before it.
  advance(position) {
    while (!this.next.done && this.next.value.end <= position) {
      this[this.next.value.kind](this.next.value);
      this.next = this.events.next();
    }
  }

  // What a cut here leaves, with everything that was not synced kept, with none of it, or with some:
  // a map of names to bytes, or to such a map for a directory.
  left(random, style) {
    const look = (node) => {
      const names = new Map();
      for (const [name, child] of node.cut(random, style)) {
        if (child instanceof Directory) names.set(name, look(child));
        else if (child instanceof File) names.set(name, child.cut(random, style));
      }
      return names;
    };
    return look(this.tree);
  }

  // Writes the directory that a cut here leaves; how it was made.
  cut(directory, random,
    style = random.pick(['kept', 'dropped', 'dropped', ...Array(12).fill('mixed')])) {
    const write = (names, where) => {
      fs.mkdirSync(where, { recursive: true });
      for (const [name, content] of names) {
        if (content instanceof Map) write(content, path.join(where, name));
        else fs.writeFileSync(path.join(where, name), content);
      }
    };
    write(this.left(random, style), directory);
    return style;
  }

  // The node of a path, and the directory and name that lead to it.
  #find(full) {
    assert.ok(full === this.root || full.startsWith(`${this.root}/`), full);
    const names = full.slice(this.root.length).split('/').filter(Boolean);
    let parent = null;
    let node = this.tree;
    for (const name of names) {
      parent = node;
      assert.ok(parent instanceof Directory, full);
      node = parent.entries.get(name);
    }
    return { node, parent, name: names.at(-1) };
  }

  #add(full, node) {
    const { parent, name } = this.#find(full);
    parent.change((entries) => entries.set(name, node));
  }

  #remove(full) {
    const { parent, name, node } = this.#find(full);
    assert.notEqual(node, undefined, `${full} is not there`);
    parent.change((entries) => entries.delete(name));
  }

  start() {
    this.handles.clear();
    this.syncs.clear();
  }

  open({ path: full, handle, flags, size: created }) {
    if (created && (flags & O_CREAT) !== 0) this.#add(full, new File());
    const { node } = this.#find(full);
    assert.notEqual(node, undefined, `${full} was there before the recording`);
    if ((flags & O_TRUNC) !== 0 && node.size > 0) node.change({ size: 0 });
    this.handles.set(handle, { node, full, isSynced: (flags & O_DSYNC) !== 0 });
  }

  #change(handle, change) {
    const { node, isSynced } = this.handles.get(handle);
    node.change(change);
    if (isSynced) node.sync(node.mark);
  }

  write({ handle, offset, data }) {
    this.#change(handle, { from: offset, end: offset + data.length, data });
  }

  truncate({ handle, size }) {
    this.#change(handle, { size });
  }

  // Space that is only set aside changes nothing that can be read.
  allocate({ handle, flags, offset, size }) {
    const { node } = this.handles.get(handle);
    const keepsSize = (flags & KEEP_SIZE) !== 0;
    const zeroes = (flags & (PUNCH_HOLE | ZERO_RANGE)) !== 0;
    assert.equal(flags & ~(KEEP_SIZE | PUNCH_HOLE | ZERO_RANGE), 0, 'a mode of fallocate');
    const end = keepsSize ? Math.min(node.size, offset + size) : offset + size;
    if (zeroes && end > offset) this.#change(handle, { from: offset, end, data: null });
    else if (end > node.size) this.#change(handle, { size: end });
  }

  rename({ path: from, other: to }) {
    const old = this.#find(from);
    const target = this.#find(to);
    assert.equal(old.parent, target.parent, 'a rename between directories');
    old.parent.change((entries) => {
      entries.set(target.name, old.node);
      entries.delete(old.name);
    });
  }

  unlink({ path: full }) {
    this.#remove(full);
  }

  rmdir({ path: full }) {
    this.#remove(full);
  }

  link({ path: from, other: to }) {
    this.#add(to, this.#find(from).node);
  }

  mkdir({ path: full }) {
    this.#add(full, new Directory());
  }

  socket({ path: full }) {
    this.#add(full, new Socket());
  }

  syncBegin({ handle, size: sync }) {
    const { node, full } = this.handles.get(handle);
    if (!this.ignores(full.slice(this.root.length + 1))) {
      this.syncs.set(sync, { node, mark: node.mark });
    }
  }

  syncEnd({ size: sync }) {
    const begun = this.syncs.get(sync);
    this.syncs.delete(sync);
    begun?.node.sync(begun.mark);
  }
}
