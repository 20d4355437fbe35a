"""Without these: a worker's death, Ctrl-C, or a result that cannot travel ends in a hang, not in an error."""

from __future__ import annotations

import gc
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

torch = pytest.importorskip("torch")

from stoker.torch import DataLoader  # noqa: E402
from torch.utils.data import DataLoader as Stock  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from dataloader_kit import quiet, wait_gone  # noqa: E402

pytestmark = pytest.mark.torch


def outcomes(loader_class, dataset, collate=None, **options):
    """Values and errors, in their order."""
    found = []
    iterator = iter(loader_class(dataset, collate_fn=collate, **options))
    while True:
        try:
            found.append(next(iterator))
        except StopIteration:
            return found
        except Exception as error:
            lines = str(error).splitlines()
            assert "timed out" not in lines[0]
            found.append((type(error).__name__, lines[0], lines[-1]))


class Unpicklable(Exception):
    def __reduce__(self):
        raise MemoryError("no memory to pickle with")


class OnlyThere:
    """Can be unpickled by nobody but who made it."""

    def __init__(self):
        self.home = os.getpid()

    def __setstate__(self, state):
        if os.getpid() != state["home"]:
            raise ValueError("far from home")


def odd_results(samples):
    (number,) = samples
    if number == 1:
        return lambda: number
    if number == 3:

        class Local(Exception):
            pass

        raise Local("of the worker alone")
    if number == 4:
        return Unpicklable()
    if number == 5:
        return OnlyThere()
    return torch.full((1000,), number)


@pytest.mark.parametrize("persistent", [False, True])
def test_what_cannot_travel_is_the_error_of_its_batch(persistent):
    found = outcomes(
        DataLoader, range(8), odd_results, num_workers=2, persistent_workers=persistent
    )
    assert [batch[0].item() for batch in found if isinstance(batch, torch.Tensor)] == [0, 2, 6, 7]
    caught = "Caught {} in DataLoader worker process {}."
    assert found[1][1] in (caught.format(kind, 1) for kind in ("AttributeError", "PicklingError"))
    assert "lambda" in found[1][2]
    local = ("RuntimeError", caught.format("RuntimeError", 1))
    assert found[3][:2] == local
    assert found[3][2].endswith("Local: of the worker alone")
    assert found[4] == (
        "MemoryError",
        caught.format("MemoryError", 0),
        "MemoryError: no memory to pickle with",
    )
    told = "Caught ValueError while a batch of a DataLoader worker was unpickled."
    assert found[5] == ("ValueError", told, "ValueError: far from home")


class Homesick:
    """A state that nobody can unpickle but who made it."""

    def __init__(self, fault):
        self.home, self.fault = os.getpid(), fault

    def __setstate__(self, state):
        if os.getpid() != state["home"]:
            raise state["fault"]("far from home")


class Moody:
    """Its fourth sample brings a state that cannot be unpickled."""

    def __init__(self, fault):
        self.fault, self.last = fault, None

    def __len__(self):
        return 8

    def __getitem__(self, i):
        self.last = i
        return i

    def state_dict(self):
        return Homesick(self.fault) if self.last == 3 else {"last": self.last}

    def load_state_dict(self, state):
        self.last = state["last"]


@pytest.mark.parametrize("fault", [ValueError, EOFError, BrokenPipeError])
def test_a_state_that_cannot_travel_is_the_error_of_its_batch(fault):
    found = outcomes(DataLoader, Moody(fault), batch_size=None, num_workers=2, timeout=60)
    assert found[:3] + found[4:] == [0, 1, 2, 4, 5, 6, 7]
    told = f"Caught {fault.__name__} while a batch of a DataLoader worker was unpickled."
    assert found[3] == (fault.__name__, told, f"{fault.__name__}: far from home")


def within(fetch):
    """A dataset whose samples are made by a function."""

    class Made:
        def __len__(self):
            return 12

        def __getitem__(self, i):
            return fetch(i)

    return Made()


def test_loaders_within_workers_are_as_in_torch():
    def nested(num_workers):
        def fetch(i):
            return torch.stack([x.sum() for x in kind(range(i + 3), 2, num_workers=num_workers)])

        return within(fetch)

    for kind in (Stock, DataLoader):
        inline = outcomes(kind, nested(0), None, batch_size=None, num_workers=2)
        refused = outcomes(kind, nested(1), None, batch_size=None, num_workers=2)
        if kind is Stock:
            theirs = inline, refused
    assert all(map(torch.equal, inline, theirs[0]))
    assert refused == theirs[1]
    assert "daemonic processes are not allowed to have children" in refused[0][2]


def pids_of(iterator):
    return [worker.pid for worker in iterator._workers]


@pytest.mark.parametrize("kind", [Stock, DataLoader])
@pytest.mark.parametrize("epochs", [1, 2])
def test_persistent_workers_end_with_their_loader(kind, epochs):
    gc.collect()
    gc.disable()  # what is in a cycle would stay, and its workers with it
    try:
        loader = kind(within(int), 2, num_workers=2, persistent_workers=True)
        for _ in range(epochs):
            assert len(list(loader)) == 6
        pids = pids_of(loader._iterator)
        del loader
        assert wait_gone(pids, 60)
    finally:
        gc.enable()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_a_persistent_worker_that_dies_between_epochs(how):
    loader = DataLoader(within(int), 2, num_workers=2, persistent_workers=True)
    assert len(list(loader)) == 6
    pids = pids_of(loader._iterator)
    os.kill(pids[1], how)
    assert wait_gone(pids[1:], 30)
    with pytest.raises(RuntimeError, match=rf"DataLoader worker \(pid\(s\) {pids[1]}\)"):
        list(loader)
    with pytest.raises(RuntimeError, match="DataLoader worker"):
        list(loader)  # and again: an error, no hang
    del loader
    gc.collect()
    assert wait_gone(pids, 30)


@pytest.mark.parametrize(
    ("end", "told"),
    [
        (lambda: os._exit(0), "exit code 0"),
        (lambda: os._exit(9), "exit code 9"),
        (lambda: sys.exit(4), "exit code 4"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "killed by SIGKILL"),
    ],
    ids=["left", "left with 9", "exit", "killed"],
)
def test_a_persistent_worker_that_dies_in_a_later_epoch(end, told, tmp_path):
    def fetch(i):
        if i == 9 and (tmp_path / "second").exists():
            end()
        return i

    loader = DataLoader(within(fetch), 2, num_workers=2, persistent_workers=True)
    assert len(list(loader)) == 6
    pids = pids_of(loader._iterator)
    (tmp_path / "second").touch()
    with pytest.raises(RuntimeError, match="DataLoader worker") as caught:
        list(loader)
    assert f"worker 0 (pid {pids[0]}): {told}, at task 4, indices [8, 9]" in str(caught.value)
    del loader, caught
    gc.collect()
    assert wait_gone(pids, 30)


class Uneven(torch.utils.data.IterableDataset):
    """The first worker has nothing, and ends; the second one takes its time."""

    def __iter__(self):
        if torch.utils.data.get_worker_info().id == 1:
            time.sleep(1)
            yield from range(3)


def test_a_worker_that_has_nothing_left_is_no_timeout():
    assert outcomes(DataLoader, Uneven(), None, batch_size=None, num_workers=2, timeout=60) == [
        0,
        1,
        2,
    ]


INTERRUPTED = """
import os, sys, time, torch
from stoker.torch import DataLoader

class Slow:
    def __len__(self):
        return 4000
    def __getitem__(self, i):
        time.sleep(0.002)
        return torch.full((1000,), i)

options = dict(num_workers=2, multiprocessing_context="{method}")

def main():
    loader = DataLoader(Slow(), 4, persistent_workers={persistent}, **options)
    iterator = iter(loader)
    next(iterator), next(iterator)  # one of each worker: both are in their loops
    print(*[w.pid for w in iterator._workers], flush=True)
    for batch in iterator:
        pass

if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        if not {caught}:
            raise
        print("interrupted", len(next(iter(DataLoader(Slow(), 4, **options)))), flush=True)
"""


def interrupted(folder, **how):
    """What a program says to which Ctrl-C comes in the middle of an epoch, with its workers, as from a terminal."""
    script = folder / "train.py"
    script.write_text(INTERRUPTED.format(**how))
    process = subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=quiet(),
        start_new_session=True,
    )
    try:
        pids = [int(pid) for pid in process.stdout.readline().split()]
        assert len(pids) == 2
        os.killpg(process.pid, signal.SIGINT)
        out, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    assert wait_gone(pids, 30)
    return process.returncode, out, errors


@pytest.mark.parametrize(
    ("method", "persistent"), [("fork", False), ("fork", True), ("spawn", True)]
)
def test_ctrl_c_is_one_interrupt_and_no_noise(tmp_path, method, persistent):
    status, out, errors = interrupted(tmp_path, method=method, persistent=persistent, caught=False)
    assert status == -signal.SIGINT
    assert errors.count("Traceback") == 1, errors
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert out == ""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_after_ctrl_c_another_loader_works(tmp_path, method):
    status, out, errors = interrupted(tmp_path, method=method, persistent=False, caught=True)
    assert (status, out, errors) == (0, "interrupted 4\n", "")
