"""C32: without this, half samples of a badly packed shard are trained on, and nothing says so."""

import stoker
from kit import EOA, mem, save


def test_interleaved_members_are_half_samples_and_a_note(tmp_path):
    path = save(
        tmp_path / "c32.tar",
        mem(b"a.jpg") + mem(b"b.jpg") + mem(b"a.cls", b"1") + mem(b"b.cls", b"2") + EOA,
    )
    dataset = stoker.open(path)
    assert list(dataset.keys()) == ["a", "b", "a", "b"]
    (note,) = [text for _, _, text in dataset.notes if "a" in text.split() or "comes back" in text]
    assert "comes back" in note
