"""C61: without this, a colour profile, or nonsense in its place, hides the picture."""

import os

import numpy as np
import stoker
from kit import jpg, pic


def test_profiles_are_stepped_over():
    data = jpg(pic(), icc_profile=os.urandom(200_000))
    assert np.array_equal(stoker.decode_image(data), stoker.decode_image(jpg(pic())))
