"""C106: without this, an epoch is half of the data, or all of it twice."""

import pytest
import stoker
from kit import flat
from stoker import Label


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
@pytest.mark.parametrize("threads", [0, 2])
@pytest.mark.parametrize("shuffle", [False, True, "shards"])
def test_the_union_of_ranks_is_the_whole_once(numbered_shards, ranks, threads, shuffle):
    seen = []
    for rank in range(ranks):
        with stoker.Loader(
            numbered_shards(160, 16),
            label=Label(),
            batch_size=8,
            rank=rank,
            world_size=ranks,
            threads=threads,
            shuffle=shuffle,
        ) as loader:
            seen += flat(batch.label.tolist() for batch in loader)
    assert sorted(seen) == list(range(160))


def test_the_launcher_is_heeded_without_being_asked(numbered_shards, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with stoker.Loader(numbered_shards(16), label=Label(), batch_size=4) as loader:
        assert (loader.rank, loader.world_size) == (1, 2)
        assert flat(b.label.tolist() for b in loader) == [4, 5, 6, 7, 12, 13, 14, 15]
