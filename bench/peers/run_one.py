"""One candidate, one job, one fresh process: run by the harness, speaks JSON lines on its output.

The first epoch gives the first batch and memory, the ones after it give the rate. Every batch is
read in full, as a sum of 64-bit words, so that nobody wins by handing out what nobody looks at.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import fields

import numpy as np

from bench.peers import tree
from bench.peers.candidate import Candidate, Job, by_name, open_candidate


def word_sum(array: np.ndarray) -> int:
    """The sum, modulo 2^64, of the array's bytes taken as 64-bit words, the last one filled up."""
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    whole = flat.size // 8 * 8
    total = int(flat[:whole].view(np.uint64).sum(dtype=np.uint64))
    rest = int.from_bytes(flat[whole:].tobytes(), "little")
    return (total + rest) % 2**64


def tell(event: str, **facts) -> None:
    print(json.dumps({"event": event, **facts}), flush=True)


def run_epoch(candidate: Candidate, begun: float, announce: bool) -> dict:
    """Take one epoch. Times count from `begun`."""
    samples, total, first = 0, 0, 0.0
    arrivals = []
    for count, arrays in candidate.epoch():
        arrivals.append(time.perf_counter())
        if not first:
            first = arrivals[0] - begun
            if announce:
                tell("first_batch")
        for array in arrays:
            total = (total + word_sum(array)) % 2**64
        samples += count
        if candidate.limit and samples >= candidate.limit:
            break
    ended = time.perf_counter()
    gaps = np.diff(np.array(arrivals)) if len(arrivals) > 1 else np.array([ended - begun])
    return {
        "samples": samples,
        "batches": len(arrivals),
        "seconds": ended - begun,
        "first_batch_s": first,
        "gap_p50_ms": float(np.percentile(gaps, 50)) * 1e3,
        "gap_p99_ms": float(np.percentile(gaps, 99)) * 1e3,
        "sum": total,
    }


def measure(candidate: Candidate, job: Job, begun: float) -> dict:
    """The first epoch, then the measured ones together."""
    first = run_epoch(candidate, begun, announce=True)
    tell("first_epoch_done")  # the harness stops looking at memory
    # No pause: what is read ahead here is read ahead at the end of the last epoch, too.
    cpu, busy, clock = tree.cpu_seconds(), tree.machine_busy_seconds(), time.perf_counter()
    epochs = [run_epoch(candidate, time.perf_counter(), False) for _ in range(job.epochs)]
    seconds = time.perf_counter() - clock
    cpu = tree.cpu_seconds() - cpu
    busy = tree.machine_busy_seconds() - busy
    samples = sum(epoch["samples"] for epoch in epochs)
    return {
        "samples": samples,
        "seconds": seconds,
        "rate": samples / seconds,
        "cpu_per_1000": cpu / samples * 1000,
        "first_batch_s": first["first_batch_s"],
        "next_first_batch_s": epochs[0]["first_batch_s"],
        "gap_p50_ms": float(np.median([epoch["gap_p50_ms"] for epoch in epochs])),
        "gap_p99_ms": max(epoch["gap_p99_ms"] for epoch in epochs),
        "sums": [first["sum"], *(epoch["sum"] for epoch in epochs)],
        "foreign_cpu": max(busy - cpu, 0) / seconds,
        "main_peak_rss": tree.peak_rss_bytes(),
    }


def main() -> int:
    entry = by_name(sys.argv[1])
    given = json.loads(sys.argv[2])
    job = Job(**{f.name: given[f.name] for f in fields(Job) if f.name in given})
    begun = time.perf_counter()
    module_begun = begun
    __import__(f"bench.peers.{entry.module}")
    import_s = time.perf_counter() - module_begun
    begun = time.perf_counter()
    candidate = open_candidate(entry, job)
    own = getattr(candidate, "measure", None)  # programs that are no Python measure themselves
    result = own() if own is not None else measure(candidate, job, begun)
    result |= {"import_s": import_s, "note": candidate.note, "versions": candidate.versions}
    tell("result", **result)
    candidate.close()
    sys.stdout.flush()
    os._exit(0)  # a peer that hangs in its destructors must not hang the run


if __name__ == "__main__":
    sys.exit(main())
