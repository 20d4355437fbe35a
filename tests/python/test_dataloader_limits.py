"""Without these: a long run ends for want of descriptors, mappings, memory or /dev/shm, hours after it began."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import textwrap

import pytest

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.torch

KIT = """
import gc, json, os, resource, sys
import numpy as np
import torch
from stoker.torch import DataLoader

class Rows:
    def __init__(self, n=64, width=12288):
        self.n, self.width = n, width
    def __len__(self):
        return self.n
    def __getitem__(self, i):
        return torch.full((self.width,), i % 251, dtype=torch.uint8), i

def right(batch):
    return all((row == i % 251).all() for row, i in zip(*batch))
"""


def run(tmp_path, text, *arguments, around=()):
    """Standard output of a script that ends well."""
    script = tmp_path / "script.py"
    script.write_text(KIT + textwrap.dedent(text))
    done = subprocess.run(
        [*around, sys.executable, script, *arguments], capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def with_shm(mount):
    """A command in front of others, so that they see another /dev/shm."""
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not installed")
    around = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    around += [f'mount -t tmpfs -o {mount} tmpfs /dev/shm && exec "$0" "$@"']
    tried = subprocess.run([*around, "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        pytest.skip(f"no mounts of one's own here: {tried.stderr.strip()}")
    return around


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("mount", ["size=64k", "ro"], ids=["64 KiB", "none"])
def test_batches_need_no_shared_memory_folder(tmp_path, method, mount):
    said = run(
        tmp_path,
        """
        class Table(Rows):
            # too large itself for 64 KiB, on its way to a spawned worker
            def __init__(self):
                super().__init__()
                self.table = torch.arange(1 << 18) % 251
            def __getitem__(self, i):
                return self.table[i].to(torch.uint8).expand(self.width).contiguous(), i

        if __name__ == "__main__":
            try:
                with open("/dev/shm/probe", "wb", buffering=0) as file:
                    print("room for", file.write(bytes(1 << 20)) >> 10, "KiB")
            except OSError:
                print("no room")
            else:
                os.remove("/dev/shm/probe")
            options = dict(num_workers=2, multiprocessing_context=sys.argv[1])
            for persistent in (False, True) if sys.argv[1] == "fork" else (True,):
                loader = DataLoader(Table(), 16, persistent_workers=persistent, **options)
                for _ in range(2):
                    kept = list(loader)
                    print(len(kept), all(right(batch) for batch in kept), os.listdir("/dev/shm"))
        """,
        method,
        around=with_shm(mount),
    ).splitlines()
    assert said[0] == ("no room" if mount == "ro" else "room for 64 KiB")
    assert {*said[1:]} == {"4 True []"}


def test_kept_batches_need_no_descriptors(tmp_path):
    said = run(
        tmp_path,
        """
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        before = len(os.listdir("/proc/self/fd"))
        iterator = iter(DataLoader(Rows(400), 2, num_workers=2))
        kept, used = [], set()
        for batch in iterator:
            kept.append(batch)
            used.add(len(os.listdir("/proc/self/fd")) - before)
        assert len(kept) == 200
        assert all(right(batch) for batch in kept)
        del iterator
        print(max(used), len(os.listdir("/proc/self/fd")) - before)
        """,
    )
    most, left = map(int, said.split())
    assert most <= 20
    assert left == 0


GROWTH = """
import pathlib, threading

def resident(pid):
    fields = pathlib.Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1]
    return int(fields.split()[0])

def children():
    return pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()

def now(workers):
    gc.collect()
    return {
        "descriptors": len(os.listdir("/proc/self/fd")),
        "mappings": len(pathlib.Path("/proc/self/maps").read_text().splitlines()),
        "threads": len(os.listdir("/proc/self/task")),
        "children": len(children()),
        "KiB": resident("self"),
        "KiB of workers": sum(map(resident, workers)),
    }

persistent = sys.argv[1] == "persistent"
loader = DataLoader(Rows(), 4, num_workers=2, shuffle=True, persistent_workers=persistent)
seen = []
for epoch in range(30):
    for batch in loader:
        pass
    assert right(batch)
    seen.append(now(children() if persistent else []))
print(json.dumps(seen))
"""


@pytest.mark.parametrize("kind", ["persistent", "afresh"])
def test_nothing_grows_from_epoch_to_epoch(tmp_path, kind):
    seen = json.loads(run(tmp_path, GROWTH, kind))
    first, last = seen[9], seen[29]
    for what in ("descriptors", "threads", "children"):
        assert last[what] == first[what], what
    assert last["children"] == (2 if kind == "persistent" else 0)
    assert last["mappings"] <= first["mappings"] + 10  # the allocator's own come and go
    # A batch of 48 KiB that leaked in each epoch would be 960 KiB, all of an epoch's 15 MiB.
    assert last["KiB"] <= first["KiB"] + 800
    assert last["KiB of workers"] <= first["KiB of workers"] + 1600


def test_no_memory_for_a_sample_is_that_samples_error(tmp_path):
    said = run(
        tmp_path,
        """
        class Hungry(Rows):
            def __getitem__(self, i):
                if i == 2:
                    size = int(open("/proc/self/statm").read().split()[0]) * 4096
                    resource.setrlimit(resource.RLIMIT_AS, (size + (64 << 20),) * 2)
                    bytearray(1 << 30)
                return super().__getitem__(i)

        iterator = iter(DataLoader(Hungry(6), None, num_workers=1))
        while True:
            try:
                print(next(iterator)[1])
            except StopIteration:
                break
            except MemoryError as error:
                print(str(error).splitlines()[0])
        """,
    ).splitlines()
    assert said == ["0", "1", "Caught MemoryError in DataLoader worker process 0.", "3", "4", "5"]


@pytest.mark.parametrize("what", ["address space", "a larger file"])
def test_no_room_for_a_slot_is_a_copy_and_a_warning(tmp_path, what):
    said = run(
        tmp_path,
        """
        import errno, warnings
        import stoker.torch.arena

        def tighten(fd, size, offset):
            raise OSError(errno.ENOMEM, "no address space")

        class Tight(Rows):
            def __getitem__(self, i):
                if i == 20 and sys.argv[1] == "address space":
                    stoker.torch.arena.map_file = tighten
                if i == 20 and sys.argv[1] == "a larger file":
                    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
                return super().__getitem__(i)

        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            kept = list(DataLoader(Tight(64, width=1 << 18), None, num_workers=1))
        print(len(kept), all((row == i % 251).all() for row, i in kept))
        print(*[str(w.message).split(":")[0] for w in told])
        """,
        what,
    ).splitlines()
    assert said == ["64 True", "the arena of the workers is full (arena_bytes, or no memory)"]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_what_the_system_refuses_on_the_way_leaves_nothing_behind(tmp_path, method):
    """The first descriptor or process that a loader asks for is refused, then the second, and so on."""
    said = run(
        tmp_path,
        """
        from multiprocessing import connection
        from stoker.torch import server

        def descriptors():
            gc.collect()
            theirs = server._server.control.fileno() if server._server is not None else -1
            return [fd for fd in sorted(os.listdir("/proc/self/fd")) if fd != str(theirs)]

        left = 0
        def refusing(function):
            def call(*args, **how):
                global left
                left -= 1
                if left == 0:
                    raise OSError(24, "refused")
                return function(*args, **how)
            return call

        def loader():
            return DataLoader(Rows(8), 4, num_workers=workers, multiprocessing_context=sys.argv[1])

        if __name__ == "__main__":
            workers = 2
            assert len(list(loader())) == 2
            before = len(descriptors())
            places = [(os, "memfd_create"), (os, "eventfd"), (connection, "Pipe")]
            if sys.argv[1] == "spawn":  # at a fork the standard library loses the first of two
                places.append((os, "pipe"))
            for place in places:
                workers = 1 if place[1] == "pipe" else 2  # each refusal costs a fork server
                plain = getattr(*place)
                for nth in range(1, 100):
                    left = nth
                    setattr(*place, refusing(plain))
                    try:
                        batches = len(list(loader()))
                    except OSError as error:
                        assert str(error) == "[Errno 24] refused"
                        batches = 0
                    setattr(*place, plain)
                    if left > 0:
                        break
                    assert len(descriptors()) == before, (place, nth)
                assert batches == 2
                print(place[1], nth > 1)
        """,
        method,
    ).split()
    asked = ["memfd_create", "eventfd", "Pipe", *(["pipe"] if method == "spawn" else [])]
    assert said == [word for name in asked for word in (name, "True")]
