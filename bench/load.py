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
    samples = []
    quiet_count = 0
    while quiet_count < plan.rounds and len(samples) < plan.rounds + plan.repeats:
        samples.append(measure(len(samples) + 1))
        quiet_count += samples[-1].others <= OTHERS_MAX
    return sorted(samples, key=lambda sample: sample.others)[:plan.rounds]


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


def get(server, size_bytes, count, connections, plan):
    """GETs of `count` blobs by SAS; returns one sample per round of the plan."""
    payloads = payloads_of(size_bytes)
    prefix = f"get-{size_bytes}-"
    server.store([f"{prefix}{index}" for index in range(count)], payloads)
    arguments = [f"/{sas.ACCOUNT}/{sas.CONTAINER}/{prefix}", sas.account_sas(), count]

    def one_round(_):
        sample, summary = timed(server, "get.lua", connections, plan.seconds, arguments)
        if summary["bytes"] < summary["requests"] * size_bytes:
            raise BenchError(f"{server.name}: {summary['requests']} GETs of {size_bytes} bytes "
                             f"brought only {summary['bytes']} bytes")
        return sample

    wrk(server, "get.lua", connections, plan.warm_up_sec, arguments, strict_status=200)
    samples = rounds(plan, one_round)
    for index in range(0, count, max(1, count // READ_BACK)):
        server.expect(f"{prefix}{index}", payloads[index % PAYLOADS])
    return samples


def put(server, size_bytes, connections, plan):
    """Puts of new names by SAS; returns one sample per round of the plan."""
    payloads = payloads_of(size_bytes)
    file = server.directory.parent / "payloads"
    file.write_bytes(b"".join(payloads))

    def prefix_of(turn):
        return f"put-{size_bytes}-{connections}-{turn}-"

    def arguments_of(turn):
        return [f"/{sas.ACCOUNT}/{sas.CONTAINER}/{prefix_of(turn)}", sas.account_sas(), file,
                size_bytes]

    def one_round(turn):
        sample, summary = timed(server, "put.lua", connections, plan.seconds, arguments_of(turn))
        expect_stored(server, prefix_of(turn), summary["requests"], payloads)
        return sample

    summary = wrk(server, "put.lua", connections, plan.warm_up_sec, arguments_of(0),
                  strict_status=201)
    expect_stored(server, prefix_of(0), summary["requests"], payloads)
    return rounds(plan, one_round)


def expect_stored(server, prefix, requests, payloads):
    """Compare some of what a run of put.lua stored.

    Its threads do not get equal shares, and wrk makes the first request of one only to look at it.
    """
    sure = max(2, requests // WRK_THREADS // 2)
    for number in range(1, sure, max(1, sure // READ_BACK)):
        for thread in range(WRK_THREADS):
            server.expect(f"{prefix}{thread}-{number}", payloads[number % PAYLOADS])


def bare_engine(binary, directory, outstanding, plan):
    """Synced groups of RocksDB writes with no server around them; the first run warms up."""

    def one_round(_, seconds=plan.seconds):
        others = Others()
        done = subprocess.run([binary, "--dir", directory, "--outstanding", str(outstanding),
                               "--seconds", str(seconds)],
                              stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise BenchError(f"{binary} exited with {done.returncode}")
        result = json.loads(done.stdout)
        return Sample(value=result["updates_per_sec"], p50_us=result["p50_us"],
                      p99_us=result["p99_us"], cpu_us=result["cpu_us"],
                      rss_bytes=result["rss_bytes"], written_bytes=result["written_bytes"],
                      others=others.part())

    one_round(0, plan.warm_up_sec)
    return rounds(plan, one_round)
