// Snapshots through the official SDK: taking, reading, listing and deleting them.

import test from 'node:test';
import assert from 'node:assert/strict';
import { startServer, stopsCleanly } from './helpers/server.mjs';
import { blockBlob, sasSender } from './helpers/http.mjs';

const server = await startServer();
const service = server.client();
const container = service.getContainerClient('snapshots');
await container.create();
const send = sasSender(server);

let count = 0;
const newBlob = () => container.getBlockBlobClient(`blob-${++count}`);

async function uploaded(content = 'content', options = {}) {
  const blob = newBlob();
  await blob.upload(content, content.length, options);
  return blob;
}

const textOf = async (blob) => (await blob.downloadToBuffer()).toString();
const failsWith = (promise, statusCode, code) =>
  assert.rejects(promise, (error) => error.statusCode === statusCode && error.code === code);

async function listed(options) {
  const blobs = [];
  for await (const blob of container.listBlobsFlat(options)) blobs.push(blob);
  return blobs;
}

for (const size of [0, 10, 100 * 1024]) {
  test(`a snapshot of ${size} bytes keeps what the blob was`, async () => {
    const old = 'o'.repeat(size);
    const blob = await uploaded(old, { metadata: { when: 'then' }, tags: { a: '1' } });
    const before = await blob.getProperties();
    const answer = await blob.createSnapshot();
    assert.equal(answer._response.status, 201);
    assert.match(answer.snapshot, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z$/);
    assert.equal(answer.etag, before.etag);
    assert.equal((await blob.getProperties()).etag, before.etag);
    await blob.upload('new', 3, { metadata: { when: 'now' } });

    const snapshot = blob.withSnapshot(answer.snapshot);
    assert.equal(await textOf(snapshot), old);
    const properties = await snapshot.getProperties();
    assert.equal(properties.etag, before.etag);
    assert.deepEqual(properties.metadata, { when: 'then' });
    assert.equal(properties.leaseState, undefined);
    assert.deepEqual((await snapshot.getTags()).tags, { a: '1' });
    assert.equal(await textOf(blob), 'new');
  });
}

test('a snapshot that is given metadata has that, and an ETag of its own', async () => {
  const blob = await uploaded('x', { metadata: { a: '1', b: '2' } });
  const before = await blob.getProperties();
  const answer = await blob.createSnapshot({ metadata: { c: '3' } });
  assert.notEqual(answer.etag, before.etag);
  const properties = await blob.withSnapshot(answer.snapshot).getProperties();
  assert.deepEqual(properties.metadata, { c: '3' });
  assert.equal(properties.etag, answer.etag);
  assert.equal((await blob.getProperties()).etag, before.etag);
});

test('a snapshot is taken if the conditions hold', async () => {
  const blob = await uploaded();
  const { etag } = await blob.getProperties();
  await blob.createSnapshot({ conditions: { ifMatch: etag } });
  await failsWith(blob.createSnapshot({ conditions: { ifMatch: '"0x1"' } }), 412,
    'ConditionNotMet');
  await failsWith(blob.createSnapshot({ conditions: { ifNoneMatch: etag } }), 412,
    'ConditionNotMet');
  await failsWith(newBlob().createSnapshot(), 404, 'BlobNotFound');
});

test('a leased blob is snapshot without the id, but not with a wrong one', async () => {
  const blob = await uploaded();
  const lease = blob.getBlobLeaseClient();
  const { leaseId } = await lease.acquireLease(-1);
  await blob.createSnapshot();
  await blob.createSnapshot({ conditions: { leaseId } });
  await failsWith(blob.createSnapshot({
    conditions: { leaseId: '11111111-1111-1111-1111-111111111111' },
  }), 412, 'LeaseIdMismatchWithBlobOperation');
});

test('a blob with snapshots is deleted with them or not at all', async () => {
  const blob = await uploaded();
  const first = (await blob.createSnapshot()).snapshot;
  const second = (await blob.createSnapshot()).snapshot;
  await failsWith(blob.delete(), 409, 'SnapshotsPresent');
  await blob.withSnapshot(first).delete();
  await failsWith(blob.withSnapshot(first).delete(), 404, 'BlobNotFound');
  await blob.withSnapshot(second).getProperties();
  await blob.delete({ deleteSnapshots: 'only' });
  assert.equal(await blob.withSnapshot(second).exists(), false);
  assert.equal(await textOf(blob), 'content');
  const third = (await blob.createSnapshot()).snapshot;
  const answer = await blob.delete({ deleteSnapshots: 'include' });
  assert.equal(answer._response.status, 202);
  assert.equal(await blob.exists(), false);
  assert.equal(await blob.withSnapshot(third).exists(), false);
});

test('a thousand snapshots are deleted at once', async () => {
  const blob = await uploaded();
  for (let i = 0; i < 20; i++) {
    await Promise.all(Array.from({ length: 50 }, () => blob.createSnapshot()));
  }
  await blob.delete({ deleteSnapshots: 'include' });
  assert.equal(await blob.exists(), false);
  assert.deepEqual(await listed({ prefix: blob.name, includeSnapshots: true }), []);
});

test('snapshots taken at the same time all have their own names', async () => {
  const blob = await uploaded();
  const answers = await Promise.all(Array.from({ length: 32 }, () => blob.createSnapshot()));
  assert.equal(new Set(answers.map(({ snapshot }) => snapshot)).size, 32);
});

test('a listing shows snapshots from the oldest on and then the blob, on pages of any size',
  async () => {
    const prefix = 'listed/';
    for (const name of ['a', 'b', 'c']) {
      const blob = container.getBlockBlobClient(prefix + name);
      await blob.upload(name, 1);
      for (let i = 0; i < 3; i++) await blob.createSnapshot();
    }
    const whole = await listed({ prefix, includeSnapshots: true });
    const keys = whole.map(({ name, snapshot }) => [name, snapshot ?? '']);
    assert.equal(keys.length, 12);
    assert.deepEqual(keys.map(([name]) => name.at(-1)).join(''), 'aaaabbbbcccc');
    for (let at = 0; at < 12; at += 4) {
      const times = keys.slice(at, at + 3).map(([, snapshot]) => snapshot);
      assert.deepEqual(times, [...times].sort());
      assert.ok(times[0] !== '');
      assert.equal(keys[at + 3][1], '');
    }
    for (let maxPageSize = 1; maxPageSize < 13; maxPageSize++) {
      const paged = [];
      const pages = container.listBlobsFlat({ prefix, includeSnapshots: true })
        .byPage({ maxPageSize });
      for await (const page of pages) {
        assert.ok(page.segment.blobItems.length <= maxPageSize);
        paged.push(...page.segment.blobItems);
      }
      assert.deepEqual(paged.map(({ name, snapshot }) => [name, snapshot ?? '']), keys);
    }
    assert.equal((await listed({ prefix })).length, 3);
  });

test('snapshots and a delimiter do not go together', async () => {
  const answer = await send('GET',
    'snapshots?restype=container&comp=list&delimiter=/&include=snapshots');
  assert.equal(answer.status, 400);
  assert.equal(answer.code, 'InvalidQueryParameterValue');
});

test('a snapshot that is not named by an instant, or does not exist, is refused', async () => {
  const { name } = await uploaded();
  const path = `snapshots/${name}`;
  const bad = await send('GET', `${path}?snapshot=yesterday`);
  assert.equal(bad.status, 400);
  assert.equal(bad.code, 'InvalidQueryParameterValue');
  assert.match(bad.body.toString(), /<QueryParameterName>snapshot</);
  const time = '2026-01-01T00:00:00.0000000Z';
  const none = await send('GET', `${path}?snapshot=${time}`);
  assert.equal(none.status, 404);
  assert.equal(none.code, 'BlobNotFound');
  const both = await send('GET', `${path}?snapshot=${time}&versionid=${time}`);
  assert.equal(both.status, 400);
  assert.equal(both.code, 'MutuallyExclusiveQueryParameters');
});

test('a snapshot is never written', async () => {
  const blob = await uploaded();
  const { snapshot } = await blob.createSnapshot();
  const at = `snapshots/${blob.name}?snapshot=${encodeURIComponent(snapshot)}`;
  const writes = [
    ['PUT', at, blockBlob],
    ['PUT', `${at}&comp=metadata`, {}],
    ['PUT', `${at}&comp=properties`, {}],
    ['PUT', `${at}&comp=snapshot`, {}],
    ['PUT', `${at}&comp=lease`, { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '-1' }],
  ];
  for (const [method, path, headers] of writes) {
    const answer = await send(method, path, headers);
    assert.equal(answer.status, 400, path);
    assert.equal(answer.code, 'InvalidQueryParameterValue', path);
  }
  const answer = await send('DELETE', at, { 'x-ms-delete-snapshots': 'include' });
  assert.equal(answer.status, 400);
  assert.equal(await textOf(blob.withSnapshot(snapshot)), 'content');
});

test('snapshots survive a restart', async () => {
  const blob = await uploaded('o'.repeat(200000));
  const { snapshot } = await blob.createSnapshot();
  await blob.upload('new', 3);
  await server.restart();
  const again = server.client().getContainerClient('snapshots').getBlobClient(blob.name);
  assert.equal(await textOf(again.withSnapshot(snapshot)), 'o'.repeat(200000));
  assert.equal(await textOf(again), 'new');
});

stopsCleanly(server);
