"""Memory that a worker fills and its parent reads, without a copy between them.

Each worker has one memfd of its own: no name, nothing under /dev/shm, freed by the system when the last process
that has it is gone. Its first page holds a state byte for each slot; behind it lie the slots, one behind the other,
each as large as the batch it was made for and used again for others.

Who writes what: the worker alone makes slots and marks one as filled; the parent alone marks it as free, when the
last array or tensor that shows it is gone. Nothing is locked, so a worker that dies can block nobody.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import resource
import struct
import weakref
from collections.abc import Callable
from functools import partial
from multiprocessing import reduction

PAGE = 4096
PAGE_OF_SYSTEM = os.sysconf("SC_PAGESIZE")
NOTES = PAGE - 64  # what a worker tells of itself: its memory now and at its peak, 8 bytes each
MAX_SLOTS = NOTES  # a state byte each
FREE, FILLED = 0, 1
ALIGN = 64


def align(size: int, to: int = ALIGN) -> int:
    return (size + to - 1) // to * to


class Memory:
    """A memfd with its page of states, open in this process. Pickles on its way to a new process only."""

    _statm: int | None = None  # descriptor of the worker itself: what it uses now

    def __init__(self, name: str = "stoker-arena") -> None:
        self.fd = os.memfd_create(name, os.MFD_CLOEXEC)
        os.ftruncate(self.fd, PAGE)
        self.states = mmap.mmap(self.fd, PAGE)

    def __getstate__(self) -> object:
        return reduction.DupFd(self.fd)

    def __setstate__(self, state: object) -> None:
        self.fd = state.detach()  # type: ignore[attr-defined]
        self.states = mmap.mmap(self.fd, PAGE)

    def note_memory(self) -> None:
        """In the worker: leave what memory it uses where it can be read after its death."""
        if self._statm is None:
            self._statm = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        now = int(os.pread(self._statm, 128, 0).split()[1]) * PAGE_OF_SYSTEM
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        self.states[NOTES : NOTES + 16] = struct.pack("=qq", now, max(now, peak))

    def noted_memory(self) -> tuple[int, int]:
        """Memory of the worker in bytes when it last finished a batch, and its peak; 0 before it ran."""
        now, peak = struct.unpack("=qq", self.states[NOTES : NOTES + 16])
        return now, peak

    def close(self) -> None:
        """Give the descriptor back. What is mapped stays valid as long as something shows it."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class Slot:
    """A slot as its worker sees it."""

    __slots__ = ("buffer", "capacity", "number", "offset", "used")

    def __init__(self, number: int, offset: int, capacity: int, buffer: mmap.mmap) -> None:
        self.number = number
        self.offset = offset
        self.capacity = capacity
        self.buffer = buffer
        self.used = 0

    def take(self, size: int) -> int | None:
        """Where the next `size` bytes of the slot begin, or None if it is full."""
        at = align(self.used)
        if at + size > self.capacity:
            return None
        self.used = at + size
        return at


class Writer:
    """The worker's side: slots for its batches, at most `ceiling` bytes of them."""

    def __init__(self, memory: Memory, ceiling: int) -> None:
        self.memory = memory
        self.ceiling = ceiling
        self.slots: list[Slot] = []
        self.end = PAGE

    def acquire(self, size: int, but: Slot | None = None) -> Slot | None:
        """A free slot of at least `size` bytes, not `but`; None when ceiling or system have no more."""
        states = self.memory.states
        best: Slot | None = None
        for slot in self.slots:
            fits = states[slot.number] == FREE and slot.capacity >= size and slot is not but
            if fits and (best is None or slot.capacity < best.capacity):
                best = slot
        if best is None:
            best = self._grow(size)
        if best is not None:
            best.used = 0
        return best

    def _grow(self, size: int) -> Slot | None:
        capacity = align(max(size + size // 8, PAGE), PAGE)  # some room: sizes of batches vary
        if len(self.slots) >= MAX_SLOTS or self.end - PAGE + capacity > self.ceiling:
            return None
        try:
            # Reserved, not only promised: a write can then never end in a bus error.
            os.posix_fallocate(self.memory.fd, self.end, capacity)
            buffer = mmap.mmap(self.memory.fd, capacity, offset=self.end)
        except OSError:
            return None
        slot = Slot(len(self.slots), self.end, capacity, buffer)
        self.slots.append(slot)
        self.end += capacity
        return slot

    def publish(self, slot: Slot) -> None:
        self.memory.states[slot.number] = FILLED


def lease(buffer: mmap.mmap, released: Callable[[], object]) -> ctypes.Array[ctypes.c_char]:
    """The bytes of a mapping as an object whose end is known: `released` is called when nothing shows it.

    A memoryview would not do: NumPy keeps what it was made of, not the view itself.
    """
    shown = (ctypes.c_char * len(buffer)).from_buffer(buffer)
    weakref.finalize(shown, released).atexit = False
    return shown


class Reader:
    """The parent's side of one worker's memory."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.maps: dict[int, mmap.mmap] = {}

    def lease(self, number: int, offset: int, capacity: int) -> ctypes.Array[ctypes.c_char]:
        """The bytes of a filled slot; it is free again when the last thing that shows them is gone."""
        buffer = self.maps.get(offset)
        if buffer is None:
            buffer = self.maps[offset] = mmap.mmap(self.memory.fd, capacity, offset=offset)
        return lease(buffer, partial(_release, self.memory.states, number))


def _release(states: mmap.mmap, number: int) -> None:
    states[number] = FREE


class Pool:
    """Buffers of this process for batches that are made without workers: the same rule, no memfd."""

    def __init__(self, ceiling: int) -> None:
        self.ceiling = ceiling
        self.free: list[mmap.mmap] = []
        self.total = 0

    def lease(self, size: int) -> ctypes.Array[ctypes.c_char] | None:
        """Memory of at least `size` bytes, its own until nothing shows it; None over the ceiling."""
        fitting = [b for b in self.free if len(b) >= size]
        if fitting:
            buffer = min(fitting, key=len)
            self.free.remove(buffer)
        else:
            capacity = align(size, PAGE)
            if self.total + capacity > self.ceiling:
                return None
            buffer = mmap.mmap(-1, capacity)
            self.total += capacity
        return lease(buffer, partial(self.free.append, buffer))
