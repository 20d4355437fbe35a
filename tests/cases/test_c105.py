"""C105: without this, ranks that outnumber the shards get nothing."""

import stoker
from kit import flat
from stoker import Label


def test_one_shard_is_split_among_ranks_and_threads(numbered_shards):
    (shard,) = numbered_shards(100, 1)
    seen = []
    for rank in range(4):
        with stoker.Loader(
            shard, label=Label(), batch_size=8, rank=rank, world_size=4, threads=2, shuffle=True
        ) as loader:
            mine = flat(batch.label.tolist() for batch in loader)
            assert len(mine) == 25
            seen += mine
    assert sorted(seen) == list(range(100))
