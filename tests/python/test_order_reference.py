"""Without these: the loader follows its own order, and docs/order.md describes another one."""

import random
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import stoker
from kit import EOA, flat, mem
from stoker import Label

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import order_reference

SIZES = (1, 7, 24, 61, 300)


@pytest.fixture(scope="module")
def make_shards(tmp_path_factory):
    """make_shards(n, damaged): n labels in four shards, one of them empty; paths and the starts."""
    folder = tmp_path_factory.mktemp("order")
    made = {}

    def make(n, damaged=frozenset()):
        key = n, frozenset(damaged)
        if key not in made:
            starts = [0, n // 4, n // 4, n * 3 // 4, n]
            paths = []
            for number, (first, last) in enumerate(pairwise(starts)):
                path = folder / f"{len(made)}-{number}.tar"
                members = (
                    mem(b"%06d.cls" % i, b"x" if i in damaged else b"%d" % i)
                    for i in range(first, last)
                )
                path.write_bytes(b"".join(members) + EOA)
                paths.append(str(path))
            made[key] = paths, starts
        return made[key]

    return make


def order_of(options, starts, n, epoch):
    """A function from position to sample, by the reference."""
    seed = options["seed"]
    if options["shuffle"] == "shards":
        return order_reference.shards_order(starts, options["shuffle_window"], seed, epoch)
    if options["shuffle"] == "weighted":
        return order_reference.weighted_order(options["weights"], seed, epoch)
    return order_reference.full_order(n, seed, epoch) if options["shuffle"] else int


def steps_of(paths, epoch, **options):
    with stoker.Loader(paths, label=Label("cls"), allow_empty=True, **options) as loader:
        loader.set_epoch(epoch)
        return [batch.label.tolist() for batch in loader]


def draw_options(random_, n):
    world = random_.randint(1, 5)
    shuffle = random_.choice([False, True, "shards", "weighted"])
    options = {
        "batch_size": random_.randint(1, 9),
        "world_size": world,
        "rank": random_.randrange(world),
        "tail": random_.choice(["short", "drop", "wrap"]),
        "seed": random_.getrandbits(64),
        "shuffle": shuffle,
        "shuffle_window": random_.randint(1, 5),
        "threads": random_.choice([0, 2]),
    }
    if options["tail"] == "drop" and n < options["batch_size"] * world:
        options["tail"] = "short"  # a loader without a step is refused
    if shuffle == "weighted":
        options["weights"] = [random_.choice([0.0, 0.5, 1.0, 3.25]) for _ in range(n - 1)] + [1.0]
    return options


def rank_samples(options, starts, n, epoch):
    """The samples of this rank, a list for each step."""
    at = order_of(options, starts, n, epoch)
    split = (options[name] for name in ("batch_size", "world_size", "rank", "tail"))
    return [[at(p) for p in step] for step in order_reference.rank_steps(n, *split)]


@pytest.mark.parametrize("seed", range(40))
def test_every_step_is_that_of_the_reference(make_shards, seed):
    random_ = random.Random(seed)
    n, epoch = random_.choice(SIZES), random_.choice([0, 1, 2**40])
    paths, starts = make_shards(n)
    options = draw_options(random_, n)
    assert steps_of(paths, epoch, **options) == rank_samples(options, starts, n, epoch)


@pytest.mark.parametrize("seed", range(20))
def test_skipped_rows_are_filled_as_by_the_reference(make_shards, seed):
    random_ = random.Random(seed)
    n = random_.choice(SIZES[1:])
    damaged = set(random_.sample(range(n), random_.randint(1, n // 2)))
    paths, starts = make_shards(n, damaged)
    options = draw_options(random_, n)
    steps = rank_samples(options, starts, n, 1)
    want = order_reference.skip(flat(steps), damaged, options["batch_size"])
    want += [[]] * (len(steps) - len(want))  # a rank that got nothing in the last step
    if options["world_size"] == 1:
        want = [step for step in want if step]
    assert steps_of(paths, 1, on_error="skip", **options) == want


@pytest.mark.parametrize("seed", range(20))
def test_replaced_rows_are_those_of_the_reference(make_shards, seed):
    random_ = random.Random(seed)
    n = random_.choice(SIZES[1:])
    damaged = set(random_.sample(range(n), n // 4))
    paths, starts = make_shards(n, damaged)
    options = draw_options(random_, n)
    steps = rank_samples(options, starts, n, 1)
    want = [order_reference.replace(step, damaged, n, options["seed"], 1) for step in steps]
    assert None not in flat(want)
    assert steps_of(paths, 1, on_error="replace", **options) == want
