// Shared Key and shared access signatures, written from the reference and not taken from the SDK,
// so that the server's idea of them meets two others.

import crypto from 'node:crypto';
import { account as wellKnownAccount, key as wellKnownKey } from './server.mjs';

export const VERSION = '2021-12-02';

export function hmac(key, text) {
  return crypto.createHmac('sha256', Buffer.from(key, 'base64')).update(text, 'utf8')
    .digest('base64');
}

function lowered(headers) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]));
}

function canonicalHeaders(headers) {
  return Object.keys(headers).filter((name) => name.startsWith('x-ms-')).sort()
    .map((name) => `${name}:${headers[name].trim().replace(/\s*\r?\n\s*/g, ' ')}\n`).join('');
}

function canonicalResource(account, target) {
  const [path, query = ''] = target.split('?');
  const parameters = new Map();
  for (const pair of query.split('&').filter(Boolean)) {
    const equals = pair.indexOf('=');
    const name = decodeURIComponent(equals < 0 ? pair : pair.slice(0, equals)).toLowerCase();
    const value = equals < 0 ? '' : decodeURIComponent(pair.slice(equals + 1));
    parameters.set(name, [...(parameters.get(name) ?? []), value]);
  }
  const lines = [...parameters.keys()].sort()
    .map((name) => `\n${name}:${parameters.get(name).sort().join(',')}`);
  return `/${account}${path}${lines.join('')}`;
}

export function sharedKeyString(method, target, headers, account = wellKnownAccount) {
  const given = lowered(headers);
  const length = given['content-length'] ?? '';
  return [
    method,
    given['content-encoding'] ?? '',
    given['content-language'] ?? '',
    length === '0' ? '' : length,
    given['content-md5'] ?? '',
    given['content-type'] ?? '',
    given['x-ms-date'] ? '' : given.date ?? '',
    given['if-modified-since'] ?? '',
    given['if-match'] ?? '',
    given['if-none-match'] ?? '',
    given['if-unmodified-since'] ?? '',
    given.range ?? '',
  ].join('\n') + '\n' + canonicalHeaders(given) + canonicalResource(account, target);
}

export function sharedKeyLiteString(method, target, headers, account = wellKnownAccount) {
  const given = lowered(headers);
  const [path, query = ''] = target.split('?');
  const comp = new URLSearchParams(query).get('comp');
  return [method, given['content-md5'] ?? '', given['content-type'] ?? '',
    given['x-ms-date'] ? '' : given.date ?? ''].join('\n') + '\n' + canonicalHeaders(given) +
    `/${account}${path}${comp === null ? '' : `?comp=${comp}`}`;
}

// The headers with a date, a version and a signature added where they are missing.
export function signed(method, target, headers = {},
  { account = wellKnownAccount, key = wellKnownKey, lite = false } = {}) {
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  const all = { ...headers };
  if (!names.includes('x-ms-date') && !names.includes('date')) {
    all['x-ms-date'] = new Date().toUTCString();
  }
  if (!names.includes('x-ms-version')) all['x-ms-version'] = VERSION;
  const text = (lite ? sharedKeyLiteString : sharedKeyString)(method, target, all, account);
  const scheme = lite ? 'SharedKeyLite' : 'SharedKey';
  all.Authorization = `${scheme} ${account}:${hmac(key, text)}`;
  return all;
}

export function sasTime(offsetSec) {
  return new Date(Date.now() + offsetSec * 1000).toISOString().replace(/\.\d+/, '');
}

// The query string of an account SAS for everything, or with the fields given.
export function accountSas(fields = {}, { account = wellKnownAccount, key = wellKnownKey } = {}) {
  const all = { sv: VERSION, ss: 'b', srt: 'sco', sp: 'rwdlac', st: sasTime(-300),
    se: sasTime(3600), ...fields };
  const order = ['sp', 'ss', 'srt', 'st', 'se', 'sip', 'spr', 'sv'];
  if (all.sv >= '2020-12-06') order.push('ses');
  const text = [account, ...order.map((name) => all[name] ?? '')].join('\n') + '\n';
  return encodeSas({ ...all, sig: hmac(key, text) });
}

// The query string of a service SAS for a container (`sr=c`) or a blob (`sr=b`), in the form of
// the version `sv`.
export function serviceSas(container, blob, fields = {},
  { account = wellKnownAccount, key = wellKnownKey } = {}) {
  const all = { sv: VERSION, sr: blob === null ? 'c' : 'b', sp: 'rwdl', st: sasTime(-300),
    se: sasTime(3600), ...fields };
  const prefix = all.sv >= '2015-02-21' ? '/blob' : '';
  all.resource = `${prefix}/${account}/${container}${blob === null ? '' : `/${blob}`}`;
  const order = ['sp', 'st', 'se', 'resource', 'si'];
  if (all.sv >= '2015-04-05') order.push('sip', 'spr');
  if (all.sv >= '2012-02-12') order.push('sv');
  if (all.sv >= '2018-11-09') order.push('sr', 'snapshot');
  if (all.sv >= '2020-12-06') order.push('ses');
  if (all.sv >= '2013-08-15') order.push('rscc', 'rscd', 'rsce', 'rscl', 'rsct');
  const sig = hmac(key, order.map((name) => all[name] ?? '').join('\n'));
  const { resource, ...sent } = all;
  if (all.sv < '2012-02-12') delete sent.sv;
  return encodeSas({ ...sent, sig });
}

function encodeSas(fields) {
  return Object.entries(fields).filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
}
