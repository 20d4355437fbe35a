"""Single steps on one picture in memory, with torchvision's names and arguments.

Pictures are uint8 arrays, ``(H, W, 3)`` or ``(3, H, W)``; which of both is told by where the axis
of length 3 is, or by `layout`. Results are new arrays of the same layout. Resizing is antialiased
by default and equals torchvision v2 on uint8 tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import checks
from .chain import layout_of, run
from .declarations import (
    CenterCrop,
    Normalize,
    RandomCrop,
    Resize,
    Size,
    check_padding,
    link,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "center_crop",
    "crop",
    "hflip",
    "horizontal_flip",
    "normalize",
    "pad",
    "resize",
    "resized_crop",
]

_LARGEST = 65535


def resize(
    image: NDArray[np.uint8],
    size: Size,
    interpolation: str = "bilinear",
    max_size: int | None = None,
    antialias: bool | None = True,
    *,
    layout: str | None = None,
) -> NDArray[np.uint8]:
    """Resize to (height, width), or so that the short side is `size`. See `Resize`.

    Examples
    --------
    >>> stoker.transforms.functional.resize(np.zeros((40, 60, 3), np.uint8), 20).shape
    (20, 30, 3)
    """
    chain = Resize(size, interpolation, max_size, antialias)._link()
    return _uint8(image, (chain,), layout)


def crop(
    image: NDArray[np.uint8],
    top: int,
    left: int,
    height: int,
    width: int,
    *,
    layout: str | None = None,
) -> NDArray[np.uint8]:
    """The part of that place and size, in pixels. Outside the picture it is a `ShapeError`."""
    return _uint8(image, (_crop(top, left, height, width),), layout)


def center_crop(
    image: NDArray[np.uint8], output_size: Size, *, layout: str | None = None
) -> NDArray[np.uint8]:
    """The middle of the picture. See `CenterCrop`."""
    return _uint8(image, (CenterCrop(output_size)._link(),), layout)


def resized_crop(
    image: NDArray[np.uint8],
    top: int,
    left: int,
    height: int,
    width: int,
    size: Size,
    interpolation: str = "bilinear",
    antialias: bool | None = True,
    *,
    layout: str | None = None,
) -> NDArray[np.uint8]:
    """The part of that place and size, resized."""
    chain = _crop(top, left, height, width), Resize(size, interpolation, None, antialias)._link()
    return _uint8(image, chain, layout)


def horizontal_flip(image: NDArray[np.uint8], *, layout: str | None = None) -> NDArray[np.uint8]:
    """Left and right exchanged."""
    return _uint8(image, (link(8),), layout)


hflip = horizontal_flip


def normalize(
    image: NDArray[np.uint8],
    mean: Sequence[float],
    std: Sequence[float],
    *,
    layout: str | None = None,
) -> NDArray[np.float32]:
    """``(value / 255 - mean) / std`` for each channel, as float32.

    torchvision's takes floats from 0 to 1; this one takes uint8 and divides by 255 itself.
    """
    made: NDArray[np.float32] = run(
        image, (Normalize(mean, std)._link(),), layout=layout, dtype="float32"
    )
    return made


def pad(
    image: NDArray[np.uint8],
    padding: int | Sequence[int],
    fill: int | Sequence[int] = 0,
    padding_mode: str = "constant",
    *,
    layout: str | None = None,
) -> NDArray[np.uint8]:
    """Pixels added around the picture. Arguments as in `RandomCrop`."""
    import numpy as np

    pixels = np.asarray(image)
    height, width = pixels.shape[:2] if layout_of(pixels, layout) == "NHWC" else pixels.shape[1:]
    left, top, right, bottom = check_padding(padding)
    # the only place for a crop as large as the padded picture is all of it
    whole = RandomCrop(
        (height + top + bottom, width + left + right),
        padding,
        fill=fill,
        padding_mode=padding_mode,
    )
    return _uint8(pixels, (whole._link(),), layout)


def _crop(top: int, left: int, height: int, width: int) -> tuple[Any, ...]:
    return link(
        7,
        top=checks.integer("top", top, 0, _LARGEST),
        left=checks.integer("left", left, 0, _LARGEST),
        height=checks.integer("height", height, 1, _LARGEST),
        width=checks.integer("width", width, 1, _LARGEST),
    )


def _uint8(image: Any, chain: tuple[tuple[Any, ...], ...], layout: str | None) -> NDArray[np.uint8]:
    made: NDArray[np.uint8] = run(image, chain, layout=layout)
    return made
