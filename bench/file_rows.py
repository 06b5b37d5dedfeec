"""The rows of the file service.

Files are numbered, and lie in directories of up to 100,000.  The number of files in a share stays
what it is while it is measured: what is created between them is deleted again, in bursts of one
kind of request at a time.  There is no other emulator of this service; shares of many files are
compared with one of few, and ranges in a row with dd.
"""

import dataclasses
import random

import bursts
import load
import sas
import transfer
from measure import Goal, Sample, Workload
from rows import GIB, KIB, MIB, Row, guarded, say
from servers import BenchError, Zaffre
from steps import Cycle, Step, piece, pieces_file, random_of

SHARE = sas.CONTAINER  # where transfer.py downloads from, too
CONNECTIONS = 32
RANGE_BYTES = 4 * KIB
LARGE_BYTES = 4 * MIB  # of a range: the most that Put Range takes
FILE_BYTES = 256
DIRECTORY = 100_000  # files in one, at most
PAGE = 1000  # files whose numbers differ in the last three digits
LIST_CONNECTIONS = 4
BURST = 2048  # files created and deleted again
SNAPSHOTS = 10  # in a round: a share takes 200
READ_BACK = 25  # ranges compared byte for byte after a run
FLAT = 1 / 1.5

RANGE = Workload("file: Put Range 4 KiB, random in 1 GiB, 32 connections", "/s",
                 [Goal(at_least=15_000)])
LARGE = Workload("file: 1 GiB in Put Ranges of 4 MiB, one after the other", "MiB/s",
                 [Goal("dd", at_least=0.6)])


def create_share(server, share):
    server.demand(201, "PUT", sas.target(share, "restype=share"))


def create_file(server, name, size_bytes):
    server.demand(201, "PUT", sas.target(f"{SHARE}/{name}"),
                  headers={"x-ms-type": "file", "x-ms-content-length": str(size_bytes)})


def creation(path, size_bytes):
    return Step("PUT", sas.target(path), 201,
                headers=("x-ms-type: file", f"x-ms-content-length: {size_bytes}"))


def put_range(path, pieces, first="0", last=FILE_BYTES - 1):
    return Step("PUT", sas.target(path, "comp=range"), 201, pieces=pieces,
                headers=("x-ms-write: update", f"x-ms-range: bytes={first}-{last}"))


# --- ranges of one file ---

def measure_range(work, plan):
    say(RANGE.title)
    with guarded("Zaffre", RANGE), Zaffre(work, "file") as server:
        create_share(server, SHARE)
        create_file(server, "random", GIB)
        pieces = pieces_file(server, "range", RANGE_BYTES, 64)
        cycle = Cycle(server, "range", CONNECTIONS, [
            put_range(f"{SHARE}/random", pieces, "@{first}", "@{last}"),
        ], lets=[("first", "random", 1, GIB // RANGE_BYTES, RANGE_BYTES, 0),
                 ("last", "first", 1, 0, 1, RANGE_BYTES - 1)])
        RANGE.add("Zaffre", cycle.samples(plan))
        expect_ranges(server, cycle.number, pieces)


def expect_ranges(server, writes, pieces):
    """Compare some ranges with what was written there; of two writers either may be the last."""
    writers = {}
    for number in range(writes):
        writers.setdefault(random_of(number) % (GIB // RANGE_BYTES), []).append(number)
    for index in random.sample(sorted(writers), min(READ_BACK, len(writers))):
        first = index * RANGE_BYTES
        found = server.demand(206, "GET", sas.target(f"{SHARE}/random"),
                              headers={"x-ms-range": f"bytes={first}-{first + RANGE_BYTES - 1}"})
        if found not in [piece(pieces, number) for number in writers[index]]:
            raise BenchError(f"{server.name}: range {index} is not what was written")


def measure_large(work, plan):
    say(LARGE.title)
    source = transfer.source_in(work, GIB)
    with guarded("Zaffre", LARGE), Zaffre(work, "file") as server:
        create_share(server, SHARE)
        ranges = GIB // LARGE_BYTES
        cycle = Cycle(server, "large", 1, [
            put_range(f"{SHARE}/large-@{{file}}", (source, LARGE_BYTES), "@{first}", "@{last}"),
        ], lets=[("file", "number", ranges, 0, 1, 0),
                 ("first", "number", 1, ranges, LARGE_BYTES, 0),
                 ("last", "first", 1, 0, 1, LARGE_BYTES - 1)])

        def write():
            name = f"large-{cycle.number // ranges}"
            create_file(server, name, GIB)
            load.settle(server)
            sample, _ = load.observe(server, lambda: cycle.run(cycles=ranges))
            sample.value *= LARGE_BYTES / MIB
            transfer.download(server, name, source, compare=True)
            server.demand(202, "DELETE", sas.target(f"{SHARE}/{name}"))
            return sample

        LARGE.add_pairs("dd", *transfer.in_turn(
            write, lambda: transfer.copy(server, source, work / "copy"), plan.large_rounds))


# --- many files ---

@dataclasses.dataclass
class Size:
    """The workloads at one number of files in a share of its own."""

    files: int
    create: Workload
    stat: Workload
    list: Workload
    delete: Workload
    snapshot: Workload

    def workloads(self):
        return [self.create, self.stat, self.list, self.delete, self.snapshot]

    def compare(self, few):
        for ours, theirs in zip(self.workloads(), few.workloads()):
            ours.compare(f"at {few.files:,}", theirs)

    # --- names ---

    @property
    def share(self):
        return f"files-{self.files}"

    def lets(self, source):
        """A file by its number, and its directory."""
        return [("file", source, 1, self.files, 1, 0), ("directory", "file", DIRECTORY, 0, 1, 0)]

    def path(self, name="f@{file:9}"):
        return f"{self.share}/d@{{directory:2}}/{name}"

    # --- the measurements ---

    def fill(self, server):
        create_share(server, self.share)
        for index in range((self.files - 1) // DIRECTORY + 1):
            server.demand(201, "PUT", sas.target(f"{self.share}/d{index:02}", "restype=directory"))
        Cycle(server, "fill", 2 * CONNECTIONS, [
            creation(self.path(), FILE_BYTES),
        ], lets=self.lets("number")).run(cycles=self.files)

    def measure(self, server, plan):
        self.stat.add(server.name, Cycle(server, "stat", CONNECTIONS, [
            Step("HEAD", sas.target(self.path()), 200,
                 contains=(1, f"Content-Length: {FILE_BYTES}")),
        ], lets=self.lets("random")).samples(plan))
        # A page of the files whose names begin with the same digits.
        self.list.add(server.name, Cycle(server, "list", LIST_CONNECTIONS, [
            Step("GET", sas.target(f"{self.share}/d@{{directory:2}}",
                                   "restype=directory&comp=list&prefix=f@{page:6}"), 200,
                 contains=(PAGE, "</File>")),
        ], lets=[*self.lets("random"), ("page", "file", PAGE, 0, 1, 0)]).samples(plan))
        self.measure_bursts(server, plan)
        self.measure_snapshot(server, plan)

    def measure_bursts(self, server, plan):
        """Files made between those that are there, and deleted: as many bursts as fit a round."""
        # What is random follows from the number of the cycle, so both name the same files.
        name = self.path("f@{file:9}-@{number}")
        make = Cycle(server, "create", CONNECTIONS, [creation(name, FILE_BYTES)],
                     lets=self.lets("random"))
        remove = Cycle(server, "delete", CONNECTIONS, [
            Step("DELETE", sas.target(name), 202),
        ], lets=self.lets("random"))

        samples = bursts.made_and_removed(server, plan, make, remove, BURST)
        self.create.add(server.name, samples["make"])
        self.delete.add(server.name, samples["remove"])

    def measure_snapshot(self, server, plan):
        samples = Cycle(server, "snapshot", 1, [
            Step("PUT", sas.target(self.share, "restype=share&comp=snapshot"), 201),
        ]).samples(plan, cycles=SNAPSHOTS)
        self.snapshot.add(server.name, [
            Sample(**{**vars(sample), "value": sample.p50_us / 1000}) for sample in samples])


def size_of(files, few):
    """`few` is the size with which the others are compared."""
    goals = [Goal(f"at {few:,}", at_least=FLAT)] if files != few else []

    def workload(name, connections, unit="/s"):
        return Workload(f"file: {name}, {connections} connection{'s' * (connections > 1)}, "
                        f"{files:,} files", unit, list(goals))

    return Size(files, workload("Create File", CONNECTIONS),
                workload("Get File Properties", CONNECTIONS),
                workload(f"List Directories and Files, page of {PAGE:,}", LIST_CONNECTIONS),
                workload("Delete File", CONNECTIONS), workload("Snapshot Share", 1, "ms"))


class Files:
    """All sizes, and the order in which they are measured."""

    def __init__(self, sizes):
        self.sizes = [size_of(files, sizes[0]) for files in sizes]

    def workloads(self):
        return [workload for size in self.sizes for workload in size.workloads()]

    def measure(self, work, plan):
        with guarded("Zaffre", *self.workloads()), Zaffre(work, "file") as server:
            for size in self.sizes:
                say(f"share of {size.files:,} files: {server.name}")
                size.fill(server)
                load.settle(server)
                size.measure(server, plan.brief())
        for size in self.sizes[1:]:
            size.compare(self.sizes[0])


def rows(plan):
    files = Files(plan.files)
    return [
        Row("range", "Put Range at random offsets", [RANGE], measure_range),
        Row("ranges", "1 GiB in Put Ranges one after the other", [LARGE], measure_large),
        Row("file", "files, in shares of growing size", files.workloads(), files.measure),
    ]
