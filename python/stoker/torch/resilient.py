"""A map-style dataset that survives samples that cannot be made."""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Sequence
from multiprocessing import reduction
from multiprocessing.context import get_spawning_popen
from typing import Any, Generic, TypeVar

import torch.utils.data

Item = TypeVar("Item")

ATTEMPTS = 16
KEPT = 1000  # losses that `damage` holds with their text; all are counted
LOGGED = 10  # losses that are logged one by one; after that every power of ten
_MASK = (1 << 64) - 1

log = logging.getLogger("stoker")


def substitute(seed: int, index: int, attempt: int, count: int) -> int:
    """The sample that stands in for `index`: a pure function, the same on every rank and in every worker.

    Source: the finaliser of SplitMix64 over a sum of odd multiples; the high bits of the product with `count`.
    """
    x = (
        seed * 0x9E3779B97F4A7C15 + index * 0xBF58476D1CE4E5B9 + attempt * 0x94D049BB133111EB + 1
    ) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return ((x ^ (x >> 31)) * count) >> 64


class TooManyErrors(RuntimeError):
    """More samples of a `Resilient` dataset could not be made than it was told to stand.

    From a worker of a loader it comes with its words alone, as all exceptions do; `damage` is empty then.
    """

    def __init__(self, text: str, damage: Sequence[tuple[int, str]] = ()) -> None:
        super().__init__(text, damage)
        self.damage = list(damage)

    def __str__(self) -> str:
        return str(self.args[0])


class _Total:
    """A number that this process and those that it starts count up together: the size of a memfd.

    Bytes are appended, which the system does one after the other for threads and processes alike.
    """

    fd = -1

    def __init__(self, number: int = 0) -> None:
        self.fd = os.memfd_create("stoker-errors", os.MFD_CLOEXEC)
        os.ftruncate(self.fd, number)
        fcntl.fcntl(self.fd, fcntl.F_SETFL, os.O_APPEND)

    def read(self) -> int:
        return os.fstat(self.fd).st_size

    def add_one(self) -> None:
        os.write(self.fd, b"1")

    def __reduce__(self) -> Any:
        # A copy, in a file or for somebody else, counts by itself.
        if get_spawning_popen() is None:
            return _Total, (self.read(),)
        return _inherited, (reduction.DupFd(self.fd),)

    def __del__(self, close: Any = os.close) -> None:
        fd, self.fd = self.fd, -1
        if fd >= 0:
            close(fd)


def _inherited(descriptor: Any) -> _Total:
    total = _Total.__new__(_Total)
    total.fd = descriptor.detach()
    return total


class Resilient(torch.utils.data.Dataset[Item], Generic[Item]):
    """Wrap a map-style dataset so that a sample that raises does not end the run.

    Parameters
    ----------
    dataset : map-style dataset
        Anything with ``__len__`` and ``__getitem__``; held, not copied.
    on_error : {"replace", "raise"}
        "replace": another sample takes the place of one that raised an `Exception`, chosen by `seed`,
        the index and the number of the attempt alone, so that it is the same on every rank, in every
        worker and in a resumed run; at most 16 attempts. "raise": the exception, as without the
        wrapper, but with a note that names the index (Python 3.11 and later).
    max_errors : int, optional
        Losses that a process stands; one more raises `TooManyErrors`. None: any number.
    max_error_rate : float, optional
        Share of the samples fetched by a process that may be lost, 0 to 1, judged from the 100th on.
    seed : int
        Of the choice of substitutes; the same on all ranks.

    Attributes
    ----------
    errors, fetched : int
        Losses and samples so far, in this process. Each worker begins at 0 and counts by itself: its
        budget does not depend on what others lose.
    total_errors : int
        Losses so far in this process and in all workers that have got this dataset from it, by
        whatever start method: what to look at after an epoch.
    damage : list of (int, str)
        Index and reason of the first 1,000 losses of this process.

    Raises
    ------
    TooManyErrors
        From ``dataset[i]``: the budget is spent, or none of 16 substitutes could be made.

    Notes
    -----
    Losses are logged to the logger "stoker": the first ten one by one, then at every power of ten.

    Examples
    --------
    >>> class Holes:
    ...     def __len__(self):
    ...         return 100
    ...
    ...     def __getitem__(self, i):
    ...         if i == 7:
    ...             raise OSError("cut short")
    ...         return i
    >>> whole = Resilient(Holes(), seed=1)
    >>> whole[6], whole[7] == whole[7] != 7, whole.damage[0]
    (6, True, (7, 'OSError: cut short'))
    """

    def __init__(
        self,
        dataset: Any,
        on_error: str = "replace",
        max_errors: int | None = None,
        max_error_rate: float | None = None,
        seed: int = 0,
    ) -> None:
        if on_error not in ("replace", "raise"):
            raise ValueError(f'on_error is {on_error!r}; it must be "replace" or "raise"')
        if max_errors is not None and max_errors < 0:
            raise ValueError(f"max_errors is {max_errors}; it must be 0 or more, or None")
        if max_error_rate is not None and not 0 <= max_error_rate <= 1:
            raise ValueError(f"max_error_rate is {max_error_rate}; it must be 0 to 1, or None")
        self.dataset = dataset
        self.on_error = on_error
        self.max_errors = max_errors
        self.max_error_rate = max_error_rate
        self.seed = seed
        self._total = _Total()
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self.errors = 0
        self.fetched = 0
        self.damage: list[tuple[int, str]] = []

    @property
    def total_errors(self) -> int:
        return self._total.read()

    def _count(self, samples: int) -> None:
        if self._pid != os.getpid():  # a worker's copy
            self._begin()
        self.fetched += samples

    def __len__(self) -> int:
        return len(self.dataset)

    def __getattr__(self, name: str) -> Any:
        if name in ("dataset", "_total"):  # not made yet: while it is unpickled
            raise AttributeError(name)
        return getattr(self.dataset, name)

    def __getitem__(self, index: Any) -> Item:
        self._count(1)
        try:
            return self.dataset[index]  # type: ignore[no-any-return]
        except Exception as error:
            if self.on_error == "raise":
                if hasattr(error, "add_note"):
                    error.add_note(f"sample {index!r} of {type(self.dataset).__name__}")
                raise
            self._lost(int(index), error)
        return self._other(int(index))

    def __getitems__(self, indices: list[Any]) -> list[Item]:
        batch = getattr(self.dataset, "__getitems__", None)
        if batch is not None:
            try:
                samples = batch(indices)
            except Exception:  # which of them it was is found out one by one
                return [self[index] for index in indices]
            self._count(len(indices))
            return samples  # type: ignore[no-any-return]
        return [self[index] for index in indices]

    def _other(self, index: int) -> Item:
        count = len(self.dataset)
        for attempt in range(ATTEMPTS):
            other = substitute(self.seed, index, attempt, count)
            if other == index:
                continue
            try:
                return self.dataset[other]  # type: ignore[no-any-return]
            except Exception as error:
                self._lost(other, error)
        raise TooManyErrors(
            f"sample {index} and {ATTEMPTS} substitutes for it could not be made; the last: {self.damage[-1][1]}",
            self.damage,
        )

    def _lost(self, index: int, error: Exception) -> None:
        self.errors += 1
        self._total.add_one()
        why = f"{type(error).__name__}: {error}"
        if len(self.damage) < KEPT:
            self.damage.append((index, why))
        n = self.errors
        if n <= LOGGED or str(n).strip("0") == "1":
            log.warning(
                "sample %d could not be made (%s); %d of %d so far", index, why, n, self.fetched
            )
        if self.max_errors is not None and n > self.max_errors:
            raise TooManyErrors(
                f"{n} samples could not be made, max_errors is {self.max_errors}; the last: sample {index}, {why}",
                self.damage,
            ) from error
        rate = self.max_error_rate
        if rate is not None and self.fetched >= 100 and n > rate * self.fetched:
            raise TooManyErrors(
                f"{n} of {self.fetched} samples could not be made, max_error_rate is {rate}; "
                f"the last: sample {index}, {why}",
                self.damage,
            ) from error
