"""The data of the runs, made once and kept: shards of pictures, one large tar, tiny samples."""

from __future__ import annotations

import csv
import io
import os
import random
import tarfile
from pathlib import Path

PICTURES = 4000
PER_SHARD = 500
TINY_SAMPLES = 400_000
TINY_SHARDS = 8


def rows_of(folder: Path) -> list[tuple[str, int]]:
    """(path below `folder`, label) of the training pictures, labels alternating."""
    with open(folder / "train.csv", newline="", encoding="utf-8") as file:
        return [(row["path"], int(row["label"])) for row in csv.DictReader(file)]


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))


Row = tuple[int, str, int]  # number, path below the folder, label


def _write_pictures(path: Path, folder: Path, rows: list[Row], labels: bool) -> None:
    part = path.with_suffix(".part")
    with tarfile.open(part, "w", format=tarfile.USTAR_FORMAT) as archive:
        for number, name, label in rows:
            _add(archive, f"{number:06d}.jpg", (folder / name).read_bytes())
            if labels:
                _add(archive, f"{number:06d}.cls", str(label).encode())
    os.replace(part, path)


def pictures(cache: Path, folder: str | None, say) -> Path:
    """Folder of run J's pictures; made of photographs on this machine unless one is given."""
    if folder is not None:
        return Path(folder)
    from bench import make_data, photos  # Pillow, which a peer's environment may lack

    out = cache / "j55"
    recipe = make_data.Recipe(train=PICTURES, held_out=0)
    made = make_data.make(photos.find(), out, recipe)
    say(f"data: {made['files']} pictures, mean {made['mean_bytes'] / 1000:.1f} kB")
    return out


def shards(cache: Path, folder: Path) -> str:
    """Pattern of WebDataset shards with the pictures of `folder` and their labels."""
    rows = [(number, *row) for number, row in enumerate(rows_of(folder))]
    out = cache / f"{folder.name}-shards"
    count = max((len(rows) + PER_SHARD - 1) // PER_SHARD, 2)
    stamp = str((folder / "train.csv").stat().st_mtime_ns)
    mark = out / "made-of"
    if not mark.is_file() or mark.read_text() != stamp:
        out.mkdir(parents=True, exist_ok=True)
        for shard in range(count):
            path = out / f"train-{shard:06d}.tar"
            _write_pictures(path, folder, rows[shard::count], labels=True)
        mark.write_text(stamp)
    return str(out / f"train-{{{0:06d}..{count - 1:06d}}}.tar")


def one_tar(cache: Path, folder: Path) -> str:
    """One tar of the pictures alone, for peers that read no more than that."""
    path = cache / f"{folder.name}-all.tar"
    if not path.is_file() or path.stat().st_mtime < (folder / "train.csv").stat().st_mtime:
        rows = [(number, *row) for number, row in enumerate(rows_of(folder))]
        _write_pictures(path, folder, rows, labels=False)
    return str(path)


def tiny(cache: Path, samples: int = TINY_SAMPLES) -> str:
    """Pattern of shards of tiny samples: 100 bytes of text and a class of one digit."""
    out = cache / f"tiny-{samples}"
    mark = out / "complete"
    if not mark.is_file():
        out.mkdir(parents=True, exist_ok=True)
        for shard in range(TINY_SHARDS):
            _write_tiny(out / f"tiny-{shard:06d}.tar", range(shard, samples, TINY_SHARDS))
        mark.touch()
    return str(out / f"tiny-{{{0:06d}..{TINY_SHARDS - 1:06d}}}.tar")


def _write_tiny(path: Path, numbers: range) -> None:
    rng = random.Random(path.name)
    words = [str(number) + " " for number in range(100, 1000)]
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for number in numbers:
            text = "".join(rng.choices(words, k=25))
            _add(archive, f"{number:08d}.txt", text.encode())
            _add(archive, f"{number:08d}.cls", str(number % 10).encode())


def expand(pattern: str) -> list[str]:
    """The files of a pattern with one numeric brace range, as the functions above make them."""
    head, rest = pattern.split("{")
    span, tail = rest.split("}")
    first, last = span.split("..")
    return [f"{head}{n:0{len(first)}d}{tail}" for n in range(int(first), int(last) + 1)]


def rows_of_job(job) -> list[tuple[str, int]]:
    """(path, label) of a job's pictures."""
    return [(os.path.join(job.folder, path), label) for path, label in rows_of(Path(job.folder))]
