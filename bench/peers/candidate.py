"""What a candidate is: a loader of one kind, opened for one job, that gives epochs of batches."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)


@dataclass
class Job:
    """One job, the same for all candidates of a run."""

    run: str  # "J", "J-f32", "T", "scale", "M-img", ...
    folder: str = ""  # of pictures: train/CLASS/*.jpg and train.csv
    shards: str = ""  # pattern of tar shards with the same pictures, or of tiny samples
    one_tar: str = ""  # the same pictures in one tar, without labels
    batch_size: int = 256
    workers: int = 2
    size: int = 224
    samples: int = 0  # in the data
    epochs: int = 2  # measured ones, after the first
    build: str = ""  # build folder with the C programs

    @property
    def floats(self) -> bool:
        return self.run == "J-f32"


Batch = tuple[int, Iterable[np.ndarray]]  # number of samples, arrays that hold them


@dataclass
class Candidate:
    """Base of all. A subclass opens its loader in __init__ and gives one epoch a call."""

    job: Job
    note = ""  # what it does otherwise than the rest: said in the table
    limit = 0  # samples of an epoch to take at most; 0: all
    versions: dict[str, str] = field(default_factory=dict)

    def epoch(self) -> Iterator[Batch]:
        raise NotImplementedError

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class Entry:
    """A candidate by name: where it is, what it needs, in which runs it stands."""

    name: str
    module: str  # below bench.peers
    options: dict
    needs: tuple[str, ...]  # Python packages
    runs: tuple[str, ...]


def _entry(name, module, needs, runs, **options):
    return Entry(name, module, options, needs, runs)


def _loaders(what: str, ours: bool) -> list[Entry]:
    """Run M: without workers, with two by each start method."""
    needs = ("torch", "stoker") if ours else ("torch",)
    kinds = [(0, None), (2, "fork"), (2, "spawn"), (2, "forkserver")]
    return [
        _entry(
            f"{what}@{workers}" + (f":{method}" if method not in (None, "fork") else ""),
            "on_dataloader",
            needs,
            _M,
            ours=ours,
            workers=workers,
            method=method,
        )
        for workers, method in kinds
    ]


_J = ("J", "J-f32")
_M = ("M-img", "M-np", "M-f32", "M-tiny")
ENTRIES = (
    _entry("torchvision_dl:decode", "on_torchvision", ("torch", "torchvision"), _J),
    _entry("torchvision_dl:pil", "on_torchvision", ("torch", "torchvision", "PIL"), _J, pil=True),
    _entry("stoker:tar", "on_stoker", ("stoker",), _J),
    _entry("stoker:folder", "on_stoker", ("stoker",), _J, folder=True),
    _entry("libjpeg_turbo:whole", "on_libjpeg", (), ("J",)),
    _entry("webdataset:decode", "on_webdataset", ("webdataset", "torch", "torchvision"), _J),
    _entry("turboloader:aa", "on_turboloader", ("turboloader",), _J, antialias=True),
    _entry("turboloader:fast", "on_turboloader", ("turboloader",), _J, antialias=False),
    _entry("dali:wds", "on_dali", ("nvidia.dali",), _J),
    _entry("tfdata:aa", "on_tensorflow", ("tensorflow",), _J, antialias=True),
    _entry("tfdata:plain", "on_tensorflow", ("tensorflow",), _J, antialias=False),
    _entry("stoker:1-thread", "on_stoker", ("stoker",), ("scale",), threads=1),
    _entry("stoker:2-threads", "on_stoker", ("stoker",), ("scale",), threads=2),
    _entry("stoker:dicts", "on_stoker_tiny", ("stoker",), ("T",), what="dicts"),
    _entry("stoker:columns", "on_stoker_tiny", ("stoker",), ("T",), what="columns"),
    _entry("stoker:c-scan", "on_c_tar", (), ("T",), what="scan"),
    _entry("stoker:c-members", "on_c_tar", (), ("T",), what="members"),
    _entry("webdataset:inproc", "on_webdataset", ("webdataset",), ("T",), tiny=True),
    _entry("tarfile", "on_tarfile", (), ("T",)),
    *_loaders("torch_dl", False),
    *_loaders("stoker_dl", True),
)
BASE = {
    "J": "torchvision_dl:decode",
    "J-f32": "torchvision_dl:decode",
    "T": "webdataset:inproc",
    "scale": "stoker:1-thread",
    **dict.fromkeys(_M, "torch_dl@2"),
}


def open_candidate(entry: Entry, job: Job) -> Candidate:
    """Import the candidate's module, which imports its packages, and open it."""
    module = importlib.import_module(f"bench.peers.{entry.module}")
    return module.make(job, **entry.options)


def by_name(name: str) -> Entry:
    for entry in ENTRIES:
        if entry.name == name:
            return entry
    raise KeyError(name)
