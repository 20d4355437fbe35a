"""C30: without this, a dot in the name of a folder ends the key there."""

import stoker
from kit import EOA, mem, save


def test_only_the_part_after_the_last_slash_is_split(tmp_path):
    path = save(
        tmp_path / "c30.tar",
        mem(b"train.v1/22.0/1.png")
        + mem(b"train.v1/22.0/1.cls", b"1")
        + mem(b"train.v1/22.0/2.png")
        + EOA,
    )
    assert list(stoker.open(path).keys()) == ["train.v1/22.0/1", "train.v1/22.0/2"]
