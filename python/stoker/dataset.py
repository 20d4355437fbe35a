"""Datasets: samples by number, by key, and in order, without a loader."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Union, overload

from . import _core, checks
from . import limits as _limits
from .errors import StateMismatch

if TYPE_CHECKING:
    from .limits import Limits

Where = Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]]

_INDEX = {"auto": 0, "require": 1, "memory": 2, "rebuild": 3}


def open(
    where: Where,
    index: str = "auto",
    *,
    keep_case: bool = False,
    concatenated: bool = False,
    skip_damaged_shards: bool = False,
    threads: int = 0,
    limits: Limits | None = None,
) -> Dataset:
    """Open shards, folders or files as one dataset.

    Parameters
    ----------
    where : str, path, or iterable of them
        Braces and globs are expanded: ``"train-{000000..000127}.tar"``, ``"photos/*"``. Tar shards
        are grouped into samples by WebDataset's rules; a folder of folders gives a class for each
        sub-folder; files of one key are one sample.
    index : {"auto", "require", "memory", "rebuild"}
        Use the index beside the data and make it where it is missing or stale; raise where it is;
        neither read nor write a file; make it anew.
    keep_case : bool
        Keep upper case in names of fields. They are lower-cased by default.
    concatenated : bool
        Read tar shards beyond an end-of-archive marker.
    skip_damaged_shards : bool
        Use what stands before the damage of a shard, leave out sub-folders that may not be read,
        and note it in `Dataset.notes`. By default both are an error.
    threads : int
        For indexing. 0: the cores that this process may use.
    limits : stoker.Limits, optional
        Against hostile input.

    Returns
    -------
    Dataset

    Raises
    ------
    stoker.SourceError
        Nothing matches, or cannot be read. An ``OSError``; where a file is missing also a
        ``FileNotFoundError``.
    stoker.CorruptSample
        A damaged shard. A ``ValueError``; `offset` is the byte in the shard.
    stoker.IndexMismatch
        ``index="require"``, and it is missing or stale. A ``ValueError``.

    Notes
    -----
    An index is compared with its checksums when it is opened: some 34 ms for a million samples
    (see docs/formats.md). The first time every shard's headers are read, which may take minutes:
    Ctrl-C ends it at once, and leaves a whole index or none. The GIL is released.

    Examples
    --------
    >>> ds = stoker.open(shards)
    >>> len(ds), ds.fields
    (8, ('jpg', 'cls'))
    >>> ds[0]["cls"]
    b'0'
    """
    return Dataset(
        where,
        index,
        keep_case=keep_case,
        concatenated=concatenated,
        skip_damaged_shards=skip_damaged_shards,
        threads=threads,
        limits=limits,
    )


class Dataset(Sequence[dict[str, Any]]):
    """An open dataset: a sequence of samples, each a dict of bytes.

    ``ds[i]`` has the fields by name, ``"__key__"`` (str; bytes that are no UTF-8 as surrogates) and
    ``"__shard__"`` (str). In a folder tree, field ``"cls"`` is the number of the class in decimal,
    where no file gives it. ``ds[i:j]`` is a view of the same dataset.

    Never changes, may be used by any threads, in a forked child too; pickled as its arguments.
    Works as a map-style dataset of ``torch.utils.data.DataLoader``.
    """

    _handle: _core.Dataset
    _rows: range
    _arguments: dict[str, Any]

    def __init__(
        self,
        where: Where,
        index: str = "auto",
        *,
        keep_case: bool = False,
        concatenated: bool = False,
        skip_damaged_shards: bool = False,
        threads: int = 0,
        limits: Limits | None = None,
    ) -> None:
        paths = _paths_of(where)
        self._arguments = {
            "where": paths,
            "index": index,
            "keep_case": checks.boolean("keep_case", keep_case),
            "concatenated": checks.boolean("concatenated", concatenated),
            "skip_damaged_shards": checks.boolean("skip_damaged_shards", skip_damaged_shards),
            "threads": checks.integer("threads", threads, 0, 1024),
            "limits": limits,
        }
        self._handle = _core.Dataset(
            tuple(os.fsencode(path) for path in paths),
            index=checks.choice("index", index, _INDEX),
            keep_case=keep_case,
            concatenated=concatenated,
            skip_damaged_shards=skip_damaged_shards,
            threads=threads,
            limits=_limits.numbers(limits),
        )
        self._rows = range(len(self._handle))

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, index: slice) -> Dataset: ...

    def __getitem__(self, index: int | slice) -> dict[str, Any] | Dataset:
        if isinstance(index, slice):
            view = object.__new__(Dataset)
            view._handle, view._arguments = self._handle, self._arguments
            view._rows = self._rows[index]
            return view
        return self._handle.get(self._row(index))

    def __getitems__(self, indices: Iterable[int]) -> list[dict[str, Any]]:
        """Several samples at once: what ``torch.utils.data.DataLoader`` asks for."""
        get = self._handle.get
        return [get(self._row(index)) for index in indices]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        rows = self._rows
        if rows.step == 1 or len(rows) <= 1:
            return self._handle.scan(rows.start, max(rows.start, rows.stop))
        return map(self._handle.get, rows)

    def __contains__(self, key: object) -> bool:
        raise TypeError("ask for `key in ds.keys()`")

    def __repr__(self) -> str:
        where = self._arguments["where"]
        more = f" and {len(where) - 1} more" if len(where) > 1 else ""
        return f"<stoker.Dataset {where[0]}{more}: {len(self):,} samples, fields {self.fields}>"

    def keys(self) -> Keys:
        """Keys of the samples in order: a sequence of str. Reads no data."""
        return Keys(self)

    def key(self, index: int) -> str:
        """The key of one sample. Reads no data."""
        return self._handle.key(self._row(index))

    def find(self, key: str | bytes) -> int:
        """Index of the sample with that key; the first, if there are several.

        Raises
        ------
        stoker.MissingField
            There is none. A ``KeyError``.
        """
        raw = key if isinstance(key, bytes) else key.encode("utf-8", "surrogateescape")
        row = self._handle.find(raw)
        if row not in self._rows:
            if len(self._rows) == len(self._handle):
                raise AssertionError("a whole dataset has every row")
            return self._find_in_view(os.fsdecode(raw))
        return self._rows.index(row)

    def _find_in_view(self, key: str) -> int:
        """The first of equal keys is outside this view; another one may be inside."""
        from .errors import MissingField

        for at, row in enumerate(self._rows):
            if self._handle.key(row) == key:
                return at
        raise MissingField(f"no sample of this part of the dataset has the key {key}", key=key)

    def members(self, index: int) -> list[tuple[str, str, int, int, str]]:
        """Where a sample's fields lie: (name of the member, field, offset, size, file) of each."""
        return self._handle.members(self._row(index))

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields met anywhere in the dataset, in order of first appearance."""
        return self._handle.fields

    @property
    def classes(self) -> tuple[str, ...]:
        """Classes of a folder tree, sorted by bytes; empty where there are none."""
        return self._handle.classes

    @property
    def shards(self) -> tuple[tuple[str, int], ...]:
        """(name, index of the first sample) of each tar shard or class folder."""
        return self._handle.shards

    @property
    def notes(self) -> list[tuple[str, int, str]]:
        """(shard, offset, text) of what indexing met that is no failure of the whole."""
        return self._handle.notes

    @property
    def fingerprint(self) -> str:
        """128 bits in hexadecimal, the same for the same samples: names, sizes, order."""
        first, second = self._handle.fingerprint
        return f"{first:016x}{second:016x}"

    def _row(self, index: int) -> int:
        try:
            return self._rows[index]
        except IndexError:
            from .errors import OutOfRange

            raise OutOfRange(f"index {index} of {len(self):,} samples") from None

    def _whole(self) -> bool:
        return self._rows == range(len(self._handle))

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self._arguments, self._rows, self.fingerprint)


class Keys(Sequence[str]):
    """Keys of a dataset, made one at a time. ``key in keys`` takes logarithmic time."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def __len__(self) -> int:
        return len(self._dataset)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> Keys: ...

    def __getitem__(self, index: int | slice) -> str | Keys:
        if isinstance(index, slice):
            return Keys(self._dataset[index])
        return self._dataset.key(index)

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, (str, bytes)):
            return False
        try:
            self._dataset.find(key)
        except KeyError:
            return False
        return True

    def __repr__(self) -> str:
        return f"<{len(self):,} keys of {self._dataset!r}>"


def _paths_of(where: Where) -> list[str]:
    """Patterns as a list of str."""
    if isinstance(where, (str, os.PathLike)):
        return [_path_of(where)]
    if isinstance(where, bytes):
        raise TypeError("where is bytes; it must be a str or a path (see os.fsdecode)")
    if not isinstance(where, Iterable):
        raise TypeError(f"where is {where!r}; it must be a str or a path, or a list of them")
    paths = [_path_of(each) for each in where]
    if not paths:
        raise ValueError("where is empty; it must name something")
    return paths


def _path_of(where: object) -> str:
    path = os.fspath(where) if isinstance(where, os.PathLike) else where
    if not isinstance(path, str):
        raise TypeError(f"where is {where!r}; it must be a str or a path, or a list of them")
    if not path:
        raise ValueError("where is empty; it must name something")
    return path


def _reopen(arguments: dict[str, Any], rows: range, fingerprint: str) -> Dataset:
    """A pickled dataset, opened again, if it is still the same."""
    if arguments["index"] == "rebuild":  # once was enough
        arguments = {**arguments, "index": "auto"}
    dataset = Dataset(**arguments)
    if dataset.fingerprint != fingerprint:
        raise StateMismatch(
            f"the dataset was {fingerprint} when it was pickled, now it is {dataset.fingerprint}",
            source=arguments["where"][0],
        )
    dataset._rows = rows
    return dataset
