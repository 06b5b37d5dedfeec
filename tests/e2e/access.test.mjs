// Who may read and write without the account's key: public access, stored access policies and their
// revocation, through the official SDK.

import test from 'node:test';
import assert from 'node:assert/strict';
import {
  AnonymousCredential, BlobClient, ContainerClient, ContainerSASPermissions,
} from '@azure/storage-blob';
import { startServer, stopsCleanly } from './helpers/server.mjs';

const server = await startServer();
const service = server.client();

let count = 0;
async function containerWithBlob(options) {
  const container = service.getContainerClient(`access-${++count}`);
  await container.create(options);
  await container.getBlockBlobClient('blob').upload('bytes', 5, { metadata: { a: '1' } });
  return container;
}

const anonymous = (client) => new client.constructor(client.url, new AnonymousCredential());
const inAnHour = () => new Date(Date.now() + 3600_000);
const anHourAgo = () => new Date(Date.now() - 3600_000);

async function listed(container) {
  const names = [];
  for await (const item of container.listBlobsFlat()) names.push(item.name);
  return names;
}

test('a private container shows nothing to anybody', async () => {
  const container = await containerWithBlob();
  const stranger = anonymous(container);
  const refused = { statusCode: 401, code: 'NoAuthenticationInformation' };
  await assert.rejects(stranger.getProperties(), { statusCode: 401 });
  await assert.rejects(listed(stranger), refused);
  await assert.rejects(stranger.getBlobClient('blob').download(), refused);
});

test('a container with public blobs shows its blobs but not their list', async () => {
  const container = await containerWithBlob({ access: 'blob' });
  const stranger = anonymous(container);
  const blob = stranger.getBlobClient('blob');
  assert.equal((await blob.downloadToBuffer()).toString(), 'bytes');
  assert.deepEqual((await blob.getProperties()).metadata, { a: '1' });
  await assert.rejects(listed(stranger), { statusCode: 401 });
  await assert.rejects(stranger.getProperties(), { statusCode: 401 });
});

test('a public container shows its list and properties too, and takes no writes', async () => {
  const container = await containerWithBlob({ access: 'container' });
  const stranger = anonymous(container);
  assert.deepEqual(await listed(stranger), ['blob']);
  assert.equal((await stranger.getProperties()).blobPublicAccess, 'container');
  const blob = stranger.getBlockBlobClient('blob');
  await assert.rejects(blob.upload('x', 1), { statusCode: 401 });
  await assert.rejects(blob.delete(), { statusCode: 401 });
  await assert.rejects(blob.setMetadata({}), { statusCode: 401 });
  await assert.rejects(stranger.delete(), { statusCode: 401 });
});

test('public access is listed, and taking it away holds at once', async () => {
  const container = await containerWithBlob({ access: 'container' });
  for await (const item of service.listContainers({ prefix: container.containerName }))
    assert.equal(item.properties.publicAccess, 'container');
  const blob = anonymous(container.getBlobClient('blob'));
  await blob.downloadToBuffer();
  await container.setAccessPolicy();
  await assert.rejects(blob.downloadToBuffer(), { statusCode: 401 });
});

test('access policies are kept with their times and permissions, and replaced whole', async () => {
  const container = await containerWithBlob();
  const before = await container.getProperties();
  const startsOn = new Date('2026-01-02T03:04:05Z');
  const answer = await container.setAccessPolicy('blob', [
    { id: 'first', accessPolicy: { startsOn, expiresOn: inAnHour(), permissions: 'rl' } },
    { id: 'no times', accessPolicy: { permissions: 'rwd' } },
  ]);
  assert.notEqual(answer.etag, before.etag);
  const policy = await container.getAccessPolicy();
  assert.equal(policy.etag, answer.etag);
  assert.equal(policy.blobPublicAccess, 'blob');
  assert.deepEqual(policy.signedIdentifiers.map((s) => [s.id, s.accessPolicy.permissions]),
    [['first', 'rl'], ['no times', 'rwd']]);
  assert.equal(policy.signedIdentifiers[0].accessPolicy.startsOn.toISOString(),
    startsOn.toISOString());
  await container.setAccessPolicy();
  assert.deepEqual((await container.getAccessPolicy()).signedIdentifiers, []);
});

test('six access policies are refused and change nothing', async () => {
  const container = await containerWithBlob();
  const policies = [...Array(6).keys()].map((i) => ({ id: `p${i}`, accessPolicy: { permissions: 'r' } }));
  await assert.rejects(container.setAccessPolicy(undefined, policies),
    { statusCode: 400, code: 'InvalidXmlDocument' });
  assert.deepEqual((await container.getAccessPolicy()).signedIdentifiers, []);
});

test('setting access policies takes conditions and the lease', async () => {
  const container = await containerWithBlob();
  const { lastModified } = await container.getProperties();
  await assert.rejects(container.setAccessPolicy(undefined, [], {
    conditions: { ifUnmodifiedSince: new Date(lastModified.getTime() - 60_000) },
  }), { statusCode: 412, code: 'ConditionNotMet' });
  const lease = container.getBlobLeaseClient();
  const { leaseId } = await lease.acquireLease(-1);
  await container.setAccessPolicy('blob', [], { conditions: { leaseId } });
  await assert.rejects(container.setAccessPolicy('blob', [], {
    conditions: { leaseId: '00000000-0000-0000-0000-000000000001' },
  }), { statusCode: 412, code: 'LeaseIdMismatchWithContainerOperation' });
  await lease.releaseLease();
});

test('a SAS by stored policy does what the policy says now', async () => {
  const container = await containerWithBlob();
  await container.setAccessPolicy(undefined,
    [{ id: 'readers', accessPolicy: { expiresOn: inAnHour(), permissions: 'r' } }]);
  const url = await container.generateSasUrl({ identifier: 'readers' });
  const guest = new ContainerClient(url);
  assert.equal((await guest.getBlobClient('blob').downloadToBuffer()).toString(), 'bytes');
  await assert.rejects(guest.getBlockBlobClient('new').upload('x', 1),
    { statusCode: 403, code: 'AuthorizationPermissionMismatch' });

  await container.setAccessPolicy(undefined,
    [{ id: 'readers', accessPolicy: { expiresOn: inAnHour(), permissions: 'rw' } }]);
  await guest.getBlockBlobClient('new').upload('x', 1);

  await container.setAccessPolicy(undefined,
    [{ id: 'readers', accessPolicy: { expiresOn: anHourAgo(), permissions: 'rw' } }]);
  await assert.rejects(guest.getBlobClient('blob').download(),
    { statusCode: 403, code: 'AuthenticationFailed' });

  await container.setAccessPolicy();
  await assert.rejects(guest.getBlobClient('blob').download(),
    { statusCode: 403, code: 'AuthenticationFailed' });
});

test('a policy without an expiry takes it from the SAS', async () => {
  const container = await containerWithBlob();
  await container.setAccessPolicy(undefined, [{ id: 'p', accessPolicy: { permissions: 'r' } }]);
  const blob = container.getBlobClient('blob');
  const good = await blob.generateSasUrl({ identifier: 'p', expiresOn: inAnHour() });
  assert.equal((await new BlobClient(good).downloadToBuffer()).toString(), 'bytes');
  const late = await blob.generateSasUrl({ identifier: 'p', expiresOn: anHourAgo() });
  await assert.rejects(new BlobClient(late).downloadToBuffer(), { statusCode: 403 });
});

test('access policies are never seen or set with a SAS', async () => {
  const container = await containerWithBlob();
  const url = await container.generateSasUrl(
    { expiresOn: inAnHour(), permissions: ContainerSASPermissions.parse('racwdl') });
  const guest = new ContainerClient(url);
  const refused = { statusCode: 403, code: 'AuthorizationFailure' };
  await assert.rejects(guest.getAccessPolicy(), refused);
  await assert.rejects(guest.setAccessPolicy('container'), refused);
});

stopsCleanly(server);
