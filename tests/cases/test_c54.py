"""C54: without this, masks and icons come out in wrong colours."""

import pytest
import stoker
from kit import chunk, png

CASES = {
    "grey key": (png(2, 1, 8, 0, b"\0\x05\x07", chunk(b"tRNS", b"\0\x05")), [[5] * 3, [7] * 3]),
    "colour key": (
        png(2, 1, 8, 2, b"\0" + bytes([1, 2, 3, 4, 5, 6]), chunk(b"tRNS", b"\0\1\0\2\0\3")),
        [[1, 2, 3], [4, 5, 6]],
    ),
    "1 bit": (png(9, 1, 1, 0, b"\0\xaa\x80"), [[255 * (1 - i % 2)] * 3 for i in range(9)]),
    "2 bits": (png(4, 1, 2, 0, b"\0\x1b"), [[0] * 3, [85] * 3, [170] * 3, [255] * 3]),
    "grey and alpha": (png(1, 1, 8, 4, b"\0\x64\x80"), [[100] * 3]),
}


@pytest.mark.parametrize("name", CASES)
def test_rgb_drops_keys_and_alpha_and_widens_depths(name):
    data, pixels = CASES[name]
    assert stoker.decode_image(data).tolist() == [pixels]
