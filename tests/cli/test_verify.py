"""Without these: damage is missed, or told without the place that lets a person find it."""

import fcntl
import gzip
import io
import json
import os
import random
import resource
import subprocess
import zlib

import pytest


@pytest.fixture
def save(stoker):
    def write(name, data):
        (stoker.folder / name).write_bytes(data)
        return name

    return write


def four(tar):
    return b"".join(tar.member(b"k%d.bin" % i, bytes([65 + i]) * 700) for i in range(4))


def damage(stoker, *args, code=1):
    found = stoker.json("verify", *args, code=code)
    assert found["damage_count"] == len(found["damage"]) + len(found["shard_damage"])
    assert all("sample" in d for d in found["damage"])
    assert not any("sample" in d for d in found["shard_damage"])
    return found


def test_whole_data_passes(stoker, tar, jpeg, png, npy, save):
    save(
        "s.tar",
        tar.archive(
            [
                (b"a.jpg", jpeg),
                (b"a.png", png),
                (b"a.npy", npy(5)),
                (b"a.json", b'{"x": [1, 2.5, null]}'),
                (b"a.txt", "è".encode()),
                (b"a.cls", b" -12\n"),
                (b"a.bin", b"\xff\0"),
            ]
        ),
    )
    done = stoker("verify", "s.tar")
    total = len(jpeg) + len(png) + len(npy(5)) + 21 + 2 + 5 + 2
    assert done.stdout == (
        f"checked 1 sample, 7 fields, {total / 1000:.1f} kB in 1 shard: no damage\n"
    )
    assert done.stderr == ""
    assert stoker("verify", "s.tar", "-q").stdout == ""


def test_each_damage_has_shard_key_field_byte_and_reason(stoker, tar, jpeg, png, npy, save):
    bad_png = bytearray(png)
    bad_png[60] ^= 1  # inside the compressed data: its checksum tells
    members = [
        (b"a.jpg", jpeg[:-40]),
        (b"b.png", bytes(bad_png)),
        (b"c.npy", npy(5)[:-3]),
        (b"d.json", b'{"x": 1,}'),
        (b"e.txt", b"abc\xff"),
        (b"f.cls", b"cat"),
        (b"g.jpg", b""),
        (b"h.jpg", b"<html>no picture</html>"),
        (b"i.jpg", jpeg),
    ]
    save("s.tar", tar.archive(members))
    found = damage(stoker, "s.tar")
    offsets, at = {}, 0
    for name, data in members:
        offsets[name.decode()] = at + 512
        at += 512 + -(-len(data) // 512) * 512
    assert [(d["key"], d["field"]) for d in found["damage"]] == [
        tuple(name.decode().split(".")) for name, _ in members[:-1]
    ]
    for d, (name, data) in zip(found["damage"], members, strict=False):
        begin = offsets[name.decode()]
        assert begin <= d["offset"] <= begin + len(data)
        assert (d["shard"], d["source"], d["stage"]) == ("s.tar", "s.tar", "decode")
        assert d["text"]
    exact = {d["key"]: d["offset"] - offsets[f"{d['key']}.{d['field']}"] for d in found["damage"]}
    assert exact["d"] == 8
    assert exact["e"] == 3
    assert found["damaged_samples"] == 8
    assert found["samples"] == 9


def test_one_line_a_damage(stoker, tar, save):
    save("s.tar", tar.archive([(b"x/a.txt", b"abc\xff"), (b"x/b.txt", b"fine")]))
    done = stoker("verify", "s.tar", code=1)
    first, last = done.stdout.splitlines()
    assert first.startswith("damaged: ")
    assert first.endswith(" (s.tar, sample x/a, field txt, byte 515, stage decode)")
    assert last == (
        "checked 2 samples, 2 fields, 8 B in 1 shard: 1 damaged place, 1 damaged sample"
    )


def test_c16_shard_cut_inside_a_member(stoker, tar, save):
    save("c16.tar", four(tar)[: 512 * 3 * 2 + 512 + 100])
    found = damage(stoker, "c16.tar")
    (d,) = found["shard_damage"]
    assert (d["status"], d["shard"]) == ("STK_ECORRUPT", "c16.tar")
    assert "k2.bin" in d["key"]
    assert 512 * 3 * 2 <= d["offset"] <= 512 * 3 * 2 + 612
    assert found["samples"] == 2  # what stands before the damage is read


@pytest.mark.parametrize(
    ("name", "length", "extra", "samples", "damaged", "note"),
    [
        ("between", 512 * 3 * 2, b"", 2, 0, True),
        ("header", 512 * 3 * 2 + 100, b"", 2, 1, False),
        ("all", None, b"", 4, 0, True),
        ("one", None, b"\0" * 512, 4, 0, None),
    ],
)
def test_c17_shard_cut_between_members(
    stoker, tar, save, name, length, extra, samples, damaged, note
):
    save(f"c17_{name}.tar", four(tar)[:length] + extra)
    found = damage(stoker, f"c17_{name}.tar", code=1 if damaged else 0)
    assert (found["samples"], found["damage_count"]) == (samples, damaged)
    if damaged:
        assert found["shard_damage"][0]["offset"] == 512 * 3 * 2
    if note is not None:
        texts = [n["text"] for n in found["notes"]]
        assert ("no end-of-archive marker" in texts) == note


def test_c37_empty_member(stoker, tar, jpeg, save):
    members = [(b"a.jpg", b""), (b"a.cls", b"3"), (b"b.jpg", jpeg), (b"b.cls", b"4")]
    save("c37.tar", tar.archive(members))
    found = damage(stoker, "c37.tar")
    (d,) = found["damage"]
    assert (d["key"], d["field"], d["offset"]) == ("a", "jpg", 512)
    assert "no bytes" in d["text"]


def test_c47_truncated_jpeg(stoker, jpeg, save):
    save("c47.jpg", jpeg[: len(jpeg) * 2 // 3])
    save("c47_head.jpg", jpeg[:200])
    for name in ("c47.jpg", "c47_head.jpg"):
        (d,) = damage(stoker, name)["damage"]
        assert (d["key"], d["field"], d["status"]) == (name[:-4], "jpg", "STK_ECORRUPT")
        assert d["offset"] <= (stoker.folder / name).stat().st_size


def test_c62_one_bad_picture_of_ten(stoker, tar, jpeg, save):
    members = []
    for i in range(10):
        members.append((b"%02d.jpg" % i, jpeg[:400] if i == 4 else jpeg))
        members.append((b"%02d.cls" % i, b"%d" % i))
    save("c62.tar", tar.archive(members))
    found = damage(stoker, "c62.tar")
    assert [(d["sample"], d["key"]) for d in found["damage"]] == [(4, "04")]
    assert (found["samples"], found["fields"], found["damaged_samples"]) == (10, 20, 1)


def test_damage_of_shards_is_told_for_each_and_the_rest_is_read(stoker, tar, save):
    save("a.tar", four(tar)[:-700])  # cut inside the last member
    save("b.tar", tar.archive([(b"x.txt", b"ok"), (b"y.txt", b"\xfe")]))
    bad = bytearray(four(tar) + tar.END)
    bad[3 * 512 + 148] ^= 1  # the checksum of the second header
    save("c.tar", bytes(bad))
    save("d.tar", b"")
    found = damage(stoker, "a.tar", "b.tar", "c.tar", "d.tar")
    told = [(d["shard"], d.get("key", ""), d["offset"]) for d in found["shard_damage"]]
    assert [shard for shard, _, _ in told] == ["a.tar", "c.tar", "d.tar"]
    assert told[1] == ("c.tar", "", 3 * 512)
    assert [(d["shard"], d["key"], d["offset"]) for d in found["damage"]] == [
        ("b.tar", "y", 3 * 512)
    ]
    assert found["samples"] == 3 + 2 + 1
    lines = stoker("verify", "a.tar", "b.tar", "c.tar", "d.tar", code=1).stdout.splitlines()
    assert [line.split(" (")[1].split(",")[0].rstrip(")") for line in lines[:4]] == [
        "a.tar",
        "b.tar",
        "c.tar",
        "d.tar",
    ]


def test_bits_flipped_after_indexing_are_found(stoker, tar, save):
    """Headers are read anew: an index that is up to date does not hide them."""
    save("s.tar", four(tar) + tar.END)
    stoker("index", "s.tar")
    path = stoker.folder / "s.tar"
    data, stat = bytearray(path.read_bytes()), path.stat()
    data[2 * 1536 + 3] ^= 0x20  # in the middle: neither the ends nor the size tell
    path.write_bytes(data)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    (d,) = damage(stoker, "s.tar")["shard_damage"]
    assert d["offset"] == 2 * 1536


def test_the_report_of_a_killed_run_is_removed_by_the_next(stoker, tar, save):
    save("s.tar", four(tar) + tar.END)
    dead, living = (stoker.folder / f".r.json.stoker-part{n}" for n in ("", 1))
    dead.write_text("half")
    living.write_text("half")
    with open(living) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        stoker("verify", "s.tar", "--save", "r.json")
        assert json.loads((stoker.folder / "r.json").read_text())["samples"] == 4
        assert not dead.exists()
        dead.symlink_to("s.tar")  # nothing of ours
        stoker("verify", "s.tar", "--save", "r.json")
    assert dead.is_symlink()
    assert living.exists()
    assert (stoker.folder / "s.tar").stat().st_size > 0


def test_a_report_goes_to_standard_output_and_behind_a_link(stoker, tar, save):
    """/dev/stdout is a link to a regular file here; whoever replaces it takes it from all."""
    save("s.tar", four(tar) + tar.END)
    (stoker.folder / "stdout").symlink_to("/dev/stdout")
    (stoker.folder / "link").symlink_to("r.json")
    for where in ("stdout", "link"):
        with (stoker.folder / "out.txt").open("wb") as out:
            out.write(b"before\n")
            out.flush()
            subprocess.run(
                [stoker.binary, "verify", "s.tar", "--quiet", "--save", where],
                cwd=stoker.folder,
                env=stoker.env,
                stdout=out,
                check=True,
            )
            out.write(b"after\n")
        text = (stoker.folder / "out.txt").read_text()
        assert text.startswith("before\n")
        assert text.endswith("after\n")
        report = text[len("before\n") : -len("after\n")]
        if where == "link":
            assert report == ""
            report = (stoker.folder / "r.json").read_text()
        assert json.loads(report)["samples"] == 4
        assert (stoker.folder / where).is_symlink()
    failed = stoker("verify", "s.tar", "--save", "/dev/full", code=3)
    assert "no space left" in failed.stderr


@pytest.mark.parametrize("samples", [3, 30_000])  # 100 bytes each: below and above 1 MiB
def test_a_flipped_bit_in_an_index_is_damage_with_its_cure(stoker, tar, save, samples):
    save("s.tar", b"".join(tar.head(b"%06d.txt" % i, 0) for i in range(samples)) + tar.END)
    save("t.tar", tar.archive([(b"x.txt", b"ok")]))  # without an index: nothing to check
    stoker("index", "s.tar")
    index = stoker.folder / "s.tar.stoker"
    assert (index.stat().st_size > 2**20) == (samples > 3)
    assert damage(stoker, "s.tar", "t.tar", code=0)["damage_count"] == 0
    whole = index.read_bytes()
    index.write_bytes(whole.replace(b"000001.txt", b"000003.txt"))
    (d,) = damage(stoker, "s.tar", "t.tar")["shard_damage"]
    assert (d["status"], d["source"]) == ("STK_EINDEX", "s.tar.stoker")
    assert d["text"] == (
        "section NAMES of the index is damaged; stoker index --force makes it anew"
    )
    assert "section NAMES" in stoker("verify", "s.tar", "-q", code=1).stdout
    assert "section NAMES" in stoker("index", "s.tar", "--check", code=1).stderr
    assert stoker("ls", "s.tar", "-n", 2).stdout.count("txt") == 2  # made anew, and right
    assert index.read_bytes() == whole
    assert not damage(stoker, "s.tar", "t.tar", code=0)["damage_count"]


def test_the_index_of_a_folder_is_checked_and_that_of_a_list_is_not_sought(stoker, photos):
    stoker("index", photos)
    index = photos / ".stoker-index"
    index.write_bytes(index.read_bytes()[:-1])
    (d,) = damage(stoker, photos)["shard_damage"]
    assert d["source"].endswith("photos/.stoker-index")
    stoker("verify", "photos/cats/a.jpg", "photos/dogs/a.jpg")


def test_a_field_twice_in_one_sample_is_damage(stoker, tar, save):
    save("s.tar", tar.archive([(b"a.txt", b"1"), (b"a.TXT", b"2"), (b"b.txt", b"3")]))
    found = damage(stoker, "s.tar")
    assert [d["status"] for d in found["shard_damage"]] == ["STK_EFIELD"]


def test_content_wins_over_a_wrong_extension_and_is_noted(stoker, tar, jpeg, png, save):
    save("s.tar", tar.archive([(b"a.jpg", png), (b"b.png", jpeg), (b"c.dat", jpeg[:-60])]))
    found = damage(stoker, "s.tar")
    assert [d["key"] for d in found["damage"]] == ["c"]
    assert [n["text"] for n in found["notes"]] == [
        "field jpg holds a png picture",
        "field png holds a jpeg picture",
    ]


def test_what_this_build_cannot_read_is_noted_and_no_damage(stoker, tar, draw, save):
    save("s.tar", tar.archive([(b"a.gif", draw(form="GIF")), (b"b.npy", object_array())]))
    found = damage(stoker, "s.tar", code=0)
    assert len(found["notes"]) == 2
    assert all(n["text"].startswith("not decoded: ") for n in found["notes"])


def object_array():
    np = pytest.importorskip("numpy")
    out = io.BytesIO()
    np.save(out, np.array([None, "x"], dtype=object), allow_pickle=True)
    return out.getvalue()


def test_a_bomb_is_refused_by_its_limit(stoker, tar, save):
    def chunk(kind, data):
        return (
            len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")
        )

    head = (60000).to_bytes(4, "big") * 2 + bytes([8, 2, 0, 0, 0])
    bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")
    save("s.tar", tar.archive([(b"a.png", bomb)]))
    (d,) = damage(stoker, "s.tar")["damage"]
    assert d["status"] == "STK_ELIMIT"


def test_no_decode_reads_only(stoker, tar, jpeg, save):
    save("s.tar", tar.archive([(b"a.jpg", jpeg[:100]), (b"a.txt", b"\xff")]))
    done = stoker("verify", "s.tar", "--no-decode")
    assert done.stdout == "read 1 sample, 2 fields, 101 B in 1 shard: no damage\n"


def test_the_report_does_not_depend_on_threads(stoker, tar, jpeg, save):
    members = []
    for i in range(300):
        members.append((b"%03d.jpg" % i, jpeg[: -40 - i] if i % 7 == 3 else jpeg))
        members.append((b"%03d.txt" % i, b"\xff" if i % 11 == 2 else b"ok"))
    save("s.tar", tar.archive(members))
    one = stoker("verify", "s.tar", "-t", 1, code=1).stdout
    assert one.count("damaged: ") == sum(i % 7 == 3 for i in range(300)) + sum(
        i % 11 == 2 for i in range(300)
    )
    for threads in (2, 5):
        assert stoker("verify", "s.tar", "-t", threads, code=1).stdout == one


def test_a_loader_takes_the_report_as_known_damage(stoker, tar, jpeg, save):
    package = pytest.importorskip("stoker")
    members = []
    for i in range(8):
        members += [
            (b"%d.jpg" % i, jpeg[: -60 if i in (2, 5) else None]),
            (b"%d.cls" % i, b"%d" % i),
        ]
    save("s.tar", tar.archive(members))
    stoker("verify", "s.tar", "--save", "damage.json", "--quiet", code=1)
    with package.Loader(
        stoker.folder / "s.tar",
        image=package.Image("jpg"),
        label=package.Label("cls"),
        batch_size=3,
        known_damage=stoker.folder / "damage.json",
    ) as loader:
        read = [label for batch in loader for label in batch.label.tolist()]
    assert sorted(read) == [i for i in range(8) if i not in (2, 5)]


def test_a_tree_is_verified_file_by_file(stoker, photos):
    stoker("verify", photos)
    (photos / "dogs/a.jpg").write_bytes(b"")
    (photos / "cats/a.json").write_text("{")
    stoker("index", photos, "--force")
    found = damage(stoker, photos)
    assert [(d["key"], d["field"]) for d in found["damage"]] == [
        ("cats/a", "json"),
        ("dogs/a", "jpg"),
    ]
    assert found["damage"][1]["source"].endswith("dogs/a.jpg")


def test_unreadable_files_of_a_tree_are_damage(stoker, photos, powerless):
    (photos / "cats/b.jpg").chmod(0)
    done = subprocess.run(
        powerless([stoker.binary, "verify", "photos", "--json"]),
        cwd=stoker.folder,
        env=stoker.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    (d,) = json.loads(done.stdout)["damage"]
    assert (d["status"], d["key"], d["errno"]) == ("STK_ESOURCE", "cats/b", 13)
    assert d["source"] == "photos/cats/b.jpg"
    assert json.loads(done.stdout)["samples"] == 5


def test_few_descriptors_are_enough(stoker, tar, save):
    for i in range(60):
        save(f"{i:03}.tar", tar.archive([(b"k%d.txt" % i, b"ok")]))
    few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))  # noqa: E731
    found = stoker.json("verify", "*.tar", "-t", 2, preexec_fn=few)
    assert (found["samples"], found["shards"]) == (60, 60)


def test_the_report_is_saved_whole(stoker, tar, jpeg, save):
    save("s.tar", tar.archive([(b"a.jpg", jpeg[:100]), (b"b.jpg", jpeg)]))
    (stoker.folder / "damage.json").write_text("old")
    found = damage(stoker, "s.tar", "--save", "damage.json")
    assert json.loads((stoker.folder / "damage.json").read_text()) == found
    assert found["format"] == 1
    assert found["fingerprint"] == stoker.json("index", "s.tar")["datasets"][0]["fingerprint"]
    assert [d["sample"] for d in found["damage"]] == [0]
    done = stoker("verify", "s.tar", "--save", "gone/damage.json", code=3)
    assert "could not create the file" in done.stderr
    assert sorted(p.name for p in stoker.folder.iterdir() if p.is_file()) == [
        "damage.json",
        "s.tar",
        "s.tar.stoker",
    ]


def test_key_that_comes_back_is_a_note(stoker, tar, save):
    save("s.tar", tar.archive([(b"a.txt", b"1"), (b"b.txt", b"2"), (b"a.json", b"{}")]))
    found = damage(stoker, "s.tar", code=0)
    assert any("comes back" in n["text"] for n in found["notes"])


def test_compressed_shard_is_refused_by_name(stoker, save):
    save("s.tar.gz", gzip.compress(b"\0" * 10240))
    done = stoker("verify", "s.tar.gz", code=1)
    assert "gzip" in done.stderr
    assert "s.tar.gz" in done.stderr


def test_any_flipped_bits_are_an_answer_and_no_crash(stoker, tar, draw, png, npy, save):
    small = draw(16, 12, quality=90)
    whole = tar.archive(
        [
            (b"a.jpg", small),
            (b"a.png", png),
            (b"a.npy", npy(9)),
            (b"b.json", b"[1]"),
            (b"b.cls", b"1"),
        ]
    )
    draws = random.Random(20261129)
    damaged = 0
    for _ in range(80):
        data = bytearray(whole)
        for _ in range(draws.choice((1, 2, 40))):
            data[draws.randrange(len(data))] ^= 1 << draws.randrange(8)
        if draws.random() < 0.3:
            del data[draws.randrange(len(data)) :]
        save("s.tar", bytes(data))
        done = stoker("verify", "s.tar", "--json", code=None)
        assert done.returncode in (0, 1), (done.returncode, done.stderr)
        json.loads(done.stdout)
        damaged += done.returncode
    assert damaged > 20


def test_the_report_tells_a_loader_what_to_leave_out(stoker, tar, jpeg, save):
    package = pytest.importorskip("stoker")
    members = [(b"%d.jpg" % i, jpeg[:300] if i in (2, 7) else jpeg) for i in range(10)]
    path = stoker.folder / save("s.tar", tar.archive(members))
    stoker("verify", "s.tar", "--save", "damage.json", code=1)
    loader = package.Loader(
        str(path),
        image=package.Image("jpg", package.transforms.Resize((8, 8))),
        batch_size=4,
        on_error="skip",
        known_damage=str(stoker.folder / "damage.json"),
    )
    with loader:
        assert sum(len(batch.image) for batch in loader) == 8
        assert [d.sample for d in loader.damage] == [2, 7]
