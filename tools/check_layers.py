#!/usr/bin/env python3
"""Fail if a source file includes a header its layer may not know.

A file may include headers of its own layer and of those listed for it below;
`x_internal.h` never leaves its directory.  Files directly in src/ (main.c,
config.c) wire the layers together and may include anything.  Tests are not
checked: they may look at whatever they test.

    tools/check_layers.py [src]
"""
import pathlib
import re
import sys

MAY_INCLUDE = {
    "base": set(),
    "stream": {"base"},
    "partition": {"base", "stream"},
    "service": {"base", "partition", "stream"},
    "backup": {"base", "partition", "stream"},
    "frontend/http": {"base", "service"},
    "frontend/smb": {"base", "service"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def layer_of(directory):
    """The layer that owns a directory such as `service/blob`, or None."""
    for layer in MAY_INCLUDE:
        if directory == layer or directory.startswith(layer + "/"):
            return layer
    return None


def complaint(directory, target):
    """What is wrong with a file of `directory` including `target`, or None."""
    layer = layer_of(directory)
    target_directory = target.parent.as_posix()
    target_layer = layer_of(target_directory)
    if target_layer is None:
        return f'write the path from src/, as in "{directory}/{target.name}"'
    if target_layer != layer and target_layer not in MAY_INCLUDE[layer]:
        return f"{layer}/ may not include {target}"
    if target.stem.endswith("_internal") and target_directory != directory:
        return f"{target} is internal to its directory"
    return None


def complaints(root):
    for path in sorted(root.rglob("*.[ch]")) + sorted(root.rglob("*.def")):
        directory = path.relative_to(root).parent.as_posix()
        if directory == ".":
            continue
        if layer_of(directory) is None:
            yield f"{path}: {directory}/ belongs to no layer; add it to tools/check_layers.py"
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if match:
                wrong = complaint(directory, pathlib.PurePosixPath(match[1]))
                if wrong:
                    yield f"{path}:{number}: {wrong}"


if __name__ == "__main__":
    found = list(complaints(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "src")))
    print("\n".join(found) if found else "layers: nothing to complain about")
    sys.exit(1 if found else 0)
