"""C69: without this, a table is read as one column of bytes."""

import numpy as np
import stoker
from kit import error_of, npy_of, one_field
from stoker import Array


def test_structured_types_are_refused_and_shown(tmp_path):
    table = np.array([(1, 2.5)], dtype=[("id", "<i4"), ("x", "<f8")])
    error = error_of(one_field(tmp_path / "c69.tar", "npy", npy_of(table)), a=Array())
    assert isinstance(error, stoker.NotBuilt)
    assert "structured" in str(error)
