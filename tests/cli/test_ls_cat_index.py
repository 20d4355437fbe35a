"""Without these: a dataset is listed wrongly, or a program that reads the listing breaks."""

import subprocess

import pytest


@pytest.fixture
def shard(stoker, tar, jpeg):
    (stoker.folder / "s.tar").write_bytes(
        tar.archive([(b"x/a.jpg", jpeg), (b"x/a.cls", b"3"), (b"x/b.seg.PNG", b"\0\xff" * 300)])
    )
    return stoker.folder / "s.tar"


def test_ls_lists_samples_with_their_fields(stoker, shard):
    assert stoker("ls", "s.tar").stdout == "x/a     jpg cls\nx/b     seg.png\n"
    assert stoker("ls", "s.tar", "-n1").stdout == "x/a     jpg cls\n"


def test_ls_long_tells_sizes_offsets_and_labels(stoker, shard, jpeg):
    second = 512 + -(-len(jpeg) // 512) * 512 + 512
    assert stoker("ls", "-l", "s.tar").stdout == (
        "    index  sample  field          bytes         offset   label  shard\n"
        f"        0  x/a     jpg     {len(jpeg):12,} {512:14,}       3  s.tar\n"
        f"        0  x/a     cls     {1:12,} {second:14,}       3  s.tar\n"
        f"        1  x/b     seg.png {600:12,} {second + 1024:14,}       -  s.tar\n"
    )


def test_ls_members_are_as_stored(stoker, shard):
    assert stoker("ls", "--members", "s.tar").stdout == "x/a.jpg\nx/a.cls\nx/b.seg.PNG\n"


def test_ls_fields_sums_up(stoker, shard, jpeg):
    lines = stoker("ls", "--fields", "s.tar").stdout.splitlines()
    assert lines[0].split() == ["field", "samples", "bytes", "mean", "largest"]
    assert lines[2].split() == ["cls", "1", "1", "B", "1", "B", "1", "B"]
    assert stoker.json("ls", "--fields", "s.tar")["fields"][2] == {
        "field": "seg.png",
        "samples": 1,
        "bytes": 600,
        "largest": 600,
    }


def test_ls_json_has_it_all(stoker, shard, jpeg):
    found = stoker.json("ls", "-l", "s.tar")
    assert found["samples"] == 2
    assert found["shards"] == [{"name": "s.tar", "first": 0}]
    assert found["list"][0] == {
        "index": 0,
        "key": "x/a",
        "shard": 0,
        "label": 3,
        "fields": [
            {
                "field": "jpg",
                "name": "x/a.jpg",
                "bytes": len(jpeg),
                "offset": 512,
                "source": "s.tar",
            },
            {
                "field": "cls",
                "name": "x/a.cls",
                "bytes": 1,
                "offset": 1024 + -(-len(jpeg) // 512) * 512,
                "source": "s.tar",
            },
        ],
    }


def test_ls_of_a_tree_gives_class_folders_as_labels(stoker, photos):
    found = stoker.json("ls", photos)
    assert found["classes"] == [{"name": "cats"}, {"name": "dogs"}]
    assert [s["label"] for s in found["list"]] == [0, 0, 0, 1, 1]
    assert "cats/b      jpg cls\n" in stoker("ls", photos).stdout


@pytest.mark.parametrize(
    ("name", "text", "exact"),
    [
        (b'q"\\\t\x01\x7f', 'q"\\\t\x01\x7f', None),
        ("\u2028\U0001f600é".encode(), "\u2028\U0001f600é", None),
        (b"\xed\xa0\x80x", "\ufffd\ufffd\ufffdx", "7aCAeA=="),  # a lone surrogate
        (b"\xc0\xafx", "\ufffd\ufffdx", "wK94"),  # an overlong slash
        (b"x\xf0\x9f\x98", "x\ufffd\ufffd\ufffd", "ePCfmA=="),  # cut
        (b"\xf4\x90\x80\x80", "\ufffd" * 4, "9JCAgA=="),  # beyond Unicode
    ],
)
def test_any_name_makes_valid_json(stoker, tar, name, text, exact):
    (stoker.folder / "n.tar").write_bytes(tar.archive([(name + b".bin", b"1")]))
    (sample,) = stoker.json("ls", "n.tar")["list"]
    assert sample["key"] == text
    assert sample.get("key_base64") == exact


def test_names_cannot_forge_lines_or_move_the_cursor(stoker, tar):
    name = b"\x1b[2Ja\r\nb\xe2\x80\xae\xc2\x9b"
    (stoker.folder / "n.tar").write_bytes(tar.archive([(name + b".bin", b"1")]))
    assert stoker("ls", "n.tar").stdout == ("\\x1b[2Ja\\x0d\\x0ab\\xe2\\x80\\xae\\xc2\\x9b  bin\n")


def test_cat_gives_the_exact_bytes(stoker, shard, jpeg):
    assert stoker("cat", "s.tar", "x/a", "jpg", text=False).stdout == jpeg
    assert stoker("cat", "s.tar", "--index", 1, text=False).stdout == b"\0\xff" * 300
    assert stoker("cat", "s.tar", "-i1", "seg.png", text=False).stdout == b"\0\xff" * 300


def test_cat_gives_the_label_of_a_class_folder(stoker, photos):
    assert stoker("cat", photos, "dogs/a", "cls").stdout == "1"


@pytest.mark.parametrize(
    ("args", "code", "text"),
    [
        (["x/a"], 2, "which field? The sample has jpg, cls (sample x/a)"),
        (["x/a", "png"], 1, "the sample has no field png; it has jpg, cls (sample x/a)"),
        (["x/q"], 1, "x/q"),
        (["--index", "2"], 1, "2"),
        (["--index", "-1"], 2, "it must be a number"),
        ([], 2, "give WHERE, KEY or --index"),
    ],
)
def test_cat_says_what_is_not_there(stoker, shard, args, code, text):
    done = stoker("cat", "s.tar", *args, code=code)
    assert text in done.stderr
    assert done.stdout == ""


def test_index_is_made_checked_and_renewed(stoker, shard):
    stoker("index", "s.tar", "--check", code=1)
    assert not (stoker.folder / "s.tar.stoker").exists()
    assert stoker("index", "s.tar").stdout == "s.tar: 2 samples in 1 shard, index up to date\n"
    assert (stoker.folder / "s.tar.stoker").exists()
    stoker("index", "s.tar", "--check")
    data = shard.read_bytes()
    shard.write_bytes(data[:-1024] + b"\0" * 4096)
    done = stoker("index", "s.tar", "--check", code=1)
    assert "stoker index --force" in done.stderr
    stoker("index", "s.tar", "--force", "-q")
    stoker("index", "s.tar", "--check")


def test_index_of_several_goes_on_after_a_failure(stoker, shard, photos):
    found = stoker.json("index", "gone.tar", "s.tar", photos, code=1)
    assert [("error" in d, d.get("samples")) for d in found["datasets"]] == [
        (True, None),
        (False, 2),
        (False, 5),
    ]
    assert found["up_to_date"] is False
    assert len(found["datasets"][1]["fingerprint"]) == 32


def test_index_that_cannot_be_kept_is_a_failure(stoker, shard, powerless):
    read_only = stoker.folder / "ro"
    read_only.mkdir()
    (read_only / "s.tar").write_bytes(shard.read_bytes())
    command = powerless([stoker.binary, "index", "ro/s.tar"])
    read_only.chmod(0o555)
    env = stoker.env | {"HOME": "/proc/none", "XDG_CACHE_HOME": "/proc/none"}
    done = subprocess.run(command, cwd=stoker.folder, env=env, capture_output=True, text=True)
    read_only.chmod(0o755)
    assert done.returncode == 3
    assert "the index could not be kept anywhere (ro/s.tar" in done.stderr


@pytest.mark.parametrize("command", ["ls", "verify", "index", "bench", "plan"])
def test_a_missing_dataset_is_one_error_with_its_name(stoker, command):
    done = stoker(command, "gone/none.tar", code=1)
    assert done.stderr.startswith("stoker: ")
    assert "gone/none.tar" in done.stderr.splitlines()[0]
    assert "gone/none.tar" in stoker.json(command, "gone/none.tar", code=1).__repr__()
