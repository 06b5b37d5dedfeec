// Messages put, handed out, updated, deleted and cleared, for the power cuts.

import assert from 'node:assert/strict';
import { md5 } from '../../e2e/helpers/digest.mjs';
import { messagePath, messagesOf, messageXml, queueSender } from '../../e2e/helpers/queue.mjs';
import { LoadClient, Thing, UNKNOWN } from './timeline.mjs';

const SEEN_MAX = 30; // a peek shows 32
const HIDDEN_SEC = 3600; // longer than the test
const PROBED_MAX = 3;
const LONG = 45_000; // characters

// A model is { seen: [{ id, text }] in the order they are handed out, held: [{ id, receipt }] }.
const shown = ({ seen, held }) => ({
  seen: seen.map(({ id, text }) => [id, md5(text)]),
  total: seen.length + held.length,
});

async function observed(send, queue) {
  const peeked = await send('GET', `${queue}/messages?peekonly=true&numofmessages=32`);
  if (peeked.status === 404) return null;
  const { headers } = await send('GET', `${queue}?comp=metadata`);
  return {
    seen: messagesOf(peeked).map(({ MessageId, MessageText }) => [MessageId, md5(MessageText)]),
    total: Number(headers['x-ms-approximate-messages-count']),
  };
}

// Whether those who were given a message still have it: a complaint, or null.
async function probe(send, queue, held) {
  for (const { id, receipt } of held.slice(0, PROBED_MAX)) {
    if (receipt === UNKNOWN) continue;
    const { status, code } = await send('PUT', messagePath(queue,
      { MessageId: id, PopReceipt: receipt }, `&visibilitytimeout=${HIDDEN_SEC}`));
    if (status !== 204) return `message ${id} of ${queue} was handed out: ${status} ${code}`;
  }
  return null;
}

class QueueClient extends LoadClient {
  constructor(...args) {
    super(...args);
    this.queue = new Thing('queue', `power-${this.index}`, shown, ({ held }) => held);
    this.things = [this.queue];
  }

  step() {
    const { model } = this.queue;
    const roll = this.random.next();
    if (model === null) return this.make();
    if (roll < 0.03) return this.clear();
    if (model.seen.length > 0 && (roll < 0.3 || model.seen.length >= SEEN_MAX)) return this.get();
    const held = model.held.filter(({ receipt }) => receipt !== UNKNOWN);
    if (held.length > 0 && roll < 0.5) return this.remove(this.random.pick(held));
    if (held.length > 0 && roll < 0.62) return this.update(this.random.pick(held));
    if (held.length > 0 && roll < 0.66) return this.refuse(this.random.pick(held));
    return this.put();
  }

  make() {
    return this.change(this.queue, { seen: [], held: [] }, () => {}, 'PUT', this.queue.path);
  }

  put() {
    const { model, path } = this.queue;
    const text = `${path} ${++this.count} `.padEnd(this.random.pick([1, 1, 5000, LONG]), 'x');
    const message = { id: UNKNOWN, text };
    return this.change(this.queue, { ...model, seen: [...model.seen, message] },
      (answer) => { message.id = messagesOf(answer)[0].MessageId; }, 'POST', `${path}/messages`, {},
      messageXml(text));
  }

  get() {
    const { model, path } = this.queue;
    const max = this.random.between(1, 32);
    const taken = model.seen.slice(0, max).map(({ id }) => ({ id, receipt: UNKNOWN }));
    const after = { seen: model.seen.slice(max), held: [...model.held, ...taken] };
    return this.change(this.queue, after, (answer) => {
      const messages = messagesOf(answer);
      assert.deepEqual(messages.map(({ MessageId }) => MessageId), taken.map(({ id }) => id));
      messages.forEach(({ PopReceipt }, i) => { taken[i].receipt = PopReceipt; });
    }, 'GET', `${path}/messages?numofmessages=${max}&visibilitytimeout=${HIDDEN_SEC}`);
  }

  pathOf({ id, receipt }, query = '') {
    return messagePath(this.queue.path, { MessageId: id, PopReceipt: receipt }, query);
  }

  without({ id }) {
    return this.queue.model.held.filter((other) => other.id !== id);
  }

  remove(message) {
    const { model } = this.queue;
    return this.change(this.queue, { ...model, held: this.without(message) }, () => {}, 'DELETE',
      this.pathOf(message));
  }

  // Shows the message again with another text.
  update(message) {
    const { model, path } = this.queue;
    if (model.seen.length >= SEEN_MAX) return this.get();
    const text = `${path} ${++this.count} new`;
    return this.change(this.queue,
      { seen: [...model.seen, { id: message.id, text }], held: this.without(message) }, () => {},
      'PUT', this.pathOf(message, '&visibilitytimeout=0'), {}, messageXml(text));
  }

  refuse(message) {
    return this.refused('PopReceiptMismatch', 'DELETE',
      this.pathOf({ ...message, receipt: Buffer.alloc(24, 1).toString('base64') }));
  }

  clear() {
    return this.change(this.queue, { seen: [], held: [] }, () => {}, 'DELETE',
      `${this.queue.path}/messages`);
  }

  adopt(model, { seen }) {
    model.seen.forEach((message, i) => { [message.id] = seen[i]; });
  }
}

export const queueLoad = {
  service: 'queue',
  sender: queueSender,
  url: (server) => server.queueUrl,
  Client: QueueClient,
  observers: { queue: observed },
  probe,
  async prepare() {},
};
