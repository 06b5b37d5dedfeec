// The file service of a test's server: the official client, and requests without one.

import dns from 'node:dns';
import { ShareServiceClient, StorageSharedKeyCredential } from '@azure/storage-file-share';
import { noRetry } from './server.mjs';
import { send, sendSigned } from './http.mjs';
import { VERSION, accountSas, hmac, sasTime } from './sign.mjs';

// The official client.  It does not repeat a failed request: the tests want to see it.
export function fileClient(server, { url = server.fileUrl, ...options } = {}) {
  const credential = new StorageSharedKeyCredential(server.account, server.key);
  return new ShareServiceClient(url, credential, { ...noRetry, ...options });
}

// Names below localhost are this machine, as browsers and most resolvers have it.
const { lookup } = dns;
dns.lookup = (name, options, done) => lookup(
  typeof name === 'string' && name.endsWith('.localhost') ? '127.0.0.1' : name, options, done);

// The same by URLs with the account in the host, which this SDK needs for renaming: it takes the
// first segment of a path for the share there.
export function hostStyleClient(server) {
  const { port } = new URL(server.fileUrl);
  return fileClient(server, { url: `http://${server.account}.file.localhost:${port}` });
}

// What helpers/http.mjs sends requests to.
export function fileEndpoint(server) {
  const { hostname, port } = new URL(server.fileUrl);
  return { host: hostname, port: Number(port), account: server.account, key: server.key };
}

// A function that sends requests by an account SAS for everything; `path` begins below the account.
export function fileSender(server, options = {}) {
  const endpoint = fileEndpoint(server);
  const sas = accountSas({ ss: 'f', sp: 'rwdlc' }, endpoint);
  return (method, path, headers = {}, body = null) => send(endpoint, {
    method,
    target: `/${server.account}/${path}${path.includes('?') ? '&' : '?'}${sas}`,
    headers: { 'x-ms-version': VERSION, ...headers },
    body,
    ...options,
  });
}

// A function that sends requests by Shared Key.
export function fileSigner(server) {
  const endpoint = fileEndpoint(server);
  return (method, path, headers = {}, body = null) => sendSigned(endpoint,
    { method, target: `/${server.account}/${path}`, headers, body });
}

// The query string of a service SAS for a share (sr=s) or a file (sr=f), in the form of version `sv`.
export function fileSas(path, fields, { account, key }) {
  const all = { sv: VERSION, sr: path.includes('/') ? 'f' : 's', sp: 'rcwdl', st: sasTime(-300),
    se: sasTime(3600), ...fields };
  const order = ['sp', 'st', 'se', 'resource', 'si'];
  if (all.sv >= '2015-04-05') order.push('sip', 'spr');
  order.push('sv', 'rscc', 'rscd', 'rsce', 'rscl', 'rsct');
  const named = { ...all, resource: `/file/${account}/${path}` };
  const sig = hmac(key, order.map((name) => named[name] ?? '').join('\n'));
  return Object.entries({ ...all, sig }).filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
}

// A file with this content, made and written.
export async function makeFile(directory, name, content, options = {}) {
  const file = directory.getFileClient(name);
  const bytes = Buffer.from(content);
  await file.create(bytes.length, options);
  for (let at = 0; at < bytes.length; at += 4 << 20) {
    const piece = bytes.subarray(at, at + (4 << 20));
    await file.uploadRange(piece, at, piece.length);
  }
  return file;
}

export const read = async (file, ...range) => file.downloadToBuffer(...range);

// Names in a directory, in order, with a slash behind those of directories.
export async function list(directory, options) {
  const found = [];
  for await (const item of directory.listFilesAndDirectories(options)) {
    found.push(item.kind === 'directory' ? `${item.name}/` : item.name);
  }
  return found.sort();
}
