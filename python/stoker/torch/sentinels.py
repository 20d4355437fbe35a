"""What says that a worker process has ended: at once, and at no cost until then.

The sentinel that multiprocessing has of a process is a pipe, whose other end the process holds until it ends, and with it
every process that it has forked: one of these that lives on hides its death. A pidfd is about the process alone, be it
a child of this one or of a fork server. Where the system has none (Linux before 5.3, a sandbox, no descriptor left)
there is the pipe, and a look at the process now and then.
"""

from __future__ import annotations

import os
import select
import time
from typing import Any

LOOK_SECONDS = 0.5  # between two looks at a process whose sentinel may stay silent
SETTLE_SECONDS = 1.0


class Sentinel:
    """Readable, for a poll, when a process has ended.

    Parameters
    ----------
    process : multiprocessing.Process
        Started by this process. Held.

    Any thread may wait. The descriptor is closed by `close` or with the last reference; a forked child has its own.
    """

    _fd = -1

    def __init__(self, process: Any) -> None:
        self._process = process
        try:
            self._fd = os.pidfd_open(process.pid)
        except (AttributeError, OSError):
            return
        if not process.is_alive():  # then the number may have become somebody else's before
            self.close()

    @property
    def sure(self) -> bool:
        """Will it be readable, whatever the process leaves behind?"""
        return self._fd >= 0

    def fileno(self) -> int:
        return self._fd if self.sure else self._process.sentinel

    def settled(self) -> bool:
        """Of one that is readable: wait for the exit code. False: the process lives, having closed its files.

        Files are closed a moment before an end can be seen, and a fork server tells it a moment later.
        """
        end = time.monotonic() + SETTLE_SECONDS
        while self._process.is_alive():
            if time.monotonic() > end:
                return False
            time.sleep(0.001)
        return True

    def ended(self) -> bool:
        """Has the process ended by now?"""
        return not self._process.is_alive()

    def join(self, timeout: float | None = None) -> None:
        """`Process.join`, which would wait for the pipe, too."""
        if timeout is None or not self.sure:
            self._process.join(timeout)
            return
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        if poll.poll(max(timeout, 0) * 1000):
            self.settled()

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self, close: Any = os.close) -> None:
        # Nor used again: a garbage collection ends this one first and the iterator that has it then.
        fd, self._fd = self._fd, -1
        if fd >= 0:
            close(fd)
