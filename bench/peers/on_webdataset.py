"""webdataset: run J with torchvision's decoder in workers, run T in the caller's process."""

from __future__ import annotations

import numpy as np
import webdataset as wds

from bench.peers import data
from bench.peers.candidate import Candidate, Job


class Pictures(Candidate):
    note = "decode_image; antialias; whole pictures"

    def __init__(self, job: Job) -> None:
        import torch
        import torchvision
        from torchvision.io import ImageReadMode, decode_image

        from bench.peers.on_torchvision import chain

        super().__init__(job)
        torch.set_num_threads(1)
        transform = chain(job)

        def picture(encoded: bytes):
            encoded_tensor = torch.frombuffer(bytearray(encoded), dtype=torch.uint8)
            return transform(decode_image(encoded_tensor, mode=ImageReadMode.RGB))

        self.versions = {
            "webdataset": wds.__version__,
            "torch": torch.__version__,
            "torchvision": torchvision.__version__,
        }
        pipeline = (
            wds.WebDataset(data.expand(job.shards), shardshuffle=8, empty_check=False)
            .shuffle(500)
            .to_tuple("jpg", "cls")
            .map_tuple(picture, int)
            .batched(job.batch_size)
        )
        self.loader = wds.WebLoader(
            pipeline,
            batch_size=None,
            num_workers=job.workers,
            persistent_workers=job.workers > 0,
        )

    def epoch(self):
        for images, labels in self.loader:
            yield len(labels), (np.asarray(images), np.asarray(labels))


class Tiny(Candidate):
    note = "a dict for each sample, one process"
    limit = 100_000

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.versions = {"webdataset": wds.__version__}
        self.dataset = wds.WebDataset(data.expand(job.shards), shardshuffle=False)

    def epoch(self):
        count, texts = 0, []
        for sample in self.dataset:
            count += 1
            texts.append(sample["txt"])
            texts.append(sample["cls"])
            if count == self.job.batch_size:
                yield count, (np.frombuffer(b"".join(texts), dtype=np.uint8),)
                count, texts = 0, []
        if count:
            yield count, (np.frombuffer(b"".join(texts), dtype=np.uint8),)


def make(job: Job, tiny: bool = False) -> Candidate:
    return Tiny(job) if tiny else Pictures(job)
