// Many requests in little time: a few connections that are kept, with requests written before the
// answers to earlier ones have come.

import net from 'node:net';

const NO_BODY = new Set([204, 304]);

class Lane {
  constructor(host, port) {
    this.host = host;
    this.port = port;
    this.waiting = []; // sent, in order, and not answered
    this.socket = null;
  }

  send(bytes, isHead) {
    return new Promise((resolve, reject) => {
      const request = { bytes, isHead, resolve, reject };
      this.waiting.push(request);
      if (this.socket === null) this.connect();
      else this.socket.write(bytes);
    });
  }

  connect() {
    this.received = Buffer.alloc(0);
    this.isClosing = false;
    const socket = net.connect({ host: this.host, port: this.port });
    socket.setNoDelay(true);
    socket.on('data', (data) => {
      this.received = this.received.length === 0 ? data : Buffer.concat([this.received, data]);
      while (this.takeAnswer());
    });
    socket.on('error', (error) => { this.error = error; });
    socket.on('close', () => this.closed());
    this.socket = socket;
    for (const { bytes } of this.waiting) socket.write(bytes);
  }

  // A server that says so before it closes has not looked at what followed: that is sent again.
  closed() {
    this.socket = null;
    if (this.waiting.length === 0) return;
    if (this.isClosing) {
      this.connect();
      return;
    }
    const error = this.error ?? new Error('the connection ended before the answer');
    for (const { reject } of this.waiting.splice(0)) reject(error);
  }

  takeAnswer() {
    if (this.isClosing || this.waiting.length === 0) return false;
    const end = this.received.indexOf('\r\n\r\n');
    if (end < 0) return false;
    const [line, ...fields] = this.received.subarray(0, end).toString('latin1').split('\r\n');
    const status = Number(line.split(' ')[1]);
    if (status === 100) {
      this.received = this.received.subarray(end + 4);
      return true;
    }
    const headers = {};
    for (const field of fields) {
      const colon = field.indexOf(':');
      headers[field.slice(0, colon).toLowerCase()] = field.slice(colon + 1).trim();
    }
    const rest = this.received.subarray(end + 4);
    const body = this.waiting[0].isHead || NO_BODY.has(status)
      ? { bytes: Buffer.alloc(0), length: 0 } : takeBody(headers, rest);
    if (body === null) return false;
    this.received = rest.subarray(body.length);
    this.isClosing = headers.connection === 'close';
    const { resolve } = this.waiting.shift();
    resolve({ status, headers, body: body.bytes, code: headers['x-ms-error-code'] });
    if (this.isClosing) this.socket.end();
    return true;
  }

  close() {
    this.socket?.destroy();
  }
}

// The body and how many bytes it takes, or null while it is not complete.
function takeBody(headers, rest) {
  if (headers['transfer-encoding'] !== 'chunked') {
    const length = Number(headers['content-length'] ?? 0);
    return rest.length < length ? null : { bytes: rest.subarray(0, length), length };
  }
  const chunks = [];
  for (let at = 0; ;) {
    const line = rest.indexOf('\r\n', at);
    if (line < 0) return null;
    const size = parseInt(rest.subarray(at, line).toString('latin1'), 16);
    if (rest.length < line + 2 + size + 2) return null;
    chunks.push(rest.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
    if (size === 0) return { bytes: Buffer.concat(chunks), length: at };
  }
}

export class Pipe {
  constructor({ host, port, lanes = 4 }) {
    this.lanes = Array.from({ length: lanes }, () => new Lane(host, port));
    this.host = `${host}:${port}`;
    this.count = 0;
  }

  // An answer: { status, headers, body (a Buffer), code }.
  send({ method, target, headers = {}, body = null }) {
    const lines = [`${method} ${target} HTTP/1.1`, `Host: ${this.host}`];
    for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
    const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
    const bytes = body === null ? head : Buffer.concat([head, Buffer.from(body)]);
    return this.lanes[this.count++ % this.lanes.length].send(bytes, method === 'HEAD');
  }

  close() {
    for (const lane of this.lanes) lane.close();
  }
}
