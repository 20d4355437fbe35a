"""Limits against hostile or broken input."""

from __future__ import annotations

from dataclasses import dataclass, fields

from . import checks


@dataclass(frozen=True)
class Limits:
    """What a file may ask for, at most. Each is named in the `LimitExceeded` that hits it.

    Parameters
    ----------
    max_pixels : int
        Of one picture, from its header. 2**28 (268 million) by default.
    max_scans : int
        Of one progressive JPEG. 500 by default.
    max_depth : int
        Nesting of JSON. 512 by default.
    max_member_bytes : int
        Of one field that a loader reads. 2**31 by default.
    max_header_bytes : int
        Of one extended tar header, of one npy header. 2**20 by default.

    Examples
    --------
    >>> stoker.Limits(max_pixels=10_000_000)
    Limits(max_pixels=10000000, max_scans=500, max_depth=512, max_member_bytes=2147483648, \
max_header_bytes=1048576)
    """

    max_pixels: int = 2**28
    max_scans: int = 500
    max_depth: int = 512
    max_member_bytes: int = 2**31
    max_header_bytes: int = 2**20

    def __post_init__(self) -> None:
        for each in fields(self):
            bits = 32 if each.name in ("max_scans", "max_depth") else 64
            checks.integer(each.name, getattr(self, each.name), 1, 2**bits - 1)


def numbers(limits: Limits | None) -> tuple[int, int, int, int, int] | None:
    """As the extension takes them."""
    if limits is None:
        return None
    if not isinstance(limits, Limits):
        raise TypeError(f"limits is {limits!r}; it must be a stoker.Limits")
    return (
        limits.max_pixels,
        limits.max_scans,
        limits.max_depth,
        limits.max_member_bytes,
        limits.max_header_bytes,
    )
