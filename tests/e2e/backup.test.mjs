// `zaffre backup` and `zaffre restore`: a backup under load is one moment of the store, byte for
// byte; what is interrupted is no backup; what is damaged is not restored unasked.
//
//   ZAFFRE_SEED             repeats the choices of a run (its timing is the machine's)
//   ZAFFRE_BACKUP_ROUNDS    how many backups are made under load; 4 by default

import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import test from 'node:test';
import assert from 'node:assert/strict';
import { binary, emptyDirectory, eventually, fsck, run, startServer, stopsCleanly, within }
  from './helpers/server.mjs';
import { Load, backup, command, finished, restore } from './helpers/backup.mjs';
import { seeded } from './helpers/random.mjs';

const ROUNDS = Number(process.env.ZAFFRE_BACKUP_ROUNDS ?? 4);
const MIB = 1024 * 1024;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const random = seeded('backup');
const server = await startServer();
const place = emptyDirectory();
const load = new Load(server, { writers: 6, seed: random.between(1, 2 ** 30) });
await load.prepare();

// Payloads that the load leaves alone: of an extent of their own, of several blocks, and so small
// that they are in the database, but in a file beside its tables.
const big = random.bytes(70 * MIB);
const container = server.client().getContainerClient('kept');
await container.create();
await container.getBlockBlobClient('whole').upload(big, big.length);
await container.getBlockBlobClient('blocks').uploadData(big.subarray(0, 20 * MIB),
  { blockSize: 3 * MIB, maxSingleShotSize: MIB });
await container.getBlockBlobClient('small').upload(big.subarray(0, 5000), 5000);

async function assertBigIsThere(other) {
  const kept = other.client().getContainerClient('kept');
  assert.ok((await kept.getBlockBlobClient('whole').downloadToBuffer()).equals(big));
  assert.ok((await kept.getBlockBlobClient('blocks').downloadToBuffer())
    .equals(big.subarray(0, 20 * MIB)));
  assert.ok((await kept.getBlockBlobClient('small').downloadToBuffer())
    .equals(big.subarray(0, 5000)));
}

// Serves a restored directory for as long as `use` takes, and checks what it leaves.
async function served(directory, use) {
  const other = await startServer({ location: directory });
  try {
    await use(other);
  } finally {
    await other.stop();
  }
  const { code, lines } = await fsck(directory);
  assert.equal(code, 0, lines.join('\n'));
}

const checkpoint = path.join(server.directory, 'checkpoint');
const letGo = () => eventually(20_000, 'the server lets go of the checkpoint',
  () => !fs.existsSync(checkpoint));

const first = path.join(place, 'first');

test('a backup under load is one moment of all services, and nothing of it is torn', async () => {
  load.start();
  for (let round = 0; round < ROUNDS; round++) {
    await pause(random.between(200, 1500));
    const to = round === 0 ? first : path.join(place, `round-${round}`);
    const from = load.instant;
    const process_ = run(['backup', '--location', server.directory, '--to', to]);
    if (round % 2 === 1) {
      // Whoever copies slowly finds everything still there, however often it was overwritten.
      await eventually(20_000, 'the copy begins', () =>
        fs.existsSync(`${to}.partial/meta/CURRENT`) || !process_.isRunning());
      process_.child.kill('SIGSTOP');
      await pause(3000);
      process_.child.kill('SIGCONT');
    }
    const { code, out, err } = await finished(process_);
    const until = load.instant;
    assert.equal(code, 0, out + err);
    assert.match(out, /: clean\nbackup: .* is complete\n$/);
    await letGo();

    const restored = path.join(place, `restored-${round}`);
    const end = await restore(to, restored);
    assert.equal(end.code, 0, end.out + end.err);
    await served(restored, async (other) => {
      load.assertOneMoment(await load.counts(other), from, until);
      if (round === 0) await assertBigIsThere(other);
    });
    fs.rmSync(restored, { recursive: true });
    if (round > 0) fs.rmSync(to, { recursive: true });
  }
  const changes = load.writers.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0);
  console.log(`backup: ${ROUNDS} backups in ${changes} changes`);
});

test('an interrupted backup leaves nothing that is taken for one, and the next one its place',
  async () => {
    const to = path.join(place, 'interrupted');
    for (let round = 0; round < 5; round++) {
      const process_ = run(['backup', '--location', server.directory, '--to', to]);
      await pause(random.between(0, 400));
      process_.child.kill('SIGKILL');
      await process_.exited;
      if (fs.existsSync(to)) { // it was quicker, and the name is that of a whole one
        assert.equal((await fsck(to)).code, 0);
        fs.rmSync(to, { recursive: true });
        continue;
      }
      // Killed before it made anything.
      if (!fs.existsSync(`${to}.partial`)) continue;
      // With this file it lacks nothing but its name.
      if (fs.existsSync(`${to}.partial/FORMAT`)) continue;
      const refused = await restore(`${to}.partial`, path.join(place, 'never'));
      assert.equal(refused.code, 2);
      assert.ok(!fs.existsSync(path.join(place, 'never')));
      const checked = await fsck(`${to}.partial`);
      assert.notEqual(checked.code, 0);
      await letGo();
    }
    const { code, out, err } = await backup(server.directory, to);
    assert.equal(code, 0, out + err);
    assert.ok(!fs.existsSync(`${to}.partial`));
    fs.rmSync(to, { recursive: true });
  });

test('a second backup at the same time is refused, and does not disturb the first', async () => {
  const socket = net.connect(path.join(server.directory, 'CONTROL'));
  socket.write('backup\n');
  const [answer] = await within(20_000, 'the checkpoint', new Promise((resolve) => {
    socket.on('data', (data) => resolve([data.toString()]));
  }));
  assert.equal(answer, 'ready\n');
  const { code, err } = await backup(server.directory, path.join(place, 'second'));
  assert.equal(code, 2);
  assert.match(err, /another backup of .* is under way/);
  assert.ok(!fs.existsSync(path.join(place, 'second')));
  assert.ok(!fs.existsSync(path.join(place, 'second.partial')));
  assert.ok(fs.existsSync(checkpoint));
  socket.destroy();
  await letGo();
});

test('what is no word of the protocol ends the connection, and the server goes on', async () => {
  for (const words of ['done\n', 'x'.repeat(1000), 'backup', '\n', 'backup\nbackup\n']) {
    const socket = net.connect(path.join(server.directory, 'CONTROL'));
    socket.on('error', () => {});
    socket.end(words);
    await within(20_000, `the end after ${words.slice(0, 10)}`,
      new Promise((resolve) => socket.on('close', resolve)));
  }
  await letGo();
});

test('the socket is for the user of the server alone', () => {
  const { mode } = fs.lstatSync(path.join(server.directory, 'CONTROL'));
  assert.equal(mode & 0o777, 0o600);
});

test('a backup that runs out of space is no backup, and says so', async (t) => {
  const to = path.join(place, 'full');
  fs.mkdirSync(path.join(place, 'small'));
  const script = `mount -t tmpfs -o size=8m none "$1" && exec "$2" backup -l "$3" --to "$1/full"`;
  const { status, stderr } = spawnSync('unshare', ['-Urm', 'sh', '-c', script, 'sh',
    path.join(place, 'small'), binary, server.directory]);
  if (status === 2) {
    assert.match(stderr.toString(), /there is no backup: the disk is full/);
  } else {
    t.diagnostic(`no file system of its own here: ${stderr}`);
  }
  await letGo();
  // A write that is refused in any place, by a limit on the length of files.
  for (const kib of [0, 4, 64, 1024, 20_000]) {
    const refused = spawnSync('sh', ['-c',
      `trap "" XFSZ; ulimit -f ${kib * 2}; exec "$1" backup -l "$2" --to "$3"`, 'sh', binary,
      server.directory, to]);
    assert.equal(refused.status, 2, `${kib} KiB: ${refused.stdout}${refused.stderr}`);
    assert.match(refused.stderr.toString(), /there is no backup/);
    assert.ok(!fs.existsSync(to));
    assert.ok(!fs.existsSync(`${to}.partial`), 'and its space is given back');
    await letGo();
  }
});

test('a server that is killed in the middle of a backup ends the backup, and starts again',
  async () => {
    await load.stop();
    const to = path.join(place, 'killed');
    const process_ = run(['backup', '--location', server.directory, '--to', to]);
    await eventually(20_000, 'the copy begins', () => fs.existsSync(`${to}.partial/meta/CURRENT`));
    process_.child.kill('SIGSTOP');
    await server.stop('SIGKILL');
    process_.child.kill('SIGCONT');
    const { code, err } = await finished(process_);
    assert.equal(code, 2);
    assert.match(err, /the server ended before the copy was complete/);
    assert.ok(!fs.existsSync(to));
    assert.ok(fs.existsSync(checkpoint), 'the kill came in the middle');
    await server.start();
    await letGo();
  });

test('a backup of a server that is stopped is the same', async () => {
  await server.stop();
  const to = path.join(place, 'stopped');
  const { code, out, err } = await backup(server.directory, to);
  assert.equal(code, 0, out + err);
  await server.start();
  const restored = path.join(place, 'restored');
  assert.equal((await restore(to, restored)).code, 0);
  await served(restored, async (other) => {
    assert.deepEqual(await load.counts(other), load.writers.map((w) => w.acknowledged.length));
    await assertBigIsThere(other);
  });
  fs.rmSync(restored, { recursive: true });
  fs.rmSync(to, { recursive: true });
});

test('extents that are the same in an earlier backup are linked', async () => {
  const second = path.join(place, 'linked');
  const { code, out, err } = await backup(server.directory, second, '--previous', first);
  assert.equal(code, 0, out + err);
  const linked = Number(/, (\d+) bytes linked/.exec(out)?.[1] ?? 0);
  assert.ok(linked >= 70 * MIB, out);
  const restored = path.join(place, 'restored-linked');
  assert.equal((await restore(second, restored)).code, 0);
  await served(restored, assertBigIsThere);
  fs.rmSync(restored, { recursive: true });
  fs.rmSync(second, { recursive: true });
  // The link was one name of several.
  const again = await fsck(first);
  assert.equal(again.code, 0, again.lines.join('\n'));
});

test('a server does not serve a backup, and fsck checks one', async () => {
  const process_ = run(['--location', first, '--blobPort', '0', '--queuePort', '0', '--tablePort',
    '0', '--filePort', '0', '--adminPort', '0']);
  const { code } = await process_.exited;
  assert.equal(code, 1);
  assert.match(process_.log, /is a backup: zaffre restore makes a data directory of it/);
  assert.equal((await fsck(first)).code, 0);
});

test('a directory that is not empty is not restored to, and not touched', async () => {
  const target = path.join(place, 'occupied');
  fs.mkdirSync(target);
  fs.writeFileSync(path.join(target, 'mine'), 'x');
  const { code, err } = await restore(first, target);
  assert.equal(code, 2);
  assert.match(err, /is not empty: there is mine/);
  assert.deepEqual(fs.readdirSync(target), ['mine']);
  // One that is empty is taken.
  fs.unlinkSync(path.join(target, 'mine'));
  assert.equal((await restore(first, target)).code, 0);
  fs.rmSync(target, { recursive: true });
});

// Calls `use` with a byte of a file changed, and puts it back.
async function withDamage(file, at, use) {
  const fd = fs.openSync(file, 'r+');
  const byte = Buffer.alloc(1);
  fs.readSync(fd, byte, 0, 1, at);
  fs.writeSync(fd, Buffer.from([byte[0] ^ 0x10]), 0, 1, at);
  try {
    await use();
  } finally {
    fs.writeSync(fd, byte, 0, 1, at);
    fs.closeSync(fd);
  }
}

test('a damaged backup is not restored, unless it is asked for', async () => {
  const target = path.join(place, 'damaged');
  const refused = async (file) => {
    const { code, err } = await restore(first, target);
    assert.equal(code, 2, `${file} was restored`);
    assert.deepEqual(fs.existsSync(target) ? fs.readdirSync(target) : [], [], err);
  };
  const directory = path.join(first, 'meta');
  const meta = fs.readdirSync(directory).map((name) => path.join(directory, name));
  for (const file of [...meta, path.join(first, 'BACKUP')]) {
    const { size } = fs.statSync(file);
    if (size === 0) continue;
    await withDamage(file, random.between(0, size - 1), () => refused(file));
  }
  // Files that end early: to RocksDB a log that does is one whose last commits were not made.
  for (const file of meta) {
    const whole = fs.readFileSync(file);
    if (whole.length === 0) continue;
    fs.truncateSync(file, whole.length - 1);
    await refused(`${file}, cut short,`);
    fs.writeFileSync(file, whole);
  }

  const extents = path.join(first, 'extents');
  const victim = fs.readdirSync(extents).map((name) => path.join(extents, name))
    .find((file) => fs.readFileSync(file).subarray(0, MIB).equals(big.subarray(0, MIB)));
  await withDamage(victim, 12345, async () => {
    await refused(victim);
    const { code, out } = await restore(first, target, '--evenDamaged');
    assert.equal(code, 1);
    assert.match(out, /is damaged: .*; it belongs to devstoreaccount1\/kept\/whole/);
    const other = await startServer({ location: target });
    await assert.rejects(other.client().getContainerClient('kept').getBlockBlobClient('whole')
      .download(0, MIB, { rangeGetContentMD5: true }));
    await other.stop();
    fs.rmSync(target, { recursive: true });
  });
  assert.equal((await restore(first, target)).code, 0, 'all the damage was undone');
  fs.rmSync(target, { recursive: true });
});

test('a wrong command line does nothing', async () => {
  for (const args of [['backup'], ['restore'], ['backup', '--to'], ['backup', '--what', 'x'],
    ['restore', '--from', '/nowhere/at/all', '--location', path.join(place, 'none')],
    ['backup', '--location', '/nowhere/at/all', '--to', path.join(place, 'none')],
    ['backup', '--location', server.directory, '--to', first]]) {
    const { code, err } = await command(...args);
    assert.equal(code, 2, args.join(' '));
    assert.notEqual(err, '');
  }
  assert.ok(!fs.existsSync(path.join(place, 'none')));
  assert.equal((await command('backup', '--help')).code, 0);
  assert.equal((await command('restore', '-h')).code, 0);
});

stopsCleanly(server);
