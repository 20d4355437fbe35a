"""Without these: a file gets in that no test ever looked at, or two files share a name and a reader
opens the wrong one."""

import re
from collections import Counter

from tree import ROOT, tracked

EXCUSES = ROOT / "tests" / "tree" / "untested.txt"


def excuses():
    """Path -> reason, of files of src/ that have no test of their own."""
    lines = [line for line in EXCUSES.read_text().splitlines() if line and line[0] != "#"]
    return dict(line.split(": ", 1) for line in lines)


def has_test(path):
    layer = path.relative_to(ROOT / "src").parts[0]
    return (ROOT / "tests" / "unit" / layer / f"test_{path.stem}.c").is_file()


def test_every_source_has_its_test_or_an_excuse():
    missing = [p for p in tracked("src/*.c") if not has_test(p)]
    names = {p.relative_to(ROOT).as_posix() for p in missing}
    assert names - set(excuses()) == set()


def test_every_excuse_is_still_needed():
    for name, reason in excuses().items():
        assert (ROOT / name).is_file(), name
        assert not has_test(ROOT / name), name
        assert len(reason) > 10, name


def test_every_test_says_first_what_breaks_without_it():
    for path in tracked("tests/*/test_*.c", "tests/*/test_*.py"):
        begin = path.read_text()[:400]
        assert re.search(r"[Ww]ithout th", begin), path


def test_file_names_are_unique():
    names = Counter(p.name for p in tracked("src/*.c", "src/*.h", "cli/*.c", "cli/*.h"))
    assert [name for name, times in names.items() if times > 1] == []
