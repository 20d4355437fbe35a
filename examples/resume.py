"""Stop in the middle of an epoch and go on in another process with the very next sample.

    python examples/resume.py WHERE STATE.json STEPS

Takes STEPS batches and writes where it stands to STATE.json. Run again, it goes on from there: with
another number of threads, too, which changes nothing.
"""

import json
import os
import sys
import zlib

import stoker
from stoker import Image, Label
from stoker import transforms as T

if len(sys.argv) != 4 or not sys.argv[3].isdecimal():
    sys.exit(__doc__)
where, path, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])

with stoker.Loader(
    where,
    image=Image("jpg;png", T.RandomResizedCrop(64), T.RandomHorizontalFlip()),
    label=Label("cls"),
    batch_size=4,
    shuffle=True,
    seed=7,
    threads=int(os.environ.get("THREADS", "2")),
) as loader:
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            loader.load_state_dict(json.load(file))
    taken = 0
    while taken < steps:
        for batch in loader:  # what is left of the epoch, then the next one
            print(
                f"epoch {batch.epoch} step {batch.step} samples {batch.samples.tolist()} "
                f"pixels {zlib.crc32(batch.image.tobytes()):08x}"
            )
            taken += 1
            if taken == steps:
                break
    with open(path, "w", encoding="utf-8") as file:
        json.dump(loader.state_dict(), file)
