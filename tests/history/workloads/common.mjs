// What the workloads share: how values become bytes that show when they are torn or mixed, and how
// answers become results.
//
// A workload:
//
//   name, service    which of the services its requests go to: blob, queue, table or file
//   model            what the histories of its objects are checked against
//   objects          their names; few, so that clients meet
//   clients          how many there are, if not as many as of the others
//   setUp(object)    requests that make what an object is in
//   next(random, memory, value)     what a client does next: { name, args }.  `value` gives numbers
//                    that no other client has.
//   request(object, operation, { url, signature })     the request: [method, path below the
//                    account, headers, body].  `url` makes a whole URL of a path.
//   result(operation, answer)       what it says, in the model's terms
//   learn(memory, operation, result)     what the client remembers of it for later requests
//   settle(history)  operations that show the whole state after this history, for when everybody is
//                    quiet

export const unquoted = (etag) => etag?.replaceAll('"', '');
export const quoted = (etag) => (etag === '*' ? etag : `"${etag}"`);

// A key of `weights`, as often as it weighs.
export function choose(random, weights) {
  let at = random.next() * Object.values(weights).reduce((sum, weight) => sum + weight, 0);
  for (const [key, weight] of Object.entries(weights)) {
    at -= weight;
    if (at < 0) return key;
  }
  throw new Error('weights are positive');
}

// The refusal in an answer, or undefined.
export function refusalOf({ status, code }) {
  if (status < 300) return undefined;
  return { code: status === 304 ? 'NotModified' : code ?? String(status) };
}

export const conditionsOf = ({ ifMatch, ifNoneMatch, lease }) => ({
  ...(ifMatch && { 'If-Match': quoted(ifMatch) }),
  ...(ifNoneMatch && { 'If-None-Match': quoted(ifNoneMatch) }),
  ...(lease && { 'x-ms-lease-id': lease }),
});

// --- bytes of a value: small ones are stored with the record, large ones are not ---

const SIZES = [40, 40, 40, 40, 40, 40, 3000, 3000, 3000, 90_000];
const HUGE_VALUES = 1000; // below this values are of more bytes than sockets buffer
const HUGE = 12 << 20;

const filled = (text, size) =>
  Buffer.from(text.repeat(Math.ceil(size / text.length)).slice(0, size));
export const bytesOf = (value) =>
  filled(`${value}:`, value < HUGE_VALUES ? HUGE : SIZES[value % SIZES.length]);

export function valueOf(bytes) {
  const value = Number(bytes.subarray(0, 20).toString().split(':')[0]);
  return bytes.equals(bytesOf(value)) ? value : 'torn';
}

// --- slots: as many bytes each, all of one value ---

export function slotBytes(value, slots, slotSize) {
  const bytes = Buffer.alloc(slots * slotSize);
  for (let at = 0; at + 4 <= bytes.length; at += 4) bytes.writeUInt32LE(value, at);
  return bytes;
}

export function slotsOf(bytes, slotSize) {
  return Array.from({ length: bytes.length / slotSize }, (_, i) => {
    const slot = bytes.subarray(i * slotSize, (i + 1) * slotSize);
    const value = slot.readUInt32LE(0);
    return slot.equals(slotBytes(value, 1, slotSize)) ? value : 'torn';
  });
}

// A random range of slots, as [from, to).
export function someSlots(random, slots) {
  const from = random.between(0, slots - 1);
  return [from, random.between(from + 1, slots)];
}

// --- records: pieces of a content that is a list of them ---

export const record = (name, value, size) =>
  Buffer.from(`${name}|${value}|${size}|`.padEnd(size - 1, '.') + '\n');

// [name, value, size] of each.
export function recordsOf(bytes) {
  const records = [];
  for (let at = 0; at < bytes.length;) {
    const [name, value, size] = bytes.subarray(at, at + 40).toString().split('|');
    const whole = record(name, value, Number(size));
    if (!(Number(size) > 0) || !bytes.subarray(at, at + whole.length).equals(whole)) {
      return [...records, ['torn', at, 0]];
    }
    records.push([name, value, Number(size)]);
    at += whole.length;
  }
  return records;
}

// The texts between these tags.
export const elements = (text, name) =>
  [...text.matchAll(new RegExp(`<${name}(?: [^>]*)?>(.*?)</${name}>`, 'gs'))]
    .map(([, inner]) => inner);
