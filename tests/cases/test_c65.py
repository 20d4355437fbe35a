"""C65: without this, reading an array runs code that came with the data."""

import numpy as np
import stoker
from kit import error_of, npy_of, one_batch, one_field
from stoker import Array, Bytes


def test_object_arrays_are_refused_and_said_to_be_pickles(tmp_path):
    data = npy_of(np.array([{"a": 1}, 2], object), allow_pickle=True)
    path = one_field(tmp_path / "c65.tar", "npy", data)
    error = error_of(path, a=Array())
    assert isinstance(error, stoker.NotBuilt)
    assert "pickle" in str(error)
    assert one_batch(path, raw=Bytes("npy")).raw == [data]
