"""The native loader for PyTorch: batches of tensors, without a copy, or on a device."""

from __future__ import annotations

from .dataloader import DataLoader as DataLoader
from .loader import Loader as Loader

__all__ = ["DataLoader", "Loader"]
