"""Time and memory of a process with all its descendants, from /proc."""

from __future__ import annotations

import os
import resource
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def _stat(pid: int) -> list[str] | None:
    """Fields of /proc/PID/stat from the third on (state, parent, ...); None if it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return text[text.rindex(")") + 2 :].split()


def descendants(root: int) -> list[int]:
    """Live processes below `root`, itself left out."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            fields = _stat(int(name))
            if fields is not None:
                children.setdefault(int(fields[1]), []).append(int(name))
    found, open_ends = [], [root]
    while open_ends:
        below = children.get(open_ends.pop(), [])
        found += below
        open_ends += below
    return found


def cpu_seconds() -> float:
    """User and system seconds of this process and its descendants, the ended ones too."""
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        total += used.ru_utime + used.ru_stime
    for pid in descendants(os.getpid()):
        fields = _stat(pid)
        if fields is not None:
            total += sum(int(n) for n in fields[11:15]) / TICK  # own and waited-for
    return total


def machine_busy_seconds() -> float:
    """Seconds that all cores together were not idle, since the machine started."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _idle, _iowait, irq, softirq = (int(n) for n in fields[:7])
    return (user + nice + system + irq + softirq) / TICK


def memory_bytes(root: int) -> tuple[int, int]:
    """Resident and proportional bytes of `root` and its descendants, now."""
    rss = pss = 0
    for pid in [root, *descendants(root)]:
        try:
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Rss:"):
                    rss += int(line.split()[1]) * 1024
                elif line.startswith("Pss:"):
                    pss += int(line.split()[1]) * 1024
        except OSError:
            continue
    return rss, pss


def memory_with_shared_bytes(root: int) -> int:
    """Proportional bytes of `root` and its descendants, and all shared memory of the machine once.

    PSS alone leaves out shared memory that no process has mapped at the moment, as a batch of torch's
    between the worker that has let go of it and the parent that has not taken it yet.
    """
    total = 0
    for pid in [root, *descendants(root)]:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        sizes = {line.split(":")[0]: int(line.split()[1]) for line in lines[1:]}
        total += (sizes["Pss"] - sizes["Pss_Shmem"]) * 1024
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("Shmem:"):
            total += int(line.split()[1]) * 1024
    return total


def peak_rss_bytes() -> int:
    """Most bytes that this one process ever had resident."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
