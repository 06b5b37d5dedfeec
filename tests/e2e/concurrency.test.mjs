// Many clients at once: what concurrent callers of the service are promised.

import test from 'node:test';
import assert from 'node:assert/strict';
import { startServer, stopsCleanly } from './helpers/server.mjs';
import { md5 } from './helpers/digest.mjs';
import { sasSender, blockBlob } from './helpers/http.mjs';

const server = await startServer();
const CLIENTS = 32;
const containers = Array.from({ length: CLIENTS },
  () => server.client().getContainerClient('concurrency'));
const container = containers[0];
await container.create();
const send = sasSender(server);

const outcome = (promise) => promise.then((value) => ({ value }), (error) => ({ error }));
const everyone = (action) => Promise.all(containers.map((own, i) => outcome(action(own, i))));

test('a counter raised by 32 clients under If-Match loses no update', async () => {
  const TIMES = 2;
  await container.getBlockBlobClient('counter').upload('0', 1);
  let refused = 0;
  await Promise.all(containers.map(async (own) => {
    const blob = own.getBlockBlobClient('counter');
    for (let done = 0; done < TIMES;) {
      const answer = await blob.download();
      const chunks = [];
      for await (const chunk of answer.readableStreamBody) chunks.push(chunk);
      const next = String(Number(Buffer.concat(chunks).toString()) + 1);
      try {
        await blob.upload(next, next.length, { conditions: { ifMatch: answer.etag } });
        done++;
      } catch (error) {
        assert.equal(error.statusCode, 412);
        refused++;
      }
    }
  }));
  const final = (await container.getBlockBlobClient('counter').downloadToBuffer()).toString();
  assert.equal(final, String(CLIENTS * TIMES));
  assert.ok(refused > 0, 'the clients never met: this test showed nothing');
});

test('a counter in metadata raised by 32 clients under If-Match loses no update', async () => {
  const TIMES = 1;
  await container.getBlockBlobClient('meta-counter').upload('', 0, { metadata: { n: '0' } });
  await Promise.all(containers.map(async (own) => {
    const blob = own.getBlockBlobClient('meta-counter');
    for (let done = 0; done < TIMES;) {
      const { etag, metadata } = await blob.getProperties();
      const result = await outcome(blob.setMetadata({ n: String(Number(metadata.n) + 1) },
        { conditions: { ifMatch: etag } }));
      if (!result.error) done++;
      else assert.equal(result.error.statusCode, 412);
    }
  }));
  const { metadata } = await container.getBlockBlobClient('meta-counter').getProperties();
  assert.equal(metadata.n, String(CLIENTS * TIMES));
});

for (const size of [10, 100 * 1024]) {
  test(`of 32 clients that create a blob of ${size} bytes if it is absent one wins`, async () => {
    for (let round = 0; round < 5; round++) {
      const name = `absent-${size}-${round}`;
      const results = await everyone((own, i) => own.getBlockBlobClient(name)
        .upload(Buffer.alloc(size, i), size, { conditions: { ifNoneMatch: '*' } }));
      const winners = results.flatMap(({ value }, i) => (value ? [i] : []));
      assert.equal(winners.length, 1);
      for (const { error } of results.filter((result) => result.error)) {
        assert.equal(error.statusCode, 409);
        assert.equal(error.code, 'BlobAlreadyExists');
      }
      const content = await container.getBlockBlobClient(name).downloadToBuffer();
      assert.ok(content.equals(Buffer.alloc(size, winners[0])), 'the content is the winner\'s');
    }
  });
}

test('of 32 clients that create a container one wins', async () => {
  const results = await Promise.all(Array.from({ length: CLIENTS },
    () => outcome(server.client().getContainerClient('contested').create())));
  assert.equal(results.filter(({ value }) => value).length, 1);
  for (const { error } of results.filter((result) => result.error)) {
    assert.equal(error.code, 'ContainerAlreadyExists');
  }
});

test('of 32 clients that acquire a lease one wins, on a blob and on a container', async () => {
  await container.getBlockBlobClient('leased').upload('x', 1);
  for (const target of [(own) => own.getBlobClient('leased'), (own) => own]) {
    const results = await everyone(async (own) => {
      const lease = target(own).getBlobLeaseClient();
      await lease.acquireLease(60);
      return lease;
    });
    const winners = results.filter(({ value }) => value);
    assert.equal(winners.length, 1);
    for (const { error } of results.filter((result) => result.error)) {
      assert.equal(error.statusCode, 409);
      assert.equal(error.code, 'LeaseAlreadyPresent');
    }
    await winners[0].value.releaseLease();
  }
});

test('of 32 clients that delete a blob under its ETag one wins', async () => {
  const { etag } = await container.getBlockBlobClient('deleted').upload('x', 1);
  const results = await everyone((own) => own.getBlobClient('deleted')
    .delete({ conditions: { ifMatch: etag } }));
  assert.equal(results.filter(({ value }) => value).length, 1);
  for (const { error } of results.filter((result) => result.error)) {
    assert.ok([404, 412].includes(error.statusCode), String(error.statusCode));
  }
});

test('without conditions the last writer wins and its blob is whole', async () => {
  const contents = containers.map((_, i) => Buffer.alloc(70_000 + i, i));
  const results = await everyone((own, i) => own.getBlockBlobClient('last')
    .upload(contents[i], contents[i].length, { metadata: { writer: String(i) } }));
  assert.ok(results.every(({ value }) => value));
  const { metadata, etag } = await container.getBlobClient('last').getProperties();
  const writer = Number(metadata.writer);
  assert.equal(results[writer].value.etag, etag);
  assert.ok((await container.getBlobClient('last').downloadToBuffer()).equals(contents[writer]));
});

// One writer alternates two contents, each with its own size, metadata and MD5.  Whatever a reader
// gets, all four belong together, and no two contents share an ETag.
const READERS = 6;
const LASTS_MS = 2_000;

for (const size of [500, 1024 * 1024]) {
  test(`readers of an overwritten blob of ${size} bytes never see half of a change`, async () => {
    const path = `concurrency/alternating-${size}`;
    const versions = ['one', 'two'].map((name, i) => {
      const content = Buffer.alloc(size + i * 7, name);
      return { name, content, digest: md5(content) };
    });
    const put = ({ name, content }) => send('PUT', path,
      { ...blockBlob, 'x-ms-meta-version': name }, content);
    assert.equal((await put(versions[0])).status, 201);
    const versionOf = new Map();
    const end = Date.now() + LASTS_MS;
    let writes = 0;
    let reads = 0;

    const note = (etag, name) => {
      assert.ok((versionOf.get(etag) ?? name) === name, `${etag} named two contents`);
      versionOf.set(etag, name);
    };
    const writer = async () => {
      while (Date.now() < end) {
        const version = versions[++writes % 2];
        const answer = await put(version);
        assert.equal(answer.status, 201);
        note(answer.headers.etag, version.name);
      }
    };
    const reader = async (mode) => {
      while (Date.now() < end) {
        const headers = mode === 'range' ? { 'x-ms-range': 'bytes=0-' } : {};
        const answer = await send(mode === 'head' ? 'HEAD' : 'GET', path, headers);
        assert.equal(answer.status, mode === 'range' ? 206 : 200);
        const version = versions.find(({ name }) => name === answer.headers['x-ms-meta-version']);
        assert.ok(version, 'a version that was never written');
        assert.equal(Number(answer.headers['content-length']), version.content.length);
        const digest = answer.headers[mode === 'range' ? 'x-ms-blob-content-md5' : 'content-md5'];
        assert.equal(digest, version.digest);
        if (mode !== 'head') assert.ok(answer.body.equals(version.content), 'torn content');
        note(answer.headers.etag, version.name);
        reads++;
      }
    };
    await Promise.all([writer(),
      ...Array.from({ length: READERS }, (_, i) => reader(['get', 'head', 'range'][i % 3]))]);
    assert.ok(writes >= 3 && reads >= READERS, `${writes} writes, ${reads} reads`);
  });
}

test('a listing never shows a blob with the properties of two', async () => {
  const path = 'concurrency/listed-while-written';
  const versions = ['one', 'two'].map((name, i) => {
    const content = Buffer.alloc(100 + 100_000 * i, name);
    return { name, content, shown: [String(content.length), md5(content), name].join() };
  });
  const put = ({ name, content }) => send('PUT', path,
    { ...blockBlob, 'x-ms-meta-version': name }, content);
  await put(versions[0]);
  const end = Date.now() + LASTS_MS / 2;
  const writer = async () => {
    for (let i = 1; Date.now() < end; i++) assert.equal((await put(versions[i % 2])).status, 201);
  };
  const seen = new Set();
  const reader = async () => {
    while (Date.now() < end) {
      const { body } = await send('GET',
        'concurrency?restype=container&comp=list&include=metadata&prefix=listed-while');
      const text = body.toString();
      const part = (name) => new RegExp(`<${name}>(.*?)</${name}>`).exec(text)?.[1];
      const shown = [part('Content-Length'), part('Content-MD5'), part('version')].join();
      assert.ok(versions.some((version) => version.shown === shown), shown);
      seen.add(shown);
    }
  };
  await Promise.all([writer(), reader(), reader(), reader()]);
  assert.equal(seen.size, 2, 'the readers saw both');
});

test('a download that began before an overwrite or a delete keeps its bytes', async () => {
  const size = 24 * 1024 * 1024;
  const old = Buffer.alloc(size, 'old bytes ');
  const blob = container.getBlockBlobClient('pinned');
  for (const disturb of [() => blob.upload('new', 3), () => blob.delete()]) {
    await blob.upload(old, size);
    const download = await blob.download();
    const stream = download.readableStreamBody;
    const chunks = [];
    let disturbed = false;
    for await (const chunk of stream) {
      chunks.push(chunk);
      if (!disturbed) {
        disturbed = true;
        await disturb();
      }
    }
    assert.ok(Buffer.concat(chunks).equals(old));
  }
});

test('an acknowledged write is in every later read and listing, of any client', async () => {
  for (let i = 0; i < 30; i++) {
    const name = `seen-${i}`;
    const { etag } = await containers[i % CLIENTS].getBlockBlobClient(name).upload('x', 1);
    const other = containers[(i + 1) % CLIENTS];
    assert.equal((await other.getBlobClient(name).getProperties()).etag, etag);
    const listed = (await other.listBlobsFlat({ prefix: name }).next()).value;
    assert.equal(`"${listed.properties.etag}"`, etag);
    await other.getBlobClient(name).delete();
    assert.equal(await container.getBlobClient(name).exists(), false);
  }
});

stopsCleanly(server);
