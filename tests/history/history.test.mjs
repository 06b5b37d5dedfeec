// Histories of many clients at once, over all services, with the server killed and its clock moved
// in between, are linearizable.
//
//   ZAFFRE_HISTORY_OPERATIONS   how many operations are recorded; 20,000 by default

import test from 'node:test';
import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { seeded } from '../e2e/helpers/random.mjs';
import { Run, SETTLING_CLIENT } from './recorder.mjs';
import { appends, blockLists, leases, pageBlobs, registers, snapshots } from './workloads/blob.mjs';
import { containers } from './workloads/container.mjs';
import { shares } from './workloads/file.mjs';
import { queues } from './workloads/queue.mjs';
import { tables } from './workloads/table.mjs';

const OPERATIONS = Number(process.env.ZAFFRE_HISTORY_OPERATIONS ?? 20_000);
const OPERATIONS_OF_A_RUN = 20_000;
const OPERATIONS_OF_A_CLIENT = 10; // in one round

const WORKLOADS = [registers, leases, snapshots, blockLists, appends, pageBlobs, containers, tables,
  queues, shares];

// A server whose answers, when everybody is quiet, are those of the round before.
class StaleRun extends Run {
  constructor(options) {
    super(options);
    this.earlier = new Map();
    this.staleObjects = new Set();
  }

  async perform(client, workload, operation, memory) {
    const known = await super.perform(client, workload, operation, memory);
    if (client !== SETTLING_CLIENT) return known;
    const { object, name, args } = operation;
    const noted = this.histories.get(object).at(-1);
    const key = JSON.stringify([object, name, args]);
    const before = this.earlier.get(key);
    this.earlier.set(key, noted.result);
    if (before === undefined || isDeepStrictEqual(before, noted.result)) return known;
    noted.result = before;
    this.staleObjects.add(object);
    return known;
  }
}

const random = seeded('history');

test('a run with stale answers is refused, for every object that changed', async () => {
  const run = new StaleRun({ workloads: WORKLOADS, seed: random.between(0, 2 ** 30), calm: true });
  await run.start();
  await run.round(OPERATIONS_OF_A_CLIENT);
  assert.deepEqual(run.violations, []);
  await run.round(OPERATIONS_OF_A_CLIENT);
  await run.stop();
  const refused = run.violations.map((explanation) => explanation.split(' is not ')[0]);
  assert.ok(run.staleObjects.size > 10, 'too little has changed to show anything');
  for (const object of run.staleObjects) {
    assert.ok(refused.some((name) => name.endsWith(` ${object}`)), `${object} passed as right`);
  }
  assert.equal(refused.length, run.staleObjects.size);
});

let done = 0;

for (let number = 1; done < OPERATIONS; number++) {
  const operations = Math.min(OPERATIONS - done, OPERATIONS_OF_A_RUN);
  done += operations;
  test(`run ${number}: ${operations} operations of concurrent clients are linearizable`,
    async (t) => {
      const run = new Run({ workloads: WORKLOADS, seed: random.between(0, 2 ** 30) });
      await run.start();
      while (run.counts.operations < operations && run.violations.length === 0) {
        await run.round(OPERATIONS_OF_A_CLIENT);
      }
      const counts = Object.entries(run.counts).map(([name, count]) => `${count} ${name}`);
      t.diagnostic(counts.join(', '));
      assert.equal(run.violations.length, 0, `\n${run.violations.join('\n\n')}`);
      await run.stop();
      assert.ok(run.counts.refused > operations / 50, 'nobody got in the way of anybody');
    });
}
