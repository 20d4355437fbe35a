"""C36: without this, a README in a shard is a sample."""

import stoker
from kit import EOA, mem, save


def test_what_is_no_sample_is_left_out(tmp_path):
    path = save(
        tmp_path / "c36.tar",
        mem(b"README") + mem(b"d/README") + mem(b".hidden.jpg") + mem(b"__meta__")
        + mem(b"__d__/x.json", b"{}") + mem(b"a.jpg") + mem(b"a.", b"e") + EOA,
    )  # fmt: skip
    dataset = stoker.open(path)
    keys = list(dataset.keys())
    assert "a" in keys
    assert dataset[keys.index("a")]["jpg"] == b"x"
    assert not any("README" in key or "hidden" in key or "meta" in key for key in keys)
