"""Without these: worker threads give other batches than worker processes, mix up who they are, or are never rid of."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import pathlib
import pickle
import random
import sys
import threading
import time
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader as Stock  # noqa: E402
from torch.utils.data import (  # noqa: E402
    DistributedSampler,
    IterableDataset,
    SubsetRandomSampler,
    WeightedRandomSampler,
    get_worker_info,
)
from torch.utils.data._utils import worker as torch_worker  # noqa: E402
from torch.utils.data._utils.collate import collate_tensor_fn, default_collate  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from dataloader_kit import (  # noqa: E402
    Failing,
    Mixed,
    Stream,
    assert_same,
    datasets_made_of_others,
    odd_collate,
    outcomes,
    quiet,
    shared_files,
)
from stoker.torch import DataLoader  # noqa: E402
from stoker.torch.resume import stateful  # noqa: E402

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
]


def threaded(dataset, *args, **options):
    return DataLoader(dataset, *args, **{"num_workers": 2, "worker_mode": "thread", **options})


def workers_alive():
    return [t for t in threading.enumerate() if t.name.startswith("stoker-worker")]


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def assert_no_workers():
    gc.collect()
    # Nothing, where a worker collects at this moment; then it ends the others and itself.
    wait_until(lambda: not workers_alive())


@pytest.fixture(autouse=True)
def _leaves_nothing():
    """Each test rids itself of its threads: left to some later collection, they end in the midst of another test."""
    yield
    assert_no_workers()


def passes(loader_class, make, epochs=2):
    """All batches of some epochs, and what the generators would draw next."""
    torch.manual_seed(11)
    np.random.seed(11)
    random.seed(11)
    loader = loader_class(**make())
    batches = [list(loader) for _ in range(epochs)]
    return batches, [torch.randint(1 << 40, ()).item(), random.random(), np.random.rand()]


def assert_parity(make, epochs=2):
    ours, our_draws = passes(threaded, make, epochs)
    theirs, their_draws = passes(Stock, make, epochs)
    assert_same(ours, theirs)
    assert our_draws == their_draws
    assert_no_workers()


WORKERS = [
    {"num_workers": 1},
    {"num_workers": 2},
    {"num_workers": 3, "prefetch_factor": 1},
    {"num_workers": 2, "persistent_workers": True},
]


@pytest.mark.parametrize("workers", WORKERS, ids=str)
@pytest.mark.parametrize("shuffle", [False, True])
def test_batches_of_every_kind(workers, shuffle):
    assert_parity(lambda: {"dataset": Mixed(), "batch_size": 5, "shuffle": shuffle, **workers})


SAMPLERS = {
    "subset": lambda n: {"sampler": SubsetRandomSampler(range(3, n))},
    "weighted": lambda n: {"sampler": WeightedRandomSampler([1.0 + i for i in range(n)], 40)},
    "batch": lambda n: {"batch_sampler": [[0, 5], [3], [n - 1, 2, 2]], "batch_size": 1},
    "distributed": lambda n: {"sampler": DistributedSampler(range(n), 3, 1, seed=4)},
    "generator": lambda n: {"shuffle": True, "generator": torch.Generator().manual_seed(5)},
    "not collated": lambda n: {"batch_size": None},
    "own collation": lambda n: {"collate_fn": odd_collate},
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers_and_collations(name):
    assert_parity(
        lambda: {"dataset": Mixed(24), "batch_size": 4, "num_workers": 2, **SAMPLERS[name](24)}
    )


def test_datasets_made_of_others():
    for dataset in datasets_made_of_others():
        assert_parity(lambda d=dataset: {"dataset": d, "batch_size": 2, "num_workers": 2}, 1)


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("persistent", [False, True])
def test_streams_end_where_they_end(drop_last, persistent):
    assert_parity(
        lambda: {
            "dataset": Stream(),
            "batch_size": 2,
            "drop_last": drop_last,
            "num_workers": 3,
            "persistent_workers": persistent,
        }
    )


class Promising(Stream):
    def __len__(self):
        return 4


def test_a_stream_that_is_longer_than_it_said_is_warned_of():
    loader = threaded(Promising(), 1, num_workers=3)
    assert len(loader) == 4
    with pytest.warns(UserWarning, match="was reported to be 4.*but 5 samples"):
        assert len(list(loader)) == 9


def test_out_of_order_is_what_is_ready():
    gate = threading.Event()

    class Waits:
        def __len__(self):
            return 8

        def __getitem__(self, i):
            if i == 0:
                assert gate.wait(60)
            return i

    iterator = iter(threaded(Waits(), 1, in_order=False))
    first = next(iterator).item()
    gate.set()
    assert first != 0
    assert sorted([first, *(batch.item() for batch in iterator)]) == list(range(8))


class Self:
    """Samples that tell who makes them."""

    def __init__(self, n=24):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        info = get_worker_info()  # imported by name before any loader was made
        assert info is torch.utils.data.get_worker_info()
        assert info.dataset is self
        drawn = (
            info.rng.random_generator.random(),
            torch.rand((), generator=info.rng.torch_generator, dtype=torch.float64).item(),
            info.rng.numpy_generator.random(),
        )
        return info.id, info.num_workers, info.seed, info.worker_method, drawn


def test_each_thread_knows_who_it_is_and_has_streams_of_its_own():
    torch.manual_seed(3)
    random.seed(3)
    np.random.seed(3)
    told = []
    for batch in threaded(Self(), 4, collate_fn=list, num_workers=3):
        assert get_worker_info() is None
        told.append(batch)
    assert random.random() == random.Random(3).random()  # the global streams were left alone
    assert np.random.rand() == np.random.RandomState(3).rand()
    torch.manual_seed(3)
    base = torch.empty((), dtype=torch.int64).random_().item()
    for n in range(3):
        own = random.Random(base + n)
        theirs = torch.Generator().manual_seed(base + n)
        third = np.random.default_rng(torch_worker._generate_state(base, n))
        for sample in [s for batch in told[n::3] for s in batch]:
            drawn = (
                own.random(),
                torch.rand((), generator=theirs, dtype=torch.float64).item(),
                third.random(),
            )
            assert sample == (n, 3, base + n, "thread", drawn)


def test_the_dataset_is_one_object_and_so_is_what_init_sees():
    dataset, seen = Mixed(8), []
    loader = threaded(dataset, 2, worker_init_fn=lambda n: seen.append((n, get_worker_info())))
    list(loader)
    assert sorted(n for n, _ in seen) == [0, 1]
    assert all(info.id == n and info.dataset is dataset for n, info in seen)


def collate_both(samples):
    return default_collate(samples), collate_tensor_fn(samples, collate_fn_map=None)


def shared_inside(samples):
    return default_collate(samples).is_shared()


def test_nothing_is_put_into_shared_memory():
    rows = [torch.full((70_000,), i) for i in range(6)]
    before = shared_files()
    for collate_fn in (None, collate_both):
        batch = next(iter(threaded(rows, 2, collate_fn=collate_fn)))
        for tensor in batch if collate_fn else [batch]:
            assert not tensor.is_shared()
            assert tensor[:, 7].tolist() == [0, 1]
    assert shared_files() == before
    # torch's own workers go on as they did
    assert list(Stock(rows, 2, num_workers=1, collate_fn=shared_inside)) == [True] * 3
    for odd in (torch.sparse_coo_tensor(torch.tensor([[0]]), torch.tensor([1.0]), (2,)),):
        with pytest.raises(RuntimeError, match="Batches of sparse tensors"):
            list(threaded([odd, odd], 2))


def test_a_kept_batch_is_never_overwritten():
    rows = [torch.full((70_000,), i, dtype=torch.uint8) for i in range(40)]
    loader = threaded(rows, 4, num_workers=3)
    views = [batch[1:, 7] for _ in range(3) for batch in loader]
    assert [v.tolist() for v in views[:10]] == [
        [4 * n + 1, 4 * n + 2, 4 * n + 3] for n in range(10)
    ]
    values = [view.clone() for view in views]
    for _ in range(2):
        for nth, batch in enumerate(loader):
            assert (batch[2] == 4 * nth + 2).all()
    assert all(torch.equal(v, w) for v, w in zip(views, values, strict=True))
    del views, batch
    gc.collect()
    assert len(loader._pool.free) == len(loader._pool.sizes)  # all came back


@pytest.mark.parametrize("num_workers", [1, 2])
def test_errors_stand_where_they_happen_and_the_rest_comes(num_workers):
    ours = outcomes(threaded(Failing(), num_workers=num_workers))
    assert ours == outcomes(Stock(Failing(), num_workers=num_workers))
    assert len(ours) == 6


class Broken(IterableDataset):
    def __iter__(self):
        raise ValueError("no such stream")


def test_what_goes_wrong_at_the_start_is_told():
    def init(n):
        raise LookupError(f"nothing for {n}")

    with pytest.raises(LookupError, match=r"in DataLoader worker thread 0(.|\n)*nothing for 0"):
        next(iter(threaded(Mixed(), 2, worker_init_fn=init)))
    with pytest.raises(ValueError, match="Caught ValueError in DataLoader worker"):
        next(iter(threaded(Broken(), 2)))
    assert_no_workers()


@pytest.mark.parametrize("persistent", [False, True])
def test_a_worker_that_leaves_is_named_at_once(persistent):
    class Leaves:
        def __len__(self):
            return 20

        def __getitem__(self, i):
            if i == 7:
                sys.exit(3)
            return i

    with pytest.raises(RuntimeError, match=r"DataLoader worker .* exited unexpectedly") as caught:
        list(threaded(Leaves(), 2, persistent_workers=persistent))
    text = str(caught.value)
    assert "worker 1 (thread" in text
    assert "SystemExit: 3" in text
    assert "indices [6, 7]" in text


def test_a_timeout_says_where_the_thread_stands():
    gate = threading.Event()

    class Stuck:
        def __len__(self):
            return 8

        def __getitem__(self, i):
            if i == 5:
                gate.wait(60)
            return i

    iterator = iter(threaded(Stuck(), 2, timeout=60))
    assert len([next(iterator), next(iterator)]) == 2
    iterator._timeout = 1  # from now on: the first batches may take their time
    with pytest.raises(RuntimeError, match=r"^DataLoader timed out after 1 seconds; ") as caught:
        list(iterator)
    gate.set()
    assert "indices [4, 5]" in str(caught.value)
    assert "test_dataloader_threads.py" in str(caught.value)
    assert "in __getitem__" in str(caught.value)


class Rows:
    def __init__(self, n=200):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return torch.full((5000,), i % 251, dtype=torch.uint8), i


def test_persistent_threads_end_with_their_loader_at_once():
    gc.collect()
    gc.disable()
    try:
        loader = threaded(Rows(), 4, persistent_workers=True)
        list(loader)
        assert len(workers_alive()) == 2
        del loader
        assert workers_alive() == []
    finally:
        gc.enable()


@pytest.mark.parametrize("end", ["whole", "break", "error", "unused", "cycle"])
@pytest.mark.parametrize("persistent", [False, True])
def test_no_thread_is_left(end, persistent):
    descriptors = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        loader = threaded(Rows(), 4, persistent_workers=persistent, num_workers=3)
        iterator = iter(loader)
        with contextlib.suppress(ZeroDivisionError):
            for nth, _ in enumerate(iterator if end != "unused" else []):
                if end == "break" and nth == 2:
                    break
                if end == "error" and nth == 2:
                    raise ZeroDivisionError
        if end == "cycle":
            loader.itself = [loader, iterator]
        del iterator, loader
    assert_no_workers()
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_a_thread_inside_a_sample_is_not_waited_for_long(monkeypatch):
    from stoker.torch import threads

    gate = threading.Event()

    class Stuck:
        def __len__(self):
            return 100

        def __getitem__(self, i):
            if i > 1:
                gate.wait(120)
            return i

    monkeypatch.setattr(threads, "STOP_SECONDS", 0.1)
    loader = threaded(Stuck(), 1, num_workers=4)
    iterator = iter(loader)
    next(iterator)
    begin = time.monotonic()
    del iterator
    assert time.monotonic() - begin < 60  # all of them together, not 10 s each
    assert workers_alive()
    gate.set()
    wait_until(lambda: not workers_alive())


def test_an_iterator_that_is_collected_by_its_own_worker():
    ready, kept = threading.Event(), []

    class Collects:
        def __len__(self):
            return 100

        def __getitem__(self, i):
            if i == 9:
                assert ready.wait(60)
                gc.collect()
                kept.append(threading.current_thread())
            return i

    gc.disable()
    try:
        iterator = iter(threaded(Collects(), 1, num_workers=1, prefetch_factor=20))
        next(iterator)
        iterator.itself = iterator
        del iterator
        ready.set()
        wait_until(lambda: kept and not workers_alive())
    finally:
        gc.enable()


SLOW = """
import sys, time, torch
from stoker.torch import DataLoader
class Slow:
    def __len__(self): return 1000
    def __getitem__(self, i):
        time.sleep(0.02)
        return torch.full((300, 300), i)
loader = DataLoader(Slow(), 2, num_workers=2, worker_mode="thread", persistent_workers=PERSISTENT)
iterator = iter(loader)
next(iterator)
print("ready", flush=True)
"""


def run(text):
    import subprocess

    return subprocess.Popen(
        [sys.executable, "-c", text],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=quiet(),
    )


@pytest.mark.parametrize("persistent", [False, True])
def test_the_interpreter_ends_with_a_living_iterator(persistent):
    process = run(SLOW.replace("PERSISTENT", str(persistent)))
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == (0, "ready\n", "")


def test_interrupted_from_the_keyboard():
    import signal

    process = run(SLOW.replace("PERSISTENT", "False") + "for _ in iterator: pass\n")
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode in (1, -signal.SIGINT, 130)
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert err.count("Traceback") == 1


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_of_the_parent_leaves_the_threads_behind():
    loader = threaded(Rows(), 4, persistent_workers=True)
    iterator = iter(loader)
    first = next(iterator)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            with pytest.raises(RuntimeError, match="make a new iterator"):
                next(iterator)
            right = [indices.tolist() for _, indices in loader]
            del iterator, loader
            gc.collect()
            first[0].fill_(99)  # the child's own copy
            code = 0 if right[-1] == [196, 197, 198, 199] else 2
        finally:
            os._exit(code)
    end = time.monotonic() + 120
    done = (0, 0)
    while done[0] == 0 and time.monotonic() < end:
        done = os.waitpid(pid, os.WNOHANG)
        time.sleep(0.02)
    if done[0] == 0:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    assert done == (pid, 0)
    assert all((rows == indices[:, None] % 251).all() for rows, indices in iterator)
    assert (first[0] == first[1][:, None] % 251).all()


def test_what_stands_for_a_process():
    iterator = iter(threaded(Rows(), 4))
    pids = [worker.pid for worker in iterator._workers]
    assert os.getpid() not in pids
    assert {str(pid) for pid in pids} <= set(os.listdir("/proc/self/task"))
    assert all(worker.is_alive() and worker.exitcode is None for worker in iterator._workers)
    assert not iterator._worker_pids_set  # torch does not look for children of these numbers
    workers = iterator._workers
    workers[0].terminate()
    workers[0].join(60)
    assert not workers[0].is_alive()
    assert workers[0].exitcode == 0
    del iterator
    assert not workers[1].is_alive()


def test_persistent_threads_are_the_same_ones():
    made = []

    class Makers:
        def __len__(self):
            return 6

        def __getitem__(self, i):
            made.append(threading.get_ident())
            return i

    loader = threaded(Makers(), 1, persistent_workers=True)
    for _ in range(3):
        list(loader)
    assert len(set(made)) == 2


@pytest.mark.skipif(not hasattr(torch, "accelerator"), reason="torch before 2.6")
@pytest.mark.parametrize("persistent", [False, True])
def test_torchs_thread_that_pins_takes_what_threads_make(persistent, monkeypatch):
    # An accelerator of straw: what is pinned is a copy that says so.
    for name, value in (
        ("is_available", True),
        ("current_accelerator", torch.device("cuda")),
        ("current_device_index", 0),
        ("set_device_index", None),
    ):
        monkeypatch.setattr(torch.accelerator, name, lambda *_, value=value: value)
    pinned = []

    def pin(tensor):
        pinned.append(threading.current_thread())
        return tensor + 1000

    monkeypatch.setattr(torch.Tensor, "pin_memory", pin)
    loader = threaded(range(10), 2, pin_memory=True, persistent_workers=persistent)
    for _ in range(2):
        values = [[1000 + n, 1001 + n] for n in range(0, 10, 2)]
        assert [batch.tolist() for batch in loader] == values
    assert threading.main_thread() not in pinned
    assert len(set(pinned)) == (1 if persistent else 2)
    with pytest.raises(KeyError, match="Caught KeyError in DataLoader worker thread"):
        list(threaded(Failing(), pin_memory=True))
    del loader
    gc.collect()
    wait_until(lambda: not any(thread.is_alive() for thread in pinned))


def inside_process(_):
    info = get_worker_info()
    return info.worker_method, info.num_workers, info.id


def test_a_process_started_by_a_thread_is_itself():
    class Outer:
        def __len__(self):
            return 2

        def __getitem__(self, i):
            loader = DataLoader(
                range(3),
                1,
                num_workers=1,
                collate_fn=inside_process,
                multiprocessing_context="fork",
            )
            inner = list(threaded(range(2), 1, num_workers=1, collate_fn=inside_process))
            assert get_worker_info().num_workers == 2
            return list(loader), inner

    for process, thread in threaded(Outer(), None):
        assert process == [["multiprocessing", 1, 0]] * 3
        assert thread == [["thread", 1, 0]] * 2


def make(num_workers, **options):
    extra = {"persistent_workers": True} if num_workers == 3 else {}
    return threaded(range(23), 4, num_workers=num_workers, **extra, **options)


def lists(batches):
    return [batch.tolist() for batch in batches]


@pytest.mark.parametrize("num_workers", [1, 2, 3])
@pytest.mark.parametrize("shuffle", [False, True])
def test_a_restored_loader_goes_on_with_the_next_batch(num_workers, shuffle):
    torch.manual_seed(5)
    loader = make(num_workers, shuffle=shuffle)
    whole = [lists(loader), lists(loader)]
    for epoch in range(2):
        for taken in (0, 1, 4, 6):
            torch.manual_seed(5)
            loader = make(num_workers, shuffle=shuffle)
            for _ in range(epoch):
                list(loader)
            iterator = iter(loader)
            assert lists(next(iterator) for _ in range(taken)) == whole[epoch][:taken]
            state = json.loads(json.dumps(loader.state_dict()))
            del iterator
            other = DataLoader(range(23), 4, shuffle=shuffle)  # without workers
            if taken % 2:
                other = make(num_workers % 3 + 1, shuffle=shuffle)
            other.load_state_dict(state)
            assert lists(other) == whole[epoch][taken:]


class Positioned(IterableDataset):
    """A stream with a state of its own, a part for each worker; its position is in a list."""

    def __init__(self, sizes=(7, 2, 5)):
        self.sizes = sizes
        self.at = [0]

    def __iter__(self):
        part = get_worker_info().id
        while self.at[0] < self.sizes[part]:
            self.at[0] += 1
            yield torch.tensor(100 * part + self.at[0])

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = list(state["at"])


@pytest.mark.parametrize("num_workers", [1, 3])
def test_streams_go_on_with_their_own_state(num_workers):
    assert stateful(Positioned())
    whole = lists(threaded(Positioned(), 2, num_workers=num_workers))
    assert whole == lists(Stock(Positioned(), 2, num_workers=num_workers))
    for taken in range(len(whole)):
        loader = threaded(Positioned(), 2, num_workers=num_workers)
        iterator = iter(loader)
        assert lists(next(iterator) for _ in range(taken)) == whole[:taken]
        state = pickle.loads(pickle.dumps(loader.state_dict()))
        mode = "process" if taken % 2 else "thread"
        other = DataLoader(Positioned(), 2, num_workers=num_workers, worker_mode=mode)
        other.load_state_dict(state)
        assert lists(other) == whole[taken:]


def test_a_state_that_cannot_be_told_is_the_error_of_its_batch():
    class Silent(Positioned):
        def state_dict(self):
            raise OSError("no state")

    with pytest.raises(OSError, match="in DataLoader worker thread 0"):
        list(threaded(Silent(), 2))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("persistent", [False, True])
def test_pipes_are_sharded_and_shuffled_as_with_processes(persistent):
    pipes = pytest.importorskip("torch.utils.data.datapipes.iter")
    assert_parity(
        lambda: {
            "dataset": pipes.IterableWrapper(range(17)).shuffle().sharding_filter(),
            "batch_size": 2,
            "shuffle": True,
            "num_workers": 2,
            "persistent_workers": persistent,
        }
    )


def test_arguments_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="worker_mode is 'fibre'; it must be 'process' or"):
        DataLoader(range(3), worker_mode="fibre")
    with pytest.raises(ValueError, match=r"multiprocessing_context .* worker_mode='thread'"):
        threaded(range(3), multiprocessing_context="fork")
    loader = threaded(range(3))
    loader.multiprocessing_context = "fork"
    with pytest.raises(ValueError, match="give one of the two"):
        iter(loader)
    assert [b.item() for b in threaded(range(3), num_workers=0)] == [0, 1, 2]


def test_the_pool_under_many_threads():
    from stoker.torch.arena import Pool

    pool, faults = Pool(40 * 4096), []

    def use(seed):
        draw = random.Random(seed)
        held = []
        for _ in range(2000):
            if held and draw.random() < 0.5:
                lease, mark = held.pop(draw.randrange(len(held)))
                if bytes(lease[:16]) != mark:
                    faults.append(mark)
                del lease
            size = draw.randrange(1, 3 * 4096)
            lease = pool.lease(size)
            if lease is not None:
                mark = draw.randbytes(16)
                lease[:16] = mark
                held.append((lease, mark))
                del lease

    threads = [threading.Thread(target=use, args=(n,)) for n in range(4)]
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
    finally:
        sys.setswitchinterval(switch)
    assert faults == []
    assert 0 < pool.total <= 40 * 4096
    assert sorted(map(len, pool.free)) == sorted(pool.sizes)


def test_buffers_of_a_forked_child_are_its_own():
    loader = DataLoader([torch.full((70_000,), i) for i in range(4)], 2)
    iterator = iter(loader)
    first = next(iterator)
    pid = os.fork()
    if pid == 0:
        torch.set_num_threads(1)  # OpenMP's threads stayed behind
        first.fill_(99)
        list(loader)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    assert first[:, 3].tolist() == [0, 1]


def told_of_number(kind, number, **options):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        kind(range(4), num_workers=number, **options)
    return [str(w.message).split(". Threads that")[0].split(". Please be")[0] for w in found]


@pytest.mark.parametrize("more", [0, 1])
def test_more_threads_than_cpus_are_called_threads(more):
    number = len(os.sched_getaffinity(0)) + more
    (ours, theirs) = (
        told_of_number(DataLoader, number, worker_mode="thread"),
        told_of_number(torch.utils.data.DataLoader, number),
    )
    assert len(theirs) == more
    assert ours == [text.replace("worker processes", "worker threads") for text in theirs]


def test_a_dataset_changed_between_epochs_is_the_new_one_from_the_first_sample_on():
    class Leveled:
        level = 0

        def __len__(self):
            return 12

        def __getitem__(self, index):
            return self.level

    dataset = Leveled()
    loader = DataLoader(
        dataset, 2, num_workers=2, worker_mode="thread", persistent_workers=True
    )  # in order: processes would begin the next epoch early
    for level in range(3):
        dataset.level = level
        assert [batch.tolist() for batch in loader] == [[level, level]] * 6
