// Messages: put, get, peek, update, delete, clear, as the official client does it.

import test from 'node:test';
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { startServer, stopsCleanly } from './helpers/server.mjs';
import { messagesOf, messageXml, queueClient, queueSender } from './helpers/queue.mjs';

const server = await startServer();
const service = queueClient(server);
const raw = queueSender(server);

async function newQueue(name) {
  const queue = service.getQueueClient(name);
  await queue.create();
  return queue;
}

const get = async (queue, options) =>
  (await queue.receiveMessages({ numberOfMessages: 32, ...options })).receivedMessageItems;
const peek = async (queue) =>
  (await queue.peekMessages({ numberOfMessages: 32 })).peekedMessageItems;
const texts = (items) => items.map(({ messageText }) => messageText);

test('a message goes in and comes out', async () => {
  const queue = await newQueue('in-and-out');
  const before = Date.now();
  const sent = await queue.sendMessage('hello');
  assert.equal(sent._response.status, 201);
  assert.match(sent.messageId, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  assert.ok(Math.abs(sent.insertedOn.getTime() - before) < 5000);
  assert.equal(sent.expiresOn - sent.insertedOn, 7 * 24 * 3600 * 1000);
  assert.deepEqual(sent.nextVisibleOn, sent.insertedOn);
  assert.ok(sent.popReceipt.length > 20);
  const [got] = await get(queue, { visibilityTimeout: 100 });
  assert.equal(got.messageText, 'hello');
  assert.equal(got.messageId, sent.messageId);
  assert.notEqual(got.popReceipt, sent.popReceipt);
  assert.equal(got.dequeueCount, 1);
  assert.deepEqual(got.insertedOn, sent.insertedOn);
  assert.ok(Math.abs(got.nextVisibleOn.getTime() - before - 100_000) < 6000);
  assert.deepEqual(await get(queue), []);
  await queue.deleteMessage(got.messageId, got.popReceipt);
  assert.equal((await queue.getProperties()).approximateMessagesCount, 0);
});

test('answers are written as the service writes them', async () => {
  await newQueue('wire');
  const put = await raw('POST', 'wire/messages', {}, messageXml('message1'));
  assert.equal(put.status, 201);
  assert.equal(put.headers['content-type'], 'application/xml');
  const element = (name, text) => `<${name}>${text}</${name}>`;
  const date = '[A-Z][a-z]{2}, \\d\\d [A-Z][a-z]{2} \\d{4} \\d\\d:\\d\\d:\\d\\d GMT';
  const begin = '^\ufeff<\\?xml version="1.0" encoding="utf-8"\\?><QueueMessagesList><QueueMessage>' +
    element('MessageId', '[0-9a-f-]{36}') + element('InsertionTime', date) +
    element('ExpirationTime', date);
  const receipt = element('PopReceipt', '[A-Za-z0-9+/]{32}') + element('TimeNextVisible', date);
  const end = '</QueueMessage></QueueMessagesList>$';
  assert.match(put.body.toString(), new RegExp(begin + receipt + end));
  const peeked = await raw('GET', 'wire/messages?peekonly=true');
  assert.equal(peeked.headers['cache-control'], 'no-cache');
  assert.match(peeked.body.toString(), new RegExp(begin + element('DequeueCount', '0') +
    element('MessageText', 'message1') + end));
  const got = await raw('GET', 'wire/messages');
  assert.equal(got.headers['cache-control'], 'no-cache');
  assert.match(got.body.toString(), new RegExp(begin + receipt + element('DequeueCount', '1') +
    element('MessageText', 'message1') + end));
  const nothing = await raw('GET', 'wire/messages');
  assert.equal(nothing.status, 200);
  assert.equal(nothing.body.toString(),
    '\ufeff<?xml version="1.0" encoding="utf-8"?><QueueMessagesList />');
});

test('an old client gets no body from a put', async () => {
  await newQueue('old');
  const answer = await raw('POST', 'old/messages', { 'x-ms-version': '2015-12-11' },
    messageXml('x'));
  assert.equal(answer.status, 201);
  assert.equal(answer.body.length, 0);
});

test('texts come out as they went in', async () => {
  const queue = await newQueue('texts');
  const all = ['', ' ', ' leading and trailing ', 'a<b>&amp;"\'', ']]>', 'one\ttab',
    'ünïcödé ☃ 💧', '<?xml version="1.0"?><a/>', Buffer.from([0, 1, 2, 255]).toString('base64'),
    'x'.repeat(64 * 1024), 'ü'.repeat(32 * 1024), '<'.repeat(64 * 1024)];
  for (const text of all) {
    await queue.sendMessage(text);
    const [got] = await get(queue);
    assert.equal(got.messageText, text, text.slice(0, 40));
    await queue.deleteMessage(got.messageId, got.popReceipt);
  }
});

test('other ways to write a text are understood', async () => {
  await newQueue('written');
  const ways = [
    [messageXml('<![CDATA[a<b&c]]>'), 'a&lt;b&amp;c'],
    [messageXml('&#x41;&#66;&lt;'), 'AB&lt;'],
    [messageXml('a\nb&#10;c\r\nd&#13;e'), 'a\nb\nc\nd&#xD;e'],
    ['\ufeff<QueueMessage>\n  <MessageText>x</MessageText>\n</QueueMessage>\n', 'x'],
    ['<QueueMessage xmlns="urn:any"><MessageText>y</MessageText></QueueMessage>', 'y'],
    ['<QueueMessage><MessageText/></QueueMessage>', ''],
    ['<QueueMessage><Other>1</Other><MessageText>z</MessageText></QueueMessage>', 'z'],
  ];
  for (const [document, text] of ways) {
    assert.equal((await raw('POST', 'written/messages', {}, document)).status, 201, document);
    const [got] = messagesOf(await raw('GET', 'written/messages'));
    assert.equal(got.MessageText, text, document);
  }
});

test('messages are handed out in order, up to 32 at a time', async () => {
  const queue = await newQueue('order');
  for (let i = 0; i < 40; i++) await queue.sendMessage(`m${i}`);
  assert.equal((await get(queue, { numberOfMessages: undefined })).length, 1);
  const batch = await get(queue);
  assert.deepEqual(texts(batch), Array.from({ length: 32 }, (_, i) => `m${i + 1}`));
  assert.equal(new Set(batch.map(({ popReceipt }) => popReceipt)).size, 32);
  assert.deepEqual(texts(await get(queue)), ['m33', 'm34', 'm35', 'm36', 'm37', 'm38', 'm39']);
  assert.deepEqual(await get(queue), []);
  assert.equal((await queue.getProperties()).approximateMessagesCount, 40);
});

test('a message comes back when its time is up, and its receipt goes stale', async () => {
  const queue = await newQueue('back');
  await queue.sendMessage('again');
  const [first] = await get(queue, { visibilityTimeout: 1 });
  assert.deepEqual(await get(queue), []);
  await sleep(1100);
  assert.equal((await peek(queue))[0].dequeueCount, 1);
  const [second] = await get(queue, { visibilityTimeout: 100 });
  assert.equal(second.messageId, first.messageId);
  assert.equal(second.dequeueCount, 2);
  const mismatch = { statusCode: 400, code: 'PopReceiptMismatch' };
  await assert.rejects(queue.deleteMessage(first.messageId, first.popReceipt), mismatch);
  await assert.rejects(queue.updateMessage(first.messageId, first.popReceipt, 'x'), mismatch);
  await queue.deleteMessage(second.messageId, second.popReceipt);
  await assert.rejects(queue.deleteMessage(second.messageId, second.popReceipt),
    { statusCode: 404, code: 'MessageNotFound' });
});

test('a receipt is good after its time, until the message is handed out again', async () => {
  const queue = await newQueue('late');
  await queue.sendMessage('x');
  const [got] = await get(queue, { visibilityTimeout: 1 });
  await sleep(1100);
  assert.equal((await peek(queue)).length, 1);
  await queue.deleteMessage(got.messageId, got.popReceipt);
  assert.deepEqual(await peek(queue), []);
});

test('peeking hands out nothing', async () => {
  const queue = await newQueue('peek');
  await queue.sendMessage('seen');
  await queue.sendMessage('hidden', { visibilityTimeout: 1000 });
  for (let i = 0; i < 3; i++) {
    const items = await peek(queue);
    assert.deepEqual(texts(items), ['seen']);
    assert.equal(items[0].dequeueCount, 0);
    assert.equal(items[0].popReceipt, undefined);
  }
  assert.equal((await get(queue)).length, 1);
  assert.deepEqual(await peek(queue), []);
});

test('an update moves the message, changes its text if one is given, and its receipt', async () => {
  const queue = await newQueue('update');
  await queue.sendMessage('one');
  const [got] = await get(queue, { visibilityTimeout: 1000 });
  const updated = await queue.updateMessage(got.messageId, got.popReceipt, 'two', 500);
  assert.equal(updated._response.status, 204);
  assert.notEqual(updated.popReceipt, got.popReceipt);
  assert.ok(Math.abs(updated.nextVisibleOn.getTime() - Date.now() - 500_000) < 5000);
  await assert.rejects(queue.updateMessage(got.messageId, got.popReceipt, 'three', 0),
    { statusCode: 400, code: 'PopReceiptMismatch' });
  const path = `update/messages/${got.messageId}?visibilitytimeout=0&popreceipt=` +
    encodeURIComponent(updated.popReceipt);
  const shown = await raw('PUT', path);
  assert.equal(shown.status, 204);
  assert.ok(shown.headers['x-ms-popreceipt']);
  const [back] = await get(queue);
  assert.equal(back.messageText, 'two');
  assert.equal(back.dequeueCount, 2);
});

test('the receipt of a put can be used at once', async () => {
  const queue = await newQueue('at-once');
  const sent = await queue.sendMessage('x');
  const updated = await queue.updateMessage(sent.messageId, sent.popReceipt, 'y', 1000);
  assert.deepEqual(await get(queue), []);
  await queue.deleteMessage(sent.messageId, updated.popReceipt);
  assert.equal((await queue.getProperties()).approximateMessagesCount, 0);
});

test('messages expire', async () => {
  const queue = await newQueue('expire');
  await queue.sendMessage('short', { messageTimeToLive: 1 });
  await queue.sendMessage('long', { messageTimeToLive: 1000 });
  const sent = await queue.sendMessage('shown late', { messageTimeToLive: 1001,
    visibilityTimeout: 1000 });
  assert.equal(sent.expiresOn - sent.insertedOn, 1_001_000);
  assert.equal(sent.nextVisibleOn - sent.insertedOn, 1_000_000);
  assert.deepEqual(texts(await peek(queue)), ['short', 'long']);
  await sleep(1200);
  assert.deepEqual(texts(await peek(queue)), ['long']);
  assert.deepEqual(texts(await get(queue)), ['long']);
  assert.equal((await queue.getProperties()).approximateMessagesCount, 2);
});

test('a message may live for ever, or for longer than a week', async () => {
  const queue = await newQueue('for-ever');
  const never = await queue.sendMessage('never', { messageTimeToLive: -1 });
  assert.equal(never.expiresOn.toUTCString(), 'Fri, 31 Dec 9999 23:59:59 GMT');
  const month = await queue.sendMessage('month', { messageTimeToLive: 30 * 24 * 3600 });
  assert.equal(month.expiresOn - month.insertedOn, 30 * 24 * 3600 * 1000);
  const [got] = await get(queue, { numberOfMessages: 1, visibilityTimeout: 7 * 24 * 3600 });
  assert.ok(Math.abs(got.nextVisibleOn - Date.now() - 7 * 24 * 3600 * 1000) < 5000);
  assert.equal(got.expiresOn.getUTCFullYear(), 9999);
});

test('clearing removes all, whoever has them', async () => {
  const queue = await newQueue('clear');
  for (let i = 0; i < 5; i++) await queue.sendMessage(String(i));
  const [got] = await get(queue, { numberOfMessages: 1, visibilityTimeout: 1 });
  assert.equal((await queue.clearMessages())._response.status, 204);
  assert.equal((await queue.getProperties()).approximateMessagesCount, 0);
  assert.deepEqual(await peek(queue), []);
  await assert.rejects(queue.deleteMessage(got.messageId, got.popReceipt),
    { statusCode: 404, code: 'MessageNotFound' });
  await queue.sendMessage('new');
  assert.deepEqual(texts(await get(queue)), ['new']);
});

stopsCleanly(server);
