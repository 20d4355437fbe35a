"""Without these: a sample is lost or doubled when a run moves to another number of ranks."""

import numpy as np
import stoker
from hypothesis import given, settings
from hypothesis import strategies as st
from kit import flat
from stoker import Label

loaders = settings(max_examples=40)

sizes = st.integers(1, 400)  # fewer samples than ranks, one short step, many full ones
splits = st.sampled_from([(1, 24), (2, 12), (3, 8), (8, 3), (24, 1)])  # ranks x batch = 24
seeds = st.integers(0, 2**64 - 1)
epochs = st.integers(0, 2**40)
threads = st.sampled_from([0, 1, 4])
shuffles = st.sampled_from([False, True, "shards"])


def open_loader(shards, seed, batch_size, shuffle=True, **options):
    label = Label("cls")  # in numbered_shards(n) the label of a sample is its number
    return stoker.Loader(
        shards, label=label, batch_size=batch_size, shuffle=shuffle, seed=seed, **options
    )


def global_steps(shards, seed, ranks, batch_size, epoch=0, **options):
    """The labels of each step, all ranks in rank order."""
    of_rank = []
    for rank in range(ranks):
        with open_loader(
            shards, seed, batch_size, rank=rank, world_size=ranks, allow_empty=True, **options
        ) as loader:
            loader.set_epoch(epoch)
            of_rank.append([batch.label.tolist() for batch in loader])
            assert len(of_rank[-1]) == len(loader)
    return [flat(step) for step in zip(*of_rank, strict=True)]


@loaders
@given(n=sizes, seed=seeds, split=splits, shuffle=shuffles, epoch=epochs)
def test_an_epoch_is_the_same_for_any_number_of_ranks(
    numbered_shards, n, seed, split, shuffle, epoch
):
    shards = numbered_shards(n)
    alone = global_steps(shards, seed, 1, 24, epoch, shuffle=shuffle)
    assert global_steps(shards, seed, *split, epoch, shuffle=shuffle) == alone
    assert sorted(flat(alone)) == list(range(n))


@loaders
@given(n=sizes, seed=seeds, split=splits, shuffle=shuffles)
def test_sizes_of_ranks_differ_by_one_at_most_and_never_by_steps(
    numbered_shards, n, seed, split, shuffle
):
    ranks, batch_size = split
    rows = []
    for rank in range(ranks):
        with open_loader(
            numbered_shards(n),
            seed,
            batch_size,
            shuffle,
            rank=rank,
            world_size=ranks,
            allow_empty=True,
        ) as loader:
            rows.append([batch.rows for batch in loader])
    for step in zip(*rows, strict=True):
        assert max(step) - min(step) <= 1


@loaders
@given(n=sizes, seed=seeds, split=splits, tail=st.sampled_from(["drop", "wrap"]))
def test_drop_and_wrap_give_every_rank_whole_batches(numbered_shards, n, seed, split, tail):
    ranks, batch_size = split
    if tail == "drop" and n < 24:
        return  # no step: an error, tested elsewhere
    shards = numbered_shards(n)
    steps = global_steps(shards, seed, ranks, batch_size, tail=tail)
    whole = flat(global_steps(shards, seed, 1, 24))
    assert all(len(step) == 24 for step in steps)
    taken = flat(steps)
    assert taken[:n] == whole[: len(taken)]
    assert taken[n:] == [whole[i % n] for i in range(n, len(taken))]


@loaders
@given(n=sizes, seed=seeds, workers=threads, shuffle=shuffles, data=st.data())
def test_a_restored_loader_goes_on_with_the_next_sample(
    numbered_shards, n, seed, workers, shuffle, data
):
    with open_loader(numbered_shards(n), seed, 7, shuffle) as loader:
        whole = [batch.label for batch in loader]
    taken = data.draw(st.integers(0, len(whole) - 1), label="batches taken before the state")

    with open_loader(numbered_shards(n), seed, 7, shuffle, threads=workers) as loader:
        for _ in zip(range(taken), loader, strict=False):
            pass
        state = loader.state_dict()
        assert state["position"] == min(taken * 7, n)
    with open_loader(numbered_shards(n), seed, 7, shuffle) as loader:
        loader.load_state_dict(state)
        rest = [batch.label for batch in loader]
        assert loader.epoch == 1
    assert np.array_equal(np.concatenate(rest), np.concatenate(whole[taken:]))


@loaders
@given(n=st.integers(50, 400), seed=seeds, before=splits, after=splits, data=st.data())
def test_a_run_goes_on_with_another_number_of_ranks(numbered_shards, n, seed, before, after, data):
    shards = numbered_shards(n)
    whole = global_steps(shards, seed, 1, 24)
    taken = data.draw(st.integers(0, len(whole) - 1), label="steps before the state")
    ranks, batch_size = before
    with open_loader(
        shards, seed, batch_size, rank=0, world_size=ranks, allow_empty=True
    ) as loader:
        for _ in zip(range(taken), loader, strict=False):
            pass
        state = loader.state_dict()
    ranks, batch_size = after
    of_rank = []
    for rank in range(ranks):
        with open_loader(
            shards, seed, batch_size, rank=rank, world_size=ranks, allow_empty=True
        ) as loader:
            loader.load_state_dict(state)
            of_rank.append([batch.label.tolist() for batch in loader])
    assert [flat(step) for step in zip(*of_rank, strict=True)] == whole[taken:]


@loaders
@given(n=sizes, seed=seeds, epoch=epochs, shuffle=shuffles, workers=threads)
def test_order_and_at_and_batches_say_the_same(numbered_shards, n, seed, epoch, shuffle, workers):
    with open_loader(numbered_shards(n), seed, 16, shuffle, threads=workers) as loader:
        order = loader.order(epoch)
        loader.set_epoch(epoch)
        batches = [batch.samples.tolist() for batch in loader]
        assert flat(batches) == order.tolist()
        middle = n // 2
        row = loader.at(epoch, middle)
        assert row.rows == 1
        assert row.label.tolist() == [order[middle]]
        assert row.samples.tolist() == [order[middle]]
        assert loader.order(epoch, middle, n).tolist() == order[middle:].tolist()


@loaders
@given(seed=seeds, epoch=st.integers(0, 2**32))
def test_epochs_and_seeds_differ(numbered_shards, seed, epoch):
    with open_loader(numbered_shards(60), seed, 16) as loader:
        one, other = loader.order(epoch).tolist(), loader.order(epoch + 1).tolist()
    with open_loader(numbered_shards(60), seed ^ 1, 16) as loader:
        third = loader.order(epoch).tolist()
    assert one != other
    assert one != third


def test_the_order_never_changes(numbered_shards):
    """The order is a promise to every saved state: new code must not give another one."""
    with open_loader(numbered_shards(16), 7, 4) as loader:
        first = loader.order(0).tolist()
        with open_loader(numbered_shards(16), 7, 4, threads=0) as again:
            assert again.order(0).tolist() == first
        loader.set_epoch(3)
        assert [batch.epoch for batch in loader] == [3] * 4
