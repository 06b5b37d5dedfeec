// Every operation with odd values in every header and parameter it might read: whatever comes, the
// answer is a success or a proper refusal, never an internal error, and the server lives.

import test from 'node:test';
import assert from 'node:assert/strict';
import { account, startServer, stopsCleanly } from '../e2e/helpers/server.mjs';
import { RawConnection, head } from '../e2e/helpers/raw.mjs';
import { accountSas, VERSION } from '../e2e/helpers/sign.mjs';
import { blockBlob, sasSender } from '../e2e/helpers/http.mjs';
import { seeded } from '../e2e/helpers/random.mjs';

const server = await startServer();
const send = sasSender(server);
const random = seeded('odd_values');
const sas = accountSas();

const BODY = 'hello';
const OPERATIONS = [
  ['GET', '?comp=list'], ['PUT', 'odd?restype=container'], ['GET', 'odd?restype=container'],
  ['HEAD', 'odd?restype=container'], ['GET', 'odd?restype=container&comp=metadata'],
  ['PUT', 'odd?restype=container&comp=metadata'], ['PUT', 'odd?restype=container&comp=lease'],
  ['GET', 'odd?restype=container&comp=list'], ['DELETE', 'odd-gone?restype=container'],
  ['PUT', 'odd/b', blockBlob, BODY], ['GET', 'odd/b'], ['HEAD', 'odd/b'],
  ['GET', 'odd/b?comp=metadata'], ['PUT', 'odd/b?comp=metadata'],
  ['PUT', 'odd/b?comp=properties'], ['PUT', 'odd/b?comp=lease'], ['DELETE', 'odd/gone'],
  ['OPTIONS', 'odd/b'], ['POST', 'odd/b'], ['PUT', 'odd/b?comp=block'],
  ['PUT', 'odd/b?comp=blocklist'], ['PUT', 'odd?restype=container&comp=acl'],
];
const HEADERS = ['x-ms-version', 'x-ms-date', 'x-ms-client-request-id', 'x-ms-lease-id',
  'x-ms-lease-action', 'x-ms-lease-duration', 'x-ms-lease-break-period', 'x-ms-proposed-lease-id',
  'x-ms-blob-type', 'x-ms-blob-content-type', 'x-ms-blob-content-md5', 'x-ms-blob-content-encoding',
  'x-ms-blob-content-language', 'x-ms-blob-cache-control', 'x-ms-blob-content-disposition',
  'x-ms-blob-content-length', 'x-ms-meta-a', 'x-ms-meta-', 'x-ms-range', 'Range', 'If-Match',
  'If-None-Match', 'If-Modified-Since', 'If-Unmodified-Since', 'Content-MD5', 'Content-Type',
  'Content-Encoding', 'Content-Language', 'Cache-Control', 'x-ms-content-crc64', 'Date', 'Host',
  'x-ms-range-get-content-md5', 'x-ms-range-get-content-crc64', 'Authorization', 'Expect', 'Origin',
  'x-ms-delete-snapshots', 'x-ms-access-tier', 'x-ms-tags', 'Transfer-Encoding', 'Connection'];
const PARAMETERS = ['comp', 'restype', 'prefix', 'marker', 'maxresults', 'delimiter', 'include',
  'timeout', 'snapshot', 'versionid', 'sv', 'sp', 'se', 'st', 'sr', 'ss', 'srt', 'sig', 'sip',
  'spr', 'si', 'ses', 'rsct', 'api-version', ''];
const VALUES = ['', ' ', '0', '-1', '1', '99999999999999999999', '9223372036854775807',
  '-9223372036854775808', '0x10', '1e9', 'NaN', 'true', '*', '**', ',', ',,,', '""', '"',
  '"0x8D0000000000001"', 'W/"0x1"',
  'acquire', 'break', 'renew', 'release', 'change', 'bytes=0-1', 'bytes=1-0', 'bytes=-',
  'bytes=0-,5-', 'bytes=18446744073709551615-', 'AAAAAAAAAAA=', '1B2M2Y8AsgTpgAmY7PhCfg==',
  '====', 'A'.repeat(9000),
  '\u0001', '\u007f', '\u00e4', '\u00ff\u00fe', '%00', '%', '%zz', '..', '/', '\\', '<&>"\'', '\t',
  'Thu, 01 Jan 1970 00:00:00 GMT', 'Fri, 31 Dec 9999 23:59:59 GMT', 'Mon, 00 Jan 0000 00:00:00 GMT',
  '1601-01-01T00:00:00Z', '9999-12-31T23:59:59.9999999Z', '2021-12-02', '0001-01-01', 'chunked',
  '100-continue', 'close', 'SharedKey a:b', 'Bearer x', `SharedKey ${account}:AAAA`,
  'aaaaaaaa-0000-4000-8000-00000000000a', '{aaaaaaaa-0000-4000-8000-00000000000a',
  '2!8!AAAA', '/devstoreaccount1/odd', 'metadata,snapshots,deleted', 'metadata%2C', 'c', 'b',
  'rwdl'];

await send('PUT', 'odd?restype=container');
await send('PUT', 'odd/b', blockBlob, BODY);
await send('PUT', 'odd/kept', blockBlob, 'kept');

function requestWith(operation, oddHeaders, oddParameters) {
  const [method, path, headers = {}, body = ''] = operation;
  // A target is printable ASCII; what is not is escaped, and the rest left as odd as it is.
  const escaped = (value) => value.replace(/[^\u0021-\u007e]/g, encodeURIComponent);
  const query = oddParameters.map(([name, value]) => `${name}=${escaped(value)}`).join('&');
  const target = `/${account}/${path}${path.includes('?') ? '&' : '?'}${sas}&${query}`;
  const all = { Host: 'localhost', 'x-ms-version': VERSION, ...headers,
    'Content-Length': body.length };
  for (const [name, value] of oddHeaders) all[name] = value;
  return Buffer.from(head(method, target, all) + body, 'latin1');
}

async function check(operation, oddHeaders, oddParameters) {
  const what = JSON.stringify({ operation: operation.slice(0, 2), oddHeaders, oddParameters });
  const connection = await RawConnection.connect(server);
  try {
    await connection.write(requestWith(operation, oddHeaders, oddParameters));
    // The body of a request in an encoding of its own may last until the client closes its side.
    if (oddHeaders.some(([name]) => name === 'Transfer-Encoding')) connection.socket.end();
    let answer = null;
    for (;;) {
      answer = await connection.responseOrClose({ head: operation[0] === 'HEAD' });
      if (answer === null || answer.status !== 100) break;
    }
    if (answer === null) return 'closed';
    assert.ok(answer.status < 500 || answer.status === 501, `${answer.line} for ${what}`);
    if (answer.status >= 400 && answer.headers['x-ms-request-id']) {
      assert.ok(answer.code, `no code: ${answer.line} for ${what}`);
    }
    return String(answer.status);
  } catch (error) {
    error.message += ` for ${what}`;
    throw error;
  } finally {
    connection.close();
  }
}

async function inParallel(cases, action) {
  let next = 0;
  const worker = async () => {
    while (next < cases.length) await action(...cases[next++]);
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

// One odd value at a time, in every place: too many to try all each time, so a part by chance.
const SINGLE_PART = 0.05;

test('one odd value anywhere is answered properly', async (t) => {
  const cases = [];
  for (const operation of OPERATIONS) {
    for (const value of VALUES) {
      for (const name of HEADERS) {
        if (random.next() < SINGLE_PART) cases.push([operation, [[name, value]], []]);
      }
      for (const name of PARAMETERS) {
        if (random.next() < SINGLE_PART) cases.push([operation, [], [[name, value]]]);
      }
    }
  }
  const outcomes = {};
  await inParallel(cases, async (...one) => {
    const outcome = await check(...one);
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  });
  t.diagnostic(`${cases.length} requests: ${JSON.stringify(outcomes)}`);
  assert.ok(outcomes[200] > 0 && outcomes[400] > 0);
});

test('several odd values at once are answered properly', async () => {
  const several = (names) => Array.from({ length: random.between(0, 4) },
    () => [random.pick(names), random.pick(VALUES)]);
  const cases = Array.from({ length: 3000 },
    () => [random.pick(OPERATIONS), several(HEADERS), several(PARAMETERS)]);
  await inParallel(cases, check);
});

test('a blob nobody meant is as it was', async () => {
  assert.equal((await send('GET', 'odd/kept')).body.toString(), 'kept');
});

stopsCleanly(server);
