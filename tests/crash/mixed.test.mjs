// Kills under the loads of all services at once: plain blobs, blobs of every kind, queues, tables and
// files, each with the clients and the comparison of its own test in this directory.  The services
// share committers, extents, the reclaimer and the log, so what one does at a kill meets the others.
//
//   ZAFFRE_SEED                 repeats the choices of a run (its timing is the machine's)
//   ZAFFRE_CRASH_MIXED_ROUNDS   how many kills; 10 by default

import test from 'node:test';
import { killsUnderLoad } from './helpers/kills.mjs';
import { fileLoad } from './helpers/file_load.mjs';
import { kindsLoad } from './helpers/kinds_load.mjs';
import { plainLoad } from './helpers/plain_load.mjs';
import { queueLoad } from './helpers/queue_load.mjs';
import { tableLoad } from './helpers/table_load.mjs';

const ROUNDS = Number(process.env.ZAFFRE_CRASH_MIXED_ROUNDS ?? 10);

test(`nothing of any service is lost in ${ROUNDS} kills under load of all`, (t) =>
  killsUnderLoad(t, { name: 'crash-mixed', rounds: ROUNDS,
    loads: [plainLoad, kindsLoad, queueLoad, tableLoad, fileLoad] }));
