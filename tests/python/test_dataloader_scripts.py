"""Without these: "only the import changes" is a claim; whole training scripts may see other batches and other losses."""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from dataloader_kit import quiet  # noqa: E402

SCRIPTS = pathlib.Path(__file__).parent / "scripts"
STOCK = "from torch.utils.data import DataLoader\n"
OURS = "from stoker.torch import DataLoader\n"
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]

pytestmark = pytest.mark.torch


def variants(name, folder):
    """The script as it is, and with one line changed, each in a folder of its own."""
    lines = (SCRIPTS / name).read_text().splitlines(keepends=True)
    changed = [OURS if line == STOCK else line for line in lines]
    assert sum(a != b for a, b in zip(lines, changed, strict=True)) == 1
    for kind, text in (("stock", lines), ("ours", changed)):
        (folder / kind).mkdir()
        shutil.copy(SCRIPTS / "record.py", folder / kind)
        (folder / kind / name).write_text("".join(text))
        yield folder / kind / name


def run_both(name, folder, launcher=(), **environment):
    """What both wrote to standard error, which is the same; they run side by side."""
    environment = {**quiet(), "OMP_NUM_THREADS": "1", **environment}
    running = [
        subprocess.Popen(
            [sys.executable, *launcher, script, script.parent / "out"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for script in variants(name, folder)
    ]
    told = []
    try:
        for process in running:
            _, errors = process.communicate(timeout=300)
            assert process.returncode == 0, errors
            told.append(errors)
    finally:
        for process in running:
            process.kill()
    if not launcher:
        assert told[1].replace("/ours/", "/stock/") == told[0]  # warnings and their lines, too
    return told[1]


def compare(folder, file="out"):
    """What both recorded, once it is known to be the same."""
    stock, ours = (json.loads((folder / kind / file).read_text()) for kind in ("stock", "ours"))
    assert ours == stock
    assert len(stock["batches"]) == len(stock["losses"]) > 0
    assert len(set(stock["batches"])) > 1
    return stock


def test_an_image_classifier(tmp_path):
    pytest.importorskip("torchvision")
    errors = run_both("images.py", tmp_path)
    if not torch.accelerator.is_available():
        assert "no accelerator is found" in errors
    seen = compare(tmp_path)
    assert len(seen["batches"]) == 2 * (8 + 3)
    assert len(set(seen["batches"])) == 2 * 8 + 3  # the validation batches come again as they are


def test_a_token_model_with_spawned_workers(tmp_path):
    assert run_both("tokens.py", tmp_path) == ""
    assert len(set(compare(tmp_path)["batches"])) == 2 * 12


@pytest.mark.parametrize(("rank", "world_size"), [(0, 1), (1, 2)])
def test_a_stream_shared_out_to_workers_and_ranks(tmp_path, rank, world_size):
    assert not run_both("stream.py", tmp_path, RANK=str(rank), WORLD_SIZE=str(world_size))
    compare(tmp_path)


def test_two_ranks_by_torchrun(tmp_path):
    run_both("ddp.py", tmp_path, TORCHRUN)
    ranks = [compare(tmp_path, f"out.{rank}.json") for rank in range(2)]
    assert ranks[0]["losses"] == ranks[1]["losses"]
    for epoch in (slice(0, 7), slice(7, 14)):
        both = [i for rank in ranks for batch in rank["seen"][epoch] for i in batch]
        assert len(both) == 102
        assert set(both) == {*range(101)}
    assert ranks[0]["seen"][:7] != ranks[0]["seen"][7:]  # set_epoch reached the order
