#!/usr/bin/env python3
"""Formatting and static checks: clang-format, clang-tidy (of what is shipped), ruff, mypy, stubtest.

    tools/lint.py [--build build-clang] [format tidy ruff mypy stubs]

clang-tidy is slow, so a file that passed is not looked at again until its preprocessed text, its
compiler flags, the settings or the tool change (.cache/tidy keeps one empty file for each pass).
"""

import argparse
import concurrent.futures
import hashlib
import importlib.util
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PASSED = ROOT / ".cache" / "tidy"
SHIPPED = [
    "src",
    "cli",
    "python",
    "examples",
]  # tests, fuzz targets and benchmarks have the warnings


def tracked(*patterns):
    """Files of the tree as git knows them, new ones included."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    names = subprocess.check_output(command, cwd=ROOT, text=True).split("\n")
    return sorted({name for name in names if name and (ROOT / name).is_file()})


def call(*command, **options):
    return subprocess.run([str(word) for word in command], cwd=ROOT, **options).returncode == 0


def check_format(_):
    return call("clang-format", "--dry-run", "-Werror", *tracked("*.c", "*.h"))


def tidy_key(entry, settings):
    """A hash of all that the verdict on one file depends on."""
    command = [word for word in shlex.split(entry["command"]) if word not in ("-c", "-MD")]
    for flag in ("-o", "-MF", "-MQ"):
        if flag in command:
            at = command.index(flag)
            del command[at : at + 2]
    text = subprocess.check_output([*command, "-E"], cwd=entry["directory"])
    return hashlib.sha256(settings + " ".join(command).encode() + text).hexdigest()


def tidy_one(entry, build, settings):
    """None when a file passes, else what there is to say about it."""
    mark = PASSED / tidy_key(entry, settings)
    if mark.exists():
        return None
    path = (Path(entry["directory"]) / entry["file"]).resolve()
    done = subprocess.run(
        ["clang-tidy", "--quiet", "-p", str(build), str(path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode == 0:
        mark.touch()
        return None
    return done.stdout


def check_tidy(options):
    build = (ROOT / options.build).resolve()
    version = subprocess.check_output(["clang-tidy", "--version"])
    settings = version + b"".join((ROOT / s).read_bytes() for s in tracked("*.clang-tidy"))
    PASSED.mkdir(parents=True, exist_ok=True)
    entries = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = (Path(entry["directory"]) / entry["file"]).resolve()
        if path.suffix == ".c" and any(path.is_relative_to(ROOT / name) for name in SHIPPED):
            entries.setdefault(path, entry)
    broken = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for said in pool.map(lambda e: tidy_one(e, build, settings), entries.values()):
            if said is not None:
                broken += 1
                print(said, flush=True)
    print(f"clang-tidy: {len(entries)} files, {broken} with findings")
    return broken == 0


def check_ruff(_):
    return call("ruff", "check", "--quiet", ".") and call(
        "ruff", "format", "--check", "--quiet", "."
    )


def check_mypy(_):
    if not (ROOT / "python" / "stoker").is_dir():
        return True
    if importlib.util.find_spec("torch") is None:
        print("PyTorch is not installed: stoker.torch is NOT checked")
        return call("mypy", "--exclude", "stoker/torch/")
    return call("mypy")


def check_stubs(_):
    if not (ROOT / "python" / "stoker" / "_core.pyi").is_file():
        return True
    return call("stubtest", "--concise", "stoker._core")


CHECKS = {
    "format": check_format,
    "tidy": check_tidy,
    "ruff": check_ruff,
    "mypy": check_mypy,
    "stubs": check_stubs,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build-clang", help="a build folder made with clang")
    parser.add_argument("checks", nargs="*", help=f"of {', '.join(CHECKS)}; all by default")
    options = parser.parse_args()
    unknown = set(options.checks) - set(CHECKS)
    if unknown:
        parser.error(f"no such check: {', '.join(sorted(unknown))}")
    failed = 0
    names = options.checks or list(CHECKS)
    for name in names:
        good = CHECKS[name](options)
        print(f"lint {name}: {'passed' if good else 'FAILED'}", flush=True)
        failed += not good
    print(f"{len(names) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
