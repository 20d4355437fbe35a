"""Candidates that are programs: they measure themselves and print one JSON object a line."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

from bench.peers import tree
from bench.peers.candidate import Candidate, Job


class Program(Candidate):
    """A C program that prints, for each pass, {"samples", "seconds", "cpu_seconds", "sum"}."""

    def __init__(self, job: Job, arguments: list[str], paths: list[str]) -> None:
        super().__init__(job)
        self.arguments = arguments
        self.paths = paths
        if not Path(arguments[0]).is_file():
            raise FileNotFoundError(f"{arguments[0]} is not built; build with -Dbench=true")

    def measure(self) -> dict:
        """Run it: the first pass warms, the others count."""
        cpu, busy, begun = tree.cpu_seconds(), tree.machine_busy_seconds(), time.perf_counter()
        done = subprocess.run(
            self.arguments, input="\n".join(self.paths), capture_output=True, text=True, check=True
        )
        seconds = time.perf_counter() - begun
        foreign = tree.machine_busy_seconds() - busy - (tree.cpu_seconds() - cpu)
        passes = [json.loads(line) for line in done.stdout.splitlines()]
        counted = passes[1:]
        samples = sum(p["samples"] for p in counted)
        counted_s = sum(p["seconds"] for p in counted)
        return {
            "foreign_cpu": max(foreign, 0) / seconds,
            "samples": samples,
            "seconds": counted_s,
            "rate": samples / counted_s,
            "cpu_per_1000": sum(p["cpu_seconds"] for p in counted) / samples * 1000,
            "sums": [p["sum"] for p in passes],
            "main_peak_rss": max(p["peak_rss_bytes"] for p in passes),
        }
