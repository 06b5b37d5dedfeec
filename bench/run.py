#!/usr/bin/env python3
"""Measure Zaffre beside Azurite, nginx, dd and the bare engine; see README.md here."""

import argparse
import dataclasses
import fnmatch
import os
import pathlib
import shutil
import sys
import tempfile
import time

import basic_rows
import blob_rows
import file_rows
import growth_rows
import queue_rows
import report
import security_rows
import steps
import table_rows
import tail_rows
from rows import FULL, GROWTH, QUICK, say
from servers import BUILD, ROOT, Azurite, BenchError, Zaffre, machine_busy_sec

DOCUMENT = ROOT / "docs" / "benchmarks.md"

# Flags that say how large something grows, and the fields of the plan they change.
SIZES = {"blobs": "blobs", "entities": "entities", "files": "files", "messages": "depths"}
GROWING = ["blobs", "table"]  # the rows of --growth; the others grow in every run

# Where results are published: the marks around them, and the command in the first mark.
FULL_PART = ("measured", "script/bench")
GROWTH_PART = ("growth", "script/bench --growth")


def rows_of(plan):
    return [row for module in (basic_rows, security_rows, blob_rows, queue_rows, table_rows,
                               file_rows, tail_rows, growth_rows)
            for row in module.rows(plan)]


def others_load():
    """The part of the processors in use while this program does nothing."""
    before = machine_busy_sec()
    time.sleep(2)
    return (machine_busy_sec() - before) / 2 / os.cpu_count()


def check_tools():
    for tool in ("wrk", "nginx", "node", "openssl", "dd"):
        if shutil.which(tool) is None:
            raise BenchError(f"{tool} is missing; script/bench installs it")
    for file in (Zaffre.binary, Azurite.package, basic_rows.BARE_ENGINE, security_rows.AUTH_COST,
                 steps.BINARY):
        if not file.exists():
            raise BenchError(f"{file} is missing; script/bench makes it")
    options = report.build_options(BUILD)
    if options is not None and options[1] not in ("none", []):
        raise BenchError(f"{Zaffre.binary} is built with sanitizers: {options[1]}")


def selected(rows, patterns, quick):
    """The rows that were asked for, in their order; without a pattern all, or the quick ones."""
    for pattern in patterns:
        if not any(fnmatch.fnmatch(row.name, pattern) for row in rows):
            raise BenchError(f"--only {pattern}: there is no such row; --help names them")
    if not patterns:
        return [row for row in rows if row.quick or not quick]
    return [row for row in rows
            if any(fnmatch.fnmatch(row.name, pattern) for pattern in patterns)]


def wrong(workloads):
    """The titles of the workloads with a goal missed or a program that failed."""
    return [workload.title for workload in workloads
            if workload.failures or any(workload.met(goal) is False for goal in workload.goals)]


def parse_arguments():
    names = "\n".join(f"  {row.name:<10}{'*' if row.quick else ' '} {row.about}"
                      for row in rows_of(FULL))
    parser = argparse.ArgumentParser(
        prog="script/bench", description=__doc__,
        epilog=f"rows (* part of a quick run without --only):\n{names}",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true",
                        help="shorter and fewer rounds, fewer rows; only prints the tables")
    parser.add_argument("--growth", action="store_true",
                        help=f"{GROWTH:,} blobs and entities instead of a million; only their "
                             "rows; writes tables of their own")
    parser.add_argument("--only", metavar="NAMES", action="append", default=[],
                        help="measure these rows, separated by commas (queue* is a pattern); "
                             "only prints the tables")
    parser.add_argument("--messages", metavar="N", type=int,
                        help=f"the greatest depth of a queue (default {FULL.depths[-1]:,}, "
                             f"quick {QUICK.depths[-1]:,})")
    parser.add_argument("--blobs", metavar="N", type=int,
                        help=f"the greatest number of blobs in a container (default "
                             f"{FULL.blobs[-1]:,}, quick {QUICK.blobs[-1]:,})")
    parser.add_argument("--entities", metavar="N", type=int,
                        help=f"the greatest number of entities in a table (default "
                             f"{FULL.entities[-1]:,}, quick {QUICK.entities[-1]:,})")
    parser.add_argument("--files", metavar="N", type=int,
                        help=f"the greatest number of files in a share (default "
                             f"{FULL.files[-1]:,}, quick {QUICK.files[-1]:,})")
    arguments = parser.parse_args()
    for name, field in SIZES.items():
        count, least = getattr(arguments, name), getattr(FULL, field)[0]
        if count is not None and (count <= least or count % 1000):
            parser.error(f"--{name}: more than {least:,}, and whole thousands")
    return arguments


def plan_of(arguments):
    """The plan, and the part of the document where its results are published, or None."""
    plan = QUICK if arguments.quick else FULL
    if arguments.growth:
        plan = dataclasses.replace(FULL, blobs=(FULL.blobs[0], GROWTH),
                                   entities=(FULL.entities[0], GROWTH))
    for name, field in SIZES.items():
        count = getattr(arguments, name)
        if count is not None:
            plan = dataclasses.replace(plan, **{field: (getattr(plan, field)[0], count)})
    if arguments.quick or arguments.only:
        return plan, None
    return plan, GROWTH_PART if arguments.growth else FULL_PART


def measure(rows, work, plan):
    for row in rows:
        began_at = time.perf_counter()
        row.measure(work, plan)
        say(f"{row.name} took {time.perf_counter() - began_at:.0f} s")


def main():
    arguments = parse_arguments()
    patterns = [name for names in arguments.only for name in names.split(",")]
    if arguments.growth and not patterns:
        patterns = GROWING
    plan, part = plan_of(arguments)
    began_at = time.perf_counter()
    try:
        rows = selected(rows_of(plan), patterns, arguments.quick)
        workloads = [workload for row in rows for workload in row.workloads]
        check_tools()
        other_load = others_load()
        if other_load > 0.05:
            say(f"warning: others use {other_load:.0%} of the processors; "
                "the numbers will not be good")
        # Beside the project, not in /tmp, which is often memory: what is synced must reach a disk.
        with tempfile.TemporaryDirectory(prefix="bench-", dir=BUILD) as work:
            measure(rows, pathlib.Path(work), plan)
        command = " ".join(["script/bench", *sys.argv[1:]])
        took_sec = time.perf_counter() - began_at
        text = report.document(workloads, report.circumstances(ROOT, command, took_sec, other_load))
        print(text)
        if part is not None:
            report.write(DOCUMENT, text, *part)
            say(f"wrote {DOCUMENT.relative_to(ROOT)}")
    except BenchError as error:
        sys.exit(f"script/bench: {error}")
    if wrong(workloads):
        sys.exit("script/bench: failed or missed its goal: " + "; ".join(wrong(workloads)))


if __name__ == "__main__":
    main()
