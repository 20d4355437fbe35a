"""Make a data set of JPEGs from photographs: random crops and scales, label = the photograph.

The result is the same for the same photographs, seed, counts and Pillow: each crop is drawn from a
generator keyed by (seed, part, number). Held-out crops come from the middle of a photograph and
those for training from its two sides, so that no pixel is in both.

    python -m bench.make_data --out .cache/j55 --train 4000        # run J's corpus
    python -m bench.make_data --out .cache/small --train 2000 --held-out 500 --photos ~/Pictures

Layout: OUT/train/CLASS/000123.jpg, OUT/held-out/CLASS/000123.jpg, OUT/train.csv and
OUT/held-out.csv (lines `path,label`), OUT/data.json (what was made, and of what).
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import shutil
import signal
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import PIL
from PIL import Image

from bench import photos

SIZES = ((500, 375),) * 4 + ((375, 500),)  # one in five stands upright, as in ImageNet
VERSION = 4  # of the recipe; a change makes the data anew


@dataclass(frozen=True)
class Recipe:
    """What to make. Quality and scale are ranges, inclusive."""

    train: int
    held_out: int
    seed: int = 7
    quality: tuple[int, int] = (91, 97)
    shrink: tuple[float, float] = (1.7, 4.6)  # pixels of the photograph for one of the crop
    version: int = VERSION


@dataclass(frozen=True)
class Job:
    """All crops of one photograph."""

    photo: str
    label: int
    out: str
    folder: str
    recipe: Recipe
    numbers: dict[str, list[int]]  # part -> numbers of its crops


def _columns(width: int, part: str, split: bool) -> list[tuple[int, int]]:
    """Columns that crops of a part may use: training both sides, held out the middle."""
    if not split:
        return [(0, width)]
    if part == "train":
        return [(0, width * 35 // 100), (width * 65 // 100, width)]
    return [(width * 36 // 100, width * 64 // 100)]


def _draw_box(rng: random.Random, size: tuple[int, int], columns: tuple[int, int], recipe: Recipe):
    """A box of the crop's shape inside the columns, and the size of the crop."""
    left, right = columns
    out_width, out_height = rng.choice(SIZES)
    room = min((right - left) / out_width, size[1] / out_height)
    low, high = min(recipe.shrink[0], room), min(recipe.shrink[1], room)
    scale = rng.uniform(low, high)
    width, height = int(out_width * scale), int(out_height * scale)
    x = rng.randint(left, right - width)
    y = rng.randint(0, size[1] - height)
    return (x, y, x + width, y + height), (out_width, out_height)


def _crop(picture: Image.Image, box, size) -> Image.Image:
    """Cut first, then resize: a resize with a box would look at pixels just outside of it."""
    return picture.crop(box).resize(size, Image.Resampling.LANCZOS, reducing_gap=3.0)


def _make(job: Job) -> tuple[int, int]:
    """Make the crops of one photograph. Returns their number and bytes."""
    recipe, count, total = job.recipe, 0, 0
    with Image.open(job.photo) as stored:
        picture = stored.convert("RGB")
    for part, numbers in job.numbers.items():
        columns = _columns(picture.width, part, recipe.held_out > 0)
        folder = Path(job.out, part, job.folder)
        folder.mkdir(parents=True, exist_ok=True)
        for number in numbers:
            rng = random.Random(f"{recipe.seed}/{part}/{number}")
            box, size = _draw_box(rng, picture.size, rng.choice(columns), recipe)
            path = folder / f"{number:06d}.jpg"
            quality = rng.randint(*recipe.quality)
            _crop(picture, box, size).save(path, quality=quality, subsampling="4:2:0")
            count += 1
            total += path.stat().st_size
    return count, total


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _folders(paths: list[Path]) -> list[str]:
    """A class folder for each photograph, all different; label k is the k-th when sorted."""
    names: list[str] = []
    for path in paths:
        name, tries = photos.class_name(path), 1
        while name in names:
            tries += 1
            name = f"{photos.class_name(path)}-{tries}"
        names.append(name)
    return names


def _jobs(paths: list[Path], out: Path, recipe: Recipe) -> list[Job]:
    by_folder = sorted(zip(_folders(paths), paths, strict=True))
    jobs = []
    for label, (folder, path) in enumerate(by_folder):
        numbers = {
            part: list(range(label, count, len(by_folder)))
            for part, count in (("train", recipe.train), ("held-out", recipe.held_out))
            if count > 0
        }
        jobs.append(Job(str(path), label, str(out), folder, recipe, numbers))
    return jobs


def _write_lists(out: Path, jobs: list[Job]) -> None:
    """`path,label` of each part, in the order of the numbers, so that labels alternate."""
    for part in jobs[0].numbers:
        rows = [
            (number, f"{part}/{job.folder}/{number:06d}.jpg", job.label)
            for job in jobs
            for number in job.numbers[part]
        ]
        with open(out / f"{part}.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("path", "label"))
            writer.writerows(row[1:] for row in sorted(rows))


def _facts(paths: list[Path], recipe: Recipe) -> dict:
    """What decides the data: equal facts, equal data."""
    sources = [[str(path), path.stat().st_size] for path in paths]
    return {"recipe": asdict(recipe), "photographs": sources, "pillow": PIL.__version__}


def make(paths: list[Path], out: Path, recipe: Recipe, workers: int = 0, say=None) -> dict:
    """Make the data set at `out`, or keep what is there when it was made of the same things.

    `say(done, total)` is called with the number of crops made so far. Returns the contents of
    data.json: the facts, `classes`, `files`, `mean_bytes`, `seconds`.
    """
    facts = json.loads(json.dumps(_facts(paths, recipe)))
    known = out / "data.json"
    if known.is_file():
        data = json.loads(known.read_text(encoding="utf-8"))
        if data.get("facts") == facts:
            return data | {"cached": True}
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    jobs = _jobs(paths, out, recipe)
    begun, files, total = time.perf_counter(), 0, 0
    wanted = recipe.train + recipe.held_out
    # The costliest photographs first, so that no worker is left with one of them at the end.
    order = sorted(jobs, key=lambda job: -os.path.getsize(job.photo))
    workers = workers or len(os.sched_getaffinity(0))
    with ProcessPoolExecutor(workers, initializer=_leave_interrupts_to_the_parent) as pool:
        try:
            for count, size in pool.map(_make, order):
                files, total = files + count, total + size
                if say is not None:
                    say(files, wanted)
        except BaseException:
            pool.shutdown(cancel_futures=True)  # Ctrl-C: what waits is not begun
            raise
    _write_lists(out, jobs)
    data = {
        "facts": facts,
        "classes": [job.folder for job in jobs],
        "files": files,
        "mean_bytes": total / max(files, 1),
        "seconds": time.perf_counter() - begun,
    }
    known.write_text(json.dumps(data, indent=1), encoding="utf-8")  # last: marks it as complete
    return data | {"cached": False}


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.make_data", description=__doc__.split("\n")[0])
    parser.add_argument("--out", required=True, help="folder to make; what is there is replaced")
    parser.add_argument("--photos", help="folder of photographs (default: desktop backgrounds)")
    parser.add_argument("--train", type=int, default=4000, help="crops for training (4000)")
    parser.add_argument("--held-out", type=int, default=0, help="crops kept apart (0)")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--workers", type=int, default=0, help="processes (0: one a core)")
    args = parser.parse_args()
    try:
        paths = photos.find(args.photos)
    except photos.NoPhotographs as error:
        print(f"make_data: {error}", file=sys.stderr)
        return 1
    recipe = Recipe(train=args.train, held_out=args.held_out, seed=args.seed)
    data = make(paths, Path(args.out), recipe, args.workers)
    print(
        f"{data['files']} pictures of {len(data['classes'])} photographs, "
        f"mean {data['mean_bytes'] / 1000:.1f} kB, "
        + ("made before" if data["cached"] else f"{data['seconds']:.1f} s")
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
