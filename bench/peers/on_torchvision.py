"""torchvision v2 under torch.utils.data.DataLoader: what most people run."""

from __future__ import annotations

import torch
import torchvision
from torch.utils.data import DataLoader, Dataset
from torchvision.io import ImageReadMode, decode_image
from torchvision.transforms import v2

from bench.peers import data
from bench.peers.candidate import MEAN, STD, Candidate, Job


def chain(job: Job, pil: bool = False) -> v2.Compose:
    """The transforms of run J."""
    steps: list = [v2.RandomResizedCrop(job.size, antialias=True), v2.RandomHorizontalFlip()]
    if pil:
        steps.append(v2.PILToTensor())
    if job.floats:
        steps += [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
    return v2.Compose(steps)


class Files(Dataset):
    """Pictures of a folder with their labels; decoded by torchvision, or by Pillow."""

    def __init__(self, job: Job, pil: bool) -> None:
        rows = data.rows_of_job(job)
        self.paths = [path for path, _ in rows]
        self.labels = [label for _, label in rows]
        self.transform = chain(job, pil)
        self.pil = pil

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int):
        path = self.paths[index]
        if self.pil:
            from PIL import Image

            with Image.open(path) as picture:
                return self.transform(picture.convert("RGB")), self.labels[index]
        return self.transform(decode_image(path, mode=ImageReadMode.RGB)), self.labels[index]


class Torchvision(Candidate):
    def __init__(self, job: Job, pil: bool) -> None:
        super().__init__(job)
        torch.set_num_threads(1)
        self.note = "Pillow" if pil else "decode_image; antialias; whole pictures"
        self.versions = {"torch": torch.__version__, "torchvision": torchvision.__version__}
        self.loader = DataLoader(
            Files(job, pil),
            batch_size=job.batch_size,
            shuffle=True,
            num_workers=job.workers,
            persistent_workers=job.workers > 0,
        )

    def epoch(self):
        for images, labels in self.loader:
            yield len(labels), (images.numpy(), labels.numpy())


def make(job: Job, pil: bool = False) -> Torchvision:
    return Torchvision(job, pil)
