"""Run `life`: what a DataLoader costs beside its batches, torch's and Stoker's in turn.

    python -m bench.peers.loader_life [--rounds N] [--json FILE]

Each figure comes from a process of its own, both loaders in turn in each round; the table shows medians.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

from bench.peers import machine, tree
from bench.peers.alone import Shim

MODULES = {"torch": "torch.utils.data", "stoker": "stoker.torch"}
KINDS = tuple(MODULES)
STEP = 0.08  # seconds that a consumer takes for a batch where it is said to be slow
IDLE = 10.0  # seconds without a task


def _loader(kind: str, run: str = "M-img", **options):
    import torch

    torch.set_num_threads(1)
    from bench.peers.on_dataloader import Ready

    if kind == "stoker":
        from stoker.torch import DataLoader
    else:
        from torch.utils.data import DataLoader
    options = {"batch_size": 256, "shuffle": True, "num_workers": 2, **options}
    return DataLoader(Ready(run), **options)


def _first(kind: str, method: str) -> dict:
    """Seconds to the first batch of three epochs without persistent workers."""
    loader = _loader(kind, multiprocessing_context=method)
    taken = []
    for _ in range(3):
        begin = time.perf_counter()
        iterator = iter(loader)
        next(iterator)
        taken.append(time.perf_counter() - begin)
        del iterator
    return {"first_ms": taken[0] * 1e3, "later_ms": statistics.median(taken[1:]) * 1e3}


def _imported(module: str) -> dict:
    """Seconds that a new interpreter needs to import it."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
    return {"taken_ms": (time.perf_counter() - begin) * 1e3}


def _gap(kind: str, shuffle: bool) -> dict:
    """Between the last batch of an epoch and the first of the next, beside a batch in flow."""
    loader = _loader(kind, shuffle=shuffle, persistent_workers=True)
    gaps, flow, last = [], [], None
    for _ in range(5):
        for nth, _batch in enumerate(loader):
            now = time.perf_counter()
            if last is not None:
                (flow if nth else gaps).append(now - last)
            time.sleep(STEP)  # a step of training
            last = time.perf_counter()
    return {"gap_ms": statistics.median(gaps) * 1e3, "flow_ms": statistics.median(flow) * 1e3}


def _idle(kind: str) -> dict:
    """CPU seconds of a process with eight workers that have nothing to do."""
    loader = _loader(kind, num_workers=8, persistent_workers=True)
    for _batch in loader:
        pass
    del _batch
    time.sleep(1)
    before = tree.cpu_seconds()
    time.sleep(IDLE)
    return {"cpu_ms": (tree.cpu_seconds() - before) * 1e3}


def _next(kind: str, run: str) -> dict:
    """Inside next(), a batch being ready: CPU time of the consumer's thread, and time with the GIL held.

    The second needs `bench/pipeline/gil_shim.c` in front of Python (see `alone.Shim`); without it it is not given.
    """
    loader = _loader(kind, run, persistent_workers=True)
    shim = Shim()
    cpu, held = [], []
    for _ in range(3):
        iterator = iter(loader)
        batch = next(iterator)
        while batch is not None:
            until = time.perf_counter() + STEP / 2
            while time.perf_counter() < until:
                pass
            held_before, cpu_before = shim.attached_ns(), time.thread_time_ns()
            batch = next(iterator, None)
            cpu_after, held_after = time.thread_time_ns(), shim.attached_ns()
            cpu.append((cpu_after - cpu_before) / 1e3)
            held.append((held_after - held_before) / 1e3)
    found = {"cpu_us": statistics.median(cpu)}
    if shim.saves() > len(cpu):
        found["held_us"] = statistics.median(held)
    return found


def _memory(kind: str, run: str, method: str) -> dict:
    """Most memory of the tree while a slow consumer takes two epochs: PSS, and with all shared memory.

    The machine's shared memory before is taken off the second.
    """
    pid = os.getpid()
    before = tree.memory_with_shared_bytes(pid) - tree.memory_bytes(pid)[1]
    loader = _loader(kind, run, persistent_workers=True, multiprocessing_context=method)
    peaks, done = [0, 0], threading.Event()

    def look() -> None:
        while not done.wait(0.05):
            peaks[0] = max(peaks[0], tree.memory_bytes(pid)[1])
            peaks[1] = max(peaks[1], tree.memory_with_shared_bytes(pid) - before)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        for _ in range(2):
            for _batch in loader:
                time.sleep(STEP * (4 if run == "M-f32" else 1))
    finally:  # a failure must not leave a thread that looks for ever
        done.set()
        watcher.join()
    return {"pss_mb": peaks[0] / 1e6, "all_mb": peaks[1] / 1e6}


FIGURES = {
    "first batch, fork": lambda kind: _first(kind, "fork"),
    "first batch, spawn": lambda kind: _first(kind, "spawn"),
    "first batch, forkserver": lambda kind: _first(kind, "forkserver"),
    "a new interpreter's import": lambda kind: _imported(MODULES[kind]),
    "between epochs, shuffled": lambda kind: _gap(kind, True),
    "between epochs, in order": lambda kind: _gap(kind, False),
    "8 idle workers, 10 s": _idle,
    "next(), uint8 pictures": lambda kind: _next(kind, "M-img"),
    "next(), float32 pictures": lambda kind: _next(kind, "M-f32"),
    "memory, slow consumer, uint8, fork": lambda kind: _memory(kind, "M-img", "fork"),
    "memory, slow consumer, float32, fork": lambda kind: _memory(kind, "M-f32", "fork"),
    "memory, slow consumer, uint8, spawn": lambda kind: _memory(kind, "M-img", "spawn"),
}


def _measured(figure: str, kind: str) -> dict:
    command = [sys.executable, "-m", "bench.peers.loader_life", "--one", figure, kind]
    shim = Path("build", "bench", "libgil_shim.so").resolve()
    before = {"LD_PRELOAD": str(shim)} if figure.startswith("next") and shim.is_file() else {}
    environment = {**os.environ, **before}
    out = subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment
    ).stdout
    return json.loads(out.splitlines()[-1])


def _table(results: dict) -> str:
    rows = ["| figure | torch | stoker |", "|---|---|---|"]
    for figure, by_kind in results.items():
        names = next(iter(by_kind.values()))[0]
        for name in names:
            cells = [f"{statistics.median(r[name] for r in by_kind[kind]):.3g}" for kind in KINDS]
            what, unit = name.rsplit("_", 1)
            rows.append(f"| {figure}: {what}, {unit} | {cells[0]} | {cells[1]} |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.peers.loader_life")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help="a word that the figure's name contains")
    parser.add_argument("--json", help="write all results here")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(FIGURES[args.one[0]](args.one[1])))
        return
    chosen = [name for name in FIGURES if not args.only or args.only in name]
    results: dict = {name: {kind: [] for kind in KINDS} for name in chosen}
    for nth in range(args.rounds):
        for name in chosen:
            for kind in KINDS if nth % 2 == 0 else KINDS[::-1]:
                results[name][kind].append(_measured(name, kind))
    facts = machine.describe()
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"machine": facts, "results": results}, file, indent=1)
    print(f"{args.rounds} rounds. {machine.sentence(facts)}\n\n{_table(results)}")


if __name__ == "__main__":
    main()
