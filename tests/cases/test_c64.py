"""C64: without this, arrays of other machines are read in the wrong byte order, or as bytes."""

import numpy as np
import pytest
import stoker
from kit import error_of, npy, npy_of, one_batch, one_field
from stoker import Array

NUMERIC = [">f4", "<f2", "<u2", "<u8", "?", ">i8", ">u2", "i1", "<f8", ">f8"]


@pytest.mark.parametrize("kind", NUMERIC)
def test_numbers_are_native(tmp_path, kind):
    array = np.array([0, 1, 100], kind)
    path = one_field(tmp_path / "c64.tar", "npy", npy_of(array))
    batch = one_batch(path, a=Array())
    assert batch.a.dtype == array.dtype.newbyteorder("=")
    assert np.array_equal(batch.a[0], array)


def test_the_native_mark_is_this_machines(tmp_path):
    data = npy("{'descr': '=f4', 'fortran_order': False, 'shape': (3,), }", b"\0" * 12)
    assert one_batch(one_field(tmp_path / "a.tar", "npy", data), a=Array()).a.dtype == np.float32


@pytest.mark.parametrize("kind", ["<c8", "<U2", "S3", "M8[D]"])
def test_what_has_no_place_is_named(tmp_path, kind):
    path = one_field(tmp_path / "c64.tar", "npy", npy_of(np.zeros(3, kind)))
    error = error_of(path, a=Array())
    assert isinstance(error, stoker.NotBuilt)
    assert np.dtype(kind).str.lstrip("<|") in str(error)
