"""The arena as pinned memory: registered with the CUDA driver where it lies, so that pinning a batch copies nothing.

torch's loader pins a batch by `tensor.pin_memory()`, which gives back the tensor itself if the driver knows its
memory as pinned already. So each mapping is registered once, when the parent first sees it, and torch's code stays as
it is.

The price is care about reuse. `batch.to("cuda", non_blocking=True)` returns while the device still reads from the
slot, and torch knows the pending copies of memory of its own only. A slot that no tensor shows any more is therefore
not free yet: it becomes so when all that was queued on the devices at a later moment is done. That moment is the next
`next()` of a loader, in the thread that calls it. One event for each context, for all slots released since the last.
Nothing is waited for; a slot whose event is not done stays taken until a later look.

What runs where: `later` may run in any thread, at any time, since finalizers call it; it only appends to a list and
never calls the driver. `register` runs in the thread that makes the mapping (torch's pin thread, with workers).
`look` runs in the consumer's thread. In a forked child none of them does anything.

Not covered: work of contexts that are not the primary one of their device (torch has no others), and transfers that
pass by CUDA. A graph captured in one thread while another takes batches is broken by the recording of the event:
the driver says so to the one who captures, and `register_arena=False` is the way out.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import mmap
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

log = logging.getLogger("stoker.torch")

# From cuda.h of the CUDA toolkit.
CUDA_SUCCESS = 0
CUDA_ERROR_NOT_READY = 600
CAPTURE_ERRORS = range(900, 909)  # CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED to ..._WRONG_THREAD
CU_EVENT_DISABLE_TIMING = 2
CU_MEMHOSTREGISTER_PORTABLE = 1
CU_STREAM_CAPTURE_MODE_RELAXED = 2

_HANDLE = ctypes.c_void_p
_HANDLE_OUT = ctypes.POINTER(_HANDLE)
_INT_OUT = ctypes.POINTER(ctypes.c_int)
_UINT_OUT = ctypes.POINTER(ctypes.c_uint)
# The names are those that the library exports; the header gives some of them a plainer one.
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "cuInit": (ctypes.c_uint,),
    "cuDeviceGetCount": (_INT_OUT,),
    "cuDevicePrimaryCtxGetState": (ctypes.c_int, _UINT_OUT, _INT_OUT),
    "cuDevicePrimaryCtxRetain": (_HANDLE_OUT, ctypes.c_int),
    "cuCtxPushCurrent_v2": (_HANDLE,),
    "cuCtxPopCurrent_v2": (_HANDLE_OUT,),
    "cuThreadExchangeStreamCaptureMode": (_INT_OUT,),
    "cuMemHostRegister_v2": (_HANDLE, ctypes.c_size_t, ctypes.c_uint),
    "cuMemHostUnregister": (_HANDLE,),
    "cuEventCreate": (_HANDLE_OUT, ctypes.c_uint),
    "cuCtxRecordEvent": (_HANDLE, _HANDLE),  # CUDA 12.5 and later
    "cuEventQuery": (_HANDLE,),
    "cuGetErrorName": (ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)),
}


class DriverError(Exception):
    """A function of the driver has failed; the text names it and its error."""


class Driver:
    """What is used of the CUDA driver. Contexts and events are handles, as integers.

    Each call makes the context current for itself alone and leaves the thread's own as it was.

    Raises `OSError` if there is no such library, `AttributeError` if it is too old.
    """

    def __init__(self, library: str = "libcuda.so.1") -> None:
        loaded = ctypes.CDLL(library)
        self._functions = {}
        for name, arguments in _FUNCTIONS.items():
            function = getattr(loaded, name)
            function.argtypes = arguments
            function.restype = ctypes.c_int  # CUresult
            self._functions[name] = function

    def _try(self, name: str, *arguments: Any) -> int:
        return self._functions[name](*arguments)  # type: ignore[no-any-return]

    def _call(self, name: str, *arguments: Any) -> None:
        code = self._try(name, *arguments)
        if code != CUDA_SUCCESS:
            raise self._error(name, code)

    def _error(self, name: str, code: int) -> DriverError:
        text = ctypes.c_char_p()
        if self._try("cuGetErrorName", code, ctypes.byref(text)) != CUDA_SUCCESS or not text.value:
            return DriverError(f"{name}: error {code}")
        return DriverError(f"{name}: {text.value.decode()} ({code})")

    @contextlib.contextmanager
    def _in(self, context: int) -> Iterator[None]:
        """In the context, and without harm to a graph that another thread captures meanwhile.

        In the relaxed mode (cuThreadExchangeStreamCaptureMode) calls of this thread are neither
        refused because of a capture nor do they break it, unless they touch what is captured.
        """
        mode = ctypes.c_int(CU_STREAM_CAPTURE_MODE_RELAXED)
        self._call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))
        try:
            self._call("cuCtxPushCurrent_v2", context)
            try:
                yield
            finally:
                self._call("cuCtxPopCurrent_v2", ctypes.byref(_HANDLE()))
        finally:
            self._call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))

    def devices(self) -> int:
        """The number of devices; initialises the driver."""
        self._call("cuInit", 0)
        count = ctypes.c_int()
        self._call("cuDeviceGetCount", ctypes.byref(count))
        return count.value

    def active(self, device: int) -> bool:
        """Is the primary context of the device in use? Makes none."""
        flags, active = ctypes.c_uint(), ctypes.c_int()
        self._call("cuDevicePrimaryCtxGetState", device, ctypes.byref(flags), ctypes.byref(active))
        return active.value != 0

    def retain(self, device: int) -> int:
        """The primary context of the device, which torch and the CUDA runtime use, too."""
        context = _HANDLE()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        return context.value or 0

    def register(self, context: int, address: int, size: int) -> None:
        """Page-lock memory in place; all contexts see it as pinned."""
        with self._in(context):
            self._call("cuMemHostRegister_v2", address, size, CU_MEMHOSTREGISTER_PORTABLE)

    def unregister(self, context: int, address: int) -> None:
        with self._in(context):
            self._call("cuMemHostUnregister", address)

    def event(self, context: int) -> int:
        event = _HANDLE()
        with self._in(context):
            self._call("cuEventCreate", ctypes.byref(event), CU_EVENT_DISABLE_TIMING)
        return event.value or 0

    def record(self, context: int, event: int) -> bool:
        """Let the event stand for all work of the context up to now, on every stream.

        False while one of its streams is being captured.
        """
        with self._in(context):
            code = self._try("cuCtxRecordEvent", context, event)
        if code in CAPTURE_ERRORS:
            return False
        if code != CUDA_SUCCESS:
            raise self._error("cuCtxRecordEvent", code)
        return True

    def done(self, context: int, event: int) -> bool:
        """Is the work done that the event stands for? Does not wait."""
        with self._in(context):
            code = self._try("cuEventQuery", event)
        if code == CUDA_ERROR_NOT_READY or code in CAPTURE_ERRORS:
            return False
        if code != CUDA_SUCCESS:
            raise self._error("cuEventQuery", code)
        return True


class Registration:
    """A mapping that is registered, for as long as this object lives and then until the devices are done with it.

    Held by the reader or pool that made the mapping, and by every lease of it.
    """

    __slots__ = ("__weakref__",)


class _Fence:
    """Events, one for each context, and what may be done when all of them are."""

    def __init__(self, events: list[tuple[int, int]], calls: list[tuple[Any, Any]]) -> None:
        self.events = events
        self.calls = calls


class Registrar:
    """Registers mappings, and puts off their reuse and their end until no device reads from them. One a process.

    Whatever the driver refuses costs speed only: a mapping that cannot be registered is pinned by a
    copy, as torch does it. After an error that nobody foresaw nothing registered is used again or
    unmapped: it may still be read.
    """

    def __init__(
        self,
        driver: Any,
        capturing: Callable[[], bool] = torch.cuda.is_current_stream_capturing,
        device: Callable[[], int] = torch.cuda.current_device,
    ) -> None:
        self.pid = os.getpid()
        self._driver = driver
        self._capturing = capturing
        self._device = device
        self._lock = threading.RLock()  # of the contexts
        self._contexts: dict[int, int] = {}  # by device; retained for good, so they stay valid
        self._devices = 0
        self._looking = threading.Lock()  # of all below, but for appending to what is released
        self._released: deque[tuple[Any, Any]] = deque()
        self._fences: deque[_Fence] = deque()
        self._idle: dict[int, list[int]] = {}  # events to be used again, by context
        self._broken = False
        self._told = False

    def register(self, buffer: mmap.mmap) -> Registration | None:
        """Register a whole mapping; None if that fails: then it is ordinary memory.

        The mapping stays in place at least until `look` has found the devices done with it.
        """
        if self._broken or os.getpid() != self.pid:
            return None
        address = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
        try:
            context = self._home()
            self._driver.register(context, address, len(buffer))
        except (DriverError, RuntimeError) as error:  # RuntimeError: torch finds no device
            self._tell("a part of the arena cannot be registered and is pinned by a copy", error)
            return None
        registration = Registration()
        end = partial(self._driver.unregister, context, address)
        weakref.finalize(registration, self.later, end, buffer).atexit = False
        return registration

    def later(self, call: Callable[[], Any], keep: object) -> None:
        """Make the call when the devices have done what is queued by now; `keep` lives until then."""
        if os.getpid() == self.pid:
            self._released.append((call, keep))

    def look(self) -> None:
        """Make the calls whose time has come. In the consumer's thread, before each batch."""
        if not (self._released or self._fences) or self._broken or os.getpid() != self.pid:
            return
        if not self._looking.acquire(blocking=False):
            return  # another thread is at it
        try:
            # More than once if the devices are idle: the last slot of a mapping lets go of the mapping.
            self._collect()
            while self._record() and self._collect():
                pass
        except DriverError as error:
            self._broken = True
            self._told = False
            self._tell("pinned slots are not used again, and new ones not registered", error)
        finally:
            self._looking.release()

    def _collect(self) -> bool:
        """Make the calls of the fences that are done; False if one is not."""
        while self._fences:
            fence = self._fences[0]
            if not all(self._driver.done(*pair) for pair in fence.events):
                return False
            for call, _ in fence.calls:
                call()
            self._fences.popleft()  # only now: if a call fails, what it keeps is kept for good
            self._give_back(fence.events)
        return True

    def _record(self) -> bool:
        """A fence behind all that was released; False if there is nothing or a graph is being captured."""
        count = len(self._released)
        if not count or self._is_capturing():
            return False
        events: list[tuple[int, int]] = []
        for context in self._active():
            idle = self._idle.setdefault(context, [])
            events.append((context, idle.pop() if idle else self._driver.event(context)))
            if not self._driver.record(*events[-1]):
                self._give_back(events)
                return False
        calls = [self._released.popleft() for _ in range(count)]
        self._fences.append(_Fence(events, calls))
        return True

    def _give_back(self, events: list[tuple[int, int]]) -> None:
        for context, event in events:
            self._idle[context].append(event)

    def _is_capturing(self) -> bool:
        """Does this thread capture a graph? Recording would break it (cuCtxRecordEvent)."""
        try:
            return self._capturing()
        except (
            RuntimeError
        ):  # cudaStreamIsCapturing refuses to say while a related stream is captured
            return True

    def _active(self) -> list[int]:
        """The primary contexts of all devices that the process uses: a batch may go to any of them."""
        with self._lock:
            if not self._devices:
                self._devices = self._driver.devices()
            for device in range(self._devices):
                if device not in self._contexts and self._driver.active(device):
                    self._contexts[device] = self._driver.retain(device)
            return list(self._contexts.values())

    def _home(self) -> int:
        """A context to register in. Where there is none yet, that of the device torch would pin for."""
        with self._lock:
            contexts = self._active()
            if not contexts:
                device = self._device()
                contexts = [self._contexts.setdefault(device, self._driver.retain(device))]
            return contexts[0]

    def _tell(self, what: str, error: Exception) -> None:
        if not self._told:
            self._told = True
            log.warning("pinned memory: %s: %s", what, error)


_one_lock = threading.Lock()
_one: Registrar | None = None
_missing = False


def _renew_lock() -> None:
    """In a forked child: another thread of the parent may have held it, and nobody here will give it back."""
    global _one_lock
    _one_lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)


def _of_the_process() -> Registrar | None:
    """The registrar of this process, made at first use; None without a driver that can do it."""
    global _one, _missing
    with _one_lock:
        if _one is None and not _missing:
            try:
                _one = Registrar(Driver())
            except (OSError, AttributeError) as error:
                _missing = True
                log.info("pinned memory is a copy: CUDA 12.5 or later is needed: %s", error)
        if _one is not None and _one.pid != os.getpid():
            return None  # a forked child: CUDA does not work there
        return _one


def registrar_for(loader: Any) -> Registrar | None:
    """What registers the memory of the loader's batches, or None if torch is to pin them as always.

    A registrar if the loader pins for CUDA and `register_arena` is on. Does not initialise CUDA.
    """
    if not (loader.register_arena and loader.pin_memory):
        return None
    if torch.version.cuda is None or not torch.cuda.is_available():  # ROCm and others
        return None
    accelerator = torch.accelerator.current_accelerator() if hasattr(torch, "accelerator") else None
    if accelerator is not None and accelerator.type != "cuda":
        return None
    return _of_the_process()
