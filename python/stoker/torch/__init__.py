"""The native loader for PyTorch: batches of tensors, without a copy, or on a device."""

from __future__ import annotations

from .loader import Loader as Loader

__all__ = ["Loader"]
