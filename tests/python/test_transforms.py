"""Without these: a model trained here sees other pixels than one evaluated with torchvision."""

import numpy as np
import pytest
import stoker
from hypothesis import given, settings
from hypothesis import strategies as st
from kit import EOA, jpg, mem, save
from stoker import Image
from stoker import transforms as T
from stoker.transforms import functional as F

sides = st.integers(4, 90)  # 3 would leave the layout open; PyTorch 2.14 fails on width 1


def noise(height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def smooth(height, width):
    y, x = np.mgrid[0:height, 0:width]
    return np.stack([x * 255 // width, y * 255 // height, (x + y) % 256], -1).astype(np.uint8)


def vision(array, transform):
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1)))
    return transform(tensor).numpy().transpose(1, 2, 0)


def assert_close(got, want):
    difference = np.abs(got.astype(int) - want.astype(int))
    assert got.shape == want.shape
    assert difference.max(initial=0) <= 1
    assert difference.mean() < 0.1


@pytest.mark.torch
@settings(max_examples=60)
@given(
    height=sides,
    width=sides,
    out=st.tuples(sides, sides),
    seed=st.integers(0, 9),
    interpolation=st.sampled_from(["bilinear", "bicubic"]),
)
def test_antialiased_resize_equals_torchvision(height, width, out, seed, interpolation):
    v2 = pytest.importorskip("torchvision.transforms.v2")
    array = noise(height, width, seed)
    mode = v2.InterpolationMode(interpolation)
    want = vision(array, v2.Resize(out, mode, antialias=True))
    assert np.array_equal(F.resize(array, out, interpolation), want)


@pytest.mark.torch
@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic", "nearest"])
@pytest.mark.parametrize("size", [17, 40, 100, (31, 77), (64, 64)])
def test_plain_resize_is_within_a_level_of_torchvision(interpolation, size):
    v2 = pytest.importorskip("torchvision.transforms.v2")
    array = smooth(48, 64)
    mode = v2.InterpolationMode(interpolation)
    want = vision(array, v2.Resize(size, mode, antialias=False))
    assert_close(F.resize(array, size, interpolation, antialias=False), want)


@pytest.mark.torch
@settings(max_examples=60)
@given(
    height=st.integers(20, 90),
    width=st.integers(20, 90),
    size=st.integers(10, 60),
    more=st.integers(1, 60),
)
def test_the_short_side_and_its_bound_are_torchvisions(height, width, size, more):
    v2 = pytest.importorskip("torchvision.transforms.v2")
    array = noise(height, width)
    want = vision(array, v2.Resize(size, max_size=size + more))
    assert np.array_equal(F.resize(array, size, max_size=size + more), want)


@pytest.mark.torch
@settings(max_examples=60)
@given(height=sides, width=sides, size=st.tuples(sides, sides))
def test_center_crop_equals_torchvision(height, width, size):
    v2 = pytest.importorskip("torchvision.transforms.v2")
    array = noise(height, width)
    assert np.array_equal(F.center_crop(array, size), vision(array, v2.CenterCrop(size)))


@pytest.mark.torch
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric"])
def test_padding_equals_torchvision(mode):
    v2 = pytest.importorskip("torchvision.transforms.v2.functional")
    array = noise(9, 12)
    want = vision(array, lambda t: v2.pad(t, [1, 2, 3, 4], padding_mode=mode))
    assert np.array_equal(F.pad(array, (1, 2, 3, 4), padding_mode=mode), want)


@pytest.mark.torch
def test_normalize_equals_torchvision():
    v2 = pytest.importorskip("torchvision.transforms.v2.functional")
    array = noise(9, 12)
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    want = vision(array, lambda t: v2.normalize(t.float() / 255, mean, std))
    got = F.normalize(array, mean, std)
    assert got.dtype == np.float32
    assert np.allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.torch
@pytest.mark.parametrize("size", [8, (16, 24), 33])
def test_the_same_box_resized_is_torchvisions_resized_crop(size):
    v2 = pytest.importorskip("torchvision.transforms.v2.functional")
    array = smooth(48, 64)
    size = (size, size) if isinstance(size, int) else size
    want = vision(array, lambda t: v2.resized_crop(t, 5, 7, 30, 40, size, antialias=True))
    assert_close(F.resized_crop(array, 5, 7, 30, 40, size), want)


def test_single_steps_on_both_layouts():
    array = noise(20, 30)
    planes = np.ascontiguousarray(array.transpose(2, 0, 1))
    for step in (
        lambda a: F.resize(a, (7, 9)),
        lambda a: F.crop(a, 1, 2, 5, 6),
        lambda a: F.center_crop(a, 10),
        lambda a: F.resized_crop(a, 1, 2, 10, 12, 8),
        lambda a: F.horizontal_flip(a),
        lambda a: F.pad(a, 3, fill=(1, 2, 3)),
        lambda a: F.normalize(a, [0.5], [0.5]),
    ):
        assert np.array_equal(step(array), step(planes).transpose(1, 2, 0))


def test_exact_steps():
    array = noise(20, 30)
    assert np.array_equal(F.crop(array, 1, 2, 5, 6), array[1:6, 2:8])
    assert np.array_equal(F.hflip(array), array[:, ::-1])
    assert np.array_equal(F.center_crop(array, (10, 20)), array[5:15, 5:25])
    padded = F.pad(array, (1, 2), fill=7)
    assert np.array_equal(padded[2:-2, 1:-1], array)
    assert (padded[:2] == 7).all()
    assert F.resize(array, (20, 30)).tobytes() == array.tobytes()


def test_inputs_are_not_written_and_views_are_taken():
    array = noise(40, 60)
    array.setflags(write=False)
    assert np.array_equal(F.hflip(array[::2, ::3]), array[::2, ::3][:, ::-1])


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        (np.zeros((4, 4, 3), np.float32), TypeError),
        (np.zeros((4, 4), np.uint8), ValueError),
        (np.zeros((4, 4, 4), np.uint8), ValueError),
        (np.zeros((3, 5, 3), np.uint8), ValueError),
        (np.zeros((0, 4, 3), np.uint8), ValueError),
    ],
)
def test_other_arrays_are_refused(array, kind):
    with pytest.raises(kind):
        F.hflip(array)


def test_an_ambiguous_shape_needs_its_layout():
    array = noise(3, 5)
    with pytest.raises(ValueError, match="layout="):
        F.hflip(array)
    assert np.array_equal(F.hflip(array, layout="NHWC"), array[:, ::-1])
    assert np.array_equal(F.hflip(array, layout="NCHW"), array[:, :, ::-1])
    with pytest.raises(ValueError, match='not layout "NCHW"'):
        F.hflip(noise(4, 5), layout="NCHW")


@pytest.mark.parametrize(
    "step",
    [
        lambda a: F.crop(a, 15, 0, 10, 10),
        lambda a: T.apply(a, T.RandomCrop(21)),
        lambda a: F.pad(a, 20, padding_mode="reflect"),
    ],
)
def test_a_picture_too_small_for_a_crop_is_a_shape_error(step):
    with pytest.raises(stoker.ShapeError):
        step(noise(20, 30))


@settings(max_examples=30)
@given(seed=st.integers(0, 2**64 - 1), epoch=st.integers(0, 2**32), sample=st.integers(0, 2**40))
def test_random_crops_are_parts_of_the_picture(seed, epoch, sample):
    array = np.arange(20 * 30 * 3, dtype=np.uint32).astype(np.uint8).reshape(20, 30, 3)
    draw = {"seed": seed, "epoch": epoch, "sample": sample}
    part = T.apply(array, T.RandomCrop((5, 6)), **draw)
    windows = np.lib.stride_tricks.sliding_window_view(array, (5, 6, 3))[:, :, 0]
    assert (windows == part).all(axis=(2, 3, 4)).any()
    assert np.array_equal(part, T.apply(array, [T.RandomCrop((5, 6))], **draw))


def test_flips_are_as_frequent_as_asked():
    array = noise(4, 5)
    for p in (0.0, 0.3, 1.0):
        flips = [
            np.array_equal(T.apply(array, T.RandomHorizontalFlip(p), sample=i), array[:, ::-1])
            for i in range(2000)
        ]
        assert abs(np.mean(flips) - p) < 4 * np.sqrt(p * (1 - p) / 2000) + 1e-9


def test_a_loader_does_what_apply_does(tmp_path):
    pictures = [jpg(noise(40 + i, 60 - i, i)) for i in range(6)]
    path = save(
        tmp_path / "a.tar", b"".join(mem(b"%d.jpg" % i, p) for i, p in enumerate(pictures)) + EOA
    )
    chain = [T.RandomResizedCrop(16), T.RandomHorizontalFlip()]
    norm = [*chain, T.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4])]
    with stoker.Loader(
        path,
        a=Image("jpg", *chain, layout="NHWC"),
        b=Image("jpg", *norm, layout="NHWC", dtype="float32"),
        batch_size=4,
        shuffle=True,
        seed=11,
    ) as loader:
        for _ in range(2):
            for batch in loader:
                for row, sample in enumerate(batch.samples.tolist()):
                    array = stoker.decode_image(pictures[sample])
                    draw = {"seed": 11, "epoch": batch.epoch, "sample": sample}
                    assert np.array_equal(batch.a[row], T.apply(array, chain, **draw))
                    assert np.array_equal(batch.b[row], T.apply(array, norm, **draw))


def test_the_crop_is_another_in_each_epoch_and_for_each_sample():
    array = smooth(48, 64)
    crops = {
        T.apply(array, T.RandomResizedCrop(8), seed=1, epoch=e, sample=s).tobytes()
        for e in range(4)
        for s in range(50)
    }
    assert len(crops) == 200


def test_dtypes_of_apply():
    array = noise(6, 7)
    assert T.apply(array, []).dtype == np.uint8
    whole = T.apply(array, [], dtype="float32")
    assert np.allclose(whole, array / 255, atol=1e-6)
    assert np.array_equal(T.apply(array, [], dtype="float16"), whole.astype(np.float16))
    assert isinstance(T.apply(array, [], dtype="bfloat16"), stoker.Tensor)
    with pytest.raises(ValueError, match="seed is -1"):
        T.apply(array, [], seed=-1)
