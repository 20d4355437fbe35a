"""C66: without this, legal headers of other writers are refused, or unaligned data is read badly."""

import numpy as np
import pytest
import stoker
from kit import error_of, npy, one_batch, one_field
from stoker import Array

D = np.arange(6, dtype="<f4").tobytes()
GOOD = {
    "version 2": (npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", D, 2), (2, 3)),
    "tight": (npy("{'descr':'<f4','fortran_order':False,'shape':(2,3)}", D), (2, 3)),
    "double quotes": (npy('{"shape": (6,), "fortran_order": False, "descr": "<f4"}', D), (6,)),
}
BAD = {
    "version 9": b"\x93NUMPY\x09\0" + b"\x10\0" + b" " * 16,
    "extra key": npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'z': 1}", D),
}


@pytest.mark.parametrize("name", GOOD)
def test_legal_headers_load(tmp_path, name):
    data, shape = GOOD[name]
    batch = one_batch(one_field(tmp_path / "c66.tar", "npy", data), a=Array())
    assert np.array_equal(batch.a[0], np.arange(6, dtype=np.float32).reshape(shape))


@pytest.mark.parametrize("name", BAD)
def test_others_are_errors(tmp_path, name):
    error = error_of(one_field(tmp_path / "c66.tar", "npy", BAD[name]), a=Array())
    assert isinstance(error, (stoker.CorruptSample, stoker.NotBuilt))
