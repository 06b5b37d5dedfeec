// Addresses: path style and host style, absolute targets, and paths made to confuse.

import test from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { account, key, startServer, stopsCleanly } from '../e2e/helpers/server.mjs';
import { RawConnection, exchange, head } from '../e2e/helpers/raw.mjs';
import { accountSas, signed, VERSION } from '../e2e/helpers/sign.mjs';
import { blockBlob, sasSender, send as sendAny, sendSigned } from '../e2e/helpers/http.mjs';

const server = await startServer();
const forced = await startServer({ args: ['--disableProductStyleUrl'] });
const send = sasSender(server);
const sas = accountSas();
const host = `${server.host}:${server.port}`;
const result = ({ status, code }) => (status < 400 ? String(status) : `${status} ${code}`);

await send('PUT', 'urls?restype=container');
await send('PUT', 'urls/b', blockBlob, 'hello');

function get(target, headers = [['Host', host]]) {
  return exchange(server, head('GET', target, [...headers, ['x-ms-version', VERSION]]));
}

function put(target, body = '', name = host) {
  return exchange(server, head('PUT', target, [['Host', name], ['x-ms-version', VERSION],
    ...Object.entries(blockBlob), ['Content-Length', body.length]]) + body);
}

test('the account may be in the host name', async () => {
  for (const name of [`${account}.blob.localhost:${server.port}`, `${account}.blob.localhost`,
    `${account}.blob.core.windows.net`]) {
    const answer = await get(`/urls/b?${sas}`, [['Host', name]]);
    assert.equal(answer.status, 200, name);
    assert.equal(answer.body.toString(), 'hello');
  }
});

test('Shared Key works with the account in the host name', async () => {
  const name = `${account}.blob.localhost:${server.port}`;
  const headers = signed('GET', '/urls/b', { Host: name }, { account, key });
  const answer = await sendAny(server, { target: '/urls/b', headers });
  assert.equal(answer.status, 200);
  const put = await sendSigned(server, { method: 'PUT', target: '/urls/by-host',
    headers: { Host: name, ...blockBlob }, body: 'x' });
  assert.equal(put.status, 201);
  assert.equal((await send('GET', 'urls/by-host')).status, 200);
  const list = await sendSigned(server, { target: '/?comp=list', headers: { Host: name } });
  assert.equal(list.status, 200);
  assert.match(list.body.toString(), new RegExp(`ServiceEndpoint="http://${name}/"`));
});

test('the secondary may be in the host name', async () => {
  const name = `${account}-secondary.blob.localhost:${server.port}`;
  assert.equal((await get(`/urls/b?${sas}`, [['Host', name]])).status, 200);
  assert.equal((await put(`/urls/b?${sas}`, '', name)).status, 403);
});

test('host style can be switched off', async () => {
  const own = sasSender(forced);
  await own('PUT', 'urls?restype=container');
  await own('PUT', 'urls/b', blockBlob, 'hello');
  const name = `something.else.example:${forced.port}`;
  const answer = await exchange(forced, head('GET', `/${account}/urls/b?${sas}`,
    [['Host', name], ['x-ms-version', VERSION]]));
  assert.equal(answer.status, 200);
});

test('localhost, an address and host.docker.internal are path style', async () => {
  for (const name of ['localhost', `localhost:${server.port}`, host,
    `host.docker.internal:${server.port}`, 'storage', '[::1]:10000']) {
    assert.equal((await get(`/${account}/urls/b?${sas}`, [['Host', name]])).status, 200, name);
  }
});

test('an absolute target is taken for its path', async () => {
  const answer = await get(`http://${host}/${account}/urls/b?${sas}`);
  assert.equal(answer.status, 200);
  assert.equal(answer.body.toString(), 'hello');
});

test('an account that does not exist is refused', async () => {
  const answer = await get(`/nosuchaccount/urls/b?${sas}`);
  assert.ok(answer.status >= 400 && answer.status < 500, answer.line);
  const none = await get(`/?${sas}`);
  assert.ok(none.status >= 400 && none.status < 500, none.line);
});

test('a path that climbs stays a name and touches no file', async () => {
  const secret = path.join(server.directory, '..', 'zaffre-traversal-probe');
  const before = fs.readdirSync(path.dirname(secret)).filter((name) => name.includes('traversal'));
  const climbs = [`/${account}/../..`, `/${account}/../../etc/passwd`, `/../../../etc/passwd`,
    `/${account}/urls/../../../../etc/passwd`, `/${account}/urls/%2e%2e/%2e%2e/etc/passwd`,
    `/${account}/urls/..%2f..%2f..%2fetc%2fpasswd`, `/${account}/urls/..\\..\\etc\\passwd`,
    `/${account}/urls/%5c..%5c..%5cetc`, `/${account}/%2e%2e/x`,
    `/${account}/urls/....//....//etc`];
  for (const climb of climbs) {
    const answer = await get(`${climb}?${sas}`);
    assert.ok(answer.status >= 400 && answer.status < 500, `${climb} ${answer.line}`);
    assert.ok(!answer.body.includes('root:'));
    const answerToPut = await put(`${climb}/zaffre-traversal-probe?${sas}`);
    assert.notEqual(answerToPut.status, 500, climb);
  }
  const after = fs.readdirSync(path.dirname(secret)).filter((name) => name.includes('traversal'));
  assert.deepEqual(after, before);
  assert.equal((await send('GET', 'urls/b')).body.toString(), 'hello');
});

test('escapes that are malformed or not UTF-8 are refused', async () => {
  for (const bad of ['%', '%2', '%zz', '%g0', 'a%', '%FF%FE', '%C0%AF', '%ED%A0%80',
    '%F5%80%80%80', '%80']) {
    const answer = await get(`/${account}/urls/${bad}?${sas}`);
    assert.equal(answer.status, 400, `${bad} ${answer.line}`);
    const query = await get(`/${account}/urls?restype=container&comp=list&prefix=%zz&${sas}`);
    assert.ok(query.status >= 400 && query.status < 500, query.line);
  }
});

test('an escaped NUL or control character ends neither a name nor the server', async () => {
  for (const odd of ['a%00b', '%00', 'a%0Ab', 'a%0D%0AX-Injected:%20yes', 'a%7Fb', '%01',
    '%EF%BF%BE', '%EF%BF%BF']) {
    const made = await put(`/${account}/urls/${odd}?${sas}`, 'odd');
    assert.ok([201, 400].includes(made.status), `${odd} ${made.line}`);
    assert.equal(made.headers['x-injected'], undefined);
    const answer = await get(`/${account}/urls/${odd}?${sas}`);
    assert.equal(answer.status, made.status === 201 ? 200 : 400, odd);
    if (made.status === 201) assert.equal(answer.body.toString(), 'odd');
    // A name cut at the NUL would have made this one.
    assert.equal((await send('HEAD', 'urls/a')).status, 404, odd);
    const list = await send('GET', 'urls?restype=container&comp=list');
    assert.equal(list.status, 200);
    await send('DELETE', `urls/${odd}`);
  }
});

test('empty segments, dots and trailing slashes are parts of names', async () => {
  const names = ['a//b', 'a/', 'a/./b', './a', 'x/../y', '..', 'a/..', '%2e%2e%2f'];
  for (const name of names) {
    const answer = await put(`/${account}/urls/${name}?${sas}`, 'x');
    assert.ok([201, 400].includes(answer.status), `${name} ${answer.line}`);
  }
  assert.equal((await send('HEAD', 'urls/a')).status, 404);
  assert.equal((await send('HEAD', 'urls/y')).status, 404);
  assert.equal((await send('GET', 'urls/b')).body.toString(), 'hello');
});

test('names of parameters are read in any case', async () => {
  const answer = await send('GET', 'urls?RESTYPE=container&COMP=list&MaxResults=1&PREFIX=b');
  assert.equal(answer.status, 200);
  assert.match(answer.body.toString(), /<Name>b<\/Name>/);
});

test('a plus sign is a space in a query, as clients in Go write it, and itself in a path', async () => {
  for (const name of ['plus%20a', 'plus+a']) await send('PUT', `urls/${name}`, blockBlob, 'x');
  const listed = async (prefix) => {
    const target = `/${account}/urls?restype=container&comp=list&prefix=${prefix}`;
    const { body } = await get(`${target}&${sas}`);
    return [...body.toString().matchAll(/<Name>(.*?)<\/Name>/g)].map((match) => match[1]);
  };
  assert.deepEqual(await listed('plus+a'), ['plus a']);
  assert.deepEqual(await listed('plus%20a'), ['plus a']);
  assert.deepEqual(await listed('plus%2Ba'), ['plus+a']);
  // Such a client signs the text, not its escapes.
  const escaped = `/${account}/urls?restype=container&comp=list&prefix=plus%20a`;
  const headers = signed('GET', escaped, {}, { account, key });
  const answer = await sendAny(server, { target: escaped.replace('%20', '+'), headers });
  assert.equal(answer.status, 200);
});

test('a great many query parameters are refused, not counted on', async () => {
  for (const count of [100, 1000, 2000, 5000, 20_000]) {
    const many = Array.from({ length: count }, (_, i) => `p${i}=v`).join('&');
    const connection = await RawConnection.connect(server);
    connection.write(head('GET', `/${account}/urls/b?${sas}&${many}`,
      [['Host', host], ['x-ms-version', VERSION]]));
    const answer = await connection.responseOrClose();
    if (answer !== null) assert.ok(answer.status >= 400 && answer.status < 500, answer.line);
    connection.close();
  }
  assert.equal((await send('GET', 'urls/b')).status, 200);
});

test('a blob at the root of the account is in the root container', async () => {
  assert.equal((await send('GET', 'root.txt')).status, 404);
  await send('PUT', '$root?restype=container');
  const put = await send('PUT', 'root.txt', blockBlob, 'at the root');
  assert.equal(result(put), '201');
  assert.equal((await send('GET', 'root.txt')).body.toString(), 'at the root');
  assert.equal((await send('GET', '$root/root.txt')).body.toString(), 'at the root');
});

stopsCleanly(forced);
stopsCleanly(server);
