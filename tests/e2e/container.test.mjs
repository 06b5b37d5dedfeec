// Containers through the official SDK: create, properties, metadata, list, delete.

import test from 'node:test';
import assert from 'node:assert/strict';
import { ContainerClient } from '@azure/storage-blob';
import { startServer, stopsCleanly } from './helpers/server.mjs';

const server = await startServer();
const service = server.client();

let count = 0;
const newContainer = () => service.getContainerClient(`container-${++count}`);

async function createdContainer() {
  const container = newContainer();
  await container.create();
  return container;
}

async function names(iterator) {
  const result = [];
  for await (const item of iterator) result.push(item.name);
  return result;
}

test('a created container has an ETag, a date and a request id', async () => {
  const answer = await newContainer().create();
  assert.equal(answer._response.status, 201);
  assert.match(answer.etag, /^"0x[0-9A-F]+"$/);
  assert.match(answer.requestId, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  assert.ok(Math.abs(answer.lastModified - Date.now()) < 60_000);
});

test('a container cannot be created twice', async () => {
  const container = await createdContainer();
  await assert.rejects(container.create(), { statusCode: 409, code: 'ContainerAlreadyExists' });
});

test('createIfNotExists says which of two calls created the container', async () => {
  const container = newContainer();
  assert.equal((await container.createIfNotExists()).succeeded, true);
  assert.equal((await container.createIfNotExists()).succeeded, false);
  assert.equal(await container.exists(), true);
});

test('a container that was never created does not exist', async () => {
  const container = newContainer();
  assert.equal(await container.exists(), false);
  assert.equal((await container.deleteIfExists()).succeeded, false);
  const missing = { statusCode: 404, code: 'ContainerNotFound' };
  await assert.rejects(container.getProperties(), missing);
  await assert.rejects(container.setMetadata({ a: 'b' }), missing);
  await assert.rejects(container.delete(), missing);
  await assert.rejects(container.getBlobLeaseClient().acquireLease(15), missing);
  await assert.rejects(container.listBlobsFlat().next(), missing);
  await assert.rejects(container.getBlockBlobClient('b').upload('x', 1), missing);
});

test('the properties of a new container are those of an unleased private one', async () => {
  const container = newContainer();
  const created = await container.create();
  const properties = await container.getProperties();
  assert.equal(properties.etag, created.etag);
  assert.deepEqual(properties.lastModified, created.lastModified);
  assert.equal(properties.leaseState, 'available');
  assert.equal(properties.leaseStatus, 'unlocked');
  assert.equal(properties.leaseDuration, undefined);
  assert.equal(properties.blobPublicAccess, undefined);
  assert.equal(properties.hasImmutabilityPolicy, false);
  assert.equal(properties.hasLegalHold, false);
  assert.deepEqual(properties.metadata, {});
});

test('metadata given at creation is kept', async () => {
  const container = newContainer();
  await container.create({ metadata: { hello: 'world', number: '42' } });
  const properties = await container.getProperties();
  assert.deepEqual(properties.metadata, { hello: 'world', number: '42' });
});

test('setting metadata replaces all of it and changes the ETag', async () => {
  const container = newContainer();
  const created = await container.create({ metadata: { one: '1', two: '2' } });
  const set = await container.setMetadata({ three: '3' });
  assert.notEqual(set.etag, created.etag);
  const properties = await container.getProperties();
  assert.deepEqual(properties.metadata, { three: '3' });
  assert.equal(properties.etag, set.etag);
  await container.setMetadata({});
  assert.deepEqual((await container.getProperties()).metadata, {});
});

test('what happens to its blobs does not change a container', async () => {
  const container = newContainer();
  const created = await container.create();
  const blob = container.getBlockBlobClient('b');
  await blob.upload('x', 1);
  await blob.delete();
  assert.equal((await container.getProperties()).etag, created.etag);
});

test('a deleted container is gone with its blobs and can be created again at once', async () => {
  const container = newContainer();
  await container.create({ metadata: { old: 'yes' } });
  await container.getBlockBlobClient('b').upload('x', 1);
  assert.equal((await container.delete())._response.status, 202);
  assert.equal(await container.exists(), false);
  await assert.rejects(container.getBlobClient('b').download(),
    { statusCode: 404, code: 'ContainerNotFound' });

  await container.create();
  assert.deepEqual((await container.getProperties()).metadata, {});
  assert.deepEqual(await names(container.listBlobsFlat()), []);
  assert.equal(await container.getBlobClient('b').exists(), false);
});

test('containers are listed in order, by prefix, in pages, with metadata when asked', async () => {
  const expected = [];
  for (const suffix of ['b', 'a-1', 'a', '9', '0-z', 'zz']) {
    const name = `listed-${suffix}`;
    await service.createContainer(name, { metadata: { suffix } });
    expected.push(name);
  }
  expected.sort();
  assert.deepEqual(await names(service.listContainers({ prefix: 'listed-' })), expected);
  assert.deepEqual(await names(service.listContainers({ prefix: 'listed-a' })),
    ['listed-a', 'listed-a-1']);
  assert.deepEqual(await names(service.listContainers({ prefix: 'listed-none' })), []);

  const paged = [];
  for await (const page of service.listContainers({ prefix: 'listed-' })
    .byPage({ maxPageSize: 2 })) {
    assert.ok(page.containerItems.length <= 2);
    paged.push(...page.containerItems.map((item) => item.name));
  }
  assert.deepEqual(paged, expected);

  for await (const item of service.listContainers({ prefix: 'listed-', includeMetadata: true })) {
    assert.deepEqual(item.metadata, { suffix: item.name.slice('listed-'.length) });
    assert.match(item.properties.etag, /^"0x[0-9A-F]+"$/);
    assert.equal(item.properties.leaseState, 'available');
  }
  const plain = await service.listContainers({ prefix: 'listed-' }).next();
  assert.equal(plain.value.metadata, undefined);
});

test('a listing continues at the marker it gave', async () => {
  for (const suffix of ['a', 'b', 'c']) await service.createContainer(`marked-${suffix}`);
  const first = (await service.listContainers({ prefix: 'marked-' })
    .byPage({ maxPageSize: 1 }).next()).value;
  assert.deepEqual(first.containerItems.map((item) => item.name), ['marked-a']);
  assert.ok(first.continuationToken);
  const rest = (await service.listContainers({ prefix: 'marked-' })
    .byPage({ continuationToken: first.continuationToken }).next()).value;
  assert.deepEqual(rest.containerItems.map((item) => item.name), ['marked-b', 'marked-c']);
  assert.ok(!rest.continuationToken);
});

test('all containers are listed across pages, however many there are', async () => {
  const total = 60;
  const expected = [];
  for (let i = 0; i < total; i++) expected.push(`many-${String(i).padStart(3, '0')}`);
  await Promise.all(expected.map((name) => service.createContainer(name)));
  const found = [];
  for await (const page of service.listContainers({ prefix: 'many-' })
    .byPage({ maxPageSize: 7 })) {
    found.push(...page.containerItems.map((item) => item.name));
  }
  assert.deepEqual(found, expected);
});

test('a leased container shows its lease and is not deleted without the id', async () => {
  const container = await createdContainer();
  const etag = (await container.getProperties()).etag;
  const lease = container.getBlobLeaseClient();
  await lease.acquireLease(-1);
  const properties = await container.getProperties();
  assert.equal(properties.leaseState, 'leased');
  assert.equal(properties.leaseStatus, 'locked');
  assert.equal(properties.leaseDuration, 'infinite');
  assert.equal(properties.etag, etag);

  await container.setMetadata({ free: 'yes' });
  await container.getBlockBlobClient('b').upload('x', 1);
  await assert.rejects(container.delete(), { statusCode: 412, code: 'LeaseIdMissing' });
  await container.delete({ conditions: { leaseId: lease.leaseId } });
});

test('a container deleted under a lease is not leased when it is created again', async () => {
  const container = await createdContainer();
  const lease = container.getBlobLeaseClient();
  await lease.acquireLease(-1);
  await container.delete({ conditions: { leaseId: lease.leaseId } });
  await container.create();
  assert.equal((await container.getProperties()).leaseState, 'available');
});

test('the root container holds blobs addressed without a container', async () => {
  const container = service.getContainerClient('$root');
  await container.create();
  await container.getBlockBlobClient('at-the-root.txt').upload('root', 4);
  const answer = await container.getBlobClient('at-the-root.txt').downloadToBuffer();
  assert.equal(answer.toString(), 'root');
  assert.deepEqual(await names(container.listBlobsFlat()), ['at-the-root.txt']);
  assert.ok((await names(service.listContainers())).includes('$root'));
  await container.delete();
  assert.equal(await container.exists(), false);
});

test('container names are held to their rules', async () => {
  const refused = async (name, code) => {
    const container = new ContainerClient(`${server.url}/${name}`, service.credential);
    await assert.rejects(container.create(), { statusCode: 400, code }, name);
  };
  for (const name of ['ab', 'a', 'x'.repeat(64)]) await refused(name, 'OutOfRangeInput');
  for (const name of ['UPPER', 'under_score', '-dash', 'dash-', 'two--dashes', 'dot.dot']) {
    await refused(name, 'InvalidResourceName');
  }
  for (const name of ['abc', 'x'.repeat(63), '0-1-2', 'a1b']) {
    const container = service.getContainerClient(name);
    await container.create();
    await container.delete();
  }
});

stopsCleanly(server);
