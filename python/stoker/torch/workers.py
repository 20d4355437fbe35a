"""Processes and the start of a worker for `stoker.torch.DataLoader`.

torch's iterator decides which worker gets which task, seeds the workers, and knows how to end them; all of that
stays as it is. It asks a multiprocessing context for queues and processes, and here is one that hands out pipes and
an arena instead: a pipe each way for each worker, so that none ever waits for a lock that a dead one holds.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import multiprocessing.process
import os
import pickle
import select
import signal
import threading
import weakref
from multiprocessing.reduction import ForkingPickler
from typing import Any

from torch._utils import ExceptionWrapper
from torch.utils.data import get_worker_info
from torch.utils.data._utils.worker import _IterableDatasetStopIteration

from .arena import FREE, Seat, Writer
from .event import Event
from .interrupts import Held, release
from .pinned import Registrar
from .queues import ResultQueue, TaskQueue, framed
from .sentinels import Sentinel
from .server import process_class
from .stateful import Fetching
from .transport import Packer

PR_SET_PDEATHSIG = 1


class WorkerEnd:
    """The worker's side of the result queue, and what else it needs; goes to it with the arguments of its process."""

    def __init__(self, connection: Any, seat: Seat, ceiling: int, parent: int, state: Any) -> None:
        self.connection = connection
        self.seat = seat
        self.ceiling = ceiling
        self.parent = parent
        self.of_main_thread = threading.current_thread() is threading.main_thread()
        self.state = state  # of the dataset, to go on from; None: afresh
        self.done: Event | None = None  # set: the parent ends its workers, and reads no more
        self.fetching: Fetching | None = None
        self.packer: Packer | None = None

    def start(self, done: Event) -> None:
        self.done = done
        os.set_blocking(self.connection.fileno(), False)
        self.seat.note_memory()
        self.fetching = Fetching(self.state)
        self.packer = Packer(Writer(self.seat.memory, self.ceiling))
        if self.of_main_thread:
            die_at_once_with(self.parent)
        threading.Thread(
            target=_die_with, args=(self.parent,), name="stoker-parent", daemon=True
        ).start()

    def put(self, obj: Any) -> None:
        reply = self._reply(*obj)
        self.seat.note_memory()
        # A broken one: the parent does not listen any more, and is ending us.
        with contextlib.suppress(BrokenPipeError):
            self._write(reply)

    def _write(self, data: bytes) -> None:
        """All of it. Who waits for room in the pipe ends with the others, for then nobody makes any."""
        assert self.done is not None
        descriptor = self.connection.fileno()
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(descriptor, rest) :]
            except BlockingIOError:
                poll = select.poll()
                poll.register(descriptor, select.POLLOUT)
                poll.register(self.done, select.POLLIN)
                if self.done.fileno() in dict(poll.poll()):
                    return

    def _reply(self, index: Any, data: Any) -> bytes:
        """The message to the parent. What cannot be sent is the error of its task, no death of the worker."""
        assert self.packer is not None
        assert self.fetching is not None
        message = sent = None
        try:
            if type(index) is int and not isinstance(data, _IterableDatasetStopIteration):
                # Pickled apart: if the parent cannot unpickle it, that is the error of its batch, and of no other.
                state = self.fetching.state()
                sent = None if state is None else bytes(ForkingPickler.dumps(state))
            message = self.packer.pack(data)
            return framed((index, message, sent))
        except Exception:
            if message is not None and message[0] >= 0:
                self.seat.memory.set_state(message[0], FREE)
            return framed((index, self.packer.pack(_undeliverable(data)), None))

    def cancel_join_thread(self) -> None:
        """Nothing is joined anyway."""

    def close(self) -> None:
        self.connection.close()


def _undeliverable(data: Any) -> ExceptionWrapper:
    """Of the exception under way: the error that is sent in place of a result that cannot be pickled."""
    info = get_worker_info()
    assert info is not None
    where = f"in DataLoader worker process {info.id}"
    failed = ExceptionWrapper(where=where)  # type: ignore[no-untyped-call]
    # Of a type that only the worker knows: its words must do.
    if isinstance(data, ExceptionWrapper):
        failed.exc_msg = data.exc_msg
        failed.exc_type = RuntimeError
    try:
        pickle.dumps(failed.exc_type)
    except Exception:
        failed.exc_type = RuntimeError
    return failed


def die_at_once_with(parent: int) -> None:
    """Let the system end this process with its parent, also while it is stopped or never gives the GIL back.

    Linux sends the signal when the *thread* ends that this process is a child of: only for a child of the main one.
    """
    if os.getppid() == parent:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)


def _die_with(parent: int) -> None:
    """End this process when the one that trains has ended, however it ended; costs nothing until then."""
    try:
        descriptor = os.pidfd_open(parent)
    except ProcessLookupError:
        os.kill(os.getpid(), signal.SIGKILL)
        return
    except (AttributeError, OSError):
        return  # an old kernel: torch looks for its parent every few seconds, too
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    while not poll.poll():
        pass
    os.kill(os.getpid(), signal.SIGKILL)


def worker_main(target: Any, end: WorkerEnd, args: tuple[Any, ...]) -> None:
    """Where a worker begins: torch's own loop, with our end of the pipe and our collation."""
    with contextlib.suppress(KeyboardInterrupt):  # as in torch's loop: the parent has it, too
        release()
        _run(target, end, args)


def _run(target: Any, end: WorkerEnd, args: tuple[Any, ...]) -> None:
    from .direct import direct, keep_private

    # A collection leaves alone what was inherited: looking at it would copy its pages, for each worker anew.
    gc.freeze()
    done = next(a for a in args if isinstance(a, Event))
    for tasks in (a for a in args if isinstance(a, TaskQueue)):
        tasks.done = done
    end.start(done)
    keep_private()
    assert end.packer is not None
    given = [end if isinstance(a, _Results) else direct(a, end.packer) for a in args]
    args = ()
    target(*given)


class Context:
    """What torch's iterator takes for a multiprocessing context."""

    def __init__(
        self,
        context: Any,
        ceiling: int,
        states: list[Any] | None = None,
        registrar: Registrar | None = None,
    ) -> None:
        self._context = context
        self._registrar = registrar
        self._states = list(states or [])  # of the dataset, for the workers in their order
        self._ceiling = ceiling
        self._started = 0  # workers
        self._results: ResultQueue | None = None

    def Queue(self) -> Any:
        # torch asks for the results first, then for the tasks of each worker.
        if self._results is None:
            self._results = ResultQueue(self._registrar)
            return self._results
        return TaskQueue(self._context)

    def Event(self) -> Any:
        event = Event()
        event.keep()  # the iterator closes it
        return event

    def Process(self, target: Any, args: tuple[Any, ...]) -> Any:
        assert self._results is not None
        reader, writer = self._context.Pipe(duplex=False)
        seat = Seat(self._results.memory, self._started)
        self._started += 1
        state = self._states.pop(0) if self._states else None
        end = WorkerEnd(writer, seat, self._ceiling, os.getpid(), state)
        shipped = tuple(_Results() if a is self._results else a for a in args)
        make = process_class(self._context)
        process = make(target=worker_main, args=(target, end, shipped))
        self._results.add(reader)
        return _Started(process, self._results, writer, seat)


_ours: weakref.WeakSet[Any] = weakref.WeakSet()  # processes


def _disown() -> None:
    """In a forked child: let its exit leave the workers of its parent alone, which multiprocessing ends as its own."""
    children: set[Any] = getattr(multiprocessing.process, "_children", set())
    children.difference_update(list(_ours))


os.register_at_fork(after_in_child=_disown)


class _Results:
    """Stands for the result queue in the arguments of a worker, which puts its own end there."""


class _Started:
    """A process that is watched from its start on; all else is the process's own."""

    def __init__(self, process: Any, results: ResultQueue, writer: Any, seat: Seat) -> None:
        self.memory = seat
        self._process = process
        self._results = results
        self._writer = writer
        self._sentinel: Sentinel | None = None

    def start(self) -> None:
        with Held():
            self._process.start()
        self._writer.close()  # the worker's end: only then the end of the pipe is seen
        _ours.add(self._process)
        self._sentinel = Sentinel(self._process)
        self._results.watch(self._sentinel)

    def join(self, timeout: float | None = None) -> None:
        (self._sentinel or self._process).join(timeout)

    def is_alive(self) -> bool:
        """Also right where somebody else has waited for it."""
        if self._sentinel is None:
            alive: bool = self._process.is_alive()
            return alive
        return not self._sentinel.ended()

    def let_go(self) -> None:
        """Keep no descriptor of it; all else goes on."""
        if self._sentinel is not None:
            self._sentinel.close()

    def terminate(self) -> None:
        """Also of a worker that is stopped: it takes the signal once it goes on."""
        self._process.terminate()
        with contextlib.suppress(ProcessLookupError):
            if self.is_alive():
                os.kill(self._process.pid, signal.SIGCONT)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._process, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "daemon":
            self._process.daemon = value
        else:
            object.__setattr__(self, name, value)
