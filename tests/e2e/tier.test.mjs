// Access tiers through the official SDK.

import test from 'node:test';
import assert from 'node:assert/strict';
import { eventually, startServer, stopsCleanly } from './helpers/server.mjs';
import { blockBlob, sasSender } from './helpers/http.mjs';

const server = await startServer();
const service = server.client();
const container = service.getContainerClient('tiers');
await container.create();
const send = sasSender(server);

let count = 0;
async function uploaded(options = {}) {
  const blob = container.getBlockBlobClient(`blob-${++count}`);
  await blob.upload('content', 7, options);
  return blob;
}

const failsWith = (promise, statusCode, code) =>
  assert.rejects(promise, (error) => error.statusCode === statusCode && error.code === code);

async function inListing(blob) {
  return (await container.listBlobsFlat({ prefix: blob.name }).next()).value.properties;
}

test('a blob is in the inferred tier until it is put in one', async () => {
  const blob = await uploaded();
  const before = await blob.getProperties();
  assert.equal(before.accessTier, 'Hot');
  assert.equal(before.accessTierInferred, true);
  assert.equal(before.accessTierChangedOn, undefined);
  for (const tier of ['Cool', 'Cold', 'Hot']) {
    const answer = await blob.setAccessTier(tier);
    assert.equal(answer._response.status, 200);
    const after = await blob.getProperties();
    assert.equal(after.accessTier, tier);
    assert.equal(after.accessTierInferred, undefined);
    assert.ok(after.accessTierChangedOn instanceof Date);
    assert.equal(after.etag, before.etag);
    const shown = await inListing(blob);
    assert.equal(shown.accessTier, tier);
    assert.equal(shown.accessTierInferred, undefined);
  }
});

test('a blob is uploaded into a tier, and stays there when it is overwritten', async () => {
  const blob = await uploaded({ tier: 'Cool' });
  assert.equal((await blob.getProperties()).accessTier, 'Cool');
  await blob.upload('new', 3);
  assert.equal((await blob.getProperties()).accessTier, 'Cool');
  await blob.upload('new', 3, { tier: 'Hot' });
  assert.equal((await blob.getProperties()).accessTier, 'Hot');
});

test('an archived blob is known but not read or overwritten', async () => {
  const blob = await uploaded({ metadata: { a: '1' } });
  await blob.setAccessTier('Archive');
  assert.equal((await blob.getProperties()).accessTier, 'Archive');
  await failsWith(blob.download(), 409, 'BlobArchived');
  await failsWith(blob.upload('x', 1), 409, 'BlobArchived');
  await failsWith(blob.createSnapshot(), 409, 'BlobArchived');
  await failsWith(blob.setMetadata({ a: '2' }), 409, 'BlobArchived');
  await blob.setTags({ a: '1' });
  assert.equal((await blob.setAccessTier('Archive'))._response.status, 200);
  await blob.delete();
});

test('a blob comes out of the archive after a while', async () => {
  const blob = await uploaded({ tier: 'Archive' });
  const answer = await blob.setAccessTier('Cool', { rehydratePriority: 'High' });
  assert.equal(answer._response.status, 202);
  const pending = await blob.getProperties();
  assert.equal(pending.accessTier, 'Archive');
  assert.equal(pending.archiveStatus, 'rehydrate-pending-to-cool');
  assert.equal(pending.rehydratePriority, 'High');
  const shown = await inListing(blob);
  assert.equal(shown.archiveStatus, 'rehydrate-pending-to-cool');
  assert.equal(shown.rehydratePriority, 'High');
  await failsWith(blob.setAccessTier('Hot'), 409, 'BlobBeingRehydrated');
  await failsWith(blob.download(), 409, 'BlobBeingRehydrated');
  const after = await eventually(10_000, 'rehydration', async () => {
    const properties = await blob.getProperties();
    return properties.archiveStatus === undefined ? properties : null;
  });
  assert.equal(after.accessTier, 'Cool');
  assert.equal((await blob.downloadToBuffer()).toString(), 'content');
});

test('a snapshot has a tier of its own', async () => {
  const blob = await uploaded({ tier: 'Hot' });
  const { snapshot } = await blob.createSnapshot();
  await blob.withSnapshot(snapshot).setAccessTier('Cool');
  assert.equal((await blob.withSnapshot(snapshot).getProperties()).accessTier, 'Cool');
  assert.equal((await blob.getProperties()).accessTier, 'Hot');
});

test('a tier or priority that does not exist is refused', async () => {
  const { name } = await uploaded();
  const path = `tiers/${name}?comp=tier`;
  assert.equal((await send('PUT', path, { 'x-ms-access-tier': 'Warm' })).code, 'InvalidBlobTier');
  assert.equal((await send('PUT', path)).code, 'MissingRequiredHeader');
  assert.equal((await send('PUT', path, { 'x-ms-access-tier': 'Hot',
    'x-ms-rehydrate-priority': 'Soon' })).code, 'InvalidHeaderValue');
  const put = await send('PUT', `tiers/${name}`, { ...blockBlob, 'x-ms-access-tier': 'Warm' }, 'x');
  assert.equal(put.code, 'InvalidBlobTier');
  assert.equal((await send('PUT', 'tiers/none?comp=tier', { 'x-ms-access-tier': 'Hot' })).code,
    'BlobNotFound');
});

test('pages and appended blocks have no tiers', async () => {
  for (const [type, more] of [['PageBlob', { 'x-ms-blob-content-length': '512' }],
    ['AppendBlob', {}]]) {
    const headers = { 'x-ms-blob-type': type, ...more };
    const refused = await send('PUT', `tiers/${type}`, { ...headers, 'x-ms-access-tier': 'Cool' });
    assert.equal(refused.status, 400);
    assert.equal(refused.code, 'AccessTierNotSupportedForBlobType');
    assert.equal((await send('PUT', `tiers/${type}`, headers)).status, 201);
    const set = await send('PUT', `tiers/${type}?comp=tier`, { 'x-ms-access-tier': 'Cool' });
    assert.equal(set.status, 400);
    assert.equal(set.code, 'AccessTierNotSupportedForBlobType');
    assert.equal((await send('HEAD', `tiers/${type}`)).headers['x-ms-access-tier'], undefined);
  }
});

stopsCleanly(server);
