"""Does a dataset hold memory or handles through which the script can speak to its workers while they run?

Such a dataset may give other samples once the script has changed something between two epochs; see `early`.
"""

from __future__ import annotations

import ctypes
import functools
import io
import mmap
import types
from collections import deque
from itertools import islice
from multiprocessing import connection, managers, queues, shared_memory, sharedctypes, synchronize
from typing import Any

import torch

_MOST_OBJECTS = 20_000  # that are looked at
_MOST_OF_ONE = 1_000  # elements of one container: the rest is taken for more of the same

_SHARED = (
    sharedctypes.SynchronizedBase,
    synchronize.SemLock,
    synchronize.Event,
    synchronize.Condition,
    queues.Queue,
    queues.SimpleQueue,
    connection.Connection,
    managers.BaseProxy,
    shared_memory.SharedMemory,
    shared_memory.ShareableList,
    mmap.mmap,
    ctypes._SimpleCData,
    ctypes.Array,
    ctypes.Structure,
)
_PLAIN = (str, bytes, int, float, complex, bool, type(None), type, types.ModuleType, io.IOBase)


def shares(dataset: Any) -> bool:
    """Is there shared memory, or a handle of multiprocessing, anywhere in the dataset?

    Looks through attributes, containers, functions and what they hold, at most 20,000 objects. It cannot see
    what a dataset reads from outside: files, the network, globals of its module.
    """
    seen: set[int] = set()
    rest: deque[Any] = deque([dataset])
    while rest and len(seen) < _MOST_OBJECTS:
        thing = rest.popleft()
        if isinstance(thing, _PLAIN) or id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, _SHARED):
            return True
        if isinstance(thing, torch.Tensor) and thing.is_shared():  # type: ignore[no-untyped-call]
            return True
        rest.extend(_held(thing))
    return False


def _held(thing: Any) -> list[Any]:
    if isinstance(thing, torch.Tensor):
        return []
    if isinstance(thing, dict):
        return [*islice(thing.values(), _MOST_OF_ONE), *islice(thing, _MOST_OF_ONE)]
    held: list[Any] = []
    if isinstance(thing, (list, tuple, set, frozenset, deque)):
        held += islice(thing, _MOST_OF_ONE)
    if isinstance(thing, memoryview):
        held.append(thing.obj)
    if isinstance(thing, types.MethodType):
        held += [thing.__self__, thing.__func__]
    if isinstance(thing, types.FunctionType):
        held += [cell.cell_contents for cell in thing.__closure__ or () if _filled(cell)]
        held += thing.__defaults__ or ()
    if isinstance(thing, functools.partial):
        held += [thing.func, *thing.args, *thing.keywords.values()]
    held += getattr(thing, "__dict__", {}).values()
    for kind in type(thing).__mro__:
        names = kind.__dict__.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            held.append(getattr(thing, name, None))
    base = getattr(thing, "base", None)  # of a NumPy array: what its memory is from
    return [*held, base] if base is not None else held


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
