// The server is killed at random moments under concurrent writers, restarted on the same
// directory, and everything it acknowledged is checked: every byte, ETag, metadata and lease.
//
// Each client writes names of its own, so it knows what each must be.  It keeps for every name the
// list of states it may have: one, after an answer; two while a request is in flight, since a
// kill lets it happen or not.  What was refused must never have happened.
//
//   ZAFFRE_SEED            repeats the choices of a run (its timing is the machine's)
//   ZAFFRE_CRASH_ROUNDS    how many kills; 50 by default

import test from 'node:test';
import { killsUnderLoad } from './helpers/kills.mjs';
import { plainLoad } from './helpers/plain_load.mjs';

const ROUNDS = Number(process.env.ZAFFRE_CRASH_ROUNDS ?? 50);

test(`no acknowledged write is lost in ${ROUNDS} kills under load`, (t) =>
  killsUnderLoad(t, { name: 'crash', rounds: ROUNDS, loads: [plainLoad] }));
