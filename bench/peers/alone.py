"""Runs of Stoker alone: `first`, time to the first batch, and `gil`, time with the GIL held."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

from bench.peers import data, machine

STARTS = 20
TICK_S = 20e-6  # a gap of a spinning thread longer than this is time without the GIL


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


class Spinner(threading.Thread):
    """Counts time in which it wanted to run Python and could not: GIL or core were elsewhere.

    It does nothing but look at the clock; a gap between two looks longer than TICK_S counts.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.lost_s = 0.0
        self.stop = False

    def run(self) -> None:
        clock, last = time.perf_counter, time.perf_counter()
        while not self.stop:
            now = clock()
            if now - last > TICK_S:
                self.lost_s += now - last
            last = now


def _lost_while(work) -> tuple[float, float]:
    """(seconds that a spinning Python thread lost, seconds) while `work` runs in this thread."""
    spinner = Spinner()
    spinner.start()
    time.sleep(0.05)
    lost, begun = spinner.lost_s, time.perf_counter()
    work()
    seconds, lost = time.perf_counter() - begun, spinner.lost_s - lost
    spinner.stop = True
    spinner.join()
    return lost, seconds


def gil(shards: str, batch_size: int) -> dict:
    """Time that the consumer holds the GIL, a batch: two bounds from above.

    1. CPU time of the consumer's thread inside next(): all decoding is in other threads, so what
       this thread runs is the call itself, and it holds the GIL for less than that.
    2. What a second Python thread, spinning, loses while this one iterates, less what it loses
       while this one waits on an event at the same rhythm. It counts blocking with the GIL held,
       too, and whatever the scheduler takes. One loader thread, so that spinner and loader have a
       core each.
    """
    cpu, views, batches = 0.0, 0.0, 0
    with _loader(shards, 2, batch_size) as loader:
        for epoch in range(2):
            source = iter(loader)
            while True:
                begun = time.thread_time()
                batch = next(source, None)
                between = time.thread_time()
                if batch is None:
                    break
                _image, _label = batch.image, batch.label
                if epoch:
                    cpu += between - begun
                    views += time.thread_time() - between
                    batches += 1
                del batch, _image, _label
    sys.setswitchinterval(1e-4)
    with _loader(shards, 1, batch_size) as loader:
        steps = len(loader)

        def iterate() -> None:
            for batch in loader:
                _image, _label = batch.image, batch.label

        iterate()
        lost, seconds = _lost_while(iterate)

    def wait() -> None:
        event = threading.Event()
        for _ in range(steps):
            event.wait(seconds / steps)

    idle, _ = _lost_while(wait)
    return {
        "next_cpu_us": cpu / batches * 1e6,
        "views_cpu_us": views / batches * 1e6,
        "spinner_lost_us": lost / steps * 1e6,
        "spinner_lost_waiting_us": idle / steps * 1e6,
        "spinner_difference_us": (lost - idle) / steps * 1e6,
        "batches": batches,
    }


def main(args, say) -> int:
    """Run `first` or `gil` in a fresh process for each round."""
    cache = Path(args.cache).resolve()
    cache.mkdir(parents=True, exist_ok=True)
    shards = data.shards(cache, data.pictures(cache, args.folder, say).resolve())
    rounds = []
    for number in range(args.rounds):
        call = [sys.executable, "-m", "bench.peers.alone", args.run, shards]
        call += [str(args.workers), str(args.batch_size)]
        done = subprocess.run(call, capture_output=True, text=True)
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
        print(json.dumps(gil(_shards, int(_batch))))
