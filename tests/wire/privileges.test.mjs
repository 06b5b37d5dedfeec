// What the server may do on its machine and what others may see of it: files that are its own,
// --user after a start as root, and what it tells the service manager.

import test from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { binary, emptyDirectory, eventually, run, startServer, within }
  from '../e2e/helpers/server.mjs';
import { blockBlob, sasSender } from '../e2e/helpers/http.mjs';
import { queueSender, messageXml } from '../e2e/helpers/queue.mjs';
import { tableSender } from '../e2e/helpers/table.mjs';
import { fileSender } from '../e2e/helpers/file.mjs';
import { Random } from '../e2e/helpers/random.mjs';

const END_MS = 15_000;
const NOBODY = 65534;
const isRoot = process.getuid() === 0;
const asRoot = { skip: isRoot ? false : 'only root can become another user' };
const PORTS = ['--blobPort', '0', '--queuePort', '0', '--tablePort', '0', '--filePort', '0',
  '--adminPort', '0'];

// Everything below a directory: [path, stat].
function walk(directory) {
  return fs.readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const at = path.join(directory, entry.name);
    return [[at, fs.lstatSync(at)], ...(entry.isDirectory() ? walk(at) : [])];
  });
}

// Something in every service, and enough for files of every kind.
async function fill(server) {
  const blob = sasSender(server);
  await blob('PUT', 'box?restype=container');
  await blob('PUT', 'box/large', blockBlob, new Random(1).bytes(1_000_000));
  await blob('PUT', 'box/small', blockBlob, 'small');
  const queue = queueSender(server);
  await queue('PUT', 'queue');
  await queue('POST', 'queue/messages', {}, messageXml('text'));
  const table = tableSender(server);
  await table('POST', 'Tables', { 'Content-Type': 'application/json' }, '{"TableName":"table"}');
  const file = fileSender(server);
  await file('PUT', 'share?restype=share');
  const answers = [await blob('GET', 'box/small'), await queue('GET', 'queue?comp=metadata'),
    await table('GET', 'table()'), await file('GET', 'share?restype=share')];
  assert.deepEqual(answers.map(({ status }) => status), [200, 200, 200, 200]);
}

function assertPrivate(entries) {
  assert.ok(entries.length > 5, 'there is something to look at');
  const seen = entries.filter(([, stat]) => !stat.isSymbolicLink() && (stat.mode & 0o077) !== 0)
    .map(([at, stat]) => `${at} ${(stat.mode & 0o777).toString(8)}`);
  assert.deepEqual(seen, []);
}

test('nobody else can read what the server writes, whatever umask it is given', async () => {
  const old = process.umask(0o000);
  const directory = emptyDirectory();
  const location = path.join(directory, 'data');
  const server = await startServer({ location, args: ['--debug', path.join(directory, 'log')] });
  process.umask(old);
  await fill(server);
  assertPrivate(walk(directory));
  await server.restart();
  await fill(server);
  await server.stop();
  assertPrivate(walk(directory));
});

function statusOf(pid) {
  const lines = fs.readFileSync(`/proc/${pid}/status`, 'utf8').split('\n');
  return Object.fromEntries(lines.map((line) => line.split(':\t'))
    .filter(({ length }) => length === 2));
}

// Threads have ids of their own: one that kept root's would be a way back.
function threadsOf(pid) {
  return fs.readdirSync(`/proc/${pid}/task`).map((id) => statusOf(`${pid}/task/${id}`));
}

// A directory that the user can pass through.
function openDirectory() {
  const directory = emptyDirectory();
  fs.chmodSync(directory, 0o711);
  return directory;
}

test('started as root with --user, it is that user in every thread and cannot go back', asRoot,
  async () => {
    const location = path.join(openDirectory(), 'data');
    const server = await startServer({ location, args: ['--user', 'nobody'] });
    await fill(server);
    const threads = threadsOf(server.child.pid);
    assert.ok(threads.length > 3);
    for (const status of threads) {
      assert.equal(status.Uid, Array(4).fill(NOBODY).join('\t'), status.Name);
      assert.equal(status.Gid, Array(4).fill(NOBODY).join('\t'), status.Name);
      assert.doesNotMatch(status.Groups ?? '', /\b0\b/, status.Name);
      assert.match(status.CapEff, /^0+$/, status.Name);
      assert.match(status.CapPrm, /^0+$/, status.Name);
      assert.equal(status.NoNewPrivs, '1', status.Name);
    }
    const entries = [[location, fs.lstatSync(location)], ...walk(location)];
    assertPrivate(entries);
    for (const [at, stat] of entries) assert.equal(stat.uid, NOBODY, at);
    assert.doesNotMatch(server.log, /running as root/);
    await server.restart();
    await fill(server);
    assert.deepEqual(await server.stop(), { code: 0, signal: null });
  });

test('with --user it has the ports and the key that only root can open', asRoot, async () => {
  const directory = openDirectory();
  const [cert, key] = ['cert.pem', 'key.pem'].map((name) => path.join(directory, name));
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj',
    '/CN=localhost', '-keyout', key, '-out', cert], { stdio: 'ignore' });
  fs.chmodSync(key, 0o600);
  let server = null;
  // Somebody may have the port; a few are tried.
  for (let port = 700; server === null; port++) {
    server = await startServer({ location: path.join(directory, 'data'), args: ['--user', 'nobody',
      '--cert', cert, '--key', key, '--blobPort', String(port)] }).catch((error) => {
      if (port > 720 || !/Address already in use/.test(error.message)) throw error;
      return null;
    });
  }
  assert.ok(server.port < 1024);
  const send = sasSender(server,
    { tls: { ca: fs.readFileSync(cert), checkServerIdentity: () => {} } });
  assert.equal((await send('PUT', 'box?restype=container')).status, 201);
  assert.deepEqual(await server.stop(), { code: 0, signal: null });
});

async function refusal(args, options) {
  const attempt = run([...PORTS, ...args], options);
  const end = await within(END_MS, `the end of ${args.join(' ')}`, attempt.exited)
    .finally(() => attempt.child.kill('SIGKILL'));
  assert.equal(end.code, 1, attempt.log);
  return attempt.err;
}

test('a data directory of somebody else is neither used nor given away', asRoot, async () => {
  const location = path.join(openDirectory(), 'data');
  fs.mkdirSync(location, { mode: 0o700 });
  assert.match(await refusal(['--user', 'nobody', '--location', location]), /Permission denied/);
  assert.equal(fs.lstatSync(location).uid, 0);
  assert.deepEqual(fs.readdirSync(location), []);
});

test('a user that does not exist is refused', async () => {
  assert.match(await refusal(['--user', 'no-such-user-here', '--inMemoryPersistence']),
    /no such user/);
});

test('only root can become another user', asRoot, () => {
  const args = [...PORTS, '--inMemoryPersistence', '--user', 'daemon'];
  const { status, stderr } = spawnSync(binary, args,
    { uid: NOBODY, gid: NOBODY, encoding: 'utf8', timeout: END_MS,
      env: { ...process.env, AZURITE_ACCOUNTS: '' } });
  assert.equal(status, 1, stderr);
  assert.match(stderr, /only root can become another user/);
});

test('root without --user is warned', asRoot, async () => {
  const server = await startServer({ memory: true, args: ['--inMemoryPersistence'] });
  assert.match(server.log, /warn main: running as root; --user/);
  await server.stop();
});

// The manager's socket: Node has no datagrams of that family.
const LISTEN = `
import socket, sys
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(sys.argv[1].replace('@', '\\0', 1))
print('bound', flush=True)
while True:
    print(manager.recv(4096).decode(), flush=True)
`;

test('the service manager is told when the server is ready and when it stops', async (t) => {
  const names = [path.join(emptyDirectory(), 'notify'), `@zaffre-test-${process.pid}`];
  for (const name of names) {
    const manager = spawn('python3', ['-c', LISTEN, name],
      { stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => manager.kill());
    let heard = '';
    manager.stdout.on('data', (data) => { heard += data; });
    const hears = (text) => eventually(END_MS, `${text} at ${name}`, () => heard.includes(text));
    await hears('bound');
    const server = await startServer({ memory: true, args: ['--inMemoryPersistence'],
      env: { NOTIFY_SOCKET: name } });
    await hears('READY=1\n');
    assert.ok(!heard.includes('STOPPING'));
    assert.deepEqual(await server.stop(), { code: 0, signal: null });
    await hears('STOPPING=1\n');
    manager.kill();
  }
});

test('a service manager that is not there does no harm', async () => {
  for (const name of ['/nonexistent/socket', 'relative', '@', '', `/${'x'.repeat(200)}`]) {
    const server = await startServer({ memory: true, args: ['--inMemoryPersistence'],
      env: { NOTIFY_SOCKET: name } });
    assert.deepEqual(await server.stop(), { code: 0, signal: null });
  }
});
