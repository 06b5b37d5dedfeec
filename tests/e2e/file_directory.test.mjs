// Directories: names, properties, metadata, listing, renaming, deleting.

import test from 'node:test';
import assert from 'node:assert/strict';
import { FileSystemAttributes } from '@azure/storage-file-share';
import { startServer, stopsCleanly } from './helpers/server.mjs';
import { fileClient, fileSender, hostStyleClient, list, makeFile, read } from './helpers/file.mjs';

const server = await startServer();
const service = fileClient(server);
const raw = fileSender(server);
const share = service.getShareClient('share');
await share.create();
const root = share.rootDirectoryClient;

test('a directory is created once, below one that is there', async () => {
  const directory = root.getDirectoryClient('created');
  const made = await directory.create({ metadata: { a: 'b' } });
  assert.equal(made._response.status, 201);
  assert.equal(made.isServerEncrypted, true);
  assert.equal(made.fileParentId, '0');
  assert.match(made.fileId, /^\d+$/);
  assert.equal(made.fileAttributes, 'Directory');
  assert.match(made._response.headers.get('x-ms-file-creation-time'),
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z$/);
  await assert.rejects(directory.create(), { statusCode: 409, code: 'ResourceAlreadyExists' });
  await assert.rejects(root.getDirectoryClient('a/b').create(),
    { statusCode: 404, code: 'ParentNotFound' });
  await assert.rejects(root.getDirectoryClient('absent').getProperties(),
    { statusCode: 404, code: 'ResourceNotFound' });
  await assert.rejects(service.getShareClient('absent').rootDirectoryClient.getProperties(),
    { statusCode: 404, code: 'ShareNotFound' });
});

test('properties and metadata can be set', async () => {
  const directory = root.getDirectoryClient('properties');
  await directory.create();
  const creationTime = new Date('2020-01-02T03:04:05.678Z');
  await directory.setProperties({ fileAttributes: FileSystemAttributes.parse('Hidden|ReadOnly'),
    creationTime });
  await directory.setMetadata({ c: 'd' });
  const properties = await directory.getProperties();
  assert.deepEqual(properties.metadata, { c: 'd' });
  assert.equal(properties.fileAttributes, 'ReadOnly | Hidden | Directory');
  assert.deepEqual(properties.fileCreatedOn, creationTime);
  const metadata = await raw('GET', 'share/properties?restype=directory&comp=metadata');
  assert.equal(metadata.headers['x-ms-meta-c'], 'd');
});

test('names are compared without regard to case, and shown as they were given', async () => {
  const directory = root.getDirectoryClient('MixedÄÖ');
  await directory.create();
  await assert.rejects(root.getDirectoryClient('mixedäö').create(), { statusCode: 409 });
  await makeFile(root.getDirectoryClient('MIXEDäÖ'), 'File', 'x');
  assert.equal((await read(directory.getFileClient('fILE'))).toString(), 'x');
  assert.deepEqual(await list(root, { prefix: 'mixed' }), ['MixedÄÖ/']);
  assert.deepEqual(await list(directory), ['File']);
});

test('a listing has files and directories by name, in pages, with what is asked for', async () => {
  const directory = root.getDirectoryClient('listed');
  await directory.create();
  for (const name of ['b', 'D', 'f']) await makeFile(directory, name, name.repeat(10));
  for (const name of ['a', 'C', 'e']) await directory.getDirectoryClient(name).create();
  const pages = [];
  for await (const page of directory.listFilesAndDirectories().byPage({ maxPageSize: 4 })) {
    pages.push([page.segment.directoryItems.map(({ name }) => name),
      page.segment.fileItems.map(({ name, properties }) => [name, properties.contentLength])]);
  }
  assert.deepEqual(pages, [[['a', 'C'], [['b', 10], ['D', 10]]], [['e'], [['f', 10]]]]);
  for await (const item of directory.listFilesAndDirectories({ includeTimestamps: true,
    includeEtag: true, includeAttributes: true, includePermissionKey: true,
    includeExtendedInfo: true, prefix: 'd' })) {
    assert.equal(item.name, 'D');
    assert.match(item.fileId, /^\d+$/);
    assert.equal(item.attributes, 'Archive');
    assert.match(item.permissionKey, /^\d+\*\d+$/);
    assert.ok(item.properties.creationTime instanceof Date);
    assert.ok(item.properties.lastModified instanceof Date);
    assert.equal(item.properties.etag,
      (await directory.getFileClient('D').getProperties()).etag);
  }
});

test('a directory is renamed with all it holds, and keeps its id', async () => {
  const from = hostStyleClient(server).getShareClient('share').getDirectoryClient('rename-from');
  const made = await from.create({ metadata: { a: 'b' } });
  await from.getDirectoryClient('inner').create();
  await makeFile(from.getDirectoryClient('inner'), 'file', 'content');
  const { destinationDirectoryClient: to } = await from.rename('rename-to');
  assert.equal((await read(to.getDirectoryClient('inner').getFileClient('file'))).toString(),
    'content');
  const properties = await to.getProperties();
  assert.equal(properties.fileId, made.fileId);
  assert.deepEqual(properties.metadata, { a: 'b' });
  assert.equal(await from.exists(), false);
  await assert.rejects(to.rename('rename-to/inner/deeper'), { statusCode: 409 });
  await makeFile(root, 'rename-file', 'x');
  await assert.rejects(to.rename('rename-file'), { statusCode: 409 });
});

test('only an empty directory is deleted', async () => {
  const directory = root.getDirectoryClient('deleted');
  await directory.create();
  const file = await makeFile(directory, 'file', 'x');
  await assert.rejects(directory.delete(), { statusCode: 409, code: 'DirectoryNotEmpty' });
  await file.delete();
  assert.equal((await directory.delete())._response.status, 202);
  await assert.rejects(directory.delete(), { statusCode: 404, code: 'ResourceNotFound' });
  assert.equal((await directory.deleteIfExists()).succeeded, false);
});

test('nobody has a handle when there are no SMB clients', async () => {
  const directory = root.getDirectoryClient('handles');
  await directory.create();
  const handles = [];
  for await (const handle of directory.listHandles({ recursive: true })) handles.push(handle);
  assert.deepEqual(handles, []);
  const closed = await directory.forceCloseAllHandles({ recursive: true });
  assert.equal(closed.closedHandlesCount, 0);
  assert.equal((await directory.forceCloseHandle('12345')).closedHandlesCount, 0);
});

stopsCleanly(server);
