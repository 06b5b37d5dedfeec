// The server is killed while copies from elsewhere to files and to blobs are under way, being aborted
// or just finished; afterwards no copy is pending, and each destination is what it can be by what was
// acknowledged: whole with the bytes of its source, or empty, failed or aborted.  The check of the
// store finds nothing, and a copy to the same name can be begun again.
//
//   ZAFFRE_SEED                repeats the choices of a run (its timing is the machine's)
//   ZAFFRE_CRASH_COPY_ROUNDS   how many kills; 15 by default

import test from 'node:test';
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { fsck, startServer } from '../e2e/helpers/server.mjs';
import { seeded } from '../e2e/helpers/random.mjs';
import { fileClient, read } from '../e2e/helpers/file.mjs';
import { startElsewhere } from '../e2e/helpers/elsewhere.mjs';

const ROUNDS = Number(process.env.ZAFFRE_CRASH_COPY_ROUNDS ?? 15);
const COPIES = 24; // in a round, half of them to files
const BYTES_MAX = 200_000;

const random = seeded('crash/copy');
const elsewhere = await startElsewhere();
const server = await startServer();

// The destinations, by what the two clients have in common.
function open() {
  const share = fileClient(server).getShareClient('copies');
  const container = server.client().getContainerClient('copies');
  return {
    share,
    container,
    file: (name) => {
      const file = share.rootDirectoryClient.getFileClient(name);
      return { start: (url) => file.startCopyFromURL(url), bytes: () => read(file),
        abort: (id) => file.abortCopyFromURL(id), properties: () => file.getProperties() };
    },
    blob: (name) => {
      const blob = container.getBlobClient(name);
      return { start: async (url) => (await blob.beginCopyFromURL(url)).getOperationState(),
        bytes: () => blob.downloadToBuffer(), abort: (id) => blob.abortCopyFromURL(id),
        properties: () => blob.getProperties() };
    },
  };
}

const tally = {};   // of statuses after a kill
const refusals = []; // while the server was there

// One copy of a round: what is acknowledged of it is noted.
async function copyOnce(target, copy) {
  const source = elsewhere.slow(`/${copy.kind}-${copy.name}`, copy.bytes);
  const { copyId } = await target.start(source.url);
  copy.begun = true;
  await delay(copy.pause);
  if (copy.isAborted) {
    await target.abort(copyId);
    copy.aborted = true;
  }
  source.finish();
  if (copy.isAborted) return;
  for (;;) {
    const { copyStatus } = await target.properties();
    if (copyStatus === 'success') break;
    assert.equal(copyStatus, 'pending');
  }
  copy.finished = true;
}

async function check(target, copy) {
  let properties;
  try {
    properties = await target.properties();
  } catch (error) {
    assert.equal(error.statusCode, 404);
    assert.ok(!copy.begun, `${copy.kind} ${copy.name} was begun and is not there`);
    tally.absent = (tally.absent ?? 0) + 1;
    return;
  }
  const { copyStatus } = properties;
  tally[copyStatus] = (tally[copyStatus] ?? 0) + 1;
  assert.ok(['success', 'failed', 'aborted'].includes(copyStatus), copyStatus);
  if (copy.finished) assert.equal(copyStatus, 'success');
  if (copy.aborted) assert.equal(copyStatus, 'aborted');
  const bytes = await target.bytes();
  if (copyStatus === 'success') assert.ok(bytes.equals(copy.bytes), 'other bytes');
  else assert.equal(bytes.length, 0);
  if (copyStatus === 'failed') assert.match(properties.copyStatusDescription, /restarted/);
}

async function round(number) {
  const clients = open();
  const copies = Array.from({ length: COPIES }, (_, i) => ({
    kind: i % 2 === 0 ? 'file' : 'blob',
    name: `${number}-${i}`,
    bytes: random.bytes(random.between(1001, BYTES_MAX)),
    pause: random.between(0, 60),
    isAborted: random.next() < 0.3,
  }));
  const work = copies.map((copy) => copyOnce(clients[copy.kind](copy.name), copy)
    .catch((error) => { if (server.isRunning() && !server.isEnding) refusals.push(error.message); }));
  await delay(random.between(5, 500));
  server.isEnding = true;
  await server.stop('SIGKILL');
  await Promise.allSettled(work);
  const { code, lines } = await fsck(server.directory);
  assert.equal(code, 0, lines.join('\n'));
  await server.start();
  server.isEnding = false;
  const again = open();
  for (const copy of copies) await check(again[copy.kind](copy.name), copy);
}

test(`copies from elsewhere are whole or over after each of ${ROUNDS} kills`, async () => {
  const clients = open();
  await clients.share.create();
  await clients.container.create();
  for (let number = 0; number < ROUNDS; number++) await round(number);
  console.log(`crash/copy: ${ROUNDS * COPIES} copies: ${JSON.stringify(tally)}`);
  assert.deepEqual(refusals, []);
  const last = open();
  await last.file('0-0').start(elsewhere.serve('/again', Buffer.from('again')));
  const end = await server.stop();
  assert.deepEqual(end, { code: 0, signal: null });
  const { code, lines } = await fsck(server.directory);
  assert.equal(code, 0, lines.join('\n'));
});
