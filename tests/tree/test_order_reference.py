"""Without these: docs/order.md and the C code agree only because one was copied from the other."""

import order_reference
import pytest
from tree import ROOT

TEXT = (ROOT / "docs" / "order.md").read_text()
VECTORS = list(order_reference.vectors(TEXT))


@pytest.mark.parametrize("line", VECTORS, ids=[line.partition(":")[0][:60] for line in VECTORS])
def test_a_second_implementation_gives_the_same(line):
    assert order_reference.parse(line)[2] == order_reference.compute(line)


def test_there_are_vectors_of_every_kind():
    kinds = {order_reference.parse(line)[0] for line in VECTORS}
    assert kinds == {
        *("philox", "permute", "shards", "weighted"),
        *("weights_hash", "ranks", "substitute", "skip"),
    }


def test_a_wrong_vector_is_found():
    line = next(line for line in VECTORS if line.startswith("permute n=10"))
    wrong = line[:-1] + ("1" if line[-1] != "1" else "2")
    assert order_reference.check(TEXT.replace(line, wrong)) == [wrong]


@pytest.mark.parametrize("n", [1, 2, 255, 256, 257, 258, 1000])
def test_permutations_are_permutations(n):
    permutation = order_reference.Permutation(n, seed=5, epoch=6, stream=0)
    assert sorted(map(permutation, range(n))) == list(range(n))


def test_skip_keeps_every_whole_sample_but_those_it_took():
    for damaged in range(2**7):
        lost = {i for i in range(7) if damaged >> i & 1}
        steps = order_reference.skip(range(7), lost, batch=3)
        rows = [sample for step in steps for sample in step]
        assert len(steps) == 3
        assert sorted(rows) == [i for i in range(7) if i not in lost]
