"""Checks of arguments: each failure names the argument, its value and what it may be."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from typing import TypeVar

_T = TypeVar("_T")

_UNITS = {
    "": 1,
    "b": 1,
    **{p: 1000**n for n, p in enumerate(("kb", "mb", "gb", "tb"), 1)},
    **{p: 1024**n for n, p in enumerate(("kib", "mib", "gib", "tib"), 1)},
}


def integer(name: str, value: object, low: int, high: int | None = None) -> int:
    """`value` as an int between `low` and `high`, both included."""
    if isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}; it must be an int")
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} is {value!r}; it must be an int") from None
    if number < low or (high is not None and number > high):
        raise ValueError(f"{name} is {number}; it must be {_range(low, high)}")
    return number


def _range(low: int, high: int | None) -> str:
    if high is None:
        return f"{low} or more"
    return f"from {low} to {high}"


def real(name: str, value: object, low: float, high: float) -> float:
    """`value` as a float between `low` and `high`, both included."""
    if isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} is {value!r}; it must be a number")
    number = float(value)
    if not low <= number <= high:
        raise ValueError(f"{name} is {number}; it must be from {low} to {high}")
    return number


def boolean(name: str, value: object) -> bool:
    """`value`, which must be True or False."""
    if value is not True and value is not False:
        raise TypeError(f"{name} is {value!r}; it must be True or False")
    return value


def choice(name: str, value: object, table: Mapping[str, _T]) -> _T:
    """What `table` has for `value`."""
    if isinstance(value, str) and value in table:
        return table[value]
    names = [f'"{each}"' for each in table]
    wanted = " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    kind = ValueError if isinstance(value, str) else TypeError
    raise kind(f"{name} is {value!r}; it must be {wanted}")


def size(name: str, value: object, low: int) -> int:
    """A number of bytes: an int, or a str such as ``"2GiB"``, ``"512 MiB"``, ``"1.5GB"``."""
    if isinstance(value, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", value)
        unit = _UNITS.get(found[2].lower()) if found else None
        if found is None or unit is None:
            raise ValueError(f'{name} is {value!r}; it must be a size such as "2GiB"')
        value = int(float(found[1]) * unit)
    return integer(name, value, low, 2**63 - 1)
