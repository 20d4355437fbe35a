"""C111: without this, samples that only fill up a batch are counted in the evaluation."""

import stoker
from kit import flat
from stoker import Label


def test_evaluation_gets_each_sample_once_and_the_last_batch_short(numbered_shards):
    rows, seen = [], []
    for rank in range(2):
        with stoker.Loader(
            numbered_shards(21), label=Label(), batch_size=4, rank=rank, world_size=2
        ) as loader:
            batches = [batch.label.tolist() for batch in loader]
            rows.append([len(batch) for batch in batches])
            seen += flat(batches)
    assert sorted(seen) == list(range(21))
    assert rows == [[4, 4, 3], [4, 4, 2]]
