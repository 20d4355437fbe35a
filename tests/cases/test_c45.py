"""C45: without this, a file of 159 KB holds a thread for seconds."""

import io
import time

import PIL.Image
import pytest
import stoker


def test_too_many_scans_are_refused_at_once():
    file = io.BytesIO()
    PIL.Image.new("L", (6000, 6000), 128).save(file, "JPEG", progressive=True)
    data = file.getvalue()
    last = data.rfind(b"\xff\xda")
    bomb = data[:last] + data[last:-2] * 300 + b"\xff\xd9"
    begin = time.process_time()
    with pytest.raises(stoker.LimitExceeded, match="scans"):
        stoker.decode_image(bomb, limits=stoker.Limits(max_scans=100))
    assert time.process_time() - begin < 5  # all 300 take longer than that many times over
