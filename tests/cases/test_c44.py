"""C44: without this, a rare kind of JPEG ends a run, or is decoded as noise."""

import subprocess

import numpy as np
import pytest
import stoker
from kit import jpg, pic, segs


@pytest.fixture(scope="module")
def made():
    plain = subprocess.run(
        ["djpeg", "-pnm"], input=jpg(pic()), capture_output=True, check=True
    ).stdout

    def make(*options):
        return subprocess.run(
            ["cjpeg", "-quality", "95", *options], input=plain, capture_output=True, check=True
        ).stdout

    return make


def djpeg(data):
    out = subprocess.run(["djpeg", "-pnm"], input=data, capture_output=True, check=True).stdout
    head, pixels = out[:13], out[-48 * 64 * 3 :]
    assert head.startswith(b"P6\n64 48")
    return np.frombuffer(pixels, np.uint8).reshape(48, 64, 3)


@pytest.mark.parametrize("options", [["-arithmetic"], ["-progressive"]])
def test_other_coding_of_the_same_picture(made, options):
    assert np.array_equal(stoker.decode_image(made(*options)), stoker.decode_image(made()))


@pytest.mark.parametrize("sample", ["4x1", "1x2", "2x2,1x2,2x1", "1x1,2x2,2x2"])
def test_odd_sampling_decodes_as_libjpeg_turbo_does(made, sample):
    data = made("-sample", sample)
    assert np.array_equal(stoker.decode_image(data), djpeg(data))


def test_what_is_not_supported_is_named():
    data = jpg(pic())
    start, _ = segs(data, 0xC0)
    deep, lossless = bytearray(data), bytearray(data)
    deep[start + 4] = 12
    lossless[start + 1] = 0xC3
    for each, word in ((deep, "12"), (lossless, "c3")):
        with pytest.raises(stoker.Error) as caught:
            stoker.decode_image(each)
        assert word in str(caught.value).lower()
