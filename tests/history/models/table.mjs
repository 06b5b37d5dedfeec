// The entities of one partition as one object: single changes, entity group transactions, and
// queries, which show all of them at one instant.
//
//   state    { row: { value, etag, floor } }
//   change   { kind, row, value, ifMatch }, where kind is insert, replace, upsert or delete

import { REFUSED, changed, describe, isRefused, refusal, seenWith, unknown } from './common.mjs';

const sameJson = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const ABSENT = { value: null, etag: null, floor: null };
const entityOf = (state, row) => state[row] ?? ABSENT;
const withEntity = (state, row, entity) => Object.fromEntries(
  Object.entries({ ...state, [row]: entity }).sort(([a], [b]) => (a < b ? -1 : 1)));

function refusedChange(entity, { kind, ifMatch }) {
  if (kind === 'upsert') return undefined;
  const exists = entity.value !== null;
  if (kind === 'insert') return exists ? 'EntityAlreadyExists' : undefined;
  if (!exists) return 'ResourceNotFound';
  return ifMatch === '*' || ifMatch === entity.etag ? undefined : 'UpdateConditionNotSatisfied';
}

// The step of several changes that take effect together.  The first that cannot be made refuses
// all of them.
function changeAll(state, operation, changes) {
  let after = state;
  for (const [index, change] of changes.entries()) {
    const entity = entityOf(after, change.row);
    const code = refusedChange(entity, change);
    if (code !== undefined) return refusal(state, operation, code);
    if (isRefused(operation)) continue;
    const etag = unknown(operation) ? null : operation.result.etags[index];
    const next = change.kind === 'delete' ? { ...ABSENT, floor: entity.floor }
      : changed(entity, etag, { value: change.value });
    if (next === undefined) return REFUSED;
    after = withEntity(after, change.row, next);
  }
  return isRefused(operation) ? REFUSED : [after];
}

const OPERATIONS = {
  change: (state, operation) => changeAll(state, operation, [operation.args]),
  group: (state, operation) => changeAll(state, operation, operation.args.changes),

  get(state, operation) {
    const { row } = operation.args;
    const entity = entityOf(state, row);
    if (entity.value === null) return refusal(state, operation, 'ResourceNotFound');
    if (unknown(operation) || isRefused(operation)) return REFUSED;
    if (operation.result.value !== entity.value) return REFUSED;
    const seen = seenWith(entity, operation.result.etag);
    if (seen === undefined) return REFUSED;
    return [seen === entity ? state : withEntity(state, row, seen)];
  },

  // A page of at most `most` rows, beginning with `from`.  The result is
  // { entities: { row: [value, etag] } }.
  query(state, operation) {
    if (unknown(operation) || isRefused(operation)) return REFUSED;
    const { from = '', most = Infinity } = operation.args;
    const { entities } = operation.result;
    const rows = Object.keys(state).filter((row) => row >= from && state[row].value !== null)
      .slice(0, most);
    if (!sameJson(rows, Object.keys(entities).sort())) return REFUSED;
    let after = state;
    for (const row of rows) {
      const entity = state[row];
      const [value, etag] = entities[row];
      if (value !== entity.value) return REFUSED;
      const seen = seenWith(entity, etag);
      if (seen === undefined) return REFUSED;
      if (seen !== entity) after = withEntity(after, row, seen);
    }
    return [after];
  },
};

export const table = {
  name: 'table partition',
  initial: {},
  reads: ['get', 'query'],
  describe,
  step: (state, operation) => OPERATIONS[operation.name](state, operation),
};
