// Shares: properties, metadata, access policies, statistics, permissions, snapshots, leases, soft
// delete; the service's properties.

import test from 'node:test';
import assert from 'node:assert/strict';
import { startServer, stopsCleanly } from './helpers/server.mjs';
import { send } from './helpers/http.mjs';
import { fileClient, fileEndpoint, fileSender, hostStyleClient, list, makeFile, read } from
  './helpers/file.mjs';

const server = await startServer();
const service = fileClient(server);
const raw = fileSender(server);

const shares = async (options) => {
  const found = [];
  for await (const item of service.listShares(options)) found.push(item);
  return found;
};
const names = async (options) => (await shares(options)).map(({ name }) => name);

test('a share is created once, with metadata and a quota', async () => {
  const share = service.getShareClient('created');
  const first = await share.create({ metadata: { Color: 'blue' }, quota: 7 });
  assert.equal(first._response.status, 201);
  assert.equal(first._response.headers.get('server'),
    'Windows-Azure-File/1.0 Microsoft-HTTPAPI/2.0');
  assert.match(first.etag, /^"0x[0-9A-F]+"$/);
  await assert.rejects(share.create(), { statusCode: 409, code: 'ShareAlreadyExists' });
  assert.equal((await share.createIfNotExists()).succeeded, false);
  const properties = await share.getProperties();
  assert.equal(properties.quota, 7);
  assert.equal(properties.metadata.color ?? properties.metadata.Color, 'blue');
  assert.equal(properties.accessTier, 'TransactionOptimized');
  assert.equal(properties.leaseState, 'available');
  assert.equal(await share.exists(), true);
  assert.equal(await service.getShareClient('nowhere').exists(), false);
});

test('quota, tier and metadata can be set', async () => {
  const share = service.getShareClient('set');
  await share.create();
  assert.equal((await share.getProperties()).quota, 5120);
  await share.setQuota(10);
  await share.setProperties({ accessTier: 'Cool', quotaInGB: 11 });
  await share.setMetadata({ a: 'b' });
  const properties = await share.getProperties();
  assert.equal(properties.quota, 11);
  assert.equal(properties.accessTier, 'Cool');
  assert.deepEqual(properties.metadata, { a: 'b' });
  const metadata = await raw('GET', 'set?restype=share&comp=metadata');
  assert.equal(metadata.headers['x-ms-meta-a'], 'b');
});

test('access policies are kept and given back', async () => {
  const share = service.getShareClient('policies');
  await share.create();
  const startsOn = new Date('2026-01-02T03:04:05Z');
  const expiresOn = new Date('2027-01-02T03:04:05Z');
  await share.setAccessPolicy([{ id: 'one',
    accessPolicy: { startsOn, expiresOn, permissions: 'rwd' } }]);
  const { signedIdentifiers } = await share.getAccessPolicy();
  assert.equal(signedIdentifiers.length, 1);
  assert.equal(signedIdentifiers[0].id, 'one');
  assert.equal(signedIdentifiers[0].accessPolicy.permissions, 'rwd');
  assert.deepEqual(signedIdentifiers[0].accessPolicy.expiresOn, expiresOn);
});

test('statistics say how much is used', async () => {
  const share = service.getShareClient('stats');
  await share.create();
  assert.equal((await share.getStatistics()).shareUsageBytes, 0);
  await makeFile(share.rootDirectoryClient, 'a', Buffer.alloc(100_000, 1));
  assert.equal((await share.getStatistics()).shareUsageBytes, 100_000);
});

test('the quota is a limit', async () => {
  const share = service.getShareClient('full');
  await share.create({ quota: 1 });
  const file = share.rootDirectoryClient.getFileClient('huge');
  await file.create(4 * 2 ** 40); // sparse: takes nothing
  const piece = Buffer.alloc(4 << 20, 7);
  await file.uploadRange(piece, 0, piece.length);
  assert.equal((await share.getStatistics()).shareUsageBytes, piece.length);
});

test('a permission is kept under its key', async () => {
  const share = service.getShareClient('permissions');
  await share.create();
  const sddl = 'O:S-1-5-21-2127521184-1604012920-1887927527-21560751G:S-1-5-21-2127521184-1604012' +
    '920-1887927527-513D:AI(A;;FA;;;SY)(A;;FA;;;BA)(A;;0x1200a9;;;S-1-5-21-397955417-626881126-1' +
    '88441444-3053964)S:NO_ACCESS_CONTROL';
  const { filePermissionKey } = await share.createPermission(sddl);
  assert.equal((await share.createPermission(sddl)).filePermissionKey, filePermissionKey);
  assert.equal((await share.getPermission(filePermissionKey)).permission, sddl);
  await assert.rejects(share.createPermission('nonsense'),
    { statusCode: 400, code: 'FileInvalidPermission' });
  const file = share.rootDirectoryClient.getFileClient('a');
  assert.equal((await file.create(0, { filePermission: sddl })).filePermissionKey,
    filePermissionKey);
  const other = share.rootDirectoryClient.getFileClient('b');
  const made = await other.create(0);
  assert.match(made.filePermissionKey, /^\d+\*\d+$/);
  assert.notEqual(made.filePermissionKey, filePermissionKey);
  const inherited = await share.getPermission(made.filePermissionKey);
  assert.match(inherited.permission, /^O:.*G:.*D:/);
  await other.setProperties({ filePermissionKey });
  assert.equal((await other.getProperties()).filePermissionKey, filePermissionKey);
});

test('what is made inherits the permission of its directory', async () => {
  const share = service.getShareClient('inherited');
  await share.create();
  const root = share.rootDirectoryClient;
  const text = async (key) => (await share.getPermission(key)).permission;

  // As the real service was seen to do it: files have one key at every depth, directories another,
  // and the root a third.
  const directory = root.getDirectoryClient('plain');
  const keys = {
    root: (await root.getProperties()).filePermissionKey,
    directory: (await directory.create()).filePermissionKey,
    deeper: (await directory.getDirectoryClient('deeper').create()).filePermissionKey,
    file: (await root.getFileClient('file').create(1)).filePermissionKey,
    fileBelow: (await directory.getFileClient('file').create(1, { filePermission: 'inherit' }))
      .filePermissionKey,
  };
  assert.equal(keys.directory, keys.deeper);
  assert.equal(keys.file, keys.fileBelow);
  assert.equal(new Set(Object.values(keys)).size, 3);
  assert.match(await text(keys.root), /^O:SYG:SYD:\(A;OICI;FA;;;BA\)/);
  assert.match(await text(keys.directory), /^O:SYG:SYD:AI\(A;OICIID;FA;;;BA\)/);
  assert.match(await text(keys.file), /^O:SYG:SYD:AI\(A;ID;FA;;;BA\)/);

  const given = root.getDirectoryClient('given');
  await given.create({ filePermission: 'O:BAG:BAD:PAI(A;OICI;FR;;;WD)(A;CIIO;GA;;;CO)' });
  const file = await given.getFileClient('file').create(1);
  assert.equal(await text(file.filePermissionKey), 'O:SYG:SYD:AI(A;ID;FR;;;WD)S:NO_ACCESS_CONTROL');
  const below = await given.getDirectoryClient('below').create();
  assert.equal(await text(below.filePermissionKey), 'O:SYG:SYD:AI(A;OICIID;FR;;;WD)' +
    '(A;ID;FA;;;SY)(A;CIIOID;GA;;;CO)S:NO_ACCESS_CONTROL');
  const copied = given.getFileClient('copied');
  await copied.startCopyFromURL(root.getFileClient('file').url);
  assert.equal((await copied.getProperties()).filePermissionKey, file.filePermissionKey);
  const listed = [];
  for await (const item of given.listFilesAndDirectories({ includePermissionKey: true }))
    listed.push([item.name, item.permissionKey]);
  assert.deepEqual(listed.sort(), [['below', below.filePermissionKey],
    ['copied', file.filePermissionKey], ['file', file.filePermissionKey]]);

  // It is for life: not computed again where the file is moved to, or when the directory changes.
  await given.setProperties({ filePermission: 'O:BAG:BAD:(A;OICI;FW;;;WD)' });
  assert.equal((await given.getFileClient('file').getProperties()).filePermissionKey,
    file.filePermissionKey);
  await hostStyleClient(server).getShareClient('inherited').rootDirectoryClient
    .getDirectoryClient('given').getFileClient('file').rename('moved');
  assert.equal((await root.getFileClient('moved').getProperties()).filePermissionKey,
    file.filePermissionKey);
});

test('a snapshot is the share as it was', async () => {
  const share = service.getShareClient('snapped');
  await share.create({ metadata: { of: 'share' } });
  const root = share.rootDirectoryClient;
  const file = await makeFile(root, 'file', 'before');
  await root.getDirectoryClient('dir').create();
  const { snapshot } = await share.createSnapshot({ metadata: { of: 'snapshot' } });
  await file.uploadRange('after!', 0, 6);
  await root.getDirectoryClient('dir').delete();
  await makeFile(root, 'new', 'x');
  const old = share.withSnapshot(snapshot);
  assert.equal((await read(old.rootDirectoryClient.getFileClient('file'))).toString(), 'before');
  assert.equal((await read(file)).toString(), 'after!');
  assert.deepEqual(await list(old.rootDirectoryClient), ['dir/', 'file']);
  assert.deepEqual(await list(root), ['file', 'new']);
  assert.deepEqual((await old.getProperties()).metadata, { of: 'snapshot' });
  await assert.rejects(old.rootDirectoryClient.getFileClient('x').create(1),
    { statusCode: 400, code: 'InvalidQueryParameterValue' });
  const found = await shares({ prefix: 'snapped', includeSnapshots: true, includeMetadata: true });
  assert.deepEqual(found.map((item) => [item.snapshot, item.metadata.of]),
    [[snapshot, 'snapshot'], [undefined, 'share']]);
  await assert.rejects(share.delete(), { statusCode: 409, code: 'ShareHasSnapshots' });
  assert.equal((await old.delete())._response.status, 202);
  await assert.rejects(old.getProperties(), { statusCode: 404 });
  assert.equal((await share.delete())._response.status, 202);
});

test('List Ranges tells what has changed since a snapshot', async () => {
  const share = service.getShareClient('ranges');
  await share.create();
  const file = await makeFile(share.rootDirectoryClient, 'f', Buffer.alloc(4096, 1));
  const { snapshot } = await share.createSnapshot();
  await file.uploadRange(Buffer.alloc(512, 2), 512, 512);
  await file.clearRange(1024, 1024);
  const { rangeList } = await file.getRangeList();
  assert.deepEqual(rangeList, [{ start: 0, end: 1023 }, { start: 2048, end: 4095 }]);
  const diff = await file.getRangeListDiff(snapshot);
  assert.deepEqual(diff.ranges, [{ start: 512, end: 1023 }]);
  assert.deepEqual(diff.clearRanges, [{ start: 1024, end: 2047 }]);
});

test('a lease guards a share', async () => {
  const share = service.getShareClient('leased');
  await share.create();
  const lease = share.getShareLeaseClient();
  const { leaseId } = await lease.acquireLease(15);
  assert.equal((await share.getProperties()).leaseState, 'leased');
  await assert.rejects(share.getShareLeaseClient().acquireLease(15),
    { statusCode: 409, code: 'LeaseAlreadyPresent' });
  await assert.rejects(share.delete(), {
    statusCode: 412,
    code: 'LeaseIdMissing',
    message: /There is currently a lease on the file share and no lease ID was specified/,
  });
  const renewed = await raw('PUT', 'leased?restype=share&comp=lease',
    { 'x-ms-lease-action': 'renew', 'x-ms-lease-id': leaseId });
  assert.equal(renewed.status, 200); // the client cannot
  await lease.changeLease('0a000000-0000-0000-0000-00000000000a');
  await assert.rejects(share.delete({ leaseAccessConditions: { leaseId } }),
    { statusCode: 412, code: 'LeaseIdMismatchWithContainerOperation' });
  assert.equal((await lease.breakLease({ breakPeriod: 0 })).leaseTimeInSeconds, 0);
  await lease.releaseLease();
  await share.delete();
});

test('shares are listed by name, in pages', async () => {
  const made = ['list-a', 'list-b', 'list-c', 'list-d', 'list-e'];
  for (const name of made) await service.createShare(name);
  assert.deepEqual(await names({ prefix: 'list-' }), made);
  const pages = [];
  for await (const page of service.listShares({ prefix: 'list-' }).byPage({ maxPageSize: 2 })) {
    pages.push(page.shareItems.map(({ name }) => name));
  }
  assert.deepEqual(pages, [['list-a', 'list-b'], ['list-c', 'list-d'], ['list-e']]);
  for (const name of made) await service.deleteShare(name);
  assert.deepEqual(await names({ prefix: 'list-' }), []);
});

test('what is deleted can be restored while it is kept', async () => {
  await raw('PUT', '?restype=service&comp=properties', {}, '<StorageServiceProperties>' +
    '<ShareDeleteRetentionPolicy><Enabled>true</Enabled><Days>2</Days>' +
    '</ShareDeleteRetentionPolicy></StorageServiceProperties>');
  const share = service.getShareClient('restored');
  await share.create();
  await makeFile(share.rootDirectoryClient, 'kept', 'content');
  await share.delete();
  await assert.rejects(share.getProperties(), { statusCode: 404, code: 'ShareNotFound' });
  assert.deepEqual(await names({ prefix: 'restored' }), []);
  const [deleted] = await shares({ prefix: 'restored', includeDeleted: true });
  assert.equal(deleted.deleted, true);
  assert.equal(deleted.properties.remainingRetentionDays, 2);
  await service.undeleteShare('restored', deleted.version);
  assert.equal((await read(share.rootDirectoryClient.getFileClient('kept'))).toString(), 'content');
  await raw('PUT', '?restype=service&comp=properties', {}, '<StorageServiceProperties>' +
    '<ShareDeleteRetentionPolicy><Enabled>false</Enabled></ShareDeleteRetentionPolicy>' +
    '</StorageServiceProperties>');
});

test('the properties of the service are kept, and CORS is acted on', async () => {
  await service.setProperties({
    hourMetrics: { version: '1.0', enabled: true, includeAPIs: true,
      retentionPolicy: { enabled: true, days: 5 } },
    cors: [{ allowedOrigins: 'http://a', allowedMethods: 'GET', allowedHeaders: '*',
      exposedHeaders: '*', maxAgeInSeconds: 9 }],
    protocol: { smb: { multichannel: { enabled: true } } },
  });
  const properties = await service.getProperties();
  assert.equal(properties.hourMetrics.retentionPolicy.days, 5);
  assert.equal(properties.cors[0].allowedOrigins, 'http://a');
  assert.equal(properties.protocol.smb.multichannel.enabled, true);
  const preflight = await send(fileEndpoint(server), { method: 'OPTIONS',
    target: `/${server.account}/any/thing`,
    headers: { Origin: 'http://a', 'Access-Control-Request-Method': 'GET' } });
  assert.equal(preflight.status, 200);
  assert.equal(preflight.headers['access-control-allow-origin'], 'http://a');
});

stopsCleanly(server);
