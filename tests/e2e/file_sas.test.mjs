// Shared access signatures for shares and files: what each letter allows and what it does not, by
// account SAS, share SAS, file SAS and stored access policy.

import test from 'node:test';
import assert from 'node:assert/strict';
import { AccountSASPermissions, AccountSASResourceTypes, AccountSASServices, FileSASPermissions,
  ShareClient, ShareFileClient, ShareSASPermissions, ShareServiceClient,
  StorageSharedKeyCredential, generateAccountSASQueryParameters, generateFileSASQueryParameters }
  from '@azure/storage-file-share';
import { noRetry, startServer, stopsCleanly } from './helpers/server.mjs';
import { send } from './helpers/http.mjs';
import { VERSION, accountSas, sasTime } from './helpers/sign.mjs';
import { fileClient, fileEndpoint, fileSas, fileSigner, makeFile, read } from './helpers/file.mjs';

const server = await startServer();
const endpoint = fileEndpoint(server);
const service = fileClient(server);
const byKey = fileSigner(server);
const credential = new StorageSharedKeyCredential(server.account, server.key);
const share = service.getShareClient('share');
await share.create();
const inAnHour = new Date(Date.now() + 3600_000);
const PERMISSION = 'AuthorizationPermissionMismatch';
const url = `${server.fileUrl}/share`;

// Every operation as a request: method, path, headers, body, and who may send it.
//   [letters, type]   any one of the letters of an account SAS of that resource type; none: the key
//   letters           any one of the letters of a share SAS; none: never
//   letters           the same of a SAS of the file share/dir/file
const OPERATIONS = [
  ['List Shares', 'GET', '?comp=list', {}, null, ['l', 's'], '', ''],
  ['Get Service Properties', 'GET', '?restype=service&comp=properties', {}, null, ['r', 's'], '', ''],
  ['Set Service Properties', 'PUT', '?restype=service&comp=properties', {},
    '<StorageServiceProperties/>', ['w', 's'], '', ''],
  ['Create Share', 'PUT', 'new?restype=share', {}, null, ['cw', 'c'], '', ''],
  ['Get Share Properties', 'GET', 'share?restype=share', {}, null, ['r', 'c'], '', ''],
  ['Get Share Metadata', 'GET', 'share?restype=share&comp=metadata', {}, null, ['r', 'c'], '', ''],
  ['Set Share Metadata', 'PUT', 'share?restype=share&comp=metadata', {}, null, ['w', 'c'], '', ''],
  ['Get Share ACL', 'GET', 'share?restype=share&comp=acl', {}, null, ['', 'c'], '', ''],
  ['Get Share Stats', 'GET', 'share?restype=share&comp=stats', {}, null, ['r', 'c'], '', ''],
  ['Delete Share', 'DELETE', 'new?restype=share', {}, null, ['d', 'c'], '', ''],
  ['List Directories and Files', 'GET', 'share/dir?restype=directory&comp=list', {}, null,
    ['l', 'c'], 'l', ''],
  ['Create Directory', 'PUT', 'share/new?restype=directory', {}, null, ['cw', 'o'], 'cw', ''],
  ['Get Directory Properties', 'GET', 'share/dir?restype=directory', {}, null, ['r', 'o'], 'r', ''],
  ['Set Directory Metadata', 'PUT', 'share/dir?restype=directory&comp=metadata', {}, null,
    ['w', 'o'], 'w', ''],
  ['Delete Directory', 'DELETE', 'share/new?restype=directory', {}, null, ['d', 'o'], 'd', ''],
  ['Create File', 'PUT', 'share/dir/file', { 'x-ms-type': 'file', 'x-ms-content-length': 5 }, null,
    ['cw', 'o'], 'cw', 'cw'],
  ['Get File', 'GET', 'share/dir/file', {}, null, ['r', 'o'], 'r', 'r'],
  ['Get File Properties', 'HEAD', 'share/dir/file', {}, null, ['r', 'o'], 'r', 'r'],
  ['Set File Properties', 'PUT', 'share/dir/file?comp=properties', {}, null, ['w', 'o'], 'w', 'w'],
  ['Put Range', 'PUT', 'share/dir/file?comp=range',
    { 'x-ms-write': 'update', 'x-ms-range': 'bytes=0-0' }, 'x', ['w', 'o'], 'w', 'w'],
  ['Put Range From URL', 'PUT', 'share/dir/file?comp=range', { 'x-ms-write': 'update',
    'x-ms-range': 'bytes=0-0', 'x-ms-source-range': 'bytes=0-0',
    'x-ms-copy-source': `${url}/dir/file?${fileSas('share/dir/file', { sp: 'r' }, endpoint)}` }, null,
  ['w', 'o'], 'w', 'w'],
  ['Copy File', 'PUT', 'share/dir/file',
    { 'x-ms-copy-source': `${url}/dir/file?${fileSas('share/dir/file', { sp: 'r' }, endpoint)}` },
    null, ['cw', 'o'], 'cw', 'cw'],
  ['List Ranges', 'GET', 'share/dir/file?comp=rangelist', {}, null, ['r', 'o'], 'r', 'r'],
  ['Delete File', 'DELETE', 'share/dir/file', {}, null, ['d', 'o'], 'd', 'd'],
  ['List Handles', 'GET', 'share/dir/file?comp=listhandles', {}, null, ['', 'o'], '', ''],
  ['Force Close Handles', 'PUT', 'share/dir/file?comp=forceclosehandles', { 'x-ms-handle-id': '*' },
    null, ['', 'o'], '', ''],
];

const sendWith = (sas, method, path, headers = {}, body = null) => send(endpoint, {
  method,
  target: `/${server.account}/${path}${path.includes('?') ? '&' : '?'}${sas}`,
  headers: { 'x-ms-version': VERSION, ...headers },
  body,
});

// What each request finds.
async function prepare(name) {
  if (name === 'Create Share') await byKey('DELETE', 'new?restype=share');
  if (name === 'Delete Share') await byKey('PUT', 'new?restype=share');
  await byKey('PUT', 'share/dir?restype=directory');
  if (name === 'Create Directory') await byKey('DELETE', 'share/new?restype=directory');
  if (name === 'Delete Directory') await byKey('PUT', 'share/new?restype=directory');
  if (name === 'Create File') await byKey('DELETE', 'share/dir/file');
  else await byKey('PUT', 'share/dir/file', { 'x-ms-type': 'file', 'x-ms-content-length': 5 });
}

for (const [name, method, path, headers, body, [letters, type], ofShare, ofFile] of OPERATIONS) {
  test(`${name} is possible with the letters it needs and no others`, async () => {
    for (const letter of 'rcwdl') {
      await prepare(name);
      const sas = accountSas({ ss: 'f', srt: 'sco', sp: letter }, endpoint);
      const answer = await sendWith(sas, method, path, headers, body);
      // With "create" alone nothing may be overwritten.
      const isRefused = name === 'Copy File' && letter === 'c';
      if (letters.includes(letter) && !isRefused) {
        assert.ok(answer.status < 300, `account SAS ${letter}: ${answer.status} ${answer.code}`);
      } else {
        assert.equal(answer.status, 403, `account SAS ${letter}`);
        if (!isRefused) {
          assert.equal(answer.code, letters === '' ? 'AuthorizationFailure' : PERMISSION);
        }
      }
    }
    for (const other of [...'sco'].filter((one) => one !== type)) {
      await prepare(name);
      const sas = accountSas({ ss: 'f', srt: other, sp: 'rcwdl' }, endpoint);
      const answer = await sendWith(sas, method, path, headers, body);
      assert.equal(answer.status, 403, `resource type ${other}`);
      assert.equal(answer.code, letters === '' ? 'AuthorizationFailure'
        : 'AuthorizationResourceTypeMismatch');
    }
    for (const [resource, allowed] of [['share', ofShare], ['share/dir/file', ofFile]]) {
      for (const letter of 'rcwdl') {
        await prepare(name);
        const sas = fileSas(resource, { sp: letter }, endpoint);
        const answer = await sendWith(sas, method, path, headers, body);
        const isRefused = name === 'Copy File' && letter === 'c';
        if (allowed.includes(letter) && !isRefused) {
          assert.ok(answer.status < 300, `${resource} ${letter}: ${answer.status} ${answer.code}`);
        } else {
          assert.equal(answer.status, 403, `${resource} ${letter}: ${answer.status}`);
        }
      }
    }
  });
}

test('with "create" alone a file is made and not replaced', async () => {
  await byKey('DELETE', 'share/dir/file');
  const sas = fileSas('share', { sp: 'c' }, endpoint);
  const headers = { 'x-ms-type': 'file', 'x-ms-content-length': 5 };
  assert.equal((await sendWith(sas, 'PUT', 'share/dir/file', headers)).status, 201);
  assert.equal((await sendWith(sas, 'PUT', 'share/dir/file', headers)).status, 403);
});

test('a rename needs a SAS that covers both names', async () => {
  await byKey('PUT', 'share/dir?restype=directory');
  await byKey('PUT', 'share/dir/from', { 'x-ms-type': 'file', 'x-ms-content-length': 5 });
  const rename = (sas, source) => sendWith(sas, 'PUT', 'share/dir/to?comp=rename',
    { 'x-ms-file-rename-source': source, 'x-ms-file-rename-replace-if-exists': 'true' });
  const ofTarget = fileSas('share/dir/to', { sp: 'w' }, endpoint);
  assert.equal((await rename(ofTarget, `${url}/dir/from`)).status, 403);
  assert.equal((await rename(ofTarget,
    `${url}/dir/from?${fileSas('share/dir/from', { sp: 'r' }, endpoint)}`)).status, 403);
  assert.equal((await rename(ofTarget,
    `${url}/dir/from?${fileSas('share/dir/from', { sp: 'd' }, endpoint)}`)).status, 200);
  await byKey('PUT', 'share/dir/from', { 'x-ms-type': 'file', 'x-ms-content-length': 5 });
  const ofShare = fileSas('share', { sp: 'w' }, endpoint);
  assert.equal((await rename(ofShare, `${url}/dir/from`)).status, 200);
});

test('the official client works with its own account, share and file SAS', async () => {
  const account = generateAccountSASQueryParameters({
    permissions: AccountSASPermissions.parse('rwdlc'), expiresOn: inAnHour,
    resourceTypes: AccountSASResourceTypes.parse('sco').toString(),
    services: AccountSASServices.parse('f').toString(),
  }, credential);
  const byAccount = new ShareServiceClient(`${server.fileUrl}?${account}`, undefined, noRetry);
  await byAccount.createShare('by-account');
  const ofShare = generateFileSASQueryParameters({ shareName: 'by-account', expiresOn: inAnHour,
    permissions: ShareSASPermissions.parse('rcwdl') }, credential);
  const client = new ShareClient(`${server.fileUrl}/by-account?${ofShare}`, undefined, noRetry);
  await client.createDirectory('dir');
  await makeFile(client.getDirectoryClient('dir'), 'fi le', 'content');
  const ofFile = generateFileSASQueryParameters({ shareName: 'by-account', filePath: 'dir/fi le',
    expiresOn: inAnHour, permissions: FileSASPermissions.parse('r'), contentType: 'over/ride',
    cacheControl: 'no-store' }, credential);
  const file = new ShareFileClient(`${server.fileUrl}/by-account/dir/fi%20le?${ofFile}`, undefined,
    noRetry);
  assert.equal((await read(file)).toString(), 'content');
  const properties = await file.getProperties();
  assert.equal(properties.contentType, 'over/ride');
  assert.equal(properties.cacheControl, 'no-store');
  await assert.rejects(file.delete(), { statusCode: 403 });
});

test('a SAS of every version is understood, for its share or file alone', async () => {
  await byKey('PUT', 'share/dir/file', { 'x-ms-type': 'file', 'x-ms-content-length': 5 });
  await byKey('PUT', 'share/dir/other', { 'x-ms-type': 'file', 'x-ms-content-length': 5 });
  for (const sv of ['2015-02-21', '2015-04-05', '2018-11-09', '2020-02-10', '2020-12-06', VERSION]) {
    for (const resource of ['share', 'share/dir/file']) {
      const sas = fileSas(resource, { sv, sp: 'r' }, endpoint);
      assert.equal((await sendWith(sas, 'GET', 'share/dir/file')).status, 200, `${sv} ${resource}`);
      const other = await sendWith(sas, 'GET', 'share/dir/other');
      assert.equal(other.status, resource === 'share' ? 200 : 403);
      assert.equal((await sendWith(sas, 'GET', 'new/dir/file')).code, 'AuthenticationFailed');
    }
  }
});

test('a SAS that is not, not yet or no longer valid is refused', async () => {
  const attempts = [
    [fileSas('share', {}, { ...endpoint, key: Buffer.alloc(64, 7).toString('base64') }),
      'AuthenticationFailed'],
    [fileSas('share', { se: sasTime(-10) }, endpoint), 'AuthenticationFailed'],
    [fileSas('share', { st: sasTime(1000) }, endpoint), 'AuthenticationFailed'],
    [fileSas('share', { sr: 'f' }, endpoint), 'AuthenticationFailed'],
    [fileSas('share/dir/file', { sr: 's' }, endpoint), 'AuthenticationFailed'],
    [fileSas('share', { sr: 'c' }, endpoint), 'AuthenticationFailed'],
    [fileSas('share', { spr: 'https' }, endpoint), 'AuthorizationProtocolMismatch'],
    [fileSas('share', { sip: '10.9.8.7' }, endpoint), 'AuthorizationSourceIPMismatch'],
    [accountSas({ ss: 'bqt', sp: 'r' }, endpoint), 'AuthorizationServiceMismatch'],
  ];
  for (const [sas, code] of attempts) {
    const answer = await sendWith(sas, 'GET', 'share/dir/file');
    assert.equal(answer.status, 403);
    assert.equal(answer.code, code);
  }
});

test('a stored access policy gives, changes and takes away what it says', async () => {
  await share.setAccessPolicy([{ id: 'policy',
    accessPolicy: { permissions: 'r', expiresOn: inAnHour } }]);
  const sas = fileSas('share', { sp: undefined, st: undefined, se: undefined, si: 'policy' },
    endpoint);
  const reads = async () => (await sendWith(sas, 'GET', 'share/dir/file')).status;
  const writes = async () => (await sendWith(sas, 'PUT', 'share/dir/file?comp=metadata')).status;
  assert.deepEqual([await reads(), await writes()], [200, 403]);
  await share.setAccessPolicy([{ id: 'policy',
    accessPolicy: { permissions: 'w', expiresOn: inAnHour } }]);
  assert.deepEqual([await reads(), await writes()], [403, 200]);
  await share.setAccessPolicy([]);
  assert.deepEqual([await reads(), await writes()], [403, 403]);
});

test('without a credential there is nothing', async () => {
  const answer = await send(endpoint, { target: `/${server.account}/share/dir/file`,
    headers: { 'x-ms-version': VERSION } });
  assert.equal(answer.status, 401);
  assert.equal(answer.code, 'NoAuthenticationInformation');
});

stopsCleanly(server);
