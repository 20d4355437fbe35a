"""Without these, an epoch begun early could change a draw, lose a batch or bring one twice; and pipes could cut messages."""

from __future__ import annotations

import functools
import mmap
import multiprocessing
import os
import pathlib
import sys
import threading
import time

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from stoker.torch import DataLoader, ElasticSampler  # noqa: E402
from stoker.torch.queues import Messages, ResultQueue, framed  # noqa: E402
from stoker.torch.shared import shares  # noqa: E402
from torch.utils.data import Dataset, DistributedSampler, SequentialSampler  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from dataloader_kit import Drawn, assert_same  # noqa: E402

pytestmark = pytest.mark.torch
TORCH = torch.utils.data.DataLoader


def all_of(messages):
    """Whatever comes until the other end is closed."""
    got = []
    try:
        while True:
            got += messages.read()
    except EOFError:
        return got


def run(kind, epochs, **options):
    """Batches of some epochs, each left after so many batches; None: to its end."""
    torch.manual_seed(5)
    loader = kind(persistent_workers=True, **options)
    seen = []
    for leave in epochs:
        for nth, batch in enumerate(loader):
            seen.append(batch)
            if nth + 1 == leave:
                break
        seen.append(torch.rand(1).item())  # the script's own draws
    return seen


@settings(max_examples=12)
@given(
    n=st.integers(1, 12),
    batch=st.sampled_from([None, 1, 3]),
    workers=st.integers(1, 3),
    window=st.integers(1, 3),
    epochs=st.lists(st.one_of(st.none(), st.integers(1, 6)), min_size=2, max_size=4),
)
def test_batches_and_draws_are_those_of_torch(n, batch, workers, window, epochs):
    options = {
        "dataset": Drawn(n),
        "batch_size": batch,
        "num_workers": workers,
        "prefetch_factor": window,
    }
    assert_same(run(DataLoader, epochs, **options), run(TORCH, epochs, **options))


FETCHED = multiprocessing.Value(
    "i", 0
)  # not in the dataset: with shared memory there nothing begins early


class Counted(Dataset):
    """Counts what is fetched, in all workers together."""

    def __init__(self, n=8):
        self.n = n
        FETCHED.value = 0

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        with FETCHED:
            FETCHED.value += 1
        return i

    def reaches(self, count):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if FETCHED.value >= count:
                return True
            time.sleep(0.01)
        return False


def fixed_samplers(data):
    return [
        {},
        {"sampler": DistributedSampler(data, 2, 1, shuffle=False)},
        {"sampler": ElasticSampler(data, 2, 2, 1, shuffle=False)},
    ]


@pytest.mark.parametrize("which", range(3))
def test_the_next_epoch_begins_while_this_one_ends(which):
    data = Counted(16)
    options = fixed_samplers(data)[which]
    each = len(options["sampler"]) if options else 16
    loader = DataLoader(data, 2, num_workers=2, persistent_workers=True, **options)
    for epoch in range(1, 4):
        assert len(list(loader)) == each // 2
        # The window of the next epoch is fetched, and no more than that.
        assert data.reaches(epoch * each + 8)
        assert FETCHED.value == epoch * each + 8


def test_where_something_is_drawn_nothing_begins_early():
    data = Counted(16)
    for options in (
        {"shuffle": True},
        {"shuffle": True, "generator": torch.Generator()},
        {"sampler": DistributedSampler(data, 2, 1)},
        {"sampler": torch.utils.data.SubsetRandomSampler(range(16))},
        {"sampler": list(range(16))},  # anybody's own: who knows
        {"in_order": False},
    ):
        loader = DataLoader(data, 2, num_workers=2, persistent_workers=True, **options)
        list(loader)
        assert loader._iterator._early is None
    loader = DataLoader(data, 2, num_workers=2)
    iterator = iter(loader)
    list(iterator)
    assert iterator._early is None


class Told(Dataset):
    """Samples that depend on what the script has said to the workers before the epoch."""

    def __init__(self):
        self.held = {"inside": [multiprocessing.Value("i", 0)]}

    def __len__(self):
        return 12

    def __getitem__(self, i):
        return self.held["inside"][0].value * 100 + i


def test_a_dataset_that_the_script_speaks_to_is_not_asked_early():
    def epochs(kind):
        data, seen = Told(), []
        loader = kind(data, 4, num_workers=1, persistent_workers=True)
        for epoch in range(3):
            data.held["inside"][0].value = epoch
            seen.append(list(loader))
        return seen

    assert_same(epochs(DataLoader), epochs(TORCH))


class Slotted:
    __slots__ = ("inside",)

    def __init__(self, inside):
        self.inside = inside


SPOKEN_TO = {
    "value": lambda: multiprocessing.Value("i"),
    "raw array": lambda: multiprocessing.RawArray("d", 3),
    "event": multiprocessing.Event,
    "queue": multiprocessing.Queue,
    "shared tensor": lambda: torch.zeros(3).share_memory_(),
    "mapping": lambda: mmap.mmap(-1, 4096),
    "array over a mapping": lambda: np.frombuffer(mmap.mmap(-1, 4096), np.uint8),
}


@pytest.mark.parametrize("what", SPOKEN_TO)
def test_what_a_script_can_speak_through_is_found_wherever_it_is(what):
    thing = SPOKEN_TO[what]()
    for holder in (
        thing,
        [{"a": (1, {"b": thing})}],
        functools.partial(print, key=thing),
        lambda: thing,
        Slotted(Slotted(thing)),
        torch.utils.data.Subset(Slotted(thing), [1, 2]),
    ):
        assert shares(holder)


def test_ordinary_datasets_share_nothing():
    inner = torch.utils.data.TensorDataset(torch.zeros(5, 2), torch.arange(5))
    loop = [inner, np.zeros(4), {"path": pathlib.Path("x")}, len, Dataset, list(range(100_000))]
    loop.append(loop)
    assert not shares(torch.utils.data.ConcatDataset([inner, Drawn(3)]))
    assert not shares(loop)


class Shrinking(Dataset):
    def __init__(self):
        self.n = 11

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return torch.full((3,), i)


@pytest.mark.parametrize("later", [4, 5, 17])
def test_a_dataset_of_another_length_by_then(later):
    def epochs(kind):
        data = Shrinking()
        loader = kind(data, 2, num_workers=2, persistent_workers=True)
        first = list(loader)
        data.n = later
        return [first, list(loader), list(loader)], loader

    ours, loader = epochs(DataLoader)
    assert_same(ours, epochs(TORCH)[0])
    ours.clear()
    memory = loader._iterator._worker_result_queue.memory
    in_use = memory.count() - len(list(memory.free_slots()))
    assert in_use <= 4  # the window; what was fetched for nothing has given its memory back


class InTurn(SequentialSampler):
    """A class of one's own: its epochs start when they are asked for."""


SAID = multiprocessing.Value("q", 0)  # outside of the dataset, where nobody can see it


class ToldOutside:
    """Samples that depend on what the script says between epochs."""

    def __len__(self):
        return 6

    def __getitem__(self, i):
        return SAID.value, i


def test_a_sampler_of_ones_own_waits_for_what_the_script_says():
    data = ToldOutside()
    loader = DataLoader(data, 2, sampler=InTurn(data), num_workers=2, persistent_workers=True)
    for epoch in range(3):
        SAID.value = epoch
        assert [told.tolist() for told, _ in loader] == [[epoch, epoch]] * 3


@pytest.mark.parametrize("when", range(6))
def test_a_sampler_that_is_restored_in_an_epoch_begins_there_in_the_next(when):
    def epochs(kind):
        sampler = ElasticSampler(12, 2, shuffle=False)
        loader = kind(range(12), 2, sampler=sampler, num_workers=2, persistent_workers=True)
        seen = []
        for _ in range(3):
            for nth, batch in enumerate(loader):
                seen.append(batch.tolist())
                if nth == when and len(seen) < 7:
                    sampler.load_state_dict(sampler.state_dict(), position=8)
        return seen

    assert epochs(DataLoader) == epochs(TORCH)


def test_states_do_not_count_what_was_begun_early():
    data = Drawn(10)
    loader = DataLoader(data, 2, num_workers=2, persistent_workers=True)
    whole = [list(loader) for _ in range(2)]
    loader = DataLoader(data, 2, num_workers=2, persistent_workers=True)
    list(loader)
    state = loader.state_dict()
    assert state["finished"]
    loader.load_state_dict(state)
    assert_same([b[0] for b in loader], [b[0] for b in whole[1]])
    iterator = iter(loader)
    for _ in range(4):
        next(iterator)
    state = loader.state_dict()
    assert state["yielded"] == 4
    loader.load_state_dict(state)
    assert_same([b[0] for b in loader], [b[0] for b in whole[1][4:]])
    assert_same([b[0] for b in loader], [b[0] for b in whole[1]])


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_worker_that_dies_between_epochs_is_named_and_not_waited_for(shuffle):
    data = Counted()
    loader = DataLoader(data, 2, shuffle, num_workers=2, persistent_workers=True)
    list(loader)
    assert data.reaches(8 if shuffle else 16)
    worker = loader._iterator._workers[1]
    worker.kill()
    worker.join()
    with pytest.raises(RuntimeError, match=rf"DataLoader worker .*{worker.pid}.*[Kk]illed"):
        iter(loader)


def test_a_thread_that_waits_sees_what_is_claimed():
    """torch's pinning thread waits for results while the epoch is asked for in another."""
    context = multiprocessing.get_context("fork")
    reader, writer = context.Pipe(duplex=False)
    results = ResultQueue()
    results.add(reader)
    results.hold()
    no_slot = (-1, 0, 0, [], framed("batch")[8:])
    os.write(writer.fileno(), framed((-5, no_slot, None)) + framed((-6, no_slot, None)))
    got = []
    waits = threading.Thread(target=lambda: got.append(results.get(60)))
    waits.start()
    end = time.monotonic() + 60
    while len(results._parked) < 2 and time.monotonic() < end:
        time.sleep(0.01)
    results.claim(-5, None)
    results.claim(-6, 0)
    waits.join(60)
    assert got == [(0, "batch")]
    results.close()
    writer.close()


@given(st.lists(st.binary(max_size=300_000), max_size=8), st.integers(1, 200_000))
@settings(max_examples=30)
def test_messages_are_whole_however_they_come(sent, piece):
    reader, writer = os.pipe()
    data = b"".join(map(framed, sent))

    def write():
        for at in range(0, len(data), piece):
            rest = data[at : at + piece]
            while rest:
                rest = rest[os.write(writer, rest) :]
        os.close(writer)

    thread = threading.Thread(target=write)
    thread.start()
    got = all_of(Messages(reader))
    thread.join()
    os.close(reader)
    assert got == sent


@pytest.mark.parametrize("cut", [3, 8, 20])
def test_a_message_that_was_not_ended_is_lost(cut):
    reader, writer = os.pipe()
    os.write(writer, framed(b"whole") + framed(bytes(100))[:cut])
    os.close(writer)
    got = all_of(Messages(reader))
    os.close(reader)
    assert got == [b"whole"]
