// Clients of the table service: the official one, and signed requests without it.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import http from 'node:http';
import {
  AzureNamedKeyCredential, TableClient, TableServiceClient,
} from '@azure/data-tables';
import { send as sendTo } from './http.mjs';
import { VERSION, accountSas } from './sign.mjs';

const options = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };

export function tableService(server) {
  return new TableServiceClient(server.tableUrl,
    new AzureNamedKeyCredential(server.account, server.key), options);
}

export function tableClient(server, name) {
  return new TableClient(server.tableUrl, name,
    new AzureNamedKeyCredential(server.account, server.key), options);
}

// With a SAS, which is all of the credential.
export function tableClientBySas(server, name, sas) {
  return new TableClient(`${server.tableUrl}?${sas}`, name, options);
}

let made = 0;

// A table of its own for a test.
export async function newTable(server, prefix = 'table') {
  const client = tableClient(server, `${prefix}${++made}x${process.pid}`);
  await client.createTable();
  return client;
}

export async function all(iterator) {
  const items = [];
  for await (const item of iterator) items.push(item);
  return items;
}

// What was asked, of the properties a test cares about.
export function plain(entity) {
  const { etag, timestamp, 'odata.metadata': _, ...rest } = entity;
  return rest;
}

// For assert.rejects: the status and the error's code, as the header has it and the SDK reads it
// from the body.
export function refusal(statusCode, code) {
  return (error) => {
    const header = error.response?.headers.get('x-ms-error-code');
    assert.deepEqual([error.statusCode, header], [statusCode, code], error.message);
    const parsed = error.details?.odataError?.code;
    if (parsed !== undefined) assert.equal(parsed, code);
    return true;
  };
}

// One signed request on a connection of its own: { status, headers, body, json }.
export function send(server, method, path, { headers = {}, body, sas } = {}) {
  const url = new URL(server.tableUrl);
  const account = url.pathname.replace(/\/$/, '');
  const target = `${account}${path}${sas ? (path.includes('?') ? '&' : '?') + sas : ''}`;
  const date = new Date().toUTCString();
  const all_ = { 'x-ms-date': date, 'x-ms-version': '2019-02-02', ...headers };
  if (body !== undefined) all_['Content-Length'] = Buffer.byteLength(body);
  if (!sas) all_.Authorization = authorization(server, method, target, all_);
  return new Promise((resolve, reject) => {
    const request = http.request({
      host: url.hostname, port: url.port, method, path: target, headers: all_, agent: false,
    }, (response) => {
      const pieces = [];
      response.on('data', (piece) => pieces.push(piece));
      response.on('end', () => {
        const text = Buffer.concat(pieces).toString();
        resolve({
          status: response.statusCode,
          reason: response.statusMessage,
          headers: response.headers,
          body: text,
          get json() { return JSON.parse(text); },
        });
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}

// Shared Key in the table service's form: Content-MD5, Content-Type, the date, and the resource
// with no parameter but comp.
function authorization(server, method, target, headers) {
  const given = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const [path, query = ''] = target.split('?');
  const comp = new URLSearchParams(query).get('comp');
  const text = [method, given['content-md5'] ?? '', given['content-type'] ?? '',
    given['x-ms-date'], `/${server.account}${path}${comp ? `?comp=${comp}` : ''}`].join('\n');
  const signature = crypto.createHmac('sha256', Buffer.from(server.key, 'base64'))
    .update(text, 'utf8').digest('base64');
  return `SharedKey ${server.account}:${signature}`;
}

// The body of a change set: parts are [method, path, body, headers].
export function changeSet(server, parts) {
  const lines = ['--batch_1', 'Content-Type: multipart/mixed; boundary=changeset_1', ''];
  for (const [method, path, body, headers = {}] of parts) {
    lines.push('--changeset_1', 'Content-Type: application/http',
      'Content-Transfer-Encoding: binary', '', `${method} ${server.tableUrl}${path} HTTP/1.1`,
      ...Object.entries({ 'Content-Type': 'application/json', ...headers })
        .map(([name, value]) => `${name}: ${value}`),
      '', body === undefined ? '' : JSON.stringify(body));
  }
  lines.push('--changeset_1--', '--batch_1--', '');
  return lines.join('\r\n');
}

export function sendBatch(server, body, more = {}) {
  return send(server, 'POST', '/$batch',
    { headers: { 'Content-Type': 'multipart/mixed; boundary=batch_1' }, body, ...more });
}

// A function that sends requests by an account SAS for everything, over the connections of `agent`;
// `path` begins below the account.
export function tableSender(server, { agent = false } = {}) {
  const { hostname, port } = new URL(server.tableUrl);
  const endpoint = { host: hostname, port: Number(port), account: server.account, key: server.key };
  const sas = accountSas({ ss: 't', sp: 'rwdlacu' }, endpoint);
  return (method, path, headers = {}, body = null) => sendTo(endpoint, {
    method,
    target: `/${server.account}/${path}${path.includes('?') ? '&' : '?'}${sas}`,
    headers: { 'x-ms-version': VERSION, ...headers },
    body,
    agent,
  });
}
