"""C29: without this, `a.seg.png` becomes the field png of a sample a.seg."""

import stoker
from kit import EOA, mem, save


def test_key_ends_at_the_first_dot_of_the_base_name(tmp_path):
    path = save(
        tmp_path / "c29.tar",
        mem(b"a.seg.png")
        + mem(b"a.rgb.png")
        + mem(b"a.b.c.json", b"{}")
        + mem(b"n 2.0 (x).mp3")
        + EOA,
    )
    a, n = stoker.open(path)
    assert a["__key__"] == "a"
    assert set(a) == {"__key__", "__shard__", "seg.png", "rgb.png", "b.c.json"}
    assert n["__key__"] == "n 2"
    assert set(n) == {"__key__", "__shard__", "0 (x).mp3"}
