"""C47: without this, the lower part of a cut picture is grey, and the model learns it."""

import pytest
import stoker
from kit import EOA, error_of, jpg, mem, pic, save
from stoker import Image


@pytest.mark.parametrize(
    "keep", [lambda n: n * 2 // 3, lambda n: 200, lambda n: n - 2, lambda n: 3]
)
def test_a_cut_picture_is_an_error_with_its_place(tmp_path, keep):
    data = jpg(pic())
    cut = data[: keep(len(data))]
    with pytest.raises(stoker.CorruptSample) as caught:
        stoker.decode_image(cut)
    assert 0 <= caught.value.offset <= len(cut)
    path = save(tmp_path / "c47.tar", mem(b"ok.jpg", data) + mem(b"bad.jpg", cut) + EOA)
    error = error_of(path, image=Image("jpg"))
    assert error.key == "bad"
    assert error.sample == 1


def test_a_crop_above_the_cut_is_an_error_too():
    data = jpg(pic())
    with pytest.raises(stoker.CorruptSample):
        stoker.decode_image(data[: len(data) * 2 // 3], crop=(0, 0, 1, 64))
