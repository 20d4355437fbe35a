"""Without these: a resumed run repeats or loses samples, or fetches again what was used."""

from __future__ import annotations

import json
import pathlib
import pickle
import sys

import pytest

torch = pytest.importorskip("torch")

from stoker.torch import DataLoader  # noqa: E402
from torch.utils.data import IterableDataset, RandomSampler, get_worker_info  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parent))

pytestmark = pytest.mark.torch

fetched = []


class Numbers:
    def __len__(self):
        return 23

    def __getitem__(self, i):
        fetched.append(i)
        return i


def make(num_workers, **options):
    extra = {"persistent_workers": True} if num_workers == 3 else {}
    return DataLoader(Numbers(), 4, num_workers=num_workers, **extra, **options)


def lists(batches):
    return [batch.tolist() for batch in batches]


OPTIONS = {
    "in order": dict,
    "shuffled": lambda: {"shuffle": True},
    "generator": lambda: {"shuffle": True, "generator": torch.Generator().manual_seed(3)},
    "sampler": lambda: {
        "sampler": RandomSampler(range(23), generator=torch.Generator().manual_seed(9))
    },
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("num_workers", [0, 2, 3])
def test_a_restored_loader_goes_on_with_the_next_batch(name, num_workers):
    torch.manual_seed(5)
    loader = make(num_workers, **OPTIONS[name]())
    whole = [lists(loader), lists(loader)]
    for epoch in range(2):
        for taken in (0, 1, 4, 6):
            torch.manual_seed(5)
            loader = make(num_workers, **OPTIONS[name]())
            for _ in range(epoch):
                list(loader)
            iterator = iter(loader)
            assert lists(next(iterator) for _ in range(taken)) == whole[epoch][:taken]
            state = json.loads(json.dumps(loader.state_dict()))
            del iterator
            torch.manual_seed(99)  # the script's own draws do not matter
            other = make((num_workers + 1) % 3, **OPTIONS[name]())
            other.load_state_dict(state)
            rest = lists(other)
            assert rest == whole[epoch][taken:]


def test_nothing_is_fetched_again_and_the_global_generator_is_left_alone():
    loader = make(0, shuffle=True)
    iterator = iter(loader)
    next(iterator), next(iterator)
    state = loader.state_dict()
    other = make(0, shuffle=True)
    other.load_state_dict(state)
    torch.manual_seed(1)
    before = torch.get_rng_state()
    fetched.clear()
    rest = list(other)
    assert len(fetched) == 23 - 8
    assert len(rest) == 4
    assert torch.equal(torch.get_rng_state(), before)


def test_the_state_at_the_end_begins_the_next_epoch():
    loader = make(0, shuffle=True, generator=torch.Generator().manual_seed(3))
    first, second = lists(loader), None
    state = loader.state_dict()
    second = lists(loader)
    other = make(2, shuffle=True, generator=torch.Generator().manual_seed(3))
    other.load_state_dict(state)
    assert lists(other) == second != first


class Stream(IterableDataset):
    """A stream with a state of its own, a part for each worker."""

    def __init__(self, sizes=(7, 2, 5)):
        self.sizes = sizes
        self.at = self.begin = 0

    def __iter__(self):
        info = get_worker_info()
        part = 0 if info is None else info.id
        begin, self.begin = self.begin, 0
        for at in range(begin + 1, self.sizes[part] + 1):
            self.at = at
            yield torch.tensor(100 * part + at)

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = self.begin = state["at"]


class Forgetful(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        part = 0 if info is None else info.id
        return iter(range(100 * part, 100 * part + 5))


@pytest.mark.parametrize("num_workers", [0, 1, 3])
def test_streams_go_on_with_their_own_state(num_workers):
    whole = lists(DataLoader(Stream(), 2, num_workers=num_workers))
    for taken in range(len(whole)):
        loader = DataLoader(Stream(), 2, num_workers=num_workers)
        iterator = iter(loader)
        assert lists(next(iterator) for _ in range(taken)) == whole[:taken]
        state = pickle.loads(pickle.dumps(loader.state_dict()))
        other = DataLoader(Stream(), 2, num_workers=num_workers)
        other.load_state_dict(state)
        assert lists(other) == whole[taken:]


@pytest.mark.parametrize("num_workers", [0, 2])
def test_streams_without_a_state_are_passed_over_with_a_warning(num_workers):
    whole = lists(DataLoader(Forgetful(), 2, num_workers=num_workers))
    loader = DataLoader(Forgetful(), 2, num_workers=num_workers)
    iterator = iter(loader)
    next(iterator), next(iterator)
    other = DataLoader(Forgetful(), 2, num_workers=num_workers)
    with pytest.warns(RuntimeWarning, match="fetched again"):
        other.load_state_dict(loader.state_dict())
    assert lists(other) == whole[2:]


def test_states_of_something_else_are_refused():
    loader = make(0)
    with pytest.raises(ValueError, match="no state"):
        loader.load_state_dict({"a": 1})
    loader.load_state_dict({})
    streams = DataLoader(Stream(), 2, num_workers=3)
    iterator = iter(streams)
    next(iterator)
    with pytest.raises(ValueError, match="3 workers"):
        DataLoader(Stream(), 2, num_workers=1).load_state_dict(streams.state_dict())
