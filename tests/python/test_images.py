"""Without these: pixels differ between the whole picture and a crop, or a bad picture ends the run."""

import threading

import numpy as np
import pytest
import stoker
from kit import jpg, pic, png


def picture(height=48, width=64):
    rng = np.random.default_rng(3)
    return (pic(height, width) // 2 + rng.integers(0, 128, (height, width, 3))).astype(np.uint8)


@pytest.fixture(params=["jpeg", "png"])
def encoded(request):
    array = picture()
    if request.param == "jpeg":
        return jpg(array)
    raw = b"".join(b"\0" + row.tobytes() for row in array)
    return png(64, 48, 8, 2, raw)


def test_a_crop_has_the_pixels_of_the_whole(encoded):
    whole = stoker.decode_image(encoded)
    assert whole.shape == (48, 64, 3)
    for top, left, height, width in [(0, 0, 48, 64), (5, 7, 11, 13), (47, 63, 1, 1), (0, 1, 48, 2)]:
        part = stoker.decode_image(encoded, crop=(top, left, height, width))
        assert np.array_equal(part, whole[top : top + height, left : left + width])


def test_channels_first_are_the_same_pixels(encoded):
    last = stoker.decode_image(encoded, (3, 5, 20, 30))
    first = stoker.decode_image(encoded, (3, 5, 20, 30), layout="NCHW")
    assert first.shape == (3, 20, 30)
    assert first.flags.c_contiguous
    assert np.array_equal(first.transpose(1, 2, 0), last)


def test_png_is_exact():
    array = picture()
    raw = b"".join(b"\0" + row.tobytes() for row in array)
    assert np.array_equal(stoker.decode_image(png(64, 48, 8, 2, raw)), array)


@pytest.mark.parametrize(
    "wrap", [bytes, bytearray, memoryview, lambda b: np.frombuffer(b, np.uint8)]
)
def test_any_buffer_is_taken_and_not_kept(encoded, wrap):
    data = wrap(encoded)
    image = stoker.decode_image(data)
    assert np.array_equal(image, stoker.decode_image(encoded))
    assert image.flags.writeable
    if isinstance(data, bytearray):
        data.clear()  # would fail while a buffer is exported


@pytest.mark.parametrize(
    ("crop", "kind"),
    [
        ((0, 0, 49, 64), stoker.ShapeError),
        ((0, 1, 48, 64), stoker.ShapeError),
        ((-1, 0, 4, 4), stoker.ShapeError),
        ((0, 0, 0, 4), stoker.ShapeError),
        ((2**62, 0, 4, 4), stoker.ShapeError),
        ((0, 0, 4), ValueError),
        ((0, 0, 4, 4.5), TypeError),
    ],
)
def test_a_crop_outside_the_picture_is_refused(encoded, crop, kind):
    with pytest.raises(kind):
        stoker.decode_image(encoded, crop)


@pytest.mark.parametrize(
    ("data", "kind"),
    [(b"", ValueError), (b"<html>", ValueError), ("text", TypeError), (None, TypeError)],
)
def test_what_is_no_picture_is_refused(data, kind):
    with pytest.raises(kind):
        stoker.decode_image(data)
    with pytest.raises(kind):
        stoker.image_info(data)


def test_a_bad_layout_is_named(encoded):
    with pytest.raises(ValueError, match="layout is 'HWC'"):
        stoker.decode_image(encoded, layout="HWC")


def test_the_header_says_what_the_decoder_gives(encoded):
    info = stoker.image_info(encoded)
    assert (info.width, info.height, info.orientation) == (64, 48, 1)
    assert (info.channels, info.depth, info.progressive) == (3, 8, False)
    assert info.format in ("jpeg", "png")
    assert stoker.image_info(jpg(picture(), progressive=True)).progressive is True


def test_limits_are_named(encoded):
    limits = stoker.Limits(max_pixels=48 * 64 - 1)
    for call in (stoker.decode_image, stoker.image_info):
        with pytest.raises(stoker.LimitExceeded, match="pixels"):
            call(encoded, limits=limits)
    assert stoker.decode_image(encoded, limits=stoker.Limits(max_pixels=48 * 64)).size


@pytest.mark.parametrize("values", [{"max_pixels": 0}, {"max_scans": 2**32}, {"max_depth": -1}])
def test_limits_have_ranges(values):
    with pytest.raises(ValueError, match=next(iter(values))):
        stoker.Limits(**values)


def test_threads_decode_at_once(encoded):
    want, failures = stoker.decode_image(encoded), []

    def work():
        for _ in range(50):
            if not np.array_equal(stoker.decode_image(encoded), want):
                failures.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
