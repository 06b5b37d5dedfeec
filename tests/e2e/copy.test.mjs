// Copies through the official client: within the server, from other accounts, from elsewhere; with
// status, abort and what the caller may read.

import test from 'node:test';
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import {
  BlobServiceClient, StorageSharedKeyCredential, generateBlobSASQueryParameters, BlobSASPermissions,
} from '@azure/storage-blob';
import { eventually, noRetry, startServer, stopsCleanly, account, key } from './helpers/server.mjs';
import { sendSigned } from './helpers/http.mjs';
import { md5 } from './helpers/digest.mjs';
import { startElsewhere } from './helpers/elsewhere.mjs';

const otherAccount = 'second';
const otherKey = Buffer.from('another key for another account').toString('base64');
const server = await startServer({
  env: { AZURITE_ACCOUNTS: `${account}:${key};${otherAccount}:${otherKey}` },
});
const service = server.client();
const other = new BlobServiceClient(`${server.origin}/${otherAccount}`,
  new StorageSharedKeyCredential(otherAccount, otherKey), noRetry);

let number = 0;
async function newContainer(client = service, options = {}) {
  const container = client.getContainerClient(`copy-${++number}`);
  await container.create(options);
  return container;
}

function sasUrl(blob, permissions = 'r', credential = [account, key]) {
  const query = generateBlobSASQueryParameters({
    containerName: blob.containerName,
    blobName: blob.name,
    permissions: BlobSASPermissions.parse(permissions),
    expiresOn: new Date(Date.now() + 3600_000),
  }, new StorageSharedKeyCredential(...credential));
  return `${blob.url}?${query}`;
}

async function refused(promise, status, code) {
  await assert.rejects(promise, (error) => {
    assert.deepEqual([error.statusCode, error.code ?? error.details?.errorCode], [status, code]);
    return true;
  });
}

const { url: elsewhereUrl, routes, serve, slow, failing } = await startElsewhere();

// --- Copy Blob within the server ---

test('a copy in the same account is finished at once and tells where it came from', async () => {
  const container = await newContainer();
  const source = container.getBlockBlobClient('source one');
  const bytes = crypto.randomBytes(300_000);
  await source.upload(bytes, bytes.length, {
    metadata: { colour: 'blue' },
    blobHTTPHeaders: { blobContentType: 'text/x', blobCacheControl: 'no-store' },
  });
  for (const target of [container, await newContainer()]) {
    const copy = target.getBlobClient('copy');
    const poller = await copy.beginCopyFromURL(source.url);
    const result = await poller.pollUntilDone();
    assert.equal(result.copyStatus, 'success');
    const properties = await copy.getProperties();
    assert.equal(properties.contentType, 'text/x');
    assert.equal(properties.cacheControl, 'no-store');
    assert.deepEqual(properties.metadata, { colour: 'blue' });
    assert.equal(properties.copyId, result.copyId);
    assert.equal(properties.copyStatus, 'success');
    assert.equal(properties.copySource, source.url);
    assert.equal(properties.copyProgress, `${bytes.length}/${bytes.length}`);
    assert.ok(properties.copyCompletedOn instanceof Date);
    assert.ok((await copy.downloadToBuffer()).equals(bytes));
  }
});

test('a list shows the copies', async () => {
  const container = await newContainer();
  const source = container.getBlockBlobClient('a');
  await source.upload('x', 1);
  await (await container.getBlobClient('b').beginCopyFromURL(source.url)).pollUntilDone();
  const seen = [];
  for await (const blob of container.listBlobsFlat({ includeCopy: true })) {
    seen.push([blob.name, blob.properties.copyStatus, blob.properties.copySource]);
  }
  assert.deepEqual(seen, [['a', undefined, undefined], ['b', 'success', source.url]]);
});

test('blocks, appended blocks and pages are copied as they are', async () => {
  const container = await newContainer();
  const target = await newContainer();
  const blocks = container.getBlockBlobClient('blocks');
  const ids = ['aaaa', 'bbbb', 'cccc'];
  for (const id of ids) await blocks.stageBlock(id, id.repeat(5000), 20000);
  await blocks.commitBlockList(ids);
  const appended = container.getAppendBlobClient('append');
  await appended.create();
  await appended.appendBlock('one', 3);
  await appended.appendBlock('two', 3);
  const pages = container.getPageBlobClient('page');
  await pages.create(8192, { blobSequenceNumber: 7 });
  await pages.uploadPages(Buffer.alloc(1024, 'p'), 2048, 1024);
  for (const where of [container, target]) {
    for (const name of ['blocks', 'append', 'page']) {
      const copy = where.getBlobClient(`${name} copy`);
      await (await copy.beginCopyFromURL(container.getBlobClient(name).url)).pollUntilDone();
      const original = await container.getBlobClient(name).downloadToBuffer();
      assert.ok((await copy.downloadToBuffer()).equals(original), name);
    }
    const list = await where.getBlockBlobClient('blocks copy').getBlockList('all');
    assert.deepEqual(list.committedBlocks.map((block) => block.name), ids);
    assert.equal((await where.getBlobClient('append copy').getProperties()).blobCommittedBlockCount, 2);
    assert.equal((await where.getBlobClient('page copy').getProperties()).blobSequenceNumber, 7);
    const ranges = await where.getPageBlobClient('page copy').getPageRanges();
    assert.deepEqual(ranges.pageRange, [{ offset: 2048, count: 1023 }]);
    await where.getAppendBlobClient('append copy').appendBlock('!', 1);
    await where.getPageBlobClient('page copy').uploadPages(Buffer.alloc(512, 'q'), 0, 512);
  }
  assert.equal((await appended.downloadToBuffer()).toString(), 'onetwo');
  assert.equal((await pages.downloadToBuffer())[0], 0);
});

test('metadata, tags and a snapshot as source', async () => {
  const container = await newContainer();
  const source = container.getBlockBlobClient('source');
  await source.upload('first', 5, { metadata: { a: '1' }, tags: { t: 'old' } });
  const snapshot = await source.createSnapshot();
  await source.upload('second', 6);
  const copy = container.getBlobClient('copy');
  await (await copy.beginCopyFromURL(source.withSnapshot(snapshot.snapshot).url,
    { metadata: { b: '2' }, tags: { t: 'new' } })).pollUntilDone();
  assert.equal((await copy.downloadToBuffer()).toString(), 'first');
  assert.deepEqual((await copy.getProperties()).metadata, { b: '2' });
  assert.deepEqual((await copy.getTags()).tags, { t: 'new' });
  // The snapshot becomes the blob again.
  await (await source.beginCopyFromURL(source.withSnapshot(snapshot.snapshot).url)).pollUntilDone();
  assert.equal((await source.downloadToBuffer()).toString(), 'first');
});

test('conditions on source and destination have codes of their own', async () => {
  const container = await newContainer();
  const source = container.getBlockBlobClient('source');
  await source.upload('x', 1);
  const copy = container.getBlobClient('copy');
  const etag = '"0x8D0000000000000"';
  await refused(copy.beginCopyFromURL(source.url, { conditions: { ifMatch: etag } }),
    412, 'TargetConditionNotMet');
  await refused(copy.beginCopyFromURL(source.url, { sourceConditions: { ifMatch: etag } }),
    412, 'SourceConditionNotMet');
  await refused(copy.syncCopyFromURL(source.url, { sourceConditions: { ifMatch: etag } }),
    412, 'CannotVerifyCopySource');
  const { etag: now } = await source.getProperties();
  await refused(container.getBlockBlobClient('copy').syncUploadFromURL(source.url,
    { sourceConditions: { ifNoneMatch: now } }), 304, 'CannotVerifyCopySource');
  await refused(container.getBlockBlobClient('copy').syncUploadFromURL(source.url,
    { conditions: { ifMatch: etag } }), 412, 'ConditionNotMet');
  await copy.beginCopyFromURL(source.url, { sourceConditions: { ifMatch: now } });
  await refused(copy.beginCopyFromURL(source.url, { conditions: { ifNoneMatch: '*' } }),
    409, 'BlobAlreadyExists');
});

test('a leased destination needs its id, and an infinite lease', async () => {
  const container = await newContainer();
  const source = container.getBlockBlobClient('source');
  const copy = container.getBlockBlobClient('copy');
  await source.upload('x', 1);
  await copy.upload('y', 1);
  const lease = copy.getBlobLeaseClient();
  await lease.acquireLease(15);
  await refused(copy.beginCopyFromURL(source.url), 412, 'LeaseIdMissing');
  await refused(copy.beginCopyFromURL(source.url, { conditions: { leaseId: lease.leaseId } }),
    412, 'InfiniteLeaseDurationRequired');
  await lease.acquireLease(-1);
  await copy.beginCopyFromURL(source.url, { conditions: { leaseId: lease.leaseId } });
  assert.equal((await copy.downloadToBuffer()).toString(), 'x');
});

test('bad sources have the documented answers', async () => {
  const container = await newContainer();
  const copy = container.getBlobClient('copy');
  await refused(copy.beginCopyFromURL(container.getBlobClient('none').url),
    404, 'CannotVerifyCopySource');
  await refused(copy.syncCopyFromURL(container.getBlobClient('none').url),
    404, 'CannotVerifyCopySource');
  const target = `/${account}/${container.containerName}/copy`;
  for (const url of ['ftp://x/y', 'not a url', 'http://', `${server.origin}/`, '/a/b/c',
    `${copy.url}?comp=list`, 'http://user@host/x', 'file:///etc/passwd']) {
    for (const extra of [{}, { 'x-ms-requires-sync': 'true' }]) {
      const answer = await sendSigned(server, { method: 'PUT', target,
        headers: { 'x-ms-copy-source': url, ...extra } });
      assert.deepEqual([answer.status, answer.code], [400, 'InvalidHeaderValue'], url);
      assert.match(answer.body.toString(), /<HeaderName>x-ms-copy-source</);
    }
  }
  const page = container.getPageBlobClient('page');
  await page.create(512);
  const block = container.getBlockBlobClient('block');
  await block.upload('x', 1);
  await refused(block.beginCopyFromURL(page.url), 409, 'InvalidBlobType');
  await refused(container.getBlobClient('new').syncCopyFromURL(page.url),
    409, 'InvalidSourceBlobType');
});

// --- who may read ---

test('only what the caller may read is copied', async () => {
  const secret = await newContainer();
  const source = secret.getBlockBlobClient('source');
  await source.upload('secret', 6);
  const mine = await newContainer(other);
  const target = mine.getBlockBlobClient('target');
  const operations = (url) => [
    () => target.beginCopyFromURL(url),
    () => target.syncCopyFromURL(url),
    () => target.syncUploadFromURL(url),
    () => target.stageBlockFromURL('aaaa', url, 0, 6),
  ];
  // Another account's key is no key here.
  for (const operation of operations(source.url)) {
    await refused(operation(), 401, 'CannotVerifyCopySource');
  }
  const wrong = sasUrl(source, 'w');
  for (const operation of operations(wrong)) {
    await refused(operation(), 403, 'CannotVerifyCopySource');
  }
  const forged = sasUrl(source, 'r', [account, otherKey]);
  for (const operation of operations(forged)) {
    await refused(operation(), 403, 'CannotVerifyCopySource');
  }
  for (const operation of operations(sasUrl(source))) await operation();
  assert.equal((await target.downloadToBuffer()).toString(), 'secret');

  // A SAS for the destination says nothing about the source, in the same account or not.
  const beside = secret.getBlockBlobClient('beside');
  const bySas = new beside.constructor(sasUrl(beside, 'racw'), undefined, noRetry);
  await refused(bySas.syncCopyFromURL(source.url), 401, 'CannotVerifyCopySource');
  await refused(bySas.beginCopyFromURL(source.url), 401, 'CannotVerifyCopySource');
  await bySas.syncCopyFromURL(sasUrl(source));
  assert.equal((await beside.downloadToBuffer()).toString(), 'secret');

  // What everybody may read, everybody may copy.
  const open = await newContainer(service, { access: 'blob' });
  await open.getBlockBlobClient('public').upload('open', 4);
  await target.syncCopyFromURL(open.getBlobClient('public').url);
  assert.equal((await target.downloadToBuffer()).toString(), 'open');
});

test('tags of the source are copied only for who may read them', async () => {
  const container = await newContainer();
  const source = container.getBlockBlobClient('source');
  await source.upload('x', 1, { tags: { a: 'b' } });
  const copy = container.getBlockBlobClient('copy');
  await copy.syncCopyFromURL(source.url, { copySourceTags: 'COPY' });
  assert.deepEqual((await copy.getTags()).tags, { a: 'b' });
  await copy.syncUploadFromURL(source.url, { copySourceTags: 'COPY' });
  assert.deepEqual((await copy.getTags()).tags, { a: 'b' });
  const mine = (await newContainer(other)).getBlockBlobClient('mine');
  await refused(mine.syncCopyFromURL(sasUrl(source, 'r'), { copySourceTags: 'COPY' }),
    403, 'CannotVerifyCopySource');
  await mine.syncCopyFromURL(sasUrl(source, 'rt'), { copySourceTags: 'COPY' });
  assert.deepEqual((await mine.getTags()).tags, { a: 'b' });
});

// --- from URLs, while the client waits ---

test('blobs, blocks, appended blocks and pages come from a URL here or elsewhere', async () => {
  const container = await newContainer();
  const bytes = crypto.randomBytes(200_000);
  const here = container.getBlockBlobClient('here');
  await here.upload(bytes, bytes.length, { blobHTTPHeaders: { blobContentType: 'text/x' },
    metadata: { from: 'here' } });
  const away = serve('/source', bytes, { 'Content-Type': 'text/x', 'x-ms-meta-from': 'here' });
  const good = crypto.createHash('md5').update(bytes).digest();
  const bad = crypto.createHash('md5').update('else').digest();
  for (const url of [here.url, away]) {
    const copy = container.getBlockBlobClient('copy');
    const copied = await copy.syncCopyFromURL(url, { sourceContentMD5: good });
    assert.equal(copied.copyStatus, 'success');
    assert.equal((await copy.getProperties()).copyId, copied.copyId);
    assert.ok((await copy.downloadToBuffer()).equals(bytes));
    await refused(copy.syncCopyFromURL(url, { sourceContentMD5: bad }), 400, 'Md5Mismatch');

    const put = container.getBlockBlobClient('put');
    await put.syncUploadFromURL(url, { sourceContentMD5: good });
    let properties = await put.getProperties();
    assert.equal(properties.contentType, 'text/x');
    assert.deepEqual(properties.metadata, { from: 'here' });
    assert.equal(Buffer.from(properties.contentMD5).toString('base64'), md5(bytes));
    assert.equal(properties.copyId, undefined);
    await put.syncUploadFromURL(url, { copySourceBlobProperties: false });
    properties = await put.getProperties();
    assert.equal(properties.contentType, 'application/octet-stream');
    assert.ok((await put.downloadToBuffer()).equals(bytes));
    await refused(put.syncUploadFromURL(url, { sourceContentMD5: bad }), 400, 'Md5Mismatch');

    const blocks = container.getBlockBlobClient('blocks');
    await blocks.stageBlockFromURL('aaaa', url, 100, 1000);
    await blocks.stageBlockFromURL('bbbb', url, 0, 100_000);
    await refused(blocks.stageBlockFromURL('cccc', url, 0, 10, { sourceContentMD5: bad }),
      400, 'Md5Mismatch');
    await blocks.commitBlockList(['aaaa', 'bbbb']);
    assert.ok((await blocks.downloadToBuffer()).equals(
      Buffer.concat([bytes.subarray(100, 1100), bytes.subarray(0, 100_000)])));

    const appended = container.getAppendBlobClient('appended');
    await appended.create();
    const first = await appended.appendBlockFromURL(url, 50, 500);
    assert.equal(first.blobAppendOffset, '0');
    const second = await appended.appendBlockFromURL(url, 0, 70_000,
      { conditions: { appendPosition: 500 } });
    assert.equal(second.blobCommittedBlockCount, 2);
    await refused(appended.appendBlockFromURL(url, 0, 10, { conditions: { appendPosition: 3 } }),
      412, 'AppendPositionConditionNotMet');
    assert.ok((await appended.downloadToBuffer()).equals(
      Buffer.concat([bytes.subarray(50, 550), bytes.subarray(0, 70_000)])));

    const pages = container.getPageBlobClient('pages');
    await pages.create(8192);
    await pages.uploadPagesFromURL(url, 33, 1024, 2048);
    const all = await pages.downloadToBuffer();
    assert.ok(all.subarray(1024, 3072).equals(bytes.subarray(33, 33 + 2048)));
    assert.ok(all.subarray(0, 1024).equals(Buffer.alloc(1024)));
  }
});

test('what a source elsewhere answers is what the client is told', async () => {
  const container = await newContainer();
  const blob = container.getBlockBlobClient('blob');
  await blob.upload('kept', 4);
  const statuses = { 401: 401, 403: 403, 404: 404, 409: 409, 412: 412, 500: 500, 302: 500 };
  for (const [status, expected] of Object.entries(statuses)) {
    routes.set(`/status-${status}`, (request, response) => {
      response.writeHead(Number(status), { Location: `${elsewhereUrl}/source` }).end('no');
    });
    const url = `${elsewhereUrl}/status-${status}`;
    await refused(blob.syncUploadFromURL(url), expected, 'CannotVerifyCopySource');
    await refused(blob.syncCopyFromURL(url), expected, 'CannotVerifyCopySource');
    await refused(blob.beginCopyFromURL(url), expected,
      expected === 412 ? 'SourceConditionNotMet' : 'CannotVerifyCopySource');
  }
  // Nobody listens there; a body without a length; a body that breaks off.
  await refused(blob.syncUploadFromURL('http://127.0.0.1:1/x'), 500, 'CannotVerifyCopySource');
  routes.set('/chunked', (request, response) => { response.writeHead(200).end('body'); });
  await refused(blob.syncUploadFromURL(`${elsewhereUrl}/chunked`), 500, 'CannotVerifyCopySource');
  routes.set('/broken', (request, response) => {
    response.writeHead(200, { 'Content-Length': 1000 });
    response.write('some');
    setTimeout(() => response.destroy(), 20);
  });
  await refused(blob.syncUploadFromURL(`${elsewhereUrl}/broken`), 500, 'CannotVerifyCopySource');
  assert.equal((await blob.downloadToBuffer()).toString(), 'kept');
  routes.set('/conditions', (request, response) => {
    assert.equal(request.headers['if-match'], '"0x8D0000000000000"');
    response.writeHead(412).end();
  });
  await refused(blob.syncUploadFromURL(`${elsewhereUrl}/conditions`,
    { sourceConditions: { ifMatch: '"0x8D0000000000000"' } }), 412, 'CannotVerifyCopySource');
});

// --- from elsewhere, in the background ---

test('a copy from elsewhere is pending, refuses other writes, and succeeds', async () => {
  const container = await newContainer();
  const bytes = crypto.randomBytes(400_000);
  const source = slow('/slow', bytes, { 'Content-Type': 'text/y', 'x-ms-meta-a': 'b' });
  const copy = container.getBlockBlobClient('copy');
  await copy.upload('old', 3);
  const poller = await copy.beginCopyFromURL(source.url, { intervalInMs: 50 });
  let properties = await copy.getProperties();
  assert.equal(properties.copyStatus, 'pending');
  assert.equal(properties.contentLength, 0);
  assert.match(properties.copyProgress, new RegExp(`^\\d+/${bytes.length}$`));
  const pending = [409, 'PendingCopyOperation'];
  await refused(copy.upload('x', 1), ...pending);
  await refused(copy.setMetadata({}), ...pending);
  await refused(copy.delete(), ...pending);
  await refused(copy.createSnapshot(), ...pending);
  await refused(copy.getBlobLeaseClient().acquireLease(15), ...pending);
  await refused(copy.stageBlock('aaaa', 'x', 1), ...pending);
  await refused(copy.beginCopyFromURL(serve('/other', bytes)), ...pending);
  await refused(copy.abortCopyFromURL(crypto.randomUUID()), 409, 'CopyIdMismatch');
  source.finish();
  const result = await poller.pollUntilDone();
  assert.equal(result.copyStatus, 'success');
  properties = await copy.getProperties();
  assert.equal(properties.copyProgress, `${bytes.length}/${bytes.length}`);
  assert.equal(properties.contentType, 'text/y');
  assert.deepEqual(properties.metadata, { a: 'b' });
  assert.ok((await copy.downloadToBuffer()).equals(bytes));
  await refused(copy.abortCopyFromURL(result.copyId), 409, 'NoPendingCopyOperation');
  await copy.setMetadata({});
  assert.equal((await copy.getProperties()).copyId, undefined);
});

test('an aborted copy leaves an empty blob that can be written again', async () => {
  const container = await newContainer();
  const source = slow('/aborted', crypto.randomBytes(3_000_000), { 'x-ms-meta-a': 'b' });
  const copy = container.getBlockBlobClient('copy');
  const poller = await copy.beginCopyFromURL(source.url, { intervalInMs: 50 });
  const { copyId } = await copy.getProperties();
  await copy.abortCopyFromURL(copyId);
  const properties = await copy.getProperties();
  assert.equal(properties.copyStatus, 'aborted');
  assert.equal(properties.contentLength, 0);
  assert.deepEqual(properties.metadata, { a: 'b' });
  source.finish();
  await poller.stopPolling();
  await copy.upload('new', 3);
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.equal((await copy.downloadToBuffer()).toString(), 'new');
});

test('a connection that is lost is taken up where it was', async () => {
  const container = await newContainer();
  const bytes = crypto.randomBytes(100_000);
  const source = slow('/lost', bytes);
  const copy = container.getBlockBlobClient('copy');
  const poller = await copy.beginCopyFromURL(source.url, { intervalInMs: 20 });
  source.breakOff();
  await eventually(5000, 'a second request', () => source.requests.length === 2);
  assert.equal(source.requests[1]['if-match'], '"e1"');
  assert.match(source.requests[1].range, /^bytes=\d+-$/);
  await eventually(5000, 'the second answer', () => source.finish);
  source.finish();
  assert.equal((await poller.pollUntilDone()).copyStatus, 'success');
  assert.ok((await copy.downloadToBuffer()).equals(bytes));
});

test('a copy whose source fails is failed and says why', async () => {
  const container = await newContainer();
  const copy = container.getBlobClient('copy');
  await copy.beginCopyFromURL(failing('/failing'));
  const properties = await eventually(10_000, 'the failure', async () => {
    const now = await copy.getProperties();
    return now.copyStatus === 'failed' ? now : null;
  });
  assert.match(properties.copyStatusDescription, /412/);
  assert.equal(properties.contentLength, 0);
});

test('a SAS source elsewhere works: here, by a name this server does not know as its own', async () => {
  const container = await newContainer();
  const source = container.getBlockBlobClient('source');
  await source.upload('over the wire', 13);
  const away = sasUrl(source).replace('127.0.0.1', '127.0.0.1.').replace('127.0.0.1.', '127.1');
  const copy = container.getBlobClient('copy');
  assert.equal((await (await copy.beginCopyFromURL(away, { intervalInMs: 20 })).pollUntilDone())
    .copyStatus, 'success');
  assert.equal((await copy.downloadToBuffer()).toString(), 'over the wire');
});

// --- incremental copies ---

test('snapshots of an incremental copy can be compared', async () => {
  const container = await newContainer();
  const disk = container.getPageBlobClient('disk');
  await disk.create(8192);
  await disk.uploadPages(Buffer.alloc(1024, 'a'), 0, 1024);
  const first = await disk.createSnapshot();
  await disk.uploadPages(Buffer.alloc(512, 'b'), 4096, 512);
  const second = await disk.createSnapshot();
  const backup = (await newContainer()).getPageBlobClient('backup');
  const at = (snapshot) => disk.withSnapshot(snapshot).url;
  await refused(backup.startCopyIncremental(disk.url), 409, 'IncrementalCopySourceMustBeSnapshot');
  const made = [];
  for (const { snapshot } of [first, second]) {
    await backup.startCopyIncremental(at(snapshot));
    const properties = await backup.getProperties();
    assert.equal(properties.isIncrementalCopy, true);
    assert.equal(properties.copyStatus, 'success');
    made.push(properties.destinationSnapshot);
  }
  const diff = await backup.withSnapshot(made[1]).getPageRangesDiff(0, 8192, made[0]);
  assert.deepEqual(diff.pageRange, [{ offset: 4096, count: 511 }]);
  await refused(backup.startCopyIncremental(at(first.snapshot)),
    409, 'IncrementalCopyOfEarlierVersionSnapshotNotAllowed');
});

test('the destination of incremental copies is for them alone', async () => {
  const container = await newContainer();
  const disk = container.getPageBlobClient('disk');
  await disk.create(1024);
  await disk.uploadPages(Buffer.alloc(512, 'a'), 0, 512);
  const { snapshot } = await disk.createSnapshot();
  const backup = container.getPageBlobClient('backup');
  await backup.startCopyIncremental(disk.withSnapshot(snapshot).url);
  for (const operation of [
    () => backup.uploadPages(Buffer.alloc(512, 'b'), 0, 512),
    () => backup.clearPages(0, 512),
    () => backup.resize(2048),
    () => backup.updateSequenceNumber('increment'),
    () => backup.setMetadata({ a: 'b' }),
    () => backup.setHTTPHeaders({ blobContentType: 'text/plain' }),
    () => backup.setTags({ a: 'b' }),
    () => backup.createSnapshot(),
    () => backup.create(1024),
    () => backup.getBlobLeaseClient().acquireLease(-1),
    () => backup.downloadToBuffer(),
    () => backup.getPageRanges(0, 1024),
    () => backup.beginCopyFromURL(disk.url),
  ])
    await refused(operation(), 409, 'OperationNotAllowedOnIncrementalCopyBlob');
  const { destinationSnapshot } = await backup.getProperties();
  const bytes = await backup.withSnapshot(destinationSnapshot).downloadToBuffer();
  assert.equal(bytes.toString('latin1'), 'a'.repeat(512) + '\0'.repeat(512));
  await backup.delete({ deleteSnapshots: 'include' });
});

// --- at the same time as everything else ---

test('copies are states of their source, whatever is written meanwhile', async () => {
  const container = await newContainer();
  const target = await newContainer();
  const source = container.getBlockBlobClient('source');
  const contents = ['a', 'b'].map((letter) => Buffer.alloc(100_000, letter));
  await source.upload(contents[0], contents[0].length, { metadata: { is: 'a' } });
  let writing = true;
  const writer = (async () => {
    for (let i = 1; writing; i++) {
      const content = contents[i % 2];
      await source.upload(content, content.length,
        { metadata: { is: content.toString('latin1', 0, 1) } });
    }
  })();
  const copier = async (where, name) => {
    for (let i = 0; i < 25; i++) {
      const copy = where.getBlockBlobClient(name);
      if (i % 2 === 0) await copy.beginCopyFromURL(source.url);
      // The source is read, and then shared in that state or not at all.
      else await copy.syncCopyFromURL(source.url).catch((error) => assert.equal(error.statusCode, 412));
      const bytes = await copy.downloadToBuffer();
      const { metadata } = await copy.getProperties();
      assert.ok(bytes.equals(contents[metadata.is === 'a' ? 0 : 1]));
    }
  };
  await Promise.all([copier(container, '1'), copier(container, '2'), copier(target, '1'),
    copier(target, '2')]);
  writing = false;
  await writer;
});

test('a copy that was pending when the server ended has failed', async () => {
  const container = await newContainer();
  const source = slow('/restart', crypto.randomBytes(100_000), { 'x-ms-meta-a': 'b' });
  const name = 'copy';
  await container.getBlobClient(name).beginCopyFromURL(source.url);
  for (const signal of ['SIGTERM', 'SIGKILL']) {
    await server.restart(signal);
    const copy = server.client().getContainerClient(container.containerName)
      .getBlockBlobClient(name);
    const properties = await copy.getProperties();
    assert.equal(properties.copyStatus, 'failed');
    assert.match(properties.copyStatusDescription, /restarted/);
    await copy.upload('written', 7);
    await copy.beginCopyFromURL(slow('/restart', Buffer.alloc(5000)).url);
  }
  const copy = server.client().getContainerClient(container.containerName).getBlobClient(name);
  await copy.abortCopyFromURL((await copy.getProperties()).copyId);
});

stopsCleanly(server);
