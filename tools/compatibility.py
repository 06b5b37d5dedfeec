#!/usr/bin/env python3
"""Write docs/compatibility.md: which operations of the blob service there are.

What the server performs is read from src/frontend/http/http_operations.def; what the reference of
the service documents is the list below.  A row of the table that no entry of the list names is an
error, so an operation cannot be added without its line on the page.

    tools/compatibility.py [root]            write the page
    tools/compatibility.py --check [root]    fail if it is not up to date
"""
import pathlib
import re
import sys

TABLE = "src/frontend/http/http_operations.def"
PAGE = "docs/compatibility.md"

# (name in the reference, rows of the table that perform it, what is to be known about it)
DOCUMENTED = {
    "Service": [
        ("List Containers", ["ListContainers"], ""),
        ("Get Blob Service Properties", ["GetBlobServiceProperties"], ""),
        ("Set Blob Service Properties", ["SetBlobServiceProperties"],
         "CORS, the default version and the static website are acted on; logging and metrics "
         "settings are kept and given back"),
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
        ("List Blobs", ["ListBlobs"], "flat and by hierarchy"),
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
        ("Delete Blob", ["DeleteBlob"], ""),
        ("Undelete Blob", ["UndeleteBlob"], ""),
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

HEAD = """\
<!-- Written by tools/compatibility.py from {table}; change those. -->
# Compatibility

What there is of the [REST interface of Azure Blob Storage][1], by the names of its reference. An
operation that is not there is answered with status 501, never with a made-up success.

{done} of {all} operations.

[1]: https://learn.microsoft.com/rest/api/storageservices/blob-service-rest-api
"""

TAIL = """
*SAS* says which permissions of a shared access signature suffice, any one of them; *account* means
that only a SAS of the account can have them, *key* that the account's key is needed, *anybody* that
no credential is. Anonymous callers may use what is marked *public* when the container allows it.

## Not there

- Soft delete and versions: the settings are kept, deleted and overwritten blobs are not.
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
        path = {"SERVICE": "/", "CONTAINER": "/container", "BLOB": "/container/blob"}[level]
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
    if "OP_ANYBODY" in flags:
        return "anybody"
    if "OP_KEY_ONLY" in flags:
        return "key"
    words = permissions if "OP_SERVICE_SAS" in flags else f"{permissions} (account)"
    return f"{words}, public" if "OP_PUBLIC" in flags else words


def line_of(entry, rows):
    name, wanted, note = entry
    present = [rows[row] for row in wanted if row in rows]
    state = "yes" if len(present) == len(wanted) else "in part" if present else "no"
    access = list(dict.fromkeys(access_of(row) for row in present))
    cells = [name, state, "<br>".join(requests_of(present)), "; ".join(access), note]
    return ("| " + " | ".join(cells) + " |").replace("  ", " ")


def page_of(rows):
    entries = [entry for section in DOCUMENTED.values() for entry in section]
    done = sum(all(row in rows for row in wanted) for _, wanted, _ in entries)
    lines = [HEAD.format(table=TABLE, done=done, all=len(entries))]
    for section, section_entries in DOCUMENTED.items():
        lines += [f"## {section}", "", "| operation | there | request | SAS | notes |",
                  "| --- | --- | --- | --- | --- |"]
        for entry in section_entries:
            lines.append(line_of(entry, rows))
        lines.append("")
    return "\n".join(lines).rstrip() + "\n" + TAIL


def complaints(root, check):
    rows = read_rows((root / TABLE).read_text(encoding="utf-8"))
    named = {row for section in DOCUMENTED.values() for entry in section for row in entry[1]}
    found = [f"{TABLE}: tools/compatibility.py does not name {row}" for row in rows
             if row not in named]
    page = page_of(rows)
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
