"""C109: without this, every epoch has the same order, or every run another one."""

import subprocess
import sys

import stoker
from stoker import Label

SCRIPT = """
import sys, stoker
with stoker.Loader(sys.argv[2:], label=stoker.Label(), shuffle="shards", seed=5, batch_size=4,
                   threads=int(sys.argv[1])) as loader:
    print([[batch.label.tolist() for batch in loader] for _ in range(2)])
"""


def test_order_is_a_function_of_seed_and_epoch(numbered_shards):
    shards = numbered_shards(12, 12)
    with stoker.Loader(shards, label=Label(), shuffle="shards", seed=5, batch_size=4) as loader:
        epochs = [[batch.label.tolist() for batch in loader] for _ in range(2)]
    assert epochs[0] != epochs[1]
    for threads in ("0", "1", "3"):
        again = subprocess.run(
            [sys.executable, "-c", SCRIPT, threads, *shards],
            capture_output=True,
            text=True,
            timeout=240,
            check=True,
        ).stdout
        assert again == f"{epochs}\n"
    with stoker.Loader(shards, label=Label(), shuffle="shards", seed=6, batch_size=4) as loader:
        assert [batch.label.tolist() for batch in loader] not in epochs
