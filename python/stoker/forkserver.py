"""The process that workers are forked from: it has imported what they need once, and nothing else happens in it.

`stoker.torch.server` starts it and asks for workers over a socket pair. Each request comes with the descriptors of
the new process. A worker is forked twice, and the process between ends at once, while the parent is what the
system calls a subreaper: so the parent adopts the worker, and can wait for it as for one that it spawned itself.

Nothing here may import torch: the main module of the parent comes first, as in a process that was spawned.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import gc
import os
import pickle
import resource
import select
import signal
import socket
import struct
import sys
import threading
import time
import warnings
from multiprocessing import process, resource_tracker, spawn
from typing import Any

MOST_FDS = 250  # in one message: the system allows 253
READY = b"ready"
ANSWER = struct.Struct("=q")  # pid of a worker, or the number of an error below 0
NOT_ADOPTED = 255  # exit status of the process between

inherited: list[int] = []  # in a worker: descriptors that came with the request


class DupFd:
    """Stands for a descriptor in the arguments of a worker."""

    def __init__(self, nth: int) -> None:
        self.nth = nth

    def detach(self) -> int:
        return inherited[self.nth]


def serve(control: int, data: int) -> None:
    """Import what is asked for, then fork workers until the parent ends or closes its end. Does not return.

    Parameters
    ----------
    control : int
        A descriptor: our end of the socket pair.
    data : int
        A descriptor of a file with what to do, as `Server` of `stoker.torch.server` writes it.
    """
    _open_streams()
    with open(data, "rb", closefd=True) as file:
        todo = pickle.load(file)
    try:
        _import_all(todo["preparation"], todo["modules"])
    except KeyboardInterrupt:
        os._exit(1)  # the parent has got it, too
    server = _Server(socket.socket(fileno=control), todo["parent"])
    server.run(_unsafe())
    os._exit(0)


def _open_streams() -> None:
    """Give the numbers of standard streams that are closed to /dev/null, so that no descriptor of a worker gets them."""
    null = os.open(os.devnull, os.O_RDWR)
    while null <= 2:  # the lowest number that is free
        os.set_inheritable(null, True)
        null = os.open(os.devnull, os.O_RDWR)
    os.close(null)


def _import_all(preparation: dict[str, Any], modules: list[str]) -> None:
    current = process.current_process()
    current._inheriting = True  # type: ignore[attr-defined]  # no workers from here
    try:
        spawn.prepare(preparation)
    except KeyboardInterrupt:
        raise
    except BaseException:  # each worker tries for itself, and says what is wrong
        pass
    finally:
        del current._inheriting  # type: ignore[attr-defined]
    for name in modules:
        with contextlib.suppress(ImportError):
            __import__(name)


def _unsafe() -> str:
    """Why no process must be forked from this one; empty if it may."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        return "importing the main module initialises CUDA"
    others = [t.name for t in threading.enumerate() if t is not threading.main_thread()]
    if others:
        return f"importing the main module starts threads: {', '.join(others)}"
    return ""


class _Server:
    def __init__(self, control: socket.socket, parent: int) -> None:
        self.control = control
        self.parent = parent
        self.parent_fd: int | None = None
        self.poll = select.poll()

    def run(self, unsafe: str) -> None:
        """Answer requests; returns when the parent has ended or wants no more."""
        self.interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN) or signal.SIG_DFL
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # else each worker would print it again
                stream.flush()
        gc.freeze()  # a collection in a worker leaves the pages alone that it shares
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        with contextlib.suppress(OSError, ValueError):  # each worker has the limit of its parent
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        self.poll.register(self.control, select.POLLIN)
        with contextlib.suppress(AttributeError, OSError):  # an old kernel; the socket is enough
            self.parent_fd = os.pidfd_open(self.parent)
            self.poll.register(self.parent_fd, select.POLLIN)
        if os.getppid() != self.parent:
            return
        with contextlib.suppress(OSError):
            self.control.send(unsafe.encode() or READY)
        while True:
            ready = [fd for fd, _ in self.poll.poll()]
            if self.parent_fd in ready:
                return
            fds: list[int] = []
            try:
                if self._request(fds):
                    self._fork(fds)
                else:
                    self._answer(-errno.EMFILE)
            except EOFError:
                return
            finally:
                for fd in fds:
                    os.close(fd)

    def _request(self, fds: list[int]) -> bool:
        """Take in the descriptors for one worker. False: there was no room for all of them."""
        whole, more = True, True
        while more:
            try:
                message, part, flags, _ = socket.recv_fds(
                    self.control, 1, MOST_FDS, socket.MSG_CMSG_CLOEXEC
                )
            except ConnectionResetError:
                message = b""
            if not message:  # the parent has closed its end
                raise EOFError
            fds += part
            whole = whole and not flags & socket.MSG_CTRUNC
            more = message == b"+"
        return whole

    def _fork(self, fds: list[int]) -> None:
        try:
            between = _fork()
        except OSError as error:
            self._answer(-(error.errno or errno.EAGAIN))
            return
        if between == 0:
            self._between(fds)
        _, status = os.waitpid(between, 0)
        if status != 0:  # else the worker answers
            code = os.waitstatus_to_exitcode(status)
            self._answer(-(code if code > 0 else errno.EAGAIN))  # below 0: it was killed

    def _answer(self, number: int) -> None:
        with contextlib.suppress(OSError):
            self.control.send(ANSWER.pack(number))

    def _between(self, fds: list[int]) -> None:
        """In the process between: fork the worker, and end when it knows whose it is."""
        own = os.getpid()
        hold, go = os.pipe()
        try:
            worker = _fork()
        except OSError as error:
            os._exit(min(error.errno or errno.EAGAIN, NOT_ADOPTED - 1))
        if worker != 0:
            os._exit(0)
        os.close(go)
        os.read(hold, 1)  # until the process between has ended, and with it the other end
        os.close(hold)
        while os.getppid() == own:  # its descriptors go a moment before its children
            time.sleep(0.0001)
        if os.getppid() != self.parent:
            self._answer(-NOT_ADOPTED)
            os._exit(1)
        self._answer(os.getpid())
        self._become_worker(fds)

    def _become_worker(self, fds: list[int]) -> None:
        code = 1
        try:
            self.control.close()
            if self.parent_fd is not None:
                os.close(self.parent_fd)
            signal.signal(signal.SIGINT, self.interrupt)
            code = _work(fds)
        except SystemExit as end:  # of the main module, as it was imported
            code = end.code if isinstance(end.code, int) else end.code is not None
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):
                    stream.flush()
            os._exit(code)


def _fork() -> int:
    with warnings.catch_warnings():  # of threads: those of libraries that expect a fork (OpenBLAS)
        warnings.simplefilter("ignore")
        return os.fork()


def _work(fds: list[int]) -> int:
    """The life of a worker; its exit code."""
    pipe, _held, tracker, out, err, *rest = fds  # _held: closed when this process ends
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.close(out)
    os.close(err)
    inherited[:] = rest
    atexit._clear()  # what the main module registered is about things that other workers need, too
    resource_tracker._resource_tracker._fd = tracker  # type: ignore[attr-defined]
    parent_sentinel = os.dup(pipe)
    current = process.current_process()
    current._inheriting = True  # type: ignore[attr-defined]
    try:
        with open(pipe, "rb", closefd=True) as file:
            try:
                settings = pickle.load(file)
            except EOFError:  # the parent was interrupted
                return 1
            settings.apply()
            spawn.prepare(pickle.load(file))
            worker = pickle.load(file)
    finally:
        del current._inheriting  # type: ignore[attr-defined]
    code: int = worker._bootstrap(parent_sentinel)
    atexit._run_exitfuncs()  # what was registered here: a spawned process ends like any program
    return code


class Settings:
    """What a spawned process has from its parent's at that moment, and a forked one from its server."""

    def __init__(self) -> None:
        self.environ = dict(os.environ)
        self.limits = {number: resource.getrlimit(number) for number in _limits()}
        self.affinity = os.sched_getaffinity(0)
        self.nice = os.getpriority(os.PRIO_PROCESS, 0)
        self.umask = _umask()
        self.ignored = _ignored()

    def apply(self) -> None:
        os.environ.clear()
        os.environ.update(self.environ)
        for number, limit in self.limits.items():
            if resource.getrlimit(number) != limit:
                with contextlib.suppress(OSError, ValueError):
                    resource.setrlimit(number, limit)
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, self.affinity)
        if os.getpriority(os.PRIO_PROCESS, 0) != self.nice:
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, 0, self.nice)
        if self.umask is not None:
            os.umask(self.umask)
        for number in self.ignored:
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_IGN)
        if signal.SIGINT not in self.ignored and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _limits() -> set[int]:
    return {getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")}


def _ignored() -> list[int]:
    return [int(n) for n in signal.valid_signals() if signal.getsignal(n) is signal.SIG_IGN]


def _umask() -> int | None:
    """Read from /proc: the call that reads it changes it, for all threads."""
    with contextlib.suppress(OSError), open("/proc/self/status") as lines:
        for line in lines:
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    return None
