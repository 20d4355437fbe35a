"""The part of a state that one worker has: what its copy of the dataset and the iterator of that say of themselves.

The words are torchdata's: anything with `state_dict` and `load_state_dict` is asked after each batch. A restored
worker loads the dataset's, calls ``iter(dataset)``, and loads the iterator's. A stream that has ended stays ended.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from torch.utils.data import get_worker_info
from torch.utils.data.dataloader import _DatasetKind


def stateful(thing: Any) -> bool:
    """Does it have a state of its own?"""
    return callable(getattr(thing, "state_dict", None)) and callable(
        getattr(thing, "load_state_dict", None)
    )


def part_state(dataset: Any, fetcher: Any) -> dict[str, Any] | None:
    """What a dataset and the iterator in torch's fetcher say now; None if neither has a state."""
    iterator: Any = getattr(fetcher, "dataset_iter", None)
    if not stateful(dataset) and not stateful(iterator):
        return None
    return {
        "dataset": dataset.state_dict() if stateful(dataset) else None,
        "iterator": iterator.state_dict() if stateful(iterator) else None,
        "ended": getattr(fetcher, "ended", False),
    }


def own_part(dataset: Any, fetcher: Any) -> Callable[[], list[Any] | None]:
    """What tells the state of a dataset without workers; holds a stream only if it has one."""
    if part_state(dataset, fetcher) is None:
        return lambda: None
    return lambda: [copy.deepcopy(part_state(dataset, fetcher))]  # it may be the living one


def known_parts(states: list[Any]) -> list[Any] | None:
    """The parts that workers have told; None: none has a state."""
    return list(states) if any(state is not None for state in states) else None


def restore_dataset(part: dict[str, Any] | None, dataset: Any) -> None:
    """Before torch's fetcher is made."""
    if part is not None and part["dataset"] is not None and stateful(dataset):
        dataset.load_state_dict(part["dataset"])


def restore_fetcher(part: dict[str, Any] | None, fetcher: Any) -> None:
    """After it is made."""
    if part is None or not hasattr(fetcher, "dataset_iter"):
        return
    fetcher.ended = part["ended"]
    if part["iterator"] is not None and not part["ended"] and stateful(fetcher.dataset_iter):
        fetcher.dataset_iter.load_state_dict(part["iterator"])


class Fetching:
    """In a worker process: has torch's loop make its fetcher here, so that it is known.

    Parameters
    ----------
    part : dict, optional
        The state to go on from, in the first epoch of the worker.
    """

    def __init__(self, part: dict[str, Any] | None) -> None:
        self._part = part
        self._fetcher: Any = None
        self._create = _DatasetKind.create_fetcher
        _DatasetKind.create_fetcher = self._made  # type: ignore[method-assign]

    def _made(self, kind: Any, dataset: Any, *rest: Any) -> Any:
        info = get_worker_info()
        if info is None or dataset is not info.dataset:  # a loader inside of the dataset
            return self._create(kind, dataset, *rest)  # type: ignore[no-untyped-call]
        part, self._part, self._fetcher = self._part, None, None
        restore_dataset(part, dataset)
        fetcher = self._create(kind, dataset, *rest)  # type: ignore[no-untyped-call]
        restore_fetcher(part, fetcher)
        self._fetcher = fetcher
        return fetcher

    def state(self) -> dict[str, Any] | None:
        return None if self._fetcher is None else part_state(self._fetcher.dataset, self._fetcher)
