"""Without these: num_workers="auto" chooses badly, does not say why, or changes what the script draws."""

from __future__ import annotations

import errno
import gc
import itertools
import logging
import os
import pathlib
import pickle
import random
import resource
import subprocess
import sys
import time

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import BatchSampler, SubsetRandomSampler  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from dataloader_kit import Failing, Mixed, Stream, assert_same, wait_gone  # noqa: E402
from stoker.torch import DataLoader, auto, cpus, trial  # noqa: E402
from stoker.torch.auto import Use, choose  # noqa: E402
from stoker.torch.cpus import Cpus, usable_cpus  # noqa: E402
from stoker.torch.trial import Figures  # noqa: E402

pytestmark = pytest.mark.torch


@pytest.fixture
def eight(monkeypatch):
    """Eight CPUs for this process."""
    monkeypatch.setattr(auto, "usable_cpus", lambda: Cpus(8, "8 CPUs"))


class Clock:
    """Time that passes only where a sample says so."""

    def __init__(self, monkeypatch):
        self.now = self.cpu = self.queue = 0.0
        monkeypatch.setattr(auto, "_apart", lambda work: work())  # here, where the clock is
        monkeypatch.setattr(trial, "_clock", lambda: self.now)
        monkeypatch.setattr(trial, "_cpu_clock", lambda: self.cpu)
        monkeypatch.setattr(trial, "_queue_seconds", lambda: self.queue)

    def work(self, seconds):
        self.now += seconds
        self.cpu += seconds

    def wait(self, seconds):
        self.now += seconds

    def lose(self, seconds):
        """Others have the CPU."""
        self.now += seconds
        self.queue += seconds


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


class Costly:
    """Samples that take their time on a given clock."""

    def __init__(self, spend, n=10_000, width=4):
        self.spend = spend
        self.n = n
        self.width = width
        self.seen = []

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        self.seen.append(i)
        self.spend()
        return torch.full((self.width,), i)


def test_costly_samples_get_the_cpus(eight, clock):
    dataset = Costly(lambda: clock.work(0.002))
    loader = DataLoader(dataset, 32, num_workers="auto")
    assert loader.num_workers == 8
    assert loader.prefetch_factor == 2
    assert loader.auto.figures.batch_seconds == pytest.approx(0.064)
    assert loader.auto.figures.waiting == 0
    assert loader.auto.cpus == 8
    assert loader.auto.batches == 313
    assert "a batch takes 64 ms to make" in str(loader.auto)
    assert "chose 8" in str(loader.auto)
    assert clock.now < 0.5  # and no sample more than there was time for
    assert max(dataset.seen) - min(dataset.seen) > 5000  # from all over the dataset


def test_cheap_samples_get_no_worker(eight, clock):
    loader = DataLoader(Costly(lambda: clock.work(1e-6)), 32, num_workers="auto")
    assert loader.num_workers == 0
    assert "not worth a worker" in loader.auto.reason
    assert loader.auto.figures.batch_seconds == pytest.approx(32e-6)


def test_real_costs_are_told_apart(eight):
    def spin():
        end = time.thread_time() + 0.002
        while time.thread_time() < end:
            pass

    busy = DataLoader(Costly(spin), 16, num_workers="auto")
    assert busy.num_workers >= 2
    assert busy.auto.figures.batch_seconds > 0.01
    idle = DataLoader(range(1000), 4, num_workers="auto")
    assert idle.num_workers == 0


def test_samples_that_wait_get_more_workers_than_cpus(eight, clock):
    def spend():
        clock.work(0.001)
        clock.wait(0.004)

    loader = DataLoader(Costly(spend), 32, num_workers="auto")
    assert loader.auto.figures.waiting == pytest.approx(0.8)
    assert loader.num_workers == 15  # 8 / 0.2, but 16 at most; 15 have as many rounds in an epoch
    assert "waiting" in loader.auto.reason


class Interrupted:
    """A batch on whose way others have the CPU."""

    def __init__(self, clock):
        self.clock = clock

    def __reduce__(self):
        self.clock.lose(1.0)
        return int, ()


def test_what_others_took_is_no_cost(eight, clock):
    def spend():
        clock.work(0.002)
        clock.lose(0.1)

    loader = DataLoader(
        Costly(spend), 4, num_workers="auto", collate_fn=lambda _: Interrupted(clock)
    )
    assert loader.auto.figures.batch_seconds == pytest.approx(0.008)
    assert loader.auto.figures.waiting == pytest.approx(0)
    assert loader.auto.figures.move_seconds == pytest.approx(
        trial.WAKE_SECONDS["process"], abs=1e-6
    )
    assert loader.num_workers > 0


def test_very_slow_samples_are_looked_at_twice_only(eight, clock):
    dataset = Costly(lambda: clock.work(5.0))
    assert DataLoader(dataset, 8, num_workers="auto").num_workers == 8
    assert len(dataset.seen) == 2


def test_the_first_sample_does_not_decide(eight, clock):
    spent = iter([10.0])
    dataset = Costly(lambda: clock.work(next(spent, 1e-6)))
    loader = DataLoader(dataset, 8, num_workers="auto")
    assert loader.num_workers == 0
    assert loader.auto.figures.batch_seconds == pytest.approx(8e-6)


BUSY = Figures(batch_seconds=0.1, move_seconds=0.001)


@pytest.mark.parametrize(
    ("figures", "count", "batches", "mode", "chosen", "said"),
    [
        (BUSY, 8, 100, "process", 8, "10 s without workers and 1.32 s with 8"),
        (BUSY, 8, 3, "process", 3, "an epoch of 3 batches"),
        (BUSY, 8, None, "process", 8, "8 CPUs"),
        (BUSY, 8, 0, "process", 0, "starting them included"),
        (BUSY, 2, 100, "process", 2, ""),
        (BUSY, 1, 100, "process", 1, ""),  # it works while this process waits
        (BUSY, 64, 100, "process", 15, ""),  # 16 would have as many rounds
        (BUSY, 64, None, "process", 16, ""),
        (
            Figures(0.005, 0.001),
            64,
            100,
            "process",
            5,
            "1 ms to bring",
        ),  # as fast as one can take them
        (Figures(0.0019, 0.001), 64, 100, "process", 0, "not worth"),
        (Figures(0.0009, 0.0001), 64, 100, "process", 0, "not worth"),
        (Figures(None, failed=9), 8, 100, "process", 0, "no sample could be made"),
        (Figures(0.1, 0.001, on_device=True), 8, 100, "process", 0, "of a device"),
        (Figures(0.1, 0.001, on_device=True), 8, 100, "thread", 8, ""),
        (Figures(0.1, 0.001, thread_gain=1.9), 8, 100, "thread", 8, ""),
        (
            Figures(0.1, 0.001, thread_gain=1.6),
            8,
            100,
            "thread",
            4,
            "",
        ),  # a quarter of it holds the GIL
        (Figures(0.1, 0.001, thread_gain=1.0), 8, 100, "thread", 1, "1.00 times as fast as one"),
        (Figures(0.1, 0.001, waiting=0.75), 3, None, "process", 12, "75% of the time is waiting"),
        (Figures(0.1, 0.001, waiting=1.0), 3, None, "process", 16, "100% of the time"),
    ],
)
def test_the_rule(figures, count, batches, mode, chosen, said):
    number, reason = choose(figures, Cpus(count, f"{count} CPUs"), Use(mode, batches))
    assert number == chosen
    assert said in reason


@pytest.mark.parametrize(
    ("batches", "persistent", "served", "chosen"),
    [
        (4, False, False, 0),  # 40 ms without workers, 60 with two
        (4, True, False, 2),  # 24: they are started once
        (4, True, True, 0),  # 134: something has to import torch first
        (8, False, False, 2),  # 80 as well: they work while the script does, too
        (40, False, True, 2),
        (400, False, False, 2),
    ],
)
def test_starting_counts(batches, persistent, served, chosen):
    figures = Figures(batch_seconds=0.01, move_seconds=0.0005, fork_seconds=0.01)
    use = Use("process", batches, persistent, served)
    assert choose(figures, Cpus(2, "2 CPUs"), use)[0] == chosen


@pytest.mark.parametrize("context", [None, "fork", "spawn", "forkserver"])
def test_what_starting_takes_is_known(eight, monkeypatch, context):
    seen = []
    monkeypatch.setattr(
        auto, "choose", lambda figures, cpus, use: seen.append((figures, use)) or (1, "")
    )
    DataLoader(range(10), 2, num_workers="auto", multiprocessing_context=context)
    figures, use = seen[0]
    assert figures.fork_seconds > 0
    assert use == Use("process", 5, False, context in ("spawn", "forkserver"))


def spin_with_the_gil():
    end = time.thread_time() + 0.004
    while time.thread_time() < end:
        pass


def test_threads_are_tried_against_one(eight):
    before = sys.getswitchinterval()
    held = DataLoader(Costly(spin_with_the_gil), 8, num_workers="auto", worker_mode="thread")
    assert held.num_workers == 1
    assert held.auto.figures.thread_gain < auto.WORTHWHILE
    assert "worker_mode='process'" in held.auto.reason
    free = DataLoader(Costly(lambda: time.sleep(0.01)), 8, num_workers="auto", worker_mode="thread")
    assert free.auto.figures.thread_gain > auto.WORTHWHILE
    assert free.num_workers >= 7
    assert sys.getswitchinterval() == before


class Instant:
    """A trial whose samples take no time at all."""

    def task(self, size):
        return [None] * size

    def make(self, keys):
        pass


def test_what_others_took_before_threads_began_makes_no_time_negative(monkeypatch):
    lost = itertools.count()
    monkeypatch.setattr(trial, "_queue_seconds", lambda: float(next(lost)))
    assert trial._thread_gain(Instant(), 1) == 2  # and no less than nothing by nothing


def test_it_is_logged_once(eight, clock, caplog):
    with caplog.at_level(logging.INFO, "stoker.torch"):
        loader = DataLoader(Costly(lambda: clock.work(0.002)), 32, num_workers="auto")
    assert [record.getMessage() for record in caplog.records] == [str(loader.auto)]
    assert caplog.records[0].levelno == logging.INFO


@pytest.mark.parametrize("mode", ["process", "thread"])
def test_the_scripts_own_draws_are_left_alone(eight, mode):
    class Draws:
        def __len__(self):
            return 40

        def __getitem__(self, i):
            return torch.rand(()).item(), random.random(), np.random.rand(), i

    def outcome(num_workers):
        for seed in (torch.manual_seed, random.seed, np.random.seed):
            seed(4)
        generator = torch.Generator().manual_seed(8)
        loader = DataLoader(Draws(), 4, shuffle=True, num_workers=num_workers, generator=generator)
        return list(loader), torch.rand(()).item(), random.random(), np.random.rand()

    threads = torch.get_num_threads()
    assert_same(outcome("auto"), outcome(0))
    assert torch.get_num_threads() == threads


def test_errors_wait_for_their_place(eight, clock):
    class Bad(Costly):
        def __getitem__(self, i):
            if i % 5 == 0:
                clock.work(0.001)
                raise ValueError(f"sample {i}")
            return super().__getitem__(i)

    loader = DataLoader(Bad(lambda: clock.work(0.003)), 1, num_workers="auto")
    assert loader.auto.figures.batch_seconds == pytest.approx(0.003)
    assert loader.auto.figures.failed > 0
    assert loader.num_workers == 8
    failing = DataLoader(Failing(), num_workers="auto")
    iterator = iter(failing)
    assert [next(iterator).item(), next(iterator).item()] == [0, 1]
    with pytest.raises(KeyError):
        next(iterator)

    def broken(_):
        raise ValueError("never")

    loader = DataLoader(range(10), 2, num_workers="auto", collate_fn=broken)
    assert loader.num_workers == 0
    assert "no sample could be made" in loader.auto.reason


def test_streams_are_not_looked_at():
    class Once(Stream):
        def __iter__(self):
            raise AssertionError("read")

    loader = DataLoader(Once(), 2, num_workers="auto")
    assert loader.num_workers == 0
    assert "iterable" in loader.auto.reason
    assert [b.tolist() for b in DataLoader(Stream((3,)), 2, num_workers="auto")] == [[0, 1], [2]]


def test_what_needs_workers_is_dropped_with_them(eight, clock):
    options = {
        "num_workers": "auto",
        "prefetch_factor": 5,
        "persistent_workers": True,
        "multiprocessing_context": "fork",
        "timeout": 60,
    }
    cheap = DataLoader(Mixed(8), 4, **options)
    assert cheap.num_workers == 0
    assert set(cheap.auto.dropped) == set(options) - {"num_workers"}
    assert_same(list(cheap), list(DataLoader(Mixed(8), 4)))
    cheap.num_workers = 2  # with the window that was asked for
    iterator = iter(cheap)
    assert iterator._prefetch_factor == 5
    assert_same(list(iterator), list(DataLoader(Mixed(8), 4)))
    costly = DataLoader(Costly(lambda: clock.work(0.01)), 4, **options)
    assert costly.num_workers == 8
    assert costly.auto.dropped == {}
    assert (costly.prefetch_factor, costly.persistent_workers, costly.timeout) == (5, True, 60)
    assert costly.multiprocessing_context.get_start_method() == "fork"


@pytest.mark.parametrize(
    "bad",
    [
        {"prefetch_factor": -1},
        {"timeout": -1},
        {"batch_size": 0},
        {"shuffle": True, "sampler": [1]},
        {"multiprocessing_context": "nonsense"},
        {"num_workers": "many"},
        {"worker_mode": "thread", "multiprocessing_context": "fork"},
    ],
)
def test_bad_arguments_are_refused_all_the_same(bad):
    with pytest.raises(ValueError):  # noqa: PT011 - torch's words
        DataLoader(range(3), **{"num_workers": "auto", **bad})


def test_a_chosen_number_is_not_warned_of(eight, clock, recwarn):
    loader = DataLoader(Costly(lambda: clock.work(0.01), n=400), 4, num_workers="auto")
    assert loader.num_workers == 8
    assert not [w for w in recwarn if "worker" in str(w.message)]
    loader.num_workers = 64 + len(os.sched_getaffinity(0))
    with pytest.warns(UserWarning, match="Our suggested max number of worker"):
        loader.check_worker_number_rationality()


def test_it_is_an_ordinary_loader_afterwards(eight, clock):
    dataset = Costly(lambda: None, n=20)
    loader = DataLoader(dataset, 4, num_workers="auto")
    again = pickle.loads(pickle.dumps(DataLoader(range(9), 4, num_workers="auto")))
    assert again.auto.num_workers == again.num_workers == 0
    loader.num_workers = 2
    assert [b[:, 0].tolist() for b in loader] == [list(range(n, n + 4)) for n in range(0, 20, 4)]


class Lazy:
    """Opens its file at its first sample, so that each worker has its own."""

    file = None

    def __init__(self, path):
        self.path = path

    def __len__(self):
        return 64

    def __getitem__(self, i):
        if self.file is None:
            self.file = open(self.path, "rb")  # noqa: SIM115 - kept
        self.file.seek(i)
        time.sleep(0.01)
        return self.file.read(1)[0], self.file.fileno()


def test_what_a_dataset_opens_is_not_opened_before_the_fork(eight, tmp_path, monkeypatch):
    monkeypatch.setattr(auto, "choose", lambda *_: (16, "so that each has something to open"))
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(64)))
    dataset = Lazy(path)
    loader = DataLoader(dataset, 4, num_workers="auto")
    assert loader.num_workers == 16
    assert dataset.file is None
    assert [v for values, _ in loader for v in values.tolist()] == list(range(64))


def children():
    return pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()


def test_a_sample_that_kills_or_hangs_is_survived(eight, monkeypatch):
    before = children()
    kills = DataLoader(Costly(lambda: os._exit(7)), 4, num_workers="auto")
    assert (kills.num_workers, kills.auto.figures.fate) == (0, "died")
    monkeypatch.setattr(auto, "PATIENCE_SECONDS", 0.2)
    hangs = DataLoader(Costly(lambda: time.sleep(600)), 4, num_workers="auto")
    assert (hangs.num_workers, hangs.auto.figures.fate) == (8, "late")
    assert "within 0.2 seconds" in hangs.auto.reason
    assert children() == before


def test_a_fork_that_is_refused_leaves_no_descriptor(eight, monkeypatch):
    def refused():
        raise BlockingIOError(errno.EAGAIN, "no process more")

    monkeypatch.setattr(os, "fork", refused)
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(BlockingIOError):
        DataLoader(range(8), 4, num_workers="auto")
    assert len(os.listdir("/proc/self/fd")) == before


def test_samples_are_made_as_in_a_worker(eight):
    class Tells:
        def __len__(self):
            return 8

        def __getitem__(self, i):
            assert torch.get_num_threads() == 1
            return i

    loader = DataLoader(Tells(), 4, num_workers="auto")
    assert loader.auto.figures.failed == 0
    assert loader.auto.figures.batch_seconds is not None


def test_only_known_samples_are_tried(eight, monkeypatch):
    monkeypatch.setattr(auto, "_apart", lambda work: work())
    tried = []

    class Some:
        def __getitem__(self, i):
            tried.append(i)
            return i

    class Keyed(Some):
        def __len__(self):
            return 4

    DataLoader(Some(), 2, sampler=[5, 7, 9], num_workers="auto")
    assert set(tried) == {5, 7, 9}
    tried.clear()
    DataLoader(Some(), batch_sampler=[["a", "b"], ["c"]], num_workers="auto")
    assert set(tried) == {"a", "b", "c"}
    tried.clear()
    DataLoader(Keyed(), 2, sampler=SubsetRandomSampler([11, 12]), num_workers="auto")
    assert set(tried) == {11, 12}
    tried.clear()
    sampler = BatchSampler(SubsetRandomSampler([1, 2]), 3, False)
    assert DataLoader(Keyed(), batch_sampler=sampler, num_workers="auto").num_workers == 0
    assert set(tried) == {0, 1, 2, 3}
    tried.clear()

    class Endless:
        def __iter__(self):
            raise AssertionError("drawn")

    loader = DataLoader(Some(), batch_sampler=Endless(), num_workers="auto")
    assert (loader.num_workers, tried) == (0, [])
    assert DataLoader([], 2, sampler=[], num_workers="auto").num_workers == 0


@pytest.mark.parametrize(
    ("options", "seconds"),
    [
        ({"batch_sampler": [[i] for i in range(50)]}, 0.01),
        ({"batch_sampler": [list(range(64))] * 3}, 0.64),
        ({"batch_size": 800}, 0.64),  # there are 64
    ],
)
def test_a_batch_has_the_samples_that_it_will_have(eight, clock, options, seconds):
    dataset = Costly(lambda: clock.work(0.01), n=64)
    loader = DataLoader(dataset, **options, num_workers="auto")
    assert loader.auto.figures.batch_seconds == pytest.approx(seconds)


def test_a_length_that_raises_is_not_asked_for(eight, clock):
    class Unsure:
        def __iter__(self):
            return iter(range(8))

        def __len__(self):
            raise ValueError("not yet")

    loader = DataLoader(Costly(lambda: clock.work(0.01)), 4, sampler=Unsure(), num_workers="auto")
    assert (loader.num_workers, loader.auto.batches) == (8, None)
    assert sum(1 for _ in loader) == 2


def test_a_child_that_a_sample_leaves_is_not_waited_for(eight, monkeypatch):
    monkeypatch.setattr(auto, "PATIENCE_SECONDS", 600)
    reader, writer = os.pipe()
    left = []

    def leave():
        if not left:
            left.append(os.fork())
            if left[0] == 0:
                os.close(writer)
                os.read(reader, 1)  # until the test is over
                os._exit(0)

    began = time.monotonic()
    try:
        loader = DataLoader(Costly(leave), 4, num_workers="auto")
        assert loader.auto.figures.fate == ""
        assert time.monotonic() - began < 60
    finally:
        os.close(writer)
        os.close(reader)


def test_many_open_files_are_no_obstacle(eight, monkeypatch):
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limits[1] < 2048:
        pytest.skip("no process may open so many files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(limits[0], 2048), limits[1]))
    files = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        assert DataLoader(Costly(lambda: None), 4, num_workers="auto").auto.figures.samples > 0
    finally:
        for file in files:
            os.close(file)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


HANGS = """
import os, time
from stoker.torch import DataLoader

class Hangs:
    def __len__(self):
        return 4

    def __getitem__(self, i):
        print(os.getpid(), flush=True)
        time.sleep(600)

DataLoader(Hangs(), 2, num_workers="auto")
"""


def test_the_process_that_tries_samples_ends_with_its_parent():
    with subprocess.Popen([sys.executable, "-c", HANGS], stdout=subprocess.PIPE) as script:
        pid = int(script.stdout.readline())
        script.kill()
        script.wait()
    assert wait_gone([pid], 60)


def test_no_descriptor_is_left():
    DataLoader(Mixed(), 4, num_workers="auto")
    gc.collect()  # of tests before
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        DataLoader(Mixed(), 4, num_workers="auto")
    assert len(os.listdir("/proc/self/fd")) == before


class Group:
    """A made-up tree of control groups."""

    def __init__(self, root):
        self.root = root
        self.own = root / "own"

    def put(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def cpus(self, monkeypatch, count=8, environ=None):
        monkeypatch.setattr(cpus.os, "sched_getaffinity", lambda _: set(range(count)))
        return usable_cpus(environ or {}, str(self.root / "cg"), str(self.own))


@pytest.fixture
def group(tmp_path):
    return Group(tmp_path)


def test_quotas_of_version_two(group, monkeypatch):
    group.own.write_text("0::/a/b\n")
    assert group.cpus(monkeypatch) == Cpus(8, "8 CPUs")
    group.put("cg/a/b/cpu.max", "max 100000\n")
    assert group.cpus(monkeypatch).number == 8
    group.put("cg/a/cpu.max", "250000 100000\n")
    assert group.cpus(monkeypatch) == Cpus(3, "a quota of 2.5 CPUs")
    group.put("cg/cpu.max", "50000 100000\n")
    assert group.cpus(monkeypatch).number == 1
    group.put("cg/cpu.max", "9000000 100000\n")
    assert group.cpus(monkeypatch).number == 3
    assert group.cpus(monkeypatch, count=2) == Cpus(2, "2 CPUs")


def test_quotas_of_version_one_and_of_containers(group, monkeypatch):
    group.own.write_text("4:memory:/a\n2:cpu,cpuacct:/not/seen/inside\n")
    group.put("cg/cpu/cpu.cfs_quota_us", "-1\n")
    group.put("cg/cpu/cpu.cfs_period_us", "100000\n")
    assert group.cpus(monkeypatch).number == 8
    group.put("cg/cpu/cpu.cfs_quota_us", "400000\n")
    assert group.cpus(monkeypatch).number == 4
    group.own.write_text("nonsense\n2:cpu:/../../x\n")
    assert group.cpus(monkeypatch).number == 4
    group.own.unlink()
    assert group.cpus(monkeypatch).number == 8


def test_ranks_share_the_machine(group, monkeypatch):
    ranks = {"LOCAL_WORLD_SIZE": "3"}
    assert group.cpus(monkeypatch, environ=ranks).number == 2
    assert "shared by 3 processes" in group.cpus(monkeypatch, environ=ranks).reason
    assert group.cpus(monkeypatch, 2, ranks).number == 1
    assert group.cpus(monkeypatch, environ={"LOCAL_WORLD_SIZE": "x"}).number == 8
    assert usable_cpus().number >= 1
