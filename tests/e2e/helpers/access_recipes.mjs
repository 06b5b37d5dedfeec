// For every operation of the four services: who may ask for it, as the reference has it, and a
// request that succeeds when the right one asks.
//
// Sources: "Create an account SAS" (the tables of permissions by operation), "Create a service SAS"
// (the tables of permissions by resource), "Configure anonymous read access" (what is public), and
// the section on authorization of each operation's own page.  They are deliberately not read from
// the server's tables of operations: a difference is a fault of one of the two.
//
//   row     the row of src/frontend/http/operations_*.def; the recipe's own name if not given
//   who     'type:letters'   the resource type of an account SAS, and letters any one of which
//                            suffices; with + before them all are needed
//           'key'            only the account's key
//           'anybody'        no credential is needed
//   by      service SAS that may do it too: 'c' of the container (queue, table, share), 'o' of the
//           object (blob, file); none if not given
//   open    a container's public access by which anybody may do it: 'blob' or 'container'
//   unsaid  letters about which the reference says nothing
//   object  the path below the container that the request names
//   bare    the container is not made beforehand
//   before  makes what the request needs; `x.key` sends by Shared Key and expects success
//   ask     the request: [method, path below the account, query, headers, body]
//   status  the answer to a request by the right one, where it is not a success: such operations
//           can never succeed here
//   idle    it changes nothing that can be seen
//   secondary  it is for the secondary endpoint

export const LEASE = '11111111-1111-4111-8111-111111111111';
const LEASE_2 = '22222222-2222-4222-8222-222222222222';
const BLOCK = { 'x-ms-blob-type': 'BlockBlob' };
const BLOCK_ID = encodeURIComponent(Buffer.from('block-1').toString('base64'));
const PAGE = Buffer.alloc(512, 'p').toString();
const POLICIES = '<SignedIdentifiers><SignedIdentifier><Id>new</Id><AccessPolicy><Start/>' +
  '<Expiry/><Permission>r</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>';
const JSON_BODY = { 'Content-Type': 'application/json', Accept: 'application/json' };
export const BLOB_LETTERS = 'racwdxyltfmeopi';

let made = 0;
const fresh = (prefix) => `${prefix}${++made}`;

// --- blobs ---

export const BLOB_PROPERTIES = (origin) => '<StorageServiceProperties><Cors><CorsRule>' +
  `<AllowedOrigins>${origin}</AllowedOrigins><AllowedMethods>GET,PUT</AllowedMethods>` +
  '<MaxAgeInSeconds>5</MaxAgeInSeconds><ExposedHeaders/><AllowedHeaders/></CorsRule></Cors>' +
  '<DeleteRetentionPolicy><Enabled>true</Enabled><Days>7</Days></DeleteRetentionPolicy>' +
  '</StorageServiceProperties>';
const PLAIN_PROPERTIES = (origin) => '<StorageServiceProperties><Cors><CorsRule>' +
  `<AllowedOrigins>${origin}</AllowedOrigins><AllowedMethods>GET,PUT</AllowedMethods>` +
  '<MaxAgeInSeconds>5</MaxAgeInSeconds><ExposedHeaders/><AllowedHeaders/></CorsRule></Cors>' +
  '</StorageServiceProperties>';
export const FILE_PROPERTIES = (origin) => PLAIN_PROPERTIES(origin).replace(
  '</StorageServiceProperties>', '<ShareDeleteRetentionPolicy><Enabled>true</Enabled>' +
  '<Days>7</Days></ShareDeleteRetentionPolicy></StorageServiceProperties>');

// The parts of a batch are authorized by themselves; here by the key.
function blobBatch(x) {
  const target = `/${x.account}/${x.name}/${x.object}`;
  const headers = x.signed('DELETE', target, {});
  const lines = ['--edge', 'Content-Type: application/http', 'Content-Transfer-Encoding: binary',
    'Content-ID: 0', '', `DELETE ${target} HTTP/1.1`,
    ...Object.entries(headers).filter(([name]) => name !== 'x-ms-version')
      .map(([name, value]) => `${name}: ${value}`), 'Content-Length: 0', '', '', '--edge--', ''];
  return lines.join('\r\n');
}
const MIXED = { 'Content-Type': 'multipart/mixed; boundary=edge' };

const putBlob = (x, name = x.object, body = 'hello') =>
  x.key('PUT', `${x.name}/${name}`, BLOCK, body);
const putPages = (x, name = x.object) => x.key('PUT', `${x.name}/${name}`,
  { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': 1024 });
const putAppend = (x, name = x.object) =>
  x.key('PUT', `${x.name}/${name}`, { 'x-ms-blob-type': 'AppendBlob' });
const source = (x, name = 'src') => ({ 'x-ms-copy-source': x.sourceUrl(`${x.name}/${name}`) });
const lease = (action, more = {}) => ({ 'x-ms-lease-action': action, ...more });
const ACQUIRE = lease('acquire', { 'x-ms-lease-duration': -1, 'x-ms-proposed-lease-id': LEASE });
const WITH_LEASE = { 'x-ms-lease-id': LEASE };
const CHANGE = lease('change', { ...WITH_LEASE, 'x-ms-proposed-lease-id': LEASE_2 });

const blobRow = (who, ask, more = {}) => ({ who, by: 'co', object: 'dir/blob',
  before: (x) => putBlob(x), ask, ...more });
const newBlobRow = (who, ask, more = {}) => blobRow(who, ask, { object: 'dir/new',
  before: (x) => putBlob(x, 'src'), ...more });
const at = (x) => `${x.name}/${x.object}`;

function leaseRows(noun, who, breakWho, shape, target) {
  const leased = async (x) => {
    await shape.before?.(x);
    await x.key('PUT', ...target(x), ACQUIRE);
  };
  const ask = (headers) => (x) => ['PUT', ...target(x).flatMap((path) => path.split('?')), headers];
  return {
    [`Acquire${noun}Lease`]: { ...shape, who, ask: ask(ACQUIRE) },
    [`Renew${noun}Lease`]: { ...shape, who, before: leased, idle: true,
      ask: ask(lease('renew', WITH_LEASE)) },
    [`Change${noun}Lease`]: { ...shape, who, before: leased, idle: true, ask: ask(CHANGE) },
    [`Release${noun}Lease`]: { ...shape, who, before: leased,
      ask: ask(lease('release', WITH_LEASE)) },
    [`Break${noun}Lease`]: { ...shape, who: breakWho, before: leased,
      ask: ask(lease('break', { 'x-ms-lease-break-period': 0 })) },
  };
}

export const BLOB = {
  ListContainers: { who: 's:l', ask: () => ['GET', '', 'comp=list'] },
  FindBlobsByTags: { who: 'o:f', ask: () => ['GET', '', 'comp=blobs&where=%22a%22%3D%271%27'] },
  GetBlobServiceProperties: { who: 's:r',
    ask: () => ['GET', '', 'restype=service&comp=properties'] },
  SetBlobServiceProperties: { who: 's:w', ask: () => ['PUT', '', 'restype=service&comp=properties',
    {}, BLOB_PROPERTIES(fresh('http://o'))] },
  GetBlobServiceStats: { who: 's:r', secondary: true,
    ask: () => ['GET', '', 'restype=service&comp=stats'] },
  // Of the letters of the whole nothing is said; those of the parts are taken.
  BlobBatch: blobRow('s:dxyw', (x) => ['POST', '', 'comp=batch', MIXED, blobBatch(x)],
    { by: '', unsaid: 'rlacuptfimeo' }),
  BlobBatchByPath: blobRow('s:dxyw',
    (x) => ['POST', '', 'restype=container&comp=batch', MIXED, blobBatch(x)],
    { by: '', unsaid: 'rlacuptfimeo' }),
  BlobBatchOfContainer: blobRow('c:dxyw',
    (x) => ['POST', x.name, 'restype=container&comp=batch', MIXED, blobBatch(x)],
    { by: 'c', unsaid: 'rlacuptfimeo' }),
  PreflightBlobRequest: { who: 'anybody', ask: (x) => ['OPTIONS', `${x.name}/b`, '',
    { Origin: 'http://cors', 'Access-Control-Request-Method': 'PUT' }] },

  CreateContainer: { who: 'c:cw', bare: true, ask: (x) => ['PUT', x.name, 'restype=container'] },
  GetContainerProperties: { who: 'c:r', open: 'container',
    ask: (x) => ['GET', x.name, 'restype=container'] },
  GetContainerMetadata: { who: 'c:r', open: 'container',
    ask: (x) => ['HEAD', x.name, 'restype=container&comp=metadata'] },
  SetContainerMetadata: { who: 'c:w',
    ask: (x) => ['PUT', x.name, 'restype=container&comp=metadata', { 'x-ms-meta-a': '1' }] },
  GetContainerAcl: { who: 'key', ask: (x) => ['GET', x.name, 'restype=container&comp=acl'] },
  SetContainerAcl: { who: 'key',
    ask: (x) => ['PUT', x.name, 'restype=container&comp=acl', {}, POLICIES] },
  GetAccountInformation: { who: `s:${BLOB_LETTERS}`, unsaid: 'u',
    ask: () => ['GET', '', 'restype=account&comp=properties'] },
  GetAccountInformationByContainer: { who: `c:${BLOB_LETTERS}`, by: 'c', unsaid: 'u',
    ask: (x) => ['GET', x.name, 'restype=account&comp=properties'] },
  GetAccountInformationByBlob: blobRow(`o:${BLOB_LETTERS}`,
    (x) => ['HEAD', at(x), 'restype=account&comp=properties'], { unsaid: 'u' }),
  DeleteContainer: { who: 'c:d', ask: (x) => ['DELETE', x.name, 'restype=container'] },
  ListBlobs: { who: 'c:l', by: 'c', open: 'container',
    ask: (x) => ['GET', x.name, 'restype=container&comp=list'] },
  FindBlobsByTagsInContainer: { who: 'o:f', by: 'c',
    ask: (x) => ['GET', x.name, 'restype=container&comp=blobs&where=%22a%22%3D%271%27'] },
  ...leaseRows('Container', 'c:w', 'c:wd', {}, (x) => [`${x.name}?restype=container&comp=lease`]),

  PutBlobFromUrl: newBlobRow('o:cw', (x) => ['PUT', at(x), '', { ...BLOCK, ...source(x) }]),
  CopyBlobFromUrl: newBlobRow('o:cw',
    (x) => ['PUT', at(x), '', { 'x-ms-requires-sync': 'true', ...source(x) }]),
  CopyBlob: newBlobRow('o:cw', (x) => ['PUT', at(x), '', source(x)]),
  AbortCopyBlob: blobRow('o:w',
    (x) => ['PUT', at(x), `comp=copy&copyid=${LEASE}`, { 'x-ms-copy-action': 'abort' }],
    { status: 409, idle: true }),
  IncrementalCopyBlob: newBlobRow('o:cw',
    (x) => ['PUT', at(x), 'comp=incrementalcopy', { 'x-ms-copy-source':
      x.sourceUrl(`${x.name}/pages?snapshot=${encodeURIComponent(x.snapshot)}`) }],
    { before: async (x) => {
      await putPages(x, 'pages');
      const answer = await x.key('PUT', `${x.name}/pages?comp=snapshot`);
      x.snapshot = answer.headers['x-ms-snapshot'];
    } }),
  PutBlockFromUrl: newBlobRow('o:w',
    (x) => ['PUT', at(x), `comp=block&blockid=${BLOCK_ID}`, source(x)]),
  AppendBlockFromUrl: blobRow('o:aw', (x) => ['PUT', at(x), 'comp=appendblock', source(x)],
    { before: async (x) => { await putBlob(x, 'src'); await putAppend(x); } }),
  PutPageFromUrl: blobRow('o:w', (x) => ['PUT', at(x), 'comp=page', { ...source(x),
    'x-ms-page-write': 'update', 'x-ms-range': 'bytes=0-511', 'x-ms-source-range': 'bytes=0-511' }],
  { before: async (x) => { await putBlob(x, 'src', PAGE); await putPages(x); } }),
  PutBlob: newBlobRow('o:cw', (x) => ['PUT', at(x), '', BLOCK, 'new']),
  CreateAppendBlob: newBlobRow('o:cw',
    (x) => ['PUT', at(x), '', { 'x-ms-blob-type': 'AppendBlob' }]),
  AppendBlock: blobRow('o:aw', (x) => ['PUT', at(x), 'comp=appendblock', {}, 'more'],
    { before: (x) => putAppend(x) }),
  SealAppendBlob: blobRow('o:w', (x) => ['PUT', at(x), 'comp=seal'],
    { before: (x) => putAppend(x) }),
  CreatePageBlob: newBlobRow('o:cw',
    (x) => ['PUT', at(x), '', { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': 512 }]),
  PutPage: blobRow('o:w', (x) => ['PUT', at(x), 'comp=page',
    { 'x-ms-page-write': 'update', 'x-ms-range': 'bytes=0-511' }, PAGE],
  { before: (x) => putPages(x) }),
  ClearPage: blobRow('o:w', (x) => ['PUT', at(x), 'comp=page',
    { 'x-ms-page-write': 'clear', 'x-ms-range': 'bytes=0-511' }], { before: (x) => putPages(x) }),
  GetPageRanges: blobRow('o:r', (x) => ['GET', at(x), 'comp=pagelist'],
    { open: 'blob', before: (x) => putPages(x) }),
  GetBlob: blobRow('o:r', (x) => ['GET', at(x), ''], { open: 'blob' }),
  GetBlobProperties: blobRow('o:r', (x) => ['HEAD', at(x), ''], { open: 'blob' }),
  SetBlobProperties: blobRow('o:w',
    (x) => ['PUT', at(x), 'comp=properties', { 'x-ms-blob-content-type': 'a/b' }]),
  GetBlobMetadata: blobRow('o:r', (x) => ['GET', at(x), 'comp=metadata'], { open: 'blob' }),
  SetBlobMetadata: blobRow('o:w', (x) => ['PUT', at(x), 'comp=metadata', { 'x-ms-meta-a': '1' }]),
  DeleteBlob: blobRow('o:d', (x) => ['DELETE', at(x), '']),
  DeleteBlobVersion: blobRow('o:x',
    (x) => ['DELETE', at(x), `versionid=${encodeURIComponent(x.version)}`],
    { row: 'DeleteBlob', before: async (x) => {
      x.version = (await putBlob(x)).headers['x-ms-version-id'];
      await putBlob(x);
    } }),
  // The account does not allow it, whoever asks.
  DeleteBlobForGood: blobRow('o:y',
    (x) => ['DELETE', at(x), `snapshot=${encodeURIComponent(x.snapshot)}&deletetype=permanent`],
    { row: 'DeleteBlob', status: 409, idle: true, before: async (x) => {
      await putBlob(x);
      x.snapshot = (await x.key('PUT', `${at(x)}?comp=snapshot`)).headers['x-ms-snapshot'];
      await x.key('DELETE', `${at(x)}?snapshot=${encodeURIComponent(x.snapshot)}`);
    } }),
  UndeleteBlob: blobRow('o:w', (x) => ['PUT', at(x), 'comp=undelete'],
    { before: async (x) => {
      await putBlob(x);
      const made_ = await x.key('PUT', `${at(x)}?comp=snapshot`);
      await x.key('DELETE', `${at(x)}?snapshot=${made_.headers['x-ms-snapshot']}`);
    } }),
  PutBlock: newBlobRow('o:w', (x) => ['PUT', at(x), `comp=block&blockid=${BLOCK_ID}`, {}, 'block']),
  PutBlockList: newBlobRow('o:w', (x) => ['PUT', at(x), 'comp=blocklist', {},
    '<?xml version="1.0" encoding="utf-8"?><BlockList></BlockList>']),
  GetBlockList: blobRow('o:r', (x) => ['GET', at(x), 'comp=blocklist'], { open: 'blob' }),
  // Blocks that are not committed are nobody's but the writer's.
  GetUncommittedBlocks: blobRow('o:r', (x) => ['GET', at(x), 'comp=blocklist&blocklisttype=all'],
    { row: 'GetBlockList' }),
  SnapshotBlob: blobRow('o:cw', (x) => ['PUT', at(x), 'comp=snapshot']),
  SetBlobTier: blobRow('o:w', (x) => ['PUT', at(x), 'comp=tier', { 'x-ms-access-tier': 'Cool' }]),
  GetBlobTags: blobRow('o:t', (x) => ['GET', at(x), 'comp=tags']),
  SetBlobTags: blobRow('o:t', (x) => ['PUT', at(x), 'comp=tags', {},
    '<Tags><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tags>']),
  ...leaseRows('Blob', 'o:w', 'o:wd', { by: 'co', object: 'dir/blob', before: (x) => putBlob(x) },
    (x) => [`${at(x)}?comp=lease`]),
};

// --- queues ---

const MESSAGE = '<QueueMessage><MessageText>text</MessageText></QueueMessage>';
const putMessage = (x) => x.key('POST', `${x.name}/messages`, {}, MESSAGE);

async function takenMessage(x) {
  await putMessage(x);
  const answer = await x.key('GET', `${x.name}/messages?visibilitytimeout=3600`);
  const text = answer.body.toString();
  x.message = /<MessageId>(.*?)</.exec(text)[1];
  x.receipt = encodeURIComponent(/<PopReceipt>(.*?)</.exec(text)[1]);
}

const messages = (x) => `${x.name}/messages`;

export const QUEUE = {
  ListQueues: { who: 's:l', ask: () => ['GET', '', 'comp=list'] },
  GetQueueServiceProperties: { who: 's:r',
    ask: () => ['GET', '', 'restype=service&comp=properties'] },
  SetQueueServiceProperties: { who: 's:w', ask: () => ['PUT', '',
    'restype=service&comp=properties', {}, PLAIN_PROPERTIES(fresh('http://o'))] },
  GetQueueServiceStats: { who: 's:r', secondary: true,
    ask: () => ['GET', '', 'restype=service&comp=stats'] },
  PreflightQueueRequest: { who: 'anybody', ask: (x) => ['OPTIONS', x.name, '',
    { Origin: 'http://cors', 'Access-Control-Request-Method': 'PUT' }] },
  CreateQueue: { who: 'c:cw', bare: true, ask: (x) => ['PUT', x.name, ''] },
  DeleteQueue: { who: 'c:d', ask: (x) => ['DELETE', x.name, ''] },
  GetQueueMetadata: { who: 'c:r', by: 'c', ask: (x) => ['GET', x.name, 'comp=metadata'] },
  SetQueueMetadata: { who: 'c:w',
    ask: (x) => ['PUT', x.name, 'comp=metadata', { 'x-ms-meta-a': '1' }] },
  GetQueueAcl: { who: 'key', ask: (x) => ['GET', x.name, 'comp=acl'] },
  SetQueueAcl: { who: 'key', ask: (x) => ['PUT', x.name, 'comp=acl', {}, POLICIES] },
  PutMessage: { who: 'o:a', by: 'c', ask: (x) => ['POST', messages(x), '', {}, MESSAGE] },
  GetMessages: { who: 'o:p', by: 'c', before: putMessage,
    ask: (x) => ['GET', messages(x), 'visibilitytimeout=3600'] },
  PeekMessages: { who: 'o:r', by: 'c', before: putMessage,
    ask: (x) => ['GET', messages(x), 'peekonly=true'] },
  ClearMessages: { who: 'o:d', before: putMessage, ask: (x) => ['DELETE', messages(x), ''] },
  UpdateMessage: { who: 'o:u', by: 'c', before: takenMessage,
    ask: (x) => ['PUT', `${messages(x)}/${x.message}`,
      `popreceipt=${x.receipt}&visibilitytimeout=0`, {}, MESSAGE] },
  DeleteMessage: { who: 'o:p', by: 'c', before: takenMessage,
    ask: (x) => ['DELETE', `${messages(x)}/${x.message}`, `popreceipt=${x.receipt}`] },
};

// --- tables ---

const ENTITY = JSON.stringify({ PartitionKey: 'p', RowKey: 'r', Value: 'old' });
const CHANGED = JSON.stringify({ PartitionKey: 'p', RowKey: 'r', Value: 'new' });
const insert = (x) => x.key('POST', x.name, JSON_BODY, ENTITY);
const entity = (x) => `${x.name}(PartitionKey='p',RowKey='r')`;
const ANY = { ...JSON_BODY, 'If-Match': '*' };
const entityRow = (letters, ask, more = {}) => ({ who: `o:${letters}`, by: 'c', before: insert,
  ask, ...more });

// One operation on an entity in a change set, or a query.
function groupRow(letters, method, path, headers, body, more = {}) {
  const ask = (x) => {
    const inner = ['Content-Type: application/http', 'Content-Transfer-Encoding: binary', '',
      `${method} ${x.url}/${path(x)} HTTP/1.1`,
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), '', body ?? ''];
    const lines = method === 'GET' ? ['--batch_1', ...inner, '--batch_1--', '']
      : ['--batch_1', 'Content-Type: multipart/mixed; boundary=change_1', '', '--change_1',
        ...inner, '--change_1--', '--batch_1--', ''];
    return ['POST', '$batch', '', { 'Content-Type': 'multipart/mixed; boundary=batch_1',
      Accept: 'application/json' }, lines.join('\r\n')];
  };
  return { who: `o:${letters}`, by: 'c', before: insert, row: 'EntityGroupTransaction', ask,
    isGroup: true, ...more };
}

export const TABLE = {
  GetTableServiceProperties: { who: 's:r',
    ask: () => ['GET', '', 'restype=service&comp=properties'] },
  SetTableServiceProperties: { who: 's:w', ask: () => ['PUT', '',
    'restype=service&comp=properties', {}, PLAIN_PROPERTIES(fresh('http://o'))] },
  GetTableServiceStats: { who: 's:r', secondary: true,
    ask: () => ['GET', '', 'restype=service&comp=stats'] },
  PreflightTableRequest: { who: 'anybody', ask: (x) => ['OPTIONS', x.name, '',
    { Origin: 'http://cors', 'Access-Control-Request-Method': 'PUT' }] },
  QueryTables: { who: 'c:l', ask: () => ['GET', 'Tables', ''] },
  QueryTable: { who: 'c:l', ask: (x) => ['GET', `Tables('${x.name}')`, ''] },
  CreateTable: { who: 'c:cw', bare: true, ask: (x) => ['POST', 'Tables', '', JSON_BODY,
    JSON.stringify({ TableName: x.name })] },
  DeleteTable: { who: 'c:d', ask: (x) => ['DELETE', `Tables('${x.name}')`, ''] },
  GetTableAcl: { who: 'key', ask: (x) => ['GET', x.name, 'comp=acl'] },
  SetTableAcl: { who: 'key', ask: (x) => ['PUT', x.name, 'comp=acl', {}, POLICIES] },
  QueryEntities: entityRow('r', (x) => ['GET', `${x.name}()`, '']),
  GetEntity: entityRow('r', (x) => ['GET', entity(x), '']),
  InsertEntity: entityRow('a', (x) => ['POST', x.name, '', JSON_BODY, ENTITY],
    { before: undefined }),
  UpdateEntity: entityRow('u', (x) => ['PUT', entity(x), '', ANY, CHANGED]),
  InsertOrReplaceEntity: entityRow('+au', (x) => ['PUT', entity(x), '', JSON_BODY, CHANGED],
    { row: 'UpdateEntity' }),
  MergeEntity: entityRow('u', (x) => ['PATCH', entity(x), '', ANY, CHANGED]),
  InsertOrMergeEntity: entityRow('+au', (x) => ['PATCH', entity(x), '', JSON_BODY, CHANGED],
    { row: 'MergeEntity' }),
  MergeEntityWithMerge: entityRow('u', (x) => ['MERGE', entity(x), '', ANY, CHANGED]),
  InsertOrMergeWithMerge: entityRow('+au', (x) => ['MERGE', entity(x), '', JSON_BODY, CHANGED],
    { row: 'MergeEntityWithMerge' }),
  DeleteEntity: entityRow('d', (x) => ['DELETE', entity(x), '', { 'If-Match': '*' }]),
  GroupInsert: groupRow('a', 'POST', (x) => x.name, JSON_BODY, ENTITY, { before: undefined }),
  GroupUpdate: groupRow('u', 'PUT', entity, ANY, CHANGED),
  GroupUpsert: groupRow('+au', 'PUT', entity, JSON_BODY, CHANGED),
  GroupMerge: groupRow('u', 'PATCH', entity, ANY, CHANGED),
  GroupMergeUpsert: groupRow('+au', 'MERGE', entity, JSON_BODY, CHANGED),
  GroupDelete: groupRow('d', 'DELETE', entity, { 'If-Match': '*' }),
  GroupQuery: groupRow('r', 'GET', entity, { Accept: 'application/json' }),
};

// --- files ---

const PERMISSION = '{"permission":"O:SYG:SYD:(A;;FA;;;SY)"}';
const NEW_FILE = { 'x-ms-type': 'file', 'x-ms-content-length': 512 };
const makeDirectory = (x, name = 'dir') => x.key('PUT', `${x.name}/${name}?restype=directory`);
async function makeFile(x, name = 'dir/file') {
  await makeDirectory(x);
  await x.key('PUT', `${x.name}/${name}`, NEW_FILE);
}
async function makeFileAndSource(x) {
  await makeFile(x);
  await x.key('PUT', `${x.name}/dir/src`, NEW_FILE);
}
const dir = (x) => `${x.name}/dir`;
const directoryRow = (who, ask, more = {}) => ({ who, by: 'c', before: (x) => makeDirectory(x),
  ask, ...more });
const fileRow = (who, ask, more = {}) => ({ who, by: 'co', object: 'dir/file',
  before: (x) => makeFile(x), ask, ...more });
const newFileRow = (who, ask, more = {}) => fileRow(who, ask, { object: 'dir/new',
  before: (x) => makeFile(x, 'dir/src'), ...more });
const fileSource = (x) => ({ 'x-ms-copy-source': x.sourceUrl(`${x.name}/dir/src`) });
const share = (comp) => `restype=share${comp ? `&comp=${comp}` : ''}`;

// A file's lease has no end, so nobody renews it.
function fileLeases() {
  const { RenewFileLease, ...rows } = leaseRows('File', 'o:w', 'o:wd',
    { by: 'co', object: 'dir/file', before: (x) => makeFile(x) }, (x) => [`${at(x)}?comp=lease`]);
  return { ...rows, BreakFileLease: { ...rows.BreakFileLease,
    ask: (x) => ['PUT', at(x), 'comp=lease', lease('break')] } };
}

export const FILE = {
  ListShares: { who: 's:l', ask: () => ['GET', '', 'comp=list'] },
  GetFileServiceProperties: { who: 's:r',
    ask: () => ['GET', '', 'restype=service&comp=properties'] },
  SetFileServiceProperties: { who: 's:w', ask: () => ['PUT', '', 'restype=service&comp=properties',
    {}, FILE_PROPERTIES(fresh('http://o'))] },
  PreflightFileRequest: { who: 'anybody', ask: (x) => ['OPTIONS', `${x.name}/f`, '',
    { Origin: 'http://cors', 'Access-Control-Request-Method': 'PUT' }] },
  CreateShare: { who: 'c:cw', bare: true, ask: (x) => ['PUT', x.name, share()] },
  GetShareProperties: { who: 'c:r', ask: (x) => ['GET', x.name, share()] },
  SetShareProperties: { who: 'c:w',
    ask: (x) => ['PUT', x.name, share('properties'), { 'x-ms-share-quota': 7 }] },
  GetShareMetadata: { who: 'c:r', ask: (x) => ['GET', x.name, share('metadata')] },
  SetShareMetadata: { who: 'c:w',
    ask: (x) => ['PUT', x.name, share('metadata'), { 'x-ms-meta-a': '1' }] },
  GetShareAcl: { who: 'key', ask: (x) => ['GET', x.name, share('acl')] },
  SetShareAcl: { who: 'key', ask: (x) => ['PUT', x.name, share('acl'), {}, POLICIES] },
  GetShareStats: { who: 'c:r', ask: (x) => ['GET', x.name, share('stats')] },
  SnapshotShare: { who: 'c:cw', ask: (x) => ['PUT', x.name, share('snapshot')] },
  DeleteShare: { who: 'c:d', ask: (x) => ['DELETE', x.name, share()] },
  RestoreShare: { who: 'c:w',
    before: async (x) => {
      await x.key('DELETE', `${x.name}?restype=share`);
      const list = await x.key('GET', `?comp=list&include=deleted&prefix=${x.name}`);
      x.version = /<Version>(.*?)</.exec(list.body.toString())[1];
    },
    ask: (x) => ['PUT', x.name, share('undelete'), { 'x-ms-deleted-share-name': x.name,
      'x-ms-deleted-share-version': x.version }] },
  CreatePermission: { who: 'c:+wd', by: 'c', idle: true,
    ask: (x) => ['PUT', x.name, share('filepermission'), {}, PERMISSION] },
  GetPermission: { who: 'c:r', by: 'c',
    before: async (x) => {
      const answer = await x.key('PUT', `${x.name}?${share('filepermission')}`, {}, PERMISSION);
      x.permission = answer.headers['x-ms-file-permission-key'];
    },
    ask: (x) => ['GET', x.name, share('filepermission'),
      { 'x-ms-file-permission-key': x.permission }] },
  ...leaseRows('Share', 'c:w', 'c:wd', {}, (x) => [`${x.name}?${share('lease')}`]),

  CreateDirectory: directoryRow('o:cw', (x) => ['PUT', dir(x), 'restype=directory'],
    { before: undefined }),
  GetDirectoryProperties: directoryRow('o:r', (x) => ['GET', dir(x), 'restype=directory']),
  SetDirectoryProperties: directoryRow('o:w',
    (x) => ['PUT', dir(x), 'restype=directory&comp=properties', { 'x-ms-file-attributes': 'Hidden',
      'x-ms-file-permission': 'preserve', 'x-ms-file-creation-time': 'preserve',
      'x-ms-file-last-write-time': 'preserve' }]),
  GetDirectoryMetadata: directoryRow('o:r',
    (x) => ['HEAD', dir(x), 'restype=directory&comp=metadata']),
  SetDirectoryMetadata: directoryRow('o:w',
    (x) => ['PUT', dir(x), 'restype=directory&comp=metadata', { 'x-ms-meta-a': '1' }]),
  DeleteDirectory: directoryRow('o:d', (x) => ['DELETE', dir(x), 'restype=directory']),
  ListDirectoriesAndFiles: directoryRow('c:l',
    (x) => ['GET', dir(x), 'restype=directory&comp=list']),
  RenameDirectory: directoryRow('o:w', (x) => ['PUT', dir(x), 'restype=directory&comp=rename',
    { 'x-ms-file-rename-source': x.sourceUrl(`${x.name}/old`) }],
  { before: (x) => makeDirectory(x, 'old') }),

  // The table for account SAS has w alone, the one for service SAS c for a copy to a new file.
  CopyFile: newFileRow('o:cw', (x) => ['PUT', at(x), '', fileSource(x)]),
  CreateFile: newFileRow('o:cw', (x) => ['PUT', at(x), '', NEW_FILE]),
  GetFile: fileRow('o:r', (x) => ['GET', at(x), '']),
  GetFileProperties: fileRow('o:r', (x) => ['HEAD', at(x), '']),
  SetFileProperties: fileRow('o:w', (x) => ['PUT', at(x), 'comp=properties',
    { 'x-ms-content-length': 1024, 'x-ms-file-attributes': 'preserve',
      'x-ms-file-permission': 'preserve', 'x-ms-file-creation-time': 'preserve',
      'x-ms-file-last-write-time': 'preserve' }]),
  GetFileMetadata: fileRow('o:r', (x) => ['GET', at(x), 'comp=metadata']),
  SetFileMetadata: fileRow('o:w', (x) => ['PUT', at(x), 'comp=metadata', { 'x-ms-meta-a': '1' }]),
  DeleteFile: fileRow('o:d', (x) => ['DELETE', at(x), '']),
  RenameFile: newFileRow('o:w', (x) => ['PUT', at(x), 'comp=rename',
    { 'x-ms-file-rename-source': x.sourceUrl(`${x.name}/dir/src`) }]),
  AbortCopyFile: fileRow('o:w',
    (x) => ['PUT', at(x), `comp=copy&copyid=${LEASE}`, { 'x-ms-copy-action': 'abort' }],
    { status: 409, idle: true }),
  PutRangeFromUrl: fileRow('o:w', (x) => ['PUT', at(x), 'comp=range', { ...fileSource(x),
    'x-ms-write': 'update', 'x-ms-range': 'bytes=0-511', 'x-ms-source-range': 'bytes=0-511' }],
  { before: makeFileAndSource }),
  PutRange: fileRow('o:w', (x) => ['PUT', at(x), 'comp=range',
    { 'x-ms-write': 'update', 'x-ms-range': 'bytes=0-511' }, PAGE]),
  ClearRange: fileRow('o:w', (x) => ['PUT', at(x), 'comp=range',
    { 'x-ms-write': 'clear', 'x-ms-range': 'bytes=0-511' }]),
  ListRanges: fileRow('o:r', (x) => ['GET', at(x), 'comp=rangelist']),
  ...fileLeases(),
  ListHandles: { who: 'key', before: (x) => makeFile(x),
    ask: (x) => ['GET', `${x.name}/dir/file`, 'comp=listhandles'] },
  ForceCloseHandles: { who: 'key', idle: true, before: (x) => makeFile(x),
    ask: (x) => ['PUT', `${x.name}/dir/file`, 'comp=forceclosehandles',
      { 'x-ms-handle-id': '*' }] },
};

// Requests that put something in the place of what is there, which a permission to create does not
// cover: what is there, and the request.
const overBlob = (ask, put = putBlob) => ({ object: 'dir/blob', ask,
  before: async (x) => { await putBlob(x, 'src'); await put(x); } });
const overFile = (ask) => ({ object: 'dir/file', ask, before: makeFileAndSource });

export const OVERWRITES = {
  blob: {
    'Put Blob': overBlob((x) => ['PUT', at(x), '', BLOCK, 'over']),
    'Put Blob of pages': overBlob((x) => ['PUT', at(x), '',
      { 'x-ms-blob-type': 'PageBlob', 'x-ms-blob-content-length': 512 }], putPages),
    'Put Blob to append': overBlob((x) => ['PUT', at(x), '',
      { 'x-ms-blob-type': 'AppendBlob' }], putAppend),
    'Put Blob From URL': overBlob((x) => ['PUT', at(x), '', { ...BLOCK, ...source(x) }]),
    'Copy Blob': overBlob((x) => ['PUT', at(x), '', source(x)]),
    'Copy Blob From URL': overBlob((x) => ['PUT', at(x), '',
      { 'x-ms-requires-sync': 'true', ...source(x) }]),
  },
  file: {
    'Create File': overFile((x) => ['PUT', at(x), '', NEW_FILE]),
    'Copy File': overFile((x) => ['PUT', at(x), '', fileSource(x)]),
  },
};
