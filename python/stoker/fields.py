"""Declarations of fields: what a batch holds, and from which files of a sample it comes.

They are plain values: frozen, comparable, picklable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import checks
from .transforms.chain import chain_of
from .transforms.declarations import Transform

# numbers of the C API
_DTYPES = {"uint8": 1, "float16": 9, "bfloat16": 10, "float32": 11}
_LAYOUTS = {"NHWC": 0, "NCHW": 1}

FieldSpec = tuple[str, "str | None", int, tuple[Any, ...], int, int, bool, bool]


class Field:
    """What every declaration of a field is. Use one of its kinds."""

    __slots__ = ()

    _show = "t"  # how a batch shows it: state.h, EXT_SHOW_*

    def _spec(self, name: str) -> FieldSpec:
        raise NotImplementedError


def _spec(
    name: str,
    source: str | None,
    kind: int,
    *,
    optional: bool = False,
    orient: bool = False,
    transforms: tuple[Any, ...] = (),
    layout: int = 1,
    dtype: int = 1,
) -> FieldSpec:
    return name, source, kind, transforms, layout, dtype, orient, optional


def _check_source(source: object) -> None:
    if not isinstance(source, str):
        raise TypeError(f'fields is {source!r}; it must be a str such as "jpg;png"')
    if not all(each.strip() for each in source.split(";")):
        raise ValueError(f'fields is {source!r}; it must name fields, with ";" between them')


@dataclass(frozen=True, init=False)
class Image(Field):
    """A picture: decoded, transformed, as one array for the batch.

    Parameters
    ----------
    fields : str
        Extensions, ``";"`` between alternatives: the first that a sample has.
    *transforms : transforms
        Applied in order; see `stoker.transforms`. They must bring every sample to one size.
    layout : {"NCHW", "NHWC"}
        Shape ``(N, 3, H, W)`` or ``(N, H, W, 3)``.
    dtype : {"uint8", "float32", "float16", "bfloat16"}
        Values 0 to 255, or their 255th part, normalised if the transforms end in `Normalize`.
    orient : bool
        Apply EXIF orientation before the transforms.

    Notes
    -----
    RGB, sRGB as stored: grey is repeated, alpha left out, CMYK converted (docs/colour.md).

    Examples
    --------
    >>> from stoker import Image, transforms as T
    >>> Image("jpg", T.Resize(256), T.CenterCrop(224), dtype="float32").fields
    'jpg'
    """

    fields: str
    transforms: tuple[Transform, ...]
    layout: str
    dtype: str
    orient: bool

    def __init__(
        self,
        fields: str = "jpg;jpeg;png;webp",
        *transforms: Transform,
        layout: str = "NCHW",
        dtype: str = "uint8",
        orient: bool = False,
    ) -> None:
        _check_source(fields)
        checks.choice("layout", layout, _LAYOUTS)
        checks.choice("dtype", dtype, _DTYPES)
        checks.boolean("orient", orient)
        chain_of(transforms)
        if dtype == "uint8" and any(type(each).__name__ == "Normalize" for each in transforms):
            raise ValueError('dtype is "uint8"; with Normalize it must be a float type')
        for name, value in (
            ("fields", fields),
            ("transforms", transforms),
            ("layout", layout),
            ("dtype", dtype),
            ("orient", orient),
        ):
            object.__setattr__(self, name, value)

    def _spec(self, name: str) -> FieldSpec:
        return _spec(
            name,
            self.fields,
            1,
            transforms=chain_of(self.transforms),
            layout=_LAYOUTS[self.layout],
            dtype=_DTYPES[self.dtype],
            orient=self.orient,
        )


@dataclass(frozen=True)
class Label(Field):
    """A class number: ``(N,)`` int64.

    Parameters
    ----------
    fields : str
        Extensions, ``";"`` between alternatives. The text is read as Python's ``int`` reads it. In
        a folder tree, ``"cls"`` is the number of the class folder.
    optional : bool
        -1 where a sample has none, instead of an error.
    """

    fields: str = "cls"
    optional: bool = False

    def __post_init__(self) -> None:
        _check_source(self.fields)
        checks.boolean("optional", self.optional)

    def _spec(self, name: str) -> FieldSpec:
        return _spec(name, self.fields, 2, optional=self.optional)


@dataclass(frozen=True)
class Bytes(Field):
    """Bytes as they are stored: a list of N bytes. See also `Batch.column`.

    Parameters
    ----------
    fields : str
        Extensions, ``";"`` between alternatives.
    optional : bool
        Empty where a sample has none, instead of an error.
    """

    fields: str
    optional: bool = False

    _show = "b"

    def __post_init__(self) -> None:
        _check_source(self.fields)
        checks.boolean("optional", self.optional)

    def _spec(self, name: str) -> FieldSpec:
        return _spec(name, self.fields, 0, optional=self.optional)


@dataclass(frozen=True)
class Text(Field):
    """Text in UTF-8: a list of N str. A byte order mark and line ends are kept.

    Parameters
    ----------
    fields : str
        Extensions, ``";"`` between alternatives.
    optional : bool
        ``""`` where a sample has none, instead of an error.
    """

    fields: str = "txt"
    optional: bool = False

    _show = "s"

    def __post_init__(self) -> None:
        _check_source(self.fields)
        checks.boolean("optional", self.optional)

    def _spec(self, name: str) -> FieldSpec:
        return _spec(name, self.fields, 3, optional=self.optional)


@dataclass(frozen=True)
class Json(Field):
    """JSON in UTF-8, 16 or 32: a list of N values, checked by the engine, parsed when asked for.

    Parameters
    ----------
    fields : str
        Extensions, ``";"`` between alternatives.
    optional : bool
        None where a sample has none, instead of an error.
    """

    fields: str = "json"
    optional: bool = False

    _show = "j"

    def __post_init__(self) -> None:
        _check_source(self.fields)
        checks.boolean("optional", self.optional)

    def _spec(self, name: str) -> FieldSpec:
        return _spec(name, self.fields, 4, optional=self.optional)


@dataclass(frozen=True)
class Array(Field):
    """An array of NumPy's ``.npy``: ``(N, ...)`` of one shape and dtype, in native order.

    Parameters
    ----------
    fields : str
        Extensions, ``";"`` between alternatives. Object arrays are pickles and are refused.
    """

    fields: str = "npy"

    def __post_init__(self) -> None:
        _check_source(self.fields)

    def _spec(self, name: str) -> FieldSpec:
        return _spec(name, self.fields, 5)


@dataclass(frozen=True)
class Key(Field):
    """The key of each sample: a list of N str. Bytes that are no UTF-8 come as surrogates."""

    _show = "k"

    def _spec(self, name: str) -> FieldSpec:
        return _spec(name, None, 6)
