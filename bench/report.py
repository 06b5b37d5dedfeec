"""The tables, and the machine they were measured on, as Markdown."""

import datetime
import json
import os
import pathlib
import platform
import re

from measure import OTHERS_MAX, Goal
from servers import BUILD, Azurite, Nginx, Zaffre, output_of

MIB = 1 << 20


def unit_suffix(unit):
    return unit if unit == "/s" else f" {unit}"


def quantity(value, unit):
    """A number to three digits at least, with its unit."""
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:,.{digits}f}{unit_suffix(unit)}"


def with_spread(text, measure):
    return f"{text} ±{measure.spread:.0%}" if len(measure.samples) > 1 else text


def measured(workload, program):
    if program in workload.failures:
        return "**failed**"
    if program in workload.absent:
        return "n/a"
    measure = workload.beside(program)
    if measure is None:
        return "not measured"
    return with_spread(quantity(measure.median, workload.unit), measure)


def table(rows):
    """Rows of cells, the first being the heading, in columns of equal width."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |"
             for row in rows]
    lines.insert(1, "| " + " | ".join("-" * width for width in widths) + " |")
    return "\n".join(lines)


# --- the two tables ---

def without_repeats(rows, columns):
    """Name in the first row only what is the same in all of them."""
    return rows[:1] + [[""] * columns + row[columns:] for row in rows[1:]]


def limit_text(goal, unit):
    if goal.at_most is not None:
        return f"< {goal.at_most:,g}{unit_suffix(unit)}"
    if goal.at_least is not None:
        return f"≥ {goal.at_least:,g}{unit_suffix(unit)}"
    return ""


def goal_row(workload, goal):
    ours = measured(workload, "Zaffre")
    verdict = {True: "met", False: "**missed**", None: ""}[workload.met(goal)]
    if goal.beside is None:
        return [workload.title, ours, "", "", limit_text(goal, workload.unit), verdict]
    theirs = measured(workload, goal.beside)
    ratio = workload.ratio(goal.beside)
    return [workload.title, ours, f"{goal.beside} {theirs}",
            "" if ratio is None else f"{ratio:.3g}x",
            "" if goal.at_least is None else f"≥ {goal.at_least:.3g}x", verdict]


def ratios(workloads):
    rows = [["workload", "Zaffre", "beside", "ratio", "goal", ""]]
    for workload in workloads:
        goals = workload.goals or [Goal()]
        rows += without_repeats([goal_row(workload, goal) for goal in goals], 2)
    return table(rows)


def cell(value, scale=1.0, digits=0):
    return "" if value is None else f"{value / scale:,.{digits}f}"


def detail_row(workload, measure):
    return [workload.title, measure.program, measured(workload, measure.program),
            cell(measure.detail("p50_us"), 1000, 2), cell(measure.detail("p99_us"), 1000, 2),
            cell(measure.detail("cpu_us"), 1, 1), cell(measure.detail("rss_bytes"), MIB),
            cell(measure.detail("written_bytes")), cell(measure.detail("others"), 0.01)]


def details(workloads):
    rows = [["workload", "program", "median", "p50 ms", "p99 ms", "CPU µs/request", "memory MiB",
             "disk bytes/request", "others %"]]
    for workload in workloads:
        rows += without_repeats([detail_row(workload, measure)
                                 for measure in workload.measures.values()], 1)
    return table(rows)


# --- the circumstances ---

def first_line(path, pattern):
    found = re.search(pattern, pathlib.Path(path).read_text(), re.MULTILINE)
    return found[1].strip() if found else "unknown"


def file_system(path):
    """Kind of file system and device under a path, from the longest mount point above it."""
    best = ("", "unknown", "unknown")
    for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
        device, mount, kind = line.split()[:3]
        if (str(path) + "/").startswith(mount.rstrip("/") + "/") and len(mount) > len(best[0]):
            best = (mount, kind, device)
    return f"{best[1]} on {best[2]}"


def build_options(build):
    """Meson's build type and sanitizers of a build directory, or None when it is not one."""
    try:
        options = json.loads(output_of("meson", "introspect", str(build), "--buildoptions"))
    except ValueError:
        return None
    by_name = {option["name"]: option["value"] for option in options}
    return by_name["buildtype"], by_name["b_sanitize"]


def duration(seconds):
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} minutes"


def circumstances(root, command, took_sec, other_load):
    memory_kib = int(first_line("/proc/meminfo", r"^MemTotal:\s+(\d+)"))
    options = build_options(BUILD)
    zaffre = Zaffre.version() or "unknown"
    if options is not None:
        zaffre += f", meson build type {options[0]}"
    return "\n".join([
        f"- Command: `{command}`, which took {duration(took_sec)}",
        f"- Date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC",
        f"- Machine: {os.cpu_count()} x {first_line('/proc/cpuinfo', r'^model name.*: (.*)$')}, "
        f"{memory_kib / (1 << 20):.0f} GiB, Linux {platform.release()}, "
        f"{first_line('/etc/os-release', 'PRETTY_NAME=.(.*).$')}, {file_system(root)}",
        f"- Zaffre: {zaffre}",
        f"- Azurite: {Azurite.version()} under Node {output_of('node', '--version')}",
        f"- nginx: {Nginx.version()}",
        f"- wrk: {output_of('wrk', '--version').split(' [')[0].removeprefix('wrk ')}",
        f"- Others' use of the processors before the run: {other_load:.0%}",
    ])


def disturbed(workloads):
    """A line that names the measures during which others ran, or none."""
    rows = [f"{workload.title} ({measure.program})" for workload in workloads
            for measure in workload.measures.values()
            if (measure.detail("others") or 0) > OTHERS_MAX]
    if not rows:
        return ""
    return f"- **Disturbed by other programs, not to be trusted:** {'; '.join(rows)}\n"


def document(workloads, facts):
    return f"{facts}\n{disturbed(workloads)}\n{ratios(workloads)}\n\n{details(workloads)}\n"


def write(path, text, part="measured", command="script/bench"):
    """Replace what lies between the marks of a part; the prose around them is written by hand."""
    begin_mark = f"<!-- {part}: begin (written by {command}) -->"
    end_mark = f"<!-- {part}: end -->"
    old = path.read_text()
    head, begin, rest = old.partition(begin_mark)
    _, end, tail = rest.partition(end_mark)
    if not begin or not end:
        raise ValueError(f"{path} has lost its marks {begin_mark} and {end_mark}")
    path.write_text(f"{head}{begin_mark}\n\n{text}\n{end_mark}{tail}")
