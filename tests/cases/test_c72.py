"""C72: without this, a label written by a Windows tool or by pandas is another class, or 0."""

import pytest
import stoker
from kit import error_of, one_batch, one_field
from stoker import Label

GOOD = {b"5\n": 5, b" 5 \r\n": 5, b"-5": -5, b"+5": 5, b"007": 7, b"1_000": 1000}
BAD = (b"5.0", b"\xef\xbb\xbf5", b"", b"5\0", b"0x5", b"9" * 25)


def test_labels_are_read_as_pythons_int(tmp_path):
    path = one_field(tmp_path / "c72.tar", "cls", *GOOD)
    assert one_batch(path, label=Label()).label.tolist() == list(GOOD.values())


@pytest.mark.parametrize("text", BAD)
def test_everything_else_is_an_error_that_quotes_it(tmp_path, text):
    error = error_of(one_field(tmp_path / "c72.tar", "cls", b"1", text), label=Label())
    assert isinstance(error, stoker.CorruptSample)
    assert error.key == "s1"
    if text[:1].isdigit():
        assert text.rstrip(b"\0").decode()[:20] in str(error)
    if len(text) == 25:
        assert "int64" in str(error)
