"""Without these: a folder that ImageFolder reads gives other samples here, or none at all."""

import os
import shutil
import subprocess
import sys

import pytest
import stoker
from kit import flat, jpg, numbered_picture
from stoker import Image, Label

NAMES = (
    "cat/2020.01.01.jpg",
    "cat/2020.01.02.jpg",
    "cat/cat.0.jpg",
    "cat/cat.1.jpg",
    "cat/cat.10.jpg",
    "cat/photo-1.jpg",
    "cat/photo.jpg",
    "cat/photo.final.jpg",
    "dog/street_jpg.rf.0a1b2c3d.jpg",
    "dog/v1.2/1.5_x.jpg",
    "dog/x..jpg",
)


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "tree"
    for number, name in enumerate(NAMES):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(jpg(numbered_picture(number)))
    return root


@pytest.mark.torch
def test_dots_of_names_are_those_of_imagefolder(tree):
    folder = pytest.importorskip("torchvision.datasets").ImageFolder(tree)
    dataset = stoker.open(tree)
    assert dataset.fields == ("jpg",)
    assert [dataset.members(i)[0][4] for i in range(len(dataset))] == [p for p, _ in folder.imgs]
    with stoker.Loader(dataset, label=Label("cls"), batch_size=4) as loader:
        assert flat(batch.label.tolist() for batch in loader) == folder.targets


def test_side_files_stay_with_their_picture(tree):
    for name in ("cat/2020.01.01.json", "cat/2020.01.01.seg.png", "cat/photo.jpg.json"):
        (tree / name).write_bytes(b"{}")
    dataset = stoker.open(tree)
    assert len(dataset) == len(NAMES)
    fields = {dataset.key(i): [m[1] for m in dataset.members(i)] for i in range(len(dataset))}
    assert fields["cat/2020.01.01"] == ["jpg", "json", "seg.png"]
    assert fields["cat/photo"] == ["jpg", "jpg.json"]
    assert fields["cat/2020.01.02"] == ["jpg"]


def labels(where, **options):
    with stoker.Loader(
        where, image=Image("jpg"), label=Label("cls"), batch_size=4, **options
    ) as loader:
        return flat(batch.label.tolist() for batch in loader), loader.damage


def test_a_dangling_link_is_one_damaged_sample(tree):
    (tree / "dog" / "link.jpg").symlink_to("gone.jpg")
    dataset = stoker.open(tree)
    assert len(dataset) == len(NAMES) + 1
    assert any("link.jpg leads to no file" in text for _, _, text in dataset.notes)
    with pytest.raises(FileNotFoundError, match="link") as caught:
        labels(tree)
    assert caught.value.filename == str(tree / "dog" / "link.jpg")
    rest, damage = labels(tree, on_error="skip")
    assert sorted(rest) == [0] * 8 + [1] * 3
    assert [each["key"] for each in damage] == ["dog/link"]
    replaced, damage = labels(tree, on_error="replace")
    assert len(replaced) == len(NAMES) + 1
    assert [each["key"] for each in damage] == ["dog/link"]


# What root may read all the same is refused to a process without its capabilities.
POWERLESS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
needs_permissions = pytest.mark.skipif(
    bool(POWERLESS) and shutil.which(POWERLESS[0]) is None, reason="root reads everything"
)


def powerless(code, tree):
    """The lines that the program prints."""
    command = [*POWERLESS, sys.executable, "-c", code, tree]
    return subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True
    ).stdout.splitlines()


@pytest.fixture
def locked(tree):
    """A sub-folder of the tree that holds one file."""
    yield tree / "dog" / "v1.2"
    (tree / "dog" / "v1.2").chmod(0o755)


@needs_permissions
def test_a_sub_folder_that_may_not_be_read_is_named_with_its_cure(tree, locked):
    code = (
        "import stoker, sys\n"
        "try:\n    stoker.open(sys.argv[1])\n"
        "except PermissionError as error:\n    print(error.filename, error.cure, sep='|')\n"
        "print(len(stoker.open(sys.argv[1], skip_damaged_shards=True)))\n"
    )
    assert len(stoker.open(tree)) == len(NAMES)  # and there is an index of when it could be read
    locked.chmod(0)
    out = powerless(code, tree)
    path, _, cure = out[0].partition("|")
    assert path == str(locked)
    assert "chmod" in cure
    assert "stoker.open(..., skip_damaged_shards=True)" in cure
    assert int(out[1]) == len(NAMES) - 1


@needs_permissions
@pytest.mark.parametrize("mode", [0, 0o444], ids=["folder", "files"])
def test_what_can_be_read_again_is_there_again(tree, locked, mode, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    code = (
        "import stoker, sys; d = stoker.open(sys.argv[1], skip_damaged_shards=True); print(len(d))"
    )
    for path in (locked, *locked.parents[:2]):
        os.utime(path, (1e9, 1e9))  # no change of late, so that its time is trusted
    locked.chmod(mode)
    for _ in range(2):  # the second time there is an index
        assert powerless(code, tree) == [str(len(NAMES) - 1)]
    assert len(list((tmp_path / "cache").rglob("*.stoker"))) == 1
    locked.chmod(0o755)
    assert powerless(code, tree) == [str(len(NAMES))]
