"""C51: without this, pictures of cameras that append a second one are no JPEG."""

import io

import numpy as np
import PIL.Image
import stoker
from kit import pic


def test_the_first_picture_is_decoded_as_an_ordinary_jpeg():
    file = io.BytesIO()
    first, second = (PIL.Image.fromarray(a) for a in (pic(), 255 - pic()))
    first.save(file, "MPO", save_all=True, append_images=[second])
    image = stoker.decode_image(file.getvalue())
    assert np.abs(image.astype(int) - pic()).mean() < 4
