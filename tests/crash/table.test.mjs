// The server is killed at random moments under clients of tables, restarted on the same directory,
// and what it acknowledged is checked: each entity is as the last change of it left it, with the ETag
// that was told, and an entity group transaction has happened wholly or not at all.
//
// Each client has a PartitionKey of its own in a table that all share, and a table of its own, which
// it also deletes and makes again.  The state of a thing is all entities of the PartitionKey.
//
//   ZAFFRE_SEED                 repeats the choices of a run (its timing is the machine's)
//   ZAFFRE_CRASH_TABLE_ROUNDS   how many kills; 30 by default

import test from 'node:test';
import { killsUnderLoad } from './helpers/kills.mjs';
import { tableLoad } from './helpers/table_load.mjs';

const ROUNDS = Number(process.env.ZAFFRE_CRASH_TABLE_ROUNDS ?? 30);

test(`groups are whole and nothing is lost in ${ROUNDS} kills under load`, (t) =>
  killsUnderLoad(t, { name: 'crash-table', rounds: ROUNDS, loads: [tableLoad] }));
