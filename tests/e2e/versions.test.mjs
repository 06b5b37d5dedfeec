// Versions through the official SDK, on a server that was told to keep them.

import test from 'node:test';
import assert from 'node:assert/strict';
import { BlobClient, BlobSASPermissions, StorageSharedKeyCredential,
  generateBlobSASQueryParameters } from '@azure/storage-blob';
import { startServer, stopsCleanly } from './helpers/server.mjs';
import { send, sendSigned } from './helpers/http.mjs';

const server = await startServer({ args: ['--blobVersioning'] });
let service = server.client();
const credential = new StorageSharedKeyCredential(server.account, server.key);
const VERSION_ID = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z$/;
let container;
let count = 0;

test.beforeEach(async () => {
  container = service.getContainerClient(`versions-${++count}`);
  await container.create();
});

const setPolicy = (days) => service.setProperties({
  deleteRetentionPolicy: days > 0 ? { enabled: true, days } : { enabled: false },
});

async function listed(options = { includeVersions: true }) {
  const blobs = [];
  for await (const blob of container.listBlobsFlat(options)) blobs.push(blob);
  return blobs;
}

const words = (blobs) => blobs.map((blob) => blob.name
  + (blob.snapshot ? '@' : blob.isCurrentVersion ? '*' : blob.versionId ? '#' : '')
  + (blob.deleted ? '-' : '')).join(' ');
const textOf = async (blob) => (await blob.downloadToBuffer()).toString();
const failsWith = (promise, statusCode, code) =>
  assert.rejects(promise, (error) => error.statusCode === statusCode && error.code === code);

test('every write has a version, which can be read for ever after', async () => {
  const blob = container.getBlockBlobClient('a');
  const versions = [];
  versions.push((await blob.upload('0', 1)).versionId);
  const id = Buffer.from('b').toString('base64');
  assert.equal((await blob.stageBlock(id, '1', 1))._response.headers.get('x-ms-version-id'),
    undefined);
  versions.push((await blob.commitBlockList([id])).versionId);
  versions.push((await blob.setMetadata({ a: '1' })).versionId);
  const other = container.getBlockBlobClient('b');
  await other.upload('3', 1);
  versions.push((await (await blob.beginCopyFromURL(other.url)).pollUntilDone()).versionId);
  versions.push((await blob.syncCopyFromURL(
    `${other.url}?${await sasFor(other)}`)).versionId);
  for (const version of versions) assert.match(version, VERSION_ID);
  assert.equal(new Set(versions).size, versions.length);
  const texts = await Promise.all(versions.map((version) => textOf(blob.withVersion(version))));
  assert.deepEqual(texts, ['0', '1', '1', '3', '3']);
  const shown = (await listed()).filter(({ name }) => name === 'a');
  assert.deepEqual(shown.map(({ versionId }) => versionId), versions);
  assert.deepEqual(shown.map(({ isCurrentVersion }) => isCurrentVersion ?? false),
    [false, false, false, false, true]);
});

async function sasFor(blob, options = {}) {
  return generateBlobSASQueryParameters({
    containerName: blob.containerName,
    blobName: blob.name,
    permissions: BlobSASPermissions.parse('r'),
    expiresOn: new Date(Date.now() + 3600_000),
    ...options,
  }, credential).toString();
}

test('reads say which version they are of, and whether it is the current one', async () => {
  const blob = container.getBlockBlobClient('a');
  const first = await blob.upload('1', 1, { metadata: { a: '1' } });
  const second = await blob.upload('22', 2);
  for (const client of [blob, blob.withVersion(second.versionId)]) {
    const properties = await client.getProperties();
    assert.equal(properties.versionId, second.versionId);
    assert.equal(properties.isCurrentVersion, true);
    assert.equal(properties.leaseState, 'available');
  }
  const previous = await blob.withVersion(first.versionId).getProperties();
  assert.equal(previous.versionId, first.versionId);
  assert.equal(previous.isCurrentVersion, undefined);
  assert.equal(previous.leaseState, undefined);
  assert.equal(previous.etag, first.etag);
  assert.deepEqual(previous.metadata, { a: '1' });
  assert.equal((await blob.withVersion(first.versionId).download()).versionId, first.versionId);
  await failsWith(blob.withVersion('2020-01-01T00:00:00.0000000Z').download(), 404,
    'BlobNotFound');
  await failsWith(blob.withVersion('yesterday').download(), 400, 'InvalidQueryParameterValue');
});

test('an old client is told nothing about versions', async () => {
  const blob = container.getBlockBlobClient('a');
  await blob.upload('1', 1);
  const answer = await sendSigned(server, {
    method: 'HEAD', target: `/${server.account}/${container.containerName}/a`,
    headers: { 'x-ms-version': '2019-07-07' },
  });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers['x-ms-version-id'], undefined);
});

test('deleting leaves versions and no current one', async () => {
  const blob = container.getBlockBlobClient('a');
  const first = await blob.upload('1', 1);
  const second = await blob.upload('2', 1);
  await blob.delete();
  assert.equal(await blob.exists(), false);
  assert.deepEqual(await listed({}), []);
  assert.equal(words(await listed()), 'a# a#');
  assert.equal(await textOf(blob.withVersion(first.versionId)), '1');
  assert.equal(await textOf(blob.withVersion(second.versionId)), '2');
  await blob.undelete();
  assert.equal(await blob.exists(), false);
  await blob.upload('3', 1);
  assert.equal(words(await listed()), 'a# a# a*');
});

test('a version is deleted by its id, but for the current one', async () => {
  const blob = container.getBlockBlobClient('a');
  const first = await blob.upload('1', 1);
  const second = await blob.upload('2', 1);
  await failsWith(blob.withVersion(second.versionId).delete(), 403,
    'OperationNotAllowedOnRootBlob');
  const answer = await blob.withVersion(first.versionId).delete();
  assert.equal(answer._response.headers.get('x-ms-delete-type-permanent'), 'true');
  assert.equal(words(await listed()), 'a*');
  await failsWith(blob.withVersion(first.versionId).delete(), 404, 'BlobNotFound');
});

test('with soft delete a deleted version comes back', async () => {
  await setPolicy(3);
  const blob = container.getBlockBlobClient('a');
  const first = await blob.upload('1', 1);
  await blob.upload('2', 1);
  const answer = await blob.withVersion(first.versionId).delete();
  assert.equal(answer._response.headers.get('x-ms-delete-type-permanent'), 'false');
  await failsWith(blob.withVersion(first.versionId).download(), 404, 'BlobNotFound');
  assert.equal(words(await listed()), 'a*');
  const all = await listed({ includeVersions: true, includeDeleted: true });
  assert.equal(words(all), 'a#- a*');
  assert.equal(all[0].properties.remainingRetentionDays, 2);
  await blob.undelete();
  assert.equal(await textOf(blob.withVersion(first.versionId)), '1');
  await setPolicy(0);
});

test('a copy of a previous version promotes it', async () => {
  const blob = container.getBlockBlobClient('a');
  const first = await blob.upload('1', 1);
  await blob.upload('2', 1);
  const version = blob.withVersion(first.versionId);
  await (await blob.beginCopyFromURL(version.url)).pollUntilDone();
  assert.equal(await textOf(blob), '1');
  assert.equal(words(await listed()), 'a# a# a*');
  await blob.delete();
  await (await blob.beginCopyFromURL(version.url)).pollUntilDone();
  assert.equal(await textOf(blob), '1');
});

test('a version has tags and a tier of its own', async () => {
  const blob = container.getBlockBlobClient('a');
  const first = await blob.upload('1', 1, { tags: { age: 'first' } });
  await blob.upload('2', 1, { tags: { age: 'second' } });
  const version = blob.withVersion(first.versionId);
  await version.setTags({ age: 'old' });
  await version.setAccessTier('Cool');
  assert.deepEqual((await version.getTags()).tags, { age: 'old' });
  assert.deepEqual((await blob.getTags()).tags, { age: 'second' });
  assert.equal((await version.getProperties()).accessTier, 'Cool');
  assert.equal((await blob.getProperties()).accessTier, 'Hot');
  assert.equal(words(await listed()), 'a# a*');
});

test('versions are not written to', async () => {
  const blob = container.getBlockBlobClient('a');
  const { versionId } = await blob.upload('1', 1);
  const target = `/${server.account}/${container.containerName}/a`
    + `?versionid=${encodeURIComponent(versionId)}`;
  const attempts = [
    ['', { 'x-ms-blob-type': 'BlockBlob' }],
    ['&comp=metadata', {}],
    ['&comp=properties', {}],
    ['&comp=snapshot', {}],
    ['&comp=lease', { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '-1' }],
  ];
  for (const [more, headers] of attempts) {
    const answer = await sendSigned(server, { method: 'PUT', target: target + more, headers });
    assert.equal(answer.status, 400, more);
    assert.equal(answer.code, 'InvalidQueryParameterValue');
    assert.match(answer.body.toString(), /<Reason>This operation is only allowed on the root blob\. Version id should not be provided\.<\/Reason>/);
  }
  const both = await sendSigned(server, { target: `${target}&snapshot=${encodeURIComponent(versionId)}` });
  assert.equal(both.status, 400);
  assert.equal(both.code, 'MutuallyExclusiveQueryParameters');
});

test('a snapshot makes a version too', async () => {
  const blob = container.getBlockBlobClient('a');
  const first = await blob.upload('1', 1);
  const taken = await blob.createSnapshot();
  assert.match(taken._response.headers.get('x-ms-version-id'), VERSION_ID);
  assert.notEqual(taken._response.headers.get('x-ms-version-id'), first.versionId);
  assert.equal(taken.etag, first.etag);
  const all = await listed({ includeVersions: true, includeSnapshots: true });
  assert.equal(words(all), 'a# a@ a*');
  const snapshot = await blob.withSnapshot(taken.snapshot).getProperties();
  assert.equal(snapshot.versionId, undefined);
  await failsWith(blob.delete(), 409, 'SnapshotsPresent');
  await blob.delete({ deleteSnapshots: 'include' });
  assert.equal(words(await listed({ includeVersions: true, includeSnapshots: true })), 'a# a#');
});

test('pages of a listing of versions end and go on anywhere', async () => {
  for (const name of ['a', 'b', 'c']) {
    const blob = container.getBlockBlobClient(name);
    for (const text of ['1', '2', '3']) await blob.upload(text, 1);
    if (name === 'b') await blob.delete();
  }
  const whole = (await listed()).map(({ name, versionId }) => `${name} ${versionId}`);
  assert.equal(whole.length, 9);
  assert.deepEqual(whole, [...whole].sort());
  for (let maxPageSize = 1; maxPageSize < 9; maxPageSize++) {
    const blobs = [];
    const pages = container.listBlobsFlat({ includeVersions: true }).byPage({ maxPageSize });
    for await (const page of pages) blobs.push(...page.segment.blobItems);
    assert.deepEqual(blobs.map(({ name, versionId }) => `${name} ${versionId}`), whole);
  }
});

test('a SAS of a version is for that version alone', async () => {
  const blob = container.getBlockBlobClient('a');
  const first = await blob.upload('1', 1);
  const second = await blob.upload('2', 1);
  const sas = await sasFor(blob, { versionId: first.versionId });
  assert.match(sas, /sr=bv/);
  const version = new BlobClient(`${blob.withVersion(first.versionId).url}&${sas}`);
  assert.equal(await textOf(version), '1');
  const other = new BlobClient(`${blob.withVersion(second.versionId).url}&${sas}`);
  await assert.rejects(other.download(), (error) => error.statusCode === 403);
  await assert.rejects(new BlobClient(`${blob.url}?${sas}`).download(),
    (error) => error.statusCode === 403);
});

test('deleting a version by a SAS needs x', async () => {
  const blob = container.getBlockBlobClient('a');
  const first = await blob.upload('1', 1);
  await blob.upload('2', 1);
  const remove = async (permissions) => {
    const sas = await sasFor(blob, {
      versionId: first.versionId, permissions: BlobSASPermissions.parse(permissions),
    });
    return send(server, {
      method: 'DELETE',
      target: `/${server.account}/${container.containerName}/a`
        + `?versionid=${encodeURIComponent(first.versionId)}&${sas}`,
      headers: { 'x-ms-version': '2021-12-02' },
    });
  };
  assert.equal((await remove('d')).status, 403);
  assert.equal((await remove('x')).status, 202);
});

test('append blobs and page blobs have versions where they are made or described anew', async () => {
  const log = container.getAppendBlobClient('l');
  const created = await log.create();
  assert.match(created.versionId, VERSION_ID);
  assert.equal((await log.appendBlock('x', 1)).versionId, undefined);
  const described = await log.setMetadata({ a: '1' });
  await log.appendBlock('y', 1);
  assert.equal(await textOf(log.withVersion(created.versionId)), 'x');
  assert.equal(await textOf(log.withVersion(described.versionId)), 'xy');
  const pages = container.getPageBlobClient('p');
  const made = await pages.create(1024);
  await pages.uploadPages(Buffer.alloc(512, 1), 0, 512);
  await pages.setMetadata({ a: '1' });
  await pages.uploadPages(Buffer.alloc(512, 2), 0, 512);
  const old = await container.getPageBlobClient('p').withVersion(made.versionId)
    .downloadToBuffer();
  assert.equal(old[0], 1);
  assert.equal((await pages.downloadToBuffer())[0], 2);
  assert.equal(words(await listed()), 'l# l* p# p*');
  await assert.rejects(container.getBlockBlobClient('l').upload('1', 1),
    (error) => error.statusCode === 409 && error.code === 'InvalidBlobType');
});

test('properties make no version', async () => {
  const blob = container.getBlockBlobClient('a');
  await blob.upload('1', 1);
  await blob.setHTTPHeaders({ blobContentType: 'text/plain' });
  assert.equal(words(await listed()), 'a*');
});

test('versions stay when the server makes no more, and go on when it does again', async () => {
  const blob = container.getBlockBlobClient('a');
  const first = await blob.upload('1', 1);
  const name = container.containerName;
  const { args } = server.options;
  server.options.args = [];
  await server.restart();
  container = server.client().getContainerClient(name);
  const again = container.getBlockBlobClient('a');
  const second = await again.upload('2', 1);
  assert.equal(second.versionId, undefined);
  assert.equal(words(await listed()), 'a# a');
  assert.equal(await textOf(again.withVersion(first.versionId)), '1');
  server.options.args = args;
  await server.restart();
  service = server.client();
});

stopsCleanly(server);
