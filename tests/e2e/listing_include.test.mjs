// What a listing of blobs shows when it is asked to include more.

import test from 'node:test';
import assert from 'node:assert/strict';
import { startServer, stopsCleanly } from './helpers/server.mjs';
import { sasSender } from './helpers/http.mjs';

const server = await startServer();
const service = server.client();
const container = service.getContainerClient('included');
await container.create();
const send = sasSender(server);

async function listed(options = {}, paged = {}) {
  const blobs = [];
  for await (const page of container.listBlobsFlat(options).byPage(paged)) {
    blobs.push(...page.segment.blobItems);
  }
  return blobs;
}

const idOf = (number) => Buffer.from(`block${number}`).toString('base64');

test('every type of blob is shown as such', async () => {
  await container.getBlockBlobClient('types/block').upload('x', 1);
  await container.getAppendBlobClient('types/append').create();
  await container.getPageBlobClient('types/page').create(1024, { blobSequenceNumber: 7 });
  const [append, block, page] = await listed({ prefix: 'types/' });
  assert.equal(append.properties.blobType, 'AppendBlob');
  assert.equal(append.properties.accessTier, undefined);
  assert.equal(block.properties.blobType, 'BlockBlob');
  assert.equal(block.properties.accessTier, 'Hot');
  assert.equal(page.properties.blobType, 'PageBlob');
  assert.equal(page.properties.contentLength, 1024);
  assert.equal(page.properties.blobSequenceNumber, 7);
});

test('metadata is shown when it is asked for', async () => {
  await container.getBlockBlobClient('meta/a').upload('x', 1, { metadata: { name: 'value' } });
  assert.equal((await listed({ prefix: 'meta/' }))[0].metadata, undefined);
  assert.deepEqual((await listed({ prefix: 'meta/', includeMetadata: true }))[0].metadata,
    { name: 'value' });
});

test('blobs of uncommitted blocks are shown among the others when they are asked for',
  async () => {
    for (const name of ['b', 'd', 'd/e', 'f']) {
      await container.getBlockBlobClient(`open/${name}`).stageBlock(idOf(1), 'x', 1);
    }
    for (const name of ['a', 'c', 'd', 'g']) {
      await container.getBlockBlobClient(`open/${name}`).upload('xy', 2);
    }
    // Uncommitted blocks of a committed blob make no second entry.
    await container.getBlockBlobClient('open/c').stageBlock(idOf(2), 'x', 1);
    const prefix = 'open/';
    const names = (blobs) => blobs.map(({ name }) => name.slice(prefix.length)).join(' ');
    assert.equal(names(await listed({ prefix })), 'a c d g');
    const all = await listed({ prefix, includeUncommitedBlobs: true });
    assert.equal(names(all), 'a b c d d/e f g');
    const open = all[1].properties;
    assert.equal(open.blobType, 'BlockBlob');
    assert.equal(open.contentLength, 0);
    assert.equal(all[3].properties.contentLength, 2);
    for (let maxPageSize = 1; maxPageSize < 8; maxPageSize++) {
      assert.equal(names(await listed({ prefix, includeUncommitedBlobs: true,
        includeSnapshots: true }, { maxPageSize })), 'a b c d d/e f g');
    }
    const tree = [];
    for await (const entry of container.listBlobsByHierarchy('/', { prefix,
      includeUncommitedBlobs: true })) tree.push(entry.name.slice(prefix.length));
    // The SDK gives the prefixes of a page before its blobs.
    assert.equal(tree.sort().join(' '), 'a b c d d/ f g');
  });

test('what there is nothing of adds nothing', async () => {
  await container.getBlockBlobClient('more/a').upload('x', 1);
  const blobs = await listed({ prefix: 'more/', includeDeleted: true, includeVersions: true,
    includeCopy: true, includeTags: true, includeLegalHold: true, includeImmutabilityPolicy: true });
  assert.equal(blobs.length, 1);
  assert.equal(blobs[0].properties.copyId, undefined);
});

test('a copy is shown with where it came from', async () => {
  const source = container.getBlockBlobClient('copied/a');
  await source.upload('xyz', 3);
  await (await container.getBlockBlobClient('copied/b').beginCopyFromURL(source.url))
    .pollUntilDone();
  const [, plain] = await listed({ prefix: 'copied/' });
  assert.equal(plain.properties.copyStatus, undefined);
  const [, copy] = await listed({ prefix: 'copied/', includeCopy: true });
  assert.equal(copy.properties.copyStatus, 'success');
  assert.equal(copy.properties.copyProgress, '3/3');
  assert.ok(copy.properties.copySource.includes('copied/a'));
  assert.ok(copy.properties.copyCompletedOn instanceof Date);
});

test('a word or marker that is none is refused', async () => {
  const list = 'included?restype=container&comp=list';
  const marker = (bytes) => {
    const text = Buffer.from(bytes).toString('base64');
    return encodeURIComponent(`2!${text.length}!${text}`);
  };
  for (const query of ['include=everything', `marker=${marker('a\0short')}`,
    `marker=${marker('\0' + '1'.repeat(8))}`]) {
    const answer = await send('GET', `${list}&${query}`);
    assert.equal(answer.status, 400, query);
    assert.equal(answer.code, 'InvalidQueryParameterValue', query);
  }
});

stopsCleanly(server);
