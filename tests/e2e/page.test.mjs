// Page blobs through the official SDK: pages, ranges, comparisons, sizes, sequence numbers; and bad
// input by hand.

import test from 'node:test';
import assert from 'node:assert/strict';
import { startServer, stopsCleanly } from './helpers/server.mjs';
import { sasSender } from './helpers/http.mjs';
import { Random, seeded } from './helpers/random.mjs';
import { crc64, md5 } from './helpers/digest.mjs';

const server = await startServer();
const container = server.client().getContainerClient('disks');
await container.create();
const send = sasSender(server);

const KIB = 1024;
const MIB = 1024 * KIB;
const TIB = 1024 * 1024 * MIB;
const PAGE = 512;
const random = new Random(1);

let count = 0;
async function created(size = 16 * PAGE, options = {}) {
  const blob = container.getPageBlobClient(`disk-${++count}`);
  await blob.create(size, options);
  return blob;
}

const fails = (promise, statusCode, code) => assert.rejects(promise, { statusCode, code });
const write = (blob, first, pages, options) =>
  blob.uploadPages(random.bytes(pages * PAGE), first * PAGE, pages * PAGE, options);
const clear = (blob, first, pages, options) => blob.clearPages(first * PAGE, pages * PAGE, options);

// Ranges as the tests write them: [[first page, pages], ...].  The SDK's count is the distance from
// the first byte to the last, so one too small.
const inPages = (found) => (found ?? []).map(({ offset, count: bytes }) =>
  [offset / PAGE, (bytes + 1) / PAGE]);
const ranges = async (blob, ...args) => inPages((await blob.getPageRanges(...args)).pageRange);
async function difference(blob, snapshot, offset = 0, bytes = undefined) {
  const answer = await blob.getPageRangesDiff(offset, bytes, snapshot);
  return { written: inPages(answer.pageRange), cleared: inPages(answer.clearRange) };
}

test('a new blob is zeroes, of the size that was asked for', async () => {
  const blob = await created(4 * KIB, { blobSequenceNumber: 7, metadata: { a: 'b' },
    blobHTTPHeaders: { blobContentType: 'disk/image' } });
  const properties = await blob.getProperties();
  assert.equal(properties.blobType, 'PageBlob');
  assert.equal(properties.contentLength, 4 * KIB);
  assert.equal(properties.blobSequenceNumber, 7);
  assert.equal(properties.contentType, 'disk/image');
  assert.ok((await blob.downloadToBuffer()).equals(Buffer.alloc(4 * KIB)));
  assert.deepEqual(await ranges(blob), []);
  const listed = [];
  for await (const item of container.listBlobsFlat({ prefix: blob.name })) listed.push(item);
  assert.equal(listed[0].properties.blobType, 'PageBlob');
  assert.equal(listed[0].properties.blobSequenceNumber, 7);
  assert.equal(listed[0].properties.contentLength, 4 * KIB);
});

test('pages are written, overwritten and cleared', async () => {
  const blob = await created();
  const bytes = random.bytes(16 * PAGE);
  const answer = await blob.uploadPages(bytes.subarray(0, 8 * PAGE), 0, 8 * PAGE);
  assert.equal(answer._response.status, 201);
  assert.equal(answer.blobSequenceNumber, 0);
  assert.equal(answer.isServerEncrypted, true);
  assert.equal(answer._response.headers.get('x-ms-content-crc64'),
    crc64(bytes.subarray(0, 8 * PAGE)));
  await blob.uploadPages(bytes.subarray(12 * PAGE), 2 * PAGE, 4 * PAGE);
  const cleared = await clear(blob, 4, 1);
  assert.equal(cleared._response.status, 201);
  assert.equal(cleared.blobSequenceNumber, 0);
  const expected = Buffer.concat([bytes.subarray(0, 2 * PAGE), bytes.subarray(12 * PAGE),
    bytes.subarray(6 * PAGE, 8 * PAGE), Buffer.alloc(8 * PAGE)]);
  expected.fill(0, 4 * PAGE, 5 * PAGE);
  assert.ok((await blob.downloadToBuffer()).equals(expected));
  assert.ok((await blob.downloadToBuffer(700, 3000)).equals(expected.subarray(700, 3700)));
  assert.deepEqual(await ranges(blob), [[0, 4], [5, 3]]);
});

test('a write has up to 4 MiB', async () => {
  const blob = await created(8 * MIB);
  const bytes = random.bytes(4 * MIB);
  await blob.uploadPages(bytes, 2 * MIB, 4 * MIB);
  assert.ok((await blob.downloadToBuffer(2 * MIB, 4 * MIB)).equals(bytes));
  const answer = await send('PUT', `disks/${blob.name}?comp=page`,
    { 'x-ms-page-write': 'update', 'x-ms-range': `bytes=0-${4 * MIB + 511}` },
    Buffer.alloc(4 * MIB + 512));
  assert.deepEqual([answer.status, answer.code], [413, 'RequestBodyTooLarge']);
  assert.match(answer.body.toString(), /<MaxLimit>4194304<\/MaxLimit>/);
});

test('ranges are listed within a range and in pages', async () => {
  const blob = await created(64 * PAGE);
  for (let page = 0; page < 64; page += 2) await write(blob, page, 1);
  assert.equal((await ranges(blob)).length, 32);
  assert.deepEqual(await ranges(blob, 4 * PAGE, 4 * PAGE), [[4, 1], [6, 1]]);
  const seen = [];
  let answers = 0;
  for await (const answer of blob.listPageRanges(0, 64 * PAGE).byPage({ maxPageSize: 5 })) {
    seen.push(...inPages((answer.pageRange ?? []).map(({ start, end }) =>
      ({ offset: start, count: end - start }))));
    answers++;
  }
  assert.deepEqual(seen, Array.from({ length: 32 }, (_, i) => [2 * i, 1]));
  assert.equal(answers, 7);
});

test('a comparison with a snapshot tells what was written and what was cleared', async () => {
  const blob = await created();
  await write(blob, 0, 8);
  const { snapshot } = await blob.createSnapshot();
  assert.deepEqual(await difference(blob, snapshot), { written: [], cleared: [] });
  await write(blob, 1, 1);
  await clear(blob, 2, 2);
  await write(blob, 10, 1);
  await clear(blob, 12, 2);
  const expected = { written: [[1, 1], [10, 1]], cleared: [[2, 2]] };
  assert.deepEqual(await difference(blob, snapshot), expected);
  const later = await blob.createSnapshot();
  await clear(blob, 10, 1);
  assert.deepEqual(await difference(blob.withSnapshot(later.snapshot), snapshot), expected);
  assert.deepEqual(await difference(blob, later.snapshot), { written: [], cleared: [[10, 1]] });
  assert.deepEqual(await difference(blob, snapshot, 0, 2 * PAGE),
    { written: [[1, 1]], cleared: [] });
  const byUrl = await blob.getPageRangesDiffForManagedDisks(0, 16 * PAGE,
    blob.withSnapshot(snapshot).url);
  assert.deepEqual(inPages(byUrl.clearRange), [[2, 2]]);
  const raw = await send('GET',
    `disks/${blob.name}?comp=pagelist&prevsnapshot=${encodeURIComponent(snapshot)}`);
  assert.equal(raw.headers['x-ms-blob-content-length'], String(16 * PAGE));
  assert.match(raw.body.toString(), new RegExp('<PageList>' +
    '<PageRange><Start>512</Start><End>1023</End></PageRange>' +
    '<ClearRange><Start>1024</Start><End>2047</End></ClearRange></PageList>$'));

  await fails(difference(blob.withSnapshot(snapshot), later.snapshot),
    400, 'PreviousSnapshotCannotBeNewer');
  await fails(difference(blob, '2020-01-01T00:00:00.0000000Z'), 409, 'PreviousSnapshotNotFound');
  await blob.create(16 * PAGE);
  await fails(difference(blob, snapshot), 409, 'BlobOverwritten');
});

test('pages, snapshots and comparisons agree with a simple model', async () => {
  const chance = seeded('page model');
  const PAGES = 40;
  const blob = await created(PAGES * PAGE);
  let now = new Array(PAGES).fill(0);
  const snapshots = [];
  const bytesOf = (stamps) => Buffer.concat(stamps.map((stamp) =>
    Buffer.alloc(PAGE, stamp === 0 ? 0 : (stamp % 255) + 1)));
  const runs = (kind, differs) => {
    const result = [];
    for (let page = 0; page < PAGES; page++) {
      if (differs(page) !== kind) continue;
      const last = result.at(-1);
      if (last && last[0] + last[1] === page) last[1]++;
      else result.push([page, 1]);
    }
    return result;
  };
  for (let stamp = 1; stamp <= 60; stamp++) {
    const first = chance.between(0, PAGES - 1);
    const pages = chance.between(1, Math.min(PAGES - first, 12));
    const choice = chance.between(0, 5);
    if (choice === 0) {
      snapshots.push({ stamps: [...now], id: (await blob.createSnapshot()).snapshot });
      continue;
    }
    if (choice === 1) {
      await clear(blob, first, pages);
      now.fill(0, first, first + pages);
    } else {
      await blob.uploadPages(bytesOf(new Array(pages).fill(stamp)), first * PAGE, pages * PAGE);
      now.fill(stamp, first, first + pages);
    }
    assert.deepEqual(await ranges(blob), runs('w', (page) => (now[page] ? 'w' : '')));
  }
  assert.ok((await blob.downloadToBuffer()).equals(bytesOf(now)));
  for (const { stamps, id } of snapshots) {
    assert.ok((await blob.withSnapshot(id).downloadToBuffer()).equals(bytesOf(stamps)));
    const differs = (page) => (now[page] === stamps[page] ? '' : now[page] ? 'w' : 'c');
    assert.deepEqual(await difference(blob, id),
      { written: runs('w', differs), cleared: runs('c', differs) });
  }
});

test('an 8 TiB blob costs what is written', async () => {
  const blob = await created(8 * TIB);
  assert.equal((await blob.getProperties()).contentLength, 8 * TIB);
  const bytes = random.bytes(PAGE);
  await blob.uploadPages(bytes, 8 * TIB - PAGE, PAGE);
  assert.ok((await blob.downloadToBuffer(8 * TIB - PAGE, PAGE)).equals(bytes));
  assert.ok((await blob.downloadToBuffer(4 * TIB, MIB)).equals(Buffer.alloc(MIB)));
  assert.deepEqual(await ranges(blob), [[8 * TIB / PAGE - 1, 1]]);
  await fails(container.getPageBlobClient('too-large').create(8 * TIB + PAGE),
    400, 'InvalidHeaderValue');
});

test('a blob is resized, and what it lost is zeroes when it grows', async () => {
  const blob = await created(8 * PAGE, { blobHTTPHeaders: { blobContentType: 'disk/image' } });
  await write(blob, 0, 8);
  const answer = await blob.resize(3 * PAGE);
  assert.equal(answer._response.status, 200);
  assert.equal(answer.blobSequenceNumber, 0);
  await blob.resize(8 * PAGE);
  assert.deepEqual(await ranges(blob), [[0, 3]]);
  const properties = await blob.getProperties();
  assert.equal(properties.contentLength, 8 * PAGE);
  assert.equal(properties.contentType, 'disk/image');
  await blob.resize(0);
  assert.equal((await blob.getProperties()).contentLength, 0);
  assert.deepEqual(await ranges(blob), []);
  await blob.resize(2 * PAGE);
  assert.ok((await blob.downloadToBuffer()).equals(Buffer.alloc(2 * PAGE)));
  await fails(blob.resize(100), 400, 'InvalidHeaderValue');
});

test('sequence numbers are raised, set and incremented, and are conditions', async () => {
  const blob = await created(PAGE, { blobHTTPHeaders: { blobContentType: 'disk/image' } });
  assert.equal((await blob.updateSequenceNumber('increment')).blobSequenceNumber, 1);
  assert.equal((await blob.updateSequenceNumber('update', 10)).blobSequenceNumber, 10);
  assert.equal((await blob.updateSequenceNumber('max', 5)).blobSequenceNumber, 10);
  assert.equal((await blob.updateSequenceNumber('max', 12)).blobSequenceNumber, 12);
  assert.equal((await blob.getProperties()).contentType, 'disk/image');
  const answer = await blob.setHTTPHeaders({ blobContentType: 'other' });
  assert.equal(answer.blobSequenceNumber, 12);

  const code = 'SequenceNumberConditionNotMet';
  await write(blob, 0, 1, { conditions: { ifSequenceNumberEqualTo: 12 } });
  await fails(write(blob, 0, 1, { conditions: { ifSequenceNumberEqualTo: 11 } }), 412, code);
  await write(blob, 0, 1, { conditions: { ifSequenceNumberLessThan: 13 } });
  await fails(write(blob, 0, 1, { conditions: { ifSequenceNumberLessThan: 12 } }), 412, code);
  await write(blob, 0, 1, { conditions: { ifSequenceNumberLessThanOrEqualTo: 12 } });
  await fails(clear(blob, 0, 1, { conditions: { ifSequenceNumberLessThanOrEqualTo: 11 } }),
    412, code);

  const path = `disks/${blob.name}?comp=properties`;
  const number = 'x-ms-blob-sequence-number';
  const action = 'x-ms-sequence-number-action';
  for (const [headers, status, expected] of [
    [{ [action]: 'increment', [number]: '1' }, 400, 'InvalidHeaderValue'],
    [{ [action]: 'max' }, 400, 'MissingRequiredHeader'],
    [{ [action]: 'decrement' }, 400, 'InvalidHeaderValue'],
    [{ [action]: 'update', [number]: '-1' }, 400, 'InvalidHeaderValue'],
    [{ [action]: 'update', [number]: '9223372036854775808' }, 400, 'InvalidHeaderValue'],
    [{ [action]: 'update', [number]: '9223372036854775807' }, 200, undefined],
    [{ [action]: 'increment' }, 409, 'SequenceNumberIncrementTooLarge'],
  ]) {
    const got = await send('PUT', path, headers);
    assert.deepEqual([got.status, got.code], [status, expected], JSON.stringify(headers));
  }
});

test('conditions and leases hold for pages', async () => {
  const blob = await created();
  const { etag } = await write(blob, 0, 1);
  await write(blob, 1, 1, { conditions: { ifMatch: etag } });
  await fails(write(blob, 2, 1, { conditions: { ifMatch: etag } }), 412, 'ConditionNotMet');
  await fails(blob.getPageRanges(0, 16 * PAGE, { conditions: { ifMatch: etag } }),
    412, 'ConditionNotMet');
  await fails(blob.create(PAGE, { conditions: { ifNoneMatch: '*' } }), 409, 'BlobAlreadyExists');
  const lease = blob.getBlobLeaseClient();
  await lease.acquireLease(-1);
  await fails(write(blob, 2, 1), 412, 'LeaseIdMissing');
  await fails(clear(blob, 2, 1), 412, 'LeaseIdMissing');
  await fails(blob.resize(PAGE), 412, 'LeaseIdMissing');
  await write(blob, 2, 1, { conditions: { leaseId: lease.leaseId } });
  assert.deepEqual(await ranges(blob), [[0, 3]]);
});

test('the body is checked against the hash the client sends', async () => {
  const blob = await created();
  const bytes = random.bytes(PAGE);
  const right = Buffer.from(md5(bytes), 'base64');
  const answer = await blob.uploadPages(bytes, 0, PAGE, { transactionalContentMD5: right });
  assert.equal(Buffer.from(answer.contentMD5).toString('base64'), md5(bytes));
  await fails(blob.uploadPages(Buffer.alloc(PAGE), 0, PAGE, { transactionalContentMD5: right }),
    400, 'Md5Mismatch');
  assert.ok((await blob.downloadToBuffer(0, PAGE)).equals(bytes));
});

test('operations are for page blobs that exist', async () => {
  await fails(write(container.getPageBlobClient('missing'), 0, 1), 404, 'BlobNotFound');
  await fails(ranges(container.getPageBlobClient('missing')), 404, 'BlobNotFound');
  await container.getBlockBlobClient('block').upload('abc', 3);
  const block = container.getPageBlobClient('block');
  await fails(write(block, 0, 1), 409, 'InvalidBlobType');
  await fails(clear(block, 0, 1), 409, 'InvalidBlobType');
  await fails(ranges(block), 409, 'InvalidBlobType');
  await fails(block.resize(PAGE), 409, 'InvalidBlobType');
  await fails(block.updateSequenceNumber('increment'), 409, 'InvalidBlobType');
});

test('bad input is refused as the service does', async () => {
  const blob = await created(4 * PAGE);
  const path = `disks/${blob.name}`;
  const update = (range) => ({ 'x-ms-page-write': 'update', 'x-ms-range': range });
  const page = Buffer.alloc(PAGE, 'x');
  const create = (size) => ({ 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': size });
  const cases = [
    ['PUT', `${path}?comp=page`, update('bytes=2048-2559'), page, 416, 'InvalidPageRange'],
    ['PUT', `${path}?comp=page`, update('bytes=1-512'), page, 416, 'InvalidPageRange'],
    ['PUT', `${path}?comp=page`, update('bytes=0-510'), page, 416, 'InvalidPageRange'],
    ['PUT', `${path}?comp=page`, update('bytes=0-1023'), page, 416, 'InvalidPageRange'],
    ['PUT', `${path}?comp=page`, update('bytes=0-'), page, 400, 'InvalidHeaderValue'],
    ['PUT', `${path}?comp=page`, update('pages'), page, 400, 'InvalidHeaderValue'],
    ['PUT', `${path}?comp=page`, { 'x-ms-page-write': 'update' }, page, 400,
      'MissingRequiredHeader'],
    ['PUT', `${path}?comp=page`, { 'x-ms-range': 'bytes=0-511' }, page, 400,
      'MissingRequiredHeader'],
    ['PUT', `${path}?comp=page`, { 'x-ms-page-write': 'x', 'x-ms-range': 'bytes=0-511' }, page,
      400, 'InvalidHeaderValue'],
    ['PUT', `${path}?comp=page`, { 'x-ms-page-write': 'clear', 'x-ms-range': 'bytes=0-511' },
      page, 400, 'InvalidHeaderValue'],
    ['PUT', `${path}?comp=page`, { ...update('bytes=0-511'), 'x-ms-if-sequence-number-le': 'x' },
      page, 400, 'InvalidHeaderValue'],
    ['GET', `${path}?comp=pagelist`, { 'x-ms-range': 'bytes=1-511' }, null, 416,
      'InvalidPageRange'],
    ['GET', `${path}?comp=pagelist`, { 'x-ms-range': 'bytes=2048-' }, null, 416,
      'InvalidPageRange'],
    ['GET', `${path}?comp=pagelist&maxresults=0`, {}, null, 400, 'OutOfRangeQueryParameterValue'],
    ['GET', `${path}?comp=pagelist&marker=x`, {}, null, 400, 'InvalidQueryParameterValue'],
    ['GET', `${path}?comp=pagelist&prevsnapshot=x`, {}, null, 400, 'InvalidQueryParameterValue'],
    ['GET', `${path}?comp=pagelist`, { 'x-ms-previous-snapshot-url': 'http://x/y' }, null, 400,
      'InvalidHeaderValue'],
    ['PUT', path, { 'x-ms-blob-type': 'PageBlob' }, null, 400, 'MissingRequiredHeader'],
    ['PUT', path, create('100'), null, 400, 'InvalidHeaderValue'],
    ['PUT', path, create('-512'), null, 400, 'InvalidHeaderValue'],
    ['PUT', path, create('512'), 'body', 400, 'InvalidHeaderValue'],
    ['PUT', path, { ...create('512'), 'x-ms-blob-sequence-number': 'x' }, null, 400,
      'InvalidHeaderValue'],
  ];
  for (const [method, target, headers, body, status, code] of cases) {
    const answer = await send(method, target, { 'x-ms-version': '2021-12-02', ...headers }, body);
    assert.deepEqual([answer.status, answer.code], [status, code],
      `${target} ${JSON.stringify(headers)}`);
  }
  assert.deepEqual(await ranges(blob), []);
});

test('pages and snapshots survive a restart', async () => {
  const blob = await created(MIB);
  const bytes = random.bytes(128 * KIB);
  await blob.uploadPages(bytes, 512 * KIB, 128 * KIB);
  const { snapshot } = await blob.createSnapshot();
  await clear(blob, 1100, 4);
  await server.restart('SIGKILL');
  const again = server.client().getContainerClient('disks').getPageBlobClient(blob.name);
  assert.deepEqual(await ranges(again), [[1024, 76], [1104, 176]]);
  assert.deepEqual(await difference(again, snapshot), { written: [], cleared: [[1100, 4]] });
  const old = await again.withSnapshot(snapshot).downloadToBuffer(512 * KIB, 128 * KIB);
  assert.ok(old.equals(bytes));
});

stopsCleanly(server);
