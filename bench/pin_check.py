#!/usr/bin/env python3
"""Pinned memory of stoker.torch.DataLoader on a real GPU: is it pinned, without a copy, and never overwritten too early?

    python bench/pin_check.py [--batches 2000] [--workers 2]

Ends with status 0 if all holds, or where there is no CUDA device (it says so); 1 and the first wrong thing otherwise.
"""

import argparse
import sys

import torch
from stoker.torch import DataLoader, pinned
from torch.utils.data._utils import pin_memory as torch_pin

ROWS, WIDTH = 32, 1 << 16


class Rows:
    """Rows that show their index in every element."""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return torch.full((WIDTH,), i, dtype=torch.int32), i


def loader(batches, workers, **options):
    return DataLoader(Rows(batches * ROWS), ROWS, num_workers=workers, pin_memory=True, **options)


def check(condition, what):
    if not condition:
        sys.exit(f"WRONG: {what}")


def check_pinned(workers):
    """Batches are pinned, and torch's pinning gives back the very tensor."""
    for rows, _ in loader(20, workers):
        check(rows.is_pinned(), f"{workers} workers: a batch is not pinned")
        again = torch_pin.pin_memory({"rows": rows})["rows"]
        check(again.data_ptr() == rows.data_ptr(), f"{workers} workers: pinning has copied")
    registrar = pinned._of_the_process()
    check(registrar is not None and not registrar._broken, "the arena was not registered")
    rows, _ = next(iter(loader(1, workers, register_arena=False)))
    check(rows.is_pinned(), "register_arena=False: torch has not pinned")


def busy(stream, size):
    """Work that holds the stream up, so that copies behind it are late."""
    with torch.cuda.stream(stream):
        square = torch.ones(size, size, device="cuda")
        for _ in range(4):
            square = square @ square * (1 / size)


def check_reuse(batches, workers):
    """Copies on side streams that are still pending when their batch is gone and its slot wanted again."""
    streams = [torch.cuda.Stream() for _ in range(3)]
    wrong = torch.zeros((), dtype=torch.int64, device="cuda")
    counts = []  # added up at the end only: nothing here may wait for the device
    places = set()
    for nth, (rows, _) in enumerate(loader(batches, workers)):
        stream = streams[nth % len(streams)]
        if nth % 5 == 0:
            busy(stream, 2048)
        places.add(rows.data_ptr())
        with torch.cuda.stream(stream):
            there = rows.to("cuda", non_blocking=True)
            first = nth * ROWS
            expected = torch.arange(first, first + ROWS, dtype=torch.int32, device="cuda")
            counts.append((there != expected[:, None]).sum())
            del there
        if nth % 100 == 99:
            torch.cuda.synchronize()
            wrong += torch.stack(counts).sum()
            counts.clear()
    torch.cuda.synchronize()
    if counts:
        wrong += torch.stack(counts).sum()
    check(wrong.item() == 0, f"{workers} workers: {wrong.item()} elements arrived wrong")
    check(
        len(places) < batches, f"{workers} workers: no slot was used again, so nothing was tested"
    )
    print(f"{workers} workers: {batches} batches right, through {len(places)} places")


def check_capture(workers):
    """A graph may be captured while an iterator lives, and a batch taken inside of the capture."""
    batches = iter(loader(12, workers))
    for _ in range(3):
        next(batches)
    graph = torch.cuda.CUDAGraph()
    x = torch.ones(16, device="cuda")
    with torch.cuda.graph(graph):
        y = x * 2
        next(batches)
    graph.replay()
    torch.cuda.synchronize()
    check(bool((y == 2).all()), "a graph captured around a batch is broken")
    check(len(list(batches)) == 8, "batches are missing after a capture")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batches", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    if torch.version.cuda is None or not torch.cuda.is_available():
        print("no CUDA device: nothing was checked")
        return
    torch.cuda.init()
    if pinned._of_the_process() is None:
        print("no CUDA driver of 12.5 or later: torch pins by a copy, nothing was checked")
        return
    for workers in (0, options.workers):
        check_pinned(workers)
        check_reuse(options.batches, workers)
        check_capture(workers)
    print("all right")


if __name__ == "__main__":
    main()
