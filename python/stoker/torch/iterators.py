"""The iterators of `DataLoader`: torch's own, which are given another way for the batches and can tell their state.

torch's classes decide what comes, in which order and from which worker. Here they get queues, processes and collation
of ours, begin where a state says, and say more of workers that die or are late.
"""

from __future__ import annotations

import inspect
import os
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch
import torch.utils.data
from torch.utils.data._utils import MP_STATUS_CHECK_INTERVAL, signal_handling
from torch.utils.data._utils.collate import default_collate
from torch.utils.data.dataloader import (
    _DatasetKind,
    _MultiProcessingDataLoaderIter,
    _SingleProcessDataLoaderIter,
)

from .direct import PoolCollate
from .early import Early, certain
from .obituary import MemoryGroups, late, obituary, tasks_of
from .pinned import Registrar, registrar_for
from .queues import PinnedQueue
from .resume import Place, Start
from .shared import shares
from .stateful import known_parts, own_part, restore_dataset, restore_fetcher, stateful
from .workers import Context

if TYPE_CHECKING:
    from .dataloader import DataLoader


# A Ctrl-C reaches workers, too. When one of them has ended, an interrupt of our own may be a moment behind.
INTERRUPT_SECONDS = 0.05


# Whose a batch is that has come: since torch 2.6. Before that all of them come in order.
_TORCH_KNOWS_OWNERS = (
    "worker_idx" in inspect.signature(_MultiProcessingDataLoaderIter._process_data).parameters
)


class _Counting:
    """What both kinds of iterators have in common: they count, and tell their state."""

    _place: Place
    _registrar: Registrar | None = None

    def _belong_to(self, loader: DataLoader[Any]) -> None:
        # Weak: the loader holds an iterator of persistent workers, and they end when the last one who holds the
        # loader lets go of it, not at some later garbage collection.
        self._loader = weakref.ref(loader)

    def _begin(
        self,
        loader: DataLoader[Any],
        start: Start,
        parts: Callable[[], list[Any] | None],
        last_worker: int = -1,
    ) -> None:
        self._belong_to(loader)
        start.begun_with(self)
        self._place = Place(start, parts, last_worker)

    def _next_data(self) -> Any:
        # Not __next__: its caller is whom torch's warnings about lengths are to point at.
        if self._registrar is not None:
            self._registrar.look()
        before = self._handed_out()
        try:
            batch = super()._next_data()  # type: ignore[misc]
        except StopIteration:
            self._place.done = True
            if self._registrar is not None:
                self._registrar.look()  # the workers may have ended: with idle devices all is given back
            raise
        except Exception:
            # An error in the place of its batch is handed out as well: what follows is the next batch.
            self._place.yielded += self._handed_out() - before
            raise
        self._place.yielded += 1
        return batch

    def _handed_out(self) -> int:
        """Batches and errors of batches so far, of a map-style dataset; 0 for others."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        return self._place.state_dict()


class InlineIter(_Counting, _SingleProcessDataLoaderIter):
    """Without workers."""

    _drawn = 0  # batches of indices

    def __init__(self, loader: DataLoader[Any], start: Start) -> None:
        parts = start.state["dataset"] if start.state is not None else None
        part = parts[0] if parts else None
        restore_dataset(part, loader.dataset)
        view = _LoaderView(loader, start)
        self._registrar = view.registrar
        super().__init__(view)
        restore_fetcher(part, self._dataset_fetcher)
        self._begin(loader, start, own_part(self._dataset, self._dataset_fetcher))
        if self._collate_fn is default_collate:
            self._dataset_fetcher.collate_fn = PoolCollate(loader._buffers())
        pass_over(self, start)

    def _next_index(self) -> Any:
        index = super()._next_index()  # type: ignore[no-untyped-call]
        self._drawn += 1
        return index

    def _handed_out(self) -> int:
        return self._drawn if self._dataset_kind == _DatasetKind.Map else 0


def pass_over(iterator: Any, start: Start) -> None:
    """An iterable dataset without a state: fetch what was used already, and throw it away."""
    state = start.state
    if (
        state is None
        or state["dataset"] is not None
        or iterator._dataset_kind != _DatasetKind.Iterable
    ):
        return
    iterator._place.yielded = 0
    for _ in islice(iterator, start.skip):
        pass


def _passes(loader: DataLoader[Any], state: dict[str, Any]) -> bool:
    """Will `pass_over` bring the iterator to where it was?"""
    return isinstance(loader.dataset, torch.utils.data.IterableDataset) and state["dataset"] is None


class _LoaderView:
    """The loader as torch's iterator is to see it: all its own, but for what is said here."""

    def __init__(self, loader: DataLoader[Any], start: Start) -> None:
        self._loader = loader
        self.registrar = registrar_for(loader)
        iterable = isinstance(loader.dataset, torch.utils.data.IterableDataset)
        self._index_sampler = (
            loader._index_sampler if iterable else start.indices(loader._index_sampler)
        )
        if loader.num_workers == 0:
            return
        if loader.prefetch_factor is None:  # the number was 0 when the loader was made
            dropped = loader.auto.dropped if loader.auto is not None else {}
            self.prefetch_factor = dropped.get("prefetch_factor", 2)
        states = start.state["dataset"] if start.state is not None else None
        if loader.worker_mode == "thread":
            from . import threads

            self.multiprocessing_context: Any = threads.Context(loader._buffers(), states)
        else:
            context = loader.multiprocessing_context or torch.multiprocessing
            self.multiprocessing_context = Context(
                context, loader.arena_bytes, states, self.registrar
            )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class WorkersIter(_Counting, _MultiProcessingDataLoaderIter):
    """With workers: torch's iterator, and what it says when one of them dies or is stuck."""

    _sent: dict[int, Any]  # indices of the tasks on their way, by task
    _owners: dict[int, int]  # their workers, where torch does not say it itself
    _arrived: int  # the task whose batch came last
    _processed: int  # batches and errors of batches of this epoch

    def __init__(self, loader: DataLoader[Any], start: Start) -> None:
        state = start.state
        self._pid = os.getpid()
        self._groups = MemoryGroups()
        self._turn = 0  # the worker that gets the first task
        if (
            state is not None
            and (state["dataset"] is not None or start.skip)
            and not _passes(loader, state)
        ):
            self._turn = (state["last_worker"] + 1) % loader.num_workers
        self._dataset_states: list[Any] = [None] * loader.num_workers
        if state is not None and state["dataset"] is not None:
            self._dataset_states = list(state["dataset"])
        last_worker = state["last_worker"] if state is not None else -1
        self._belong_to(loader)
        self._early: Early | None = None
        self._may_be_early = (
            loader.persistent_workers
            and loader.worker_mode == "process"
            and getattr(loader, "in_order", True)
            and not stateful(loader.dataset)
            and not isinstance(
                loader.dataset, (torch.utils.data.IterableDataset, torch.utils.data.MapDataPipe)
            )
            and certain(loader._index_sampler)
            and not shares([loader.dataset, loader.collate_fn])
        )
        view = _LoaderView(loader, start)
        self._registrar = view.registrar
        # For an error before torch's constructor comes to these: then there are no workers to end.
        self._shutdown, self._workers, self._worker_pids_set = True, [], False
        self._workers_status = [True] * loader.num_workers
        try:
            super().__init__(view)
        except BaseException:
            self._give_up()
            raise
        self._begin(loader, start, partial(known_parts, self._dataset_states), last_worker)
        pass_over(self, start)

    def _next_data(self) -> Any:
        if os.getpid() != self._pid:  # what it took would be missing there
            raise RuntimeError(
                f"this iterator and its workers belong to process {self._pid}, of which this one is a fork; "
                "make a new iterator there, with iter(loader)"
            )
        return super()._next_data()

    def _handed_out(self) -> int:
        return self._processed if self._dataset_kind == _DatasetKind.Map else 0

    def _try_put_index(self) -> None:
        before = self._send_idx
        super()._try_put_index()
        if not _TORCH_KNOWS_OWNERS and self._send_idx > before:
            self._owners[before] = self._task_info[before][0]
        loader = self._loader()
        if self._send_idx == before and self._may_be_early and loader is not None:
            # The epoch has no more tasks.
            if self._early is None and certain(loader._index_sampler):
                self._early = Early(
                    loader._index_sampler,
                    self._index_queues,  # type: ignore[arg-type]
                    self._worker_result_queue,  # type: ignore[arg-type]
                )
            if self._early is not None:
                self._early.send()

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        self._sent = {}
        self._owners = {}
        self._processed = 0
        if not first_iter:  # persistent workers begin another epoch
            self._check_alive()
            self._turn = 0
            if self._dataset_kind == _DatasetKind.Iterable:  # its streams begin anew
                self._dataset_states = [None] * self._num_workers
            early, self._early = self._early, None
            with Start(loader, None) as start, early or nullcontext():
                start.continued = True
                super()._reset(loader, first_iter)
            self._begin(loader, start, partial(known_parts, self._dataset_states))
            return
        self._forget_signals()
        super()._reset(loader, first_iter)

    def _forget_signals(self) -> None:
        """Keep torch's handler of SIGCHLD off our workers: it raises wherever the main thread is just then, be it in the
        script's own code, and without what is known of the worker. Their end is seen where their batches are waited for.
        """
        signal_handling._remove_worker_pids(id(self))  # type: ignore[attr-defined]
        self._worker_pids_set = False

    @property
    def _worker_queue_idx_cycle(self) -> Any:
        """torch's turn of the workers, beginning with the one whose turn it is after a restart."""
        return self._cycle

    @_worker_queue_idx_cycle.setter
    def _worker_queue_idx_cycle(self, cycle: Any) -> None:
        for _ in range(self._turn):
            next(cycle)
        self._cycle = cycle

    @property
    def _data_queue(self) -> Any:
        """Where torch's code waits for batches: the results, or those that a thread has pinned."""
        return self._data

    @_data_queue.setter
    def _data_queue(self, data: Any) -> None:
        if data is not self._worker_result_queue:
            data = PinnedQueue()
            self._worker_result_queue.tell_end = data.tell_end  # type: ignore[attr-defined]
        self._data = data

    def _process_data(self, data: Any, *worker_idx: int) -> Any:
        self._processed += 1
        if not worker_idx:
            task = self._rcvd_idx
            worker = self._owners.pop(task)
        else:
            task, worker = self._rcvd_idx - 1, worker_idx[0]
            if not getattr(self, "_in_order", True):
                task = self._arrived
                if self._dataset_kind == _DatasetKind.Map:
                    self._place.out_of_order(task)
        self._place.last_worker = worker
        states = self._worker_result_queue.states  # type: ignore[attr-defined]
        if task in states:
            self._dataset_states[worker] = states.pop(task)
        return super()._process_data(data, *worker_idx)  # type: ignore[no-untyped-call]

    def _next_index(self) -> Any:
        index = super()._next_index()  # type: ignore[no-untyped-call]
        self._sent = {task: self._sent[task] for task in self._task_info if task in self._sent}
        self._sent[self._send_idx] = index
        return index

    def _try_get_data(self, timeout: float = MP_STATUS_CHECK_INTERVAL) -> Any:
        end = time.monotonic() + timeout
        try:
            while True:
                # It returns early when a worker has ended, be it one that has nothing left to do.
                left = max(end - time.monotonic(), 0)
                got = super()._try_get_data(left)  # type: ignore[no-untyped-call]
                if got[0] or left == 0:
                    return got
        except RuntimeError as error:
            if "exited unexpectedly" not in str(error):
                raise
            time.sleep(INTERRUPT_SECONDS)
            raise RuntimeError("; ".join([str(error), *self._obituaries()])) from error.__cause__

    def _obituaries(self) -> list[str]:
        return [self._obituary(n) for n, w in enumerate(self._workers) if not w.is_alive()]

    def _check_alive(self) -> None:
        """A worker that has died between two epochs is not waited for."""
        pids = [str(w.pid) for w in self._workers if not w.is_alive()]
        if pids and not self._shutdown:
            text = f"DataLoader worker (pid(s) {', '.join(pids)}) exited unexpectedly"
            raise RuntimeError("; ".join([text, *self._obituaries()]))

    def _get_data(self) -> Any:
        try:
            got = super()._get_data()  # type: ignore[no-untyped-call]
            self._arrived = got[0]
            return got
        except RuntimeError as error:
            if "timed out" not in str(error):
                raise
            waits = late(self._workers, self._task_info, self._sent)
            raise RuntimeError("; ".join([str(error), *waits])) from error.__cause__

    def _obituary(self, worker: int) -> str:
        at = tasks_of(worker, self._task_info, self._sent)
        return obituary(worker, self._workers[worker], at, self._groups)

    def _give_up(self) -> None:
        """End what torch's constructor has made until its error: no descriptor, too few processes."""
        if hasattr(self, "_workers_done_event"):
            self._shutdown_workers()
        elif hasattr(self, "_worker_result_queue"):
            self._shutdown = True
            self._worker_result_queue.close()

    def _shutdown_workers(self) -> None:
        if os.getpid() != self._pid:
            return  # a forked child has inherited the object, not the workers
        if threading.current_thread() is getattr(self, "_pin_memory_thread", None):
            # A garbage collection in that thread has found the iterator, and a thread cannot wait for its own end.
            threading.Thread(target=self._shutdown_workers, name="stoker-end").start()
            return
        if not hasattr(self, "_workers_status"):  # interrupted while they were started
            self._workers_status = [False] * len(self._workers)
        done = self._shutdown
        try:
            super()._shutdown_workers()
        finally:
            for worker in self._workers if self._shutdown else ():
                if worker.is_alive():  # and did not heed SIGTERM
                    worker.kill()
                worker.let_go()  # type: ignore[attr-defined]
            if not done and self._shutdown:
                self._worker_result_queue.close()
                self._workers_done_event.close()  # type: ignore[attr-defined]


class _Quick:
    """`__next__` of a map-style dataset, which has no length to warn of, without a mark for a profiler that does not run."""

    _num_yielded: int

    def __next__(self) -> Any:
        if torch.autograd._profiler_enabled():  # type: ignore[attr-defined]
            return super().__next__()  # type: ignore[misc]
        batch = self._next_data()  # type: ignore[attr-defined]
        self._num_yielded += 1
        return batch


class QuickInlineIter(_Quick, InlineIter):
    """Without workers, of a map-style dataset."""


class QuickWorkersIter(_Quick, WorkersIter):
    """With workers, of a map-style dataset."""
