"""The rows of the blob service beyond Put Blob and Get Blob."""

import os
import random
import re

import sas
import transfer
from measure import Goal, Sample, Workload
from rows import GIB, KIB, MIB, Row, guarded, say
from servers import Azurite, BenchError, Zaffre
from steps import Cycle, Step, piece, pieces_file, random_of

BLOCK_BYTES = 4 * MIB
BLOCKS = 16
PAGE_BYTES = 4 * KIB
LISTED = 5000
READ_BACK = 25  # pieces compared byte for byte after a run

BLOCK_LIST = Workload("Put Block x 16 + Put Block List, 64 MiB, 4 connections", "MiB/s",
                      [Goal("Azurite")])
APPEND = Workload("Append Block 1 KiB, 32 connections, a blob each", "/s", [Goal("Azurite")])
PAGE = Workload("Put Page 4 KiB, random in 1 GiB, 32 connections", "/s", [Goal("Azurite")])
LIST = Workload("List Blobs, page of 5,000, 4 connections", "/s", [Goal("Azurite")])
SNAPSHOT = Workload("Snapshot Blob of 1 MiB, 32 connections", "/s", [Goal("Azurite")])
COPY = Workload("Copy Blob of 1 GiB in the account, to its success", "ms", [Goal("Azurite")])
LEASE = Workload("Lease Blob: acquire, renew, release, 32 connections", "/s",
                 [Goal(at_least=10_000), Goal("Azurite")])


def header_of(server, name, header):
    """A header of Get Blob Properties."""
    connection = server.connect()
    try:
        connection.request("HEAD", sas.blob_target(name), headers={"x-ms-version": sas.VERSION})
        response = connection.getresponse()
        response.read()
        if response.status != 200:
            raise BenchError(f"{server.name} answered {response.status} to HEAD of {name}")
        return response.getheader(header)
    finally:
        connection.close()


def for_both(workload, measure, public=False):
    """A row that does the same to Zaffre and to Azurite, on a server of their own each."""

    def measure_both(work, plan):
        for kind in (Zaffre, Azurite):
            say(f"{workload.title}: {kind.name}")
            with guarded(kind.name, workload), kind(work) as server:
                server.create_container(public)
                workload.add(kind.name, measure(server, plan.brief()))

    return measure_both


# --- blocks ---

def block_list_body():
    ids = "".join(f"<Latest>{index:04}</Latest>" for index in range(BLOCKS))
    return f'<?xml version="1.0" encoding="utf-8"?><BlockList>{ids}</BlockList>'


def blocks(server, plan):
    pieces = pieces_file(server, "blocks", BLOCK_BYTES, BLOCKS)
    cycle = Cycle(server, "blocks", 4, [
        Step("PUT", sas.blob_target("blocks-@{number}", "comp=block&blockid=@{turn:4}"), 201,
             pieces=pieces, times=BLOCKS),
        Step("PUT", sas.blob_target("blocks-@{number}", "comp=blocklist"), 201,
             template=block_list_body()),
    ])
    samples = cycle.samples(plan, cycles=plan.block_blobs,
                            per_cycle=BLOCKS * BLOCK_BYTES / MIB)
    server.expect(f"blocks-{cycle.number - 1}", pieces[0].read_bytes())
    os.unlink(pieces[0])
    return samples


# --- appends and pages ---

def append(server, plan):
    connections = 32
    # Each run has blobs of its own: one takes no more than 50,000 blocks.
    cycle = Cycle(server, "append", connections, [
        Step("PUT", sas.blob_target("append-@{run}-@{connection}"), 201, once=True,
             headers=("x-ms-blob-type: AppendBlob",)),
        Step("PUT", sas.blob_target("append-@{run}-@{connection}", "comp=appendblock"), 201,
             pieces=pieces_file(server, "append", KIB, 64)),
    ])
    samples = cycle.samples(plan)
    run = cycle.number - cycle.last["requests"]
    stored = sum(int(header_of(server, f"append-{run}-{index}", "Content-Length"))
                 for index in range(connections))
    if stored != cycle.last["requests"] * KIB:
        raise BenchError(f"{server.name}: {cycle.last['requests']} appends of 1 KiB made {stored} "
                         "bytes")
    return samples


def page(server, plan):
    pages = GIB // PAGE_BYTES
    server.demand(201, "PUT", sas.blob_target("page"),
                  headers={"x-ms-blob-type": "PageBlob", "x-ms-blob-content-length": str(GIB)})
    pieces = pieces_file(server, "page", PAGE_BYTES, 64)
    cycle = Cycle(server, "page", 32, [
        Step("PUT", sas.blob_target("page", "comp=page"), 201, pieces=pieces,
             headers=("x-ms-page-write: update", "x-ms-range: bytes=@{first}-@{last}")),
    ], lets=[("first", "random", 1, pages, PAGE_BYTES, 0),
             ("last", "first", 1, 0, 1, PAGE_BYTES - 1)])
    samples = cycle.samples(plan)
    expect_pages(server, cycle.number, pages, pieces)
    return samples


def expect_pages(server, writes, pages, pieces):
    """Compare some pages with what was written there; of two writers either may be the last."""
    writers = {}
    for number in range(writes):
        writers.setdefault(random_of(number) % pages, []).append(number)
    for index in random.sample(sorted(writers), min(READ_BACK, len(writers))):
        first = index * PAGE_BYTES
        found = server.demand(206, "GET", sas.blob_target("page"),
                              headers={"x-ms-range": f"bytes={first}-{first + PAGE_BYTES - 1}"})
        if found not in [piece(pieces, number) for number in writers[index]]:
            raise BenchError(f"{server.name}: page {index} is not what was written")


# --- operations on metadata ---

def list_blobs(server, plan):
    Cycle(server, "list-fill", 32, [
        Step("PUT", sas.blob_target("list-@{number:5}"), 201,
             headers=("x-ms-blob-type: BlockBlob",)),
    ]).run(cycles=LISTED)
    return Cycle(server, "list", 4, [
        Step("GET", sas.container_target(f"comp=list&maxresults={LISTED}"), 200,
             contains=(LISTED, "</Blob>")),
    ]).samples(plan)


def snapshot(server, plan):
    connections = 32
    server.store([f"snapshot-{index}" for index in range(connections)], [os.urandom(MIB)])
    cycle = Cycle(server, "snapshot", connections, [
        Step("PUT", sas.blob_target("snapshot-@{connection}", "comp=snapshot"), 201),
    ])
    samples = cycle.samples(plan)
    listing = server.demand(200, "GET", sas.container_target(
        "comp=list&prefix=snapshot-0&include=snapshots&maxresults=100"))
    if not re.search(b"<Snapshot>[^<]", listing):
        raise BenchError(f"{server.name}: no snapshot is listed")
    return samples


def copy(server, plan):
    source = transfer.source_in(server.directory.parent, GIB)
    transfer.upload(server, "source", source)
    # Anyone may read the source: one with a SAS Azurite downloads, only to drop it.
    cycle = Cycle(server, "copy", 1, [
        Step("PUT", sas.blob_target("copy-@{number}"), 202,
             headers=(f"x-ms-copy-source: {server.url()}{sas.blob_path('source')}",),
             contains=(1, "x-ms-copy-status: success")),
    ])
    samples = cycle.samples(plan)
    transfer.download(server, f"copy-{cycle.number - 1}", source, compare=True)
    return [Sample(**{**vars(sample), "value": sample.p50_us / 1000}) for sample in samples]


def lease(server, plan):
    def step(action, status, *headers, **more):
        return Step("PUT", sas.blob_target("lease-@{connection}", "comp=lease"), status,
                    headers=(f"x-ms-lease-action: {action}", *headers), **more)

    held = "x-ms-lease-id: @{lease}"
    return Cycle(server, "lease", 32, [
        Step("PUT", sas.blob_target("lease-@{connection}"), 201, once=True,
             headers=("x-ms-blob-type: BlockBlob",)),
        step("acquire", 201, "x-ms-lease-duration: 60", keep=(("lease", "x-ms-lease-id: "),)),
        step("renew", 200, held),
        step("release", 200, held),
    ]).samples(plan, per_cycle=3)


def rows(_):
    return [
        Row("blocks", "Put Block and Put Block List", [BLOCK_LIST], for_both(BLOCK_LIST, blocks)),
        Row("append", "Append Block", [APPEND], for_both(APPEND, append)),
        Row("page", "Put Page at random offsets", [PAGE], for_both(PAGE, page)),
        Row("list", "List Blobs", [LIST], for_both(LIST, list_blobs)),
        Row("snapshot", "Snapshot Blob", [SNAPSHOT], for_both(SNAPSHOT, snapshot)),
        Row("copy", "Copy Blob of 1 GiB", [COPY], for_both(COPY, copy, public=True)),
        Row("lease", "Lease Blob", [LEASE], for_both(LEASE, lease), quick=True),
    ]
