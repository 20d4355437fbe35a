"""How many CPUs this process may keep busy: its affinity, the quotas of its control groups, its share of the machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from .cgroups import OWN, ROOT, folders, words


class Cpus(NamedTuple):
    """The number and where it comes from."""

    number: int  # 1 and more
    reason: str


def usable_cpus(
    environ: Mapping[str, str] | None = None,
    root: str = ROOT,
    own: str = OWN,
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
    quota = quota_cpus(root, own)
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


def quota_cpus(root: str, own: str) -> float | None:
    """The least quota from the groups of this process up to the root, in CPUs; None: there is none."""
    quotas = map(_quota, folders("cpu", root, own))
    return min((quota for quota in quotas if quota is not None), default=None)


def _quota(folder: Path) -> float | None:
    pair = words(folder / "cpu.max")
    if not pair:  # version 1
        pair = words(folder / "cpu.cfs_quota_us") + words(folder / "cpu.cfs_period_us")
    if len(pair) != 2 or not (pair[0].isdigit() and pair[1].isdigit()):
        return None  # "max" and -1 are no quota
    quota, period = map(int, pair)
    return quota / period if quota and period else None
