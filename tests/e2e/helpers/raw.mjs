// A connection on which a test writes bytes and reads responses, for what no HTTP client sends.

import net from 'node:net';
import { within } from './server.mjs';

const RESPONSE_MS = 20_000;

export class RawConnection {
  constructor(socket) {
    this.socket = socket;
    this.received = Buffer.alloc(0);
    this.ended = false;
    this.wake = () => {};
    socket.on('data', (data) => {
      this.received = Buffer.concat([this.received, data]);
      this.wake();
    });
    const end = () => {
      this.ended = true;
      this.wake();
    };
    socket.on('end', end);
    socket.on('close', end);
    socket.on('error', end);
  }

  static connect(server) {
    return new Promise((resolve, reject) => {
      const socket = net.connect({ host: server.host, port: server.port }, () => {
        socket.off('error', reject);
        resolve(new RawConnection(socket));
      });
      socket.setNoDelay(true);
      socket.on('error', reject);
    });
  }

  write(data) {
    return new Promise((resolve) => this.socket.write(data, () => resolve()));
  }

  close() {
    this.socket.destroy();
  }

  async waitFor(what, probe) {
    const arrived = (async () => {
      for (;;) {
        const value = probe();
        if (value !== undefined) return value;
        if (this.ended) {
          throw new Error(`the connection ended before ${what}; got ` +
            JSON.stringify(this.received.toString('latin1').slice(0, 300)));
        }
        await new Promise((resolve) => { this.wake = resolve; });
      }
    })();
    return within(RESPONSE_MS, what, arrived);
  }

  // One response: { line, status, reason, headers, rawHeaders, body }.  The answer to HEAD has no
  // body whatever its headers say, so the caller says that it asked by HEAD.
  async response({ head = false } = {}) {
    const end = await this.waitFor('the end of the headers', () => {
      const at = this.received.indexOf('\r\n\r\n');
      return at < 0 ? undefined : at;
    });
    const [line, ...fields] = this.received.subarray(0, end).toString('latin1').split('\r\n');
    const [, status, reason] = /^HTTP\/1\.1 (\d{3}) ?(.*)$/.exec(line) ?? [];
    if (status === undefined) throw new Error(`not a status line: ${JSON.stringify(line)}`);
    this.received = this.received.subarray(end + 4);
    const rawHeaders = fields.map((field) => {
      const colon = field.indexOf(':');
      return [field.slice(0, colon), field.slice(colon + 1).trim()];
    });
    const headers = Object.fromEntries(rawHeaders.map(([name, value]) =>
      [name.toLowerCase(), value]));
    const body = await this.body(Number(status), headers, head);
    return { line, status: Number(status), reason, headers, rawHeaders, body,
      code: headers['x-ms-error-code'] };
  }

  // The response, or null if the server closes the connection instead; not to hear from it is
  // neither.
  async responseOrClose(options) {
    try {
      return await this.response(options);
    } catch (error) {
      if (this.ended) return null;
      throw error;
    }
  }

  async body(status, headers, head) {
    if (head || status === 304 || status === 204 || status < 200) return Buffer.alloc(0);
    if (headers['transfer-encoding'] === 'chunked') return this.chunkedBody();
    const length = headers['content-length'];
    if (length !== undefined) return this.take(Number(length));
    await this.waitFor('the end of a body without length', () => (this.ended ? true : undefined));
    return this.take(this.received.length);
  }

  async take(count) {
    await this.waitFor(`${count} bytes of a body`,
      () => (this.received.length >= count ? true : undefined));
    const taken = this.received.subarray(0, count);
    this.received = this.received.subarray(count);
    return taken;
  }

  async chunkedBody() {
    const chunks = [];
    for (;;) {
      const at = await this.waitFor('the size of a chunk', () => {
        const found = this.received.indexOf('\r\n');
        return found < 0 ? undefined : found;
      });
      const size = parseInt(this.received.subarray(0, at).toString('latin1'), 16);
      this.received = this.received.subarray(at + 2);
      const chunk = await this.take(size + 2);
      if (size === 0) return Buffer.concat(chunks);
      chunks.push(chunk.subarray(0, size));
    }
  }

  // Resolves when the server has closed the connection.
  closed() {
    return this.waitFor('the connection to be closed', () => (this.ended ? true : undefined));
  }
}

// The head of a request as text.  Headers are pairs, so that a test can repeat one.
export function head(method, target, headers = []) {
  const list = Array.isArray(headers) ? headers : Object.entries(headers);
  return `${method} ${target} HTTP/1.1\r\n` +
    list.map(([name, value]) => `${name}: ${value}\r\n`).join('') + '\r\n';
}

// Sends the bytes on a connection of their own and gives the first response.
export async function exchange(server, bytes, options) {
  const connection = await RawConnection.connect(server);
  try {
    await connection.write(bytes);
    return await connection.response(options);
  } finally {
    connection.close();
  }
}
