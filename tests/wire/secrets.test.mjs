// Secrets stay secret: neither a key, nor a signature that would open something, nor a password is
// in the log, on standard output or error, in the metrics or in an answer, whatever goes wrong.

import test from 'node:test';
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { emptyDirectory, run, startServer, stopsCleanly, within } from '../e2e/helpers/server.mjs';
import { RawConnection, head } from '../e2e/helpers/raw.mjs';
import { blockBlob, send, sendSigned } from '../e2e/helpers/http.mjs';
import { VERSION, accountSas, serviceSas, signed } from '../e2e/helpers/sign.mjs';

const directory = emptyDirectory();
const logPath = path.join(directory, 'debug.log');
const newKey = () => crypto.randomBytes(64).toString('base64');
const [KEY_1, KEY_2, OTHER_KEY] = [newKey(), newKey(), newKey()];
const PASSWORD = `word-${crypto.randomBytes(12).toString('hex')}`;
const owner = { account: 'owner', key: KEY_1 };

const server = await startServer({ ...owner, args: ['--debug', logPath],
  env: { AZURITE_ACCOUNTS: `owner:${KEY_1}:${KEY_2};other:${OTHER_KEY}` } });
const endpoints = [server.url, server.queueUrl, server.tableUrl, server.fileUrl].map((url) => {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port), ...owner };
});

// What must never be seen, in every form in which it could be.
const secrets = new Map();
function keep(secret, what) {
  const bytes = Buffer.from(secret, 'base64');
  for (const form of [secret, encodeURIComponent(secret), encodeURIComponent(secret).toLowerCase(),
    bytes.toString('hex'), bytes.toString('latin1')]) {
    if (form.length > 20) secrets.set(form, what);
  }
}
for (const key of [KEY_1, KEY_2, OTHER_KEY]) keep(key, 'a key');
secrets.set(PASSWORD, 'a password');

function kept(sas) {
  keep(new URLSearchParams(sas).get('sig'), 'the signature of a SAS');
  return sas;
}

const answers = [];
async function ask(endpoint, request) {
  const answer = await send(endpoint, request).catch(() => null);
  if (answer !== null) answers.push(`${JSON.stringify(answer.headers)} ${answer.body}`);
  return answer;
}

function assertSecret(text, where) {
  for (const [secret, what] of secrets) {
    const at = text.indexOf(secret);
    assert.equal(at, -1, `${where} has ${what}: ...${text.slice(Math.max(0, at - 80), at)}`);
  }
}

// Looks at all there is to look at so far.
async function assertNothingSeen() {
  const metrics = await (await fetch(`${server.adminUrl}/metrics`)).text();
  const log = fs.readFileSync(logPath, 'latin1');
  assert.match(metrics, /requests/);
  assert.ok(log.split('\n').length > 5, 'there is a log to look at');
  assertSecret(metrics, 'the metrics');
  assertSecret(log, 'the log');
  assertSecret(server.log, 'the output');
  assert.ok(answers.length > 0);
  for (const answer of answers.splice(0)) assertSecret(answer, 'an answer');
}

const PATHS = [['GET', '?comp=list'], ['PUT', 'box?restype=container'],
  ['PUT', 'box?restype=share'], ['PUT', 'box'], ['GET', 'box/b'], ['PUT', 'box/b'],
  ['DELETE', 'box/none'], ['GET', 'Tables'],
  ['GET', 'box?restype=container&comp=acl'], ['PUT', '%zz'], ['GET', 'box/%00'],
  ['POST', 'box/messages'], ['GET', 'a'.repeat(3000)]];

test('requests by Shared Key, good and bad, leave no secret behind', async () => {
  for (const endpoint of endpoints) {
    for (const [method, at] of PATHS) {
      const target = `/owner/${at}`;
      for (const key of [KEY_1, KEY_2, OTHER_KEY]) {
        for (const lite of [false, true]) {
          const headers = signed(method, target, method === 'GET' ? {} : { 'Content-Length': 0 },
            { account: 'owner', key, lite });
          keep(headers.Authorization.split(':')[1], 'the signature of a request');
          await ask(endpoint, { method, target, headers });
        }
      }
      // What somebody may put there by mistake.
      for (const value of [`SharedKey owner:${KEY_1}`, `SharedKey ${KEY_1}`, KEY_1,
        `Bearer ${KEY_1}`, `Basic ${KEY_1}`]) {
        await ask(endpoint, { method, target, headers: { Authorization: value,
          'x-ms-version': VERSION, 'x-ms-date': new Date().toUTCString() } });
      }
    }
  }
  await assertNothingSeen();
});

test('requests by SAS, good and bad, leave no secret behind', async () => {
  for (const endpoint of endpoints) {
    const sas = [
      accountSas({ ss: 'bqtf', sp: 'rwdlacup' }, owner), accountSas({ ss: 'bqtf', sp: 'l' }, owner),
      accountSas({ ss: 'q' }, owner), accountSas({ ss: 'b', se: '2001-01-01' }, owner),
      accountSas({ ss: 'bqtf' }, { ...owner, key: OTHER_KEY }),
      accountSas({ sip: '10.0.0.1', ss: 'bqtf' }, owner),
      accountSas({ sv: '2031-99-99', ss: 'bqtf' }, owner),
      serviceSas('box', null, {}, owner), serviceSas('box', 'b', { si: 'none' }, owner),
      serviceSas('box', 'b', { sr: 'x' }, owner),
    ].map(kept);
    for (const [method, at] of PATHS) {
      for (const query of sas) {
        const target = `/owner/${at}${at.includes('?') ? '&' : '?'}${query}`;
        await ask(endpoint, { method, target, headers: { 'x-ms-version': VERSION } });
        await ask(endpoint, { method, target: `${target}&sig=again`, headers: {} });
        await ask(endpoint, { method, target: target.replace('/owner/', '/nobody/'),
          headers: { 'x-ms-version': '1999-01-01' } });
      }
    }
  }
  await assertNothingSeen();
});

test('copies from sources with SAS leave no secret behind, nor show it to readers', async () => {
  const [blob] = endpoints;
  const put = (at, headers, body) => sendSigned(blob, { method: 'PUT', target: `/owner/${at}`,
    headers, body }, owner);
  await put('box?restype=container', {}, '');
  assert.equal((await put('box/source', blockBlob, 'bytes')).status, 201);
  const good = kept(accountSas({ sp: 'r' }, owner));
  const bad = kept(accountSas({ sp: 'r' }, { ...owner, key: OTHER_KEY }));
  const late = kept(accountSas({ sp: 'r', se: '2001-01-01' }, owner));
  const sources = [good, bad, late].flatMap((sas) => [
    `${server.url}/box/source?${sas}`, `${server.url}/box/none?${sas}`,
    `http://127.0.0.1:1/box/source?${sas}`, `http://no-such-host.invalid/x?${sas}`,
    `https://user:${encodeURIComponent(KEY_2)}@127.0.0.1:1/x?${sas}`, `not a url ${sas}`,
    `${server.adminUrl}/healthz?${sas}`, `http://[::1]:99999/?${sas}`]);
  let copied = 0;
  for (const [i, source] of sources.entries()) {
    const target = `/owner/box/copy-${i}`;
    for (const headers of [blockBlob, { 'x-ms-requires-sync': 'true' }, {}]) {
      // The answer may have the header that is wrong in it: it is for the one who sent it.
      const { status } = await sendSigned(blob, { method: 'PUT', target,
        headers: { 'x-ms-copy-source': source, ...headers } }, owner);
      if (status < 300) copied += 1;
    }
    answers.push(JSON.stringify((await sendSigned(blob, { target }, owner)).headers));
  }
  assert.ok(copied >= 3, 'some copies are made');
  const target = '/owner/box?restype=container&comp=list&include=copy';
  const list = (await sendSigned(blob, { target }, owner)).body.toString();
  assert.match(list, /<CopySource>http[^<]*box\/source\?sv=/, 'the source is shown');
  answers.push(list);
  await assertNothingSeen();
});

test('requests that are broken leave no secret behind', async () => {
  const sas = kept(accountSas({}, owner));
  const text = `SharedKey owner:${KEY_1}`;
  const broken = [
    `GET /owner/box/b?${sas} HTTP/9.9\r\n\r\n`, `GET /owner/box/b?${sas}\r\n\r\n`,
    `GET  /owner/box?${sas} HTTP/1.1\r\nHost: x\r\n\r\n`,
    head('GET', `/owner/b?${sas}`,
      [['Host', 'x'], ['Authorization', text], ['Authorization', text]]),
    head('GET', `/owner/b?${sas}`, [['Host', 'x'], ['Authorization ', text]]),
    head('GET', `/owner/b?${sas}`, [['Host', 'x'], ['Content-Length', KEY_1]]),
    head('PUT', `/owner/b?${sas}`, [['Host', 'x'], ['Transfer-Encoding', KEY_1]]),
    head('GET', `/owner/b?${sas}&${'p=1&'.repeat(3000)}`, [['Host', 'x']]),
    head('GET', `/owner/b?${sas}${'x'.repeat(60_000)}`, [['Host', 'x']]),
    head('GET', '/owner/b', [['Host', 'x'], ['Authorization', `${text}${'x'.repeat(60_000)}`]]),
    head('GET', '/owner/b', [['Host', KEY_1], ['x-ms-version', KEY_1]]),
    head(KEY_1.slice(0, 20), `/owner/b?${sas}`, [['Host', 'x']]),
    `${head('GET', `/owner/b?${sas}`, [['Host', 'x']]).slice(0, -2)}${text}\r\n\r\n`,
    Buffer.concat([Buffer.from(`GET /owner/b?${sas}`), Buffer.from([0, 1, 2, 255]),
      Buffer.from(' HTTP/1.1\r\nHost: x\r\n\r\n')]),
  ];
  for (const endpoint of endpoints) {
    for (const bytes of broken) {
      const connection = await RawConnection.connect(endpoint);
      await connection.write(bytes);
      connection.socket.end();
      const answer = await connection.responseOrClose();
      // A header that is refused is named with its value, to the one who sent it.
      if (answer !== null && !String(bytes).includes(`: ${KEY_1}\r\n`)) {
        answers.push(answer.body.toString());
      }
      connection.close();
    }
  }
  await assertNothingSeen();
});

test('a signature that was expected is not in the answer to a wrong one', async () => {
  const target = '/owner/box/source';
  const right = signed('GET', target, {}, owner).Authorization.split(':')[1];
  keep(right, 'the signature that would have been right');
  const headers = signed('GET', target, {}, { ...owner, key: OTHER_KEY });
  await ask(endpoints[0], { target, headers });
  await assertNothingSeen();
});

stopsCleanly(server);

test('nothing of it is in the log after the end', () => {
  assertSecret(fs.readFileSync(logPath, 'latin1'), 'the log');
  assertSecret(server.log, 'the output');
});

test('settings that are wrong are complained of without their secrets', async () => {
  const file = (name, text) => {
    fs.writeFileSync(path.join(directory, name), text);
    return path.join(directory, name);
  };
  const ports = ['--blobPort', '0', '--queuePort', '0', '--tablePort', '0', '--filePort', '0',
    '--adminPort', '0', '--inMemoryPersistence'];
  const notPfx = file('cert.pfx', 'not a certificate');
  const attempts = [
    [[], { AZURITE_ACCOUNTS: `owner:${KEY_1}!` }], [[], { AZURITE_ACCOUNTS: `owner${KEY_1}` }],
    [[], { AZURITE_ACCOUNTS: `${KEY_1}:owner` }],
    [[], { AZURITE_ACCOUNTS: `owner:${KEY_1}:${KEY_2}:${OTHER_KEY}` }],
    [[], { AZURITE_ACCOUNTS: `owner:${KEY_1};owner:${KEY_2}` }],
    [['--cert', notPfx, '--pwd', PASSWORD], {}], [['--pwd', PASSWORD, '--nonsense'], {}],
    [['--cert', path.join(directory, 'none.pfx'), '--pwd', PASSWORD], {}],
    [['--config', file('config', `pwd = ${PASSWORD}\nnonsense = ${KEY_1}\n`)], {}],
    [['--config', file('config2', `pwd ${PASSWORD}\n`)], {}],
    [['--config', file('config3', `cert = ${notPfx}\npwd = ${PASSWORD}\n`)], {}],
    [['--user', 'no-such-user'], { AZURITE_ACCOUNTS: `owner:${KEY_1}` }],
  ];
  for (const [args, env] of attempts) {
    const attempt = run([...ports, '--debug', logPath, ...args], { env });
    const end = await within(15_000, `the end of ${args}`, attempt.exited)
      .finally(() => attempt.child.kill('SIGKILL'));
    assert.ok(end.code > 0, `${args} ${JSON.stringify(env)}: ${attempt.log}`);
    assertSecret(attempt.log, `the complaint about ${args[0] ?? 'the accounts'}`);
  }
  assertSecret(fs.readFileSync(logPath, 'latin1'), 'the log');
});
