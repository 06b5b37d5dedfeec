// Requests as bytes on the wire would be, without an SDK between: the answer's status, reason
// phrase, headers and body as they came.

import http from 'node:http';
import https from 'node:https';
import { accountSas, signed, VERSION } from './sign.mjs';

const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });

// An answer: { status, reason, headers, rawHeaders, body (a Buffer), code }.
export function send(server, { method = 'GET', target, headers = {}, body = null,
  agent: chosen = agent, tls = null }) {
  const all = { ...headers };
  const names = Object.keys(all).map((name) => name.toLowerCase());
  const hasLength = names.includes('content-length') || names.includes('transfer-encoding');
  if (!hasLength && (body !== null || method === 'PUT')) {
    all['Content-Length'] = body === null ? 0 : Buffer.byteLength(body);
  }
  return new Promise((resolve, reject) => {
    const options = { host: server.host, port: server.port, method, path: target, headers: all };
    const request = tls === null
      ? http.request({ ...options, agent: chosen })
      : https.request({ ...options, ...tls });
    request.on('error', reject);
    request.on('response', (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const content = Buffer.concat(chunks);
        resolve({
          status: response.statusCode,
          reason: response.statusMessage,
          headers: response.headers,
          rawHeaders: response.rawHeaders,
          body: content,
          code: response.headers['x-ms-error-code'],
        });
      });
    });
    request.end(body ?? undefined);
  });
}

// A request by Shared Key.
export function sendSigned(server, request, credential = undefined) {
  const { method = 'GET', target, headers = {}, body = null } = request;
  const length = body === null ? 0 : Buffer.byteLength(body);
  const withLength = method === 'PUT' || body !== null
    ? { 'Content-Length': length, ...headers } : headers;
  const all = signed(method, target, withLength,
    credential ?? { account: server.account, key: server.key });
  return send(server, { ...request, headers: all });
}

// A function that sends requests by an account SAS for everything: the cheapest credential, for
// tests that are about something else.  `path` begins below the account, and may have a query.
export function sasSender(server, options = {}) {
  const sas = accountSas({ sp: 'rwdlactf' }, { account: server.account, key: server.key });
  return (method, path, headers = {}, body = null) => send(server, {
    method,
    target: `/${server.account}/${path}${path.includes('?') ? '&' : '?'}${sas}`,
    headers: { 'x-ms-version': VERSION, ...headers },
    body,
    ...options,
  });
}

// Put Blob's own headers, so that tests need not repeat them.
export const blockBlob = { 'x-ms-blob-type': 'BlockBlob' };
