"""C62: without this, one bad picture stops the whole pipeline, or a whole set is dropped in silence."""

import pytest
import stoker
from kit import EOA, flat, jpg, mem, pic, save
from stoker import Image, Label


@pytest.fixture
def shard(tmp_path):
    data = jpg(pic())
    return save(
        tmp_path / "c62.tar",
        b"".join(
            mem(b"%02d.jpg" % i, data[:400] if i == 4 else data) + mem(b"%02d.cls" % i, b"%d" % i)
            for i in range(10)
        )
        + EOA,
    )


def open_loader(shard, **options):
    return stoker.Loader(shard, image=Image("jpg"), label=Label("cls"), batch_size=4, **options)


def test_raise_names_member_and_shard_and_closes_cleanly(shard):
    with open_loader(shard) as loader, pytest.raises(stoker.CorruptSample) as caught:
        for _ in loader:
            pass
    assert caught.value.key == "04"
    assert "c62.tar" in str(caught.value)
    assert loader.closed


def test_skip_gives_nine_samples_and_counts_one(shard):
    with open_loader(shard, on_error="skip") as loader:
        batches = [batch.label.tolist() for batch in loader]
        assert sorted(flat(batches)) == [0, 1, 2, 3, 5, 6, 7, 8, 9]
        assert [len(batch) for batch in batches] == [4, 4, 1]
        assert len(loader.damage) == 1
        assert len(loader) == 3


def test_all_ranks_see_the_same_number_of_batches(shard):
    steps = []
    for rank in range(2):
        with stoker.Loader(
            shard, image=Image("jpg"), batch_size=2, rank=rank, world_size=2, on_error="skip"
        ) as loader:
            steps.append(sum(1 for _ in loader))
    assert steps == [3, 3]


def test_more_damage_than_allowed_is_an_error(shard):
    with (
        open_loader(shard, on_error="skip", max_errors=0) as loader,
        pytest.raises(stoker.BudgetExceeded),
    ):
        for _ in loader:
            pass
