// Clients of blobs of every kind, with snapshots, copies and tags: the load of blob_kinds.test.mjs.

import assert from 'node:assert/strict';
import { md5 } from '../../e2e/helpers/digest.mjs';
import { sasSender } from '../../e2e/helpers/http.mjs';
import { accountSas } from '../../e2e/helpers/sign.mjs';
import { ABSENT, Client, Thing, listed } from './kills.mjs';

const CLIENTS = 6;
const CONTAINERS = ['kinds', 'kinds-other'];
const KIB = 1024;
const PAGE = 512;
const PAGES = 600;
const STAGED_MAX = 6;
const SNAPSHOTS_MAX = 3;
const APPENDED_MAX = 1024 * KIB;
const TYPE = { block: 'BlockBlob', append: 'AppendBlob', page: 'PageBlob' };

// --- what a blob is ---
//
// A state is null, or
//   kind         block, append or page; undefined when there are only uncommitted blocks
//   body, etag, meta, tags
//   blocks       committed: [{ id, body }]; none for a blob that was put as a whole
//   count        of appended blocks
//   pages        whether each page is written
//   staged       uncommitted blocks by their ids: { id: body }
//   snapshots    [{ time, and kind to pages as above }], from the oldest on
// An ETag or a time that the answer would have told is undefined.

const NOTHING = { kind: undefined, staged: {}, snapshots: [] };

function rangesOf(pages) {
  const ranges = [];
  for (let first = 0; first < pages.length; first++) {
    if (!pages[first]) continue;
    let end = first;
    while (end < pages.length && pages[end]) end++;
    ranges.push(`${first}-${end - 1}`);
    first = end;
  }
  return ranges.join(' ');
}

const sizes = (blocks) => blocks.map(({ id, body }) => `${id}:${body.length}`).join(' ');

// What a client sees of a blob or snapshot in that state, in the form of `observed`.
function shown(state) {
  const { kind, body, etag, meta, tags } = state;
  if (kind === undefined) return { kind };
  return {
    kind, digest: md5(body), size: body.length, etag, meta, tags,
    blocks: kind === 'block' ? sizes(state.blocks) : undefined,
    count: kind === 'append' ? String(state.count) : undefined,
    ranges: kind === 'page' ? rangesOf(state.pages) : undefined,
  };
}

function shownWhole(state) {
  if (state === ABSENT) return ABSENT;
  const staged = Object.entries(state.staged).sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([id, body]) => ({ id, body }));
  return {
    ...shown(state),
    staged: sizes(staged),
    snapshots: state.snapshots.map((snapshot) => ({ time: snapshot.time, ...shown(snapshot) })),
  };
}

// Whether the two are the same but for what the first does not know.
function same(known, seen) {
  return Object.keys(seen).every((name) => (name === 'snapshots'
    ? known.snapshots.length === seen.snapshots.length &&
      known.snapshots.every((snapshot, i) => same(snapshot, seen.snapshots[i]))
    : known[name] === seen[name] ||
      ((name === 'etag' || name === 'time') && known[name] === undefined)));
}

function agrees(state, seen) {
  if (state === ABSENT || seen === ABSENT) return state === seen;
  return same(shownWhole(state), seen);
}

// Of a state, or of what was seen, in which uncommitted blocks are text.
const describe = (state) =>
  JSON.stringify(typeof state?.staged === 'string' ? state : shownWhole(state));

// The state that was there, with the ETags and times it turned out to have.
function taken(state, seen) {
  if (state === ABSENT) return ABSENT;
  return { ...state, etag: seen.etag, snapshots: state.snapshots.map((snapshot, i) =>
    ({ ...snapshot, time: seen.snapshots[i].time, etag: seen.snapshots[i].etag })) };
}

// --- looking at the server ---

const all = (text, pattern) => [...text.matchAll(pattern)].map((match) => match.slice(1));

async function askBlocks(send, path, query) {
  const answer = await send('GET', `${path}?comp=blocklist&blocklisttype=all${query}`);
  if (answer.status === 404) return null;
  assert.equal(answer.status, 200, `block list of ${path}${query}: ${answer.code}`);
  const [committed, staged = ''] = answer.body.toString().split('<UncommittedBlocks');
  const list = (text) => all(text, /<Name>(.*?)<\/Name><Size>(\d+)<\/Size>/g)
    .map(([id, size]) => `${id}:${size}`).join(' ');
  return { committed: list(committed), staged: list(staged) };
}

async function askRanges(send, path, query) {
  const { status, body } = await send('GET', `${path}?comp=pagelist${query}`);
  assert.equal(status, 200, `page ranges of ${path}${query}`);
  return all(body.toString(), /<PageRange><Start>(\d+)<\/Start><End>(\d+)<\/End><\/PageRange>/g)
    .map(([start, end]) => `${start / PAGE}-${(Number(end) + 1) / PAGE - 1}`).join(' ');
}

async function askTags(send, path, query) {
  const { status, body } = await send('GET', `${path}?comp=tags${query}`);
  assert.equal(status, 200, `tags of ${path}${query}`);
  return all(body.toString(), /<Tag><Key>(.*?)<\/Key><Value>(.*?)<\/Value><\/Tag>/g)
    .map(([name, value]) => `${name}=${value}`).join('&');
}

// A blob or snapshot as it is, in the form of `shown`; `query` names a snapshot.
async function observed(send, path, query = '') {
  const { status, headers, body } = await send('GET', `${path}${query.replace('&', '?')}`);
  if (status === 404) return { kind: undefined };
  assert.equal(status, 200, `${path}${query}`);
  const kind = Object.keys(TYPE).find((name) => TYPE[name] === headers['x-ms-blob-type']);
  assert.ok([undefined, 'success'].includes(headers['x-ms-copy-status']), 'a copy half done');
  return {
    kind, digest: md5(body), size: body.length, etag: headers.etag,
    meta: headers['x-ms-meta-count'],
    tags: await askTags(send, path, query),
    blocks: kind === 'block' ? (await askBlocks(send, path, query)).committed : undefined,
    count: headers['x-ms-blob-committed-block-count'],
    ranges: kind === 'page' ? await askRanges(send, path, query) : undefined,
  };
}

async function observedWhole(send, path, times) {
  const base = await observed(send, path);
  const snapshots = await Promise.all(times.map(async (time) =>
    ({ time, ...await observed(send, path, `&snapshot=${encodeURIComponent(time)}`) })));
  const staged = ['append', 'page'].includes(base.kind) ? ''
    : (await askBlocks(send, path, ''))?.staged ?? '';
  if (base.kind === undefined && staged === '' && snapshots.length === 0) return ABSENT;
  return { ...base, staged, snapshots };
}

// The times of all snapshots in a container: { name: [time, ...] }.
async function snapshotTimes(send, container) {
  const { body } = await send('GET', `${container}?restype=container&comp=list&include=snapshots`);
  const times = {};
  for (const [name, time] of all(body.toString(),
    /<Blob><Name>(.*?)<\/Name>(?:<Snapshot>(.*?)<\/Snapshot>)?/g)) {
    times[name] ??= [];
    if (time !== undefined) times[name].push(time);
  }
  return times;
}

// --- a client ---

const listXml = (entries) => `<?xml version="1.0" encoding="utf-8"?><BlockList>${
  entries.map(({ source, id }) => `<${source}>${id}</${source}>`).join('')}</BlockList>`;

const sourceSas = accountSas();

const isBlob = ({ state }) => state !== ABSENT && state.kind !== undefined;

class KindsClient extends Client {
  constructor(index, seed) {
    super(index, seed);
    this.index = index;
    this.count = 0;
    this.things = Object.keys(TYPE).flatMap((kind) => CONTAINERS.flatMap((container) =>
      [0, 1].map((number) => Object.assign(
        new Thing(`${container}/${index}-${kind}-${number}`, agrees, describe), { kind }))));
  }

  // Sends a request that makes a new ETag and drops the uncommitted blocks, as all writes of a
  // blob's content do.
  async write(thing, after, query, headers, body) {
    const whole = { ...NOTHING, snapshots: thing.state?.snapshots ?? [], ...after, staged: {},
      etag: undefined };
    const answer = await this.attempt(thing, whole, 'PUT', thing.path + query, headers, body);
    if (answer === undefined) return;
    whole.etag = answer.headers.etag;
    this.checkRises(whole.etag);
  }

  // Sizes on both sides of what is stored inside a row; all different, so that what was in flight
  // can be told from what was there.
  content() {
    const small = this.random.next() < 0.5;
    const base = small ? this.random.between(1, 6 * KIB) : this.random.between(9 * KIB, 200 * KIB);
    return this.random.bytes(base + (++this.count % 1000));
  }

  // The headers that say what a new blob's metadata and tags are, and the fields of the state.
  dress() {
    const meta = String(++this.count);
    const tagged = this.random.next() < 0.5;
    const tags = tagged ? `n=${meta}&owner=${this.index}` : '';
    return {
      headers: { 'x-ms-meta-count': meta, ...(tagged ? { 'x-ms-tags': tags } : {}) },
      fields: { meta, tags },
    };
  }

  async step() {
    const thing = this.random.pick(this.things);
    const roll = this.random.next();
    if (!isBlob(thing) || roll < 0.45) return this.contentStep(thing);
    if (roll < 0.6) return this.snapshotStep(thing);
    if (roll < 0.75) return this.copyStep(thing);
    if (roll < 0.85) return this.tagStep(thing);
    if (roll < 0.9) return this.metadataStep(thing);
    return this.deleteStep(thing);
  }

  contentStep(thing) {
    if (thing.kind === 'block') return this.blockStep(thing);
    if (!isBlob(thing) || this.random.next() < 0.1) return this.createStep(thing);
    return thing.kind === 'append' ? this.appendStep(thing) : this.pageStep(thing);
  }

  createStep(thing) {
    const { kind } = thing;
    const { headers, fields } = this.dress();
    const type = { 'x-ms-blob-type': TYPE[kind], ...headers };
    if (kind === 'append') {
      return this.write(thing, { kind, body: Buffer.alloc(0), count: 0, ...fields }, '', type);
    }
    if (kind === 'page') {
      return this.write(thing, { kind, body: Buffer.alloc(PAGES * PAGE),
        pages: Array(PAGES).fill(false), ...fields }, '',
      { ...type, 'x-ms-blob-content-length': PAGES * PAGE });
    }
    const body = this.content();
    return this.write(thing, { kind, body, blocks: [], ...fields }, '', type, body);
  }

  async blockStep(thing) {
    const staged = thing.state?.staged ?? {};
    const roll = this.random.next();
    if (roll < 0.08) return this.createStep(thing);
    const count = Object.keys(staged).length;
    if (count < 2 || (count < STAGED_MAX && roll < 0.6)) {
      const id = Buffer.from(`id-${this.random.between(100, 109)}`).toString('base64');
      const body = this.content();
      const after = { ...thing.state ?? NOTHING, staged: { ...staged, [id]: body } };
      return this.attempt(thing, after, 'PUT',
        `${thing.path}?comp=block&blockid=${encodeURIComponent(id)}`, {}, body);
    }
    return this.commitStep(thing);
  }

  // Commits some of the uncommitted and some of the committed blocks, in any order.
  commitStep(thing) {
    const { state, kind } = thing;
    const entries = [];
    const some = (blocks, source) => {
      for (const { id, body } of blocks) {
        if (this.random.next() < 0.7 && !entries.some((entry) => entry.id === id)) {
          entries.splice(this.random.between(0, entries.length), 0, { id, body, source });
        }
      }
    };
    some(Object.entries(state.staged).map(([id, body]) => ({ id, body })),
      this.random.pick(['Latest', 'Uncommitted']));
    some(state.blocks ?? [], 'Committed');
    if (entries.length > 0 && this.random.next() < 0.3) entries.push(entries[0]);
    const blocks = entries.map(({ id, body }) => ({ id, body }));
    const { headers, fields } = this.dress();
    const body = Buffer.concat(blocks.map((block) => block.body));
    return this.write(thing, { kind, body, blocks, ...fields }, '?comp=blocklist', headers,
      listXml(entries));
  }

  appendStep(thing) {
    const { state } = thing;
    if (state.body.length > APPENDED_MAX) return this.createStep(thing);
    const added = this.content();
    const body = Buffer.concat([state.body, added]);
    const position = { 'x-ms-blob-condition-appendpos': state.body.length };
    return this.write(thing, { ...state, body, count: state.count + 1 }, '?comp=appendblock',
      this.random.next() < 0.5 ? position : {}, added);
  }

  pageStep(thing) {
    const { state } = thing;
    const first = this.random.between(0, PAGES - 1);
    const end = Math.min(PAGES, first + this.random.between(1, this.random.pick([2, 300])));
    const clears = this.random.next() < 0.3;
    const written = clears ? Buffer.alloc((end - first) * PAGE)
      : this.random.bytes((end - first) * PAGE);
    const body = Buffer.from(state.body);
    written.copy(body, first * PAGE);
    const pages = [...state.pages];
    pages.fill(!clears, first, end);
    return this.write(thing, { ...state, body, pages }, '?comp=page', {
      'x-ms-page-write': clears ? 'clear' : 'update',
      'x-ms-range': `bytes=${first * PAGE}-${end * PAGE - 1}` }, clears ? null : written);
  }

  async snapshotStep(thing) {
    const { state, path } = thing;
    if (state.snapshots.length >= SNAPSHOTS_MAX) return this.deleteStep(thing);
    const { staged, snapshots, ...base } = state;
    const snapshot = { ...base, time: undefined };
    const answer = await this.attempt(thing, { ...state, snapshots: [...snapshots, snapshot] },
      'PUT', `${path}?comp=snapshot`);
    if (answer === undefined) return;
    snapshot.time = answer.headers['x-ms-snapshot'];
    assert.equal(answer.headers.etag, state.etag, 'a snapshot has the ETag of its blob');
  }

  // Over another blob of the kind, in the same container or the other; from a snapshot at times.
  copyStep(thing) {
    const others = this.things.filter((other) => other !== thing && other.kind === thing.kind);
    const target = this.random.pick(others);
    const source = this.random.pick([thing.state, ...thing.state.snapshots]);
    const { time, etag, staged, snapshots, ...copied } = source;
    const query = time === undefined ? '' : `snapshot=${encodeURIComponent(time)}&`;
    return this.write(target, { ...copied, tags: '' }, '',
      { 'x-ms-copy-source': `${this.url}/${thing.path}?${query}${sourceSas}` });
  }

  tagStep(thing) {
    const { state, path } = thing;
    const set = this.random.next() < 0.7 ? [['n', ++this.count], ['owner', this.index]] : [];
    const tags = set.map(([name, value]) => `${name}=${value}`).join('&');
    const xml = set.map(([name, value]) => `<Tag><Key>${name}</Key><Value>${value}</Value></Tag>`);
    return this.attempt(thing, { ...state, tags }, 'PUT', `${path}?comp=tags`, {},
      `<Tags><TagSet>${xml.join('')}</TagSet></Tags>`);
  }

  async metadataStep(thing) {
    const meta = String(++this.count);
    const after = { ...thing.state, meta, etag: undefined };
    const answer = await this.attempt(thing, after, 'PUT', `${thing.path}?comp=metadata`,
      { 'x-ms-meta-count': meta });
    if (answer !== undefined) after.etag = answer.headers.etag;
  }

  deleteStep(thing) {
    const { state, path } = thing;
    const { snapshots } = state;
    const roll = this.random.next();
    if (snapshots.length === 0) return this.attempt(thing, ABSENT, 'DELETE', path);
    if (roll < 0.15) return this.refused(thing, 'SnapshotsPresent', 'DELETE', path);
    if (roll < 0.4) {
      return this.attempt(thing, ABSENT, 'DELETE', path, { 'x-ms-delete-snapshots': 'include' });
    }
    if (roll < 0.6) {
      return this.attempt(thing, { ...state, snapshots: [] }, 'DELETE', path,
        { 'x-ms-delete-snapshots': 'only' });
    }
    const one = this.random.pick(snapshots);
    return this.attempt(thing, { ...state, snapshots: snapshots.filter((other) => other !== one) },
      'DELETE', `${path}?snapshot=${encodeURIComponent(one.time)}`);
  }

  async verify(send, when, times) {
    for (const thing of this.things) {
      thing.settle(await observedWhole(send, thing.path, times[thing.path] ?? []), when, taken);
    }
    for (const container of CONTAINERS) {
      const { body } = await send('GET', `${container}?restype=container&comp=blobs&where=${
        encodeURIComponent(`"owner" = '${this.index}'`)}`);
      const expected = this.things.filter((thing) => isBlob(thing) && thing.state.tags !== '' &&
        thing.path.startsWith(`${container}/`)).map(({ path }) => path.split('/')[1]).sort();
      assert.deepEqual(all(body.toString(), /<Name>(.*?)<\/Name>/g).flat(), expected,
        `${when}: the blobs in ${container} found by the tag of client ${this.index}`);
    }
  }
}

async function verifyAll(clients, server, send, when) {
  const times = {};
  for (const container of CONTAINERS) {
    for (const [name, own] of Object.entries(await snapshotTimes(send, container))) {
      times[`${container}/${name}`] = own;
    }
  }
  await Promise.all(clients.map((client) => client.verify(send, when, times)));
  for (const client of clients) client.url = server.url;
  const things = clients.flatMap((client) => client.things);
  for (const container of CONTAINERS) {
    const expected = things.filter((thing) => isBlob(thing) &&
      thing.path.startsWith(`${container}/`)).map(({ path }) => path.split('/')[1]).sort();
    assert.deepEqual(await listed(send, container), expected, `${when}: the listing`);
  }
}

// The load; see killsUnderLoad.
export async function kindsLoad(server, seed) {
  const clients = Array.from({ length: CLIENTS }, (_, i) => new KindsClient(i, seed));
  const send = sasSender(server);
  for (const container of CONTAINERS) await send('PUT', `${container}?restype=container`);
  for (const client of clients) client.url = server.url;
  return { clients, sender: sasSender,
    verify: (sender, when) => verifyAll(clients, server, sender, when) };
}
