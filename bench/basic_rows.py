"""The rows of the foundation: start, small blobs, one large blob."""

import functools
import shutil
import time

import load
import transfer
from measure import Goal, Sample, Workload
from rows import GIB, KIB, MIB, Row, guarded, say
from servers import BUILD, Azurite, Nginx, NginxCached, Zaffre

BARE_ENGINE = BUILD / "bench" / "bare_engine"

START = Workload("exec to first answer, empty store", "ms",
                 [Goal(at_most=150), Goal("Azurite"), Goal("nginx")])
IDLE = Workload("memory when idle", "MiB", [Goal(at_most=40), Goal("Azurite")])
GET_32 = Workload("GET 1 KiB, SAS, 32 connections", "/s",
                  [Goal("Azurite", at_least=40), Goal("nginx", at_least=0.9),
                   Goal("nginx-open-files")])
PUT_32 = Workload("PUT 1 KiB, SAS, durable, 32 connections", "/s",
                  [Goal("Azurite"), Goal("bare engine")])
PUT_64 = Workload("PUT 1 KiB, SAS, durable, 64 connections", "/s",
                  [Goal("Azurite", at_least=40), Goal("bare engine", at_least=0.7)])
UPLOAD = Workload("PUT 1 GiB, one request", "MiB/s", [Goal("dd", at_least=0.85), Goal("Azurite")])
DOWNLOAD = Workload("GET 1 GiB", "MiB/s", [Goal("nginx", at_least=0.95), Goal("Azurite")])


def start_of(kind, work, rounds):
    """Starts on an empty directory, and the memory of one that has answered one request."""
    samples = []
    for _ in range(rounds):
        server = kind(work)
        samples.append(Sample(value=server.start() * 1000))
        time.sleep(0.2)
        idle = Sample(value=server.rss_bytes() / MIB)
        server.stop()
    START.add(kind.name, samples)
    IDLE.add(kind.name, [idle])


def measure_start(work, plan):
    for kind in (Zaffre, Nginx, Azurite):
        say(f"start and memory when idle: {kind.name}")
        with guarded(kind.name, START, IDLE):
            start_of(kind, work, plan.slow_starts if kind is Azurite else plan.starts)


def measure_get(work, plan):
    say(f"{GET_32.title}: Zaffre and nginx in turn")
    with guarded("Zaffre", GET_32), Zaffre(work) as ours, Nginx(work) as theirs:
        ours.create_container()
        gets = [load.Gets(server, KIB, 1000, 32, plan) for server in (ours, theirs)]
        GET_32.add_pairs("nginx", *load.pairs_of(*gets, plan))
    for kind in (Azurite,) if plan.essential else (NginxCached, Azurite):
        say(f"{GET_32.title}: {kind.name}")
        with guarded(kind.name, GET_32), kind(work) as server:
            server.create_container()
            GET_32.add(kind.name, load.get(server, KIB, 1000, 32, plan))


def measure_put(connections, workload, work, plan):
    say(f"{workload.title}: Zaffre and the bare engine in turn")
    with guarded("Zaffre", workload), Zaffre(work) as server:
        server.create_container()
        directory = work / "bare"
        puts = load.Puts(server, KIB, connections, plan)
        bare = load.BareEngine(BARE_ENGINE, directory, connections, plan)
        workload.add_pairs("bare engine", *load.pairs_of(puts, bare, plan))
        shutil.rmtree(directory)
    say(f"{workload.title}: Azurite")
    with guarded("Azurite", workload), Azurite(work) as server:
        server.create_container()
        workload.add("Azurite", load.put(server, KIB, connections, plan))


def measure_large(work, plan):
    say("transfers of 1 GiB, in turn with dd and nginx")
    source = transfer.source_in(work, GIB)
    with guarded("Zaffre", UPLOAD, DOWNLOAD), Zaffre(work) as ours, Nginx(work) as theirs:
        ours.create_container()
        UPLOAD.add_pairs("dd", *transfer.uploads_and_copies(ours, source, work / "copy",
                                                            plan.large_rounds))
        transfer.upload(ours, "large", source)
        shutil.copyfile(source, theirs.path("large"))
        DOWNLOAD.add_pairs("nginx", *transfer.downloads_in_turn(ours, theirs, "large", source,
                                                                plan.large_rounds))
    if plan.essential:
        return
    with guarded("Azurite", UPLOAD, DOWNLOAD), Azurite(work) as server:
        server.create_container()
        UPLOAD.add("Azurite", [transfer.timed(server, transfer.upload, source, "large")])
        transfer.download(server, "large", source, compare=True)
        DOWNLOAD.add("Azurite", [transfer.timed(server, transfer.download, source, "large")])


def rows(_):
    return [
        Row("get", "Get Blob of 1 KiB", [GET_32], measure_get, quick=True),
        Row("put32", "Put Blob of 1 KiB at 32 connections", [PUT_32],
            functools.partial(measure_put, 32, PUT_32)),
        Row("put64", "Put Blob of 1 KiB at 64 connections", [PUT_64],
            functools.partial(measure_put, 64, PUT_64), quick=True),
        Row("large", "Put Blob and Get Blob of 1 GiB", [UPLOAD, DOWNLOAD], measure_large,
            quick=True),
        Row("start", "exec to the first answer; memory when idle", [START, IDLE], measure_start,
            quick=True),
    ]
