"""NVIDIA DALI on the CPU: readers.webdataset, crop in the decoder, antialiased resize."""

from __future__ import annotations

import os
import tarfile

import numpy as np
import nvidia.dali as dali
from nvidia.dali import fn, pipeline_def, types

from bench.peers import data
from bench.peers.candidate import MEAN, STD, Candidate, Job


def _index(shard: str) -> str:
    """DALI's own index of a shard (wds2idx, version 1.2), made beforehand."""
    path = shard + ".idx"
    if not os.path.exists(path):
        samples: dict[str, list[tuple[str, int, int, str]]] = {}
        with tarfile.open(shard) as archive:
            for member in archive:
                key, _, extension = member.name.partition(".")
                entry = (extension, member.offset_data, member.size, member.name)
                samples.setdefault(key, []).append(entry)
        with open(path, "w", encoding="ascii") as file:
            file.write(f"v1.2 {len(samples)}\n")
            for members in samples.values():
                file.write(" ".join(f"{e} {o} {s} {n}" for e, o, s, n in members) + "\n")
    return path


@pipeline_def(enable_conditionals=False)
def _pipeline(shards: list[str], size: int, floats: bool):
    encoded, label = fn.readers.webdataset(
        paths=shards,
        index_paths=[_index(shard) for shard in shards],
        ext=["jpg", "cls"],
        random_shuffle=True,
        initial_fill=1000,
        missing_component_behavior="error",
        dont_use_mmap=False,
        name="reader",
    )
    images = fn.decoders.image_random_crop(
        encoded,
        device="cpu",
        output_type=types.RGB,
        random_area=[0.08, 1.0],
        random_aspect_ratio=[3 / 4, 4 / 3],
        num_attempts=10,
    )
    mirror = fn.random.coin_flip(probability=0.5)
    if floats:
        images = fn.resize(images, size=[size, size], interp_type=types.INTERP_LINEAR)
        images = fn.crop_mirror_normalize(
            images,
            mirror=mirror,
            dtype=types.FLOAT,
            output_layout="CHW",
            mean=[255 * v for v in MEAN],
            std=[255 * v for v in STD],
        )
    else:
        images = fn.resize(images, size=[size, size], interp_type=types.INTERP_LINEAR)
        images = fn.flip(images, horizontal=mirror)
    return images, fn.pad(label, fill_value=0)


class Dali(Candidate):
    note = "antialias; decodes the crop only; uint8 NHWC"

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        if job.floats:
            self.note = "antialias; decodes the crop only; float32 NCHW"
        self.versions = {"dali": dali.__version__}
        self.pipe = _pipeline(
            data.expand(job.shards),
            job.size,
            job.floats,
            batch_size=job.batch_size,
            num_threads=job.workers,
            device_id=None,
            prefetch_queue_depth=2,
        )
        self.pipe.build()
        self.samples = self.pipe.reader_meta("reader")["epoch_size"]

    def epoch(self):
        done = 0
        while done < self.samples:  # DALI wraps the last batch around
            images, labels = self.pipe.run()
            count = min(len(images), self.samples - done)
            done += len(images)
            yield count, (np.asarray(images.as_array()), np.asarray(labels.as_array()))


def make(job: Job) -> Dali:
    return Dali(job)
