// Shared access signatures, made by the official SDK and by the helper's own signer: what each
// permission allows and what its absence forbids, times, services, resource types, forgeries.

import test from 'node:test';
import assert from 'node:assert/strict';
import {
  AccountSASPermissions, BlobSASPermissions, BlobServiceClient, ContainerClient,
  ContainerSASPermissions, SASProtocol, StorageSharedKeyCredential,
  generateAccountSASQueryParameters, generateBlobSASQueryParameters,
} from '@azure/storage-blob';
import { account, key, noRetry, startServer, stopsCleanly } from './helpers/server.mjs';
import { accountSas, sasTime, serviceSas } from './helpers/sign.mjs';
import { send } from './helpers/http.mjs';

const server = await startServer();
const credential = new StorageSharedKeyCredential(account, key);
const owner = server.client();
const container = owner.getContainerClient('sas');
await container.create();

const MINUTE_MS = 60_000;
const soon = () => new Date(Date.now() + 10 * MINUTE_MS);
const justNow = () => new Date(Date.now() - 5 * MINUTE_MS);

function accountToken(options = {}) {
  return generateAccountSASQueryParameters({
    permissions: AccountSASPermissions.parse(options.permissions ?? 'rwdlac'),
    services: options.services ?? 'b',
    resourceTypes: options.resourceTypes ?? 'sco',
    startsOn: options.startsOn ?? justNow(),
    expiresOn: options.expiresOn ?? soon(),
    version: options.version,
    protocol: options.protocol,
    ipRange: options.ipRange,
  }, options.credential ?? credential).toString();
}

function serviceToken(options = {}) {
  const { permissions = 'r', blobName } = options;
  return generateBlobSASQueryParameters({
    containerName: options.containerName ?? 'sas',
    blobName,
    permissions: blobName === undefined
      ? ContainerSASPermissions.parse(permissions) : BlobSASPermissions.parse(permissions),
    startsOn: options.startsOn ?? justNow(),
    expiresOn: options.expiresOn ?? soon(),
    version: options.version,
    cacheControl: options.cacheControl,
    contentDisposition: options.contentDisposition,
    contentEncoding: options.contentEncoding,
    contentLanguage: options.contentLanguage,
    contentType: options.contentType,
  }, options.credential ?? credential).toString();
}

const asService = (token) => new BlobServiceClient(`${server.url}?${token}`, undefined, noRetry);
const asContainer = (token, name = 'sas') =>
  new ContainerClient(`${server.url}/${name}?${token}`, undefined, noRetry);

const refused = (code) => ({ statusCode: 403, code });

let made = 0;
async function existing() {
  const blob = container.getBlockBlobClient(`blob-${++made}`);
  await blob.upload('hello', 5);
  return blob.name;
}

// Each operation with the letters of which any one allows it.  `own` is what a container client
// made from the token.
const BLOB_OPERATIONS = [
  ['Get Blob', 'r', async (own) => own.getBlobClient(await existing()).downloadToBuffer()],
  ['Get Blob Properties', 'r', async (own) => own.getBlobClient(await existing()).getProperties()],
  ['Put Blob over nothing', 'cw',
    async (own) => own.getBlockBlobClient(`new-${++made}`).upload('x', 1)],
  ['Put Blob over a blob', 'w',
    async (own) => own.getBlockBlobClient(await existing()).upload('x', 1)],
  ['Set Blob Metadata', 'w',
    async (own) => own.getBlobClient(await existing()).setMetadata({ a: 'b' })],
  ['Set Blob Properties', 'w',
    async (own) => own.getBlobClient(await existing()).setHTTPHeaders({ blobContentType: 'a/b' })],
  ['Acquire Lease', 'w',
    async (own) => own.getBlobClient(await existing()).getBlobLeaseClient().acquireLease(15)],
  ['Break Lease', 'wd', async (own) => {
    const name = await existing();
    await container.getBlobClient(name).getBlobLeaseClient().acquireLease(15);
    return own.getBlobClient(name).getBlobLeaseClient().breakLease(0);
  }],
  ['Delete Blob', 'd', async (own) => own.getBlobClient(await existing()).delete()],
];
const LIST = ['List Blobs', 'l', (own) => own.listBlobsFlat().next()];

async function check([name, letters, action], own, letter) {
  if (letters.includes(letter)) {
    await assert.doesNotReject(action(own), `${name} with ${letter}`);
    return;
  }
  await assert.rejects(action(own), (error) => {
    assert.equal(error.statusCode, 403, `${name} with ${letter}`);
    // The answer to HEAD has the code in its headers alone.
    const code = error.code ?? error.response.headers.get('x-ms-error-code');
    const overwrite = name === 'Put Blob over a blob' && letter === 'c';
    assert.equal(code, overwrite ? 'UnauthorizedBlobOverwrite' : 'AuthorizationPermissionMismatch',
      `${name} with ${letter}`);
    return true;
  });
}

for (const letter of 'rwdlc') {
  test(`an account SAS with permission ${letter} alone allows what ${letter} allows`, async () => {
    const own = asService(accountToken({ permissions: letter })).getContainerClient('sas');
    for (const operation of [...BLOB_OPERATIONS, LIST]) await check(operation, own, letter);
  });

  test(`a container SAS with permission ${letter} alone allows what ${letter} allows`, async () => {
    const own = asContainer(serviceToken({ permissions: letter }));
    for (const operation of [...BLOB_OPERATIONS, LIST]) await check(operation, own, letter);
  });
}

for (const letter of 'rwdc') {
  test(`a blob SAS with permission ${letter} alone allows what ${letter} allows`, async () => {
    for (const operation of BLOB_OPERATIONS) {
      // The token is for one blob, so it is made when the operation names its blob.
      const tokenFor = (blobName) => asContainer(serviceToken({ permissions: letter, blobName }));
      const own = {
        getBlobClient: (name) => tokenFor(name).getBlobClient(name),
        getBlockBlobClient: (name) => tokenFor(name).getBlockBlobClient(name),
      };
      await check(operation, own, letter);
    }
  });
}

test('an account SAS does with containers what its letters allow', async () => {
  const operations = [
    ['Create Container', 'cw', (s) => s.getContainerClient(`made-${++made}`).create()],
    ['Get Container Properties', 'r', (s) => s.getContainerClient('sas').getProperties()],
    ['Set Container Metadata', 'w', (s) => s.getContainerClient('sas').setMetadata({ a: 'b' })],
    ['List Containers', 'l', (s) => s.listContainers().next()],
    ['Delete Container', 'd', async (s) => {
      const name = `made-${++made}`;
      await owner.createContainer(name);
      return s.getContainerClient(name).delete();
    }],
  ];
  for (const letter of 'rwdlc') {
    const own = asService(accountToken({ permissions: letter }));
    for (const operation of operations) await check(operation, own, letter);
  }
});

test('a service SAS never does what belongs to the container itself', async () => {
  const own = asContainer(serviceToken({ permissions: 'racwdl' }));
  const assertRefused = (promise) => assert.rejects(promise, (error) => {
    assert.equal(error.statusCode, 403);
    return true;
  });
  await assertRefused(own.setMetadata({ a: 'b' }));
  await assertRefused(own.delete());
  await assertRefused(own.getBlobLeaseClient().acquireLease(15));
  await assertRefused(asContainer(serviceToken({ permissions: 'racwdl', containerName: 'unmade' }),
    'unmade').create());
});

test('a SAS for one blob or container opens no other', async () => {
  const [first, second] = [await existing(), await existing()];
  const own = asContainer(serviceToken({ permissions: 'r', blobName: first }));
  await own.getBlobClient(first).downloadToBuffer();
  await assert.rejects(own.getBlobClient(second).download(), refused('AuthenticationFailed'));
  await assert.rejects(own.listBlobsFlat().next(), { statusCode: 403 });
  await owner.createContainer('other-sas');
  await assert.rejects(asContainer(serviceToken({ permissions: 'l' }), 'other-sas')
    .listBlobsFlat().next(), refused('AuthenticationFailed'));
});

test('a SAS holds from its start to its end', async () => {
  const name = await existing();
  const times = [
    [-10, 10, true], [-10, -1, false], [5, 10, false],
    [undefined, 10, true], [undefined, -1, false],
  ];
  for (const [from, to, allowed] of times) {
    const st = from === undefined ? undefined : sasTime(from * 60);
    const se = sasTime(to * 60);
    for (const query of [accountSas({ st, se }), serviceSas('sas', name, { st, se })]) {
      const answer = await send(server, { target: `/${account}/sas/${name}?${query}` });
      assert.equal(answer.status, allowed ? 200 : 403, `${from} to ${to}`);
      if (!allowed) assert.equal(answer.code, 'AuthenticationFailed');
    }
  }
  const late = asService(accountToken({ startsOn: soon(),
    expiresOn: new Date(Date.now() + 20 * MINUTE_MS) }));
  await assert.rejects(late.listContainers().next(), refused('AuthenticationFailed'));
  const over = asService(accountToken({ expiresOn: new Date(Date.now() - MINUTE_MS) }));
  await assert.rejects(over.listContainers().next(), refused('AuthenticationFailed'));
});

test('the times of a SAS may be written in every form the reference allows', async () => {
  const name = await existing();
  const day = (offset) => new Date(Date.now() + offset * 86_400_000).toISOString();
  const forms = [
    [day(-1).slice(0, 10), day(2).slice(0, 10)],
    [`${day(-1).slice(0, 16)}Z`, `${day(1).slice(0, 16)}Z`],
    [`${day(-1).slice(0, 19)}Z`, `${day(1).slice(0, 19)}Z`],
    [`${day(-1).slice(0, 19)}.1234567Z`, `${day(1).slice(0, 19)}.1Z`],
    [`${day(-1).slice(0, 19)}+00:00`, `${day(1).slice(0, 19)}+00:00`],
  ];
  for (const [st, se] of forms) {
    const answer = await send(server,
      { target: `/${account}/sas/${name}?${serviceSas('sas', name, { st, se })}` });
    assert.equal(answer.status, 200, `${st} ${se}`);
  }
  for (const se of ['tomorrow', '', '2030', '2030-13-01', '2030-01-01T99:00Z']) {
    const answer = await send(server,
      { target: `/${account}/sas/${name}?${serviceSas('sas', name, { se })}` });
    assert.ok([400, 403].includes(answer.status), `${se}: ${answer.status}`);
  }
});

test('a SAS for other services or resource types is refused as such', async () => {
  const name = await existing();
  await assert.rejects(asService(accountToken({ services: 'qtf' })).listContainers().next(),
    refused('AuthorizationServiceMismatch'));
  const mismatch = refused('AuthorizationResourceTypeMismatch');
  const objects = asService(accountToken({ resourceTypes: 'o' }));
  await objects.getContainerClient('sas').getBlobClient(name).downloadToBuffer();
  await assert.rejects(objects.listContainers().next(), mismatch);
  await assert.rejects(objects.getContainerClient('sas').listBlobsFlat().next(), mismatch);
  const containers = asService(accountToken({ resourceTypes: 'c' }));
  await containers.getContainerClient('sas').listBlobsFlat().next();
  await assert.rejects(containers.getContainerClient('sas').getBlobClient(name).download(),
    mismatch);
  const services = asService(accountToken({ resourceTypes: 's' }));
  await services.listContainers().next();
  await assert.rejects(services.getContainerClient('sas').listBlobsFlat().next(), mismatch);
});

test('a SAS may be bound to addresses and to a protocol', async () => {
  const list = (options) => asService(accountToken(options)).listContainers().next();
  await list({ ipRange: { start: '127.0.0.1' } });
  await list({ ipRange: { start: '127.0.0.0', end: '127.0.0.255' } });
  await assert.rejects(list({ ipRange: { start: '10.1.2.3' } }),
    refused('AuthorizationSourceIPMismatch'));
  await assert.rejects(list({ ipRange: { start: '10.0.0.0', end: '10.255.255.255' } }),
    refused('AuthorizationSourceIPMismatch'));
  await list({ protocol: SASProtocol.HttpsAndHttp });
  await assert.rejects(list({ protocol: SASProtocol.Https }),
    refused('AuthorizationProtocolMismatch'));
});

test('no field of a SAS can be changed without the key', async () => {
  const name = await existing();
  const tamper = {
    sp: 'rwdl', se: sasTime(7200), st: sasTime(-600), sv: '2022-11-02', sr: 'c', ss: 'bq', srt: 'o',
    sig: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=',
  };
  const tokens = [accountSas({ sp: 'rl' }), serviceSas('sas', name, { sp: 'r' })];
  for (const token of tokens) {
    const good = await send(server, { target: `/${account}/sas/${name}?${token}` });
    assert.equal(good.status, 200);
    for (const field of [...new URLSearchParams(token).keys()]) {
      const fields = new URLSearchParams(token);
      fields.set(field, tamper[field]);
      const bad = await send(server, { target: `/${account}/sas/${name}?${fields}` });
      assert.equal(`${bad.status} ${bad.code}`, '403 AuthenticationFailed', `${field} changed`);
      fields.delete(field);
      const without = await send(server, { target: `/${account}/sas/${name}?${fields}` });
      // Without its signature the request is anonymous.
      assert.ok([400, 401, 403, 404].includes(without.status),
        `${field} left out: ${without.status}`);
    }
    const added = await send(server, { target: `/${account}/sas/${name}?${token}&rsct=a%2Fb` });
    if (token.includes('sr=')) assert.equal(added.status, 403, 'rsct added');
  }
});

test('a SAS signed with another key is refused', async () => {
  const stranger = new StorageSharedKeyCredential(account, Buffer.alloc(64, 7).toString('base64'));
  await assert.rejects(asService(accountToken({ credential: stranger })).listContainers().next(),
    refused('AuthenticationFailed'));
  await assert.rejects(asContainer(serviceToken({ permissions: 'l', credential: stranger }))
    .listBlobsFlat().next(), refused('AuthenticationFailed'));
});

test('the SAS of every version since 2012 is understood', async () => {
  const name = await existing();
  const versions = ['2012-02-12', '2013-08-15', '2014-02-14', '2015-02-21', '2015-04-05',
    '2015-12-11', '2016-05-31', '2017-04-17', '2017-07-29', '2018-03-28', '2018-11-09',
    '2019-02-02', '2019-12-12', '2020-02-10', '2020-10-02', '2020-12-06', '2021-04-10',
    '2022-11-02', '2024-11-04', '2025-07-05', '2026-04-06'];
  for (const sv of versions) {
    for (const sas of [serviceSas('sas', name, { sv }), serviceSas('sas', null, { sv }),
      ...(sv >= '2015-04-05' ? [accountSas({ sv })] : [])]) {
      const answer = await send(server, { target: `/${account}/sas/${name}?${sas}` });
      assert.equal(answer.status, 200, `${sv}: ${answer.status} ${answer.code}`);
      assert.equal(answer.headers['x-ms-version'], sv,
        'without a header the version is that of the SAS');
    }
  }
  const oldest = await send(server,
    { target: `/${account}/sas/${name}?${serviceSas('sas', name, { sv: '2009-09-19' })}` });
  assert.equal(oldest.status, 200, 'a SAS without sv is of the first form');
});

test('a service SAS can override the headers of a download', async () => {
  const blobName = await existing();
  const own = asContainer(serviceToken({ blobName, contentType: 'text/x-other',
    cacheControl: 'no-store', contentDisposition: 'attachment; filename=x',
    contentEncoding: 'identity', contentLanguage: 'fr' }));
  const answer = await own.getBlobClient(blobName).download();
  assert.equal(answer.contentType, 'text/x-other');
  assert.equal(answer.cacheControl, 'no-store');
  assert.equal(answer.contentDisposition, 'attachment; filename=x');
  assert.equal(answer.contentEncoding, 'identity');
  assert.equal(answer.contentLanguage, 'fr');
  const plain = await container.getBlobClient(blobName).getProperties();
  assert.equal(plain.contentType, 'application/octet-stream');
});

test('a SAS for a blob whose name needs escaping is for that blob', async () => {
  for (const blobName of ['a b/c+d', 'grüße %41', '語/"x"']) {
    await container.getBlockBlobClient(blobName).upload('x', 1);
    const own = asContainer(serviceToken({ blobName }));
    assert.equal((await own.getBlobClient(blobName).downloadToBuffer()).toString(), 'x');
  }
});

test('a request with a SAS does not say which objects exist when it may not read', async () => {
  const own = asContainer(serviceToken({ permissions: 'l' }));
  await assert.rejects(own.getBlobClient('never-written').download(),
    refused('AuthorizationPermissionMismatch'));
});

stopsCleanly(server);
