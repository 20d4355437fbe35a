"""C114: without this, a forked worker hangs on threads that did not come along."""

import os
import signal

import pytest
import stoker
from kit import jpg, pic
from stoker import Image


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_fifty_children_decode_and_none_waits(picture_shards):
    data = jpg(pic())
    with stoker.Loader(picture_shards(40), image=Image("jpg"), batch_size=4) as loader:
        iterator = iter(loader)
        next(iterator)
        for _ in range(50):
            pid = os.fork()
            if pid == 0:
                signal.alarm(100)
                code = 1
                try:
                    assert stoker.decode_image(data).shape == (48, 64, 3)
                    try:
                        next(iterator)
                    except stoker.ForkError:
                        code = 0
                finally:
                    os._exit(code)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert sum(batch.rows for batch in iterator) == 36
