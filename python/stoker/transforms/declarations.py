"""Declarations of transforms: frozen values that say what is to be done.

Argument names, defaults, checks and laws are torchvision's (v2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import checks

_INTERPOLATIONS = {"bilinear": 0, "bicubic": 1, "nearest": 2}
_PADDING_MODES = {"constant": 0, "edge": 1, "reflect": 2, "symmetric": 3}
_LARGEST = 65535

Size = int | Sequence[int]
ChainLink = tuple[Any, ...]


def link(
    kind: int,
    *,
    height: int = 0,
    width: int = 0,
    top: int = 0,
    left: int = 0,
    max_size: int = 0,
    interpolation: str = "bilinear",
    padding_mode: str = "constant",
    antialias: bool = True,
    pad_if_needed: bool = False,
    padding: tuple[int, int, int, int] = (0, 0, 0, 0),
    fill: tuple[int, int, int] = (0, 0, 0),
    scale: tuple[float, float] = (0.08, 1.0),
    ratio: tuple[float, float] = (3.0 / 4.0, 4.0 / 3.0),
    probability: float = 0.5,
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0),
    std: tuple[float, float, float] = (1.0, 1.0, 1.0),
) -> ChainLink:
    """One stk_transform, in the order in which the extension reads it."""
    return (
        kind,
        height,
        width,
        top,
        left,
        max_size,
        _INTERPOLATIONS[interpolation],
        _PADDING_MODES[padding_mode],
        antialias,
        pad_if_needed,
        padding,
        fill,
        scale,
        ratio,
        probability,
        mean,
        std,
    )


def check_interpolation(value: object) -> str:
    """A name; torchvision's ``InterpolationMode`` is taken, too."""
    name = getattr(value, "value", value)
    checks.choice("interpolation", name, _INTERPOLATIONS)
    return str(name)


def check_antialias(value: bool | None) -> bool:
    return True if value is None else checks.boolean("antialias", value)


def check_size(size: Size) -> tuple[int, int]:
    """(height, width) of an int or a sequence of one or two of them."""
    if isinstance(size, Sequence) and not isinstance(size, str):
        if len(size) not in (1, 2):
            raise ValueError(f"size is {size!r}; it must have one or two elements")
        height, width = size[0], size[-1]
    else:
        height = width = size
    return (
        checks.integer("size", height, 1, _LARGEST),
        checks.integer("size", width, 1, _LARGEST),
    )


def check_padding(padding: int | Sequence[int] | None) -> tuple[int, int, int, int]:
    """(left, top, right, bottom) of an int, of (left and right, top and bottom), or of all four."""
    if padding is None:
        return 0, 0, 0, 0
    if isinstance(padding, int):
        sides: Sequence[int] = (padding,)
    else:
        sides = tuple(padding)
    if len(sides) not in (1, 2, 4):
        raise ValueError(f"padding is {padding!r}; it must have one, two or four elements")
    sides = [checks.integer("padding", side, 0, _LARGEST) for side in sides]
    if len(sides) == 4:
        return sides[0], sides[1], sides[2], sides[3]
    return sides[0], sides[-1], sides[0], sides[-1]


def check_fill(fill: int | Sequence[int]) -> tuple[int, int, int]:
    """(red, green, blue) of one number or three."""
    colours = (fill,) * 3 if isinstance(fill, int) else tuple(fill)
    if len(colours) == 1:
        colours = colours * 3
    if len(colours) != 3:
        raise ValueError(f"fill is {fill!r}; it must be one number or three")
    red, green, blue = (checks.integer("fill", colour, 0, 255) for colour in colours)
    return red, green, blue


def check_pair(name: str, pair: Sequence[float], high: float) -> tuple[float, float]:
    """(low, high), above 0."""
    if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
        raise TypeError(f"{name} is {pair!r}; it must be a sequence of two numbers")
    first = checks.real(name, pair[0], 0.0, high)
    second = checks.real(name, pair[1], 0.0, high)
    if first <= 0 or first > second:
        raise ValueError(f"{name} is {pair!r}; it must rise, from above 0")
    return first, second


def check_three(name: str, values: Sequence[float]) -> tuple[float, float, float]:
    """One number for each channel; a single one stands for all three."""
    numbers = tuple(float(value) for value in values)
    if len(numbers) == 1:
        numbers = numbers * 3
    if len(numbers) != 3:
        raise ValueError(f"{name} is {values!r}; it must have one number for each of 3 channels")
    return numbers[0], numbers[1], numbers[2]


class Transform:
    """What every transform is. Use one of its kinds."""

    __slots__ = ()

    def _link(self) -> ChainLink:
        raise NotImplementedError


@dataclass(frozen=True, init=False)
class Resize(Transform):
    """Resize to a size, or so that the short side has it.

    Parameters
    ----------
    size : int or (height, width)
        In pixels. An int is the short side; the long one follows, rounded down.
    interpolation : {"bilinear", "bicubic", "nearest"}
    max_size : int, optional
        Of the long side, where `size` is an int.
    antialias : bool
        Widen the filter where the picture shrinks, as torchvision does by default.

    Source
    ------
    torchvision v2 on uint8 tensors, pixel for pixel.
    """

    size: int | tuple[int, int]
    interpolation: str
    max_size: int | None
    antialias: bool

    def __init__(
        self,
        size: Size,
        interpolation: str = "bilinear",
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        height, width = check_size(size)
        short = not isinstance(size, Sequence) or len(size) == 1
        if max_size is not None:
            checks.integer("max_size", max_size, 1, _LARGEST)
            if not short:
                raise ValueError("max_size is for a size of one number, the short side")
            if max_size <= height:
                raise ValueError(f"max_size is {max_size}; it must be above size, {height}")
        _set(
            self,
            size=height if short else (height, width),
            interpolation=check_interpolation(interpolation),
            max_size=max_size,
            antialias=check_antialias(antialias),
        )

    def _link(self) -> ChainLink:
        height, width = (self.size, 0) if isinstance(self.size, int) else self.size
        return link(
            1,
            height=height,
            width=width,
            max_size=self.max_size or 0,
            interpolation=self.interpolation,
            antialias=self.antialias,
        )


@dataclass(frozen=True, init=False)
class CenterCrop(Transform):
    """The middle of the picture.

    Parameters
    ----------
    size : int or (height, width)
        In pixels. A smaller picture is padded with 0 on both sides.
    """

    size: tuple[int, int]

    def __init__(self, size: Size) -> None:
        _set(self, size=check_size(size))

    def _link(self) -> ChainLink:
        return link(2, height=self.size[0], width=self.size[1])


@dataclass(frozen=True, init=False)
class RandomCrop(Transform):
    """A part at a random place, after padding.

    Parameters
    ----------
    size : int or (height, width)
    padding : int or sequence, optional
        Added before cropping: all sides; (left and right, top and bottom); or (left, top, right,
        bottom). In pixels.
    pad_if_needed : bool
        Pad a picture that is smaller than `size`. Otherwise it is a `ShapeError`.
    fill : int or (red, green, blue)
        Of constant padding, 0 to 255.
    padding_mode : {"constant", "edge", "reflect", "symmetric"}
    """

    size: tuple[int, int]
    padding: tuple[int, int, int, int]
    pad_if_needed: bool
    fill: tuple[int, int, int]
    padding_mode: str

    def __init__(
        self,
        size: Size,
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: int | Sequence[int] = 0,
        padding_mode: str = "constant",
    ) -> None:
        checks.choice("padding_mode", padding_mode, _PADDING_MODES)
        _set(
            self,
            size=check_size(size),
            padding=check_padding(padding),
            pad_if_needed=checks.boolean("pad_if_needed", pad_if_needed),
            fill=check_fill(fill),
            padding_mode=padding_mode,
        )

    def _link(self) -> ChainLink:
        return link(
            3,
            height=self.size[0],
            width=self.size[1],
            padding=self.padding,
            pad_if_needed=self.pad_if_needed,
            fill=self.fill,
            padding_mode=self.padding_mode,
        )


@dataclass(frozen=True, init=False)
class RandomResizedCrop(Transform):
    """A part of random area, aspect and place, resized to one size.

    Parameters
    ----------
    size : int or (height, width)
        Of the output, in pixels.
    scale : (low, high)
        Share of the picture's area, above 0.
    ratio : (low, high)
        Width by height, drawn evenly in its logarithm.
    interpolation : {"bilinear", "bicubic", "nearest"}
    antialias : bool
    """

    size: tuple[int, int]
    scale: tuple[float, float]
    ratio: tuple[float, float]
    interpolation: str
    antialias: bool

    def __init__(
        self,
        size: Size,
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: str = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        _set(
            self,
            size=check_size(size),
            scale=check_pair("scale", scale, float("inf")),
            ratio=check_pair("ratio", ratio, float("inf")),
            interpolation=check_interpolation(interpolation),
            antialias=check_antialias(antialias),
        )

    def _link(self) -> ChainLink:
        return link(
            4,
            height=self.size[0],
            width=self.size[1],
            scale=self.scale,
            ratio=self.ratio,
            interpolation=self.interpolation,
            antialias=self.antialias,
        )


@dataclass(frozen=True, init=False)
class RandomHorizontalFlip(Transform):
    """Left and right exchanged, with a probability.

    Parameters
    ----------
    p : float
        From 0 to 1.
    """

    p: float

    def __init__(self, p: float = 0.5) -> None:
        _set(self, p=checks.real("p", p, 0.0, 1.0))

    def _link(self) -> ChainLink:
        return link(5, probability=self.p)


@dataclass(frozen=True, init=False)
class Normalize(Transform):
    """``(value / 255 - mean) / std`` for each channel; last of its list, for float types.

    Parameters
    ----------
    mean, std : sequence of float
        One for each channel, of values from 0 to 1. `std` is not 0.
    """

    mean: tuple[float, float, float]
    std: tuple[float, float, float]

    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None:
        stds = check_three("std", std)
        if 0.0 in stds:
            raise ValueError(f"std is {std!r}; it must not be 0")
        _set(self, mean=check_three("mean", mean), std=stds)

    def _link(self) -> ChainLink:
        return link(6, mean=self.mean, std=self.std)


def _set(transform: Transform, **values: object) -> None:
    """Set the fields of a frozen dataclass, from its own ``__init__``."""
    for name, value in values.items():
        object.__setattr__(transform, name, value)
