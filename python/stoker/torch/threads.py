"""Workers that are threads of this process: `worker_mode="thread"` of `stoker.torch.DataLoader`.

torch's iterator hands out tasks and puts batches in order as ever. The context here gives it queues inside the
process and threads for processes. They run a loop of their own: torch's seeds the global generators, sets handlers
of signals and torch's number of threads, all of which belong to the whole process and not to a worker.

Threads: the consumer puts tasks, each worker takes those of its own queue and puts batches into the one queue of
results. Nothing is locked but inside `queue.SimpleQueue`, whose `put` may come at any moment, even from a garbage
collection in the middle of another: an iterator may be ended anywhere, also by one of its own workers.
"""

from __future__ import annotations

import atexit
import contextlib
import copy
import queue
import random
import sys
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch._utils import ExceptionWrapper
from torch.utils.data import IterDataPipe
from torch.utils.data._utils import fetch
from torch.utils.data._utils import worker as torch_worker
from torch.utils.data._utils.collate import default_collate
from torch.utils.data.dataloader import _DatasetKind

from .arena import Pool
from .direct import PoolCollate
from .iterators import WorkersIter
from .obituary import tasks_of
from .stateful import part_state, restore_dataset, restore_fetcher, stateful
from .worker_info import acting_as

STOP_SECONDS = 3.0  # how long the end of an iterator waits for threads that are inside a sample


@dataclass(frozen=True)
class _Streams:
    """The random streams of a worker, for a torch whose `WorkerInfo` has no name for them yet."""

    random_generator: random.Random
    torch_generator: torch.Generator
    numpy_generator: object | None = None


def streams(base_seed: int, number: int) -> Any:
    """Generators of a worker's own, seeded as torch seeds the global ones of a worker process."""
    numpy_generator = None
    with contextlib.suppress(ModuleNotFoundError):
        import numpy as np

        words = torch_worker._generate_state(base_seed, number)  # type: ignore[no-untyped-call]
        numpy_generator = np.random.default_rng(words)
    kind = getattr(torch_worker, "_RNG", _Streams)
    seed = base_seed + number
    return kind(random.Random(seed), torch.Generator().manual_seed(seed), numpy_generator)


class TaskQueue(queue.SimpleQueue[Any]):
    """Tasks of one worker."""

    def cancel_join_thread(self) -> None:
        """Nothing is joined."""

    def close(self) -> None:
        """Nothing is open."""


class ResultQueue:
    """Batches of all workers."""

    def __init__(self) -> None:
        self._line: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.states: dict[int, Any] = {}  # of the dataset, by task
        self.tell_end: Callable[[], None] | None = None  # as that of processes

    def get(self, timeout: float | None = None) -> Any:
        """The next batch with its task. `queue.Empty` after `timeout` seconds, or when a worker died."""
        item = self._line.get(timeout=timeout)
        if item is None:
            if self.tell_end is not None:
                self.tell_end()
            raise queue.Empty
        index, data, state = item
        if state is not None:
            self.states[index] = state
        return index, data

    def deliver(self, index: Any, data: Any, state: Any = None) -> None:
        self._line.put((index, data, state))

    def died(self) -> None:
        """Let whoever waits look after the workers now."""
        self._line.put(None)

    def put(self, obj: Any) -> None:
        """What torch puts here itself wakes a thread that pins memory."""
        self.deliver(*obj)

    def cancel_join_thread(self) -> None:
        """Nothing is joined."""

    def close(self) -> None:
        """Let go of batches that nobody fetches any more."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._line.get_nowait()


class Done:
    """Tells the workers that the iterator has ended, and how long that may be waited for."""

    def __init__(self) -> None:
        self._until: float | None = None

    def set(self) -> None:
        if self._until is None:
            self._until = time.monotonic() + STOP_SECONDS

    def is_set(self) -> bool:
        return self._until is not None

    def close(self) -> None:
        """Nothing is open."""

    def left(self) -> float | None:
        """Seconds that all workers together may still be waited for; None: no end was asked for."""
        return None if self._until is None else max(0.0, self._until - time.monotonic())


class Orders(NamedTuple):
    """The arguments of torch's worker loop."""

    kind: int
    dataset: Any
    tasks: TaskQueue
    results: ResultQueue
    done: Done
    auto_collation: bool
    collate_fn: Any
    drop_last: bool
    base_seed: int
    init_fn: Any
    number: int
    of: int
    persistent: bool
    shared_seed: int | None


def _own(dataset: Any) -> Any:
    """The dataset as one worker uses it: the very object, or a copy where its position is a part of it.

    Two workers cannot stand at two places of one object. torch's pipes allow one iterator at a time, and a
    dataset with `state_dict` says where *it* stands.
    """
    alone = isinstance(dataset, IterDataPipe) or stateful(dataset)
    return copy.deepcopy(dataset) if alone else dataset


class Worker:
    """One worker thread. To torch's iterator and to whoever looks inside it is a process.

    `pid` is the number that the system gave the thread. A thread cannot be killed: `terminate` asks it to end
    after its sample.
    """

    daemon = True

    def __init__(self, orders: Orders, state: Any) -> None:
        holder = orders.dataset  # in a list since torch 2.10
        dataset = holder.pop() if isinstance(holder, list) and len(holder) == 1 else holder
        self._orders = orders._replace(dataset=_own(dataset))
        self._state = state
        self._where = f"in DataLoader worker thread {orders.number}"
        self._asked = False
        self._fetcher: Any = None
        self._failure: ExceptionWrapper | None = None  # of the start: there is no fetcher
        self._ended = False  # the stream of this epoch
        self.exitcode: int | None = None
        self.fault = ""
        self.name = f"stoker-worker-{orders.number}"
        self._thread = threading.Thread(target=self._main, name=self.name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def pid(self) -> int | None:
        return self._thread.native_id

    @property
    def ident(self) -> int | None:
        return self._thread.ident

    def is_alive(self) -> bool:
        return self.exitcode is None and self._thread.is_alive()

    def join(self, timeout: float | None = None) -> None:
        if self._thread is threading.current_thread():
            return  # the iterator was collected inside one of its own workers
        left = self._orders.done.left()
        if left is not None:
            timeout = left if timeout is None else min(timeout, left)
        self._thread.join(timeout)

    def terminate(self) -> None:
        self._asked = True
        self._orders.tasks.put(None)

    kill = terminate

    def let_go(self) -> None:
        """Nothing is open."""

    def stands_at(self) -> str:
        """Where the thread is now: the innermost line, and the one of the dataset that led there."""
        frame = sys._current_frames().get(self.ident or 0)
        lines: list[str] = []
        while frame is not None and frame.f_code.co_filename != fetch.__file__:
            code = frame.f_code
            lines.append(f"{code.co_filename}:{frame.f_lineno} in {code.co_name}")
            frame = frame.f_back
        if frame is None:
            return "no sample: it waits for its turn, or starts"
        return ", called from ".join(dict.fromkeys([lines[0], lines[-1]]))

    def _main(self) -> None:
        orders = self._orders
        info = torch_worker.WorkerInfo(
            id=orders.number,
            num_workers=orders.of,
            seed=orders.base_seed + orders.number,
            dataset=orders.dataset,
            rng=streams(orders.base_seed, orders.number),
            worker_method="thread",
        )
        code = 1
        try:
            with acting_as(info):
                self._start_fetching(orders.shared_seed, first=True)
                try:
                    self._loop()
                finally:
                    # A stream that is not at its end is closed here, by its worker.
                    self._fetcher = None
            code = 0
        except BaseException as error:  # SystemExit, too: it ends the worker, as it ends a process
            self.fault = f"{type(error).__name__}: {error}"
        self.exitcode = code
        if code != 0 and not orders.done.is_set():
            orders.results.died()

    def _start_fetching(self, shared_seed: int | None, first: bool = False) -> None:
        """Begin an epoch; what goes wrong is told in place of its first batches."""
        orders = self._orders
        self._fetcher, self._failure, self._ended = None, None, False
        try:
            if isinstance(orders.dataset, IterDataPipe):
                from torch.utils.data.graph_settings import apply_random_seed

                assert shared_seed is not None
                apply_random_seed(orders.dataset, torch.Generator().manual_seed(shared_seed))
            if first:
                if orders.init_fn is not None:
                    orders.init_fn(orders.number)
                restore_dataset(self._state, orders.dataset)
            self._fetcher = _DatasetKind.create_fetcher(  # type: ignore[no-untyped-call]
                orders.kind,
                orders.dataset,
                orders.auto_collation,
                orders.collate_fn,
                orders.drop_last,
            )
            if first:
                restore_fetcher(self._state, self._fetcher)
        except Exception:
            self._failure = ExceptionWrapper(where=self._where)  # type: ignore[no-untyped-call]

    def _loop(self) -> None:
        orders = self._orders
        while True:
            task = orders.tasks.get()
            if task is None or self._asked or orders.done.is_set():
                return
            if isinstance(task, torch_worker._ResumeIteration):
                orders.results.deliver(task, None)
                self._start_fetching(task.seed)
            elif not self._ended:
                self._serve(*task)

    def _serve(self, number: int, index: Any) -> None:
        """One task. No batch stays here: whoever has it holds it alone."""
        data, state = self._fetch(index)
        if not self._orders.done.is_set():
            self._orders.results.deliver(number, data, state)

    def _fetch(self, index: Any) -> tuple[Any, Any]:
        if self._failure is not None:
            return self._failure, None
        try:
            data = self._fetcher.fetch(index)
        except Exception as error:
            if isinstance(error, StopIteration) and self._orders.kind == _DatasetKind.Iterable:
                self._ended = True
                return torch_worker._IterableDatasetStopIteration(self._orders.number), None
            data = ExceptionWrapper(where=self._where)  # type: ignore[no-untyped-call]
        try:
            return data, copy.deepcopy(part_state(self._orders.dataset, self._fetcher))
        except Exception:
            return ExceptionWrapper(where=self._where), None  # type: ignore[no-untyped-call]


class Context:
    """What torch's iterator takes for a multiprocessing context.

    Parameters
    ----------
    pool : Pool
        Buffers for batches of the default collation; of the loader, so that all epochs use them.
    states : list, optional
        Of the dataset, for the workers in their order.
    """

    def __init__(self, pool: Pool, states: list[Any] | None = None) -> None:
        self._pool = pool
        self._states = list(states or [])
        self._results: ResultQueue | None = None

    def Queue(self) -> Any:
        if self._results is None:  # torch asks for the results first, then for the tasks
            self._results = ResultQueue()
            return self._results
        return TaskQueue()

    def Event(self) -> Done:
        return Done()

    def Process(self, target: Any, args: tuple[Any, ...]) -> Worker:
        orders = Orders(*args)
        if orders.collate_fn is default_collate:
            orders = orders._replace(collate_fn=PoolCollate(self._pool))
        return Worker(orders, self._states.pop(0) if self._states else None)


class ThreadsIter(WorkersIter):
    """With workers that are threads."""

    def __init__(self, loader: Any, start: Any) -> None:
        super().__init__(loader, start)
        _living.add(self)

    def _get_data(self) -> Any:
        try:
            return super()._get_data()
        except RuntimeError as error:
            if "timed out" not in str(error):
                raise
            late = sorted({info[0] for info in self._task_info.values() if len(info) == 1})
            stands = [f"worker {n} stands at {self._workers[n].stands_at()}" for n in late]
            raise RuntimeError("; ".join([str(error), *stands])) from error.__cause__

    def _obituary(self, worker: int) -> str:
        dead: Any = self._workers[worker]
        at = tasks_of(worker, self._task_info, self._sent)
        return f"worker {worker} (thread {dead.pid}): ended by {dead.fault or 'itself'}, at {at}"


_living: weakref.WeakSet[ThreadsIter] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    """Before the interpreter goes: a thread that still runs inside a library then may end the process badly."""
    for iterator in list(_living):
        iterator._shutdown_workers()
