// Credentials for access_matrix: all that are not enough for an operation, each with the answer it
// gets, and all that are just enough.

import { accountSas, hmac, sasTime, serviceSas } from './sign.mjs';
import { OWNER, STRANGER, dated } from './access_world.mjs';

export const LETTERS = 'rwdxylacuptfimeo';

export const FORGED = '403 AuthenticationFailed';
export const NO_LETTER = '403 AuthorizationPermissionMismatch';
export const NOT_BY_SAS = '403 AuthorizationFailure';
export const NOBODY = '401 NoAuthenticationInformation';

// --- credentials ---

// [resource type, letters any of which suffices, letters all of which are needed]
export function rights(recipe) {
  const [type, letters] = recipe.who.split(':');
  return letters.startsWith('+') ? { type, sets: [letters.slice(1)] }
    : { type, sets: [...letters] };
}

export const without = (letters, some) =>
  [...letters].filter((one) => !some.includes(one)).join('');

// Sets of letters that are not enough: all but those needed, and each that is not one alone.
function missing({ sets }, unsaid = '') {
  if (sets.length === 1 && sets[0].length > 1) {
    return [...sets[0]].flatMap((letter) => [without(LETTERS, letter), letter === sets[0][0]
      ? sets[0].slice(1) : sets[0][0]]);
  }
  const others = without(LETTERS, sets.join('') + unsaid);
  return others === '' ? [] : [others, ...others];
}

const encode = (pairs) => pairs.map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  .join('&');
const flip = (text, at) => text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);

const CHANGED = { sp: [...LETTERS].reverse().join(''), st: sasTime(-86_400), se: sasTime(86_400),
  sv: '2020-12-06', ss: 'ftqb', srt: 'ocs', sr: 'b', tn: 'another', sdd: '2' };

// A good SAS with one thing changed: [what, query, expected].
function tampered(sas, optional) {
  const pairs = [...new URLSearchParams(sas)];
  const cases = [];
  const add = (what, changed, expected = FORGED) => cases.push([what, encode(changed), expected]);
  for (const [i, [name, value]] of pairs.entries()) {
    const rest = [...pairs.slice(0, i), ...pairs.slice(i + 1)];
    const put = (other) => [...pairs.slice(0, i), [name, other], ...pairs.slice(i + 1)];
    add(`${name} left out`, rest, name === 'sig' ? NOBODY : FORGED);
    add(`${name} twice`, [...pairs, [name, value]]);
    if (name !== 'sig') {
      const other = name === 'sr' && value === 'b' ? 'c' : name === 'sr' && value === 's' ? 'f'
        : name === 'sr' && value === 'f' ? 's' : CHANGED[name];
      add(`${name} changed`, put(other));
      continue;
    }
    for (const at of [0, 20, 41]) add(`sig changed at ${at}`, put(flip(value, at)));
    add('sig cut', put(value.slice(0, -2)));
    add('sig empty', put(''));
    add('sig of zeros', put(Buffer.alloc(32).toString('base64')));
    add('sig in capitals', put(value.toUpperCase()));
  }
  for (const [name, value] of Object.entries(optional)) {
    if (!pairs.some(([given]) => given === name)) add(`${name} added`, [...pairs, [name, value]]);
  }
  return cases;
}

// --- who is refused ---

export const anHour = () => sasTime(3600);

export function refusedAccountSas(x, recipe) {
  const { letter } = x.service;
  const isKeyOnly = recipe.who === 'key';
  const all = { ss: letter, srt: 'sco', sp: LETTERS };
  const sas = (fields, who = OWNER) => accountSas({ ...all, ...fields }, who);
  if (isKeyOnly) return [['an account SAS for everything', sas({}), NOT_BY_SAS]];
  const right = rights(recipe);
  const types = without('sco', right.type);
  const services = without('bqtf', letter);
  return [
    ...missing(right, recipe.unsaid).map((sp) => [`an account SAS with ${sp}`, sas({ sp }),
      NO_LETTER]),
    ...[types, ...types].map((srt) => [`resource types ${srt}`, sas({ srt }),
      '403 AuthorizationResourceTypeMismatch']),
    ...[services, ...services].map((ss) => [`services ${ss}`, sas({ ss }),
      '403 AuthorizationServiceMismatch']),
    ['an expired SAS', sas({ se: sasTime(-1) }), FORGED],
    ['an expired SAS without start', sas({ st: undefined, se: sasTime(-60) }), FORGED],
    ['a SAS that is not valid yet', sas({ st: sasTime(600) }), FORGED],
    ['no expiry', sas({ se: '' }), FORGED],
    ['another address', sas({ sip: '10.1.2.3' }), '403 AuthorizationSourceIPMismatch'],
    ['other addresses', sas({ sip: '10.0.0.0-126.255.255.255' }),
      '403 AuthorizationSourceIPMismatch'],
    ['HTTPS only', sas({ spr: 'https' }), '403 AuthorizationProtocolMismatch'],
    ['a version before account SAS', sas({ sv: '2015-02-21' }), FORGED],
    ['a SAS of another account', accountSas(all, STRANGER), FORGED],
    ['another account\'s key', sas({}, { account: OWNER.account, key: STRANGER.key }), FORGED],
    ...tampered(sas({}), { ses: 'scope', sip: '127.0.0.1', spr: 'https,http' })
      .map(([what, query, expected]) => [`account SAS: ${what}`, query, expected]),
  ];
}

// What a service SAS, good in itself, is answered where it can never be used.
function notByServiceSas(x, recipe) {
  const [, path] = x.request;
  return path === '' && x.service.name !== 'table' ? FORGED : NOT_BY_SAS;
}

// A SAS in the first form, which had no version; it was for containers and blobs alone.
function sasBeforeVersions(x) {
  const fields = { sp: LETTERS, st: sasTime(-300), se: anHour() };
  const text = [...Object.values(fields), `/${OWNER.account}/${x.name}`, ''].join('\n');
  const table = x.service.name === 'table' ? { tn: x.name } : {};
  return encode(Object.entries({ ...fields, ...table, sig: hmac(OWNER.key, text) }));
}

function refusedServiceSas(x, recipe, kind, make) {
  const full = { sp: LETTERS };
  const { name } = x.service;
  const right = rights(recipe);
  const elsewhere = recipe.isGroup ? NOT_BY_SAS : FORGED;
  const other = { ...x, name: `${x.name}x` };
  const cases = [
    ...missing(right, recipe.unsaid).map((sp) => [`with ${sp}`, make(x, { sp }), NO_LETTER]),
    ['expired', make(x, { ...full, se: sasTime(-1) }), FORGED],
    ['not valid yet', make(x, { ...full, st: sasTime(600) }), FORGED],
    ['without expiry', make(x, { ...full, se: undefined }), FORGED],
    ['of another address', make(x, { ...full, sip: '10.1.2.3' }),
      '403 AuthorizationSourceIPMismatch'],
    ['for HTTPS only', make(x, { ...full, spr: 'https' }), '403 AuthorizationProtocolMismatch'],
    ['of another container', make(other, full), elsewhere],
    ['of another account', make(x, full, STRANGER), FORGED],
    ['by another key', make(x, full, { account: OWNER.account, key: STRANGER.key }), FORGED],
    ...tampered(make(x, full), x.service.optional),
    // Policies, as refusedPolicies has set them.
    ['by an unknown policy', make(x, { ...full, si: 'unknown' }), FORGED],
    ...(fewLetters(x, recipe) === '' ? []
      : [['by a policy with too few letters', make(x, { ...BY_POLICY, si: 'few' }), NO_LETTER]]),
    ['by a policy that is over', make(x, { ...BY_POLICY, si: 'late' }), FORGED],
    ['by a policy that has not begun', make(x, { ...BY_POLICY, si: 'early' }), FORGED],
    ['by a policy without an end', make(x, { ...BY_POLICY, si: 'endless' }), FORGED],
    ['by a revoked policy', make(x, { ...BY_POLICY, si: 'good' }), FORGED],
    ['by another container\'s policy', make(other, { ...BY_POLICY, si: 'few' }), FORGED],
    ['with times of its own beside the policy\'s',
      make(x, { sp: undefined, st: undefined, se: anHour(), si: 'few' }),
      '400 InvalidQueryParameterValue'],
    ['with letters of its own beside the policy\'s',
      make(x, { sp: LETTERS, st: undefined, se: undefined, si: 'few' }),
      '400 InvalidQueryParameterValue'],
  ];
  if (name === 'file') {
    cases.push(['of a version before it', make(x, { ...full, sv: '2014-02-14' }), FORGED]);
  }
  if (name === 'queue' || name === 'table') {
    cases.push(['of a version before it', sasBeforeVersions(x), FORGED]);
  }
  return cases.map(([what, query, expected]) => [`a ${kind} SAS ${what}`, query, expected]);
}

export const BY_POLICY = { sp: undefined, st: undefined, se: undefined };

export function policyXml(policies) {
  return `<SignedIdentifiers>${Object.entries(policies).map(([id, [start, expiry, letters]]) =>
    `<SignedIdentifier><Id>${id}</Id><AccessPolicy><Start>${start}</Start>` +
    `<Expiry>${expiry}</Expiry><Permission>${letters}</Permission></AccessPolicy>` +
    '</SignedIdentifier>').join('')}</SignedIdentifiers>`;
}

export const POLICY_LETTERS = { blob: 'racwdxyltfi', queue: 'raup', table: 'raud', file: 'rcwdl' };

// The letters a policy can have without those that are needed.
const fewLetters = (x, recipe) =>
  without(POLICY_LETTERS[x.service.name], rights(recipe).sets.join(''));

export function policiesOf(x, recipe) {
  const all = POLICY_LETTERS[x.service.name];
  // A policy that gives nothing at all is one without letters, so one letter stays.
  const few = fewLetters(x, recipe) || all[0];
  return policyXml({ few: [sasTime(-60), anHour(), few], late: [sasTime(-60), sasTime(-1), all],
    early: [sasTime(600), anHour(), all], endless: [sasTime(-60), '', all] });
}

function objectMaker(x) {
  return (at, fields, who = OWNER) => x.service.objectSas(at, x.object, fields, who);
}

const containerMaker = (x) => (at, fields, who = OWNER) => x.service.containerSas(at, fields, who);

export function refusedServiceSasOf(x, recipe) {
  const { by = '' } = recipe;
  const full = { sp: LETTERS };
  const cases = [];
  const container = containerMaker(x);
  if (!by.includes('c')) {
    cases.push(['a container SAS for everything', container(x, full), notByServiceSas(x, recipe)]);
  } else if (recipe.who !== 'key') {
    cases.push(...refusedServiceSas(x, recipe, 'container', container));
  }
  if (by.includes('o')) {
    cases.push(...refusedServiceSas(x, recipe, 'object', objectMaker(x)));
    cases.push(['a SAS of another object',
      x.service.objectSas(x, 'dir/other', full, OWNER), FORGED]);
    cases.push(['a SAS of the directory as an object',
      x.service.objectSas(x, 'dir', full, OWNER), FORGED]);
  } else if (x.service.name === 'file' && x.request[1].includes('/')) {
    const path = x.request[1].slice(x.name.length + 1);
    cases.push(['a file SAS', x.service.objectSas(x, path, full, OWNER), NOT_BY_SAS]);
  }
  if (x.service.name === 'blob' && by.includes('o')) {
    const directory = (path, fields) => serviceSas(x.name, path,
      { ...full, sr: 'd', ...fields }, OWNER);
    cases.push(['a SAS of another directory', directory('else', { sdd: '1' }), FORGED],
      ['a SAS of a directory with a wrong depth', directory('dir', { sdd: '2' }), FORGED],
      ['a SAS of a directory in a version before it',
        directory('dir', { sdd: '1', sv: '2019-12-12' }), FORGED]);
  }
  return cases;
}

// Requests by Shared Key that were signed for something else: [what, request, who, meant].
export function refusedByKey(x, request, recipe) {
  const other = (part) => ({ ...request, ...part });
  const { method, target, headers } = request;
  const isTable = x.service.name === 'table';
  const [path, query = ''] = target.split('?');
  const cases = [
    ['a wrong key', request, { account: OWNER.account, key: STRANGER.key }],
    ['another account', request, STRANGER],
    ['a wrong key, Lite', request, { ...OWNER, key: STRANGER.key, lite: true }],
    ['a date 16 minutes ago', dated(request, -16 * 60), OWNER],
    ['a date in 16 minutes', dated(request, 16 * 60), OWNER],
    ['another date', dated(request, -10), OWNER, dated(request, -11)],
    ['another method', request, OWNER, other({ method: method === 'PUT' ? 'DELETE' : 'PUT' })],
    ['another path', request, OWNER, other({ target: `${path}x${query && `?${query}`}` })],
    ['another path, Lite', request, { ...OWNER, lite: true }, other({ target: `${path}x` })],
  ];
  if (isTable) {
    if (headers['Content-Type']) {
      cases.push(['another content type', request, OWNER,
        other({ headers: { ...headers, 'Content-Type': 'a/b' } })]);
    }
    if (query.includes('comp=')) {
      cases.push(['another comp', request, OWNER, other({ target: `${path}?comp=other` })]);
    }
    return cases;
  }
  for (const name of Object.keys(headers)) {
    const changed = { ...headers, [name]: name === 'Content-Length' ? 99 : `${headers[name]}1` };
    const { [name]: gone, ...left } = headers;
    if (/^(x-ms-|content-|if-|range)/i.test(name)) {
      cases.push([`${name} changed`, request, OWNER, other({ headers: changed })]);
      if (String(gone) !== '0') {
        cases.push([`${name} added`, request, OWNER, other({ headers: left })]);
      }
    }
    if (/^x-ms-/i.test(name)) {
      cases.push([`${name} changed, Lite`, request, { ...OWNER, lite: true },
        other({ headers: changed })]);
    }
  }
  cases.push(['a header left out', request, OWNER,
    other({ headers: { ...headers, 'x-ms-meta-gone': '1' } })]);
  for (const [i, pair] of query.split('&').filter(Boolean).entries()) {
    const pairs = query.split('&');
    const rest = pairs.filter((_, at) => at !== i);
    cases.push([`${pair} added`, request, OWNER, other({ target: `${path}?${rest.join('&')}` })]);
    cases.push([`${pair} changed`, request, OWNER,
      other({ target: `${path}?${[...rest, `${pair}1`].join('&')}` })]);
  }
  cases.push(['a parameter left out', request, OWNER,
    other({ target: `${target}${query ? '&' : '?'}timeout=9` })]);
  return cases;
}

export const NAMES_NOBODY = [
  [{}, NOBODY],
  [{ Authorization: 'Bearer abc' }, '401 InvalidAuthenticationInfo'],
  [{ Authorization: 'SharedKey' }, '400 InvalidAuthenticationInfo'],
  [{ Authorization: `SharedKey ${OWNER.account}` }, '400 InvalidAuthenticationInfo'],
  [{ Authorization: `SharedKey ${OWNER.account}:` }, '400 InvalidAuthenticationInfo'],
  [{ Authorization: `SharedKey ${OWNER.account}:AAAA` }, FORGED],
  [{ Authorization: 'Basic b3duZXI6a2V5' }, '400 InvalidAuthenticationInfo'],
];

// --- who is let in ---

// Every credential that is just enough: [what, query] or [what, null, who].
export function enough(x, recipe) {
  const list = [['the key, Lite', null, { ...OWNER, lite: true }]];
  if (recipe.who === 'key') return list;
  const { type, sets } = rights(recipe);
  const { service } = x;
  const { by = '' } = recipe;
  for (const sp of sets) {
    list.push([`an account SAS with ${sp}`,
      () => accountSas({ ss: service.letter, srt: type, sp, sip: '127.0.0.0-127.0.0.9',
        spr: 'https,http' }, OWNER)]);
    if (by.includes('c')) {
      list.push([`a container SAS with ${sp}`, (at) => service.containerSas(at, { sp }, OWNER)]);
    }
    if (by.includes('o')) {
      list.push([`an object SAS with ${sp}`,
        (at) => service.objectSas(at, at.object, { sp, st: undefined }, OWNER)]);
    }
  }
  if (by.includes('o') && service.name === 'blob') {
    list.push(['a directory SAS', (at) => serviceSas(at.name, 'dir',
      { sp: sets[0], sr: 'd', sdd: '1' }, OWNER)]);
  }
  if (by.includes('c')) {
    list.push(['a container SAS by policy',
      (at) => service.containerSas(at, { ...BY_POLICY, si: 'good' }, OWNER), null, sets[0]]);
  }
  return list;
}
