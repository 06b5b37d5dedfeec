#!/usr/bin/env python3
"""Measure Zaffre beside Azurite, nginx, dd and the bare engine; see README.md here."""

import argparse
import contextlib
import dataclasses
import os
import pathlib
import shutil
import sys
import tempfile
import time

import load
import report
import transfer
from measure import Goal, Sample, Workload
from servers import (BUILD, ROOT, Azurite, BenchError, Nginx, NginxCached, Zaffre,
                     machine_busy_sec)

BARE_ENGINE = BUILD / "bench" / "bare_engine"
DOCUMENT = ROOT / "docs" / "benchmarks.md"
KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30


@dataclasses.dataclass
class Plan:
    """How long and how often; the two plans measure the same things."""

    warm_up_sec: int
    seconds: int
    rounds: int
    repeats: int = 0  # of disturbed rounds, at most
    large_rounds: int = 0  # of transfers of 1 GiB
    starts: int = 0
    slow_starts: int = 0  # of Azurite


FULL = Plan(warm_up_sec=3, seconds=5, rounds=3, repeats=6, large_rounds=3, starts=15,
            slow_starts=3)
QUICK = Plan(warm_up_sec=1, seconds=2, rounds=2, large_rounds=1, starts=5, slow_starts=1)

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
WORKLOADS = [GET_32, PUT_32, PUT_64, UPLOAD, DOWNLOAD, START, IDLE]


def say(text):
    print(text, file=sys.stderr, flush=True)


# --- one program after the other ---

@contextlib.contextmanager
def row(program, *workloads):
    """What goes wrong inside fails these rows of the tables and lets the run go on."""
    try:
        yield
    except BenchError as error:
        say(f"{program}: {error}")
        for workload in workloads:
            if program not in workload.measures:
                workload.fail(program, str(error))


def measure_start(kind, work, rounds):
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


def measure_get(kind, work, plan):
    with kind(work) as server:
        server.create_container()
        GET_32.add(kind.name, load.get(server, KIB, 1000, 32, plan))


def measure_put(kind, work, plan, workload, connections):
    with kind(work) as server:
        server.create_container()
        workload.add(kind.name, load.put(server, KIB, connections, plan))


def measure_bare_engine(work, plan, workload, outstanding):
    directory = work / "bare"
    workload.add("bare engine", load.bare_engine(BARE_ENGINE, directory, outstanding, plan))
    shutil.rmtree(directory)


def measure_large(work, plan):
    source = work / "source"
    transfer.make_source(source, GIB)
    with row("Zaffre", UPLOAD, DOWNLOAD), Zaffre(work) as server:
        server.create_container()
        uploaded, copied = transfer.uploads_and_copies(server, source, work / "copy",
                                                       plan.large_rounds)
        UPLOAD.add("Zaffre", uploaded)
        UPLOAD.add("dd", copied)
        DOWNLOAD.add("Zaffre", transfer.downloads(server, "large-0", source, plan.large_rounds))
    with row("nginx", DOWNLOAD), Nginx(work) as server:
        shutil.copyfile(source, server.path("large-0"))
        DOWNLOAD.add("nginx", transfer.downloads(server, "large-0", source, plan.large_rounds))
    with row("Azurite", UPLOAD, DOWNLOAD), Azurite(work) as server:
        server.create_container()
        UPLOAD.add("Azurite", transfer.uploads(server, source, 1))
        DOWNLOAD.add("Azurite", transfer.downloads(server, "large-0", source, 1))
    source.unlink()


# --- the run ---

def others_load():
    """The part of the processors in use while this program does nothing."""
    before = machine_busy_sec()
    time.sleep(2)
    return (machine_busy_sec() - before) / 2 / os.cpu_count()


def check_tools():
    for tool in ("wrk", "nginx", "node", "dd"):
        if shutil.which(tool) is None:
            raise BenchError(f"{tool} is missing; script/bench installs it")
    for file in (Zaffre.binary, Azurite.package, BARE_ENGINE):
        if not file.exists():
            raise BenchError(f"{file} is missing; script/bench makes it")
    options = report.build_options(BUILD)
    if options is not None and options[1] not in ("none", []):
        raise BenchError(f"{Zaffre.binary} is built with sanitizers: {options[1]}")


def measure_all(work, plan):
    for kind in (Zaffre, Nginx, Azurite):
        say(f"start and memory when idle: {kind.name}")
        with row(kind.name, START, IDLE):
            measure_start(kind, work, plan.slow_starts if kind is Azurite else plan.starts)
    for kind in (Zaffre, Nginx, NginxCached, Azurite):
        say(f"{GET_32.title}: {kind.name}")
        with row(kind.name, GET_32):
            measure_get(kind, work, plan)
    for workload, count in ((PUT_32, 32), (PUT_64, 64)):
        for kind in (Zaffre, Azurite):
            say(f"{workload.title}: {kind.name}")
            with row(kind.name, workload):
                measure_put(kind, work, plan, workload, count)
        say(f"{workload.title}: bare engine")
        with row("bare engine", workload):
            measure_bare_engine(work, plan, workload, count)
    say("transfers of 1 GiB")
    measure_large(work, plan)


def wrong():
    """The titles of the workloads with a goal missed or a program that failed."""
    return [workload.title for workload in WORKLOADS
            if workload.failures or any(workload.met(goal) is False for goal in workload.goals)]


def main():
    parser = argparse.ArgumentParser(prog="script/bench", description=__doc__)
    parser.add_argument("--quick", action="store_true",
                        help="shorter and fewer rounds, under two minutes; docs/benchmarks.md "
                             "is left alone")
    arguments = parser.parse_args()
    command = "script/bench" + (" --quick" if arguments.quick else "")
    try:
        check_tools()
        other_load = others_load()
        if other_load > 0.05:
            say(f"warning: others use {other_load:.0%} of the processors; "
                "the numbers will not be good")
        # Beside the project, not in /tmp, which is often memory: what is synced must reach a disk.
        with tempfile.TemporaryDirectory(prefix="bench-", dir=BUILD) as work:
            measure_all(pathlib.Path(work), QUICK if arguments.quick else FULL)
        text = report.document(WORKLOADS, report.circumstances(ROOT, command, other_load))
        print(text)
        if not arguments.quick:
            report.write(DOCUMENT, text)
            say(f"wrote {DOCUMENT.relative_to(ROOT)}")
    except BenchError as error:
        sys.exit(f"script/bench: {error}")
    if wrong():
        sys.exit("script/bench: failed or missed its goal: " + "; ".join(wrong()))


if __name__ == "__main__":
    main()
