// Clients of shares: the load of file.test.mjs.

import assert from 'node:assert/strict';
import { md5 } from '../../e2e/helpers/digest.mjs';
import { fileSender } from '../../e2e/helpers/file.mjs';
import { ABSENT, Client, Thing } from './kills.mjs';

const CLIENTS = 6;
const SHARED = 'crash';
const SNAPSHOTS_MAX = 6;
const NODES_MAX = 20; // of a tree
const DEPTH_MAX = 3;
const KIB = 1024;
const SIZE_MAX = 300 * KIB;

// --- trees ---
//
// A state is null (the share is not there), or a map from paths in upper case to nodes:
//   kind       directory or file
//   name       as it was given, the last part of the path
//   id, etag   undefined when the answer that would have told them was lost
//   body       of a file
// Paths begin below the directory of the client.  Nodes are never changed, but for what is learned
// of them later; states share those that are the same.

const parentOf = (path) => path.split('/').slice(0, -1).join('/');
const inside = (path, directory) => path.startsWith(`${directory}/`);
const joined = (directory, name) => (directory === '' ? name : `${directory}/${name}`);
const depthOf = (path) => (path === '' ? 0 : path.split('/').length);
const pathsOf = (state, kind) => [...state].filter(([, node]) => node.kind === kind)
  .map(([path]) => path);

// What a client sees of a node, computed once.
function digestOf(node) {
  if (node.digest === undefined && node.body !== undefined) {
    node.digest = `${node.body.length} ${md5(node.body)}`;
  }
  return node.digest;
}

const sameNode = (known, seen) => seen !== undefined && known.kind === seen.kind &&
  known.name === seen.name && (known.etag === undefined || known.etag === seen.etag) &&
  (known.id === undefined || known.id === seen.id) && digestOf(known) === seen.digest;

function agrees(state, seen) {
  if (state === ABSENT || seen === ABSENT) return state === seen;
  return state.size === seen.size &&
    [...state].every(([path, node]) => sameNode(node, seen.get(path)));
}

const describe = (state) => (state === ABSENT ? 'absent' : `{\n${[...state].sort().map(
  ([path, node]) => `  ${path}: ${node.kind} ${node.name} ${node.id} ${node.etag} ${
    digestOf(node) ?? ''}`).join('\n')}\n}`);

// The state that was there, with the ids and ETags it turned out to have.
function learned(state, seen) {
  for (const [path, node] of state ?? []) {
    const { id, etag } = seen.get(path);
    Object.assign(node, { id, etag });
  }
  return state;
}

// --- looking at the server ---

// The tree below `base` as it is; `query` names a snapshot.
async function observed(send, base, query = '') {
  const seen = new Map();
  const walk = async (path) => {
    const list = await send('GET', `${joined(base, path)}?restype=directory&comp=list&include=Etag${
      query}`, { 'x-ms-file-extended-info': 'true' });
    if (list.code === 'ShareNotFound') return false;
    assert.equal(list.status, 200, `${base}/${path}${query}: ${list.code}`);
    for (const [, element, name, id, properties] of list.body.toString().matchAll(
      /<(File|Directory)><Name>(.*?)<\/Name><FileId>(\d+)<\/FileId><Properties>(.*?)<\/Properties>/g)) {
      const own = joined(path, name.toUpperCase());
      const kind = element.toLowerCase();
      const [, etag] = /<Etag>(.*?)<\/Etag>/.exec(properties);
      seen.set(own, { kind, name, id, etag });
      if (kind === 'directory') await walk(own);
      else await look(own, seen.get(own));
    }
    return true;
  };
  const look = async (path, node) => {
    const { status, headers, body } = await send('GET', `${joined(base, path)}${
      query.replace('&', '?')}`);
    assert.equal(status, 200, `${base}/${path}${query}`);
    assert.equal(headers.etag, node.etag, 'the ETag in the listing is another');
    assert.equal(headers['x-ms-file-id'], node.id, 'the id in the listing is another');
    node.digest = `${body.length} ${md5(body)}`;
  };
  return (await walk('')) ? seen : ABSENT;
}

const snapshotQuery = (time) => `&sharesnapshot=${encodeURIComponent(time)}`;

// ETags and the names of snapshots are of one clock: 100 ns since the year 1.
const tickOf = (etag) => BigInt(JSON.parse(etag));
const ticksOf = (time) => BigInt(Date.parse(`${time.slice(0, 19)}Z`)) * 10000n +
  BigInt(time.slice(20, 27)) + 621355968000000000n;

// --- snapshots of the common share ---

class Snapshots {
  constructor() {
    this.all = []; // { time, seen: by the client, leaving }
    this.unknown = 0; // requests to take one that were lost
  }

  // Compares which there are.
  async settle(send, when) {
    const { body } = await send('GET', `?comp=list&include=snapshots&prefix=${SHARED}`);
    const times = [...body.toString().matchAll(/<Snapshot>(.*?)<\/Snapshot>/g)]
      .map(([, time]) => time);
    this.all = this.all.filter((snapshot) => {
      const isThere = times.includes(snapshot.time);
      assert.ok(isThere || snapshot.leaving, `${when}: the snapshot ${snapshot.time} is lost`);
      snapshot.leaving = false;
      return isThere;
    });
    const more = times.filter((time) => !this.all.some((known) => known.time === time));
    assert.ok(more.length <= this.unknown, `${when}: snapshots nobody took: ${more}`);
    this.unknown = 0;
    this.all.push(...more.map((time) => ({ time, seen: new Map(), leaving: false })));
  }
}

// --- a client ---

class FileClient extends Client {
  constructor(index, seed, server, snapshots) {
    super(index, seed);
    Object.assign(this, { server, snapshots });
    this.things = [`${SHARED}/c${index}`, `own${index}`].map((path) =>
      Object.assign(new Thing(path, agrees, describe), { history: [] }));
    const [common] = this.things;
    common.states = [new Map()];
    common.history = [{ state: common.state }];
  }

  // Sends a request that makes `after` of `thing`; `node` is what it changes, if that stays.
  async change(thing, after, node, method, path, headers = {}, body = null) {
    const entry = { state: after };
    thing.history.push(entry);
    const answer = await this.attempt(thing, after, method, path, headers, body);
    if (answer?.headers.etag === undefined || node === undefined) return;
    this.checkRises(answer.headers.etag);
    entry.tick = tickOf(answer.headers.etag);
    node.etag = answer.headers.etag;
    const id = answer.headers['x-ms-file-id'];
    if (id === undefined) return;
    assert.ok(node.id === undefined || node.id === id, `${path} was ${node.id} and is ${id}`);
    node.id = id;
  }

  step() {
    const thing = this.random.pick(this.things);
    const roll = this.random.next();
    if (thing.state === ABSENT) return this.makeShare(thing);
    if (thing.path !== this.things[0].path && roll < 0.02) return this.removeShare(thing);
    if (roll < 0.04) return this.snapshotStep();
    if (roll < 0.12) return this.refusedStep(thing);
    if (thing.state.size >= NODES_MAX) return this.remove(thing);
    const files = pathsOf(thing.state, 'file');
    if (files.length < 3 || roll < 0.25) return this.createFile(thing);
    if (roll < 0.35) return this.makeDirectory(thing);
    if (roll < 0.6) return this.write(thing, this.random.pick(files));
    if (roll < 0.65) return this.resize(thing, this.random.pick(files));
    if (roll < 0.8) return this.renameFile(thing, this.random.pick(files));
    if (roll < 0.93) return this.renameDirectory(thing);
    return this.remove(thing);
  }

  // --- names ---

  anyCase(name) {
    return this.random.next() < 0.5 ? name : name.toUpperCase();
  }

  // A directory that is not `avoided` nor in it, with room for `depth` levels below.
  directory(state, avoided = undefined, depth = 1) {
    return this.random.pick(['', ...pathsOf(state, 'directory')].filter((path) =>
      depthOf(path) + depth <= DEPTH_MAX && path !== avoided &&
      !(avoided !== undefined && inside(path, avoided))));
  }

  // A new name for a directory; undefined when that it came up with is taken.
  freeName(state, directory) {
    const name = this.anyCase(`d${this.random.between(0, 5)}`);
    return state.has(joined(directory, name.toUpperCase())) ? undefined : name;
  }

  // --- steps ---

  async makeShare(thing) {
    await this.change(thing, new Map(), undefined, 'PUT', `${thing.path}?restype=share`);
  }

  async removeShare(thing) {
    await this.change(thing, ABSENT, undefined, 'DELETE', `${thing.path}?restype=share`,
      { 'x-ms-delete-snapshots': 'include' });
  }

  async makeDirectory(thing) {
    const directory = this.directory(thing.state);
    const name = this.freeName(thing.state, directory);
    if (name === undefined) return;
    const node = { kind: 'directory', name };
    const after = new Map(thing.state).set(joined(directory, name.toUpperCase()), node);
    await this.change(thing, after, node, 'PUT',
      `${thing.path}/${joined(directory, name)}?restype=directory`);
  }

  // A file of zeroes, new or in the place of one that keeps its id and name.
  async createFile(thing) {
    const directory = this.directory(thing.state, undefined, 1);
    const given = this.anyCase(`f${this.random.between(0, 5)}`);
    const path = joined(directory, given.toUpperCase());
    const old = thing.state.get(path);
    const name = old?.name ?? given;
    const body = Buffer.alloc(this.random.pick([0, 1000, this.random.between(1, SIZE_MAX)]));
    const node = { kind: 'file', name, id: old?.id, body };
    await this.change(thing, new Map(thing.state).set(path, node), node, 'PUT',
      `${thing.path}/${joined(directory, name)}`,
      { 'x-ms-type': 'file', 'x-ms-content-length': body.length });
  }

  async write(thing, path) {
    const { body: old, ...node } = thing.state.get(path);
    if (old.length === 0) return this.resize(thing, path);
    const start = this.random.between(0, old.length - 1);
    const size = this.random.between(1, this.random.pick([100, 6 * KIB, SIZE_MAX]));
    const end = Math.min(old.length, start + size);
    const clears = this.random.next() < 0.2;
    const written = clears ? Buffer.alloc(end - start) : this.random.bytes(end - start);
    const body = Buffer.from(old);
    written.copy(body, start);
    const changed = { ...node, body, digest: undefined, etag: undefined };
    await this.change(thing, new Map(thing.state).set(path, changed), changed, 'PUT',
      `${thing.path}/${path}?comp=range`, { 'x-ms-write': clears ? 'clear' : 'update',
        'x-ms-range': `bytes=${start}-${end - 1}` }, clears ? null : written);
    return undefined;
  }

  async resize(thing, path) {
    const { body: old, ...node } = thing.state.get(path);
    const body = Buffer.alloc(this.random.between(0, SIZE_MAX));
    old.copy(body);
    const changed = { ...node, body, digest: undefined, etag: undefined };
    await this.change(thing, new Map(thing.state).set(path, changed), changed, 'PUT',
      `${thing.path}/${path}?comp=properties`, { 'x-ms-content-length': body.length,
        'x-ms-file-attributes': 'preserve', 'x-ms-file-creation-time': 'preserve',
        'x-ms-file-last-write-time': 'now', 'x-ms-file-permission': 'preserve' });
  }

  source(thing, path) {
    return { 'x-ms-file-rename-source': `${this.server.fileUrl}/${thing.path}/${path}` };
  }

  // To another name, perhaps one that differs in case only, or over another file.
  async renameFile(thing, from) {
    const directory = this.directory(thing.state, undefined, 1);
    const name = this.anyCase(`f${this.random.between(0, 5)}`);
    const to = joined(directory, name.toUpperCase());
    const node = { ...thing.state.get(from), name, etag: undefined };
    const after = new Map(thing.state);
    after.delete(from);
    after.set(to, node);
    await this.change(thing, after, node, 'PUT',
      `${thing.path}/${joined(directory, name)}?comp=rename`,
      { ...this.source(thing, from), 'x-ms-file-rename-replace-if-exists': 'true' });
  }

  async renameDirectory(thing) {
    const { state } = thing;
    const directories = pathsOf(state, 'directory');
    if (directories.length === 0) return this.makeDirectory(thing);
    const from = this.random.pick(directories);
    const held = [...state].filter(([path]) => inside(path, from));
    const height = Math.max(1, ...held.map(([path]) => depthOf(path) - depthOf(from) + 1));
    const directory = this.directory(state, from, height);
    const name = this.freeName(state, directory);
    if (name === undefined) return undefined;
    const to = joined(directory, name.toUpperCase());
    const node = { ...state.get(from), name, etag: undefined };
    const after = new Map([...state].filter(([path]) => path !== from && !inside(path, from)));
    after.set(to, node);
    for (const [path, one] of held) after.set(to + path.slice(from.length), one);
    await this.change(thing, after, node, 'PUT',
      `${thing.path}/${joined(directory, name)}?restype=directory&comp=rename`,
      this.source(thing, from));
    return undefined;
  }

  // A file, or a directory with nothing in it.
  async remove(thing) {
    const { state } = thing;
    const path = this.random.pick([...state.keys()].filter((one) =>
      ![...state.keys()].some((other) => inside(other, one))));
    const isFile = state.get(path).kind === 'file';
    const after = new Map(state);
    after.delete(path);
    await this.change(thing, after, undefined, 'DELETE',
      `${thing.path}/${path}${isFile ? '' : '?restype=directory'}`);
  }

  // Something that cannot be done: the tree stays as it is.
  refusedStep(thing) {
    const { state, path: base } = thing;
    const files = pathsOf(state, 'file');
    const directories = pathsOf(state, 'directory');
    const full = directories.filter((path) => [...state.keys()].some((one) => inside(one, path)));
    if (files.length < 2 || full.length === 0) return this.createFile(thing);
    const path = this.random.pick(files);
    const { length } = state.get(path).body;
    return this.random.pick([
      () => this.refused(thing, 'DirectoryNotEmpty', 'DELETE',
        `${base}/${this.random.pick(full)}?restype=directory`),
      () => this.refused(thing, 'ResourceAlreadyExists', 'PUT',
        `${base}/${this.random.pick(directories)}?restype=directory`),
      () => this.refused(thing, 'ResourceAlreadyExists', 'PUT',
        `${base}/${path}?comp=rename`,
        this.source(thing, this.random.pick(files.filter((one) => one !== path)))),
      () => this.refused(thing, 'InvalidRange', 'PUT', `${base}/${path}?comp=range`,
        { 'x-ms-write': 'update', 'x-ms-range': `bytes=${length}-${length + 99}` },
        this.random.bytes(100)),
      () => this.refused(thing, 'ParentNotFound', 'PUT', `${base}/absent/${path}`,
        { 'x-ms-type': 'file', 'x-ms-content-length': 1 }),
    ])();
  }

  // Takes a snapshot of the common share, or deletes one.
  async snapshotStep() {
    const { snapshots } = this;
    const idle = snapshots.all.filter(({ leaving }) => !leaving);
    const compared = idle.filter(({ seen }) => seen.size > 0);
    if (idle.length >= SNAPSHOTS_MAX) {
      return this.removeSnapshot(this.random.pick(compared.length > 0 ? compared : idle));
    }
    snapshots.unknown++;
    const answer = await this.sure('PUT', `${SHARED}?restype=share&comp=snapshot`);
    if (answer === undefined) return undefined;
    snapshots.unknown--;
    snapshots.all.push({ time: answer.headers['x-ms-snapshot'], seen: new Map(), leaving: false });
    return undefined;
  }

  async removeSnapshot(snapshot) {
    const { snapshots } = this;
    snapshot.leaving = true;
    const answer = await this.sure('DELETE',
      `${SHARED}?restype=share${snapshotQuery(snapshot.time)}`);
    if (answer !== undefined) {
      snapshots.all = snapshots.all.filter((other) => other !== snapshot);
    }
  }

  // A request about no thing of this client; undefined when the server is gone.
  async sure(method, path) {
    let answer;
    try {
      answer = await this.send(method, path);
    } catch {
      this.counts.unknown++;
      this.lost = true;
      return undefined;
    }
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.code}`);
    this.counts.acknowledged++;
    return answer;
  }

  // --- comparing ---

  async verify(send, when) {
    for (const thing of this.things) {
      thing.settle(await observed(send, thing.path), when, learned);
      if (thing.history.at(-1)?.state !== thing.state) thing.history.pop();
    }
    const [common] = this.things;
    for (const snapshot of this.snapshots.all) {
      const seen = await observed(send, common.path, snapshotQuery(snapshot.time));
      this.verifySnapshot(snapshot, seen, when);
    }
    for (const thing of this.things) thing.history = [{ state: thing.state }];
  }

  // A snapshot that is seen for the first time is of the states since the last look; the ETags say
  // which ones it can be.  Later it is what it was.
  verifySnapshot({ time, seen: before }, seen, when) {
    const known = before.get(this);
    before.set(this, seen);
    if (known !== undefined) {
      assert.deepEqual(seen, known, `${when}: the snapshot ${time} has changed`);
      return;
    }
    const { history, path } = this.things[0];
    const instant = ticksOf(time);
    const first = history.findLastIndex(({ tick }) => tick !== undefined && tick < instant);
    const after = history.findIndex(({ tick }) => tick !== undefined && tick > instant);
    const possible = history.slice(Math.max(0, first), after < 0 ? undefined : after);
    assert.ok(possible.some(({ state }) => agrees(state, seen)),
      `${when}: ${path} in the snapshot ${time} is ${describe(seen)}, but must be ${
        possible.map(({ state }) => describe(state)).join(' or ')}`);
  }
}

// The load; see killsUnderLoad.
export async function fileLoad(server, seed) {
  const snapshots = new Snapshots();
  const clients = Array.from({ length: CLIENTS }, (_, i) =>
    new FileClient(i, seed, server, snapshots));
  const send = fileSender(server);
  assert.equal((await send('PUT', `${SHARED}?restype=share`)).status, 201);
  for (const { things: [common] } of clients) {
    assert.equal((await send('PUT', `${common.path}?restype=directory`)).status, 201);
  }
  let compared = 0;
  return { clients, sender: fileSender,
    verify: async (sender, when) => {
      await snapshots.settle(sender, when);
      compared += snapshots.all.filter(({ seen }) => seen.size === 0).length;
      await Promise.all(clients.map((client) => client.verify(sender, when)));
    },
    finish: (t, rounds) => {
      t.diagnostic(`${compared} snapshots compared`);
      assert.ok(compared >= rounds / 4, 'too few snapshots to show anything');
    } };
}
