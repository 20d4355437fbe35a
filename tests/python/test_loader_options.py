"""Without these: a misspelt or senseless option is ignored, and a run trains on something else."""

import numpy as np
import pytest
import stoker
from stoker import Label


def open_loader(shards, **options):
    return stoker.Loader(shards, label=Label("cls"), **options)


@pytest.mark.parametrize(
    ("options", "kind", "says"),
    [
        ({"batch_size": 0}, ValueError, "batch_size is 0; it must be from 1 to 1048576"),
        ({"batch_size": 2.0}, TypeError, "batch_size is 2.0; it must be an int"),
        ({"batch_size": True}, TypeError, "batch_size is True"),
        ({"shuffle": "yes"}, ValueError, "shuffle is 'yes'"),
        ({"shuffle": 1}, ValueError, "shuffle is 1"),
        ({"seed": -1}, ValueError, "seed is -1"),
        ({"seed": 2**64}, ValueError, "seed is 18446744073709551616"),
        ({"rank": 2}, ValueError, "give both of them"),
        ({"rank": 2, "world_size": 2}, ValueError, "rank is 2; it must be below world_size"),
        ({"tail": "keep"}, ValueError, 'it must be "short", "drop" or "wrap"'),
        ({"on_error": "ignore"}, ValueError, "on_error is 'ignore'"),
        ({"on_error": None}, TypeError, "on_error is None"),
        ({"max_errors": -1}, ValueError, "max_errors is -1"),
        ({"max_error_rate": 1.5}, ValueError, "max_error_rate is 1.5"),
        ({"threads": -2}, ValueError, "threads is -2"),
        ({"io_threads": 0}, ValueError, "io_threads is 0"),
        ({"prefetch": 65}, ValueError, "prefetch is 65"),
        ({"memory": "2 gigs"}, ValueError, "memory is '2 gigs'"),
        ({"memory": 1000}, ValueError, "memory is 1000"),
        ({"shuffle_window": 0}, ValueError, "shuffle_window is 0"),
        ({"weights": [1.0] * 9}, ValueError, "weights go with"),
        ({"shuffle": "weighted"}, ValueError, "weights go with"),
        ({"shuffle": "weighted", "weights": [1.0] * 8}, ValueError, "8 entries for 9 samples"),
        ({"shuffle": "weighted", "weights": [[1.0] * 9]}, ValueError, "shape (1, 9)"),
        ({"shuffle": "weighted", "weights": [-1.0] * 9}, ValueError, "weight"),
        ({"limits": 5}, TypeError, "limits is 5"),
        ({"known_damage": [9]}, ValueError, "sample 9 of 9"),
        ({"known_damage": ["x"]}, TypeError, "'x'"),
        ({"allow_empty": None}, TypeError, "allow_empty is None"),
    ],
)
def test_each_option_is_refused_by_its_name(numbered_shards, options, kind, says):
    with pytest.raises(kind) as caught:
        open_loader(numbered_shards(9), **options)
    assert says in str(caught.value)


def test_a_misspelt_option_is_a_type_error_that_names_both(numbered_shards):
    with pytest.raises(TypeError, match=r"'batchsize'.*did you mean 'batch_size'"):
        open_loader(numbered_shards(9), batchsize=64)


def test_the_class_of_a_field_is_not_a_field(numbered_shards):
    with pytest.raises(TypeError, match="'label' is the class Label; call it"):
        stoker.Loader(numbered_shards(9), label=Label)


@pytest.mark.parametrize("memory", ["64MiB", "64 MiB", "0.0625GiB", "67108864", 2**26])
def test_memory_is_bytes_or_a_size(numbered_shards, memory):
    with open_loader(numbered_shards(9), memory=memory) as loader:
        assert sum(batch.rows for batch in loader) == 9
        assert loader.stats()["memory_peak_bytes"] <= 2**26


def test_a_plan_that_does_not_fit_fails_before_the_first_sample(picture_shards):
    with pytest.raises(stoker.MemoryExceeded) as caught:
        stoker.Loader(
            picture_shards(8),
            image=stoker.Image("jpg", stoker.transforms.Resize((2000, 2000))),
            batch_size=64,
            memory="16MiB",
        )
    assert isinstance(caught.value, MemoryError)
    assert "memory" in str(caught.value)


def test_without_fields_a_batch_has_those_of_the_first_sample(picture_shards):
    with stoker.Loader(picture_shards(4), batch_size=4) as loader:
        batch = next(iter(loader))
        assert batch.keys() == ("jpg", "cls")
        assert batch.cls == [b"0", b"2", b"1", b"3"]
        assert all(each.startswith(b"\xff\xd8") for each in batch.jpg)


def test_a_field_that_nothing_has_is_named_with_what_there_is(picture_shards):
    with pytest.raises(KeyError) as caught:
        stoker.Loader(picture_shards(4), image=stoker.Image("tiff"))
    assert isinstance(caught.value, stoker.MissingField)
    assert "tiff" in str(caught.value)
    assert "jpg, cls" in str(caught.value)


def test_an_open_dataset_is_taken_as_it_is(numbered_shards):
    dataset = stoker.open(numbered_shards(9))
    with open_loader(dataset, batch_size=4) as loader:
        assert loader.dataset is dataset
        assert [batch.label.tolist() for batch in loader] == [[0, 1, 2, 3], [4, 5, 6, 7], [8]]
    with pytest.raises(ValueError, match="a part of a dataset"):
        open_loader(dataset[2:])


def test_weights_draw_only_what_has_weight(numbered_shards):
    weights = np.zeros(9)
    weights[[2, 5]] = 1, 3
    with open_loader(numbered_shards(9), shuffle="weighted", weights=weights) as loader:
        drawn = np.concatenate([batch.label for _ in range(40) for batch in loader])
    assert set(drawn.tolist()) == {2, 5}
    assert 0.6 < (drawn == 5).mean() < 0.9


def test_repr_says_what_it_is(numbered_shards):
    with open_loader(numbered_shards(9), rank=1, world_size=3) as loader:
        assert "9 samples" in repr(loader)
        assert "label=Label(" in repr(loader)
        assert "rank 1 of 3" in repr(loader)


def test_a_loader_cannot_be_pickled(numbered_shards):
    import pickle

    with (
        open_loader(numbered_shards(9)) as loader,
        pytest.raises(TypeError, match="state_dict"),
    ):
        pickle.dumps(loader)
