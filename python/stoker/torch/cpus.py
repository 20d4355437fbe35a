"""How many CPUs this process may keep busy: its affinity, the quotas of its control groups, its share of the machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple


class Cpus(NamedTuple):
    """The number and where it comes from."""

    number: int  # 1 and more
    reason: str


def usable_cpus(
    environ: Mapping[str, str] | None = None,
    root: str = "/sys/fs/cgroup",
    own: str = "/proc/self/cgroup",
) -> Cpus:
    """CPUs for this process.

    Parameters
    ----------
    environ : mapping, optional
        Where LOCAL_WORLD_SIZE is looked for: the processes of one training job on this machine, as torchrun
        sets it. They share the CPUs. `os.environ`.
    root, own : str
        Where control groups are mounted, and the file that tells those of this process.
    """
    count = len(os.sched_getaffinity(0))
    reason = f"{count} CPUs"
    quota = quota_cpus(Path(root), Path(own))
    if quota is not None and quota < count:
        count = max(1, -int(-quota // 1))  # a part of one counts as one, as the engine counts
        reason = f"a quota of {quota:g} CPUs"
    ranks = _ranks(os.environ if environ is None else environ)
    if ranks > 1:
        count = max(1, count // ranks)
        reason += f" shared by {ranks} processes (LOCAL_WORLD_SIZE)"
    return Cpus(count, reason)


def _ranks(environ: Mapping[str, str]) -> int:
    text = environ.get("LOCAL_WORLD_SIZE", "")
    return int(text) if text.isdigit() else 1


def quota_cpus(root: Path, own: Path) -> float | None:
    """The least quota from the groups of this process up to the root, in CPUs; None: there is none."""
    quotas = [quota for quota in _quotas(root, own) if quota is not None]
    return min(quotas, default=None)


def _quotas(root: Path, own: Path) -> Iterator[float | None]:
    try:
        lines = [line.split(":", 2) for line in own.read_text().splitlines()]
    except OSError:
        lines = [["0", "", "/"]]
    for _, controllers, group in (line for line in lines if len(line) == 3):
        if not controllers:
            yield from map(_quota_v2, _upward(root, group))
        elif "cpu" in controllers.split(","):
            yield from map(_quota_v1, _upward(root / "cpu", group))


def _upward(mount: Path, group: str) -> Iterator[Path]:
    """The folder of a group and those above it. A container may see its own group as the mount."""
    folder = mount / group.lstrip("/")
    if ".." not in folder.parts:
        while folder != mount:
            yield folder
            folder = folder.parent
    yield mount


def _read(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []


def _ratio(quota: str, period: str) -> float | None:
    if not (quota.isdigit() and period.isdigit()) or int(quota) == 0 or int(period) == 0:
        return None  # "max" and -1 are no quota
    return int(quota) / int(period)


def _quota_v2(folder: Path) -> float | None:
    words = _read(folder / "cpu.max")
    return _ratio(*words) if len(words) == 2 else None


def _quota_v1(folder: Path) -> float | None:
    words = _read(folder / "cpu.cfs_quota_us") + _read(folder / "cpu.cfs_period_us")
    return _ratio(*words) if len(words) == 2 else None
