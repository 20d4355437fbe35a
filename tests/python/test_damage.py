"""Without these: a damaged sample ends a run, or data is lost and nothing says so."""

import errno
import json
import resource
import signal
import subprocess
import sys

import pytest
import stoker
from kit import EOA, flat, jpg, mem, numbered_picture, save
from stoker import Image, Label

BAD = (3, 4, 11, 17)


@pytest.fixture(scope="module")
def shard(tmp_path_factory):
    members = b""
    for i in range(20):
        data = jpg(numbered_picture(i))
        members += mem(b"%02d.jpg" % i, data[:150] if i in BAD else data)
        members += mem(b"%02d.cls" % i, b"%d" % i)
    return save(tmp_path_factory.mktemp("damage") / "dirty.tar", members + EOA)


def open_loader(shard, **options):
    options = {"batch_size": 4, **options}
    return stoker.Loader(shard, image=Image("jpg"), label=Label("cls"), **options)


def labels(loader):
    return [batch.label.tolist() for batch in loader]


def test_raise_names_sample_shard_field_offset_and_stage(shard):
    with open_loader(shard) as loader:
        with pytest.raises(stoker.CorruptSample) as caught:
            next(iter(loader))
        error = caught.value
        assert (error.key, error.sample) == ("03", 3)
        assert error.field in ("jpg", "image")  # of the sample, or of the batch that it was for
        assert "dirty.tar" in error.shard
        assert error.source.endswith("dirty.tar")
        assert error.stage == "decode"
        member = next(m for m in loader.dataset.members(3) if m[1] == "jpg")
        assert member[2] <= error.offset <= member[2] + member[3]
        first, cure = str(error).split("\n")
        assert "03" in first
        assert 'on_error="skip"' in cure
        assert "stoker verify" in cure
        assert loader.damage == []
        assert loader.position == 0


def test_after_raise_the_loader_is_where_it_was(shard):
    with open_loader(shard) as loader:
        for _ in range(3):
            with pytest.raises(stoker.CorruptSample, match="sample 03"):
                next(iter(loader))
        state = loader.state_dict()
    with open_loader(shard, on_error="skip") as loader:
        loader.load_state_dict(state)
        assert len(flat(labels(loader))) == 16


@pytest.mark.parametrize("threads", [0, 1, 4])
@pytest.mark.parametrize("shuffle", [False, True])
def test_skip_hands_out_all_others_once(shard, shuffle, threads):
    with open_loader(shard, on_error="skip", shuffle=shuffle, threads=threads) as loader:
        for epoch in range(3):
            got = labels(loader)
            assert sorted(flat(got)) == [i for i in range(20) if i not in BAD]
            assert sorted({each.sample for each in loader.damage if each.epoch == epoch}) == list(
                BAD
            )


@pytest.mark.parametrize("policy", ["skip", "replace"])
def test_threads_change_nothing(shard, policy):
    runs = []
    for threads in (0, 1, 4):
        with open_loader(shard, on_error=policy, shuffle=True, seed=9, threads=threads) as loader:
            runs.append(([labels(loader) for _ in range(3)], loader.damage))
    assert runs[0] == runs[1] == runs[2]


def test_replace_keeps_every_row_and_names_the_substitute(shard):
    with open_loader(shard, on_error="replace", shuffle=True, seed=4) as loader:
        order = loader.order(0).tolist()
        got = flat(labels(loader))
        substitutes = {each.sample: each.substitute for each in loader.damage}
        assert set(substitutes) == set(BAD)
        assert not set(substitutes.values()) & set(BAD)
        assert got == [substitutes.get(sample, sample) for sample in order]


def test_replace_is_the_same_for_all_ranks_and_after_a_restart(shard):
    def run(rank, ranks, state=None):
        with open_loader(
            shard,
            on_error="replace",
            shuffle=True,
            seed=4,
            batch_size=4 // ranks,
            rank=rank,
            world_size=ranks,
        ) as loader:
            if state:
                loader.load_state_dict(state)
            return labels(loader)

    whole = run(0, 1)
    assert [a + b for a, b in zip(run(0, 2), run(1, 2), strict=True)] == whole
    with open_loader(shard, on_error="replace", shuffle=True, seed=4) as loader:
        next(iter(loader))
        state = loader.state_dict()
    assert run(0, 1, state) == whole[1:]


def test_max_errors_is_a_budget_over_the_run(shard):
    with open_loader(shard, on_error="skip", max_errors=2) as loader:
        with pytest.raises(stoker.BudgetExceeded) as caught:
            labels(loader)
        assert "max_errors is 2" in str(caught.value)
        assert [each.sample for each in loader.damage] == [3, 4, 11]
        with pytest.raises(stoker.BudgetExceeded):
            next(iter(loader))
    with open_loader(shard, on_error="skip", max_errors=4) as loader:
        assert len(flat(labels(loader))) == 16


def test_max_error_rate_is_a_share_of_the_epoch(tmp_path):
    bad = set(range(0, 300, 10))
    path = save(
        tmp_path / "a.tar",
        b"".join(mem(b"%03d.cls" % i, b"x" if i in bad else b"1") for i in range(300)) + EOA,
    )

    def run(rate):
        with stoker.Loader(
            path, label=Label("cls"), batch_size=10, on_error="skip", max_error_rate=rate
        ) as loader:
            return sum(batch.rows for batch in loader)

    assert run(0.2) == 270
    with pytest.raises(stoker.BudgetExceeded, match=r"max_error_rate is 0\.05"):
        run(0.05)


@pytest.mark.parametrize("policy", ["skip", "replace"])
def test_an_epoch_of_nothing_but_damage_is_an_error(tmp_path, policy):
    path = save(tmp_path / "a.tar", b"".join(mem(b"%d.cls" % i, b"x") for i in range(9)) + EOA)
    with (
        stoker.Loader(path, label=Label("cls"), batch_size=4, on_error=policy) as loader,
        pytest.raises(stoker.Error),
    ):
        labels(loader)


def test_the_account_is_saved_and_heeded(shard, tmp_path):
    with open_loader(shard, on_error="skip") as loader:
        labels(loader)
        account = loader.damage
        loader.save_damage(tmp_path / "damage.json")
        raw = json.loads((tmp_path / "damage.json").read_text())
        assert raw["fingerprint"] == loader.dataset.fingerprint
        assert [each["key"] for each in raw["damage"]] == ["03", "04", "11", "17"]
    assert [path.name for path in tmp_path.iterdir()] == ["damage.json"]
    for known in (tmp_path / "damage.json", account, [dict(each) for each in account], BAD):
        with open_loader(shard, known_damage=known) as loader:  # on_error="raise" all the same
            assert sorted(flat(labels(loader))) == [i for i in range(20) if i not in BAD]


def test_known_damage_is_never_touched(shard, tmp_path):
    with open_loader(shard, known_damage=[*BAD, 0]) as loader:
        assert sorted(flat(labels(loader))) == [i for i in range(1, 20) if i not in BAD]
        assert 0 in {each.sample for each in loader.damage}


def test_the_account_of_another_dataset_is_refused(shard, numbered_shards, tmp_path):
    with open_loader(shard, on_error="skip") as loader:
        labels(loader)
        account = loader.damage
        loader.save_damage(tmp_path / "damage.json")
    for known in (tmp_path / "damage.json", account):
        with pytest.raises(stoker.StateMismatch):
            stoker.Loader(numbered_shards(20), label=Label("cls"), known_damage=known)
    (tmp_path / "damage.json").write_text("[]")
    with pytest.raises(ValueError, match="no account of damage"):
        open_loader(shard, known_damage=tmp_path / "damage.json")


def test_a_loss_is_a_value_and_a_mapping(shard):
    with open_loader(shard, on_error="skip") as loader:
        labels(loader)
        loss = loader.damage[0]
        assert loss == loader.damage[0]
        assert loss["key"] == loss.key == "03"
        assert dict(loss)["status"] == "STK_ECORRUPT"
        assert set(loss) == set(dict(loss))
        assert len(loss) == 12
        assert loss.text
        with pytest.raises(KeyError):
            loss["other"]


def test_equal_steps_on_every_rank_whatever_is_damaged(shard):
    rows = []
    for rank in range(3):
        with open_loader(
            shard, on_error="skip", batch_size=2, rank=rank, world_size=3, allow_empty=True
        ) as loader:
            got = labels(loader)
            assert len(got) == len(loader)
            rows.append(flat(got))
    assert sorted(flat(rows)) == [i for i in range(20) if i not in BAD]


def test_a_state_after_a_skip_goes_on_exactly(shard):
    with open_loader(shard, on_error="skip", shuffle=True, seed=2) as loader:
        whole = labels(loader)
    for taken in range(len(whole)):
        with open_loader(shard, on_error="skip", shuffle=True, seed=2) as loader:
            for _ in zip(range(taken), loader, strict=False):
                pass
            state = loader.state_dict()
        with open_loader(shard, on_error="skip", shuffle=True, seed=2) as loader:
            loader.load_state_dict(state)
            assert labels(loader) == whole[taken:]


def test_mixed_sizes_without_a_resize_are_a_shape_error(tmp_path):
    path = save(
        tmp_path / "a.tar",
        b"".join(mem(b"%d.jpg" % i, jpg(numbered_picture(i, 40 + i // 2))) for i in range(4)) + EOA,
    )
    with stoker.Loader(path, image=Image("jpg"), batch_size=4) as loader:
        with pytest.raises(stoker.ShapeError) as caught:
            next(iter(loader))
        assert caught.value.key == "2"
        assert "Resize" in str(caught.value)


def test_a_file_that_vanishes_is_a_loss_like_any_other(tmp_path):
    for i in range(6):
        (tmp_path / f"{i}.jpg").write_bytes(jpg(numbered_picture(i)))
    dataset = stoker.open(tmp_path)
    (tmp_path / "2.jpg").unlink()
    with pytest.raises(FileNotFoundError) as caught:
        dataset[2]
    assert (caught.value.key, caught.value.sample) == ("2", 2)
    with stoker.Loader(dataset, image=Image("jpg"), batch_size=2) as loader:
        iterator = iter(loader)
        next(iterator)
        with pytest.raises(stoker.SourceNotFound) as caught:
            next(iterator)
        assert caught.value.key == "2"
        assert caught.value.source.endswith("2.jpg")
    with stoker.Loader(dataset, image=Image("jpg"), batch_size=2, on_error="skip") as loader:
        assert sum(batch.rows for batch in loader) == 5
        assert [each.status for each in loader.damage] == ["STK_ESOURCE"]


SAVE_AND_DIE = """
import resource, signal, sys
import stoker

signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
with stoker.Loader(sys.argv[1], label=stoker.Label("cls"), batch_size=4) as loader:
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, resource.RLIM_INFINITY))
    loader.save_damage(sys.argv[2])
"""


def test_a_process_that_is_killed_while_it_saves_leaves_the_old_account(shard, tmp_path):
    path = tmp_path / "damage.json"
    path.write_text("old")
    # A file limit that nobody handles ends it in the middle of the file, as kill -9 would.
    ended = subprocess.run([sys.executable, "-c", SAVE_AND_DIE, shard, path], check=False)
    assert ended.returncode == -signal.SIGXFSZ
    assert path.read_text() == "old"
    with open_loader(shard) as loader:
        loader.save_damage(path)
    assert json.loads(path.read_text())["samples"] == 20
    assert [each.name for each in tmp_path.iterdir()] == ["damage.json"]


def test_an_account_that_cannot_be_saved_says_so_and_leaves_the_old_one(shard, tmp_path):
    path = tmp_path / "damage.json"
    path.write_text("old")
    with open_loader(shard) as loader:
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20, limits[1]))  # Python ignores the signal
        try:
            with pytest.raises(stoker.SourceError, match="could not write the file") as caught:
                loader.save_damage(path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert caught.value.errno == errno.EFBIG
        assert caught.value.filename == str(path)
        assert caught.value.stage == "write"
        with pytest.raises(FileNotFoundError):
            loader.save_damage(tmp_path / "gone" / "damage.json")
        with pytest.raises(OSError, match="no space left") as caught:
            loader.save_damage("/dev/full")
        assert "Make room" in str(caught.value)
        with pytest.raises(ValueError, match="null"):
            loader.save_damage("a\0b")
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["damage.json"]


def test_an_account_is_saved_behind_a_link(shard, tmp_path):
    (tmp_path / "link").symlink_to("damage.json")
    with open_loader(shard) as loader:
        loader.save_damage(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert json.loads((tmp_path / "damage.json").read_text())["samples"] == 20
