"""Without these: a training loop gets arrays instead of tensors, or copies where none is needed."""

import gc

import numpy as np
import pytest
import stoker
from stoker import Image, Key, Label

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


@pytest.fixture
def shards(picture_shards):
    return picture_shards(12)


def open_loader(shards, device="cpu", **options):
    import stoker.torch

    return stoker.torch.Loader(
        shards,
        image=Image("jpg", dtype="bfloat16"),
        raw=Image("jpg"),
        label=Label("cls"),
        key=Key(),
        batch_size=4,
        device=device,
        **options,
    )


def test_batches_hold_tensors_of_the_same_values(shards):
    with (
        open_loader(shards, shuffle=True, seed=3) as loader,
        stoker.Loader(
            shards, raw=Image("jpg"), label=Label("cls"), batch_size=4, shuffle=True, seed=3
        ) as other,
    ):
        for ours, numpys in zip(loader, other, strict=True):
            assert ours.image.dtype == torch.bfloat16
            assert ours.raw.dtype == torch.uint8
            assert ours.label.dtype == torch.int64
            assert ours.samples.dtype == torch.int64
            assert np.array_equal(ours.raw.numpy(), numpys.raw)
            assert ours.label.tolist() == numpys.label.tolist()
            assert ours.key == [f"{i:04d}" for i in ours.label.tolist()]
            assert ours.image is ours["image"]


def test_nothing_is_copied_and_tensors_are_writable(shards):
    with open_loader(shards) as loader:
        batch = next(iter(loader))
        batch.raw[0] = 7
        assert (batch.column("raw")[0][0] == 7).all()
        values, offsets = batch.column("key")
        assert values[offsets[1] : offsets[2]].numpy().tobytes() == batch.key[1].encode()


def test_a_kept_tensor_survives_loader_and_batch(shards):
    loader = open_loader(shards)
    kept = [batch.raw for batch in loader]
    want = [each.clone() for each in kept]
    for _ in loader:
        pass
    loader.close()
    del loader
    gc.collect()
    assert all(torch.equal(a, b) for a, b in zip(kept, want, strict=True))


def test_it_is_a_loader_in_every_other_way(shards):
    with open_loader(shards, rank=0, world_size=2) as loader:
        assert isinstance(loader, stoker.Loader)
        assert len(loader) == 2
        assert loader.state_dict()["world_size"] == 2
        assert loader.at(0, 3).label.shape == (1,)
        assert "stoker.torch" in repr(loader)


@pytest.mark.parametrize("device", ["meta", "mps"])
def test_other_devices_are_refused_by_name(shards, device):
    with pytest.raises(ValueError, match=device):
        open_loader(shards, device)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_missing_device_is_named(shards):
    with pytest.raises(RuntimeError, match="no CUDA device"):
        open_loader(shards, "cuda")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_batches_are_copied_to_the_device(shards):
    with open_loader(shards, "cuda") as loader, open_loader(shards) as host:
        for ours, theirs in zip(loader, host, strict=True):
            assert ours.raw.is_cuda
            assert ours.image.dtype == torch.bfloat16
            assert torch.equal(ours.raw.cpu(), theirs.raw)
            assert torch.equal(ours.image.cpu(), theirs.image)
            assert ours.key == theirs.key


def test_training_takes_them_as_they_are(shards):
    with open_loader(shards) as loader:
        model = torch.nn.Conv2d(3, 4, 3).to(torch.bfloat16)
        for batch in loader:
            model(batch.image).sum().backward()
        assert model.weight.grad.abs().sum() > 0
