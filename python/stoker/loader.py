"""The native loader: batches of a dataset, made by threads of C."""

from __future__ import annotations

import atexit
import inspect
import os
import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from . import _core, checks
from . import damage as _damage
from . import limits as _limits
from .dataset import Dataset, Where
from .errors import ClosedError, StateMismatch
from .fields import Bytes, Field, Label
from .ranks import find_rank
from .stats import Stats, stats_of

if TYPE_CHECKING:
    from types import TracebackType

    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import Self

    from ._core import Batch
    from .damage import Damage
    from .limits import Limits

_SHUFFLES = {"none": 0, "full": 1, "shards": 2, "weighted": 3}
_SHUFFLE_NAMES = {number: name for name, number in _SHUFFLES.items()}
_TAILS = {"short": 0, "drop": 1, "wrap": 2}
_TAIL_NAMES = {number: name for name, number in _TAILS.items()}
_ON_ERROR = {"raise": 0, "skip": 1, "replace": 2}
_NO_BOUND = 2**64 - 1
_RESERVED = frozenset(name for name in dir(_core.Batch) if not name.startswith("_"))

_live: weakref.WeakSet[Loader] = weakref.WeakSet()


class Loader:
    """Shuffled, decoded, transformed, collated batches, read ahead by threads without the GIL.

    Parameters
    ----------
    where : str, path, list of them, or stoker.Dataset
        What `stoker.open` takes, or what it gave.
    batch_size : int
        Samples per step on this rank, 1 to 2**20.
    shuffle : bool, "shards" or "weighted"
        False: dataset order. True: a permutation of all samples. "shards": shards permuted, taken
        in windows of `shuffle_window`, permuted fully inside each: sequential reads. "weighted":
        draws with replacement by `weights`.
    seed : int
        Of order and transforms, 0 to 2**64 - 1.
    rank, world_size : int, optional
        Both or neither. By default those of ``torch.distributed`` if it is initialised, else of the
        launcher's environment, else 0 of 1.
    tail : {"short", "drop", "wrap"}
        The last step of an epoch: the rest dealt out evenly; left out; filled from the start of the
        order. Every rank has the same number of steps in any case.
    on_error : {"raise", "skip", "replace"}
        What a damaged sample does: raise; give its row to the last sample of this rank's epoch that
        is not used yet; give its row to a substitute that depends on seed, epoch and sample only.
    max_errors : int, optional
        More damaged samples than that are a `BudgetExceeded`. No bound by default.
    max_error_rate : float, optional
        So is a greater share of the samples of an epoch, judged from the 100th on.
    threads : int, optional
        Compute threads. By default the cores that this process may use; 0: everything in the
        calling thread, in the very same order.
    io_threads : int
        Threads that wait for bytes, 1 to 64.
    prefetch : int
        Steps made ahead of the consumer, 1 to 64.
    memory : int or str
        Ceiling for all that the loader allocates, in bytes or as in "2GiB".
    allow_empty : bool
        With `tail` "short": let a rank get a batch of 0 rows when fewer samples than ranks remain.
    shuffle_window : int
        Shards in a window of `shuffle` "shards".
    weights : array of float, optional
        One for each sample, of `shuffle` "weighted".
    known_damage : path, or iterable of Damage or int, optional
        Samples that are never touched: an account by `save_damage`, a list as `Loader.damage` gives
        it, or indices.
    limits : stoker.Limits, optional
        Against hostile input.
    **fields : Field
        What a batch holds, by name: ``image=Image("jpg;png")``, ``label=Label("cls")``. By default
        every field of the first sample, as bytes.

    Raises
    ------
    stoker.Error
        What `stoker.open` raises; `MissingField` when no sample has a field; `ShapeError` when the
        transforms do not fit the first picture; `MemoryExceeded` when the plan does not fit
        `memory`, saying what needs how much.
    TypeError
        A keyword is neither an option nor a field.

    Notes
    -----
    The order of an epoch depends on the dataset, `seed` and the epoch alone: not on ranks, threads
    or timing. A `for` over the loader is one epoch. One that begins while an epoch is unfinished
    begins the next epoch, unless the position was restored by `load_state_dict`: then it goes on
    exactly there.

    Examples
    --------
    >>> with stoker.Loader(shards, label=stoker.Label("cls"), batch_size=4) as loader:
    ...     [batch.label.tolist() for batch in loader]
    [[0, 1, 2, 3], [4, 5, 6, 7]]
    """

    _handle: _core.Loader

    def __init__(
        self,
        where: Where | Dataset,
        batch_size: int = 256,
        shuffle: bool | str = False,
        seed: int = 0,
        rank: int | None = None,
        world_size: int | None = None,
        tail: str = "short",
        on_error: str = "raise",
        max_errors: int | None = None,
        max_error_rate: float | None = None,
        threads: int | None = None,
        io_threads: int = 4,
        prefetch: int = 2,
        memory: int | str = "2GiB",
        allow_empty: bool = False,
        shuffle_window: int = 8,
        weights: ArrayLike | None = None,
        known_damage: (
            str | os.PathLike[str] | Iterable[Damage | Mapping[str, Any] | int] | None
        ) = None,
        limits: Limits | None = None,
        **fields: Field,
    ) -> None:
        _check_fields(fields)
        order = _shuffle_of(shuffle)
        if (order == "weighted") != (weights is not None):
            raise ValueError('weights go with shuffle="weighted", and it needs them')
        rank, world_size = find_rank(rank, world_size)
        options: dict[str, Any] = {
            "batch_size": checks.integer("batch_size", batch_size, 1, 2**20),
            "shuffle": _SHUFFLES[order],
            "shuffle_window": checks.integer("shuffle_window", shuffle_window, 1, 2**31 - 1),
            "seed": checks.integer("seed", seed, 0, 2**64 - 1),
            "rank": rank,
            "world_size": world_size,
            "tail": checks.choice("tail", tail, _TAILS),
            "allow_empty": checks.boolean("allow_empty", allow_empty),
            "threads": -1 if threads is None else checks.integer("threads", threads, 0, 1024),
            "io_threads": checks.integer("io_threads", io_threads, 1, 64),
            "prefetch": checks.integer("prefetch", prefetch, 1, 64),
            "memory_bytes": checks.size("memory", memory, 2**24),
            "on_error": checks.choice("on_error", on_error, _ON_ERROR),
            "max_errors": _optional(max_errors, "max_errors"),
            "max_error_rate": 1.0
            if max_error_rate is None
            else checks.real("max_error_rate", max_error_rate, 0.0, 1.0),
            "limits": _limits.numbers(limits),
        }
        self.dataset = where if isinstance(where, Dataset) else Dataset(where)
        if not self.dataset._whole():
            raise ValueError("where is a part of a dataset; a loader takes whole ones")
        self.fields: dict[str, Field] = fields or _fields_of(self.dataset)
        self.batch_size: int = options["batch_size"]
        self.rank, self.world_size, self.seed = rank, world_size, int(options["seed"])
        self._handle = _core.Loader(
            self.dataset._handle,
            tuple(field._spec(name) for name, field in self.fields.items()),
            weights=_float64(weights),
            known_damage=None
            if known_damage is None
            else _damage.known_samples(known_damage, self.dataset),
            **options,
            **self._schema(),
        )
        _live.add(self)

    def _schema(self) -> dict[str, Any]:
        """How batches show the fields."""
        names = tuple(self.fields)
        return {
            "names": names,
            "index": {
                name: nth
                for nth, name in enumerate(names)
                if name not in _RESERVED and not name.startswith("__")
            },
            "kinds": "".join(field._show for field in self.fields.values()).encode(),
            "convert": self._convert(),
        }

    def _convert(self) -> Callable[[_core.Tensor], Any] | None:
        """What makes an array of a Tensor; None: NumPy."""
        return None

    def __iter__(self) -> Iterator[Batch]:
        """One epoch, or what is left of it after `load_state_dict`. Yields `Batch`."""
        return self._handle.begin()

    def __len__(self) -> int:
        """Steps of every epoch, on every rank."""
        return self._handle.steps

    @property
    def epoch(self) -> int:
        """The epoch under way, from 0; after its last batch was taken by a `for`, the next."""
        return self._handle.epoch

    @property
    def step(self) -> int:
        """Batches of the epoch handed out so far on this rank."""
        return self._handle.step

    @property
    def position(self) -> int:
        """Place in the order of the epoch of the first sample not handed out yet, all ranks."""
        return int(self.state_dict()["position"])

    def set_epoch(self, epoch: int) -> None:
        """Go to the start of an epoch; the next `for` is that epoch."""
        self._handle.set_epoch(checks.integer("epoch", epoch, 0, 2**64 - 1))

    def state_dict(self) -> dict[str, int | str]:
        """Where the loader stands, as plain numbers and str.

        Counts what was handed out, never what was read ahead. It may be loaded in another process,
        with another number of threads, and with other ranks of the same global batch.
        """
        numbers = dict(zip(_STATE, self._handle.get_state(), strict=True))
        first, second = numbers.pop("fingerprint_0"), numbers.pop("fingerprint_1")
        return {
            **numbers,
            "fingerprint": f"{first:016x}{second:016x}",
            "shuffle": _SHUFFLE_NAMES[numbers["shuffle"]],
            "tail": _TAIL_NAMES[numbers["tail"]],
        }

    def load_state_dict(self, state: Mapping[str, int | str]) -> None:
        """Go to where a state says; the next `for` goes on with the next sample.

        Raises
        ------
        stoker.StateMismatch
            The state is of another dataset (both fingerprints are named), of another seed, shuffle,
            tail or global batch, or no state at all. A ``ValueError``. The loader stays where it
            was.
        """
        try:
            fingerprint = str(state["fingerprint"])
            if re.fullmatch("[0-9a-f]{32}", fingerprint) is None:
                raise StateMismatch(
                    f"the state has the fingerprint {fingerprint!r}, which is no 32 hexadecimal "
                    f"digits; this dataset has {self.dataset.fingerprint}"
                )
            numbers = {
                **state,
                "fingerprint_0": int(fingerprint[:16], 16),
                "fingerprint_1": int(fingerprint[16:], 16),
                "shuffle": _SHUFFLES[str(state["shuffle"])],
                "tail": _TAILS[str(state["tail"])],
            }
            raw = [int(numbers[name]) for name in _STATE]
            if not all(0 <= number < 2**64 for number in raw):
                raise ValueError("a number is out of range")
        except StateMismatch:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise StateMismatch(f"this is no state of a loader: {error!r}") from error
        self._handle.set_state(*raw)

    def at(self, epoch: int, position: int) -> Batch:
        """One sample of any epoch and position, computed again exactly: a batch of one row.

        Raises
        ------
        stoker.OutOfRange
            There is no such position. An ``IndexError``.
        """
        return self._handle.at(
            checks.integer("epoch", epoch, 0, 2**64 - 1),
            checks.integer("position", position, 0, 2**64 - 1),
        )

    def order(self, epoch: int, start: int = 0, stop: int | None = None) -> NDArray[Any]:
        """Indices in the dataset of the samples at positions [start, stop) of an epoch.

        Returns
        -------
        numpy.ndarray
            ``(stop - start,)`` int64. The positions of all ranks; all of them by default.
        """
        import numpy as np

        epoch = checks.integer("epoch", epoch, 0, 2**64 - 1)
        stop = len(self.dataset) if stop is None else checks.integer("stop", stop, 0, 2**48)
        start = checks.integer("start", start, 0, stop)
        return np.frombuffer(self._handle.order(epoch, start, stop), np.int64)

    @property
    def damage(self) -> list[Damage]:
        """Each sample that was lost so far, in order; those of `known_damage` included."""
        return [_damage.Damage(*each) for each in self._handle.damage(0)]

    def save_damage(self, path: str | os.PathLike[str]) -> None:
        """Write the account as JSON, for `known_damage` of a later run.

        Parameters
        ----------
        path : str or os.PathLike
            What has that name is replaced when the whole account is on the disk; a link stays, and
            its file is replaced.

        Raises
        ------
        stoker.SourceError
            It could not be written. An ``OSError``, with `errno`; nothing of it is left, and the file
            that was there is as it was.

        Notes
        -----
        Any thread or process may write the same name at once: who is done last has it. Nothing is
        left of a process that is killed meanwhile, or the next to write that name removes it.
        """
        _damage.save_damage(path, self.dataset, self.damage)

    def stats(self) -> Stats:
        """Counters since the loader opened; ``print(loader.stats())`` shows a table."""
        return stats_of(self._handle.stats())

    def waits_for(self) -> str:
        """What the loader waits for right now: ``"step 812: sample n0144 in decode"``."""
        return self._handle.waits_for()

    def close(self) -> None:
        """Join all threads. Batches that are kept stay valid. Again, it does nothing."""
        self._handle.close()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._handle.closed

    def __enter__(self) -> Self:
        if self.closed:
            raise ClosedError("the loader is closed")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={field!r}" for name, field in self.fields.items())
        return (
            f"<{type(self).__module__}.{type(self).__qualname__}: {self.dataset!r}, {fields}, "
            f"batch_size={self.batch_size}, rank {self.rank} of {self.world_size}>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a loader cannot be pickled; pickle its state_dict() and its arguments")


# in the order of stk_loader_state
_STATE = (
    "version",
    "batch_size",
    "world_size",
    "shuffle",
    "shuffle_window",
    "tail",
    "fingerprint_0",
    "fingerprint_1",
    "samples",
    "seed",
    "weights_hash",
    "epoch",
    "position",
    "skipped",
)


def _check_fields(fields: Mapping[str, object]) -> None:
    for name, field in fields.items():
        if isinstance(field, Field):
            if name in _RESERVED:
                raise ValueError(
                    f"a field cannot be called {name!r}: batches have an attribute of that name"
                )
            continue
        if isinstance(field, type) and issubclass(field, Field):
            raise TypeError(f"field {name!r} is the class {field.__name__}; call it")
        import difflib

        options = list(inspect.signature(Loader.__init__).parameters)[1:-1]
        close = difflib.get_close_matches(name, options, 1, 0.7)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise TypeError(
            f"Loader() got an unexpected keyword {name!r}{hint}: "
            f"it is no option, and {field!r} is no field such as Image() or Label()"
        )


def _fields_of(dataset: Dataset) -> dict[str, Field]:
    """Without a declaration: what the first sample has, as bytes; the class of a folder tree."""
    if len(dataset) == 0:
        raise ValueError(f"the dataset {dataset._arguments['where'][0]} has no samples")
    fields: dict[str, Field] = {member[1]: Bytes(member[1]) for member in dataset.members(0)}
    if dataset.classes and "cls" not in fields:
        fields["cls"] = Label("cls")
    return fields


def _shuffle_of(shuffle: object) -> str:
    if isinstance(shuffle, bool):
        return "full" if shuffle else "none"
    if shuffle in ("shards", "weighted"):
        return str(shuffle)
    raise ValueError(f'shuffle is {shuffle!r}; it must be True, False, "shards" or "weighted"')


def _optional(value: int | None, name: str) -> int:
    return _NO_BOUND if value is None else checks.integer(name, value, 0, _NO_BOUND)


def _float64(weights: ArrayLike | None) -> Any:
    if weights is None:
        return None
    import numpy as np

    array = np.ascontiguousarray(weights, np.float64)
    if array.ndim != 1:
        raise ValueError(f"weights has shape {array.shape}; it must be one number for each sample")
    return array


def _close_all() -> None:
    for loader in list(_live):
        loader.close()


atexit.register(_close_all)
