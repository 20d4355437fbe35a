"""C104: without this, one rank ends early and the others wait until the watchdog kills the job."""

import pytest
import stoker
from kit import EOA, flat, mem, save
from stoker import Label


@pytest.fixture
def shards(tmp_path):
    number = 0
    paths = []
    for shard, count in enumerate((10, 10, 7)):
        members = b"".join(mem(b"%02d.cls" % i, b"%d" % i) for i in range(number, number + count))
        paths.append(save(tmp_path / f"{shard}.tar", members + EOA))
        number += count
    return paths


@pytest.mark.parametrize("shuffle", [False, True, "shards"])
@pytest.mark.parametrize("tail", ["short", "drop", "wrap"])
def test_ranks_have_the_same_number_of_batches(shards, shuffle, tail):
    batches = []
    for rank in range(2):
        with stoker.Loader(
            shards, label=Label(), batch_size=4, rank=rank, world_size=2, shuffle=shuffle, tail=tail
        ) as loader:
            batches.append([batch.label.tolist() for batch in loader])
            assert len(batches[-1]) == len(loader)
    assert len(batches[0]) == len(batches[1]) == {"short": 4, "drop": 3, "wrap": 4}[tail]
    seen = flat(flat(batches))
    if tail == "short":
        assert sorted(seen) == list(range(27))
    assert len(set(seen)) == {"short": 27, "drop": 24, "wrap": 27}[tail]
