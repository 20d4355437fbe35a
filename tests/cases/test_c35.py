"""C35: without this, one sample without a caption ends the run without saying which, or is skipped."""

import stoker
from kit import EOA, error_of, mem, one_batch, save
from stoker import Bytes, Key, Text


def shard(tmp_path):
    return save(
        tmp_path / "c35.tar",
        mem(b"a.jpg") + mem(b"a.txt", b"t") + mem(b"b.jpg")
        + mem(b"c.jpg") + mem(b"c.txt", b"u") + mem(b"c.extra", b"e") + EOA,
    )  # fmt: skip


def test_the_default_is_loud(tmp_path):
    error = error_of(shard(tmp_path), text=Text("txt"))
    assert isinstance(error, stoker.MissingField)
    assert error.key == "b"
    assert "txt" in str(error)


def test_empty_and_skip_are_there_for_the_asking(tmp_path):
    path = shard(tmp_path)
    batch = one_batch(path, text=Text("txt", optional=True), key=Key())
    assert batch.text == ["t", "", "u"]
    batch = one_batch(path, text=Text("txt"), key=Key(), on_error="skip")
    assert dict(zip(batch.key, batch.text, strict=True)) == {"a": "t", "c": "u"}


def test_the_fields_are_not_those_of_the_first_sample(tmp_path):
    assert stoker.open(shard(tmp_path)).fields == ("jpg", "txt", "extra")
    assert one_batch(shard(tmp_path), e=Bytes("extra", optional=True)).e == [b"", b"", b"e"]
