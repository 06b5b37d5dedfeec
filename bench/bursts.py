"""Bursts: some requests of one kind, then of another, so that what is stored stays what it is."""

import statistics
import time

import load
from measure import Sample


def rounds(server, plan, burst, seconds):
    """Rounds of bursts, as many in each as fit into the seconds.

    `burst()` returns a dictionary of samples, one for each kind of request; so does this, of lists
    with a sample for each round.
    """
    burst()
    kinds = None

    def one_round(_):
        nonlocal kinds
        others = load.Others()
        before_sec = server.cpu_sec()
        ends_at = time.perf_counter() + seconds
        bursts = [burst()]
        while time.perf_counter() < ends_at:
            bursts.append(burst())
        part = others.part(server.cpu_sec() - before_sec)
        kinds = list(bursts[0])
        return [merged([each[kind] for each in bursts], part) for kind in kinds]

    samples = load.rounds_of_several(plan, one_round)
    return {kind: list(mine) for kind, mine in zip(kinds, samples)}


def merged(samples, others):
    """One sample of bursts of equal size: the rate of all together, the middle of the rest."""
    def middle(field):
        return statistics.median(getattr(sample, field) for sample in samples)

    return Sample(value=statistics.harmonic_mean([sample.value for sample in samples]),
                  p50_us=middle("p50_us"), p99_us=middle("p99_us"),
                  cpu_us=statistics.mean(sample.cpu_us for sample in samples),
                  rss_bytes=samples[-1].rss_bytes, others=others)


def made_and_removed(server, plan, make, remove, count):
    """Rounds of bursts of a cycle that makes things and one that removes the same."""
    def burst():
        return {name: load.observe(server, lambda: cycle.run(cycles=count))[0]
                for name, cycle in (("make", make), ("remove", remove))}

    return rounds(server, plan, burst, plan.seconds)
