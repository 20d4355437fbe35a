"""What a result was measured on."""

from __future__ import annotations

import datetime
import os
import platform
from pathlib import Path


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return " ".join(line.split(":", 1)[1].split())
    return platform.machine()


def _flags() -> set[str]:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("flags"):
            return set(line.split(":", 1)[1].split())
    return set()


def _memory_gib() -> float:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemTotal"):
            return int(line.split()[1]) / 2**20
    return 0.0


def describe() -> dict:
    flags = _flags()
    widest = next((f for f in ("avx512bw", "avx2", "sse4_2") if f in flags), "scalar")
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "vectors": widest,
        "virtual": "hypervisor" in flags,
        "memory_gib": round(_memory_gib(), 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "date": datetime.date.today().isoformat(),
    }


def sentence(facts: dict) -> str:
    kind = "virtual cores" if facts["virtual"] else "cores"
    return (
        f"{facts['cores']} {kind} of {facts['cpu']} ({facts['vectors']}), "
        f"{facts['memory_gib']:.0f} GiB, {facts['system']}, Python {facts['python']}, "
        f"{facts['date']}"
    )
