"""C46: without this, pictures of phones lie on their side, or their boxes do."""

import io
import struct

import numpy as np
import PIL.Image
import pytest
import stoker
from kit import EOA, jpg, mem, one_batch, pic, pillow, save
from PIL import ImageOps
from stoker import Image

IFD = b"MM\0*" + struct.pack(">IHHHIHHI", 8, 1, 0x112, 3, 1, 6, 0, 0)


def rotated(value):
    exif = PIL.Image.Exif()
    exif[0x0112] = value
    return jpg(pic(8, 16), exif=exif.tobytes())


def upright(data):
    return np.asarray(ImageOps.exif_transpose(PIL.Image.open(io.BytesIO(data))).convert("RGB"))


CASES = {str(v): rotated(v) for v in range(10)}
CASES["big-endian"] = jpg(pic(8, 16), exif=b"Exif\0\0" + IFD)
CASES["cut"] = jpg(pic(8, 16), exif=b"Exif\0\0" + IFD[:14])

ORIENTATION = {str(v): v if 1 <= v <= 8 else 1 for v in range(10)}
ORIENTATION |= {"big-endian": 6, "cut": 1}


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data")  # Pillow's
@pytest.mark.parametrize("name", CASES)
def test_stored_by_default_and_upright_when_asked(tmp_path, name):
    data = CASES[name]
    assert np.array_equal(stoker.decode_image(data), pillow(data))
    info = stoker.image_info(data)
    assert (info.height, info.width) == (8, 16)
    assert info.orientation == ORIENTATION[name]
    path = save(tmp_path / "c46.tar", mem(b"a.jpg", data) + EOA)
    batch = one_batch(
        path, seen=Image("jpg", layout="NHWC", orient=True), stored=Image("jpg", layout="NHWC")
    )
    assert np.array_equal(batch.seen[0], upright(data))
    assert np.array_equal(batch.stored[0], pillow(data))


def test_orientation_of_png_and_webp(tmp_path):
    exif = PIL.Image.Exif()
    exif[0x0112] = 6
    for kind in ("PNG", "WEBP"):
        file = io.BytesIO()
        options = {"lossless": True} if kind == "WEBP" else {}
        PIL.Image.fromarray(pic(8, 16)).save(file, kind, exif=exif, **options)
        data = file.getvalue()
        assert stoker.image_info(data).orientation == 6
        path = save(tmp_path / f"{kind}.tar", mem(b"a.img", data) + EOA)
        batch = one_batch(path, image=Image("img", layout="NHWC", orient=True))
        assert np.array_equal(batch.image[0], upright(data))
