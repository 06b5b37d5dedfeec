// The blob service itself: its properties, statistics, account information, CORS and batches.

import http from 'node:http';
import test from 'node:test';
import assert from 'node:assert/strict';
import {
  AccountSASPermissions, AccountSASResourceTypes, AccountSASServices, BlobServiceClient,
  generateAccountSASQueryParameters,
} from '@azure/storage-blob';
import { startServer, stopsCleanly } from './helpers/server.mjs';

const server = await startServer();
const service = server.client();

let count = 0;
async function createdContainer() {
  const container = service.getContainerClient(`service-${++count}`);
  await container.create();
  return container;
}

// --- properties ---

test('a new account has everything switched off', async () => {
  const properties = await service.getProperties();
  assert.equal(properties.blobAnalyticsLogging.read, false);
  assert.equal(properties.hourMetrics.enabled, false);
  assert.equal(properties.minuteMetrics.retentionPolicy.enabled, false);
  assert.deepEqual(properties.cors ?? [], []);
  assert.equal(properties.deleteRetentionPolicy.enabled, false);
  assert.equal(properties.staticWebsite.enabled, false);
});

test('properties are changed part by part', async () => {
  await service.setProperties({
    blobAnalyticsLogging: {
      version: '1.0', deleteProperty: true, read: true, write: false,
      retentionPolicy: { enabled: true, days: 5 },
    },
    cors: [{ allowedOrigins: 'http://a.example', allowedMethods: 'GET,PUT', allowedHeaders: 'x-ms-meta-*',
      exposedHeaders: 'x-ms-meta-b', maxAgeInSeconds: 60 }],
  });
  await service.setProperties({
    hourMetrics: { version: '1.0', enabled: true, includeAPIs: true,
      retentionPolicy: { enabled: true, days: 365 } },
    staticWebsite: { enabled: true, indexDocument: 'index.html', errorDocument404Path: '404.html' },
    defaultServiceVersion: '2021-08-06',
  });
  const properties = await service.getProperties();
  assert.equal(properties.blobAnalyticsLogging.read, true);
  assert.equal(properties.blobAnalyticsLogging.write, false);
  assert.equal(properties.blobAnalyticsLogging.retentionPolicy.days, 5);
  assert.equal(properties.cors[0].allowedOrigins, 'http://a.example');
  assert.equal(properties.hourMetrics.includeAPIs, true);
  assert.equal(properties.hourMetrics.retentionPolicy.days, 365);
  assert.equal(properties.staticWebsite.indexDocument, 'index.html');
  assert.equal(properties.defaultServiceVersion, '2021-08-06');
});

test('properties that cannot be are refused and change nothing', async () => {
  const before = await service.getProperties();
  const refused = { statusCode: 400, code: 'InvalidXmlDocument' };
  for (const days of [0, 366]) {
    await assert.rejects(service.setProperties({ deleteRetentionPolicy: { enabled: true, days } }), refused);
  }
  const rule = { allowedOrigins: '*', allowedMethods: 'GET', allowedHeaders: '', exposedHeaders: '',
    maxAgeInSeconds: 1 };
  await assert.rejects(service.setProperties({ cors: Array(6).fill(rule) }), refused);
  assert.deepEqual((await service.getProperties()).cors, before.cors);
});

test('requests that name no version speak the default one', async () => {
  const path = `none-${++count}/b`;
  await service.setProperties({ defaultServiceVersion: '2019-12-12' });
  assert.equal((await send('GET', path, {})).headers['x-ms-version'], '2019-12-12');
  assert.equal((await send('GET', path, {})).statusCode, 401);
  await service.setProperties({ defaultServiceVersion: '2018-11-09' });
  assert.equal((await send('GET', path, {})).statusCode, 404);
  assert.equal((await send('GET', path, { 'x-ms-version': '2020-02-10' })).headers['x-ms-version'],
    '2020-02-10');
});

// --- statistics, account information ---

test('statistics are given by the secondary alone', async () => {
  await assert.rejects(service.getStatistics(),
    { statusCode: 400, code: 'InvalidQueryParameterValue' });
  const secondary = new BlobServiceClient(service.url.replace(/devstoreaccount1\/?$/, 'devstoreaccount1-secondary'),
    service.credential);
  const stats = await secondary.getStatistics();
  assert.equal(stats.geoReplication.status, 'live');
  assert.ok(Math.abs(stats.geoReplication.lastSyncOn - Date.now()) < 60_000);
});

test('account information is given at every level, also of what is not there', async () => {
  const container = service.getContainerClient('not-there');
  for (const client of [service, container, container.getBlobClient('b')]) {
    const info = await client.getAccountInfo();
    assert.equal(info.skuName, 'Standard_RAGRS');
    assert.equal(info.accountKind, 'StorageV2');
  }
});

// --- CORS ---

function send(method, path, headers) {
  return new Promise((resolve, reject) => {
    const request = http.request({ host: server.host, port: server.port, method,
      path: `/devstoreaccount1/${path}`, headers }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer));
    });
    request.on('error', reject);
    request.end();
  });
}

const rules = [
  { allowedOrigins: 'http://one.example', allowedMethods: 'GET', allowedHeaders: 'x-ms-meta-*,accept',
    exposedHeaders: 'x-ms-request-id', maxAgeInSeconds: 7 },
  { allowedOrigins: 'http://*.wild.example', allowedMethods: 'PUT', allowedHeaders: '*', exposedHeaders: '*',
    maxAgeInSeconds: 0 },
  { allowedOrigins: '*', allowedMethods: 'DELETE', allowedHeaders: '', exposedHeaders: '', maxAgeInSeconds: 1 },
];

test('a preflight is answered by the first rule for its origin and method', async () => {
  await service.setProperties({ cors: rules });
  const ask = (origin, method, wanted) => send('OPTIONS', 'ccc/b?sig=none', {
    origin, 'access-control-request-method': method,
    ...(wanted && { 'access-control-request-headers': wanted }),
  });
  const one = await ask('http://one.example', 'GET', 'x-ms-meta-a, Accept');
  assert.equal(one.statusCode, 200);
  assert.equal(one.headers['access-control-allow-origin'], 'http://one.example');
  assert.equal(one.headers['access-control-allow-methods'], 'GET');
  assert.equal(one.headers['access-control-max-age'], '7');
  assert.equal(one.headers['access-control-allow-credentials'], 'true');
  assert.equal((await ask('http://a.wild.example', 'PUT', 'anything')).statusCode, 200);
  const any = await ask('null', 'DELETE');
  assert.equal(any.headers['access-control-allow-origin'], '*');
  assert.equal(any.headers['access-control-allow-credentials'], undefined);

  for (const refused of [await ask('http://one.example', 'PUT'), await ask('http://two.example', 'GET'),
    await ask('http://one.example', 'GET', 'x-other'), await ask('http://wild.example', 'PUT'),
    await ask('HTTP://ONE.example', 'GET')]) {
    assert.equal(refused.statusCode, 403);
    assert.equal(refused.headers['x-ms-error-code'], 'CorsPreflightFailure');
  }
});

test('a preflight without its headers is malformed', async () => {
  for (const headers of [{}, { origin: 'http://one.example' }, { 'access-control-request-method': 'GET' }]) {
    const answer = await send('OPTIONS', 'ccc/b', headers);
    assert.equal(answer.statusCode, 400);
    assert.equal(answer.headers['x-ms-error-code'], 'InvalidHeaderValue');
  }
});

test('an actual request is performed, and says whom its answer is for', async () => {
  await service.setProperties({ cors: rules });
  const container = await createdContainer();
  await container.setAccessPolicy('blob');
  await container.getBlockBlobClient('b').upload('x', 1);
  const path = `${container.containerName}/b`;
  const allowed = await send('GET', path, { origin: 'http://one.example' });
  assert.equal(allowed.statusCode, 200);
  assert.equal(allowed.headers['access-control-allow-origin'], 'http://one.example');
  assert.equal(allowed.headers['access-control-expose-headers'], 'x-ms-request-id');
  assert.equal(allowed.headers.vary, 'Origin');
  const other = await send('GET', path, { origin: 'http://two.example' });
  assert.equal(other.statusCode, 200);
  assert.equal(other.headers['access-control-allow-origin'], undefined);
  assert.equal(other.headers.vary, 'Origin');
  const plain = await send('GET', path, {});
  assert.equal(plain.headers['access-control-allow-origin'], undefined);
  assert.equal(plain.headers.vary, 'Origin');
  assert.equal((await send('HEAD', path, {})).headers.vary, 'Origin');
});

// --- batches ---

test('a batch deletes blobs and tells each outcome', async () => {
  const container = await createdContainer();
  const urls = [];
  for (let i = 0; i < 5; i++) {
    const blob = container.getBlockBlobClient(`blob ${i}`);
    await blob.upload('x', 1);
    urls.push(blob.url);
  }
  urls.push(container.getBlobClient('missing').url);
  const leased = container.getBlockBlobClient('leased');
  await leased.upload('x', 1);
  await leased.getBlobLeaseClient().acquireLease(-1);
  urls.push(leased.url);
  const answer = await service.getBlobBatchClient().deleteBlobs(urls, service.credential);
  assert.equal(answer.subResponsesSucceededCount, 5);
  assert.equal(answer.subResponsesFailedCount, 2);
  assert.deepEqual(answer.subResponses.map((r) => r.status), [202, 202, 202, 202, 202, 404, 412]);
  assert.equal(answer.subResponses[5].errorCode, 'BlobNotFound');
  assert.equal(answer.subResponses[6].errorCode, 'LeaseIdMissing');
  assert.ok(await leased.exists());
  assert.ok(!(await container.getBlobClient('blob 0').exists()));
});

test('a batch of a container takes only its blobs', async () => {
  const mine = await createdContainer();
  const other = await createdContainer();
  for (const container of [mine, other]) await container.getBlockBlobClient('b').upload('x', 1);
  const batch = mine.getBlobBatchClient();
  const answer = await batch.deleteBlobs([mine.getBlobClient('b').url], service.credential);
  assert.equal(answer.subResponsesSucceededCount, 1);
  await assert.rejects(batch.deleteBlobs([other.getBlobClient('b').url], service.credential),
    { statusCode: 400 });
  assert.ok(await other.getBlobClient('b').exists());
});

test('a batch sets the tiers of blobs', async () => {
  const container = await createdContainer();
  const blobs = ['one', 'two/three', 'per%cent'].map((name) => container.getBlockBlobClient(name));
  for (const blob of blobs) await blob.upload('x', 1);
  const batch = service.getBlobBatchClient();
  const answer = await batch.setBlobsAccessTier(blobs.map((b) => b.url), service.credential, 'Cool');
  assert.deepEqual(answer.subResponses.map((r) => r.status), [200, 200, 200]);
  for (const blob of blobs) assert.equal((await blob.getProperties()).accessTier, 'Cool');
});

test('a batch holds as many as 256 parts', async () => {
  const container = await createdContainer();
  const urls = [...Array(256).keys()].map((i) => container.getBlobClient(`b${i}`).url);
  const answer = await service.getBlobBatchClient().deleteBlobs(urls, service.credential);
  assert.equal(answer.subResponsesFailedCount, 256);
});

test('every part of a batch is authorized for itself', async () => {
  const container = await createdContainer();
  const blob = container.getBlockBlobClient('b');
  await blob.upload('x', 1);
  const sas = generateAccountSASQueryParameters({
    expiresOn: new Date(Date.now() + 3600_000), permissions: AccountSASPermissions.parse('r'),
    resourceTypes: AccountSASResourceTypes.parse('sco').toString(),
    services: AccountSASServices.parse('b').toString(),
  }, service.credential).toString();
  const { AnonymousCredential } = await import('@azure/storage-blob');
  const answer = await service.getBlobBatchClient().deleteBlobs([`${blob.url}?${sas}`], new AnonymousCredential());
  assert.equal(answer.subResponsesFailedCount, 1);
  assert.equal(answer.subResponses[0].errorCode, 'AuthorizationPermissionMismatch');
  assert.ok(await blob.exists());
});

stopsCleanly(server);
