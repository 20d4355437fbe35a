"""`stoker.torch.Loader`: `stoker.Loader` whose batches hold torch tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.dlpack import from_dlpack

from ..loader import Loader as _Loader

if TYPE_CHECKING:
    from .._core import Tensor
    from ..dataset import Dataset, Where


class Loader(_Loader):
    """`stoker.Loader` whose batches hold torch tensors.

    Parameters
    ----------
    where, **options
        As for `stoker.Loader`.
    device : str or torch.device
        "cpu": tensors show the memory of the batch, writable, without a copy; the memory is used
        again when the last of them is gone. A CUDA device: each field is copied to pinned memory
        when it is first asked for and from there, without waiting, on the device's current stream,
        so work queued after it sees the data.

    Notes
    -----
    Fields whose samples differ in length stay lists. bfloat16 is a torch dtype, so it needs nothing
    special here.

    Examples
    --------
    >>> import stoker.torch
    >>> with stoker.torch.Loader(shards, label=stoker.Label("cls"), batch_size=4) as loader:
    ...     [batch.label.sum().item() for batch in loader]
    [6, 22]
    """

    def __init__(
        self, where: Where | Dataset, *args: Any, device: str | torch.device = "cpu", **options: Any
    ) -> None:
        self.device = torch.device(device)
        if self.device.type not in ("cpu", "cuda"):
            raise ValueError(f'device is "{device}"; it must be "cpu" or a CUDA device')
        if self.device.type == "cuda" and not torch.cuda.is_available():
            raise RuntimeError(f'device is "{device}", and torch finds no CUDA device')
        super().__init__(where, *args, **options)

    def _convert(self) -> Callable[[Tensor], torch.Tensor]:
        if self.device.type == "cpu":
            return from_dlpack
        device = self.device

        def to_device(tensor: Tensor) -> torch.Tensor:
            # torch keeps the pinned block until the copy on the stream is over
            pinned: torch.Tensor = from_dlpack(tensor).pin_memory(device)
            return pinned.to(device, non_blocking=True)

        return to_device
