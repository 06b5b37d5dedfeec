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
import queue_rows
import report
import steps
import table_rows
from rows import FULL, QUICK, say
from servers import BUILD, ROOT, Azurite, BenchError, Zaffre, machine_busy_sec

DOCUMENT = ROOT / "docs" / "benchmarks.md"


def rows_of(plan):
    return [row for module in (basic_rows, blob_rows, queue_rows, table_rows, file_rows)
            for row in module.rows(plan)]


def others_load():
    """The part of the processors in use while this program does nothing."""
    before = machine_busy_sec()
    time.sleep(2)
    return (machine_busy_sec() - before) / 2 / os.cpu_count()


def check_tools():
    for tool in ("wrk", "nginx", "node", "dd"):
        if shutil.which(tool) is None:
            raise BenchError(f"{tool} is missing; script/bench installs it")
    for file in (Zaffre.binary, Azurite.package, basic_rows.BARE_ENGINE, steps.BINARY):
        if not file.exists():
            raise BenchError(f"{file} is missing; script/bench makes it")
    options = report.build_options(BUILD)
    if options is not None and options[1] not in ("none", []):
        raise BenchError(f"{Zaffre.binary} is built with sanitizers: {options[1]}")


def selected(rows, patterns):
    """The rows that were asked for, in their order; all of them without a pattern."""
    for pattern in patterns:
        if not any(fnmatch.fnmatch(row.name, pattern) for row in rows):
            raise BenchError(f"--only {pattern}: there is no such row; --help names them")
    return [row for row in rows
            if not patterns or any(fnmatch.fnmatch(row.name, pattern) for pattern in patterns)]


def wrong(workloads):
    """The titles of the workloads with a goal missed or a program that failed."""
    return [workload.title for workload in workloads
            if workload.failures or any(workload.met(goal) is False for goal in workload.goals)]


def parse_arguments():
    names = "\n".join(f"  {row.name:<14}{row.about}" for row in rows_of(FULL))
    parser = argparse.ArgumentParser(
        prog="script/bench", description=__doc__, epilog=f"rows:\n{names}",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true",
                        help="shorter and fewer rounds; only prints the tables")
    parser.add_argument("--only", metavar="NAMES", action="append", default=[],
                        help="measure these rows, separated by commas (queue* is a pattern); "
                             "only prints the tables")
    parser.add_argument("--messages", metavar="N", type=int,
                        help=f"the greatest depth of a queue (default {FULL.depths[-1]:,}, "
                             f"quick {QUICK.depths[-1]:,})")
    parser.add_argument("--entities", metavar="N", type=int,
                        help=f"the greatest number of entities in a table (default "
                             f"{FULL.entities[-1]:,}, quick {QUICK.entities[-1]:,})")
    parser.add_argument("--files", metavar="N", type=int,
                        help=f"the greatest number of files in a share (default "
                             f"{FULL.files[-1]:,}, quick {QUICK.files[-1]:,})")
    arguments = parser.parse_args()
    if arguments.messages is not None and arguments.messages < FULL.depths[0]:
        parser.error(f"--messages: at least {FULL.depths[0]:,}")
    if arguments.entities is not None and arguments.entities <= FULL.entities[0]:
        parser.error(f"--entities: more than {FULL.entities[0]:,}")
    if arguments.files is not None and (arguments.files <= FULL.files[0] or
                                        arguments.files % file_rows.PAGE):
        parser.error(f"--files: more than {FULL.files[0]:,}, and whole thousands")
    return arguments


def plan_of(arguments):
    """The plan, and whether it is the one whose results are published."""
    plan = QUICK if arguments.quick else FULL
    if arguments.messages is not None:
        shallower = [depth for depth in plan.depths[:-1] if depth < arguments.messages]
        plan = dataclasses.replace(plan, depths=(*shallower, arguments.messages))
    if arguments.entities is not None:
        plan = dataclasses.replace(plan, entities=(plan.entities[0], arguments.entities))
    if arguments.files is not None:
        plan = dataclasses.replace(plan, files=(plan.files[0], arguments.files))
    return plan, not arguments.quick and not arguments.only


def main():
    arguments = parse_arguments()
    patterns = [name for names in arguments.only for name in names.split(",")]
    plan, publish = plan_of(arguments)
    try:
        rows = selected(rows_of(plan), patterns)
        workloads = [workload for row in rows for workload in row.workloads]
        check_tools()
        other_load = others_load()
        if other_load > 0.05:
            say(f"warning: others use {other_load:.0%} of the processors; "
                "the numbers will not be good")
        # Beside the project, not in /tmp, which is often memory: what is synced must reach a disk.
        with tempfile.TemporaryDirectory(prefix="bench-", dir=BUILD) as work:
            for row in rows:
                row.measure(pathlib.Path(work), plan)
        command = " ".join(["script/bench", *sys.argv[1:]])
        text = report.document(workloads, report.circumstances(ROOT, command, other_load))
        print(text)
        if publish:
            report.write(DOCUMENT, text)
            say(f"wrote {DOCUMENT.relative_to(ROOT)}")
    except BenchError as error:
        sys.exit(f"script/bench: {error}")
    if wrong(workloads):
        sys.exit("script/bench: failed or missed its goal: " + "; ".join(wrong(workloads)))


if __name__ == "__main__":
    main()
