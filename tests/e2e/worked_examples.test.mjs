// The worked examples of the service's guide to concurrency that concern blobs: optimistic by
// ETag, pessimistic by lease.  The lease is let expire, so this file takes 15 seconds; the
// examples run side by side.

import test from 'node:test';
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { startServer, stopsCleanly } from './helpers/server.mjs';

const server = await startServer();
const firstClient = server.client().getContainerClient('examples');
const secondClient = server.client().getContainerClient('examples');
await firstClient.create();

const text = async (blob) => (await blob.downloadToBuffer()).toString();

test('the worked examples', { concurrency: true }, async (t) => {
  await Promise.all([
    t.test('optimistic: an update with an ETag the blob has no more is refused', async () => {
      const mine = firstClient.getBlockBlobClient('optimistic');
      const theirs = secondClient.getBlockBlobClient('optimistic');
      const { etag } = await mine.upload('mine', 4);
      const second = await theirs.upload('theirs', 6);
      assert.notEqual(second.etag, etag);
      await assert.rejects(mine.upload('mine again', 10, { conditions: { ifMatch: etag } }),
        { statusCode: 412, code: 'ConditionNotMet' });
      assert.equal(await text(mine), 'theirs');
      assert.equal((await mine.getProperties()).etag, second.etag);

      const third = await mine.upload('agreed', 6, { conditions: { ifMatch: second.etag } });
      assert.notEqual(third.etag, second.etag);
      assert.equal(await text(theirs), 'agreed');
    }),

    t.test('pessimistic: while a lease is held only its holder writes', async () => {
      const mine = firstClient.getBlockBlobClient('pessimistic');
      const theirs = secondClient.getBlockBlobClient('pessimistic');
      await mine.upload('one', 3);
      const lease = mine.getBlobLeaseClient();
      await lease.acquireLease(15);
      await mine.upload('two', 3, { conditions: { leaseId: lease.leaseId } });
      await assert.rejects(theirs.upload('three', 5), { statusCode: 412, code: 'LeaseIdMissing' });
      assert.equal(await text(theirs), 'two');
      await lease.releaseLease();
      await theirs.upload('four', 4);
      assert.equal(await text(mine), 'four');
    }),

    t.test('pessimistic: a lease that expired no longer lets its holder write', async () => {
      const blob = firstClient.getBlockBlobClient('expiring');
      await blob.upload('one', 3);
      const lease = blob.getBlobLeaseClient();
      await lease.acquireLease(15);
      await blob.upload('two', 3, { conditions: { leaseId: lease.leaseId } });
      await sleep(15_500);
      await assert.rejects(blob.upload('three', 5, { conditions: { leaseId: lease.leaseId } }),
        { statusCode: 412, code: 'LeaseLost' });
      assert.equal(await text(blob), 'two');
      await blob.upload('four', 4);
      assert.equal(await text(blob), 'four');
    }),

    t.test('pessimistic: a renewed lease holds past the time it was first taken for', async () => {
      const blob = firstClient.getBlockBlobClient('renewed');
      await blob.upload('one', 3);
      const lease = blob.getBlobLeaseClient();
      await lease.acquireLease(15);
      await sleep(8_000);
      await lease.renewLease();
      await sleep(8_000);
      await assert.rejects(blob.upload('two', 3), { statusCode: 412, code: 'LeaseIdMissing' });
      await blob.upload('two', 3, { conditions: { leaseId: lease.leaseId } });
    }),
  ]);
});

stopsCleanly(server);
