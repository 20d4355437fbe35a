"""The same loading by Stoker and by torch's DataLoader with torchvision, in turns.

Both read the same crops, cut, resize, flip and normalise them alike, and make the same float32
batches; nothing is trained. Each round is one epoch of each. The clock starts after the first few
batches, so that neither gains from what it read ahead.
"""

from __future__ import annotations

import csv
import importlib.util
import os
import signal
import statistics
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from bench.peers import tree

from . import show, training
from .packing import Crops

SKIPPED = 4  # batches before the clock starts
WORKERS = 2


def _pass_over(batches: Iterable) -> tuple[float, float]:
    """(pictures a second, CPU seconds for 1,000) of one epoch; every value of a batch is read."""
    count, begun, cpu = 0, 0.0, 0.0
    for number, (images, labels) in enumerate(batches):
        if number == SKIPPED:
            begun, cpu = time.perf_counter(), tree.cpu_seconds()
        images.sum().item()
        count += len(labels) if number > SKIPPED else 0
    seconds, cpu = time.perf_counter() - begun, tree.cpu_seconds() - cpu
    return count / seconds, cpu / count * 1000


class _Files:
    """A map-style dataset of the crops, as torchvision's users write it."""

    def __init__(self, folder: Path) -> None:
        from torchvision.transforms import v2

        with open(folder / "train.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.paths = [str(folder / row["path"]) for row in rows]
        self.labels = [int(row["label"]) for row in rows]
        self.transform = v2.Compose(
            [
                v2.RandomResizedCrop(training.SIZE, scale=(0.25, 1.0), antialias=True),
                v2.RandomHorizontalFlip(),
                v2.ToDtype(training.torch.float32, scale=True),
                v2.Normalize(training.MEAN, training.STD),
            ]
        )

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int):
        from torchvision.io import ImageReadMode, decode_image

        picture = decode_image(self.paths[index], mode=ImageReadMode.RGB)
        return self.transform(picture), self.labels[index]


def _start_worker(_number: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's; it ends its workers
    training.torch.set_num_threads(1)


def _torch_loader(folder: Path):
    from torch.utils.data import DataLoader

    return DataLoader(
        _Files(folder),  # type: ignore[arg-type]
        batch_size=training.BATCH,
        shuffle=True,
        drop_last=True,
        num_workers=WORKERS,
        persistent_workers=True,
        worker_init_fn=_start_worker,
    )


def _why_not() -> str | None:
    """Why torch's part cannot be run here."""
    if importlib.util.find_spec("torchvision") is None:
        return "torchvision is not installed, so there is nothing to compare with"
    try:
        from torchvision.io import decode_image  # noqa: F401
        from torchvision.transforms import v2  # noqa: F401
    except Exception as error:  # a torchvision of another torch fails in many ways
        return f"torchvision cannot be used here ({error})"
    return None


def _rounds(loaders: dict[str, Iterable], rounds: int) -> Iterator[tuple[str, float, float]]:
    for number in range(rounds):
        for name, loader in loaders.items():
            rate, cpu = _pass_over(loader)
            show.progress(number + 1, rounds, "rounds")
            yield name, rate, cpu


def run(crops: Crops, shards: dict[str, str], rounds: int) -> None:
    """Load the training crops by both, and show the rates."""
    reason = _why_not()
    show.line("\n    Loading alone, the same crops and transforms, in turns:\n")
    with training.open_loader(shards["train"]) as ours:
        loaders: dict[str, Iterable] = {"stoker": ours}
        if reason is None:
            loaders[f"torch DataLoader, {WORKERS} workers"] = _torch_loader(crops.folder)
        rates: dict[str, list[float]] = {name: [] for name in loaders}
        costs: dict[str, list[float]] = {name: [] for name in loaders}
        for name, rate, cpu in _rounds(loaders, rounds):
            rates[name].append(rate)
            costs[name].append(cpu)
    best = max(statistics.median(values) for values in rates.values())
    for name, values in rates.items():
        middle = statistics.median(values)
        show.line(
            f"    {name:<27} {middle:7,.0f} pictures/s ({min(values):,.0f}-{max(values):,.0f})  "
            f"{statistics.median(costs[name]):5.2f} CPU s per 1,000  {show.bar(middle / best, 24)}"
        )
    if reason is not None:
        show.line(f"    {reason}.")
    else:
        (_, own), (_, other) = rates.items()
        ratio = statistics.median(a / b for a, b in zip(own, other, strict=True))
        cores = len(os.sched_getaffinity(0))
        show.line(f"    Stoker loads {ratio:.1f} times as fast on the same {cores} cores.")
