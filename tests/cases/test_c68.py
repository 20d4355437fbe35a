"""C68: without this, a short file is an allocation of its claimed size, or a confusing message."""

import numpy as np
import pytest
import stoker
from kit import error_of, npy, npy_of, one_batch, one_field
from stoker import Array

FULL = npy_of(np.arange(6, dtype="<f4"))


def shaped(shape):
    return npy(f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}", b"")


@pytest.mark.parametrize(
    ("data", "shape"),
    [
        (npy_of(np.float32(3).reshape(())), ()),
        (npy_of(np.zeros((0, 4), "f4")), (0, 4)),
        (FULL + b"junk", (6,)),
        (shaped("(0, 99999999999)"), (0, 99999999999)),
    ],
)
def test_odd_shapes_load(tmp_path, data, shape):
    batch = one_batch(one_field(tmp_path / "c68.tar", "npy", data, data), a=Array())
    assert batch.a.shape == (2, *shape)
    if shape == ():
        assert batch.a.tolist() == [3, 3]


def test_a_cut_array_says_what_was_expected_and_found(tmp_path):
    error = error_of(one_field(tmp_path / "c68.tar", "npy", FULL[:-5]), a=Array())
    assert isinstance(error, stoker.CorruptSample)
    assert "6 elements of 4" in error.text
    assert "19 bytes" in error.text


@pytest.mark.parametrize("shape", ["(4294967296, 4294967296)", "(-1, 3)"])
def test_absurd_shapes_are_errors_before_any_memory(tmp_path, shape):
    error = error_of(one_field(tmp_path / "c68.tar", "npy", shaped(shape)), a=Array())
    assert isinstance(error, stoker.CorruptSample)


def test_another_shape_or_type_than_the_first_is_a_shape_error(tmp_path):
    for other in (np.arange(7, dtype="<f4"), np.arange(6, dtype="<f8")):
        error = error_of(one_field(tmp_path / "c68.tar", "npy", FULL, npy_of(other)), a=Array())
        assert isinstance(error, stoker.ShapeError)
        assert error.key == "s1"
