"""Photographs, crops and shards: everything before the training."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sysconfig
import time
from dataclasses import dataclass
from pathlib import Path

from bench import make_data, photos

from . import show

SHARDS = 8
PACKED = "packed-of"  # file that says of which crops the shards were made


class DemoFailed(Exception):
    """The demo cannot go on; the text says why and what to do."""


@dataclass(frozen=True)
class Crops:
    """What was cut: folder with train.csv and held-out.csv, and the names of the photographs."""

    folder: Path
    classes: list[str]
    stamp: str  # changes with the data


def make_crops(args: argparse.Namespace) -> Crops:
    """Steps 1 and 2."""
    try:
        paths = photos.find(args.photos)
    except photos.NoPhotographs as error:
        raise DemoFailed(str(error)) from None
    where = args.photos or " and ".join(photos.ROOTS)
    show.line(f"    {len(paths)} photographs below {where}")
    show.step(2, "Crops: what a training set looks like, about 500x375 pixels each")
    recipe = make_data.Recipe(
        train=args.crops, held_out=args.held_out, quality=(90, 96), shrink=(1.0, 2.6)
    )
    name = "demo" if args.photos is None else f"demo-{photos.class_name(Path(args.photos))}"
    folder = Path(args.cache) / name
    try:
        made = make_data.make(
            paths, folder, recipe, say=lambda done, total: show.progress(done, total, "crops")
        )
    except OSError as error:
        raise DemoFailed(f"the crops could not be made: {error}") from error
    how = "made by an earlier run" if made["cached"] else f"{made['seconds']:.0f} s"
    show.line(
        f"    {args.crops:,} from the sides of the photographs to train with, "
        f"{args.held_out:,} from their middles to test with"
    )
    show.line(f"    {made['files']:,} JPEGs, mean {made['mean_bytes'] / 1000:.0f} kB ({how})")
    stamp = (folder / "data.json").read_text(encoding="utf-8")
    return Crops(folder, made["classes"], stamp)


def _command() -> str:
    """The `stoker` program that belongs to this Python."""
    beside = Path(sysconfig.get_path("scripts"), "stoker")
    found = str(beside) if beside.is_file() else shutil.which("stoker")
    if found is None:
        raise DemoFailed("the command `stoker` is not installed; run `make build` first")
    return found


def pack(crops: Crops) -> dict[str, str]:
    """Step 3: both parts as tar shards. Returns a pattern for each."""
    out = crops.folder / "shards"
    mark = out / PACKED
    patterns = {
        "train": str(out / f"train-{{000000..{SHARDS - 1:06d}}}.tar"),
        "held-out": str(out / "held-out-{000000..000001}.tar"),
    }
    if mark.is_file() and mark.read_text(encoding="utf-8") == crops.stamp:
        show.line(f"    {SHARDS + 2} shards below {os.path.relpath(out)} (made by an earlier run)")
        return patterns
    shutil.rmtree(out, ignore_errors=True)
    stoker = _command()
    for part, count in (("train", SHARDS), ("held-out", 2)):
        command = [
            *(stoker, "pack", os.path.relpath(crops.folder / f"{part}.csv")),
            *("-o", os.path.relpath(out / f"{part}-%06d.tar")),
            *("--shard-count", str(count), "--labels", "number", "--shuffle"),
        ]
        show.line(f"    $ stoker {shlex.join(command[1:])}")
        begun = time.perf_counter()
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise DemoFailed(f"`stoker pack` failed with exit status {done.returncode}")
        for each in done.stdout.splitlines():
            show.line(f"      {each}")
        show.line(f"      in {time.perf_counter() - begun:.1f} s")
    mark.write_text(crops.stamp, encoding="utf-8")
    return patterns


def require(package: str, why: str) -> None:
    """Stop, with the cure, where a package is missing."""
    import importlib.util

    if importlib.util.find_spec(package) is None:
        raise DemoFailed(f"the Python package {package} is not installed: {why}")
