// Tags through the official SDK: setting and getting them, conditions on them, finding blobs.

import test from 'node:test';
import assert from 'node:assert/strict';
import { BlobSASPermissions, BlockBlobClient, StorageSharedKeyCredential,
  generateBlobSASQueryParameters } from '@azure/storage-blob';
import { noRetry, startServer, stopsCleanly } from './helpers/server.mjs';
import { blockBlob, sasSender } from './helpers/http.mjs';

const server = await startServer();
const service = server.client();
const container = service.getContainerClient('tagged');
await container.create();
const send = sasSender(server);

let count = 0;
const newBlob = () => container.getBlockBlobClient(`blob-${++count}`);

async function uploaded(tags, options = {}) {
  const blob = newBlob();
  await blob.upload('content', 7, { tags, ...options });
  return blob;
}

const failsWith = (promise, statusCode, code) =>
  assert.rejects(promise, (error) => error.statusCode === statusCode && error.code === code);

test('tags that a blob is uploaded with come back, and are counted', async () => {
  const tags = { name: 'value', 'with space': 'a b', '+-./:=_': '+-./:=_', empty: '' };
  const blob = await uploaded(tags);
  assert.deepEqual((await blob.getTags()).tags, tags);
  assert.equal((await blob.getProperties()).tagCount, 4);
  assert.equal((await blob.download()).tagCount, 4);
});

test('tags are replaced as a whole without a new ETag', async () => {
  const blob = await uploaded({ a: '1', b: '2' });
  const before = await blob.getProperties();
  const answer = await blob.setTags({ b: '3', c: '4' });
  assert.equal(answer._response.status, 204);
  assert.deepEqual((await blob.getTags()).tags, { b: '3', c: '4' });
  assert.equal((await blob.getProperties()).etag, before.etag);
  await blob.setTags({});
  assert.deepEqual((await blob.getTags()).tags, {});
  assert.equal((await blob.getProperties()).tagCount, undefined);
});

test('an upload without tags leaves none', async () => {
  const blob = await uploaded({ a: '1' });
  await blob.upload('new', 3);
  assert.deepEqual((await blob.getTags()).tags, {});
});

test('a leased blob needs its id to be tagged, and not to be asked', async () => {
  const blob = await uploaded({ a: '1' });
  const { leaseId } = await blob.getBlobLeaseClient().acquireLease(-1);
  await failsWith(blob.setTags({ a: '2' }), 412, 'LeaseIdMissing');
  await blob.setTags({ a: '2' }, { conditions: { leaseId } });
  assert.deepEqual((await blob.getTags()).tags, { a: '2' });
});

test('sets of tags that break a rule are refused', async () => {
  const { name } = await uploaded();
  const xml = (tags) => '<?xml version="1.0"?><Tags><TagSet>' +
    tags.map(([key, value]) => `<Tag><Key>${key}</Key><Value>${value}</Value></Tag>`).join('') +
    '</TagSet></Tags>';
  const many = Array.from({ length: 11 }, (_, i) => [`tag${i}`, 'x']);
  const cases = [
    [xml([['', 'x']]), 'EmptyTagName'],
    [xml([['a', '1'], ['a', '2']]), 'DuplicateTagNames'],
    [xml(many), 'TagsTooLarge'],
    [xml([['n'.repeat(129), 'x']]), 'TagsTooLarge'],
    [xml([['n', 'v'.repeat(257)]]), 'TagsTooLarge'],
    [xml([['n', 'a%b']]), 'InvalidTag'],
    ['<Tags><TagSet>', 'InvalidXmlDocument'],
    ['<Other />', 'InvalidXmlDocument'],
    ['', 'InvalidXmlDocument'],
  ];
  for (const [body, code] of cases) {
    const answer = await send('PUT', `tagged/${name}?comp=tags`, {}, body);
    assert.equal(answer.status, 400, body);
    assert.equal(answer.code, code, body);
  }
  const answer = await send('PUT', `tagged/${name}`, { ...blockBlob, 'x-ms-tags': 'a=%23' }, 'x');
  assert.equal(answer.code, 'InvalidTag');
  assert.equal((await send('PUT', 'tagged/none?comp=tags', {}, xml([]))).code, 'BlobNotFound');
});

test('every operation with conditions takes one on tags', async () => {
  const blob = await uploaded({ state: 'open', level: '5' });
  const { name } = blob;
  const path = `tagged/${name}`;
  const operations = [
    ['GET', path, {}],
    ['HEAD', path, {}],
    ['GET', `${path}?comp=metadata`, {}],
    ['GET', `${path}?comp=tags`, {}],
    ['PUT', `${path}?comp=metadata`, {}],
    ['PUT', `${path}?comp=properties`, {}],
    ['PUT', `${path}?comp=snapshot`, {}],
    ['PUT', `${path}?comp=tier`, { 'x-ms-access-tier': 'Hot' }],
    ['PUT', `${path}?comp=tags`, {}, '<Tags><TagSet><Tag><Key>state</Key><Value>open</Value>' +
      '</Tag><Tag><Key>level</Key><Value>5</Value></Tag></TagSet></Tags>'],
    ['PUT', path, { ...blockBlob, 'x-ms-tags': 'state=open&level=5' }, 'new'],
    ['PUT', `${path}?comp=lease`, { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '15' }],
    ['PUT', `${path}?comp=lease`, { 'x-ms-lease-action': 'break', 'x-ms-lease-break-period': '0' }],
    ['DELETE', path, { 'x-ms-delete-snapshots': 'include' }],
  ];
  for (const [method, target, headers, body] of operations) {
    const what = `${method} ${target}`;
    const refused = await send(method, target,
      { ...headers, 'x-ms-if-tags': "state='closed' OR level>'6'" }, body);
    assert.equal(refused.status, 412, what);
    assert.equal(refused.code, 'ConditionNotMet', what);
    const bad = await send(method, target, { ...headers, 'x-ms-if-tags': 'state=open' }, body);
    assert.equal(bad.status, 400, what);
    assert.equal(bad.code, 'InvalidHeaderValue', what);
    const done = await send(method, target,
      { ...headers, 'x-ms-if-tags': '("state"<>\'closed\' AND level>=\'5\') OR none=\'x\'' }, body);
    assert.ok(done.status < 300, `${what}: ${done.status} ${done.code}`);
  }
});

test('a condition on tags decides between writers', async () => {
  const blob = await uploaded({ owner: 'none' });
  const takes = Array.from({ length: 16 }, (_, i) => blob.setTags({ owner: `w${i}` },
    { conditions: { tagConditions: "owner='none'" } }).then(() => i, () => null));
  const winners = (await Promise.all(takes)).filter((i) => i !== null);
  assert.equal(winners.length, 1);
  assert.deepEqual((await blob.getTags()).tags, { owner: `w${winners[0]}` });
});

test('a SAS needs its own permission for tags', async () => {
  const blob = await uploaded({ a: '1' });
  const credential = new StorageSharedKeyCredential(server.account, server.key);
  const clientWith = (permissions) => {
    const sas = generateBlobSASQueryParameters({ containerName: 'tagged', blobName: blob.name,
      permissions: BlobSASPermissions.parse(permissions), protocol: 'https,http',
      expiresOn: new Date(Date.now() + 3600e3) }, credential);
    return new BlockBlobClient(`${blob.url}?${sas}`, undefined, noRetry);
  };
  const writer = clientWith('rw');
  const tagger = clientWith('rwt');
  await failsWith(writer.getTags(), 403, 'AuthorizationPermissionMismatch');
  await failsWith(writer.upload('x', 1, { tags: { a: '2' } }), 403,
    'AuthorizationPermissionMismatch');
  await failsWith(writer.download(0, 1, { conditions: { tagConditions: "a='1'" } }), 403,
    'AuthorizationPermissionMismatch');
  await writer.upload('x', 1);
  await tagger.upload('x', 1, { tags: { a: '2' } });
  assert.deepEqual((await tagger.getTags()).tags, { a: '2' });
});

async function found(where, from = service, options = {}) {
  const blobs = [];
  for await (const page of from.findBlobsByTags(where).byPage(options)) {
    assert.ok(page.blobs.length <= (options.maxPageSize ?? 5000));
    blobs.push(...page.blobs);
  }
  return blobs.map(({ containerName, name }) => `${containerName}/${name}`);
}

test('blobs are found by their tags in a container and in the account', async () => {
  for (const box of ['find-a', 'find-b']) {
    const place = service.getContainerClient(box);
    await place.create();
    for (let i = 0; i < 5; i++) {
      await place.getBlockBlobClient(`blob ${i}`).upload('x', 1,
        { tags: { kind: i % 2 === 0 ? 'even' : 'odd', number: `${i}`, project: 'find' } });
    }
  }
  const a = service.getContainerClient('find-a');
  assert.deepEqual(await found("kind='odd'", a), ['find-a/blob 1', 'find-a/blob 3']);
  const both = ['find-a/blob 1', 'find-a/blob 3', 'find-b/blob 1', 'find-b/blob 3'];
  for (let maxPageSize = 1; maxPageSize < 6; maxPageSize++) {
    assert.deepEqual(await found("kind='odd' AND project='find'", service, { maxPageSize }), both);
  }
  assert.deepEqual(await found("@container='find-b' AND kind='odd'"), both.slice(2));
  assert.deepEqual(await found("project='find' and number>'2' and number<='3'"),
    ['find-a/blob 3', 'find-b/blob 3']);
  assert.deepEqual(await found("kind='none'"), []);

  const [first] = (await (service.findBlobsByTags("kind='odd' AND number='1'").byPage().next()))
    .value.blobs;
  assert.deepEqual(first.tags, { kind: 'odd', number: '1' });

  await a.getBlockBlobClient('blob 1').setTags({ kind: 'changed' });
  await a.getBlockBlobClient('blob 3').delete();
  assert.deepEqual(await found("kind='odd'", a), []);
  await a.delete();
  assert.deepEqual(await found("kind='odd'"), both.slice(2));
});

test('a search that is no expression is refused', async () => {
  for (const path of ['?comp=blobs', 'tagged?restype=container&comp=blobs']) {
    const none = await send('GET', path);
    assert.equal(none.status, 400);
    for (const where of ['a', "a='1' OR b='2'", "a<>'1'", "@container='tagged'", "a='1"]) {
      const answer = await send('GET', `${path}&where=${encodeURIComponent(where)}`);
      assert.equal(answer.status, 400, where);
      assert.equal(answer.code, 'InvalidQueryParameterValue', where);
    }
  }
  const answer = await send('GET', "none?restype=container&comp=blobs&where=a='1'");
  assert.equal(answer.status, 404);
});

test('a listing shows tags when it is asked to', async () => {
  const blob = await uploaded({ b: '2', a: '1' });
  const { value: plain } = await container.listBlobsFlat({ prefix: blob.name }).next();
  assert.equal(plain.tags, undefined);
  assert.equal(plain.properties.tagCount, 2);
  const { value } = await container.listBlobsFlat({ prefix: blob.name, includeTags: true }).next();
  assert.deepEqual(value.tags, { a: '1', b: '2' });
});

stopsCleanly(server);
