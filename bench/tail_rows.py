"""The rows of the slowest small requests while the server has heavy work to do."""

import dataclasses

import load
import tails
import transfer
from measure import Goal, Workload
from rows import GIB, KIB, Row, guarded, say
from servers import Zaffre

MS_MAX = 5
SLOW_CLIENTS = 100
PUT_BYTES = 8 * KIB  # the most that travels inside the metadata: as much for RocksDB as can be
PUT_RATE = 4000  # in a second: a write buffer each second, a compaction every few
WRITE_ROUNDS = 5  # of twice the time: the slowest syncs of a disk are few and come in swarms
SMALL, LARGE = 40_000, 20_000  # blobs of a container that is deleted

PROBE = f"{tails.RATE:,}/s on {tails.CONNECTIONS} connections"


def workload(kind, meanwhile, *shown):
    return Workload(f"p99 of {kind} 1 KiB, {PROBE}, {meanwhile}", "ms",
                    [Goal(at_most=MS_MAX), *shown])


GET_ALONE = workload("GET", "alone")
GET_UPLOAD = workload("GET", "while 1 GiB is uploaded")
GET_COMPACTION = workload("GET", f"while {PUT_RATE:,} PUTs of 8 KiB/s are compacted")
GET_RECLAIM = workload("GET", f"while {SMALL + LARGE:,} blobs are reclaimed")
GET_SLOW = workload("GET", f"while {SLOW_CLIENTS} clients send slowly")
PUT_ALONE = workload("PUT", "alone")
PUT_SLOW = workload("PUT", f"while {SLOW_CLIENTS} clients send slowly", Goal("alone"))
WORKLOADS = [GET_ALONE, GET_UPLOAD, GET_COMPACTION, GET_RECLAIM, GET_SLOW, PUT_ALONE, PUT_SLOW]


def measure(work, plan):
    source = transfer.source_in(work, GIB)
    with guarded("Zaffre", *WORKLOADS), Zaffre(work) as server:
        server.create_container()
        probe = tails.Probe(server)
        with tails.uploads(server, source):
            measure_one(GET_UPLOAD, probe.read, plan)
        if plan.essential:
            return
        load.settle(server)
        measure_one(GET_ALONE, probe.read, plan)
        with tails.slow_bodies(server, SLOW_CLIENTS):
            measure_one(GET_SLOW, probe.read, plan)
        measure_writes(server, probe, plan)
        with tails.puts(server, PUT_BYTES, PUT_RATE) as puts:
            measure_one(GET_COMPACTION, lambda seconds: probe.read(seconds, puts), plan)
        measure_reclaim(server, probe, plan)


def measure_one(which, probe, plan):
    say(which.title)
    probe(1)
    which.add("Zaffre", load.rounds(plan, lambda _: probe(plan.tail_sec)))


def measure_writes(server, probe, plan):
    """In turn, because the p99 of a PUT is that of the disk's syncs, which has moods."""
    say(PUT_SLOW.title)
    plan = dataclasses.replace(plan, rounds=WRITE_ROUNDS, tail_sec=2 * plan.tail_sec)

    def one_pair(_):
        load.settle(server)
        alone = probe.write(plan.tail_sec)
        load.settle(server)
        with tails.slow_bodies(server, SLOW_CLIENTS):
            return alone, probe.write(plan.tail_sec)

    probe.write(1)
    alone, beside = load.rounds_of_several(plan, one_pair)
    PUT_ALONE.add("Zaffre", alone)
    PUT_SLOW.add_pairs("alone", beside, alone)


def measure_reclaim(server, probe, plan):
    say(GET_RECLAIM.title)
    waste = tails.Waste(server, SMALL, LARGE)

    def one_round(_):
        waste.fill()
        waste.delete()
        return probe.read(plan.tail_sec)

    GET_RECLAIM.add("Zaffre", load.rounds(plan, one_round))


def rows(plan):
    return [Row("tail", "the slowest small requests beside uploads, compactions, reclaiming and "
                "slow clients", [GET_UPLOAD] if plan.essential else WORKLOADS, measure,
                quick=True)]
