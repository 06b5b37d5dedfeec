// Blobs of all kinds, with blocks, snapshots, copies and metadata, for the power cuts.

import assert from 'node:assert/strict';
import { md5 } from '../../e2e/helpers/digest.mjs';
import { sasSender } from '../../e2e/helpers/http.mjs';
import { accountSas } from '../../e2e/helpers/sign.mjs';
import { LoadClient, Thing, UNKNOWN } from './timeline.mjs';

const CONTAINER = 'power';
const KIB = 1024;
const PAGE = 512;
const PAGES = 200;
const STAGED_MAX = 4;
const SNAPSHOTS_MAX = 2;
const APPENDED_MAX = 300 * KIB;
const TYPE = { block: 'BlockBlob', append: 'AppendBlob', page: 'PageBlob' };

const all = (text, pattern) => [...text.matchAll(pattern)].map((match) => match.slice(1));

// --- what is seen of a blob ---
//
// A model is { kind, body, etag, meta, blocks: [{ id, body }], staged: { id: body }, snapshots };
// there is no kind while there are only uncommitted blocks.

const version = ({ body, etag, meta }) => ({ digest: md5(body), etag, meta });
const sizes = (blocks) => blocks.map(({ id, body }) => `${id}:${body.length}`).join(' ');

function shown(model) {
  const { kind, blocks, staged, snapshots } = model;
  const waiting = Object.keys(staged).sort().map((id) => ({ id, body: staged[id] }));
  return {
    kind: kind ?? 'none',
    base: kind === undefined ? null : version(model),
    blocks: kind === 'block' ? sizes(blocks) : '',
    staged: sizes(waiting),
    snapshots: snapshots.map((one) => ({ time: one.time, ...version(one) })),
  };
}

async function observedVersion(send, path, query) {
  const { status, headers, body } = await send('GET', `${path}${query}`);
  if (status !== 200) return { digest: `status ${status}`, etag: '', meta: '' };
  return { digest: md5(body), etag: headers.etag, meta: headers['x-ms-meta-count'] ?? '' };
}

async function observedBlocks(send, path) {
  const { status, body } = await send('GET', `${path}?comp=blocklist&blocklisttype=all`);
  if (status !== 200) return { blocks: '', staged: '' };
  const [committed, staged = ''] = body.toString().split('<UncommittedBlocks');
  const list = (text) => all(text, /<Name>(.*?)<\/Name><Size>(\d+)<\/Size>/g)
    .map(([id, size]) => `${id}:${size}`).join(' ');
  return { blocks: list(committed), staged: list(staged) };
}

async function observed(send, path) {
  const prefix = encodeURIComponent(path.slice(CONTAINER.length + 1));
  const listing = (await send('GET', `${CONTAINER}?restype=container&comp=list&prefix=${prefix}` +
    '&include=snapshots,uncommittedblobs')).body.toString();
  const found = all(listing, /<Blob>(.*?)<\/Blob>/gs).map(([text]) => text);
  if (found.length === 0) return null;
  const snapshots = await Promise.all(all(listing, /<Snapshot>(.*?)<\/Snapshot>/g)
    .map(async ([time]) =>
      ({ time, ...await observedVersion(send, path, `?snapshot=${encodeURIComponent(time)}`) })));
  const { headers, status } = await send('HEAD', path);
  const kind = status === 404 ? 'none'
    : Object.keys(TYPE).find((name) => TYPE[name] === headers['x-ms-blob-type']);
  const { blocks, staged } = kind === 'append' || kind === 'page' ? { blocks: '', staged: '' }
    : await observedBlocks(send, path);
  return {
    kind, base: kind === 'none' ? null : await observedVersion(send, path, ''), blocks, staged,
    snapshots,
  };
}

// A container of the client's own with blobs in it: { etag, meta, blobs: [name, ...] }.
const shownContainer = ({ etag, meta, blobs }) => ({ etag, meta, blobs });

async function observedContainer(send, path) {
  const { status, headers } = await send('GET', `${path}?restype=container`);
  if (status === 404) return null;
  const { body } = await send('GET', `${path}?restype=container&comp=list`);
  return { etag: headers.etag, meta: headers['x-ms-meta-count'],
    blobs: all(body.toString(), /<Name>(.*?)<\/Name>/g).map(([name]) => name) };
}

// --- the clients ---

const listXml = (entries) => `<?xml version="1.0" encoding="utf-8"?><BlockList>${
  entries.map(({ source, id }) => `<${source}>${id}</${source}>`).join('')}</BlockList>`;

class BlobClient extends LoadClient {
  constructor(...args) {
    super(...args);
    this.blobs = Object.keys(TYPE).flatMap((kind) => [0, 1].map((number) => Object.assign(
      new Thing('blob', `${CONTAINER}/${this.index}-${kind}-${number}`, shown), { type: kind })));
    this.container = new Thing('container', `power-own-${this.index}`, shownContainer);
    this.things = [...this.blobs, this.container];
  }

  // Both sides of what is stored inside a row, and of a block of checksums.
  content() {
    const { random } = this;
    const roll = random.next();
    if (roll < 0.45) return random.bytes(random.between(0, 2 * KIB));
    if (roll < 0.65) return random.bytes(random.between(7 * KIB, 9 * KIB));
    if (roll < 0.9) return random.bytes(random.between(30 * KIB, 70 * KIB));
    return random.bytes(random.between(100 * KIB, 400 * KIB));
  }

  // A write of the blob's content: a new ETag, and no uncommitted blocks any more.
  write(thing, after, query, headers, body = null) {
    const model = { snapshots: thing.model?.snapshots ?? [], blocks: [], ...after, staged: {},
      etag: UNKNOWN };
    return this.change(thing, model, (answer) => { model.etag = answer.headers.etag; }, 'PUT',
      `${thing.path}${query}`, headers, body);
  }

  step() {
    const { random } = this;
    if (random.next() < 0.12) return this.containerStep();
    const thing = random.pick(this.blobs);
    const roll = random.next();
    if (thing.model?.kind === undefined || roll < 0.5) return this.contentStep(thing);
    if (roll < 0.58) return this.metadataStep(thing);
    if (roll < 0.66) return this.snapshotStep(thing);
    if (roll < 0.74) return this.copyStep(thing);
    if (roll < 0.84) {
      return this.refused('ConditionNotMet', 'PUT', thing.path, { 'x-ms-blob-type': 'BlockBlob',
        'If-Match': '"0x1"' }, this.content());
    }
    return this.deleteStep(thing);
  }

  contentStep(thing) {
    if (thing.type === 'block' && this.random.next() < 0.6) return this.blockStep(thing);
    if (thing.model === null || this.random.next() < 0.1 || thing.type === 'block') {
      return this.createStep(thing);
    }
    return thing.type === 'append' ? this.appendStep(thing) : this.pageStep(thing);
  }

  createStep(thing) {
    const kind = thing.type;
    const meta = String(++this.count);
    const headers = { 'x-ms-blob-type': TYPE[kind], 'x-ms-meta-count': meta };
    if (kind === 'block') {
      const body = this.content();
      return this.write(thing, { kind, body, meta }, '', headers, body);
    }
    if (kind === 'append') {
      return this.write(thing, { kind, body: Buffer.alloc(0), meta }, '', headers);
    }
    return this.write(thing, { kind, body: Buffer.alloc(PAGES * PAGE), meta }, '',
      { ...headers, 'x-ms-blob-content-length': PAGES * PAGE });
  }

  blockStep(thing) {
    const { random } = this;
    const model = thing.model ?? { blocks: [], staged: {}, snapshots: [] };
    const count = Object.keys(model.staged).length;
    if (count < 2 || (count < STAGED_MAX && random.next() < 0.5)) {
      const id = Buffer.from(`id-${random.between(100, 109)}`).toString('base64');
      // The size tells this content from others.
      const body = Buffer.concat([this.content(), Buffer.alloc(1 + ++this.count % 500, 1)]);
      return this.change(thing, { ...model, staged: { ...model.staged, [id]: body } }, () => {},
        'PUT', `${thing.path}?comp=block&blockid=${encodeURIComponent(id)}`, {}, body);
    }
    const entries = [
      ...Object.entries(model.staged).map(([id, body]) => ({ id, body, source: 'Latest' })),
      ...model.blocks.filter(({ id }) => !(id in model.staged))
        .map(({ id, body }) => ({ id, body, source: 'Committed' })),
    ].filter((_, i) => i === 0 || random.next() < 0.6);
    const unique = entries.filter(({ id }, i) => entries.findIndex((one) => one.id === id) === i);
    const meta = String(++this.count);
    return this.write(thing, { kind: 'block', meta, blocks: unique,
      body: Buffer.concat(unique.map(({ body }) => body)) }, '?comp=blocklist',
    { 'x-ms-meta-count': meta }, listXml(unique));
  }

  appendStep(thing) {
    const { model } = thing;
    if (model.body.length > APPENDED_MAX) return this.createStep(thing);
    const added = this.content();
    if (added.length === 0) return undefined;
    return this.write(thing, { ...model, body: Buffer.concat([model.body, added]) },
      '?comp=appendblock', {}, added);
  }

  pageStep(thing) {
    const { random } = this;
    const { model } = thing;
    const first = random.between(0, PAGES - 1);
    const end = Math.min(PAGES, first + random.between(1, random.pick([2, 120])));
    const clears = random.next() < 0.25;
    const written = clears ? Buffer.alloc((end - first) * PAGE)
      : random.bytes((end - first) * PAGE);
    const body = Buffer.from(model.body);
    written.copy(body, first * PAGE);
    return this.write(thing, { ...model, body }, '?comp=page', {
      'x-ms-page-write': clears ? 'clear' : 'update',
      'x-ms-range': `bytes=${first * PAGE}-${end * PAGE - 1}` }, clears ? null : written);
  }

  metadataStep(thing) {
    const meta = String(++this.count);
    const model = { ...thing.model, meta, etag: UNKNOWN };
    return this.change(thing, model, (answer) => { model.etag = answer.headers.etag; }, 'PUT',
      `${thing.path}?comp=metadata`, { 'x-ms-meta-count': meta });
  }

  snapshotStep(thing) {
    const { model } = thing;
    if (model.snapshots.length >= SNAPSHOTS_MAX) return this.deleteStep(thing);
    const snapshot = { body: model.body, etag: model.etag, meta: model.meta, time: UNKNOWN };
    return this.change(thing, { ...model, snapshots: [...model.snapshots, snapshot] },
      (answer) => { snapshot.time = answer.headers['x-ms-snapshot']; }, 'PUT',
      `${thing.path}?comp=snapshot`);
  }

  // Over another blob of the kind.
  copyStep(thing) {
    const target = this.blobs.find((other) => other !== thing && other.type === thing.type);
    const { kind, body, meta, blocks } = thing.model;
    return this.write(target, { kind, body, meta, blocks }, '',
      { 'x-ms-copy-source': `${this.url}/${thing.path}?${accountSas()}` });
  }

  // All of it, or the snapshots alone.
  deleteStep(thing) {
    const only = thing.model.snapshots.length > 0 && this.random.next() < 0.5;
    return this.change(thing, only ? { ...thing.model, snapshots: [] } : null, () => {}, 'DELETE',
      thing.path, thing.model.snapshots.length === 0 ? {}
        : { 'x-ms-delete-snapshots': only ? 'only' : 'include' });
  }

  containerStep() {
    const { container: thing, random } = this;
    const { model, path } = thing;
    const meta = String(++this.count);
    if (model === null) {
      const made = { etag: UNKNOWN, meta, blobs: [] };
      return this.change(thing, made, (answer) => { made.etag = answer.headers.etag; }, 'PUT',
        `${path}?restype=container`, { 'x-ms-meta-count': meta });
    }
    if (random.next() < 0.2) {
      return this.change(thing, null, () => {}, 'DELETE', `${path}?restype=container`);
    }
    const name = `b-${random.between(0, 9)}`;
    const blobs = [...new Set([...model.blobs, name])].sort();
    return this.change(thing, { ...model, blobs }, () => {}, 'PUT', `${path}/${name}`,
      { 'x-ms-blob-type': 'BlockBlob' }, random.bytes(random.pick([100, 20 * KIB])));
  }

  adopt(model, seen) {
    model.etag = seen.base?.etag ?? seen.etag ?? model.etag;
    model.snapshots?.forEach((snapshot, i) => { snapshot.time = seen.snapshots[i].time; });
  }
}

export const blobLoad = {
  service: 'blob',
  sender: sasSender,
  url: (server) => server.url,
  Client: BlobClient,
  observers: { blob: observed, container: observedContainer },
  async prepare(send) {
    const { status } = await send('PUT', `${CONTAINER}?restype=container`);
    assert.equal(status, 201);
  },
};
