"""C60: without this, animated WebP of the web fails, and damaged ones pass."""

import io
import struct

import numpy as np
import PIL.Image
import pytest
import stoker

ARRAY = np.random.RandomState(2).randint(0, 255, (8, 8, 4), np.uint8)


def webp(first, *more, **options):
    file = io.BytesIO()
    frames = [PIL.Image.fromarray(np.full((8, 8, 3), c, np.uint8)) for c in more]
    if frames:
        options |= {"save_all": True, "append_images": frames}
    PIL.Image.fromarray(first).save(file, "WEBP", lossless=True, **options)
    return file.getvalue()


def test_the_first_frame_of_an_animation():
    first = np.full((8, 8, 3), 10, np.uint8)
    assert np.array_equal(stoker.decode_image(webp(first, 120, 230)), first)


def test_alpha_is_dropped_without_blending():
    data = webp(ARRAY, exact=True)
    assert np.array_equal(stoker.decode_image(data), ARRAY[..., :3])
    assert np.array_equal(stoker.decode_image(data + b"junk"), ARRAY[..., :3])


def test_cut_and_wrong_sizes_are_errors():
    data = webp(ARRAY)
    wrong = bytearray(data)
    wrong[4:8] = struct.pack("<I", 8)
    for each in (data[: len(data) * 2 // 3], wrong):
        with pytest.raises(stoker.CorruptSample):
            stoker.decode_image(each)
