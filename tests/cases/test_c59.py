"""C59: without this, an animation is said to be damaged, though it is only not supported."""

import io

import PIL.Image
import pytest
import stoker


def test_gif_is_recognised_and_named():
    a = PIL.Image.new("RGB", (16, 16), (200, 0, 0))
    b = a.copy()
    b.paste((0, 0, 200), (2, 2, 6, 6))
    file = io.BytesIO()
    a.save(file, "GIF", save_all=True, append_images=[b], disposal=0, duration=40)
    with pytest.raises(stoker.NotBuilt, match=r"(?i)gif") as caught:
        stoker.decode_image(file.getvalue())
    assert isinstance(caught.value, NotImplementedError)
