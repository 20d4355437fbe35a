"""Stoker's crop, resize and flip against torchvision's v2 kernels on the same crops, in turns.

    python bench/kernels/bench_resize.py BUILD/bench/kernels/bench_resize [--rounds N]

64 random crops of one 500x375 picture to 224x224, as seed 7 draws them, one thread. torchvision gets
the decoded picture as a uint8 CHW tensor and gives a tensor; Stoker gets rows of the part it asks for
and writes into the slot of a batch (NCHW). Prints the median microseconds a picture of each and the
ratio. The last eight results of both have to agree byte for byte.
"""

import argparse
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torchvision.transforms.v2 import InterpolationMode
from torchvision.transforms.v2 import functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from draws_reference import Draws, flip, random_resized_crop
from make_resize_golden import crc32c

WIDTH, HEIGHT, PICTURES = 500, 375, 64
JOBS = {"bilinear": 0, "bicubic": 2}  # numbers of the program


def decoded() -> torch.Tensor:
    """The noise of the program: RGBX bytes by mix64, without the fourth."""
    x = np.arange(WIDTH * HEIGHT * 4, dtype=np.uint64)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        x = (x ^ x >> np.uint64(33)) * np.uint64(factor)
    rgbx = (x ^ x >> np.uint64(33)).astype(np.uint8).reshape(HEIGHT, WIDTH, 4)
    return torch.from_numpy(rgbx[:, :, :3]).permute(2, 0, 1).contiguous()


def parameters() -> list[tuple[tuple[int, int, int, int], bool]]:
    return [
        (
            random_resized_crop(Draws(7, 1, s, 0), WIDTH, HEIGHT, (0.08, 1.0), (3 / 4, 4 / 3)),
            flip(Draws(7, 1, s, 1), 0.5),
        )
        for s in range(PICTURES)
    ]


def round_of_torchvision(image, crops, mode: InterpolationMode) -> tuple[float, list]:
    made = []
    start = time.perf_counter()
    for (left, top, width, height), is_flipped in crops:
        out = F.resized_crop(image, top, left, height, width, [224, 224], mode, antialias=True)
        made.append(F.horizontal_flip(out) if is_flipped else out)
    return (time.perf_counter() - start) / PICTURES * 1e6, made


def round_of_stoker(program: str, job: int, kernels: str) -> tuple[float, int]:
    number = {"scalar": 0, "avx2": 1, "best": 2}[kernels]
    command = [program, "3", str(job), str(number)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(rf"{kernels} +([0-9.]+).*sum ([0-9a-f]+)", text)
    return float(found[1]), int(found[2], 16)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="the built bench_resize")
    parser.add_argument("--rounds", type=int, default=11)
    args = parser.parse_args()

    torch.set_num_threads(1)
    image, crops = decoded(), parameters()
    for mode, job in JOBS.items():
        times: dict[str, list[float]] = {"torchvision": [], "scalar": [], "avx2": [], "best": []}
        sums = set()
        for _ in range(args.rounds):
            taken, made = round_of_torchvision(image, crops, InterpolationMode(mode))
            times["torchvision"].append(taken)
            for kernels in ("scalar", "avx2", "best"):
                taken, total = round_of_stoker(args.program, job, kernels)
                times[kernels].append(taken)
                sums.add(total)
        last = torch.stack(made[-8:]).contiguous().numpy().tobytes()
        sums.add(crc32c(last))
        if len(sums) != 1:
            sys.exit(f"{mode}: the pixels differ")
        middle = {name: statistics.median(taken) for name, taken in times.items()}
        for name, taken in middle.items():
            ratio = middle["torchvision"] / taken
            spread = f"{min(times[name]):.1f} to {max(times[name]):.1f}"
            print(f"{mode:9s} {name:12s} {taken:8.1f} us ({spread})  {ratio:5.2f} x torchvision")


if __name__ == "__main__":
    main()
