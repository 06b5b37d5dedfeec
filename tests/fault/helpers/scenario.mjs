// A short life of every service, one request after the other, with what each request makes of the
// thing it is about.  After any failure it is known of each thing which states it may have:
//
//   acknowledged   the state that the request makes
//   refused        the state before: a refusal promises that nothing has changed
//   no answer      either
//
// A state is a text: what a client reads, or ABSENT.

import assert from 'node:assert/strict';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { sasSender } from '../../e2e/helpers/http.mjs';
import { messageXml, messagePath, messagesOf, queueSender } from '../../e2e/helpers/queue.mjs';
import { fileSender } from '../../e2e/helpers/file.mjs';
import { changeSet, tableSender } from '../../e2e/helpers/table.mjs';
import { accountSas } from '../../e2e/helpers/sign.mjs';
import { md5 } from '../../e2e/helpers/digest.mjs';

export const ABSENT = 'absent';
const KIB = 1024;
const PAGE = 512;

// Bytes that tell where they come from.
export function bytes(seed, length) {
  const content = Buffer.alloc(length);
  for (let i = 0; i + 4 <= length; i += 4) content.writeInt32LE((seed * 7919 + i) | 0, i);
  return content;
}

const contentState = (content) => `${content.length} bytes ${md5(content)}`;

// --- speaking to a server ---

export class Caller {
  constructor(server) {
    this.server = server;
    this.agent = new http.Agent({ keepAlive: true });
    this.blob = sasSender(server, { agent: this.agent });
    this.queue = queueSender(server, { agent: this.agent });
    this.file = fileSender(server, { agent: this.agent });
    this.table = tableSender(server, { agent: this.agent });
  }

  close() {
    this.agent.destroy();
  }
}

// --- what is there ---

// What an answer to a read says of the thing, or null when it could not be read.
function stateOf({ status, body }) {
  if (status === 404) return ABSENT;
  return status < 300 ? contentState(body) : null;
}

const readBlob = (path) => async (call) => stateOf(await call.blob('GET', path));
const readFile = (path) => async (call) => stateOf(await call.file('GET', path));

async function readQueue(call) {
  const answer = await call.queue('GET', 'queue/messages?peekonly=true&numofmessages=32');
  if (answer.status === 404) return ABSENT;
  if (answer.status >= 300) return null;
  const { headers, status } = await call.queue('GET', 'queue?comp=metadata');
  if (status >= 300) return null;
  return `messages ${messagesOf(answer).map(({ MessageText }) => MessageText).join()} of ` +
    headers['x-ms-approximate-messages-count'];
}

async function readTable(call) {
  const answer = await call.table('GET', 'Things()');
  if (answer.status === 404) return ABSENT;
  if (answer.status >= 300) return null;
  return `entities ${JSON.parse(answer.body).value
    .map(({ RowKey, Value }) => `${RowKey}=${Value}`).join()}`;
}

const exists = (ask) => async (call) => {
  const { status } = await ask(call);
  if (status === 404) return ABSENT;
  return status < 300 ? 'there' : null;
};

export const THINGS = {
  container: exists((call) => call.blob('GET', 'box?restype=container')),
  small: readBlob('box/small'),
  medium: readBlob('box/medium'),
  large: readBlob('box/large'),
  blocks: readBlob('box/blocks'),
  append: readBlob('box/append'),
  pages: readBlob('box/pages'),
  copy: readBlob('box/copy'),
  queue: readQueue,
  table: readTable,
  share: exists((call) => call.file('GET', 'share?restype=share')),
  directory: exists((call) => call.file('GET', 'share/dir?restype=directory')),
  file: readFile('share/dir/file'),
};

// --- what is done ---

const blobOf = (type) => ({ 'x-ms-blob-type': type });
const put = (path, content) => (call) => call.blob('PUT', path, blobOf('BlockBlob'), content);
const blockId = (n) => Buffer.from(`block${n}`).toString('base64');
const putBlock = (n, content) => (call) =>
  call.blob('PUT', `box/blocks?comp=block&blockid=${encodeURIComponent(blockId(n))}`, {}, content);
const putBlockList = (numbers) => (call) => call.blob('PUT', 'box/blocks?comp=blocklist', {},
  `<?xml version="1.0"?><BlockList>${numbers.map((n) => `<Latest>${blockId(n)}</Latest>`).join('')}` +
  '</BlockList>');
const putPages = (from, content) => (call) => call.blob('PUT', 'box/pages?comp=page', {
  'x-ms-page-write': 'update', 'x-ms-range': `bytes=${from}-${from + content.length - 1}`,
}, content);
const putRange = (from, content) => (call) => call.file('PUT', 'share/dir/file?comp=range', {
  'x-ms-write': 'update', 'x-ms-range': `bytes=${from}-${from + content.length - 1}`,
}, content);
const JSON_BODY = { 'Content-Type': 'application/json' };
const entity = (row, value) => ({ PartitionKey: 'p', RowKey: row, Value: value });
const insert = (row, value) => (call) =>
  call.table('POST', 'Things', JSON_BODY, JSON.stringify(entity(row, value)));
const entityPath = (row) => `Things(PartitionKey='p',RowKey='${row}')`;

const makeFile = (size) => (call) => call.file('PUT', 'share/dir/file', {
  'x-ms-type': 'file', 'x-ms-content-length': size, 'x-ms-file-permission': 'Inherit',
  'x-ms-file-attributes': 'None', 'x-ms-file-creation-time': 'Now',
  'x-ms-file-last-write-time': 'Now',
});
const makeDirectory = (call) => call.file('PUT', 'share/dir?restype=directory', {
  'x-ms-file-permission': 'Inherit', 'x-ms-file-attributes': 'Directory',
  'x-ms-file-creation-time': 'Now', 'x-ms-file-last-write-time': 'Now',
});

async function takeMessage(call) {
  const answer = await call.queue('GET', 'queue/messages?visibilitytimeout=3600');
  if (answer.status === 200) [call.message] = messagesOf(answer);
  return answer;
}

const deleteMessage = (call) =>
  call.queue('DELETE', messagePath('queue', call.message ?? { MessageId: 'none', PopReceipt: 'none' }));

async function group(call) {
  const body = changeSet(call.server, [
    ['POST', '/Things', entity('b', 2)],
    ['PUT', `/${entityPath('a')}`, entity('a', 3), { 'If-Match': '*' }],
  ]);
  const answer = await call.table('POST', '$batch',
    { 'Content-Type': 'multipart/mixed; boundary=batch_1' }, body);
  if (answer.status !== 202) return answer;
  const [, status] = /\r\n\r\nHTTP\/1.1 (\d+)/.exec(answer.body.toString());
  return { ...answer, status: Number(status) };
}

const LARGE = bytes(1, 150 * KIB);
const LARGER = bytes(2, 300 * KIB);
const SMALL = bytes(3, 700);
const MEDIUM = bytes(9, 5 * KIB); // a value that RocksDB keeps apart from its tables
const BLOCK_A = bytes(4, 40 * KIB);
const BLOCK_B = bytes(5, 90 * KIB);
const APPENDED = bytes(6, 20 * KIB);
const PAGES = bytes(7, 32 * PAGE);
const RANGE = bytes(8, 24 * KIB);

const overlaid = (size, from, content) => {
  const whole = Buffer.alloc(size);
  content.copy(whole, from);
  return whole;
};

// [thing, its state afterwards (undefined: as before; or a function of the one before), how]
export const STEPS = [
  ['container', 'there', (call) => call.blob('PUT', 'box?restype=container')],
  ['small', contentState(SMALL), put('box/small', SMALL)],
  ['medium', contentState(MEDIUM), put('box/medium', MEDIUM)],
  ['large', contentState(LARGE), put('box/large', LARGE)],
  ['queue', 'messages  of 0', (call) => call.queue('PUT', 'queue')],
  ['queue', 'messages one of 1',
    (call) => call.queue('POST', 'queue/messages', {}, messageXml('one'))],
  ['table', 'entities ',
    (call) => call.table('POST', 'Tables', JSON_BODY, '{"TableName":"Things"}')],
  ['table', 'entities a=1', insert('a', 1)],
  ['share', 'there', (call) => call.file('PUT', 'share?restype=share')],
  ['directory', 'there', makeDirectory],
  ['file', contentState(Buffer.alloc(64 * KIB)), makeFile(64 * KIB)],
  ['file', contentState(overlaid(64 * KIB, PAGE, RANGE)), putRange(PAGE, RANGE)],
  ['blocks', undefined, putBlock(1, BLOCK_A)],
  ['blocks', undefined, putBlock(2, BLOCK_B)],
  ['blocks', contentState(Buffer.concat([BLOCK_B, BLOCK_A])), putBlockList([2, 1])],
  ['append', contentState(Buffer.alloc(0)),
    (call) => call.blob('PUT', 'box/append', blobOf('AppendBlob'))],
  ['append', contentState(APPENDED),
    (call) => call.blob('PUT', 'box/append?comp=appendblock', {}, APPENDED)],
  ['pages', contentState(Buffer.alloc(64 * PAGE)), (call) => call.blob('PUT', 'box/pages',
    { ...blobOf('PageBlob'), 'x-ms-blob-content-length': 64 * PAGE })],
  ['pages', contentState(overlaid(64 * PAGE, 8 * PAGE, PAGES)), putPages(8 * PAGE, PAGES)],
  ['copy', contentState(LARGE), (call) => call.blob('PUT', 'box/copy',
    { 'x-ms-copy-source': `${call.server.url}/box/large?${accountSas()}` })],
  ['large', contentState(LARGER), put('box/large', LARGER)],
  ['table', 'entities a=3,b=2', group],
  ['queue', (before) => before.replace('one', ''), takeMessage],
  ['queue', 'messages  of 0', deleteMessage],
  ['small', ABSENT, (call) => call.blob('DELETE', 'box/small')],
  ['file', ABSENT, (call) => call.file('DELETE', 'share/dir/file')],
  ['table', (before) => before.replace(/a=\d,?/, ''), (call) => call.table('DELETE', entityPath('a'), { 'If-Match': '*' })],
];

// --- what may be there ---

const GONE_MS = 500;

// Whether the server has ended, as it seems to have: an answer may be cut short, too.
async function isGone(call) {
  await Promise.race([call.server.process.exited, sleep(GONE_MS)]);
  return !call.server.isRunning();
}

export class Scenario {
  constructor() {
    this.states = Object.fromEntries(Object.keys(THINGS).map((name) => [name, [ABSENT]]));
    this.counts = { acknowledged: 0, refused: 0, unanswered: 0 };
    this.refusals = new Set();
  }

  // One step.  False when the server has ended.
  async step(call, [name, after, how]) {
    const states = this.states[name];
    const next = typeof after === 'function' ? states.map(after) : [after ?? states].flat();
    let answer;
    try {
      answer = await how(call);
    } catch {
      this.counts.unanswered++;
      this.states[name] = [...states, ...next];
      return !await isGone(call);
    }
    if (answer.status < 300) {
      this.counts.acknowledged++;
      this.states[name] = next;
    } else {
      this.counts.refused++;
      this.refusals.add(`${answer.status} ${answer.code}`);
    }
    return true;
  }

  // Every step in turn, each read back at once, until the server ends: false then.
  async play(call, steps = STEPS) {
    for (const step of steps) {
      if (!await this.step(call, step)) return false;
      if (!await this.check(call, [step[0]], 'after a step')) return false;
    }
    return true;
  }

  // Compares things with what they may be.  A thing may be unreadable for a moment when the disk
  // fails, unless it `must` be readable, but is never wrong.  False when the server has ended.
  async check(call, names, when, { must = false } = {}) {
    for (const name of names) {
      let seen;
      try {
        seen = await THINGS[name](call);
      } catch {
        assert.ok(!must, `${when}: ${name} gets no answer`);
        if (await isGone(call)) return false;
        continue;
      }
      assert.ok(!must || seen !== null, `${when}: ${name} cannot be read`);
      if (seen === null) continue;
      assert.ok(this.states[name].includes(seen),
        `${when}: ${name} is ${seen}, but must be ${this.states[name].join(' or ')}`);
      if (must) this.states[name] = [seen];
    }
    return true;
  }

  checkAll(call, when, options) {
    return this.check(call, Object.keys(THINGS), when, options);
  }
}
