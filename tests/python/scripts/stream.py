"""Train on a stream: files of records, shared out to ranks and workers, shuffled through a buffer.

RANK=0 WORLD_SIZE=1 stream.py OUTPUT.json
"""

import json
import os
import pathlib
import random
import sys
import tempfile

import numpy as np
import torch
from record import Record
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.data.dataset import IterableDataset


def make_files(root, count, seed):
    rng = np.random.default_rng(seed)
    for number in range(count):
        with open(root / f"part-{number:02d}.jsonl", "w") as file:
            for _ in range(int(rng.integers(5, 25))):
                x = rng.normal(size=6).round(4)
                file.write(json.dumps({"x": x.tolist(), "y": float(x.sum())}) + "\n")


class Records(IterableDataset):
    """Every worker of every rank reads files of its own."""

    def __init__(self, root, rank, world_size, buffer=16):
        self.files = sorted(root.glob("*.jsonl"))
        self.rank = rank
        self.world_size = world_size
        self.buffer = buffer

    def my_files(self):
        info = torch.utils.data.get_worker_info()
        worker, workers = (0, 1) if info is None else (info.id, info.num_workers)
        return self.files[self.rank * workers + worker :: self.world_size * workers]

    def records(self):
        files = self.my_files()
        random.shuffle(files)
        for path in files:
            with open(path) as file:
                for line in file:
                    record = json.loads(line)
                    x = np.asarray(record["x"], np.float32)
                    yield x + np.random.normal(0, 0.01, 6).astype(np.float32), record["y"]

    def __iter__(self):
        held = []
        for record in self.records():
            held.append(record)
            if len(held) == self.buffer:
                yield held.pop(random.randrange(self.buffer))
        random.shuffle(held)
        yield from held


def main(output):
    torch.manual_seed(2)
    random.seed(2)
    np.random.seed(2)
    rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        make_files(root, 9, seed=5)
        loader = DataLoader(Records(root, rank, world_size), batch_size=6, num_workers=2)
        model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        record = Record()
        for _ in range(2):
            for x, y in loader:
                record.batch([x, y])
                loss = nn.functional.mse_loss(model(x).squeeze(1), y.float())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                record.loss(loss)
    record.write(output, draws=torch.rand(2).tolist())


if __name__ == "__main__":
    main(sys.argv[1])
