#!/usr/bin/env python3
"""Print how many tests passed and failed, from the log a test runner left.

    tools/count_tests.py meson build/meson-logs/testlog.json
    tools/count_tests.py tap output-of-node--test

The answer is two numbers: passed and failed.  A log that is missing, cut short or
without a single test counts as one failure: no tests is never good news.
"""
import json
import pathlib
import re
import sys

CMOCKA_PASSED = re.compile(r"^\[  PASSED  \] (\d+) test", re.MULTILINE)
CMOCKA_FAILED = re.compile(r"^\[  FAILED  \] (\d+) test", re.MULTILINE)


def count_meson(text):
    """Each line is one executable; cmocka's says how many tests it had inside."""
    passed = failed = 0
    for line in text.splitlines():
        entry = json.loads(line)
        output = entry.get("stdout", "") + "\n" + entry.get("stderr", "")
        inner_passed = sum(map(int, CMOCKA_PASSED.findall(output)))
        inner_failed = sum(map(int, CMOCKA_FAILED.findall(output)))
        if entry["result"] in ("OK", "EXPECTEDFAIL"):
            passed += inner_passed or 1
        elif entry["result"] != "SKIP":
            passed += inner_passed
            failed += inner_failed or 1
    return passed, failed


def count_tap(text):
    """node's summary; a test's own output can look the same, so the last of each counts."""
    def last(word):
        found = re.findall(rf"^# {word} (\d+)$", text, re.MULTILINE)
        return int(found[-1]) if found else 0
    return last("pass"), last("fail") + last("cancelled")


def count(kind, path):
    try:
        text = pathlib.Path(path).read_text(errors="replace")
        passed, failed = {"meson": count_meson, "tap": count_tap}[kind](text)
    except (OSError, ValueError) as error:
        print(f"count_tests: {path}: {error}", file=sys.stderr)
        return 0, 1
    return (passed, failed) if passed + failed > 0 else (0, 1)


if __name__ == "__main__":
    print(*count(*sys.argv[1:3]))
