"""Without these: two names of one field show different data, or a kept array changes under its owner."""

import gc
import weakref
from itertools import pairwise

import numpy as np
import pytest
import stoker
from kit import EOA, mem, npy_of, save
from stoker import Array, Bytes, Image, Json, Key, Label, Text


@pytest.fixture(scope="module")
def shard(tmp_path_factory):
    members = []
    for i in range(6):
        key = b"d/s%d" % i
        members += [
            mem(key + b".cls", b"%d" % i),
            mem(key + b".txt", "é".encode() * i),
            mem(key + b".json", b'{"n": %d}' % i),
            mem(key + b".bin", bytes([i]) * (i + 1)),
            mem(key + b".npy", npy_of(np.full((2, 3), i, np.float32))),
        ]
    return save(tmp_path_factory.mktemp("batch") / "a.tar", b"".join(members) + EOA)


@pytest.fixture
def loader(shard):
    with stoker.Loader(
        shard,
        batch_size=3,
        threads=0,  # nothing is in flight, so that slots_held is what the test holds
        label=Label("cls"),
        text=Text("txt"),
        meta=Json("json"),
        raw=Bytes("bin"),
        array=Array("npy"),
        key=Key(),
    ) as loader:
        yield loader


@pytest.fixture
def batch(loader):
    return next(iter(loader))


NAMES = ("label", "text", "meta", "raw", "array", "key")


def test_a_batch_is_attributes_a_mapping_and_a_tuple(batch):
    assert len(batch) == 6
    assert batch.keys() == NAMES
    label, text, meta, raw, array, key = batch
    for name, value in zip(NAMES, (label, text, meta, raw, array, key), strict=True):
        assert getattr(batch, name) is value
        assert batch[name] is value
        assert batch[NAMES.index(name)] is value
        assert name in batch
    assert batch[-1] is key
    assert dict(batch).keys() == set(NAMES)
    assert batch.values()[0] is label
    assert batch.items()[1] == ("text", text)
    assert "other" not in batch
    assert 3 not in batch


def test_each_kind_is_shown_as_documented(batch):
    assert batch.label.dtype == np.int64
    assert batch.label.tolist() == [0, 1, 2]
    assert batch.text == ["", "é", "éé"]
    assert batch.meta == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert batch.raw == [b"\0", b"\1\1", b"\2\2\2"]
    assert batch.array.shape == (3, 2, 3)
    assert batch.array.dtype == np.float32
    assert (batch.array[2] == 2).all()
    assert batch.key == ["d/s0", "d/s1", "d/s2"]
    assert (batch.epoch, batch.step, batch.rows) == (0, 0, 3)
    assert batch.samples.tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", ["text", "raw", "meta", "key"])
def test_columns_of_ragged_fields_are_values_and_offsets(batch, name):
    values, offsets = batch.column(name)
    assert values.dtype == np.uint8
    assert offsets.dtype == np.int64
    assert offsets.shape == (4,)
    assert offsets[0] == 0
    assert offsets[-1] == len(values)
    rows = [values[a:b].tobytes() for a, b in pairwise(offsets)]
    shown = {
        "text": [each.encode() for each in batch.text],
        "raw": batch.raw,
        "meta": [b'{"n": %d}' % i for i in range(3)],
        "key": [each.encode() for each in batch.key],
    }
    assert rows == shown[name]


def test_columns_of_other_fields_have_no_offsets(batch):
    values, offsets = batch.column("label")
    assert values is batch.label
    assert offsets is None


@pytest.mark.parametrize(
    ("access", "kind"),
    [
        (lambda b: b.other, AttributeError),
        (lambda b: b["other"], KeyError),
        (lambda b: b[6], IndexError),
        (lambda b: b[-7], IndexError),
        (lambda b: b[1.5], TypeError),
        (lambda b: b.column("other"), KeyError),
        (lambda b: b.column(1), TypeError),
        (lambda b: stoker.Batch(), TypeError),
        (lambda b: setattr(b, "label", 1), AttributeError),
    ],
)
def test_what_is_not_there_is_the_usual_error(batch, access, kind):
    with pytest.raises(kind):
        access(batch)


def test_arrays_show_the_slot_and_may_be_written(batch):
    first = np.asarray(batch.label)
    first[0] = 99
    assert batch.label[0] == 99
    assert batch.column("label")[0][0] == 99
    assert first.flags.writeable
    assert not first.flags.owndata


def test_a_kept_array_keeps_its_slot_after_its_batch(loader):
    kept, want = [], []
    for batch in loader:
        kept.append(batch.array)
        want.append(batch.array.copy())
        del batch
    for _ in loader:  # another epoch goes through the other slots
        pass
    assert all(np.array_equal(a, b) for a, b in zip(kept, want, strict=True))
    loader.close()
    gc.collect()
    assert all(np.array_equal(a, b) for a, b in zip(kept, want, strict=True))


def test_slots_come_back_when_the_last_view_dies(loader):
    iterator = iter(loader)
    batch = next(iterator)
    array = batch.array
    view = memoryview(array)
    held = loader.stats()["slots_held"]
    assert held >= 1
    del batch
    assert loader.stats()["slots_held"] == held
    del array
    assert loader.stats()["slots_held"] == held
    del view
    assert loader.stats()["slots_held"] == held - 1


def test_a_batch_in_a_cycle_is_collected(loader):
    class Marker:
        pass

    batch = next(iter(loader))
    marker = Marker()
    gone = weakref.ref(marker)
    batch.text.extend([batch, marker])
    del batch, marker
    gc.collect()
    assert gone() is None


def test_repr_shows_place_and_shapes(batch):
    text = repr(batch)
    assert text.startswith("Batch(epoch 0, step 0, 3 rows, label: int64 (3,), text: 3 rows of ")
    assert "array: float32 (3, 2, 3)" in text


def test_optional_fields_are_empty_where_a_sample_has_none(tmp_path):
    path = save(
        tmp_path / "a.tar",
        mem(b"a.cls", b"1") + mem(b"a.txt", b"t") + mem(b"a.json", b"[1]") + mem(b"b.bin") + EOA,
    )
    with stoker.Loader(
        path,
        label=Label("cls", optional=True),
        text=Text("txt", optional=True),
        meta=Json("json", optional=True),
        raw=Bytes("bin", optional=True),
    ) as loader:
        (batch,) = loader
        assert batch.label.tolist() == [1, -1]
        assert batch.text == ["t", ""]
        assert batch.meta == [[1], None]
        assert batch.raw == [b"", b"x"]


def test_alternatives_take_the_first_that_a_sample_has(tmp_path):
    path = save(
        tmp_path / "a.tar",
        mem(b"a.cls", b"1") + mem(b"a.id", b"2") + mem(b"b.id", b"3") + EOA,
    )
    with stoker.Loader(path, first=Label("cls;id"), second=Label("id;cls")) as loader:
        (batch,) = loader
        assert batch.first.tolist() == [1, 3]
        assert batch.second.tolist() == [2, 3]


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_pictures_have_the_layout_asked_for(picture_shards, layout):
    from kit import jpg, numbered_picture

    with stoker.Loader(picture_shards(4), image=Image(layout=layout), batch_size=2) as loader:
        for batch in loader:
            assert batch.image.shape == ((2, 3, 48, 64) if layout == "NCHW" else (2, 48, 64, 3))
            assert batch.image.flags.c_contiguous
            assert batch.image.ctypes.data % 64 == 0
            for row, sample in enumerate(batch.samples):
                number = [0, 2, 1, 3][sample]
                alone = stoker.decode_image(jpg(numbered_picture(number)), layout=layout)
                assert np.array_equal(batch.image[row], alone)
