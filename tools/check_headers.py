#!/usr/bin/env python3
"""Fail if a header under src/ does not compile alone.

Each header is included twice in an otherwise empty file, which also tries its
guard.  The flags are the project's, but base/banned.h is not forced in: it
includes system headers and would hide that a header forgot its own.

    tools/check_headers.py [src]
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

COMPILER = os.environ.get("CC", "gcc")
FLAGS = ["-std=c11", "-D_GNU_SOURCE", '-DZAFFRE_VERSION="0"', "-Wall", "-Wextra", "-Wpedantic",
         "-Werror", "-Wshadow", "-Wconversion", "-Wstrict-prototypes", "-Wcast-qual", "-Wundef",
         "-fsyntax-only", "-x", "c", "-"]


def complaint(root, header):
    """The compiler's words about `header`, or None."""
    name = header.relative_to(root).as_posix()
    source = f'#include "{name}"\n#include "{name}"\ntypedef int not_empty;\n'
    done = subprocess.run([COMPILER, f"-I{root}", *FLAGS], input=source, text=True,
                          capture_output=True, check=False)
    return None if done.returncode == 0 else f"{header}: does not compile alone\n{done.stderr}"


def complaints(root):
    headers = sorted(root.rglob("*.h"))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [text for text in pool.map(lambda header: complaint(root, header), headers) if text]


if __name__ == "__main__":
    found = complaints(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "src"))
    print("\n".join(found) if found else "headers: nothing to complain about")
    sys.exit(1 if found else 0)
