"""Without these: a resumed run repeats or loses samples, or fetches again what was used."""

from __future__ import annotations

import gc
import json
import pathlib
import pickle
import sys
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from stoker.torch import DataLoader  # noqa: E402
from torch.utils.data import IterableDataset, RandomSampler, SubsetRandomSampler, get_worker_info  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from dataloader_kit import Failing  # noqa: E402

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
    "a sampler without the generator": lambda: {
        "sampler": SubsetRandomSampler(range(23)),
        "generator": torch.Generator().manual_seed(3),
    },
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


@pytest.mark.parametrize("mode", ["process", "thread"])
@pytest.mark.parametrize("num_workers", [0, 2, 3])
def test_an_epoch_that_was_left_goes_on_where_it_was_left(num_workers, mode):
    options = {"shuffle": True, "worker_mode": mode}
    for epoch in range(2):
        torch.manual_seed(5)
        loader = make(num_workers, **options)
        whole = [lists(loader), lists(loader)][epoch]
        torch.manual_seed(5)
        loader = make(num_workers, **options)
        for _ in range(epoch):
            list(loader)
        for n, _ in enumerate(loader, start=1):
            if n == 2:
                break  # and the iterator is gone
        gc.collect()
        other = make(num_workers, **options)
        other.load_state_dict(json.loads(json.dumps(loader.state_dict())))
        assert lists(other) == whole[2:]


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


def test_a_stream_that_was_left_goes_on_where_it_was_left():
    loader = DataLoader(Stream(), 2)
    whole = lists(loader)
    loader = DataLoader(Stream(), 2)
    for _ in loader:
        break
    gc.collect()
    other = DataLoader(Stream(), 2)
    other.load_state_dict(pickle.loads(pickle.dumps(loader.state_dict())))
    assert lists(other) == whole[1:]


@pytest.mark.parametrize("num_workers", [2, 3])  # 3 persist
def test_later_epochs_are_those_of_the_unbroken_run(num_workers):
    def made(state=None):
        loader = make(num_workers, shuffle=True, generator=torch.Generator().manual_seed(3))
        if state is not None:
            loader.load_state_dict(json.loads(json.dumps(state)))
        return loader

    loader = made()
    whole = [lists(loader) for _ in range(4)]
    loader = made()
    list(loader)
    loader = made(loader.state_dict())  # at the end of an epoch
    for _ in range(2):  # twice within the next
        next(iter(loader))
        loader = made(loader.state_dict())
    assert lists(loader) == whole[1][2:]
    assert lists(loader) == whole[2]
    assert lists(made(loader.state_dict())) == whole[3]


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


class Cursor:
    """An iterator with a state. At its end it stands at the start again, as some do."""

    def __init__(self, numbers):
        self.numbers = numbers
        self.at = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at == len(self.numbers):
            self.at = 0
            raise StopIteration
        self.at += 1
        return torch.tensor(self.numbers[self.at - 1])

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


def numbers_of(sizes):
    """Those of the worker that asks, or all."""
    info = get_worker_info()
    parts = range(len(sizes)) if info is None else [info.id]
    return [100 * part + k for part in parts for k in range(sizes[part])]


class ByIterator(IterableDataset):
    """Only the iterator has a state."""

    def __init__(self, sizes):
        self.sizes = sizes

    def __iter__(self):
        return Cursor(numbers_of(self.sizes))


class ByBoth(ByIterator):
    """The dataset has drawn a shift that its iterators need; the iterator has the position."""

    def __init__(self, sizes, shift=1000):
        super().__init__(sizes)
        self.shift = shift

    def __iter__(self):
        self.shift += 7
        return Cursor([n + self.shift for n in numbers_of(self.sizes)])

    def state_dict(self):
        return {"shift": self.shift - 7}

    def load_state_dict(self, state):
        self.shift = state["shift"]


class OwnIterator(ByIterator):
    """The dataset is its own iterator."""

    def __iter__(self):
        self.cursor = Cursor(numbers_of(self.sizes))
        self.waiting = None
        return self

    def __next__(self):
        return next(self.cursor)

    def state_dict(self):
        return self.cursor.state_dict()

    def load_state_dict(self, state):
        if hasattr(self, "cursor"):
            self.cursor.load_state_dict(state)


KINDS = [ByIterator, ByBoth, OwnIterator]


def check_cuts(kind, sizes, cuts, persistent, **options):
    """A run that is cut and restored twice is the uninterrupted one."""

    # Another shift than at first: that of the state counts. (A worker that has handed out nothing yet
    # has no state: it begins as the script has the dataset.)
    other = {"shift": 5} if kind is ByBoth and "num_workers" not in options else {}
    extra = {"persistent_workers": True} if persistent else {}

    def loader(**changed):
        return DataLoader(kind(sizes, **changed), **extra, **options)

    whole = lists(loader())
    done, state = [], None
    for cut in cuts:
        part = loader(**(other if state else {}))
        if state is not None:
            part.load_state_dict(state)
        iterator = iter(part)
        for _ in range(min(cut, len(whole) - len(done))):
            done.append(next(iterator).tolist())
        assert done == whole[: len(done)]
        state = pickle.loads(pickle.dumps(part.state_dict()))
        del iterator, part
    last = loader(**other)
    last.load_state_dict(state)
    assert done + lists(last) == whole


@settings(max_examples=60)
@given(
    kind=st.sampled_from(KINDS),
    size=st.integers(0, 12),
    cuts=st.tuples(st.integers(0, 5), st.integers(0, 5)),
    batch_size=st.sampled_from([None, 1, 2, 3, 5]),
    drop_last=st.booleans(),
)
def test_any_stream_goes_on_anywhere(kind, size, cuts, batch_size, drop_last):
    drop_last = drop_last and batch_size is not None
    check_cuts(kind, [size], cuts, False, batch_size=batch_size, drop_last=drop_last)


@settings(max_examples=8)
@given(
    kind=st.sampled_from(KINDS),
    sizes=st.lists(st.integers(0, 7), min_size=1, max_size=3),
    cuts=st.tuples(st.integers(0, 6), st.integers(0, 4)),
    batch_size=st.sampled_from([None, 1, 2, 3]),
    drop_last=st.booleans(),
    prefetch_factor=st.integers(1, 3),
    persistent=st.booleans(),
    mode=st.sampled_from(["process", "thread"]),
)
@example(ByIterator, [3, 7, 1], (4, 1), 2, False, 2, False, "process")  # cut after two ends
@example(ByBoth, [0, 5], (1, 1), 2, True, 1, True, "process")
@example(ByBoth, [3, 7, 1], (4, 1), 2, False, 2, False, "thread")
def test_streams_of_any_workers_go_on_anywhere(
    kind, sizes, cuts, batch_size, drop_last, prefetch_factor, persistent, mode
):
    check_cuts(
        kind,
        sizes,
        cuts,
        persistent,
        batch_size=batch_size,
        drop_last=drop_last and batch_size is not None,
        num_workers=len(sizes),
        prefetch_factor=prefetch_factor,
        worker_mode=mode,
    )


class Counted(Numbers):
    """A map-style dataset that counts what was asked of it."""

    def __init__(self):
        self.asked = 0

    def __getitem__(self, i):
        self.asked += 1
        return 100 * i + self.asked

    def state_dict(self):
        return {"asked": self.asked}

    def load_state_dict(self, state):
        self.asked = state["asked"]


@pytest.mark.parametrize("num_workers", [0, 1, 2, 3])
def test_map_style_datasets_keep_their_state_too(num_workers):
    def loader():
        extra = {"persistent_workers": True} if num_workers == 3 else {}
        return DataLoader(Counted(), 4, shuffle=True, num_workers=num_workers, **extra)

    torch.manual_seed(5)
    whole = lists(loader())
    for taken in (0, 1, 4):
        torch.manual_seed(5)
        first = loader()
        iterator = iter(first)
        assert lists(next(iterator) for _ in range(taken)) == whole[:taken]
        state = json.loads(json.dumps(first.state_dict()))
        del iterator
        other = loader()
        other.load_state_dict(state)
        assert lists(other) == whole[taken:]
    with pytest.raises(ValueError, match="the states of a dataset"):
        DataLoader(Counted(), 4, num_workers=num_workers + 1).load_state_dict(state)


class Nesting(ByIterator):
    """A stream out of a loader of its own."""

    def __iter__(self):
        return iter(DataLoader(Numbers(), 2))


def test_a_loader_inside_of_a_stream_is_not_taken_for_it():
    loader = DataLoader(Nesting([1]), None, num_workers=1)
    whole = lists(loader)
    iterator = iter(loader)
    assert lists(next(iterator) for _ in range(3)) == whole[:3]
    assert loader.state_dict()["dataset"] is None


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


def no_odd_ones(batch):
    """A collation that has nothing to say of some batches."""
    return None if batch[0] % 2 else batch


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.filterwarnings("ignore:neither the iterable dataset")
def test_batches_that_are_none_are_passed_over_like_any_other(num_workers):
    def make_streams():
        return DataLoader(Forgetful(), 1, num_workers=num_workers, collate_fn=no_odd_ones)

    whole = list(make_streams())
    assert None in whole[:4]
    loader = make_streams()
    iterator = iter(loader)
    for _ in range(5):
        next(iterator)
    other = make_streams()
    other.load_state_dict(loader.state_dict())
    assert list(other) == whole[5:]


def test_states_of_something_else_are_refused():
    loader = make(0)
    with pytest.raises(ValueError, match="no state"):
        loader.load_state_dict({"a": 1})
    iterator = iter(loader)
    next(iterator)
    loader.load_state_dict({})  # ignored: the iterator is still the one whose state counts
    assert loader.state_dict()["yielded"] == 1
    streams = DataLoader(Stream(), 2, num_workers=3)
    iterator = iter(streams)
    next(iterator)
    with pytest.raises(ValueError, match="3 workers"):
        DataLoader(Stream(), 2, num_workers=1).load_state_dict(streams.state_dict())


@pytest.mark.parametrize("num_workers", [0, 1, 2])
def test_an_error_in_the_place_of_its_batch_counts(num_workers):
    """A script that catches it and goes on must not get the batch before it again after a restart."""
    loader = DataLoader(Failing(), num_workers=num_workers)
    iterator = iter(loader)
    assert [next(iterator).item() for _ in range(2)] == [0, 1]
    with pytest.raises(KeyError):
        next(iterator)
    assert next(iterator).item() == 3
    state = loader.state_dict()
    assert state["yielded"] == 4
    again = DataLoader(Failing(), num_workers=num_workers)
    again.load_state_dict(state)
    assert [batch.item() for batch in again] == [4, 5]


class Slow:
    """A map-style dataset whose first sample comes once a file is there."""

    def __init__(self, gate):
        self.gate = gate

    def __len__(self):
        return 12

    def __getitem__(self, i):
        end = time.monotonic() + 60
        while i == 0 and not self.gate.exists() and time.monotonic() < end:
            time.sleep(0.01)
        return i


class Told(Slow):
    """With a state, of which the parent knows the latest."""

    def state_dict(self):
        return {"at": 0}

    def load_state_dict(self, state):
        assert state == {"at": 0}


@pytest.mark.parametrize("mode", ["process", "thread"])
@pytest.mark.parametrize("kind", [Slow, Told])
def test_what_was_overtaken_comes_first_when_it_goes_on(tmp_path, mode, kind):
    def loader(**options):
        return DataLoader(kind(tmp_path / "gate"), None, num_workers=2, worker_mode=mode, **options)

    # Worker 0 has the tasks 0 and 2, and hangs in the first; worker 1 goes on by itself.
    first = loader(in_order=False)
    iterator = iter(first)
    assert [next(iterator) for _ in range(3)] == [1, 3, 4]
    assert iterator._worker_result_queue.states == {}  # nothing is kept of what is handed out
    states = [json.loads(json.dumps(first.state_dict()))]
    (tmp_path / "gate").touch()
    del iterator
    for options in ({}, {"in_order": False}):
        other = loader(**options)
        other.load_state_dict(states[0])
        iterator = iter(other)
        begun = [next(iterator) for _ in range(2)]
        states.append(json.loads(json.dumps(other.state_dict())))
        rest = list(iterator)
        assert sorted(begun + rest) == [0, 2, *range(5, 12)]
        assert options or begun + rest == [0, 2, *range(5, 12)]
        last = loader()
        last.load_state_dict(states[-1])
        assert list(last) == [i for i in [0, 2, *range(5, 12)] if i not in begun]
    assert other.state_dict()["overtaken"] == []  # the epoch is over
    again = loader()
    again.load_state_dict(other.state_dict())
    assert list(again) == list(range(12))


@pytest.mark.parametrize("mode", ["process", "thread"])
def test_streams_out_of_order_tell_their_state(mode):
    def loader():
        return DataLoader(
            Stream(), 2, num_workers=2, worker_mode=mode, in_order=False, persistent_workers=False
        )

    whole = lists(DataLoader(Stream(), 2, num_workers=2))
    for taken in range(len(whole)):
        first = loader()
        iterator = iter(first)
        begun = lists(next(iterator) for _ in range(taken))
        state = json.loads(json.dumps(first.state_dict()))
        assert iterator._worker_result_queue.states == {}
        del iterator
        other = loader()
        other.load_state_dict(state)
        assert sorted(begun + lists(other)) == sorted(whole)
