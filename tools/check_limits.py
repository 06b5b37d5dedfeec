#!/usr/bin/env python3
"""Fail when no test names a limit of src/service/limits.h.

Whether the test meets the limit at its edge is not seen here.  A test of a limit names it:
a unit test in C by using the constant, a test in another language by a comment with its
name.  Fuzz targets do not count, since they use limits as bounds and never mean to reach
one.

    tools/check_limits.py [root of the project]             which limits nobody names
    tools/check_limits.py --table [root of the project]     which tests name which limit
"""
import collections
import pathlib
import re
import sys

NAME = re.compile(r"\bLIMIT_[A-Z0-9_]+\b")
DEFINED = re.compile(r"^\s*(?:#define\s+)?(LIMIT_[A-Z0-9_]+)\b", re.MULTILINE)


def limits(root):
    text = (root / "src" / "service" / "limits.h").read_text()
    return sorted(set(DEFINED.findall(text)))


def tests_by_limit(root):
    """The tests that name each limit, from the root."""
    found = collections.defaultdict(list)
    tests = root / "tests"
    for path in sorted(tests.rglob("*")):
        parts = path.relative_to(tests).parts
        if path.suffix not in (".c", ".h", ".mjs") or "node_modules" in parts or parts[0] == "fuzz":
            continue
        for name in sorted(set(NAME.findall(path.read_text()))):
            found[name].append(path.relative_to(root).as_posix())
    return found


def main(arguments):
    wants_table = "--table" in arguments
    paths = [argument for argument in arguments if not argument.startswith("--")]
    root = pathlib.Path(paths[0] if paths else ".")
    tests = tests_by_limit(root)
    names = limits(root)
    if wants_table:
        for name in names:
            print(f"{name:36} {' '.join(tests[name]) or '-'}")
    missing = [name for name in names if not tests[name]]
    for name in missing:
        print(f"src/service/limits.h: no test names {name}", file=sys.stderr)
    unknown = sorted(name for name in tests if tests[name] and name not in names)
    for name in unknown:
        print(f"{tests[name][0]}: there is no limit {name}", file=sys.stderr)
    if not wants_table and not missing and not unknown:
        print(f"limits: all {len(names)} are named by tests")
    return 1 if missing or unknown else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
