// A container as one object: blobs under a few names, copies between them, and listings, which show
// all of them at one instant.

import { REFUSED, changed, describe, isRefused, only, refusal, seenWith, unknown }
  from './common.mjs';

const ABSENT = { value: null, etag: null, floor: null };

const blobOf = (state, name) => state[name] ?? ABSENT;
const withBlob = (state, name, blob) => (blob === undefined ? undefined
  : Object.fromEntries(Object.entries({ ...state, [name]: blob })
    .sort(([a], [b]) => (a < b ? -1 : 1))));

function holds(blob, { ifMatch, ifNoneMatch }) {
  if (ifMatch !== undefined && (blob.value === null || blob.etag !== ifMatch)) {
    return 'ConditionNotMet';
  }
  return ifNoneMatch === '*' && blob.value !== null ? 'BlobAlreadyExists' : undefined;
}

function put(state, operation, name, value) {
  const blob = blobOf(state, name);
  const code = holds(blob, operation.args);
  if (code !== undefined) return refusal(state, operation, code);
  if (isRefused(operation)) return REFUSED;
  const etag = unknown(operation) ? null : operation.result.etag;
  return only(withBlob(state, name, changed(blob, etag, { value })));
}

const OPERATIONS = {
  put: (state, operation) => put(state, operation, operation.args.name, operation.args.value),

  // Copy Blob From URL (`sync`) reads its source first and gives up if it has changed by the time
  // it writes; Copy Blob of a blob of the same container is one step.
  copy(state, operation) {
    const source = blobOf(state, operation.args.from);
    if (operation.args.sync && operation.result?.code === 'SourceChanged') return [state];
    if (source.value === null) return refusal(state, operation, 'CannotVerifyCopySource');
    return put(state, operation, operation.args.name, source.value);
  },

  delete(state, operation) {
    const { name, ifMatch } = operation.args;
    const blob = blobOf(state, name);
    if (blob.value === null) return refusal(state, operation, 'BlobNotFound');
    if (ifMatch !== undefined && blob.etag !== ifMatch) {
      return refusal(state, operation, 'ConditionNotMet');
    }
    if (isRefused(operation)) return REFUSED;
    return [withBlob(state, name, { ...ABSENT, floor: blob.floor })];
  },

  get(state, operation) {
    const { name } = operation.args;
    const blob = blobOf(state, name);
    if (blob.value === null) return refusal(state, operation, 'BlobNotFound');
    if (unknown(operation) || isRefused(operation)) return REFUSED;
    if (operation.result.value !== blob.value) return REFUSED;
    const seen = seenWith(blob, operation.result.etag);
    return seen === blob ? [state] : only(withBlob(state, name, seen));
  },

  // The result is { blobs: { name: [value, etag] } }, with every name that is there.
  list(state, operation) {
    if (unknown(operation) || isRefused(operation)) return REFUSED;
    const { blobs } = operation.result;
    let after = state;
    for (const name of new Set([...Object.keys(state), ...Object.keys(blobs)])) {
      const blob = blobOf(state, name);
      const [value, etag] = blobs[name] ?? [null, null];
      if (value !== blob.value) return REFUSED;
      if (value === null) continue;
      const seen = seenWith(blob, etag);
      if (seen === undefined) return REFUSED;
      if (seen !== blob) after = withBlob(after, name, seen);
    }
    return [after];
  },
};

export const container = {
  name: 'container',
  initial: {},
  reads: ['get', 'list'],
  describe,
  step: (state, operation) => OPERATIONS[operation.name](state, operation),
};
