// 64 producers and 64 consumers on one queue, on disk: no message is handed out twice within the
// time it is out of sight, none is lost, and none is invented.
//
//   ZAFFRE_QUEUE_MESSAGES   how many messages pass through; 3000 by default

import test, { after } from 'node:test';
import assert from 'node:assert/strict';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { startServer, stopsCleanly } from './helpers/server.mjs';
import { messagesOf, messagePath, messageXml, queueSender } from './helpers/queue.mjs';

const MESSAGES = Number(process.env.ZAFFRE_QUEUE_MESSAGES ?? 3000);
const PRODUCERS = 64;
const CONSUMERS = 64;
const HIDDEN_SEC = 120;

const server = await startServer();
const agent = new http.Agent({ keepAlive: true, maxSockets: PRODUCERS + CONSUMERS });
const send = queueSender(server, { agent });

const repeat = (count, work) => Promise.all(Array.from({ length: count }, (_, i) => work(i)));

async function produce(queue, total) {
  let next = 0;
  const put = new Map(); // id to text
  await repeat(PRODUCERS, async () => {
    while (next < total) {
      const text = `message ${next++}`;
      const answer = await send('POST', `${queue}/messages`, {}, messageXml(text));
      assert.equal(answer.status, 201);
      const [{ MessageId }] = messagesOf(answer);
      assert.ok(!put.has(MessageId), 'an id is given twice');
      put.set(MessageId, text);
    }
  });
  return put;
}

test(`${CONSUMERS} consumers get each of ${MESSAGES} messages of ${PRODUCERS} producers once`,
  async () => {
    assert.equal((await send('PUT', 'busy')).status, 201);
    const got = new Map();
    const receipts = new Set();
    let produced = false;
    const consume = async (index) => {
      for (;;) {
        const last = produced;
        const answer = await send('GET',
          `busy/messages?numofmessages=${1 + index % 5}&visibilitytimeout=${HIDDEN_SEC}`);
        assert.equal(answer.status, 200);
        const messages = messagesOf(answer);
        for (const message of messages) {
          assert.ok(!got.has(message.MessageId), `${message.MessageText} was handed out twice`);
          assert.ok(!receipts.has(message.PopReceipt), 'a receipt is given twice');
          assert.equal(message.DequeueCount, '1');
          got.set(message.MessageId, message.MessageText);
          receipts.add(message.PopReceipt);
          const deleted = await send('DELETE', messagePath('busy', message));
          assert.equal(deleted.status, 204);
        }
        if (messages.length === 0) {
          if (last) return;
          await sleep(5);
        }
      }
    };
    const consumers = repeat(CONSUMERS, consume);
    const put = await produce('busy', MESSAGES);
    produced = true;
    await consumers;
    assert.equal(got.size, MESSAGES);
    for (const [id, text] of put) assert.equal(got.get(id), text);
    const { headers } = await send('GET', 'busy?comp=metadata');
    assert.equal(headers['x-ms-approximate-messages-count'], '0');
  });

test('of consumers that update and delete by the same receipt one wins', async () => {
  assert.equal((await send('PUT', 'contested')).status, 201);
  for (let round = 0; round < 10; round++) {
    await send('POST', 'contested/messages', {}, messageXml('x'));
    const [message] = messagesOf(await send('GET', 'contested/messages?visibilitytimeout=1000'));
    const answers = await repeat(32, (i) => (i % 2 === 0
      ? send('DELETE', messagePath('contested', message))
      : send('PUT', messagePath('contested', message, '&visibilitytimeout=1000'))));
    const winners = answers.filter(({ status }) => status === 204);
    assert.equal(winners.length, 1);
    for (const { status, code } of answers) {
      assert.ok(status === 204 || code === 'PopReceiptMismatch' || code === 'MessageNotFound', code);
    }
  }
});

test('messages that are not deleted come back to somebody, one delivery at a time', async () => {
  assert.equal((await send('PUT', 'returning')).status, 201);
  const total = 200;
  await produce('returning', total);
  const until = new Map(); // id to when it may be seen again
  const counts = new Map();
  const end = Date.now() + 6000;
  await repeat(CONSUMERS, async (index) => {
    while (Date.now() < end) {
      const asked = Date.now();
      const messages = messagesOf(await send('GET',
        'returning/messages?numofmessages=8&visibilitytimeout=2'));
      const answered = Date.now();
      for (const { MessageId, DequeueCount } of messages) {
        assert.ok(answered >= (until.get(MessageId) ?? 0),
          'a message is handed out while another consumer has it');
        assert.equal(Number(DequeueCount), (counts.get(MessageId) ?? 0) + 1);
        until.set(MessageId, asked + 2000);
        counts.set(MessageId, Number(DequeueCount));
      }
      if (messages.length === 0) await sleep(20 + index % 7);
    }
  });
  assert.equal(counts.size, total);
  assert.ok([...counts.values()].every((count) => count >= 2 && count <= 4));
  const { headers } = await send('GET', 'returning?comp=metadata');
  assert.equal(headers['x-ms-approximate-messages-count'], String(total));
});

after(() => agent.destroy());

stopsCleanly(server);
