"""Without these: a failed test is counted as none, or the set-up of a machine ends in a riddle."""

import os
import subprocess

import pytest
import test_all
from tree import ROOT

MESON = """
 1/14 unit+base - stoker:test_numbers    OK               0.01s
Ok:                 12
Expected Fail:      1
Fail:               2
Unexpected Pass:    1
Skipped:            3
Timeout:            1
"""


@pytest.mark.parametrize(
    ("text", "passed", "failed", "skipped"),
    [
        (MESON, 13, 4, 3),
        ("2 failed, 756 passed, 2 skipped, 1 error in 86.99s (0:01:26)", 756, 3, 2),
        ("192 passed in 14.96s", 192, 0, 0),
        ("1 passed, 1 xfailed, 2 xpassed, 4 deselected, 9 warnings in 0.12s", 2, 2, 0),
        ("7 passed, 1 failed", 7, 1, 0),
        ("no tests ran in 0.00s", 0, 0, 0),
        ("compiled 12 files: 12 passed by", 0, 0, 0),
    ],
)
def test_closing_lines_are_summed_up(text, passed, failed, skipped):
    sum_ = test_all.count(text.splitlines())
    assert (sum_.passed, sum_.failed, sum_.skipped) == (passed, failed, skipped)


def part_of(*commands):
    return lambda: iter(commands)


def test_a_part_ends_at_its_first_failure(capfd):
    part = part_of(["echo", "3 passed, 0 failed"], ["false"], ["echo", "5 passed, 0 failed"])
    sum_ = test_all.run_part(part)
    assert str(sum_) == "3 passed, 1 failed"


def test_a_failure_that_is_not_counted_counts(capfd):
    sum_ = test_all.run_part(part_of(["sh", "-c", "echo '3 passed, 0 failed'; exit 3"]))
    assert str(sum_) == "3 passed, 1 failed"


def test_a_part_without_a_test_has_failed(capfd):
    assert test_all.run_part(part_of(["true"])).failed == 1


def test_the_door_and_the_parts_agree():
    command = ["python", "tools/test_all.py", "--list"]
    listed = subprocess.check_output(command, cwd=ROOT, text=True)
    assert [line.split()[0] for line in listed.splitlines()] == list(test_all.PARTS)
    assert "exec make test" in (ROOT / ".ci" / "run").read_text()


@pytest.fixture
def bare_machine(tmp_path):
    """Run tools/setup.sh with nothing in PATH but a shell's own and what a test puts there."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "dirname", "cat", "mktemp", "cut", "rm", "env"):
        (folder / name).symlink_to(f"/usr/bin/{name}")

    def add(name, script):
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)

    def run(*groups):
        return subprocess.run(
            [ROOT / "tools" / "setup.sh", "system", *groups],
            env={"PATH": str(folder), "HOME": str(tmp_path), "SHARE": str(tmp_path)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
        )

    run.add = add
    return run


NEEDED = ["gcc", "python3", "python3-venv", "pkg-config", "libjpeg-dev", "libcmocka-dev"]


def test_a_machine_without_apt_is_told_what_is_missing(bare_machine):
    bare_machine.add("id", "echo 0")
    done = bare_machine("build")
    assert done.returncode == 1
    assert done.stdout == ""
    assert [name for name in NEEDED if name not in done.stderr.replace("\n", " ").split()] == []


def test_a_user_without_rights_is_told_whom_to_ask(bare_machine):
    bare_machine.add("id", "echo 1000")
    bare_machine.add("apt-get", 'echo "apt-get $*" >&2; exit 100')
    done = bare_machine("build")
    assert done.returncode == 1
    assert "apt-get install gcc" in done.stderr
    assert "apt-get update" not in done.stderr  # nothing was tried


def test_root_installs_and_looks_again(bare_machine):
    bare_machine.add("id", "echo 0")
    bare_machine.add("apt-get", 'echo "apt-get $*" >&2')
    done = bare_machine("build")
    assert "apt-get update" in done.stderr
    assert "apt-get install -y -q --no-install-recommends gcc make git" in done.stderr
    assert done.returncode == 1  # they did not come
    assert "was not found" in done.stderr


def test_a_machine_that_has_everything_is_left_alone():
    done = subprocess.run(
        [ROOT / "tools" / "setup.sh", "system", "build", "test"],
        env={**os.environ, "PATH": f"/nonexistent:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
