"""The exceptions of Stoker: one family, each also the built-in that a caller expects.

Every failure of the engine is a `stoker.Error` that says where it happened. Its text is one line;
a second line says what to do about it, where there is something to do.
"""

from __future__ import annotations

import errno as _errno
import shlex
from typing import Any


class Error(Exception):
    """A failure of Stoker, with its place.

    Attributes
    ----------
    text : str
        What happened, without the place.
    status : str
        Name of the status in the C API, such as ``"STK_ECORRUPT"``.
    source, shard, key, field : str
        File or URL, its short name, the sample's key and the field; ``""`` where not known.
    offset : int or None
        Byte in `source`, or in the bytes given where there is no source.
    sample : int or None
        Index of the sample in the dataset.
    stage : str
        Where in the life of a batch: ``"open"``, ``"read"``, ``"decode"``, ...
    cure : str
        What to do about it, or ``""``.
    """

    status = ""

    def __init__(
        self,
        text: str = "",
        *,
        line: str = "",
        cure: str = "",
        errno: int = 0,
        stage: str = "",
        source: str = "",
        shard: str = "",
        key: str = "",
        field: str = "",
        offset: int | None = None,
        sample: int | None = None,
    ) -> None:
        super().__init__(text)
        self.text = text
        self.line = line or text
        self.cure = cure
        self.stage = stage
        self.source = source
        self.shard = shard
        self.key = key
        self.field = field
        self.offset = offset
        self.sample = sample
        self.errno = errno or None

    def __str__(self) -> str:
        return f"{self.line}\n  {self.cure}" if self.cure else self.line

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.line!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        details = {name: getattr(self, name) for name in _DETAILS}
        details["errno"] = self.errno or 0
        return _rebuild, (type(self), self.text, details)


_DETAILS = (
    "line",
    "cure",
    "stage",
    "source",
    "shard",
    "key",
    "field",
    "offset",
    "sample",
)


def _rebuild(kind: type[Error], text: str, details: dict[str, Any]) -> Error:
    return kind(text, **details)


class InvalidArgument(Error, ValueError):
    """An argument is outside its range."""

    status = "STK_EINVAL"


class MemoryExceeded(Error, MemoryError):
    """The system, or the ceiling `memory` of a loader, refused memory."""

    status = "STK_ENOMEM"


class SourceError(Error, OSError):
    """A file or another source could not be opened, read or written. Has `errno` and `filename`."""

    status = "STK_ESOURCE"

    def __init__(self, text: str = "", **details: Any) -> None:
        super().__init__(text, **details)
        self.filename = self.source or None


class SourceNotFound(SourceError, FileNotFoundError):
    """A file or folder does not exist."""


class SourceDenied(SourceError, PermissionError):
    """A file or folder may not be read or written."""


class CorruptSample(Error, ValueError):
    """Data is damaged. `offset` is where it stopped making sense."""

    status = "STK_ECORRUPT"


class NotBuilt(Error, NotImplementedError):
    """The data is of a kind that this build or this version cannot read; the text names it."""

    status = "STK_ENOTSUP"


class LimitExceeded(Error, ValueError):
    """A limit against hostile input was passed; the text names it. See `stoker.Limits`."""

    status = "STK_ELIMIT"


class ShapeError(Error, ValueError):
    """A shape does not fit: a crop outside its picture, samples of several sizes in one batch."""

    status = "STK_ESHAPE"


class MissingField(Error, KeyError):
    """A sample lacks a field, or a dataset a key."""

    status = "STK_EFIELD"


class StateMismatch(Error, ValueError):
    """A saved state belongs to another dataset or to other options; the text names both."""

    status = "STK_ESTATE"


class IndexMismatch(Error, ValueError):
    """An index is missing or stale, and was required."""

    status = "STK_EINDEX"


class BudgetExceeded(Error, RuntimeError):
    """More samples are damaged than `max_errors` or `max_error_rate` allow."""

    status = "STK_EBUDGET"


class SlotsHeld(Error, RuntimeError):
    """Every batch slot is held by batches that are kept, and `memory` allows no other."""

    status = "STK_EBUSY"


class ForkError(Error, RuntimeError):
    """A loader that was opened before `fork` was used in the child."""

    status = "STK_EFORK"


class ClosedError(Error, ValueError):
    """A loader was used after `close`."""

    status = "STK_ECLOSED"


class OutOfRange(Error, IndexError):
    """An index is past the end."""

    status = "STK_ERANGE"


class AlreadyExists(Error, FileExistsError):
    """The output exists already."""

    status = "STK_EEXIST"


class Stopped(Error, RuntimeError):
    """An opening was told to stop. Python raises what the signal's handler does instead."""

    status = "STK_ESTOPPED"


_BY_STATUS: dict[str, type[Error]] = {
    kind.status: kind
    for kind in (
        InvalidArgument,
        MemoryExceeded,
        SourceError,
        CorruptSample,
        NotBuilt,
        LimitExceeded,
        ShapeError,
        MissingField,
        StateMismatch,
        IndexMismatch,
        BudgetExceeded,
        SlotsHeld,
        ForkError,
        ClosedError,
        OutOfRange,
        AlreadyExists,
        Stopped,
    )
}

_BY_ERRNO: dict[int, type[Error]] = {
    _errno.ENOENT: SourceNotFound,
    _errno.ENOTDIR: SourceNotFound,
    _errno.EACCES: SourceDenied,
    _errno.EPERM: SourceDenied,
}


def make_error(*, status: str, text: str, cure: str, **details: Any) -> Error:
    """The exception for a status and its details, as the extension hands them over."""
    kind = _BY_STATUS.get(status, Error)
    if kind is SourceError:
        kind = _BY_ERRNO.get(details["errno"], kind)
    elif kind is CorruptSample or cure.endswith("stoker verify."):
        cure = _cure_of_damage(cure, details)
    error = kind(text, cure=cure, **details)
    if not kind.status:
        error.status = status
    return error


def _cure_of_damage(cure: str, details: dict[str, Any]) -> str:
    """Skipping is advice about a sample of a dataset, not about bytes that the caller holds."""
    if not details["source"] and not details["shard"]:
        return ""
    source = details["source"]
    if cure.endswith("stoker verify.") and source and not source.startswith("..."):  # not cut
        return f"{cure[:-1]} {shlex.quote(source)}"
    return cure
