#!/usr/bin/env python3
"""Check what each file includes against src/LAYERS and the rules of the tree.

    tools/check_layers.py [ROOT]

- A file of layer A includes headers of A and of the layers in A's row: "B/x.h" is of layer B, and
  <stoker/B.h> is the public header of B.
- A header of a library is included by exactly one .c file of src/, and by no header.
- Headers of the system (POSIX, Linux) are for src/os, but for the excuses below.
- cli/, examples/, python/ext/ and bench/ (but its kernels) see the public headers only.
"""

import re
import sys
from pathlib import Path

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)

STANDARD = set(
    """assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign
    stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar
    wchar wctype immintrin arm_neon""".split()
)
SYSTEM = re.compile(
    r"(sys|linux|netinet|arpa)/.*|(dirent|dlfcn|fcntl|glob|poll|pthread|sched|semaphore|spawn"
    r"|strings|syslog|termios|ucontext|unistd)\.h|(signal|time|threads)\.h"
)
SYSTEM_EXCUSES = {
    "src/base/heap.c": "large blocks are mapped, so that they can have huge pages",
}
PUBLIC_ONLY = ["cli", "examples", "python/ext", "bench"]
KERNELS = "bench/kernels"  # which times inner loops, and so may see them


def read_layers(root):
    """The table: name -> names of the layers it may use, itself included, in the order of the file."""
    table = {}
    for line in (root / "src" / "LAYERS").read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, below = line.partition(":")
            table[name.strip()] = {name.strip(), *below.split()}
    return table


def sources(folder):
    return sorted([*folder.rglob("*.c"), *folder.rglob("*.h")]) if folder.is_dir() else []


def includes(path):
    """Pairs of the quote and the name of each include of a file."""
    return INCLUDE.findall(path.read_text())


def check_table(table):
    """A layer may use only what stands above it."""
    above = set()
    for name, below in table.items():
        above.add(name)
        for other in below - above:
            yield f"src/LAYERS: {name} may use {other}, which does not stand above it"


def check_source(root, path, layer, table, libraries):
    """What is wrong with the includes of one file of a layer; notes the headers of libraries."""
    where = path.relative_to(root).as_posix()
    for quote, name in includes(path):
        stem = name.removesuffix(".h")
        if quote == '"':
            other = name.split("/")[0]
            if not (root / "src" / name).is_file():
                yield f'{where}: "{name}" is not in src/'
            elif other not in table[layer]:
                yield f'{where}: "{name}": {layer} may not use {other} (src/LAYERS)'
        elif name.startswith("stoker/"):
            other = name.removeprefix("stoker/").removesuffix(".h")
            if other not in table[layer]:
                yield f"{where}: <{name}>: {layer} may not use {other} (src/LAYERS)"
        elif SYSTEM.fullmatch(name):
            if layer != "os" and where not in SYSTEM_EXCUSES:
                yield f"{where}: <{name}>: headers of the system are for src/os"
        elif stem not in STANDARD:
            libraries.setdefault(name, []).append(where)


def check_public_header(root, path, table):
    where = path.relative_to(root).as_posix()
    layer = path.stem
    for quote, name in includes(path):
        other = name.removeprefix("stoker/").removesuffix(".h")
        if quote == '"' or not (name.startswith("stoker/") or other in STANDARD):
            yield f"{where}: {name}: a public header needs no other than <stoker/...> and C's own"
        elif name.startswith("stoker/") and layer != "stoker" and other not in table[layer]:
            yield f"{where}: <{name}>: {layer} may not use {other} (src/LAYERS)"


def check_user(root, path, folder):
    """A program that stands for everybody's: it has the public headers and its own."""
    where = path.relative_to(root).as_posix()
    for quote, name in includes(path):
        if quote == '"' and not ((path.parent / name).is_file() or (folder / name).is_file()):
            yield f'{where}: "{name}": only <stoker/...> and files of {folder.relative_to(root)}/'


def check(root):
    """Everything that is wrong, as lines."""
    table = read_layers(root)
    libraries = {}
    yield from check_table(table)
    for folder in sorted((root / "src").iterdir()):
        if folder.is_dir() and folder.name not in table:
            yield f"src/{folder.name}: no layer of src/LAYERS"
    for layer in table:
        for path in sources(root / "src" / layer):
            yield from check_source(root, path, layer, table, libraries)
    for name, users in sorted(libraries.items()):
        if len(users) > 1:
            yield f"<{name}> is included by {', '.join(users)}; one .c file talks to a library"
        yield from (f"{u}: <{name}>: a library stays out of headers" for u in users if u[-1] == "h")
    for path in sorted((root / "include" / "stoker").glob("*.h")):
        if path.stem != "stoker" and path.stem not in table:
            yield f"include/stoker/{path.name}: no layer of src/LAYERS"
        else:
            yield from check_public_header(root, path, table)
    for name in PUBLIC_ONLY:
        for path in sources(root / name):
            if not path.is_relative_to(root / KERNELS):
                yield from check_user(root, path, root / name)


def main(arguments):
    root = Path(arguments[0] if arguments else Path(__file__).parent.parent).resolve()
    wrong = list(check(root))
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
