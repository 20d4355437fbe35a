"""The native loader for PyTorch: batches of tensors, without a copy, or on a device."""

from __future__ import annotations

from .dataloader import DataLoader as DataLoader
from .elastic import ElasticSampler as ElasticSampler
from .loader import Loader as Loader
from .resilient import Resilient as Resilient
from .resilient import TooManyErrors as TooManyErrors

__all__ = ["DataLoader", "ElasticSampler", "Loader", "Resilient", "TooManyErrors"]
