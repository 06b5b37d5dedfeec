// A queue: which messages are there, who may have them and from when on they can be seen.
//
//   state   the messages in the order in which they can be seen: { id, text, receipt, count,
//           visible, expires }.  id and receipt are null as long as nobody was told; each has a
//           text of its own.  Time is in milliseconds.
//
// Messages are handed out in the order of the times from which on they can be seen, and where those
// are equal, in the order of the changes that set them.  The reference promises less; the server
// says it does (service/queue/message.h), and to know which messages a lost answer had is what
// makes histories with kills quick to check.

import { REFUSED, describe, isRefused, refusal, unknown } from './common.mjs';

const NEVER = 'never';
const isLive = (message, now) => message.expires === NEVER || message.expires > now;
const visibleIn = (state, now) =>
  state.filter((message) => isLive(message, now) && message.visible <= now);
const swept = (state, now) => (state.every((message) => isLive(message, now)) ? state
  : state.filter((message) => isLive(message, now)));

const without = (state, text) => state.filter((message) => message.text !== text);

// The state with a message behind all that can be seen as early.
function withMessage(state, message) {
  const at = state.findIndex(({ visible }) => visible > message.visible);
  return at < 0 ? [...state, message] : [...state.slice(0, at), message, ...state.slice(at)];
}

// The states after these messages have become others, which can be seen from the same time on.
// Those sort by their ids, which nobody may know yet.
function moved(state, messages) {
  const rest = messages.reduce((left, { text }) => without(left, text), state);
  const orders = messages.length < 2 ? [messages]
    : messages.every(({ id }) => id !== null)
      ? [[...messages].sort((a, b) => (a.id < b.id ? -1 : 1))]
      : [messages, [...messages].reverse()];
  return orders.map((order) => order.reduce(withMessage, rest));
}

const MOST = 2; // of one Get Messages; `moved` has all orders of so many

// The messages with the ids that an answer shows, or undefined if they cannot be these.
function recognized(messages, shown, countOf) {
  if (messages.length !== shown.length) return undefined;
  const fits = messages.every(({ id, text, count }, i) => text === shown[i].text &&
    (id === null || id === shown[i].id) && countOf(count) === shown[i].count);
  return fits ? messages.map((message, i) => ({ ...message, id: shown[i].id })) : undefined;
}

// The message of an id, if it is live and the receipt is its own, and the code of the refusal
// otherwise.
function received(state, { id, receipt, mortal }, operation, now) {
  const message = state.find((other) => other.id === id);
  if (message === undefined || !isLive(message, now)) {
    // The rows of a message that is over may be there still, so an old receipt for it gets either.
    const code = operation.result?.code;
    return { code: mortal && code === 'PopReceiptMismatch' ? code : 'MessageNotFound' };
  }
  return message.receipt === receipt ? { message } : { code: 'PopReceiptMismatch' };
}

const OPERATIONS = {
  put(state, operation, now) {
    if (isRefused(operation)) return REFUSED;
    const { text, seconds, ttl } = operation.args;
    const { id, receipt } = operation.result ?? { id: null, receipt: null };
    return [withMessage(swept(state, now), { id, text, receipt, count: 0,
      visible: now + seconds * 1000, expires: ttl === undefined ? NEVER : now + ttl * 1000 })];
  },

  // The result is { messages: [{ id, text, count, receipt }] }.
  get(state, operation, now) {
    if (isRefused(operation)) return REFUSED;
    const { most, seconds } = operation.args;
    const first = visibleIn(state, now).slice(0, Math.min(most, MOST));
    const shown = operation.result?.messages;
    const taken = shown === undefined ? first : recognized(first, shown, (count) => count + 1);
    if (taken === undefined) return REFUSED;
    return moved(state, taken.map((message, i) => ({ ...message, count: message.count + 1,
      visible: now + seconds * 1000, receipt: shown?.[i].receipt ?? null })));
  },

  peek(state, operation, now) {
    if (unknown(operation) || isRefused(operation)) return REFUSED;
    const { messages: shown } = operation.result;
    const first = visibleIn(state, now).slice(0, operation.args.most);
    const seen = recognized(first, shown, (count) => count);
    if (seen === undefined) return REFUSED;
    if (first.every(({ id }) => id !== null)) return [state];
    return [state.map((message) => seen.find(({ text }) => text === message.text) ?? message)];
  },

  update(state, operation, now) {
    const { code, message } = received(state, operation.args, operation, now);
    if (code !== undefined) return refusal(state, operation, code);
    const { seconds, to } = operation.args;
    const visible = now + seconds * 1000;
    if (message.expires !== NEVER && visible > message.expires) {
      return refusal(state, operation, 'InvalidQueryParameterValue');
    }
    if (isRefused(operation)) return REFUSED;
    return [withMessage(without(state, message.text), { ...message, visible,
      text: to ?? message.text, receipt: operation.result?.receipt ?? null })];
  },

  delete(state, operation, now) {
    const { code, message } = received(state, operation.args, operation, now);
    if (code !== undefined) return refusal(state, operation, code);
    return isRefused(operation) ? REFUSED : [without(swept(state, now), message.text)];
  },

  clear: (state, operation) => (isRefused(operation) ? REFUSED : [[]]),
};

export const queue = {
  name: 'queue',
  initial: [],
  reads: ['peek'],
  describe,
  step: (state, operation, now) => OPERATIONS[operation.name](state, operation, now),
};
