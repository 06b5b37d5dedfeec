// Accounts and Shared Key: who is let in, by which key, and at which of the addresses.

import test from 'node:test';
import assert from 'node:assert/strict';
import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob';
import { account, assertNoComplaint, key, noRetry, run, startServer, stopsCleanly, within }
  from './helpers/server.mjs';
import { blockBlob, send, sendSigned } from './helpers/http.mjs';
import { exchange, head } from './helpers/raw.mjs';
import { VERSION, signed } from './helpers/sign.mjs';

const KEY_1 = Buffer.alloc(64, 1).toString('base64');
const KEY_2 = Buffer.alloc(64, 2).toString('base64');
const KEY_3 = Buffer.alloc(64, 3).toString('base64');

const server = await startServer();
const two = await startServer({
  env: { AZURITE_ACCOUNTS: `first:${KEY_1}:${KEY_2};second:${KEY_3}` },
});

function clientOf(target, name, secret) {
  return new BlobServiceClient(`${target.origin}/${name}`,
    new StorageSharedKeyCredential(name, secret), noRetry);
}

const denied = { statusCode: 403, code: 'AuthenticationFailed' };

test('a wrong key is refused', async () => {
  const stranger = clientOf(server, account, KEY_1);
  await assert.rejects(stranger.createContainer('strange'), denied);
  await assert.rejects(stranger.listContainers().next(), denied);
});

test('both keys of an account are good and those of another are not', async () => {
  await clientOf(two, 'first', KEY_1).createContainer('one');
  await clientOf(two, 'first', KEY_2).createContainer('two');
  await clientOf(two, 'second', KEY_3).createContainer('three');
  await assert.rejects(clientOf(two, 'first', KEY_3).createContainer('four'), denied);
  await assert.rejects(clientOf(two, 'second', KEY_1).createContainer('four'), denied);
});

test('accounts do not see each other\'s containers', async () => {
  const names = async (client) => {
    const found = [];
    for await (const item of client.listContainers()) found.push(item.name);
    return found;
  };
  assert.deepEqual(await names(clientOf(two, 'first', KEY_1)), ['one', 'two']);
  assert.deepEqual(await names(clientOf(two, 'second', KEY_3)), ['three']);
  await clientOf(two, 'second', KEY_3).createContainer('one');
  await clientOf(two, 'second', KEY_3).deleteContainer('one');
  assert.deepEqual(await names(clientOf(two, 'first', KEY_1)), ['one', 'two']);
});

test('the well-known account is gone when accounts are given', async () => {
  await assert.rejects(clientOf(two, account, key).createContainer('any'), (error) => {
    assert.ok([400, 403, 404].includes(error.statusCode), String(error.statusCode));
    return true;
  });
});

test('AZURITE_ACCOUNTS that cannot be read stops the server with a message', async () => {
  for (const spec of ['nokey', 'a:!!!notbase64', ':abcd', 'a:b:c:d']) {
    const attempt = run(['--blobPort', '0', '--queuePort', '0', '--tablePort', '0',
      '--adminPort', '0', '--inMemoryPersistence'],
      { env: { AZURITE_ACCOUNTS: spec } });
    const end = await within(10_000, `a refusal of ${spec}`, attempt.exited)
      .finally(() => attempt.child.kill('SIGKILL'));
    assert.notEqual(end.code, 0, spec);
    assert.notEqual(end.code, null, spec);
    assert.match(attempt.err, /AZURITE_ACCOUNTS/);
    assertNoComplaint(attempt.log);
  }
});

test('a connection string for development storage works', async () => {
  const client = BlobServiceClient.fromConnectionString(server.connectionString(), noRetry);
  await client.createContainer('by-string');
  assert.equal(await client.getContainerClient('by-string').exists(), true);

  // What the short form stands for, with the port it does not let one choose.
  const short = BlobServiceClient.fromConnectionString('UseDevelopmentStorage=true');
  const url = new URL(short.url);
  assert.equal(url.pathname.replace(/\/$/, ''), `/${account}`);
  url.port = String(server.port);
  const moved = new BlobServiceClient(url.toString(), short.credential, noRetry);
  assert.equal(await moved.getContainerClient('by-string').exists(), true);
});

test('the secondary endpoint reads and refuses to write', async () => {
  const primary = server.client();
  await primary.createContainer('second');
  await primary.getContainerClient('second').getBlockBlobClient('b').upload('hello', 5);

  const secondary = new BlobServiceClient(`${server.origin}/${account}-secondary`,
    new StorageSharedKeyCredential(account, key), noRetry);
  const container = secondary.getContainerClient('second');
  assert.equal((await container.getBlobClient('b').downloadToBuffer()).toString(), 'hello');
  assert.equal((await container.listBlobsFlat().next()).value.name, 'b');
  const refused = { statusCode: 403 };
  await assert.rejects(container.getBlockBlobClient('c').upload('x', 1), refused);
  await assert.rejects(container.getBlobClient('b').delete(), refused);
  await assert.rejects(container.setMetadata({ a: 'b' }), refused);
  await assert.rejects(secondary.createContainer('third'), refused);
  await assert.rejects(container.getBlobClient('b').getBlobLeaseClient().acquireLease(15), refused);
  assert.equal(await primary.getContainerClient('second').getBlobClient('c').exists(), false);
});

test('the secondary endpoint takes a signature made without its suffix', async () => {
  const target = `/${account}-secondary/second/b`;
  const headers = signed('GET', `/${account}/second/b`);
  const answer = await send(server, { target, headers });
  assert.equal(answer.status, 200);
});

test('Shared Key Lite is understood', async () => {
  const lite = { account, key, lite: true };
  const base = `/${account}/lite`;
  const created = await sendSigned(server,
    { method: 'PUT', target: `${base}?restype=container` }, lite);
  assert.equal(created.status, 201);
  const put = await sendSigned(server, { method: 'PUT', target: `${base}/b`,
    headers: { ...blockBlob, 'Content-Type': 'text/plain', 'x-ms-meta-a': 'b' },
    body: 'hello' }, lite);
  assert.equal(put.status, 201);
  const set = await sendSigned(server, { method: 'PUT',
    target: `${base}/b?comp=metadata&timeout=30`, headers: { 'x-ms-meta-c': 'd' } }, lite);
  assert.equal(set.status, 200);
  const listed = await sendSigned(server, { target: `${base}?restype=container&comp=list` }, lite);
  assert.equal(listed.status, 200);
  const wrong = await sendSigned(server, { target: `${base}/b` }, { ...lite, key: KEY_1 });
  assert.equal(`${wrong.status} ${wrong.code}`, '403 AuthenticationFailed');
});

test('a signature covers what the reference says it covers', async () => {
  const target = `/${account}/lite/b`;
  const good = signed('GET', target, { 'x-ms-meta-x': 'y' });
  assert.equal((await send(server, { target, headers: good })).status, 200);
  const changes = [
    ['another path', { target: `/${account}/lite/c`, headers: good }],
    ['another method', { method: 'DELETE', target, headers: good }],
    ['another query', { target: `${target}?timeout=5`, headers: good }],
    ['a header changed', { target, headers: { ...good, 'x-ms-meta-x': 'z' } }],
    ['a header added', { target, headers: { ...good, 'x-ms-lease-id': KEY_1 } }],
    ['a range added', { target, headers: { ...good, Range: 'bytes=0-1' } }],
    ['a condition added', { target, headers: { ...good, 'If-Match': '*' } }],
    ['another date', { target,
      headers: { ...good, 'x-ms-date': new Date(Date.now() + 1000).toUTCString() } }],
  ];
  for (const [what, request] of changes) {
    const answer = await send(server, request);
    assert.equal(`${answer.status} ${answer.code}`, '403 AuthenticationFailed', what);
  }
  const after = await send(server, { target, headers: good });
  assert.equal(after.status, 200, 'the blob is still there');
});

test('headers and parameters that make signing hard are signed alike on both sides', async () => {
  const base = `/${account}/lite`;
  const headers = { ...blockBlob, 'x-ms-meta-empty': '', 'x-ms-meta-a_b': '1', 'x-ms-meta-aa': '2',
    'x-ms-meta-spaces': '  two  words  ', 'Content-Type': 'text/plain; charset="utf-8"',
    'Content-Language': 'en', 'Content-Encoding': 'identity', 'x-ms-meta-z': '=?&%' };
  for (const path of ['/hard', '/a%20b', '/a%2Fb', '/%E8%AA%9E', '/a+b', "/it's", '/a%27b',
    '/(x)!~*']) {
    const put = await sendSigned(server,
      { method: 'PUT', target: base + path, headers, body: 'x' });
    assert.equal(put.status, 201, path);
    const got = await sendSigned(server, { target: base + path });
    assert.equal(got.status, 200, path);
  }
  const queries = ['restype=container&comp=list&prefix=a%20b&marker=',
    'comp=list&restype=container', 'RESTYPE=container&Comp=list',
    'restype=container&comp=list&include=metadata&include=snapshots',
    'restype=container&comp=list&delimiter=%2F&prefix=%E8%AA%9E&maxresults=3'];
  for (const query of queries) {
    const answer = await sendSigned(server, { target: `${base}?${query}` });
    assert.equal(answer.status, 200, query);
  }
});

test('metadata names that sort differently by bytes and by words are accepted', async () => {
  const client = server.client().getContainerClient('lite');
  const blob = client.getBlockBlobClient('sorted');
  await blob.upload('x', 1, { metadata: { a_b: '1', aa: '2', a: '3', ab: '4', a1: '5', _x: '6' } });
  assert.equal((await blob.getProperties()).metadata.a_b, '1');
  const own = await sendSigned(server, { method: 'PUT', target: `/${account}/lite/sorted`,
    headers: { ...blockBlob, 'x-ms-meta-a_b': '1', 'x-ms-meta-aa': '2', 'x-ms-meta-a': '3' },
    body: 'x' });
  assert.equal(own.status, 201);
});

test('a request older or newer than a quarter of an hour is refused', async () => {
  const target = `/${account}?comp=list`;
  const at = (minutes) => new Date(Date.now() + minutes * 60_000).toUTCString();
  for (const [minutes, status] of [[-14, 200], [14, 200], [-16, 403], [-600, 403]]) {
    for (const name of ['x-ms-date', 'Date']) {
      const headers = signed('GET', target, { [name]: at(minutes) });
      const answer = await send(server, { target, headers });
      assert.equal(answer.status, status, `${name} ${minutes} minutes`);
      if (status === 403) assert.equal(answer.code, 'AuthenticationFailed');
    }
  }
});

test('an Authorization header that is none is refused as malformed', async () => {
  const target = `/${account}?comp=list`;
  const date = new Date().toUTCString();
  for (const value of ['SharedKey', 'SharedKey devstoreaccount1', 'SharedKey :', 'Basic abc', 'x',
    'SharedKey devstoreaccount1:', 'sharedkey']) {
    const answer = await send(server, { target,
      headers: { 'x-ms-date': date, 'x-ms-version': VERSION, Authorization: value } });
    assert.ok([400, 401, 403].includes(answer.status), `${value}: ${answer.status}`);
    assert.ok(['InvalidAuthenticationInfo', 'AuthenticationFailed', 'NoAuthenticationInformation']
      .includes(answer.code), `${value}: ${answer.code}`);
  }
  const bad = await send(server, { target, headers: { 'x-ms-date': date, 'x-ms-version': VERSION,
    Authorization: `SharedKey ${account}:bm90IGEgc2lnbmF0dXJl` } });
  assert.equal(`${bad.status} ${bad.code}`, '403 AuthenticationFailed');
});

test('a request without a credential is told so', async () => {
  const list = await send(server, { target: `/${account}?comp=list`,
    headers: { 'x-ms-version': VERSION } });
  assert.equal(`${list.status} ${list.code}`, '401 NoAuthenticationInformation');
  assert.match(list.headers['www-authenticate'], /^Bearer /);
  // Before 2019-12-12, and without a version, a private blob is one that is not there.
  for (const headers of [{}, { 'x-ms-version': '2018-03-28' }]) {
    const old = await send(server, { target: `/${account}/lite/b`, headers });
    assert.equal(`${old.status} ${old.code}`, '404 ResourceNotFound');
  }
  const put = await send(server, { method: 'PUT', target: `/${account}/lite/anonymous`,
    headers: { ...blockBlob, 'x-ms-version': VERSION }, body: 'x' });
  assert.ok([401, 403, 404].includes(put.status), String(put.status));
});

test('a standard header that comes twice in a signed request is refused', async () => {
  const target = `/${account}/lite/b`;
  const headers = signed('GET', target, { 'If-Match': '*' });
  const pairs = [['Host', `${server.host}:${server.port}`], ...Object.entries(headers)];
  const once = await exchange(server, head('GET', target, pairs));
  assert.equal(once.status, 200);
  const twice = await exchange(server, head('GET', target, [...pairs, ['If-Match', '*']]));
  assert.equal(twice.status, 400);
});

test('a Shared Key request without a date is refused', async () => {
  const target = `/${account}?comp=list`;
  const { 'x-ms-date': _, ...headers } = signed('GET', target);
  const answer = await send(server, { target, headers });
  assert.ok([400, 403].includes(answer.status), String(answer.status));
});

stopsCleanly(two);
stopsCleanly(server);
