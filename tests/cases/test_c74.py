"""C74: without this, "b'hello'" is fed to the tokenizer."""

import stoker
from kit import EOA, mem, one_batch, save
from stoker import Bytes, Text


def test_a_field_is_what_it_was_declared_as(tmp_path):
    path = save(
        tmp_path / "c74.tar",
        mem(b"a.caption", b"hello") + mem(b"a.TXT", b"hello") + mem(b"a.seg.txt", b"s") + EOA,
    )
    batch = one_batch(path, a=Text("caption"), b=Bytes("caption"), c=Text("txt"), d=Text("seg.txt"))
    assert (batch.a, batch.b, batch.c, batch.d) == (["hello"], [b"hello"], ["hello"], ["s"])
    assert stoker.open(path)[0]["caption"] == b"hello"
