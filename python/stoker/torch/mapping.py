"""Mappings of a file that keep no descriptor of it."""

from __future__ import annotations

import ctypes
import mmap
import os

_MAP_FIXED = 0x10  # Linux, the same on all architectures
_MAP_FAILED = ctypes.c_void_p(-1).value

_system = ctypes.CDLL(None, use_errno=True)
_system.mmap.restype = ctypes.c_void_p
_system.mmap.argtypes = [
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
]


def map_file(fd: int, size: int, offset: int = 0) -> mmap.mmap:
    """A shared, writable mapping of `size` bytes of a file.

    `mmap.mmap` would duplicate the descriptor and keep it, until Python 3.13 whatever one asks for: a few
    hundred batches that are kept would need as many descriptors. So the file is laid over a mapping of
    nothing, which ends as all mappings do.

    Raises
    ------
    OSError
        No address space, or too many mappings.
    """
    buffer = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
    kind = mmap.MAP_SHARED | _MAP_FIXED
    got = _system.mmap(address, size, mmap.PROT_READ | mmap.PROT_WRITE, kind, fd, offset)
    if got == _MAP_FAILED:
        code = ctypes.get_errno()
        raise OSError(code, f"{size} bytes of the arena could not be mapped: {os.strerror(code)}")
    return buffer
