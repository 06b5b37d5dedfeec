// Clients that put, lease and delete blobs and containers: the load of crash.test.mjs.

import assert from 'node:assert/strict';
import { blockBlob, sasSender } from '../../e2e/helpers/http.mjs';
import { ABSENT, Client, Thing, listed } from './kills.mjs';

const CLIENTS = 8;
const BLOBS_PER_CLIENT = 6;
const LEASE_ID = 'aaaaaaaa-0000-4000-8000-00000000000a';
const KIB = 1024;

// --- what a thing is, and whether the server agrees ---

// A blob: { body, etag, meta, leased }, where an ETag not yet known is undefined.
function blobAgrees(state, seen) {
  if (state === ABSENT || seen === ABSENT) return state === seen;
  return (state.etag === undefined || state.etag === seen.etag) && state.meta === seen.meta &&
    state.leased === seen.leased && state.body.equals(seen.body);
}

// A container: { etag, meta, blobs }, the names of its blobs in one string.
function containerAgrees(state, seen) {
  if (state === ABSENT || seen === ABSENT) return state === seen;
  return (state.etag === undefined || state.etag === seen.etag) && state.meta === seen.meta &&
    state.blobs === seen.blobs;
}

function describe(state) {
  if (state === ABSENT) return 'absent';
  const { body, ...rest } = state;
  return JSON.stringify(body === undefined ? rest
    : { ...rest, bytes: body.length, head: body.toString('hex', 0, 8) });
}

// --- a client ---

class PlainClient extends Client {
  constructor(index, seed) {
    super(index, seed);
    this.blobs = Array.from({ length: BLOBS_PER_CLIENT },
      (_, i) => new Thing(`crash/client-${index}-${i}`, blobAgrees, describe));
    this.container = new Thing(`crash-own-${index}`, containerAgrees, describe);
    this.count = 0;
  }

  async change(thing, after, method, path, headers = {}, body = null) {
    const answer = await this.attempt(thing, after, method, path, headers, body);
    if (after !== ABSENT && answer?.headers.etag) after.etag = answer.headers.etag;
    if (answer?.headers.etag && !path.includes('comp=lease')) this.checkRises(answer.headers.etag);
  }

  content() {
    const { random } = this;
    const kind = random.next();
    if (kind < 0.5) return random.bytes(random.between(0, 2 * KIB));
    if (kind < 0.65) return random.bytes(random.between(60 * KIB, 70 * KIB));
    return random.bytes(random.between(100 * KIB, 1024 * KIB));
  }

  async step() {
    if (this.random.next() < 0.15) await this.containerStep();
    else await this.blobStep(this.random.pick(this.blobs));
  }

  async blobStep(thing) {
    const { random } = this;
    const { state, path } = thing;
    const meta = String(++this.count);
    const id = state?.leased ? { 'x-ms-lease-id': LEASE_ID } : {};
    const put = (headers) => {
      const body = this.content();
      return [{ body, etag: undefined, meta, leased: state?.leased ?? false }, 'PUT', path,
        { ...blockBlob, ...id, 'x-ms-meta-count': meta, ...headers }, body];
    };
    const roll = random.next();
    if (state === ABSENT || roll < 0.35) return this.change(thing, ...put({}));
    if (roll < 0.45) return this.change(thing, ...put({ 'If-Match': state.etag }));
    if (roll < 0.6) {
      return this.change(thing, { ...state, etag: undefined, meta }, 'PUT', `${path}?comp=metadata`,
        { ...id, 'x-ms-meta-count': meta });
    }
    if (roll < 0.72) return this.change(thing, ABSENT, 'DELETE', path, id);
    if (roll < 0.82) {
      const [, ...request] = put({ 'If-Match': '"0x1"' });
      return this.refused(thing, 'ConditionNotMet', ...request);
    }
    return this.leaseStep(thing);
  }

  async leaseStep(thing) {
    const { state, path } = thing;
    const target = `${path}?comp=lease`;
    if (!state.leased) {
      return this.change(thing, { ...state, leased: true }, 'PUT', target, {
        'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': -1,
        'x-ms-proposed-lease-id': LEASE_ID });
    }
    if (this.random.next() < 0.5) {
      return this.refused(thing, 'LeaseIdMissing', 'PUT', path, blockBlob, this.content());
    }
    return this.change(thing, { ...state, leased: false }, 'PUT', target,
      { 'x-ms-lease-action': 'release', 'x-ms-lease-id': LEASE_ID });
  }

  async containerStep() {
    const thing = this.container;
    const { state, path } = thing;
    const meta = String(++this.count);
    if (state === ABSENT) {
      return this.change(thing, { etag: undefined, meta, blobs: '' }, 'PUT',
        `${path}?restype=container`, { 'x-ms-meta-count': meta });
    }
    const roll = this.random.next();
    if (roll < 0.2) return this.change(thing, ABSENT, 'DELETE', `${path}?restype=container`);
    if (roll < 0.4) {
      return this.change(thing, { ...state, etag: undefined, meta }, 'PUT',
        `${path}?restype=container&comp=metadata`, { 'x-ms-meta-count': meta });
    }
    // A blob changes what the container holds and not the container's own ETag.
    const name = `b-${this.random.between(0, 9)}`;
    const blobs = [...new Set([...state.blobs.split(' ').filter(Boolean), name])].sort().join(' ');
    const { etag } = state;
    await this.change(thing, { ...state, blobs }, 'PUT', `${path}/${name}`, blockBlob,
      this.random.bytes(this.random.pick([100, 80 * KIB])));
    for (const possible of thing.states) if (possible !== ABSENT) possible.etag = etag;
    return undefined;
  }

  // Compares everything with the server and takes it as it is.
  async verify(send, when) {
    await Promise.all(this.blobs.map(async (thing) => {
      const answer = await send('GET', thing.path);
      thing.settle(answer.status === 404 ? ABSENT : {
        body: answer.body,
        etag: answer.headers.etag,
        meta: answer.headers['x-ms-meta-count'],
        leased: answer.headers['x-ms-lease-state'] === 'leased',
      }, when);
    }));
    const { path } = this.container;
    const answer = await send('GET', `${path}?restype=container`);
    this.container.settle(answer.status === 404 ? ABSENT : {
      etag: answer.headers.etag,
      meta: answer.headers['x-ms-meta-count'],
      blobs: (await listed(send, path)).join(' '),
    }, when);
  }
}

async function verifyAll(clients, send, when) {
  await Promise.all(clients.map((client) => client.verify(send, when)));
  const expected = clients.flatMap((client) => client.blobs).filter(({ state }) => state !== ABSENT)
    .map(({ path }) => path.slice('crash/'.length)).sort();
  assert.deepEqual(await listed(send, 'crash'), expected, `${when}: the listing`);
}

// The load; see killsUnderLoad.
export async function plainLoad(server, seed) {
  const clients = Array.from({ length: CLIENTS }, (_, i) => new PlainClient(i, seed));
  await sasSender(server)('PUT', 'crash?restype=container');
  return { clients, sender: sasSender, verify: (send, when) => verifyAll(clients, send, when) };
}
