"""Run candidates side by side: a fresh process tree for each, interleaved round by round."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path

from bench.peers import tree
from bench.peers.candidate import Entry, Job

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 600
QUIET = 0.08  # of one core
LOOK_EVERY_S = 0.1
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
}


def wait_for_quiet(patience_s: float) -> None:
    """Wait for a second in which the machine has next to nothing to do, at most `patience_s`."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        busy, begun = tree.machine_busy_seconds(), time.monotonic()
        time.sleep(1)
        if tree.machine_busy_seconds() - busy < QUIET * (time.monotonic() - begun):
            return


class Interpreters:
    """Which Python has the packages of a candidate: this one, or those of --also."""

    def __init__(self, also: list[str]) -> None:
        self.paths = [sys.executable, *(os.path.abspath(path) for path in also)]
        self.known: dict[tuple[str, str], bool] = {}

    def _has(self, python: str, package: str) -> bool:
        if (python, package) not in self.known:
            test = f"import importlib.util as u, sys; sys.exit(u.find_spec({package!r}) is None)"
            done = subprocess.run([python, "-c", test], capture_output=True, cwd="/")
            self.known[python, package] = done.returncode == 0
        return self.known[python, package]

    def for_entry(self, entry: Entry) -> str | None:
        for python in self.paths:
            if all(self._has(python, package) for package in entry.needs):
                return python
        return None


class Watch:
    """Looks at the memory of a process tree from its first batch to the end of its first epoch."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.looking = False
        self.rss = self.pss = 0

    def look(self) -> None:
        if self.looking:
            rss, pss = tree.memory_bytes(self.pid)
            self.rss, self.pss = max(self.rss, rss), max(self.pss, pss)


def _read_events(process: subprocess.Popen, watch: Watch) -> dict:
    """Follow a run until its result. Raises TimeoutError."""
    os.set_blocking(process.stdout.fileno(), False)
    selector = selectors.DefaultSelector()
    selector.register(process.stdout, selectors.EVENT_READ)
    deadline, rest = time.monotonic() + LIMIT_S, b""
    while True:
        if time.monotonic() > deadline:
            raise TimeoutError
        if selector.select(LOOK_EVERY_S):
            data = process.stdout.read()
            if data == b"":
                return {}
            *lines, rest = (rest + (data or b"")).split(b"\n")
            for line in lines:
                event = _event(line)
                if event.get("event") == "first_batch":
                    watch.looking = True
                elif event.get("event") == "first_epoch_done":
                    watch.look()
                    watch.looking = False
                elif event.get("event") == "result":
                    # Not the end of the pipe: torch's workers by forkserver hold it, and outlive their parent.
                    return event
        watch.look()


def _event(line: bytes) -> dict:
    """An event, or nothing where a peer printed something of its own."""
    try:
        event = json.loads(line)
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}


def _end_group(process: subprocess.Popen) -> None:
    """End whatever is left of a run's processes."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run(entry: Entry, job: Job, python: str) -> dict:
    """One run of one candidate. A failure is a result with `failed`."""
    command = [python, "-m", "bench.peers.run_one", entry.name, json.dumps(asdict(job))]
    places = [str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(filter(None, places))}
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=environment,
        start_new_session=True,
    ) as process:
        watch = Watch(process.pid)
        drain = _Drain(process.stderr)
        try:
            result = _read_events(process, watch)
        except TimeoutError:
            result = {"failed": f"no result after {LIMIT_S} s"}
        finally:
            _end_group(process)
        errors = drain.tail()
    if not result:
        result = {"failed": errors or f"no result, exit status {process.returncode}"}
    elif watch.rss:
        result |= {"peak_rss": watch.rss, "peak_pss": watch.pss}
    return result


class _Drain:
    """Reads a pipe in a thread, so that nobody waits for a full one; keeps the last line."""

    def __init__(self, pipe) -> None:
        self.last = b""
        self.thread = threading.Thread(target=self._read, args=(pipe,), daemon=True)
        self.thread.start()

    def _read(self, pipe) -> None:
        for line in pipe:
            self.last = line.strip() or self.last

    def tail(self) -> str:
        self.thread.join(timeout=5)
        return self.last.decode(errors="replace")[-200:]
