"""Without these: figures that are not the loader's, or a plan that an epoch does not keep."""

import re

import pytest


@pytest.fixture
def shard(stoker, tar, jpeg):
    members = []
    for i in range(50):
        members += [(b"%02d.jpg" % i, jpeg), (b"%02d.cls" % i, b"%d" % (i % 7))]
    (stoker.folder / "s.tar").write_bytes(tar.archive(members))
    return "s.tar"


@pytest.mark.parametrize("command", ["bench", "plan"])
def test_an_empty_dataset_is_named(stoker, tar, command):
    (stoker.folder / "empty.tar").write_bytes(tar.END)
    done = stoker(command, "empty.tar", code=2)
    assert done.stderr.startswith("stoker: the dataset has no samples (empty.tar")


def test_bench_counts_what_it_ran(stoker, shard):
    found = stoker.json("bench", shard, "-b", 8, "--size", 32, "-e", 3)
    assert found["samples"] == 150
    assert found["batches"] == 3 * 7
    assert [e["samples"] for e in found["epochs"]] == [50, 50, 50]
    assert found["batch"] == "image (8, 3, 32, 32) uint8, label (8) int64"
    assert found["peak_memory_bytes"] > 1 << 20
    assert found["loader_memory_bytes"] > 8 * 3 * 32 * 32
    assert found["cpu_seconds"] > 0
    assert found["first_batch_seconds"] > 0
    assert sum(s["share"] for s in found["stages"]) == pytest.approx(1)
    stages = {s["stage"]: s for s in found["stages"]}
    assert stages["decode"]["count"] >= 150
    assert found["limit"] in stages
    assert found["verdict"]


@pytest.mark.parametrize(
    ("options", "batch"),
    [
        (
            ["--layout", "NHWC", "--dtype", "float16"],
            "image (4, 20, 20, 3) float16, label (4) int64",
        ),
        (["--normalize"], "image (4, 3, 20, 20) float32, label (4) int64"),
        (
            ["--transforms", "resize", "--threads", "0"],
            "image (4, 3, 20, 20) uint8, label (4) int64",
        ),
        (["--transforms", "none"], "image (4, 3, 48, 64) uint8, label (4) int64"),
        (["--image-field", "none"], "label (4) int64"),
        (["--label-field", "none", "--shuffle", "shards"], "image (4, 3, 20, 20) uint8"),
        (
            ["--image-field", "none", "--label-field", "none"],
            "jpg (ragged) uint8, cls (ragged) uint8",
        ),
    ],
)
def test_bench_runs_what_it_is_asked(stoker, shard, options, batch):
    found = stoker.json("bench", shard, "-b", 4, "--size", 20, "--steps", 3, *options)
    assert (found["batch"], found["batches"]) == (batch, 3)


def test_bench_table(stoker, shard):
    done = stoker("bench", shard, "-b", 8, "--size", 32, "-t", 2)
    text = done.stdout
    assert done.stderr == ""
    assert re.search(r"^dataset +50 samples in 1 shard$", text, re.M)
    assert re.search(r"^work +random resized crop and flip to 32 x 32, uint8, NCHW$", text, re.M)
    assert re.search(r"^first batch +\S+ (us|ms|s) after opening$", text, re.M)
    for name in ("first epoch", "later epochs"):
        assert re.search(rf"^{name} +[\d,]+ samples/s   50 samples in ", text, re.M)
    assert re.search(r"^CPU time +\S+ (us|ms|s) for 1,000 samples$", text, re.M)
    assert re.search(r"^peak memory +[\d.]+ MB resident; the loader allocated ", text, re.M)
    rows = re.findall(r"^(\w+) +[\d.]+ (?:us|ms|s) +([\d.]+) %  \[([#-]{24})\]", text, re.M)
    assert "decode" in [row[0] for row in rows]
    assert sum(float(row[1]) for row in rows) == pytest.approx(100, abs=0.5)
    for _, share, bar in rows:
        # the share is printed with one decimal, the bar is drawn from all of them
        assert abs(bar.count("#") - float(share) / 100 * 24) <= 0.5 + 0.05 / 100 * 24 + 1e-9
    assert re.search(r"^verdict: \w", text, re.M)


def test_bench_fails_at_damage_and_skips_it_if_told(stoker, tar, jpeg):
    members = [(b"%d.jpg" % i, jpeg[:300] if i == 5 else jpeg) for i in range(20)]
    (stoker.folder / "s.tar").write_bytes(tar.archive(members))
    done = stoker("bench", "s.tar", "-b", 4, "--size", 16, code=1)
    assert "s.tar, sample 5, " in done.stderr
    found = stoker.json("bench", "s.tar", "-b", 4, "--size", 16, "-e", 1, "--on-error", "skip")
    assert found["damaged"] == 1
    assert found["samples"] == 19


def test_mixed_sizes_without_a_resize_are_one_error_with_its_cure(stoker, tar, jpeg, draw):
    members = [(b"a.jpg", jpeg), (b"b.jpg", draw(32, 32))]
    (stoker.folder / "s.tar").write_bytes(tar.archive(members))
    done = stoker("bench", "s.tar", "--transforms", "none", "--shuffle", "none", code=2)
    first, cure = done.stderr.splitlines()
    assert "s.tar, sample b" in first
    assert "Resize" in cure


@pytest.mark.parametrize(
    ("options", "ranks", "steps", "left_out", "repeated"),
    [
        ([], [(0, 1, 50, 2)], 7, 0, 0),
        (["--world-size", 4], [(0, 2, 13, 5), (2, 2, 12, 4)], 2, 0, 0),
        (["--world-size", 4, "--tail", "drop"], [(0, 4, 8, 8)], 1, 18, 0),
        (["--world-size", 4, "--tail", "wrap"], [(0, 4, 16, 8)], 2, 0, 14),
        (["--world-size", 5, "-b", 10], [(0, 5, 10, 10)], 1, 0, 0),
    ],
)
def test_plan_is_what_docs_order_says(stoker, shard, options, ranks, steps, left_out, repeated):
    plan = stoker.json("plan", shard, "-b", 8, "--size", 16, *options)
    assert [tuple(r.values()) for r in plan["ranks"]] == ranks
    assert (plan["steps"], plan["left_out"], plan["repeated"]) == (steps, left_out, repeated)
    assert plan["memory_bytes"] < plan["memory_ceiling_bytes"] == 2 << 30


def test_plan_is_what_a_loader_of_each_rank_runs(stoker, shard):
    options = ["-b", 8, "--size", 16, "--world-size", 3]
    plan = stoker.json("plan", shard, *options)
    planned = [r["samples"] for r in plan["ranks"] for _ in range(r["count"])]
    run = [stoker.json("bench", shard, *options, "--rank", rank, "-e", 1) for rank in range(3)]
    assert [r["samples"] for r in run] == planned
    assert [r["batches"] for r in run] == [plan["steps"]] * 3
    assert sum(planned) == 50


def test_plan_for_people(stoker, shard):
    text = stoker("plan", shard, "-b", 8, "--world-size", 4, "--size", 16).stdout
    assert "steps        2 on every rank, of 8 samples each, 32 on all ranks\n" in text
    assert "ranks        13 samples on ranks 0 to 1, 12 on ranks 2 to 3\n" in text
    assert "tail         short: the last step has 5 on 2 ranks, 4 on 2\n" in text


def test_memory_that_does_not_fit_is_told_with_its_parts(stoker, shard):
    done = stoker("plan", shard, "-b", 4096, "--size", 1024, "--memory", "64MB", code=3)
    assert "memory is" in done.stderr
    assert "batches of" in done.stderr
