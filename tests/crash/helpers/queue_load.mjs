// Clients of queues: the load of queue.test.mjs.

import assert from 'node:assert/strict';
import { messagesOf, messagePath, messageXml, queueSender } from '../../e2e/helpers/queue.mjs';
import { Client } from './kills.mjs';

const CLIENTS = 8;
const SEEN_MAX = 30; // a peek shows 32
const HIDDEN_SEC = 3600; // longer than the test

class QueueClient extends Client {
  constructor(index, seed) {
    super(index, seed);
    this.queue = `crash-${index}`;
    this.seen = []; // { id, text }, in the order they are handed out
    this.held = new Map(); // id to { id, text, receipt }; those whose receipt was lost have none
    this.gone = []; // a few that were deleted: { id, receipt }
    this.count = 0;
    this.flying = null; // what was in flight at the kill
  }

  // Sends a request; the answer, or undefined when the server is gone.
  async ask(flying, method, path, body = null) {
    this.flying = flying;
    let answer;
    try {
      answer = await this.send(method, path, {}, body);
    } catch {
      this.counts.unknown++;
      this.lost = true;
      return undefined;
    }
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.code}`);
    this.counts.acknowledged++;
    this.flying = null;
    return answer;
  }

  async step() {
    const roll = this.random.next();
    const held = [...this.held.values()].filter(({ receipt }) => receipt !== undefined);
    if (roll < 0.02) return this.clear();
    if (this.seen.length > 0 && (roll < 0.3 || this.seen.length >= SEEN_MAX)) return this.get();
    if (held.length > 0 && roll < 0.55) return this.remove(this.random.pick(held));
    if (held.length > 0 && roll < 0.65) return this.update(this.random.pick(held));
    return this.put();
  }

  async put() {
    const text = `${this.queue} ${++this.count} `.padEnd(this.random.pick([1, 1, 5000, 60000]), 'x');
    const answer = await this.ask({ put: text }, 'POST', `${this.queue}/messages`,
      messageXml(text));
    if (answer) this.seen.push({ id: messagesOf(answer)[0].MessageId, text });
  }

  async get() {
    const max = this.random.between(1, 32);
    const taken = Math.min(max, this.seen.length);
    const answer = await this.ask({ get: taken }, 'GET',
      `${this.queue}/messages?numofmessages=${max}&visibilitytimeout=${HIDDEN_SEC}`);
    if (!answer) return;
    const messages = messagesOf(answer);
    assert.deepEqual(messages.map(({ MessageId }) => MessageId),
      this.seen.slice(0, taken).map(({ id }) => id));
    this.hold(taken, messages);
  }

  // The first of those that were seen are not any more; the receipts may be unknown.
  hold(taken, messages) {
    this.seen.splice(0, taken).forEach(({ id, text }, i) =>
      this.held.set(id, { id, text, receipt: messages?.[i].PopReceipt }));
  }

  async remove(message) {
    const path = messagePath(this.queue, { MessageId: message.id, PopReceipt: message.receipt });
    const answer = await this.ask({ remove: message }, 'DELETE', path);
    if (answer) this.forget(message);
  }

  forget(message) {
    this.held.delete(message.id);
    this.gone = [message, ...this.gone].slice(0, 10);
  }

  // Shows the message again, or changes its text.
  async update(message) {
    const shows = this.random.next() < 0.5 && this.seen.length < SEEN_MAX;
    const text = `${this.queue} ${++this.count} new`;
    const path = messagePath(this.queue, { MessageId: message.id, PopReceipt: message.receipt },
      `&visibilitytimeout=${shows ? 0 : HIDDEN_SEC}`);
    const answer = await this.ask({ update: message, shows, text }, 'PUT', path, messageXml(text));
    if (answer) this.updated(message, shows, text, answer.headers['x-ms-popreceipt']);
  }

  updated(message, shows, text, receipt) {
    if (shows) {
      this.held.delete(message.id);
      this.seen.push({ id: message.id, text });
    } else {
      this.held.set(message.id, { id: message.id, text, receipt });
    }
  }

  async clear() {
    const answer = await this.ask({ clear: true }, 'DELETE', `${this.queue}/messages`);
    if (answer) this.cleared();
  }

  cleared() {
    this.seen = [];
    this.held = new Map();
  }

  // --- comparing ---

  // Whether the message is there with that receipt, by an update that leaves it out of sight.
  async probe(send, message) {
    const answer = await send('PUT', messagePath(this.queue,
      { MessageId: message.id, PopReceipt: message.receipt },
      `&visibilitytimeout=${HIDDEN_SEC}`));
    if (answer.status !== 204) return answer.code;
    if (this.held.has(message.id)) {
      this.held.get(message.id).receipt = answer.headers['x-ms-popreceipt'];
    }
    return 'there';
  }

  // Decides from what is there whether the request in flight has happened.
  async settle(send, shown, total) {
    const { flying } = this;
    this.flying = null;
    if (flying?.put !== undefined) {
      const [added, ...more] = shown.filter(({ id }) => !this.seen.some((one) => one.id === id));
      assert.equal(more.length, 0);
      if (added !== undefined) {
        assert.equal(added.text, flying.put);
        this.seen.push(added);
      }
    } else if (flying?.get !== undefined) {
      if (shown.length < this.seen.length) this.hold(flying.get, undefined);
    } else if (flying?.remove !== undefined) {
      const found = await this.probe(send, flying.remove);
      if (found !== 'there') {
        assert.equal(found, 'MessageNotFound');
        this.forget(flying.remove);
      }
    } else if (flying?.update !== undefined) {
      const { update, shows, text } = flying;
      if (shown.some(({ id }) => id === update.id)) this.updated(update, shows, text, undefined);
      else if ((await this.probe(send, update)) !== 'there') {
        assert.ok(!shows);
        this.updated(update, shows, text, undefined);
      }
    } else if (flying?.clear !== undefined && total === 0) {
      this.cleared();
    }
  }

  async verify(send, when) {
    const peeked = await send('GET', `${this.queue}/messages?peekonly=true&numofmessages=32`);
    const shown = messagesOf(peeked).map(({ MessageId, MessageText }) =>
      ({ id: MessageId, text: MessageText }));
    const { headers } = await send('GET', `${this.queue}?comp=metadata`);
    const total = Number(headers['x-ms-approximate-messages-count']);
    await this.settle(send, shown, total);
    assert.deepEqual(shown, this.seen, `${when}: what can be seen in ${this.queue}`);
    assert.equal(total, this.seen.length + this.held.size, `${when}: messages in ${this.queue}`);
    for (const message of this.held.values()) {
      if (message.receipt === undefined) continue;
      assert.equal(await this.probe(send, message), 'there', `${when}: ${message.id} was given out`);
    }
    for (const message of this.gone) {
      assert.equal(await this.probe(send, message), 'MessageNotFound', `${when}: it was deleted`);
    }
  }
}

// The load; see killsUnderLoad.
export async function queueLoad(server, seed) {
  const clients = Array.from({ length: CLIENTS }, (_, i) => new QueueClient(i, seed));
  for (const { queue } of clients) {
    assert.equal((await queueSender(server)('PUT', queue)).status, 201);
  }
  return { clients, sender: queueSender,
    verify: (send, when) => Promise.all(clients.map((client) => client.verify(send, when))) };
}
