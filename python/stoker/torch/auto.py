"""`num_workers="auto"`: measure a few samples, decide, and say what was decided and why.

For worker processes the samples are made in a forked child that is thrown away. So the dataset of the script stays as
it is: what it opens at its first sample is opened in each worker, as without "auto", and not once before the fork. For
worker threads, which share the dataset anyway, they are made here. Nothing is drawn from samplers or generators of
the loader. What is measured (trial.py) and what follows from it are apart: `choose` is arithmetic only.
"""

from __future__ import annotations

import logging
import math
import multiprocessing
import os
import random
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from multiprocessing import get_all_start_methods
from typing import Any, NoReturn

import torch
import torch.utils.data
from torch.utils.data import IterableDataset

from .cpus import Cpus, usable_cpus
from .interrupts import Held
from .queues import Messages, framed
from .trial import CHEAP_SECONDS, Figures, measure
from .workers import die_at_once_with

logger = logging.getLogger("stoker.torch")

PATIENCE_SECONDS = 30  # with a process that makes samples
MAX_WORKERS = 16
MOSTLY = 0.5  # of the time waited for something else than a CPU
WORTHWHILE = 1.3  # two threads, against one
SLACK = 1.05  # fewer workers that need at most this times the least time are better
# Up to this times as long as without them workers are worth it: what the consumer does meanwhile is not counted.
WORTH_STARTING = 1.1
EPOCHS = 10  # that a process is taken to live for that outlives one
# CPU time that a worker takes to start and to end, beside the fork; a thread; the process that spawned workers are
# forked from, which imports torch. Measured on two Zen 4 cores (run `life` of bench/peers).
WORKER_SECONDS = 0.02
THREAD_SECONDS = 0.0005
SERVER_SECONDS = 1.1

ITERABLE = (
    "the dataset is iterable: each worker would give the whole stream unless the dataset divides it "
    "itself, and looking would consume it; give a number if it does"
)

# What torch takes with workers only, as it is without them.
USUAL = {
    "prefetch_factor": None,
    "persistent_workers": False,
    "multiprocessing_context": None,
    "timeout": 0,
}


@dataclass(frozen=True)
class Use:
    """What the workers would be for."""

    worker_mode: str = "process"
    batches: int | None = None  # of an epoch; None: it has no length
    persistent: bool = False
    served: bool = False  # by the methods spawn and forkserver


@dataclass(frozen=True)
class Auto:
    """What `num_workers="auto"` chose, and why. `str()` is the sentence that is logged."""

    num_workers: int
    reason: str
    cpus: int  # for this process
    batches: int | None = None  # of an epoch
    figures: Figures = field(default_factory=Figures)
    # Arguments that were given and need workers, of which there are none.
    dropped: dict[str, Any] = field(default_factory=dict)

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
    with warnings.catch_warnings():  # the loader itself will say it
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
        count, reason = 0, ITERABLE
    else:
        with suppress(Exception):  # of a sampler; nobody has to ask for it
            batches = len(probe)
        if worker_mode == "process":
            figures = _apart(lambda: measure(probe, worker_mode, ceiling))
        else:
            with _streams_put_back():
                figures = measure(probe, worker_mode, ceiling)
        use = Use(worker_mode, batches, probe.persistent_workers, _served(probe, worker_mode))
        count, reason = choose(figures, cpus, use)
    dropped = _needs_workers(probe) if count == 0 else {}
    auto = Auto(count, reason, cpus.number, batches, figures, dropped)
    logger.info("%s", auto)
    return auto


def _served(probe: Any, worker_mode: str) -> bool:
    """Are workers forked from a process that is started for them?"""
    context = probe.multiprocessing_context or multiprocessing
    # Asked like this it stays open; the first of all methods is the usual one.
    method = context.get_start_method(allow_none=True) or get_all_start_methods()[0]
    return worker_mode == "process" and method != "fork"


def _needs_workers(probe: Any) -> dict[str, Any]:
    given = {name: getattr(probe, name) for name in USUAL}
    return {name: value for name, value in given.items() if value != USUAL[name]}


def _time(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def _start_seconds(figures: Figures, workers: int, cpus: int, use: Use) -> float:
    """What starting so many workers, and ending them, adds to an epoch."""
    if use.worker_mode == "thread":
        one = workers * THREAD_SECONDS
    else:
        one = workers * (figures.fork_seconds + WORKER_SECONDS / min(workers, cpus))
    served = SERVER_SECONDS if use.served else 0.0
    return (one / EPOCHS if use.persistent else one) + served / EPOCHS


def _round_seconds(figures: Figures, workers: int, cpus: int) -> float:
    """Until each of so many workers has made a batch and it was brought: the longest of four.

    One batch by one worker; the work of all on the CPUs there are; the part of it that one thread at a time can do
    because it holds the GIL; bringing them, which one thread does.
    """
    batch = figures.batch_seconds or 0.0
    work = workers * batch * (1 - figures.waiting)
    alone = 0.0
    if figures.thread_gain is not None:  # of two threads: gain = 1 / (alone + (1 - alone) / 2)
        alone = min(max(2 / figures.thread_gain - 1, 0.0), 1.0)
    return max(batch, work / cpus, work * alone, workers * figures.move_seconds)


def _epoch_seconds(figures: Figures, workers: int, cpus: int, use: Use) -> float:
    """An epoch whose consumer does nothing else. Without a length: one batch of many."""
    if workers == 0:
        return (figures.batch_seconds or 0.0) * (1 if use.batches is None else use.batches)
    round_seconds = _round_seconds(figures, workers, cpus)
    if use.batches is None:
        return round_seconds / workers
    return (
        _start_seconds(figures, workers, cpus, use)
        + math.ceil(use.batches / workers) * round_seconds
    )


def choose(figures: Figures, cpus: Cpus, use: Use) -> tuple[int, str]:
    """The number of workers, and the reason in words. Arithmetic only."""
    batch, move = figures.batch_seconds, figures.move_seconds
    if figures.fate == "late":
        reason = f"no sample was made within {PATIENCE_SECONDS} seconds; {cpus.reason}"
        return min(cpus.number, MAX_WORKERS), reason
    if figures.fate == "died":
        return 0, "the process that tried samples died; without workers it will be seen where"
    if batch is None and figures.failed:
        return 0, (
            "no sample could be made to measure, each that was tried raised; the error will come at its place, "
            "or its key was none that the sampler gives: then give a number"
        )
    if batch is None:
        return 0, "no sample could be made to measure: there is none, or its key is not known"
    if figures.on_device and use.worker_mode == "process":
        return 0, "samples are tensors of a device, which worker processes cannot share as they are"
    made = f"a batch takes {_time(batch)} to make"
    if batch < CHEAP_SECONDS or batch < 2 * move:
        return 0, f"{made}, which is not worth a worker (bringing one takes {_time(move)})"
    gain = figures.thread_gain
    if use.worker_mode == "thread" and gain is not None and gain < WORTHWHILE:
        return 1, (
            f"{made}; two threads are {gain:.2f} times as fast as one, so that more would not help: "
            "samples that hold the GIL need worker_mode='process'"
        )
    most = cpus.number
    if figures.waiting >= MOSTLY:
        most = math.ceil(most / max(1 - figures.waiting, 1 / MAX_WORKERS))
    seconds = [
        _epoch_seconds(figures, workers, cpus.number, use)
        for workers in range(min(most, MAX_WORKERS) + 1)
    ]
    least = min(seconds[1:])
    count = next(n for n, one in enumerate(seconds) if n > 0 and one <= SLACK * least)
    why = f"{made} and {_time(move)} to bring; {cpus.reason}"
    if figures.waiting >= MOSTLY:
        why += f"; {figures.waiting:.0%} of the time is waiting, which needs no CPU"
    if use.batches is None:
        return count, why
    expected = f"{_time(seconds[0])} without workers and {_time(seconds[count])} with {count}"
    why += f"; an epoch of {use.batches} batches should take {expected}"
    if seconds[count] > WORTH_STARTING * seconds[0]:
        return 0, f"{why}, starting them included"
    return count, why


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
    pid, parent = 0, os.getpid()
    for stream in (sys.stdout, sys.stderr):  # or the child might write what waits there, too
        with suppress(AttributeError, OSError, ValueError):
            stream.flush()
    try:
        try:
            with warnings.catch_warnings(), Held():
                # Of forks where there are threads: workers do it, too.
                warnings.simplefilter("ignore", DeprecationWarning)
                begin = time.perf_counter()
                pid = os.fork()
                if pid == 0:
                    _try_out(work, writer, parent)
                forked = time.perf_counter() - begin
        finally:
            os.close(writer)
        found = _read(reader, PATIENCE_SECONDS)
    except TimeoutError:
        return Figures(fate="late")
    finally:
        os.close(reader)
        # Unless a handler of the script's was faster.
        with suppress(ProcessLookupError, ChildProcessError):
            if pid > 0:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
    if found is None:
        return Figures(fate="died")
    return replace(found, fork_seconds=forked)


def _try_out(work: Callable[[], Figures], writer: int, parent: int) -> NoReturn:
    """In the child: say what `work` returns, and end."""
    try:
        die_at_once_with(parent)
        torch.set_num_threads(1)
        with open(writer, "wb") as file:
            file.write(framed((work(),)))
    finally:
        os._exit(0)  # whatever happened: nothing of the script's may run here


def _read(descriptor: int, seconds: float) -> Figures | None:
    """The one message; None: nobody has the other end any more. Children of its writer's may keep it open for long."""
    end = time.monotonic() + seconds
    messages = Messages(descriptor)
    found: list[Any] = []
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    while not found:
        if not poll.poll(max(0.0, end - time.monotonic()) * 1000):
            raise TimeoutError
        try:
            found = messages.read()
        except EOFError:
            return None
    figures: Figures = found[0][0]
    return figures
