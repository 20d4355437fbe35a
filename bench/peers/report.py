"""From the results of single runs to a table."""

from __future__ import annotations

import statistics

NOISE = 0.12  # of one core taken by other processes: a round above it is not counted


def _clean(runs: list[dict]) -> list[dict]:
    """Runs that other processes did not disturb; all of them where none was left alone."""
    quiet = [run for run in runs if run.get("foreign_cpu", 0.0) <= NOISE]
    return quiet or runs


def _ratios(runs: list[dict], base: list[dict]) -> list[float]:
    """Rate against the base candidate of the same round: the machine's speed wanders in between."""
    of_round = {run["round"]: run["rate"] for run in base}
    return [run["rate"] / of_round[run["round"]] for run in runs if run["round"] in of_round]


def _median(runs: list[dict], key: str) -> float | None:
    values = [run[key] for run in runs if key in run]
    return statistics.median(values) if values else None


def summarise(name: str, runs: list[dict], base: list[dict], mark: list[dict]) -> dict:
    """One row: medians over the clean rounds."""
    good = [run for run in runs if "rate" in run]
    if not good:
        return {"name": name, "failed": runs[-1].get("failed", "no result") if runs else "not run"}
    clean = _clean(good)
    rates = sorted(run["rate"] for run in clean)
    row = {
        "name": name,
        "rounds": len(good),
        "clean_rounds": sum(run.get("foreign_cpu", 0.0) <= NOISE for run in good),
        "rate": statistics.median(rates),
        "rate_min": rates[0],
        "rate_max": rates[-1],
        "note": good[-1].get("note", ""),
        "versions": good[-1].get("versions", {}),
    }
    for key, against in (("ratio", base), ("mark_ratio", mark)):
        ratios = _ratios(clean, against)
        row[key] = statistics.median(ratios) if ratios else None
    for key in (
        "cpu_per_1000",
        "first_batch_s",
        "next_first_batch_s",
        "import_s",
        "gap_p50_ms",
        "gap_p99_ms",
        "peak_rss",
        "peak_pss",
        "main_peak_rss",
    ):
        row[key] = _median(clean, key)
    return row


def _number(value: float | None, form: str = "{:,.0f}", scale: float = 1.0) -> str:
    return "-" if value is None else form.format(value * scale)


def _row(row: dict, has_mark: bool) -> str:
    if "failed" in row:
        return f"| {row['name']} | {row['failed']} |"
    cells = [
        row["name"],
        f"{row['rate']:,.0f} ({row['rate_min']:,.0f}-{row['rate_max']:,.0f})",
        _number(row["ratio"], "{:.2f}"),
    ]
    if has_mark:
        cells.append(_number(row["mark_ratio"], "{:.2f}"))
    gaps = "-"
    if row["gap_p50_ms"] is not None:
        gaps = f"{row['gap_p50_ms']:.3g} / {row['gap_p99_ms']:.3g}"
    first = _number(row["first_batch_s"], "{:.3f}")
    if row["import_s"] is not None and row["first_batch_s"] is not None:
        first += f" (+{row['import_s']:.1f})"
    rss = row["peak_rss"] or row["main_peak_rss"]
    cells += [
        _number(row["cpu_per_1000"], "{:.3g}"),
        first,
        _number(row["next_first_batch_s"], "{:.3f}"),
        gaps,
        f"{_number(rss, scale=1e-6)} / {_number(row['peak_pss'], scale=1e-6)}",
        f"{row['clean_rounds']}/{row['rounds']}",
    ]
    return "| " + " | ".join(cells) + " |"


def table(rows: list[dict], base: str, mark: str) -> str:
    """Markdown."""
    has_mark = any(row.get("mark_ratio") is not None for row in rows)
    head = ["candidate", "samples/s median (min-max)", f"x {base}"]
    if has_mark:
        head.append(f"x {mark}")
    head += [
        "CPU s per 1,000",
        "first batch s (+ import)",
        "next epoch: first batch s",
        "gap p50 / p99 ms",
        "peak RSS / PSS MB",
        "clean rounds",
    ]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += [_row(row, has_mark) for row in rows]
    notes = [f"{row['name']}: {row['note']}" for row in rows if row.get("note")]
    versions: dict[str, str] = {}
    for row in rows:
        versions |= row.get("versions", {})
    told = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    return "\n".join(lines) + "\n\n" + ". ".join(notes) + f".\nVersions: {told}.\n"
