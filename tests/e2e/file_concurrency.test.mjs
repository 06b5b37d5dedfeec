// Many clients at once on one share, on disk: of writers of one range the last one wins and no bytes
// of two are mixed, readers see whole Put Ranges, renames and deletes are seen wholly or not at all,
// and a snapshot taken meanwhile is one instant of all files and directories.

import test, { after } from 'node:test';
import assert from 'node:assert/strict';
import http from 'node:http';
import { startServer, stopsCleanly } from './helpers/server.mjs';
import { fileSender } from './helpers/file.mjs';
import { Random, seeded } from './helpers/random.mjs';

const KIB = 1024;
const CLIENTS = 16;
const LASTS_MS = 1_500;
const SHARE = 'busy';

const server = await startServer();
const agent = new http.Agent({ keepAlive: true, maxSockets: 128 });
const send = fileSender(server, { agent });
const random = seeded('file_concurrency');

const everyone = (action, count = CLIENTS) =>
  Promise.all(Array.from({ length: count }, (_, i) => action(i)));
const within = (path) => `${SHARE}/${path}`;

// Sends a request that may be refused for one of these reasons; the answer.
async function asked(codes, method, path, headers = {}, body = null) {
  const answer = await send(method, path, headers, body);
  assert.ok(answer.status < 300 || codes.includes(answer.code),
    `${method} ${path}: ${answer.status} ${answer.code}`);
  return answer;
}

const sure = (...request) => asked([], ...request);
const makeDirectory = (path) => sure('PUT', `${within(path)}?restype=directory`);
const makeFile = (path, size, codes = []) => asked(codes, 'PUT', within(path),
  { 'x-ms-type': 'file', 'x-ms-content-length': size });
const bytes = (start, end) => ({ 'x-ms-range': `bytes=${start}-${end - 1}` });
const putRange = (path, start, body, codes = []) => asked(codes, 'PUT',
  `${within(path)}?comp=range`, { 'x-ms-write': 'update', ...bytes(start, start + body.length) },
  body);
const clearRange = (path, start, end) => sure('PUT', `${within(path)}?comp=range`,
  { 'x-ms-write': 'clear', ...bytes(start, end) });
const DIRECTORY = '&restype=directory';
const rename = (from, to, { codes = [], kind = '', replaces = false } = {}) => asked(codes, 'PUT',
  `${within(to)}?comp=rename${kind}`, { 'x-ms-file-rename-source': `${server.fileUrl}/${
    within(from)}`, 'x-ms-file-rename-replace-if-exists': String(replaces) });
const query = (snapshot) => (snapshot === undefined ? ''
  : `&sharesnapshot=${encodeURIComponent(snapshot)}`);
const get = (path, { codes = [], snapshot, headers = {} } = {}) => asked(codes, 'GET',
  `${within(path)}${query(snapshot).replace('&', '?')}`, headers);

const namesIn = ({ body }) => [...body.toString().matchAll(/<Name>(.*?)<\/Name>/g)]
  .map(([, name]) => name);
const listed = async (path, snapshot) => namesIn(await sure('GET',
  `${within(path)}?restype=directory&comp=list${query(snapshot)}`));

async function takeSnapshot() {
  const { headers } = await sure('PUT', `${SHARE}?restype=share&comp=snapshot`);
  return headers['x-ms-snapshot'];
}

// Does this again and again, from each client, until the time is up; how often in all.
async function busily(action, count = CLIENTS) {
  const end = Date.now() + LASTS_MS;
  let times = 0;
  await everyone(async (i) => {
    while (Date.now() < end) {
      await action(i);
      times++;
    }
  }, count);
  return times;
}

// The one byte that all of these are.
function uniform(body, what) {
  assert.ok(body.equals(Buffer.alloc(body.length, body[0])), `${what}: bytes of two are mixed`);
  return body[0];
}

await sure('PUT', `${SHARE}?restype=share`);

// --- ranges ---

// Sizes on both sides of what is stored in a row.
for (const size of [500, 12 * KIB, 300 * KIB]) {
  test(`of writers of one range of ${size} bytes the last one wins, and all is of one`, async () => {
    const path = `range-${size}`;
    const start = 777; // not at a block's edge
    await makeFile(path, start + size + 100);
    const last = { etag: 0n };
    let written = 0;
    const reading = busily(async () => {
      const { body } = await get(path, { headers: bytes(start, start + size) });
      assert.equal(body.length, size);
      uniform(body, 'a reader');
    }, 6);
    await busily(async () => {
      const fill = 1 + written++ % 250;
      const { headers } = await putRange(path, start, Buffer.alloc(size, fill));
      const etag = BigInt(JSON.parse(headers.etag));
      if (etag > last.etag) Object.assign(last, { etag, fill });
    });
    assert.ok(await reading > 20 && written > 20, 'too little to show anything');
    const { body, headers } = await get(path);
    assert.equal(BigInt(JSON.parse(headers.etag)), last.etag);
    assert.equal(uniform(body.subarray(start, start + size), 'at the end'), last.fill);
    const around = Buffer.concat([body.subarray(0, start), body.subarray(start + size)]);
    assert.equal(uniform(around, 'around it'), 0);
  });
}

test('ranges that overlap, and one that is cleared, are each seen whole', async () => {
  const part = 20 * KIB;
  await makeFile('overlap', 3 * part);
  await putRange('overlap', 0, Buffer.alloc(2 * part, 1));
  await putRange('overlap', part, Buffer.alloc(2 * part, 2));
  const seen = new Set();
  const reading = busily(async () => {
    const { body } = await get('overlap');
    const [left, middle, right] = [0, 1, 2].map((i) =>
      uniform(body.subarray(i * part, (i + 1) * part), `part ${i}`));
    assert.ok(middle === left || middle === right, `${left} ${middle} ${right}`);
    seen.add(middle);
  }, 8);
  // Odd ones begin at the left, even ones end at the right; 0 is a range that was cleared.
  await busily(async (i) => {
    const start = i % 2 === 0 ? part : 0;
    if (i < 2) await clearRange('overlap', start, start + 2 * part);
    else await putRange('overlap', start, Buffer.alloc(2 * part, i));
  });
  await reading;
  assert.ok(seen.size > 3 && seen.has(0), 'too few writers were seen');
});

test('writers of different ranges lose none of them', async () => {
  const piece = 4 * KIB;
  const count = 512;
  await makeFile('pieces', piece * count);
  const own = new Random(random.between(0, 2 ** 30));
  const content = own.bytes(piece * count);
  const order = Array.from({ length: count }, (_, i) => i).sort(() => own.next() - 0.5);
  await everyone(async (i) => {
    for (const at of order.filter((_, index) => index % CLIENTS === i)) {
      await putRange('pieces', at * piece, content.subarray(at * piece, (at + 1) * piece));
    }
  });
  assert.ok((await get('pieces')).body.equals(content));
  const { body } = await sure('GET', `${within('pieces')}?comp=rangelist`);
  assert.match(body.toString(), new RegExp(
    `<Ranges><Range><Start>0</Start><End>${piece * count - 1}</End></Range></Ranges>`));
});

test('a file that is made anew under its writers is of one or the other', async () => {
  const size = 30 * KIB;
  await makeFile('anew', size);
  const reading = busily(async () => {
    const { body } = await get('anew');
    assert.equal(body.length, size);
    uniform(body, 'a reader');
  }, 4);
  await busily((i) => (i < 3 ? makeFile('anew', size)
    : putRange('anew', 0, Buffer.alloc(size, i))));
  await reading;
});

// --- renames and deletes ---

test('a file that is renamed to and fro is always under one of its names', async () => {
  const content = random.bytes(40 * KIB);
  await makeDirectory('names');
  await makeFile('names/a', content.length);
  await putRange('names/a', 0, content);
  let found = 0;
  const reading = busily(async (i) => {
    if (i % 2 === 0) {
      assert.equal((await listed('names')).length, 1, 'both names are listed, or none');
      return;
    }
    const { status, body } = await get(`names/${i % 4 === 1 ? 'a' : 'b'}`,
      { codes: ['ResourceNotFound'] });
    if (status !== 200) return;
    found++;
    assert.ok(body.equals(content));
  }, 8);
  let renamed = 0;
  await busily(async (i) => {
    const [from, to] = i % 2 === 0 ? ['a', 'b'] : ['b', 'a'];
    const { status } = await rename(`names/${from}`, `names/${to}`,
      { codes: ['ResourceNotFound'] });
    if (status === 200) renamed++;
  }, 4);
  await reading;
  assert.ok(renamed > 20 && found > 5, `${renamed} renames, ${found} reads`);
});

test('a directory that is renamed takes all it holds along at once', async () => {
  const absent = ['ParentNotFound', 'ResourceNotFound'];
  await makeDirectory('moving');
  await makeDirectory('moving/x');
  await makeDirectory('moving/x/inner');
  const names = ['1', '2', '3'];
  for (const name of names) await makeFile(`moving/x/inner/${name}`, 1);
  const reading = busily(async (i) => {
    assert.equal((await listed('moving')).length, 1);
    const answer = await asked(absent, 'GET',
      `${within(`moving/${i % 2 === 0 ? 'x' : 'y'}/inner`)}?restype=directory&comp=list`);
    if (answer.status === 200) assert.deepEqual(namesIn(answer), names);
  }, 6);
  let renamed = 0;
  let made = 0;
  await busily(async (i) => {
    const [from, to] = i % 2 === 0 ? ['x', 'y'] : ['y', 'x'];
    if (i < 4) {
      const { status } = await rename(`moving/${from}`, `moving/${to}`,
        { codes: ['ResourceNotFound'], kind: DIRECTORY });
      if (status === 200) renamed++;
      return;
    }
    // Files that are made below it meanwhile are in it, whatever it is called then.
    const { status } = await makeFile(`moving/${from}/f${i}`, 1, absent);
    if (status === 201) made++;
    await asked(absent, 'DELETE', within(`moving/${to}/f${i}`));
  }, 8);
  await reading;
  assert.ok(renamed > 20 && made > 20, `${renamed} renames, ${made} files`);
});

test('a name that files are renamed to is never without one', async () => {
  const size = 10 * KIB;
  await makeFile('target', size);
  await putRange('target', 0, Buffer.alloc(size, 255));
  const reading = busily(async () => {
    const { body } = await get('target');
    assert.equal(body.length, size);
    assert.notEqual(uniform(body, 'a reader'), 0, 'a file is seen that was never there');
  }, 6);
  await busily(async (i) => {
    await makeFile(`source-${i}`, size);
    await putRange(`source-${i}`, 0, Buffer.alloc(size, i + 1));
    await rename(`source-${i}`, 'target', { replaces: true });
  }, 6);
  await reading;
});

test('of many who move, make or delete one thing, one does', async () => {
  const oneWins = async (code, request) => {
    const answers = await everyone(request);
    const refused = answers.filter(({ status }) => status >= 300);
    assert.equal(refused.length, CLIENTS - 1);
    for (const answer of refused) assert.equal(answer.code, code);
  };
  for (let round = 0; round < 15; round++) {
    const name = `one-${round}`;
    const path = `${within(name)}?restype=directory`;
    await oneWins('ResourceAlreadyExists', () => send('PUT', path));
    await makeFile(`${name}/file`, 10);
    await oneWins('ResourceNotFound', (i) => rename(`${name}/file`, `${name}/moved-${i}`,
      { codes: ['ResourceNotFound'] }));
    const [moved, ...others] = await listed(name);
    assert.equal(others.length, 0);
    await oneWins('ResourceNotFound', () => send('DELETE', within(`${name}/${moved}`)));
    await oneWins('ResourceNotFound', () => send('DELETE', path));
  }
});

test('nothing is ever in a directory that is deleted', async () => {
  let left = 0;
  for (let round = 0; round < 60; round++) {
    const name = `emptied-${round}`;
    await makeDirectory(name);
    const remove = () => asked(['DirectoryNotEmpty'], 'DELETE',
      `${within(name)}?restype=directory`);
    const make = (i) => makeFile(`${name}/f${i}`, 1, ['ParentNotFound']);
    const answers = await everyone((i) => (i === round % 4 ? remove() : make(i)), 4);
    const [deleted] = answers.splice(round % 4, 1);
    const kept = answers.filter(({ status }) => status === 201).length;
    if (kept > 0) left++;
    if (deleted.status !== 202) {
      assert.equal((await listed(name)).length, kept);
      continue;
    }
    assert.equal(kept, 0, 'a file was made in what was deleted');
    // The same name is another directory, with nothing in it.
    await makeDirectory(name);
    assert.deepEqual(await listed(name), []);
  }
  assert.ok(left > 0 && left < 60, `${left} of 60: they never met`);
});

test('a file that is deleted under its writers is gone, and one made after is empty', async () => {
  const size = 20 * KIB;
  const codes = ['ResourceNotFound'];
  await busily(async (i) => {
    if (i === 0) {
      await makeFile('deleted', size);
      await sure('DELETE', within('deleted'));
    } else if (i < 8) {
      await putRange('deleted', 0, Buffer.alloc(size, i), codes);
    } else {
      const { status, body } = await get('deleted', { codes });
      if (status === 200) uniform(body, 'a reader');
    }
  });
  await makeFile('deleted', size);
  assert.equal(uniform((await get('deleted')).body, 'a new file'), 0);
});

// --- snapshots ---

const PAIRS = 4;
const PAIR = ['first', 'second'];

// What a snapshot shows of the files of the test below, and of the directory that is renamed.
async function lookAt(time) {
  const numbers = [];
  for (let i = 0; i < PAIRS; i++) {
    for (const name of PAIR) {
      numbers.push(uniform((await get(`pairs/${name}-${i}`, { snapshot: time })).body, time));
    }
  }
  const walkers = (await listed('pairs', time)).filter((name) => name.endsWith('here'));
  assert.equal(walkers.length, 1, `${time}: ${walkers}`);
  assert.deepEqual(await listed(`pairs/${walkers[0]}`, time), ['walker']);
  return { numbers, walkers };
}

test('snapshots under load are one instant each, and stay as they were', async () => {
  const size = 16 * KIB;
  await makeDirectory('pairs');
  await makeDirectory('pairs/here');
  await makeFile('pairs/here/walker', 1);
  for (let i = 0; i < PAIRS; i++) {
    for (const name of PAIR) await makeFile(`pairs/${name}-${i}`, size);
  }

  // Each pair has the same number, which is written into the first file before the second.  What was
  // acknowledged when a snapshot was asked for is in it; what was not yet sent when it was answered
  // is not.
  const sent = Array(PAIRS).fill(0);
  const done = Array(PAIRS).fill(0);
  let stop = false;
  const writing = everyone(async (i) => {
    while (!stop && sent[i] < 255) {
      sent[i]++;
      for (const name of PAIR) {
        await putRange(`pairs/${name}-${i}`, 0, Buffer.alloc(size, sent[i]));
      }
      done[i] = sent[i];
    }
  }, PAIRS);
  const walking = (async () => {
    for (let turn = 0; !stop; turn++) {
      const [from, to] = turn % 2 === 0 ? ['here', 'there'] : ['there', 'here'];
      await rename(`pairs/${from}`, `pairs/${to}`, { kind: DIRECTORY });
    }
  })();

  const seen = new Map();
  await everyone(async () => {
    for (let turn = 0; turn < 8; turn++) {
      const least = [...done];
      const time = await takeSnapshot();
      const most = [...sent];
      const found = await lookAt(time);
      for (let i = 0; i < PAIRS; i++) {
        const [first, second] = found.numbers.slice(2 * i);
        assert.ok(first === second || first === second + 1,
          `${time}: ${first} was written before ${second}`);
        assert.ok(second >= least[i] && first <= most[i],
          `${time}: ${first}, ${second} is not between ${least[i]} and ${most[i]}`);
      }
      seen.set(time, found);
    }
  }, 3);
  stop = true;
  await writing;
  await walking;
  assert.equal(seen.size, 24, 'two snapshots have one name');
  assert.ok(Math.max(...sent) > 5, 'there was no load');

  const times = [...seen.keys()].sort();
  times.reduce((before, time) => {
    const { numbers } = seen.get(time);
    assert.ok(numbers.every((value, i) => value >= seen.get(before).numbers[i]),
      `${time} shows less than ${before}`);
    return time;
  });
  for (const time of times) assert.deepEqual(await lookAt(time), seen.get(time));
  // Those that stay are the same when others are deleted.
  for (const time of times.filter((_, i) => i % 2 === 0)) {
    await sure('DELETE', `${SHARE}?restype=share${query(time)}`);
  }
  for (const time of times.filter((_, i) => i % 2 === 1)) {
    assert.deepEqual(await lookAt(time), seen.get(time));
  }
});

after(() => agent.destroy());

stopsCleanly(server);
