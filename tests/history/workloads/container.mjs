// Clients of one container: blobs under few names, copies between them, listings of all.

import { container } from '../models/container.mjs';
import { choose, conditionsOf, elements, refusalOf, unquoted } from './common.mjs';

const NAMES = ['a', 'b', 'c', 'd'];
const LISTING = 'restype=container&comp=list&include=metadata';

// The value is in the metadata, so that a listing shows it.
const REQUESTS = {
  put: (object, { name, value, ...conditions }) => ['PUT', `${object}/${name}`,
    { 'x-ms-blob-type': 'BlockBlob', 'x-ms-meta-value': value, ...conditionsOf(conditions) },
    String(value)],
  copy: (object, { name, from, sync }, { url, signature }) => ['PUT', `${object}/${name}`,
    { 'x-ms-copy-source': `${url(`${object}/${from}`)}?${signature}`,
      ...(sync && { 'x-ms-requires-sync': 'true' }) }],
  delete: (object, { name, ...conditions }) => ['DELETE', `${object}/${name}`,
    conditionsOf(conditions)],
  get: (object, { name }) => ['GET', `${object}/${name}`],
  list: (object) => ['GET', `${object}?${LISTING}`],
};

const etagOf = ({ headers }) => ({ etag: unquoted(headers.etag) });

const RESULTS = {
  put: etagOf,
  copy: etagOf,
  delete: () => ({}),
  get: ({ headers, body }) => ({ etag: unquoted(headers.etag),
    value: headers['x-ms-meta-value'] === body.toString() ? Number(body.toString()) : 'torn' }),
  list: ({ body }) => ({ blobs: Object.fromEntries(elements(body.toString(), 'Blob')
    .map((blob) => [elements(blob, 'Name')[0],
      [Number(elements(blob, '[Vv]alue')[0]), unquoted(elements(blob, 'Etag')[0])]])) }),
};

export const containers = {
  name: 'containers',
  service: 'blob',
  model: container,
  objects: ['listed-0', 'listed-1'],
  setUp: (object) => [['PUT', `${object}?restype=container`]],
  settle: () => [{ name: 'list', args: {} }],
  next(random, memory, value) {
    const kind = choose(random, { put: 6, copy: 3, delete: 3, get: 3, list: 6 });
    const name = random.pick(NAMES);
    const ifMatch = random.next() < 0.3 ? memory[name] : undefined;
    switch (kind) {
      case 'list':
        return { name: kind, args: {} };
      case 'get':
        return { name: kind, args: { name } };
      case 'copy':
        return { name: kind, args: { name, sync: random.next() < 0.5,
          from: random.pick(NAMES.filter((other) => other !== name)) } };
      case 'delete':
        return { name: kind, args: { name, ...(ifMatch && { ifMatch }) } };
      default:
        return { name: kind, args: { name, value: value(), ...(ifMatch ? { ifMatch }
          : random.next() < 0.3 ? { ifNoneMatch: '*' } : {}) } };
    }
  },
  request: (object, { name, args }, at) => REQUESTS[name](object, args, at),
  result: ({ name }, answer) => (name === 'copy' && answer.status === 412
    ? { code: 'SourceChanged' } : refusalOf(answer) ?? RESULTS[name](answer)),
  learn(memory, { args }, { etag, blobs }) {
    if (etag) memory[args.name] = etag;
    for (const [name, [, shown]] of Object.entries(blobs ?? {})) memory[name] = shown;
  },
};
