// Clients of queues: producers and consumers that hand receipts around and keep old ones.

import { queue } from '../models/queue.mjs';
import { messagePath, messageXml, messagesOf } from '../../e2e/helpers/queue.mjs';
import { choose, refusalOf } from './common.mjs';

const RECEIPTS_REMEMBERED = 4;
const NEVER = 'Fri, 31 Dec 9999 23:59:59 GMT';

const REQUESTS = {
  put: (object, { text, seconds, ttl = -1 }) => ['POST',
    `${object}/messages?visibilitytimeout=${seconds}&messagettl=${ttl}`, {}, messageXml(text)],
  get: (object, { most, seconds }) => ['GET',
    `${object}/messages?numofmessages=${most}&visibilitytimeout=${seconds}`],
  peek: (object, { most }) => ['GET', `${object}/messages?peekonly=true&numofmessages=${most}`],
  update: (object, { id, receipt, seconds, to }) => ['PUT', messagePath(object,
    { MessageId: id, PopReceipt: receipt }, `&visibilitytimeout=${seconds}`), {},
  to === undefined ? null : messageXml(to)],
  delete: (object, { id, receipt }) => ['DELETE', messagePath(object,
    { MessageId: id, PopReceipt: receipt })],
  clear: (object) => ['DELETE', `${object}/messages`],
};

const shown = (message) => ({ id: message.MessageId, text: message.MessageText,
  count: Number(message.DequeueCount) });

const RESULTS = {
  put(answer) {
    const [message] = messagesOf(answer);
    return { id: message.MessageId, receipt: message.PopReceipt };
  },
  get: (answer) => ({ messages: messagesOf(answer).map((message) => ({ ...shown(message),
    receipt: message.PopReceipt, mortal: message.ExpirationTime !== NEVER })) }),
  peek: (answer) => ({ messages: messagesOf(answer).map(shown) }),
  update: ({ headers }) => ({ receipt: headers['x-ms-popreceipt'] }),
};

function remember(memory, receipts) {
  memory.receipts = [...receipts, ...memory.receipts ?? []].slice(0, RECEIPTS_REMEMBERED);
}

export const queues = {
  name: 'queues',
  service: 'queue',
  model: queue,
  objects: ['queue-0', 'queue-1'],
  clients: 4, // as a kill leaves every order of what they were doing possible
  setUp: (object) => [['PUT', object]],
  settle: () => [{ name: 'peek', args: { most: 32 } }],
  next(random, memory, value) {
    const held = memory.receipts?.length > 0;
    const name = choose(random, { put: 4, get: 7, peek: 2, clear: 0.15,
      ...(held && { delete: 5, update: 3 }) });
    switch (name) {
      case 'put':
        return { name, args: { text: `m${value()}`, seconds: random.pick([0, 0, 0, 10, 25]),
          ...(random.next() < 0.3 && { ttl: random.pick([30, 45, 90]) }) } };
      case 'get':
        return { name, args: { most: random.pick([1, 1, 2]),
          seconds: random.pick([5, 10, 20, 28]) } };
      case 'peek':
        return { name, args: { most: 32 } };
      case 'clear':
        return { name, args: {} };
      default: {
        const receipt = random.pick(memory.receipts);
        if (name === 'delete') return { name, args: receipt };
        return { name, args: { ...receipt, seconds: random.pick([0, 5, 20, 28]),
          ...(random.next() < 0.5 && { to: `m${value()}` }) } };
      }
    }
  },
  request: (object, { name, args }) => REQUESTS[name](object, args),
  result: ({ name }, answer) => refusalOf(answer) ?? RESULTS[name]?.(answer) ?? {},
  learn(memory, { name, args }, result) {
    const { id, mortal } = args;
    if (name === 'put' && result.receipt && keepsReceipt(args.text)) {
      remember(memory, [{ id: result.id, receipt: result.receipt,
        mortal: args.ttl !== undefined }]);
    }
    if (name === 'get' && result.messages) {
      remember(memory, result.messages.map((message) =>
        ({ id: message.id, receipt: message.receipt, mortal: message.mortal })));
    }
    if (name === 'update' && result.receipt) {
      remember(memory, [{ id, receipt: result.receipt, mortal }]);
    }
  },
};

// One in three of those who put a message keep the receipt of the put.
const keepsReceipt = (text) => Number(text.slice(1)) % 3 === 0;
