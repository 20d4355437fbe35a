"""Tasks to the workers and batches back: a pipe each way for each worker, so that nobody waits for a dead one's lock."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pickle
import queue
import select
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any

from torch._utils import ExceptionWrapper
from torch.utils.data._utils.worker import _ResumeIteration

from .arena import FREE, Memory, Reader
from .early import Early
from .event import Event
from .pinned import Registrar
from .sentinels import LOOK_SECONDS, Sentinel
from .transport import BY_VALUE, unpack

PIPE_BYTES = 1 << 20  # tasks of a worker that wait in its pipe: plenty for indices
SIZE_BYTES = 8  # before each message: its size
READ_BYTES = 1 << 18


def framed(obj: Any) -> bytes:
    """A message for a pipe."""
    data: bytes | None = None
    if type(obj) is tuple and _ordinary(obj):
        with contextlib.suppress(Exception):  # something else behind the first index after all
            data = pickle.dumps(obj, pickle.HIGHEST_PROTOCOL)
    if data is None:
        data = bytes(ForkingPickler.dumps(obj))
    return len(data).to_bytes(SIZE_BYTES, "little") + data


def _ordinary(obj: tuple[Any, ...]) -> bool:
    """Has it nothing in it, by all appearances, that must be pickled for a pipe in a way of its own?"""
    # A result: of Packer there are only numbers, words and bytes; a state is pickled already.
    if len(obj) == 3:
        return type(obj[0]) is int
    return len(obj) == 2 and type(obj[1]) is list and bool(obj[1]) and type(obj[1][0]) is int


class Messages:
    """What comes out of a pipe, message by message. One thread at a time."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._rest = bytearray()  # of a message whose end has not come yet

    def read(self) -> list[Any]:
        """The messages that are whole after one read, be it none. Waits for the first byte, and never for a whole message.

        Its writer may have died over it, and a child of the writer's may keep the pipe open.

        Raises
        ------
        EOFError
            Nobody has the other end any more. A message begun and not ended is lost.
        """
        data = os.read(self._descriptor, READ_BYTES)
        if not data:
            raise EOFError
        rest = self._rest
        rest += data
        found: list[Any] = []
        end = 0
        try:
            with memoryview(rest) as view:
                while len(rest) - end >= SIZE_BYTES:
                    begin = end + SIZE_BYTES
                    size = int.from_bytes(view[end:begin], "little")
                    if begin + size > len(rest):
                        break
                    end = begin + size
                    found.append(pickle.loads(view[begin:end]))
        finally:
            if end:
                self._rest = rest[end:]
        return found


class TaskQueue:
    """Tasks on their way to one worker: the parent writes one end of a pipe and the worker reads the other."""

    def __init__(self, context: Any) -> None:
        self._reader, self._writer = context.Pipe(duplex=False)
        with contextlib.suppress(OSError):  # not allowed to be so large: a smaller one does, too
            fcntl.fcntl(self._writer.fileno(), fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        os.set_blocking(self._writer.fileno(), False)
        self._backlog: deque[bytes] = deque()
        self._lock = threading.Lock()
        self._feeding = False
        self.early: Early | None = None
        self._begin()

    def _begin(self) -> None:
        self.done: Event | None = None  # in the worker: set, there are no more tasks
        self._messages: Messages | None = None
        self._arrived: deque[Any] = deque()

    def __getstate__(self) -> object:
        return self._reader

    def __setstate__(self, state: Any) -> None:
        self._reader, self._writer = state, None
        self._begin()

    def put(self, obj: Any) -> None:
        if self.early is None or not self.early.was_sent(obj):
            self.send(obj)

    def send(self, obj: Any) -> None:
        """Never waits: what the pipe has no room for is written by a thread."""
        data = framed(obj)
        with self._lock:
            if not self._feeding:
                rest = self._write(data)
                if not rest:
                    return
                self._feeding = True
                self._backlog.append(rest)
                threading.Thread(target=self._feed, name="stoker-tasks", daemon=True).start()
            else:
                self._backlog.append(data)

    def _write(self, data: bytes) -> bytes:
        """As much as there is room for; the rest."""
        writer = self._writer  # held: once closed, its number may be that of another file
        try:
            return data[os.write(writer.fileno(), data) :]
        except BlockingIOError:
            return data
        except (OSError, AttributeError):
            return b""  # the worker is dead, which is found out elsewhere; or closed

    def _feed(self) -> None:
        poll = select.poll()
        while True:
            with self._lock:
                if not self._backlog:
                    self._feeding = False
                    return
                data = self._backlog.popleft()
            while data:
                try:
                    poll.register(self._writer.fileno(), select.POLLOUT)
                    poll.poll()
                except (OSError, ValueError, AttributeError):  # closed meanwhile
                    return
                data = self._write(data)

    def get(self, timeout: float | None = None) -> Any:
        """In the worker: the next task; None when the workers are to end, whatever is left."""
        if self._messages is None:
            self._messages = Messages(self._reader.fileno())
            self._poll = select.poll()
            self._poll.register(self._reader.fileno(), select.POLLIN)
            if self.done is not None:
                self._poll.register(self.done, select.POLLIN)
        while not self._arrived:
            ready = dict(self._poll.poll(None if timeout is None else timeout * 1000))
            if self.done is not None and self.done.fileno() in ready:
                return None
            if not ready:
                raise queue.Empty
            self._read()
        return self._arrived.popleft()

    def _read(self) -> None:
        assert self._messages is not None
        try:
            self._arrived.extend(self._messages.read())
        except EOFError:  # a garbage collection closes the pipe before the event is set
            self._poll.unregister(self._reader.fileno())

    def cancel_join_thread(self) -> None:
        """Nothing is joined anyway."""

    def close(self) -> None:
        # Let go of, not closed: a garbage collection may have finalized them already, and their numbers may
        # be those of other files by now.
        self._reader = self._writer = None


class ResultQueue:
    """Batches on their way back: the parent's end of all workers' pipes, and their arena.

    One thread at a time gets; another one may send tasks early and start the epoch meanwhile.
    """

    def __init__(self, registrar: Registrar | None = None) -> None:
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        try:
            self.memory = Memory()
        except BaseException:
            os.close(self._wake)
            raise
        self._reader = Reader(self.memory, registrar)
        self._ends: dict[int, tuple[Any, Messages]] = {}  # by descriptor
        self._living: dict[int, Sentinel] = {}  # workers, by descriptor
        self._silent: set[int] = set()  # those of them whose end the poll may not tell
        self._ended = False  # a worker has, and nobody was told yet
        self.tell_end: Callable[[], None] | None = None  # whoever waits elsewhere; see PinnedQueue
        self._poll = select.poll()
        self._ready: deque[tuple[Any, Any, Any]] = deque()  # task, message, pickled state
        self._warned = False
        self.states: dict[int, Any] = {}  # of the dataset, by task
        # Of tasks that were sent early:
        self._lock = threading.Lock()
        self._parked: dict[int, tuple[Any, Any]] = {}  # results that nobody has asked for yet
        self._claimed: dict[int, int | None] = {}  # what they turned out to be; None: not needed
        self._resumed: list[Any] | None = None  # workers' answers to an early start of an epoch
        self._closing = False
        self._poll.register(self._wake, select.POLLIN)

    def add(self, connection: Any) -> None:
        self._ends[connection.fileno()] = (connection, Messages(connection.fileno()))
        self._poll.register(connection.fileno(), select.POLLIN)

    def watch(self, sentinel: Sentinel) -> None:
        """A worker that dies ends the wait at once, not at the next look."""
        descriptor = sentinel.fileno()
        self._living[descriptor] = sentinel
        self._poll.register(descriptor, select.POLLIN)
        if not sentinel.sure:
            self._silent.add(descriptor)

    def get(self, timeout: float | None = None) -> Any:
        end = None if timeout is None else time.monotonic() + timeout
        while not self._ready:
            left = None if end is None else max(end - time.monotonic(), 0)
            known = self._ended
            # After a worker's end one look more: the poll that told it may have passed its pipe a moment before it wrote.
            if not self._look(0 if known else left) and self._ended == known:
                self._tell_end()
                raise queue.Empty
        index, message, state = self._ready.popleft()
        if message[0] == BY_VALUE:
            self._warn()
        try:
            data = unpack(message, self._reader)
            if state is not None:
                self.states[index] = pickle.loads(state)
            return index, data
        except Exception as error:
            if str(error).startswith("DataLoader worker"):
                raise  # torch's handler of signals: one died just now
            # torch would wait for this task for ever, having lost it.
            where = "while a batch of a DataLoader worker was unpickled"
            return index, ExceptionWrapper(where=where)  # type: ignore[no-untyped-call]

    def _tell_end(self) -> None:
        """Whoever has ended is worth one look only: one that ended as it should is not to be looked at again."""
        ended, self._ended = self._ended, False
        if ended and self.tell_end is not None:
            self.tell_end()

    def _look(self, timeout: float | None) -> bool:
        """Wait once, and take in what has come. False: nothing has."""
        if self._silent:
            timeout = LOOK_SECONDS if timeout is None else min(timeout, LOOK_SECONDS)
        came = False
        for descriptor, _ in self._poll.poll(None if timeout is None else timeout * 1000):
            if descriptor == self._wake:
                os.eventfd_read(self._wake)
                came = not self._closing
            elif descriptor in self._ends:
                came = self._read(descriptor) or came
            elif self._living[descriptor].settled():
                self._bury(descriptor)
            else:
                self._poll.unregister(descriptor)
                self._silent.add(descriptor)
        for descriptor in list(self._silent):
            if self._living[descriptor].ended():
                self._bury(descriptor)
        return came

    def _bury(self, descriptor: int) -> None:
        del self._living[descriptor]
        self._silent.discard(descriptor)
        with contextlib.suppress(KeyError):
            self._poll.unregister(descriptor)
        self._ended = True

    def _read(self, descriptor: int) -> bool:
        """Take in what a worker has written. False: it writes no more."""
        try:
            for result in self._ends[descriptor][1].read():
                self._take_in(*result)
        except (EOFError, OSError):
            self._poll.unregister(descriptor)
            del self._ends[descriptor]
            return False
        return True

    def _take_in(self, index: Any, message: Any, state: Any) -> None:
        if isinstance(index, _ResumeIteration) and self._set_aside((index, message, state)):
            return
        if type(index) is int and index < 0:
            self._take_in_early(index, message)
        else:
            self._ready.append((index, message, state))

    def _set_aside(self, result: tuple[Any, Any, Any]) -> bool:
        """An answer to an epoch that was begun early; False if that epoch is asked for by now."""
        with self._lock:
            if self._resumed is None:
                return False
            self._resumed.append(result)
            return True

    def _take_in_early(self, ticket: int, message: Any) -> None:
        with self._lock:
            if ticket not in self._claimed:
                self._parked[ticket] = message
                return
            task = self._claimed.pop(ticket)
        self._hand_over(task, message)

    def _hand_over(self, task: int | None, message: Any) -> None:
        if task is not None:
            self._ready.append((task, message, None))
        elif message[0] >= 0:
            self.memory.set_state(message[0], FREE)

    def hold(self) -> None:
        """An epoch is begun early: what workers answer to that is for later."""
        self._resumed = []

    def release(self) -> None:
        """The epoch is asked for: the answers may be seen."""
        with self._lock:
            resumed, self._resumed = self._resumed, None
        self._ready.extend(resumed or ())
        os.eventfd_write(self._wake, 1)

    def claim(self, ticket: int, task: int | None) -> None:
        """What was sent early is this task; None: it is not needed after all."""
        with self._lock:
            if ticket not in self._parked:
                self._claimed[ticket] = task
                return
            message = self._parked.pop(ticket)
        self._hand_over(task, message)
        os.eventfd_write(self._wake, 1)

    def _warn(self) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                "the arena of the workers is full (arena_bytes, or no memory): batches are "
                "copied from now on; keep fewer batches, or raise arena_bytes",
                RuntimeWarning,
                stacklevel=2,
            )

    def put(self, obj: Any) -> None:
        """What torch puts here itself only wakes the thread that pins memory, to end it; nothing has to arrive."""
        self._closing = True
        if self._wake >= 0:
            os.eventfd_write(self._wake, 1)

    def cancel_join_thread(self) -> None:
        """Nothing is joined anyway."""

    def close(self) -> None:
        self._ends.clear()  # not closed here: see TaskQueue.close
        self._living.clear()
        self._silent.clear()
        self._poll = select.poll()
        if self._wake >= 0:
            os.close(self._wake)
            self._wake = -1
        self.memory.close()


class PinnedQueue(queue.Queue[Any]):
    """From torch's thread that pins memory to the consumer, which waits here and not where a death is seen."""

    def tell_end(self) -> None:
        """A worker has ended: the consumer is to look after them, once it has taken what came before."""
        self.put(None)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        item = super().get(block, timeout)
        if item is None:
            raise queue.Empty
        return item
