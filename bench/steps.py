"""Cycles of requests made by bench/load.c, whose later ones may use the answers of earlier ones.

The language of its scripts, and what may stand in @{...}, is described in load_script.h.
"""

import dataclasses
import json
import os
import subprocess

import load
import sas
from servers import BUILD, BenchError

BINARY = BUILD / "bench" / "load"
MASK = (1 << 64) - 1

# Random reads before reads are measured: one for so many rows.  A block of a table has about
# twenty, so that each is read a few times, and the cache holds what it can.
ROWS_PER_WARMING_READ = 5


@dataclasses.dataclass
class Step:
    """One request of a cycle, and what its answer must be."""

    method: str
    target: str
    status: int
    headers: tuple = ()  # "Name: value"
    pieces: tuple = None  # (file, bytes): the body is a piece of the file, one after the other
    template: str = None  # the body, with places
    once: bool = False  # per connection, before the measurement
    times: int = 1  # in each cycle
    contains: tuple = None  # (count, text) of the answer
    keep: tuple = ()  # (name, before, after) or (name, before) for up to the end of a line

    def lines(self, template_path):
        yield ("request", self.method, self.target, self.status)
        yield from (("header", header) for header in self.headers)
        if self.once:
            yield ("once",)
        if self.times != 1:
            yield ("times", self.times)
        if self.pieces:
            yield ("pieces", *self.pieces)
        if self.template is not None:
            template_path.write_text(self.template)
            yield ("template", template_path)
        if self.contains:
            yield ("contains", *self.contains)
        yield from (("keep", *keep) for keep in self.keep)


class Cycle:
    """Requests for one server.  Its cycles are numbered on from run to run."""

    def __init__(self, server, name, connections, steps, lets=(), lines=None):
        """Each of `lets` is (name, source, divide, modulo, times, plus); `lines` is a file that an
        earlier cycle saved, and the names of its fields."""
        self.server = server
        self.connections = connections
        self.number = 0  # of the next cycle
        self.last = None  # the summary of the last run
        self.path = server.directory.parent / f"{name}.script"
        common = (("header", f"Host: 127.0.0.1:{server.port}"),
                  ("header", f"x-ms-version: {sas.VERSION}"))
        text = [("let", *let) for let in lets]
        if lines is not None:
            text.append(("lines", *lines))
        for index, step in enumerate(steps):
            first, *rest = step.lines(self.path.with_suffix(f".body{index}"))
            text += [first, *common, *rest]
        self.path.write_text("\n".join("\t".join(map(str, line)) for line in text) + "\n")

    def command(self, seconds, cycles, *more):
        words = [BINARY, "--port", self.server.port, "--connections", self.connections,
                 "--seconds", seconds, "--cycles", cycles, "--first", self.number, *more, self.path]
        return [str(word) for word in words]

    def run(self, seconds=0, cycles=0, save=None, rate=None):
        """Go through the cycle for some seconds or so often; returns the generator's summary.

        What the cycles keep of their answers can be saved in a file.  With a rate so many cycles
        begin in a second, whatever the earlier ones take.
        """
        command = self.command(seconds, cycles, *(("--save", save) if save else ()),
                               *(("--rate", rate) if rate else ()))
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              errors="replace", check=False)
        if done.returncode:
            raise BenchError(f"{self.path.stem} on {self.server.name}: {done.stderr.strip()}\n"
                             f"{self.server.log_text()}")
        summary = json.loads(done.stdout)
        self.number = summary["next"]
        self.last = summary
        return summary

    def samples(self, plan, cycles=0, per_cycle=1.0):
        """Warm up, then a sample per round of the plan, of `per_cycle` times the rate of cycles."""

        def one_round(_):
            sample, _ = load.observe(self.server,
                                     lambda: self.run(0 if cycles else plan.seconds, cycles))
            sample.value *= per_cycle
            return sample

        self.run(plan.warm_up_sec, cycles)
        return load.rounds(plan, one_round)


def random_of(number):
    """What `random` gives at its first use in the cycle with this number."""
    bits = (number + 0x9E3779B97F4A7C15) & MASK
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB & MASK
    return bits ^ (bits >> 31)


def pieces_file(server, name, size_bytes, count):
    """Random bytes for bodies; returns what a Step takes for its pieces."""
    path = server.directory.parent / f"{name}.pieces"
    path.write_bytes(os.urandom(size_bytes * count))
    return path, size_bytes


def piece(pieces, index):
    """The index-th piece, as the generator counts them."""
    path, size_bytes = pieces
    with open(path, "rb") as file:
        file.seek(index % (os.path.getsize(path) // size_bytes) * size_bytes)
        return file.read(size_bytes)
