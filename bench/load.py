"""Loads of many small requests, made by wrk, and of the bare engine; every answer is checked."""

import json
import os
import pathlib
import resource
import subprocess
import time

import sas
from measure import OTHERS_MAX, Sample
from servers import BenchError, machine_busy_sec

HERE = pathlib.Path(__file__).resolve().parent
WRK_THREADS = 2
PAYLOADS = 64  # different ones, so that neighbours in a block do not compress each other away
ERRORS = ("connect", "read", "write", "status", "timeout", "unexpected")
READ_BACK = 25  # blobs compared byte for byte after a round
SETTLE_TRIES = 100  # tenths of a second to wait for a server's work in the background


def payloads_of(size_bytes):
    return [os.urandom(size_bytes) for _ in range(PAYLOADS)]


def wrk(server, script, connections, seconds, arguments, strict_status=""):
    """One run of wrk; returns its summary.  Any answer but a success fails the run.

    With `strict_status` every answer must have exactly that one, which costs the generator a
    tenth more and so is for warming up; else wrk's own count of statuses from 400 on is used.
    """
    command = ["wrk", "-t", WRK_THREADS, "-c", connections, "-d", f"{seconds}s",
               "--timeout", "30s", "-s", HERE / script, server.url(),
               "--", strict_status, *arguments]
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    try:
        summary = json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        raise BenchError(f"wrk on {server.name}: {done.stdout}\n{server.log_text()}") from None
    wrong = {kind: summary[kind] for kind in ERRORS if summary[kind]}
    if wrong or not summary["requests"]:
        raise BenchError(f"{server.name}, {script}, {connections} connections: "
                         f"{summary['requests']} requests with errors {wrong}\n"
                         f"{server.log_text()}")
    return summary


class Others:
    """What programs other than the measured ones take of the processors, from now on."""

    def __init__(self):
        self.started = time.perf_counter()
        self.busy_sec = machine_busy_sec()
        self.own_sec = own_cpu_sec()

    def part(self, server_sec=0.0):
        """As a part of all processors, without the server, this and the generators it ran."""
        own_sec = server_sec + own_cpu_sec() - self.own_sec
        elapsed_sec = time.perf_counter() - self.started
        others_sec = machine_busy_sec() - self.busy_sec - own_sec
        return max(0.0, others_sec / elapsed_sec / os.cpu_count())


def own_cpu_sec():
    """Of this process and of its children that have ended."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def rounds(plan, measure):
    """Samples of `measure(turn)`: the least disturbed ones, when some had to be repeated."""
    return rounds_of_several(plan, lambda turn: (measure(turn),))[0]


def rounds_of_several(plan, measure):
    """The same where `measure(turn)` gives several samples: a list for each, whose n-th belong
    together."""
    turns = []
    quiet_count = 0
    while quiet_count < plan.rounds and len(turns) < plan.rounds + plan.repeats:
        turns.append(measure(len(turns) + 1))
        quiet_count += disturbance(turns[-1]) <= OTHERS_MAX
    return list(zip(*sorted(turns, key=disturbance)[:plan.rounds]))


def disturbance(samples):
    return max(sample.others or 0.0 for sample in samples)


def settle(server=None):
    """Wait until nothing is left to be written, and the server does nothing by itself."""
    os.sync()
    for _ in range(SETTLE_TRIES):
        before_sec = server.cpu_sec() if server else 0.0
        time.sleep(0.1)
        if not server or server.cpu_sec() - before_sec <= 0.01:
            return


def observe(server, run):
    """One run of a generator, with the server's CPU time and memory beside it.

    `run` returns the generator's summary, which is returned with the sample made of it.
    """
    others = Others()
    written, cpu_sec = server.written_bytes(), server.cpu_sec()
    summary = run()
    cpu_sec = server.cpu_sec() - cpu_sec
    requests = summary["requests"]
    sample = Sample(value=requests / (summary["duration_us"] / 1e6),
                    p50_us=summary["p50_us"],
                    p99_us=summary["p99_us"],
                    cpu_us=cpu_sec * 1e6 / requests,
                    rss_bytes=server.rss_bytes(),
                    written_bytes=(server.written_bytes() - written) / requests,
                    others=others.part(cpu_sec))
    return sample, summary


def timed(server, script, connections, seconds, arguments):
    """One run of wrk, observed."""
    return observe(server, lambda: wrk(server, script, connections, seconds, arguments))


# --- loads: made and warmed up, then asked for a sample per round ---

class Gets:
    """GETs of `count` blobs by SAS."""

    def __init__(self, server, size_bytes, count, connections, plan):
        self.server = server
        self.size_bytes = size_bytes
        self.count = count
        self.connections = connections
        self.seconds = plan.seconds
        self.payloads = payloads_of(size_bytes)
        self.prefix = f"get-{size_bytes}-"
        self.arguments = [sas.blob_path(self.prefix), sas.account_sas(), count]
        server.store([f"{self.prefix}{index}" for index in range(count)], self.payloads)
        wrk(server, "get.lua", connections, plan.warm_up_sec, self.arguments, strict_status=200)

    def round(self, _):
        sample, summary = timed(self.server, "get.lua", self.connections, self.seconds,
                                self.arguments)
        if summary["bytes"] < summary["requests"] * self.size_bytes:
            raise BenchError(f"{self.server.name}: {summary['requests']} GETs of "
                             f"{self.size_bytes} bytes brought only {summary['bytes']} bytes")
        return sample

    def check(self):
        """Compare some of the blobs byte for byte."""
        for index in range(0, self.count, max(1, self.count // READ_BACK)):
            self.server.expect(f"{self.prefix}{index}", self.payloads[index % PAYLOADS])


class Puts:
    """Puts of new names by SAS."""

    def __init__(self, server, size_bytes, connections, plan):
        self.server = server
        self.size_bytes = size_bytes
        self.connections = connections
        self.seconds = plan.seconds
        self.payloads = payloads_of(size_bytes)
        self.file = server.directory.parent / "payloads"
        self.file.write_bytes(b"".join(self.payloads))
        summary = wrk(server, "put.lua", connections, plan.warm_up_sec, self.arguments(0),
                      strict_status=201)
        self.expect_stored(0, summary["least"])

    def prefix(self, turn):
        return f"put-{self.size_bytes}-{self.connections}-{turn}-"

    def arguments(self, turn):
        return [sas.blob_path(self.prefix(turn)), sas.account_sas(), self.file, self.size_bytes]

    def round(self, turn):
        sample, summary = timed(self.server, "put.lua", self.connections, self.seconds,
                                self.arguments(turn))
        self.expect_stored(turn, summary["least"])
        return sample

    def check(self):
        """Every round has been checked."""

    def expect_stored(self, turn, least):
        """Compare some of what a run of put.lua stored; every thread has made `least` requests.

        wrk makes the first request of one only to look at it, and the last may be unanswered.
        """
        sure = max(2, least - self.connections)
        for number in range(1, sure, max(1, sure // READ_BACK)):
            for thread in range(WRK_THREADS):
                self.server.expect(f"{self.prefix(turn)}{thread}-{number}",
                                   self.payloads[number % PAYLOADS])


class BareEngine:
    """Synced groups of RocksDB writes with no server around them."""

    def __init__(self, binary, directory, outstanding, plan):
        self.command = [binary, "--dir", directory, "--outstanding", str(outstanding), "--seconds"]
        self.seconds = plan.seconds
        self.run(plan.warm_up_sec)

    def run(self, seconds):
        others = Others()
        done = subprocess.run([*self.command, str(seconds)], stdout=subprocess.PIPE, text=True,
                              check=False)
        if done.returncode:
            raise BenchError(f"{self.command[0]} exited with {done.returncode}")
        result = json.loads(done.stdout)
        return Sample(value=result["updates_per_sec"], p50_us=result["p50_us"],
                      p99_us=result["p99_us"], cpu_us=result["cpu_us"],
                      rss_bytes=result["rss_bytes"], written_bytes=result["written_bytes"],
                      others=others.part())

    def round(self, _):
        return self.run(self.seconds)


def samples_of(loading, plan):
    samples = rounds(plan, loading.round)
    loading.check()
    return samples


def pairs_of(ours, theirs, plan):
    """Rounds of two loads in turn, each from a quiet machine; returns the samples of both."""

    def one_pair(turn):
        settle(ours.server)
        sample = ours.round(turn)
        settle(ours.server)
        return sample, theirs.round(turn)

    our_samples, their_samples = rounds_of_several(plan, one_pair)
    ours.check()
    return our_samples, their_samples


def get(server, size_bytes, count, connections, plan):
    return samples_of(Gets(server, size_bytes, count, connections, plan), plan)


def put(server, size_bytes, connections, plan):
    return samples_of(Puts(server, size_bytes, connections, plan), plan)
