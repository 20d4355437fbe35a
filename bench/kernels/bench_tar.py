"""Stoker's tar reader against CPython's tarfile on one shard, in turns.

    python bench/kernels/bench_tar.py BUILD/bench/kernels/bench_tar [--samples N] [--rounds N]

Both read every byte of every member; tarfile in its streaming mode, as the webdataset library uses
it, and in its seeking mode. Prints the median members per second of each and the ratio.
"""

import argparse
import json
import statistics
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path


def pass_of_tarfile(path: Path, mode: str) -> tuple[float, int]:
    """Members per second of one pass, and a sum over all bytes like the program's."""
    members = total = 0
    start = time.perf_counter()
    with tarfile.open(path, mode) as archive:
        for member in archive:
            if member.isreg():
                data = archive.extractfile(member).read()
                members += 1
                total += len(data) + sum(data)
                archive.members = []  # or it keeps every header
    return members / (time.perf_counter() - start), total


def pass_of_stoker(program: str, path: Path) -> tuple[float, int]:
    run = subprocess.run(
        [program, "--rounds", "1", str(path)], capture_output=True, text=True, check=True
    )
    row = next(r for r in map(json.loads, run.stdout.splitlines()) if r["what"] == "with data")
    return row["members_per_s"], row["sum"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="the built bench_tar")
    parser.add_argument("--samples", type=int, default=40_000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shard.tar"
        command = [args.program, "--samples", str(args.samples), "--rounds", "1"]
        subprocess.run([*command, "--keep", str(path)], check=True, stdout=subprocess.DEVNULL)
        rates: dict[str, list[float]] = {"stoker": [], "tarfile r|": [], "tarfile r:": []}
        sums = set()
        for _ in range(args.rounds):
            for name, taken in rates.items():
                if name == "stoker":
                    rate, total = pass_of_stoker(args.program, path)
                else:
                    rate, total = pass_of_tarfile(path, name.split()[1])
                taken.append(rate)
                sums.add(total)
        if len(sums) != 1:
            raise SystemExit("the readers gave different bytes")
    stoker = statistics.median(rates["stoker"])
    for name, taken in rates.items():
        middle = statistics.median(taken)
        print(
            f"{name:12} {middle:12,.0f} members/s  (from {min(taken):,.0f} to {max(taken):,.0f})"
            f"  stoker is {stoker / middle:.0f}x"
        )


if __name__ == "__main__":
    main()
