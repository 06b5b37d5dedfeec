"""The rows of a container of very many blobs, of the store it is in, and of its end.

Blobs are numbered.  The number in a container stays what it is while it is measured: what is put
between them is deleted again, in bursts of one kind of request at a time.
"""

import dataclasses
import os
import re
import signal
import time

import bursts
import load
import sas
import steps
import tails
from measure import Goal, Sample, Workload
from rows import MIB, Row, guarded, say
from servers import BenchError, Zaffre
from steps import Cycle, Step, pieces_file

CONNECTIONS = 32
LOAD_CONNECTIONS = 64
LIST_CONNECTIONS = 4
BLOB_BYTES = 128
PAGE = 1000  # blobs whose numbers differ in the last three digits
BURST = 2048
FLAT = 1 / 1.5
STARTS = 3
START_MS_MAX = 1000
DELETE_MS_MAX = 100
WRITE_BUFFERS_MIB = 3 * 32
OTHER_MIB = 192  # code, stacks, connections, what the allocator has not given back
PUT_BLOB = ("x-ms-blob-type: BlockBlob",)


def cache_mib():
    """The size of the cache that the server chooses by itself (--cacheSize)."""
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(64, memory_bytes // 8 // MIB)


@dataclasses.dataclass
class Size:
    """The workloads at one number of blobs in the container."""

    blobs: int
    get: Workload
    put: Workload
    list: Workload
    delete: Workload

    def workloads(self):
        return [self.get, self.put, self.list, self.delete]

    def compare(self, few):
        for ours, theirs in zip(self.workloads(), few.workloads()):
            ours.compare(f"at {few.blobs:,}", theirs)

    def measure(self, server, plan):
        blob = ("blob", "random", 1, self.blobs, 1, 0)
        get = Cycle(server, "grown-get", CONNECTIONS, [
            Step("GET", sas.blob_target("b@{blob:9}"), 200,
                 contains=(1, f"Content-Length: {BLOB_BYTES}")),
        ], lets=[blob])
        get.run(cycles=self.blobs // steps.ROWS_PER_WARMING_READ)
        self.get.add(server.name, get.samples(plan))
        # A page of the blobs whose names begin with the same digits.
        self.list.add(server.name, Cycle(server, "grown-list", LIST_CONNECTIONS, [
            Step("GET", sas.container_target("comp=list&prefix=b@{page:6}"), 200,
                 contains=(PAGE, "</Blob>")),
        ], lets=[blob, ("page", "blob", PAGE, 0, 1, 0)]).samples(plan))
        # What is random follows from the number of the cycle, so both name the same blobs.
        name = f"b@{{blob:9}}-{self.blobs}-@{{number}}"
        samples = bursts.made_and_removed(
            server, plan,
            Cycle(server, "grown-put", CONNECTIONS, [put(name, pieces_of(server))], lets=[blob]),
            Cycle(server, "grown-delete", CONNECTIONS,
                  [Step("DELETE", sas.blob_target(name), 202)], lets=[blob]), BURST)
        self.put.add(server.name, samples["make"])
        self.delete.add(server.name, samples["remove"])


def size_of(blobs, few):
    """`few` is the size with which the others are compared."""
    goals = [Goal(f"at {few:,}", at_least=FLAT)] if blobs != few else []

    def workload(name, connections):
        return Workload(f"{name}, {connections} connections, container of {blobs:,} blobs", "/s",
                        list(goals))

    return Size(blobs, workload("Get Blob", CONNECTIONS), workload("Put Blob", CONNECTIONS),
                workload(f"List Blobs, page of {PAGE:,}", LIST_CONNECTIONS),
                workload("Delete Blob", CONNECTIONS))


def put(name, pieces):
    return Step("PUT", sas.blob_target(name), 201, headers=PUT_BLOB, pieces=pieces)


def pieces_of(server):
    return pieces_file(server, "grown", BLOB_BYTES, 64)


class Growth:
    """All workloads, and the order in which they are measured."""

    def __init__(self, sizes):
        self.sizes = [size_of(blobs, sizes[0]) for blobs in sizes]
        many = f"{sizes[-1]:,} blobs"
        self.memory = Workload(f"memory at the end, {many}, cache of {cache_mib():,} MiB", "MiB",
                               [Goal(at_most=cache_mib() + WRITE_BUFFERS_MIB + OTHER_MIB)])
        self.start, self.recover = (
            Workload(f"exec to first answer, slowest of {STARTS}, {many}, after {what}", "ms",
                     [Goal(at_most=START_MS_MAX)]) for what in ("writing", "a kill"))
        self.end = Workload(f"Delete Container of {many}, to its answer", "ms",
                            [Goal(at_most=DELETE_MS_MAX)])
        probe = f"1 KiB elsewhere, {tails.RATE:,}/s on {tails.CONNECTIONS} connections"
        self.before, self.during = (
            [Workload(f"p99 of {kind} {probe}, {when}", "ms", list(goals))
             for kind in ("GET", "PUT")]
            for when, goals in ((f"beside {many}", ()),
                                (f"while {many} are reclaimed", [Goal("before", at_least=0.5)])))
        self.during[0].goals.append(Goal(at_most=5))

    def workloads(self):
        return [*(workload for size in self.sizes for workload in size.workloads()), self.memory,
                self.start, self.recover, self.end, *self.before, *self.during]

    def measure(self, work, plan):
        with guarded("Zaffre", *self.workloads()), Zaffre(work) as server:
            server.create_container()
            loading = Cycle(server, "grown-load", LOAD_CONNECTIONS,
                            [put("b@{number:9}", pieces_of(server))])
            for size in self.sizes:
                say(f"container of {size.blobs:,} blobs: loading")
                began_at = time.perf_counter()
                count = size.blobs - loading.number
                loading.run(cycles=count)
                say(f"loaded {count / (time.perf_counter() - began_at):,.0f} a second; measuring")
                load.settle(server)
                size.measure(server, plan.brief())
            self.memory.add("Zaffre", [Sample(value=server.rss_bytes() / MIB)])
            demand_listed(server, self.sizes[-1].blobs)
            self.measure_starts(server)
            self.measure_end(server, plan)
        for size in self.sizes[1:]:
            size.compare(self.sizes[0])
        for before, during in zip(self.before, self.during):
            during.compare("before", before)

    def measure_starts(self, server):
        """Each time with a log to replay: what was written since the last table."""
        say(self.start.title)
        for workload, how in ((self.start, signal.SIGTERM), (self.recover, signal.SIGKILL)):
            slowest_ms = 0.0
            for turn in range(STARTS):
                writes = Cycle(server, f"unfinished-{turn}", CONNECTIONS,
                               [put(f"u{how.value}-{turn}-@{{number}}", pieces_of(server))])
                writes.run(seconds=1)
                server.halt(how)
                slowest_ms = max(slowest_ms, server.start_again() * 1000)
                server.expect_exists(f"u{how.value}-{turn}-{writes.number - 1}")
            workload.add("Zaffre", [Sample(value=slowest_ms)])

    def measure_end(self, server, plan):
        probe = tails.Probe(server)
        load.settle(server)
        probe.read(1)
        for workload, ask in zip(self.before, (probe.read, probe.write)):
            say(workload.title)
            workload.add("Zaffre", load.rounds(plan, lambda _, ask=ask: ask(plan.tail_sec)))
        say(self.end.title)
        began_at = time.perf_counter()
        server.demand(202, "DELETE", sas.container_target())
        self.end.add("Zaffre", [Sample(value=(time.perf_counter() - began_at) * 1000)])
        say(self.during[0].title)
        # By turns: the reclaiming may be over before both have had all their rounds.
        samples = [(probe.read(plan.tail_sec), probe.write(plan.tail_sec))
                   for _ in range(plan.rounds)]
        for workload, mine in zip(self.during, zip(*samples)):
            workload.add("Zaffre", list(mine))


def demand_listed(server, blobs):
    """Fail unless the last page of the container is what it should be."""
    listing = server.demand(200, "GET", sas.container_target(
        f"comp=list&prefix=b{(blobs - 1) // PAGE:06}"))
    names = re.findall(rb"<Name>b(\d{9})</Name>", listing)
    first = (blobs - 1) // PAGE * PAGE
    if [int(name) for name in names] != list(range(first, blobs)):
        raise BenchError(f"{server.name}: the last page has {len(names)} blobs")


def rows(plan):
    growth = Growth(plan.blobs)
    return [Row("blobs", "blobs, in containers of growing size", growth.workloads(),
                growth.measure)]
