"""Collation into memory that is there already: what `default_collate` does, without a fresh batch each time."""

from __future__ import annotations

from array import array
from contextlib import suppress
from math import prod
from typing import Any

import torch
from torch.utils.data._utils.collate import (
    collate,
    collate_float_fn,
    collate_int_fn,
    collate_tensor_fn,
    default_collate,
    default_collate_fn_map,
)

from .arena import Pool
from .transport import CODES, Packer

LARGE_BYTES = 1 << 16  # smaller batches of a field are not worth a buffer of their own


def _alike(batch: Any) -> bool:
    """May the tensors be stacked into one of the first one's kind?"""
    first = batch[0]
    # A nested one has no shape, a quantized one is more than its bytes.
    if first.is_nested or first.dtype not in CODES:
        return False
    shape, dtype = first.shape, first.dtype
    for tensor in batch:
        if (
            type(tensor) is not torch.Tensor
            or tensor.shape != shape
            or tensor.dtype is not dtype
            or tensor.requires_grad
            or tensor.layout is not torch.strided
            or tensor.device.type != "cpu"
        ):
            return False
    return True


def _floats(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """torch's collation of floats; faster where they are nothing else."""
    if set(map(type, batch)) == {float}:
        return torch.frombuffer(array("d", batch), dtype=torch.float64)
    return collate_float_fn(batch, collate_fn_map=collate_fn_map)


def _ints(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """torch's collation of integers; faster where they are nothing else."""
    if set(map(type, batch)) == {int}:
        with suppress(OverflowError):  # torch has the words for that
            return torch.frombuffer(array("q", batch), dtype=torch.int64)
    return collate_int_fn(batch, collate_fn_map=collate_fn_map)


class _Direct:
    """`default_collate` whose tensors are stacked by `stack` where they can be."""

    def __call__(self, batch: Any) -> Any:
        functions = dict(default_collate_fn_map)
        # In place of which of torch's functions which of ours; what users have put there stays. Not kept: with a
        # method of its own inside, this object and the memory it fills would wait for a garbage collection.
        for kind, theirs, ours in (
            (torch.Tensor, (collate_tensor_fn, _stack), self._tensor),
            (float, (collate_float_fn,), _floats),
            (int, (collate_int_fn,), _ints),
        ):
            if functions.get(kind) in theirs:
                functions[kind] = ours
        return collate(batch, collate_fn_map=functions)

    def _empty(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor | None:
        raise NotImplementedError

    def _tensor(self, batch: Any, *, collate_fn_map: Any = None) -> Any:
        out = None
        if _alike(batch):
            out = self._empty((len(batch), *batch[0].shape), batch[0].dtype)
        if out is None:
            return self._apart(batch, collate_fn_map)
        return torch.stack(batch, 0, out=out)

    def _apart(self, batch: Any, collate_fn_map: Any) -> Any:
        """A batch that `stack` cannot have."""
        return _stack(batch, collate_fn_map=collate_fn_map)


def _stack(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """torch's collation of tensors, but never into shared memory of torch's."""
    first = batch[0]
    if first.layout is not torch.strided or first.is_nested:
        return collate_tensor_fn(batch, collate_fn_map=collate_fn_map)
    return torch.stack(batch, 0)


def keep_private() -> None:
    """In a worker: `default_collate` called by a user's own collation makes ordinary tensors.

    torch would put them into shared memory, one file each. They are not put into the slot either: who
    knows how long the user keeps them.
    """
    if default_collate_fn_map.get(torch.Tensor) is collate_tensor_fn:
        default_collate_fn_map[torch.Tensor] = _stack


class ArenaCollate(_Direct):
    """In a worker: straight into the slot that the batch will travel in."""

    def __init__(self, packer: Packer) -> None:
        self._packer = packer

    def _empty(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor | None:
        return self._packer.empty(shape, dtype)

    def _apart(self, batch: Any, collate_fn_map: Any) -> Any:
        if all(t.layout is torch.strided and not t.is_nested and t.dtype in CODES for t in batch):
            # Into one of the first one's kind, as torch's workers do it: what they refuse is refused.
            return torch.stack(batch, 0, out=batch[0].new_empty(0))
        return super()._apart(batch, collate_fn_map)


class PoolCollate(_Direct):
    """Without workers: into a buffer that no batch shows any more. Small fields as torch does it."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def _tensor(self, batch: Any, *, collate_fn_map: Any = None) -> Any:
        first = batch[0]
        if not first.is_nested and first.dim() > 3 and not first.is_contiguous():
            # Channels last, perhaps: torch keeps that order here, though not in workers.
            return _stack(batch, collate_fn_map=collate_fn_map)
        return super()._tensor(batch, collate_fn_map=collate_fn_map)

    def _empty(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor | None:
        count = prod(shape)
        if count * dtype.itemsize < LARGE_BYTES:
            return None
        lease = self._pool.lease(count * dtype.itemsize)
        if lease is None:
            return None
        return torch.frombuffer(lease, dtype=dtype, count=count).view(shape)


def direct(argument: Any, packer: Packer) -> Any:
    """The collation of a worker in place of torch's default one; anything else as it is."""
    return ArenaCollate(packer) if argument is default_collate else argument
