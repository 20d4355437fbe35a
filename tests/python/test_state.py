"""Without these: a checkpoint is resumed on other data or with another order, and nobody notices."""

import json
import pickle

import pytest
import stoker
from stoker import Label


def open_loader(shards, **options):
    options = {"batch_size": 4, "shuffle": True, "seed": 5, **options}
    return stoker.Loader(shards, label=Label("cls"), **options)


@pytest.fixture
def state(numbered_shards):
    with open_loader(numbered_shards(20)) as loader:
        for _ in zip(range(2), loader, strict=False):
            pass
        return loader.state_dict()


def test_a_state_is_plain_numbers_and_text(state):
    assert json.loads(json.dumps(state)) == state
    assert pickle.loads(pickle.dumps(state)) == state
    assert state["epoch"] == 0
    assert state["position"] == 8
    assert state["shuffle"] == "full"
    assert state["tail"] == "short"


def test_the_state_of_another_dataset_is_refused_with_both_fingerprints(numbered_shards, state):
    with open_loader(numbered_shards(21)) as loader:
        with pytest.raises(stoker.StateMismatch) as caught:
            loader.load_state_dict(state)
        assert state["fingerprint"] in str(caught.value)
        assert loader.dataset.fingerprint in str(caught.value)
        assert loader.position == 0
        assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    "options",
    [
        {"seed": 6},
        {"shuffle": False},
        {"shuffle": "shards"},
        {"tail": "drop"},
        {"batch_size": 5},
        {"batch_size": 4, "rank": 0, "world_size": 2},
    ],
)
def test_other_options_that_fix_the_order_are_refused(numbered_shards, state, options):
    with open_loader(numbered_shards(20), **options) as loader:
        with pytest.raises(stoker.StateMismatch):
            loader.load_state_dict(state)
        assert loader.position == 0


def test_the_same_global_batch_on_more_ranks_is_taken(numbered_shards, state):
    with open_loader(numbered_shards(20), batch_size=2, rank=1, world_size=2) as loader:
        loader.load_state_dict(state)
        assert loader.position == 8


@pytest.mark.parametrize(
    "damage",
    [
        {"fingerprint": None},
        {"fingerprint": "xyz"},
        {"version": 99},
        {"shuffle": "other"},
        {"epoch": -1},
        {"position": 2**70},
        {"position": "eight"},
    ],
)
def test_what_is_no_state_is_refused(numbered_shards, state, damage):
    with open_loader(numbered_shards(20)) as loader:
        with pytest.raises(stoker.StateMismatch):
            loader.load_state_dict({**state, **damage})
        with pytest.raises(stoker.StateMismatch):
            loader.load_state_dict({})
        assert loader.position == 0


def test_weights_are_part_of_the_state(numbered_shards):
    weights = [1.0] * 20
    with open_loader(numbered_shards(20), shuffle="weighted", weights=weights) as loader:
        state = loader.state_dict()
    with open_loader(numbered_shards(20), shuffle="weighted", weights=weights) as loader:
        loader.load_state_dict(state)
    weights[3] = 2.0
    with (
        open_loader(numbered_shards(20), shuffle="weighted", weights=weights) as loader,
        pytest.raises(stoker.StateMismatch),
    ):
        loader.load_state_dict(state)
