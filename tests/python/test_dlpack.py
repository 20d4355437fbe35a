"""Without these: an array shares memory that is used again, or a consumer frees what is not its own."""

import gc

import numpy as np
import pytest
import stoker
from stoker import Image, Label
from stoker import transforms as T


@pytest.fixture
def loader(picture_shards):
    with stoker.Loader(
        picture_shards(8),
        batch_size=4,
        threads=0,  # nothing is in flight, so that slots_held is what the test holds
        image=Image(),
        half=Image("jpg", T.Resize(8), dtype="float16"),
        brain=Image("jpg", T.Resize(8), dtype="bfloat16"),
        label=Label("cls"),
    ) as loader:
        yield loader


@pytest.fixture
def batch(loader):
    return next(iter(loader))


@pytest.fixture
def tensor(batch):
    """The Tensor itself, which NumPy arrays are made of: bfloat16 is shown as one."""
    assert isinstance(batch.brain, stoker.Tensor)
    return batch.brain


def test_numpy_takes_tensors_without_a_copy(batch):
    image = batch.image
    base = image.base
    while not isinstance(base, (stoker.Tensor, memoryview)):
        base = base.base
    source = base.obj if isinstance(base, memoryview) else base
    assert isinstance(source, stoker.Tensor)
    twin = np.from_dlpack(source)
    assert twin.ctypes.data == image.ctypes.data
    assert twin.flags.writeable
    assert np.array_equal(twin, image)


def test_bfloat16_has_no_buffer_and_says_so(tensor):
    for take in (memoryview, np.asarray):
        with pytest.raises(BufferError, match="DLPack"):
            take(tensor)
    assert tensor.dtype == "bfloat16"
    assert tensor.shape == (4, 3, 8, 10)
    assert tensor.strides == (240, 80, 10, 1)
    assert tensor.nbytes == 4 * 3 * 8 * 10 * 2
    assert len(tensor) == 4
    assert repr(tensor) == "Tensor((4, 3, 8, 10), bfloat16)"


def test_the_device_is_the_host(tensor):
    assert tensor.__dlpack_device__() == (1, 0)


@pytest.mark.parametrize(
    ("keywords", "name"),
    [
        ({}, "dltensor"),
        ({"max_version": None}, "dltensor"),
        ({"max_version": (0, 8)}, "dltensor"),
        ({"max_version": (1, 0)}, "dltensor_versioned"),
        ({"max_version": (1, 2), "dl_device": (1, 0)}, "dltensor_versioned"),
        ({"max_version": (2, 0), "stream": -1, "copy": False}, "dltensor_versioned"),
        ({"copy": True}, "dltensor"),
    ],
)
def test_the_form_is_the_one_that_the_consumer_takes(tensor, keywords, name):
    assert f'"{name}"' in repr(tensor.__dlpack__(**keywords))


@pytest.mark.parametrize(
    ("keywords", "kind"),
    [
        ({"stream": 1}, ValueError),
        ({"stream": 0}, ValueError),
        ({"stream": "x"}, TypeError),
        ({"max_version": 1}, TypeError),
        ({"max_version": (1,)}, TypeError),
        ({"dl_device": (2, 0)}, BufferError),
        ({"dl_device": (1, 1)}, BufferError),
        ({"device": 1}, TypeError),
    ],
)
def test_senseless_wishes_are_refused_and_leak_nothing(loader, tensor, keywords, kind):
    held = loader.stats()["slots_held"]
    with pytest.raises(kind):
        tensor.__dlpack__(**keywords)
    assert loader.stats()["slots_held"] == held


@pytest.mark.parametrize("keywords", [{}, {"max_version": (1, 0)}])
def test_a_capsule_keeps_the_slot_and_gives_it_back(loader, keywords):
    batch = next(iter(loader))
    capsule = batch.brain.__dlpack__(**keywords)
    held = loader.stats()["slots_held"]
    del batch
    gc.collect()
    assert loader.stats()["slots_held"] == held
    del capsule  # nobody took it: its own destructor
    assert loader.stats()["slots_held"] == held - 1


def test_a_copy_is_memory_of_its_own(loader):
    torch = pytest.importorskip("torch")
    batch = next(iter(loader))
    twin = torch.from_dlpack(batch.brain, copy=True)
    shared = torch.from_dlpack(batch.brain)
    assert torch.equal(twin, shared)
    shared.zero_()
    assert not torch.equal(twin, shared)


@pytest.mark.torch
def test_torch_takes_every_dtype_without_a_copy(batch):
    torch = pytest.importorskip("torch")
    brain = torch.from_dlpack(batch.brain)
    assert brain.dtype == torch.bfloat16
    half = torch.from_numpy(batch.half)
    assert half.dtype == torch.float16
    assert torch.allclose(brain.float(), half.float(), atol=2**-8)
    again = torch.from_dlpack(batch.brain)
    again[0, 0, 0, 0] = 3
    assert brain[0, 0, 0, 0] == 3


@pytest.mark.torch
def test_a_torch_tensor_keeps_the_slot_beyond_the_loader(loader):
    torch = pytest.importorskip("torch")
    batch = next(iter(loader))
    kept = torch.from_dlpack(batch.brain)
    want = kept.clone()
    del batch
    for _ in range(3):
        for _ in loader:
            pass
    loader.close()
    gc.collect()
    assert torch.equal(kept, want)


def test_jax_takes_tensors(batch):
    jax = pytest.importorskip("jax")
    assert jax.numpy.from_dlpack(batch.brain).shape == (4, 3, 8, 10)


def test_the_buffer_protocol_says_what_it_holds(batch):
    for array, code in ((batch.image, "B"), (batch.half, "e"), (batch.label, "q")):
        view = memoryview(array)
        assert view.format in (code, {"q": "l"}.get(code))
        assert view.c_contiguous
        assert not view.readonly
    half, whole = batch.half.astype(np.float32), batch.image
    assert 0 <= half.min() <= half.max() <= 1
    assert whole.max() > 1
