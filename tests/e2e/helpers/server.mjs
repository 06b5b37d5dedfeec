// Starts the real server for a test file: a free port, an empty directory, its output kept.
//
// A test file starts its server at the top with `await startServer()`, and ends with
// `stopsCleanly(server)`, which is a test of its own: the server leaves with status 0 and says
// nothing that a sanitizer or an assertion says.  When a test of the file failed, the server's
// output is printed as the process ends.

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..');
export const binary = path.resolve(process.env.ZAFFRE ?? path.join(root, 'build/zaffre'));

export const account = 'devstoreaccount1';
export const key =
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';

const LOG_PRINTED_CHARS = 16 * 1024;
const READY_MS = 30_000;
const STOP_MS = 30_000;
const COMPLAINTS =
  /AddressSanitizer|LeakSanitizer|UndefinedBehavior|runtime error:|[Aa]ssertion|panic/;

const started = new Set();
const directories = new Set();

process.on('exit', (code) => {
  for (const server of started) {
    if (server.isRunning()) server.child.kill('SIGKILL');
    if (code !== 0 || process.exitCode) {
      process.stderr.write(`--- output of server ${server.child.pid} ---\n`);
      process.stderr.write(`${server.log.slice(-LOG_PRINTED_CHARS)}\n---\n`);
    }
  }
  for (const directory of directories) fs.rmSync(directory, { recursive: true, force: true });
});

// An empty directory that goes away with the process.
export function emptyDirectory() {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'zaffre-test-'));
  directories.add(directory);
  return directory;
}

// A program with its output gathered in `log`; `exited` resolves to { code, signal }.
export function run(args, { env = {}, program = binary, cwd } = {}) {
  const child = spawn(program, args, {
    env: { ...process.env, AZURITE_ACCOUNTS: '', ...env },
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const process_ = { child, log: '', out: '', err: '', end: null };
  const gather = (name) => (data) => {
    process_[name] += data;
    process_.log += data;
    process_.onOutput?.();
  };
  child.stdout.on('data', gather('out'));
  child.stderr.on('data', gather('err'));
  process_.exited = new Promise((resolve) => {
    child.on('error', (error) => {
      process_.log += `cannot start ${program}: ${error.message}\n`;
      resolve((process_.end = { code: null, signal: null }));
    });
    // 'close' and not 'exit': the output is complete then.
    child.on('close', (code, signal) => resolve((process_.end = { code, signal })));
  });
  process_.isRunning = () => process_.end === null;
  return process_;
}

// The result of `promise`, or a failure that says what did not happen in time.
export async function within(ms, what, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${ms} ms: ${what}`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

// Asks `probe` again and again until it gives a true value, which is returned.
export async function eventually(ms, what, probe) {
  const end = Date.now() + ms;
  for (;;) {
    const value = await probe();
    if (value) return value;
    if (Date.now() > end) throw new Error(`not within ${ms} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export class Server {
  constructor(options) {
    this.options = options;
    this.directory = options.location ?? (options.memory ? null : emptyDirectory());
    this.account = options.account ?? account;
    this.key = options.key ?? key;
    this.earlierLog = '';
  }

  get log() {
    return this.earlierLog + this.process.log;
  }

  get child() {
    return this.process.child;
  }

  isRunning() {
    return this.process.isRunning();
  }

  async start() {
    const args = ['--blobPort', '0', '--queuePort', '0', '--tablePort', '0', '--filePort', '0',
      '--adminPort', '0'];
    if (this.directory !== null) args.push('--location', this.directory);
    args.push(...(this.options.args ?? []));
    if (this.process) this.earlierLog += this.process.log;
    this.process = run(args, this.options);
    started.add(this);
    const ready = new Promise((resolve) => {
      this.process.onOutput = () => {
        const find = (words) =>
          new RegExp(`${words} listening at (https?://(\\S+):(\\d+))\\n`).exec(this.process.out);
        const lines = ['Blob', 'Queue', 'Table', 'File']
          .map((name) => find(`${name} service is successfully`));
        lines.push(find('Admin endpoint is'));
        if (lines.every((line) => line !== null)) resolve(lines);
      };
    });
    const result = await within(READY_MS, 'the ready lines of the server',
      Promise.race([ready, this.process.exited]));
    if (!Array.isArray(result)) throw new Error(`the server ended at start:\n${this.process.log}`);
    const [[, origin, host, port], [, queueOrigin], [, tableOrigin], [, fileOrigin],
      [, adminUrl]] = result;
    this.origin = origin;
    this.host = host;
    this.port = Number(port);
    this.adminUrl = adminUrl;
    this.url = `${origin}/${this.account}`;
    this.queueUrl = `${queueOrigin}/${this.account}`;
    this.tableUrl = `${tableOrigin}/${this.account}`;
    this.fileUrl = `${fileOrigin}/${this.account}`;
    // Neither the child nor its pipes keep a finished test process alive.
    this.child.unref();
    this.child.stdout.unref();
    this.child.stderr.unref();
    return this;
  }

  // Sends the signal and waits for the end: { code, signal }.
  async stop(signal = 'SIGTERM') {
    this.child.ref();
    this.child.stdout.ref();
    this.child.stderr.ref();
    if (this.isRunning()) this.child.kill(signal);
    try {
      return await within(STOP_MS, `the end of the server after ${signal}`, this.process.exited);
    } finally {
      if (this.isRunning()) this.child.kill('SIGKILL');
    }
  }

  // Forgets a server that has ended: its output is not printed when a test fails.
  discard() {
    started.delete(this);
  }

  // Stops the server and starts it on the same directory; its port changes.
  async restart(signal = 'SIGTERM') {
    const end = await this.stop(signal);
    await this.start();
    return end;
  }

  connectionString() {
    return `DefaultEndpointsProtocol=${this.origin.split(':')[0]};AccountName=${this.account};` +
      `AccountKey=${this.key};BlobEndpoint=${this.url};QueueEndpoint=${this.queueUrl};` +
      `TableEndpoint=${this.tableUrl};FileEndpoint=${this.fileUrl};`;
  }

  // The official client.  It does not repeat a failed request: the tests want to see it.
  client(options = {}) {
    const credential = new StorageSharedKeyCredential(this.account, this.key);
    return new BlobServiceClient(this.url, credential, { ...noRetry, ...options });
  }
}

export const noRetry = { retryOptions: { maxTries: 1 } };

export async function startServer(options = {}) {
  return new Server(options).start();
}

export function assertNoComplaint(log) {
  const line = log.split('\n').find((text) => COMPLAINTS.test(text));
  assert.equal(line, undefined, 'the server complained about itself');
}

// `zaffre fsck` on a directory that no server uses: { code, lines, err }.
export async function fsck(directory, ...more) {
  const process_ = run(['fsck', '--location', directory, ...more]);
  const { code } = await within(STOP_MS, 'the end of fsck', process_.exited);
  assertNoComplaint(process_.log);
  return { code, lines: process_.out.trim().split('\n'), err: process_.err };
}

// The last test of a file: what the server leaves behind holds together, too.
export function stopsCleanly(server) {
  test('the server is still there at the end and stops with status 0', async () => {
    assert.ok(server.isRunning(), 'the server ended during the tests');
    const end = await server.stop();
    assert.deepEqual(end, { code: 0, signal: null });
    assertNoComplaint(server.log);
    if (server.directory === null) return;
    const { code, lines } = await fsck(server.directory);
    assert.equal(code, 0, lines.join('\n'));
  });
}
