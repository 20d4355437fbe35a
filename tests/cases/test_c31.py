"""C31: without this, pictures of cameras (`.JPG`) are a missing field."""

import pytest
import stoker
from kit import EOA, mem, save


def test_names_of_fields_are_folded_unless_asked_otherwise(tmp_path):
    path = save(tmp_path / "c31.tar", mem(b"a.JPG") + mem(b"a.Seg.PNG") + mem(b"a.cls", b"1") + EOA)
    assert stoker.open(path).fields == ("jpg", "seg.png", "cls")
    assert stoker.open(path, keep_case=True).fields == ("JPG", "Seg.PNG", "cls")


def test_a_clash_is_an_error_only_when_folding(tmp_path):
    path = save(tmp_path / "clash.tar", mem(b"b.jpg", b"1") + mem(b"b.JPG", b"2") + EOA)
    with pytest.raises(stoker.MissingField) as caught:
        stoker.open(path)
    assert "clash.tar" in str(caught.value)
    assert caught.value.key == "b"
    (sample,) = stoker.open(path, keep_case=True)
    assert (sample["jpg"], sample["JPG"]) == (b"1", b"2")
