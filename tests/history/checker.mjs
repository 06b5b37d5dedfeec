// Is there an order of these operations that explains every answer?
//
// A history is a list of operations on one object, each with the interval in which it was under
// way.  It is linearizable if the operations can be put in an order in which every one takes effect
// at an instant of its interval, and the model, which knows only how one operation after the other
// behaves, gives the answers that were recorded.  The search is that of Wing and Gong (1993) with
// Lowe's memory of what was tried (2017): two ways that have put the same operations into effect
// and led to the same state are one.  It goes along the history and orders operations only when one
// of them has been answered, so what it keeps is the set of situations that are possible at that
// point:
//
//   situation   { state, instant, applied }: the model's state, the reading of the clock at the
//               last change, and which of the operations under way have taken effect
//
// No situation left means that there is no such order.  Objects are independent of each other, and
// a history of many is linearizable if that of each is (Herlihy and Wing), so each is checked
// alone.
//
// An operation:
//
//   { id, client, name, args, result, start, end, clock: [from, to] }
//
//   start, end   places in the one order of all events.  `end` may be Infinity.
//   result       undefined if it is unknown: the connection was lost.  Such an operation takes
//                effect at some instant of its interval, or never.  If the server was killed, the
//                interval ends with its process: what it has not done by then is never done.
//   clock        the readings of the clock, as indexes into the list of them, that the server may
//                have met: from the one that was valid at `start` to the one valid at `end`.  Time
//                does not go back from one change to what comes after it.  A read is no change: one
//                that began when another was under way may still show an earlier time.
//
// A model:
//
//   { name, initial, reads, step(state, operation, now), describe(operation) }
//
//   reads   the names of the operations that never change anything; a refused one never does either
//   step    the states that may follow, given the answer that was recorded: none if the model would
//           not have given it, the same state (===) if nothing changes.  For an unknown result, all
//           states the operation may lead to.
//
// States are plain values that are never changed; those of equal JSON are the same.

const SITUATIONS_MAX = 100_000;
const SITUATIONS_MAX_EXPLAINING = 200; // a longer explanation is better than none

// There are more situations than can be looked at: neither right nor wrong.
export class Undecided extends Error {}

const texts = new WeakMap();

function textOf(state) {
  if (state === null || typeof state !== 'object') return JSON.stringify(state);
  let text = texts.get(state);
  if (text === undefined) {
    text = JSON.stringify(state);
    texts.set(state, text);
  }
  return text;
}

const keyOf = ({ state, instant, applied }) =>
  `${instant} ${[...applied].sort((a, b) => a - b).join()} ${textOf(state)}`;

// Situations, each once.
class Situations {
  constructor(most) {
    this.byKey = new Map();
    this.most = most;
  }

  add(situation) {
    const key = keyOf(situation);
    if (this.byKey.has(key)) return false;
    if (this.byKey.size >= this.most) throw new Undecided('too many situations');
    this.byKey.set(key, situation);
    return true;
  }

  get size() {
    return this.byKey.size;
  }

  [Symbol.iterator]() {
    return this.byKey.values();
  }
}

class Search {
  constructor(model, readings, most) {
    Object.assign(this, { model, readings, most, underWay: new Map() });
  }

  none() {
    return new Situations(this.most);
  }

  // The situations that follow when this operation takes effect.
  *apply({ state, instant, applied }, operation) {
    const [from, to] = operation.clock ?? [0, 0];
    const idle = this.isIdle(operation);
    for (let at = Math.max(from, instant); at <= to; at++) {
      for (const next of this.model.step(state, operation, this.readings[at])) {
        yield { state: next, instant: idle ? instant : at,
          applied: new Set(applied).add(operation.id) };
      }
    }
  }

  // Whether it can be explained here, and changes nothing.
  passes({ state, instant }, operation) {
    const [from, to] = operation.clock ?? [0, 0];
    for (let at = Math.max(from, instant); at <= to; at++) {
      const next = this.model.step(state, operation, this.readings[at]);
      if (next.length === 1 && next[0] === state) return true;
    }
    return false;
  }

  // Whether it changes nothing, whenever it takes effect.
  isIdle({ name, result }) {
    return result !== undefined && (result.code !== undefined || this.model.reads.includes(name));
  }

  // Puts into effect, at once, those under way that change nothing and can be explained here.
  // Nothing is lost by it: whatever may follow later may also follow with these out of the way.
  withoutEffect(situation) {
    let { applied } = situation;
    for (const operation of this.underWay.values()) {
      if (applied.has(operation.id) || !this.isIdle(operation)) continue;
      if (!this.passes(situation, operation)) continue;
      if (applied === situation.applied) applied = new Set(applied);
      applied.add(operation.id);
    }
    return { ...situation, applied };
  }

  // The situations in which `operation` has just taken effect, after any of the others under way.
  *reach(situations, operation) {
    const seen = this.none();
    const stack = [];
    for (const situation of situations) if (seen.add(situation)) stack.push(situation);
    while (stack.length > 0) {
      const situation = stack.pop();
      for (const other of this.underWay.values()) {
        if (situation.applied.has(other.id)) continue;
        for (const next of this.apply(situation, other)) {
          if (other === operation) {
            yield next;
          } else {
            const settled = this.withoutEffect(next);
            if (settled.applied.has(operation.id)) yield settled;
            else if (seen.add(settled)) stack.push(settled);
          }
        }
      }
    }
  }

  begin(situations, operation) {
    this.underWay.set(operation.id, operation);
    const next = this.none();
    for (const situation of situations) next.add(this.withoutEffect(situation));
    return next;
  }

  // What is possible when `operation` is over.
  finish(situations, operation) {
    const next = this.none();
    const open = this.none();
    for (const situation of situations) {
      (situation.applied.has(operation.id) ? next : open).add(situation);
    }
    for (const situation of this.reach(open, operation)) next.add(situation);
    if (operation.result === undefined) for (const situation of open) next.add(situation);
    this.underWay.delete(operation.id);
    const left = this.none();
    for (const situation of next) {
      const applied = new Set(situation.applied);
      applied.delete(operation.id);
      left.add(this.withoutEffect({ ...situation, applied }));
    }
    return left;
  }
}

function eventsOf(history) {
  const events = history.map((operation) => ({ at: operation.start, begins: true, operation }));
  for (const operation of history) {
    if (operation.end !== Infinity) events.push({ at: operation.end, begins: false, operation });
  }
  return events.sort((a, b) => a.at - b.at || Number(b.begins) - Number(a.begins));
}

// Goes along the history from the given situations.  The answer: { situations } at its end, or
// { failed, quiet } with the operation that nothing explains and the last point before it at which
// nothing was under way.
function search(model, history, readings, situations, most = SITUATIONS_MAX) {
  const state = new Search(model, readings, most);
  let quiet = { at: -Infinity, situations };
  for (const { at, begins, operation } of eventsOf(history)) {
    if (begins) {
      if (state.underWay.size === 0) quiet = { at, situations };
      situations = state.begin(situations, operation);
    } else {
      situations = state.finish(situations, operation);
      if (situations.size === 0) return { failed: operation, quiet };
    }
  }
  return { situations };
}

function isContradiction(model, history, readings, situations) {
  try {
    return search(model, history, readings, situations, SITUATIONS_MAX_EXPLAINING)
      .failed !== undefined;
  } catch (error) {
    if (error instanceof Undecided) return false;
    throw error;
  }
}

const isOpen = ({ result, end }) => result === undefined && end === Infinity;

// Leaves open whether and when an operation took effect, as far as there is still no order: what is
// then left is the contradiction.
function minimal(model, history, readings, situations) {
  let operations = history;
  for (const operation of [...history].reverse()) {
    const open = operations.map((other) => (other.id === operation.id
      ? { ...operation, result: undefined, end: Infinity } : other));
    if (isContradiction(model, open, readings, situations)) operations = open;
  }
  return operations;
}

function explain(model, object, readings, history, operations, failed, situations) {
  const states = [...new Set([...situations].map(({ state }) => textOf(state)))];
  const width = String(Math.max(...history.map(({ end, start }) =>
    (end === Infinity ? start : end)))).length;
  const place = (at) => (at === Infinity ? '-' : String(at)).padStart(width);
  const seconds = (index) => (readings[index] - readings[0]) / 1000;
  const time = ([from, to]) => (readings.length === 1 ? ''
    : ` at ${seconds(from)}${from === to ? '' : ` to ${seconds(to)}`} s`);
  const lines = operations.flatMap((operation, index) => {
    const { client, start, end, name, clock = [0, 0] } = history[index];
    if (isOpen(operation) && model.reads.includes(name)) return [];
    if (isOpen(operation) && history[index].result?.code !== undefined) return [];
    const mark = operation.id === failed.id ? '   <- no order explains this answer' : '';
    return [`${isOpen(operation) ? ' (' : '  '}${place(start)} to ${place(end)}  client ${client}${
      time(clock)}: ${model.describe(history[index])}${isOpen(operation) ? ')' : ''}${mark}`];
  });
  return [`${model.name} ${object} is not linearizable`,
    `  before: ${states.slice(0, 3).join('\n      or: ')}${
      states.length > 3 ? `\n      or: ${states.length - 3} others` : ''}`, ...lines].join('\n');
}

const initially = (model) => [{ state: model.initial, instant: 0, applied: new Set() }];

// Checks the history of one object.
//
//   readings     what the clock showed, one value after the other
//   situations   what is possible at its beginning: those that the check of the history before
//                answered; the model's initial state by default
//
// The answer: { ok: true, situations }, or { ok: false, failed, operations, explanation }.
// `failed`
// is the first operation whose answer nothing explains, `operations` those it contradicts, with
// itself.  The explanation has them in their order, and the others of that time in parentheses:
// whether and when these took effect makes no difference.
export function check(model, history, { object = '', readings = [0], situations } = {}) {
  const first = new Situations(SITUATIONS_MAX);
  for (const situation of situations ?? initially(model)) first.add(situation);
  const { situations: last, failed, quiet } = search(model, history, readings, first);
  if (failed === undefined) return { ok: true, situations: [...last] };
  // What was answered later than the failed one can still have taken effect before it.
  const since = history.filter(({ start }) => start >= quiet.at && start <= failed.end)
    .sort((a, b) => a.start - b.start)
    .map((operation) => (operation.end > failed.end ? { ...operation, end: Infinity } : operation));
  const operations = minimal(model, since, readings, quiet.situations);
  return { ok: false, failed, operations: operations.filter((operation) => !isOpen(operation)),
    explanation: explain(model, object, readings, since, operations, failed, quiet.situations) };
}
