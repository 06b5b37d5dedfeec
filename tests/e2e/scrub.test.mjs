// The scrubber of a running server: it comes by all data, finds what the disk has changed, names it
// in the log, and counts.

import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import assert from 'node:assert/strict';
import { eventually, startServer } from './helpers/server.mjs';
import { Random } from './helpers/random.mjs';

const KIB = 1024;
const random = new Random(11);
const server = await startServer({ args: ['--scrubRate', '200'] });

async function metric(name) {
  const text = await (await fetch(`${server.adminUrl}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
}

const SECONDS = 60_000;

test('a pass over what is whole ends without a finding', async () => {
  const container = server.client().getContainerClient('scrub');
  await container.create();
  for (let i = 0; i < 20; i++) {
    await container.getBlockBlobClient(`blob-${i}`).upload(random.bytes(100 * KIB), 100 * KIB);
  }
  await server.restart(); // a pass begins soon after the start
  await eventually(SECONDS, 'a pass', async () => await metric('zaffre_scrub_passes_total') >= 1);
  assert.ok(await metric('zaffre_scrub_bytes_total') >= 20 * 100 * KIB);
  assert.equal(await metric('zaffre_scrub_damaged_total'), 0);
});

test('what the disk has changed is found, named and counted, and clients go on', async () => {
  const bytes = random.bytes(300 * KIB);
  const container = server.client().getContainerClient('scrub');
  await container.getBlockBlobClient('folder/victim').upload(bytes, bytes.length);
  await server.stop();
  const extents = path.join(server.directory, 'extents');
  const { file, at } = fs.readdirSync(extents).map((name) => path.join(extents, name))
    .map((name) => ({ file: name, at: fs.readFileSync(name).indexOf(bytes.subarray(0, 64)) }))
    .find((place) => place.at >= 0);
  const fd = fs.openSync(file, 'r+');
  fs.writeSync(fd, Buffer.from([bytes[200 * KIB] ^ 1]), 0, 1, at + 200 * KIB);
  await server.start();
  await eventually(SECONDS, 'a pass', async () => await metric('zaffre_scrub_passes_total') >= 1);
  assert.equal(await metric('zaffre_scrub_damaged_total'), 1);
  assert.match(server.log, new RegExp('error scrub: extent [0-9a-f]{16}: the range of 307200 ' +
    'bytes at \\d+ is damaged: .*; it belongs to devstoreaccount1/scrub/folder/victim\\n'));
  await server.client().getContainerClient('scrub').getBlobClient('blob-1').downloadToBuffer();
  fs.writeSync(fd, bytes, 200 * KIB, 1, at + 200 * KIB);
  fs.closeSync(fd);
});

test('it can be turned off', async () => {
  await server.stop();
  server.options.args = ['--scrubRate', '0'];
  await server.start();
  assert.ok(Number.isNaN(await metric('zaffre_scrub_passes_total')));
  assert.deepEqual(await server.stop(), { code: 0, signal: null });
});
