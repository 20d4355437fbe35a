"""Without these: a rank reads all data, or a part that another rank reads, too."""

import subprocess
import sys

import pytest
from stoker.ranks import find_rank

NAMES = (
    "RANK",
    "WORLD_SIZE",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "SLURM_PROCID",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_NTASKS",
)


@pytest.fixture(autouse=True)
def _no_launcher(monkeypatch):
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)


def test_alone_without_a_launcher():
    assert find_rank(None, None) == (0, 1)


@pytest.mark.parametrize(
    ("rank", "size"),
    [
        ("RANK", "WORLD_SIZE"),
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    ],
)
def test_the_launchers_environment_is_read(monkeypatch, rank, size):
    monkeypatch.setenv(rank, "2")
    assert find_rank(None, None) == (0, 1)  # one of the two says nothing
    monkeypatch.setenv(size, "4")
    assert find_rank(None, None) == (2, 4)


def test_arguments_win_over_the_environment(monkeypatch):
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert find_rank(0, 3) == (0, 3)


def test_a_batch_script_of_slurm_is_not_a_rank(monkeypatch):
    monkeypatch.setenv("SLURM_PROCID", "0")
    monkeypatch.setenv("SLURM_NTASKS", "8")
    assert find_rank(None, None) == (0, 1)


def test_nonsense_in_the_environment_is_named(monkeypatch):
    monkeypatch.setenv("RANK", "first")
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(ValueError, match="RANK is 'first'"):
        find_rank(None, None)
    monkeypatch.setenv("RANK", "4")
    with pytest.raises(ValueError, match="rank is 4; it must be below world_size"):
        find_rank(None, None)


@pytest.mark.torch
def test_an_initialised_process_group_wins_over_the_environment(tmp_path):
    pytest.importorskip("torch")
    script = f"""
import os, torch.distributed as dist
dist.init_process_group("gloo", init_method="file://{tmp_path}/rendezvous", rank=0, world_size=1)
os.environ["RANK"], os.environ["WORLD_SIZE"] = "3", "7"
from stoker.ranks import find_rank
print(find_rank(None, None))
dist.destroy_process_group()
print(find_rank(None, None))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.split("\n")[:2] == ["(0, 1)", "(3, 7)"], done.stderr
