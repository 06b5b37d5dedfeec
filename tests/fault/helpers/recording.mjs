// A run of the server under load, recorded: the log of record.c, and what each thing of the four
// services was at each point of it.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  Server, assertNoComplaint, binary, emptyDirectory, run, within,
} from '../../e2e/helpers/server.mjs';
import { blobLoad } from './power_blob.mjs';
import { queueLoad } from './power_queue.mjs';
import { tableLoad } from './power_table.mjs';
import { fileLoad } from './power_file.mjs';

export const loads = [blobLoad, queueLoad, tableLoad, fileLoad];
const SHIM = path.join(path.dirname(binary), 'tests/fault/record.so');
const DIES_MS = 20_000;

// The data directory lies below the root, so that the making of its own name is in the log too.
export const DATA = 'srv/data';

// A server whose effects on a directory are recorded; one that is empty, if none is given.
export class Recorder {
  constructor(root = null) {
    const directory = fs.realpathSync(emptyDirectory());
    this.root = root === null ? path.join(directory, 'root') : fs.realpathSync(root);
    this.logPath = path.join(directory, 'log');
    fs.mkdirSync(this.root, { recursive: true });
    this.log = fs.openSync(this.logPath, 'a+');
    this.env = { LD_PRELOAD: SHIM, ZAFFRE_RECORD_ROOT: this.root, ZAFFRE_RECORD_LOG: this.logPath };
    this.server = new Server({ location: path.join(this.root, DATA), env: this.env });
  }

  close() {
    fs.closeSync(this.log);
    fs.rmSync(path.dirname(this.logPath), { recursive: true, force: true });
    this.server.discard();
  }

  // The server is killed while it makes its directory or recovers, if that takes so many events.
  async dieAtStart(events) {
    const attempt = run(['--blobPort', '0', '--queuePort', '0', '--tablePort', '0', '--filePort',
      '0', '--adminPort', '0', '--location', this.server.directory],
    { env: { ...this.env, ZAFFRE_RECORD_DIE_AFTER: events } });
    const listening = new Promise((resolve) => {
      attempt.onOutput = () => { if (attempt.out.includes('Admin endpoint')) resolve(); };
    });
    await Promise.race([attempt.exited, listening]);
    attempt.child.kill('SIGTERM');
    await within(DIES_MS, 'the end of the starting server', attempt.exited);
    assertNoComplaint(attempt.log);
  }
}

export class Recording extends Recorder {
  constructor(random, { clients, steps, rounds }) {
    super();
    Object.assign(this, { random, steps, rounds });
    const position = () => this.position();
    this.clients = loads.flatMap((load) => Array.from({ length: clients }, (_, i) =>
      Object.assign(new load.Client(i, random.between(0, 2 ** 30), position), { load })));
  }

  position() {
    return fs.fstatSync(this.log).size;
  }

  // Everything from the making of the directory on: kills, a kill during recovery, clean stops.
  async run() {
    await this.dieAtStart(this.random.between(1, 40));
    await this.server.start();
    this.ready = this.position();
    for (const load of loads) await load.prepare(load.sender(this.server));
    this.prepared = this.position();
    for (let round = 1; round <= this.rounds; round++) {
      await this.#workAndDie();
      await this.dieAtStart(this.random.between(1, 80));
      await this.server.start();
      await this.#settle();
      await this.#work(this.steps);
      assert.deepEqual(await this.server.stop(), { code: 0, signal: null });
      await this.server.start();
    }
    await this.#settle();
    await this.#work(this.steps);
    assert.deepEqual(await this.server.stop(), { code: 0, signal: null });
    assertNoComplaint(this.server.log);
  }

  async #work(steps) {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
    await Promise.all(this.clients.map((client) => {
      const { load } = client;
      Object.assign(client, { send: load.sender(this.server, { agent }), server: this.server,
        url: load.url(this.server) });
      return client.work(steps);
    }));
    agent.destroy();
  }

  async #workAndDie() {
    const work = this.#work(Infinity);
    await Promise.race([sleep(this.random.between(300, 1500)), work]);
    this.server.child.kill('SIGUSR2');
    await work;
    const end = await within(DIES_MS, 'the end of the recorded server', this.server.process.exited);
    assert.deepEqual(end, { code: null, signal: 'SIGKILL' });
    assertNoComplaint(this.server.log);
  }

  // After a restart: what was in flight has happened or not, and nothing else has.
  async #settle() {
    for (const client of this.clients) {
      const { observers, sender } = client.load;
      const send = sender(this.server);
      for (const thing of client.things) {
        const seen = await observers[thing.kind](send, thing.path);
        thing.settle(seen, this.position(), client.adopt);
      }
    }
  }

  total(name) {
    return this.clients.reduce((sum, { counts }) => sum + counts[name], 0);
  }

  get things() {
    return this.clients.flatMap(({ things }) => things);
  }

  // All that cuts need, which is also what can be kept in files.
  result() {
    const { root, ready, prepared } = this;
    return { root, ready, prepared, log: fs.readFileSync(this.logPath),
      things: JSON.parse(JSON.stringify(this.things)) };
  }
}

export function save({ log, ...facts }, directory) {
  fs.mkdirSync(directory, { recursive: true });
  fs.writeFileSync(path.join(directory, 'log'), log);
  fs.writeFileSync(path.join(directory, 'facts.json'), JSON.stringify(facts));
}

export function load(directory) {
  return { ...JSON.parse(fs.readFileSync(path.join(directory, 'facts.json'))),
    log: fs.readFileSync(path.join(directory, 'log')) };
}
