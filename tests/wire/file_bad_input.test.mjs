// Requests of the file service that are wrong in some way, and the documented answer to each.

import test from 'node:test';
import assert from 'node:assert/strict';
import { startServer, stopsCleanly } from '../e2e/helpers/server.mjs';
import { fileSender, fileSigner } from '../e2e/helpers/file.mjs';

const server = await startServer();
const send = fileSender(server);
const signed = fileSigner(server);
const FILE = { 'x-ms-type': 'file', 'x-ms-content-length': 1000 };
await send('PUT', 'share?restype=share');
await send('PUT', 'share/file', FILE);
await send('PUT', 'share/dir?restype=directory');

const VALUE = 'InvalidQueryParameterValue';
const HEADER = 'InvalidHeaderValue';
const MISSING = 'MissingRequiredHeader';

const detail = (answer, name) =>
  new RegExp(`<${name}>(.*?)</${name}>`, 's').exec(answer.body.toString())?.[1];

async function check(promise, status, code, details = {}) {
  const answer = await promise;
  assert.equal(answer.status, status, `${answer.status} ${answer.code}`);
  assert.equal(answer.code, code);
  assert.equal(detail(answer, 'Code'), code);
  assert.ok(answer.body.toString().startsWith('\ufeff<?xml version="1.0" encoding="utf-8"?><Error>'));
  for (const [name, text] of Object.entries(details)) assert.equal(detail(answer, name), text, name);
  return answer;
}

test('names of shares that may not be', async () => {
  for (const name of ['Upper', 'a--b', '-ab', 'ab-', 'a_b', '%C3%BCml', 'a.b', '$root']) {
    const answer = await check(send('PUT', `${name}?restype=share`), 400, 'InvalidResourceName');
    assert.equal(answer.reason, 'The specifed resource name contains invalid characters.');
  }
  for (const name of ['a', 'ab', 'x'.repeat(64)]) {
    await check(send('PUT', `${name}?restype=share`), 400, 'OutOfRangeInput');
  }
  await check(send('PUT', 'abc%?restype=share'), 400, 'InvalidUri');
});

test('names of directories and files that may not be', async () => {
  for (const name of ['a%3Ab', 'a%7Cb', 'a%3Cb', 'a%3Eb', 'a%2Ab', 'a%3Fb', 'a%22b', 'a%01b', '%FF',
    'NUL', 'com1', '..', '.']) {
    const answer = await send('PUT', `share/${name}`, FILE);
    assert.equal(answer.status, 400, name);
  }
  await check(send('PUT', `share/${'x'.repeat(256)}`, FILE), 400, 'OutOfRangeInput');
  assert.equal((await send('PUT', `share/${'x'.repeat(255)}`, FILE)).status, 201);
  await check(send('GET', `share/${'x/'.repeat(300)}y`), 400, 'InvalidFileOrDirectoryPathName');
  await check(send('GET', `share/${`${'x'.repeat(200)}/`.repeat(11)}y`), 400,
    'InvalidFileOrDirectoryPathName');
});

test('operations that there are not', async () => {
  await check(send('GET', 'share'), 405, 'UnsupportedHttpVerb');
  await check(send('POST', 'share/file'), 405, 'UnsupportedHttpVerb');
  await check(send('GET', 'share/file?comp=nonsense'), 400, VALUE, { QueryParameterName: 'comp' });
  await check(send('GET', 'share/file?restype=nonsense'), 400, VALUE,
    { QueryParameterName: 'restype' });
  await check(send('PUT', 'share/file'), 400, MISSING, { HeaderName: 'x-ms-type' });
  await check(send('PUT', 'share/file', { 'x-ms-type': 'blob' }), 400, HEADER,
    { HeaderName: 'x-ms-type', HeaderValue: 'blob' });
  await check(send('POST', '?restype=service&comp=userdelegationkey', {}, '<a/>'), 501,
    'NotImplemented');
});

test('arguments of shares that are not', async () => {
  for (const quota of ['0', '-1', '102401', 'x']) {
    await check(send('PUT', 'other?restype=share', { 'x-ms-share-quota': quota }), 400, HEADER,
      { HeaderName: 'x-ms-share-quota', HeaderValue: quota });
  }
  await check(send('PUT', 'other?restype=share', { 'x-ms-access-tier': 'Warm' }), 400, HEADER);
  await check(send('PUT', 'other?restype=share', { 'x-ms-enabled-protocols': 'NFS' }), 501,
    'NotImplemented');
  await check(send('PUT', 'share?restype=share&comp=undelete'), 400, MISSING,
    { HeaderName: 'x-ms-deleted-share-name' });
  await check(send('PUT', 'share?restype=share&comp=undelete',
    { 'x-ms-deleted-share-name': 'share', 'x-ms-deleted-share-version': 'x' }), 400, HEADER);
  await check(send('DELETE', 'share?restype=share', { 'x-ms-delete-snapshots': 'only' }), 400,
    HEADER);
  await check(send('GET', 'share?restype=share&sharesnapshot=yesterday'), 400, VALUE);
  await check(send('GET', 'share?restype=share&sharesnapshot=2020-01-01T00:00:00.0000000Z'), 404,
    'ShareSnapshotNotFound');
  await check(send('PUT', 'share/x?sharesnapshot=2020-01-01T00:00:00.0000000Z', FILE), 400, VALUE,
    { QueryParameterName: 'sharesnapshot' });
  await check(send('GET', '?comp=list&include=nonsense'), 400, VALUE);
  await check(send('GET', '?comp=list&maxresults=0'), 400, 'OutOfRangeQueryParameterValue');
  await check(send('GET', '?comp=list&marker=2!4!????'), 400, VALUE);
});

test('permissions that are not', async () => {
  const path = 'share?restype=share&comp=filepermission';
  await check(send('PUT', path, {}, '{"permission":"nonsense"}'), 400, 'FileInvalidPermission');
  await check(send('PUT', path, {}, '{"permission":'), 400, 'InvalidInput');
  await check(send('PUT', path, {}, '{}'), 400, 'FileInvalidPermission');
  await check(send('PUT', path, {}, '[]'), 400, 'InvalidInput');
  await check(send('GET', path), 400, MISSING, { HeaderName: 'x-ms-file-permission-key' });
  assert.equal((await send('GET', path, { 'x-ms-file-permission-key': '1*2' })).status, 404);
  await check(send('PUT', 'share/p', { ...FILE, 'x-ms-file-permission': 'O:' }), 400,
    'FileInvalidPermission');
  await check(send('PUT', 'share/p', { ...FILE, 'x-ms-file-permission': 'inherit',
    'x-ms-file-permission-key': '1*2' }), 400, HEADER);
  await check(send('PUT', 'share/p', { ...FILE, 'x-ms-file-permission-format': 'hex' }), 400,
    HEADER);
  assert.equal((await send('PUT', 'share/p', { ...FILE, 'x-ms-file-permission-key': '1*2' })).status,
    400);
});

test('arguments of directories and files that are not', async () => {
  await check(send('PUT', 'share/x', { 'x-ms-type': 'file' }), 400, MISSING,
    { HeaderName: 'x-ms-content-length' });
  for (const length of ['-1', 'x', String(4 * 2 ** 40 + 1)]) {
    await check(send('PUT', 'share/x', { ...FILE, 'x-ms-content-length': length }), 400, HEADER,
      { HeaderName: 'x-ms-content-length', HeaderValue: length });
  }
  await check(send('PUT', 'share/x', FILE, 'body'), 400, HEADER, { HeaderName: 'Content-Length' });
  for (const [name, value] of [['x-ms-file-attributes', 'Green'],
    ['x-ms-file-attributes', 'preserve'], ['x-ms-file-creation-time', 'preserve'],
    ['x-ms-file-last-write-time', 'soon'], ['x-ms-file-change-time', '2020-13-01'],
    ['x-ms-content-type', 'x'.repeat(2000)], ['x-ms-allow-trailing-dot', 'maybe']]) {
    await check(send('PUT', 'share/x', { ...FILE, [name]: value }), 400, HEADER,
      { HeaderName: name, HeaderValue: value });
  }
  await check(send('PUT', 'share/x', { ...FILE, 'x-ms-content-md5': 'x' }), 400, 'InvalidMd5');
  await check(send('PUT', 'share/x', { ...FILE, 'x-ms-meta-a-b': 'x' }), 400, 'InvalidMetadata');
  await check(send('GET', 'share/file?timeout=x'), 400, VALUE, { QueryParameterName: 'timeout' });
  await check(send('GET', 'share/dir?restype=directory&comp=list&include=nonsense'), 400, VALUE);
  await check(send('GET', 'share/dir?restype=directory&comp=list&prefix=%FF'), 400, VALUE);
});

test('what is not there yet is refused and not ignored', async () => {
  await check(send('PUT', 'share/x', { ...FILE, 'x-ms-mode': '0777' }), 501, 'NotImplemented');
  await check(send('GET', 'share/file', { 'x-ms-structured-body': 'XSM/1.0; properties=crc64' }), 501,
    'NotImplemented');
});

test('ranges that are not', async () => {
  const put = (headers, body = null) => send('PUT', 'share/file?comp=range', headers, body);
  const update = { 'x-ms-write': 'update' };
  await check(put(update, 'x'), 400, MISSING, { HeaderName: 'x-ms-range' });
  await check(put({ 'x-ms-range': 'bytes=0-0' }, 'x'), 400, MISSING, { HeaderName: 'x-ms-write' });
  await check(put({ ...update, 'x-ms-range': 'bytes=0-' }, 'x'), 400, HEADER);
  await check(put({ ...update, 'x-ms-range': 'pages=0-1' }, 'x'), 400, HEADER);
  await check(put({ ...update, 'x-ms-range': 'bytes=0-5' }, 'x'), 400, HEADER,
    { HeaderName: 'Content-Length' });
  await check(put({ ...update, 'x-ms-range': 'bytes=999-1000' }, 'xx'), 416, 'InvalidRange');
  await check(put({ ...update, 'x-ms-range': `bytes=0-${4 << 20}` },
    Buffer.alloc((4 << 20) + 1)), 413, 'RequestBodyTooLarge', { MaxLimit: String(4 << 20) });
  await check(put({ 'x-ms-write': 'clear', 'x-ms-range': 'bytes=0-0' }, 'x'), 400, HEADER);
  await check(put({ 'x-ms-write': 'clear', 'x-ms-range': 'bytes=0-0',
    'Content-MD5': 'XUFAKrxLKna5cZ2REBfFkg==' }), 400, 'UnsupportedHeader');
  await check(put({ 'x-ms-write': 'clear', 'x-ms-range': 'bytes=0-1000' }), 416, 'InvalidRange');
  await check(put({ ...update, 'x-ms-range': 'bytes=0-0', 'x-ms-file-last-write-time': '2020-01-01' },
    'x'), 400, HEADER);
  await check(send('GET', 'share/file', { 'x-ms-range': 'bytes=1000-' }), 416, 'InvalidRange');
  await check(send('GET', 'share/file', { 'x-ms-range-get-content-md5': 'true' }), 400, HEADER);
  await check(send('GET', 'share/file?comp=rangelist', { 'x-ms-range': 'bytes=1000-' }), 416,
    'InvalidRange');
  await check(send('GET', 'share/file?comp=rangelist&prevsharesnapshot=x'), 400, VALUE);
  await check(put({ ...update, 'x-ms-range': 'bytes=0-0', 'x-ms-copy-source': 'nonsense' }), 400,
    HEADER, { HeaderName: 'x-ms-copy-source' });
});

test('leases that are not', async () => {
  const lease = (headers) => send('PUT', 'share/file?comp=lease', headers);
  await check(lease({}), 400, MISSING, { HeaderName: 'x-ms-lease-action' });
  await check(lease({ 'x-ms-lease-action': 'renew' }), 400, HEADER);
  await check(lease({ 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '15' }), 400, HEADER,
    { HeaderName: 'x-ms-lease-duration', HeaderValue: '15' });
  await check(lease({ 'x-ms-lease-action': 'acquire' }), 400, MISSING);
  await check(lease({ 'x-ms-lease-action': 'break' }), 409, 'LeaseNotPresentWithLeaseOperation');
  await check(send('GET', 'share/file', { 'x-ms-lease-id': 'x' }), 400, HEADER);
  await check(send('GET', 'share/file',
    { 'x-ms-lease-id': '0a000000-0000-0000-0000-00000000000a' }), 412,
  'LeaseNotPresentWithFileOperation');
});

test('renames that are not', async () => {
  const rename = (headers) => send('PUT', 'share/to?comp=rename', headers);
  const source = (path) => ({ 'x-ms-file-rename-source': `${server.fileUrl}/${path}` });
  await check(rename({}), 400, MISSING, { HeaderName: 'x-ms-file-rename-source' });
  await check(rename({ 'x-ms-file-rename-source': 'file' }), 400, HEADER);
  await check(rename({ 'x-ms-file-rename-source': 'http://elsewhere/share/file' }), 400, HEADER);
  await check(rename(source('other/file')), 400, HEADER);
  await check(rename(source('share')), 400, HEADER);
  await check(rename(source('share/absent')), 404, 'ResourceNotFound');
  await check(rename(source('share/dir')), 409, 'ResourceTypeMismatch');
  await check(rename({ ...source('share/file'), 'x-ms-file-rename-replace-if-exists': 'perhaps' }),
    400, HEADER);
});

test('what is of another kind', async () => {
  // Clients find out what a path is by asking for both.
  await check(send('GET', 'share/dir'), 404, 'ResourceNotFound');
  await check(send('GET', 'share/dir?comp=rangelist'), 404, 'ResourceNotFound');
  await check(send('GET', 'share/file?restype=directory'), 404, 'ResourceNotFound');
  await check(send('GET', 'share/file?restype=directory&comp=list'), 404, 'ResourceNotFound');
  await check(send('PUT', 'share/dir', FILE), 409, 'ResourceTypeMismatch');
  await check(send('PUT', 'share/file/below', FILE), 404, 'ParentNotFound');
  await check(send('DELETE', 'share?restype=directory'), 400, 'InvalidUri');
  await check(send('PUT', 'share?restype=directory'), 409, 'ResourceAlreadyExists');
});

test('handles that are not', async () => {
  await check(signed('PUT', 'share/file?comp=forceclosehandles'), 400, MISSING,
    { HeaderName: 'x-ms-handle-id' });
  await check(signed('PUT', 'share/file?comp=forceclosehandles', { 'x-ms-handle-id': 'x' }), 400,
    HEADER);
  await check(signed('GET', 'share/file?comp=listhandles&maxresults=0'), 400,
    'OutOfRangeQueryParameterValue');
  await check(signed('GET', 'share/file?comp=listhandles&marker=x'), 400, VALUE);
  await check(signed('GET', 'share/absent?comp=listhandles'), 404, 'ResourceNotFound');
  await check(signed('GET', 'absent?comp=listhandles'), 404, 'ShareNotFound');
});

stopsCleanly(server);
