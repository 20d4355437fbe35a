"""Runs of Stoker alone: `first`, time to the first batch, and `gil`, time with the GIL held."""

from __future__ import annotations

import ctypes
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from bench.peers import data, harness, machine

STARTS = 20


def _loader(shards: str, threads: int, batch_size: int):
    import stoker
    from stoker import Image, Label
    from stoker import transforms as T

    return stoker.Loader(
        shards,
        image=Image("jpg", T.RandomResizedCrop(224), T.RandomHorizontalFlip()),
        label=Label("cls"),
        batch_size=batch_size,
        shuffle=True,
        seed=7,
        threads=threads,
    )


def first_batch(shards: str, threads: int, batch_size: int) -> dict:
    """From Loader(...) to its first batch, against what a batch takes when the loader is running.

    Each start is a new loader on a warm, indexed dataset. The time of a batch in full flow is taken
    from the next six batches of the same loader.
    """
    for _batch in _loader(shards, threads, batch_size):
        break  # the index is made, pages and code are warm
    starts, flows = [], []
    for _ in range(STARTS):
        begun = time.perf_counter()
        loader = _loader(shards, threads, batch_size)
        batches = iter(loader)
        next(batches)
        starts.append(time.perf_counter() - begun)
        begun, rows = time.perf_counter(), 0
        for number, batch in enumerate(batches):
            rows += len(batch.label)
            if number == 5:
                break
        flows.append((time.perf_counter() - begun) / rows * batch_size)
        loader.close()
    over = [start - flow for start, flow in zip(starts, flows, strict=True)]
    return {
        "first_batch_ms": statistics.median(starts) * 1e3,
        "batch_in_flow_ms": statistics.median(flows) * 1e3,
        "over_ms": statistics.median(over) * 1e3,
        "over_ms_min_max": [min(over) * 1e3, max(over) * 1e3],
        "starts": STARTS,
    }


class Shim:
    """Time with the GIL held, by bench/pipeline/gil_shim.c; `counts` is False where it cannot."""

    def __init__(self) -> None:
        self.library = ctypes.PyDLL(None)  # PyDLL: its calls keep the GIL
        self.counts = hasattr(self.library, "gil_shim_attached_ns")
        if self.counts:
            for name in ("gil_shim_attached_ns", "gil_shim_saves"):
                getattr(self.library, name).restype = ctypes.c_uint64

    def attached_ns(self) -> int:
        return self.library.gil_shim_attached_ns() if self.counts else 0

    def saves(self) -> int:
        return self.library.gil_shim_saves() if self.counts else 0


def gil(shards: str, threads: int, batch_size: int) -> dict:
    """Time that the consumer holds the GIL inside next(), a batch; medians over an epoch.

    `held_us` is measured where the GIL is given back and taken again. `next_cpu_us` is the CPU time
    of the thread inside next(): a bound from above that needs no shim, but it counts what the
    engine does in the caller's thread without the GIL, too. `views_us` is making the arrays that
    the consumer asks for, with the GIL.
    """
    shim = Shim()
    held, cpu, views = [], [], []
    with _loader(shards, threads, batch_size) as loader:
        for epoch in range(3):
            source = iter(loader)
            while True:
                held_before, cpu_before = shim.attached_ns(), time.thread_time_ns()
                batch = next(source, None)
                cpu_after, held_after = time.thread_time_ns(), shim.attached_ns()
                if batch is None:
                    break
                _image, _label = batch.image, batch.label
                views_after = shim.attached_ns() if shim.counts else time.thread_time_ns()
                if epoch > 0:
                    held.append((held_after - held_before) / 1e3)
                    cpu.append((cpu_after - cpu_before) / 1e3)
                    began = held_after if shim.counts else cpu_after
                    views.append((views_after - began) / 1e3)
                del batch, _image, _label
    result = {
        "next_cpu_us": statistics.median(cpu),
        "views_us": statistics.median(views),
        "batches": len(cpu),
    }
    if shim.saves() > len(cpu):
        result |= {"held_us": statistics.median(held), "held_us_max": max(held)}
    return result


def _environment(args) -> dict[str, str]:
    """With the shim in front of Python, for `gil`."""
    shim = Path(args.build, "bench", "libgil_shim.so").resolve()
    if args.run != "gil" or not shim.is_file():
        return dict(os.environ)
    return {**os.environ, "LD_PRELOAD": str(shim)}


def main(args, say) -> int:
    """Run `first` or `gil` in a fresh process for each round."""
    cache = Path(args.cache).resolve()
    cache.mkdir(parents=True, exist_ok=True)
    shards = data.shards(cache, data.pictures(cache, args.folder, say).resolve())
    rounds = []
    for number in range(args.rounds):
        call = [sys.executable, "-m", "bench.peers.alone", args.run, shards]
        call += [str(args.workers), str(args.batch_size)]
        harness.wait_for_quiet(args.patience)
        done = subprocess.run(call, capture_output=True, text=True, env=_environment(args))
        if done.returncode != 0:
            say(done.stderr.strip()[-2000:])
            return 1
        rounds.append(json.loads(done.stdout))
        say(f"round {number + 1}/{args.rounds}  {done.stdout.strip()}")
    facts = machine.describe()
    print(f"Run {args.run}: {args.rounds} rounds, batch {args.batch_size}.", end=" ")
    print(f"{machine.sentence(facts)}.\n")
    print("| what | median of the rounds | min-max |\n|---|---|---|")
    for key in rounds[0]:
        values = [r[key] for r in rounds if not isinstance(r[key], list)]
        if values:
            spread = f"{min(values):.4g}-{max(values):.4g}"
            print(f"| {key} | {statistics.median(values):.4g} | {spread} |")
    if args.json:
        whole = {"run": args.run, "machine": facts, "rounds": rounds}
        Path(args.json).write_text(json.dumps(whole, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    _run, _shards, _threads, _batch = sys.argv[1:5]
    if _run == "first":
        print(json.dumps(first_batch(_shards, int(_threads), int(_batch))))
    else:
        print(json.dumps(gil(_shards, int(_threads), int(_batch))))
