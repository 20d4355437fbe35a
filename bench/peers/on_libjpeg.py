"""libjpeg-turbo alone: whole pictures, default settings, threads over files, nothing else done."""

from __future__ import annotations

from bench.peers import data
from bench.peers.candidate import Job
from bench.peers.program import Program


def make(job: Job) -> Program:
    program = f"{job.build}/bench/jpeg_whole"
    arguments = [program, str(job.workers), str(1 + job.epochs)]
    candidate = Program(job, arguments, [path for path, _ in data.rows_of_job(job)])
    candidate.note = "decodes whole pictures, no crop, no resize, no batch"
    return candidate
