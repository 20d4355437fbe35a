"""Without these: `break` repeats or loses an epoch, and a restored run trains on other samples."""

import pytest
import stoker
from stoker import Label


@pytest.fixture
def loader(numbered_shards):
    with stoker.Loader(
        numbered_shards(20), label=Label("cls"), batch_size=4, shuffle=True, seed=3
    ) as loader:
        yield loader


def take(loader, count):
    return [batch.label.tolist() for _, batch in zip(range(count), loader, strict=False)]


def labels(loader):
    return [batch.label.tolist() for batch in loader]


def epoch_of(loader, epoch):
    order = loader.order(epoch).tolist()
    return [order[i : i + 4] for i in range(0, 20, 4)]


def test_each_for_is_one_epoch(loader):
    assert labels(loader) == epoch_of(loader, 0)
    assert (loader.epoch, loader.step, loader.position) == (1, 0, 0)
    assert labels(loader) == epoch_of(loader, 1)
    assert loader.epoch == 2


def test_a_for_after_a_break_begins_the_next_epoch(loader):
    assert take(loader, 2) == epoch_of(loader, 0)[:2]
    assert (loader.epoch, loader.step, loader.position) == (0, 2, 8)
    assert labels(loader) == epoch_of(loader, 1)


def test_a_break_at_the_last_batch_has_ended_the_epoch(loader):
    assert take(loader, 5) == epoch_of(loader, 0)
    assert (loader.epoch, loader.step, loader.position) == (0, 5, 20)
    assert labels(loader) == epoch_of(loader, 1)


def test_a_pass_without_a_batch_has_not_begun_the_epoch(loader):
    iter(loader)
    assert labels(loader) == epoch_of(loader, 0)


def test_an_ended_iterator_stays_ended(loader):
    iterator = iter(loader)
    assert len(list(iterator)) == 5
    assert list(iterator) == []
    assert next(iterator, None) is None
    assert loader.epoch == 1


def test_a_newer_pass_makes_an_older_iterator_an_error(loader):
    old = iter(loader)
    next(old)
    new = iter(loader)
    with pytest.raises(RuntimeError, match="newer pass"):
        next(old)
    assert [batch.label.tolist() for batch in new] == epoch_of(loader, 1)


def test_a_restored_position_is_gone_on_from_once(loader):
    take(loader, 3)
    state = loader.state_dict()
    assert labels(loader) == epoch_of(loader, 1)
    loader.load_state_dict(state)
    assert loader.step == 3
    assert labels(loader) == epoch_of(loader, 0)[3:]
    assert labels(loader) == epoch_of(loader, 1)


def test_a_state_of_the_end_of_an_epoch_has_nothing_left_of_it(loader):
    take(loader, 5)
    state = loader.state_dict()
    loader.load_state_dict(state)
    assert labels(loader) == []
    assert labels(loader) == epoch_of(loader, 1)


def test_a_state_taken_while_iterating_counts_what_was_handed_out(loader):
    for taken, _ in enumerate(loader, 1):
        assert loader.state_dict()["position"] == 4 * taken


def test_set_epoch_goes_to_its_start(loader):
    take(loader, 2)
    loader.set_epoch(7)
    assert labels(loader) == epoch_of(loader, 7)
    assert loader.epoch == 8


def test_len_is_exact_and_does_not_change(loader):
    assert len(loader) == 5
    take(loader, 2)
    assert len(loader) == 5


def test_batches_know_their_place(loader):
    assert [(batch.epoch, batch.step) for batch in loader] == [(0, step) for step in range(5)]


def test_rows_of_any_epoch_are_out_of_range_past_the_end(loader):
    with pytest.raises(IndexError) as caught:
        loader.at(0, 20)
    assert isinstance(caught.value, stoker.OutOfRange)


def test_two_threads_share_one_iterator_without_losing_a_batch(numbered_shards):
    import threading

    with stoker.Loader(numbered_shards(400), label=Label("cls"), batch_size=3) as loader:
        iterator, seen = iter(loader), []

        def work():
            for batch in iterator:
                seen.extend(batch.label.tolist())
                loader.stats()

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert sorted(seen) == list(range(400))


def test_other_threads_run_while_a_batch_is_made(picture_shards):
    import threading

    with stoker.Loader(
        picture_shards(40),
        image=stoker.Image("jpg", stoker.transforms.Resize((1200, 1200))),
        batch_size=40,
        threads=0,  # all the work is in the call
    ) as loader:
        ticks, stop = [], threading.Event()

        def tick():
            while not stop.wait(0.001):
                ticks.append(1)

        ticker = threading.Thread(target=tick)
        ticker.start()
        while not ticks:
            pass
        before = len(ticks)
        iterator = iter(loader)
        next(iterator)
        assert len(ticks) - before >= 3  # 40 large pictures take many times that long
        stop.set()
        ticker.join()
