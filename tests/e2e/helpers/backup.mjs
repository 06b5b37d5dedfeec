// `zaffre backup` and `zaffre restore`, and a load whose torn states can be seen.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { assertNoComplaint, run, within } from './server.mjs';
import { Random } from './random.mjs';
import { fileClient } from './file.mjs';
import { queueClient } from './queue.mjs';
import { all, tableClient } from './table.mjs';

const COMMAND_MS = 120_000;
const SLOTS = 6; // blobs that a writer overwrites in turn

// Runs to the end: { code, out, err }.
export async function command(...args) {
  return finished(run(args));
}

export async function finished(process_) {
  const { code } = await within(COMMAND_MS, 'the end of the command', process_.exited);
  assertNoComplaint(process_.log);
  return { code, out: process_.out, err: process_.err };
}

export const backup = (location, to, ...more) =>
  command('backup', '--location', location, '--to', to, ...more);
export const restore = (from, location, ...more) =>
  command('restore', '--from', from, '--location', location, ...more);

// A load of several writers.  A writer counts rounds; in each it makes these changes, one after the
// other was acknowledged:
//
//   0  overwrites a blob with bytes that follow from the round, small or large
//   1  sets three entities to the round, in one group
//   2  puts the round into a queue
//   3  writes the round into a file
//   4  appends the round to a blob
//
// So its changes have an order, and what a moment shows of them is the first so many.
export class Load {
  constructor(server, { writers, seed }) {
    this.server = server;
    this.seed = seed;
    this.stopping = false;
    this.instant = 0; // counts beginnings and acknowledgements
    this.writers = Array.from({ length: writers }, (_, number) =>
      ({ number, began: [], acknowledged: [] }));
  }

  async prepare() {
    await this.server.client().getContainerClient('load').create();
    await tableClient(this.server, 'load').createTable();
    await fileClient(this.server).getShareClient('load').create();
    for (const { number } of this.writers) {
      await queueClient(this.server).getQueueClient(`load-${number}`).create();
      await this.server.client().getContainerClient('load')
        .getAppendBlobClient(`log-${number}`).create();
      const root = fileClient(this.server).getShareClient('load').rootDirectoryClient;
      await root.getFileClient(`file-${number}`).create(512);
    }
  }

  start() {
    this.done = Promise.all(this.writers.map((writer) => this.write(writer)));
  }

  async stop() {
    this.stopping = true;
    await this.done;
  }

  // The bytes of a round: every fourth is small enough to be kept with its record.
  content(number, round) {
    const random = new Random(this.seed + number * 1_000_003 + round);
    return random.bytes(round % 4 === 0
      ? random.between(1, 2000) : random.between(50_000, 400_000));
  }

  changes({ number }, round) {
    const container = this.server.client().getContainerClient('load');
    const bytes = this.content(number, round);
    return [
      () => container.getBlockBlobClient(`blob-${number}-${round % SLOTS}`)
        .upload(bytes, bytes.length, { metadata: { round: String(round) } }),
      () => tableClient(this.server, 'load').submitTransaction(['a', 'b', 'c'].map((rowKey) =>
        ['upsert', { partitionKey: String(number), rowKey, round }, 'Replace'])),
      () => queueClient(this.server).getQueueClient(`load-${number}`).sendMessage(String(round)),
      () => fileClient(this.server).getShareClient('load').rootDirectoryClient
        .getFileClient(`file-${number}`).uploadRange(roundBytes(round), 0, 512),
      () => container.getAppendBlobClient(`log-${number}`).appendBlock(`${round}\n`,
        String(round).length + 1),
    ];
  }

  async write(writer) {
    for (let round = 1; !this.stopping; round++) {
      for (const change of this.changes(writer, round)) {
        writer.began.push(++this.instant);
        await change();
        writer.acknowledged.push(++this.instant);
      }
    }
  }

  // How many changes of each writer a server shows, after it was checked that they are the first
  // ones and that each is whole.
  async counts(server) {
    return Promise.all(this.writers.map(({ number }) => this.count(server, number)));
  }

  async count(server, number) {
    const [overwritten, grouped, queued, filed, appended] = await Promise.all([
      this.countBlobs(server, number), countEntities(server, number),
      countMessages(server, number), countFile(server, number), countAppended(server, number),
    ]);
    const rounds = [overwritten, grouped, queued, filed, appended];
    // Of the five kinds the first few are one round ahead of the others.
    const last = rounds.at(-1);
    const ahead = rounds.filter((round) => round === last + 1).length;
    assert.deepEqual(rounds, rounds.map((_, kind) => (kind < ahead ? last + 1 : last)),
      `writer ${number} shows a state that never was`);
    return last * rounds.length + ahead;
  }

  async countBlobs(server, number) {
    const container = server.client().getContainerClient('load');
    const rounds = [];
    for (let slot = 0; slot < SLOTS; slot++) {
      const blob = container.getBlockBlobClient(`blob-${number}-${slot}`);
      if (!(await blob.exists())) continue;
      const { metadata } = await blob.getProperties();
      const round = Number(metadata.round);
      assert.equal(round % SLOTS, slot);
      assert.ok((await blob.downloadToBuffer()).equals(this.content(number, round)),
        `the bytes of round ${round}`);
      rounds.push(round);
    }
    rounds.sort((a, b) => a - b);
    const last = rounds.at(-1) ?? 0;
    const first = Math.max(1, last - SLOTS + 1);
    assert.deepEqual(rounds, Array.from({ length: last === 0 ? 0 : last - first + 1 },
      (_, i) => first + i), 'the blobs of the latest rounds');
    return last;
  }

  // What a backup shows has to be one moment between `from` and `until` (instants of this load):
  // all that was acknowledged before, nothing that began later, and of two changes, one
  // acknowledged before the other began, never only the later.
  assertOneMoment(counts, from, until) {
    for (const { number, acknowledged, began } of this.writers) {
      const before = acknowledged.filter((instant) => instant <= from).length;
      assert.ok(counts[number] >= before, `writer ${number}: ${counts[number]} of ${before}`);
      assert.ok(counts[number] === 0 || began[counts[number] - 1] <= until);
      if (counts[number] === 0) continue;
      const latestBegan = began[counts[number] - 1];
      for (const other of this.writers) {
        const earlier = other.acknowledged.filter((instant) => instant < latestBegan).length;
        assert.ok(counts[other.number] >= earlier, `writer ${number} is at ${counts[number]}, ` +
          `and ${other.number} at ${counts[other.number]} instead of ${earlier}`);
      }
    }
  }
}

const roundBytes = (round) => {
  const bytes = Buffer.alloc(512, String(round % 10));
  bytes.writeUInt32LE(round, 0);
  crypto.createHash('sha256').update(bytes.subarray(0, 480)).digest().copy(bytes, 480);
  return bytes;
};

async function countEntities(server, number) {
  const entities = await all(tableClient(server, 'load').listEntities(
    { queryOptions: { filter: `PartitionKey eq '${number}'` } }));
  const rounds = new Set(entities.map(({ round }) => round));
  assert.ok(rounds.size <= 1 && [0, 3].includes(entities.length), 'a group is whole');
  return entities[0]?.round ?? 0;
}

async function countMessages(server, number) {
  const queue = queueClient(server).getQueueClient(`load-${number}`);
  const rounds = [];
  for (;;) {
    const { receivedMessageItems } = await queue.receiveMessages({ numberOfMessages: 32,
      visibilityTimeout: 3600 });
    if (receivedMessageItems.length === 0) break;
    rounds.push(...receivedMessageItems.map(({ messageText }) => Number(messageText)));
  }
  rounds.sort((a, b) => a - b);
  assert.deepEqual(rounds, rounds.map((_, i) => i + 1), 'every message, once');
  return rounds.length;
}

async function countFile(server, number) {
  const bytes = await fileClient(server).getShareClient('load').rootDirectoryClient
    .getFileClient(`file-${number}`).downloadToBuffer();
  const round = bytes.readUInt32LE(0);
  assert.ok(bytes.equals(round === 0 ? Buffer.alloc(512) : roundBytes(round)), 'a whole range');
  return round;
}

async function countAppended(server, number) {
  const text = (await server.client().getContainerClient('load')
    .getAppendBlobClient(`log-${number}`).downloadToBuffer()).toString();
  const rounds = text.split('\n').slice(0, -1).map(Number);
  assert.deepEqual(rounds, rounds.map((_, i) => i + 1), 'every line, once');
  return rounds.length;
}
