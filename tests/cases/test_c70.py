"""C70: without this, JSON of desktop tools (byte order mark, UTF-16) ends the run."""

import json

import pytest
import stoker
from kit import error_of, one_batch, one_field
from stoker import Json


def test_marks_and_wide_encodings_are_read(tmp_path):
    texts = [b'\xef\xbb\xbf{"k":1}\n', b'{"k":1}\n\n']
    texts += [json.dumps({"k": 1}).encode(name) for name in ("utf-16", "utf-16-le", "utf-32")]
    path = one_field(tmp_path / "c70.tar", "json", *texts)
    assert one_batch(path, meta=Json()).meta == [{"k": 1}] * 5


@pytest.mark.parametrize("text", [b"", b"{", b"{'k': 1}", b"[1,]", b"nul", b'"\xff"', b"1 2"])
def test_what_is_no_json_is_an_error_with_its_place(tmp_path, text):
    error = error_of(one_field(tmp_path / "c70.tar", "json", b"[]", text), meta=Json())
    assert isinstance(error, stoker.CorruptSample)
    assert error.key == "s1"
    assert error.offset is not None


def test_deep_nesting_hits_its_limit(tmp_path):
    path = one_field(tmp_path / "c70.tar", "json", b"[" * 600 + b"]" * 600)
    error = error_of(path, meta=Json())
    assert isinstance(error, stoker.LimitExceeded)
    (value,) = one_batch(path, meta=Json(), limits=stoker.Limits(max_depth=600)).meta
    assert isinstance(value, list)
