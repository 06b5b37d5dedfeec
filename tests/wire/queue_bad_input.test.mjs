// Requests of the queue service that are wrong in some way, and the documented answer to each.

import test from 'node:test';
import assert from 'node:assert/strict';
import { startServer, stopsCleanly } from '../e2e/helpers/server.mjs';
import { exchange, head } from '../e2e/helpers/raw.mjs';
import { accountSas } from '../e2e/helpers/sign.mjs';
import { messagesOf, messagePath, messageXml, queueEndpoint, queueSender, queueSigner }
  from '../e2e/helpers/queue.mjs';

const server = await startServer();
const send = queueSender(server);
const signed = queueSigner(server);
await send('PUT', 'bad');
await send('PUT', 'good');

const RANGE = 'OutOfRangeQueryParameterValue';
const VALUE = 'InvalidQueryParameterValue';

const detail = (answer, name) =>
  new RegExp(`<${name}>(.*?)</${name}>`, 's').exec(answer.body.toString())?.[1];

async function check(promise, status, code, details = {}) {
  const answer = await promise;
  assert.equal(answer.status, status, `${answer.status} ${answer.code}`);
  assert.equal(answer.code, code);
  assert.equal(detail(answer, 'Code'), code);
  assert.ok(answer.body.toString().startsWith('\ufeff<?xml version="1.0" encoding="utf-8"?><Error>'));
  for (const [name, text] of Object.entries(details)) assert.equal(detail(answer, name), text, name);
  return answer;
}

test('names of queues that may not be', async () => {
  for (const name of ['Upper', 'a--b', '-ab', 'ab-', 'a_b', 'under_score', '%C3%BCml', 'a.b', '$root']) {
    const answer = await check(send('PUT', name), 400, 'InvalidResourceName');
    assert.equal(answer.reason, 'The specifed resource name contains invalid characters.');
  }
  for (const name of ['a', 'ab', 'x'.repeat(64), 'x'.repeat(5000)]) {
    await check(send('PUT', name), 400, 'OutOfRangeInput');
  }
  assert.equal((await send('PUT', 'x'.repeat(63))).status, 201);
  await check(send('PUT', 'abc%'), 400, 'InvalidUri');
});

test('paths that name nothing', async () => {
  await check(send('GET', 'bad/other'), 400, 'InvalidUri');
  await check(send('GET', 'bad/messages/a/b'), 400, 'InvalidUri');
  await check(send('GET', 'bad/messages/08df42e7-0000-0000-0000-000000000000'), 405,
    'UnsupportedHttpVerb');
  await check(send('GET', 'bad'), 405, 'UnsupportedHttpVerb');
  await check(send('PUT', 'bad/messages'), 405, 'UnsupportedHttpVerb');
  await check(send('GET', 'bad?comp=nonsense'), 400, VALUE, { QueryParameterName: 'comp' });
  await check(send('POST', '?restype=service&comp=userdelegationkey', {}, '<a/>'), 501,
    'NotImplemented');
});

test('metadata that may not be', async () => {
  await check(send('PUT', 'meta-1', { 'x-ms-meta-a-b': 'x' }), 400, 'InvalidMetadata');
  await check(send('PUT', 'meta-1', { 'x-ms-meta-': 'x' }), 400, 'EmptyMetadataKey');
  await check(send('PUT', 'meta-1', { 'x-ms-meta-a': 'x'.repeat(8192) }), 400, 'MetadataTooLarge');
});

test('numbers that are out of range, or none', async () => {
  const week = '604800';
  const cases = [
    ['GET', 'bad/messages?numofmessages=0', RANGE, '1', '32'],
    ['GET', 'bad/messages?numofmessages=33', RANGE, '1', '32'],
    ['GET', 'bad/messages?numofmessages=-1', RANGE, '1', '32'],
    ['GET', 'bad/messages?numofmessages=99999999999999999999', VALUE],
    ['GET', 'bad/messages?numofmessages=two', VALUE],
    ['GET', 'bad/messages?numofmessages=1.5', VALUE],
    ['GET', 'bad/messages?visibilitytimeout=0', RANGE, '1', week],
    ['GET', 'bad/messages?visibilitytimeout=604801', RANGE, '1', week],
    ['GET', 'bad/messages?visibilitytimeout=x', VALUE],
    ['GET', 'bad/messages?peekonly=true&numofmessages=33', RANGE, '1', '32'],
    ['GET', 'bad/messages?peekonly=perhaps', VALUE],
    ['POST', 'bad/messages?visibilitytimeout=-1', RANGE, '0', week],
    ['POST', 'bad/messages?visibilitytimeout=604801', RANGE, '0', week],
    ['POST', 'bad/messages?messagettl=0', VALUE],
    ['POST', 'bad/messages?messagettl=-2', VALUE],
    ['POST', 'bad/messages?messagettl=x', VALUE],
    ['POST', 'bad/messages?messagettl=10&visibilitytimeout=10', VALUE],
    ['POST', 'bad/messages?messagettl=10&visibilitytimeout=11', VALUE],
    ['POST', 'bad/messages?visibilitytimeout=604800', VALUE],
    ['GET', '?comp=list&maxresults=0', RANGE, '1', '5000'],
    ['GET', '?comp=list&maxresults=x', VALUE],
    ['GET', '?comp=list&include=nonsense', VALUE],
  ];
  for (const [method, path, code, min, max] of cases) {
    await check(send(method, path, {}, method === 'POST' ? messageXml('x') : null), 400, code,
      { MinimumAllowed: min, MaximumAllowed: max });
  }
  const answer = await send('POST', 'bad/messages?messagettl=10&visibilitytimeout=10', {},
    messageXml('x'));
  assert.equal(detail(answer, 'Reason'), 'messagettl must be greater than visibilitytimeout');
  const old = { 'x-ms-version': '2016-05-31' };
  for (const ttl of ['-1', '604801', '0']) {
    await check(send('POST', `bad/messages?messagettl=${ttl}`, old, messageXml('x')), 400, RANGE,
      { MinimumAllowed: '1', MaximumAllowed: week });
  }
  assert.equal((await send('GET', 'bad?comp=metadata')).headers['x-ms-approximate-messages-count'],
    '0');
});

test('documents that are no message', async () => {
  const documents = ['', 'text', '<QueueMessage>', '<QueueMessage/>', '<Other/>',
    '<QueueMessage><MessageText>x</QueueMessage>', '<QueueMessage><Text>x</Text></QueueMessage>',
    '<QueueMessage><MessageText><b/></MessageText></QueueMessage>',
    messageXml('a\u0001b'), messageXml('&#1;'), messageXml('&undefined;'),
    messageXml(''.padEnd(10, '\ufffe')),
    '<!DOCTYPE a [<!ENTITY e "x">]><QueueMessage><MessageText>&e;</MessageText></QueueMessage>',
    '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]>' +
      '<QueueMessage><MessageText>&e;</MessageText></QueueMessage>'];
  for (const document of documents) {
    const answer = await send('POST', 'bad/messages', {}, document);
    assert.equal(answer.status, 400, JSON.stringify(document));
    assert.equal(answer.code, 'InvalidXmlDocument', JSON.stringify(document));
    assert.ok(detail(answer, 'LineNumber') !== undefined);
  }
  await check(send('POST', 'bad/messages', {}, Buffer.from([0x3c, 0xff, 0xfe, 0x3e])), 400,
    'InvalidXmlDocument');
  assert.equal((await send('GET', 'bad?comp=metadata')).headers['x-ms-approximate-messages-count'],
    '0');
});

test('a text of 64 KiB is taken and one byte more is not, however it is written', async () => {
  const edge = 64 * 1024;
  for (const [text, more] of [['x', 'x'], ['&lt;', '&lt;'], ['&#x78;', '&#x78;']]) {
    const at = await send('POST', 'good/messages', {}, messageXml(text.repeat(edge)));
    assert.equal(at.status, 201, text);
    await check(send('POST', 'good/messages', {}, messageXml(text.repeat(edge) + more)), 413,
      'RequestBodyTooLarge', { MaxLimit: '65536' });
  }
  // Bytes count, not characters.
  await check(send('POST', 'good/messages', {}, messageXml('ü'.repeat(edge / 2 + 1))), 413,
    'RequestBodyTooLarge');
  const [message] = messagesOf(await send('GET', 'good/messages'));
  const path = messagePath('good', message, '&visibilitytimeout=10');
  await check(send('PUT', path, {}, messageXml('x'.repeat(edge + 1))), 413, 'RequestBodyTooLarge',
    { MaxLimit: '65536' });
  assert.equal((await send('PUT', path, {}, messageXml('x'.repeat(edge)))).status, 204);
  for (const size of [1024 * 1024 + 1, 9 * 1024 * 1024]) {
    await check(send('POST', 'good/messages', {}, 'x'.repeat(size)), 413, 'RequestBodyTooLarge');
  }
});

test('receipts and ids that are none, or not those of the message', async () => {
  await send('POST', 'bad/messages', {}, messageXml('x'));
  const [message] = messagesOf(await send('GET', 'bad/messages?visibilitytimeout=1000'));
  const id = message.MessageId;
  const malformed = { QueryParameterName: 'popreceipt', Reason: 'Invalid pop receipt format' };
  for (const receipt of ['x', 'AgAAAAMAAAAAAAAAzWAJHmRE2AE%3D', 'A'.repeat(32), '%2F'.repeat(32),
    `${message.PopReceipt.slice(0, 31)}`, `${encodeURIComponent(message.PopReceipt)}A`, '%00',
    'A'.repeat(5000)]) {
    for (const [method, query] of [['DELETE', ''], ['PUT', '&visibilitytimeout=0']]) {
      await check(send(method, `bad/messages/${id}?popreceipt=${receipt}${query}`), 400, VALUE,
        malformed);
    }
  }
  await check(send('DELETE', `bad/messages/${id}`), 400, 'MissingRequiredQueryParameter',
    { QueryParameterName: 'popreceipt' });
  await check(send('DELETE', `bad/messages/${id}?popreceipt=`), 400,
    'MissingRequiredQueryParameter');
  const receipt = encodeURIComponent(message.PopReceipt);
  await check(send('PUT', `bad/messages/${id}?popreceipt=${receipt}`), 400,
    'MissingRequiredQueryParameter', { QueryParameterName: 'visibilitytimeout' });
  for (const timeout of ['-1', '604801']) {
    await check(send('PUT', messagePath('bad', message, `&visibilitytimeout=${timeout}`)), 400,
      RANGE, { MinimumAllowed: '0', MaximumAllowed: '604800' });
  }
  await check(send('PUT', messagePath('bad', message, '&visibilitytimeout=604800')), 400, VALUE,
    { QueryParameterName: 'visibilitytimeout' });
  const bytes = Buffer.from(message.PopReceipt, 'base64');
  for (const at of [7, 8, 23]) {
    const wrong = Buffer.from(bytes);
    wrong[at] ^= 1;
    const stale = { ...message, PopReceipt: wrong.toString('base64') };
    await check(send('DELETE', messagePath('bad', stale)), 400, 'PopReceiptMismatch');
    await check(send('PUT', messagePath('bad', stale, '&visibilitytimeout=0')), 400,
      'PopReceiptMismatch');
  }
  for (const other of ['08df42e7-0000-0000-0000-000000000000', 'nonsense', '%00', 'x'.repeat(3000)]) {
    await check(send('DELETE', messagePath('bad', { ...message, MessageId: other })), 404,
      'MessageNotFound');
  }
  await check(send('DELETE', messagePath('good', message)), 404, 'MessageNotFound');
  await check(send('DELETE', messagePath('nowhere', message)), 404, 'QueueNotFound');
  assert.equal((await send('DELETE', messagePath('bad', message))).status, 204);
});

test('documents that are no access policies', async () => {
  for (const document of ['x', '<SignedIdentifiers>', '<Other/>']) {
    await check(signed('PUT', 'bad?comp=acl', {}, document), 400, 'InvalidXmlDocument');
  }
});

test('a body without a length is refused', async () => {
  const endpoint = queueEndpoint(server);
  const sas = accountSas({ ss: 'q', sp: 'a' }, endpoint);
  const answer = await exchange(endpoint, head('POST', `/${server.account}/bad/messages?${sas}`,
    { Host: `${endpoint.host}:${endpoint.port}` }));
  assert.equal(answer.status, 411);
  assert.equal(answer.code, 'MissingContentLengthHeader');
});

stopsCleanly(server);
