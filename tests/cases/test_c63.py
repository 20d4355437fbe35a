"""C63: without this, arrays saved column-major have their values in wrong places."""

import numpy as np
from kit import npy_of, one_batch, one_field
from stoker import Array


def test_fortran_order_is_read_in_c_order(tmp_path):
    arrays = [np.asfortranarray(np.arange(6, dtype="<f4").reshape(2, 3) + i) for i in range(3)]
    path = one_field(tmp_path / "c63.tar", "npy", *map(npy_of, arrays))
    batch = one_batch(path, a=Array("npy"))
    assert np.array_equal(batch.a, np.stack(arrays))
    assert batch.a.flags.c_contiguous
