"""Trying samples: what making and moving a batch takes. For `num_workers="auto"`, which decides in auto.py.

The calling thread makes more and more samples at a time, as a worker would, until a batch is whole or the time is
over. Time in which the thread could have run and others had the CPU is not counted.
"""

from __future__ import annotations

import itertools
import math
import pickle
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch.utils.data import SubsetRandomSampler
from torch.utils.data._utils.collate import default_collate
from torch.utils.data.dataloader import _DatasetKind

from .arena import Memory, Pool, Reader, Writer
from .direct import ArenaCollate, PoolCollate
from .transport import Packer, unpack

BUDGET_SECONDS = 0.3
GROWTH = 4  # from one size of a trial to the next
MAX_FAILURES = 8  # samples that raise, before the rest is left unmeasured
UNKNOWN_BATCH = 32  # samples of a batch when a sampler of batches does not say
MANY_SINGLES = 64  # samples that are looked at where each is a batch
CHEAP_SECONDS = 1e-3  # a batch that is made faster than this needs nobody's help
# Waking a worker and being woken by it, in seconds a batch: what cannot be measured without starting one. Taken from
# loaders of one small sample a batch, on two Zen 3 cores: 0.2 ms and 0.02 ms a batch in all.
WAKE_SECONDS = {"process": 1e-4, "thread": 2e-5}
SWITCH_SECONDS = 0.1  # between two threads that hold the GIL, while they are measured

_clock = time.perf_counter
_cpu_clock = time.thread_time


def _queue_seconds() -> float:
    """How long this thread could have run and did not, since it began: others had the CPU."""
    try:
        with open("/proc/thread-self/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1]) * 1e-9
    except (OSError, IndexError, ValueError):
        return 0.0


@dataclass(frozen=True)
class Figures:
    """What was measured. Seconds; None where it could not be."""

    batch_seconds: float | None = None  # to make one batch in one thread, collation included
    move_seconds: float = 0.0  # to bring one from a worker
    waiting: float = 0.0  # part of the time that was spent on no CPU: disk, network, sleep
    thread_gain: float | None = None  # speed of two threads against one
    fork_seconds: float = 0.0  # that this process took to fork one
    samples: int = 0  # that were made
    failed: int = 0  # tasks that raised
    on_device: bool = False  # samples are tensors of a device
    fate: str = ""  # of the process that should have measured: "late" or "died"


def spread(probe: Any) -> Iterator[Any]:
    """Keys of samples all over the dataset, none twice before each was once; for ever. Nothing is drawn."""
    sampler = probe.sampler
    if isinstance(probe.batch_sampler, (list, tuple)):
        keys: Any = [key for batch in probe.batch_sampler[:1000] for key in batch]
    elif isinstance(sampler, (list, tuple, range)):
        keys = sampler
    elif type(sampler) is SubsetRandomSampler:
        keys = sampler.indices
    else:
        keys = range(len(probe.dataset))
    count = len(keys)
    step = max(1, int(count * 0.618))
    while count > 1 and math.gcd(step, count) != 1:
        step += 1
    at = 0
    while count > 0:
        yield keys[at]
        at = (at + step) % count


def _batch_size(probe: Any) -> int:
    if probe.batch_size is not None:
        most = int(probe.batch_size)
        with suppress(Exception):  # a sampler that does not know its length
            most = max(1, min(most, len(probe.sampler)))
        return most
    if isinstance(probe.batch_sampler, (list, tuple)):
        sizes = [len(batch) for batch in probe.batch_sampler[:1000]]
        return max(1, round(sum(sizes) / max(1, len(sizes))))
    size = getattr(probe.batch_sampler, "batch_size", None)
    return size if isinstance(size, int) and size > 0 else UNKNOWN_BATCH


class Took(NamedTuple):
    """Seconds, without those in which this thread could have run and others had the CPU."""

    seconds: float
    waited: float  # of these, those in which no CPU was wanted


class _Watch:
    """Begins when it is made. Of this thread."""

    def __init__(self) -> None:
        # The clock outermost: what is taken off it must lie within it.
        self._begin = _clock()
        self._queue, self._cpu = _queue_seconds(), _cpu_clock()

    def read(self) -> Took:
        cpu, queue = _cpu_clock() - self._cpu, _queue_seconds() - self._queue
        seconds = max(_clock() - self._begin - queue, 1e-9)
        return Took(seconds, max(seconds - cpu, 0.0))


class _Trial:
    """Makes batches as a worker would, and remembers what it took."""

    def __init__(self, probe: Any, worker_mode: str, ceiling: int) -> None:
        self.packer: Packer | None = None
        self.memory: Memory | None = None
        if worker_mode == "process":
            self.memory = Memory()
            self.packer = Packer(Writer(self.memory, ceiling))
            self.reader = Reader(self.memory)
        self.auto_collation = probe._auto_collation
        self.target = _batch_size(probe) if self.auto_collation else MANY_SINGLES
        self.keys = spread(probe)
        collate = probe.collate_fn
        if collate is default_collate:
            collate = ArenaCollate(self.packer) if self.packer else PoolCollate(Pool(ceiling))
        self.fetcher = _DatasetKind.create_fetcher(  # type: ignore[no-untyped-call]
            _DatasetKind.Map, probe.dataset, self.auto_collation, collate, False
        )
        self.samples = self.failed = 0
        self.move = 0.0
        self.on_device = False

    def close(self) -> None:
        if self.memory is not None:
            self.memory.close()

    def task(self, size: int) -> list[Any]:
        return list(itertools.islice(self.keys, size))

    def make(self, keys: list[Any]) -> Any:
        """A batch; without collation the last one of that many."""
        if self.auto_collation:
            return self.fetcher.fetch(keys)
        batch = None
        for key in keys:
            batch = self.fetcher.fetch(key)
        return batch

    def timed(self, size: int) -> Took | None:
        """What it takes to make that many samples; None: one of them raised."""
        keys = self.task(size)
        if len(keys) < size:
            return None
        watch = _Watch()
        try:
            batch = self.make(keys)
        except Exception:
            self.failed += 1
            return None
        took = watch.read()
        self.samples += size
        self._bring(batch)
        return took

    def _bring(self, batch: Any) -> None:
        """From worker to parent, all of the way that lies in Python."""
        self.on_device = self.on_device or _on_device(batch)
        if self.packer is None or self.on_device:
            return
        watch = _Watch()
        with suppress(Exception):  # what cannot be pickled fails in the epoch, with its own words
            unpack(pickle.loads(pickle.dumps(self.packer.pack(batch))), self.reader)
        self.move = watch.read().seconds


def _on_device(batch: Any) -> bool:
    if isinstance(batch, torch.Tensor):
        return batch.device.type != "cpu"
    if isinstance(batch, dict):
        return any(map(_on_device, batch.values()))
    return isinstance(batch, (list, tuple)) and any(map(_on_device, batch[:100]))


def measure(probe: Any, worker_mode: str, ceiling: int) -> Figures:
    """Make more and more samples at a time until a batch is whole or the time is over."""
    trial = _Trial(probe, worker_mode, ceiling)
    try:
        return _figures(trial, worker_mode)
    except (TypeError, NotImplementedError):  # neither a length nor keys: where are its samples?
        return Figures()
    finally:
        trial.close()


def _figures(trial: _Trial, worker_mode: str) -> Figures:
    size, took = _grow(trial, BUDGET_SECONDS / (2 if worker_mode == "thread" else 1))
    if took is None:
        return Figures(failed=trial.failed)
    batch = took.seconds * (trial.target if trial.auto_collation else 1) / size
    gain = None
    if worker_mode == "thread" and batch >= CHEAP_SECONDS:
        gain = _thread_gain(trial, max(1, min(size, int(size * BUDGET_SECONDS / 8 / took.seconds))))
    return Figures(
        batch_seconds=batch,
        move_seconds=trial.move + WAKE_SECONDS[worker_mode],
        waiting=min(1.0, took.waited / took.seconds),
        thread_gain=gain,
        samples=trial.samples,
        failed=trial.failed,
        on_device=trial.on_device,
    )


def _grow(trial: _Trial, budget: float) -> tuple[int, Took | None]:
    """The largest size that there was time for, and what it took at its second run: the first opens files, warms up
    and gets memory.
    """
    end = None  # of the time, which begins when one sample was made
    size, best_size, best = 1, 1, None
    while trial.failed <= MAX_FAILURES:
        took = trial.timed(size)
        again = best is not None and best_size == size
        if took is not None:
            best, best_size = (min(took, best) if again and best else took), size
        elif not trial.failed:
            break  # the dataset is empty
        end = _clock() + budget if end is None else end
        if again and size == trial.target:
            break
        if again and took is not None:
            size = min(GROWTH * size, trial.target)
            if best is not None and _clock() + 2 * GROWTH * best.seconds > end:
                break
        elif best is None and _clock() > end:
            break
    return best_size, best


def _thread_gain(trial: _Trial, size: int) -> float | None:
    """How much faster two threads make twice as many samples."""
    times: dict[int, list[float]] = {1: [], 2: []}
    with _rare_switches():
        for count in (1, 2, 1, 2):
            seconds = _together(trial, size, count)
            if seconds is None:
                return None
            times[count].append(seconds)
    return 2 * min(times[1]) / min(times[2])


@contextmanager
def _rare_switches() -> Iterator[None]:
    """A thread that waits for the GIL asks for it every few milliseconds, and where others have the CPU it waits for one
    to ask. That would be taken off as if the GIL had been there for it.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _together(trial: _Trial, size: int, count: int) -> float | None:
    """Seconds that so many threads take to make `size` samples each, less those in which others had the CPU; None:
    one of them could not.
    """
    tasks = [trial.task(size) for _ in range(count)]
    begun: list[float] = []
    gate = threading.Barrier(count, lambda: begun.append(_clock()))
    took: list[float] = []

    def work(keys: list[Any]) -> None:
        queue = _queue_seconds()
        gate.wait()  # from now on, also for a thread that has to wait for the GIL to begin
        with suppress(Exception):
            trial.make(keys)
            end = _clock()
            # Of what others took a part may lie before the gate.
            took.append(max(end - begun[0] - (_queue_seconds() - queue), 1e-9))

    threads = [threading.Thread(target=work, args=(keys,), daemon=True) for keys in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return max(took) if len(took) == count else None
