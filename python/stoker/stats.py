"""What a loader counted: time of each stage, and which of them limits the rest."""

from __future__ import annotations

from typing import Any


class Stats(dict[str, Any]):
    """Counters since a loader opened; printed as a table.

    Keys
    ----
    stages : dict
        For each stage (``"read"``, ``"decode"``, ...) a dict with `count` (how often), `busy_s`
        (seconds that threads were at work in it, summed) and `bytes`.
    samples, batches : int
        Handed out.
    cold_reads : int
        Reads that had to wait for the disk.
    wait_s, elapsed_s, idle_s, first_batch_s : float
        Seconds that the consumer waited for batches; since the loader opened; that compute threads
        had nothing to do, summed; from opening to the first complete batch.
    memory_bytes, memory_peak_bytes, allocations : int
        Allocated by the loader now, at most, and how often: constant in steady state.
    threads, io_threads, slots, slots_held : int
    limit : str
        The stage that limits the rate; ``"deliver"`` when it is the consumer.
    verdict : str
        The same as a sentence, with what to change.
    """

    def __str__(self) -> str:
        return "\n".join([*self._head(), *self._table(), *self._tail()])

    def _head(self) -> list[str]:
        elapsed = self["elapsed_s"]
        rate = self["samples"] / elapsed if elapsed > 0 else 0.0
        return [
            f"{self['samples']:,} samples in {self['batches']:,} batches, {elapsed:.2f} s, "
            f"{rate:,.0f} samples/s; first batch after {self['first_batch_s'] * 1000:.0f} ms",
            f"{self['threads']} compute and {self['io_threads']} I/O threads, "
            f"{self['slots']} slots ({self['slots_held']} held), "
            f"{self['memory_bytes'] / 2**20:,.0f} MiB (peak "
            f"{self['memory_peak_bytes'] / 2**20:,.0f})",
            "",
        ]

    def _table(self) -> list[str]:
        used = {name: row for name, row in self["stages"].items() if row["count"] > 0}
        whole = sum(row["busy_s"] for row in used.values()) or 1.0
        lines = [
            f"{'stage':<10} {'count':>12} {'busy s':>9} {'share':>6} {'us each':>9} {'MB':>10}"
        ]
        for name, row in used.items():
            lines.append(
                f"{name:<10} {row['count']:>12,} {row['busy_s']:>9.2f} "
                f"{row['busy_s'] / whole:>6.0%} {row['busy_s'] / row['count'] * 1e6:>9,.1f} "
                f"{row['bytes'] / 1e6:>10,.1f}"
            )
        return lines

    def _tail(self) -> list[str]:
        return [
            "",
            f"waited {self['wait_s']:.2f} s for batches, compute threads idle "
            f"{self['idle_s']:.2f} s; {self['cold_reads']:,} cold reads",
            self["verdict"],
        ]


def stats_of(raw: dict[str, Any]) -> Stats:
    """The extension's counters, nanoseconds as seconds."""
    stats = Stats()
    for name, value in raw.items():
        if name == "stages":
            stats[name] = {
                stage: {"count": count, "busy_s": busy_ns / 1e9, "bytes": size}
                for stage, (count, busy_ns, size) in value.items()
            }
        elif name.endswith("_ns"):
            stats[f"{name[:-3]}_s"] = value / 1e9
        else:
            stats[name] = value
    return stats
