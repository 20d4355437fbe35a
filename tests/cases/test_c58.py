"""C58: without this, 100 KB of a hostile picture take gigabytes of memory."""

import resource
import zlib

import pytest
import stoker
from kit import chunk, png


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def test_the_pixel_limit_stands_before_any_memory():
    bomb = png(30000, 30000, 1, 0, b"\0" * (3751 * 200))
    before = peak()
    with pytest.raises(stoker.LimitExceeded, match="pixels"):
        stoker.decode_image(bomb)
    assert peak() - before < 20_000  # KiB; the pixels would be 2.7 million


def test_texts_are_stepped_over_without_inflating_them():
    text = chunk(b"zTXt", b"k\0\0" + zlib.compress(b"A" * 50_000_000))
    before = peak()
    assert stoker.decode_image(png(1, 1, 8, 0, b"\0\1", text)).tolist() == [[[1, 1, 1]]]
    assert peak() - before < 20_000
