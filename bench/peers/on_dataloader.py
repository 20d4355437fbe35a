"""Run M: a Python dataset of ready samples, through torch's DataLoader and through Stoker's."""

from __future__ import annotations

import torch
from torch.utils.data import Dataset

from bench.peers.candidate import Candidate, Job

SAMPLES = {"M-img": 10_240, "M-np": 10_240, "M-f32": 5_120, "M-tiny": 204_800}
READY = 64  # pictures that are handed out in turn


class Ready(Dataset):
    """A 3 x 224 x 224 picture that is there already, as a tensor or an array, and an int."""

    def __init__(self, kind: str) -> None:
        generator = torch.Generator().manual_seed(1)
        kept = torch.uint8 if kind != "M-f32" else torch.float32
        pictures = torch.randint(0, 256, (READY, 3, 224, 224), generator=generator).to(kept)
        self.pictures = [p.numpy() if kind == "M-np" else p.clone() for p in pictures]
        self.count = SAMPLES[kind]

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int):
        return self.pictures[index % READY], index


class Scalars(Dataset):
    """A dict of three scalars."""

    def __len__(self) -> int:
        return SAMPLES["M-tiny"]

    def __getitem__(self, index: int):
        return {"a": index, "b": index * 0.5, "c": index % 7}


class Loaded(Candidate):
    def __init__(self, job: Job, ours: bool, workers: int, method: str | None) -> None:
        super().__init__(job)
        torch.set_num_threads(1)
        if ours:
            from stoker.torch import DataLoader
        else:
            from torch.utils.data import DataLoader
        self.note = f"{workers} workers" + (f" by {method}" if method else "")
        self.versions = {"torch": torch.__version__}
        options = {"persistent_workers": True, "multiprocessing_context": method} if workers else {}
        data = Scalars() if job.run == "M-tiny" else Ready(job.run)
        self.loader = DataLoader(
            data, batch_size=job.batch_size, shuffle=True, num_workers=workers, **options
        )

    def epoch(self):
        for batch in self.loader:
            fields = list(batch.values()) if isinstance(batch, dict) else batch
            yield len(fields[0]), [field.numpy() for field in fields]


def make(job: Job, ours: bool, workers: int, method: str | None = None) -> Loaded:
    return Loaded(job, ours, workers, method)
