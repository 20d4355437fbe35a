"""Tensors of a dataset on their way to workers that are not forked, where /dev/shm has no room for them.

torch moves them to shared memory, so that all workers show the same bytes; that needs a file under /dev/shm. Where
it cannot have one, the bytes are copied to a memfd, once for all workers.
"""

from __future__ import annotations

import contextlib
import os
from multiprocessing import reduction
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef, rebuild_storage_fd, reduce_storage

from .transport import bytes_of

_copies: list[tuple[StorageWeakRef, torch.UntypedStorage, int]] = []  # of what, the copy, its memfd


def register(pickler: reduction.ForkingPickler) -> None:
    """Let a pickler of arguments take this way for tensors that torch cannot share."""
    pickler.dispatch_table[torch.UntypedStorage] = _reduce


def _reduce(storage: torch.UntypedStorage) -> Any:
    on_cpu = storage.device.type == "cpu"
    if not on_cpu or storage.is_shared() or _has_room(storage.nbytes()):
        try:
            return reduce_storage(storage)  # type: ignore[no-untyped-call]
        except RuntimeError:
            if not on_cpu:
                raise
    fd = reduction.DupFd(_copy(storage))
    return rebuild_storage_fd, (type(storage), fd, storage.nbytes())


def _has_room(size: int) -> bool:
    """Not tried out: where torch fails for want of room it leaves the file's name behind."""
    try:
        room = os.statvfs("/dev/shm")
    except OSError:
        return False
    return room.f_bavail * room.f_frsize >= size + room.f_frsize


def _copy(storage: torch.UntypedStorage) -> int:
    """A memfd with the same bytes: that of an earlier worker as long as nobody has changed either."""
    for entry in [entry for entry in _copies if entry[0].expired()]:  # type: ignore[no-untyped-call]
        os.close(entry[2])
        _copies.remove(entry)
    own = StorageWeakRef(storage)  # type: ignore[no-untyped-call]
    for of, copy, fd in _copies:
        if of == own and torch.equal(bytes_of(copy), bytes_of(storage)):
            return fd
    fd = os.memfd_create("stoker-tensor", os.MFD_CLOEXEC)
    try:
        os.posix_fallocate(fd, 0, storage.nbytes())
        copy = torch.UntypedStorage._new_shared_fd_cpu(fd, storage.nbytes())  # type: ignore[attr-defined]
        copy.copy_(storage)
    except BaseException:
        with contextlib.suppress(OSError):
            os.close(fd)
        raise
    _copies.append((own, copy, fd))
    return fd
