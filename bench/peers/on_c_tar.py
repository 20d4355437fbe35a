"""Stoker's C interface over tar shards, run T: members as they come, or samples of a dataset."""

from __future__ import annotations

from bench.peers import data
from bench.peers.candidate import Job
from bench.peers.program import Program


def make(job: Job, what: str) -> Program:
    arguments = [f"{job.build}/bench/tar_{what}", str(1 + job.epochs)]
    candidate = Program(job, arguments, data.expand(job.shards))
    candidate.note = {
        "members": "C, stk_tar_next, one thread; two members are one sample",
        "scan": "C, stk_scan_next, one thread",
    }[what]
    return candidate
