// Shared access signatures for queues: what each letter allows and what it does not, by account SAS,
// queue SAS and stored access policy.

import test from 'node:test';
import assert from 'node:assert/strict';
import { AccountSASPermissions, AccountSASResourceTypes, AccountSASServices, QueueClient,
  QueueSASPermissions, QueueServiceClient, SASProtocol, StorageSharedKeyCredential,
  generateAccountSASQueryParameters, generateQueueSASQueryParameters }
  from '@azure/storage-queue';
import { noRetry, startServer, stopsCleanly } from './helpers/server.mjs';
import { send } from './helpers/http.mjs';
import { VERSION, accountSas, sasTime } from './helpers/sign.mjs';
import { messagesOf, messagePath, messageXml, queueClient, queueEndpoint, queueSas, queueSender }
  from './helpers/queue.mjs';

const server = await startServer();
const endpoint = queueEndpoint(server);
const service = queueClient(server);
const byKey = queueSender(server);
const credential = new StorageSharedKeyCredential(server.account, server.key);
await service.createQueue('allowed');
await service.createQueue('other');
const inAnHour = new Date(Date.now() + 3600_000);

// Every operation as a request: method, path, body, and who may send it.
//   account: [letters, type]   any one of the letters of an account SAS of that resource type
//   queue: letters             any one of the letters of a queue SAS; none: never
const put = messageXml('x');
async function fresh() {
  return messagesOf(await byKey('POST', 'allowed/messages', {}, put))[0];
}

const OPERATIONS = [
  ['List Queues', 'GET', () => '?comp=list', null, ['l', 's'], ''],
  ['Get Service Properties', 'GET', () => '?restype=service&comp=properties', null, ['r', 's'], ''],
  ['Set Service Properties', 'PUT', () => '?restype=service&comp=properties',
    '<StorageServiceProperties/>', ['w', 's'], ''],
  ['Create Queue', 'PUT', () => 'allowed', null, ['cw', 'c'], ''],
  ['Get Queue Metadata', 'GET', () => 'allowed?comp=metadata', null, ['r', 'c'], 'r'],
  ['Set Queue Metadata', 'PUT', () => 'allowed?comp=metadata', null, ['w', 'c'], ''],
  ['Get Queue ACL', 'GET', () => 'allowed?comp=acl', null, ['', 'c'], ''],
  ['Set Queue ACL', 'PUT', () => 'allowed?comp=acl', '', ['', 'c'], ''],
  ['Delete Queue', 'DELETE', () => 'allowed', null, ['d', 'c'], ''],
  ['Put Message', 'POST', () => 'allowed/messages', put, ['a', 'o'], 'a'],
  ['Get Messages', 'GET', () => 'allowed/messages', null, ['p', 'o'], 'p'],
  ['Peek Messages', 'GET', () => 'allowed/messages?peekonly=true', null, ['r', 'o'], 'r'],
  ['Clear Messages', 'DELETE', () => 'allowed/messages', null, ['d', 'o'], ''],
  ['Update Message', 'PUT', (message) => messagePath('allowed', message, '&visibilitytimeout=0'),
    '', ['u', 'o'], 'u'],
  ['Delete Message', 'DELETE', (message) => messagePath('allowed', message), null, ['p', 'o'],
    'p'],
];

function sendWith(sas, method, path, body) {
  return send(endpoint, { method, body, headers: { 'x-ms-version': VERSION },
    target: `/${server.account}/${path}${path.includes('?') ? '&' : '?'}${sas}` });
}

const PERMISSION = 'AuthorizationPermissionMismatch';

for (const [name, method, path, body, [letters, type], queueLetters] of OPERATIONS) {
  test(`${name} is possible with the letters it needs and no others`, async () => {
    await service.createQueue('allowed').catch(() => {});
    for (const letter of 'rwdlacup') {
      const message = await fresh();
      if (message === undefined) throw new Error('the queue is not there');
      const target = path(message);
      const sas = accountSas({ ss: 'q', srt: 'sco', sp: letter }, endpoint);
      const answer = await sendWith(sas, method, target, body);
      if (letters.includes(letter)) {
        assert.ok(answer.status < 300, `account SAS ${letter}: ${answer.status} ${answer.code}`);
        if (name === 'Delete Queue') await service.createQueue('allowed');
      } else {
        assert.equal(answer.status, 403, `account SAS ${letter}`);
        assert.equal(answer.code, letters === '' ? 'AuthorizationFailure' : PERMISSION);
      }
    }
    for (const other of [...'sco'].filter((one) => one !== type)) {
      const sas = accountSas({ ss: 'q', srt: other, sp: 'rwdlacup' }, endpoint);
      const answer = await sendWith(sas, method, path(await fresh()), body);
      assert.equal(answer.status, 403, `resource type ${other}`);
      assert.equal(answer.code, letters === '' ? 'AuthorizationFailure'
        : 'AuthorizationResourceTypeMismatch');
    }
    for (const letter of 'raup') {
      const sas = queueSas('allowed', { sp: letter }, endpoint);
      const answer = await sendWith(sas, method, path(await fresh()), body);
      if (queueLetters.includes(letter)) {
        assert.ok(answer.status < 300, `queue SAS ${letter}: ${answer.status} ${answer.code}`);
      } else {
        assert.equal(answer.status, 403, `queue SAS ${letter}`);
      }
    }
  });
}

test('the official client works with its own account SAS and queue SAS', async () => {
  const account = generateAccountSASQueryParameters({
    permissions: AccountSASPermissions.parse('rwdlacup'), expiresOn: inAnHour,
    resourceTypes: AccountSASResourceTypes.parse('sco').toString(),
    services: AccountSASServices.parse('q').toString(),
  }, credential);
  const byAccount = new QueueServiceClient(`${server.queueUrl}?${account}`, undefined, noRetry);
  await byAccount.createQueue('by-account');
  await byAccount.getQueueClient('by-account').sendMessage('x');
  const one = generateQueueSASQueryParameters({ queueName: 'by-account', expiresOn: inAnHour,
    permissions: QueueSASPermissions.parse('raup'), protocol: SASProtocol.HttpsAndHttp,
  }, credential);
  const queue = new QueueClient(`${server.queueUrl}/by-account?${one}`, undefined, noRetry);
  assert.equal((await queue.getProperties()).approximateMessagesCount, 1);
  await queue.sendMessage('y');
  assert.equal((await queue.peekMessages({ numberOfMessages: 2 })).peekedMessageItems.length, 2);
  const { receivedMessageItems: [got] } = await queue.receiveMessages();
  const { popReceipt } = await queue.updateMessage(got.messageId, got.popReceipt, 'z', 10);
  await queue.deleteMessage(got.messageId, popReceipt);
  await assert.rejects(queue.clearMessages(), { statusCode: 403 });
  await assert.rejects(queue.delete(), { statusCode: 403 });
});

test('a queue SAS of every version is understood, for its queue alone', async () => {
  await service.createQueue('allowed').catch(() => {});
  for (const sv of ['2012-02-12', '2013-08-15', '2014-02-14', '2015-02-21', '2015-04-05',
    '2018-11-09', '2020-12-06', VERSION]) {
    const sas = queueSas('allowed', { sv, sp: 'r' }, endpoint);
    const answer = await sendWith(sas, 'GET', 'allowed/messages?peekonly=true', null);
    assert.equal(answer.status, 200, sv);
    const elsewhere = await sendWith(sas, 'GET', 'other/messages?peekonly=true', null);
    assert.equal(elsewhere.code, 'AuthenticationFailed', sv);
  }
});

test('a SAS that is not, not yet or no longer valid is refused', async () => {
  const attempts = [
    [queueSas('allowed', {}, { ...endpoint, key: Buffer.alloc(64, 7).toString('base64') }),
      'AuthenticationFailed'],
    [queueSas('allowed', { se: sasTime(-10) }, endpoint), 'AuthenticationFailed'],
    [queueSas('allowed', { st: sasTime(1000) }, endpoint), 'AuthenticationFailed'],
    [queueSas('allowed', { spr: 'https' }, endpoint), 'AuthorizationProtocolMismatch'],
    [queueSas('allowed', { sip: '10.9.8.7' }, endpoint), 'AuthorizationSourceIPMismatch'],
    [accountSas({ ss: 'b', sp: 'r' }, endpoint), 'AuthorizationServiceMismatch'],
    [accountSas({ ss: 'bt', sp: 'r' }, endpoint), 'AuthorizationServiceMismatch'],
  ];
  for (const [sas, code] of attempts) {
    const answer = await sendWith(sas, 'GET', 'allowed/messages?peekonly=true', null);
    assert.equal(answer.status, 403);
    assert.equal(answer.code, code);
  }
});

test('a stored access policy gives, changes and takes away what it says', async () => {
  const queue = await service.getQueueClient('allowed');
  await queue.createIfNotExists();
  await queue.setAccessPolicy([{ id: 'policy',
    accessPolicy: { permissions: 'r', expiresOn: inAnHour } }]);
  const sas = queueSas('allowed', { sp: undefined, st: undefined, se: undefined, si: 'policy' },
    endpoint);
  const status = async (method, path, body = null) =>
    (await sendWith(sas, method, path, body)).status;
  assert.equal(await status('GET', 'allowed/messages?peekonly=true'), 200);
  assert.equal(await status('POST', 'allowed/messages', put), 403);
  await queue.setAccessPolicy([{ id: 'policy',
    accessPolicy: { permissions: 'a', expiresOn: inAnHour } }]);
  assert.equal(await status('GET', 'allowed/messages?peekonly=true'), 403);
  assert.equal(await status('POST', 'allowed/messages', put), 201);
  await queue.setAccessPolicy([{ id: 'policy',
    accessPolicy: { permissions: 'a', expiresOn: new Date(Date.now() - 10_000) } }]);
  assert.equal(await status('POST', 'allowed/messages', put), 403);
  await queue.setAccessPolicy([]);
  assert.equal(await status('POST', 'allowed/messages', put), 403);
});

test('without a credential there is nothing', async () => {
  const target = `/${server.account}/allowed/messages?peekonly=true`;
  const answer = await send(endpoint, { target, headers: { 'x-ms-version': VERSION } });
  assert.equal(answer.status, 401);
  assert.equal(answer.code, 'NoAuthenticationInformation');
});

stopsCleanly(server);
