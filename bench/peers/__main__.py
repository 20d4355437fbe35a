"""The runs: J, J-f32, T, scale, M-*; first and gil, which look at Stoker alone.

    python -m bench.peers J                       # all candidates whose packages are here
    python -m bench.peers J --only stoker:tar,torchvision_dl:decode --rounds 5
    python -m bench.peers J --also .venv-peers/bin/python    # candidates of another environment

What they measure and how stands in docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from bench import photos
from bench.peers import alone, data, harness, machine, report
from bench.peers.candidate import BASE, ENTRIES, Entry, Job

MARK = "libjpeg_turbo:whole"
DATA_RUNS = ("J", "J-f32", "T", "scale", "M-img", "M-np", "M-f32", "M-tiny")
ALONE_RUNS = ("first", "gil")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench.peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", choices=DATA_RUNS + ALONE_RUNS)
    parser.add_argument("--only", help="candidates, with commas (default: all that are here)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds (3)")
    parser.add_argument("--workers", type=int, default=2, help="workers or threads (2)")
    parser.add_argument("--batch-size", type=int, default=256, help="samples of a batch (256)")
    parser.add_argument("--epochs", type=int, default=2, help="measured after the first (2)")
    parser.add_argument("--folder", help="pictures as bench.make_data lays them (default: made)")
    parser.add_argument("--cache", default=".cache", help="where data is kept (.cache)")
    parser.add_argument("--build", default="build", help="Meson's build folder (build)")
    parser.add_argument("--also", action="append", default=[], help="another Python with peers")
    parser.add_argument(
        "--patience",
        type=float,
        default=0,
        help="seconds to wait for a quiet machine before a run",
    )
    parser.add_argument("--json", help="write all results here")
    parser.add_argument("--more", action="store_true", help="add rounds to those in --json")
    parser.add_argument("--list", action="store_true", help="list the candidates of the run")
    return parser.parse_args()


def chosen(args: argparse.Namespace) -> list[Entry]:
    entries = [entry for entry in ENTRIES if args.run in entry.runs]
    if args.only is None:
        return entries
    names = [entry.name for entry in entries]
    wanted = args.only.split(",")
    for name in wanted:
        if name not in names:
            sys.exit(f"bench.peers: run {args.run} has no {name!r}, but {', '.join(names)}")
    return [entry for entry in entries if entry.name in wanted]


def make_job(args: argparse.Namespace, entries: list[Entry]) -> Job:
    """The data of the run, made where it is missing, as absolute paths."""
    cache = Path(args.cache).resolve()
    cache.mkdir(parents=True, exist_ok=True)
    job = Job(
        run=args.run,
        batch_size=args.batch_size,
        workers=args.workers,
        epochs=args.epochs,
        build=str(Path(args.build).resolve()),
    )
    if args.run.startswith("M-"):
        from bench.peers.on_dataloader import SAMPLES

        return replace(job, samples=SAMPLES[args.run])  # ready in memory
    if args.run == "T":
        return replace(job, shards=data.tiny(cache), samples=data.TINY_SAMPLES)
    folder = data.pictures(cache, args.folder, say).resolve()
    job = replace(
        job,
        folder=str(folder),
        shards=data.shards(cache, folder),
        samples=len(data.rows_of(folder)),
    )
    if any(entry.name.startswith("turboloader") for entry in entries):
        job = replace(job, one_tar=data.one_tar(cache, folder))
    return job


def warm(job: Job) -> None:
    """Read the data once: the runs measure loading from memory, not this machine's disk."""
    paths = data.expand(job.shards) if job.shards else []
    if job.folder:
        paths += [path for path, _ in data.rows_of_job(job)]
    if job.one_tar:
        paths.append(job.one_tar)
    for path in paths:
        with open(path, "rb") as file:
            while file.read(1 << 20):
                pass


def save(args: argparse.Namespace, results: dict[str, list[dict]], **more) -> None:
    """Keep what there is, after every run: a run of hours that is stopped is not lost."""
    if args.json:
        whole = {"run": args.run, "machine": machine.describe(), **more, "results": results}
        Path(args.json).write_text(json.dumps(whole, indent=1), encoding="utf-8")


def earlier_rounds(args: argparse.Namespace, results: dict[str, list[dict]]) -> int:
    """With --more: take over the rounds that --json holds, and tell their number."""
    if not args.more:
        return 0
    kept = json.loads(Path(args.json).read_text(encoding="utf-8"))
    if kept["run"] != args.run:
        sys.exit(f"bench.peers: {args.json} holds run {kept['run']}, not {args.run}")
    for name, runs in kept["results"].items():
        results.setdefault(name, [])[:0] = [run for run in runs if "rate" in run]
    return 1 + max(
        (run["round"] for runs in results.values() for run in runs if "round" in run), default=-1
    )


def run_patiently(args: argparse.Namespace, entry: Entry, job: Job, python: str) -> dict:
    """One run; with --patience it waits for a quiet machine, and is taken again if disturbed."""
    for _ in range(3 if args.patience > 0 else 1):
        harness.wait_for_quiet(args.patience)
        result = harness.run(entry, job, python)
        if result.get("foreign_cpu", 0.0) <= report.NOISE:
            break
    return result


def run_rounds(args: argparse.Namespace, entries: list[Entry], job: Job) -> dict[str, list[dict]]:
    found = harness.Interpreters(args.also)
    results: dict[str, list[dict]] = {entry.name: [] for entry in entries}
    with_python = [(entry, found.for_entry(entry)) for entry in entries]
    for entry, python in with_python:
        if python is None:
            results[entry.name].append({"failed": f"not installed: {', '.join(entry.needs)}"})
    before = earlier_rounds(args, results)
    for number in range(before, before + args.rounds):
        # A round starts with another candidate each time, so that nobody always follows the same.
        turn = [pair for pair in with_python if pair[1] is not None]
        turn = turn[number % max(len(turn), 1) :] + turn[: number % max(len(turn), 1)]
        for entry, python in turn:
            result = run_patiently(args, entry, job, python) | {"round": number}
            results[entry.name].append(result)
            rate = f"{result['rate']:,.0f}/s" if "rate" in result else result.get("failed")
            others = f"others {result.get('foreign_cpu', 0):.0%} of a core"
            say(f"round {number + 1}/{before + args.rounds}  {entry.name:24} {rate}  ({others})")
            save(args, results)
    return results


def main() -> int:
    args = arguments()
    if args.run in ALONE_RUNS:
        return alone.main(args, say)
    entries = chosen(args)
    if args.list:
        print("\n".join(entry.name for entry in entries))
        return 0
    try:
        job = make_job(args, entries)
    except photos.NoPhotographs as error:
        say(f"bench.peers: {error}")
        return 1
    warm(job)
    results = run_rounds(args, entries, job)
    base, mark = BASE[args.run], MARK
    rows = [
        report.summarise(name, runs, results.get(base, []), results.get(mark, []))
        for name, runs in results.items()
    ]
    facts = machine.describe()
    print(f"Run {args.run}: {args.rounds} rounds, {args.workers} workers or threads, ", end="")
    print(f"batch {args.batch_size}, {job.samples:,} samples. {machine.sentence(facts)}.\n")
    print(report.table(rows, base, mark))
    save(args, results, rows=rows)
    return 1 if any("failed" in row and "not installed" not in row["failed"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
