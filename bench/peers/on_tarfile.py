"""Python's tarfile, run T: members read one by one and paired by hand."""

from __future__ import annotations

import platform
import tarfile

import numpy as np

from bench.peers import data
from bench.peers.candidate import Candidate, Job


class Tarfile(Candidate):
    note = "members in pairs, one process"
    limit = 100_000

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.versions = {"python": platform.python_version()}

    def epoch(self):
        count, texts = 0, []
        for path in data.expand(self.job.shards):
            with tarfile.open(path) as archive:
                for number, member in enumerate(archive):
                    texts.append(archive.extractfile(member).read())
                    count += number % 2
                    if count == self.job.batch_size:
                        yield count, (np.frombuffer(b"".join(texts), dtype=np.uint8),)
                        count, texts = 0, []
        if count:
            yield count, (np.frombuffer(b"".join(texts), dtype=np.uint8),)


def make(job: Job) -> Tarfile:
    return Tarfile(job)
