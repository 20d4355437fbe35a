"""Without these: a run that is killed, or a full disk, leaves half a shard that training reads."""

import fcntl
import hashlib
import os
import re
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

SHARDS = ("--shard-samples", 5)


@pytest.fixture
def large(tmp_path):
    """Forty samples of half a megabyte: enough to be stopped in the middle of."""
    folder = tmp_path / "large"
    folder.mkdir()
    for i in range(40):
        (folder / f"{i:02}.bin").write_bytes(hashlib.sha256(b"%d" % i).digest() * 16384)
    return folder


def digests(folder):
    return {
        p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.glob("*.tar"))
    }


@pytest.fixture
def whole(stoker, large):
    """What an undisturbed run makes."""
    stoker("pack", large, "-o", "whole/%02d.tar", *SHARDS)
    return digests(stoker.folder / "whole")


def stop_midway(stoker, folder, numbers, shards_first):
    """Start a pack and send it signals once so many shards are complete, and the next has begun."""
    args = ("pack", "large", "-o", f"{folder.name}/%02d.tar", *SHARDS, "-t", 1)
    process = stoker.start(*args)
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        written = re.search(r"wchar: (\d+)", Path(f"/proc/{process.pid}/io").read_text())
        names = os.listdir(folder) if folder.exists() else []
        if (
            sum(n.endswith(".tar") for n in names) >= shards_first
            and int(written[1]) > shards_first * 5 * 525_000 + 1_000_000
        ):
            for number in numbers:
                process.send_signal(number)
            break
    _, stderr = process.communicate(timeout=60)
    return process.returncode, stderr.decode()


def test_kill_leaves_no_half_shard_and_continue_ends_the_same(stoker, whole):
    killed = 0
    for attempt in range(4):
        folder = stoker.folder / f"killed{attempt}"
        code, _ = stop_midway(stoker, folder, [signal.SIGKILL], attempt)
        killed += code == -signal.SIGKILL
        left = digests(folder)
        assert left.items() <= whole.items()
        done = stoker.json("pack", "large", "-o", f"{folder.name}/%02d.tar", *SHARDS, "--continue")
        assert done["kept"] == len(left)
        assert digests(folder) == whole
        assert sorted(p.name for p in folder.iterdir()) == sorted(
            [*whole, *(f"{name}.stoker" for name in whole)]
        )
    assert killed > 0


def test_an_interrupt_removes_the_temporary_files(stoker, whole):
    stopped = 0
    for number in (signal.SIGINT, signal.SIGTERM):
        for shards_first in (1, 3):
            folder = stoker.folder / f"stopped{number}{shards_first}"
            code, stderr = stop_midway(stoker, folder, [number], shards_first)
            left = digests(folder)
            assert left.items() <= whole.items()
            assert not [p.name for p in folder.iterdir() if p.name.startswith(".")]
            if code == 130:
                stopped += 1
                assert stderr.startswith("stoker pack: stopped\n")
                assert "--continue goes on from there" in stderr
            else:
                assert code == 0
    assert stopped > 0


def test_a_second_interrupt_ends_it_at_once_and_the_next_run_cleans_up(stoker, whole):
    """Whatever it leaves, nothing of it is left after the next run."""
    folder = stoker.folder / "twice"
    code, _ = stop_midway(stoker, folder, [signal.SIGINT, signal.SIGINT], 1)
    assert code in (0, 130)
    assert digests(folder).items() <= whole.items()
    stoker("pack", "large", "-o", "twice/%02d.tar", *SHARDS, "--continue")
    assert digests(folder) == whole
    assert sorted(p.name for p in folder.iterdir()) == sorted(
        [*whole, *(f"{name}.stoker" for name in whole)]
    )


def test_existing_shards_are_an_error_before_anything_is_written(stoker, many):
    stoker("pack", many, "-o", "o/%d.tar", "--shard-count", 4)
    (stoker.folder / "o/0.tar").unlink()
    before = digests(stoker.folder / "o")
    done = stoker("pack", many, "-o", "o/%d.tar", "--shard-count", 4, code=2)
    assert done.stderr == (
        "stoker: the shard exists already, and 2 more; --continue goes on, --force makes all "
        "anew (o/1.tar)\n"
    )
    assert digests(stoker.folder / "o") == before


def test_force_makes_all_anew_and_leaves_no_old_shard(stoker, many):
    stoker("pack", many, "-o", "o/%d.tar", "--shard-count", 4)
    stoker("pack", many, "-o", "o/%d.tar", "--shard-count", 2, code=2)
    stoker("pack", many, "-o", "o/%d.tar", "--shard-count", 2, "--force")
    assert sorted(p.name for p in (stoker.folder / "o").iterdir()) == [
        "0.tar",
        "0.tar.stoker",
        "1.tar",
        "1.tar.stoker",
    ]
    assert len(stoker.json("ls", "o/*.tar")["list"]) == 200


def test_old_shards_beyond_the_plan_are_never_mixed_in(stoker, many):
    stoker("pack", many, "-o", "o/%d.tar", "--shard-count", 4)
    for name in ("0.tar", "1.tar"):
        (stoker.folder / "o" / name).unlink()
    done = stoker("pack", many, "-o", "o/%d.tar", "--shard-count", 2, "--continue", code=2)
    assert "no part of this pack, and 1 more; --force removes such (o/2.tar)" in done.stderr


@pytest.mark.parametrize("change", ["other file", "longer file", "other seed", "other classes"])
def test_continue_refuses_shards_of_another_pack(stoker, photos, change):
    args = ["pack", photos, "-o", "o/%d.tar", "--shard-samples", 2, "--shuffle"]
    stoker(*args)
    (stoker.folder / "o/2.tar").unlink()
    if change == "other file":
        (photos / "cats/b.jpg").rename(photos / "cats/z.jpg")
    elif change == "longer file":
        (photos / "cats/b.jpg").write_bytes(b"x" * 9)
    elif change == "other seed":
        args += ["--seed", 5]
    else:
        (stoker.folder / "names").write_text("dogs\ncats\n")
        (stoker.folder / "o/classes.txt").unlink()
        args += ["--classes", "names"]
    done = stoker(*args, "--continue", code=2)
    assert "the shard is not what this pack makes" in done.stderr
    assert not (stoker.folder / "o/2.tar").exists()


def test_continue_makes_a_damaged_shard_anew(stoker, large, whole):
    shutil.copytree(stoker.folder / "whole", stoker.folder / "o")
    path = stoker.folder / "o/03.tar"
    path.write_bytes(path.read_bytes()[:-3000])
    done = stoker.json("pack", large, "-o", "o/%02d.tar", *SHARDS, "--continue")
    assert done["kept"] == len(whole) - 1
    assert digests(stoker.folder / "o") == whole


def test_leftovers_of_a_dead_run_are_cleaned_and_others_are_not(stoker, many):
    out = stoker.folder / "o"
    out.mkdir()
    ours = [
        ".0.tar.stoker-part",
        ".7.tar.stoker-part2",  # of a pack into more shards
        ".0.tar.stoker.stoker-part",
    ]
    others = [
        ".0.tar.stoker-part1",  # of a run that lives: it holds the lock
        ".x.tar.stoker-part",
        ".0.tar.stoker-partial",
        ".0.tar.part",
        "0.tar.bak",
    ]
    for name in ours + others:
        (out / name).write_bytes(b"")
    with open(out / others[0]) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        stoker("pack", many, "-o", "o/%d.tar", "--no-index")
    assert sorted(p.name for p in out.iterdir()) == sorted([*others, "0.tar"])


def limit_files(size):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_a_file_that_may_not_grow_is_one_error(stoker, large):
    done = stoker(
        "pack", large, "-o", "o/%02d.tar", *SHARDS, "-t", 1, code=3, preexec_fn=limit_files(1 << 20)
    )
    assert "file too large" in done.stderr.lower()
    assert "00.tar" in done.stderr
    assert list((stoker.folder / "o").iterdir()) == []


def test_a_full_disk_is_one_error_and_leaves_no_half_file(stoker, large):
    script = (
        "mkdir -p disk && mount -t tmpfs -o size=7m none disk || exit 77\n"
        '"$0" pack large -o disk/%02d.tar --shard-samples 5 -t 1\n'
        "code=$?; ls -A disk; exit $code"
    )
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script, stoker.binary],
        cwd=stoker.folder,
        env=stoker.env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("no mount namespaces here: " + done.stderr.strip())
    assert done.returncode == 3, done.stderr
    assert "no space left" in done.stderr
    assert "--continue goes on from there" in done.stderr
    assert done.stdout.split() == ["00.tar", "00.tar.stoker", "01.tar", "01.tar.stoker"]


def test_unreadable_files_are_named_or_skipped_and_counted(stoker, many, powerless):
    for i in (3, 150):
        (many / f"{i:04}.bin").chmod(0)
    command = powerless([stoker.binary, "pack", "many", "-o", "o/%d.tar"])
    run = {"cwd": stoker.folder, "env": stoker.env, "capture_output": True, "text": True}

    done = subprocess.run(command, check=False, **run)
    assert done.returncode == 1
    assert done.stderr.startswith(
        "stoker: file could not be opened: Permission denied (many/0003.bin"
    )
    assert list((stoker.folder / "o").iterdir()) == []

    done = subprocess.run([*command, "--on-error", "skip"], check=False, **run)
    assert done.returncode == 0
    assert done.stdout.startswith("packed 198 samples in 198 files into 1 shard")
    assert done.stderr.count("stoker pack: skipped: file could not be opened") == 2
    keys = [s["key"] for s in stoker.json("ls", "o/0.tar")["list"]]
    assert len(keys) == 198
    assert "0150" not in keys

    done = subprocess.run([*command, "--on-error", "skip", "--continue"], check=False, **run)
    assert done.returncode == 0
    assert done.stdout.startswith("packed 198 samples in 198 files into 1 shard")
    assert "kept 1 shard" in done.stdout


def test_a_file_that_vanishes_or_changes_is_named(stoker, many):
    (many / "0007.bin").unlink()
    (many / "0007.bin").symlink_to("gone")
    done = stoker("pack", "many", "-o", "o/%d.tar", code=1)
    assert "No such file or directory (many/0007.bin)" in done.stderr
    assert stoker.json("pack", "many", "-o", "o/%d.tar", "--on-error", "skip")["samples"] == 199


def test_a_shard_none_of_whose_samples_could_be_read_is_not_made(stoker, many, powerless):
    for i in range(10):
        (many / f"{i:04}.bin").chmod(0)
    command = [stoker.binary, "pack", "many", "-o", "o/%02d.tar", "--shard-samples", "10"]
    done = subprocess.run(
        powerless([*command, "--on-error", "skip"]),
        cwd=stoker.folder,
        env=stoker.env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("packed 190 samples in 190 files into 19 shards")
    assert not (stoker.folder / "o/00.tar").exists()
    assert len(digests(stoker.folder / "o")) == 19


def test_few_descriptors_are_enough(stoker, many):
    few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))  # noqa: E731
    stoker("pack", many, "-o", "o/%03d.tar", "--shard-samples", 1, "-t", 2, preexec_fn=few)
    assert len(digests(stoker.folder / "o")) == 200
