"""Without these: a death that no signal tells of is found at torch's next look, 5 seconds later, or never."""

from __future__ import annotations

import functools
import gc
import multiprocessing
import os
import pathlib
import queue
import signal
import sys
import threading
import time
import types

import pytest

torch = pytest.importorskip("torch")

from stoker.torch import DataLoader, iterators  # noqa: E402
from stoker.torch.arena import Writer  # noqa: E402
from stoker.torch.iterators import WorkersIter  # noqa: E402
from stoker.torch.queues import ResultQueue, framed  # noqa: E402
from stoker.torch.sentinels import Sentinel  # noqa: E402
from stoker.torch.transport import Packer  # noqa: E402
from stoker.torch.workers import WorkerEnd  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from dataloader_kit import wait_gone  # noqa: E402
from pinned_kit import FakeCuda, FakeDriver  # noqa: E402

pytestmark = pytest.mark.torch

NEXT_LOOK = 60.0  # seconds until torch would look after its workers by itself
AT_ONCE = 30.0

ENDS = {
    "left": functools.partial(os._exit, 0),
    "exit": sys.exit,
    "killed": functools.partial(signal.raise_signal, signal.SIGKILL),
}
TOLD = {"left": "exit code 0", "exit": "exit code 0", "killed": "killed by SIGKILL"}


class Deadly:
    """Its fifth sample ends the worker; a child of the worker's may stay, with all its files."""

    def __init__(self, end, heir=None):
        self.end = end
        self.heir = heir

    def __len__(self):
        return 12

    def __getitem__(self, i):
        if i == 4:
            if self.heir is not None:
                leave_child(self.heir)
            ENDS[self.end]()
        return i


def leave_child(heir):
    ready, said = os.pipe()
    if os.fork() == 0:
        heir.write_text(str(os.getpid()))
        os.write(said, b".")
        time.sleep(2 * NEXT_LOOK)
        os._exit(0)
    os.read(ready, 1)


@pytest.fixture
def heir(tmp_path):
    file = tmp_path / "heir"
    yield file
    if file.exists():
        os.kill(int(file.read_text()), signal.SIGKILL)


@pytest.fixture(autouse=True)
def torch_does_not_look(monkeypatch):
    monkeypatch.setattr(WorkersIter._try_get_data, "__defaults__", (NEXT_LOOK,))


def fault_of(loader):
    """The error of an epoch, which has to come at once, and so has the end of its workers."""
    begin = time.monotonic()
    try:
        list(loader)
    except RuntimeError as error:
        text = str(error)
    gc.collect()
    assert time.monotonic() - begin < AT_ONCE
    return text


def fault_in_thread(loader):
    """The same where no signal handler can raise."""
    found = []
    thread = threading.Thread(target=lambda: found.append(fault_of(loader)))
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("leaves_child", [False, True], ids=["alone", "with a child"])
@pytest.mark.parametrize("pins", [False, True], ids=["plain", "pins"])
@pytest.mark.parametrize("fault", [fault_of, fault_in_thread])
def test_a_dead_worker_is_named_at_once(monkeypatch, heir, end, leaves_child, pins, fault):
    if pins:
        FakeCuda(monkeypatch, FakeDriver())
    data = Deadly(end, heir if leaves_child else None)
    text = fault(DataLoader(data, 2, num_workers=2, pin_memory=pins))
    assert "worker 0 (pid " in text
    assert f"): {TOLD[end]}, at task 2, indices [4, 5]" in text


def test_another_death_meanwhile_takes_no_words_away(monkeypatch):
    iterator = iter(DataLoader(Deadly("left"), 2, num_workers=2))

    def sleep_and_lose_another(_):
        os.kill(iterator._workers[1].pid, signal.SIGKILL)
        assert wait_gone([iterator._workers[1].pid], AT_ONCE)

    monkeypatch.setattr(
        iterators,
        "time",
        types.SimpleNamespace(monotonic=time.monotonic, sleep=sleep_and_lose_another),
    )
    text = fault_of(iterator)
    assert "; worker 0 (pid " in text
    assert "; worker 1 (pid " in text
    assert "): exit code 0, at task 2, indices [4, 5]" in text


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
@pytest.mark.parametrize("served", [True, False], ids=["served", "stock"])
def test_a_dead_worker_of_another_process_too(monkeypatch, heir, method, served):
    monkeypatch.setenv("STOKER_FORK_SERVER", str(int(served)))
    FakeCuda(monkeypatch, FakeDriver())
    data = Deadly("left", heir)
    loader = DataLoader(
        data, 2, num_workers=1, pin_memory=True, multiprocessing_context=method, timeout=NEXT_LOOK
    )
    assert "): exit code 0, at task 2, indices [4, 5]" in fault_of(loader)


@pytest.mark.parametrize("pins", [False, True])
def test_a_dead_worker_where_the_system_has_no_pidfds(monkeypatch, heir, pins):
    def refused(*_):
        raise OSError(38, "Function not implemented")

    if pins:
        FakeCuda(monkeypatch, FakeDriver())
    monkeypatch.setattr(os, "pidfd_open", refused)
    text = fault_of(DataLoader(Deadly("left", heir), 2, num_workers=2, pin_memory=pins))
    assert "): exit code 0, at task 2, indices [4, 5]" in text


def test_a_dead_thread_whose_batches_are_pinned(monkeypatch):
    FakeCuda(monkeypatch, FakeDriver())
    text = fault_of(
        DataLoader(Deadly("exit"), 2, num_workers=2, pin_memory=True, worker_mode="thread")
    )
    assert "ended by SystemExit: , at task 2, indices [4, 5]" in text


@pytest.mark.parametrize("pins", [False, True])
@pytest.mark.parametrize("sent", [3, 30])
def test_a_worker_that_dies_in_the_middle_of_a_message(monkeypatch, heir, pins, sent):
    write = WorkerEnd._write
    written = []

    def cut_second(self, data):
        written.append(data)
        if len(written) == 2:
            leave_child(heir)
            os.write(self.connection.fileno(), data[:sent])
            os._exit(0)
        write(self, data)

    if pins:
        FakeCuda(monkeypatch, FakeDriver())
    monkeypatch.setattr(WorkerEnd, "_write", cut_second)
    text = fault_of(DataLoader(range(12), 2, num_workers=1, pin_memory=pins))
    assert "): exit code 0, at task 1, indices [2, 3]" in text


def ended(context):
    process = context.Process(target=os.getpid)
    process.start()
    return process


def test_what_was_sent_before_a_death_comes_first():
    process = ended(multiprocessing.get_context("fork"))
    reader, writer = os.pipe()
    end = multiprocessing.connection.Connection(reader)
    results = ResultQueue()
    told = []
    results.tell_end = lambda: told.append(True)
    results.add(end)
    sentinel = Sentinel(process)
    results.watch(sentinel)
    sentinel.join()
    no_slot = (-1, 0, 0, [], framed("batch")[8:])
    os.write(writer, framed((0, no_slot, None)) + framed((1, no_slot, None))[:9])
    assert results.get(60) == (0, "batch")
    assert not told
    begin = time.monotonic()
    with pytest.raises(queue.Empty):
        results.get(NEXT_LOOK)
    assert time.monotonic() - begin < AT_ONCE
    assert told == [True]
    results.close()
    end.close()
    os.close(writer)


def test_a_sentinel_closes_its_own_file_only():
    process = ended(multiprocessing.get_context("fork"))
    sentinel = Sentinel(process)
    assert sentinel.sure
    sentinel.join(60)
    assert process.exitcode == 0
    before = set(os.listdir("/proc/self/fd"))
    sentinel.close()
    opened = os.open(os.devnull, os.O_RDONLY)
    sentinel.close()
    del sentinel
    os.close(opened)
    assert len(before - set(os.listdir("/proc/self/fd"))) == 1


def test_a_collected_sentinel_is_not_closed_once_more():
    sentinel = Sentinel(ended(multiprocessing.get_context("fork")))
    sentinel.__del__()  # as a garbage collection does that has found its iterator, too, and ends that one next
    opened = os.open(os.devnull, os.O_RDONLY)
    sentinel.join(60)
    sentinel.close()
    os.close(opened)  # still ours


def test_a_sentinel_of_a_process_that_is_fetched_already_is_not_sure():
    process = ended(multiprocessing.get_context("fork"))
    process.join()
    sentinel = Sentinel(process)
    assert not sentinel.sure
    assert sentinel.ended()
    sentinel.join(60)


def test_a_script_that_waits_for_any_child_takes_no_death_away():
    iterator = iter(DataLoader(range(1000), 1, num_workers=2))
    next(iterator)
    pid = iterator._workers[0].pid
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    with pytest.raises(RuntimeError, match=rf"{pid}.* has taken its exit code"):
        list(iterator)
    assert not iterator._workers[0].is_alive()
    iterator._shutdown_workers()
    assert not iterator._workers[0].is_alive()


class Ending:
    """A batch that ends its iterator when it is pinned, as a garbage collection in that thread may."""

    def __init__(self):
        self.ended = []

    def pin_memory(self):
        ITERATORS.pop()._shutdown_workers()
        self.ended.append(threading.current_thread().name)
        return self


ITERATORS = []


def test_an_iterator_that_ends_in_its_pinning_thread(monkeypatch):
    FakeCuda(monkeypatch, FakeDriver())
    faults = []
    monkeypatch.setattr(threading, "excepthook", faults.append)
    gate = multiprocessing.get_context("fork").Event()

    def collate(samples):
        gate.wait(60)
        return Ending()

    iterator = iter(DataLoader(range(4), 2, num_workers=2, pin_memory=True, collate_fn=collate))
    ITERATORS.append(iterator)
    gate.set()
    workers, pins = iterator._workers, iterator._pin_memory_thread
    pins.join(60)
    assert not pins.is_alive()
    assert wait_gone([worker.pid for worker in workers], 60)
    for thread in threading.enumerate():
        if thread.name == "stoker-end":
            thread.join(60)
    assert iterator._shutdown
    assert not faults


class Passing:
    """A poll that passed a worker's pipe a moment before the worker wrote, and its sentinel after its end."""

    def __init__(self, poll, pipe):
        self.real, self.pipe, self.looks = poll, pipe, 0

    def poll(self, timeout):
        self.looks += 1
        events = self.real.poll(timeout)
        return [e for e in events if e[0] != self.pipe] if self.looks == 1 else events

    def __getattr__(self, name):
        return getattr(self.real, name)


def test_what_a_worker_has_made_before_its_end_is_not_lost():
    results = ResultQueue()
    reader, writer = multiprocessing.Pipe(duplex=False)
    results.add(reader)
    packer = Packer(Writer(results.memory, 1 << 20))
    os.write(writer.fileno(), framed((0, packer.pack([7, 8]), None)))
    writer.close()
    gate, opener = os.pipe()
    process = multiprocessing.get_context("fork").Process(target=os.read, args=(gate, 1))
    process.start()
    sentinel = Sentinel(process)
    results.watch(sentinel)
    os.write(opener, b".")
    assert wait_gone([process.pid], AT_ONCE)
    results._poll = Passing(results._poll, reader.fileno())
    assert results.get(timeout=AT_ONCE) == (0, [7, 8])
    with pytest.raises(queue.Empty):
        results.get(timeout=NEXT_LOOK)
    results.close()
    for descriptor in (gate, opener):
        os.close(descriptor)


def test_a_death_raises_nowhere_but_where_batches_are_waited_for():
    loader = DataLoader(Deadly("killed"), 2, num_workers=1)
    iterator = iter(loader)
    assert next(iterator).tolist() == [0, 1]
    assert wait_gone([iterator._workers[0].pid], AT_ONCE)  # in the script's own code
    assert next(iterator).tolist() == [2, 3]
    with pytest.raises(RuntimeError, match=r"DataLoader worker.*killed by SIGKILL.*\[4, 5\]"):
        next(iterator)
