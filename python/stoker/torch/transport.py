"""Batches on their way from a worker to its parent: tensors by place, all else by pickle.

The worker pickles a batch with every dense CPU tensor and NumPy array left out: their bytes go into a slot of the
arena, if they do not lie there already because the collation put them there, and the pickle holds only shape,
strides and place. The parent makes tensors over the same bytes.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Sequence
from math import prod
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch

from .arena import Reader, Slot, Writer, align

NO_SLOT = -1  # a batch without tensors and arrays
BY_VALUE = -2  # no room in the arena
SMALL_FIELDS = 1 << 14  # room for what comes beside the first field of the first batch
LARGE_PICKLE = 1 << 14  # bytes; a larger one goes through the slot, so that no pipe ever fills up
# As torch's queues have it: NumPy gives other arrays back for another one (read-only, of another byte order).
PROTOCOL = pickle.DEFAULT_PROTOCOL
MOST_FLAT = 64  # fields of a batch that needs no pickle of its own

# Element types by a number, which is shorter and quicker to read than their names.
# Not those of quantized tensors, which are more than their bytes.
DTYPES = sorted(
    (
        d
        for d in {d for d in vars(torch).values() if isinstance(d, torch.dtype)}
        if not str(d).startswith(("torch.qint", "torch.quint"))
    ),
    key=str,
)
CODES = {dtype: code for code, dtype in enumerate(DTYPES)}
# A batch of plain tensors: is it a list, keys if it is a dict, what stands for each tensor.
Flat = tuple[bool, tuple[str, ...] | None, list[Any]]

_numpy = None


_array_dtypes: dict[int, Any] = {}  # NumPy's, by the number of torch's


def numpy() -> Any:
    """NumPy, if anybody has imported it: without it there is no array to be moved."""
    global _numpy
    if _numpy is None and (np := sys.modules.get("numpy")) is not None:
        names = "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128"
        _array_dtypes.update({CODES[getattr(torch, n)]: np.dtype(n) for n in names.split()})
        _numpy = np
    return _numpy


def _plain(tensor: torch.Tensor) -> bool:
    """Can the tensor be told by shape, strides and bytes alone?"""
    return (
        tensor.layout is torch.strided
        and tensor.device.type == "cpu"
        and not tensor.requires_grad
        and tensor.dtype in CODES
        and not tensor.is_nested
    )


def _plain_dtype(dtype: Any) -> bool:
    """Does its short name tell all of a NumPy type?"""
    return (
        not dtype.hasobject
        and dtype.names is None
        and dtype.metadata is None
        and dtype.isnative  # NumPy makes the others native when it pickles them
        and dtype.isbuiltin != 2  # of another library (bfloat16 of ml_dtypes)
    )


def _resolved(tensor: torch.Tensor) -> torch.Tensor:
    """With its values in its bytes: torch notes a conjugation or a sign apart, and would lose the note here."""
    return tensor.resolve_conj().resolve_neg()


def _private(storage: torch.UntypedStorage) -> bool:
    """Is it ordinary memory of this process?"""
    return storage.device.type == "cpu" and not storage.is_shared()


def bytes_of(storage: torch.UntypedStorage) -> torch.Tensor:
    """A tensor over all of a storage."""
    return torch.empty(0, dtype=torch.uint8).set_(storage)


def _dense(tensor: torch.Tensor) -> bool:
    """Do the elements fill their memory without a gap and without overlap?"""
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size == 1:
            continue
        if stride != expected:
            return False
        expected *= size
    return True


def _movable(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor itself if its bytes are all there is to it, else a copy of which that is true."""
    resolved = _resolved(tensor)
    return resolved if _dense(resolved) else resolved.contiguous()


def _reduced_quantized(obj: Any) -> Any:
    """How a quantized tensor is pickled: with its scales and zero points, which torch loses between processes."""
    if type(obj) is torch.Tensor and obj.is_quantized:
        return obj.__reduce_ex__(PROTOCOL)  # type: ignore[no-untyped-call]
    return NotImplemented


class _Pickler(ForkingPickler):
    """Leaves tensors and arrays out and remembers them."""

    def __init__(self, file: io.BytesIO, packer: Packer) -> None:
        super().__init__(file, PROTOCOL)
        self._packer = packer

    def reducer_override(self, obj: Any) -> Any:
        return _reduced_quantized(obj)

    def persistent_id(self, obj: Any) -> Any:
        if type(obj) is torch.Tensor:
            return self._packer.tensor(obj)
        if type(obj) is torch.UntypedStorage:
            return self._packer.storage(obj)
        np = numpy()
        if np is not None and type(obj) is np.ndarray:
            return self._packer.array(obj)
        return None


class Packer:
    """Packs batches of one worker. The collation may put tensors straight into the slot of the next one."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.expected = 0  # bytes of a batch: the largest so far
        self._use(None)
        self._forget_places()

    def _forget(self) -> None:
        if self.slot is not None:
            self.writer.give_back(self.slot)
        self._use(None)
        self._forget_places()

    def _use(self, slot: Slot | None) -> None:
        self.slot = slot
        self.base = _address(slot) if slot is not None else 0

    def _forget_places(self) -> None:
        self.known: dict[int, tuple[Any, ...]] = {}  # by id; keeps what the id stands for alive
        # What does not lie in the slot, and where it goes.
        self.copies: list[tuple[torch.Tensor, int]] = []
        self.size = 0

    def empty(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor | None:
        """A tensor in the slot of the batch that is being collated, or None if there is no room for it."""
        count = prod(shape)
        size = count * dtype.itemsize
        if size == 0:
            return None
        if self.slot is None:
            self._use(self.writer.acquire(max(self.expected, size + SMALL_FIELDS)))
        at = self.slot.take(size) if self.slot is not None else None
        if at is None:
            return None
        assert self.slot is not None
        return torch.frombuffer(self.slot.buffer, dtype=dtype, count=count, offset=at).view(shape)

    def _place(self, tensor: torch.Tensor) -> int:
        """Where the bytes lie in the slot; if they do not, -1 - n for the n-th copy."""
        if tensor.numel() == 0:
            return 0
        if self.slot is not None and 0 <= tensor.data_ptr() - self.base < self.slot.capacity:
            return tensor.data_ptr() - self.base
        at = align(self.size)
        self.size = at + tensor.numel() * tensor.element_size()
        self.copies.append((tensor, at))
        return -len(self.copies)

    def tensor(self, tensor: torch.Tensor) -> Any:
        """What stands for a tensor in the pickle; None: it is pickled as torch does it."""
        if id(tensor) in self.known:
            return self.known[id(tensor)][0]
        if not _plain(tensor):
            return None
        kept = _movable(tensor)
        strides = None if kept.is_contiguous() else tuple(kept.stride())
        pid = ("t", self._place(kept), CODES[kept.dtype], tuple(kept.shape), strides)
        self.known[id(tensor)] = (pid, tensor, kept)
        return pid

    def storage(self, storage: torch.UntypedStorage) -> Any:
        """The same for what lies under a tensor of another kind, which torch would put into a file of its own."""
        if id(storage) in self.known:
            return self.known[id(storage)][0]
        if not _private(storage):
            return None
        kept = bytes_of(storage)
        pid = ("s", self._place(kept), torch.uint8, tuple(kept.shape), (1,))
        self.known[id(storage)] = (pid, storage, kept)
        return pid

    def array(self, array: Any) -> Any:
        """The same for an array; None: it is pickled as NumPy does it."""
        if id(array) in self.known:
            return self.known[id(array)][0]
        if array.nbytes == 0 or array.ndim == 0 or not _plain_dtype(array.dtype):
            return None
        np = numpy()
        order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
        flat = np.asarray(array, order=order).reshape(-1, order="A").view(np.uint8)
        kept = torch.from_numpy(flat if flat.flags.writeable else flat.copy())
        pid = ("a", self._place(kept), array.dtype.str, array.shape, order)
        self.known[id(array)] = (pid, array, kept)
        return pid

    def _flat(self, obj: Any) -> Flat | None:
        """What stands for a list, tuple or dict of plain tensors and nothing else; None for all else."""
        kind = type(obj)
        if kind not in (list, tuple, dict) or not 0 < len(obj) <= MOST_FLAT:
            return None
        keys, values = (tuple(obj), obj.values()) if kind is dict else (None, obj)
        if keys is not None and set(map(type, keys)) != {str}:
            return None
        if set(map(type, values)) != {torch.Tensor}:  # before any of them is made movable
            return None
        fields = []
        for value in values:
            field = self.tensor(value)
            if field is None:
                return None
            fields.append(field)
        return kind is list, keys, fields

    def _dump(self, obj: Any) -> bytes | Flat:
        self._forget_places()
        flat = self._flat(obj)
        if flat is not None:
            return flat
        file = io.BytesIO()
        self._forget_places()
        _Pickler(file, self).dump(obj)
        return file.getvalue()

    def pack(self, obj: Any) -> tuple[Any, ...]:
        """The message for an object: slot number, its offset and capacity, places of copies, pickle."""
        try:
            return self._pack(obj)
        finally:
            self._forget()

    def _pack(self, obj: Any) -> tuple[Any, ...]:
        data, inside = self._dumped(obj)
        used = align(self.slot.used) if self.slot is not None else 0
        self.expected = max(self.expected, used + align(self.size))
        outgrown: Slot | None = None
        if self.size > 0 and self.slot is None:
            self._use(self.writer.acquire(self.expected))
        elif self.slot is not None and not self.slot.has_room(self.size):
            # All of it goes to a slot that has room for the rest, too.
            outgrown = self.slot
            self._use(None)
            data, inside = self._dumped(obj)
            self._use(self.writer.acquire(align(self.size)))
        try:
            if self.slot is not None:
                return self._filled(self.slot, inside)
            return self._by_value(obj) if self.size > 0 else (NO_SLOT, 0, 0, [], data)
        finally:
            if outgrown is not None:
                self.writer.give_back(outgrown)

    def _filled(self, slot: Slot, inside: bytes | Flat | int) -> tuple[Any, ...]:
        """Copy into the slot what does not lie there yet, and hand it over."""
        start = slot.take(self.size) or 0
        for tensor, at in self.copies:
            _tensor_at(slot.buffer, start + at, tensor.dtype, tensor.shape, tensor.stride()).copy_(
                tensor
            )
        self.writer.publish(slot)
        self.slot = None
        places = [start + at for _, at in self.copies]
        return (slot.number, slot.offset, slot.capacity, places, inside)

    def _dumped(self, obj: Any) -> tuple[bytes | Flat, bytes | Flat | int]:
        """The pickle, and what stands for it in the message: itself, or its size if it goes through the slot."""
        data = self._dump(obj)
        if not isinstance(data, bytes) or len(data) <= LARGE_PICKLE:
            return data, data
        self._place(torch.frombuffer(bytearray(data), dtype=torch.uint8))
        return data, len(data)

    def _by_value(self, obj: Any) -> tuple[Any, ...]:
        file = io.BytesIO()
        _ByValue(file, PROTOCOL).dump(obj)
        return (BY_VALUE, 0, 0, [], file.getvalue())


def _address(slot: Slot) -> int:
    return torch.frombuffer(slot.buffer, dtype=torch.uint8, count=1).data_ptr()


def _tensor_at(
    buffer: Any, at: int, dtype: torch.dtype, shape: Sequence[int], strides: Sequence[int]
) -> torch.Tensor:
    flat = torch.frombuffer(buffer, dtype=dtype, count=prod(shape), offset=at)
    return flat.as_strided(tuple(shape), tuple(strides))


class _ByValue(ForkingPickler):
    """Plain tensors as their bytes: without the arena there is nothing else that needs no file."""

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is torch.Tensor and _plain(obj):
            kept = _movable(obj)
            flat = kept.as_strided((kept.numel(),), (1,)).view(torch.uint8)
            raw = flat.numpy().tobytes() if kept.numel() else b""
            return _tensor_of, (raw, obj.dtype, tuple(obj.shape), tuple(kept.stride()))
        if type(obj) is torch.UntypedStorage and _private(obj):
            return _storage_of, (bytes_of(obj).numpy().tobytes(),)
        return _reduced_quantized(obj)


def _tensor_of(
    raw: bytes, dtype: torch.dtype, shape: tuple[int, ...], strides: tuple[int, ...]
) -> torch.Tensor:
    if not raw:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(bytearray(raw), dtype=dtype).as_strided(shape, strides)


def _storage_of(raw: bytes) -> torch.UntypedStorage:
    return _tensor_of(raw, torch.uint8, (len(raw),), (1,)).untyped_storage()


def _tensor(
    lease: Any, at: int, code: int, shape: tuple[int, ...], strides: tuple[int, ...] | None
) -> torch.Tensor:
    """The tensor over these bytes of a slot."""
    count = prod(shape)
    if count == 0:
        empty = torch.empty(shape, dtype=DTYPES[code])
        return empty if strides is None else empty.as_strided(shape, strides)
    if strides is not None:
        return _tensor_at(lease, at, DTYPES[code], shape, strides)
    np = numpy()
    dtype = _array_dtypes.get(code)
    if dtype is not None:  # the shortest way to a tensor that has its shape at once
        return torch.from_numpy(np.ndarray(shape, dtype, lease, at))
    return torch.frombuffer(lease, dtype=DTYPES[code], count=count, offset=at).view(shape)


def _offset(place: int, places: list[int]) -> int:
    """Where the bytes begin in the slot, of what `Packer._place` has said."""
    return place if place >= 0 else places[-1 - place]


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, lease: Any, places: list[int]) -> None:
        super().__init__(io.BytesIO(data))
        self._lease = lease
        self._places = places

    def persistent_load(self, pid: Any) -> Any:
        kind, place, dtype, shape, how = pid
        at = _offset(place, self._places)
        if kind == "t":
            return _tensor(self._lease, at, dtype, shape, how)
        count = prod(shape)
        if kind == "s":
            if count == 0:
                return torch.UntypedStorage(0)  # type: ignore[no-untyped-call]
            return torch.frombuffer(
                self._lease, dtype=dtype, count=count, offset=at
            ).untyped_storage()
        import numpy as np

        if count == 0:
            return np.empty(shape, dtype, order=how)
        return np.frombuffer(self._lease, dtype, count, at).reshape(shape, order=how)


def _unflattened(flat: Flat, lease: Any, places: list[int]) -> Any:
    is_list, keys, fields = flat
    tensors = [
        _tensor(lease, _offset(place, places), code, shape, strides)
        for _, place, code, shape, strides in fields
    ]
    if keys is not None:
        return dict(zip(keys, tensors, strict=True))
    return tensors if is_list else tuple(tensors)


def unpack(message: tuple[Any, ...], reader: Reader) -> Any:
    """The object of a message. Its tensors and arrays keep the slot."""
    number, offset, capacity, places, data = message
    lease = reader.lease(number, offset, capacity) if number >= 0 else None
    if isinstance(data, tuple):
        return _unflattened(data, lease, places)
    if isinstance(data, int):  # its size: it lies in the slot, behind all else
        assert lease is not None
        data = bytes(memoryview(lease)[places[-1] : places[-1] + data])
    return _Unpickler(data, lease, places).load()
