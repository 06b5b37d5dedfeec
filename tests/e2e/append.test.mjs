// Append blobs through the official SDK: create, append, conditions, seal; and bad input by hand.

import test from 'node:test';
import assert from 'node:assert/strict';
import { startServer, stopsCleanly } from './helpers/server.mjs';
import { sasSender } from './helpers/http.mjs';
import { Random } from './helpers/random.mjs';
import { crc64, md5 } from './helpers/digest.mjs';

const server = await startServer();
const container = server.client().getContainerClient('logs');
await container.create();
const send = sasSender(server);

const KIB = 1024;
const MIB = 1024 * KIB;
const random = new Random(1);

let count = 0;
async function created(options = {}) {
  const blob = container.getAppendBlobClient(`log-${++count}`);
  await blob.create(options);
  return blob;
}

const append = (blob, text, options) => blob.appendBlock(text, Buffer.byteLength(text), options);
const text = async (blob) => (await blob.downloadToBuffer()).toString();
const fails = (promise, statusCode, code) => assert.rejects(promise, { statusCode, code });

test('blocks come back in the order they were appended', async () => {
  const blob = await created({ blobHTTPHeaders: { blobContentType: 'text/plain' },
    metadata: { a: 'b' } });
  const chunks = [];
  let offset = 0;
  for (const size of [1, 100, 64 * KIB, 64 * KIB + 1, 4 * MIB, 3]) {
    const bytes = random.bytes(size);
    const answer = await blob.appendBlock(bytes, size);
    chunks.push(bytes);
    assert.equal(answer._response.status, 201);
    assert.equal(answer.blobAppendOffset, String(offset));
    assert.equal(answer.blobCommittedBlockCount, chunks.length);
    assert.equal(answer.isServerEncrypted, true);
    assert.equal(answer._response.headers.get('x-ms-content-crc64'), crc64(bytes));
    assert.equal(answer.contentMD5, undefined);
    offset += size;
  }
  const all = Buffer.concat(chunks);
  assert.ok((await blob.downloadToBuffer()).equals(all));
  assert.ok((await blob.downloadToBuffer(100, 70 * KIB)).equals(all.subarray(100, 100 + 70 * KIB)));
  const properties = await blob.getProperties();
  assert.equal(properties.blobType, 'AppendBlob');
  assert.equal(properties.contentLength, all.length);
  assert.equal(properties.contentType, 'text/plain');
  assert.equal(properties.blobCommittedBlockCount, chunks.length);
  assert.equal(properties.isSealed, undefined);
  assert.deepEqual(properties.metadata, { a: 'b' });
});

test('each append changes the ETag', async () => {
  const blob = await created();
  const first = await append(blob, 'a');
  const second = await append(blob, 'b');
  assert.notEqual(first.etag, second.etag);
  assert.equal((await blob.getProperties()).etag, second.etag);
  await fails(append(blob, 'c', { conditions: { ifMatch: first.etag } }), 412, 'ConditionNotMet');
  await append(blob, 'c', { conditions: { ifMatch: second.etag } });
  await fails(append(blob, 'd', { conditions: { ifUnmodifiedSince: new Date(0) } }),
    412, 'ConditionNotMet');
  assert.equal(await text(blob), 'abc');
});

test('positions and sizes are conditions', async () => {
  const blob = await created();
  await append(blob, 'abc', { conditions: { appendPosition: 0 } });
  await fails(append(blob, 'def', { conditions: { appendPosition: 2 } }),
    412, 'AppendPositionConditionNotMet');
  await fails(append(blob, 'def', { conditions: { maxSize: 5 } }),
    412, 'MaxBlobSizeConditionNotMet');
  await append(blob, 'def', { conditions: { appendPosition: 3, maxSize: 6 } });
  assert.equal(await text(blob), 'abcdef');
});

test('of many who append at one position one succeeds', async () => {
  const blob = await created();
  for (let round = 0; round < 10; round++) {
    const results = await Promise.allSettled(Array.from({ length: 16 }, (_, i) =>
      append(blob, String.fromCharCode(97 + i), { conditions: { appendPosition: round } })));
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
    for (const { status, reason } of results) {
      if (status === 'rejected') assert.equal(reason.code, 'AppendPositionConditionNotMet');
    }
  }
  assert.equal((await blob.getProperties()).contentLength, 10);
});

test('blocks of many writers are all there, each whole', async () => {
  const blob = await created();
  await Promise.all(Array.from({ length: 16 }, async (_, writer) => {
    for (let i = 0; i < 20; i++) await append(blob, `${writer}:${i};`.padStart(50, '.'));
  }));
  const blocks = (await text(blob)).match(/.{50}/g).map((block) => block.replace(/^\.+/, ''));
  assert.equal(new Set(blocks).size, 16 * 20);
  for (let writer = 0; writer < 16; writer++) {
    const own = blocks.filter((block) => block.startsWith(`${writer}:`));
    assert.deepEqual(own, Array.from({ length: 20 }, (_, i) => `${writer}:${i};`));
  }
});

test('the body is checked against the hash the client sends', async () => {
  const blob = await created();
  const right = Buffer.from(md5('abc'), 'base64');
  const answer = await append(blob, 'abc', { transactionalContentMD5: right });
  assert.equal(Buffer.from(answer.contentMD5).toString('base64'), md5('abc'));
  assert.equal(answer._response.headers.get('x-ms-content-crc64'), undefined);
  await fails(append(blob, 'def', { transactionalContentMD5: right }), 400, 'Md5Mismatch');
  await append(blob, 'def',
    { transactionalContentCrc64: Buffer.from(crc64('def'), 'base64') });
  await fails(append(blob, 'ghi',
    { transactionalContentCrc64: Buffer.from(crc64('def'), 'base64') }), 400, 'Crc64Mismatch');
  assert.equal(await text(blob), 'abcdef');
});

test('a sealed blob can be read but not appended to', async () => {
  const blob = await created();
  await append(blob, 'abc');
  await fails(blob.seal({ conditions: { appendPosition: 2 } }),
    412, 'AppendPositionConditionNotMet');
  const sealed = await blob.seal({ conditions: { appendPosition: 3 } });
  assert.equal(sealed._response.status, 200);
  assert.equal(sealed.isSealed, true);
  await fails(append(blob, 'def'), 409, 'BlobIsSealed');
  assert.equal((await blob.seal()).isSealed, true);
  assert.equal((await blob.getProperties()).isSealed, true);
  assert.equal((await blob.download()).isSealed, true);
  assert.equal(await text(blob), 'abc');
  const listed = [];
  for await (const item of container.listBlobsFlat({ prefix: blob.name })) listed.push(item);
  assert.equal(listed[0].properties.blobType, 'AppendBlob');
  assert.equal(listed[0].properties.isSealed, true);
  await blob.setMetadata({ still: 'possible' });
  await blob.create();
  await append(blob, 'new');
  assert.equal(await text(blob), 'new');
});

test('a leased blob is appended to with its lease', async () => {
  const blob = await created();
  const lease = blob.getBlobLeaseClient();
  await lease.acquireLease(-1);
  await fails(append(blob, 'abc'), 412, 'LeaseIdMissing');
  await fails(blob.seal(), 412, 'LeaseIdMissing');
  await append(blob, 'abc', { conditions: { leaseId: lease.leaseId } });
  await fails(blob.create(), 412, 'LeaseIdMissing');
  await blob.create({ conditions: { leaseId: lease.leaseId } });
  assert.equal(await text(blob), '');
});

test('a blob is created only if it is not there, when the client says so', async () => {
  const blob = await created();
  await fails(blob.create({ conditions: { ifNoneMatch: '*' } }), 409, 'BlobAlreadyExists');
  assert.equal((await blob.createIfNotExists()).succeeded, false);
});

test('only append blobs are appended to', async () => {
  const missing = container.getAppendBlobClient('missing');
  await fails(append(missing, 'abc'), 404, 'BlobNotFound');
  await fails(missing.seal(), 404, 'BlobNotFound');
  await container.getBlockBlobClient('block').upload('abc', 3);
  await fails(append(container.getAppendBlobClient('block'), 'abc'), 409, 'InvalidBlobType');
  await fails(container.getAppendBlobClient('block').seal(), 409, 'InvalidBlobType');
  await fails(append(server.client().getContainerClient('none').getAppendBlobClient('a'), 'abc'),
    404, 'ContainerNotFound');
});

test('bad input is refused as the service does', async () => {
  const blob = await created();
  const path = `logs/${blob.name}`;
  const cases = [
    [`${path}?comp=appendblock`, {}, null, 400, 'OutOfRangeInput'],
    [`${path}?comp=appendblock`, { 'x-ms-blob-condition-appendpos': 'x' }, 'a', 400,
      'InvalidHeaderValue'],
    [`${path}?comp=appendblock`, { 'x-ms-blob-condition-maxsize': '-1' }, 'a', 400,
      'InvalidHeaderValue'],
    [`${path}?comp=appendblock`, { 'Content-MD5': 'x' }, 'a', 400, 'InvalidMd5'],
    [`${path}?comp=appendblock`, { 'If-Match': '"0x1"', 'If-None-Match': '"0x2"' }, 'a', 400,
      'MultipleConditionHeadersNotSupported'],
    [path, { 'x-ms-blob-type': 'AppendBlob' }, 'body', 400, 'InvalidHeaderValue'],
    [path, { 'x-ms-blob-type': 'AppendBlob', 'x-ms-blob-content-length': '512' }, null, 400,
      'InvalidHeaderValue'],
    [path, { 'x-ms-blob-type': 'Append' }, null, 400, 'InvalidHeaderValue'],
  ];
  for (const [target, headers, body, status, code] of cases) {
    const answer = await send('PUT', target, headers, body);
    assert.deepEqual([answer.status, answer.code], [status, code], JSON.stringify(headers));
  }
  assert.equal(await text(blob), '');
});

test('blocks have up to 4 MiB, and 100 MiB since 2022-11-02', async () => {
  const blob = await created();
  const path = `logs/${blob.name}?comp=appendblock`;
  const body = Buffer.alloc(4 * MIB + 1);
  const answer = await send('PUT', path, { 'x-ms-version': '2021-12-02' }, body);
  assert.deepEqual([answer.status, answer.code], [413, 'RequestBodyTooLarge']);
  assert.match(answer.body.toString(), /<MaxLimit>4194304<\/MaxLimit>/);
  assert.equal((await send('PUT', path, { 'x-ms-version': '2022-11-02' }, body)).status, 201);
  assert.equal((await blob.getProperties()).contentLength, 4 * MIB + 1);
});

test('blobs and their blocks survive a restart', async () => {
  const blob = await created();
  await append(blob, 'before;');
  await blob.appendBlock(Buffer.alloc(100 * KIB, 'x'), 100 * KIB);
  await server.restart('SIGKILL');
  const again = server.client().getContainerClient('logs').getAppendBlobClient(blob.name);
  assert.equal((await again.getProperties()).blobCommittedBlockCount, 2);
  await append(again, ';after', { conditions: { appendPosition: 7 + 100 * KIB } });
  assert.equal(await text(again), `before;${'x'.repeat(100 * KIB)};after`);
});

stopsCleanly(server);
