"""Stoker, run T: tiny samples as dicts, one by one, and as columns of a batch."""

from __future__ import annotations

import numpy as np
import stoker
from stoker import Bytes, Label

from bench.peers.candidate import Candidate, Job


class Dicts(Candidate):
    """Iteration of the dataset: a dict of bytes-like fields for each sample."""

    note = "a dict of fields for each sample, one thread"

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.versions = {"stoker": stoker.__version__}
        self.dataset = stoker.open(job.shards)

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


class Columns(Candidate):
    """The loader: text as one blob with offsets, class as an array of int64."""

    note = "columns of a batch"

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.versions = {"stoker": stoker.__version__}
        self.loader = stoker.Loader(
            job.shards,
            text=Bytes("txt"),
            label=Label("cls"),
            batch_size=job.batch_size,
            shuffle=False,
            threads=job.workers,
        )

    def epoch(self):
        for batch in self.loader:
            text, offsets = batch.column("text")
            yield len(batch.label), (text, offsets, batch.label)

    def close(self) -> None:
        self.loader.close()


def make(job: Job, what: str) -> Candidate:
    return Dicts(job) if what == "dicts" else Columns(job)
