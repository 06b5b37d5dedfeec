// Clients of the entities of one partition: single changes, entity group transactions, queries.

import { table } from '../models/table.mjs';
import { changeSet } from '../../e2e/helpers/table.mjs';
import { choose } from './common.mjs';

const TABLE = 'history';
const ROWS = ['r0', 'r1', 'r2', 'r3'];
const JSON_TYPE = { 'Content-Type': 'application/json',
  Accept: 'application/json;odata=minimalmetadata' };

// An ETag holds an instant, whose last zeros are left out; with them, later ones sort behind.
function instantOf(etag) {
  const text = decodeURIComponent(/datetime'(.*)'/.exec(etag)[1]);
  const [whole, fraction = ''] = text.replace('Z', '').split('.');
  return `${whole}.${fraction.padEnd(7, '0')}`;
}

function etagOf(instant) {
  if (instant === '*') return instant;
  const text = instant.replace(/\.?0+$/, '');
  return `W/"datetime'${encodeURIComponent(`${text}Z`)}'"`;
}

const entityPath = (object, row) => `${TABLE}(PartitionKey='${object}',RowKey='${row}')`;

// One change: [method, path, headers, body].
function changeRequest(object, { kind, row, value, ifMatch }) {
  const entity = { PartitionKey: object, RowKey: row, value };
  const condition = ifMatch && { 'If-Match': etagOf(ifMatch) };
  switch (kind) {
    case 'insert':
      return ['POST', TABLE, { ...JSON_TYPE, Prefer: 'return-no-content' }, entity];
    case 'delete':
      return ['DELETE', entityPath(object, row), { ...JSON_TYPE, ...condition }];
    default:
      return ['PUT', entityPath(object, row), { ...JSON_TYPE, ...condition }, entity];
  }
}

const withJson = ([method, path, headers, body]) =>
  [method, path, headers, body === undefined ? null : JSON.stringify(body)];

const REQUESTS = {
  change: (object, args) => withJson(changeRequest(object, args)),
  group: (object, { changes }, { url }) => ['POST', '$batch',
    { 'Content-Type': 'multipart/mixed; boundary=batch_1', Accept: JSON_TYPE.Accept },
    changeSet({ tableUrl: url('') }, changes.map((change) => {
      const [method, path, headers, body] = changeRequest(object, change);
      return [method, path, body, headers];
    }))],
  get: (object, { row }) => ['GET', entityPath(object, row), JSON_TYPE],
  query: (object, { from, most }) => ['GET',
    `${TABLE}()?$filter=${encodeURIComponent(`PartitionKey eq '${object}'`)}` +
    `${most === undefined ? '' : `&$top=${most}`}${from === undefined ? ''
      : `&NextPartitionKey=${token(object)}&NextRowKey=${token(from)}`}`, JSON_TYPE],
};

// A key as continuation tokens have it, and back.
function token(key) {
  const text = Buffer.from(key).toString('base64').replaceAll('=', '-');
  return `1!${text.length}!${text}`;
}

const keyOf = (text) => text &&
  Buffer.from(text.split('!')[2].replaceAll('-', '='), 'base64').toString();

const refusalIn = (text) => ({ code: JSON.parse(text)['odata.error'].code });

function groupResult({ status, body }) {
  const text = body.toString();
  if (status >= 300) return refusalIn(text);
  const parts = text.split(/^HTTP\/1\.1 /m).slice(1);
  const failed = parts.find((part) => Number(part.slice(0, 3)) >= 300);
  if (failed) return refusalIn(/\{.*\}/s.exec(failed)[0]);
  return { etags: parts.map((part) =>
    instantOrNone(/^ETag: (.*?)\r?$/m.exec(part)?.[1])) };
}

const instantOrNone = (etag) => (etag === undefined ? null : instantOf(etag));

const RESULTS = {
  change: ({ headers }) => ({ etags: [instantOrNone(headers.etag)] }),
  get: ({ body }) => {
    const entity = JSON.parse(body);
    return { value: entity.value, etag: instantOf(entity['odata.etag']) };
  },
  query: ({ headers, body }) => ({ next: keyOf(headers['x-ms-continuation-nextrowkey']),
    entities: Object.fromEntries(JSON.parse(body).value
      .map((entity) => [entity.RowKey, [entity.value, instantOf(entity['odata.etag'])]])) }),
};

function someChange(random, memory, row, value) {
  const kind = choose(random, { insert: 3, replace: 6, upsert: 4, delete: 2 });
  const ifMatch = random.next() < 0.8 && memory[row] ? memory[row] : '*';
  return { kind, row, ...(kind === 'delete' ? {} : { value }),
    ...(['replace', 'delete'].includes(kind) && { ifMatch }) };
}

export const tables = {
  name: 'tables',
  service: 'table',
  model: table,
  objects: ['p0', 'p1'],
  setUp: () => [['POST', 'Tables', JSON_TYPE, JSON.stringify({ TableName: TABLE })]],
  settle: () => [{ name: 'query', args: {} }],
  next(random, memory, value) {
    const name = choose(random, { change: 4, group: 8, get: 3, query: 6 });
    if (name === 'query') return { name, args: {} };
    const row = random.pick(ROWS);
    if (name === 'get') return { name, args: { row } };
    if (name === 'change') return { name, args: someChange(random, memory, row, value()) };
    const rows = ROWS.filter(() => random.next() < 0.6);
    if (rows.length === 0) rows.push(row);
    // Groups of one value are easy to tell from each other; unconditional ones succeed often.
    const shared = value();
    const changes = random.next() < 0.5
      ? rows.map((one) => ({ kind: 'upsert', row: one, value: shared }))
      : rows.map((one) => someChange(random, memory, one, shared));
    return { name, args: { changes } };
  },
  request: (object, { name, args }, at) => REQUESTS[name](object, args, at),
  result({ name }, answer) {
    if (name === 'group') return groupResult(answer);
    return answer.status >= 300 ? refusalIn(answer.body.toString()) : RESULTS[name](answer);
  },
  learn(memory, { name, args }, { etags, etag, entities }) {
    if (etag) memory[args.row] = etag;
    const changes = name === 'group' ? args.changes : [args];
    etags?.forEach((each, index) => { if (each) memory[changes[index].row] = each; });
    for (const [row, [, shown]] of Object.entries(entities ?? {})) memory[row] = shown;
  },
};
