// The command line, signals, the data directory, and the admin endpoint.

import test from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { account, assertNoComplaint, binary, emptyDirectory, eventually, key as wellKnownKey, run,
  startServer, within } from '../e2e/helpers/server.mjs';
import { RawConnection, head } from '../e2e/helpers/raw.mjs';
import { accountSas, VERSION } from '../e2e/helpers/sign.mjs';
import { blockBlob, sasSender } from '../e2e/helpers/http.mjs';

const END_MS = 15_000;
const PORTS = ['--blobPort', '0', '--queuePort', '0', '--tablePort', '0', '--filePort', '0',
  '--adminPort', '0'];

// Runs the program to its end: { code, signal, out, err }.
async function ends(args, options) {
  const attempt = run(args, options);
  try {
    const end = await within(END_MS, `the end of ${args.join(' ')}`, attempt.exited);
    assertNoComplaint(attempt.log);
    return { ...end, out: attempt.out, err: attempt.err };
  } finally {
    if (attempt.isRunning()) attempt.child.kill('SIGKILL');
  }
}

const ready = (attempt) => eventually(END_MS, 'the server to be ready',
  () => attempt.out.includes('Blob service is successfully listening'));

const FLAGS = ['--location', '--silent', '--debug', '--blobHost', '--blobPort', '--queueHost',
  '--queuePort', '--tableHost', '--tablePort', '--fileHost', '--filePort', '--adminHost',
  '--adminPort', '--cert', '--key', '--pwd', '--oauth', '--loose', '--skipApiVersionCheck',
  '--disableProductStyleUrl', '--inMemoryPersistence', '--allowWellKnownKey', '--config',
  '--version', '--help'];

test('--help names every flag on standard output', async () => {
  const { code, out } = await ends(['--help']);
  assert.equal(code, 0);
  for (const flag of FLAGS) assert.ok(out.includes(flag), `${flag} is missing`);
});

test('--version prints a version and nothing else', async () => {
  const { code, out } = await ends(['--version']);
  assert.equal(code, 0);
  assert.match(out, /^(\S+ )?\d+\.\d+\.\d+\n$/);
});

test('an unknown flag, a missing value or a bad one exits with 2 and says which', async () => {
  const cases = [
    [['--nonsense'], /--nonsense/],
    [['--blobPort'], /--blobPort/],
    [['--blobPort', 'x'], /--blobPort/],
    [['--blobPort', '70000'], /--blobPort/],
    [['--blobPort', '-1'], /--blobPort/],
    [['stray'], /stray/],
    [['-z'], /-z/],
  ];
  for (const [args, named] of cases) {
    const { code, err } = await ends([...args]);
    assert.equal(code, 2, args.join(' '));
    assert.match(err, named);
  }
});

test('the flags of azurite that change nothing here are accepted', async () => {
  const debugLog = path.join(emptyDirectory(), 'debug.log');
  const server = await startServer({ args: ['--silent', '--loose', '--skipApiVersionCheck',
    '--disableProductStyleUrl', '--disableTelemetry', '--blobHost', '127.0.0.1', '--queueHost',
    '127.0.0.1', '--tableHost', '127.0.0.1', '--debug', debugLog] });
  assert.equal((await sasSender(server)('PUT', 'flags?restype=container')).status, 201);
  assert.deepEqual(await server.stop(), { code: 0, signal: null });
  assert.ok(fs.statSync(debugLog).size > 0, 'the debug log is written');
});

test('the short flags mean the same', async () => {
  const directory = emptyDirectory();
  const attempt = run([...PORTS, '-l', directory, '-s']);
  await ready(attempt);
  assert.ok(fs.readdirSync(directory).length > 0);
  attempt.child.kill('SIGTERM');
  assert.equal((await attempt.exited).code, 0);
});

test('run under the name azurite it is the same program', async () => {
  const directory = emptyDirectory();
  const link = path.join(directory, 'azurite');
  fs.symlinkSync(binary, link);
  const server = await startServer({ program: link });
  assert.equal((await sasSender(server)('PUT', 'linked?restype=container')).status, 201);
  assert.deepEqual(await server.stop(), { code: 0, signal: null });
});

test('the current directory is the location when none is given', async () => {
  const cwd = emptyDirectory();
  const attempt = run([...PORTS], { cwd });
  await ready(attempt);
  assert.ok(fs.readdirSync(cwd).length > 0);
  attempt.child.kill('SIGTERM');
  assert.equal((await attempt.exited).code, 0);
});

test('a location that does not exist is made', async () => {
  const location = path.join(emptyDirectory(), 'deep', 'er');
  const server = await startServer({ location });
  assert.ok(fs.existsSync(location));
  await server.stop();
});

test('--inMemoryPersistence serves and leaves nothing on the disk', async () => {
  const cwd = emptyDirectory();
  const server = await startServer({ memory: true, args: ['--inMemoryPersistence'], cwd });
  const send = sasSender(server);
  await send('PUT', 'memory?restype=container');
  for (const size of [10, 300_000]) {
    const body = Buffer.alloc(size, 'm');
    assert.equal((await send('PUT', 'memory/b', blockBlob, body)).status, 201);
    assert.ok((await send('GET', 'memory/b')).body.equals(body));
  }
  assert.deepEqual(await server.stop(), { code: 0, signal: null });
  assert.deepEqual(fs.readdirSync(cwd), []);
  await server.start();
  assert.equal((await sasSender(server)('HEAD', 'memory/b')).status, 404);
  await server.stop();
});

test('--config reads flags from a file, and the command line wins', async () => {
  const file = path.join(emptyDirectory(), 'zaffre.conf');
  fs.writeFileSync(file, 'nonsense-setting = 1\n');
  const bad = await ends(['--config', file]);
  assert.equal(bad.code, 2);
  assert.match(bad.err, /nonsense-setting/);
  const missing = await ends(['--config', `${file}.missing`]);
  assert.equal(missing.code, 2);

  const [fromFile, fromLine] = [emptyDirectory(), emptyDirectory()];
  fs.writeFileSync(file, `location = ${fromFile}\nsilent = true\n`);
  for (const [args, used, unused] of [[[], fromFile, fromLine],
    [['--location', fromLine], fromLine, null]]) {
    const server = await startServer({ memory: true, args: ['--config', file, ...args] });
    await server.stop();
    assert.ok(fs.readdirSync(used).length > 0);
    if (unused !== null) assert.deepEqual(fs.readdirSync(unused), []);
  }
});

// --- the data directory ---

test('a second server on the same directory is refused with a clear message', async () => {
  const server = await startServer();
  const { code, err } = await ends([...PORTS, '--location', server.directory]);
  assert.notEqual(code, 0);
  assert.notEqual(code, null);
  assert.match(err, /another process|in use|locked/i);
  assert.ok(err.includes(server.directory), 'the message names the directory');
  assert.equal((await sasSender(server)('GET', '?comp=list')).status, 200, 'the first one goes on');
  await server.stop();
  const again = await startServer({ location: server.directory });
  await again.stop();
});

function snapshot(directory) {
  return Object.fromEntries(fs.readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const full = path.join(entry.path ?? entry.parentPath ?? directory, entry.name);
      return [full, fs.readFileSync(full).toString('base64')];
    }));
}

test('a directory of an unknown format is refused and left untouched', async () => {
  const server = await startServer();
  await sasSender(server)('PUT', 'formatted?restype=container');
  await server.stop();
  const format = path.join(server.directory, 'FORMAT');
  const known = fs.readFileSync(format, 'utf8');
  for (const unknown of [known.replace(/\d+/, '9999'), 'something else\n', '']) {
    fs.writeFileSync(format, unknown);
    const before = snapshot(server.directory);
    const { code, err } = await ends([...PORTS, '--location', server.directory]);
    assert.notEqual(code, 0, JSON.stringify(unknown));
    assert.notEqual(code, null);
    assert.match(err, /format/i);
    const { [path.join(server.directory, 'LOCK')]: _, ...after } = snapshot(server.directory);
    const { [path.join(server.directory, 'LOCK')]: __, ...was } = before;
    assert.deepEqual(Object.keys(after).sort(), Object.keys(was).sort());
    assert.deepEqual(after, was);
  }
  fs.writeFileSync(format, known);
  await server.start();
  assert.equal((await sasSender(server)('HEAD', 'formatted?restype=container')).status, 200);
  await server.stop();
});

test('a location that is a file or cannot be written is refused with a message', async () => {
  const file = path.join(emptyDirectory(), 'file');
  fs.writeFileSync(file, 'x');
  for (const location of [file, path.join(file, 'below'), '/proc/zaffre']) {
    const { code, err } = await ends([...PORTS, '--location', location]);
    assert.notEqual(code, 0, location);
    assert.notEqual(code, null, location);
    assert.ok(err.length > 0);
  }
});

test('a port that is taken is refused with a message that names it', async () => {
  const server = await startServer();
  const { code, err } = await ends([...PORTS, '--blobPort', String(server.port),
    '--location', emptyDirectory()]);
  assert.notEqual(code, 0);
  assert.notEqual(code, null);
  assert.ok(err.includes(String(server.port)));
  await server.stop();
});

test('a listener others can reach needs a key of its own, or leave to do without', async () => {
  const open = [...PORTS, '--blobHost', '0.0.0.0', '--inMemoryPersistence'];
  const refused = await ends(open);
  assert.notEqual(refused.code, 0);
  assert.notEqual(refused.code, null);
  assert.match(refused.err, /--allowWellKnownKey/);

  const key = Buffer.alloc(64, 9).toString('base64');
  for (const options of [{ args: ['--allowWellKnownKey'] },
    { args: [], env: { AZURITE_ACCOUNTS: `own:${key}` }, account: 'own', key }]) {
    const server = await startServer({ memory: true, ...options,
      args: ['--blobHost', '0.0.0.0', '--inMemoryPersistence', ...options.args] });
    server.host = '127.0.0.1';
    assert.equal((await sasSender(server)('GET', '?comp=list')).status, 200);
    assert.equal((await server.stop()).code, 0);
  }
  const hidden = await ends(open, { env: { AZURITE_ACCOUNTS: `own:${wellKnownKey}` } });
  assert.notEqual(hidden.code, 0, 'the well-known key under another name is as well known');
});

// --- signals ---

const target = (name) => `/${account}/${name}?${accountSas()}`;

async function uploadBegun(server, size) {
  const send = sasSender(server);
  await send('PUT', 'signals?restype=container');
  const connection = await RawConnection.connect(server);
  await connection.write(head('PUT', target('signals/in-flight'), [['Host', 'localhost'],
    ['x-ms-version', VERSION], ...Object.entries(blockBlob), ['Content-Length', size]]));
  await connection.write(Buffer.alloc(size - 1000, 'f'));
  await eventually(END_MS, 'the server to begin to read the request', async () => {
    const metrics = await (await fetch(`${server.adminUrl}/metrics`)).text();
    // The request for the metrics counts itself.
    return Number(/^zaffre_requests_in_flight (\d+)$/m.exec(metrics)[1]) > 1;
  });
  return connection;
}

for (const signal of ['SIGTERM', 'SIGINT']) {
  test(`${signal} lets a request in flight finish, and then the server ends with 0`, async () => {
    const server = await startServer();
    const size = 300_000;
    const connection = await uploadBegun(server, size);
    const stopped = server.stop(signal);
    await eventually(END_MS, 'new connections to be refused', () => RawConnection.connect(server)
      .then((other) => { other.close(); return false; }, () => true));
    assert.ok(server.isRunning(), 'the server waits for the request');
    await connection.write(Buffer.alloc(1000, 'f'));
    assert.equal((await connection.response()).status, 201);
    assert.deepEqual(await stopped, { code: 0, signal: null });
    connection.close();
    assertNoComplaint(server.log);

    await server.start();
    const back = await sasSender(server)('GET', 'signals/in-flight');
    assert.ok(back.body.equals(Buffer.alloc(size, 'f')));
    await server.stop();
  });
}

test('idle connections do not hold the server back when it is told to stop', async () => {
  const server = await startServer();
  const idle = await Promise.all(Array.from({ length: 10 }, () => RawConnection.connect(server)));
  const from = Date.now();
  assert.deepEqual(await server.stop(), { code: 0, signal: null });
  assert.ok(Date.now() - from < 5_000, `${Date.now() - from} ms`);
  idle.forEach((connection) => connection.close());
});

test('a second signal ends the server at once', async () => {
  const server = await startServer();
  const connection = await uploadBegun(server, 300_000);
  server.child.ref();
  server.child.kill('SIGTERM');
  await eventually(END_MS, 'new connections to be refused', () => RawConnection.connect(server)
    .then((other) => { other.close(); return false; }, () => true));
  assert.ok(server.isRunning());
  const from = Date.now();
  server.child.kill('SIGTERM');
  await within(5_000, 'the end after a second signal', server.process.exited);
  assert.ok(Date.now() - from < 5_000);
  connection.close();
});

// --- the admin endpoint ---

function fetchText(url) {
  return new Promise((resolve, reject) => {
    http.get(url, { agent: false }, (response) => {
      let text = '';
      response.on('data', (chunk) => { text += chunk; });
      const { statusCode: status, headers } = response;
      response.on('end', () => resolve({ status, headers, text }));
    }).on('error', reject);
  });
}

test('/healthz says the server is well and /metrics counts requests', async () => {
  const server = await startServer();
  const health = await fetchText(`${server.adminUrl}/healthz`);
  assert.equal(health.status, 200);

  const send = sasSender(server);
  await send('PUT', 'metered?restype=container');
  for (let i = 0; i < 7; i++) await send('PUT', `metered/b-${i}`, blockBlob, 'x');
  for (let i = 0; i < 5; i++) await send('GET', `metered/b-${i}`);
  await send('GET', 'metered/none');
  const { status, headers, text } = await fetchText(`${server.adminUrl}/metrics`);
  assert.equal(status, 200);
  assert.match(headers['content-type'], /^text\/plain; ?version=0\.0\.4/);

  const sample = /^[a-zA-Z_:]\w*(\{\w+="[^"]*"(,\w+="[^"]*")*\})? (NaN|[+-]Inf|[-+0-9.eE]+)$/;
  const lines = text.split('\n').filter((line) => line !== '');
  assert.ok(lines.length > 10);
  for (const line of lines) {
    assert.ok(sample.test(line) || /^# (HELP|TYPE) /.test(line), line);
  }
  const counted = lines.filter((line) => /put.?blob/i.test(line) && / 7$/.test(line));
  assert.ok(counted.length > 0, 'seven Put Blobs are counted');
  const unknown = await fetchText(`${server.adminUrl}/nothing`);
  assert.equal(unknown.status, 404);
  await server.stop();
});

test('the server is ready soon after it is started on an empty directory', async () => {
  // The bench measures the time; this only sees that nothing waits on a timer.
  const from = Date.now();
  const server = await startServer();
  await sasSender(server)('GET', '?comp=list');
  assert.ok(Date.now() - from < 3_000, `${Date.now() - from} ms`);
  await server.stop();
});
