// List Blobs through the official SDK, flat and by hierarchy, against a model of a few lines that
// knows nothing but a sorted array of names.

import test from 'node:test';
import assert from 'node:assert/strict';
import { startServer, stopsCleanly } from './helpers/server.mjs';
import { seeded } from './helpers/random.mjs';
import { md5 } from './helpers/digest.mjs';
import { blockBlob, sasSender } from './helpers/http.mjs';

const server = await startServer();
const service = server.client();
const random = seeded('listing');

const NAMES = 400;
const PIECES = ['a', 'b', 'A', 'Z', 'aa', 'ab', '0', '9', '-', '_', '.', ' ', '%', '+', '\'', '"',
  '&', '<', '/', '/', '/', '//', 'ä', 'ß', '語', '🎉', '!', '~', '#', '?', '=', '%2F', '\u0301'];

function randomNames() {
  const names = new Set();
  while (names.size < NAMES) {
    let name = '';
    for (let i = random.between(1, 6); i > 0; i--) name += random.pick(PIECES);
    // A URL parser may take these segments away before a server sees them.
    if (name.split('/').some((segment) => segment === '.' || segment === '..')) continue;
    names.add(name);
  }
  return [...names];
}

const byBytes = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b));

// What a listing shall be: names and prefixes in the order of their bytes.
function model(names, { prefix = '', delimiter = '' }) {
  const items = new Set();
  for (const name of names) {
    if (!name.startsWith(prefix)) continue;
    const at = delimiter === '' ? -1 : name.indexOf(delimiter, prefix.length);
    items.add(at < 0 ? `blob ${name}` : `prefix ${name.slice(0, at + delimiter.length)}`);
  }
  return [...items].sort((a, b) => byBytes(a.replace(/^\w+ /, ''), b.replace(/^\w+ /, '')));
}

const container = service.getContainerClient('model');
await container.create();
const names = randomNames();
const BATCH = 16;
for (let i = 0; i < names.length; i += BATCH) {
  await Promise.all(names.slice(i, i + BATCH)
    .map((name) => container.getBlockBlobClient(name).upload('x', 1)));
}

async function flat(options, maxPageSize) {
  const found = [];
  for await (const page of container.listBlobsFlat(options).byPage({ maxPageSize })) {
    const items = page.segment.blobItems;
    assert.ok(maxPageSize === undefined || items.length <= maxPageSize);
    found.push(...items.map((item) => `blob ${item.name}`));
  }
  return found;
}

// Pages of a listing by hierarchy: blobs and prefixes come in two arrays, so each page is merged.
async function hierarchy(delimiter, options, maxPageSize) {
  const found = [];
  for await (const page of container.listBlobsByHierarchy(delimiter, options)
    .byPage({ maxPageSize })) {
    const blobs = page.segment.blobItems.map((item) => `blob ${item.name}`);
    const prefixes = (page.segment.blobPrefixes ?? []).map((item) => `prefix ${item.name}`);
    assert.ok(maxPageSize === undefined || blobs.length + prefixes.length <= maxPageSize);
    found.push(...[...blobs, ...prefixes]
      .sort((a, b) => byBytes(a.replace(/^\w+ /, ''), b.replace(/^\w+ /, ''))));
  }
  return found;
}

test('a flat listing is every name in the order of its bytes', async () => {
  assert.deepEqual(await flat({}), model(names, {}));
});

for (const size of [1, 2, 7, 100, 399, 400, 401]) {
  test(`a flat listing in pages of ${size} is the same listing`, async () => {
    assert.deepEqual(await flat({}, size), model(names, {}));
  });
}

test('a flat listing by prefix is the names that begin with it', async () => {
  const prefixes = ['', 'a', 'A', 'a/', '/', '//', '%', '%2', '+', '語', '🎉', ' ', '"', 'nothing'];
  for (let i = 0; i < 20; i++) {
    const name = random.pick(names);
    prefixes.push([...name].slice(0, random.between(1, [...name].length)).join(''));
  }
  for (const prefix of prefixes) {
    assert.deepEqual(await flat({ prefix }, random.pick([undefined, 3, 50])),
      model(names, { prefix }), JSON.stringify(prefix));
  }
});

test('a listing by hierarchy rolls names up at the delimiter', async () => {
  for (const delimiter of ['/', 'a', '%', '語', '//', '%2F']) {
    for (const prefix of ['', 'a', 'a/', '/', '%', 'b/', random.pick(names)]) {
      for (const size of [undefined, 1, 3, 25]) {
        if (size === 1 && prefix === '' && delimiter !== '/') continue;
        assert.deepEqual(await hierarchy(delimiter, { prefix }, size),
          model(names, { prefix, delimiter }), JSON.stringify({ delimiter, prefix, size }));
      }
    }
  }
});

test('walking the hierarchy reaches every blob once', async () => {
  const found = [];
  const walk = async (prefix) => {
    for await (const item of container.listBlobsByHierarchy('/', { prefix })) {
      if (item.kind === 'prefix') await walk(item.name);
      else found.push(item.name);
    }
  };
  await walk('');
  assert.deepEqual(found.sort(byBytes), [...names].sort(byBytes));
});

test('a blob written or deleted between two pages moves none of the others', async () => {
  const moving = service.getContainerClient('moving');
  await moving.create();
  for (const name of ['a', 'c', 'e', 'g']) await moving.getBlockBlobClient(name).upload('x', 1);
  const pages = moving.listBlobsFlat().byPage({ maxPageSize: 2 });
  const first = (await pages.next()).value.segment.blobItems.map((item) => item.name);
  assert.deepEqual(first, ['a', 'c']);
  await moving.getBlobClient('a').delete();
  await moving.getBlobClient('e').delete();
  await moving.getBlockBlobClient('b').upload('x', 1);
  await moving.getBlockBlobClient('f').upload('x', 1);
  const rest = [];
  for await (const page of pages) rest.push(...page.segment.blobItems.map((item) => item.name));
  assert.deepEqual(rest, ['f', 'g']);
});

test('a listed blob shows the properties a read of it shows', async () => {
  const shown = service.getContainerClient('shown');
  await shown.create();
  const blob = shown.getBlockBlobClient('dir/b');
  await blob.upload('hello', 5, {
    metadata: { one: '1', two: 'a<b>&"c"' },
    blobHTTPHeaders: { blobContentType: 'text/plain', blobContentLanguage: 'en',
      blobContentEncoding: 'identity', blobCacheControl: 'no-cache',
      blobContentDisposition: 'inline' },
  });
  await blob.getBlobLeaseClient().acquireLease(-1);
  const direct = await blob.getProperties();
  const listed = (await shown.listBlobsFlat({ includeMetadata: true }).next()).value;
  const { properties } = listed;
  assert.equal(`"${properties.etag}"`, direct.etag);
  assert.deepEqual(properties.lastModified, direct.lastModified);
  assert.deepEqual(properties.createdOn, direct.createdOn);
  assert.equal(properties.contentLength, 5);
  assert.equal(properties.contentType, 'text/plain');
  assert.equal(properties.contentLanguage, 'en');
  assert.equal(properties.contentEncoding, 'identity');
  assert.equal(properties.cacheControl, 'no-cache');
  assert.equal(properties.contentDisposition, 'inline');
  assert.equal(Buffer.from(properties.contentMD5).toString('base64'), md5('hello'));
  assert.equal(properties.blobType, 'BlockBlob');
  assert.equal(properties.leaseStatus, 'locked');
  assert.equal(properties.leaseState, 'leased');
  assert.equal(properties.leaseDuration, 'infinite');
  assert.equal(properties.serverEncrypted, true);
  assert.deepEqual(listed.metadata, { one: '1', two: 'a<b>&"c"' });

  const without = (await shown.listBlobsFlat().next()).value;
  assert.equal(without.metadata, undefined);
});

test('an empty container lists nothing and gives no marker', async () => {
  const empty = service.getContainerClient('empty');
  await empty.create();
  const page = (await empty.listBlobsFlat().byPage().next()).value;
  assert.deepEqual(page.segment.blobItems, []);
  assert.ok(!page.continuationToken);
  assert.equal(page.serviceEndpoint.replace(/\/$/, ''), server.url);
  assert.equal(page.containerName, 'empty');
});

test('a page larger than the service allows is cut and none is refused', async () => {
  const page = (await container.listBlobsFlat().byPage({ maxPageSize: 6000 }).next()).value;
  assert.equal(page.segment.blobItems.length, NAMES);
  await assert.rejects(container.listBlobsFlat().byPage({ maxPageSize: -1 }).next(),
    { statusCode: 400, code: 'OutOfRangeQueryParameterValue' });
});

test('a page holds 5000 blobs and the next one the rest', async () => {
  const TOTAL = 5100;
  const send = sasSender(server);
  await send('PUT', 'thousands?restype=container');
  const expected = Array.from({ length: TOTAL }, (_, i) => `n-${String(i).padStart(5, '0')}`);
  let next = 0;
  const writer = async () => {
    while (next < TOTAL) {
      const answer = await send('PUT', `thousands/${expected[next++]}`, blockBlob, 'x');
      assert.equal(answer.status, 201);
    }
  };
  await Promise.all(Array.from({ length: 32 }, writer));
  const pages = [];
  for await (const page of service.getContainerClient('thousands').listBlobsFlat().byPage()) {
    pages.push(page.segment.blobItems.map((item) => item.name));
  }
  assert.equal(pages[0].length, 5000);
  assert.deepEqual(pages.flat(), expected);
});

test('a marker the server never gave is refused or taken, never a crash', async () => {
  for (const marker of ['x', '2!n!zzz', '%%%', '\u0001', 'A'.repeat(4000)]) {
    try {
      await container.listBlobsFlat().byPage({ continuationToken: marker }).next();
    } catch (error) {
      assert.equal(error.statusCode, 400, marker);
    }
  }
});

stopsCleanly(server);
