"""C56: without this, interlaced pictures keep the order of their passes."""

import numpy as np
import pytest
import stoker
from kit import png

PASSES = (
    (0, 0, 8, 8),
    (4, 0, 8, 8),
    (0, 4, 4, 8),
    (2, 0, 4, 4),
    (0, 2, 2, 4),
    (1, 0, 2, 2),
    (0, 1, 1, 2),
)


def adam7(array):
    rows = (row for x, y, dx, dy in PASSES for row in array[y::dy, x::dx])
    return b"".join(b"\0" + row.tobytes() for row in rows if row.size)


@pytest.mark.parametrize("shape", [(5, 7), (1, 1), (1, 4), (8, 8), (17, 3)])
def test_interlaced_equals_plain(shape):
    array = np.random.RandomState(1).randint(0, 255, (*shape, 3), np.uint8)
    data = png(shape[1], shape[0], 8, 2, adam7(array), interlace=1)
    assert np.array_equal(stoker.decode_image(data), array)
    part = stoker.decode_image(data, crop=(0, 0, 1, shape[1]))
    assert np.array_equal(part, array[:1])
    assert stoker.image_info(data).progressive
