"""C73: without this, a caption that is no UTF-8 ends the run without a place, or is changed."""

import stoker
from kit import error_of, one_batch, one_field
from stoker import Text


def test_bytes_that_are_no_utf8_are_an_error_at_their_offset(tmp_path):
    path = one_field(tmp_path / "c73.tar", "txt", b"caf\xe9")
    error = error_of(path, text=Text())
    assert isinstance(error, stoker.CorruptSample)
    assert error.key == "s0"
    (member,) = stoker.open(path).members(0)
    assert error.offset == member[2] + 3


def test_texts_are_kept_as_they_are(tmp_path):
    path = one_field(tmp_path / "c73.tar", "txt", b"\xef\xbb\xbfhi\r\n", b"", b"x\0y")
    assert one_batch(path, text=Text()).text == ["\ufeffhi\r\n", "", "x\0y"]
