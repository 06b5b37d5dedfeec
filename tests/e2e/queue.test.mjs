// Queues: the service's properties, listing, creating, metadata, access policies, CORS.

import test from 'node:test';
import assert from 'node:assert/strict';
import { StorageSharedKeyCredential, QueueServiceClient } from '@azure/storage-queue';
import { noRetry, startServer, stopsCleanly } from './helpers/server.mjs';
import { send } from './helpers/http.mjs';
import { queueClient, queueEndpoint, queueSender, queueSigner } from './helpers/queue.mjs';

const server = await startServer();
const service = queueClient(server);
const raw = queueSender(server);
const signed = queueSigner(server);

const names = async (options) => {
  const found = [];
  for await (const item of service.listQueues(options)) found.push(item.name);
  return found;
};

test('a queue is created once: 201, 204 with the same metadata, 409 with other', async () => {
  const queue = service.getQueueClient('created');
  const first = await queue.create({ metadata: { Color: 'blue', size: '9' } });
  assert.equal(first._response.status, 201);
  assert.equal(first._response.headers.get('server'),
    'Windows-Azure-Queue/1.0 Microsoft-HTTPAPI/2.0');
  assert.match(first.requestId, /^[0-9a-f-]{36}$/);
  const again = await queue.create({ metadata: { size: '9', color: 'blue' } });
  assert.equal(again._response.status, 204);
  await assert.rejects(queue.create({ metadata: { color: 'red', size: '9' } }),
    { statusCode: 409, code: 'QueueAlreadyExists' });
  await assert.rejects(queue.create(), { statusCode: 409, code: 'QueueAlreadyExists' });
  assert.equal((await queue.createIfNotExists({ metadata: { color: 'red' } })).succeeded, false);
});

test('metadata is shown with the count of messages, and replaced as a whole', async () => {
  const queue = service.getQueueClient('metadata');
  await queue.create({ metadata: { hello: 'world', number: '42' } });
  let properties = await queue.getProperties();
  assert.deepEqual(properties.metadata, { hello: 'world', number: '42' });
  assert.equal(properties.approximateMessagesCount, 0);
  assert.equal(properties._response.headers.get('cache-control'), 'no-cache');
  assert.equal(properties._response.headers.get('content-length'), '0');
  assert.equal((await queue.setMetadata({ one: '1' }))._response.status, 204);
  await queue.sendMessage('x');
  await queue.sendMessage('y', { visibilityTimeout: 1000 });
  properties = await queue.getProperties();
  assert.deepEqual(properties.metadata, { one: '1' });
  assert.equal(properties.approximateMessagesCount, 2);
  await queue.setMetadata();
  assert.deepEqual((await queue.getProperties()).metadata, {});
  const head = await raw('HEAD', 'metadata?comp=metadata');
  assert.equal(head.status, 200);
  assert.equal(head.headers['x-ms-approximate-messages-count'], '2');
});

test('a deleted queue is gone, and its name is free', async () => {
  const queue = service.getQueueClient('deleted');
  await queue.create({ metadata: { a: 'b' } });
  await queue.sendMessage('x');
  assert.equal((await queue.delete())._response.status, 204);
  await assert.rejects(queue.delete(), { statusCode: 404, code: 'QueueNotFound' });
  await assert.rejects(queue.sendMessage('x'), { statusCode: 404, code: 'QueueNotFound' });
  await assert.rejects(queue.receiveMessages(), { statusCode: 404, code: 'QueueNotFound' });
  await assert.rejects(queue.peekMessages(), { statusCode: 404, code: 'QueueNotFound' });
  await assert.rejects(queue.clearMessages(), { statusCode: 404, code: 'QueueNotFound' });
  await assert.rejects(queue.getProperties(), { statusCode: 404 });
  await assert.rejects(queue.setMetadata({ a: 'b' }), { statusCode: 404, code: 'QueueNotFound' });
  await assert.rejects(queue.getAccessPolicy(), { statusCode: 404, code: 'QueueNotFound' });
  await assert.rejects(queue.setAccessPolicy([]), { statusCode: 404, code: 'QueueNotFound' });
  assert.equal(await queue.exists(), false);
  assert.equal((await queue.deleteIfExists()).succeeded, false);
  await queue.create();
  assert.equal((await queue.getProperties()).approximateMessagesCount, 0);
  assert.equal((await queue.receiveMessages()).receivedMessageItems.length, 0);
});

test('queues are listed by name, in pages, with metadata when it is asked for', async () => {
  for (const name of ['list-b', 'list-a', 'list-c', 'list-b1', 'lisa']) {
    await service.createQueue(name, { metadata: { name: name.replace('-', '_') } });
  }
  assert.deepEqual(await names({ prefix: 'list-' }), ['list-a', 'list-b', 'list-b1', 'list-c']);
  const pages = [];
  const byPage = service.listQueues({ prefix: 'list-', includeMetadata: true })
    .byPage({ maxPageSize: 3 });
  for await (const page of byPage) pages.push(page);
  assert.equal(pages.length, 2);
  assert.equal(pages[0].maxPageSize, 3);
  assert.equal(pages[0].prefix, 'list-');
  assert.deepEqual(pages.map((page) => page.queueItems.map(({ name }) => name)),
    [['list-a', 'list-b', 'list-b1'], ['list-c']]);
  assert.deepEqual(pages[0].queueItems[2].metadata, { name: 'list_b1' });
  const plain = await service.listQueues({ prefix: 'lisa' }).byPage().next();
  assert.equal(plain.value.queueItems[0].metadata, undefined);
  assert.deepEqual(await names({ prefix: 'nothing-' }), []);
});

test('a listing is written as the service writes it', async () => {
  await service.createQueue('wire-a');
  await service.createQueue('wire-b');
  const answer = await raw('GET', '?comp=list&prefix=wire-&maxresults=1');
  assert.equal(answer.status, 200);
  assert.equal(answer.headers['content-type'], 'application/xml');
  assert.equal(answer.headers['cache-control'], 'no-cache');
  assert.equal(answer.body.toString(),
    '\ufeff<?xml version="1.0" encoding="utf-8"?>' +
    `<EnumerationResults ServiceEndpoint="${server.queueUrl}/"><Prefix>wire-</Prefix>` +
    '<MaxResults>1</MaxResults><Queues><Queue><Name>wire-a</Name></Queue></Queues>' +
    `<NextMarker>/${server.account}/wire-b</NextMarker></EnumerationResults>`);
});

test('access policies are stored and shown', async () => {
  const queue = service.getQueueClient('acl');
  await queue.create();
  assert.deepEqual((await queue.getAccessPolicy()).signedIdentifiers, []);
  const empty = await signed('GET', 'acl?comp=acl');
  assert.ok(empty.body.toString().endsWith('<SignedIdentifiers />'));
  const set = await queue.setAccessPolicy([
    { id: 'one', accessPolicy: { permissions: 'raup', startsOn: new Date('2020-02-26T23:55:28Z'),
      expiresOn: new Date('2030-01-01') } },
    { id: 'two', accessPolicy: { permissions: 'r' } },
  ]);
  assert.equal(set._response.status, 204);
  const { signedIdentifiers } = await queue.getAccessPolicy();
  assert.equal(signedIdentifiers.length, 2);
  assert.equal(signedIdentifiers[0].accessPolicy.permissions, 'raup');
  assert.deepEqual(signedIdentifiers[0].accessPolicy.startsOn, new Date('2020-02-26T23:55:28Z'));
  assert.equal(signedIdentifiers[1].id, 'two');
  await queue.setAccessPolicy([]);
  assert.deepEqual((await queue.getAccessPolicy()).signedIdentifiers, []);
  const six = Array.from({ length: 6 }, (_, i) => ({ id: String(i),
    accessPolicy: { permissions: 'r' } }));
  await assert.rejects(queue.setAccessPolicy(six), { statusCode: 400, code: 'InvalidXmlDocument' });
});

test('the properties of the service are its own, not those of the blobs', async () => {
  const initial = await service.getProperties();
  assert.equal(initial._response.headers.get('cache-control'), 'no-cache');
  assert.equal(initial.queueAnalyticsLogging.read, false);
  assert.equal(initial.minuteMetrics.enabled, false);
  const cors = [{ allowedOrigins: 'http://a.example', allowedMethods: 'GET,POST',
    allowedHeaders: 'x-ms-*', exposedHeaders: 'x-ms-request-id', maxAgeInSeconds: 60 }];
  const set = await service.setProperties({ cors, hourMetrics: { version: '1.0', enabled: true,
    includeAPIs: true, retentionPolicy: { enabled: true, days: 3 } } });
  assert.equal(set._response.status, 202);
  const { cors: stored, hourMetrics, queueAnalyticsLogging } = await service.getProperties();
  assert.equal(stored[0].allowedOrigins, 'http://a.example');
  assert.equal(hourMetrics.retentionPolicy.days, 3);
  assert.equal(queueAnalyticsLogging.read, false);
  assert.deepEqual((await server.client().getProperties()).cors ?? [], []);
  await assert.rejects(service.setProperties({ cors: Array(6).fill(cors[0]) }),
    { statusCode: 400, code: 'InvalidXmlDocument' });
});

test('pages of allowed origins get CORS headers, and preflights are answered', async () => {
  await service.createQueue('cors');
  const origin = { Origin: 'http://a.example' };
  const answer = await raw('GET', 'cors?comp=metadata', origin);
  assert.equal(answer.headers['access-control-allow-origin'], 'http://a.example');
  assert.match(answer.headers['access-control-expose-headers'], /x-ms-request-id/);
  assert.equal(answer.headers.vary, 'Origin');
  const other = await raw('GET', 'cors?comp=metadata', { Origin: 'http://b.example' });
  assert.equal(other.status, 200);
  assert.equal(other.headers['access-control-allow-origin'], undefined);
  const preflight = (headers) => send(queueEndpoint(server),
    { method: 'OPTIONS', target: `/${server.account}/cors/messages`, headers });
  const allowed = await preflight({ ...origin, 'Access-Control-Request-Method': 'POST',
    'Access-Control-Request-Headers': 'x-ms-date' });
  assert.equal(allowed.status, 200);
  assert.equal(allowed.headers['access-control-allow-origin'], 'http://a.example');
  assert.equal(allowed.headers['access-control-max-age'], '60');
  const refused = await preflight({ ...origin, 'Access-Control-Request-Method': 'DELETE' });
  assert.equal(refused.status, 403);
  assert.equal((await preflight({ ...origin })).status, 400);
});

test('the secondary endpoint reads, tells its statistics and takes no changes', async () => {
  await service.createQueue('second', { metadata: { a: 'b' } });
  await service.getQueueClient('second').sendMessage('x');
  const secondary = new QueueServiceClient(`${server.queueUrl}-secondary`,
    new StorageSharedKeyCredential(server.account, server.key), noRetry);
  const statistics = await secondary.getStatistics();
  assert.equal(statistics.geoReplication.status, 'live');
  assert.ok(Date.now() - statistics.geoReplication.lastSyncOn.getTime() < 60_000);
  await assert.rejects(service.getStatistics(), { statusCode: 400 });
  const queue = secondary.getQueueClient('second');
  assert.deepEqual((await queue.getProperties()).metadata, { a: 'b' });
  assert.equal((await queue.peekMessages()).peekedMessageItems.length, 1);
  const changes = ['create', 'delete', 'receiveMessages', 'clearMessages', 'setMetadata'];
  for (const change of changes) await assert.rejects(queue[change](), { statusCode: 403 });
  await assert.rejects(queue.sendMessage('y'), { statusCode: 403 });
  assert.equal((await queue.peekMessages()).peekedMessageItems.length, 1);
});

test('what there is is there after a restart', async () => {
  const queue = service.getQueueClient('durable');
  await queue.create({ metadata: { kept: 'yes' } });
  await queue.setAccessPolicy([{ id: 'one', accessPolicy: { permissions: 'r' } }]);
  await queue.sendMessage('first');
  await queue.sendMessage('second');
  const { receivedMessageItems: [got] } = await queue.receiveMessages({ visibilityTimeout: 1000 });
  assert.deepEqual(await server.restart(), { code: 0, signal: null });
  const again = queueClient(server).getQueueClient('durable');
  assert.deepEqual((await again.getProperties()).metadata, { kept: 'yes' });
  assert.equal((await again.getProperties()).approximateMessagesCount, 2);
  assert.equal((await again.getAccessPolicy()).signedIdentifiers.length, 1);
  const { receivedMessageItems } = await again.receiveMessages({ numberOfMessages: 32 });
  assert.deepEqual(receivedMessageItems.map(({ messageText }) => messageText), ['second']);
  await again.deleteMessage(got.messageId, got.popReceipt);
  assert.equal((await again.getProperties()).approximateMessagesCount, 1);
});

stopsCleanly(server);
