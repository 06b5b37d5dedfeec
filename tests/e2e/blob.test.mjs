// Block blobs through the official SDK: upload, download, ranges, properties, metadata, delete.

import test from 'node:test';
import assert from 'node:assert/strict';
import { startServer, stopsCleanly } from './helpers/server.mjs';
import { Random } from './helpers/random.mjs';
import { crc64, md5 } from './helpers/digest.mjs';

const server = await startServer();
const service = server.client();
const container = service.getContainerClient('blobs');
await container.create();

const KIB = 1024;
const MIB = 1024 * KIB;
const random = new Random(1);

let count = 0;
const newBlob = () => container.getBlockBlobClient(`blob-${++count}`);

async function uploaded(content = 'content', options = {}) {
  const blob = newBlob();
  const answer = await blob.upload(content, content.length, options);
  return { blob, answer };
}

// Sizes at both sides of where the server changes from one way of storing to another.
const SIZES = [0, 1, KIB, 4 * KIB, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 128 * KIB, MIB - 1, MIB,
  MIB + 1, 4 * MIB + 3, 20 * MIB];

for (const size of SIZES) {
  test(`a blob of ${size} bytes comes back byte for byte with its digests`, async () => {
    const content = random.bytes(size);
    const { blob, answer } = await uploaded(content);
    assert.equal(answer._response.status, 201);
    assert.equal(Buffer.from(answer.contentMD5).toString('base64'), md5(content));
    assert.equal(answer._response.headers.get('x-ms-content-crc64'), crc64(content));
    assert.equal(answer.isServerEncrypted, true);

    const download = await blob.download();
    const chunks = [];
    for await (const chunk of download.readableStreamBody) chunks.push(chunk);
    assert.ok(Buffer.concat(chunks).equals(content));
    assert.equal(download._response.status, 200);
    assert.equal(download.contentLength, size);
    assert.equal(Buffer.from(download.contentMD5).toString('base64'), md5(content));
    assert.equal(download.etag, answer.etag);

    const properties = await blob.getProperties();
    assert.equal(properties.contentLength, size);
    assert.equal(properties.etag, answer.etag);
  });
}

test('an upload is checked against the MD5 the client sends', async () => {
  const { blob } = await uploaded('old');
  const right = Buffer.from(md5('new'), 'base64');
  await blob.upload('new', 3, { blobHTTPHeaders: { blobContentMD5: right } });
  const wrong = Buffer.from(md5('other'), 'base64');
  await assert.rejects(blob.upload('bad', 3, { blobHTTPHeaders: { blobContentMD5: wrong } }),
    { statusCode: 400, code: 'Md5Mismatch' });
  assert.equal((await blob.downloadToBuffer()).toString(), 'new');
});

test('an overwrite changes content and ETag and keeps the creation time', async () => {
  const { blob, answer: first } = await uploaded('one');
  const created = (await blob.getProperties()).createdOn;
  const second = await blob.upload('second', 6);
  assert.notEqual(second.etag, first.etag);
  const properties = await blob.getProperties();
  assert.equal(properties.contentLength, 6);
  assert.equal(properties.etag, second.etag);
  assert.deepEqual(properties.createdOn, created);
  assert.equal((await blob.downloadToBuffer()).toString(), 'second');
});

test('an overwrite may go from large to small and back', async () => {
  const blob = newBlob();
  for (const size of [MIB, 10, 3 * MIB, 0, 200 * KIB]) {
    const content = random.bytes(size);
    await blob.upload(content, size);
    const back = size === 0 ? Buffer.alloc(0) : await blob.downloadToBuffer();
    assert.ok(back.equals(content), `size ${size}`);
    assert.equal((await blob.getProperties()).contentLength, size);
  }
});

for (const size of [1000, 300 * KIB]) {
  const content = new Random(size).bytes(size);
  const ranges = [[0, 1], [0, size], [1, 1], [size - 1, 1], [10, 500], [size - 10, 100],
    [0, size + 100], [size >> 1, undefined], [0, undefined]];

  test(`ranges of a blob of ${size} bytes are the bytes asked for, cut at its end`, async () => {
    const { blob } = await uploaded(content);
    for (const [offset, length] of ranges) {
      const answer = await blob.download(offset, length);
      const chunks = [];
      for await (const chunk of answer.readableStreamBody) chunks.push(chunk);
      const expected = content.subarray(offset, length === undefined ? size : offset + length);
      assert.ok(Buffer.concat(chunks).equals(expected), `${offset}+${length}`);
      if (offset === 0 && length === undefined) {
        assert.equal(answer._response.status, 200);
      } else {
        assert.equal(answer._response.status, 206);
        assert.equal(answer.contentRange,
          `bytes ${offset}-${offset + expected.length - 1}/${size}`);
        assert.equal(Buffer.from(answer.blobContentMD5).toString('base64'), md5(content));
        assert.equal(answer.contentMD5, undefined);
      }
    }
  });

  test(`a range beyond a blob of ${size} bytes is refused with its size`, async () => {
    const { blob } = await uploaded(content);
    for (const offset of [size, size + 1, size * 10]) {
      await assert.rejects(blob.download(offset, 1), (error) => {
        assert.equal(error.statusCode, 416);
        assert.equal(error.code, 'InvalidRange');
        assert.equal(error.response.headers.get('content-range'), `bytes */${size}`);
        return true;
      });
    }
  });

  test(`the digests of a range of a blob of ${size} bytes are given when asked for`, async () => {
    const { blob } = await uploaded(content);
    const part = content.subarray(7, 7 + 400);
    const hashed = await blob.download(7, 400, { rangeGetContentMD5: true });
    assert.equal(Buffer.from(hashed.contentMD5).toString('base64'), md5(part));
    const summed = await blob.download(7, 400, { rangeGetContentCrc64: true });
    assert.equal(Buffer.from(summed.contentCrc64).toString('base64'), crc64(part));
  });
}

test('any range of an empty blob is refused', async () => {
  const { blob } = await uploaded('');
  await assert.rejects(blob.download(0, 1), { statusCode: 416, code: 'InvalidRange' });
});

test('a large download in parallel ranges comes back whole', async () => {
  const content = random.bytes(9 * MIB + 17);
  const { blob } = await uploaded(content);
  const back = await blob.downloadToBuffer(0, undefined, { blockSize: MIB, concurrency: 4 });
  assert.ok(back.equals(content));
});

test('the properties of a plain upload are the defaults', async () => {
  const { blob, answer } = await uploaded('hello');
  const properties = await blob.getProperties();
  assert.equal(properties.contentType, 'application/octet-stream');
  assert.equal(properties.blobType, 'BlockBlob');
  assert.equal(properties.contentEncoding, undefined);
  assert.equal(properties.contentLanguage, undefined);
  assert.equal(properties.cacheControl, undefined);
  assert.equal(properties.contentDisposition, undefined);
  assert.equal(properties.acceptRanges, 'bytes');
  assert.equal(properties.leaseState, 'available');
  assert.equal(properties.leaseStatus, 'unlocked');
  assert.equal(properties.leaseDuration, undefined);
  assert.equal(properties.isServerEncrypted, true);
  assert.deepEqual(properties.metadata, {});
  assert.deepEqual(properties.lastModified, answer.lastModified);
  assert.deepEqual(properties.createdOn, answer.lastModified);
});

const ALL_HEADERS = {
  blobContentType: 'text/plain; charset=utf-8',
  blobContentEncoding: 'gzip',
  blobContentLanguage: 'de-AT',
  blobCacheControl: 'max-age=3600, no-transform',
  blobContentDisposition: 'attachment; filename="a b.txt"',
};

function assertHeaders(properties, headers) {
  assert.equal(properties.contentType, headers.blobContentType);
  assert.equal(properties.contentEncoding, headers.blobContentEncoding);
  assert.equal(properties.contentLanguage, headers.blobContentLanguage);
  assert.equal(properties.cacheControl, headers.blobCacheControl);
  assert.equal(properties.contentDisposition, headers.blobContentDisposition);
}

test('HTTP headers given at upload are kept and sent with the content', async () => {
  const { blob } = await uploaded('hello', { blobHTTPHeaders: ALL_HEADERS });
  assertHeaders(await blob.getProperties(), ALL_HEADERS);
  assertHeaders(await blob.download(), ALL_HEADERS);
});

test('setting HTTP headers replaces the whole set, also the ones not given', async () => {
  const { blob, answer } = await uploaded('hello', { blobHTTPHeaders: ALL_HEADERS });
  const set = await blob.setHTTPHeaders({ blobContentType: 'image/png' });
  assert.notEqual(set.etag, answer.etag);
  const properties = await blob.getProperties();
  assertHeaders(properties, { blobContentType: 'image/png' });
  assert.equal(properties.etag, set.etag);
  assert.equal(properties.contentMD5, undefined);
  assert.equal((await blob.downloadToBuffer()).toString(), 'hello');
});

test('setting HTTP headers can set the stored MD5 without checking it', async () => {
  const { blob } = await uploaded('hello');
  const given = Buffer.from(md5('something else'), 'base64');
  await blob.setHTTPHeaders({ blobContentType: 'text/plain', blobContentMD5: given });
  const properties = await blob.getProperties();
  assert.deepEqual(Buffer.from(properties.contentMD5), given);
});

test('an overwrite drops the HTTP headers and metadata it does not repeat', async () => {
  const { blob } = await uploaded('hello',
    { blobHTTPHeaders: ALL_HEADERS, metadata: { a: 'b' } });
  await blob.upload('again', 5);
  const properties = await blob.getProperties();
  assertHeaders(properties, { blobContentType: 'application/octet-stream' });
  assert.deepEqual(properties.metadata, {});
});

test('metadata is kept, is replaced whole and can be cleared', async () => {
  const { blob, answer } = await uploaded('hello', { metadata: { first: 'Value One', x: '2' } });
  assert.deepEqual((await blob.getProperties()).metadata, { first: 'Value One', x: '2' });

  const set = await blob.setMetadata({ other: 'two', third: 'three' });
  assert.notEqual(set.etag, answer.etag);
  const second = await blob.getProperties();
  assert.deepEqual(second.metadata, { other: 'two', third: 'three' });
  assert.equal(second.etag, set.etag);
  assert.equal((await blob.downloadToBuffer()).toString(), 'hello');

  await blob.setMetadata({});
  assert.deepEqual((await blob.getProperties()).metadata, {});
});

test('metadata keeps the case of its names', async () => {
  const { blob } = await uploaded('hello', { metadata: { Mixed_Case: 'one' } });
  const listed = await container.listBlobsFlat({ prefix: blob.name, includeMetadata: true }).next();
  assert.deepEqual(listed.value.metadata, { Mixed_Case: 'one' });
});

test('setting metadata leaves the HTTP headers alone', async () => {
  const { blob } = await uploaded('hello', { blobHTTPHeaders: ALL_HEADERS });
  await blob.setMetadata({ a: 'b' });
  assertHeaders(await blob.getProperties(), ALL_HEADERS);
});

test('a deleted blob is gone and can be written again', async () => {
  const { blob } = await uploaded('hello');
  const answer = await blob.delete();
  assert.equal(answer._response.status, 202);
  assert.equal(await blob.exists(), false);
  const missing = { statusCode: 404, code: 'BlobNotFound' };
  await assert.rejects(blob.download(), missing);
  await assert.rejects(blob.getProperties(), { statusCode: 404 });
  await assert.rejects(blob.setMetadata({ a: 'b' }), missing);
  await assert.rejects(blob.setHTTPHeaders({ blobContentType: 'a/b' }), missing);
  await assert.rejects(blob.delete(), missing);
  await assert.rejects(blob.getBlobLeaseClient().acquireLease(15), missing);
  assert.equal((await blob.deleteIfExists()).succeeded, false);
  await blob.upload('again', 5);
  assert.equal((await blob.downloadToBuffer()).toString(), 'again');
});

test('every write gives an ETag no other write had', async () => {
  const blob = newBlob();
  const etags = new Set();
  for (let i = 0; i < 20; i++) {
    etags.add((await blob.upload(`v${i}`, `v${i}`.length)).etag);
    etags.add((await blob.setMetadata({ i: String(i) })).etag);
    etags.add((await blob.setHTTPHeaders({ blobContentType: 'a/b' })).etag);
  }
  assert.equal(etags.size, 60);
});

// Names that each go wrong somewhere when a server decodes too often, too seldom or not at all.
const NAMES = ['a', ' ', 'with space', 'plus+plus', 'percent%', '%41', '%2F', '%252F', 'a/b/c',
  'a//b', '/leading', 'trailing/', 'dot.', '.hidden', '...', 'q?mark', 'hash#tag', 'amp&ersand',
  'semi;colon', 'quote\'s', 'double"quote', 'less<greater>', '[brackets]', '{braces}', 'a=b',
  'comma,', 'at@', 'dollar$', 'ex!claim', 'star*', '(paren)', 'til~de', 'back`tick', 'pipe|',
  'caret^', 'grüße', '日本語/名前', 'emoji-🎉', 'combining-e\u0301', 'nfc-\u00e9', 'mixed ÄÖÜ/ß ?&=#%',
  'a\tb', 'CON', 'very.long.extension.tar.gz', 'con:tent'];

test('every name a blob may have reads back and lists as it was written', async () => {
  const named = service.getContainerClient('names');
  await named.create();
  for (const name of NAMES) {
    const content = `the blob ${name}`;
    await named.getBlockBlobClient(name).upload(content, Buffer.byteLength(content));
  }
  for (const name of NAMES) {
    const content = (await named.getBlobClient(name).downloadToBuffer()).toString();
    assert.equal(content, `the blob ${name}`);
  }
  const listed = [];
  for await (const item of named.listBlobsFlat()) listed.push(item.name);
  const byBytes = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b));
  assert.deepEqual(listed, [...NAMES].sort(byBytes));
});

test('a backslash in a blob name is a slash', async () => {
  await container.getBlockBlobClient('back\\slash').upload('x', 1);
  assert.equal(await container.getBlobClient('back/slash').exists(), true);
});

test('a name may have 1024 characters, of any script, and not one more', async () => {
  for (const letter of ['n', 'ß', '語', '%']) {
    const longest = container.getBlockBlobClient(letter.repeat(1024));
    await longest.upload('x', 1);
    assert.equal((await longest.downloadToBuffer()).toString(), 'x');
    await longest.delete();
    await assert.rejects(container.getBlockBlobClient(letter.repeat(1025)).upload('x', 1),
      { statusCode: 400 });
  }
});

test('a name may have 254 segments and not more', async () => {
  const segments = (n) => Array.from({ length: n }, (_, i) => i % 10).join('/');
  await container.getBlockBlobClient(segments(254)).upload('x', 1);
  await assert.rejects(container.getBlockBlobClient(segments(255)).upload('x', 1),
    { statusCode: 400 });
});

test('the answer repeats the request id the client chose', async () => {
  const blob = newBlob();
  const answer = await blob.upload('x', 1);
  assert.ok(answer.clientRequestId);
  assert.equal(answer._response.headers.get('x-ms-client-request-id'), answer.clientRequestId);
});

stopsCleanly(server);
