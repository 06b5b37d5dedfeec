// The queue service of a test's server: the official client, and requests without one.

import { QueueServiceClient, StorageSharedKeyCredential } from '@azure/storage-queue';
import { noRetry } from './server.mjs';
import { send, sendSigned } from './http.mjs';
import { VERSION, accountSas, hmac, sasTime } from './sign.mjs';

// The official client.  It does not repeat a failed request: the tests want to see it.
export function queueClient(server, { url = server.queueUrl, ...options } = {}) {
  const credential = new StorageSharedKeyCredential(server.account, server.key);
  return new QueueServiceClient(url, credential, { ...noRetry, ...options });
}

// What helpers/http.mjs sends requests to.
export function queueEndpoint(server) {
  const { hostname, port } = new URL(server.queueUrl);
  return { host: hostname, port: Number(port), account: server.account, key: server.key };
}

// A function that sends requests by an account SAS for everything; `path` begins below the account.
export function queueSender(server, options = {}) {
  const endpoint = queueEndpoint(server);
  const sas = accountSas({ ss: 'q', sp: 'rwdlacup' }, endpoint);
  return (method, path, headers = {}, body = null) => send(endpoint, {
    method,
    target: `/${server.account}/${path}${path.includes('?') ? '&' : '?'}${sas}`,
    headers: { 'x-ms-version': VERSION, ...(method === 'POST' && body === null
      ? { 'Content-Length': 0 } : {}), ...headers },
    body,
    ...options,
  });
}

// A function that sends requests by Shared Key.
export function queueSigner(server) {
  const endpoint = queueEndpoint(server);
  return (method, path, headers = {}, body = null) => sendSigned(endpoint,
    { method, target: `/${server.account}/${path}`, headers, body });
}

// The query string of a service SAS for a queue, in the form of the version `sv`.
export function queueSas(queue, fields, { account, key }) {
  const all = { sv: VERSION, sp: 'raup', st: sasTime(-300), se: sasTime(3600), ...fields };
  const resource = `${all.sv >= '2015-02-21' ? '/queue' : ''}/${account}/${queue}`;
  const order = ['sp', 'st', 'se', 'resource', 'si'];
  if (all.sv >= '2015-04-05') order.push('sip', 'spr');
  order.push('sv');
  const sig = hmac(key, order.map((name) => ({ ...all, resource })[name] ?? '').join('\n'));
  return Object.entries({ ...all, sig }).filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
}

export const messageXml = (text) =>
  `<?xml version="1.0" encoding="utf-8"?><QueueMessage><MessageText>${text}</MessageText></QueueMessage>`;

// The messages in an answer, as objects of their elements' texts.
export function messagesOf(answer) {
  return [...answer.body.toString().matchAll(/<QueueMessage>(.*?)<\/QueueMessage>/gs)]
    .map(([, inner]) => Object.fromEntries(
      [...inner.matchAll(/<(\w+)(?: \/>|>(.*?)<\/\1>)/gs)].map(([, name, text]) =>
        [name, text ?? ''])));
}

// Where an update or deletion of a message goes.
export const messagePath = (queue, { MessageId, PopReceipt }, query = '') =>
  `${queue}/messages/${MessageId}?popreceipt=${encodeURIComponent(PopReceipt)}${query}`;
