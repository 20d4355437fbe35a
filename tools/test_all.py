#!/usr/bin/env python3
"""All tests, part by part: what `make test` runs once the environment stands.

    tools/test_all.py [PART ...]        all by default; tools/test_all.py --list names them

Every part runs, also after one has failed, so that one run shows all that is wrong. At the end
stand a line for each part with its time, and the sum of all tests. The exit status is 1 if anything
failed.
"""

import argparse
import glob
import importlib.util
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# For each target. Unasked, the same inputs in each run: one that fails without a change tells nobody of a change.
FUZZ = ["--seconds=20", "--seed=1"]
if "FUZZ_SECONDS" in os.environ:
    FUZZ = [f"--seconds={int(os.environ['FUZZ_SECONDS'])}"]
STRICT = "-Dwerror=true"
PYTEST_AGAIN = ["-m", "pytest", "-q", "-p", "no:cacheprovider"]
# AddressSanitizer keeps what is freed for a while, so memory does grow under it.
GROWTH = "tests/python/test_lifetime.py::test_memory_does_not_grow_over_epochs"
SANITIZED = ["-Dbuildtype=debugoptimized", "-Db_ndebug=false", "-Dbench=false", "-Dfuzz=true"]


def configure(folder, *options, compiler="gcc"):
    return ["env", f"CC={compiler}", "tools/configure.sh", folder, *options]


def build(folder):
    return ["ninja", "-C", folder, "--quiet"]


def meson_test(folder, *options):
    return ["meson", "test", "-C", folder, "--no-rebuild", "--print-errorlogs", *options]


def gcc():
    """The tree as it is installed: C tests, then the package into .venv."""
    yield ["make", "--no-print-directory", "build"]
    yield meson_test("build")


def python():
    """Tests of the package, the command, the field cases, the tree itself."""
    yield [sys.executable, "-m", "pytest", "-q"]


def clang():
    """The other compiler."""
    yield configure("build-clang", STRICT, "-Dpython=enabled", compiler="clang")
    yield build("build-clang")
    yield meson_test("build-clang")


def bare():
    """Without optional libraries and instruction sets: the scalar twins, formats named as missing."""
    yield configure(
        "build-bare",
        STRICT,
        *("-Djpeg=disabled", "-Dpng=disabled", "-Dwebp=disabled", "-Dsimd=scalar"),
        "-Dpython=disabled",
    )
    yield build("build-bare")
    yield meson_test("build-bare")


def asan():
    """Memory errors, leaks and undefined behaviour, with every fault point failing in turn."""
    yield configure(
        "build-asan",
        STRICT,
        *SANITIZED,
        "-Db_sanitize=address,undefined",
        "-Dfaults=true",
        "-Dpython=enabled",
        f"--prefix={ROOT}/stage-asan",
        "-Dpython.install_env=prefix",
    )
    yield build("build-asan")
    yield meson_test("build-asan", "--timeout-multiplier=4")


def asan_python():
    """The same for the extension and the command, under their own tests."""
    yield ["meson", "install", "-C", "build-asan", "--no-rebuild", "--only-changed", "--quiet"]
    packages = glob.glob(f"{ROOT}/stage-asan/**/*-packages", recursive=True)
    runtime = subprocess.check_output(["gcc", "-print-file-name=libasan.so"], text=True).strip()
    yield [
        "env",
        f"LD_PRELOAD={runtime}",
        "ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1",  # leaks: Python keeps its own
        "PYTHONMALLOC=malloc",
        f"PYTHONPATH={':'.join(packages)}",
        "STOKER_TEST_SANITIZED=1",
        sys.executable,
        *PYTEST_AGAIN,
        *["-m", "not torch", "tests/python", "tests/cases", "--deselect", GROWTH],
    ]
    yield [
        "env",
        f"STOKER_BIN={ROOT}/stage-asan/bin/stoker",
        sys.executable,
        *PYTEST_AGAIN,
        "tests/cli",
    ]


def tsan():
    """Data races."""
    yield configure(
        "build-tsan", STRICT, *SANITIZED, "-Db_sanitize=thread", "-Dpython=disabled", "-Dfuzz=false"
    )
    yield build("build-tsan")
    yield meson_test("build-tsan", "--timeout-multiplier=6")


def fuzz():
    """Each parser of foreign bytes, on bytes that libFuzzer makes up."""
    yield configure(
        "build-fuzz",
        STRICT,
        *SANITIZED,
        "-Db_sanitize=address,undefined",
        "-Db_lundef=false",
        "-Dlibfuzzer=true",
        "-Dtests=false",
        "-Dpython=disabled",
        compiler="clang",
    )
    yield build("build-fuzz")
    yield [sys.executable, "tools/fuzz.py", "build-fuzz", *FUZZ]


def lint():
    """Formatting, static analysis, types."""
    yield [sys.executable, "tools/lint.py"]


PARTS = {
    part.__name__: part for part in (gcc, python, clang, bare, asan, asan_python, tsan, fuzz, lint)
}


class Sum:
    """Tests that passed, failed, were skipped."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self):
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}"


MESON = {
    "Ok": "passed",
    "Expected Fail": "passed",
    "Fail": "failed",
    "Unexpected Pass": "failed",
    "Timeout": "failed",
    "Skipped": "skipped",
}
PYTEST = {
    "passed": "passed",
    "failed": "failed",
    "error": "failed",
    "errors": "failed",
    "skipped": "skipped",
    "xfailed": "passed",
    "xpassed": "failed",
}


def count(lines):
    """What the closing lines of meson test, pytest and our own scripts say."""
    sum_ = Sum()
    for line in lines:
        found = re.fullmatch(r"(\w[\w ]*?): +(\d+) *", line)
        if found and found[1] in MESON:
            attribute = MESON[found[1]]
            setattr(sum_, attribute, getattr(sum_, attribute) + int(found[2]))
        elif re.search(r" in [\d.]+s\b", line) or re.fullmatch(r"\d+ passed, \d+ failed", line):
            for number, word in re.findall(r"(\d+) (\w+)", line):
                if word in PYTEST:
                    attribute = PYTEST[word]
                    setattr(sum_, attribute, getattr(sum_, attribute) + int(number))
    return sum_


def run(command):
    """Run one command, showing what it prints. Its sum; a failure that it did not count is one."""
    print("$", " ".join(str(word) for word in command).replace(f"{ROOT}/", ""), flush=True)
    lines = []
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        for line in process.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            lines.append(line.rstrip("\n"))
    sum_ = count(lines)
    if process.returncode != 0 and sum_.failed == 0:
        sum_.failed = 1
    return sum_


def run_part(part):
    """Run the commands of a part up to the first that fails."""
    sum_ = Sum()
    for command in part():
        sum_.add(run(command))
        if sum_.failed:
            break
    else:
        if sum_.passed + sum_.skipped == 0:
            print("no test was run")
            sum_.failed = 1
    return sum_


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="name the parts")
    parser.add_argument("parts", nargs="*")
    options = parser.parse_args()
    if options.list:
        for name, part in PARTS.items():
            print(f"{name:12} {part.__doc__}")
        return 0
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    os.environ.setdefault("NINJA_STATUS", "")
    whole, table = Sum(), []
    for name in options.parts or PARTS:
        print(f"\n=== {name}: {PARTS[name].__doc__}", flush=True)
        begin = time.monotonic()
        sum_ = run_part(PARTS[name])
        table.append(f"{name:12} {time.monotonic() - begin:6.0f} s   {sum_}")
        whole.add(sum_)
    print("\n" + "\n".join(table) + "\n")
    if importlib.util.find_spec("torch") is None:
        print("PyTorch IS NOT INSTALLED: nothing that needs it was tested\n")
    print(whole, flush=True)
    return 1 if whole.failed else 0


if __name__ == "__main__":
    sys.exit(main())
