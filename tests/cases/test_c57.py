"""C57: without this, copies that broke on the way are trained on, or good pictures are refused."""

import struct

import numpy as np
import pytest
import stoker
from kit import chunk, png

ARRAY = np.random.RandomState(1).randint(0, 255, (2, 7, 3), np.uint8)
RAW = b"".join(b"\0" + row.tobytes() for row in ARRAY)
WHOLE = png(7, 2, 8, 2, RAW)
AT = WHOLE.find(b"IDAT")
SIZE = struct.unpack(">I", WHOLE[AT - 4 : AT])[0]

GOOD = {
    "no end": WHOLE[:-12],  # all rows are there
    "tail": WHOLE + b"zz",
    "more rows": png(7, 2, 8, 2, RAW + b"\0" * 500),
    "checksum of a text": png(7, 2, 8, 2, RAW, chunk(b"tEXt", b"a\0b", crc=1)),
}
BAD = {
    "checksum of the pixels": WHOLE[: AT + 4 + SIZE] + b"\0\0\0\0" + WHOLE[AT + 8 + SIZE :],
    "cut": WHOLE[:-40],
    "too few rows": png(7, 2, 8, 2, RAW[:25]),
}


@pytest.mark.parametrize("name", GOOD)
def test_harmless_flaws_decode(name):
    assert np.array_equal(stoker.decode_image(GOOD[name]), ARRAY)


@pytest.mark.parametrize("name", BAD)
def test_damaged_pixels_are_an_error(name):
    with pytest.raises(stoker.CorruptSample):
        stoker.decode_image(BAD[name])
