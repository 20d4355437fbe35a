"""Without these: a script whose import was changed trains on other batches, and nobody knows why."""

from __future__ import annotations

import pathlib
import random
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from torch.utils.data import (  # noqa: E402
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
    default_collate,
)
from torch.utils.data import DataLoader as Stock  # noqa: E402
from torch.utils.data._utils.collate import default_collate_fn_map  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from dataloader_kit import (  # noqa: E402
    Drawn,
    Failing,
    Mixed,
    Stream,
    assert_same,
    datasets_made_of_others,
    odd_collate,
    outcomes,
    quiet,
)
from stoker.torch import DataLoader  # noqa: E402
from stoker.torch.arena import Pool  # noqa: E402
from stoker.torch.direct import PoolCollate  # noqa: E402

pytestmark = pytest.mark.torch


def seed_all(seed=11):
    torch.manual_seed(seed)
    np.random.seed(seed)
    random.seed(seed)


def passes(loader_class, make, epochs=2):
    """All batches of some epochs, and what the generators would draw next."""
    seed_all()
    arguments = make()
    generator = arguments.get("generator")
    loader = loader_class(**arguments)
    batches = [list(loader) for _ in range(epochs)]
    after = [torch.randint(1 << 40, ()).item(), random.random(), np.random.rand()]
    if generator is not None:
        after.append(torch.randint(1 << 40, (), generator=generator).item())
    return batches, after


def assert_parity(make, epochs=2):
    ours, our_draws = passes(DataLoader, make, epochs)
    theirs, their_draws = passes(Stock, make, epochs)
    assert_same(ours, theirs)
    assert our_draws == their_draws


WORKERS = [
    {},
    {"num_workers": 1},
    {"num_workers": 2},
    {"num_workers": 3, "prefetch_factor": 1},
    {"num_workers": 2, "persistent_workers": True},
    {"num_workers": 2, "multiprocessing_context": "fork"},
]


@pytest.mark.parametrize("workers", WORKERS, ids=str)
@pytest.mark.parametrize("shuffle", [False, True])
def test_batches_of_every_kind(workers, shuffle):
    assert_parity(lambda: {"dataset": Mixed(), "batch_size": 5, "shuffle": shuffle, **workers})


@pytest.mark.parametrize("workers", WORKERS, ids=str)
@pytest.mark.parametrize("own_generator", [False, True])
def test_random_streams_of_workers_bit_for_bit(workers, own_generator):
    def make():
        own = {"generator": torch.Generator().manual_seed(5)} if own_generator else {}
        return {"dataset": Drawn(), "batch_size": 4, "shuffle": True, **workers, **own}

    assert_parity(make, epochs=3)


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_other_start_methods(method):
    assert_parity(
        lambda: {
            "dataset": Mixed(11),
            "batch_size": 4,
            "shuffle": True,
            "num_workers": 2,
            "multiprocessing_context": method,
        },
        epochs=1,
    )


SAMPLERS = {
    "sequential": lambda n: {"sampler": SequentialSampler(range(n))},
    "random": lambda n: {"sampler": RandomSampler(range(n), replacement=True, num_samples=50)},
    "subset": lambda n: {"sampler": SubsetRandomSampler(range(3, n))},
    "weighted": lambda n: {"sampler": WeightedRandomSampler([1.0 + i for i in range(n)], 40)},
    "batch": lambda n: {
        "batch_sampler": BatchSampler(SequentialSampler(range(n)), 7, True),
        "batch_size": 1,
    },
    "distributed": lambda n: {"sampler": DistributedSampler(range(n), 3, 1, seed=4)},
    "list": lambda n: {"sampler": [5, 1, 1, 0]},
}


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("num_workers", [0, 2])
def test_samplers(name, num_workers):
    def make():
        return {
            "dataset": Drawn(24),
            "batch_size": 4,
            "num_workers": num_workers,
            **SAMPLERS[name](24),
        }

    assert_parity(make)


@pytest.mark.parametrize("num_workers", [0, 2])
def test_datasets_made_of_others(num_workers):
    for dataset in datasets_made_of_others():
        assert_parity(
            lambda d=dataset: {"dataset": d, "batch_size": 2, "num_workers": num_workers}, 1
        )


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("batch_size", [2, None])
@pytest.mark.parametrize("persistent", [False, True])
def test_streams_end_where_they_end(drop_last, batch_size, persistent):
    if batch_size is None and drop_last:
        pytest.skip("torch refuses it")
    assert_parity(
        lambda: {
            "dataset": Stream(),
            "batch_size": batch_size,
            "drop_last": drop_last,
            "num_workers": 3,
            "persistent_workers": persistent,
        }
    )


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_collation_of_ones_own(num_workers):
    assert_parity(
        lambda: {
            "dataset": range(10),
            "batch_size": 3,
            "num_workers": num_workers,
            "collate_fn": odd_collate,
        }
    )


@pytest.mark.parametrize("num_workers", [0, 2])
def test_without_automatic_collation(num_workers):
    assert_parity(
        lambda: {"dataset": Mixed(), "batch_size": None, "num_workers": num_workers}, epochs=1
    )


@pytest.mark.parametrize("num_workers", [0, 2])
def test_errors_stand_where_they_happen_and_the_rest_comes(num_workers):
    ours = outcomes(DataLoader(Failing(), num_workers=num_workers))
    assert ours == outcomes(Stock(Failing(), num_workers=num_workers))
    assert len(ours) == 6


def test_strides_survive_as_far_as_they_do_in_torch():
    loader = DataLoader(range(2), batch_size=2, num_workers=1, collate_fn=odd_collate)
    pair = next(iter(loader))
    assert pair.left["strided"].stride() == (1, 6)
    assert pair.left["fortran"].flags.f_contiguous
    assert pair.left["twice"][0].data_ptr() == pair.left["twice"][1].data_ptr()


def test_arguments_are_refused_as_torch_refuses_them():
    for arguments in (
        {"num_workers": -1},
        {"timeout": -1},
        {"prefetch_factor": 2},
        {"persistent_workers": True},
        {"batch_size": 0},
        {"shuffle": True, "sampler": [1]},
        {"multiprocessing_context": "nonsense", "num_workers": 1},
    ):
        with pytest.raises((ValueError, TypeError)) as theirs:
            Stock(range(3), **arguments)
        with pytest.raises(type(theirs.value)) as ours:
            DataLoader(range(3), **arguments)
        assert str(ours.value) == str(theirs.value)
    with pytest.raises(ValueError, match="arena_bytes"):
        DataLoader(range(3), arena_bytes=-1)


def test_it_is_torchs_loader_for_whoever_looks_inside():
    loader = DataLoader(Mixed(), 4, shuffle=True, num_workers=2, drop_last=True)
    assert isinstance(loader, Stock)
    again = type(loader)(
        dataset=loader.dataset,
        batch_size=loader.batch_size,
        num_workers=loader.num_workers,
        drop_last=loader.drop_last,
        sampler=loader.sampler,
        collate_fn=loader.collate_fn,
        pin_memory=loader.pin_memory,
        timeout=loader.timeout,
        worker_init_fn=loader.worker_init_fn,
        generator=loader.generator,
        persistent_workers=loader.persistent_workers,
        prefetch_factor=loader.prefetch_factor,
        multiprocessing_context=loader.multiprocessing_context,
    )
    assert len(again) == len(loader) == 9
    iterator = iter(again)
    assert len(iterator._workers) == 2
    assert all(worker.pid and worker.is_alive() for worker in iterator._workers)
    with pytest.raises(ValueError, match="batch_size"):
        loader.batch_size = 3


def test_a_script_that_spawns(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\n"
        "from torch.utils.data import TensorDataset\n"
        "from stoker.torch import DataLoader\n"
        "if __name__ == '__main__':\n"
        "    data = TensorDataset(torch.arange(20.0).reshape(10, 2), torch.arange(10))\n"
        "    loader = DataLoader(data, 4, num_workers=2, multiprocessing_context='spawn')\n"
        "    print([y.tolist() for x, y in loader])\n"
    )
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=120, env=quiet()
    )
    assert done.stdout == "[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]\n", done.stderr
    assert done.stderr == ""


def outcome(collate, samples):
    try:
        return collate(samples)
    except Exception as error:
        return type(error), str(error)


ODD = st.one_of(
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.integers(1 << 63, 1 << 65),
    st.floats(),
    st.booleans(),
    st.none(),
    st.sampled_from([np.int16(3), np.float32(0.5), np.uint64(1 << 63), Decimal(1), "a", 1j]),
    st.builds(torch.tensor, st.integers(0, 9)),
)


@given(
    st.one_of(
        st.lists(ODD, min_size=1, max_size=6),
        st.lists(st.dictionaries(st.sampled_from("abc"), ODD), min_size=1, max_size=4),
        st.lists(st.tuples(ODD, ODD), min_size=1, max_size=4),
    )
)
@settings(max_examples=300)
def test_collation_is_torchs_for_odd_samples_too(samples):
    ours = outcome(PoolCollate(Pool(1 << 20)), samples)
    theirs = outcome(default_collate, samples)
    assert_same_or_nan(ours, theirs)


def assert_same_or_nan(ours, theirs):
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key, value in theirs.items():
            assert_same_or_nan(ours[key], value)
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            assert_same_or_nan(a, b)
    elif isinstance(theirs, torch.Tensor):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0, equal_nan=True)
    else:
        assert_same(ours, theirs)


def test_collations_that_users_registered_are_used(monkeypatch):
    def sums(batch, *, collate_fn_map=None):
        return sum(batch)

    monkeypatch.setitem(default_collate_fn_map, int, sums)
    monkeypatch.setitem(default_collate_fn_map, dict, lambda batch, *, collate_fn_map: len(batch))
    for workers in (0, 1):
        assert list(DataLoader(range(4), 2, num_workers=workers)) == [1, 5]
        assert list(DataLoader([{"a": 1}] * 4, 2, num_workers=workers)) == [2, 2]
