"""Stoker, run J: from tar shards or from the folder of pictures."""

from __future__ import annotations

import os

import stoker
from stoker import Image, Label
from stoker import transforms as T

from bench.peers.candidate import MEAN, STD, Candidate, Job


class Stoker(Candidate):
    note = "antialias; decodes the crop only; uint8 NCHW"

    def __init__(self, job: Job, folder: bool, threads: int) -> None:
        super().__init__(job)
        chain: list = [T.RandomResizedCrop(job.size), T.RandomHorizontalFlip()]
        if job.floats:
            chain.append(T.Normalize(MEAN, STD))
            self.note = "antialias; decodes the crop only; float32 NCHW"
        self.versions = {"stoker": stoker.__version__}
        self.loader = stoker.Loader(
            os.path.join(job.folder, "train") if folder else job.shards,
            image=Image("jpg", *chain, layout="NCHW", dtype="float32" if job.floats else "uint8"),
            label=Label("cls"),
            batch_size=job.batch_size,
            shuffle=True,
            seed=7,
            threads=threads or job.workers,
        )

    def epoch(self):
        for batch in self.loader:
            yield len(batch.label), (batch.image, batch.label)

    def close(self) -> None:
        self.loader.close()


def make(job: Job, folder: bool = False, threads: int = 0) -> Stoker:
    return Stoker(job, folder, threads)
