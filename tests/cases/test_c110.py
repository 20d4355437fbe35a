"""C110: without this, workers draw the same random crops."""

import numpy as np
import stoker
from kit import EOA, jpg, mem, save
from stoker import Image
from stoker import transforms as T


def test_every_sample_of_every_epoch_draws_its_own(tmp_path):
    y, x = np.mgrid[0:64, 0:64]
    picture = jpg(np.stack([x * 4, y * 4, (x + y) * 2], -1).astype(np.uint8))
    path = save(
        tmp_path / "c110.tar", b"".join(mem(b"%03d.jpg" % i, picture) for i in range(40)) + EOA
    )

    def crops(threads, ranks):
        seen = {}
        for rank in range(ranks):
            with stoker.Loader(
                path,
                image=Image("jpg", T.RandomResizedCrop(16)),
                batch_size=5,
                threads=threads,
                rank=rank,
                world_size=ranks,
            ) as loader:
                for _ in range(2):
                    for batch in loader:
                        for row, sample in enumerate(batch.samples.tolist()):
                            seen[batch.epoch, sample] = batch.image[row].tobytes()
        return seen

    first = crops(4, 2)
    assert len(first) == 80
    assert len(set(first.values())) == 80
    assert crops(1, 1) == first
    assert crops(0, 4) == first
