// A server that copies come from, which is not the one under test: `routes` says what it answers.

import { after } from 'node:test';
import http from 'node:http';

export async function startElsewhere() {
  const routes = new Map();
  const server = http.createServer((request, response) => {
    const route = routes.get(new URL(request.url, 'http://x').pathname);
    if (route) route(request, response);
    else response.writeHead(404).end();
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${server.address().port}`;
  after(() => { server.closeAllConnections(); server.close(); });

  // The bytes, or a range of them, at once.
  function serve(path, bytes, headers = {}) {
    routes.set(path, (request, response) => {
      const range = /bytes=(\d+)-(\d*)/.exec(request.headers.range ?? '');
      const start = range ? Number(range[1]) : 0;
      const end = range && range[2] !== '' ? Number(range[2]) + 1 : bytes.length;
      const part = bytes.subarray(start, end);
      response.writeHead(range ? 206 : 200, { 'Content-Length': part.length, ...headers });
      response.end(part);
    });
    return url + path;
  }

  // A first piece, and the rest when it is told to.
  function slow(path, bytes, headers = {}) {
    const control = { requests: [], url: url + path };
    routes.set(path, (request, response) => {
      control.requests.push(request.headers);
      const range = /bytes=(\d+)-/.exec(request.headers.range ?? '');
      const start = range ? Number(range[1]) : 0;
      response.writeHead(range ? 206 : 200,
        { 'Content-Length': bytes.length - start, ETag: '"e1"', ...headers });
      response.write(bytes.subarray(start, start + 1000));
      control.finish = () => response.end(bytes.subarray(start + 1000));
      control.breakOff = () => response.destroy();
      control.response = response;
    });
    return control;
  }

  // A first piece and a lost connection, and a refusal when the rest is asked for.
  function failing(path) {
    let count = 0;
    routes.set(path, (request, response) => {
      if (++count > 1) {
        response.writeHead(412).end();
        return;
      }
      response.writeHead(200, { 'Content-Length': 5000, ETag: '"e"' });
      response.write('begin');
      setTimeout(() => response.destroy(), 50);
    });
    return url + path;
  }

  return { url, routes, serve, slow, failing };
}
