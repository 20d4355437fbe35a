"""Without these: each batch, sample or error leaves an object behind, and a run of weeks dies of it."""

import gc
import pickle
import sys

import numpy as np
import pytest
import stoker
from kit import EOA, jpg, mem, npy_of, pic, save
from stoker import Array, Bytes, Image, Json, Key, Label, Text
from stoker import transforms as T

ROUNDS = 50


def blocks_left_by(operation):
    """Blocks of Python's allocator that many rounds of an operation leave.

    Caches fill up at times of their own, a leak is there each time: so the least of some tries.
    """
    least = sys.maxsize
    for _ in range(12):
        if least < ROUNDS // 4:
            break
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(ROUNDS):
            operation()
        gc.collect()
        least = min(least, sys.getallocatedblocks() - before)
    return least


@pytest.fixture(scope="module")
def shard(tmp_path_factory):
    members = b"".join(
        mem(b"%d.jpg" % i, jpg(pic(16, 16)))
        + mem(b"%d.cls" % i, b"%d" % i)
        + mem(b"%d.txt" % i, b"text")
        + mem(b"%d.json" % i, b'{"a": [1, 2]}')
        + mem(b"%d.npy" % i, npy_of(np.zeros(3)))
        for i in range(8)
    )
    return save(tmp_path_factory.mktemp("references") / "a.tar", members + EOA)


@pytest.fixture(scope="module")
def loader(shard):
    with stoker.Loader(
        shard,
        image=Image("jpg"),
        brain=Image("jpg", dtype="bfloat16"),
        raw=Bytes("jpg"),
        text=Text(),
        meta=Json(),
        array=Array(),
        key=Key(),
        label=Label(),
        batch_size=4,
        threads=0,
    ) as loader:
        yield loader


def ignoring(operation, *kinds):
    def call():
        try:
            operation()
        except kinds:
            pass
        else:
            raise AssertionError("no error")

    return call


def of_batch(loader, use):
    def call():
        use(next(iter(loader)))

    return call


BATCH = {
    "values": lambda b: b.values(),
    "items": lambda b: b.items(),
    "iteration": lambda b: list(b),
    "attributes": lambda b: (b.image, b.text, b.meta, b.samples, b.epoch, b.step, b.rows, b.keys()),
    "column": lambda b: (b.column("text"), b.column("label")),
    "repr": repr,
    "missing": lambda b: (getattr(b, "x", None), "x" in b),
    "tensor": lambda b: (
        b.brain.shape,
        b.brain.strides,
        b.brain.dtype,
        b.brain.nbytes,
        repr(b.brain),
    ),
    "capsule": lambda b: (b.brain.__dlpack__(), b.brain.__dlpack__(max_version=(1, 0), copy=True)),
    "wrong capsule": lambda b: ignoring(lambda: b.brain.__dlpack__(stream=3), ValueError)(),
    "wrong buffer": lambda b: ignoring(lambda: memoryview(b.brain), BufferError)(),
    "buffer": lambda b: memoryview(b.image),
    "from_dlpack": lambda b: np.from_dlpack(b.image),
    "wrong index": lambda b: ignoring(lambda: b["x"], KeyError)(),
}


@pytest.mark.parametrize("name", BATCH)
def test_using_a_batch(loader, name):
    assert blocks_left_by(of_batch(loader, BATCH[name])) < ROUNDS // 4


LOADER = {
    "epoch": lambda loader: [None for _ in loader],
    "state": lambda loader: loader.load_state_dict(loader.state_dict()),
    "stats": lambda loader: str(loader.stats()),
    "at": lambda loader: loader.at(3, 2).image,
    "order": lambda loader: loader.order(5),
    "numbers": lambda loader: (
        loader.epoch,
        loader.step,
        len(loader),
        loader.waits_for(),
        loader.closed,
    ),
    "wrong state": lambda loader: ignoring(
        lambda: loader.load_state_dict({**loader.state_dict(), "seed": 1}), stoker.StateMismatch
    )(),
    "out of range": lambda loader: ignoring(lambda: loader.at(0, 99), IndexError)(),
}


@pytest.mark.parametrize("name", LOADER)
def test_using_a_loader(loader, name):
    assert blocks_left_by(lambda: LOADER[name](loader)) < ROUNDS // 4


def test_opening_and_closing_a_loader(shard):
    dataset = stoker.open(shard)

    def use():
        with stoker.Loader(dataset, label=Label(), batch_size=4, threads=1) as loader:
            next(iter(loader))

    assert blocks_left_by(use) < ROUNDS // 4
    wrong = ignoring(lambda: stoker.Loader(dataset, label=Label("none")), KeyError)
    assert blocks_left_by(wrong) < ROUNDS // 4


def test_damage(shard, tmp_path):
    path = save(
        tmp_path / "a.tar", b"".join(mem(b"%d.cls" % i, b"x1"[i % 2 :]) for i in range(8)) + EOA
    )
    with stoker.Loader(path, label=Label(), on_error="skip", batch_size=4) as loader:
        for _ in loader:
            pass
        assert blocks_left_by(lambda: loader.damage) < ROUNDS // 4


DATASET = {
    "sample": lambda ds: ds[3],
    "samples": lambda ds: ds.__getitems__([1, 2]),
    "pass": lambda ds: list(ds),
    "part of a pass": lambda ds: next(iter(ds)),
    "keys": lambda ds: (list(ds.keys()), ds.find("3"), "x" in ds.keys()),  # noqa: SIM118
    "facts": lambda ds: (ds.fields, ds.shards, ds.classes, ds.notes, ds.fingerprint, ds.members(0)),
    "pickle": lambda ds: pickle.loads(pickle.dumps(ds[1:3])),
    "out of range": lambda ds: ignoring(lambda: ds[99], IndexError)(),
    "not there": lambda ds: ignoring(lambda: stoker.open("/nowhere.tar"), FileNotFoundError)(),
}


@pytest.mark.parametrize("name", DATASET)
def test_using_a_dataset(shard, name):
    dataset = stoker.open(shard)
    assert blocks_left_by(lambda: DATASET[name](dataset)) < ROUNDS // 4


PICTURE = jpg(pic(16, 16))
ALONE = {
    "decode": lambda: stoker.decode_image(PICTURE, (1, 2, 3, 4), "NCHW"),
    "info": lambda: stoker.image_info(PICTURE),
    "transform": lambda: T.apply(pic(16, 20), [T.RandomResizedCrop(8)]),
    "bad picture": ignoring(lambda: stoker.decode_image(PICTURE[:100]), ValueError),
    "bad crop": ignoring(lambda: stoker.decode_image(PICTURE, (0, 0, 99, 1)), ValueError),
    "no buffer": ignoring(lambda: stoker.decode_image("x"), TypeError),
    "bad chain": ignoring(lambda: T.functional.crop(pic(), 40, 0, 20, 2), ValueError),
}


@pytest.mark.parametrize("name", ALONE)
def test_pictures_alone(name):
    assert blocks_left_by(ALONE[name]) < ROUNDS // 4
