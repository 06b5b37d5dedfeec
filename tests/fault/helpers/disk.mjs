// The test's end of fail.c: a server on a disk that fails, or is full, when the test says so.

import fs from 'node:fs';
import path from 'node:path';
import { Server, binary, emptyDirectory } from '../../e2e/helpers/server.mjs';

const shim = path.join(path.dirname(binary), 'tests/fault/fail.so');

// The classes of calls that fail.c counts.
export const WRITE = 1;
export const SYNC = 2;
export const OPEN = 4;
export const RENAME = 8;
export const UNLINK = 16;
export const READ = 32;
export const RESIZE = 64;
export const MEMORY = 128;

export const EIO = 5;
export const ENOMEM = 12;
export const EMFILE = 24;
export const ENOSPC = 28;

export const EVER = 2n ** 62n; // for `repeat`
const NO_BUDGET = 2n ** 64n - 1n;

// The numbers that fail.c and the test share; the order is fail.c's.
const FIELDS = ['classes', 'error', 'nth', 'repeat', 'seen', 'failed', 'free', 'scope'];

// A copy of a data directory, without the sockets of the server it was.
export function copyOf(directory) {
  const copy = emptyDirectory();
  fs.cpSync(directory, copy, { recursive: true,
    filter: (name) => !fs.lstatSync(name).isSocket() });
  return copy;
}

export class Disk {
  constructor() {
    this.file = fs.openSync(path.join(emptyDirectory(), 'control'), 'w+');
    this.path = fs.readlinkSync(`/proc/self/fd/${this.file}`);
    this.heal();
    this.budget(null);
  }

  set(name, value) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt(value));
    fs.writeSync(this.file, bytes, 0, 8, FIELDS.indexOf(name) * 8);
  }

  get(name) {
    const bytes = Buffer.alloc(8);
    fs.readSync(this.file, bytes, 0, 8, FIELDS.indexOf(name) * 8);
    return bytes.readBigUInt64LE();
  }

  // From now on the `nth` call of `classes` fails, and `repeat` in all; without `nth` they are
  // counted.
  fail(classes, error, { nth = 0, repeat = 1, scope = 0 } = {}) {
    this.set('classes', 0);
    for (const [name, value] of Object.entries({ error, nth, repeat, seen: 0, failed: 0, scope })) {
      this.set(name, value);
    }
    this.set('classes', classes);
  }

  heal() {
    this.fail(0, 0);
  }

  // How many calls were counted and how many of them failed since fail().
  get seen() {
    return Number(this.get('seen'));
  }

  get failed() {
    return Number(this.get('failed'));
  }

  // So many bytes are free in the directory from now on; null: as many as the real disk has.
  budget(bytes) {
    this.set('free', bytes === null ? NO_BUDGET : bytes);
  }

  get free() {
    return Number(this.get('free'));
  }

  // A server on this disk, not started yet.
  server(options = {}) {
    const directory = fs.realpathSync(options.location ?? emptyDirectory());
    return new Server({
      ...options,
      location: directory,
      env: {
        LD_PRELOAD: shim,
        ZAFFRE_FAIL_DIRECTORY: directory,
        ZAFFRE_FAIL_CONTROL: this.path,
        ...options.env,
      },
    });
  }
}
