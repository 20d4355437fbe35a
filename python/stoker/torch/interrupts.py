"""Ctrl-C while a process is forked: it waits until that is over.

What Python and its libraries have registered to be called around a fork (`os.register_at_fork`) loses the exceptions that
are raised in it. A fork of a large process takes milliseconds, and an interrupt of that time is raised in the first such
call: the script would never hear of it, while the workers, which get the signal as well, have ended.
"""

from __future__ import annotations

import signal
import threading
from typing import Any

_held: Held | None = None  # of a fork under way


class Held:
    """A context in which SIGINT is noted, and handled as ever at its end. Does nothing outside of the main thread."""

    def __init__(self) -> None:
        self._handler: Any = None  # of the script
        self._came = False

    def __enter__(self) -> None:
        global _held
        if threading.current_thread() is not threading.main_thread():
            return  # handlers are called in the main one
        if callable(signal.getsignal(signal.SIGINT)):
            self._handler = signal.signal(signal.SIGINT, self._note)
            _held = self

    def _note(self, *_: Any) -> None:
        self._came = True

    def __exit__(self, *_: object) -> None:
        global _held
        handler, self._handler, _held = self._handler, None, None
        if handler is not None:
            signal.signal(signal.SIGINT, handler)
            if self._came:
                handler(signal.SIGINT, None)


def release() -> None:
    """In a forked child: handle SIGINT from now on, and what came of it until now."""
    if _held is not None:
        _held.__exit__()
