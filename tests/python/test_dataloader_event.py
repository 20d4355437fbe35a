"""Without these: a container without /dev/shm cannot start a worker, or a worker never hears that it is over."""

from __future__ import annotations

import gc
import os
import pathlib
import sys
import threading

import pytest

torch = pytest.importorskip("torch")

from stoker.torch import DataLoader  # noqa: E402
from stoker.torch.event import Event  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import dataloader_kit as kit  # noqa: E402

pytestmark = pytest.mark.torch


def test_it_is_set_until_it_is_cleared():
    event = Event()
    assert not event.is_set()
    assert not event.wait(0.001)
    event.set()
    event.set()
    assert event.is_set()
    assert event.wait()
    event.clear()
    assert not event.is_set()
    event.clear()
    threading.Timer(0.05, event.set).start()
    assert event.wait(60)


def test_a_fork_shares_it():
    event, answer = Event(), Event()
    pid = os.fork()
    if pid == 0:
        try:
            if event.wait(60):
                answer.set()
        finally:
            os._exit(0)
    event.set()
    assert answer.wait(60)
    assert os.waitpid(pid, 0)[1] == 0


def echo(event, answer):
    if event.wait(60):
        answer.set()


def test_a_spawned_process_shares_it():
    event, answer = Event(), Event()
    process = torch.multiprocessing.get_context("spawn").Process(target=echo, args=(event, answer))
    process.start()
    event.set()
    process.join()
    assert answer.is_set()


def test_its_descriptor_is_given_back():
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    events = [Event() for _ in range(5)]
    assert len(os.listdir("/proc/self/fd")) == before + 5
    del events
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_loader_makes_no_semaphore(monkeypatch, method):
    synchronize = pytest.importorskip("multiprocessing.synchronize")

    def refused(*_, **__):
        raise OSError(38, "no semaphores here")

    monkeypatch.setattr(synchronize._multiprocessing, "SemLock", refused)
    with pytest.raises(OSError, match="no semaphores"):
        torch.multiprocessing.get_context(method).Event()
    loader = DataLoader(kit.Mixed(8), 4, num_workers=2, multiprocessing_context=method)
    assert [batch["number"].tolist() for batch in loader] == [[0, 1, 2, 3], [4, 5, 6, 7]]


class Owner:
    """Sets an event when it is collected, as an iterator does, in a cycle with it."""

    def __init__(self):
        self.event = Event()
        self.event.keep()
        self.event.owner = self

    def __del__(self):
        self.event.set()
        was_set.append(self.event.is_set())
        self.event.close()


was_set: list[bool] = []


def test_an_event_that_is_kept_can_be_set_by_the_finalizer_of_its_owner():
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(10):
        Owner()
    gc.collect()
    assert was_set == [True] * 10
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_loader_in_a_cycle_ends_its_workers_and_gives_its_arena_back():
    def once():
        iterator = iter(DataLoader(kit.Mixed(), 4, num_workers=2))
        next(iterator)
        # What a garbage collection may do first.
        iterator._workers_done_event.__del__()
        for tasks in iterator._index_queues:
            tasks._writer.close()

    once()
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        once()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before
