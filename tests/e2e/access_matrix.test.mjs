// Every operation of the four services, asked for by everybody who may not: each letter of a SAS
// missing, other services, resource types, times, addresses, protocols, accounts, containers and
// objects, every field of a SAS and every signed part of a request changed, policies that are
// revoked, and nobody at all.  Each is refused with its documented code, and nothing is done.  Each
// request is also sent by everybody who may, and then succeeds.
//
// Who may is said by helpers/access_recipes.mjs, which is written from the reference.

import test from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { startServer, stopsCleanly } from './helpers/server.mjs';
import { accountSas, sasTime } from './helpers/sign.mjs';
import { FILE_PROPERTIES, OVERWRITES } from './helpers/access_recipes.mjs';
import {
  OWNER, STRANGER, makeWorld, outcome, plain, sendByKey, servicesOf, stateOf, worldCount,
} from './helpers/access_world.mjs';
import {
  BY_POLICY, FORGED, LETTERS, NAMES_NOBODY, NOBODY, NO_LETTER, POLICY_LETTERS, anHour, enough,
  policiesOf, policyXml, refusedAccountSas, refusedByKey, refusedServiceSasOf, without,
} from './helpers/access_credentials.mjs';

const server = await startServer({ args: ['--blobVersioning'], account: OWNER.account,
  key: OWNER.key,
  env: { AZURITE_ACCOUNTS: [OWNER, STRANGER].map(({ account, key }) => `${account}:${key}`)
    .join(';') } });

const SERVICES = servicesOf(server);

// --- who is refused ---

let requests = 0;

// Sends them all and says which were not answered as they should be.
async function mismatches(sendings) {
  requests += sendings.length;
  const answers = await Promise.all(sendings.map(([, answer]) => answer));
  return sendings.flatMap(([what, , expected], i) => {
    const found = outcome(answers[i]);
    // The code of an answer to HEAD is in its headers alone, as everywhere.
    return found === expected ? [] : [`${what}: ${found} instead of ${expected}`];
  });
}

async function assertRefused(x, what, sendings) {
  const before = await stateOf(x);
  const faults = await mismatches(sendings());
  assert.deepEqual(faults, [], what);
  assert.equal(await stateOf(x), before, `${what}: something was done`);
}

async function refusals(x, recipe) {
  const { service } = x;
  const request = plain(x.account, x.request);
  const bySas = ([what, query, expected]) =>
    [what, service.pipe.send(plain(x.account, x.request, query)), expected];
  if (recipe.by) {
    await service.setPolicies(x, policyXml({ good: ['', anHour(), 'r'] }));
    await service.setPolicies(x, policiesOf(x, recipe));
  }
  await assertRefused(x, 'by SAS', () => [...refusedAccountSas(x, recipe),
    ...refusedServiceSasOf(x, recipe)].map(bySas));
  await assertRefused(x, 'by Shared Key', () => refusedByKey(x, request, recipe)
    .map(([what, sent, who, meant]) =>
      [what, sendByKey(service, sent, who, meant ?? sent), FORGED]));
  await assertRefused(x, 'by nobody', () => NAMES_NOBODY.map(([headers, expected]) =>
    [JSON.stringify(headers), service.pipe.send({ ...request, headers:
      { ...request.headers, 'x-ms-date': new Date().toUTCString(), ...headers } }), expected]));
  await assertRefused(x, 'at another account', () => {
    const there = plain(STRANGER.account, x.request);
    return [
      ['by Shared Key', sendByKey(service, there, OWNER), FORGED],
      ['by Shared Key in its name', sendByKey(service, there, { ...OWNER,
        account: STRANGER.account }), FORGED],
      ['by SAS', service.pipe.send(plain(STRANGER.account, x.request,
        accountSas({ ss: service.letter, sp: LETTERS }, OWNER))), FORGED],
    ];
  });
}

const READS = new Set(['GET', 'HEAD']);
const changesSomething = (x) => !READS.has(x.request[0]) || x.request[2].startsWith('visibility');

// The secondary endpoint is read only.
async function atSecondary(x, recipe) {
  if (recipe.secondary) {
    await assertRefused(x, 'at the primary', () => [['by Shared Key',
      sendByKey(x.service, plain(OWNER.account, x.request)), '400 InvalidQueryParameterValue']]);
    return;
  }
  const there = plain(`${OWNER.account}-secondary`, x.request);
  const expected = changesSomething(x) ? '403 WriteOperationNotSupportedOnSecondary' : '200';
  await assertRefused(x, 'at the secondary', () => [
    ['by Shared Key', sendByKey(x.service, there), expected],
    ...(recipe.who === 'key' ? [] : [['by SAS', x.service.pipe.send(plain(there.target
      .split('/')[1], x.request, accountSas({ ss: x.service.letter, sp: LETTERS }, OWNER))),
    expected]]),
  ]);
}

// What the public may see of a container, and nothing else.
async function byThePublic(x, recipe) {
  if (x.service.name !== 'blob' || recipe.bare) return;
  for (const access of ['blob', 'container']) {
    await x.service.setPolicies(x, '<SignedIdentifiers/>', access);
    const isOpen = recipe.open === 'blob' || recipe.open === access;
    await assertRefused(x, `with public access to the ${access}`, () => [['by anybody',
      x.service.pipe.send(plain(x.account, x.request)), isOpen ? '200' : NOBODY]]);
  }
  await x.service.setPolicies(x, '<SignedIdentifiers/>');
}

// --- who is let in ---

async function isLetIn(service, recipe, shared, [what, query, who, policy]) {
  const x = shared !== null && policy === undefined ? shared : await makeWorld(service, recipe);
  if (policy !== undefined) {
    await service.setPolicies(x, policyXml({ good: ['', anHour(), policy] }));
  }
  const account = recipe.secondary ? `${OWNER.account}-secondary` : x.account;
  const answer = query === null ? sendByKey(service, plain(account, x.request), who)
    : service.pipe.send(plain(account, x.request, query(x)));
  return [what, answer.then((got) => got), recipe.status];
}

async function assertLetIn(service, recipe, twin) {
  const shared = changesSomething(twin) ? null : twin;
  const sendings = [];
  for (const one of enough(twin, recipe)) {
    sendings.push(await isLetIn(service, recipe, shared, one));
  }
  requests += sendings.length;
  for (const [what, answer, status] of sendings) {
    const found = outcome(await answer);
    const right = status === undefined ? /^20\d$/.test(found) : found.startsWith(String(status));
    assert.ok(right, `${what}: ${found}`);
  }
}

// With all rights it succeeds, and does something if it is to.
async function assertWorks(service, recipe) {
  const x = await makeWorld(service, recipe);
  const before = await stateOf(x);
  const account = recipe.secondary ? `${OWNER.account}-secondary` : x.account;
  const found = outcome(await sendByKey(service, plain(account, x.request)));
  if (recipe.status === undefined) assert.match(found, /^20\d$/, 'by the key');
  else assert.ok(found.startsWith(String(recipe.status)), `by the key: ${found}`);
  const changes = changesSomething(x) && !recipe.idle && !/GroupQuery/.test(recipe.title);
  const after = await stateOf(x);
  if (changes) assert.notEqual(after, before, 'the request does nothing that can be seen');
  else if (!recipe.idle) assert.equal(after, before, 'the request does something');
  return x;
}

async function preflight(service, recipe) {
  const x = await makeWorld(service, recipe);
  const properties = service.properties ?? ((origin) => FILE_PROPERTIES(origin)
    .replace(/<ShareDelete.*<\/ShareDeleteRetentionPolicy>/, ''));
  await x.key('PUT', '?restype=service&comp=properties', {}, properties('http://cors'));
  for (const headers of [{}, { Authorization: 'SharedKey nobody:AAAA' }]) {
    const [method, path, query, given] = x.request;
    const answer = await service.pipe.send(
      plain(x.account, [method, path, query, { ...given, ...headers }]));
    assert.equal(outcome(answer), '200');
  }
}

// --- the tests ---

function rowsOf(name) {
  const file = new URL(`../../src/frontend/http/operations_${name}.def`, import.meta.url);
  const text = fs.readFileSync(file, 'utf8').replace(/\/\*[\s\S]*?\*\//g, '');
  return [...text.matchAll(/OPERATION\((\w+),/g)].map(([, row]) => row);
}

test('every row of the tables of operations has its recipe, and every recipe its row', () => {
  for (const { name, recipes } of Object.values(SERVICES)) {
    const rows = rowsOf(name);
    assert.ok(rows.length > 10, name);
    const covered = new Set(Object.entries(recipes).map(([title, { row }]) => row ?? title));
    assert.deepEqual([...covered].sort(), [...rows].sort(), name);
  }
});

for (const service of Object.values(SERVICES)) {
  test(`the ${service.name} service is set up`, async () => {
    const x = await makeWorld(service, { ask: () => ['GET', '', ''] });
    if (service.properties) {
      await x.key('PUT', '?restype=service&comp=properties', {},
        service.properties('http://first'));
    }
  });

  for (const [title, recipe] of Object.entries(service.recipes)) {
    recipe.title = title;
    test(`${title} is done for those who may, and for nobody else`, async () => {
      if (recipe.who === 'anybody') {
        await preflight(service, recipe);
        return;
      }
      await assertWorks(service, recipe);
      const x = await makeWorld(service, recipe);
      await refusals(x, recipe);
      await atSecondary(x, recipe);
      await byThePublic(x, recipe);
      const account = recipe.secondary ? `${OWNER.account}-secondary` : x.account;
      // The world is still one in which the request works.
      if (changesSomething(x)) {
        const found = outcome(await sendByKey(service, plain(account, x.request)));
        assert.ok(recipe.status === undefined ? /^20\d$/.test(found)
          : found.startsWith(String(recipe.status)), `in the end: ${found}`);
      }
      await assertLetIn(service, recipe, x);
    });
  }
}

for (const name of ['blob', 'file']) {
  const service = SERVICES[name];
  for (const [title, recipe] of Object.entries(OVERWRITES[name])) {
    test(`${title} over what is there needs more than the permission to create`, async () => {
      const x = await makeWorld(service, recipe);
      const letters = without(LETTERS, 'w');
      const credentials = [accountSas({ ss: service.letter, sp: letters }, OWNER),
        service.containerSas(x, { sp: letters }, OWNER),
        service.objectSas(x, x.object, { sp: letters }, OWNER)];
      await assertRefused(x, title, () => credentials.map((sas) =>
        ['without w', service.pipe.send(plain(x.account, x.request, sas)),
          '403 UnauthorizedBlobOverwrite']));
      const good = accountSas({ ss: service.letter, sp: 'w' }, OWNER);
      assert.match(outcome(await service.pipe.send(plain(x.account, x.request, good))), /^20\d$/);
    });
  }
}

test('a policy that is changed or revoked holds at once, for what was given before', async () => {
  for (const service of Object.values(SERVICES)) {
    const recipe = service.recipes[{ blob: 'GetBlob', queue: 'PeekMessages', table: 'GetEntity',
      file: 'GetFile' }[service.name]];
    const x = await makeWorld(service, recipe);
    const set = (policies) => service.setPolicies(x, policyXml(policies));
    const sas = service.containerSas(x, { ...BY_POLICY, si: 'good' }, OWNER);
    const ask = async () => outcome(await service.pipe.send(plain(x.account, x.request, sas)));
    const other = POLICY_LETTERS[service.name].replace('r', '')[0];
    await set({ good: ['', anHour(), 'r'] });
    assert.equal(await ask(), '200', service.name);
    await set({ good: ['', anHour(), other] });
    assert.equal(await ask(), NO_LETTER, service.name);
    await set({ good: ['', sasTime(-1), 'r'] });
    assert.equal(await ask(), FORGED, service.name);
    await set({ good: ['', anHour(), 'r'] });
    assert.equal(await ask(), '200', service.name);
    await set({ renamed: ['', anHour(), 'r'] });
    assert.equal(await ask(), FORGED, service.name);
  }
});

test('there were enough requests', (t) => {
  t.diagnostic(`${requests} requests by credentials, in ${worldCount()} containers`);
  assert.ok(requests > 10_000, String(requests));
});

test('connections end', () => {
  for (const { pipe } of Object.values(SERVICES)) pipe.close();
});

stopsCleanly(server);
