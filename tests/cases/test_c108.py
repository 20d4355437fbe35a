"""C108: without this, neighbours in a class-sorted shard stay neighbours."""

import numpy as np
import pytest
import stoker
from stoker import Label


@pytest.mark.parametrize(("shuffle", "shards"), [(True, 1), ("shards", 1), ("shards", 20)])
def test_displacement_is_that_of_a_full_shuffle(numbered_shards, shuffle, shards):
    with stoker.Loader(
        numbered_shards(5000, shards), label=Label(), shuffle=shuffle, seed=1
    ) as loader:
        order = loader.order(0)
    if shuffle is True or shards == 1:
        mean = np.abs(order - np.arange(5000)).mean()
        assert 0.9 < mean / (5000 / 3) < 1.1  # a third of the length, for a uniform permutation
        assert (np.abs(np.diff(order)) == 1).mean() < 0.01
    else:  # eight shards of 250 at a time, mixed fully
        window = np.unique(order[:2000] // 250)
        assert len(window) == 8
        assert (np.abs(np.diff(order)) == 1).mean() < 0.01
