// A share as one object: files of a few names in its root, ranges that are written as a whole,
// renames, listings, and snapshots of the share, which are one instant of all files.
//
//   state   { files: { name: { slots, etag, floor } }, snapshots: { id: { name: [slots, etag] } } }
//           where slots is null for a file that is absent, else the value of each slot

import { REFUSED, changed, describe, isLater, isRefused, only, refusal, seenWith, unknown }
  from './common.mjs';

const ABSENT = { slots: null, etag: null, floor: null };
const fileOf = (state, name) => state.files[name] ?? ABSENT;
const sameJson = (a, b) => JSON.stringify(a) === JSON.stringify(b);

const withFile = (state, name, file) => (file === undefined ? undefined
  : { ...state, files: Object.fromEntries(Object.entries({ ...state.files, [name]: file })
    .sort(([a], [b]) => (a < b ? -1 : 1))) });

const etagOf = (operation) => (unknown(operation) ? null : operation.result.etag);

// The files that a listing shows with these ETags, or undefined.
function listed(state, shown) {
  let after = state;
  for (const name of new Set([...Object.keys(state.files), ...Object.keys(shown)])) {
    const file = fileOf(state, name);
    if ((file.slots !== null) !== (name in shown)) return undefined;
    if (file.slots === null) continue;
    const seen = seenWith(file, shown[name]);
    if (seen === undefined) return undefined;
    if (seen !== file) after = withFile(after, name, seen);
  }
  return after;
}

const OPERATIONS = {
  create(state, operation) {
    if (isRefused(operation)) return REFUSED;
    const { name, slots } = operation.args;
    return only(withFile(state, name,
      changed(fileOf(state, name), etagOf(operation), { slots: Array(slots).fill(0) })));
  },

  putRange(state, operation) {
    const { name, from, to, value } = operation.args; // 0 for a range that is cleared
    const file = fileOf(state, name);
    if (file.slots === null) return refusal(state, operation, 'ResourceNotFound');
    if (isRefused(operation)) return REFUSED;
    const slots = file.slots.map((old, slot) => (slot >= from && slot < to ? value : old));
    return only(withFile(state, name, changed(file, etagOf(operation), { slots })));
  },

  delete(state, operation) {
    const { name } = operation.args;
    const file = fileOf(state, name);
    if (file.slots === null) return refusal(state, operation, 'ResourceNotFound');
    return isRefused(operation) ? REFUSED
      : [withFile(state, name, { ...ABSENT, floor: file.floor })];
  },

  rename(state, operation) {
    const { name, to, replaces } = operation.args;
    const source = fileOf(state, name);
    const target = fileOf(state, to);
    if (source.slots === null) return refusal(state, operation, 'ResourceNotFound');
    if (target.slots !== null && !replaces) {
      return refusal(state, operation, 'ResourceAlreadyExists');
    }
    if (isRefused(operation)) return REFUSED;
    const floor = source.floor !== null && isLater(source.floor, target.floor)
      ? source.floor : target.floor;
    const moved = changed({ ...target, floor }, etagOf(operation), { slots: source.slots });
    return only(moved && withFile(withFile(state, name, { ...ABSENT, floor: source.floor }), to,
      moved));
  },

  get(state, operation) {
    const { name } = operation.args;
    const file = fileOf(state, name);
    if (file.slots === null) return refusal(state, operation, 'ResourceNotFound');
    if (unknown(operation) || isRefused(operation)) return REFUSED;
    if (!sameJson(operation.result.slots, file.slots)) return REFUSED;
    const seen = seenWith(file, operation.result.etag);
    return seen === file ? [state] : only(withFile(state, name, seen));
  },

  // The result is { files: { name: etag } }.
  list(state, operation) {
    if (unknown(operation) || isRefused(operation)) return REFUSED;
    return only(listed(state, operation.result.files));
  },

  snapshot(state, operation) {
    // Taking one needs the share to stand still for an instant that a moved clock may not leave it.
    if (isRefused(operation)) return refusal(state, operation, 'ServerBusy');
    // Nobody can ask for a snapshot whose name was not answered.
    if (unknown(operation)) return [];
    const { snapshot } = operation.result;
    if (snapshot in state.snapshots) return REFUSED;
    const files = Object.fromEntries(Object.entries(state.files)
      .filter(([, { slots }]) => slots !== null)
      .map(([name, { slots, etag, floor }]) => [name, [slots, etag, floor]]));
    return [{ ...state, snapshots: { ...state.snapshots, [snapshot]: files } }];
  },

  getSnapshot(state, operation) {
    const { snapshot, name } = operation.args;
    const files = state.snapshots[snapshot];
    if (files === undefined) return refusal(state, operation, 'ShareSnapshotNotFound');
    if (files[name] === undefined) return refusal(state, operation, 'ResourceNotFound');
    if (unknown(operation) || isRefused(operation)) return REFUSED;
    const [slots, etag, floor] = files[name];
    const { result } = operation;
    if (!sameJson(result.slots, slots)) return REFUSED;
    if (etag === null ? !isLater(result.etag, floor) : result.etag !== etag) return REFUSED;
    return [state];
  },

  deleteSnapshot(state, operation) {
    const { [operation.args.snapshot]: found, ...snapshots } = state.snapshots;
    if (found === undefined) return refusal(state, operation, 'ShareSnapshotNotFound');
    return isRefused(operation) ? REFUSED : [{ ...state, snapshots }];
  },
};

export const share = {
  name: 'share',
  initial: { files: {}, snapshots: {} },
  reads: ['get', 'list', 'getSnapshot'],
  describe,
  step: (state, operation) => OPERATIONS[operation.name](state, operation),
};
