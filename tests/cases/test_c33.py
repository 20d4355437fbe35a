"""C33: without this, one of two members of the same name is lost in silence."""

import pytest
import stoker
from kit import EOA, mem, save


def test_a_field_twice_in_a_sample_is_an_error_with_its_place(tmp_path):
    path = save(
        tmp_path / "c33.tar",
        mem(b"a.jpg", b"1") + mem(b"a.cls", b"1") + mem(b"a.jpg", b"2") + mem(b"b.jpg") + EOA,
    )
    with pytest.raises(stoker.MissingField) as caught:
        stoker.open(path)
    error = caught.value
    assert (error.key, error.field) == ("a", "jpg")
    assert "c33.tar" in str(error)
    assert error.offset == 2048
