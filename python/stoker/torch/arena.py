"""Memory that workers fill and their parent reads, without a copy between them.

All workers of an iterator share one memfd: no name, nothing under /dev/shm, freed by the system when the last process
that has it is gone. Its head holds a table of slots; behind it lie the slots, one behind the other, each as large as
the batch it was made for and used again for others, whichever worker has the next one.

Who writes what: a worker takes a slot that is free, or makes one, under a lock of the file that the system takes
back from whoever dies; it alone marks its slot as filled. The parent alone marks it as free, when the last array or tensor
that shows it is gone, and needs no lock for it. Where the mappings are registered as pinned memory (pinned.py), it does
so later: when no device reads from the slot any more.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import mmap
import os
import resource
import time
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing import reduction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .pinned import Registrar, Registration

from .cgroups import OWN, ROOT, folders, memory_limit
from .mapping import map_file

PAGE = 4096
PAGE_OF_SYSTEM = os.sysconf("SC_PAGESIZE")
ALIGN = 64
# See Writer.acquire.
WAIT_SECONDS = 1.0  # for a slot, at most
POLL_SECONDS = 0.0005
MAX_VAIN_WAITS = 3
ENOUGH_FILLED = 1  # with more slots filled than this, a worker waits for one to be freed
UNUSED, FREE, TAKEN, FILLED, RETIRED = range(5)  # a slot's state, a byte

# The head: where the next slot begins and how many there are, a note of 16 bytes for each worker, a state for each
# slot, offset and capacity of each.
MAX_WORKERS = 1024
MAX_SLOTS = 8192
_END, _COUNT, _SIZE = 0, 1, 2  # 8-byte words
_NOTES = 64
_STATES = _NOTES + 16 * MAX_WORKERS
_PLACES = _STATES + MAX_SLOTS
HEAD = (_PLACES + 16 * MAX_SLOTS + PAGE - 1) // PAGE * PAGE


def align(size: int, to: int = ALIGN) -> int:
    return (size + to - 1) // to * to


class Memory:
    """A memfd and its head, open in this process. Pickles on its way to a new process only."""

    def __init__(self, name: str = "stoker-arena") -> None:
        self.fd = os.memfd_create(name, os.MFD_CLOEXEC)
        # A file of its own for the lock: a mapping that goes closes a descriptor of its file, and with the first
        # descriptor that a process closes the system takes back all its locks on that file.
        self.gate = -1
        try:
            self.gate = os.memfd_create(f"{name}-lock", os.MFD_CLOEXEC)
            os.ftruncate(self.fd, HEAD)
            self._map()
        except BaseException:
            self.close()
            raise
        self.words[_END] = HEAD

    def _map(self) -> None:
        self.head = map_file(self.fd, HEAD)
        self.words = memoryview(self.head).cast("Q")

    def __getstate__(self) -> object:
        return reduction.DupFd(self.fd), reduction.DupFd(self.gate)

    def __setstate__(self, state: Any) -> None:
        self.fd, self.gate = (descriptor.detach() for descriptor in state)
        self._map()

    def place(self, slot: int) -> tuple[int, int]:
        """Offset and capacity of a slot."""
        at = (_PLACES >> 3) + 2 * slot
        return self.words[at], self.words[at + 1]

    def set_state(self, slot: int, state: int) -> None:
        self.head[_STATES + slot] = state

    def state(self, slot: int) -> int:
        return self.head[_STATES + slot]

    def states(self) -> bytes:
        """The state of each slot that was ever made."""
        return self.head[_STATES : _STATES + self.words[_COUNT]]

    def free_slots(self) -> list[int]:
        """The slots that are free now."""
        return [slot for slot, state in enumerate(self.states()) if state == FREE]

    def filled(self) -> int:
        """How many batches are consumed or wait for it."""
        return self.states().count(FILLED)

    def add(self, capacity: int) -> int | None:
        """A new slot, taken; under the lock. Its memory is not there yet. None: the table is full."""
        slot = self.words[_COUNT]
        if slot >= MAX_SLOTS:
            return None
        at = (_PLACES >> 3) + 2 * slot
        self.words[at], self.words[at + 1] = self.words[_END], capacity
        self.words[_END] += capacity
        self.words[_SIZE] += capacity
        self.set_state(slot, TAKEN)
        self.words[_COUNT] = slot + 1
        return slot

    def count(self) -> int:
        """Slots that were ever made."""
        return self.words[_COUNT]

    def size(self) -> int:
        """Bytes of all slots that are in use or to be used again."""
        return self.words[_SIZE]

    def retire(self, slot: int) -> None:
        """A slot that nobody is to use any more; under the lock."""
        self.set_state(slot, RETIRED)
        self.words[_SIZE] -= self.place(slot)[1]

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """One worker at a time. Whoever dies inside gives the lock back, and leaves at worst a slot that nobody uses."""
        fcntl.lockf(self.gate, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self.gate, fcntl.LOCK_UN)

    def close(self) -> None:
        """Give the descriptor back. What is mapped stays valid as long as something shows it."""
        for descriptor in (self.fd, self.gate):
            if descriptor >= 0:
                os.close(descriptor)
        self.fd = self.gate = -1


class Seat:
    """A worker's place in the head: what it tells of itself, to be read after its death."""

    _statm: int | None = None  # descriptor of the worker itself: what it uses now
    _next = 0.0  # when it looks again

    def __init__(self, memory: Memory, worker: int) -> None:
        self.memory = memory
        self._at = (_NOTES >> 3) + 2 * min(worker, MAX_WORKERS - 1)

    def note_memory(self) -> None:
        """In the worker: leave what memory it uses; looks 20 times a second at most."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + 0.05
        if self._statm is None:
            self._statm = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        now = int(os.pread(self._statm, 128, 0).split()[1]) * PAGE_OF_SYSTEM
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        self.memory.words[self._at] = now
        self.memory.words[self._at + 1] = max(now, peak)

    def noted_memory(self) -> tuple[int, int]:
        """Memory of the worker in bytes when it last looked, and its peak; 0 before it ran."""
        return self.memory.words[self._at], self.memory.words[self._at + 1]


class Slot:
    """A slot as the worker sees it that has taken it."""

    __slots__ = ("buffer", "capacity", "number", "offset", "used")

    def __init__(self, number: int, offset: int, capacity: int, buffer: mmap.mmap) -> None:
        self.number = number
        self.offset = offset
        self.capacity = capacity
        self.buffer = buffer
        self.used = 0

    def has_room(self, size: int) -> bool:
        return align(self.used) + size <= self.capacity

    def take(self, size: int) -> int | None:
        """Where the next `size` bytes of the slot begin, or None if it is full."""
        if not self.has_room(size):
            return None
        at = align(self.used)
        self.used = at + size
        return at


class Writer:
    """A worker's side: slots for its batches. All workers together have at most `ceiling` bytes of them."""

    def __init__(self, memory: Memory, ceiling: int) -> None:
        self.memory = memory
        self.ceiling = ceiling
        self.slots: dict[int, Slot] = {}  # those that this process has mapped
        self.largest = 0
        self.waits_left = MAX_VAIN_WAITS
        self.since = time.monotonic()

    def acquire(self, size: int) -> Slot | None:
        """A slot of at least `size` bytes, taken; None when ceiling or system have no more.

        While batches wait to be consumed there is no hurry: a slot that is freed before another batch could be
        made is as good as a new one, and takes no memory. Who waited in vain three times does so no more until
        that has changed.
        """
        now = time.monotonic()
        end = now + min(now - self.since, WAIT_SECONDS)  # as long as the last batch took
        slot = self._free(size)
        while slot is None and self.waits_left and self.memory.filled() > ENOUGH_FILLED:
            if time.monotonic() > end:
                self.waits_left -= 1
                break
            time.sleep(POLL_SECONDS)
            slot = self._free(size)
        if slot is not None:
            self.waits_left = MAX_VAIN_WAITS
        else:
            slot = self._new(size)
        self.largest = max(self.largest, size)
        self.since = time.monotonic()
        return slot

    def _free(self, size: int) -> Slot | None:
        """A free slot, the smallest that does; those that are too small for the batches of today go."""
        memory = self.memory
        if not memory.free_slots():
            return None
        with memory.lock():
            free = [(memory.place(slot)[1], slot) for slot in memory.free_slots()]
            fitting = [place for place in free if place[0] >= size]
            if fitting:
                number = min(fitting)[1]
                memory.set_state(number, TAKEN)
                try:
                    return self._mapped(number)
                except OSError:  # no address space for it in this process
                    memory.set_state(number, FREE)
                    return None
            for _, slot in free:
                self._retire(slot)
        return None

    def _new(self, size: int) -> Slot | None:
        room = size // 8 if 0 < self.largest < size else 0  # sizes of batches vary
        with self.memory.lock():
            return self._made(align(size + room, PAGE))

    def _mapped(self, number: int) -> Slot:
        slot = self.slots.get(number)
        if slot is None:
            offset, capacity = self.memory.place(number)
            buffer = map_file(self.memory.fd, capacity, offset)
            slot = self.slots[number] = Slot(number, offset, capacity, buffer)
        slot.used = 0
        return slot

    def _made(self, capacity: int) -> Slot | None:
        memory = self.memory
        if memory.size() + capacity > self.ceiling:
            return None
        number = memory.add(capacity)
        if number is None:
            return None
        try:
            slot = self._mapped(
                number
            )  # first: if that fails, there is no memory yet to be given back
            # Reserved, not only promised: a write can then never end in a bus error.
            os.posix_fallocate(memory.fd, slot.offset, capacity)
            return slot
        except OSError:
            self.slots.pop(number, None)
            memory.retire(number)
            return None

    def _retire(self, number: int) -> None:
        """A free slot too small for the batches of today: its memory goes back to the system."""
        offset, capacity = self.memory.place(number)
        known = self.slots.pop(number, None)
        with contextlib.suppress(OSError):
            buffer = known.buffer if known else map_file(self.memory.fd, capacity, offset)
            buffer.madvise(mmap.MADV_REMOVE)
            self.memory.retire(number)

    def publish(self, slot: Slot) -> None:
        self.memory.set_state(slot.number, FILLED)

    def give_back(self, slot: Slot) -> None:
        """A slot that was taken and is not needed after all."""
        self.memory.set_state(slot.number, FREE)


def default_ceiling(root: str = ROOT, own: str = OWN) -> int:
    """Half of the memory that this process may use, as a file system in memory has it by default."""
    limits = map(memory_limit, folders("memory", root, own))
    total = os.sysconf("SC_PHYS_PAGES") * PAGE_OF_SYSTEM
    return min([total, *(limit for limit in limits if limit is not None)]) // 2


class Lease(ctypes.Array[ctypes.c_char]):
    """The bytes of a mapping as an object whose end is known. Never made itself, but with a length: see `lease`.

    A memoryview would not do: NumPy keeps what it was made of, not the view itself.
    """

    _type_ = ctypes.c_char
    _length_ = 0
    released: Callable[[], object] | None = None

    def __del__(self) -> None:
        if self.released is not None:
            self.released()


_leases: dict[int, type[Lease]] = {}  # by length


def lease(buffer: mmap.mmap, released: Callable[[], object]) -> Lease:
    """The bytes of a mapping; `released` is called when nothing shows them any more, in whichever thread."""
    kind = _leases.get(len(buffer))
    if kind is None:
        kind = _leases[len(buffer)] = type("Lease", (Lease,), {"_length_": len(buffer)})
    shown = kind.from_buffer(buffer)
    shown.released = released
    return shown


class Reader:
    """The parent's side. With a registrar what it maps is pinned memory."""

    def __init__(self, memory: Memory, registrar: Registrar | None = None) -> None:
        self.memory = memory
        self.maps: dict[int, mmap.mmap] = {}  # by slot
        self._registrar = registrar
        self._registrations: dict[int, Registration | None] = {}
        self._pid = os.getpid()

    def lease(self, number: int, offset: int, capacity: int) -> Lease:
        """The bytes of a filled slot; it is free again when the last thing that shows them is gone."""
        buffer = self.maps.get(number)
        if buffer is None:
            buffer = self._map(number, offset, capacity)
        free = partial(self._free, self.memory, number, self._pid)
        return lease(buffer, _after(self._registrar, self._registrations.get(number), free))

    def _map(self, number: int, offset: int, capacity: int) -> mmap.mmap:
        for slot in [slot for slot in self.maps if self.memory.state(slot) == RETIRED]:
            del self.maps[slot]
            self._registrations.pop(slot, None)
        buffer = self.maps[number] = map_file(self.memory.fd, capacity, offset)
        if self._registrar is not None:
            self._registrations[number] = self._registrar.register(buffer)
        return buffer

    @staticmethod
    def _free(memory: Memory, number: int, pid: int) -> None:
        # Not in a forked child: the head is shared, and the batch may live on in the parent.
        if os.getpid() == pid:
            memory.set_state(number, FREE)


def _after(
    registrar: Registrar | None, registration: Registration | None, free: Callable[[], object]
) -> Callable[[], object]:
    """The end of a lease: what is registered waits for the devices, all else does not."""
    if registrar is None or registration is None:
        return free
    return partial(registrar.later, free, registration)


class Buffer:
    """Memory of a pool. Private: a forked child goes on with a copy, not with the parent's batches.

    Only what is registered is shared: a fork makes private pages be copied at the next write, and
    devices would go on with those from before.
    """

    __slots__ = ("bytes", "registration")

    def __init__(self, capacity: int, registrar: Registrar | None) -> None:
        kind = mmap.MAP_PRIVATE if registrar is None else mmap.MAP_SHARED
        self.bytes = mmap.mmap(-1, capacity, flags=kind | mmap.MAP_ANONYMOUS)
        self.registration = registrar.register(self.bytes) if registrar is not None else None

    def __len__(self) -> int:
        return len(self.bytes)


class Pool:
    """Buffers of this process for batches that are made in it: the same rule, no memfd.

    Any thread may lease and let go, and a garbage collection may let go in the middle of a lease by the same
    thread. So nothing is locked: every step on the two lists is one that the interpreter does not interrupt.
    """

    def __init__(self, ceiling: int, registrar: Registrar | None = None) -> None:
        self.ceiling = ceiling
        self.registrar = registrar
        self.free: list[Buffer] = []
        self.sizes: list[int] = []  # of all buffers there are

    @property
    def total(self) -> int:
        """Bytes of all buffers there are."""
        return sum(self.sizes)

    def lease(self, size: int) -> Lease | None:
        """Memory of at least `size` bytes, its own until nothing shows it; None over the ceiling."""
        registrar = self.registrar
        if registrar is not None and registrar.pid != os.getpid():
            return None  # a forked child: what is registered is shared with the parent
        buffer = self._take(size)
        if buffer is None:
            self._drop_one()
            buffer = self._make(align(size, PAGE))
        if buffer is None:
            return None
        back = partial(self.free.append, buffer)
        return lease(buffer.bytes, _after(registrar, buffer.registration, back))

    def _take(self, size: int) -> Buffer | None:
        """The smallest buffer that is free and large enough."""
        for buffer in sorted(self.free[:], key=len):
            if len(buffer) >= size:
                try:
                    self.free.remove(buffer)
                except ValueError:
                    continue  # another thread was faster
                return buffer
        return None

    def _drop_one(self) -> None:
        """Give back a buffer that is too small: there are never more than were once in use together."""
        with contextlib.suppress(IndexError):
            self.sizes.remove(len(self.free.pop()))

    def _make(self, size: int) -> Buffer | None:
        self.sizes.append(size)  # first, so that two threads cannot both take the last room
        if self.total <= self.ceiling:
            with contextlib.suppress(OSError):
                return Buffer(size, self.registrar)
        self.sizes.remove(size)
        return None
