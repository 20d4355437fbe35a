"""Tasks of the next epoch, sent to persistent workers while the last batches of this one are consumed.

Only where that changes no draw and no batch: for a map-style dataset, in order, and a sampler that gives the same indices
however often and whenever it is asked. A sampler that shuffles draws its seed when the epoch is asked for, from a
generator that the script may use or seed until then, so its epochs begin when they are asked for.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torch.utils.data import BatchSampler, DistributedSampler, SequentialSampler
from torch.utils.data._utils.worker import _ResumeIteration

from .elastic import ElasticSampler

if TYPE_CHECKING:
    from .queues import ResultQueue, TaskQueue

_tickets = itertools.count(-1, -1)  # of tasks whose number torch has not given yet


def certain(index_sampler: Any) -> bool:
    """Will the sampler give the same indices at its next pass, whatever happens until then?"""
    sampler = index_sampler
    if type(sampler) is BatchSampler:
        sampler = sampler.sampler
    if type(sampler) is ElasticSampler:
        return not sampler.shuffle and not sampler.restored
    if type(sampler) is DistributedSampler:
        return not sampler.shuffle
    return type(sampler) is SequentialSampler


class Early:
    """An epoch that was begun early. Belongs to the iterator's thread."""

    def __init__(self, index_sampler: Any, tasks: list[TaskQueue], results: ResultQueue) -> None:
        self._indices: Iterator[Any] = iter(index_sampler)
        self._tasks = tasks
        self._results = results
        self._sent: deque[tuple[int, Any]] = deque()
        self._turns = itertools.cycle(tasks)
        self._begun = False

    def send(self) -> None:
        """One task more, to the worker whose turn it will be."""
        index = next(self._indices, None)
        if index is None:
            return
        if not self._begun:
            self._begun = True
            self._results.hold()
            for queue in self._tasks:
                queue.send(_ResumeIteration(None))
        ticket = next(_tickets)
        next(self._turns).send((ticket, index))
        self._sent.append((ticket, index))

    def __enter__(self) -> None:
        """The epoch is asked for: from now on torch puts its tasks once more."""
        if self._begun:
            self._results.release()
            for queue in self._tasks:
                queue.early = self

    def __exit__(self, *_: object) -> None:
        for queue in self._tasks:
            queue.early = None
        self._forget()

    def _forget(self) -> None:
        while self._sent:
            self._results.claim(self._sent.popleft()[0], None)

    def was_sent(self, obj: Any) -> bool:
        """Of what torch puts into the queue of a worker: is it there already?"""
        if isinstance(obj, _ResumeIteration):
            return True
        if obj is None or not self._sent:
            return False
        task, index = obj
        ticket, sent = self._sent[0]
        if sent != index:  # the dataset has another length by now
            self._forget()
            return False
        self._sent.popleft()
        self._results.claim(ticket, task)
        return True
