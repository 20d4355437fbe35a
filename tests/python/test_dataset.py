"""Without these: indexing by number, by key and in order give different samples."""

import copy
import os
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest
import stoker
from kit import EOA, jpg, mem, pic, save


@pytest.fixture
def shard(tmp_path):
    members = b"".join(
        mem(b"d/%03d.bin" % i, bytes([i]) * (i * 7 % 400)) + mem(b"d/%03d.cls" % i, b"%d" % i)
        for i in range(200)
    )
    return save(tmp_path / "a.tar", members + EOA)


def shorten(path, size):
    """Leave the first members of a shard only; it stays whole."""
    data = pathlib.Path(path).read_bytes()
    pathlib.Path(path).write_bytes(data[:size] + EOA)


@pytest.fixture
def dataset(shard):
    return stoker.open(shard)


def sample(i):
    return {
        "__key__": f"d/{i:03d}",
        "__shard__": "a.tar",
        "bin": bytes([i]) * (i * 7 % 400),
        "cls": b"%d" % i,
    }


def test_a_sample_is_a_dict_of_bytes(dataset):
    got = dataset[5]
    assert {**got, "__shard__": os.path.basename(got["__shard__"])} == sample(5)


def test_number_key_order_and_batches_agree(dataset):
    assert len(dataset) == 200
    in_order = list(dataset)
    assert [each["bin"] for each in in_order] == [sample(i)["bin"] for i in range(200)]
    assert in_order == [dataset[i] for i in range(200)]
    assert in_order == dataset.__getitems__(range(200))
    assert [each["__key__"] for each in in_order] == list(dataset.keys())
    assert all(dataset.find(key) == i for i, key in enumerate(dataset.keys()))


def test_negative_and_numpy_indices(dataset):
    assert dataset[-1] == dataset[199]
    assert dataset[np.int64(3)] == dataset[3]
    for index in (200, -201, 2**63, 2**70):
        with pytest.raises(IndexError):
            dataset[index]
    with pytest.raises(TypeError):
        dataset["d/003"]


@pytest.mark.parametrize(
    "part",
    [slice(10, 20), slice(None, None, -1), slice(3, 150, 11), slice(5, 5), slice(-10, None)],
    ids=str,
)
def test_slices_are_views_of_the_same_samples(dataset, part):
    view = dataset[part]
    numbers = range(200)[part]
    assert len(view) == len(numbers)
    assert list(view) == [dataset[i] for i in numbers]
    assert list(view.keys()) == [f"d/{i:03d}" for i in numbers]
    assert [view[i] for i in range(len(view))] == list(view)
    assert list(view[1:4]) == [dataset[i] for i in numbers[1:4]]
    for at, i in enumerate(numbers):
        assert view.find(f"d/{i:03d}") == at
    keys = view.keys()
    assert all((f"d/{i:03d}" in keys) == (i in numbers) for i in range(200))


def test_keys_are_found_or_a_key_error(dataset):
    keys = dataset.keys()
    assert "d/007" in keys
    assert b"d/007" in keys
    assert "d/7" not in keys
    assert 7 not in keys
    assert keys[7] == dataset.key(7) == "d/007"
    assert len(keys) == 200
    with pytest.raises(KeyError) as caught:
        dataset.find("d/7")
    assert isinstance(caught.value, stoker.MissingField)
    assert "d/7" in str(caught.value)


def test_what_a_dataset_knows_without_reading_samples(dataset):
    assert dataset.fields == ("bin", "cls")
    assert dataset.classes == ()
    ((name, first),) = dataset.shards
    assert (os.path.basename(name), first) == ("a.tar", 0)
    assert len(dataset.fingerprint) == 32
    assert dataset.fingerprint == stoker.open(dataset._arguments["where"]).fingerprint
    assert "200 samples" in repr(dataset)
    name, field, offset, size, source = dataset.members(2)[0]
    assert (name, field, size) == ("d/002.bin", "bin", 14)
    with open(source, "rb") as file:
        file.seek(offset)
        assert file.read(size) == sample(2)["bin"]


def test_names_of_fields_are_shared_objects(dataset):
    one, other = dataset[0], next(iter(dataset))
    for a, b in zip(one, other, strict=True):
        assert a is b


def test_large_and_small_samples_come_in_order(tmp_path):
    sizes = [3, 5000, 0, 70000, 100, 4096, 4097, 1 << 20, 7] * 40
    path = save(
        tmp_path / "a.tar",
        b"".join(mem(b"%04d.bin" % i, bytes([i % 251]) * n) for i, n in enumerate(sizes)) + EOA,
    )
    for i, got in enumerate(stoker.open(path)):
        assert got["bin"] == bytes([i % 251]) * sizes[i]
    assert i == len(sizes) - 1


def test_a_folder_tree_has_classes(tmp_path):
    for name in ("zebra", "ant", "bee"):
        (tmp_path / name).mkdir()
        for i in range(3):
            (tmp_path / name / f"{i}.jpg").write_bytes(jpg(pic()))
    (tmp_path / "bee" / "1.json").write_bytes(b"{}")
    dataset = stoker.open(tmp_path)
    assert dataset.classes == ("ant", "bee", "zebra")
    assert len(dataset) == 9
    assert [each["cls"] for each in dataset] == [b"0"] * 3 + [b"1"] * 3 + [b"2"] * 3
    assert dataset[4]["json"] == b"{}"
    with stoker.Loader(tmp_path, label=stoker.Label("cls"), batch_size=9) as loader:
        assert next(iter(loader)).label.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_keys_that_are_no_utf8_survive(tmp_path):
    path = save(tmp_path / "a.tar", mem(b"caf\xe9.txt", b"t") + EOA)
    dataset = stoker.open(path)
    key = dataset[0]["__key__"]
    assert key == "caf\udce9"
    assert os.fsencode(key) == b"caf\xe9"
    assert dataset.find(key) == 0
    assert dataset.find(b"caf\xe9") == 0
    with stoker.Loader(path, key=stoker.Key()) as loader:
        assert next(iter(loader)).key == [key]


def test_patterns_lists_and_paths(tmp_path):
    for i in range(8, 12):
        save(tmp_path / f"s-{i:03d}.tar", mem(b"k%d.cls" % i, b"%d" % i) + EOA)
    want = [b"8", b"9", b"10", b"11"]
    for where in (
        f"{tmp_path}/s-{{008..011}}.tar",
        f"{tmp_path}/s-*.tar",
        [f"{tmp_path}/s-008.tar", f"{tmp_path}/s-{{009,010,011}}.tar"],
        (tmp_path / f"s-{i:03d}.tar" for i in range(8, 12)),
        tmp_path,
    ):
        assert [each["cls"] for each in stoker.open(where)] == want


@pytest.mark.parametrize(
    ("where", "kind", "says"),
    [
        ([], ValueError, "where is empty"),
        ("", ValueError, "where is empty"),
        (3, TypeError, "where is 3; it must be a str or a path"),
        ([3], TypeError, "where is 3"),
        (b"x.tar", TypeError, "where is bytes"),
        ("s-{0..9.tar", ValueError, "s-{0..9.tar"),
        ("/nowhere/*.tar", OSError, "/nowhere/*.tar"),
        ("/nowhere/a.tar", FileNotFoundError, "/nowhere/a.tar"),
    ],
)
def test_senseless_places_are_named(where, kind, says):
    with pytest.raises(kind) as caught:
        stoker.open(where)
    assert says in str(caught.value)


def test_index_modes(shard):
    with pytest.raises(ValueError, match="index is 'always'"):
        stoker.open(shard, index="always")
    assert len(stoker.open(shard, index="memory")) == 200
    assert not os.path.exists(shard + ".stoker")
    with pytest.raises(stoker.IndexMismatch):
        stoker.open(shard, index="require")
    stoker.open(shard)
    assert os.path.exists(shard + ".stoker")
    assert len(stoker.open(shard, index="require")) == 200
    shorten(shard, 100 * 1024)
    with pytest.raises(stoker.IndexMismatch):
        stoker.open(shard, index="require")
    assert len(stoker.open(shard, index="rebuild")) < 200


def test_case_is_kept_when_asked(tmp_path):
    path = save(tmp_path / "a.tar", mem(b"a.JPG") + mem(b"a.Seg.PNG") + EOA)
    assert stoker.open(path).fields == ("jpg", "seg.png")
    assert stoker.open(path, keep_case=True, index="memory").fields == ("JPG", "Seg.PNG")


def test_pickled_by_its_arguments(dataset):
    raw = pickle.dumps(dataset[20:30])
    assert len(raw) < 2000
    twin = pickle.loads(raw)
    assert list(twin) == list(dataset[20:30])
    assert list(copy.copy(dataset)) == list(dataset)


def test_a_pickled_dataset_that_changed_is_refused(shard, dataset):
    raw = pickle.dumps(dataset)
    shorten(shard, 2048)
    with pytest.raises(stoker.StateMismatch, match=dataset.fingerprint):
        pickle.loads(raw)


def test_a_shard_that_vanishes_is_an_error_with_its_name(shard):
    dataset = stoker.open(shard)
    os.truncate(shard, 60_000)
    with pytest.raises(stoker.Error) as caught:
        dataset[199]
    assert isinstance(caught.value, stoker.CorruptSample)
    assert "a.tar" in str(caught.value)
    assert caught.value.key == "d/199"
    assert dataset[0]["cls"] == b"0"


def test_a_failed_sample_does_not_end_a_pass(shard):
    dataset = stoker.open(shard)
    os.truncate(shard, 60_000)
    iterator, got, lost = iter(dataset), 0, 0
    while True:
        try:
            next(iterator)
            got += 1
        except StopIteration:
            break
        except stoker.Error:
            lost += 1
    assert got > 10
    assert lost > 10
    assert got + lost == 200


@pytest.mark.torch
@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_in_the_stock_dataloader_with_workers(dataset, context):
    data = pytest.importorskip("torch.utils.data")
    loader = data.DataLoader(
        dataset, batch_size=32, num_workers=2, multiprocessing_context=context, collate_fn=list
    )
    got = [each for batch in loader for each in batch]
    assert got == list(dataset)


def test_works_in_a_forked_child(dataset):
    dataset[0]
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if dataset[199]["cls"] == b"199" and len(list(dataset)) == 200 else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert dataset[199]["cls"] == b"199"


def test_threads_read_one_dataset(dataset):
    import threading

    failures = []

    def work(seed):
        order = np.random.default_rng(seed).permutation(200)
        for i in order.tolist():
            if dataset[i]["cls"] != b"%d" % i:
                failures.append(i)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []


def test_an_iterator_outlives_the_name_of_its_dataset(shard):
    iterator = iter(stoker.open(shard))
    assert next(iterator)["cls"] == b"0"
    assert len(list(iterator)) == 199


def test_ctrl_c_ends_a_long_pass(tmp_path):
    path = save(
        tmp_path / "a.tar", b"".join(mem(b"%05d.cls" % i, b"1") for i in range(20000)) + EOA
    )
    script = f"""
import os, signal, threading, stoker
ds = stoker.open({path!r})
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    while True:
        for sample in ds:
            pass
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=240
    )
    assert done.stdout == "interrupted\n", done.stderr
