"""What is said of workers that died or are late: who, how, at which samples, with how much memory, and the likely cause."""

from __future__ import annotations

import signal
from pathlib import Path
from textwrap import shorten
from typing import Any, NamedTuple

from .cgroups import OWN, ROOT, counts, folders, memory_limit, number

CRASH = (
    "most often a fault in a native library that the dataset calls: "
    "num_workers=0 and `python -X faulthandler` show where"
)
CAUSES = {
    signal.SIGBUS: "SIGBUS is most often a file that was cut while it was mapped, or a full disk",
    signal.SIGSEGV: f"SIGSEGV is {CRASH}",
    signal.SIGABRT: f"SIGABRT is {CRASH}",
    signal.SIGFPE: f"SIGFPE is {CRASH}",
    signal.SIGILL: "SIGILL is most often a native library that was built for another processor",
    signal.SIGTERM: "SIGTERM is sent on purpose: by a job scheduler, a time limit, or a user",
}
OUT_OF_MEMORY = (
    "SIGKILL is most often the system running out of memory: use fewer workers or smaller samples"
)
UNCAUGHT = (
    "an exception outside of a sample (its traceback is on the standard error of this program), or "
    "sys.exit() in the dataset, which no worker survives"
)
LEFT = "sys.exit() or os._exit() was called in the dataset, or in a library of it"


def tasks_of(worker: int, info: dict[int, Any], sent: dict[int, Any]) -> str:
    """Its oldest unfinished task: the others have not been begun. `info` is torch's `_task_info`."""
    for task, state in info.items():
        if state[0] == worker and len(state) == 1:
            indices = shorten(repr(sent.get(task)), 200, placeholder=" ...]")
            return f"task {task}, indices {indices}"
    return "no task"


def late(workers: list[Any], info: dict[int, Any], sent: dict[int, Any]) -> list[str]:
    """Which workers are awaited, and where they are."""
    awaited = sorted({state[0] for state in info.values() if len(state) == 1})
    return [f"worker {n} (pid {workers[n].pid}) is at {tasks_of(n, info, sent)}" for n in awaited]


class Level(NamedTuple):
    """What one control group says of memory at one moment."""

    limit: int | None  # bytes
    full: int  # times that its own limit was met, those of groups below it included
    kills: int  # processes in it that were killed for memory, whoever's limit it was


class MemoryGroups:
    """The control groups that this process is in, from its own one up, as they were when this was made.

    `killed` compares. Version 2 of control groups, and version 1 where memory is still under it.
    """

    def __init__(self, root: str = ROOT, own: str = OWN) -> None:
        self._groups = folders("memory", root, own)
        self._before = [_level(group) for group in self._groups]

    def killed(self) -> str | None:
        """Why the kernel has killed one of our processes for memory since; None if it has not."""
        now = [_level(group) for group in self._groups]
        pairs = list(zip(self._before, now, strict=True))
        if not any(new.kills > old.kills for old, new in pairs):
            return None
        for old, new in pairs:  # a group's limit counts in those above, too: the lowest is the one
            if new.full > old.full and new.limit is not None:
                return (
                    f"the memory limit of the container, {new.limit >> 20} MiB, was hit: "
                    "use fewer workers or smaller samples, or raise the limit"
                )
        return "the kernel ended it because the machine had no memory left: use fewer workers or smaller samples"


def _level(group: Path) -> Level:
    limit, events = memory_limit(group), counts(group / "memory.events")
    if events:
        return Level(limit, events.get("oom", 0), events.get("oom_kill", 0))
    kills = counts(group / "memory.oom_control").get("oom_kill", 0)
    return Level(limit, number(group / "memory.failcnt") or 0, kills)


def obituary(worker: int, process: Any, at: str, groups: MemoryGroups) -> str:
    """All that is known of a worker's end.

    Parameters
    ----------
    worker : int
        Its number.
    process : multiprocessing.Process
        With the arena's `memory`, where the worker has noted what it used.
    at : str
        Of `tasks_of`.
    groups : MemoryGroups
        Made when the workers were started.
    """
    code = process.exitcode
    text = f"worker {worker} (pid {process.pid}): {_how(code)}, at {at}"
    now, peak = process.memory.noted_memory()
    if peak:
        text += f", had used up to {peak >> 20} MiB of memory and last {now >> 20} MiB"
    cause = groups.killed() or OUT_OF_MEMORY if code == -signal.SIGKILL else _cause(code)
    return f"{text}; {cause}" if cause else text


def _how(code: int | None) -> str:
    if code is None:
        return (
            "ended, and something in this process has taken its exit code (os.wait, os.waitpid(-1))"
        )
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:  # a real-time signal
        return f"killed by signal {-code}"


def _cause(code: int | None) -> str | None:
    if code is None:
        return None
    if code < 0:
        return CAUSES.get(-code)  # type: ignore[call-overload, no-any-return]
    return UNCAUGHT if code == 1 else LEFT
