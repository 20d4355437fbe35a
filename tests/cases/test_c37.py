"""C37: without this, an empty picture in the middle of millions ends the run, or makes an empty row."""

import pytest
import stoker
from kit import EOA, error_of, jpg, mem, one_batch, pic, save
from stoker import Bytes, Image, Label


@pytest.fixture
def shard(tmp_path):
    return save(
        tmp_path / "c37.tar",
        mem(b"a.jpg", b"")
        + mem(b"a.cls", b"3")
        + mem(b"b.jpg", jpg(pic()))
        + mem(b"b.cls", b"4")
        + EOA,
    )


def test_undecoded_it_is_empty_not_missing(shard):
    assert stoker.open(shard)[0]["jpg"] == b""
    batch = one_batch(shard, raw=Bytes("jpg"), label=Label("cls"))
    assert batch.raw[0] == b""
    assert batch.label.tolist() == [3, 4]


def test_decoded_it_is_an_error_that_names_the_sample(shard):
    error = error_of(shard, image=Image("jpg"), label=Label("cls"))
    assert isinstance(error, stoker.CorruptSample)
    assert error.key == "a"
    assert "no bytes" in error.text


def test_skipped_the_other_is_unaffected(shard):
    batch = one_batch(shard, image=Image("jpg"), label=Label("cls"), on_error="skip")
    assert batch.label.tolist() == [4]
    assert batch.image.shape == (1, 3, 48, 64)
