"""Without these: an error says what is wrong, and its advice is wrong, misleading or missing."""

import os
import shlex
import shutil
import subprocess
import sys

import pytest
import stoker
from kit import EOA, mem, save
from stoker import Bytes, Label


def cure_of(kind, call):
    with pytest.raises(kind) as caught:
        call()
    return caught.value.cure


def test_a_shard_damaged_between_members_is_helped_at_opening(tmp_path):
    whole = mem(b"0.cls", b"0") + mem(b"1.cls", b"1")
    path = save(tmp_path / "cut here.tar", whole + mem(b"2.cls", b"2" * 900)[:700])
    for opens in (stoker.open, lambda p: stoker.Loader(p, label=Label("cls"), on_error="skip")):
        cure = cure_of(stoker.CorruptSample, lambda opens=opens: opens(path))
        assert "stoker.open(..., skip_damaged_shards=True)" in cure
        assert "on_error" not in cure
        assert cure.endswith(f"stoker verify {shlex.quote(str(path))}")
    with stoker.Loader(stoker.open(path, skip_damaged_shards=True), label=Label("cls")) as loader:
        assert [batch.label.tolist() for batch in loader] == [[0, 1]]  # the cure helps


def test_what_is_no_tar_is_helped_at_opening_too(tmp_path):
    good = save(tmp_path / "a.tar", mem(b"0.cls", b"0") + EOA)
    for data in (b"", b"no tar" * 200):
        path = save(tmp_path / "b.tar", data)
        cure = cure_of(stoker.CorruptSample, lambda path=path: stoker.open([good, path]))
        assert cure.startswith("To go on without this one: stoker.open(..., skip_damaged")
        assert len(stoker.open([good, path], skip_damaged_shards=True)) == 1
    path = save(tmp_path / "c.tar", b"\x1f\x8b\x08" + bytes(600))
    with pytest.raises(stoker.NotBuilt, match="gzip -d") as caught:
        stoker.open(path)
    assert caught.value.cure == ""  # no other build reads it, and it is not damaged
    path = save(tmp_path / "d.tar", mem(b"0.cls", b"0") + mem(b"1.cls", b"1", typ=b"S") + EOA)
    assert "skip_damaged_shards" in cure_of(stoker.NotBuilt, lambda: stoker.open(path))
    assert len(stoker.open(path, skip_damaged_shards=True)) == 1


def test_a_field_twice_in_one_sample_is_helped_at_opening(tmp_path):
    path = save(tmp_path / "a.tar", mem(b"0.cls", b"0") + mem(b"0.CLS", b"1") + EOA)
    cure = cure_of(stoker.MissingField, lambda: stoker.open(path))
    assert "skip_damaged_shards" in cure
    assert cure.endswith(f"stoker verify {shlex.quote(str(path))}")
    assert len(stoker.open(path, skip_damaged_shards=True)) == 1


def test_the_hint_to_verify_can_be_pasted(tmp_path):
    path = save(tmp_path / "it's damaged.tar", mem(b"0.cls", b"x") + EOA)
    with stoker.Loader(path, label=Label("cls")) as loader:
        cure = cure_of(stoker.CorruptSample, lambda: next(iter(loader)))
    words = shlex.split(cure[cure.index("stoker verify") :])
    assert words == ["stoker", "verify", str(path)]


def test_substitutes_that_were_tried_are_counted(tmp_path):
    path = save(tmp_path / "a.tar", b"".join(mem(b"%d.cls" % i, b"x") for i in range(9)) + EOA)
    with (
        stoker.Loader(path, label=Label("cls"), on_error="replace") as loader,
        pytest.raises(stoker.CorruptSample, match=r"^of \d+ other samples tried, none could") as e,
    ):
        next(iter(loader))
    assert 1 < int(e.value.text.split()[1]) <= 16
    assert e.value.text.endswith('not an integer: "x"')  # what is wrong with its own
    path = save(tmp_path / "b.tar", mem(b"0.cls", b"x") + EOA)
    with (
        stoker.Loader(path, label=Label("cls"), on_error="replace") as loader,
        pytest.raises(stoker.CorruptSample, match=r"^there was no other sample"),
    ):
        next(iter(loader))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"seed": 2**64}, f"it must be from 0 to {2**64 - 1}"),
        ({"shuffle_window": 2**31}, f"it must be from 1 to {2**31 - 1}"),
        ({"memory": 2**63}, f"it must be from {2**24} to {2**63 - 1}"),
        ({"max_errors": 2**64}, f"it must be from 0 to {2**64 - 1}"),
        ({"batch_size": 0}, f"it must be from 1 to {2**20}"),
    ],
)
def test_a_number_out_of_range_is_told_both_bounds(tmp_path, options, text):
    path = save(tmp_path / "a.tar", mem(b"0.cls", b"0") + EOA)
    (name,) = options
    with pytest.raises(ValueError, match=text) as caught:
        stoker.Loader(path, label=Label("cls"), **options)
    assert str(caught.value).startswith(f"{name} is {options[name]}")


@pytest.mark.parametrize("where", [None, 5])
def test_no_dataset_names_the_argument(where):
    for opens in (stoker.open, stoker.Loader):
        with pytest.raises(TypeError, match=f"^where is {where}; it must be a str or a path"):
            opens(where)


def test_an_empty_dataset_is_named(tmp_path):
    path = save(tmp_path / "empty.tar", EOA)
    for fields in ({}, {"label": Label("cls")}):
        with pytest.raises(ValueError, match=r"empty\.tar"):
            stoker.Loader(path, **fields)


@pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root reads everything"
)
def test_denied_missing_and_unmatched_are_three_things(tmp_path):
    path = save(tmp_path / "a.tar", mem(b"0.cls", b"0") + EOA)
    os.chmod(path, 0)
    code = (
        "import stoker, sys\n"
        "for name in sys.argv[1:]:\n"
        "    try:\n        stoker.open(name)\n"
        "    except OSError as error:\n        print(type(error).__name__, error.cure, sep='|')\n"
    )
    powerless = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    out = subprocess.run(
        [*powerless, sys.executable, "-c", code, path, tmp_path / "b.tar", f"{tmp_path}/*.zip"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    denied, missing, unmatched = (line.split("|") for line in out.splitlines())
    assert denied[0] == "SourceDenied"
    assert "chmod a+r" in denied[1]
    assert missing[0] == unmatched[0] == "SourceNotFound"
    assert missing[1].startswith("Check that the path exists")
    assert unmatched[1].startswith("Look at what is there with ls")


def test_a_pattern_for_too_many_names_is_told_to_use_a_glob():
    cure = cure_of(stoker.LimitExceeded, lambda: stoker.open("x-{0..99999999}.tar"))
    assert "* in place of the numbers" in cure


def test_a_fingerprint_that_is_none_is_shown(tmp_path):
    path = save(tmp_path / "a.tar", mem(b"0.cls", b"0") + EOA)
    with stoker.Loader(path, label=Label("cls")) as loader:
        state = loader.state_dict()
        for wrong in ("", "xyz", state["fingerprint"][:-1], f"+{state['fingerprint'][1:]}"):
            with pytest.raises(stoker.StateMismatch) as caught:
                loader.load_state_dict({**state, "fingerprint": wrong})
            assert f"fingerprint {wrong!r}" in str(caught.value)
            assert loader.dataset.fingerprint in str(caught.value)


def test_default_fields_of_mixed_pictures_say_which_option_helps(tmp_path):
    path = save(tmp_path / "a.tar", mem(b"0.jpg", b"J") + mem(b"1.png", b"P") + EOA)
    with stoker.Loader(path) as loader:
        cure = cure_of(stoker.MissingField, lambda: list(loader))
    assert '"jpg;png"' in cure
    with stoker.Loader(path, picture=Bytes("jpg;png")) as loader:
        assert next(iter(loader)).rows == 2


def test_an_unknown_key_is_told_where_keys_are_listed(tmp_path):
    dataset = stoker.open(save(tmp_path / "a.tar", mem(b"0.cls", b"0") + EOA))
    assert cure_of(stoker.MissingField, lambda: dataset.find("1")) == "stoker ls lists the keys."


def test_one_is_not_plural(tmp_path):
    for name in ("cat/1.jpg", "README.txt", "cat/noext"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    notes = [text for _, _, text in stoker.open(tmp_path).notes]
    assert any(text.startswith("1 file beside the class folders was left out") for text in notes)
    assert any(text.startswith("1 file without an extension was left out") for text in notes)
    path = save(tmp_path / "a.tar", mem(b"0.cls", b"0") + EOA)
    with pytest.raises(ValueError, match=r"1 sample is fewer than one batch of 2 on 1 rank$"):
        stoker.Loader(path, label=Label("cls"), batch_size=2, tail="drop")
