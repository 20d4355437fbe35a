"""C43: without this, one grey picture among colour ones breaks the batch."""

import numpy as np
import stoker
from kit import EOA, app14, jpg, mem, one_batch, pic, pillow, save, segs
from stoker import Image


def test_grey_is_three_equal_channels(tmp_path):
    grey = jpg(pic()[..., 0])
    _, end = segs(grey, 0xE0)
    marked = grey[:end] + app14(0) + grey[end:]
    for data in (grey, marked):
        image = stoker.decode_image(data)
        assert np.array_equal(image, pillow(data))
        assert (image[..., 0] == image[..., 2]).all()
    path = save(
        tmp_path / "c43.tar",
        mem(b"a.jpg", grey) + mem(b"b.jpg", jpg(pic())) + mem(b"c.jpg", marked) + EOA,
    )
    assert one_batch(path, image=Image("jpg")).image.shape == (3, 3, 48, 64)
