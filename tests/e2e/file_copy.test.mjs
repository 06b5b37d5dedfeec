// Copies to files from elsewhere, which go on after their request: status, progress, what others may
// do meanwhile, abort, failures, and restarts.

import test from 'node:test';
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { FileSASPermissions, StorageSharedKeyCredential, generateFileSASQueryParameters } from
  '@azure/storage-file-share';
import { eventually, startServer, stopsCleanly } from './helpers/server.mjs';
import { fileClient, fileSender, hostStyleClient, makeFile, read } from './helpers/file.mjs';
import { startElsewhere } from './helpers/elsewhere.mjs';

const server = await startServer();
const service = fileClient(server);
const raw = fileSender(server);
const share = service.getShareClient('share');
await share.create();
const root = share.rootDirectoryClient;
const { url: elsewhereUrl, routes, serve, slow, failing } = await startElsewhere();

const refused = (promise, statusCode, code) => assert.rejects(promise, { statusCode, code });

function settled(file, status) {
  return eventually(10_000, `the copy is ${status}`, async () => {
    const properties = await file.getProperties();
    return properties.copyStatus === 'pending' ? null : properties;
  }).then((properties) => {
    assert.equal(properties.copyStatus, status, properties.copyStatusDescription);
    return properties;
  });
}

test('a copy from elsewhere is pending, refuses other writes, and succeeds', async () => {
  const bytes = crypto.randomBytes(400_000);
  const source = slow('/slow', bytes, { 'Content-Type': 'text/y', 'x-ms-meta-a': 'b' });
  const copy = await makeFile(root, 'copy', 'old content');
  const { fileId } = await copy.getProperties();
  const started = await copy.startCopyFromURL(source.url);
  assert.equal(started._response.status, 202);
  assert.equal(started.copyStatus, 'pending');
  let properties = await copy.getProperties();
  assert.equal(properties.copyStatus, 'pending');
  assert.equal(properties.copyId, started.copyId);
  assert.equal(properties.copySource, source.url);
  assert.equal(properties.contentLength, 0);
  assert.equal(properties.copyCompletedOn, undefined);
  assert.match(properties.copyProgress, new RegExp(`^\\d+/${bytes.length}$`));
  assert.equal((await read(copy)).length, 0);
  const pending = [409, 'PendingCopyOperation'];
  await refused(copy.create(1), ...pending);
  await refused(copy.uploadRange('x', 0, 1), ...pending);
  await refused(copy.clearRange(0, 1), ...pending);
  await refused(copy.setMetadata({}), ...pending);
  await refused(copy.setHttpHeaders({}), ...pending);
  await refused(copy.resize(5), ...pending);
  await refused(copy.delete(), ...pending);
  const byHost = hostStyleClient(server).getShareClient('share').rootDirectoryClient;
  await refused(byHost.getFileClient('copy').rename('moved'), ...pending);
  await refused(copy.startCopyFromURL(serve('/other', bytes)), ...pending);
  await refused(root.getFileClient('second').startCopyFromURL(copy.url), ...pending);
  await refused(copy.abortCopyFromURL(crypto.randomUUID()), 409, 'CopyIdMismatch');
  source.finish();
  properties = await settled(copy, 'success');
  assert.equal(properties.copyId, started.copyId);
  assert.equal(properties.copyProgress, `${bytes.length}/${bytes.length}`);
  assert.ok(properties.copyCompletedOn instanceof Date);
  assert.equal(properties.contentType, 'text/y');
  assert.equal(properties.fileId, fileId);
  assert.notEqual(properties.etag, started.etag);
  assert.deepEqual(properties.metadata, { a: 'b' });
  assert.ok(bytes.equals(await read(copy)));
  assert.equal((await share.getStatistics()).shareUsageBytes, bytes.length);
  await refused(copy.abortCopyFromURL(started.copyId), 409, 'NoPendingCopyOperation');
  await copy.setMetadata({});
  assert.equal((await copy.getProperties()).copyId, undefined);
  await copy.delete();
});

test('an aborted copy leaves an empty file that can be written again', async () => {
  const source = slow('/aborted', crypto.randomBytes(3_000_000), { 'x-ms-meta-a': 'b' });
  const copy = root.getFileClient('aborted');
  const { copyId } = await copy.startCopyFromURL(source.url);
  const aborted = await copy.abortCopyFromURL(copyId);
  assert.equal(aborted._response.status, 204);
  const properties = await copy.getProperties();
  assert.equal(properties.copyStatus, 'aborted');
  assert.equal(properties.contentLength, 0);
  assert.deepEqual(properties.metadata, { a: 'b' });
  source.finish();
  await copy.resize(3);
  await copy.uploadRange('abc', 0, 3);
  assert.equal((await read(copy)).toString(), 'abc');
});

test('a copy that was aborted and begun again is not ended by the first', async () => {
  const first = slow('/first', Buffer.alloc(200_000, 1));
  const copy = root.getFileClient('again');
  const { copyId } = await copy.startCopyFromURL(first.url);
  await copy.abortCopyFromURL(copyId);
  const second = slow('/second', Buffer.alloc(100_000, 2));
  await copy.startCopyFromURL(second.url);
  first.finish();
  second.finish();
  await settled(copy, 'success');
  assert.ok((await read(copy)).equals(Buffer.alloc(100_000, 2)));
});

test('a lease guards a file with a pending copy', async () => {
  const source = slow('/leased', Buffer.alloc(5000));
  const copy = await makeFile(root, 'leased', 'x');
  const lease = copy.getShareLeaseClient();
  await lease.acquireLease();
  await refused(copy.startCopyFromURL(source.url), 412, 'LeaseIdMissing');
  const leaseAccessConditions = { leaseId: lease.leaseId };
  const { copyId } = await copy.startCopyFromURL(source.url, { leaseAccessConditions });
  await refused(copy.abortCopyFromURL(copyId), 412, 'LeaseIdMissing');
  await copy.abortCopyFromURL(copyId, { leaseAccessConditions });
  await lease.releaseLease();
});

test('a connection that is lost is made again where it was', async () => {
  const bytes = crypto.randomBytes(50_000);
  const source = slow('/broken', bytes);
  const copy = root.getFileClient('broken');
  await copy.startCopyFromURL(source.url);
  source.breakOff();
  await eventually(10_000, 'a second request', async () => source.requests.length === 2);
  assert.match(source.requests[1].range, /^bytes=\d+-$/);
  source.finish();
  await settled(copy, 'success');
  assert.ok(bytes.equals(await read(copy)));
});

test('a copy whose source fails is failed and says why', async () => {
  const copy = root.getFileClient('failing');
  await copy.startCopyFromURL(failing('/failing'));
  const properties = await settled(copy, 'failed');
  assert.match(properties.copyStatusDescription, /412/);
  assert.equal(properties.contentLength, 0);
});

test('a source that cannot be read makes no file', async () => {
  const copy = root.getFileClient('never');
  await refused(copy.startCopyFromURL(`${elsewhereUrl}/absent`), 404, 'CannotVerifyCopySource');
  routes.set('/chunked', (request, response) => { response.writeHead(200).end('body'); });
  await refused(copy.startCopyFromURL(`${elsewhereUrl}/chunked`), 500, 'CannotVerifyCopySource');
  assert.equal(await copy.exists(), false);
  await refused(root.getFileClient('no/where').startCopyFromURL(serve('/x', Buffer.from('x'))),
    404, 'ParentNotFound');
});

test('what SMB knows is that of a source elsewhere, if that is a file, or the default', async () => {
  const created = '2011-02-03T04:05:06.7000000Z';
  const smb = { 'x-ms-file-attributes': 'Hidden | System', 'x-ms-file-creation-time': created,
    'x-ms-file-last-write-time': created, 'x-ms-file-change-time': created };
  const told = { fileAttributes: 'source', fileCreationTime: 'source',
    fileLastWriteTime: 'source', fileChangeTime: 'source', filePermissionCopyMode: 'source' };
  const copy = root.getFileClient('smb');
  await copy.startCopyFromURL(serve('/file', Buffer.from('abc'), smb), { copyFileSmbInfo: told });
  let properties = await settled(copy, 'success');
  assert.equal(properties.fileAttributes, 'Hidden | System');
  for (const instant of ['fileCreatedOn', 'fileLastWriteOn', 'fileChangeOn']) {
    assert.equal(properties[instant].toISOString(), '2011-02-03T04:05:06.700Z', instant);
  }
  await copy.startCopyFromURL(serve('/plain', Buffer.from('abc')), { copyFileSmbInfo: told });
  properties = await settled(copy, 'success');
  assert.equal(properties.fileAttributes, 'Archive');
  for (const instant of ['fileCreatedOn', 'fileLastWriteOn', 'fileChangeOn']) {
    assert.ok(Date.now() - properties[instant].getTime() < 600_000, instant);
  }
  assert.equal((await read(copy)).toString(), 'abc');
});

test('a directory above a pending copy is renamed, and the copy goes on', async () => {
  const directory = root.getDirectoryClient('before');
  await directory.create();
  const source = slow('/moving', Buffer.alloc(4000, 7));
  await directory.getFileClient('file').startCopyFromURL(source.url);
  const byHost = hostStyleClient(server).getShareClient('share').rootDirectoryClient;
  await byHost.getDirectoryClient('before').rename('after');
  source.finish();
  const moved = root.getDirectoryClient('after').getFileClient('file');
  await settled(moved, 'success');
  assert.ok((await read(moved)).equals(Buffer.alloc(4000, 7)));
});

test('a snapshot shows a pending copy as it was', async () => {
  const source = slow('/snapshot', Buffer.alloc(2000, 1));
  const copy = root.getFileClient('in snapshot');
  await copy.startCopyFromURL(source.url);
  const { snapshot } = await share.createSnapshot();
  source.finish();
  await settled(copy, 'success');
  const past = share.withSnapshot(snapshot).rootDirectoryClient.getFileClient('in snapshot');
  const properties = await past.getProperties();
  assert.equal(properties.contentLength, 0);
  assert.equal(properties.copyStatus, 'pending');
  await share.withSnapshot(snapshot).delete();
});

test('a share is deleted while a copy to it is pending', async () => {
  const gone = service.getShareClient('gone');
  await gone.create();
  const source = slow('/gone', Buffer.alloc(2000, 1));
  await gone.rootDirectoryClient.getFileClient('file').startCopyFromURL(source.url);
  await gone.delete();
  source.finish();
});

test('a file is copied over the wire: here, by a name this server does not know as its own',
  async () => {
    const source = await makeFile(root, 'wired', 'over the wire', { metadata: { a: 'b' } });
    const sas = generateFileSASQueryParameters({ shareName: 'share', filePath: 'wired',
      permissions: FileSASPermissions.parse('r'), expiresOn: new Date(Date.now() + 3600_000) },
    new StorageSharedKeyCredential(server.account, server.key));
    const copy = root.getFileClient('wired copy');
    const away = `${source.url}?${sas}`.replace('127.0.0.1', '127.1');
    assert.equal((await copy.startCopyFromURL(away)).copyStatus, 'pending');
    await settled(copy, 'success');
    assert.equal((await read(copy)).toString(), 'over the wire');
    assert.deepEqual((await copy.getProperties()).metadata, { a: 'b' });
  });

test('an abort names its copy', async () => {
  await makeFile(root, 'plain', 'x');
  const action = { 'x-ms-copy-action': 'abort' };
  const answers = [];
  for (const query of ['comp=copy', 'comp=copy&copyid=x', `comp=copy&copyid=${crypto.randomUUID()}`]) {
    const { status, code } = await raw('PUT', `share/plain?${query}`, action);
    answers.push([status, code]);
  }
  assert.deepEqual(answers, [[400, 'MissingRequiredQueryParameter'],
    [400, 'InvalidQueryParameterValue'], [409, 'NoPendingCopyOperation']]);
  assert.equal((await raw('PUT', `share/absent?comp=copy&copyid=${crypto.randomUUID()}`, action))
    .status, 404);
});

test('a copy that was pending when the server ended has failed', async () => {
  const name = 'restarted';
  await root.getFileClient(name).startCopyFromURL(
    slow('/restart', crypto.randomBytes(100_000), { 'x-ms-meta-a': 'b' }).url);
  for (const signal of ['SIGTERM', 'SIGKILL']) {
    await server.restart(signal);
    const copy = fileClient(server).getShareClient('share').rootDirectoryClient.getFileClient(name);
    const properties = await copy.getProperties();
    assert.equal(properties.copyStatus, 'failed');
    assert.match(properties.copyStatusDescription, /restarted/);
    assert.equal(properties.contentLength, 0);
    await copy.resize(10);
    await copy.startCopyFromURL(slow('/restart', Buffer.alloc(5000)).url);
  }
  const copy = fileClient(server).getShareClient('share').rootDirectoryClient.getFileClient(name);
  await copy.abortCopyFromURL((await copy.getProperties()).copyId);
});

stopsCleanly(server);
