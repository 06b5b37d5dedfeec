// Many clients at once on blobs of every kind: block lists, appends, pages, snapshots, copies,
// deletes, and containers that go away under load.  No state is seen in half, no bytes of another
// blob are seen at all, and the space of what is gone comes back.  concurrency.test.mjs has what
// blobs that are put as a whole promise.

import test from 'node:test';
import assert from 'node:assert/strict';
import http from 'node:http';
import { join } from 'node:path';
import { eventually, startServer, stopsCleanly } from './helpers/server.mjs';
import { blockBlob, sasSender } from './helpers/http.mjs';
import { accountSas, VERSION } from './helpers/sign.mjs';
import { bytesOnDisk } from './helpers/space.mjs';
import { md5 } from './helpers/digest.mjs';
import { Random, seeded } from './helpers/random.mjs';

const KIB = 1024;
const MIB = 1024 * KIB;
const PAGE = 512;
const CLIENTS = 32;
const LASTS_MS = 2_400;
const SPACE_MS = 30_000;

const server = await startServer();
const agent = new http.Agent({ keepAlive: true, maxSockets: 128 });
const send = sasSender(server, { agent });
const random = seeded('blob_concurrency');
const extents = join(server.directory, 'extents'); // where all but small contents are
const containers = ['work', 'work-copies', 'work-recreated'];
for (const name of containers) await send('PUT', `${name}?restype=container`);

const everyone = (action) => Promise.all(Array.from({ length: CLIENTS }, (_, i) => action(i)));
const id = (text) => Buffer.from(text.padEnd(12, '.')).toString('base64');
const putBlock = (path, blockId, body) =>
  send('PUT', `${path}?comp=block&blockid=${encodeURIComponent(blockId)}`, {}, body);
const putList = (path, ids, headers = {}) => send('PUT', `${path}?comp=blocklist`, headers,
  `<BlockList>${ids.map((name) => `<Latest>${name}</Latest>`).join('')}</BlockList>`);
const createPages = (path, size) => send('PUT', path,
  { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': size });
const putPages = (path, offset, body, headers = {}) => send('PUT', `${path}?comp=page`, {
  'x-ms-page-write': 'update', 'x-ms-range': `bytes=${offset}-${offset + body.length - 1}`,
  ...headers }, body);
const copySource = (path) => `${server.url}/${path}?${accountSas()}`;

function accepted(answer, ...codes) {
  if (answer.status < 300) return true;
  assert.ok(codes.includes(answer.code), `${answer.status} ${answer.code}`);
  return false;
}

// --- one winner ---

// Raises a number of the blob at `path` from all clients, each `times` times, under If-Match.
// `write(i, number, ifMatch)` sends the new one.
async function raised(path, times, numberOf, write) {
  let refused = 0;
  await everyone(async (i) => {
    for (let done = 0; done < times;) {
      const { body, headers } = await send('GET', path);
      // A list that was refused for its condition never gets as far as its blocks.
      if (accepted(await write(i, numberOf(body) + 1, { 'If-Match': headers.etag }),
        'ConditionNotMet')) done++;
      else refused++;
    }
  });
  assert.ok(refused > 0, 'the clients never met: this test showed nothing');
  assert.equal(numberOf((await send('GET', path)).body), CLIENTS * times);
}

test('a counter raised by 32 clients in block lists under If-Match loses no update', async () => {
  const path = 'work/list-counter';
  await send('PUT', path, blockBlob, '0');
  await raised(path, 2, (body) => Number(body.toString()), async (i, number, condition) => {
    const own = id(`client-${i}`);
    assert.equal((await putBlock(path, own, String(number))).status, 201);
    return putList(path, [own], condition);
  });
});

test('a counter raised by 32 clients in a page under If-Match loses no update', async () => {
  const path = 'work/page-counter';
  await createPages(path, PAGE);
  await raised(path, 2, (body) => body.readUInt32LE(0), (i, number, condition) => {
    const page = Buffer.alloc(PAGE);
    page.writeUInt32LE(number);
    return putPages(path, 0, page, condition);
  });
});

test('each position of an append blob has exactly one winner among 32 clients', async () => {
  const path = 'work/positions';
  await send('PUT', path, { 'x-ms-blob-type': 'AppendBlob' });
  let expected = Buffer.alloc(0);
  for (let round = 0; round < 12; round++) {
    const bodies = Array.from({ length: CLIENTS },
      (_, i) => Buffer.alloc((round % 3 === 2 ? 20 * KIB : 10) + i, `${round}/${i} `));
    const answers = await everyone((i) => send('PUT', `${path}?comp=appendblock`,
      { 'x-ms-blob-condition-appendpos': expected.length }, bodies[i]));
    const winners = answers.flatMap((answer, i) =>
      (accepted(answer, 'AppendPositionConditionNotMet') ? [i] : []));
    assert.equal(winners.length, 1, `winners at ${expected.length}`);
    assert.equal(answers[winners[0]].headers['x-ms-blob-append-offset'], String(expected.length));
    expected = Buffer.concat([expected, bodies[winners[0]]]);
  }
  assert.ok((await send('GET', path)).body.equals(expected));
});

test('blocks that 32 clients append at once are each at the offset they were told', async () => {
  const path = 'work/appended';
  await send('PUT', path, { 'x-ms-blob-type': 'AppendBlob' });
  const told = [];
  await everyone(async (i) => {
    for (let round = 0; round < 3; round++) {
      const body = Buffer.alloc(100 + 40 * i + (round === 1 ? 9 * KIB : 0), `${i}.${round} `);
      const answer = await send('PUT', `${path}?comp=appendblock`, {}, body);
      assert.equal(answer.status, 201);
      told.push({ offset: Number(answer.headers['x-ms-blob-append-offset']), body });
    }
  });
  told.sort((a, b) => a.offset - b.offset);
  const expected = Buffer.concat(told.map(({ body }) => body));
  const answer = await send('GET', path);
  assert.ok(answer.body.equals(expected));
  assert.equal(answer.headers['x-ms-blob-committed-block-count'], String(told.length));
});

// --- whole states ---

// A content of 1 MiB and a little in blocks of uneven sizes, with the metadata and MD5 that go with
// it.
const versions = ['one', 'two'].map((name, i) => {
  const content = new Random(i + 1).bytes(MIB + 1000 * i);
  const cuts = [0, 5000 + i, 300_000, 300_001 + i, 700_000, content.length];
  const blocks = cuts.slice(1).map((end, at) => content.subarray(cuts[at], end));
  return { name, content, blocks, digest: md5(content) };
});

// Checks an answer of Get Blob, to a request for `range` ([first, last]) or for all of it.
function assertMatches(answer, range = null) {
  const version = versions.find(({ name }) => name === answer.headers['x-ms-meta-version']);
  assert.ok(version, `a version that was never written: ${answer.headers['x-ms-meta-version']}`);
  const { content, digest } = version;
  if (range === null) {
    assert.equal(answer.status, 200);
    assert.equal(answer.headers['content-md5'], digest);
    assert.ok(answer.body.equals(content), 'torn content');
  } else {
    assert.equal(answer.status, 206);
    assert.equal(answer.headers['x-ms-blob-content-md5'], digest);
    assert.equal(answer.headers['content-range'], `bytes ${range[0]}-${
      Math.min(range[1], content.length - 1)}/${content.length}`);
    assert.ok(answer.body.equals(content.subarray(range[0], range[1] + 1)), 'a torn range');
  }
  return version.name;
}

test('readers see bytes, MD5 and metadata of one list while snapshots, copies and deletes go on',
  async (t) => {
    const path = 'work/alternating';
    const end = Date.now() + LASTS_MS;
    const counts = { writes: 0, reads: 0, snapshots: 0, copies: 0, deletes: 0 };
    const nameOf = new Map();
    const note = (etag, name) => {
      assert.equal(nameOf.get(etag) ?? name, name, `${etag} named two contents`);
      nameOf.set(etag, name);
    };
    const loop = async (action) => { while (Date.now() < end) await action(); };

    const write = async () => {
      const version = versions[counts.writes % 2];
      const ids = version.blocks.map((_, i) => id(`${version.name}-${i}`));
      await Promise.all(version.blocks.map((block, i) => putBlock(path, ids[i], block)));
      const answer = await putList(path, ids,
        { 'x-ms-meta-version': version.name, 'x-ms-blob-content-md5': version.digest });
      // A delete that comes between takes the uncommitted blocks with it.
      if (!accepted(answer, 'InvalidBlockList')) return;
      note(answer.headers.etag, version.name);
      counts.writes++;
    };
    const read = async (target, range) => {
      const answer = await send('GET', target,
        range === null ? {} : { 'x-ms-range': `bytes=${range[0]}-${range[1]}` });
      if (!accepted(answer, 'BlobNotFound')) return;
      const name = assertMatches(answer, range);
      if (target === path) note(answer.headers.etag, name);
      counts.reads++;
    };
    const someRange = () => {
      const first = random.between(0, MIB - 1);
      return [first, first + random.between(0, random.pick([100, MIB]))];
    };
    const snapshot = async () => {
      const answer = await send('PUT', `${path}?comp=snapshot`);
      if (!accepted(answer, 'BlobNotFound')) return;
      counts.snapshots++;
      const target = `${path}?snapshot=${encodeURIComponent(answer.headers['x-ms-snapshot'])}`;
      await read(target, null);
      await read(target, someRange());
      if (random.next() < 0.5) accepted(await send('DELETE', target), 'BlobNotFound');
    };
    let copyNumber = 0;
    const copy = async () => {
      const target = `work-copies/copy-${copyNumber++ % 3}`;
      const answer = await send('PUT', target, { 'x-ms-copy-source': copySource(path) });
      if (!accepted(answer, 'BlobNotFound', 'CannotVerifyCopySource')) return;
      counts.copies++;
      await read(target, null);
      await read(target, someRange());
      if (random.next() < 0.5) accepted(await send('DELETE', target), 'BlobNotFound');
    };
    const remove = async () => {
      const writes = counts.writes;
      while (counts.writes < writes + 4 && Date.now() < end) {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      if (accepted(await send('DELETE', path, { 'x-ms-delete-snapshots': 'include' }),
        'BlobNotFound')) counts.deletes++;
    };
    await Promise.all([loop(write), loop(snapshot), loop(copy), loop(remove),
      ...[1, 2].map(() => loop(() => read(path, null))),
      ...[1, 2, 3].map(() => loop(() => read(path, someRange())))]);
    t.diagnostic(JSON.stringify(counts));
    assert.ok(Object.values(counts).every((count) => count > 0), JSON.stringify(counts));
    assert.ok(counts.writes >= 4, JSON.stringify(counts));
  });

test('blocks, lists and whole blobs put under one name leave no half state', async (t) => {
  const path = 'work/contested';
  const end = Date.now() + LASTS_MS / 2;
  const counts = { lists: 0, wholes: 0, reads: 0 };
  let stamps = 0;
  const loop = async (action) => { while (Date.now() < end) await action(); };
  // What was written says in its metadata what it is: the stamp that fills it, and how many blocks.
  const fill = (stamp, size) => Buffer.alloc(size, `<${stamp}>`);
  const list = async (client) => {
    const stamp = ++stamps;
    const sizes = [1000, 20 * KIB].map((size) => size + stamp % 97);
    const ids = sizes.map((_, i) => id(`c${client}-${i}`));
    for (const [i, size] of sizes.entries()) {
      assert.equal((await putBlock(path, ids[i], fill(stamp, size))).status, 201);
    }
    const answer = await putList(path, ids,
      { 'x-ms-meta-stamp': stamp, 'x-ms-meta-sizes': sizes.join(' ') });
    if (accepted(answer, 'InvalidBlockList')) counts.lists++;
  };
  // Not too often, since it discards the blocks that the others have put.
  const whole = async () => {
    const lists = counts.lists;
    while (counts.lists < lists + 3 && Date.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const stamp = ++stamps;
    const size = random.pick([500, 30 * KIB]) + stamp % 97;
    const answer = await send('PUT', path, { ...blockBlob, 'x-ms-meta-stamp': stamp,
      'x-ms-meta-sizes': String(size) }, fill(stamp, size));
    assert.equal(answer.status, 201);
    counts.wholes++;
  };
  // Blocks that no list names.
  const stray = async () => {
    assert.equal((await putBlock(path, id(`stray-${random.between(0, 9)}`),
      fill('stray', random.pick([100, 10 * KIB])))).status, 201);
  };
  const read = async () => {
    const answer = await send('GET', path);
    if (!accepted(answer, 'BlobNotFound')) return;
    const sizes = answer.headers['x-ms-meta-sizes'].split(' ').map(Number);
    const stamp = answer.headers['x-ms-meta-stamp'];
    const expected = Buffer.concat(sizes.map((size) => fill(stamp, size)));
    assert.ok(answer.body.equals(expected), `not what was written as ${stamp}`);
    counts.reads++;
  };
  const readList = async () => {
    const answer = await send('GET', `${path}?comp=blocklist&blocklisttype=committed`);
    if (!accepted(answer, 'BlobNotFound')) return;
    const blocks = [...answer.body.toString().matchAll(/<Name>(.*?)<\/Name><Size>(\d+)<\/Size>/g)]
      .map(([, name, size]) =>
        ({ client: Buffer.from(name, 'base64').toString().split('-')[0], size: Number(size) }));
    if (blocks.length === 0) return;
    assert.equal(blocks.length, 2);
    assert.equal(blocks[0].client, blocks[1].client, 'lists of two clients');
    assert.equal(blocks[1].size - blocks[0].size, 20 * KIB - 1000, 'blocks of two lists');
    assert.equal(Number(answer.headers['x-ms-blob-content-length']),
      blocks[0].size + blocks[1].size);
  };
  await Promise.all([...[0, 1, 2, 3].map((client) => loop(() => list(client))), loop(whole),
    loop(stray), loop(stray), loop(read), loop(read), loop(readList)]);
  t.diagnostic(JSON.stringify(counts));
  assert.ok(Object.values(counts).every((count) => count > 0), JSON.stringify(counts));
});

test('a lease broken while writes queue ends its holder\'s and lets others\' begin', async () => {
  const leaseId = 'aaaaaaaa-0000-4000-8000-00000000000b';
  // The first write of others makes the blob forget the lease that was broken.
  const refusals = { holder: ['LeaseLost', 'LeaseNotPresentWithBlobOperation'],
    other: ['LeaseIdMissing'] };
  for (const kind of ['page', 'append']) {
    const target = `work/leased-${kind}`;
    if (kind === 'page') await createPages(target, PAGE);
    else await send('PUT', target, { 'x-ms-blob-type': 'AppendBlob' });
    const lease = (headers) => send('PUT', `${target}?comp=lease`, headers);
    assert.equal((await lease({ 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': -1,
      'x-ms-proposed-lease-id': leaseId })).status, 201);
    const write = (headers) => (kind === 'page'
      ? putPages(target, 0, Buffer.alloc(PAGE, 'x'), headers)
      : send('PUT', `${target}?comp=appendblock`, headers, 'x'));
    // The order of the writes is that of their ETags, which are times.
    const written = { holder: [], other: [] };
    let broken = false;
    let after = 0;
    const writer = async (i) => {
      const who = i % 2 === 0 ? 'holder' : 'other';
      while (after < CLIENTS) {
        const wasBroken = broken;
        const answer = await write(who === 'holder' ? { 'x-ms-lease-id': leaseId } : {});
        if (wasBroken) after++;
        if (accepted(answer, ...refusals[who])) {
          written[who].push(BigInt(JSON.parse(answer.headers.etag)));
        }
        if (wasBroken) assert.equal(answer.status < 300, who === 'other', `${who} after the break`);
      }
    };
    const breaker = async () => {
      await eventually(SPACE_MS, 'writes of the holder', () => written.holder.length >= CLIENTS);
      const answer = await lease({ 'x-ms-lease-action': 'break', 'x-ms-lease-break-period': 0 });
      assert.equal(answer.status, 202);
      broken = true;
    };
    await Promise.all([breaker(), everyone(writer)]);
    assert.ok(written.other.length > 0);
    const last = written.holder.reduce((a, b) => (a > b ? a : b));
    assert.ok(written.other.every((etag) => etag > last), 'the holder wrote after others');
    if (kind === 'append') {
      const { headers } = await send('HEAD', target);
      assert.equal(Number(headers['content-length']),
        written.holder.length + written.other.length, 'the writes that were answered');
    }
  }
});

test('a copy aborted while it runs has all of its bytes or none', async (t) => {
  const content = random.bytes(2 * MIB);
  // A source elsewhere that sends its bytes in many small parts, and how far it is.
  const sent = {};
  const elsewhere = http.createServer(async (request, response) => {
    const range = /bytes=(\d+)-(\d*)/.exec(request.headers.range ?? request.headers['x-ms-range']);
    const first = Number(range?.[1] ?? 0);
    const end = range?.[2] ? Number(range[2]) + 1 : content.length;
    response.writeHead(range ? 206 : 200, { ETag: '"1"', 'Content-Length': end - first,
      ...(range ? { 'Content-Range': `bytes ${first}-${end - 1}/${content.length}` } : {}) });
    for (let at = first; at < end && request.method !== 'HEAD'; at += 64 * KIB) {
      response.write(content.subarray(at, Math.min(end, at + 64 * KIB)));
      sent[request.url] = at + 64 * KIB;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    response.end();
  });
  await new Promise((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  try {
    const ends = await Promise.all(Array.from({ length: 12 }, async (_, i) => {
      const target = `work-copies/aborted-${i}`;
      const began = await send('PUT', target,
        { 'x-ms-copy-source': `http://127.0.0.1:${elsewhere.address().port}/${i}` });
      assert.equal(began.status, 202, began.code);
      // From at once to about when it is done.
      await eventually(SPACE_MS, 'the copy to get on',
        () => (sent[`/${i}`] ?? 0) >= content.length * i / 11);
      const aborted = accepted(await send('PUT',
        `${target}?comp=copy&copyid=${began.headers['x-ms-copy-id']}`,
        { 'x-ms-copy-action': 'abort' }), 'NoPendingCopyOperation');
      const { headers, body } = await send('GET', target);
      assert.equal(headers['x-ms-copy-status'], aborted ? 'aborted' : 'success');
      assert.ok(body.equals(aborted ? Buffer.alloc(0) : content), headers['x-ms-copy-status']);
      return aborted;
    }));
    t.diagnostic(`${ends.filter(Boolean).length} of ${ends.length} were aborted`);
    assert.ok(ends.some(Boolean), 'no copy was running when it was aborted');
  } finally {
    elsewhere.closeAllConnections();
    elsewhere.close();
  }
});

// --- readers that were there before ---

// Begins a download and stops taking its bytes after the first.  `rest` gives all of them.
function slowDownload(path) {
  return new Promise((resolve, reject) => {
    const request = http.get({ host: server.host, port: server.port, agent: false,
      path: `/${server.account}/${path}?${accountSas()}`, headers: { 'x-ms-version': VERSION } });
    request.on('error', reject);
    request.on('response', (response) => {
      const chunks = [];
      response.once('readable', () => {
        chunks.push(response.read(1));
        const rest = async () => {
          for await (const chunk of response) chunks.push(chunk);
          return Buffer.concat(chunks);
        };
        resolve({ rest, abandon: () => request.destroy() });
      });
      response.on('error', reject);
    });
  });
}

// More than the socket's buffers take, so that the server still has to read most of it.
const SLOW_BYTES = 18 * MIB;
const SLOW_PART = 3 * MIB;

async function makeBlocks(path, content) {
  const ids = [];
  for (let at = 0; at < content.length; at += SLOW_PART) {
    const block = content.subarray(at, at + SLOW_PART);
    ids.push(id(`part-${ids.length}`));
    assert.equal((await putBlock(path, ids.at(-1), block)).status, 201);
  }
  assert.equal((await putList(path, ids)).status, 201);
}

async function makePages(path, content) {
  await createPages(path, content.length);
  for (let at = 0; at < content.length; at += SLOW_PART) {
    assert.equal((await putPages(path, at, content.subarray(at, at + SLOW_PART))).status, 201);
  }
}

const slowCases = [
  ['a blob of blocks', makeBlocks, {
    'an overwrite by a list': async (path) => {
      await putBlock(path, id('new'), 'new');
      return putList(path, [id('new')]);
    },
    'an overwrite as a whole': (path) => send('PUT', path, blockBlob, Buffer.alloc(MIB, 'new')),
    'a delete': (path) => send('DELETE', path),
  }],
  ['a page blob', makePages, {
    'an overwrite of its pages': async (path) => {
      const answers = [];
      for (let at = 0; at < SLOW_BYTES; at += SLOW_PART) {
        answers.push(await putPages(path, at, Buffer.alloc(SLOW_PART, 'new')));
      }
      return answers.find(({ status }) => status >= 300) ?? answers[0];
    },
    'a clear': (path) => send('PUT', `${path}?comp=page`, { 'x-ms-page-write': 'clear',
      'x-ms-range': `bytes=0-${SLOW_BYTES - 1}` }),
    'a delete': (path) => send('DELETE', path),
  }],
];

for (const [kind, make, disturbances] of slowCases) {
  test(`a slow reader of ${kind} gets all of the old bytes`, async () => {
    const content = random.bytes(SLOW_BYTES);
    const cases = await Promise.all(Object.entries(disturbances).map(async ([what, disturb], i) => {
      const path = `work/${make.name}-${i}`;
      await make(path, content);
      return { what, path, disturb, download: await slowDownload(path) };
    }));
    const other = random.bytes(2 * MIB);
    await send('PUT', 'work-copies/other', blockBlob, other);
    try {
      for (const { what, path, disturb } of cases) {
        assert.ok((await disturb(path)).status < 300, what);
      }
      // Space is given back in order, so the old bytes' turn has come when that of a blob deleted
      // after them has.
      const before = bytesOnDisk(extents);
      await send('DELETE', 'work-copies/other');
      await eventually(SPACE_MS, 'the space of another blob',
        () => bytesOnDisk(extents) < before - other.length / 2);
      for (const { what, download } of cases) {
        assert.ok((await download.rest()).equals(content), `other bytes after ${what}`);
      }
    } finally {
      for (const { download } of cases) download.abandon();
    }
  });
}

// --- containers that go ---

test('a container deleted and made again under load shows no bytes of before or of others',
  async (t) => {
    const container = 'work-recreated';
    const end = Date.now() + LASTS_MS / 2;
    const gone = ['ContainerNotFound', 'BlobNotFound', 'ContainerBeingDeleted', 'InvalidBlockList'];
    const counts = { made: 0, reads: 0, missing: 0, generations: 0 };
    let clock = 0; // of answers and of deletes, to tell which came first
    let lastDelete = 0;
    const answeredAt = new Map(); // by stamp
    let stamps = 0;

    // Each client has names of its own.  What is in a blob says whose it is and which write's.
    const fill = (name, stamp, size) => Buffer.alloc(size, `${name}#${stamp} `);
    const makers = {
      whole: (path, body, meta) => send('PUT', path, { ...blockBlob, ...meta }, body),
      blocks: async (path, body, meta) => {
        await putBlock(path, id('first'), body.subarray(0, 100));
        await putBlock(path, id('second'), body.subarray(100));
        return putList(path, [id('first'), id('second')], meta);
      },
      pages: (path, body, meta) => send('PUT', path, { 'x-ms-blob-type': 'PageBlob',
        'x-ms-blob-content-length': PAGE * Math.ceil(body.length / PAGE), ...meta }),
      append: (path, body, meta) => send('PUT', path, { 'x-ms-blob-type': 'AppendBlob', ...meta }),
    };
    const fillers = {
      pages: (path, body) => putPages(path, 0,
        Buffer.concat([body, Buffer.alloc(-body.length & (PAGE - 1))])),
      append: (path, body) => send('PUT', `${path}?comp=appendblock`, {}, body),
    };

    const check = async (name, kind) => {
      const deletedAt = lastDelete;
      const answer = await send('GET', `${container}/${name}`);
      if (!accepted(answer, ...gone)) return void counts.missing++;
      const stamp = Number(answer.headers['x-ms-meta-stamp']);
      const size = Number(answer.headers['x-ms-meta-size']);
      assert.ok((answeredAt.get(stamp) ?? Infinity) > deletedAt, 'a blob of before the delete');
      const { body } = answer;
      // A page or append blob may not have been filled yet.
      const filled = kind === 'append' ? body.length > 0 : body.some((byte) => byte !== 0);
      if (filled || kind === 'whole' || kind === 'blocks') {
        const own = fill(name, stamp, size);
        assert.ok(body.subarray(0, size).equals(own), `foreign bytes in ${name}`);
        assert.ok(body.subarray(size).every((byte) => byte === 0), `foreign bytes after ${name}`);
      }
      counts.reads++;
    };
    const client = async (i) => {
      const kinds = Object.keys(makers);
      const kind = kinds[i % kinds.length];
      const name = `${kind}-${i}`;
      while (Date.now() < end) {
        const stamp = ++stamps;
        const size = random.pick([200, 3000, 40 * KIB, 300 * KIB]) + stamp % 100;
        const body = fill(name, stamp, size);
        const path = `${container}/${name}`;
        const made = await makers[kind](path, body,
          { 'x-ms-meta-stamp': stamp, 'x-ms-meta-size': size });
        if (accepted(made, ...gone)) {
          answeredAt.set(stamp, ++clock);
          counts.made++;
          if (fillers[kind]) accepted(await fillers[kind](path, body), ...gone);
        }
        await check(name, kind);
      }
    };
    const recreate = async () => {
      while (Date.now() < end) {
        const made = counts.made;
        while (counts.made < made + 20 && Date.now() < end) {
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        const sentAt = ++clock;
        const { status } = await send('DELETE', `${container}?restype=container`);
        assert.equal(status, 202);
        lastDelete = sentAt;
        await eventually(SPACE_MS, 'the container to be made again', async () =>
          accepted(await send('PUT', `${container}?restype=container`), 'ContainerBeingDeleted'));
        counts.generations++;
      }
    };
    await Promise.all([recreate(), ...Array.from({ length: 12 }, (_, i) => client(i))]);
    t.diagnostic(JSON.stringify(counts));
    assert.ok(Object.values(counts).every((count) => count > 0), JSON.stringify(counts));
    assert.ok(counts.generations >= 2, JSON.stringify(counts));

    // Uncommitted blocks and snapshots go with the container as well.
    await putBlock(`${container}/left`, id('left'), 'left');
    await send('PUT', `${container}/snapped`, blockBlob, 'x');
    await send('PUT', `${container}/snapped?comp=snapshot`);
    await send('DELETE', `${container}?restype=container`);
    await eventually(SPACE_MS, 'the container to be made again', async () =>
      accepted(await send('PUT', `${container}?restype=container`), 'ContainerBeingDeleted'));
    const { body } = await send('GET',
      `${container}?restype=container&comp=list&include=snapshots,uncommittedblobs`);
    assert.ok(!body.toString().includes('<Name>'), body.toString());
    assert.equal((await putList(`${container}/left`, [id('left')])).code, 'InvalidBlockList');
  });

test('when everything is deleted its space comes back', async () => {
  for (const name of containers) {
    assert.equal((await send('DELETE', `${name}?restype=container`)).status, 202);
  }
  // The end of an extent that is being filled may have been taken beforehand.
  await eventually(SPACE_MS, 'the space of what was deleted',
    () => bytesOnDisk(extents) <= 64 * KIB);
  agent.destroy();
});

stopsCleanly(server);
