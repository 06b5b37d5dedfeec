// A wall clock for a server that stands still until the test moves it: clock.c, preloaded.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { binary, emptyDirectory } from '../e2e/helpers/server.mjs';

const testClock = path.join(path.dirname(binary), 'tests/history/testclock.so');

// Every move of the clock ends in an odd number of milliseconds, so that no time a client asked for
// ends on the very instant the clock is moved to.
const MOVE_ODD_MS = 7;

export class WallClock {
  constructor() {
    assert.ok(fs.existsSync(testClock), `${testClock} is missing: build everything`);
    this.path = path.join(emptyDirectory(), 'clock');
    this.readings = [Math.floor(Date.now() / 1000) * 1000];
    this.file = fs.openSync(this.path, 'w+');
    this.set(this.readings[0]);
  }

  // For the environment of the server.
  env() {
    return { LD_PRELOAD: testClock, ZAFFRE_TEST_CLOCK: this.path };
  }

  set(ms) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(ms) * 1_000_000n);
    fs.writeSync(this.file, bytes, 0, 8, 0);
  }

  // The index of the reading that is valid.
  get latest() {
    return this.readings.length - 1;
  }

  forward(seconds) {
    this.readings.push(this.readings[this.latest] + seconds * 1000 + MOVE_ODD_MS);
    this.set(this.readings[this.latest]);
  }

  // The server's own time does not follow, if it has made a change since the clock was moved
  // forward.
  back(seconds) {
    this.set(this.readings[this.latest] - seconds * 1000);
  }

  close() {
    fs.closeSync(this.file);
  }
}
