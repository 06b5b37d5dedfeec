// A blob: its content as a register, conditions on its ETag, its lease, its snapshots.
//
// The kinds of blobs differ in what their content is; `blobModel` makes the model of one from the
// operations that belong to its kind.

import { REFUSED, changed, describe, isRefused, only, refusal, seenWith, unknown }
  from './common.mjs';
import { ACTIONS, NO_LEASE, afterWrite, refusedUse, settled } from './lease.mjs';

const ABSENT = { exists: false, etag: null, floor: null, content: null, lease: NO_LEASE,
  snapshots: {} };

const HOLDS = undefined;

// The code with which the conditions of a write refuse it.  `replaces` is a write of the whole
// blob.
function refusedWrite(state, { ifMatch, ifNoneMatch, lease }, replaces) {
  if (ifMatch !== undefined) {
    if (!state.exists || (ifMatch !== '*' && state.etag !== ifMatch)) return 'ConditionNotMet';
  }
  if (!state.exists || ifNoneMatch === undefined) return HOLDS;
  if (ifNoneMatch === '*') {
    if (replaces) return lease === undefined ? 'BlobAlreadyExists' : HOLDS;
    return 'ConditionNotMet';
  }
  return state.etag === ifNoneMatch ? 'ConditionNotMet' : HOLDS;
}

function refusedRead(state, { ifMatch, ifNoneMatch }) {
  if (ifMatch !== undefined && ifMatch !== '*' && state.etag !== ifMatch) return 'ConditionNotMet';
  return ifNoneMatch !== undefined && state.etag === ifNoneMatch ? 'NotModified' : HOLDS;
}

// A write that makes or replaces the blob: the blob need not exist.
function refusedReplace(state, args) {
  if (!state.exists && args.lease !== undefined) return 'LeaseNotPresentWithBlobOperation';
  return refusedUse(state.lease, args.lease, { writes: true }) ?? refusedWrite(state, args, true);
}

// A write to the blob that is there.
function refusedChange(state, args) {
  if (!state.exists) return 'BlobNotFound';
  return refusedUse(state.lease, args.lease, { writes: true }) ?? refusedWrite(state, args, false);
}

function refusedLook(state, args) {
  if (!state.exists) return 'BlobNotFound';
  return refusedUse(state.lease, args.lease, { writes: false }) ?? refusedRead(state, args);
}

// The step of a write that gives the blob this content.
function write(state, operation, code, content) {
  if (code !== undefined) return refusal(state, operation, code);
  if (isRefused(operation)) return REFUSED;
  const etag = unknown(operation) ? null : operation.result.etag;
  return only(changed(state, etag, { exists: true, content, lease: afterWrite(state.lease) }));
}

const sameJson = (a, b) => JSON.stringify(a) === JSON.stringify(b);

const BLOB_OPERATIONS = {
  get(state, operation) {
    const code = refusedLook(state, operation.args);
    if (code !== undefined) return refusal(state, operation, code);
    if (unknown(operation) || isRefused(operation)) return REFUSED;
    const { etag, content, lease } = operation.result;
    if (!sameJson(content, state.content) || lease !== state.lease.state) return REFUSED;
    return only(seenWith(state, etag));
  },

  delete(state, operation) {
    const code = refusedChange(state, operation.args);
    if (code !== undefined) return refusal(state, operation, code);
    if (isRefused(operation)) return REFUSED;
    return [{ ...ABSENT, floor: state.floor }];
  },

  snapshot(state, operation) {
    if (!state.exists) return refusal(state, operation, 'BlobNotFound');
    // Nobody can ask for a snapshot whose name was not answered.
    if (unknown(operation) || isRefused(operation)) return REFUSED;
    const { snapshot, etag } = operation.result;
    if (Object.keys(state.snapshots).some((other) => other >= snapshot)) return REFUSED;
    const seen = seenWith(state, etag);
    return only(seen && { ...seen,
      snapshots: { ...state.snapshots, [snapshot]: [state.content, etag] } });
  },

  getSnapshot(state, operation) {
    const found = state.snapshots[operation.args.snapshot];
    if (found === undefined) return refusal(state, operation, 'BlobNotFound');
    if (unknown(operation) || isRefused(operation)) return REFUSED;
    const { content, etag } = operation.result;
    return sameJson(found, [content, etag]) ? [state] : REFUSED;
  },

  deleteSnapshot(state, operation) {
    const { [operation.args.snapshot]: found, ...snapshots } = state.snapshots;
    if (found === undefined) return refusal(state, operation, 'BlobNotFound');
    return isRefused(operation) ? REFUSED : [{ ...state, snapshots }];
  },

  lease(state, operation, now) {
    if (!state.exists) return refusal(state, operation, 'BlobNotFound');
    const { args, result } = operation;
    const outcome = ACTIONS[args.action](state.lease, args, now);
    if (outcome.code !== undefined) return refusal(state, operation, outcome.code);
    if (isRefused(operation)) return REFUSED;
    const after = { ...state, lease: outcome.lease };
    if (unknown(operation)) return [after];
    if (outcome.time !== result.time) return REFUSED;
    return only(seenWith(after, result.etag));
  },
};

// A model of blobs that have these operations besides those that all have.
function blobModel(name, operations, { reads = [], initial = ABSENT } = {}) {
  const all = { ...BLOB_OPERATIONS, ...operations };
  return {
    name,
    initial,
    reads: ['get', 'getSnapshot', ...reads],
    describe,
    step(state, operation, now) {
      const lease = settled(state.lease, now);
      const before = lease === state.lease ? state : { ...state, lease };
      const next = all[operation.name](before, operation, now);
      // What only looked leaves the state as it was stored.
      return next.map((after) => (after === before ? state : after));
    },
  };
}

// --- a blob that is written as a whole ---

export const register = blobModel('blob', {
  put(state, operation) {
    return write(state, operation, refusedReplace(state, operation.args), operation.args.value);
  },
});

// --- block lists: the content is a list of [id, value] ---

const NO_BLOCKS = { ...ABSENT, staged: {} };

function committed(state, list) {
  const content = [];
  for (const [kind, id] of list) {
    const here = (state.content ?? []).find(([other]) => other === id)?.[1];
    const value = { uncommitted: state.staged[id], committed: here,
      latest: state.staged[id] ?? here }[kind];
    if (value === undefined) return undefined;
    content.push([id, value]);
  }
  return content;
}

// The value of a block ends in its size, as listings of blocks show nothing else of it.
const withSizes = (list) => list.map(([id, value]) => [id, Number(value.split('/')[1])]);

const withoutStaged = (states) => states.map((state) => ({ ...state, staged: {} }));

export const blocks = blobModel('block blob', {
  putBlock(state, operation) {
    const { id, value, lease } = operation.args;
    const code = !state.exists && lease !== undefined ? 'LeaseNotPresentWithBlobOperation'
      : refusedUse(state.lease, lease, { writes: true });
    if (code !== undefined) return refusal(state, operation, code);
    if (isRefused(operation)) return REFUSED;
    const staged = Object.fromEntries(
      Object.entries({ ...state.staged, [id]: value }).sort(([a], [b]) => (a < b ? -1 : 1)));
    return [{ ...state, staged }];
  },

  putList(state, operation) {
    const code = refusedReplace(state, operation.args);
    const content = committed(state, operation.args.list);
    const next = write(state, operation, code ?? (content ? HOLDS : 'InvalidBlockList'), content);
    return next[0] === state ? next : withoutStaged(next);
  },

  getList(state, operation) {
    if (!state.exists && Object.keys(state.staged).length === 0) {
      return refusal(state, operation, 'BlobNotFound');
    }
    if (unknown(operation) || isRefused(operation)) return REFUSED;
    const { committed: shown, staged, etag } = operation.result;
    if (!sameJson(shown, withSizes(state.content ?? []))) return REFUSED;
    if (!sameJson(staged, withSizes(Object.entries(state.staged)))) return REFUSED;
    return state.exists && etag !== undefined ? only(seenWith(state, etag)) : [state];
  },

  // A blob that has only blocks that are not committed can be deleted, too.
  delete(state, operation) {
    if (!state.exists && Object.keys(state.staged).length > 0) {
      const { lease, ifMatch } = operation.args;
      const code = lease !== undefined ? 'LeaseNotPresentWithBlobOperation'
        : ifMatch !== undefined ? 'ConditionNotMet' : HOLDS;
      if (code !== undefined) return refusal(state, operation, code);
      return isRefused(operation) ? REFUSED : [{ ...NO_BLOCKS, floor: state.floor }];
    }
    const next = BLOB_OPERATIONS.delete(state, operation);
    return next[0] === state ? next : withoutStaged(next);
  },
}, { reads: ['getList'], initial: NO_BLOCKS });

// --- append blobs: the content is a list of values ---

export const append = blobModel('append blob', {
  create(state, operation) {
    return write(state, operation, refusedReplace(state, operation.args), []);
  },

  append(state, operation) {
    const { value, length, position, most } = operation.args;
    let code = refusedChange(state, operation.args);
    const size = (state.content ?? []).reduce((sum, [, bytes]) => sum + bytes, 0);
    if (code === undefined && position !== undefined && position !== size) {
      code = 'AppendPositionConditionNotMet';
    }
    if (code === undefined && most !== undefined && size + length > most) {
      code = 'MaxBlobSizeConditionNotMet';
    }
    if (code === undefined && !unknown(operation) && operation.result.offset !== size) {
      return REFUSED;
    }
    return write(state, operation, code, [...state.content ?? [], [value, length]]);
  },
});

// --- page blobs: the content is a list of values, one for each slot ---

export const pages = blobModel('page blob', {
  create(state, operation) {
    const content = Array(operation.args.slots).fill(0);
    return write(state, operation, refusedReplace(state, operation.args), content);
  },

  putPages(state, operation) {
    const { from, to, value } = operation.args; // 0 for pages that are cleared
    const content = state.content?.map((old, slot) => (slot >= from && slot < to ? value : old));
    return write(state, operation, refusedChange(state, operation.args), content);
  },
});
