"""Who a worker thread is: `torch.utils.data.get_worker_info()` that answers each thread for itself.

torch keeps one answer for each process, in a variable of its worker module, and other modules have imported the
function by name long before a loader is made. So the function itself has to answer otherwise: its code is exchanged
once, when this module is imported, which the first loader with worker threads does. The new code asks for the thread
first and then for what torch's own code says, so that nothing changes where no worker thread is.

`collate_tensor_fn` is exchanged in the same way. Inside a worker it stacks into shared memory, a file for each tensor,
which nobody needs between threads; it is reached by `default_collate`, by a user's own collation, and by name.
"""

from __future__ import annotations

import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils.data._utils import collate, worker

_here = threading.local()  # info: this thread's; outer: what the process said when it began


def inner() -> Any:
    """The `WorkerInfo` of this thread; None where the process's own counts.

    A worker process that was forked by a worker thread inherits the thread's: what torch has set there since is
    the newer, and the right one.
    """
    info = getattr(_here, "info", None)
    if info is None or _process_info() is not _here.outer:
        return None
    return info


@contextmanager
def acting_as(info: Any) -> Iterator[None]:
    """Let this thread be the worker that `info` tells of."""
    _here.outer = _process_info()
    _here.info = info
    try:
        yield
    finally:
        _here.info = None


# The two below run with the variables of torch's modules, not of this one: that is what exchanging code means.


def _get_worker_info() -> Any:
    info = _stoker_inner()  # type: ignore[name-defined]  # noqa: F821
    return _stoker_before() if info is None else info  # type: ignore[name-defined]  # noqa: F821


def _collate_tensor(batch: Any, *, collate_fn_map: Any = None) -> Any:
    first = batch[0]
    if (
        _stoker_inner() is None  # type: ignore[name-defined]  # noqa: F821
        or first.layout is not torch.strided
        or first.is_nested
    ):
        return _stoker_before(batch, collate_fn_map=collate_fn_map)  # type: ignore[name-defined]  # noqa: F821
    return torch.stack(batch, 0)


def _exchange(function: Any, code: types.CodeType) -> Callable[..., Any]:
    """Give `function` other code, once. Returns a function with the code it had."""
    names = function.__globals__
    if "_stoker_before" not in names:
        before = types.FunctionType(
            function.__code__, names, function.__name__, function.__defaults__
        )
        before.__kwdefaults__ = function.__kwdefaults__
        names["_stoker_before"] = before
        function.__code__ = code.replace(co_name=function.__name__)
    names["_stoker_inner"] = inner
    return names["_stoker_before"]  # type: ignore[no-any-return]


_process_info = _exchange(worker.get_worker_info, _get_worker_info.__code__)
_exchange(collate.collate_tensor_fn, _collate_tensor.__code__)
