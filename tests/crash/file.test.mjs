// The server is killed at random moments under clients of a share, restarted on the same directory,
// and what it acknowledged is checked: every directory and file is where the last rename put it, with
// the bytes of the last Put Range and the ETag and id that were told; a rename has happened wholly or
// not at all, whatever the directory holds; nothing that was refused is there.
//
// Each client has a directory of its own in a share that all use, and a share of its own, which it
// also deletes and makes again.  The state of either is the whole tree.  Snapshots of the common share
// are taken under the load of all: each shows what every client had done before its instant and
// nothing later, by the ETags, and shows the same for as long as it is there.
//
//   ZAFFRE_SEED                repeats the choices of a run (its timing is the machine's)
//   ZAFFRE_CRASH_FILE_ROUNDS   how many kills; 20 by default

import test from 'node:test';
import { killsUnderLoad } from './helpers/kills.mjs';
import { fileLoad } from './helpers/file_load.mjs';

const ROUNDS = Number(process.env.ZAFFRE_CRASH_FILE_ROUNDS ?? 20);

test(`trees, renames and snapshots are whole after each of ${ROUNDS} kills`, (t) =>
  killsUnderLoad(t, { name: 'crash-file', rounds: ROUNDS, loads: [fileLoad] }));
