"""Without these: one bad file ends a run after days, or ranks see different substitutes."""

from __future__ import annotations

import copy
import logging
import pickle
import sys

import pytest

torch = pytest.importorskip("torch")

from stoker.torch import DataLoader, Resilient, TooManyErrors  # noqa: E402
from stoker.torch.resilient import substitute  # noqa: E402
from torch.utils.data import Subset  # noqa: E402

pytestmark = pytest.mark.torch


class Holes:
    """Samples that cannot be made where `bad` says so."""

    classes = ("a", "b")

    def __init__(self, n=200, bad=(3, 17, 99)):
        self.n = n
        self.bad = frozenset(bad)

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if i in self.bad:
            raise OSError(f"file {i} is cut short")
        return i


@pytest.mark.parametrize("num_workers", [0, 2])
def test_the_same_substitutes_everywhere(num_workers):
    alone = [x for b in DataLoader(Resilient(Holes(), seed=5), 8) for x in b.tolist()]
    data = Resilient(Holes(), seed=5)
    again = [x for b in DataLoader(data, 8, num_workers=num_workers) for x in b.tolist()]
    ranks = [[data[i] for i in range(rank, 200, 2)] for rank in range(2)]
    assert again == alone
    assert [ranks[i % 2][i // 2] for i in range(200)] == alone
    assert [i for i in range(200) if alone[i] != i] == [3, 17, 99]
    assert not {3, 17, 99} & set(alone)


def test_substitutes_are_spread_over_the_dataset():
    others = [substitute(0, i, 0, 10) for i in range(10_000)]
    assert all(900 < others.count(k) < 1100 for k in range(10))
    assert substitute(1, 7, 0, 1000) != substitute(2, 7, 0, 1000)


def test_losses_are_counted_named_and_logged_within_reason(caplog):
    data = Resilient(Holes(2000, range(0, 2000, 4)))
    with caplog.at_level(logging.WARNING, logger="stoker"):
        for i in range(1200):
            data[i]
    assert data.fetched == 1200
    assert data.errors >= 300
    assert data.damage[0] == (0, "OSError: file 0 is cut short")
    assert 10 < len(caplog.records) <= 12
    assert "sample 0 could not be made" in caplog.records[0].getMessage()


def test_budgets():
    data = Resilient(Holes(), max_errors=2)
    with pytest.raises(
        TooManyErrors, match=r"max_errors is 2; the last: sample 99, OSError"
    ) as caught:
        [data[i] for i in range(200)]
    assert [index for index, _ in caught.value.damage] == [3, 17, 99]
    assert pickle.loads(pickle.dumps(caught.value)).damage == caught.value.damage
    data = Resilient(Holes(1000, range(0, 1000, 5)), max_error_rate=0.05)
    with pytest.raises(TooManyErrors, match=r"max_error_rate is 0\.05"):
        [data[i] for i in range(1000)]
    assert data.fetched == 101


@pytest.mark.parametrize("num_workers", [0, 1])
def test_a_spent_budget_is_the_same_error_from_a_worker(num_workers):
    loader = DataLoader(Resilient(Holes(), max_errors=2), 10, num_workers=num_workers)
    with pytest.raises(TooManyErrors, match=r"max_errors is 2; the last: sample 99, OSError"):
        list(loader)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_losses_of_workers_are_seen_in_the_parent(method):
    data = Resilient(Holes(), seed=5)
    assert data[3] != 3
    own = data.errors
    loader = DataLoader(data, 8, num_workers=2, multiprocessing_context=method)
    before = data.total_errors
    for epoch in range(1, 3):
        list(loader)
        assert data.total_errors == before + 3 * epoch
    assert (data.errors, data.fetched) == (own, 1)


def test_a_worker_counts_its_own_losses_only():
    data = Resilient(Holes(), max_errors=3, seed=5)
    for index in (3, 17, 99):
        data[index]
    loader = DataLoader(data, 8, num_workers=1)
    list(loader)  # three more, and its budget is three
    assert data.total_errors == 6
    with pytest.raises(TooManyErrors, match="max_errors is 3"):
        data[3]


def test_copies_of_it_count_by_themselves():
    data = Resilient(Holes(), seed=5)
    data[3]
    for copied in (pickle.loads(pickle.dumps(data)), copy.deepcopy(data)):
        assert copied.total_errors == 1
        copied[17]
        assert copied.total_errors == 2
    assert data.total_errors == 1


def test_losses_in_threads_are_all_counted():
    data = Resilient(Holes(2000, range(0, 2000, 4)), seed=5)
    list(DataLoader(data, 10, num_workers=4, worker_mode="thread"))
    assert data.total_errors == alone_errors(Holes(2000, range(0, 2000, 4)))


def alone_errors(dataset):
    data = Resilient(dataset, seed=5)
    list(DataLoader(data, 10))
    return data.total_errors


def test_a_dataset_of_nothing_but_holes_ends():
    with pytest.raises(TooManyErrors, match="16 substitutes"):
        Resilient(Holes(50, range(50)))[0]


def test_raise_names_the_index():
    with pytest.raises(OSError, match="file 3") as caught:
        Resilient(Holes(), on_error="raise")[3]
    if sys.version_info >= (3, 11):
        assert caught.value.__notes__ == ["sample 3 of Holes"]


def test_it_is_the_dataset_for_all_else():
    data = Resilient(Subset(range(10), [4, 5, 6]))
    assert len(data) == 3
    assert data.__getitems__([0, 2]) == [4, 6]
    assert Resilient(Holes()).classes == ("a", "b")
    again = pickle.loads(pickle.dumps(Resilient(Holes(), seed=3)))
    assert again.seed == 3
    assert again[5] == 5


def test_arguments_out_of_range_are_named():
    for options in ({"on_error": "skip"}, {"max_errors": -1}, {"max_error_rate": 2}):
        with pytest.raises(ValueError, match=next(iter(options))):
            Resilient(Holes(), **options)
