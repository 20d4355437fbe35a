"""What the demo prints: steps, progress, bars."""

from __future__ import annotations

import sys
from collections.abc import Mapping

STEPS = 5
BAR = 40  # columns of the longest bar

# What each stage of a loader does, for a reader who sees the table for the first time.
MEANING = {
    "plan": "which bytes come next",
    "read": "bytes of the shard",
    "member": "cut out of the tar",
    "decode": "JPEG to pixels, the crop only",
    "transform": "resize, flip, normalise",
    "collate": "into the batch",
    "device": "copy to the device",
    "deliver": "hand over",
}


def line(text: str = "") -> None:
    print(text, flush=True)


def step(number: int, title: str) -> None:
    line(f"\n[{number}/{STEPS}] {title}")


def progress(done: int, total: int, what: str) -> None:
    """One line that fills up, on terminals only."""
    if sys.stdout.isatty():
        filled = BAR * done // max(total, 1)
        end = "\n" if done >= total else ""
        bar = "#" * filled + "." * (BAR - filled)
        print(f"\r    {bar} {done:,} of {total:,} {what}", end=end, flush=True)


def bar(share: float, width: int = BAR) -> str:
    return "#" * max(round(share * width), 1 if share > 0 else 0)


def stages(stats: Mapping) -> None:
    """The stage table of a loader, as bars, and its verdict."""
    rows = [
        (name, row["busy_s"], row["count"])
        for name, row in stats["stages"].items()
        if row["busy_s"] > 0 and name in MEANING
    ]
    whole = sum(seconds for _, seconds, _ in rows) or 1.0
    line("    The loader's own threads, while the network trained:\n")
    for name, seconds, count in rows:
        each = seconds / max(count, 1) * 1e6
        line(
            f"    {name:<10} {seconds:6.2f} s  {seconds / whole:4.0%}  {each:8,.1f} us each  "
            f"{bar(seconds / whole, 24):<24}  {MEANING[name]}"
        )
    line()
    line(
        f"    The trainer waited {stats['wait_s']:.2f} s for {stats['samples']:,} pictures in "
        f"{stats['elapsed_s']:.0f} s; the first batch came after "
        f"{stats['first_batch_s'] * 1000:.0f} ms."
    )
    line(f"    Verdict: {stats['verdict']}")
