"""What a row of the benchmark is, and how long and how often it is measured."""

import contextlib
import dataclasses
import sys
import typing

from servers import BenchError, NotServed

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30


def say(text):
    print(text, file=sys.stderr, flush=True)


@dataclasses.dataclass
class Plan:
    """How long, how often and how much."""

    warm_up_sec: float
    seconds: float  # of a round; whole ones where wrk is the generator
    rounds: int
    repeats: int = 0  # of disturbed rounds, at most
    large_rounds: int = 0  # of transfers of 1 GiB
    starts: int = 0
    slow_starts: int = 0  # of Azurite
    block_blobs: int = 0  # of 64 MiB, uploaded in a round
    depths: tuple = ()  # of the queue, in messages
    blobs: tuple = ()  # in the container: few, many
    entities: tuple = ()  # in the table: few, many
    files: tuple = ()  # in the share: few, many
    tail_sec: float = 0.0  # of a round of a tail: 1,000 requests a second
    essential: bool = False  # only what most goals are about
    brief_sec: tuple = ()  # warm-up and round, where the generator is our own

    def brief(self):
        """The same with the shorter rounds of the rows that are many."""
        warm_up_sec, seconds = self.brief_sec
        return dataclasses.replace(self, warm_up_sec=warm_up_sec, seconds=seconds)


FULL = Plan(warm_up_sec=2, seconds=4, rounds=3, repeats=4, large_rounds=7, starts=15,
            slow_starts=3, block_blobs=16, depths=(1000, 1_000_000), blobs=(10_000, 1_000_000),
            entities=(10_000, 1_000_000), files=(10_000, 1_000_000), tail_sec=4,
            brief_sec=(1, 2.5))
QUICK = Plan(warm_up_sec=1, seconds=1, rounds=2, large_rounds=3, starts=5, slow_starts=1,
             block_blobs=4, depths=(1000, 10_000), blobs=(10_000, 50_000),
             entities=(10_000, 50_000), files=(10_000, 20_000), tail_sec=1.5, essential=True,
             brief_sec=(0.2, 0.5))
GROWTH = 10_000_000  # blobs, and entities, of a run with --growth


@dataclasses.dataclass
class Row:
    """A part of the run that --only can name: it measures some workloads, for all programs."""

    name: str
    about: str
    workloads: list
    measure: typing.Callable  # of the directory to work in and the plan
    quick: bool = False  # part of a quick run too


@contextlib.contextmanager
def guarded(program, *workloads):
    """What goes wrong inside fails these workloads for the program and lets the run go on."""
    try:
        yield
    except NotServed as why:
        say(str(why))
        for workload in workloads:
            workload.absent.add(program)
    except BenchError as error:
        say(f"{program}: {error}")
        for workload in workloads:
            if program not in workload.measures:
                workload.fail(program, str(error))
