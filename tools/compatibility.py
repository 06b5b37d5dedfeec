#!/usr/bin/env python3
"""Write docs/compatibility.md: which operations of the services there are.

What the server performs is read from src/frontend/http/operations_*.def; what the reference of the
services documents is the lists below.  A row of a table that no entry of its service's list names
is an error, so an operation cannot be added without its line on the page.

    tools/compatibility.py [root]            write the page
    tools/compatibility.py --check [root]    fail if it is not up to date
"""
import pathlib
import re
import sys

TABLES = "src/frontend/http/operations_{}.def"
PAGE = "docs/compatibility.md"

# (name in the reference, rows of the table that perform it, what is to be known about it)
BLOB = {
    "Service": [
        ("List Containers", ["ListContainers"], ""),
        ("Get Blob Service Properties", ["GetBlobServiceProperties"], ""),
        ("Set Blob Service Properties", ["SetBlobServiceProperties"],
         "CORS, the default version, soft delete and the static website are acted on; logging and "
         "metrics settings are kept and given back"),
        ("Get Blob Service Stats", ["GetBlobServiceStats"], "on the secondary endpoint"),
        ("Get Account Information",
         ["GetAccountInformation", "GetAccountInformationByContainer",
          "GetAccountInformationByBlob"], "at all three levels"),
        ("Blob Batch", ["BlobBatch", "BlobBatchByPath", "BlobBatchOfContainer"],
         "Delete Blob and Set Blob Tier, of the account or a container"),
        ("Find Blobs by Tags", ["FindBlobsByTags", "FindBlobsByTagsInContainer"],
         "in the account or a container"),
        ("Preflight Blob Request", ["PreflightBlobRequest"], ""),
        ("Get User Delegation Key", ["GetUserDelegationKey"], ""),
    ],
    "Containers": [
        ("Create Container", ["CreateContainer"], ""),
        ("Get Container Properties", ["GetContainerProperties"], ""),
        ("Get Container Metadata", ["GetContainerMetadata"], ""),
        ("Set Container Metadata", ["SetContainerMetadata"], ""),
        ("Get Container ACL", ["GetContainerAcl"], ""),
        ("Set Container ACL", ["SetContainerAcl"],
         "public access and stored access policies, in force at once"),
        ("Delete Container", ["DeleteContainer"],
         "the name is free again at once, not after half a minute"),
        ("Lease Container",
         ["AcquireContainerLease", "RenewContainerLease", "ChangeContainerLease",
          "ReleaseContainerLease", "BreakContainerLease"], ""),
        ("List Blobs", ["ListBlobs"],
         "flat and by hierarchy; also what is soft-deleted, and versions"),
        ("Restore Container", ["RestoreContainer"], ""),
    ],
    "Blobs of every type": [
        ("Get Blob", ["GetBlob"], ""),
        ("Get Blob Properties", ["GetBlobProperties"], ""),
        ("Set Blob Properties", ["SetBlobProperties"],
         "also the size and sequence number of page blobs"),
        ("Get Blob Metadata", ["GetBlobMetadata"], ""),
        ("Set Blob Metadata", ["SetBlobMetadata"], ""),
        ("Get Blob Tags", ["GetBlobTags"], ""),
        ("Set Blob Tags", ["SetBlobTags"], ""),
        ("Set Blob Tier", ["SetBlobTier"], ""),
        ("Snapshot Blob", ["SnapshotBlob"], ""),
        ("Delete Blob", ["DeleteBlob"], "soft or for good; of a version with x, for good with y"),
        ("Undelete Blob", ["UndeleteBlob"], "with all its soft-deleted snapshots and versions"),
        ("Lease Blob",
         ["AcquireBlobLease", "RenewBlobLease", "ChangeBlobLease", "ReleaseBlobLease",
          "BreakBlobLease"], ""),
        ("Copy Blob", ["CopyBlob"], "within the account and from other URLs"),
        ("Copy Blob From URL", ["CopyBlobFromUrl"], ""),
        ("Abort Copy Blob", ["AbortCopyBlob"], ""),
        ("Set Blob Immutability Policy", ["SetBlobImmutabilityPolicy"], ""),
        ("Delete Blob Immutability Policy", ["DeleteBlobImmutabilityPolicy"], ""),
        ("Set Blob Legal Hold", ["SetBlobLegalHold"], ""),
        ("Set Blob Expiry", ["SetBlobExpiry"], ""),
        ("Query Blob Contents", ["QueryBlobContents"], ""),
    ],
    "Block blobs": [
        ("Put Blob", ["PutBlob"], "up to 5,000 MiB"),
        ("Put Blob From URL", ["PutBlobFromUrl"], ""),
        ("Put Block", ["PutBlock"], "up to 4,000 MiB"),
        ("Put Block From URL", ["PutBlockFromUrl"], ""),
        ("Put Block List", ["PutBlockList"], ""),
        ("Get Block List", ["GetBlockList"], ""),
    ],
    "Append blobs": [
        ("Put Blob", ["CreateAppendBlob"], ""),
        ("Append Block", ["AppendBlock"], "up to 100 MiB"),
        ("Append Block From URL", ["AppendBlockFromUrl"], ""),
        ("Append Blob Seal", ["SealAppendBlob"], ""),
    ],
    "Page blobs": [
        ("Put Blob", ["CreatePageBlob"], "up to 8 TiB; only what is written takes space"),
        ("Put Page", ["PutPage", "ClearPage"], "update and clear"),
        ("Put Page From URL", ["PutPageFromUrl"], ""),
        ("Get Page Ranges", ["GetPageRanges"], "also the difference to a snapshot"),
        ("Incremental Copy Blob", ["IncrementalCopyBlob"], ""),
    ],
}

QUEUE = {
    "Service": [
        ("List Queues", ["ListQueues"], ""),
        ("Get Queue Service Properties", ["GetQueueServiceProperties"], ""),
        ("Set Queue Service Properties", ["SetQueueServiceProperties"],
         "CORS is acted on; logging and metrics settings are kept and given back"),
        ("Get Queue Service Stats", ["GetQueueServiceStats"], "on the secondary endpoint"),
        ("Preflight Queue Request", ["PreflightQueueRequest"], ""),
        ("Get User Delegation Key", ["GetUserDelegationKey"], ""),
    ],
    "Queues": [
        ("Create Queue", ["CreateQueue"], ""),
        ("Delete Queue", ["DeleteQueue"],
         "the name is free again at once, not after half a minute"),
        ("Get Queue Metadata", ["GetQueueMetadata"],
         "the count has messages that are out of sight, and those that have expired until they "
         "are removed"),
        ("Set Queue Metadata", ["SetQueueMetadata"], ""),
        ("Get Queue ACL", ["GetQueueAcl"], ""),
        ("Set Queue ACL", ["SetQueueAcl"], "in force at once"),
    ],
    "Messages": [
        ("Put Message", ["PutMessage"], "up to 64 KiB of UTF-8"),
        ("Get Messages", ["GetMessages"], "first in, first out, by the time they become visible"),
        ("Peek Messages", ["PeekMessages"], ""),
        ("Update Message", ["UpdateMessage"], ""),
        ("Delete Message", ["DeleteMessage"], ""),
        ("Clear Messages", ["ClearMessages"], "at once, however many there are"),
    ],
}

TABLE = {
    "Service": [
        ("Get Table Service Properties", ["GetTableServiceProperties"], ""),
        ("Set Table Service Properties", ["SetTableServiceProperties"],
         "CORS is acted on; logging and metrics settings are kept and given back"),
        ("Get Table Service Stats", ["GetTableServiceStats"], "on the secondary endpoint"),
        ("Preflight Table Request", ["PreflightTableRequest"], ""),
    ],
    "Tables": [
        ("Query Tables", ["QueryTables", "QueryTable"], "all, or one"),
        ("Create Table", ["CreateTable"], ""),
        ("Delete Table", ["DeleteTable"],
         "the name is free again at once, not after half a minute"),
        ("Get Table ACL", ["GetTableAcl"], ""),
        ("Set Table ACL", ["SetTableAcl"], "in force at once"),
    ],
    "Entities": [
        ("Query Entities", ["QueryEntities", "GetEntity"], "by filter, or one by its keys"),
        ("Insert Entity", ["InsertEntity"], ""),
        ("Update Entity, Insert Or Replace Entity", ["UpdateEntity"], ""),
        ("Merge Entity, Insert Or Merge Entity", ["MergeEntity", "MergeEntityWithMerge"], ""),
        ("Delete Entity", ["DeleteEntity"], ""),
        ("Performing entity group transactions", ["EntityGroupTransaction"], ""),
    ],
}

FILE = {
    "Service": [
        ("List Shares", ["ListShares"], "with snapshots and what is soft-deleted"),
        ("Get File Service Properties", ["GetFileServiceProperties"], ""),
        ("Set File Service Properties", ["SetFileServiceProperties"],
         "CORS is acted on, and `ShareDeleteRetentionPolicy`, which Azure has in its management "
         "API; metrics and SMB settings are kept and given back"),
        ("Preflight File Request", ["PreflightFileRequest"], ""),
        ("Get User Delegation Key", ["GetUserDelegationKey"], ""),
    ],
    "Shares": [
        ("Create Share", ["CreateShare"], "over SMB; NFS is answered with 501"),
        ("Get Share Properties", ["GetShareProperties"], ""),
        ("Set Share Properties", ["SetShareProperties"], "the quota is a limit"),
        ("Get Share Metadata", ["GetShareMetadata"], ""),
        ("Set Share Metadata", ["SetShareMetadata"], ""),
        ("Get Share ACL", ["GetShareAcl"], ""),
        ("Set Share ACL", ["SetShareAcl"], "in force at once"),
        ("Get Share Stats", ["GetShareStats"], "exact: bytes that were written and not cleared"),
        ("Snapshot Share", ["SnapshotShare"], "one instant, whatever the share holds; up to 200"),
        ("Delete Share", ["DeleteShare"],
         "the name is free again at once, not after half a minute; soft if that is on"),
        ("Restore Share", ["RestoreShare"], ""),
        ("Lease Share",
         ["AcquireShareLease", "RenewShareLease", "ChangeShareLease", "ReleaseShareLease",
          "BreakShareLease"], "also of a snapshot"),
        ("Create Permission", ["CreatePermission"], "SDDL or binary"),
        ("Get Permission", ["GetPermission"], ""),
    ],
    "Directories": [
        ("Create Directory", ["CreateDirectory"], ""),
        ("Get Directory Properties", ["GetDirectoryProperties"], ""),
        ("Set Directory Properties", ["SetDirectoryProperties"], ""),
        ("Get Directory Metadata", ["GetDirectoryMetadata"], ""),
        ("Set Directory Metadata", ["SetDirectoryMetadata"], ""),
        ("List Directories and Files", ["ListDirectoriesAndFiles"], ""),
        ("Rename Directory", ["RenameDirectory"], "at once, whatever it holds"),
        ("Delete Directory", ["DeleteDirectory"], ""),
    ],
    "Files": [
        ("Create File", ["CreateFile"], "up to 4 TiB; only what is written takes space"),
        ("Get File", ["GetFile"], ""),
        ("Get File Properties", ["GetFileProperties"], ""),
        ("Set File Properties", ["SetFileProperties"], "also the size"),
        ("Get File Metadata", ["GetFileMetadata"], ""),
        ("Set File Metadata", ["SetFileMetadata"], ""),
        ("Put Range", ["PutRange", "ClearRange"], "update and clear"),
        ("Put Range From URL", ["PutRangeFromUrl"], ""),
        ("List Ranges", ["ListRanges"], "also the difference to a snapshot"),
        ("Copy File", ["CopyFile"],
         "from the file service of this server it is finished when it is answered, from other URLs "
         "it is pending"),
        ("Abort Copy File", ["AbortCopyFile"], ""),
        ("Rename File", ["RenameFile"], "within a share"),
        ("Delete File", ["DeleteFile"], ""),
        ("Lease File",
         ["AcquireFileLease", "ChangeFileLease", "ReleaseFileLease", "BreakFileLease"], ""),
        ("List Handles", ["ListHandles"], "of files and directories"),
        ("Force Close Handles", ["ForceCloseHandles"], "of files and directories"),
        ("Create Symbolic Link, Get Symbolic Link", ["CreateSymbolicLink", "GetSymbolicLink"],
         "for shares over NFS"),
        ("Create Hard Link", ["CreateHardLink"], "for shares over NFS"),
    ],
}

# (name of the service, its word in file names, what is documented of it)
SERVICES = [("Blob", "blob", BLOB), ("Queue", "queue", QUEUE), ("Table", "table", TABLE),
            ("File", "file", FILE)]

PATHS = {
    "SERVICE": "/", "CONTAINER": "/container", "BLOB": "/container/blob",
    "QUEUE": "/queue", "MESSAGES": "/queue/messages", "PEEKED": "/queue/messages?peekonly=true",
    "MESSAGE": "/queue/messages/id",
    "TABLES": "/Tables", "TABLE": "/Tables('table')", "ENTITIES": "/table",
    "ENTITY": "/table(PartitionKey='p',RowKey='r')", "BATCH": "/$batch",
    "SHARE": "/share", "NODE": "/share/path",
}

HEAD = """\
<!-- Written by tools/compatibility.py from {tables}; change those. -->
# Compatibility

What there is of the [REST interfaces of Azure Storage][1], by the names of their reference. An
operation that is not there is answered with status 501, never with a made-up success.

{counts}

[1]: https://learn.microsoft.com/rest/api/storageservices/
"""

TAIL = """
*SAS* says which permissions of a shared access signature suffice, any one of them (joined by
*and*, all of them);
*account* means that only a SAS of the account can have them, *account, share* that one of a file
cannot, *key* that the account's key is needed, *anybody* that no credential is. Anonymous callers
may use what is marked *public* when the container allows it.

## Soft delete and versions

- Soft delete of blobs is switched on by Set Blob Service Properties, as in Azure. What is deleted,
  or replaced by Put Blob, Put Block List or a copy, is kept for the days that the policy had then;
  `include=deleted` lists it and Undelete Blob brings it back. A policy that is changed while a
  request runs counts as changed before it or after it.
- Azure switches versions on for an account by its management API; here they are switched on for the
  server, with `--blobVersioning`. Put Blob, Put Block List, copies, Set Blob Metadata and Snapshot
  Blob make a version. Without the flag the versions that are there stay, and no more are made.
- A snapshot that is taken where versions are made, and the version it makes, have the same instant
  as their names; in Azure they are a millisecond apart.
- A blob from before versions were switched on becomes a version whose id is its Last-Modified; in
  Azure it is its creation time.
- `include=deletedwithversions` is taken and changes nothing.
- Deleting for good (`deletetype=permanent`) where the account does not allow it is answered with
  status 409 and the code PermanentDeleteNotAllowed; Azure's code is not documented.

## Files and SMB

- There is no SMB server yet: nobody has handles, and List Handles is empty. What REST requests
  answer while SMB clients have files open (SharingViolation, DeletePending, FileLockConflict,
  ClientCacheFlushDelay) is there and tested.
- The message of DeletePending ends with "(SMBDeletePending)", the name in the page on file locks.
- Clients find out whether a path is a directory or a file by reading it as either: the wrong one
  is answered with status 404. A change of the wrong one is answered with 409.
- A wrong lease id on a file is answered with status 412, as Azure has been seen to do it; the
  reference says 409.
- A permission is inherited as Windows does it, when a directory or file is made; who makes it is
  the system account, as with Azure's account key. Later changes of a directory's permission do not
  reach what it holds: over REST nothing does that, and SMB clients walk the tree themselves.
- List Ranges that would be longer than 16 MiB is answered with OutOfRangeInput: ask for a part.

## Not there

- Soft delete of containers, and Restore Container.
- Microsoft Entra ID: bearer tokens are answered with status 401.
- Encryption scopes, customer-provided keys, immutability and legal holds: requests that ask for
  them are answered with status 501 (with `--loose` the wish is ignored).
- The web endpoint of a static website (`<account>.z1.web.core.windows.net`): see
  [clients.md](clients.md#a-static-website) for what works instead.
"""

ROW = re.compile(r"OPERATION\((.*?)\)\s*(?=OPERATION\(|/\*|\Z)", re.DOTALL)


def read_rows(text):
    """The table's rows by name: lists of the arguments of OPERATION."""
    text = text[text.index("*/") + 2:]
    rows = {}
    for match in ROW.finditer(text):
        fields = [field.strip().strip('"') for field in match.group(1).split(",")]
        rows[fields[0]] = fields
    return rows


def requests_of(rows):
    """The request lines that select the rows; the values of one header stand together."""
    lines = {}
    for row in rows:
        _, method, level, restype, comp, header, value = row[:7]
        path = PATHS[level]
        query = "&".join(f"{name}={given}" for name, given in (("restype", restype), ("comp", comp))
                         if given != "NULL")
        line = f"`{method} {path}{'?' + query if query else ''}`"
        if "OP_COPY_SOURCE" in row[9]:
            line += " `x-ms-copy-source`"
        if header != "NULL":
            line += f" `{header}`"
        lines.setdefault(line, []).append(value)
    return [f"{line[:-1]}: {', '.join(values)}`" if values != ["NULL"] else line
            for line, values in lines.items()]


def access_of(row):
    """Who may perform it."""
    permissions, flags = row[7], row[9]
    if "OP_EVERY_LETTER" in flags:
        permissions = " and ".join(permissions)
    if "OP_ANYBODY" in flags:
        return "anybody"
    if "OP_KEY_ONLY" in flags:
        return "key"
    if "OP_SHARE_SAS" in flags:
        return f"{permissions} (account, share)"
    words = permissions if "OP_SERVICE_SAS" in flags else f"{permissions} (account)"
    return f"{words}, public" if "OP_PUBLIC" in flags else words


def line_of(entry, rows):
    name, wanted, note = entry
    present = [rows[row] for row in wanted if row in rows]
    state = "yes" if len(present) == len(wanted) else "in part" if present else "no"
    access = list(dict.fromkeys(access_of(row) for row in present))
    cells = [name, state, "<br>".join(requests_of(present)), "; ".join(access), note]
    return ("| " + " | ".join(cells) + " |").replace("  ", " ")


def section_of(title, entries, rows):
    lines = [f"### {title}", "", "| operation | there | request | SAS | notes |",
             "| --- | --- | --- | --- | --- |"]
    return lines + [line_of(entry, rows) for entry in entries] + [""]


def page_of(tables):
    counts = []
    lines = []
    for name, word, documented in SERVICES:
        rows = tables[word]
        entries = [entry for section in documented.values() for entry in section]
        done = sum(all(row in rows for row in wanted) for _, wanted, _ in entries)
        counts.append(f"{name}: {done} of {len(entries)} operations.")
        lines += [f"## {name} service", ""]
        for section, section_entries in documented.items():
            lines += section_of(section, section_entries, rows)
    head = HEAD.format(tables=TABLES.format("*"), counts=" ".join(counts))
    return head + "\n" + "\n".join(lines).rstrip() + "\n" + TAIL


def complaints(root, check):
    tables = {}
    found = []
    for _, word, documented in SERVICES:
        table = TABLES.format(word)
        tables[word] = read_rows((root / table).read_text(encoding="utf-8"))
        named = {row for section in documented.values() for entry in section for row in entry[1]}
        found += [f"{table}: tools/compatibility.py does not name {row}" for row in tables[word]
                  if row not in named]
    page = page_of(tables)
    path = root / PAGE
    if not check and not found:
        path.write_text(page, encoding="utf-8")
    if check and (not path.exists() or path.read_text(encoding="utf-8") != page):
        found.append(f"{PAGE}: not up to date; run tools/compatibility.py")
    return found


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    result = complaints(pathlib.Path(arguments[0] if arguments else "."), "--check" in sys.argv)
    print("\n".join(result) if result else "compatibility: nothing to complain about")
    sys.exit(1 if result else 0)
