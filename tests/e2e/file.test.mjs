// Files: content and ranges, properties, metadata, leases, renaming, copying.

import test from 'node:test';
import assert from 'node:assert/strict';
import { FileSASPermissions, FileSystemAttributes, StorageSharedKeyCredential,
  generateFileSASQueryParameters } from '@azure/storage-file-share';
import { eventually, startServer, stopsCleanly } from './helpers/server.mjs';
import { fileClient, fileSender, hostStyleClient, list, makeFile, read } from './helpers/file.mjs';

const server = await startServer();
const service = fileClient(server);
const raw = fileSender(server);
const share = service.getShareClient('share');
await share.create();
const root = share.rootDirectoryClient;
const credential = new StorageSharedKeyCredential(server.account, server.key);

test('a file is created with its size, and reads as zeroes', async () => {
  const file = root.getFileClient('created');
  const made = await file.create(1000, { metadata: { a: 'b' }, fileHttpHeaders:
    { fileContentType: 'text/plain', fileCacheControl: 'no-store', fileContentLanguage: 'de' } });
  assert.equal(made._response.status, 201);
  assert.equal(made.fileAttributes, 'Archive');
  assert.equal(made.fileParentId, '0');
  const properties = await file.getProperties();
  assert.equal(properties.contentLength, 1000);
  assert.equal(properties.contentType, 'text/plain');
  assert.equal(properties.cacheControl, 'no-store');
  assert.equal(properties.contentLanguage, 'de');
  assert.deepEqual(properties.metadata, { a: 'b' });
  assert.equal(properties.fileType, 'File');
  assert.equal(properties.leaseState, 'available');
  assert.equal(properties.fileId, made.fileId);
  assert.deepEqual(await read(file), Buffer.alloc(1000));
  await assert.rejects(root.getFileClient('absent').download(),
    { statusCode: 404, code: 'ResourceNotFound' });
  await assert.rejects(root.getFileClient('a/b').create(1),
    { statusCode: 404, code: 'ParentNotFound' });
});

test('creating again replaces the content and keeps the id', async () => {
  const file = await makeFile(root, 'replaced', 'content');
  const before = await file.getProperties();
  await file.create(3);
  const after = await file.getProperties();
  assert.equal(after.contentLength, 3);
  assert.equal(after.fileId, before.fileId);
  assert.notEqual(after.etag, before.etag);
  assert.deepEqual(await read(file), Buffer.alloc(3));
});

test('ranges are written, read, cleared and listed', async () => {
  const file = root.getFileClient('ranges');
  await file.create(10_000);
  const written = await file.uploadRange('hello', 3, 5);
  assert.equal(written._response.status, 201);
  assert.equal(written.contentMD5 !== undefined, true);
  await file.uploadRange(Buffer.alloc(600, 1), 5000, 600);
  const part = await file.download(2, 7);
  assert.equal(part._response.status, 206);
  assert.equal(part.contentRange, 'bytes 2-8/10000');
  assert.deepEqual(await read(file, 2, 7), Buffer.from('\0hello\0'));
  assert.deepEqual((await file.getRangeList()).rangeList,
    [{ start: 0, end: 511 }, { start: 4608, end: 5631 }]);
  await file.clearRange(0, 512);
  assert.deepEqual(await read(file, 0, 10), Buffer.alloc(10));
  assert.deepEqual((await file.getRangeList()).rangeList, [{ start: 4608, end: 5631 }]);
  assert.deepEqual((await file.getRangeList({ range: { offset: 5000, count: 100 } })).rangeList,
    [{ start: 5000, end: 5099 }]);
  await assert.rejects(file.uploadRange('x', 10_000, 1), { statusCode: 416, code: 'InvalidRange' });
  await assert.rejects(file.download(10_000, 1), { statusCode: 416, code: 'InvalidRange' });
});

test('MD5 is checked on the way in and given on the way out', async () => {
  const file = root.getFileClient('md5');
  await file.create(5);
  const md5 = Buffer.from('XUFAKrxLKna5cZ2REBfFkg==', 'base64');
  await file.uploadRange('hello', 0, 5, { contentMD5: md5 });
  await assert.rejects(file.uploadRange('hullo', 0, 5, { contentMD5: md5 }),
    { statusCode: 400, code: 'Md5Mismatch' });
  const got = await file.download(0, 5, { rangeGetContentMD5: true });
  assert.deepEqual(Buffer.from(got.contentMD5), md5);
  await file.setHttpHeaders({ fileContentMD5: md5 });
  assert.deepEqual(Buffer.from((await file.getProperties()).contentMD5), md5);
});

test('a large file goes up and down in pieces', async () => {
  const file = root.getFileClient('large');
  const content = Buffer.alloc(20 << 20);
  for (let i = 0; i < content.length; i += 4) content.writeUInt32LE((i * 2654435761) >>> 0, i);
  await file.uploadData(content);
  assert.ok(content.equals(await read(file)));
  assert.ok(content.subarray(5_000_000, 9_999_999).equals(await read(file, 5_000_000, 4_999_999)));
});

test('size and properties can be set; times and attributes too', async () => {
  const file = await makeFile(root, 'set', 'content',
    { fileHttpHeaders: { fileContentType: 'a/b', fileContentLanguage: 'en' } });
  await file.resize(3);
  assert.equal((await read(file)).toString(), 'con');
  // What a request does not name of these is removed, as the reference has it.
  assert.equal((await file.getProperties()).contentType, undefined);
  await file.resize(5);
  assert.equal((await read(file)).toString(), 'con\0\0');
  await file.setHttpHeaders({ fileContentType: 'c/d' });
  const lastWriteTime = new Date('2001-02-03T04:05:06.007Z');
  await file.setProperties({ fileHttpHeaders: { fileContentType: 'c/d' }, lastWriteTime,
    fileAttributes: FileSystemAttributes.parse('ReadOnly') });
  const properties = await file.getProperties();
  assert.equal(properties.contentType, 'c/d');
  assert.equal(properties.contentLanguage, undefined);
  assert.equal(properties.fileAttributes, 'ReadOnly');
  assert.deepEqual(properties.fileLastWriteOn, lastWriteTime);
  await assert.rejects(file.uploadRange('x', 0, 1), { statusCode: 409, code: 'ReadOnlyAttribute' });
  await assert.rejects(file.delete(), { statusCode: 409, code: 'ReadOnlyAttribute' });
  await file.setProperties({ fileAttributes: FileSystemAttributes.parse('None') });
  assert.equal((await file.getProperties()).fileAttributes, 'None');
  await file.uploadRange('x', 0, 1, { fileLastWrittenMode: 'Preserve' });
  await file.setMetadata({ x: 'y' });
  const metadata = await raw('GET', 'share/set?comp=metadata');
  assert.equal(metadata.headers['x-ms-meta-x'], 'y');
  await file.delete();
  assert.equal(await file.exists(), false);
});

test('a lease is needed to change the file, and not to read it', async () => {
  const file = await makeFile(root, 'leased', 'content');
  const lease = file.getShareLeaseClient();
  const { leaseId } = await lease.acquireLease(-1);
  assert.equal((await file.getProperties()).leaseState, 'leased');
  assert.equal((await file.getProperties()).leaseDuration, 'infinite');
  for (const write of [() => file.create(1), () => file.uploadRange('x', 0, 1),
    () => file.setMetadata({}), () => file.delete(), () => file.setHttpHeaders({})]) {
    await assert.rejects(write, {
      statusCode: 412,
      code: 'LeaseIdMissing',
      message: /There is currently a lease on the file and no lease ID was specified/,
    });
  }
  assert.equal((await read(file)).toString(), 'content');
  await file.uploadRange('C', 0, 1, { leaseAccessConditions: { leaseId } });
  await assert.rejects(file.uploadRange('x', 0, 1,
    { leaseAccessConditions: { leaseId: '0a000000-0000-0000-0000-00000000000a' } }),
  { statusCode: 412, code: 'LeaseIdMismatchWithFileOperation' });
  await lease.changeLease('0a000000-0000-0000-0000-00000000000a');
  assert.equal((await lease.breakLease())._response.status, 202);
  assert.equal((await file.getProperties()).leaseState, 'broken');
  await lease.releaseLease();
  await file.delete();
});

test('a file is renamed, over another one if that is wanted', async () => {
  const file = await makeFile(
    hostStyleClient(server).getShareClient('share').rootDirectoryClient, 'old name', 'moved');
  const { fileId } = await file.getProperties();
  const { destinationFileClient: moved } = await file.rename('new name');
  assert.equal((await read(moved)).toString(), 'moved');
  assert.equal((await moved.getProperties()).fileId, fileId);
  assert.equal(await file.exists(), false);
  await makeFile(root, 'in the way', 'x');
  await assert.rejects(moved.rename('in the way'),
    { statusCode: 409, code: 'ResourceAlreadyExists' });
  await moved.rename('in the way', { replaceIfExists: true });
  assert.equal((await read(root.getFileClient('in the way'))).toString(), 'moved');
  await assert.rejects(moved.rename('anything'), { statusCode: 404 });
});

test('a copy within the server is finished at once', async () => {
  const other = service.getShareClient('other');
  await other.create();
  const content = Buffer.alloc(3 << 20, 'copied');
  const source = await makeFile(root, 'source', content,
    { metadata: { a: 'b' }, fileHttpHeaders: { fileContentType: 'x/y' } });
  for (const directory of [root, other.rootDirectoryClient]) {
    const copy = directory.getFileClient('copy');
    const started = await copy.startCopyFromURL(source.url);
    assert.equal(started._response.status, 202);
    assert.equal(started.copyStatus, 'success');
    const properties = await copy.getProperties();
    assert.equal(properties.copyId, started.copyId);
    assert.equal(properties.copyStatus, 'success');
    assert.equal(properties.copySource, source.url);
    assert.equal(properties.copyProgress, `${content.length}/${content.length}`);
    assert.deepEqual(properties.metadata, { a: 'b' });
    assert.equal(properties.contentType, 'x/y');
    await source.uploadRange('changed', 0, 7);
    assert.ok(content.equals(await read(copy)));
    await source.uploadRange(content.subarray(0, 7), 0, 7);
    await assert.rejects(copy.abortCopyFromURL(started.copyId),
      { statusCode: 409, code: 'NoPendingCopyOperation' });
  }
  assert.equal((await other.getStatistics()).shareUsageBytes, content.length);
  await assert.rejects(root.getFileClient('x').startCopyFromURL(`${share.url}/absent`),
    { statusCode: 404, code: 'CannotVerifyCopySource' });
});

test('a copy takes over what SMB knows, if it is told to', async () => {
  const source = root.getFileClient('smb source');
  const creationTime = new Date('2011-01-01T00:00:00Z');
  await source.create(10, { creationTime, fileAttributes: FileSystemAttributes.parse('Hidden|ReadOnly') });
  const { filePermissionKey } = await source.getProperties();
  const copy = root.getFileClient('smb copy');
  await copy.startCopyFromURL(source.url, { copyFileSmbInfo: { fileAttributes: 'source',
    fileCreationTime: 'source', fileLastWriteTime: 'source', fileChangeTime: 'source',
    filePermissionCopyMode: 'source', ignoreReadOnly: true, setArchiveAttribute: false } });
  const properties = await copy.getProperties();
  assert.equal(properties.fileAttributes, 'ReadOnly | Hidden | Archive');
  assert.deepEqual(properties.fileCreatedOn, creationTime);
  assert.equal(properties.filePermissionKey, filePermissionKey);
  await assert.rejects(copy.startCopyFromURL(source.url),
    { statusCode: 409, code: 'ReadOnlyAttribute' });
  await copy.startCopyFromURL(source.url, { copyFileSmbInfo: { ignoreReadOnly: true } });
});

test('a blob is copied to a file', async () => {
  const container = server.client().getContainerClient('box');
  await container.create({ access: 'blob' });
  const blob = container.getBlockBlobClient('blob');
  await blob.upload('of a blob', 9, { metadata: { a: 'b' } });
  const file = root.getFileClient('from blob');
  const { copyStatus } = await file.startCopyFromURL(blob.url);
  assert.equal(copyStatus, 'pending');
  await eventually(10_000, 'the end of the copy',
    async () => (await file.getProperties()).copyStatus === 'success');
  assert.equal((await read(file)).toString(), 'of a blob');
  assert.deepEqual((await file.getProperties()).metadata, { a: 'b' });
});

test('a range is put from a URL: a file of this server, and a blob', async () => {
  const source = await makeFile(root, 'url source', '0123456789');
  const sas = generateFileSASQueryParameters({ shareName: 'share', filePath: 'url source',
    permissions: FileSASPermissions.parse('r'), expiresOn: new Date(Date.now() + 3600_000) },
  credential);
  const file = root.getFileClient('url target');
  await file.create(20);
  const put = await file.uploadRangeFromURL(source.url, 2, 5, 4);
  assert.equal(put._response.status, 201);
  assert.ok(put.xMsContentCrc64);
  await file.uploadRangeFromURL(`${source.url}?${sas}`, 0, 10, 2);
  assert.equal((await read(file)).toString(), '\0'.repeat(5) + '2345'.slice(0, 4) +
    '\0' + '01' + '\0'.repeat(8));
  const crc64 = Buffer.from(put.xMsContentCrc64);
  await file.uploadRangeFromURL(source.url, 2, 5, 4, { sourceConditions: { sourceIfMatchCrc64: crc64 } });
  await assert.rejects(file.uploadRangeFromURL(source.url, 3, 5, 4,
    { sourceConditions: { sourceIfMatchCrc64: crc64 } }), { statusCode: 412 });
  await assert.rejects(file.uploadRangeFromURL(source.url, 2, 5, 4,
    { sourceConditions: { sourceIfNoneMatchCrc64: crc64 } }), { statusCode: 412 });
  const blob = server.client().getContainerClient('box').getBlockBlobClient('blob');
  await file.uploadRangeFromURL(blob.url, 0, 0, 2);
  assert.equal((await read(file, 0, 2)).toString(), 'of');
  await assert.rejects(file.uploadRangeFromURL(`${share.url}/absent`, 0, 0, 2), { statusCode: 404 });
  const gone = sas.toString().replace(/sig=[^&]*/, `sig=${encodeURIComponent('A'.repeat(43))}%3D`);
  const stranger = await raw('PUT', 'share/url%20target?comp=range', { 'x-ms-write': 'update',
    'x-ms-range': 'bytes=0-1', 'x-ms-copy-source': `${source.url}?${gone}`,
    'x-ms-source-range': 'bytes=0-1' });
  assert.equal(stranger.status, 403);
  assert.equal(stranger.code, 'CannotVerifyCopySource');
});

test('links are for shares over NFS', async () => {
  assert.equal((await raw('PUT', 'share/link?restype=symboliclink',
    { 'x-ms-link-text': 'x' })).status, 501);
  assert.equal((await raw('PUT', 'share/link?restype=hardlink', { 'x-ms-type': 'file',
    'x-ms-file-target-file': 'x' })).status, 501);
  assert.equal((await raw('GET', 'share/link?restype=symboliclink')).status, 501);
});

test('dots at the end of a name are kept only when asked for', async () => {
  const keeping = fileClient(server, { allowTrailingDot: true, allowSourceTrailingDot: true })
    .getShareClient('share').rootDirectoryClient;
  await makeFile(root, 'dotted.', 'one');
  assert.deepEqual(await list(root, { prefix: 'dotted' }), ['dotted']);
  await makeFile(keeping, 'dotted.', 'two');
  assert.deepEqual(await list(root, { prefix: 'dotted' }), ['dotted', 'dotted.']);
  assert.equal((await read(root.getFileClient('dotted.'))).toString(), 'one');
  assert.equal((await read(keeping.getFileClient('dotted.'))).toString(), 'two');
});

stopsCleanly(server);
