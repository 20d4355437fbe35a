#!/usr/bin/env python3
"""Run every fuzz target for a while under libFuzzer, two at a time.

    tools/fuzz.py FOLDER [--seconds N] [--seed N] [NAME ...]

FOLDER is a build folder made with clang, -Dlibfuzzer=true and sanitizers. Seeds come from
fuzz/corpus/NAME; what libFuzzer finds worth keeping is kept in FOLDER/corpus/NAME, so that the next
run goes on from there. An input that breaks a target is left in FOLDER/crashes; add it to
fuzz/corpus/NAME together with the fix, and every later run replays it.
"""

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
AT_ONCE = 2


def targets(folder):
    """Name and path of each fuzz target of a build folder."""
    text = subprocess.check_output(["meson", "introspect", "--targets", folder], text=True)
    programs = [t for t in json.loads(text) if t["type"] == "executable"]
    return {
        t["name"].removeprefix("fuzz_"): Path(t["filename"][0])
        for t in programs
        if t["name"].startswith("fuzz_")
    }


def run(name, program, folder, seconds, seed):
    """Fuzz one target; its exit status and the end of what it printed."""
    kept, crashes = folder / "corpus" / name, folder / "crashes"
    kept.mkdir(parents=True, exist_ok=True)
    crashes.mkdir(exist_ok=True)
    seeds = ROOT / "fuzz" / "corpus" / name
    command = [
        program,
        f"-max_total_time={seconds}",
        f"-seed={seed}",
        "-timeout=30",  # of one input, which takes milliseconds; others may have the CPU
        "-rss_limit_mb=2048",
        "-print_final_stats=1",
        f"-artifact_prefix={crashes}/{name}-",
        kept,
        *([seeds] if seeds.is_dir() else []),
    ]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=seconds * 3 + 300,
        env={**os.environ, "ASAN_OPTIONS": "allocator_may_return_null=1"},
    )
    return done.returncode, done.stdout.splitlines()


def figure(lines, name):
    found = [line.split()[-1] for line in lines if line.startswith(f"stat::{name}:")]
    return found[-1] if found else "?"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument(
        "--seed", type=int, default=0, help="of the inputs that are made up; 0: another each time"
    )
    parser.add_argument("names", nargs="*", help="targets; all by default")
    options = parser.parse_args()
    found = targets(options.folder)
    unknown = set(options.names) - set(found)
    if unknown:
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    names = options.names or sorted(found)
    folder = options.folder.resolve()
    broken = 0
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        runs = {
            n: pool.submit(run, n, found[n], folder, options.seconds, options.seed) for n in names
        }
        for name, future in runs.items():
            status, lines = future.result()
            executed = figure(lines, "number_of_executed_units")
            print(f"fuzz {name}: {executed} inputs, exit status {status}", flush=True)
            if status != 0:
                broken += 1
                print("\n".join(lines[-60:]), flush=True)
    print(f"{len(names) - broken} passed, {broken} failed")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
