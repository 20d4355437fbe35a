"""Without these: Ctrl-C while a dataset is indexed is heard when that is done, minutes later."""

import fcntl
import os
import signal
import subprocess
import sys
import time

import pytest
import stoker
from kit import EOA, mem, save

F_SETLEASE = 1024

OPEN = """
import os, sys, stoker

try:
    with_loader = len(sys.argv) > 2
    stoker.Loader(sys.argv[1], label=stoker.Label("cls")) if with_loader else stoker.open(sys.argv[1])
except KeyboardInterrupt:
    print("interrupted", flush=True)
else:
    print("opened", flush=True)
sys.stdin.read()  # until the file can be read again
print(len(stoker.open(sys.argv[1])), len(os.listdir("/proc/self/task")))
"""


class Held:
    """A shard that hangs for whoever opens it, as a disk may, until it is released."""

    def __init__(self, path):
        self.path = path
        self.asked = []  # whoever opens a leased file makes the kernel tell its holder
        self.before = signal.signal(signal.SIGIO, lambda *_: self.asked.append(1))
        self.fd = os.open(path, os.O_RDWR)

    def lease(self, kind):
        fcntl.fcntl(self.fd, F_SETLEASE, kind)

    def release(self):
        self.lease(fcntl.F_UNLCK)

    def wait_until_asked(self):
        deadline = time.monotonic() + 60
        while not self.asked:
            assert time.monotonic() < deadline
            time.sleep(0.001)

    def close(self):
        os.close(self.fd)
        signal.signal(signal.SIGIO, self.before)


@pytest.fixture
def held(tmp_path):
    members = b"".join(mem(b"%d.cls" % i, b"%d" % i) for i in range(5))
    held = Held(save(tmp_path / "s.tar", members + EOA))
    try:
        held.lease(fcntl.F_WRLCK)
    except OSError:
        pytest.skip("this file system has no leases")
    yield held
    held.close()


@pytest.mark.parametrize("face", ["open", "loader"])
def test_an_interrupt_ends_an_opening_that_hangs(held, tmp_path, face):
    arguments = [sys.executable, "-c", OPEN, held.path] + (["loader"] if face == "loader" else [])
    with subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        held.wait_until_asked()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"  # the file hangs still
        assert os.listdir(tmp_path) == ["s.tar"]
        held.release()
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert int(out.split()[0]) == 5
    assert sorted(os.listdir(tmp_path)) == ["s.tar", "s.tar.stoker"]


def test_a_handler_that_does_not_raise_does_not_end_it(held):
    heard = []
    before = signal.signal(signal.SIGALRM, lambda *_: (heard.append(1), held.release()))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        assert len(stoker.open(held.path)) == 5
    finally:
        signal.signal(signal.SIGALRM, before)
    assert heard == [1]


def test_nothing_runs_on_behind_an_opening(tmp_path):
    path = save(tmp_path / "s.tar", mem(b"0.cls", b"0") + EOA)
    before = len(os.listdir("/proc/self/task"))
    stoker.open(path)
    with pytest.raises(FileNotFoundError):
        stoker.open(tmp_path / "gone.tar")
    deadline = time.monotonic() + 30
    while len(os.listdir("/proc/self/task")) > before:  # a joined thread leaves a moment later
        assert time.monotonic() < deadline
