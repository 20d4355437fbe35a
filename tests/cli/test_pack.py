"""Without these: a pack that differs from run to run, loses files, or doubles keys."""

import hashlib
import os
import tarfile

import pytest


def members(path):
    with tarfile.open(path) as archive:
        return [(m.name, archive.extractfile(m).read()) for m in archive]


def digests(folder):
    return {
        p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.glob("*.tar"))
    }


def test_a_tree_becomes_samples_with_class_numbers(stoker, photos):
    done = stoker("pack", photos, "-o", "out/train-%06d.tar")
    shard = stoker.folder / "out/train-000000.tar"
    assert [name for name, _ in members(shard)] == [
        "cats/a.jpg",
        "cats/a.json",
        "cats/a.cls",
        "cats/b.jpg",
        "cats/b.cls",
        "cats/old/c.jpg",
        "cats/old/c.cls",
        "dogs/a.jpg",
        "dogs/a.cls",
        "dogs/d.jpg",
        "dogs/d.cls",
    ]
    content = dict(members(shard))
    assert content["cats/old/c.cls"] == b"0"
    assert content["dogs/d.cls"] == b"1"
    assert content["cats/b.jpg"] == (photos / "cats/b.jpg").read_bytes()
    assert (stoker.folder / "out/classes.txt").read_text() == "cats\ndogs\n"
    size = shard.stat().st_size
    assert done.stdout == (
        f"packed 5 samples in 11 files into 1 shard of {size / 1000:.1f} kB: "
        "out/train-000000.tar\n"
        "2 classes, named in classes.txt beside the shards\n"
        "left out 2 files: hidden, without extension, outside the classes or not of --ext\n"
    )
    assert done.stderr == ""


def test_the_index_is_beside_the_shard_and_fits_it(stoker, photos):
    stoker("pack", photos, "-o", "a.tar")
    assert (stoker.folder / "a.tar.stoker").exists()
    stoker("index", "a.tar", "--check")
    stoker("pack", photos, "-o", "b.tar", "--no-index")
    assert not (stoker.folder / "b.tar.stoker").exists()
    assert members(stoker.folder / "b.tar") == members(stoker.folder / "a.tar")


@pytest.mark.parametrize("nested", ["cats/a-b/x.jpg", "cats/a/x.jpg", "cats-2/y.jpg", "empty"])
def test_a_folder_and_its_shards_hold_the_same_samples_in_the_same_order(stoker, photos, nested):
    if nested == "empty":
        (photos / "bears").mkdir()  # a class without files keeps its number
    else:
        (photos / nested).parent.mkdir(exist_ok=True)
        (photos / nested).write_bytes(b"x")
    (photos / "cats/a-1.jpg").write_bytes(b"x")
    stoker("pack", photos, "-o", "s-%d.tar", "--shard-samples", 2)
    assert stoker("ls", "s-*.tar").stdout == stoker("ls", photos).stdout
    labels = [s["label"] for s in stoker.json("ls", photos)["list"]]
    assert [s["label"] for s in stoker.json("ls", "-l", "s-*.tar")["list"]] == labels


def test_shards_do_not_depend_on_the_number_of_threads(stoker, many):
    for threads in (1, 2, 7):
        stoker("pack", many, "-o", f"t{threads}/%d.tar", "--shard-samples", 13, "-t", threads)
    one = digests(stoker.folder / "t1")
    assert len(one) == 16
    assert digests(stoker.folder / "t2") == one
    assert digests(stoker.folder / "t7") == one


def test_shards_do_not_depend_on_times_and_owners(stoker, many):
    stoker("pack", many, "-o", "a/%d.tar")
    for path in many.iterdir():
        os.utime(path, (1, 1))
        path.chmod(0o600)
    stoker("pack", many, "-o", "b/%d.tar")
    assert digests(stoker.folder / "a") == digests(stoker.folder / "b")


def test_count_deals_evenly_and_size_is_a_bound(stoker, many):
    shards = stoker.json("pack", many, "-o", "c-%d.tar", "--shard-count", 7)["shards"]
    assert sorted(s["samples"] for s in shards) == [28, 28, 28, 29, 29, 29, 29]
    shards = stoker.json("pack", many, "-o", "s-%02d.tar", "--shard-size", "64kB")["shards"]
    assert sum(s["samples"] for s in shards) == 200
    for shard in shards:
        assert shard["bytes"] == (stoker.folder / shard["path"]).stat().st_size <= 64000
    assert all(s["bytes"] > 60000 for s in shards[:-1])


def test_a_sample_larger_than_a_shard_has_one_of_its_own(stoker, many):
    (many / "0100.bin").write_bytes(b"x" * 100_000)
    shards = stoker.json("pack", many, "-o", "s-%02d.tar", "--shard-size", "64kB")["shards"]
    assert [s["samples"] for s in shards if s["bytes"] > 64000] == [1]


def test_shuffle_is_fixed_by_the_seed_and_loses_nothing(stoker, many):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        stoker("pack", many, "-o", f"{name}/%d.tar", "--shuffle", "--seed", seed)
    assert digests(stoker.folder / "a") == digests(stoker.folder / "b")
    assert digests(stoker.folder / "a") != digests(stoker.folder / "c")
    names = [name for name, _ in members(stoker.folder / "c/0.tar")]
    assert sorted(names) == [f"{i:04}.bin" for i in range(200)]
    assert names != sorted(names)


def test_a_list_keeps_its_order_and_begins_where_it_stands(stoker, photos):
    (photos / "some.txt").write_bytes(b"dogs/a.jpg\r\ncats/a.jpg\n\n./cats/a.json\n")
    stoker("pack", photos / "some.txt", "-o", "l.tar")
    assert [n for n, _ in members(stoker.folder / "l.tar")] == [
        "dogs/a.jpg",
        "cats/a.jpg",
        "cats/a.json",
    ]


def test_a_list_comes_from_standard_input(stoker, photos):
    stoker("pack", "-", "-o", "l.tar", input=b"photos/dogs/d.jpg\nphotos/dogs/a.jpg")
    assert [n for n, _ in members(stoker.folder / "l.tar")] == [
        "photos/dogs/d.jpg",
        "photos/dogs/a.jpg",
    ]


def test_ext_chooses_samples_and_takes_side_files_along(stoker, photos):
    (photos / "cats/z.txt").write_text("alone")
    stoker("pack", photos, "-o", "e.tar", "--ext", "json,png")
    assert [n for n, _ in members(stoker.folder / "e.tar")] == [
        "cats/a.jpg",
        "cats/a.json",
        "cats/a.cls",
    ]


def test_split_last_makes_keys_of_names_with_dots(stoker, tmp_path):
    (tmp_path / "in").mkdir()
    for name in ("p.2020.01.jpg", "p.2020.02.jpg", "p.2020.02.json"):
        (tmp_path / "in" / name).write_bytes(name.encode())
    stoker("pack", "in", "-o", "first.tar", "--split", "first")
    assert stoker("ls", "first.tar").stdout == "p       2020.01.jpg 2020.02.jpg 2020.02.json\n"
    stoker("pack", "in", "-o", "last.tar", "--split", "last")
    assert stoker("ls", "last.tar").stdout == "p_2020_01  jpg\np_2020_02  jpg json\n"


def test_a_folder_with_dots_in_its_names_and_its_shard_hold_the_same(stoker, tmp_path):
    """The same samples in the same order; dots of keys become underscores, for WebDataset's rule."""
    (tmp_path / "in").mkdir()
    for name in ("p.1.jpg", "p.1.seg.png", "p.2.jpg", "p.jpg", "p.m.jpg", "p.seg.png", "q.jpg"):
        (tmp_path / "in" / name).write_bytes(name.encode())
    stoker("pack", "in", "-o", "s.tar")
    assert stoker("ls", "in").stdout == (
        "p.1     jpg seg.png\np.2     jpg\np       jpg seg.png\np.m     jpg\nq       jpg\n"
    )
    assert stoker("ls", "s.tar").stdout == (
        "p_1     jpg seg.png\np_2     jpg\np       jpg seg.png\np_m     jpg\nq       jpg\n"
    )
    assert stoker("cat", "s.tar", "p_1", "seg.png").stdout == "p.1.seg.png"


def test_dots_of_a_table_s_files_do_not_end_in_keys(stoker, tmp_path):
    (tmp_path / "p.2020.01.jpg").write_bytes(b"x")
    (tmp_path / "t.csv").write_text("path,key\np.2020.01.jpg,one\n")
    stoker("pack", "t.csv", "-o", "s.tar", "--labels", "none")
    assert stoker("ls", "s.tar").stdout.split() == ["one", "jpg"]


def test_a_cls_file_of_the_sample_wins_over_the_class_folder(stoker, photos):
    (photos / "dogs/a.cls").write_text("77")
    stoker("pack", photos, "-o", "c.tar")
    assert stoker("cat", "c.tar", "dogs/a", "cls").stdout == "77"
    assert stoker("cat", "c.tar", "dogs/d", "cls").stdout == "1"


def test_classes_of_an_earlier_pack_give_the_numbers(stoker, photos):
    (stoker.folder / "names").write_text("ants\ndogs\ncats\n")
    stoker("pack", photos, "-o", "n.tar", "--classes", "names")
    assert stoker("cat", "n.tar", "cats/a", "cls").stdout == "2"
    (stoker.folder / "names").write_text("dogs\n")
    done = stoker("pack", photos, "-o", "m.tar", "--classes", "names", code=1)
    assert "class 'cats' is not in names (photos/cats/a.jpg)" in done.stderr.replace(
        str(stoker.folder) + "/", ""
    )


def test_two_packs_in_one_folder_must_agree_about_classes(stoker, photos):
    stoker("pack", photos, "-o", "out/train.tar")
    stoker("pack", photos, "-o", "out/val.tar")
    (photos / "dogs").rename(photos / "foxes")
    done = stoker("pack", photos, "-o", "out/test.tar", code=2)
    assert "it has other classes than this pack" in done.stderr
    assert not (stoker.folder / "out/test.tar").exists()
    stoker("pack", photos, "-o", "out/test.tar", "--force")
    assert (stoker.folder / "out/classes.txt").read_text() == "cats\nfoxes\n"


def test_labels_none_adds_nothing(stoker, photos):
    stoker("pack", photos, "-o", "n.tar", "--labels", "none")
    assert not any(n.endswith(".cls") for n, _ in members(stoker.folder / "n.tar"))
    assert not (stoker.folder / "classes.txt").exists()


def test_two_sources_with_one_key_are_an_error_that_names_both(stoker, photos):
    (stoker.folder / "more").mkdir()
    (stoker.folder / "more/cats").mkdir()
    (stoker.folder / "more/cats/b.jpg").write_bytes(b"x")
    done = stoker("pack", "photos", "more", "-o", "x.tar", code=1)
    assert done.stderr.startswith(
        "stoker pack: two sources have a sample cats/b: photos/cats/b.jpg and more/cats/b.jpg\n"
    )
    assert not (stoker.folder / "x.tar").exists()


def test_one_field_in_two_cases_is_an_error_that_names_both(stoker, photos):
    (photos / "dogs/a.JPG").write_bytes(b"x")
    done = stoker("pack", "photos", "-o", "x.tar", code=1)
    assert "two files are the same field of sample dogs/a: photos/dogs/a." in done.stderr
    assert "dogs/a.JPG" in done.stderr
    assert "dogs/a.jpg" in done.stderr


def test_names_may_be_any_bytes(stoker, tmp_path):
    (tmp_path / "in").mkdir()
    name = b'caf\xe9 "x"\n.bin'
    with open(os.fsencode(tmp_path / "in") + b"/" + name, "wb") as file:
        file.write(b"1")
    stoker("pack", "in", "-o", "n.tar")
    assert stoker("ls", "n.tar").stdout == 'caf\\xe9 "x"\\x0a  bin\n'
    (sample,) = stoker.json("ls", "n.tar")["list"]
    assert sample["key"] == 'caf\ufffd "x"\n'
    assert sample["key_base64"] == "Y2Fm6SAieCIK"
    assert stoker("cat", b"n.tar", b'caf\xe9 "x"\n').stdout == "1"


def test_long_names_survive(stoker, tmp_path):
    (tmp_path / "in" / ("d" * 120)).mkdir(parents=True)
    (tmp_path / "in" / ("d" * 120) / ("n" * 200 + ".bin")).write_bytes(b"long")
    stoker("pack", "in", "-o", "n.tar")
    assert members(tmp_path / "n.tar") == [
        ("d" * 120 + "/" + "n" * 200 + ".bin", b"long"),
        ("d" * 120 + "/" + "n" * 200 + ".cls", b"0"),
    ]


def test_a_folder_that_contains_itself_is_entered_once(stoker, photos):
    (photos / "cats/loop").symlink_to(photos)
    assert stoker.json("pack", photos, "-o", "x.tar")["samples"] == 5


def test_nothing_to_pack_is_an_error(stoker, tmp_path):
    (tmp_path / "in").mkdir()
    assert "no file that is part of a sample" in stoker("pack", "in", "-o", "x.tar", code=1).stderr
    done = stoker("pack", "gone", "-o", "x.tar", code=1)
    assert done.stderr.startswith("stoker: source could not be looked at: No such file")
    assert "(gone)" in done.stderr


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ([], "-o is missing"),
        (["-o", "x-%06d"], "must end in .tar"),
        (["-o", "%d-%d.tar"], "more than one number"),
        (["-o", "x-%s.tar"], "is written %06d"),
        (["-o", "x.tar", "--shard-samples", "2"], "shards need a number in --output"),
        (["-o", "x-%d.tar", "--shard-count", "6"], "there are only 5 samples"),
        (["-o", "x-%d.tar", "--shard-count", "2", "--shard-size", "1MB"], "give one of"),
        (["-o", "x-%d.tar", "--shard-size", "12"], "it must be a size such as"),
        (["-o", "x-%d.tar", "--continue", "--force"], "one of them"),
        (["-o", "x.tar", "--labels", "names"], "must be one of auto|name|number|none"),
        (["-o", "x.tar", "--treads", "2"], "did you mean --threads?"),
        (["-o"], "--output needs a value: NAME"),
        (["-o", "x.tar", "--force=yes"], "--force takes no value"),
    ],
)
def test_wrong_usage_is_refused_and_touches_nothing(stoker, photos, args, text):
    before = sorted(p.name for p in stoker.folder.iterdir())
    done = stoker("pack", "photos", *args, code=2)
    assert text in done.stderr
    assert done.stdout == ""
    assert sorted(p.name for p in stoker.folder.iterdir()) == before


def test_a_percent_sign_is_written_twice(stoker, photos):
    stoker("pack", photos, "-o", "100%%-%03d.tar")
    assert (stoker.folder / "100%-000.tar").exists()


def test_a_pack_into_its_own_source_does_not_pack_itself(stoker, photos):
    stoker("pack", photos, "-o", photos / "shards/%d.tar")
    stoker("pack", photos, "-o", photos / "shards/%d.tar", "--continue")
    assert stoker.json("ls", photos / "shards/0.tar")["samples"] == 5
    stoker("pack", photos / "cats", "-o", photos / "cats/x-%d.tar", "--labels", "none")
    done = stoker.json(
        "pack", photos / "cats", "-o", photos / "cats/x-%d.tar", "--labels", "none", "--continue"
    )
    assert (done["samples"], done["kept"]) == (3, 1)
