// The four services as access_matrix sees them: requests and their credentials, and worlds, each
// with a container (queue, table, share) of its own in which an operation can be tried.

import assert from 'node:assert/strict';
import { Pipe } from './pipe.mjs';
import {
  VERSION, accountSas, hmac, sasTime, serviceSas, sharedKeyLiteString, sharedKeyString,
} from './sign.mjs';
import { queueSas } from './queue.mjs';
import { fileSas } from './file.mjs';
import { BLOB, BLOB_PROPERTIES, FILE, FILE_PROPERTIES, QUEUE, TABLE } from './access_recipes.mjs';

export const OWNER = { account: 'owner', key: Buffer.alloc(64, 1).toString('base64') };
export const STRANGER = { account: 'stranger', key: Buffer.alloc(64, 2).toString('base64') };

// --- the four services ---

function tableSas(table, fields, { account, key }) {
  const all = { sv: VERSION, tn: table, sp: 'raud', st: sasTime(-300), se: sasTime(3600),
    ...fields };
  const named = { ...all, resource: `/table/${account}/${table.toLowerCase()}` };
  const order = ['sp', 'st', 'se', 'resource', 'si', 'sip', 'spr', 'sv', 'spk', 'srk', 'epk',
    'erk'];
  const sig = hmac(key, order.map((name) => named[name] ?? '').join('\n'));
  return Object.entries({ ...all, sig }).filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
}

const OVERRIDES = { rscc: 'no-store', rscd: 'x', rsce: 'x', rscl: 'x', rsct: 'a/b' };

// What is signed of a service SAS and may be left out; what is asked to see whether something
// changed; how a container (queue, table, share) is made and gets its policies.
export function servicesOf(server) {
  const services = {
    blob: {
      letter: 'b', url: server.url, recipes: BLOB, properties: BLOB_PROPERTIES,
      containerSas: (x, fields, who) => serviceSas(x.name, null, fields, who),
      objectSas: (x, path, fields, who) => serviceSas(x.name, path, fields, who),
      optional: { ses: 'scope', si: 'good', sip: '127.0.0.1', spr: 'https,http', ...OVERRIDES },
      make: (x) => x.key('PUT', `${x.name}?restype=container`),
      setPolicies: (x, xml, access) => x.key('PUT', `${x.name}?restype=container&comp=acl`,
        access ? { 'x-ms-blob-public-access': access } : {}, xml),
      seen: (x) => [`?comp=list&include=metadata&prefix=${x.name}`, `${x.name}?restype=container`,
        `${x.name}?restype=container&comp=acl`, `${x.name}?restype=container&comp=list&include=` +
        'snapshots,metadata,uncommittedblobs,copy,deleted,tags,versions',
        `${x.name}/dir/blob?comp=blocklist&blocklisttype=all`],
    },
    queue: {
      letter: 'q', url: server.queueUrl, recipes: QUEUE,
      containerSas: (x, fields, who) => queueSas(x.name, fields, who),
      optional: { si: 'good', sip: '127.0.0.1', spr: 'https,http' },
      make: (x) => x.key('PUT', x.name),
      setPolicies: (x, xml) => x.key('PUT', `${x.name}?comp=acl`, {}, xml),
      seen: (x) => [`?comp=list&include=metadata&prefix=${x.name}`, `${x.name}?comp=metadata`,
        `${x.name}?comp=acl`, `${x.name}/messages?peekonly=true&numofmessages=32`],
    },
    table: {
      letter: 't', url: server.tableUrl, recipes: TABLE,
      containerSas: (x, fields, who) => tableSas(x.name, fields, who),
      optional: { si: 'good', sip: '127.0.0.1', spr: 'https,http', spk: 'a', srk: 'a', epk: 'z',
        erk: 'z' },
      make: (x) => x.key('POST', 'Tables', { 'Content-Type': 'application/json',
        Accept: 'application/json' }, JSON.stringify({ TableName: x.name })),
      setPolicies: (x, xml) => x.key('PUT', `${x.name}?comp=acl`, {}, xml),
      seen: (x) => [`Tables('${x.name}')`, `${x.name}?comp=acl`, `${x.name}()`],
    },
    file: {
      letter: 'f', url: server.fileUrl, recipes: FILE, properties: FILE_PROPERTIES,
      containerSas: (x, fields, who) => fileSas(x.name, { sr: 's', ...fields }, who),
      objectSas: (x, path, fields, who) =>
        fileSas(`${x.name}/${path}`, { sr: 'f', ...fields }, who),
      optional: { si: 'good', sip: '127.0.0.1', spr: 'https,http', ...OVERRIDES },
      make: (x) => x.key('PUT', `${x.name}?restype=share`),
      setPolicies: (x, xml) => x.key('PUT', `${x.name}?restype=share&comp=acl`, {}, xml),
      seen: (x) => [`?comp=list&include=metadata,snapshots,deleted&prefix=${x.name}`,
        `${x.name}?restype=share`, `${x.name}?restype=share&comp=acl`,
        ...['', '/dir'].map((path) => `${x.name}${path}?restype=directory&comp=list&include=` +
          'Timestamps,Etag,Attributes,PermissionKey'),
        ...['dir', 'old'].map((path) => `${x.name}/${path}?restype=directory`),
        ...['file', 'new', 'src'].flatMap((name) => [`${x.name}/dir/${name}`,
          `${x.name}/dir/${name}?comp=rangelist`])],
    },
  };
  for (const [name, service] of Object.entries(services)) {
    const { hostname, port } = new URL(service.url);
    service.name = name;
    service.pipe = new Pipe({ host: hostname, port: Number(port) });
  }
  return services;
}

// --- requests ---

const WITH_LENGTH = new Set(['PUT', 'POST', 'PATCH', 'MERGE']);

// Shared Key, of the tables' own form or that of the others.
function authorization(service, { method, target, headers }, { account, key, lite = false }) {
  const scheme = lite ? 'SharedKeyLite' : 'SharedKey';
  const given = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  let text;
  if (service.name === 'table') {
    const [path, query = ''] = target.split('?');
    const comp = new URLSearchParams(query).get('comp');
    const resource = `/${account}${path}${comp === null ? '' : `?comp=${comp}`}`;
    const date = given['x-ms-date'] ?? given.date ?? '';
    text = (lite ? [date, resource] : [method, given['content-md5'] ?? '',
      given['content-type'] ?? '', date, resource]).join('\n');
  } else {
    text = (lite ? sharedKeyLiteString : sharedKeyString)(method, target, headers, account);
  }
  return `${scheme} ${account}:${hmac(key, text)}`;
}

// A request as it goes out, without a credential.
export function plain(account, [method, path, query = '', headers = {}, body = null], more = '') {
  const parameters = [query, more].filter(Boolean).join('&');
  const all = { 'x-ms-version': VERSION, ...headers };
  if (body !== null || WITH_LENGTH.has(method)) {
    all['Content-Length'] = body === null ? 0 : Buffer.byteLength(body);
  }
  return { method, target: `/${account}/${path}${parameters ? `?${parameters}` : ''}`,
    headers: all, body };
}

export function dated(request, offsetSec = 0) {
  const headers = { 'x-ms-date': new Date(Date.now() + offsetSec * 1000).toUTCString(),
    ...request.headers };
  return { ...request, headers };
}

// By Shared Key; `meant` is what was signed if it is not what is sent.
export function sendByKey(service, request, who = OWNER, meant = request) {
  const date = request.headers['x-ms-date'] ?? new Date().toUTCString();
  const withDate = (one) => ({ ...one, headers: { 'x-ms-date': date, ...one.headers } });
  const sent = withDate(request);
  sent.headers = { ...sent.headers, Authorization: authorization(service, withDate(meant), who) };
  return service.pipe.send(sent);
}

// "status code"; of a batch that was taken those of its one part.
export function outcome(answer) {
  let { status, code } = answer;
  if (status === 202 && /^multipart/.test(answer.headers['content-type'] ?? '')) {
    const text = answer.body.toString();
    status = Number(/HTTP\/1\.1 (\d+)/.exec(text)[1]);
    code = /x-ms-error-code: (\w+)/i.exec(text)?.[1] ?? /"code":"(\w+)"/.exec(text)?.[1];
  }
  return status < 300 ? String(status) : `${status} ${code}`;
}

// --- worlds: each with a container (queue, table, share) of its own ---

let worlds = 0;
export const worldCount = () => worlds;

export async function makeWorld(service, recipe) {
  const x = { service, name: `world${++worlds}`, account: OWNER.account, url: service.url,
    object: recipe.object };
  x.key = async (method, path, headers = {}, body = null) => {
    const [at, query] = path.split('?');
    const answer = await sendByKey(service,
      plain(x.account, [method, at, query, headers, body]));
    assert.ok(answer.status < 300,
      `${method} ${path}: ${answer.status} ${answer.code} ${answer.body}`);
    return answer;
  };
  x.sourceUrl = (path) => `${service.url}/${path}${path.includes('?') ? '&' : '?'}` +
    accountSas({ ss: service.letter, sp: 'rwd' }, OWNER);
  x.signed = (method, target, headers) => {
    const request = dated({ method, target, headers });
    return { ...request.headers, Authorization: authorization(service, request, OWNER) };
  };
  if (!recipe.bare) await service.make(x);
  await recipe.before?.(x);
  if (recipe.object !== undefined && recipe.object !== 'dir/other') {
    await makeOther(x);
  }
  x.request = recipe.ask(x);
  return x;
}

// Beside every object stands another, for the SAS that is for that one.
async function makeOther(x) {
  if (x.service.name === 'blob') {
    await x.key('PUT', `${x.name}/dir/other`, { 'x-ms-blob-type': 'BlockBlob' }, 'other');
  } else {
    await x.key('PUT', `${x.name}/dir/other`, { 'x-ms-type': 'file', 'x-ms-content-length': 5 });
  }
}

const SHOWN =
  /^(etag|last-modified|content-|x-ms-(meta|lease|share|file|approximate|blob|type|copy))/;

// Everything there is of a world, as text.
export async function stateOf(x) {
  const paths = ['?restype=service&comp=properties', ...x.service.seen(x)];
  const answers = await Promise.all(paths.map((path) => sendByKey(x.service,
    plain(x.account, ['GET', ...path.split('?'), { Accept: 'application/json' }]))));
  return paths.map((path, i) => {
    const { status, code, headers, body } = answers[i];
    if (status >= 400) return `${path} ${status} ${code}`;
    const shown = Object.entries(headers).filter(([name]) => SHOWN.test(name));
    return `${path} ${status} ${JSON.stringify(shown)} ${body}`;
  }).join('\n');
}
