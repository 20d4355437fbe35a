"""What a training script saw: a digest of every batch and the losses, as a JSON file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

import numpy as np
import torch


def _feed(digest, thing):
    """All of a batch that a program could tell apart: types, names, shapes, bytes."""
    digest.update(type(thing).__name__.encode())
    if isinstance(thing, torch.Tensor):
        digest.update(f"{thing.dtype} {tuple(thing.shape)}".encode())
        thing = thing.detach().cpu().contiguous().reshape(-1)
        digest.update(thing.view(torch.uint8).numpy().tobytes() if thing.numel() else b"")
    elif isinstance(thing, np.ndarray):
        digest.update(f"{thing.dtype} {thing.shape}".encode() + thing.tobytes())
    elif isinstance(thing, Mapping):
        for key, value in thing.items():
            _feed(digest, key)
            _feed(digest, value)
    elif isinstance(thing, (list, tuple)):
        for name in getattr(thing, "_fields", ()):
            digest.update(name.encode())
        for value in thing:
            _feed(digest, value)
    else:
        digest.update(repr(thing).encode())


class Record:
    def __init__(self):
        self.batches = []
        self.losses = []

    def batch(self, batch):
        digest = hashlib.sha256()
        _feed(digest, batch)
        self.batches.append(digest.hexdigest())

    def loss(self, loss):
        self.losses.append(loss.item().hex())

    def write(self, path, **more):
        with open(path, "w") as file:
            json.dump({"batches": self.batches, "losses": self.losses, **more}, file)
