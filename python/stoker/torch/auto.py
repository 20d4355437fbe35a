"""`num_workers="auto"`: measure a few samples, decide, and say what was decided and why.

For worker processes the samples are made in a forked child that is thrown away. So the dataset of the script stays as
it is: what it opens at its first sample is opened in each worker, as without "auto", and not once before the fork. For
worker threads, which share the dataset anyway, they are made here. Nothing is drawn from samplers or generators of
the loader. What is measured and what follows from it are apart: `choose` is arithmetic only.
"""

from __future__ import annotations

import itertools
import logging
import math
import os
import pickle
import random
import select
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
import torch.utils.data
from torch.utils.data import IterableDataset, SubsetRandomSampler
from torch.utils.data._utils.collate import default_collate
from torch.utils.data.dataloader import _DatasetKind

from .arena import Memory, Pool, Reader, Writer
from .cpus import Cpus, usable_cpus
from .direct import ArenaCollate, PoolCollate
from .transport import Packer, unpack

logger = logging.getLogger("stoker.torch")

BUDGET_SECONDS = 0.3
PATIENCE_SECONDS = 30  # with a process that makes samples
MAX_WORKERS = 16
GROWTH = 4  # from one size of a trial to the next
MAX_FAILURES = 8  # samples that raise, before the rest is left unmeasured
UNKNOWN_BATCH = 32  # samples of a batch when a sampler of batches does not say
MANY_SINGLES = 64  # samples that are looked at where each is a batch
# Waking a worker and being woken by it, in seconds a batch: what cannot be measured without starting one. Taken from
# loaders of one small sample a batch, on two Zen 3 cores: 0.2 ms and 0.02 ms a batch in all.
WAKE_SECONDS = {"process": 1e-4, "thread": 2e-5}
CHEAP_SECONDS = 1e-3  # a batch that is made faster than this needs nobody's help
MOSTLY = 0.5  # of the time waited for something else than a CPU
WORTHWHILE = 1.3  # two threads, against one

# What torch takes with workers only, as it is without them.
USUAL = {
    "prefetch_factor": None,
    "persistent_workers": False,
    "multiprocessing_context": None,
    "timeout": 0,
}

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
    samples: int = 0  # that were made
    failed: int = 0  # tasks that raised
    on_device: bool = False  # samples are tensors of a device
    fate: str = ""  # of the process that should have measured: "late" or "died"


@dataclass(frozen=True)
class Auto:
    """What `num_workers="auto"` chose, and why. `str()` is the sentence that is logged."""

    num_workers: int
    reason: str
    cpus: int  # for this process
    batches: int | None = None  # of an epoch
    figures: Figures = field(default_factory=Figures)
    dropped: dict[str, Any] = field(
        default_factory=dict
    )  # arguments that need workers, of which there are none

    def __str__(self) -> str:
        return f"num_workers='auto' chose {self.num_workers}: {self.reason}"


def resolved(given: dict[str, Any], worker_mode: str, ceiling: int) -> tuple[Auto, dict[str, Any]]:
    """The arguments of a loader with a number for "auto", and what was decided.

    Where it is 0, what torch takes with workers only is left out, so that a script need not know the outcome.

    Raises
    ------
    ValueError, TypeError
        Another word than "auto"; or what torch's loader raises for the other arguments.
    """
    if given["num_workers"] != "auto":
        raise ValueError(
            f"num_workers is {given['num_workers']!r}; it must be an integer of 0 or more, or 'auto'"
        )
    with (
        warnings.catch_warnings()
    ):  # of numbers of workers and the like: the loader itself will say it
        warnings.simplefilter("ignore")
        probe = torch.utils.data.DataLoader(**{**given, "num_workers": 1})
    auto = decide(probe, worker_mode, ceiling)
    usual = {name: USUAL[name] for name in auto.dropped}
    return auto, {**given, **usual, "num_workers": auto.num_workers}


def decide(probe: Any, worker_mode: str, ceiling: int) -> Auto:
    """Measure, choose and log.

    Parameters
    ----------
    probe : torch.utils.data.DataLoader
        With the arguments of the loader that is being made; it is not iterated.
    worker_mode : str
        "process" or "thread".
    ceiling : int
        Bytes that batches may take, the loader's `arena_bytes`.
    """
    cpus = usable_cpus()
    figures, batches = Figures(), None
    if isinstance(probe.dataset, IterableDataset):
        count, reason = (
            0,
            (
                "the dataset is iterable: each worker would give the whole stream unless the dataset divides it "
                "itself, and looking would consume it; give a number if it does"
            ),
        )
    else:
        with suppress(TypeError, NotImplementedError):
            batches = len(probe)
        if worker_mode == "process":
            figures = _apart(lambda: measure(probe, worker_mode, ceiling))
        else:
            with _streams_put_back():
                figures = measure(probe, worker_mode, ceiling)
        count, reason = choose(figures, cpus, batches, worker_mode)
    dropped = _needs_workers(probe) if count == 0 else {}
    auto = Auto(count, reason, cpus.number, batches, figures, dropped)
    logger.info("%s", auto)
    return auto


def _needs_workers(probe: Any) -> dict[str, Any]:
    given = {name: getattr(probe, name) for name in USUAL}
    return {name: value for name, value in given.items() if value != USUAL[name]}


def _time(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def choose(figures: Figures, cpus: Cpus, batches: int | None, worker_mode: str) -> tuple[int, str]:
    """The number of workers, and the reason in words."""
    batch, move = figures.batch_seconds, figures.move_seconds
    spare, why = max(1, cpus.number - 1), f"{cpus.reason}, one of them for this process"
    if figures.fate == "late":
        return spare, f"no sample was made within {PATIENCE_SECONDS} seconds; {why}"
    if figures.fate == "died":
        return 0, "the process that tried samples died; without workers it will be seen where"
    if batch is None:
        return 0, "no sample could be made to measure; the error will come at its place"
    if figures.on_device and worker_mode == "process":
        return 0, "samples are tensors of a device, which worker processes cannot share as they are"
    made = f"a batch takes {_time(batch)} to make"
    if batch < CHEAP_SECONDS or batch < 2 * move:
        return 0, f"{made}, which is not worth a worker (bringing one takes {_time(move)})"
    if cpus.number == 1:
        why = f"{cpus.reason}: one worker works while this process waits"
    if figures.waiting >= MOSTLY:
        spare = math.ceil(spare / max(1 - figures.waiting, 1 / MAX_WORKERS))
        why += f"; {figures.waiting:.0%} of that time is waiting, which needs no CPU"
    gain = figures.thread_gain
    if worker_mode == "thread" and gain is not None and gain < WORTHWHILE:
        return 1, (
            f"{made}; two threads are {gain:.2f} times as fast as one, so that more would not help: "
            "samples that hold the GIL need worker_mode='process'"
        )
    limits = [
        (spare, why),
        (MAX_WORKERS, f"{why}; {MAX_WORKERS} at most"),
        (math.ceil(batch / move), f"{why}; more would bring batches faster than they can be taken"),
    ]
    if batches is not None:
        limits.append((max(1, batches), f"{why}; an epoch has {batches} batches"))
    count, why = min(limits, key=lambda limit: limit[0])
    return count, f"{made} and {_time(move)} to bring; {why}"


@contextmanager
def _streams_put_back() -> Iterator[None]:
    """Let the global generators stand afterwards where they stood."""
    numpy = sys.modules.get("numpy")
    kept = torch.get_rng_state(), random.getstate(), numpy and numpy.random.get_state()
    try:
        yield
    finally:
        torch.set_rng_state(kept[0])
        random.setstate(kept[1])
        if numpy is not None:
            numpy.random.set_state(kept[2])


def _apart(work: Callable[[], Figures]) -> Figures:
    """What `work` returns in a forked child, in which torch computes with one thread, as in its workers."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # of forks where there are threads: workers do it, too
        pid = os.fork()
    if pid == 0:
        try:
            os.close(reader)
            torch.set_num_threads(1)
            with open(writer, "wb") as file:
                file.write(pickle.dumps(work()))
        finally:
            os._exit(0)  # whatever happened: nothing of the script's may run here
    os.close(writer)
    data = b""
    try:
        data = _read_all(reader, PATIENCE_SECONDS)
    except TimeoutError:
        return Figures(fate="late")
    finally:
        os.close(reader)
        with suppress(
            ProcessLookupError, ChildProcessError
        ):  # a handler of the script's was faster
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    return pickle.loads(data) if data else Figures(fate="died")


def _read_all(descriptor: int, seconds: float) -> bytes:
    """All until nobody has the other end any more."""
    end, data = time.monotonic() + seconds, b""
    while True:
        if not select.select([descriptor], [], [], max(0.0, end - time.monotonic()))[0]:
            raise TimeoutError
        more = os.read(descriptor, 1 << 16)
        if not more:
            return data
        data += more


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
        return int(probe.batch_size)
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
        begin = _clock()
        with suppress(Exception):  # what cannot be pickled fails in the epoch, with its own words
            unpack(pickle.loads(pickle.dumps(self.packer.pack(batch))), self.reader)
        self.move = _clock() - begin


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
    for count in (1, 2, 1, 2):
        seconds = _together(trial, size, count)
        if seconds is None:
            return None
        times[count].append(seconds)
    return 2 * min(times[1]) / max(min(times[2]), 1e-9)


def _together(trial: _Trial, size: int, count: int) -> float | None:
    """Seconds that so many threads take to make `size` samples each, less those in which others had the CPU; None:
    one of them could not.
    """
    tasks = [trial.task(size) for _ in range(count)]
    gate = threading.Barrier(count)
    took: list[float] = []

    def work(keys: list[Any]) -> None:
        gate.wait()
        watch = _Watch()
        with suppress(Exception):
            trial.make(keys)
            took.append(watch.read().seconds)

    threads = [threading.Thread(target=work, args=(keys,), daemon=True) for keys in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return max(took) if len(took) == count else None
