// What each thing of the service may be after a power cut at any point of a recorded run.
//
// A point is a position in the log of record.c.  A request that was sent when the log was S bytes
// long and answered when it had P has no effect on a cut before S, must be there on one from P on,
// and between the two it may have happened or not.  A request whose answer was lost in a kill of the
// server is settled by looking after the restart; what was seen then must stay.
//
// States are plain values that can be written as JSON.  A field that the client does not know is
// UNKNOWN and agrees with anything.

import assert from 'node:assert/strict';
import { Random } from '../../e2e/helpers/random.mjs';

export const UNKNOWN = '?';

// Whether what was seen may be that state.
export function fits(state, seen) {
  if (state === UNKNOWN) return true;
  if (state === null || seen === null || typeof state !== 'object' || typeof seen !== 'object') {
    return state === seen;
  }
  const names = Object.keys(state);
  return names.length === Object.keys(seen).length &&
    names.every((name) => name in seen && fits(state[name], seen[name]));
}

// The entries of a history, { state, extra, begun, ended, denied }, that may be true when the log is
// cut at `position`; `ended` and `denied` are positions, or null.
export function possible(history, position) {
  let entries = [{ state: null, extra: null }];
  for (const entry of history) {
    const { begun, ended, denied } = entry;
    if (ended !== null && ended <= position) entries = [entry];
    else if (denied !== null && denied <= position) continue;
    else if (begun <= position) return [...entries, entry];
    else return entries;
  }
  return entries;
}

// A thing that one client changes.  `model` is what the client knows of it, null while it is not
// there; `shown(model)` is what an observer of its kind sees, and `extra(model)` what can be asked
// about when it is known which state it is.
export class Thing {
  constructor(kind, path, shown, extra = () => null) {
    Object.assign(this, { kind, path, shown, extra, model: null, history: [], flying: null });
  }

  begin(model, position) {
    assert.equal(this.flying, null);
    const entry = { ...this.#entry(model), begun: position, ended: null, denied: null };
    this.flying = { model, entry };
    this.history.push(entry);
  }

  end(position) {
    const { model, entry } = this.flying;
    Object.assign(entry, this.#entry(model), { ended: position });
    Object.assign(this, { model, flying: null });
  }

  // After a restart: has the request in flight happened?  `adopt(model, seen)` fills in what the
  // answer would have told.
  settle(seen, position, adopt) {
    const before = this.#entry(this.model).state;
    if (this.flying === null) {
      assert.ok(fits(before, seen), complaint(this, [before], seen));
      return;
    }
    const { model, entry } = this.flying;
    if (fits(entry.state, seen)) {
      if (model !== null) adopt(model, seen);
      this.end(position);
      return;
    }
    assert.ok(fits(before, seen), complaint(this, [before, entry.state], seen));
    entry.denied = position;
    this.flying = null;
  }

  #entry(model) {
    if (model === null) return { state: null, extra: null };
    return structuredClone({ state: this.shown(model), extra: this.extra(model) });
  }

  toJSON() {
    const { kind, path, history } = this;
    return { kind, path, history };
  }
}

export const complaint = ({ kind, path }, states, seen) => `${kind} ${path} is ` +
  `${JSON.stringify(seen)}, but must be ${states.map((state) => JSON.stringify(state)).join(' or ')}`;

// A client of things that no other client changes.  Each kind of load gives it step().
export class LoadClient {
  constructor(index, seed, clock) {
    this.index = index;
    this.random = new Random(seed);
    this.position = clock;
    this.count = 0;
    this.counts = { acknowledged: 0, refused: 0, unknown: 0 };
  }

  // Sends a request that makes `model` of `thing`.  `learn(answer)` takes from the answer what only
  // it can tell.
  async change(thing, model, learn, method, path, headers = {}, body = null) {
    thing.begin(model, this.position());
    const answer = await this.ask(method, path, headers, body);
    if (answer === undefined) {
      this.counts.unknown++;
      return undefined;
    }
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.body}`);
    learn(answer);
    thing.end(this.position());
    this.counts.acknowledged++;
    return answer;
  }

  // Sends a request that must be refused, and so changes nothing.
  async refused(code, method, path, headers = {}, body = null) {
    const answer = await this.ask(method, path, headers, body);
    if (answer === undefined) return;
    assert.equal(answer.code, code, `${method} ${path}: ${answer.status} ${answer.body}`);
    this.counts.refused++;
  }

  async ask(method, path, headers = {}, body = null) {
    try {
      return await this.send(method, path, headers, body);
    } catch {
      this.lost = true;
      return undefined;
    }
  }

  // Makes so many steps, or as many as the server is there for.
  async work(steps) {
    this.lost = false;
    for (let i = 0; i < steps && !this.lost; i++) await this.step();
  }
}
