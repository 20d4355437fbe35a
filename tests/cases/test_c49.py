"""C49: without this, sloppy streams that every viewer shows are lost, or garbage is let in."""

import struct

import numpy as np
import pytest
import stoker
from kit import jpg, pic


def test_fill_bytes_extra_bytes_and_long_segments_decode():
    data = jpg(pic())
    want = stoker.decode_image(data)
    seg = b"Adobe\0\x64\0\0\0\0\1" + b"\0" * 24
    for each in (
        data[:2] + b"\xff\xff\xff" + data[2:],
        data[:-2] + b"\x12\x34\x56" + data[-2:],
        data[:2] + b"\xff\xee" + struct.pack(">H", len(seg) + 2) + seg + data[2:],
    ):
        assert np.array_equal(stoker.decode_image(each), want)


def test_a_doubled_start_is_an_error():
    with pytest.raises(stoker.CorruptSample):
        stoker.decode_image(b"\xff\xd8" + jpg(pic()))
