"""`stoker.torch.DataLoader`: torch's loader with another way for the batches.

What is drawn, in which order, by which worker, and every error come from torch's own classes, of which these are
subclasses; what differs is where a batch lies and how it travels.
"""

from __future__ import annotations

import signal
from textwrap import shorten
from typing import Any

import torch
import torch.utils.data
from torch.utils.data._utils import MP_STATUS_CHECK_INTERVAL
from torch.utils.data._utils.collate import default_collate
from torch.utils.data.dataloader import (
    _BaseDataLoaderIter,
    _MultiProcessingDataLoaderIter,
    _SingleProcessDataLoaderIter,
)

from .arena import Pool
from .direct import PoolCollate
from .workers import Context

ARENA_BYTES = 4 << 30  # ceiling of each worker's arena, and of the buffers without workers


class DataLoader(torch.utils.data.DataLoader[Any]):
    """A drop-in for `torch.utils.data.DataLoader`: the same batches, errors and draws, another transport.

    Parameters
    ----------
    All of `torch.utils.data.DataLoader`, with their meaning, and
    arena_bytes : int, keyword only
        Ceiling in bytes of the memory that each worker keeps for batches; 4 GiB. Memory is taken only
        as batches need it. Beyond it batches are copied, with one warning.

    Notes
    -----
    With workers, each collates its batches straight into memory that the parent has mapped: no tensor
    is pickled or copied, no descriptor is opened for one, and nothing lies under /dev/shm. A batch is
    the caller's as long as anything shows it; only then its memory is used again. Results of a
    `collate_fn` of one's own are moved there, tensors and NumPy arrays wherever they are inside;
    what is neither travels by pickle.

    Without workers, large fields are collated into buffers that are used again.
    """

    def __init__(self, *args: Any, arena_bytes: int = ARENA_BYTES, **options: Any) -> None:
        if isinstance(arena_bytes, bool) or not isinstance(arena_bytes, int) or arena_bytes < 0:
            raise ValueError(f"arena_bytes is {arena_bytes!r}; it must be an integer of 0 or more")
        super().__init__(*args, **options)
        self.arena_bytes = arena_bytes

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if self.num_workers == 0:
            return _InlineIter(self)
        self.check_worker_number_rationality()
        return _WorkersIter(self)


class _InlineIter(_SingleProcessDataLoaderIter):
    """Without workers."""

    def __init__(self, loader: DataLoader) -> None:
        super().__init__(loader)
        if self._collate_fn is default_collate:
            pool = loader.__dict__.get("_stoker_pool")
            if pool is None:
                pool = loader.__dict__["_stoker_pool"] = Pool(loader.arena_bytes)
            self._dataset_fetcher.collate_fn = PoolCollate(pool)


class _LoaderView:
    """The loader as torch's iterator is to see it: all its own, but for the context."""

    def __init__(self, loader: DataLoader) -> None:
        context = loader.multiprocessing_context or torch.multiprocessing
        self._loader = loader
        self.multiprocessing_context = Context(context, loader.arena_bytes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class _WorkersIter(_MultiProcessingDataLoaderIter):
    """With workers: torch's iterator, and what it says when one of them dies or is stuck."""

    _sent: dict[int, Any]  # indices of the tasks on their way, by task

    def __init__(self, loader: DataLoader) -> None:
        super().__init__(_LoaderView(loader))

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        self._sent = {}
        super()._reset(loader, first_iter)

    def _next_index(self) -> Any:
        index = super()._next_index()  # type: ignore[no-untyped-call]
        self._sent = {task: self._sent[task] for task in self._task_info if task in self._sent}
        self._sent[self._send_idx] = index
        return index

    def _try_get_data(self, timeout: float = MP_STATUS_CHECK_INTERVAL) -> Any:
        try:
            return super()._try_get_data(timeout)  # type: ignore[no-untyped-call]
        except RuntimeError as error:
            if "exited unexpectedly" not in str(error):
                raise
            dead = [n for n, w in enumerate(self._workers) if not w.is_alive()]
            raise RuntimeError(
                "; ".join([str(error), *map(self._obituary, dead)])
            ) from error.__cause__

    def _get_data(self) -> Any:
        try:
            return super()._get_data()  # type: ignore[no-untyped-call]
        except RuntimeError as error:
            if "timed out" not in str(error):
                raise
            late = sorted({info[0] for info in self._task_info.values() if len(info) == 1})
            waits = [
                f"worker {n} (pid {self._workers[n].pid}) is at {self._tasks_of(n)}" for n in late
            ]
            raise RuntimeError("; ".join([str(error), *waits])) from error.__cause__

    def _tasks_of(self, worker: int) -> str:
        """Its oldest unfinished task: the others have not been begun."""
        for task, info in self._task_info.items():
            if info[0] == worker and len(info) == 1:
                return f"task {task}, indices {shorten(repr(self._sent.get(task)), 200, placeholder=' ...]')}"
        return "no task"

    def _obituary(self, worker: int) -> str:
        process: Any = self._workers[worker]
        code = process.exitcode
        how = f"exit code {code}"
        if code is not None and code < 0:
            how = f"killed by {signal.Signals(-code).name}"
        text = f"worker {worker} (pid {process.pid}): {how}, at {self._tasks_of(worker)}"
        peak = process.memory.noted_memory()
        if peak:
            text += f", had used up to {peak >> 20} MiB of memory"
        if code == -signal.SIGKILL:
            text += "; SIGKILL is most often the system running out of memory: use fewer workers or smaller samples"
        if code == -signal.SIGBUS:
            text += "; SIGBUS is most often a file that was cut while it was mapped, or a full disk"
        return text

    def _shutdown_workers(self) -> None:
        done = self._shutdown
        super()._shutdown_workers()
        if not done and self._shutdown and not self._pin_memory:
            self._worker_result_queue.close()
