"""C52: without this, the one PNG with a JPEG name in ImageNet ends the run."""

import io

import numpy as np
import PIL.Image
import pytest
import stoker
from kit import pic


def test_the_decoder_is_chosen_by_content():
    file = io.BytesIO()
    PIL.Image.fromarray(pic()).save(file, "PNG")
    assert np.array_equal(stoker.decode_image(file.getvalue()), pic())


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"<!DOCTYPE html><html>please log in</html>", "HTML"),
        (b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>", "XML"),
    ],
)
def test_an_error_page_is_called_one(data, word):
    with pytest.raises(stoker.CorruptSample, match=word):
        stoker.decode_image(data)
