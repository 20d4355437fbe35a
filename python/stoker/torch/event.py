"""An event that processes share, without a semaphore: those of multiprocessing need files under /dev/shm."""

from __future__ import annotations

import contextlib
import os
import select
from collections.abc import Callable
from multiprocessing import reduction


class Event:
    """`multiprocessing.Event` over one eventfd: set is what can be read from it.

    Travels to a child by fork, and by pickle on its way to a new process. Any process and thread may
    call anything at any time. The descriptor is closed with the last reference of each process, or by
    `close` alone after `keep`.
    """

    _fd = -1
    _kept = False

    def __init__(self) -> None:
        self._fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def __getstate__(self) -> object:
        return reduction.DupFd(self._fd)

    def __setstate__(self, state: object) -> None:
        self._fd = state.detach()  # type: ignore[attr-defined]

    def fileno(self) -> int:
        """For a poll that waits for other things, too: readable while the event is set."""
        return self._fd

    def set(self) -> None:
        with contextlib.suppress(BlockingIOError):  # set 2^64 times: set it is
            os.eventfd_write(self._fd, 1)

    def clear(self) -> None:
        with contextlib.suppress(BlockingIOError):  # was not set
            os.eventfd_read(self._fd)

    def is_set(self) -> bool:
        return self.wait(0)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set, at most so many seconds; for ever by default. Is it set?"""
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        return bool(poll.poll(None if timeout is None else max(timeout, 0) * 1000))

    def keep(self) -> None:
        """Let only `close` close it: a garbage collection may finalize an event before an owner that sets it."""
        self._kept = True

    def close(self, close: Callable[[int], None] = os.close) -> None:
        """Give the descriptor of this process back; the event is of no more use here."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            close(fd)

    def __del__(self) -> None:
        if not self._kept:
            self.close()
