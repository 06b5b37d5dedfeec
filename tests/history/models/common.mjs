// What the models share.
//
// A result is { code } of a refusal, or the facts of the answer that the model compares.

export const REFUSED = [];
export const unknown = (operation) => operation.result === undefined;

// Whether one ETag is that of a later change.  ETags are instants in hexadecimal.
export const isLater = (etag, than) =>
  than === null || etag.length > than.length || (etag.length === than.length && etag > than);

// The ETag of an object whose last change was made by an operation of unknown result is not known
// until somebody reads it: such an object has the ETag null, and `floor` is the latest ETag before.
// An object that is absent has a floor, too: an ETag is never given twice, nor an earlier one.

// The object with the ETag that an answer shows, or undefined if it cannot be that one.
export function seenWith(object, etag) {
  if (object.etag === etag) return object;
  if (object.etag !== null || !isLater(etag, object.floor)) return undefined;
  return { ...object, etag, floor: etag };
}

// The state after a change whose answer showed this ETag, or null for one without an answer.
export function changed(object, etag, fields) {
  if (etag === null) return { ...object, ...fields, etag: null };
  if (!isLater(etag, object.floor)) return undefined;
  return { ...object, ...fields, etag, floor: etag };
}

// What a step answers: the state, if there is one.
export const only = (state) => (state === undefined ? REFUSED : [state]);

// The step of an operation that is refused with `code` here.
export function refusal(state, operation, code) {
  if (unknown(operation)) return [];
  return operation.result.code === code ? [state] : REFUSED;
}

export const isRefused = (operation) => !unknown(operation) && operation.result.code !== undefined;

// An operation in one line.
export function describe({ name, args = {}, result }) {
  const text = (value) => (typeof value === 'object' ? JSON.stringify(value) : value);
  const words = (fields) => Object.entries(fields).filter(([, value]) => value !== undefined)
    .map(([field, value]) => `${field}=${text(value)}`).join(' ');
  const answer = result === undefined ? 'unknown' : result.code ?? (words(result) || 'done');
  return `${[name, words(args)].filter(Boolean).join(' ')} -> ${answer}`;
}
