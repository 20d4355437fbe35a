"""For PyTorch: `DataLoader`, a drop-in for torch's own, and `Loader`, the native one with batches of tensors.

`Resilient` is a dataset that survives bad samples, `ElasticSampler` a sampler for any number of ranks.
"""

from __future__ import annotations

from .dataloader import DataLoader as DataLoader
from .elastic import ElasticSampler as ElasticSampler
from .loader import Loader as Loader
from .resilient import Resilient as Resilient
from .resilient import TooManyErrors as TooManyErrors

__all__ = ["DataLoader", "ElasticSampler", "Loader", "Resilient", "TooManyErrors"]
