"""The rows of the foundation: start, small blobs, one large blob."""

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
                  [Goal("Azurite", at_least=30), Goal("nginx", at_least=0.7),
                   Goal("nginx-open-files")])
PUT_32 = Workload("PUT 1 KiB, SAS, durable, 32 connections", "/s",
                  [Goal("Azurite", at_least=25), Goal("bare engine")])
PUT_64 = Workload("PUT 1 KiB, SAS, durable, 64 connections", "/s",
                  [Goal("Azurite"), Goal("bare engine")])
UPLOAD = Workload("PUT 1 GiB, one request", "MiB/s", [Goal("dd", at_least=0.7), Goal("Azurite")])
DOWNLOAD = Workload("GET 1 GiB", "MiB/s", [Goal("nginx", at_least=0.8), Goal("Azurite")])


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
    for kind in (Zaffre, Nginx, NginxCached, Azurite):
        say(f"{GET_32.title}: {kind.name}")
        with guarded(kind.name, GET_32), kind(work) as server:
            server.create_container()
            GET_32.add(kind.name, load.get(server, KIB, 1000, 32, plan))


def measure_put(work, plan):
    for workload, connections in ((PUT_32, 32), (PUT_64, 64)):
        for kind in (Zaffre, Azurite):
            say(f"{workload.title}: {kind.name}")
            with guarded(kind.name, workload), kind(work) as server:
                server.create_container()
                workload.add(kind.name, load.put(server, KIB, connections, plan))
        say(f"{workload.title}: bare engine")
        with guarded("bare engine", workload):
            directory = work / "bare"
            workload.add("bare engine",
                         load.bare_engine(BARE_ENGINE, directory, connections, plan))
            shutil.rmtree(directory)


def measure_large(work, plan):
    say("transfers of 1 GiB")
    source = transfer.source_in(work, GIB)
    with guarded("Zaffre", UPLOAD, DOWNLOAD), Zaffre(work) as server:
        server.create_container()
        uploaded, copied = transfer.uploads_and_copies(server, source, work / "copy",
                                                       plan.large_rounds)
        UPLOAD.add("Zaffre", uploaded)
        UPLOAD.add("dd", copied)
        DOWNLOAD.add("Zaffre", transfer.downloads(server, "large-0", source, plan.large_rounds))
    with guarded("nginx", DOWNLOAD), Nginx(work) as server:
        shutil.copyfile(source, server.path("large-0"))
        DOWNLOAD.add("nginx", transfer.downloads(server, "large-0", source, plan.large_rounds))
    with guarded("Azurite", UPLOAD, DOWNLOAD), Azurite(work) as server:
        server.create_container()
        UPLOAD.add("Azurite", transfer.uploads(server, source, 1))
        DOWNLOAD.add("Azurite", transfer.downloads(server, "large-0", source, 1))


def rows(_):
    return [
        Row("get", "Get Blob of 1 KiB", [GET_32], measure_get),
        Row("put", "Put Blob of 1 KiB at 32 and 64 connections", [PUT_32, PUT_64], measure_put),
        Row("large", "Put Blob and Get Blob of 1 GiB", [UPLOAD, DOWNLOAD], measure_large),
        Row("start", "exec to the first answer; memory when idle", [START, IDLE], measure_start),
    ]
