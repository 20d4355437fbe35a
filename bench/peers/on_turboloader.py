"""TurboLoader: its fused training path, which makes float32 only."""

from __future__ import annotations

import numpy as np
import turboloader

from bench.peers.candidate import Candidate, Job


class Turboloader(Candidate):
    def __init__(self, job: Job, antialias: bool) -> None:
        super().__init__(job)
        self.note = ("antialias" if antialias else "no antialias") + (
            "; decodes the crop only; float32, no labels"
        )
        self.versions = {"turboloader": turboloader.__version__}
        self.loader = turboloader.DataLoader(
            job.one_tar,
            batch_size=job.batch_size,
            num_workers=job.workers,
            shuffle=True,
            transform=turboloader.ImageNetNormalize(),
            image_size=job.size,
            output_format="numpy_chw",
            train_aug=True,
            antialias=antialias,
        )
        self.number = 0

    def epoch(self):
        self.loader.set_epoch(self.number)
        self.number += 1
        for batch in self.loader:
            images = batch[0] if isinstance(batch, tuple) else batch
            yield len(images), (np.asarray(images),)


def make(job: Job, antialias: bool) -> Turboloader:
    return Turboloader(job, antialias)
