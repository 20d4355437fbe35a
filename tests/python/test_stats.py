"""Without these: "is it data-bound?" is answered with numbers that mean something else."""

import json

import pytest
import stoker
from stoker import Image, Label


@pytest.fixture(params=[0, 2])
def loader(picture_shards, request):
    with stoker.Loader(
        picture_shards(40),
        image=Image("jpg", stoker.transforms.RandomResizedCrop(32)),
        label=Label("cls"),
        batch_size=8,
        threads=request.param,
    ) as loader:
        yield loader


def test_counts_are_those_of_what_was_handed_out(loader):
    for _ in range(2):
        for _ in loader:
            pass
    stats = loader.stats()
    assert stats["samples"] == 80
    assert stats["batches"] == 10
    assert stats["stages"]["decode"]["count"] >= 80
    assert stats["stages"]["decode"]["busy_s"] > 0
    assert stats["stages"]["read"]["bytes"] > 80 * 500
    assert 0 < stats["first_batch_s"] <= stats["elapsed_s"]
    assert 0 <= stats["wait_s"] <= stats["elapsed_s"]
    assert 0 < stats["memory_bytes"] <= stats["memory_peak_bytes"]
    assert stats["limit"] in (*stats["stages"], "")
    assert json.loads(json.dumps(stats)) == stats


def test_the_table_names_the_stages_and_the_verdict(loader):
    for _ in loader:
        pass
    stats = loader.stats()
    lines = str(stats).splitlines()
    assert lines[0].startswith("40 samples in 5 batches")
    for stage in ("read", "decode"):
        assert any(line.startswith(stage) for line in lines)
    assert stats["verdict"]
    assert lines[-1] == stats["verdict"]
    assert max(len(line) for line in lines[:-1]) <= 100


def test_the_table_of_a_fresh_loader_is_no_error(loader):
    assert "samples" in str(loader.stats())
    assert isinstance(loader.waits_for(), str)
