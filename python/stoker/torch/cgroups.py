"""The control groups of this process: version 2, or version 1 for a controller that is still under it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = "/sys/fs/cgroup"
OWN = "/proc/self/cgroup"
NO_LIMIT = 1 << 60  # version 1 has no word for it, only a number this large


def folders(controller: str, root: str = ROOT, own: str = OWN) -> list[Path]:
    """The groups that count this process, from its own one up; some of them may not be there.

    Parameters
    ----------
    controller : str
        "cpu" or "memory".
    root, own : str
        Where control groups are mounted, and the file that names those of this process.
    """
    try:
        lines = [line.split(":", 2) for line in Path(own).read_text().splitlines()]
    except OSError:
        lines = []
    mount, path = Path(root), ""
    for _, controllers, place in (line for line in lines if len(line) == 3):
        if controller in controllers.split(","):
            return list(_upward(mount / controller, place))
        if not controllers:
            path = place
    return list(_upward(mount, path))


def _upward(mount: Path, path: str) -> Iterator[Path]:
    """The folder of a group and those above it. A container may see its own group as the mount."""
    folder = mount / path.lstrip("/")
    if ".." not in folder.parts:
        while folder != mount:
            yield folder
            folder = folder.parent
    yield mount


def words(path: Path) -> list[str]:
    """The words of a file; none if there is no such file."""
    try:
        return path.read_text().split()
    except OSError:
        return []


def number(path: Path) -> int | None:
    """The number in a file; None if there is no such file, or it says "max"."""
    found = words(path)
    return int(found[0]) if found and found[0].isdigit() else None


def counts(path: Path) -> dict[str, int]:
    """The pairs of a file like memory.events; none if there is no such file."""
    found = words(path)
    pairs = zip(found[::2], found[1::2], strict=False)
    return {name: int(count) for name, count in pairs if count.isdigit()}


def memory_limit(folder: Path) -> int | None:
    """Bytes that a group may have; None: it has no limit of its own."""
    limit = number(folder / "memory.max")
    if limit is None:
        limit = number(folder / "memory.limit_in_bytes")
    return None if limit is None or limit >= NO_LIMIT else limit
