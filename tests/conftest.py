"""What all Python tests share: the path to tests/support, signals, how examples are found, and small
datasets made once a run."""

import signal
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A shell that starts this in the background has it ignore Ctrl-C, and with it all that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in each run, however slow the machine is in this moment: a run that fails fails
# again. `pytest --hypothesis-profile=search` looks at other examples each time.
patient = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("search", **patient)
settings.register_profile("certain", derandomize=True, **patient)
settings.load_profile("certain")

sys.path.insert(0, str(Path(__file__).parent / "support"))


@pytest.fixture(scope="session")
def data_folder(tmp_path_factory):
    """A folder for data that tests only read."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="session")
def numbered_shards(data_folder):
    """numbered_shards(n): n samples in three shards (fewer for few samples); the label of a sample
    is its number in the dataset, its key the number in six digits."""
    from kit import EOA, mem

    made = {}

    def make(n, shards=3):
        if (n, shards) not in made:
            folder = data_folder / f"numbered-{n}-{shards}"
            folder.mkdir()
            cuts = [n * i // shards for i in range(shards + 1)]
            paths = []
            for first, last in pairwise(cuts):
                if first == last:
                    continue
                path = folder / f"{len(paths):03d}.tar"
                path.write_bytes(
                    b"".join(mem(b"%06d.cls" % i, b"%d" % i) for i in range(first, last)) + EOA
                )
                paths.append(str(path))
            made[n, shards] = paths
        return made[n, shards]

    return make


@pytest.fixture(scope="session")
def picture_shards(data_folder):
    """picture_shards(n): n JPEG pictures of 64 x 48 with labels 0 to n - 1, in two shards."""
    from kit import EOA, jpg, mem, numbered_picture

    made = {}

    def make(n):
        if n not in made:
            paths = []
            for shard, part in enumerate((range(0, n, 2), range(1, n, 2))):
                path = data_folder / f"pictures-{n}-{shard}.tar"
                path.write_bytes(
                    b"".join(
                        mem(b"%04d.jpg" % i, jpg(numbered_picture(i)))
                        + mem(b"%04d.cls" % i, b"%d" % i)
                        for i in part
                    )
                    + EOA
                )
                paths.append(str(path))
            made[n] = paths
        return made[n]

    return make
