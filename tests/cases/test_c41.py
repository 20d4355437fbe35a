"""C41: without this, YCCK pictures are nearly black."""

import numpy as np
import stoker
from kit import jpg


def test_ycck_is_converted_to_cmyk_first():
    a = np.zeros((16, 16, 4), np.uint8)
    a[:] = (200, 30, 60, 40)
    data = bytearray(jpg(a, "CMYK"))
    data[data.find(b"Adobe") + 11] = 2
    image = stoker.decode_image(data).astype(int)
    assert np.abs(image - (89, 215, 24)).max() <= 2
