"""Stoker keeps accelerators fed: datasets as they are, into shuffled, decoded, collated batches.

The engine is C with its own threads; this package is its thin face. Names are loaded on first use,
so that ``import stoker`` is quick and imports neither NumPy nor torch.

Examples
--------
>>> import stoker
>>> from stoker import Image, Label, transforms as T
>>> loader = stoker.Loader(
...     shards,
...     image=Image("jpg;png", T.RandomResizedCrop(224), T.RandomHorizontalFlip()),
...     label=Label("cls"),
...     batch_size=4,
...     shuffle=True,
...     seed=7,
... )
>>> for batch in loader:
...     images, labels = batch
>>> images.shape
(4, 3, 224, 224)
>>> loader.close()
"""

from __future__ import annotations

TYPE_CHECKING = False  # as type checkers know it; the module that has it is not light
if TYPE_CHECKING:
    from . import transforms as transforms
    from ._core import Batch as Batch
    from ._core import Tensor as Tensor
    from ._core import __version__ as __version__
    from .damage import Damage as Damage
    from .dataset import Dataset as Dataset
    from .dataset import open as open
    from .errors import AlreadyExists as AlreadyExists
    from .errors import BudgetExceeded as BudgetExceeded
    from .errors import ClosedError as ClosedError
    from .errors import CorruptSample as CorruptSample
    from .errors import Error as Error
    from .errors import ForkError as ForkError
    from .errors import IndexMismatch as IndexMismatch
    from .errors import InvalidArgument as InvalidArgument
    from .errors import LimitExceeded as LimitExceeded
    from .errors import MemoryExceeded as MemoryExceeded
    from .errors import MissingField as MissingField
    from .errors import NotBuilt as NotBuilt
    from .errors import OutOfRange as OutOfRange
    from .errors import ShapeError as ShapeError
    from .errors import SlotsHeld as SlotsHeld
    from .errors import SourceDenied as SourceDenied
    from .errors import SourceError as SourceError
    from .errors import SourceNotFound as SourceNotFound
    from .errors import StateMismatch as StateMismatch
    from .errors import Stopped as Stopped
    from .fields import Array as Array
    from .fields import Bytes as Bytes
    from .fields import Field as Field
    from .fields import Image as Image
    from .fields import Json as Json
    from .fields import Key as Key
    from .fields import Label as Label
    from .fields import Text as Text
    from .images import ImageInfo as ImageInfo
    from .images import decode_image as decode_image
    from .images import image_info as image_info
    from .limits import Limits as Limits
    from .loader import Loader as Loader
    from .stats import Stats as Stats

_HOMES = {
    "_core": ("Batch", "Tensor", "__version__"),
    "damage": ("Damage",),
    "dataset": ("Dataset", "open"),
    "errors": (
        "AlreadyExists",
        "BudgetExceeded",
        "ClosedError",
        "CorruptSample",
        "Error",
        "ForkError",
        "IndexMismatch",
        "InvalidArgument",
        "LimitExceeded",
        "MemoryExceeded",
        "MissingField",
        "NotBuilt",
        "OutOfRange",
        "ShapeError",
        "SlotsHeld",
        "SourceDenied",
        "SourceError",
        "SourceNotFound",
        "StateMismatch",
        "Stopped",
    ),
    "fields": ("Array", "Bytes", "Field", "Image", "Json", "Key", "Label", "Text"),
    "images": ("ImageInfo", "decode_image", "image_info"),
    "limits": ("Limits",),
    "loader": ("Loader",),
    "stats": ("Stats",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = ("transforms", "torch")

__all__ = [
    "AlreadyExists",
    "Array",
    "Batch",
    "BudgetExceeded",
    "Bytes",
    "ClosedError",
    "CorruptSample",
    "Damage",
    "Dataset",
    "Error",
    "Field",
    "ForkError",
    "Image",
    "ImageInfo",
    "IndexMismatch",
    "InvalidArgument",
    "Json",
    "Key",
    "Label",
    "LimitExceeded",
    "Limits",
    "Loader",
    "MemoryExceeded",
    "MissingField",
    "NotBuilt",
    "OutOfRange",
    "ShapeError",
    "SlotsHeld",
    "SourceDenied",
    "SourceError",
    "SourceNotFound",
    "StateMismatch",
    "Stats",
    "Stopped",
    "Tensor",
    "Text",
    "__version__",
    "decode_image",
    "image_info",
    "transforms",
]  # but for `open`: `from stoker import *` leaves the built-in one alone


def __getattr__(name: str) -> object:
    import importlib

    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_MODULES})
