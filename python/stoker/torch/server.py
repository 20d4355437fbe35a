"""Workers of the start methods spawn and forkserver, without importing torch anew in each of them.

They are forked from a process of ours that has imported torch and the main module once (`stoker.forkserver`). One is
started with the first such loader and serves all later ones of this process: the workers of every epoch, persistent
or not. It ends with this process, however that ends. What a spawned worker has from its parent it has here, too:
arguments by pickle, environment, folder, limits, standard output; it is a child of this process.

Where forking is not safe, because importing the main module starts threads or initialises CUDA, or where the system
does not let it be, workers start as in the standard library; ``logging.getLogger("stoker.torch")`` is told.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import io
import logging
import os
import pickle
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from multiprocessing import context as contexts
from multiprocessing import popen_fork, resource_tracker, spawn, util
from multiprocessing.connection import wait
from multiprocessing.reduction import ForkingPickler
from types import ModuleType
from typing import Any

from stoker.forkserver import ANSWER, MOST_FDS, NOT_ADOPTED, READY, DupFd, Settings

from . import storage

log = logging.getLogger("stoker.torch")

PROGRAM = (
    "import sys; sys.path[:] = {path!r}; "
    "from stoker.forkserver import serve; serve({control}, {data})"
)
MODULES = ["torch", "torch.utils.data", "torch.utils.data.graph_settings", "stoker.torch.server"]
# Variables that libraries read when they are loaded: a server that has loaded them is of no use any more.
READ_AT_LOAD = ("PYTHON", "LD_", "OMP_", "MKL_", "KMP_", "OPENBLAS_", "TORCH_", "PYTORCH_")
SWITCH = "STOKER_FORK_SERVER"  # "0" in the environment: start workers as the standard library does

PR_SET_CHILD_SUBREAPER = 36
PR_GET_CHILD_SUBREAPER = 37


class Unserved(Exception):
    """No worker can be had from a fork server here; the reason is its text."""


class Server:
    """The fork server of this process."""

    def __init__(self, preparation: dict[str, Any]) -> None:
        self.key = _key(preparation)
        self.ready = False
        self.waited = False  # its pid may be somebody else's by now
        self.fault = ""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # Neither is to have the number of a standard stream, where this program was started without one.
        self.control, theirs = _no_stream(ours), _no_stream(theirs)
        file = _above_streams(os.memfd_create("stoker-server"))
        with theirs, open(file, "w+b") as data:
            pickle.dump(_todo(preparation), data)
            data.seek(0)
            executable = os.fsencode(spawn.get_executable())
            program = PROGRAM.format(
                path=preparation["sys_path"], control=theirs.fileno(), data=data.fileno()
            )
            command = [executable, *util._args_from_interpreter_flags(), "-c", program]  # type: ignore[attr-defined]
            fds = [theirs.fileno(), data.fileno()]
            try:
                self.pid = util.spawnv_passfds(executable, [os.fsencode(w) for w in command], fds)
            except BaseException:
                self.control.close()
                raise

    def start(self, settings: Settings, payload: Any, fds: list[int]) -> tuple[int, int, int]:
        """A new worker: its pid, its sentinel, and what it takes for the sentinel of its parent."""
        self._wait_ready()
        sentinel = held = pipe = data = -1
        try:
            sentinel, held = os.pipe()
            pipe, data = os.pipe()
            with open(os.devnull, "wb") as null:
                streams = [
                    _open_or(1, sys.__stdout__, null.fileno()),
                    _open_or(2, sys.__stderr__, null.fileno()),
                ]
                tracker: Any = resource_tracker.getfd()
                with _adopting():
                    self._send([pipe, held, tracker, *streams, *fds])
                    os.close(held)
                    held = -1
                    pid = self._receive(sentinel)
            os.close(pipe)
            pipe = -1
            with open(data, "wb", closefd=False) as file:
                pickle.dump(settings, file)
                file.write(payload)
        except BaseException:
            for fd in (sentinel, held, pipe, data):
                if fd >= 0:
                    os.close(fd)
            raise
        return pid, sentinel, data

    def _wait_ready(self) -> None:
        if self.fault:
            raise Unserved(self.fault)
        if self.ready:
            return
        message = b""
        with contextlib.suppress(ConnectionResetError):
            message = self.control.recv(1 << 16)
        if message == READY:
            self.ready = True
            return
        self.fault = message.decode(errors="replace") or "the fork server has ended"
        raise Unserved(self.fault)

    def _send(self, fds: list[int]) -> None:
        try:
            while len(fds) > MOST_FDS:
                socket.send_fds(self.control, [b"+"], fds[:MOST_FDS])
                fds = fds[MOST_FDS:]
            socket.send_fds(self.control, [b"."], fds)
        except (BrokenPipeError, ConnectionResetError):
            raise Unserved("the fork server has ended") from None

    def _receive(self, sentinel: int) -> int:
        """The pid of the new worker, unless it or the server has ended before it could say."""
        if self.control not in wait([self.control, sentinel]):
            raise Unserved("a worker has ended before it began")
        try:
            answer = self.control.recv(ANSWER.size)
        except ConnectionResetError:
            answer = b""
        if not answer:
            raise Unserved("the fork server has ended")
        pid: int = ANSWER.unpack(answer)[0]
        if pid <= 0:
            if pid == -NOT_ADOPTED:
                self.fault = "the system does not let this process adopt workers"
            raise Unserved(
                self.fault or f"the fork server cannot make a worker: {os.strerror(-pid)}"
            )
        return pid

    def alive(self) -> bool:
        if not self.waited:
            try:
                self.waited = os.waitpid(self.pid, os.WNOHANG) != (0, 0)
            except ChildProcessError:  # the user has waited for any child
                self.waited = True
        return not self.waited

    def end(self) -> None:
        """End the server; workers go on."""
        self.control.close()
        if self.alive():
            os.kill(self.pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.pid, 0)
            self.waited = True


def _key(preparation: dict[str, Any]) -> object:
    """What a server has been made for: with any of it changed, another one is needed."""
    read = {name: value for name, value in os.environ.items() if name.startswith(READ_AT_LOAD)}
    names = ("init_main_from_name", "init_main_from_path")
    return [preparation.get(name) for name in names], spawn.get_executable(), read, _modules()


def _modules() -> list[str]:
    return [*MODULES, "numpy"] if "numpy" in sys.modules else MODULES


def _todo(preparation: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in preparation.items() if name not in ("authkey", "name")}
    return {"preparation": kept, "modules": _modules(), "parent": os.getpid()}


def _above_streams(fd: int) -> int:
    """The same file under a number that is no standard stream's."""
    if fd > 2:
        return fd
    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
    finally:
        os.close(fd)


def _no_stream(end: socket.socket) -> socket.socket:
    return socket.socket(fileno=_above_streams(end.detach()))


def _open_or(fd: int, stream: object, other: int) -> int:
    """A standard stream of this process; the other one if the interpreter has found it closed, or it is by now."""
    if stream is None:  # whatever has that number is something else
        return other
    try:
        os.fstat(fd)
    except OSError:
        return other
    return fd


@contextlib.contextmanager
def _adopting() -> Iterator[None]:
    """For this moment, a process whose parent ends becomes a child of this one."""
    libc = ctypes.CDLL(None, use_errno=True)
    before = ctypes.c_int()
    if libc.prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0) != 0:
        raise Unserved("the system knows no subreapers")
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(PR_SET_CHILD_SUBREAPER, before.value, 0, 0, 0)


_lock = threading.RLock()  # pickling may start another loader
_server: Server | None = None
_faults: list[tuple[object, str]] = []  # servers that were of no use


def stop() -> None:
    """End the fork server of this process, if there is one. The next loader that needs it starts another.

    Workers go on. For tests that count processes, and to free its memory. Any thread may call it.
    """
    global _server
    with _lock:
        server, _server = _server, None
        _faults.clear()
        if server is not None:
            server.end()


def _forget() -> None:
    """In a forked child: the server is the parent's."""
    global _server, _lock
    _lock = threading.RLock()
    if _server is not None:
        _server.control.close()
        _server = None


os.register_at_fork(after_in_child=_forget)


def _server_for(preparation: dict[str, Any]) -> Server:
    """The server, started if there is none that fits. The lock is held."""
    global _server
    key = _key(preparation)
    for other, fault in _faults:
        if other == key:
            raise Unserved(fault)
    if _server is not None and (_server.key != key or not _server.alive()):
        _server.end()
        _server = None
    if _server is None:
        _server = Server(preparation)
        # After the end of daemonic processes, which has priority 0.
        util.Finalize(None, stop, exitpriority=-10)
    return _server


class Popen(popen_fork.Popen):
    """A worker out of the fork server. All but its start is as with a process that was spawned."""

    method = "spawn"
    DupFd = DupFd

    def __init__(self, process_obj: Any) -> None:
        self._fds: list[int] = []
        super().__init__(process_obj)

    def duplicate_for_child(self, fd: int) -> int:
        self._fds.append(fd)
        return len(self._fds) - 1

    def _launch(self, process_obj: Any) -> None:
        global _server
        preparation = spawn.get_preparation_data(process_obj._name)
        with _lock:
            server = _server_for(preparation)
            payload = self._pickled(preparation, process_obj)  # while the server imports
            try:
                self.pid, self.sentinel, data = server.start(Settings(), payload, self._fds)
            except BrokenPipeError:
                raise  # the worker has ended while it read: as with spawn
            except BaseException:
                # What was asked for may still come: nobody must take it for something else.
                _server = None
                server.end()
                if server.fault:  # it would be the same again
                    _faults.append((server.key, server.fault))
                raise
        self.finalizer = util.Finalize(self, util.close_fds, (self.sentinel, data))  # type: ignore[attr-defined]

    def _pickled(self, preparation: dict[str, Any], process_obj: Any) -> memoryview:
        file = io.BytesIO()
        contexts.set_spawning_popen(self)  # type: ignore[arg-type]
        try:
            for thing in (preparation, process_obj):
                pickler = ForkingPickler(file, pickle.HIGHEST_PROTOCOL)
                storage.register(pickler)
                pickler.dump(thing)
        finally:
            contexts.set_spawning_popen(None)
        return file.getbuffer()


def _popen(process_obj: Any, stock: Any) -> Any:
    try:
        return Popen(process_obj)
    except Unserved as error:
        log.info("workers are not forked from a server: %s", error)
        return stock(process_obj)


class SpawnProcess(contexts.SpawnProcess):
    @staticmethod
    def _Popen(process_obj: Any) -> Any:
        return _popen(process_obj, contexts.SpawnProcess._Popen)


class ForkServerProcess(contexts.ForkServerProcess):
    @staticmethod
    def _Popen(process_obj: Any) -> Any:
        return _popen(process_obj, contexts.ForkServerProcess._Popen)


class Process(contexts.Process):
    """Of the default context, when its method is one of the two."""

    @staticmethod
    def _Popen(process_obj: Any) -> Any:
        return _popen(process_obj, contexts.Process._Popen)


def process_class(context: Any) -> Any:
    """What makes a worker in a context: our own for the standard library's spawn and forkserver.

    A context that somebody has made a subclass for is left alone, and so is fork.
    """
    if os.environ.get(SWITCH) == "0" or spawn.get_executable() is None:
        return context.Process
    if type(context) is contexts.SpawnContext:
        return SpawnProcess
    if type(context) is contexts.ForkServerContext:
        return ForkServerProcess
    default = isinstance(context, ModuleType) or type(context) is contexts.DefaultContext
    if default and context.get_start_method() in ("spawn", "forkserver"):
        return Process
    return context.Process
