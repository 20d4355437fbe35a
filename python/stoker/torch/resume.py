"""The state of a `DataLoader`: where it stands in an epoch, and how it gets there again.

For map-style datasets that is the state of the generators when the epoch began and the number of batches handed
out: the same indices are drawn again, those already used are passed over, and no sample is fetched twice. For
iterable datasets it is what the dataset and its iterator say themselves, in each worker, at the last batch of that
worker that was handed out; so it is for map-style datasets that have a state. Batches that were overtaken, out of
order, come first when it goes on.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Any

import torch
from torch.utils.data import IterableDataset

from .stateful import stateful

VERSION = 2


def generators_of(loader: Any) -> dict[str, torch.Generator | None]:
    """All that draws indices, by where it is; None stands for torch's global generator."""
    found: dict[str, torch.Generator | None] = {"loader": loader.generator}
    if loader.generator is not None:
        found["global"] = None  # where a sampler draws that was given none of its own
    for name in ("sampler", "batch_sampler"):
        sampler = getattr(loader, name, None)
        for at in (name, f"{name}.sampler"):
            generator = getattr(sampler, "generator", None)
            if isinstance(generator, torch.Generator):
                found[at] = generator
            sampler = getattr(sampler, "sampler", None)
    return found


def _get(generator: torch.Generator | None) -> list[int]:
    state = torch.get_rng_state() if generator is None else generator.get_state()
    return state.tolist()


def _set(generator: torch.Generator | None, state: list[int]) -> None:
    tensor = torch.tensor(state, dtype=torch.uint8)
    if generator is None:
        torch.set_rng_state(tensor)
    else:
        generator.set_state(tensor)


def _sampler_state(loader: Any) -> Any:
    sampler = loader.sampler if stateful(loader.sampler) else loader.batch_sampler
    return sampler.state_dict() if stateful(sampler) else None


class Start:
    """How the next epoch of a loader begins: afresh, or where a state says."""

    def __init__(self, loader: Any, state: dict[str, Any] | None) -> None:
        self.loader: Any = loader  # until the epoch has begun
        self.num_workers: int = loader.num_workers
        self.state = state if state is not None and not state["finished"] else None
        self.skip: int = self.state["yielded"] if self.state is not None else 0
        # Out of order: where batches stand in the epoch that were overtaken by those handed out.
        self.overtaken: list[int] = (
            self.state.get("overtaken", []) if self.state is not None else []
        )
        self.rest: _Rest | None = None
        # An epoch of persistent workers that is not their first: no seed for them was drawn in it.
        self.continued: bool = state is not None and state["continued"]
        self.goes_on = (
            bool(loader.persistent_workers) and loader.num_workers > 0
        )  # after this epoch
        self.generators = generators_of(loader)
        self._saved: dict[str, list[int]] = {}
        if state is not None and state["finished"]:
            own = {n for n, generator in self.generators.items() if generator is not None}
            self._saved = {n: saved for n, saved in state["generators"].items() if n in own}
            self._put_back()
        elif state is not None:
            self._saved = state["generators"]

    def __enter__(self) -> Start:
        self.kept = _get(None)
        if self.state is not None:
            self._put_back()
            sampler = self.state.get("sampler")
            if sampler is not None:
                own = self.loader.sampler
                (own if stateful(own) else self.loader.batch_sampler).load_state_dict(sampler)
        self.begun = {name: _get(g) for name, g in self.generators.items()}
        self.sampler = _sampler_state(self.loader)
        return self

    def _put_back(self) -> None:
        """Let all that draws indices stand where it stood when the epoch began."""
        for name, saved in self._saved.items():
            _set(self.generators.get(name), saved)

    def __exit__(self, *_: object) -> None:
        if self.state is not None:
            _set(None, self.kept)  # the global generator is the script's: it goes on where it was
        self.loader = None

    def indices(self, index_sampler: Any) -> Any:
        """The index batches of the epoch, less those already used. Those that were overtaken come first."""
        if self.state is None and not self.continued:
            return index_sampler
        again = self._put_back if self.continued else None
        self.rest = _Rest(index_sampler, self.skip, self.overtaken, again)
        return self.rest

    def begun_with(self, iterator: Any) -> None:
        """The iterator is made: its later passes are whole ones."""
        if self.rest is not None:
            iterator._sampler_iter = draw_now(iterator._sampler_iter)
            self.rest.skip, self.rest.overtaken = 0, []
            self.rest.before = None


class _Rest:
    """An index sampler whose next pass leaves out its first batches, as many as `skip`, but for some of them."""

    def __init__(
        self,
        index_sampler: Any,
        skip: int,
        overtaken: list[int],
        before: Callable[[], None] | None,
    ) -> None:
        self._sampler = index_sampler
        self.skip = skip
        self.overtaken = overtaken  # not left out; by number
        self.before = before  # the first draw

    def __len__(self) -> int:
        return len(self._sampler)

    def __iter__(self) -> Iterator[Any]:
        return self._pass(self.skip, set(self.overtaken), self.before)

    def _pass(
        self, skip: int, overtaken: set[int], before: Callable[[], None] | None
    ) -> Iterator[Any]:
        if before is not None:
            before()
        rest = iter(self._sampler)
        passed = enumerate(islice(rest, skip + len(overtaken)))
        yield from [index for number, index in passed if number in overtaken]
        yield from rest


def draw_now(iterator: Iterator[Any]) -> Iterator[Any]:
    """The same iterator, begun: what it draws at its first step is drawn here."""
    first = list(islice(iterator, 1))
    return chain(first, iterator)


def describe(
    start: Start,
    yielded: int,
    finished: bool,
    workers: Any,
    last_worker: int,
    overtaken: list[int] | None = None,
) -> dict[str, Any]:
    """The state of an iterator: plain numbers, lists and what datasets and samplers add."""
    generators = start.begun
    if finished:
        generators = {n: _get(g) for n, g in start.generators.items() if g is not None}
    return {
        "version": VERSION,
        "yielded": yielded,
        "overtaken": [] if finished else overtaken or [],
        "finished": finished,
        "continued": start.goes_on if finished else start.continued,  # of the epoch that it begins
        "generators": generators,
        "sampler": start.sampler,
        "num_workers": start.num_workers,
        "dataset": workers,
        "last_worker": last_worker,
    }


class Place:
    """Where an iterator stands. The loader keeps it: a `break` ends the iterator, and its state is asked for then."""

    def __init__(self, start: Start, parts: Callable[[], list[Any] | None], last: int) -> None:
        self.start = start
        self.parts = parts  # of the state, by worker; must not hold the iterator
        self.last_worker = last
        self.yielded = start.skip
        self.done = False
        self._ordered = True
        self._waiting = set(range(len(start.overtaken)))  # tasks, of those before `_next`
        self._next = len(start.overtaken)

    def out_of_order(self, task: int) -> None:
        """The batch of this task is handed out, whatever has become of those before it."""
        self._ordered = False
        self._waiting.discard(task)
        self._waiting.update(range(self._next, task))
        self._next = max(self._next, task + 1)

    def _overtaken(self) -> list[int]:
        """Numbers of the batches that are to come before those that nobody has drawn."""
        before = self.start.overtaken
        if self._ordered:
            return before[self.yielded - self.start.skip :]
        return [
            before[task] if task < len(before) else self.start.skip + task
            for task in sorted(self._waiting)
        ]

    def state_dict(self) -> dict[str, Any]:
        return describe(
            self.start, self.yielded, self.done, self.parts(), self.last_worker, self._overtaken()
        )


def check(state: Any, loader: Any) -> dict[str, Any]:
    """Refuse what is no state of such a loader."""
    if not isinstance(state, dict) or state.get("version") != VERSION:
        raise ValueError("this is no state of a stoker.torch.DataLoader, or one of another version")
    iterable = isinstance(loader.dataset, IterableDataset)
    divided = iterable or (state["dataset"] is not None and not state["finished"])
    if divided and state["num_workers"] != loader.num_workers:
        raise ValueError(
            f"the state was saved with {state['num_workers']} workers, this loader has {loader.num_workers}; "
            "the parts of an iterable dataset, and the states of a dataset that has them, belong to its workers"
        )
    if iterable and state["dataset"] is None and state["yielded"] and not state["finished"]:
        warnings.warn(
            "neither the iterable dataset nor its iterator has state_dict() and load_state_dict(): the batches "
            "already used are fetched again and thrown away",
            RuntimeWarning,
            stacklevel=3,
        )
    return state
