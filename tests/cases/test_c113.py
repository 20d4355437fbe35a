"""C113: without this, memory grows with every epoch until the job is killed."""

import subprocess
import sys

from kit import EOA, mem, save

SCRIPT = """
import os, sys, time, stoker
def resident():
    with open("/proc/self/statm") as file:
        fields = file.read().split()
    return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")
sizes = []
with stoker.Loader(sys.argv[1], label=stoker.Label(), key=stoker.Key(), batch_size=500, shuffle=True) as loader:
    for epoch in range(5):
        for batch in loader:
            batch.label.sum()
            time.sleep(0.0005)
        sizes.append(resident())
print(max(sizes[1:]) / sizes[1] < 1.03, sizes)
"""


def test_anonymous_memory_is_the_same_from_the_second_epoch_on(tmp_path):
    path = save(
        tmp_path / "c113.tar", b"".join(mem(b"%06d.cls" % i, b"1") for i in range(50_000)) + EOA
    )
    out = subprocess.run(
        [sys.executable, "-c", SCRIPT, path],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    assert out.startswith("True"), out
