"""What says that a worker process has ended: at once, and at no cost until then.

The sentinel that multiprocessing has of a process is a pipe, whose other end the process holds until it ends, and with it
every process that it has forked: one of these that lives on hides its death. A pidfd is about the process alone, be it
a child of this one or of a fork server. Where the system has none (Linux before 5.3, a sandbox, no descriptor left)
there is the pipe, and a look at the process now and then.
"""

from __future__ import annotations

import contextlib
import os
import select
import time
from typing import Any

LOOK_SECONDS = 0.5  # between two looks at a process whose sentinel may stay silent
SETTLE_SECONDS = 1.0


def _is_child(pid: int) -> bool:
    """Is it one of this process, whose exit code nobody has taken yet?"""
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except OSError:
        return False
    return True


class Sentinel:
    """Readable, for a poll, when a process has ended.

    Parameters
    ----------
    process : multiprocessing.Process
        Started by this process. Held.

    Any thread may wait. The descriptor is closed by `close` or with the last reference; a forked child has its own.
    """

    _fd = -1
    _over = False

    def __init__(self, process: Any) -> None:
        self._process = process
        self._is_child = _is_child(process.pid)
        try:
            self._fd = os.pidfd_open(process.pid)
        except (AttributeError, OSError):
            return
        if self.ended():  # then the number may have become somebody else's before
            self.close()

    @property
    def sure(self) -> bool:
        """Will it be readable, whatever the process leaves behind?"""
        return self._fd >= 0

    def fileno(self) -> int:
        return self._fd if self.sure else self._process.sentinel

    def settled(self) -> bool:
        """Of one that is readable: wait for the exit code. False: the process lives, having closed its files.

        Files are closed a moment before an end can be seen, and a fork server tells it a moment later. Whoever in this
        process waits for any child takes the exit code away; multiprocessing then takes the child for alive for ever.
        """
        end = time.monotonic() + SETTLE_SECONDS
        while self._process.is_alive():
            taken = self.sure and self._is_child and not _is_child(self._process.pid)
            if taken or time.monotonic() > end:
                return self.sure
            time.sleep(0.001)
        return True

    def ended(self) -> bool:
        """Has the process ended by now?"""
        if not self._over:
            self._over = not self._process.is_alive() or (self.sure and self._wait(0))
        return self._over

    def _wait(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def join(self, timeout: float | None = None) -> None:
        """`Process.join`, which would wait for the pipe, too."""
        if timeout is None or not self.sure:
            self._process.join(timeout)
            return
        if self._wait(max(timeout, 0)):
            self.settled()

    def close(self) -> None:
        """What is known of the end by then stays known."""
        with contextlib.suppress(AssertionError):  # a forked child of the process that started it
            self.ended()
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self, close: Any = os.close) -> None:
        # Nor used again: a garbage collection ends this one first and the iterator that has it then.
        fd, self._fd = self._fd, -1
        if fd >= 0:
            close(fd)
