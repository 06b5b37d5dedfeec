// Soft delete through the official SDK: what a retention policy keeps, what listings show of it, and
// Undelete Blob.

import test from 'node:test';
import assert from 'node:assert/strict';
import { fsck, startServer, stopsCleanly } from './helpers/server.mjs';
import { send, sendSigned } from './helpers/http.mjs';
import { serviceSas } from './helpers/sign.mjs';

const server = await startServer();
let service = server.client();
let container;
let count = 0;

async function freshContainer() {
  container = service.getContainerClient(`softdelete-${++count}`);
  await container.create();
}

const setPolicy = (days, extra = {}) => service.setProperties({
  deleteRetentionPolicy: days > 0 ? { enabled: true, days, ...extra } : { enabled: false },
});

// The SDK does not send AllowPermanentDelete.
async function allowPermanentDelete(allowed) {
  const answer = await sendSigned(server, {
    method: 'PUT',
    target: `/${server.account}/?restype=service&comp=properties`,
    body: '<StorageServiceProperties><DeleteRetentionPolicy><Enabled>true</Enabled><Days>7</Days>'
      + `<AllowPermanentDelete>${allowed}</AllowPermanentDelete></DeleteRetentionPolicy>`
      + '</StorageServiceProperties>',
  });
  assert.equal(answer.status, 202);
}

async function listed(options) {
  const blobs = [];
  for await (const blob of container.listBlobsFlat(options)) blobs.push(blob);
  return blobs;
}

const words = (blobs) => blobs.map((blob) =>
  `${blob.name}${blob.snapshot ? '@' : ''}${blob.deleted ? '-' : ''}`).join(' ');
const textOf = async (blob) => (await blob.downloadToBuffer()).toString();
const failsWith = (promise, statusCode, code) =>
  assert.rejects(promise, (error) => error.statusCode === statusCode && error.code === code);

test.beforeEach(async () => {
  await freshContainer();
  await setPolicy(7);
});

test('a deleted blob is seen by nobody, and comes back as it was', async () => {
  const blob = container.getBlockBlobClient('a');
  await blob.upload('content', 7, { metadata: { a: '1' }, tags: { colour: 'red' } });
  const before = await blob.getProperties();
  const answer = await blob.delete();
  assert.equal(answer._response.headers.get('x-ms-delete-type-permanent'), 'false');
  for (const attempt of [() => blob.download(), () => blob.setMetadata({}), () => blob.getTags(),
    () => blob.createSnapshot(), () => blob.delete(), () => blob.setAccessTier('Cool')]) {
    await assert.rejects(attempt, (error) => error.statusCode === 404);
  }
  const found = [];
  for await (const one of container.findBlobsByTags("colour = 'red'")) found.push(one);
  assert.deepEqual(found, []);

  const undeleted = await blob.undelete();
  assert.equal(undeleted._response.status, 200);
  assert.equal(undeleted._response.headers.get('etag'), undefined);
  const after = await blob.getProperties();
  assert.equal(after.etag, before.etag);
  assert.deepEqual(after.lastModified, before.lastModified);
  assert.deepEqual(after.metadata, { a: '1' });
  assert.equal(await textOf(blob), 'content');
  for await (const one of container.findBlobsByTags("colour = 'red'")) found.push(one.name);
  assert.deepEqual(found, ['a']);
  await blob.undelete();
});

test('a listing shows when it was deleted and how long it is kept', async () => {
  const blob = container.getBlockBlobClient('a');
  await blob.upload('1', 1);
  await blob.delete();
  assert.deepEqual(await listed(), []);
  const [shown] = await listed({ includeDeleted: true });
  assert.equal(shown.deleted, true);
  assert.equal(shown.properties.remainingRetentionDays, 6);
  assert.ok(Math.abs(shown.properties.deletedOn - Date.now()) < 60_000);
  // As recorded: an empty lease status, no lease state, and the order of the elements.
  const answer = await sendSigned(server, {
    target: `/${server.account}/${container.containerName}?restype=container&comp=list`
      + '&include=deleted',
  });
  assert.match(answer.body.toString(), new RegExp('<Blob><Name>a</Name><Deleted>true</Deleted>'
    + '<Properties>.*<LeaseStatus /><ServerEncrypted>true</ServerEncrypted><DeletedTime>[^<]+'
    + '</DeletedTime><RemainingRetentionDays>6</RemainingRetentionDays></Properties>'));
  assert.doesNotMatch(answer.body.toString(), /LeaseState/);
});

test('what is written over is kept as a snapshot that is deleted', async () => {
  const blob = container.getBlockBlobClient('a');
  await blob.upload('one', 3);
  await blob.upload('two', 3);
  await blob.stageBlock(Buffer.from('b').toString('base64'), 'three', 5);
  await blob.commitBlockList([Buffer.from('b').toString('base64')]);
  const other = container.getBlockBlobClient('b');
  await other.upload('four', 4);
  await (await blob.beginCopyFromURL(other.url)).pollUntilDone();
  await blob.setMetadata({ a: '1' });
  await blob.setHTTPHeaders({ blobContentType: 'text/plain' });
  assert.equal(words(await listed({ includeDeleted: true })), 'a b');
  assert.equal(words(await listed({ includeDeleted: true, includeSnapshots: true })),
    'a@- a@- a@- a b');
  await blob.undelete();
  const snapshots = await listed({ includeSnapshots: true });
  assert.equal(words(snapshots), 'a@ a@ a@ a b');
  const texts = await Promise.all(snapshots.slice(0, 3)
    .map(({ snapshot }) => textOf(blob.withSnapshot(snapshot))));
  assert.deepEqual(texts, ['one', 'two', 'three']);
  assert.equal(await textOf(blob), 'four');
});

test('append blobs and page blobs keep nothing of what is written into them', async () => {
  const log = container.getAppendBlobClient('l');
  await log.create();
  await log.appendBlock('x', 1);
  const pages = container.getPageBlobClient('p');
  await pages.create(512);
  await pages.uploadPages(Buffer.alloc(512, 1), 0, 512);
  assert.equal(words(await listed({ includeDeleted: true, includeSnapshots: true })), 'l p');
  await log.delete();
  await pages.delete();
  await log.undelete();
  await pages.undelete();
  await log.appendBlock('y', 1);
  assert.equal(await textOf(log), 'xy');
  assert.deepEqual(await pages.downloadToBuffer(), Buffer.alloc(512, 1));
});

test('a blob is deleted with its snapshots, and they come back together', async () => {
  const blob = container.getBlockBlobClient('a');
  await blob.upload('1', 1);
  const { snapshot } = await blob.createSnapshot();
  await failsWith(blob.delete(), 409, 'SnapshotsPresent');
  await blob.delete({ deleteSnapshots: 'include' });
  assert.equal(words(await listed({ includeDeleted: true, includeSnapshots: true })), 'a@- a-');
  await failsWith(blob.withSnapshot(snapshot).download(), 404, 'BlobNotFound');
  await blob.undelete();
  assert.equal(await textOf(blob.withSnapshot(snapshot)), '1');
  // One alone comes back too.
  await blob.withSnapshot(snapshot).delete();
  await blob.undelete();
  assert.equal(words(await listed({ includeSnapshots: true })), 'a@ a');
});

test('a name can be used again, and the deleted blob is a snapshot then', async () => {
  const blob = container.getBlockBlobClient('a');
  await blob.upload('old', 3);
  await blob.delete();
  await blob.upload('new', 3);
  assert.equal(words(await listed({ includeDeleted: true, includeSnapshots: true })), 'a@- a');
  await blob.undelete();
  const [{ snapshot }] = await listed({ includeSnapshots: true });
  assert.equal(await textOf(blob.withSnapshot(snapshot)), 'old');
  assert.equal(await textOf(blob), 'new');
  // Another type ends it all.
  await blob.delete({ deleteSnapshots: 'include' });
  await container.getAppendBlobClient('a').create();
  assert.equal(words(await listed({ includeDeleted: true, includeSnapshots: true })), 'a');
});

test('a page of a listing ends and goes on anywhere', async () => {
  for (const name of ['a', 'b', 'c']) {
    const blob = container.getBlockBlobClient(name);
    for (const text of ['1', '2', '3']) await blob.upload(text, 1);
    if (name !== 'b') await blob.delete();
  }
  const options = { includeDeleted: true, includeSnapshots: true };
  const whole = words(await listed(options));
  assert.equal(whole, 'a@- a@- a- b@- b@- b c@- c@- c-');
  for (let maxPageSize = 1; maxPageSize < 9; maxPageSize++) {
    const blobs = [];
    for await (const page of container.listBlobsFlat(options).byPage({ maxPageSize })) {
      assert.ok(page.segment.blobItems.length <= maxPageSize);
      blobs.push(...page.segment.blobItems);
    }
    assert.equal(words(blobs), whole);
  }
});

test('without a policy a deletion is for good', async () => {
  await setPolicy(0);
  const blob = container.getBlockBlobClient('a');
  await blob.upload('1', 1);
  const answer = await blob.delete();
  assert.equal(answer._response.headers.get('x-ms-delete-type-permanent'), 'true');
  assert.deepEqual(await listed({ includeDeleted: true }), []);
  await failsWith(blob.undelete(), 404, 'BlobNotFound');
});

test('a soft-deleted snapshot is deleted for good if the account allows it', async () => {
  const blob = container.getBlockBlobClient('a');
  await blob.upload('1', 1);
  const { snapshot } = await blob.createSnapshot();
  const target = `/${server.account}/${container.containerName}/a`;
  const permanent = (parameters) => sendSigned(server, {
    method: 'DELETE', target: `${target}?${parameters}deletetype=permanent`,
  });
  const one = `snapshot=${encodeURIComponent(snapshot)}&`;
  assert.equal((await permanent(one)).status, 409);
  await allowPermanentDelete(true);
  assert.equal((await permanent('')).status, 409);
  const live = await permanent(one);
  assert.equal(live.status, 409);
  assert.equal(live.code, 'BlobSnapshotNotSoftDeleted');
  await blob.withSnapshot(snapshot).delete();
  const answer = await permanent(one);
  assert.equal(answer.status, 202);
  assert.equal(answer.headers['x-ms-delete-type-permanent'], 'true');
  assert.equal(words(await listed({ includeDeleted: true, includeSnapshots: true })), 'a');
  assert.equal((await permanent(one)).status, 404);
  assert.equal((await sendSigned(server, {
    method: 'DELETE', target: `${target}?deletetype=other`,
  })).status, 400);
});

test('a SAS needs a permission of its own to delete for good, and w to undelete', async () => {
  const blob = container.getBlockBlobClient('a');
  await blob.upload('1', 1);
  const { snapshot } = await blob.createSnapshot();
  await blob.withSnapshot(snapshot).delete();
  await allowPermanentDelete(true);
  const path = `/${server.account}/${container.containerName}/a`;
  const sas = (sp) => serviceSas(container.containerName, 'a', { sp, sr: 'b' });
  const permanent = (sp) => send(server, {
    method: 'DELETE',
    target: `${path}?snapshot=${encodeURIComponent(snapshot)}&deletetype=permanent&${sas(sp)}`,
    headers: { 'x-ms-version': '2021-12-02' },
  });
  const undelete = (sp) => send(server, {
    method: 'PUT', target: `${path}?comp=undelete&${sas(sp)}`,
    headers: { 'x-ms-version': '2021-12-02' },
  });
  assert.equal((await undelete('r')).status, 403);
  const refused = await permanent('d');
  assert.equal(refused.status, 403);
  assert.equal(refused.code, 'AuthorizationPermissionMismatch');
  assert.equal((await permanent('y')).status, 202);
  assert.equal((await undelete('w')).status, 200);
});

test('conditions are refused by Undelete Blob', async () => {
  await container.getBlockBlobClient('a').upload('1', 1);
  const answer = await sendSigned(server, {
    method: 'PUT', target: `/${server.account}/${container.containerName}/a?comp=undelete`,
    headers: { 'If-Match': '*' },
  });
  assert.equal(answer.status, 400);
});

test('it survives a restart, and the store is sound', async () => {
  const blob = container.getBlockBlobClient('a');
  const long = 'x'.repeat(100_000);
  await blob.upload(long, long.length);
  await blob.upload('new', 3);
  await blob.delete();
  const name = container.containerName;
  await server.stop();
  const { code, lines } = await fsck(server.directory);
  assert.equal(code, 0, lines.join('\n'));
  await server.start();
  service = server.client();
  container = service.getContainerClient(name);
  await container.getBlobClient('a').undelete();
  const [{ snapshot }] = await listed({ includeSnapshots: true });
  assert.equal(await textOf(container.getBlobClient('a').withSnapshot(snapshot)), long);
});

stopsCleanly(server);
