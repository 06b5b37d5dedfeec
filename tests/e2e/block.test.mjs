// Blobs made of blocks: Put Block, Put Block List, Get Block List.

import test from 'node:test';
import assert from 'node:assert/strict';
import { startServer, stopsCleanly } from './helpers/server.mjs';
import { sasSender } from './helpers/http.mjs';
import { RawConnection } from './helpers/raw.mjs';
import { accountSas } from './helpers/sign.mjs';
import { Random } from './helpers/random.mjs';
import { crc64, md5 } from './helpers/digest.mjs';

const server = await startServer();
const service = server.client();
const container = service.getContainerClient('blocks');
await container.create();
const send = sasSender(server);

const KIB = 1024;
const MIB = 1024 * KIB;
const random = new Random(7);

let count = 0;
const newName = () => `blob-${++count}`;
const newBlob = () => container.getBlockBlobClient(newName());
const id = (number) => Buffer.from(String(number).padStart(6, '0')).toString('base64');

// A blob of committed blocks with ids 0, 1, ...; their contents.
async function committed(...contents) {
  const blob = newBlob();
  for (const [i, content] of contents.entries()) {
    await blob.stageBlock(id(i), content, content.length);
  }
  await blob.commitBlockList(contents.map((_, i) => id(i)));
  return blob;
}

async function text(blob) {
  return (await blob.downloadToBuffer()).toString();
}

// Put Block List with a body of one's own.
const putList = (name, body, headers = {}) =>
  send('PUT', `blocks/${name}?comp=blocklist`, headers, body);
const listOf = (...elements) =>
  `<?xml version="1.0" encoding="utf-8"?><BlockList>${elements.join('')}</BlockList>`;
const putBlock = (name, blockId, body, headers = {}) =>
  send('PUT', `blocks/${name}?comp=block&blockid=${encodeURIComponent(blockId)}`, headers, body);

// --- Put Block ---

test('a block is put without a blob coming to be', async () => {
  const blob = newBlob();
  const answer = await blob.stageBlock(id(1), 'content', 7);
  assert.equal(answer._response.status, 201);
  assert.equal(answer._response.headers.get('x-ms-content-crc64'), crc64('content'));
  assert.equal(answer._response.headers.get('content-md5'), undefined);
  assert.equal(answer._response.headers.get('etag'), undefined);
  assert.equal(answer.isServerEncrypted, true);
  assert.equal(await blob.exists(), false);
  for await (const item of container.listBlobsFlat()) assert.notEqual(item.name, blob.name);
});

test('a block is checked against the hash the client sends, which is answered', async () => {
  const blob = newBlob();
  const right = Buffer.from(md5('content'), 'base64');
  const answer = await blob.stageBlock(id(1), 'content', 7, { transactionalContentMD5: right });
  assert.equal(Buffer.from(answer.contentMD5).toString('base64'), md5('content'));
  assert.equal(answer._response.headers.get('x-ms-content-crc64'), undefined);
  const wrong = Buffer.from(md5('other'), 'base64');
  await assert.rejects(blob.stageBlock(id(2), 'content', 7, { transactionalContentMD5: wrong }),
    { statusCode: 400, code: 'Md5Mismatch' });
  const crc = Buffer.from(crc64('content'), 'base64');
  await blob.stageBlock(id(2), 'content', 7, { transactionalContentCrc64: crc });
  const wrongCrc = Buffer.from(crc64('other'), 'base64');
  await assert.rejects(
    blob.stageBlock(id(3), 'content', 7, { transactionalContentCrc64: wrongCrc }),
    { statusCode: 400, code: 'Crc64Mismatch' });
  const both = await putBlock(blob.name, id(3), 'content',
    { 'Content-MD5': md5('content'), 'x-ms-content-crc64': crc64('content') });
  assert.equal(both.code, 'BothCrc64AndMd5HeaderPresent');
  const list = await blob.getBlockList('uncommitted');
  assert.deepEqual(list.uncommittedBlocks.map((block) => block.name), [id(1), id(2)]);
});

const BAD_BLOCKS = [
  ['without an id', 'comp=block', {}, 'x', 400, 'MissingRequiredQueryParameter'],
  ['with an empty id', 'comp=block&blockid=', {}, 'x', 400, 'InvalidBlockId'],
  ['with an id that is not base64', 'comp=block&blockid=%21%21%21', {}, 'x', 400, 'InvalidBlockId'],
  ['with an id of more than 64 bytes',
    `comp=block&blockid=${encodeURIComponent(Buffer.alloc(65).toString('base64'))}`, {}, 'x',
    400, 'InvalidBlockId'],
  ['without content', `comp=block&blockid=${id(1)}`, {}, '', 400, 'InvalidHeaderValue'],
  ['with a condition', `comp=block&blockid=${id(1)}`, { 'If-Match': '*' }, 'x', 400,
    'ConditionHeadersNotSupported'],
  ['with an MD5 that is none', `comp=block&blockid=${id(1)}`, { 'Content-MD5': 'eA==' }, 'x', 400,
    'InvalidMd5'],
  ['with a lease id, of a blob that does not exist', `comp=block&blockid=${id(1)}`,
    { 'x-ms-lease-id': '0a000000-0000-0000-0000-00000000000a' }, 'x', 412,
    'LeaseNotPresentWithBlobOperation'],
];

for (const [what, query, headers, body, status, code] of BAD_BLOCKS) {
  test(`a block ${what} is refused: ${code}`, async () => {
    const answer = await send('PUT', `blocks/bad-block?${query}`, headers, body);
    assert.equal(answer.status, status);
    assert.equal(answer.code, code);
    assert.equal((await send('GET', 'blocks/bad-block?comp=blocklist')).status, 404);
  });
}

// Only the headers are sent: the server refuses a body by its length before it comes.
async function putAnnounced(length, version) {
  const connection = await RawConnection.connect(server);
  const sas = accountSas({}, { account: server.account, key: server.key });
  await connection.write(`PUT /${server.account}/blocks/large?comp=block&blockid=${id(1)}&${sas} ` +
    `HTTP/1.1\r\nHost: ${server.host}:${server.port}\r\nx-ms-version: ${version}\r\n` +
    `Content-Length: ${length}\r\nExpect: 100-continue\r\n\r\n`);
  const answer = await connection.response();
  connection.close();
  return answer;
}

test('a block larger than its version allows is refused with the limit', async () => {
  const limits = [['2015-12-11', 4 * MIB], ['2016-05-31', 100 * MIB], ['2026-02-06', 4000 * MIB]];
  for (const [version, limit] of limits) {
    assert.equal((await putAnnounced(limit, version)).status, 100);
    const answer = await putAnnounced(limit + 1, version);
    assert.equal(answer.status, 413);
    assert.equal(answer.code, 'RequestBodyTooLarge');
    assert.match(answer.body.toString(), new RegExp(`<MaxLimit>${limit}</MaxLimit>`));
  }
});

test('all ids of the uncommitted blocks of a blob have one length', async () => {
  const blob = newBlob();
  await blob.stageBlock('MQ==', 'x', 1);
  await assert.rejects(blob.stageBlock('MTIzNA==', 'x', 1),
    { statusCode: 400, code: 'InvalidBlobOrBlock' });
  await blob.commitBlockList(['MQ==']);
  await blob.stageBlock('MTIzNA==', 'x', 1);
});

test('ids with characters that a URL escapes are put and committed', async () => {
  const blob = newBlob();
  const ids = ['+/+/', '//8=', 'AAA='];
  for (const blockId of ids) await blob.stageBlock(blockId, blockId, blockId.length);
  const list = await blob.getBlockList('uncommitted');
  assert.deepEqual(list.uncommittedBlocks.map((block) => block.name), [...ids].sort());
  await blob.commitBlockList(ids);
  assert.equal(await text(blob), ids.join(''));
});

// --- Put Block List ---

test('a list makes the blob, in its order', async () => {
  const blob = newBlob();
  const contents = [random.bytes(100), random.bytes(300 * KIB), random.bytes(64 * KIB),
    random.bytes(MIB + 1), random.bytes(1)];
  for (const [i, content] of contents.entries()) {
    await blob.stageBlock(id(i), content, content.length);
  }
  const order = [3, 0, 4, 2, 1];
  const whole = Buffer.concat(order.map((i) => contents[i]));
  const answer = await blob.commitBlockList(order.map(id), {
    blobHTTPHeaders: {
      blobContentType: 'text/plain',
      blobContentEncoding: 'none',
      blobContentLanguage: 'de',
      blobCacheControl: 'no-cache',
      blobContentDisposition: 'inline',
      blobContentMD5: Buffer.from(md5('whatever the client says'), 'base64'),
    },
    metadata: { one: '1', two: '2' },
  });
  assert.equal(answer._response.status, 201);
  assert.equal(answer.isServerEncrypted, true);
  const properties = await blob.getProperties();
  assert.equal(properties.etag, answer.etag);
  assert.deepEqual(properties.lastModified, answer.lastModified);
  assert.equal(properties.contentLength, whole.length);
  assert.equal(properties.contentType, 'text/plain');
  assert.equal(properties.contentEncoding, 'none');
  assert.equal(properties.contentLanguage, 'de');
  assert.equal(properties.cacheControl, 'no-cache');
  assert.equal(properties.contentDisposition, 'inline');
  assert.equal(Buffer.from(properties.contentMD5).toString('base64'),
    md5('whatever the client says'));
  assert.deepEqual(properties.metadata, { one: '1', two: '2' });
  assert.equal(properties.blobType, 'BlockBlob');
  assert.ok((await blob.downloadToBuffer()).equals(whole));
});

test('what a list does not say about the blob is gone or the default', async () => {
  const blob = newBlob();
  await blob.upload('x', 1, {
    blobHTTPHeaders: { blobContentType: 'text/plain', blobCacheControl: 'no-cache' },
    metadata: { old: '1' },
  });
  const before = await blob.getProperties();
  await blob.stageBlock(id(1), 'y', 1);
  assert.equal((await blob.getProperties()).etag, before.etag);
  await blob.commitBlockList([id(1)]);
  const properties = await blob.getProperties();
  assert.equal(properties.contentType, 'application/octet-stream');
  assert.equal(properties.cacheControl, undefined);
  assert.equal(properties.contentMD5, undefined);
  assert.deepEqual(properties.metadata, {});
  assert.deepEqual(properties.createdOn, before.createdOn);
  assert.notEqual(properties.etag, before.etag);
});

test('ranges that cross the borders of blocks are the bytes asked for', async () => {
  const sizes = [10, 70 * KIB, 5, 64 * KIB, 200 * KIB, 1];
  const contents = sizes.map((size) => random.bytes(size));
  const whole = Buffer.concat(contents);
  const blob = await committed(...contents);
  let border = 0;
  for (const size of sizes) {
    for (const [from, length] of [[border, size], [border - 3, 6], [border - 1, size + 2],
      [border, whole.length], [0, border + 1]]) {
      if (from < 0 || length < 1) continue;
      const part = await blob.downloadToBuffer(from, Math.min(length, whole.length - from));
      assert.ok(part.equals(whole.subarray(from, from + length)), `${from}+${length}`);
    }
    border += size;
  }
  for (let i = 0; i < 50; i++) {
    const from = random.between(0, whole.length - 1);
    const length = random.between(1, whole.length - from);
    const answer = await blob.download(from, length, { rangeGetContentMD5: length <= 4 * MIB });
    const chunks = [];
    for await (const chunk of answer.readableStreamBody) chunks.push(chunk);
    const part = whole.subarray(from, from + length);
    assert.ok(Buffer.concat(chunks).equals(part));
    assert.equal(Buffer.from(answer.contentMD5).toString('base64'), md5(part));
  }
});

test('latest, committed and uncommitted say where a block is looked for', async () => {
  const blob = await committed('old0 ', 'old1 ', 'old2 ');
  await blob.stageBlock(id(1), 'new1 ', 5);
  await blob.stageBlock(id(2), 'new2 ', 5);
  const answer = await putList(blob.name, listOf(`<Latest>${id(0)}</Latest>`,
    `<Uncommitted>${id(1)}</Uncommitted>`, `<Committed>${id(2)}</Committed>`,
    `<Latest>${id(0)}</Latest>`));
  assert.equal(answer.status, 201);
  assert.equal(await text(blob), 'old0 new1 old2 old0 ');
});

test('a list that names a missing block changes nothing', async () => {
  const blob = await committed('old0 ', 'old1 ');
  await blob.stageBlock(id(2), 'new2 ', 5);
  const etag = (await blob.getProperties()).etag;
  for (const element of [`<Latest>${id(7)}</Latest>`, `<Uncommitted>${id(0)}</Uncommitted>`,
    `<Committed>${id(2)}</Committed>`]) {
    const answer = await putList(blob.name, listOf(`<Latest>${id(0)}</Latest>`, element));
    assert.equal(answer.status, 400);
    assert.equal(answer.code, 'InvalidBlockList');
  }
  assert.equal((await blob.getProperties()).etag, etag);
  assert.equal(await text(blob), 'old0 old1 ');
  assert.equal((await blob.getBlockList('uncommitted')).uncommittedBlocks.length, 1);
});

test('an empty list makes an empty blob', async () => {
  const blob = await committed('something');
  await blob.commitBlockList([]);
  assert.equal((await blob.getProperties()).contentLength, 0);
  const list = await send('GET', `blocks/${blob.name}?comp=blocklist&blocklisttype=all`);
  assert.equal(list.headers['x-ms-blob-content-length'], '0');
  assert.equal(list.body.toString(), '\ufeff<?xml version="1.0" encoding="utf-8"?><BlockList>' +
    '<CommittedBlocks /><UncommittedBlocks /></BlockList>');
});

const BAD_LISTS = [
  ['nothing at all', '', 'InvalidXmlDocument'],
  ['no XML', 'blocks', 'InvalidXmlDocument'],
  ['XML that ends early', `<BlockList><Latest>${id(0)}</Latest>`, 'InvalidXmlDocument'],
  ['another document', '<List></List>', 'InvalidXmlDocument'],
  ['another element', listOf(`<Newest>${id(0)}</Newest>`), 'InvalidXmlDocument'],
  ['an element in an element', listOf(`<Latest><Id>${id(0)}</Id></Latest>`), 'InvalidXmlDocument'],
  ['an id that is not base64', listOf('<Latest>!!!</Latest>'), 'InvalidBlockId'],
  ['an empty id', listOf('<Latest />'), 'InvalidBlockId'],
  ['one id by two kinds', listOf(`<Latest>${id(0)}</Latest><Committed>${id(0)}</Committed>`),
    'InvalidBlockList'],
  ['more than 50,000 blocks', listOf(`<Latest>${id(0)}</Latest>`.repeat(50001)),
    'BlockListTooLong'],
  ['far more than 50,000 blocks', listOf(`<Latest>${id(0)}</Latest>`.repeat(200000)),
    'BlockListTooLong'],
];

for (const [what, body, code] of BAD_LISTS) {
  test(`a list of ${what} is refused: ${code}`, async () => {
    const blob = await committed('content');
    const answer = await putList(blob.name, body);
    assert.equal(answer.status, 400);
    assert.equal(answer.code, code);
    if (code === 'InvalidXmlDocument') {
      assert.match(answer.body.toString(), /<LineNumber>\d+<\/LineNumber>/);
      assert.match(answer.body.toString(), /<LinePosition>\d+<\/LinePosition>/);
      assert.match(answer.body.toString(), /<Reason>.+<\/Reason>/);
    }
    assert.equal(await text(blob), 'content');
  });
}

test('white space and a byte order mark in a list do not matter', async () => {
  const blob = await committed('a', 'b');
  const answer = await putList(blob.name, '\ufeff<?xml version="1.0"?>\r\n<BlockList>\r\n' +
    `  <Latest>\n ${id(1)} </Latest>\r\n\t<Latest>${id(0)}</Latest>\r\n</BlockList>\r\n`);
  assert.equal(answer.status, 201);
  assert.equal(await text(blob), 'ba');
});

test('the hash of a list is checked and answered', async () => {
  const blob = await committed('a', 'b');
  const body = listOf(`<Latest>${id(1)}</Latest>`);
  const byMd5 = await putList(blob.name, body, { 'Content-MD5': md5(body) });
  assert.equal(byMd5.status, 201);
  assert.equal(byMd5.headers['content-md5'], md5(body));
  assert.equal(byMd5.headers['x-ms-content-crc64'], undefined);
  const byCrc = await putList(blob.name, body, { 'x-ms-content-crc64': crc64(body) });
  assert.equal(byCrc.headers['x-ms-content-crc64'], crc64(body));
  const byNone = await putList(blob.name, body);
  assert.equal(byNone.headers['x-ms-content-crc64'], crc64(body));
  assert.equal(byNone.headers['content-md5'], undefined);
  assert.equal((await putList(blob.name, body, { 'Content-MD5': md5('x') })).code, 'Md5Mismatch');
  assert.equal((await putList(blob.name, body, { 'x-ms-content-crc64': crc64('x') })).code,
    'Crc64Mismatch');
});

test('conditions and leases decide about a list', async () => {
  const blob = newBlob();
  await blob.stageBlock(id(0), 'a', 1);
  await assert.rejects(blob.commitBlockList([id(0)], { conditions: { ifMatch: '*' } }),
    { statusCode: 412, code: 'ConditionNotMet' });
  const first = await blob.commitBlockList([id(0)], { conditions: { ifNoneMatch: '*' } });
  await assert.rejects(blob.commitBlockList([id(0)], { conditions: { ifNoneMatch: '*' } }),
    { statusCode: 409, code: 'BlobAlreadyExists' });
  await assert.rejects(blob.commitBlockList([id(0)], { conditions: { ifMatch: '"0x1"' } }),
    { statusCode: 412, code: 'ConditionNotMet' });
  await blob.commitBlockList([id(0)], { conditions: { ifMatch: first.etag } });

  const lease = blob.getBlobLeaseClient();
  const { leaseId } = await lease.acquireLease(15);
  await assert.rejects(blob.stageBlock(id(1), 'b', 1), { statusCode: 412, code: 'LeaseIdMissing' });
  await assert.rejects(blob.commitBlockList([id(0)]), { statusCode: 412, code: 'LeaseIdMissing' });
  const other = '0a000000-0000-0000-0000-00000000000a';
  await assert.rejects(blob.stageBlock(id(1), 'b', 1, { conditions: { leaseId: other } }),
    { statusCode: 412, code: 'LeaseIdMismatchWithBlobOperation' });
  await assert.rejects(blob.getBlockList('all', { conditions: { leaseId: other } }),
    { statusCode: 412, code: 'LeaseIdMismatchWithBlobOperation' });
  await blob.stageBlock(id(1), 'b', 1, { conditions: { leaseId } });
  await blob.commitBlockList([id(0), id(1)], { conditions: { leaseId } });
  await blob.getBlockList('all', { conditions: { leaseId } });
  assert.equal((await blob.getProperties()).leaseState, 'leased');
  await lease.releaseLease();
  assert.equal(await text(blob), 'ab');
});

// --- Get Block List ---

test('the lists are answered: committed in their order, uncommitted in the order of ids', async () => {
  const blob = newBlob();
  for (const i of [3, 1, 2]) await blob.stageBlock(id(i), 'x'.repeat(i), i);
  const only = await send('GET', `blocks/${blob.name}?comp=blocklist&blocklisttype=uncommitted`);
  assert.equal(only.status, 200);
  assert.equal(only.headers['content-type'], 'application/xml');
  assert.equal(only.headers.etag, undefined);
  assert.equal(only.headers['last-modified'], undefined);
  assert.equal(only.headers['x-ms-blob-content-length'], undefined);
  const element = (i) => `<Block><Name>${id(i)}</Name><Size>${i}</Size></Block>`;
  assert.equal(only.body.toString(), '\ufeff<?xml version="1.0" encoding="utf-8"?><BlockList>' +
    `<UncommittedBlocks>${element(1)}${element(2)}${element(3)}</UncommittedBlocks></BlockList>`);

  const { etag } = await blob.commitBlockList([id(3), id(1)]);
  await blob.stageBlock(id(4), 'xxxx', 4);
  const all = await blob.getBlockList('all');
  assert.deepEqual(all.committedBlocks.map(({ name, size }) => [name, size]),
    [[id(3), 3], [id(1), 1]]);
  assert.deepEqual(all.uncommittedBlocks.map(({ name, size }) => [name, size]), [[id(4), 4]]);
  assert.equal(all.etag, etag);
  assert.equal(all.blobContentLength, 4);
  assert.ok(all.lastModified instanceof Date);

  const plain = await send('GET', `blocks/${blob.name}?comp=blocklist`);
  assert.equal(plain.body.toString(), '\ufeff<?xml version="1.0" encoding="utf-8"?><BlockList>' +
    `<CommittedBlocks>${element(3)}${element(1)}</CommittedBlocks></BlockList>`);
});

test('a blob put as a whole has no blocks, and a missing one no list', async () => {
  const blob = newBlob();
  await assert.rejects(blob.getBlockList('all'), { statusCode: 404, code: 'BlobNotFound' });
  await blob.upload('content', 7);
  const list = await blob.getBlockList('all');
  assert.deepEqual(list.committedBlocks ?? [], []);
  assert.deepEqual(list.uncommittedBlocks ?? [], []);
  assert.equal(list.blobContentLength, 7);
  const bad = await send('GET', `blocks/${blob.name}?comp=blocklist&blocklisttype=some`);
  assert.equal(bad.status, 400);
  assert.equal(bad.code, 'InvalidQueryParameterValue');
});

// --- what becomes of uncommitted blocks ---

test('putting the blob as a whole discards uncommitted blocks', async () => {
  const blob = newBlob();
  await blob.stageBlock(id(0), 'block', 5);
  await blob.upload('whole', 5);
  assert.deepEqual((await blob.getBlockList('all')).uncommittedBlocks ?? [], []);
  await assert.rejects(blob.commitBlockList([id(0)]), { code: 'InvalidBlockList' });
  assert.equal(await text(blob), 'whole');
});

test('a blob that has only uncommitted blocks can be deleted', async () => {
  const blob = newBlob();
  await blob.stageBlock(id(0), 'block', 5);
  assert.equal((await blob.delete())._response.status, 202);
  await assert.rejects(blob.getBlockList('all'), { statusCode: 404 });
  await assert.rejects(blob.delete(), { statusCode: 404 });
});

test('a blob that has only uncommitted blocks can be leased', async () => {
  const blob = newBlob();
  const lease = blob.getBlobLeaseClient();
  await assert.rejects(lease.acquireLease(-1), { statusCode: 404, code: 'BlobNotFound' });
  await blob.stageBlock(id(1), 'one', 3);
  const { leaseId } = await lease.acquireLease(-1);
  const missing = { statusCode: 412, code: 'LeaseIdMissing' };
  await assert.rejects(blob.stageBlock(id(2), 'two', 3), missing);
  await assert.rejects(blob.commitBlockList([id(1)]), missing);
  await assert.rejects(blob.getProperties(), { statusCode: 404 });
  await blob.commitBlockList([id(1)], { conditions: { leaseId } });
  assert.equal((await blob.getProperties()).leaseState, 'leased');
});

test('append and page blobs take no blocks', async () => {
  const append = container.getAppendBlobClient(newName());
  await append.create();
  const page = container.getPageBlobClient(newName());
  await page.create(512);
  for (const other of [append, page]) {
    const blob = container.getBlockBlobClient(other.name);
    const refused = { statusCode: 409, code: 'InvalidBlobType' };
    await assert.rejects(blob.stageBlock(id(0), 'x', 1), refused);
    await assert.rejects(blob.commitBlockList([]), refused);
    await assert.rejects(blob.getBlockList('all'), refused);
  }
});

// --- the SDK's own ways, and many at a time ---

test('a large upload in parallel blocks comes back byte for byte', async () => {
  const blob = newBlob();
  const content = random.bytes(20 * MIB + 17);
  await blob.uploadData(content, { blockSize: MIB, concurrency: 8, maxSingleShotSize: MIB });
  assert.ok((await blob.downloadToBuffer(0, undefined, { concurrency: 4 })).equals(content));
  assert.equal((await blob.getBlockList('committed')).committedBlocks.length, 21);
});

test('readers see whole states while lists replace each other and the blob goes', async () => {
  const blob = newBlob();
  const versions = new Map();
  const until = Date.now() + 4000;
  const write = async () => {
    for (let round = 0; Date.now() < until; round++) {
      // Every block of a version is filled with its letter.
      const letter = String.fromCharCode(97 + round % 26);
      const sizes = [random.between(1, 90 * KIB), random.between(1, 300 * KIB), 10];
      for (const [i, size] of sizes.entries()) {
        await blob.stageBlock(id(i), letter.repeat(size), size);
      }
      const total = sizes.reduce((sum, size) => sum + size);
      const { etag } = await blob.commitBlockList(sizes.map((_, i) => id(i)),
        { metadata: { letter, total: String(total) } });
      versions.set(etag, letter);
      if (round % 7 === 6) await blob.delete();
    }
  };
  let reads = 0;
  const read = async () => {
    while (Date.now() < until) {
      try {
        const answer = await blob.download();
        const chunks = [];
        for await (const chunk of answer.readableStreamBody) chunks.push(chunk);
        const content = Buffer.concat(chunks);
        const { letter, total } = answer.metadata;
        assert.equal(content.length, Number(total));
        assert.ok(content.equals(Buffer.alloc(content.length, letter)));
        reads++;
      } catch (error) {
        if (error.statusCode !== 404) throw error;
      }
    }
  };
  await Promise.all([write(), read(), read(), read()]);
  assert.ok(reads > 10, `${reads} reads`);
});

test('of many lists with one condition exactly one is committed', async () => {
  const blob = await committed('start');
  const { etag } = await blob.getProperties();
  for (let i = 1; i <= 16; i++) await blob.stageBlock(id(i), `version ${i}`, `version ${i}`.length);
  const outcomes = await Promise.allSettled(Array.from({ length: 16 }, (_, i) =>
    blob.commitBlockList([id(i + 1)], { conditions: { ifMatch: etag } })));
  const winners = outcomes.flatMap((outcome, i) => (outcome.status === 'fulfilled' ? [i + 1] : []));
  assert.equal(winners.length, 1);
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') assert.equal(outcome.reason.statusCode, 412);
  }
  assert.equal(await text(blob), `version ${winners[0]}`);
});

stopsCleanly(server);
