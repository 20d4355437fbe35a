"""Without these: on a file system that has no files without a name (NFS, kernels before 3.11), what
the command and the package write is half there, or what a killed run left stays for ever."""

import ctypes
import errno
import json
import os
import platform
import signal
import struct
import subprocess
import sys

import pytest

OPENAT = {"x86_64": 257, "aarch64": 56}.get(platform.machine())
TMPFILE = 0o20000000  # the bit of O_TMPFILE that is no O_DIRECTORY
LOAD, IF_EQUAL, IF_SET, RETURN = 0x20, 0x15, 0x45, 0x06  # of classic BPF
ALLOW, FAIL = 0x7FFF0000, 0x00050000
NO_NEW_PRIVS, SET_SECCOMP, FILTER = 38, 22, 2


class Program(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("steps", ctypes.c_void_p)]


def refuse_unnamed(number):
    """A preexec_fn: openat() with O_TMPFILE fails so from now on, in this process and its heirs."""
    steps = [
        (LOAD, 0, 0, 0),  # which call
        (IF_EQUAL, 0, 3, OPENAT),
        (LOAD, 0, 0, 32),  # its third argument: the flags
        (IF_SET, 0, 1, TMPFILE),
        (RETURN, 0, 0, FAIL | number),
        (RETURN, 0, 0, ALLOW),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = Program(len(steps), ctypes.addressof(code))
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def apply():
        if prctl(NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or prctl(
            SET_SECCOMP, FILTER, ctypes.byref(program), 0, 0
        ):
            os._exit(99)
        assert code

    return apply


def can_filter():
    if OPENAT is None:
        return False
    done = subprocess.run(["true"], preexec_fn=refuse_unnamed(errno.EISDIR), check=False)
    return done.returncode == 0


pytestmark = pytest.mark.skipif(not can_filter(), reason="this system lets no filter be set")


@pytest.fixture(params=[errno.EOPNOTSUPP, errno.EISDIR], ids=["none", "old kernel"])
def without(request):
    """Options of a process that has no O_TMPFILE."""
    return {"preexec_fn": refuse_unnamed(request.param)}


SEES = "import os; os.open('.', os.O_TMPFILE | os.O_RDWR)"


def names(folder):
    return sorted(os.listdir(folder))


def test_the_filter_does_what_the_tests_need(tmp_path, without):
    run = [sys.executable, "-c", SEES]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False, **without)
    assert done.returncode == 1
    assert "[Errno" in done.stderr


def test_all_is_written_and_nothing_is_left(stoker, without):
    (stoker.folder / "in").mkdir()
    for i in range(6):
        (stoker.folder / "in" / f"{i}.txt").write_text(str(i))
    stoker("pack", "in", "-o", "out/%d.tar", "--shard-samples", 3, **without)
    assert names(stoker.folder / "out") == ["0.tar", "0.tar.stoker", "1.tar", "1.tar.stoker"]
    stoker("index", "out", "--force", **without)
    stoker("verify", "out", "--save", "out/report.json", **without)
    assert json.loads((stoker.folder / "out" / "report.json").read_text())["samples"] == 6
    assert not [name for name in names(stoker.folder / "out") if name.startswith(".")]


def test_what_kill_9_leaves_the_next_run_removes(stoker, without):
    out = stoker.folder / "out"
    out.mkdir()
    (stoker.folder / "in").mkdir()
    for i in range(4):
        (stoker.folder / "in" / f"{i}.bin").write_bytes(bytes(15_000_000))
    pack = ("pack", "in", "-o", "out/a.tar")
    left = []
    for _ in range(20):  # what ends before it is seen is done over
        process = stoker.start(*pack, **without)
        while process.poll() is None and not left:
            left = [name for name in names(out) if name.endswith("part")]
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        if process.returncode == -signal.SIGKILL:
            break
        left = []
        for name in names(out):
            (out / name).unlink()
    assert left == [".a.tar.stoker-part"]
    assert names(out) == left  # nothing that looks whole
    stoker(*pack, **without)
    assert names(out) == ["a.tar", "a.tar.stoker"]
    stoker("verify", "out/a.tar")
