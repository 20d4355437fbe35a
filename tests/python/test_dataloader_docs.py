"""Without these: whoever looks up an error in the page for newcomers finds words that no program says any more."""

from __future__ import annotations

import inspect
import pathlib
import re
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

import stoker.torch  # noqa: E402

pytestmark = pytest.mark.torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "coming-from-dataloader.md").read_text(encoding="utf-8")


def rows(heading):
    """Cells of the first table under a heading."""
    part = PAGE.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def source(folder, pattern="*.py"):
    return "\n".join(path.read_text(errors="replace") for path in folder.rglob(pattern))


@pytest.fixture(scope="module")
def programs():
    """All that may say it: ours, torch's loader, what both are built on."""
    import multiprocessing

    ours = source(pathlib.Path(stoker.torch.__file__).parent)
    theirs = source(pathlib.Path(torch.utils.data.__file__).parent)
    wrapper = inspect.getsource(torch._utils)
    below = source(pathlib.Path(multiprocessing.__file__).parent)
    text = ours + theirs + wrapper + below
    text = re.sub(r'"\s*\n\s*f?"', "", text)  # a text over several lines
    # Of torch's C++ and of the interpreter:
    text += (
        "stack expects each tensor to be equal size Trying to resize storage that is not resizable"
    )
    return text + "Can't pickle local object; cannot pickle 'lock' object"


def test_errors_that_are_explained_are_said_somewhere(programs):
    quoted = [said for row in rows("Troubleshooting") for said in re.findall(r"`([^`]+)`", row[0])]
    assert len(quoted) > 20
    pieces = [p.strip() for said in quoted for p in re.split(r"\b[NX]\b|SIG[A-Z]+", said)]
    assert [p for p in pieces if len(p) > 2 and p not in programs] == []


def test_arguments_of_our_own_are_explained():
    theirs = inspect.signature(torch.utils.data.DataLoader.__init__).parameters
    ours = inspect.signature(stoker.torch.DataLoader.__init__).parameters
    assert [name for name in ours if name not in theirs and f"`{name}`" not in PAGE] == []


def test_the_one_line_runs(tmp_path):
    line = re.search(r"```python\n(from stoker.torch import DataLoader).*\n```", PAGE)[1]
    script = tmp_path / "train.py"
    script.write_text(f"{line}\nprint([batch.tolist() for batch in DataLoader(range(5), 2)])\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert done.stdout == "[[0, 1], [2, 3], [4]]\n", done.stderr


def test_the_list_of_parts_leads_to_parts():
    listed = re.findall(r"\]\(#([\w-]+)\)", PAGE)
    headings = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    anchors = [re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings]
    assert len(listed) > 5
    assert [a for a in listed if a not in anchors] == []
