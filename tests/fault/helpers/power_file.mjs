// Files with ranges written and cleared, renamed, resized, deleted, and snapshots of their share,
// for the power cuts.

import assert from 'node:assert/strict';
import { md5 } from '../../e2e/helpers/digest.mjs';
import { fileSender } from '../../e2e/helpers/file.mjs';
import { LoadClient, Thing, UNKNOWN } from './timeline.mjs';

const KIB = 1024;
const SIZE_MAX = 150 * KIB;
const NAMES = 5; // of files in each directory
const DIRECTORIES = ['', 'd0/', 'd1/'];
const SNAPSHOTS_MAX = 2;

// A model is { files: { path: { body, etag } }, directories: [name, ...], snapshots: [{ time,
// files }] }, of a share that is the client's own.
const shownFiles = (files) => Object.fromEntries(Object.entries(files).map(
  ([path, { body, etag }]) => [path, { digest: md5(body), etag }]));

const shown = ({ files, directories, snapshots }) => ({
  files: shownFiles(files),
  directories: [...directories].sort(),
  snapshots: snapshots.map(({ time, files: then }) => ({ time, files: shownFiles(then) })),
});

const all = (text, pattern) => [...text.matchAll(pattern)].map(([, inner]) => inner);

async function observedTree(send, share, query) {
  const files = {};
  const directories = [];
  const look = async (directory) => {
    const { status, body } = await send('GET', `${share}/${directory}?restype=directory&comp=list${
      query}`);
    assert.equal(status, 200, `${share}/${directory}${query}: ${body}`);
    for (const name of all(body.toString(), /<File><Name>(.*?)<\/Name>/g)) {
      const path = directory + name;
      const answer = await send('GET', `${share}/${path}${query.replace('&', '?')}`);
      files[path] = { digest: answer.status === 200 ? md5(answer.body) : `status ${answer.status}`,
        etag: answer.headers.etag };
    }
    for (const name of all(body.toString(), /<Directory><Name>(.*?)<\/Name>/g)) {
      directories.push(name);
      await look(`${name}/`);
    }
  };
  await look('');
  return { files, directories: directories.sort() };
}

async function observed(send, share) {
  const { status } = await send('GET', `${share}?restype=share`);
  if (status === 404) return null;
  const { body } = await send('GET', `?comp=list&include=snapshots&prefix=${share}`);
  const tree = await observedTree(send, share, '');
  const snapshots = [];
  for (const time of all(body.toString(), /<Snapshot>(.*?)<\/Snapshot>/g)) {
    const { files } = await observedTree(send, share,
      `&sharesnapshot=${encodeURIComponent(time)}`);
    snapshots.push({ time, files });
  }
  return { ...tree, snapshots };
}

class FileClient extends LoadClient {
  constructor(...args) {
    super(...args);
    this.share = new Thing('share', `power${this.index}`, shown);
    this.things = [this.share];
  }

  step() {
    const { random } = this;
    const { model } = this.share;
    if (model === null) return this.makeShare();
    const paths = Object.keys(model.files);
    const roll = random.next();
    if (roll < 0.01) return this.removeShare();
    if (roll < 0.05) return this.snapshotStep();
    if (roll < 0.12) return this.refuse();
    if (roll < 0.2 && model.directories.length < DIRECTORIES.length - 1) return this.makeDirectory();
    if (paths.length < 3 || roll < 0.35) return this.create();
    const path = random.pick(paths);
    if (roll < 0.7) return this.write(path);
    if (roll < 0.77) return this.resize(path);
    if (roll < 0.9) return this.rename(path);
    return this.remove(path);
  }

  // A request after which `file` is the one whose ETag is new.
  make(model, file, ...request) {
    return this.change(this.share, model,
      (answer) => { if (file !== undefined) file.etag = answer.headers.etag; }, ...request);
  }

  makeShare() {
    return this.make({ files: {}, directories: [], snapshots: [] }, undefined, 'PUT',
      `${this.share.path}?restype=share`);
  }

  removeShare() {
    return this.make(null, undefined, 'DELETE', `${this.share.path}?restype=share`,
      { 'x-ms-delete-snapshots': 'include' });
  }

  makeDirectory() {
    const { model, path } = this.share;
    const name = ['d0', 'd1'].find((one) => !model.directories.includes(one));
    return this.make({ ...model, directories: [...model.directories, name] }, undefined, 'PUT',
      `${path}/${name}?restype=directory`);
  }

  anyPath() {
    const { directories } = this.share.model;
    const directory = this.random.pick(DIRECTORIES.filter((one) =>
      one === '' || directories.includes(one.slice(0, -1))));
    return `${directory}f${this.random.between(0, NAMES - 1)}`;
  }

  // Puts a file in the place of `path`.
  with(path, file, more = {}) {
    const { model } = this.share;
    return { ...model, ...more, files: { ...model.files, [path]: file } };
  }

  // The sizes tell contents apart that are all zeroes.
  size() {
    return this.random.pick([0, 20 * KIB, this.random.between(1, SIZE_MAX)]) + ++this.count % 1000;
  }

  create() {
    const path = this.anyPath();
    const file = { body: Buffer.alloc(this.size()), etag: UNKNOWN };
    return this.make(this.with(path, file), file, 'PUT', `${this.share.path}/${path}`,
      { 'x-ms-type': 'file', 'x-ms-content-length': file.body.length });
  }

  write(path) {
    const { random } = this;
    const { body: old } = this.share.model.files[path];
    if (old.length === 0) return this.resize(path);
    const start = random.between(0, old.length - 1);
    const end = Math.min(old.length, start + random.between(1, random.pick([100, 6 * KIB,
      SIZE_MAX])));
    const clears = random.next() < 0.2;
    const written = clears ? Buffer.alloc(end - start) : random.bytes(end - start);
    const body = Buffer.from(old);
    written.copy(body, start);
    const file = { body, etag: UNKNOWN };
    return this.make(this.with(path, file), file, 'PUT',
      `${this.share.path}/${path}?comp=range`, { 'x-ms-write': clears ? 'clear' : 'update',
        'x-ms-range': `bytes=${start}-${end - 1}` }, clears ? null : written);
  }

  resize(path) {
    const body = Buffer.alloc(this.size());
    this.share.model.files[path].body.copy(body);
    const file = { body, etag: UNKNOWN };
    return this.make(this.with(path, file), file, 'PUT',
      `${this.share.path}/${path}?comp=properties`, { 'x-ms-content-length': body.length,
        'x-ms-file-attributes': 'preserve', 'x-ms-file-creation-time': 'preserve',
        'x-ms-file-last-write-time': 'now', 'x-ms-file-permission': 'preserve' });
  }

  // Perhaps over another.
  rename(from) {
    const to = this.anyPath();
    if (to === from) return this.remove(from);
    const { [from]: old, ...files } = this.share.model.files;
    const file = { ...old, etag: UNKNOWN };
    return this.make({ ...this.share.model, files: { ...files, [to]: file } }, file, 'PUT',
      `${this.share.path}/${to}?comp=rename`, {
        'x-ms-file-rename-source': `${this.url}/${this.share.path}/${from}`,
        'x-ms-file-rename-replace-if-exists': 'true' });
  }

  remove(path) {
    const { [path]: _, ...files } = this.share.model.files;
    return this.make({ ...this.share.model, files }, undefined, 'DELETE',
      `${this.share.path}/${path}`);
  }

  snapshotStep() {
    const { model, path } = this.share;
    if (model.snapshots.length >= SNAPSHOTS_MAX) {
      const [{ time }, ...snapshots] = model.snapshots;
      return this.make({ ...model, snapshots }, undefined, 'DELETE',
        `${path}?restype=share&sharesnapshot=${encodeURIComponent(time)}`);
    }
    const snapshot = { time: UNKNOWN, files: model.files };
    return this.change(this.share, { ...model, snapshots: [...model.snapshots, snapshot] },
      (answer) => { snapshot.time = answer.headers['x-ms-snapshot']; }, 'PUT',
      `${path}?restype=share&comp=snapshot`);
  }

  refuse() {
    return this.refused('ResourceNotFound', 'PUT', `${this.share.path}/none?comp=range`,
      { 'x-ms-write': 'update', 'x-ms-range': 'bytes=0-99' }, Buffer.alloc(100, 1));
  }

  adopt({ files, snapshots }, seen) {
    for (const path of Object.keys(files)) files[path].etag = seen.files[path].etag;
    snapshots.forEach((snapshot, i) => { snapshot.time = seen.snapshots[i].time; });
  }
}

export const fileLoad = {
  service: 'file',
  sender: fileSender,
  url: (server) => server.fileUrl,
  Client: FileClient,
  observers: { share: observed },
  async prepare() {},
};
