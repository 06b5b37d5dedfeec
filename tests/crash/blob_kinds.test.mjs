// Kills under load, as in crash.test.mjs, for what only some kinds of blobs have: blocks and their
// lists, appended blocks, pages, snapshots, copies and tags.
//
// A blob's state is all a client can ask for: bytes, ETag, metadata, tags, committed and
// uncommitted blocks, page ranges, and the same of each of its snapshots.  What was in flight at a
// kill happened wholly or not at all, the entry in the index of tags included.
//
//   ZAFFRE_SEED                 repeats the choices of a run (its timing is the machine's)
//   ZAFFRE_CRASH_KINDS_ROUNDS   how many kills; 20 by default

import test from 'node:test';
import { killsUnderLoad } from './helpers/kills.mjs';
import { kindsLoad } from './helpers/kinds_load.mjs';

const ROUNDS = Number(process.env.ZAFFRE_CRASH_KINDS_ROUNDS ?? 20);

test(`blobs of every kind are whole after each of ${ROUNDS} kills under load`, (t) =>
  killsUnderLoad(t, { name: 'blob_kinds', rounds: ROUNDS, loads: [kindsLoad] }));
