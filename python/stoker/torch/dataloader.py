"""`stoker.torch.DataLoader`: torch's loader with another way for the batches.

What is drawn, in which order, by which worker, and every error come from torch's own classes, of which these are
subclasses; what differs is where a batch lies and how it travels.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import torch
import torch.utils.data
from torch.utils.data.dataloader import _BaseDataLoaderIter

from .arena import Pool, default_ceiling
from .auto import Auto, resolved
from .iterators import InlineIter, QuickInlineIter, QuickWorkersIter, WorkersIter
from .pinned import registrar_for
from .resume import Place, Start, check, describe

# Each worker seeds NumPy's global generator: imported once, and not in each of them.
if "numpy" in sys.modules:
    import numpy.random  # noqa: F401


def refuse_context(worker_mode: str, context: Any) -> None:
    """A way to start processes is no way to start threads."""
    if worker_mode == "thread" and context is not None:
        raise ValueError(
            "multiprocessing_context says how processes are started, and worker_mode='thread' starts none; "
            "give one of the two"
        )


_T_co = TypeVar("_T_co", covariant=True)


class DataLoader(torch.utils.data.DataLoader[_T_co]):
    """A drop-in for `torch.utils.data.DataLoader`: the same batches, errors and draws, another transport.

    Parameters
    ----------
    All of `torch.utils.data.DataLoader`, with their meaning, and
    num_workers : int or "auto"
        "auto" measures a few samples of a map-style dataset now and chooses; `num_workers` is then the
        number, and `auto` says why, with what was measured. Random numbers that are drawn in workers
        depend on their number: give one where runs must repeat bit for bit.
    worker_mode : "process" or "thread", keyword only
        What workers are. Threads share this process, its dataset object and its global random streams,
        which they neither seed nor touch: `get_worker_info().rng` has streams of each worker's own.
    arena_bytes : int, keyword only
        Ceiling in bytes of the memory that all workers together keep for batches; half of the memory
        of the machine or container by default. Memory is taken only as batches need it. Beyond it
        batches are copied, with one warning.
    snapshot_every_n_steps : int, keyword only
        Accepted for scripts that were written for torchdata's StatefulDataLoader; a state can be taken
        at every step, and costs nothing before it is.
    register_arena : bool, keyword only
        With `pin_memory` and CUDA: register the arena itself as pinned memory, so that pinning copies
        nothing. False: pinned memory is a copy, as in torch. True; no effect without CUDA 12.5 or later.

    Raises
    ------
    ValueError
        One of these arguments is out of its range, or `multiprocessing_context` is given with threads;
        and whatever torch's loader raises.

    Notes
    -----
    With workers, each collates its batches straight into memory that the parent has mapped: no tensor
    is pickled or copied, no descriptor is opened for one, and nothing lies under /dev/shm. A batch is
    the caller's as long as anything shows it; only then its memory is used again. Results of a
    `collate_fn` of one's own are moved there, tensors and NumPy arrays wherever they are inside;
    what is neither travels by pickle.

    Without workers and with threads, large fields are collated into buffers that are used again.
    """

    # Every argument by its name: frameworks re-create a loader from this signature and its attributes.
    def __init__(
        self,
        dataset: torch.utils.data.Dataset[_T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int | str = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: torch.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        worker_mode: str = "process",
        arena_bytes: int | None = None,
        snapshot_every_n_steps: int = 1,
        register_arena: bool = True,
    ) -> None:
        if worker_mode not in ("process", "thread"):
            raise ValueError(f"worker_mode is {worker_mode!r}; it must be 'process' or 'thread'")
        refuse_context(worker_mode, multiprocessing_context)
        if arena_bytes is None:
            arena_bytes = default_ceiling()
        for name, value in (
            ("arena_bytes", arena_bytes),
            ("snapshot_every_n_steps", snapshot_every_n_steps),
        ):
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ValueError(f"{name} is {value!r}; it must be an integer of 0 or more")
        given: dict[str, Any] = {
            "dataset": dataset,
            "batch_size": batch_size,
            "shuffle": shuffle,
            "sampler": sampler,
            "batch_sampler": batch_sampler,
            "num_workers": num_workers,
            "collate_fn": collate_fn,
            "pin_memory": pin_memory,
            "drop_last": drop_last,
            "timeout": timeout,
            "worker_init_fn": worker_init_fn,
            "multiprocessing_context": multiprocessing_context,
            "generator": generator,
            "prefetch_factor": prefetch_factor,
            "persistent_workers": persistent_workers,
            "pin_memory_device": pin_memory_device,
        }
        if not in_order:
            given["in_order"] = False  # torch 2.6 and later
        self.worker_mode = worker_mode
        self._auto: Auto | None = None
        if isinstance(num_workers, str):
            self._auto, given = resolved(given, worker_mode, arena_bytes)
        super().__init__(**given)
        self.arena_bytes = arena_bytes
        self.snapshot_every_n_steps = snapshot_every_n_steps
        self.register_arena = register_arena
        self._pool: Pool | None = None
        self._place: Place | None = None  # of the latest iterator, be it gone or not
        self._waiting: dict[str, Any] | None = None  # a state for the next iterator

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copy: what belongs to this process and to the epoch under way stays here.

        With a living iterator of persistent workers it fails as torch's does.
        """
        return {**vars(self), "_pool": None, "_place": None}

    @property
    def auto(self) -> Auto | None:
        """What `num_workers="auto"` chose and why, with what was measured; None: a number was given."""
        # No attribute of the instance: frameworks give those to the constructor of a loader like this one.
        return self._auto

    def check_worker_number_rationality(self) -> None:
        if self._auto is not None and self._auto.num_workers == self.num_workers:
            return
        if self.worker_mode != "thread":
            super().check_worker_number_rationality()
            return
        most = len(os.sched_getaffinity(0))  # torch's measure
        if self.num_workers > most:
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker threads in total. Our suggested max number of "
                f"worker in current system is {most}, which is smaller than what this DataLoader is going to create. "
                "Threads that wait (disk, network) may well be more than CPUs; those that compute are slower so.",
                stacklevel=2,
            )

    def __iter__(self) -> Any:
        old: Any = self._iterator
        if old is not None and (self._waiting is not None or old._pid != os.getpid()):
            # persistent workers of the epoch that the state replaces, or of the process this was forked from
            old._shutdown_workers()
            self._iterator = None
        iterator: Any = super().__iter__()
        self._waiting = None
        self._place = iterator._place
        return iterator

    def _get_iterator(self) -> _BaseDataLoaderIter:
        start = Start(self, self._waiting)
        stream = isinstance(self.dataset, torch.utils.data.IterableDataset)
        with start:
            if self.num_workers == 0:
                return (InlineIter if stream else QuickInlineIter)(self, start)
            self.check_worker_number_rationality()
            if self.worker_mode == "thread":
                from .threads import ThreadsIter

                refuse_context(self.worker_mode, self.multiprocessing_context)
                return ThreadsIter(self, start)
            return (WorkersIter if stream else QuickWorkersIter)(self, start)

    def _buffers(self) -> Pool:
        registrar = registrar_for(self)
        if self._pool is None or self._pool.registrar is not registrar:
            self._pool = Pool(self.arena_bytes, registrar)
        return self._pool

    def state_dict(self) -> dict[str, Any]:
        """Where the latest iterator stands, or stood when it was left: batches handed out count, those in flight do not.

        Returns
        -------
        dict
            Of numbers, lists and strings, and of what stateful datasets and samplers add. Before the
            first iterator it says: from the start.
        """
        if self._place is not None:
            return self._place.state_dict()
        if self._waiting is not None:
            return self._waiting
        with Start(self, None) as start:
            return describe(start, 0, False, None, -1)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Let the next iterator go on where the state says.

        Map-style datasets: the same indices in the same order, none fetched again; any number of
        workers. Iterable datasets: each worker's copy, and the iterator it returns, is given its own
        state by its ``load_state_dict``; where neither has one, the batches already used are fetched
        and thrown away. Map-style datasets with a state are given theirs, too. An empty state is
        ignored.

        Raises
        ------
        ValueError
            Not such a state; or another number of workers, and a dataset that is iterable or has states.
        """
        if not state:
            return
        self._waiting = check(state, self)
        self._place = None
