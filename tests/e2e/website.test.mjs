// A static website in $web, as a browser sees it: plain HTTP without any of the service's headers.

import http from 'node:http';
import test from 'node:test';
import assert from 'node:assert/strict';
import { startServer, stopsCleanly } from './helpers/server.mjs';

const server = await startServer();
const service = server.client();
const web = service.getContainerClient('$web');

// A GET by somebody who knows nothing but the address.
function browse(path, headers = {}, method = 'GET') {
  return new Promise((resolve, reject) => {
    const request = http.request({ host: server.host, port: server.port, method,
      path: `/devstoreaccount1/${path}`, headers }, (answer) => {
      let body = '';
      answer.on('data', (data) => { body += data; });
      answer.on('end', () => resolve({ status: answer.statusCode, headers: answer.headers, body }));
    });
    request.on('error', reject);
    request.end();
  });
}

async function publish(name, text, type, more = {}) {
  await web.getBlockBlobClient(name).upload(text, Buffer.byteLength(text),
    { blobHTTPHeaders: { blobContentType: type, ...more } });
}

test('switching the website on makes its container, which is private', async () => {
  assert.equal(await web.exists(), false);
  await service.setProperties({ staticWebsite: { enabled: true, indexDocument: 'index.html',
    errorDocument404Path: '404.html' } });
  assert.equal(await web.exists(), true);
  await publish('index.html', '<h1>Zaffre</h1>', 'text/html');
  assert.equal((await browse('$web/index.html')).status, 404);
  await service.setProperties({ staticWebsite: { enabled: true, indexDocument: 'index.html' } });
  assert.equal(await web.getBlobClient('index.html').exists(), true);
});

test('a public website is served with the type and caching of each file', async () => {
  await web.setAccessPolicy('blob');
  await publish('css/site.css', 'h1 { color: blue }', 'text/css', { blobCacheControl: 'max-age=60' });
  const page = await browse('$web/index.html');
  assert.equal(page.status, 200);
  assert.equal(page.body, '<h1>Zaffre</h1>');
  assert.equal(page.headers['content-type'], 'text/html');
  const style = await browse('%24web/css/site.css?cache=buster');
  assert.equal(style.status, 200);
  assert.equal(style.headers['content-type'], 'text/css');
  assert.equal(style.headers['cache-control'], 'max-age=60');
  assert.equal((await browse('$web/index.html', {}, 'HEAD')).headers['content-length'], '15');
});

test('a browser revalidates and reads ranges', async () => {
  const page = await browse('$web/index.html');
  assert.match(page.headers.etag, /^"0x[0-9A-F]+"$/);
  const again = await browse('$web/index.html', { 'if-none-match': page.headers.etag,
    'if-modified-since': page.headers['last-modified'] });
  assert.equal(again.status, 304);
  assert.equal(again.body, '');
  const part = await browse('$web/index.html', { range: 'bytes=4-' });
  assert.equal(part.status, 206);
  assert.equal(part.body, 'Zaffre</h1>');
});

test('a directory has no index document and a missing file no page on this endpoint', async () => {
  await publish('docs/index.html', 'docs', 'text/html');
  for (const path of ['$web', '$web/docs', '$web/docs/', '$web/none.html']) {
    const answer = await browse(path);
    assert.ok([400, 404].includes(answer.status), path);
    assert.equal(answer.headers['content-type'], 'application/xml');
  }
  assert.equal((await browse('$web/docs/index.html')).body, 'docs');
});

test('strangers neither list nor write the website', async () => {
  assert.equal((await browse('$web?restype=container&comp=list')).status, 404);
  assert.equal((await browse('$web/index.html', {}, 'DELETE')).status, 404);
  assert.equal((await browse('$web/new.html', { 'x-ms-blob-type': 'BlockBlob', 'content-length': '0' },
    'PUT')).status, 404);
  assert.equal((await browse('$web/index.html')).status, 200);
});

test('an answer to another origin follows the rules of the account', async () => {
  await service.setProperties({ cors: [{ allowedOrigins: 'http://a.example', allowedMethods: 'GET',
    allowedHeaders: '', exposedHeaders: '', maxAgeInSeconds: 1 }] });
  const allowed = await browse('$web/index.html', { origin: 'http://a.example' });
  assert.equal(allowed.headers['access-control-allow-origin'], 'http://a.example');
  const other = await browse('$web/index.html', { origin: 'http://b.example' });
  assert.equal(other.status, 200);
  assert.equal(other.headers['access-control-allow-origin'], undefined);
  assert.equal(other.headers.vary, 'Origin');
});

stopsCleanly(server);
