"""Chains of transforms, and their application to one array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import checks
from .declarations import ChainLink, Normalize, Transform

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_DTYPES = {"uint8": 1, "float16": 9, "bfloat16": 10, "float32": 11}
_LAYOUTS = {"NHWC": 0, "NCHW": 1}


def chain_of(transforms: Sequence[Transform]) -> tuple[ChainLink, ...]:
    """Transforms as the extension takes them; checked as a list."""
    for at, each in enumerate(transforms):
        if not isinstance(each, Transform):
            raise TypeError(
                f"transform {at} is {each!r}; it must be one of stoker.transforms, such as Resize"
            )
        if isinstance(each, Normalize) and at != len(transforms) - 1:
            raise ValueError(f"transform {at} is Normalize; it must be the last")
    return tuple(each._link() for each in transforms)


def apply(
    image: NDArray[np.uint8],
    transforms: Transform | Sequence[Transform],
    *,
    seed: int = 0,
    epoch: int = 0,
    sample: int = 0,
    layout: str | None = None,
    dtype: str | None = None,
) -> Any:
    """Apply transforms to one picture, with the draws that a loader would make.

    Parameters
    ----------
    image : array of uint8
        ``(H, W, 3)`` or ``(3, H, W)`` RGB. Only read.
    transforms : transform, or sequence of them
    seed, epoch, sample : int
        Of the loader, and index of the sample in its dataset.
    layout : {"NHWC", "NCHW"}, optional
        Of `image` and of the result. By default told by where the axis of length 3 is.
    dtype : {"uint8", "float32", "float16", "bfloat16"}, optional
        Of the result. By default float32 where the transforms end in `Normalize`, else uint8.

    Returns
    -------
    numpy.ndarray
        In the layout of `image`, in memory of its own. A `stoker.Tensor` for bfloat16, which NumPy
        lacks.

    Raises
    ------
    stoker.ShapeError
        The picture is too small for a crop. A ``ValueError``.

    Examples
    --------
    >>> from stoker import transforms as T
    >>> picture = np.zeros((40, 60, 3), np.uint8)
    >>> T.apply(picture, [T.Resize(20), T.CenterCrop(16)]).shape
    (16, 16, 3)
    """
    if isinstance(transforms, Transform):
        transforms = [transforms]
    if dtype is None:
        ends = len(transforms) > 0 and isinstance(transforms[-1], Normalize)
        dtype = "float32" if ends else "uint8"
    return run(image, chain_of(transforms), layout=layout, dtype=dtype, draw=(seed, epoch, sample))


def run(
    image: Any,
    chain: tuple[ChainLink, ...],
    *,
    layout: str | None,
    dtype: str = "uint8",
    draw: tuple[int, int, int] = (0, 0, 0),
) -> Any:
    """Apply a chain to an array; the result has its layout."""
    import numpy as np

    from .. import _core

    pixels = np.asarray(image)
    order = layout_of(pixels, layout)
    rows: Any = pixels if order == "NHWC" else pixels.transpose(1, 2, 0)
    rows = np.ascontiguousarray(rows)
    height, width, _ = rows.shape
    seed, epoch, sample = (
        checks.integer(name, value, 0, 2**64 - 1)
        for name, value in zip(("seed", "epoch", "sample"), draw, strict=True)
    )
    made = _core.transform(
        rows,
        height,
        width,
        chain,
        seed,
        epoch,
        sample,
        _LAYOUTS[order],
        checks.choice("dtype", dtype, _DTYPES),
    )
    return made if dtype == "bfloat16" else np.asarray(made)


def layout_of(pixels: Any, layout: str | None) -> str:
    """The layout of one picture, checked."""
    import numpy as np

    if pixels.dtype != np.uint8:
        raise TypeError(f"image is an array of {pixels.dtype}; it must be uint8")
    if pixels.ndim != 3 or pixels.size == 0:
        raise ValueError(f"image has shape {pixels.shape}; it must be (H, W, 3) or (3, H, W)")
    last, first = pixels.shape[2] == 3, pixels.shape[0] == 3
    if layout is not None:
        checks.choice("layout", layout, _LAYOUTS)
        if not (last if layout == "NHWC" else first):
            raise ValueError(f'image has shape {pixels.shape}, which is not layout "{layout}"')
        return layout
    if last == first:
        raise ValueError(
            f"image has shape {pixels.shape}; "
            + ("say which with layout=" if last else "it must be (H, W, 3) or (3, H, W)")
        )
    return "NHWC" if last else "NCHW"
