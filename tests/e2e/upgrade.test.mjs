// What earlier versions wrote is what clients see now: every fixture in tests/fixtures, opened by
// this server, answers every question as it did when it was made, and is clean before and after.

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { assertNoComplaint, emptyDirectory, fsck, startServer } from './helpers/server.mjs';
import { capture, captureUndeleted } from '../fixtures/capture.mjs';
import { startServerAt } from '../fixtures/clock.mjs';

const fixtures = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../fixtures');
const names = fs.readdirSync(fixtures)
  .filter((name) => fs.existsSync(path.join(fixtures, name, 'expected.json')));

async function assertClean(directory) {
  const { code, lines } = await fsck(directory);
  assert.equal(code, 0, lines.join('\n'));
}

function unpack(name) {
  const directory = emptyDirectory();
  const { status, stderr } = spawnSync('tar', ['-C', directory, '-xzf',
    path.join(fixtures, name, 'data.tar.gz')]);
  assert.equal(status, 0, String(stderr));
  return directory;
}

test('there are fixtures', () => assert.ok(names.length > 0));

for (const name of names) {
  const expected = JSON.parse(fs.readFileSync(path.join(fixtures, name, 'expected.json')));

  test(`${name}: every answer is as it was`, async (t) => {
    const directory = unpack(name);
    await assertClean(directory);
    const server = await startServerAt(expected.at, { location: directory });
    const answers = await capture(server, expected.at);
    // Asking changed nothing, and a second start after this version's first sees the same.
    const end = await server.restart();
    const again = await capture(server, expected.at);
    const undeleted = await captureUndeleted(server, expected.at);
    await server.stop();
    assert.deepEqual(end, { code: 0, signal: null });
    assertNoComplaint(server.log);
    t.diagnostic(`${Object.keys(expected.answers).length} answers`);
    assert.deepEqual(answers, expected.answers);
    assert.deepEqual(again, expected.answers);
    assert.deepEqual({ ...undeleted, ...expected.undeleted }, undeleted);
    for (const [question, answer] of Object.entries(undeleted)) {
      if (question in expected.undeleted) continue;
      assert.deepEqual(answer, expected.answers[question], question);
    }
    await assertClean(directory);
  });

  test(`${name}: it can be written to and emptied`, async () => {
    const directory = unpack(name);
    const server = await startServer({ location: directory });
    const service = server.client();
    const kinds = service.getContainerClient('kinds');
    await kinds.getBlockBlobClient('blocks').upload('over it', 7);
    await kinds.getAppendBlobClient('log').appendBlock('more', 4);
    await kinds.getPageBlobClient('pages').uploadPages(Buffer.alloc(512, 1), 0, 512);
    await kinds.getBlockBlobClient('added').upload(Buffer.alloc(100_000, 2), 100_000);
    for await (const blob of kinds.listBlobsFlat()) {
      await kinds.getBlobClient(blob.name).getBlobLeaseClient('x').breakLease(0).catch(() => {});
      await kinds.deleteBlob(blob.name, { deleteSnapshots: 'include' });
    }
    for await (const container of service.listContainers()) {
      const client = service.getContainerClient(container.name);
      await client.getBlobLeaseClient('x').breakLease(0).catch(() => {});
      await client.delete();
    }
    const end = await server.restart();
    await server.stop();
    assert.deepEqual(end, { code: 0, signal: null });
    assertNoComplaint(server.log);
    await assertClean(directory);
  });
}
