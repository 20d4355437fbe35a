"""C40: without this, the CMYK pictures of ImageNet are negatives."""

import numpy as np
import stoker
from kit import jpg, segs


def test_cmyk_with_and_without_adobes_mark():
    a = np.zeros((16, 16, 4), np.uint8)
    a[:] = (200, 30, 60, 40)
    data = jpg(a, "CMYK")
    start, end = segs(data, 0xEE)
    for each in (data, data[:start] + data[end:]):
        image = stoker.decode_image(each).astype(int)
        assert image.shape == (16, 16, 3)
        assert np.abs(image - (46, 190, 164)).max() <= 2
