"""Datasets and comparisons for the tests of `stoker.torch.DataLoader`; importable by spawned workers."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import random
import time
from collections import namedtuple

import numpy as np
import torch
from torch.utils.data import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    Subset,
    get_worker_info,
)

Point = namedtuple("Point", ["x", "y"])


@dataclasses.dataclass
class Pair:
    left: object
    right: object


class Mixed(Dataset):
    """Samples of everything that default_collate takes."""

    def __init__(self, n=37):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return {
            "image": torch.full((3, 8, 9), i % 256, dtype=torch.uint8),
            "array": np.arange(5, dtype=np.float32) + i,
            "number": i,
            "real": i * 0.5,
            "flag": i % 2 == 0,
            "scalar": np.float64(i),
            "text": f"sample {i}",
            "raw": bytes([i % 256]),
            "nested": [Point(torch.tensor(i), np.int64(i)), (i, str(i))],
            "empty": torch.empty(0, 3),
        }


class Drawn(Dataset):
    """Samples that show the random streams of whoever makes them."""

    def __init__(self, n=24):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        info = get_worker_info()
        return (
            i,
            -1 if info is None else info.id,
            0 if info is None else info.seed,
            torch.randint(1 << 40, ()).item(),
            random.getrandbits(40),
            int(np.random.randint(1 << 40)),
        )


class Stream(IterableDataset):
    """Uneven streams, a part for each worker."""

    def __init__(self, sizes=(5, 1, 3)):
        self.sizes = sizes

    def __iter__(self):
        info = get_worker_info()
        parts = range(len(self.sizes)) if info is None else [info.id]
        for part in parts:
            if part < len(self.sizes):
                yield from (torch.tensor(100 * part + k) for k in range(self.sizes[part]))


class Failing(Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, i):
        if i == 2:
            raise KeyError("sample two")
        return i


def odd_collate(samples):
    """A collation of one's own: shared, strided, Fortran, ragged and empty things."""
    base = torch.arange(24).reshape(4, 6)
    return Pair(
        {
            "strided": base.t(),
            "sliced": base[:, ::2],
            "twice": [base, base],
            "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
            "ragged": [np.arange(len(str(s)), dtype=np.int16) for s in samples],
            "objects": np.array([{"a": 1}, None], object),
            "zero": np.zeros((0, 4), np.float32),
            "half": torch.ones(3, dtype=torch.bfloat16),
            "scalar": np.array(7),
        },
        (samples, frozenset({1, 2})),
    )


def assert_same(ours, theirs, where="batch"):
    """The same values in the same types, all the way down."""
    assert type(ours) is type(theirs), where
    if isinstance(theirs, torch.Tensor):
        assert ours.dtype == theirs.dtype, where
        assert ours.shape == theirs.shape, where
        assert torch.equal(ours, theirs), where
    elif isinstance(theirs, np.ndarray):
        assert ours.dtype == theirs.dtype, where
        assert ours.shape == theirs.shape, where
        assert np.array_equal(ours, theirs), where
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs), where
        for key in theirs:
            assert_same(ours[key], theirs[key], f"{where}[{key!r}]")
    elif isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs), where
        for nth, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            assert_same(a, b, f"{where}[{nth}]")
    elif dataclasses.is_dataclass(theirs):
        for field in dataclasses.fields(theirs):
            assert_same(
                getattr(ours, field.name), getattr(theirs, field.name), f"{where}.{field.name}"
            )
    else:
        assert ours == theirs, where


class Rows:
    """Rows that show their index in every byte."""

    def __init__(self, n=64, width=5000):
        self.n = n
        self.width = width

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return torch.full((self.width,), i % 251, dtype=torch.uint8), i


def right(batch):
    """Are the rows of a batch of `Rows` those of its indices?"""
    rows, indices = batch
    return all((row == i % 251).all() for row, i in zip(rows, indices.tolist(), strict=True))


def outcomes(loader):
    """What each step of an epoch gives: a number, or the kind and the words of its error."""
    out = []
    iterator = iter(loader)
    while True:
        try:
            out.append(next(iterator).item())
        except StopIteration:
            return out
        except KeyError as error:
            lines = str(error).splitlines()
            out.append((type(error).__mro__[1], lines[0].replace("thread", "process"), lines[-1]))


def quiet():
    """The environment of a program of which every word counts: torch warns of more workers than there are CPUs."""
    return {**os.environ, "PYTHONWARNINGS": "ignore:This DataLoader will create"}


def shared_files():
    """Files of this process under /dev/shm, where others of the machine have theirs, too."""
    named = [name for name in os.listdir("/dev/shm") if name.startswith(f"torch_{os.getpid()}_")]
    return named, pathlib.Path("/proc/self/maps").read_text().count("/dev/shm")


def gone(pid):
    """Has a process ended?"""
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0]
        threads = len(os.listdir(f"/proc/{pid}/task"))
    except (FileNotFoundError, ProcessLookupError):  # before it was opened, before it was read
        return True
    return state == "Z" and threads == 1  # all of it has; nobody has fetched its exit code


def wait_gone(pids, seconds):
    """Do they end within so many seconds?"""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if all(gone(pid) for pid in pids):
            return True
        time.sleep(0.02)
    return False


def datasets_made_of_others():
    return (
        ConcatDataset([Mixed(7), Mixed(6)]),
        Subset(Mixed(), [3, 4, 9, 30]),
        ChainDataset([Stream((2, 2)), Stream((3,))]),
        [1, 2, 3, 4, 5],
        range(9),
    )
