"""C34: without this, the last sample of a shard and the first of the next become one."""

import stoker
from kit import EOA, mem, save


def test_samples_end_with_their_shard(tmp_path):
    save(tmp_path / "c34_0.tar", mem(b"s.jpg") + EOA)
    save(tmp_path / "c34_1.tar", mem(b"s.cls", b"1") + EOA)
    first, second = stoker.open(tmp_path / "c34_{0,1}.tar")
    assert "jpg" in first
    assert "cls" in second
    assert first["__key__"] == second["__key__"] == "s"
    assert first["__shard__"] != second["__shard__"]
    assert first["__shard__"].endswith("c34_0.tar")
