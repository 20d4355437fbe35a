"""C119: without this, skipping costs seconds, prints a line for each sample, or hides everything."""

import time

import pytest
import stoker
from kit import EOA, mem, save
from stoker import Label


def test_skipping_is_quick_silent_and_counted_by_cause(tmp_path, capfd):
    path = save(
        tmp_path / "c119.tar",
        b"".join(mem(b"%04d.cls" % i, b"x" if i % 10 < 3 else b"1") for i in range(1000)) + EOA,
    )
    with stoker.Loader(path, label=Label(), batch_size=50, on_error="skip") as loader:
        begin = time.monotonic()
        rows = sum(batch.rows for batch in loader)
        assert time.monotonic() - begin < 30  # half a second of sleep for each would be 150
        assert rows == 700
        assert len(loader.damage) == 300
        assert {each.status for each in loader.damage} == {"STK_ECORRUPT"}
        assert {each.sample % 10 for each in loader.damage} == {0, 1, 2}
    assert capfd.readouterr() == ("", "")


def test_when_everything_fails_there_is_an_error(tmp_path):
    path = save(tmp_path / "c119.tar", b"".join(mem(b"%d.cls" % i, b"x") for i in range(9)) + EOA)
    with (
        stoker.Loader(path, label=Label(), batch_size=4, on_error="skip") as loader,
        pytest.raises(stoker.BudgetExceeded, match="all 9 samples"),
    ):
        for _ in loader:
            pass
