"""Without these: a worker dies and nobody is told of which limit, or at which sample, or where to look."""

from __future__ import annotations

import os
import pathlib
import signal
import sys
import time
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from stoker.torch import DataLoader  # noqa: E402
from stoker.torch.obituary import MemoryGroups, obituary  # noqa: E402

pytestmark = pytest.mark.torch

MIB = 1 << 20


class Unified:
    """A folder of control groups of version 2: a limit of 512 MiB on /job, none on /job/step and above."""

    def __init__(self, root):
        self.root = root
        self.own = root / "own"
        self.own.write_text("0::/job/step\n")
        for place, limit in (("", "max"), ("job", str(512 * MIB)), ("job/step", "max")):
            (root / place).mkdir(exist_ok=True)
            (root / place / "memory.max").write_text(limit + "\n")
        self.tell({})

    def tell(self, events):
        for place in ("", "job", "job/step"):
            oom, kill = events.get(place, (0, 0))
            text = f"low 0\nhigh 3\nmax {oom}\noom {oom}\noom_kill {kill}\n"
            (self.root / place / "memory.events").write_text(text)

    def groups(self):
        return MemoryGroups(str(self.root), str(self.own))


class Legacy(Unified):
    """The same of version 1."""

    def __init__(self, root):
        self.root = root
        self.own = root / "own"
        self.own.write_text("5:cpu,cpuacct:/x\n4:memory:/job/step\n0::/\n")
        none = str((1 << 63) - 4096)
        for place, limit in (("", none), ("job", str(512 * MIB)), ("job/step", none)):
            (root / "memory" / place).mkdir(exist_ok=True, parents=True)
            (root / "memory" / place / "memory.limit_in_bytes").write_text(limit + "\n")
        self.tell({})

    def tell(self, events):
        for place in ("", "job", "job/step"):
            oom, kill = events.get(place, (0, 0))
            folder = self.root / "memory" / place
            (folder / "memory.failcnt").write_text(f"{oom}\n")
            text = f"oom_kill_disable 0\nunder_oom 0\noom_kill {kill}\n"
            (folder / "memory.oom_control").write_text(text)


@pytest.mark.parametrize("kind", [Unified, Legacy])
def test_the_limit_that_was_hit_is_named(tmp_path, kind):
    system = kind(tmp_path)
    system.tell({"job": (2, 1)})
    groups = system.groups()
    assert groups.killed() is None  # what was killed before is not ours
    system.tell({"job": (3, 1)})
    assert groups.killed() is None  # the limit was met, nobody died of it
    system.tell({"": (3, 2), "job": (3, 2), "job/step": (0, 1)})
    assert "memory limit of the container, 512 MiB, was hit" in groups.killed()
    groups = system.groups()
    system.tell({"": (3, 3), "job": (3, 3), "job/step": (0, 2)})
    assert "machine had no memory left" in groups.killed()


@pytest.mark.parametrize("own", ["0::/elsewhere\n", "0::/../above\n", "0::/\n"])
def test_a_container_that_sees_only_its_own_group(tmp_path, own):
    system = Unified(tmp_path)
    system.own.write_text(own)
    (tmp_path / "memory.max").write_text(str(64 * MIB))
    groups = system.groups()
    system.tell({"": (1, 1)})
    assert "64 MiB" in groups.killed()


@pytest.mark.parametrize("own", ["", "nonsense\n", "1:cpu:/\n", "4:memory:/none\n"])
def test_a_system_without_groups_says_nothing(tmp_path, own):
    (tmp_path / "own").write_text(own)
    assert MemoryGroups(str(tmp_path / "none"), str(tmp_path / "own")).killed() is None
    assert MemoryGroups(str(tmp_path / "none"), str(tmp_path / "nothing")).killed() is None


def dead(code, now=90 * MIB, peak=100 * MIB):
    memory = SimpleNamespace(noted_memory=lambda: (now, peak))
    return SimpleNamespace(exitcode=code, pid=77, memory=memory)


def test_each_end_has_its_likely_cause(tmp_path):
    system = Unified(tmp_path)
    groups = system.groups()

    def told(code):
        return obituary(1, dead(code), "task 3, indices [6, 7]", groups)

    assert told(-signal.SIGKILL) == (
        "worker 1 (pid 77): killed by SIGKILL, at task 3, indices [6, 7], had used up to 100 MiB of "
        "memory and last 90 MiB; SIGKILL is most often the system running out of memory: use fewer "
        "workers or smaller samples"
    )
    system.tell({"job": (1, 1)})
    assert "the container, 512 MiB" in told(-signal.SIGKILL)
    assert "container" not in told(-signal.SIGSEGV)  # it died of something else
    for how in (signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE):
        assert f"{how.name} is most often a fault in a native library" in told(-how)
    assert "another processor" in told(-signal.SIGILL)
    assert "disk" in told(-signal.SIGBUS)
    assert told(-signal.SIGUSR1).endswith("last 90 MiB")
    assert "killed by signal 64" in told(-64) or "SIGRTMAX" in told(-64)
    assert "traceback is on the standard error" in told(1)
    assert "os._exit()" in told(3)
    assert "memory" not in obituary(0, dead(0, 0, 0), "no task", groups)


class Ending:
    """A dataset that ends its worker at the first sample."""

    def __init__(self, end):
        self.end = end

    def __len__(self):
        return 4

    def __getitem__(self, i):
        self.end()
        time.sleep(60)


def leave():
    sys.exit(1)


def kill():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    ("end", "words"),
    [(leave, "exit code 1, at task 0.*sys.exit"), (kill, "killed by SIGKILL, at task 0")],
)
def test_memory_is_known_before_the_first_batch(end, words):
    loader = DataLoader(Ending(end), 2, num_workers=1)
    with pytest.raises(RuntimeError, match=rf"(?s){words}") as caught:
        list(loader)
    told = str(caught.value)
    assert "MiB of memory and last" in told
    now = int(told.split("last ")[1].split(" MiB")[0])
    peak = int(told.split("up to ")[1].split(" MiB")[0])
    assert 10 < now <= peak < 100_000  # an interpreter with torch is larger than 10 MiB


def test_the_groups_of_this_machine_can_be_read():
    groups = MemoryGroups()
    assert groups.killed() is None or "memory" in groups.killed()
    assert pathlib.Path("/proc/self/cgroup").exists() or groups._groups == []
