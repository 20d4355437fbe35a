"""Transforms of pictures, with torchvision's names, arguments and laws of chance.

The classes are declarations, to be given to `stoker.Image`; the engine applies them while it
decodes. `apply` does the same to one array in memory, and `functional` has the single steps.

Random parameters are a pure function of (seed, epoch, sample, place in the list): the same sample
of the same epoch is augmented alike on any rank, thread or resumed run.
"""

from __future__ import annotations

from . import functional as functional
from .chain import apply as apply
from .declarations import CenterCrop as CenterCrop
from .declarations import Normalize as Normalize
from .declarations import RandomCrop as RandomCrop
from .declarations import RandomHorizontalFlip as RandomHorizontalFlip
from .declarations import RandomResizedCrop as RandomResizedCrop
from .declarations import Resize as Resize
from .declarations import Transform as Transform

__all__ = [
    "CenterCrop",
    "Normalize",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "Resize",
    "Transform",
    "apply",
    "functional",
]
