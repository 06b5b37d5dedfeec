// The server is killed at random moments under clients of queues, restarted on the same directory,
// and what it acknowledged is checked: a message that was put is there, one that was handed out is
// not seen by anybody else and can be updated by its receipt, one that was deleted stays away.
//
// Each client has a queue of its own and knows which messages can be seen, in which order, and
// which it was given.  Of the request in flight at a kill either all has happened or nothing.
//
//   ZAFFRE_SEED                 repeats the choices of a run (its timing is the machine's)
//   ZAFFRE_CRASH_QUEUE_ROUNDS   how many kills; 30 by default

import test from 'node:test';
import { killsUnderLoad } from './helpers/kills.mjs';
import { queueLoad } from './helpers/queue_load.mjs';

const ROUNDS = Number(process.env.ZAFFRE_CRASH_QUEUE_ROUNDS ?? 30);

test(`no message is lost, invented or given to two in ${ROUNDS} kills under load`, (t) =>
  killsUnderLoad(t, { name: 'crash-queue', rounds: ROUNDS, loads: [queueLoad] }));
