"""Without these: rules of torch's loader that scripts lean on (guards, lengths, nesting, streams) are others here."""

from __future__ import annotations

import itertools
import pathlib
import pickle
import sys
import time
import warnings

import pytest

torch = pytest.importorskip("torch")

import torch.utils.data as data  # noqa: E402
from torch.utils.data import DataLoader as Stock  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from dataloader_kit import Mixed, Stream, assert_same  # noqa: E402
from stoker.torch import DataLoader  # noqa: E402

pytestmark = pytest.mark.torch


def outcome(loader_class, act):
    """What comes of it: a value, or an error's type and words; and the warnings."""
    torch.manual_seed(21)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = act(loader_class)
        except Exception as error:
            result = [type(error).__name__, str(error)]
    return [result, [[w.category, str(w.message)] for w in caught]]


def assert_alike(act):
    theirs = outcome(Stock, act)
    assert_same(outcome(DataLoader, act), theirs)
    return theirs


GUARDED = ["batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"]


@pytest.mark.parametrize("name", [*GUARDED, "multiprocessing_context"])
def test_what_cannot_be_assigned(name):
    (told, message), _ = assert_alike(lambda kind: setattr(kind(range(4)), name, "new"))
    assert told == "ValueError"
    assert name in message


@pytest.mark.parametrize("value", ["spawn", "nonsense", 3, None])
def test_the_start_method_is_a_property_that_checks(value):
    def act(kind):
        loader = kind(range(4), num_workers=1)
        loader.multiprocessing_context = value
        context = loader.multiprocessing_context
        return None if context is None else context.get_start_method()

    assert_alike(act)


def test_what_can_be_assigned_counts_from_the_next_iterator_on():
    def act(kind):
        loader = kind(range(8), 2, generator=torch.Generator().manual_seed(1), shuffle=True)
        seen = [list(loader)]
        loader.num_workers, loader.prefetch_factor = 2, 1
        seen.append(list(loader))
        loader.collate_fn = sum
        loader.worker_init_fn = print
        seen.append(list(loader))
        loader.num_workers = 0
        loader.timeout = 5
        return [seen, outcome(kind, lambda _: list(loader))]

    ((_, timed_out), _) = assert_alike(act)
    assert timed_out[0][0] == "AssertionError"


class Lengthless(data.IterableDataset):
    def __iter__(self):
        return itertools.count()


LENGTHS = {
    "map": lambda kind: len(kind(range(10), 4)),
    "map, dropped": lambda kind: len(kind(range(10), 4, drop_last=True)),
    "no batches": lambda kind: len(kind(range(10), None)),
    "sampler without a length": lambda kind: len(kind(range(10), sampler=iter([1, 2]))),
    "stream without a length": lambda kind: len(kind(Lengthless(), 4)),
    "chain without a length": lambda kind: len(kind(data.ChainDataset([Lengthless()]), 4)),
    "iterator": lambda kind: len(iter(kind(range(10), 4, num_workers=1))),
    "nothing": lambda kind: [len(kind([], 4)), list(kind([], 4))],
    "nothing, shuffled": lambda kind: len(kind([], 4, shuffle=True)),
}


@pytest.mark.parametrize("name", LENGTHS)
def test_lengths(name):
    assert_alike(LENGTHS[name])


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("batch_size", [3, None])
def test_streams_without_an_end(num_workers, batch_size):
    def act(kind):
        return list(itertools.islice(kind(Lengthless(), batch_size, num_workers=num_workers), 7))

    assert_alike(act)


class Whole(data.Dataset):
    """Fetches a batch at once, and says so."""

    def __len__(self):
        return 9

    def __getitem__(self, i):
        raise AssertionError("one by one")

    def __getitems__(self, indices):
        return [torch.tensor([i, len(indices)]) for i in indices]


class OneMissing(Whole):
    def __getitems__(self, indices):
        return super().__getitems__(indices)[1:]


DATASETS = {
    "__getitems__": Whole,
    "subset of __getitems__": lambda: data.Subset(Whole(), [7, 2, 5]),
    "stack": lambda: data.StackDataset(Mixed(9), Mixed(9)),
    "stack by name": lambda: data.StackDataset(whole=Whole(), other=Whole()),
    "stack with a sample missing": lambda: data.StackDataset(OneMissing(), Whole()),
    "concat": lambda: data.ConcatDataset([Mixed(2), Mixed(3)]),
    "chain": lambda: data.ChainDataset([Stream((3,)), Stream((1, 2))]),
    "sum": lambda: Mixed(2) + Mixed(1),
    "tensors": lambda: data.TensorDataset(torch.arange(12).view(6, 2), torch.rand(6)),
    "split": lambda: data.random_split(range(9), [0.5, 0.5], torch.Generator().manual_seed(2))[1],
    "a dict": lambda: {i: i * i for i in range(5)},
}


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("name", DATASETS)
def test_datasets(name, num_workers):
    (result, _) = assert_alike(
        lambda kind: list(kind(DATASETS[name](), 2, num_workers=num_workers))
    )
    assert ("missing" in name) == (result[0] == "ValueError")


def test_data_pipes():
    pipes = pytest.importorskip("torch.utils.data.datapipes.iter")

    def act(kind, num_workers):
        pipe = pipes.IterableWrapper(range(20)).shuffle().sharding_filter().map(float)
        loader = kind(pipe, 4, shuffle=True, num_workers=num_workers)
        return [type(loader.dataset).__name__, list(loader), list(loader)]

    for num_workers in (0, 2):
        assert_alike(lambda kind, n=num_workers: act(kind, n))


@pytest.mark.parametrize("num_workers", [0, 1])
def test_iterators_stand_alone_unless_workers_persist(num_workers):
    def act(kind):
        loader = kind(range(6), 2, shuffle=True, num_workers=num_workers)
        first, second = iter(loader), iter(loader)
        return [
            [next(first), next(second), next(first), list(second), list(first)],
            first is iter(first),
            outcome(kind, lambda _: next(first)),
            outcome(kind, lambda _: pickle.dumps(iter(loader)))[0][0],
        ]

    assert_alike(act)


def test_persistent_workers_are_one_iterator():
    def act(kind):
        loader = kind(range(6), 2, shuffle=True, num_workers=2, persistent_workers=True)
        first = iter(loader)
        pids = [w.pid for w in first._workers]
        some = [next(first)]
        again = iter(loader)  # in the middle of an epoch: it begins anew
        some += list(again)
        return [
            some,
            again is first,
            pids == [w.pid for w in again._workers],
            loader._iterator is first,
        ]

    (result, _) = assert_alike(act)
    assert result[1:] == [True, True, True]


class Gate(data.Dataset):
    """The first sample is not ready before somebody opens the gate."""

    def __init__(self, gate):
        self.gate = gate

    def __len__(self):
        return 8

    def __getitem__(self, i):
        deadline = time.monotonic() + 60
        while i == 0 and not self.gate.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        return i


def test_batches_out_of_order_go_past_a_slow_one(tmp_path):
    def act(kind):
        gate = tmp_path / kind.__module__
        iterator = iter(kind(Gate(gate), None, num_workers=2, in_order=False, prefetch_factor=1))
        early = [next(iterator) for _ in range(5)]
        gate.touch()
        return [early, sorted(iterator)]

    (result, _) = assert_alike(act)
    assert result == [[1, 2, 3, 4, 5], [0, 6, 7]]


def test_the_devices_argument_warns_as_it_does_in_torch():
    def act(kind):
        return list(kind(range(3), pin_memory=True, pin_memory_device="cuda"))

    if torch.accelerator.is_available():
        pytest.skip("an accelerator is here, and batches would be pinned")
    _, told = assert_alike(act)
    assert len(told) == 2


class Quantized(data.Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, i):
        return torch.quantize_per_tensor(torch.full((40000,), float(i)), 0.1, 0, torch.quint8)


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
def test_quantized_tensors_are_stacked_by_torch():
    """In memory that is laid out as bytes alone they end the process."""
    (batch,) = DataLoader(Quantized(), 2)
    assert torch.equal(batch.dequantize(), torch.stack([torch.zeros(40000), torch.ones(40000)]))
    values = DataLoader(Quantized(), 2, num_workers=1)
    assert [batch.is_quantized for batch in values] == [True]


@pytest.mark.parametrize("num_workers", [0, 1])
def test_nested_tensors_are_refused_in_the_words_of_torch(num_workers):
    parts = [torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]) for _ in range(2)]
    words = []
    for kind in (Stock, DataLoader):
        with pytest.raises(RuntimeError, match="nested tensors") as caught:
            list(kind(parts, 2, num_workers=num_workers))
        words.append(str(caught.value).splitlines()[-1])
    assert words[0] == words[1]
