// No name leaves its account or the data directory: paths and hosts made to confuse, for all four
// services, sent with the good credentials of one account to get at what belongs to another, or to
// the machine.

import test from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { emptyDirectory, startServer, stopsCleanly } from '../e2e/helpers/server.mjs';
import { RawConnection, head } from '../e2e/helpers/raw.mjs';
import { send } from '../e2e/helpers/http.mjs';
import { VERSION, accountSas, hmac, sharedKeyString } from '../e2e/helpers/sign.mjs';

const parent = emptyDirectory();
const FIRST = { account: 'first', key: Buffer.alloc(64, 1).toString('base64') };
const SECOND = { account: 'second', key: Buffer.alloc(64, 2).toString('base64') };
const server = await startServer({ ...FIRST, location: path.join(parent, 'data'),
  env: { AZURITE_ACCOUNTS: [FIRST, SECOND].map(({ account, key }) => `${account}:${key}`)
    .join(';') } });
const SECRET = 'the-secret-of-the-second';
const JSON_TYPE = { 'Content-Type': 'application/json', Accept: 'application/json' };

// Per service: its letter, its endpoint, how the second account's secret is put there, and where it
// is: what follows the account in a path.
const SERVICES = {
  blob: { letter: 'b', url: server.url, secret: 'target/secret',
    make: [['PUT', 'target?restype=container'],
      ['PUT', 'target/secret', { 'x-ms-blob-type': 'BlockBlob' }, SECRET]],
    write: [{ 'x-ms-blob-type': 'BlockBlob' }, 'overwritten'] },
  queue: { letter: 'q', url: server.queueUrl, secret: 'target/messages?peekonly=true',
    make: [['PUT', 'target'], ['POST', 'target/messages', {},
      `<QueueMessage><MessageText>${SECRET}</MessageText></QueueMessage>`]],
    write: [{}, ''] },
  table: { letter: 't', url: server.tableUrl, secret: 'target()',
    make: [['POST', 'Tables', JSON_TYPE, '{"TableName":"target"}'],
      ['POST', 'target', JSON_TYPE,
        JSON.stringify({ PartitionKey: 'p', RowKey: 'r', Value: SECRET })]],
    write: [JSON_TYPE, '{}'] },
  file: { letter: 'f', url: server.fileUrl, secret: 'target/secret',
    make: [['PUT', 'target?restype=share'], ['PUT', 'target/secret',
      { 'x-ms-type': 'file', 'x-ms-content-length': SECRET.length }],
    ['PUT', 'target/secret?comp=range', { 'x-ms-write': 'update',
      'x-ms-range': `bytes=0-${SECRET.length - 1}` }, SECRET]],
    write: [{ 'x-ms-type': 'file', 'x-ms-content-length': 9 }, ''] },
};

for (const [name, service] of Object.entries(SERVICES)) {
  const { hostname, port } = new URL(service.url);
  Object.assign(service, { name, endpoint: { host: hostname, port: Number(port) } });
}

const sasOf = (service, { account, key }) =>
  accountSas({ ss: service.letter, sp: 'rwdlacup' }, { account, key });
const withSas = (target, sas) => `${target}${target.includes('?') ? '&' : '?'}${sas}`;

const bySas = (service, who, method, at, headers = {}, body = null) => send(service.endpoint, {
  method,
  target: withSas(`/${who.account}/${at}`, sasOf(service, who)),
  headers: { 'x-ms-version': VERSION, ...(method === 'POST' && body === null
    ? { 'Content-Length': 0 } : {}), ...headers },
  body,
});

for (const service of Object.values(SERVICES)) {
  for (const request of service.make) {
    const answer = await bySas(service, SECOND, ...request);
    assert.ok(answer.status < 300, `${request.slice(0, 2)}: ${answer.status} ${answer.code}`);
  }
}

const secretOf = async (service) => (await bySas(service, SECOND, 'GET', service.secret)).body
  .toString();

// Shared Key for a target that no URL class would leave as it is.
function signature(service, method, target, headers, { account, key }) {
  const [at, query = ''] = target.split('?');
  const comp = new URLSearchParams(query).get('comp');
  const text = service.name === 'table'
    ? [method, '', headers['Content-Type'] ?? '', headers['x-ms-date'],
      `/${account}${at}${comp === null ? '' : `?comp=${comp}`}`].join('\n')
    : sharedKeyString(method, target, headers, account);
  return `SharedKey ${account}:${hmac(key, text)}`;
}

// One request as bytes; the answer, or null if the server would rather close.
async function exchange(service, method, target, headers, body) {
  const connection = await RawConnection.connect(service.endpoint);
  try {
    const content = Buffer.from(body ?? '');
    const lines = head(method, target, { 'x-ms-version': VERSION, ...headers,
      ...(method === 'GET' ? {} : { 'Content-Length': content.length }) });
    await connection.write(Buffer.concat([Buffer.from(lines, 'latin1'), content]));
    return await connection.responseOrClose();
  } finally {
    connection.close();
  }
}

// By every credential the first account has.
async function tryAll(service, method, target, { Host = 'localhost', ...more } = {}, body = null) {
  const date = new Date().toUTCString();
  const common = { Host, ...more };
  const signedHeaders = { ...common, 'x-ms-date': date, 'x-ms-version': VERSION,
    ...(method === 'GET' ? {} : { 'Content-Length': Buffer.byteLength(body ?? '') }) };
  let signed = '';
  try {
    signed = signature(service, method, target, signedHeaders, FIRST);
  } catch {
    // Escapes that no client can decode cannot be signed either.
  }
  return Promise.all([
    exchange(service, method, withSas(target, sasOf(service, FIRST)), common, body),
    exchange(service, method, target,
      { ...common, 'x-ms-date': date, Authorization: signed }, body),
    exchange(service, method, target, common, body),
  ]);
}

// Ways from one account to another, and out.  %A stands for what follows the account.
const CLIMBS = ['/first/../second/%A', '/first/%2e%2e/second/%A', '/first/..%2fsecond/%A',
  '/first/%2E%2E%2Fsecond/%A', '/first%2f..%2fsecond/%A', '/first%2F%2E%2E%2Fsecond/%A',
  '/first/..\\second/%A', '/first\\..\\second/%A', '/first/%5c..%5csecond/%A', '/first//second/%A',
  '//second/%A', '/./second/%A', '/%2e/second/%A', '/second/%A', '/second%2f%A', '/SECOND/%A',
  '/first%00/../second/%A', '/first/%00/../../second/%A', '/second%00/%A', '/second%20/%A',
  '/first;/second/%A', '/first;second/%A', '/first,second/%A', '/first@second/%A',
  '/first/target/../../second/%A', '/first/target/%2e%2e/%2e%2e/second/%A',
  '/first/target/..%2f..%2fsecond/%A', '/first/target/..%5c..%5csecond/%A',
  '/first/%c0%ae%c0%ae/second/%A', '/first/%c0%ae%c0%ae%c0%afsecond/%A',
  '/first/%e0%80%ae%e0%80%ae/second/%A', '/first/%u002e%u002e/second/%A',
  '/first/%252e%252e/second/%A', '/first/..%252fsecond/%A', '/first/.%2e/second/%A',
  '/first/...//second/%A', '/first/..;/second/%A', '/first-secondary/../second/%A',
  '/second-secondary/%A', '/first/target/secret/../../../second/%A', '/..//second/%A',
  '/first/?/../second/%A', '/first#/../second/%A'];
const FILES = ['/first/../../../../etc/passwd', '/first/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd',
  '/first/target/../../../../../../etc/passwd', '/first/target/..%2f..%2f..%2f..%2fetc%2fpasswd',
  '/first/target//etc/passwd', '/first//etc/passwd', '//etc/passwd',
  '/first/target/%2fetc%2fpasswd',
  '/first/target/..\\..\\..\\etc\\passwd', '/first/target/file:///etc/passwd',
  '/first/target/../../FORMAT', '/first/target/../../../FORMAT', '/first/../FORMAT',
  '/first/target/../meta/CURRENT', '/first/..%2fmeta%2fCURRENT', '/first/target/%2e%2e/extents'];

function assertNoSecret(answers, what) {
  for (const answer of answers) {
    if (answer === null) continue;
    assert.ok(answer.status !== 500, `${what}: ${answer.line}`);
    const body = answer.body.toString('latin1');
    assert.ok(!body.includes(SECRET), `${what} gives the secret away`);
    assert.ok(!body.includes('root:x:'), `${what} gives a file away`);
  }
}

// The first account has a container of the same name, so that paths are not refused for want of it.
for (const service of Object.values(SERVICES)) await bySas(service, FIRST, ...service.make[0]);

for (const service of Object.values(SERVICES)) {
  test(`no path of the ${service.name} service leads to another account or to a file`, async () => {
    const before = await secretOf(service);
    assert.ok(before.includes(SECRET), 'the owner sees it');
    const [headers, body] = service.write;
    for (const climb of [...CLIMBS, ...FILES]) {
      const target = climb.replace('%A', service.secret);
      assertNoSecret(await tryAll(service, 'GET', target), `GET ${target}`);
      const put = climb.replace('%A', service.secret.split('?')[0]);
      assertNoSecret(await tryAll(service, 'PUT', put, headers, body), `PUT ${put}`);
      assertNoSecret(await tryAll(service, 'DELETE', put), `DELETE ${put}`);
    }
    assert.equal(await secretOf(service), before, 'the secret is as it was');
  });

  test(`no host of the ${service.name} service leads to another account`, async () => {
    const before = await secretOf(service);
    const hosts = ['first.blob.localhost', 'second.blob.localhost', 'second', 'first',
      'first.second', 'second.first', 'second-secondary.blob.localhost', 'SECOND.blob.localhost',
      'second.', '.second', 'first.blob.localhost:1', 'second.blob.localhost@first', '127.0.0.1',
      '[::1]', '', 'second%2e', 'first, second'];
    const [headers, body] = service.write;
    for (const Host of hosts) {
      for (const target of [`/${service.secret}`, `/second/${service.secret}`,
        `/first/${service.secret}`, `/first/second/${service.secret}`,
        `http://second.${service.name}.localhost/${service.secret}`,
        `http://first.${service.name}.localhost/second/${service.secret}`]) {
        assertNoSecret(await tryAll(service, 'GET', target, { Host }), `${Host} GET ${target}`);
        const at = target.split('?')[0];
        // The owner's own is the owner's to change.
        assertNoSecret(await tryAll(service, 'PUT', at, { Host, ...headers }, body),
          `${Host} PUT ${at}`);
        assertNoSecret(await tryAll(service, 'DELETE', at, { Host }), `${Host} DELETE ${at}`);
      }
    }
    assert.equal(await secretOf(service), before, 'the secret is as it was');
  });
}

// Names with something in them that ends a string, a path or a line somewhere.
const ODD = ['%00', 'a%00b', '..', '.', '...', '%2e%2e', 'a%2fb', '%2fa', 'a%5cb', '%5c', 'a%0ab',
  'a%0d%0aX-Made: up', '%7f', '%ff', '%c0%af', '%ed%a0%80', '%f5%80%80%80', 'a%3fb', 'a%23b',
  'a%3ab', 'a%3bb', 'a%27b', 'a%22b', 'a%3cb', '%20', '%e2%80%ae', '%ef%bb%bf', 'a*b', '$meta',
  'CON', 'nul.txt',
  'a'.repeat(300), '%f0%9f%92%a5', '~', '-', '_', 'extents', 'meta', 'FORMAT', 'LOCK'];

// Where such a name can be, and how something is made there.
const PLACES = [
  ['blob', 'PUT', (odd) => `${odd}?restype=container`],
  ['blob', 'PUT', (odd) => `target/${odd}`, { 'x-ms-blob-type': 'BlockBlob' }, 'odd'],
  ['blob', 'PUT', (odd) => `target/dir/${odd}/x`, { 'x-ms-blob-type': 'BlockBlob' }, 'odd'],
  ['queue', 'PUT', (odd) => odd],
  ['table', 'POST', () => 'Tables', JSON_TYPE, (odd) => JSON.stringify({ TableName: odd })],
  ['table', 'PUT', (odd) => `target(PartitionKey='${odd}',RowKey='r')`, JSON_TYPE, '{"Value":1}'],
  ['table', 'PUT', (odd) => `target(PartitionKey='p',RowKey='${odd}')`, JSON_TYPE, '{"Value":1}'],
  ['file', 'PUT', (odd) => `${odd}?restype=share`],
  ['file', 'PUT', (odd) => `target/${odd}`, { 'x-ms-type': 'file', 'x-ms-content-length': 3 }],
  ['file', 'PUT', (odd) => `target/${odd}?restype=directory`],
  ['file', 'PUT', (odd) => `target/${odd}/x`, { 'x-ms-type': 'file', 'x-ms-content-length': 3 }],
];

// What RocksDB and the extents call their files; no part of it is a user's.
const OWN_NAME =
  /^data\/([A-Za-z]+(\.[a-z]+)?|extents(\/[0-9a-f]+(\.\w+)?)?|meta\/[A-Za-z0-9_.-]+)$/;

// Every name in the data directory.
function walk(directory) {
  return fs.readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const at = path.join(directory, entry.name);
    return [at, ...(entry.isDirectory() ? walk(at) : [])];
  });
}

test('a name with odd characters is itself or refused, and never a file\'s', async () => {
  for (const [name, method, place, headers = {}, body = ''] of PLACES) {
    const service = SERVICES[name];
    for (const odd of ODD) {
      const target = withSas(`/first/${place(odd)}`, sasOf(service, FIRST));
      const text = typeof body === 'function' ? body(decodeOr(odd)) : body;
      const answer = await exchange(service, method, target.replaceAll(' ', '%20'),
        { Host: 'localhost', ...headers }, text);
      if (answer === null) continue;
      assert.ok(answer.status < 500, `${name} ${place(odd)}: ${answer.line}`);
      assert.equal(answer.headers['x-made'], undefined, 'a name ends no line');
    }
  }
  assert.deepEqual(fs.readdirSync(parent), ['data'], 'nothing is beside the data');
  const names = walk(path.join(parent, 'data')).map((at) => path.relative(parent, at));
  assert.ok(names.length > 5);
  for (const one of names) {
    assert.match(one, OWN_NAME);
    assert.doesNotMatch(one, /target|secret|odd|dir|etc|passwd/);
  }
});

function decodeOr(odd) {
  try {
    return decodeURIComponent(odd);
  } catch {
    return odd;
  }
}

test('what odd names made stays in its account, and can be listed', async () => {
  const lists = { blob: ['?comp=list', 'target?restype=container&comp=list'], queue: ['?comp=list'],
    table: ['Tables', 'target()'], file: ['?comp=list', 'target?restype=directory&comp=list'] };
  for (const [name, paths] of Object.entries(lists)) {
    const service = SERVICES[name];
    for (const at of paths) {
      const mine = await bySas(service, FIRST, 'GET', at, { Accept: 'application/json' });
      assert.equal(mine.status, 200, `${name} ${at}`);
      const theirs = await bySas(service, SECOND, 'GET', at, { Accept: 'application/json' });
      assert.equal(theirs.status, 200, `${name} ${at}`);
      assert.doesNotMatch(theirs.body.toString(), /odd|extents|FORMAT/, `${name} ${at}`);
    }
    assert.ok((await secretOf(service)).includes(SECRET));
  }
});

stopsCleanly(server);
