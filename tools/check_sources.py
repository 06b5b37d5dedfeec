#!/usr/bin/env python3
"""Fail on what a reader should not meet in the tree.

Text:      tabs, trailing space, a missing last newline, lines over 100 columns
           in code, notes to oneself without an issue number, paths of somebody's
           machine.
Sources:   a guard that does not follow the path, a first include that is not the
           file's own header, platform #ifdefs outside base/os, a lock that is no
           struct mutex of base/mutex.h, whose order is checked.
Structure: a layer without README.md, a directory its layer's README.md does not
           name, a module without a unit test (or a reason below).

    tools/check_sources.py [root of the project]
"""
import os
import pathlib
import re
import sys

# Modules without tests/unit/**/test_<module>.c, and what tests them instead.
TESTED_ELSEWHERE = {
    "src/backup_main.c": "tests/e2e/backup.test.mjs",
    "src/backup/control.c": "tests/e2e/backup.test.mjs: it needs two processes",
    "src/backup/control_client.c": "tests/e2e/backup.test.mjs: it needs two processes",
    "src/backup/disk_file.c": "tests/e2e/backup.test.mjs",
    "src/backup/store_copy.c": "tests/e2e/backup.test.mjs",
    "src/fsck_main.c": "tests/e2e/fsck.test.mjs",
    "src/notify.c": "tests/wire/privileges.test.mjs",
    "src/privileges.c": "tests/wire/privileges.test.mjs",
    "src/partition/mend.c": "test_inspect.c, test_fsck.c",
    "src/service/repair.c": "test_fsck.c, and those of queues and files",
    "src/partition/change.c": "every test in test_partition.c makes changes",
    "src/partition/memory/engine_memory.c": "test_engine.c runs on every engine",
    "src/partition/rocksdb/engine_rocksdb.c": "test_engine.c runs on every engine",
    "src/partition/settle.c": "test_reclaim.c",
    "src/frontend/http/http_blob.c": "test_http_route.c",
    "src/service/background.c": "test_sweeper.c, test_copy.c",
    "src/service/blob/blob_part_row.c": "test_blob_row.c, test_node_row.c",
    "src/service/blob/blob_sweep.c": "test_sweeper.c",
    "src/service/blob/page_map.c": "test_page.c, against a model",
    "src/service/blob/clone.c": "test_copy.c, with copies of every kind of content",
    "src/service/service.c": "the tests of every change",
    "src/service/table/table_sweep.c": "test_table.c",
    "src/frontend/http/access.c": "tests/e2e and tests/wire, by every kind of credential",
    "src/frontend/http/api_entity.c": "test_table_request.c",
    "src/frontend/http/api_odata.c": "test_table_request.c, tests/e2e/table_query.test.mjs",
    "src/frontend/http/api_common.c": "tests/e2e, with the operations that use it",
    "src/frontend/http/api_node.c": "test_file_request.c, tests/wire/file_bad_input.test.mjs",
    "src/frontend/http/api_permission.c": "test_file_request.c, tests/e2e/file_share.test.mjs",
    "src/frontend/http/api_queue.c": "test_queue_request.c",
    "src/frontend/http/api_hash.c": "tests/e2e/block.test.mjs, append, page and blob",
    "src/frontend/http/copy_job.c": "tests/e2e/copy.test.mjs: it needs another server",
    "src/frontend/http/from_url.c": "test_http_request.c, tests/e2e/copy.test.mjs",
    "src/frontend/http/http_hangup.c": "tests/wire: it needs sockets",
    "src/frontend/http/http_listener.c": "tests/wire: it needs sockets",
    "src/frontend/http/http_metrics.c": "tests/wire/command_line.test.mjs reads /metrics",
    "src/frontend/http/http_reason.c": "tests/wire/responses.test.mjs",
    "src/frontend/http/http_server.c": "tests/wire: it needs sockets",
    "src/frontend/http/tls_files.c": "tests/wire/tls.test.mjs",
}

TEXT_SUFFIXES = {".c", ".h", ".def", ".py", ".mjs", ".md", ".build", ".sh", ".txt", ""}
CODE_SUFFIXES = {".c", ".h", ".py", ".build"}
SKIPPED_DIRECTORIES = re.compile(r"^(\.git|build.*|data|node_modules|__pycache__|corpus)$")
LINE_RULES = [
    (re.compile(r"\t"), "tab"),
    (re.compile(r"[ \r]+$"), "trailing space"),
    (re.compile(r"\b(TODO|FIXME|XXX)\b(?!\s*\(?#\d+)"), "a note to oneself needs an issue: #123"),
    (re.compile(r"(?<![\w.<>-])/(work|home|root)/\w"), "path of one machine"),
]
PLATFORM = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif)\b.*__(linux__|APPLE__|FreeBSD__)")
UNRANKED_LOCK = re.compile(r"\b(pthread_(mutex|cond|rwlock|spin)_?\w*|PTHREAD_MUTEX_\w+|mtx_t)\b")
FIRST_INCLUDE = re.compile(r'^\s*#\s*include\s+(\S+)', re.MULTILINE)


def project_files(root):
    """Every text file that belongs to the project, as (path, name from the root)."""
    for directory, subdirectories, names in os.walk(root):
        subdirectories[:] = sorted(d for d in subdirectories if not SKIPPED_DIRECTORIES.match(d))
        for path in (pathlib.Path(directory) / name for name in sorted(names)):
            if path.suffix in TEXT_SUFFIXES:
                yield path, path.relative_to(root).as_posix()


def text_complaints(name, text):
    if text and not text.endswith("\n"):
        yield f"{name}: no newline at the end"
    for number, line in enumerate(text.split("\n"), 1):
        for pattern, words in LINE_RULES:
            if pattern.search(line) and not name.startswith("tools/check_"):
                yield f"{name}:{number}: {words}"
        if len(line) > 100 and pathlib.PurePosixPath(name).suffix in CODE_SUFFIXES:
            yield f"{name}:{number}: longer than 100 columns"


def source_complaints(root, name, text):
    path = pathlib.PurePosixPath(name)
    inside = path.relative_to("src")
    if path.suffix == ".h":
        guard = re.sub(r"\W", "_", inside.as_posix()).upper()
        if f"#ifndef {guard}\n#define {guard}\n" not in text:
            yield f"{name}: the guard is {guard}"
    own_header = inside.with_suffix(".h").as_posix()
    if path.suffix == ".c" and (root / "src" / own_header).exists():
        first = FIRST_INCLUDE.search(text)
        if not first or first[1] != f'"{own_header}"':
            yield f'{name}: the first include is "{own_header}"'
    if not inside.as_posix().startswith("base/os/"):
        for number, line in enumerate(text.split("\n"), 1):
            if PLATFORM.match(line):
                yield f"{name}:{number}: platforms are told apart in base/os/, by the build"
    if not inside.as_posix().startswith("base/mutex."):
        for number, line in enumerate(text.split("\n"), 1):
            if UNRANKED_LOCK.search(line):
                yield f"{name}:{number}: a lock is a struct mutex, with a rank (base/mutex.h)"


def directory_complaints(root):
    source = root / "src"
    directories = {path.parent for path in source.rglob("*.[ch]")} - {source}
    for directory in sorted(directories):
        if (directory / "README.md").exists():
            continue
        above = directory.parent / "README.md"
        name = directory.relative_to(root).as_posix()
        if directory.parent in (source, source / "frontend"):
            yield f"{name}: a layer has a README.md"
        elif not above.exists() or f"{directory.name}/" not in above.read_text():
            yield f"{name}: write a README.md, or describe {directory.name}/ in the one above"


def test_complaints(root):
    """A module is a .c file with a header of its name; its test has the name too."""
    tested = {path.stem for path in (root / "tests" / "unit").rglob("test_*.c")}
    for path in sorted((root / "src").rglob("*.c")):
        name = path.relative_to(root).as_posix()
        is_module = path.with_suffix(".h").exists()
        if is_module and f"test_{path.stem}" not in tested and name not in TESTED_ELSEWHERE:
            yield f"{name}: no test_{path.stem}.c, and no reason in tools/check_sources.py"
    for name in TESTED_ELSEWHERE:
        if not (root / name).exists():
            yield f"{name}: is gone, but still excused in tools/check_sources.py"


def complaints(root):
    for path, name in project_files(root):
        text = path.read_text()
        yield from text_complaints(name, text)
        if name.startswith("src/") and path.suffix in (".c", ".h"):
            yield from source_complaints(root, name, text)
    yield from directory_complaints(root)
    yield from test_complaints(root)


if __name__ == "__main__":
    found = list(complaints(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
    print("\n".join(found) if found else "sources: nothing to complain about")
    sys.exit(1 if found else 0)
