"""Pictures alone: decoding and their headers, without a loader."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from . import _core, checks
from . import limits as _limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from .limits import Limits

_LAYOUTS = {"NHWC": 0, "NCHW": 1}


class ImageInfo(NamedTuple):
    """What the header of a picture says."""

    width: int  #: in pixels, as stored
    height: int  #: in pixels, as stored
    orientation: int  #: EXIF, 1 to 8; 1 where there is none or it makes no sense
    channels: int  #: as stored, 1 to 4
    depth: int  #: bits per channel as stored
    format: str  #: "jpeg", "png", "webp"
    progressive: bool  #: a JPEG of several scans, or an interlaced PNG


def decode_image(
    data: bytes | bytearray | memoryview,
    crop: Sequence[int] | None = None,
    layout: str = "NHWC",
    *,
    limits: Limits | None = None,
) -> NDArray[np.uint8]:
    """Decode a picture, or a part of it, to 8-bit RGB.

    Parameters
    ----------
    data : bytes-like
        One encoded picture: JPEG, PNG, WebP, or what else this build reads; told by its bytes.
        Only read, and not kept.
    crop : (top, left, height, width) of int, optional
        The part wanted, in pixels of the stored picture, inside it. Only this part is decoded
        where the format allows; its pixels are exactly those of the whole picture. All by default.
    layout : {"NHWC", "NCHW"}
        Channels last, or first.
    limits : stoker.Limits, optional
        Against hostile input.

    Returns
    -------
    numpy.ndarray
        ``(height, width, 3)`` or ``(3, height, width)`` uint8, C-contiguous, writable, 0 to 255,
        sRGB as stored. Grey is repeated, alpha left out, EXIF orientation not applied.

    Raises
    ------
    stoker.CorruptSample
        `data` is not one whole picture. A ``ValueError``; ``.offset`` is the byte in `data`.
    stoker.LimitExceeded
        The picture has more pixels or scans than the limits allow. A ``ValueError``.
    stoker.NotBuilt
        The format is known, but this build lacks it. A ``NotImplementedError``.
    stoker.ShapeError
        `crop` reaches outside the picture. A ``ValueError``.

    Notes
    -----
    Releases the GIL; any number of threads may call it at once. The same bytes give the same pixels
    on every machine.

    Source
    ------
    JPEG: ITU-T T.81; colours by T.871; chroma by libjpeg's "fancy" upsampling.

    Examples
    --------
    >>> stoker.decode_image(photo, crop=(0, 0, 24, 32), layout="NCHW").shape
    (3, 24, 32)
    """
    import numpy as np

    if crop is not None:
        crop = tuple(crop)
        if len(crop) != 4:
            raise ValueError(f"crop is {crop!r}; it must be (top, left, height, width)")
    return np.asarray(
        _core.decode_image(
            data, crop, checks.choice("layout", layout, _LAYOUTS), _limits.numbers(limits)
        )
    )


def image_info(data: bytes | bytearray | memoryview, *, limits: Limits | None = None) -> ImageInfo:
    """Read the header of a picture.

    Parameters
    ----------
    data : bytes-like
        One encoded picture, or at least its headers.
    limits : stoker.Limits, optional
        Against hostile input.

    Returns
    -------
    ImageInfo

    Raises
    ------
    stoker.CorruptSample, stoker.LimitExceeded, stoker.NotBuilt
        As for `decode_image`.

    Examples
    --------
    >>> info = stoker.image_info(photo)
    >>> info.width, info.height, info.format
    (64, 48, 'jpeg')
    """
    return ImageInfo(*_core.image_info(data, _limits.numbers(limits)))
