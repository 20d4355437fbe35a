"""Without these: kept batches change under the user's hands, workers outlive their parent, memory leaks."""

from __future__ import annotations

import gc
import multiprocessing
import multiprocessing.util
import os
import pathlib
import resource
import signal
import subprocess
import sys
import textwrap
import time
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from stoker.torch import DataLoader  # noqa: E402
from stoker.torch.queues import ResultQueue, TaskQueue  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from dataloader_kit import Rows, right, shared_files, wait_gone  # noqa: E402

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_kept_batch_is_never_overwritten(num_workers):
    loader = DataLoader(Rows(), 4, shuffle=True, num_workers=num_workers)
    kept = [batch for _ in range(3) for batch in loader]
    views = [batch[0][1:, 7] for batch in kept]
    assert all(right(batch) for batch in kept)
    values = [view.clone() for view in views]
    del kept
    for _ in range(3):
        for batch in loader:
            assert right(batch)
    assert all(torch.equal(v, w) for v, w in zip(views, values, strict=True))


def test_arrays_keep_their_slot_too():
    loader = DataLoader(
        Rows(), 4, num_workers=1, collate_fn=lambda s: np.stack([x.numpy() for x, _ in s])
    )
    kept = [batch[1:3] for _ in range(3) for batch in loader]
    for nth, rows in enumerate(kept):
        first = nth % 16 * 4 + 1
        assert (rows[0] == first % 251).all()


def test_memory_is_used_again():
    loader = DataLoader(Rows(400), 8, num_workers=2, persistent_workers=True)
    for batch in loader:
        assert right(batch)
    iterator = loader._iterator
    memory = iterator._worker_result_queue.memory
    for _ in range(5):
        assert all(right(batch) for batch in loader)
    # four tasks in flight, two batches in hand, and the one that is kept; 300 batches went through them
    assert memory.count() <= 7


class Tagged(torch.Tensor):
    """A subclass, as those of torchvision."""


def of_other_kinds(samples):
    base = torch.arange(30_000.0).view(3, -1)
    return {
        "parameter": torch.nn.Parameter(base.clone()),
        "two of one": [base[1].as_subclass(Tagged), base[2].as_subclass(Tagged)],
        "sparse": torch.eye(300).to_sparse(),
        "conjugate": (torch.ones(20_000) * 1j).conj(),
        "empty": torch.empty(0, 3).as_subclass(Tagged),
    }


@pytest.mark.parametrize("arena_bytes", [None, 1000])
def test_tensors_of_other_kinds_need_no_file_either(monkeypatch, arena_bytes):
    def refused(*_):
        raise RuntimeError("unable to open shared memory object")

    monkeypatch.setattr(torch.UntypedStorage, "_share_fd_cpu_", refused)
    loader = DataLoader(
        range(12), 2, num_workers=2, collate_fn=of_other_kinds, arena_bytes=arena_bytes
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the arena is full
        batches = list(loader)
    assert len(batches) == 6
    expected = of_other_kinds(None)
    for batch in batches:
        assert {name: type(value) for name, value in batch.items()} == {
            name: type(value) for name, value in expected.items()
        }
        assert torch.equal(batch["parameter"], expected["parameter"])
        assert batch["parameter"].requires_grad
        first, second = batch["two of one"]
        assert type(first) is Tagged
        assert torch.equal(second, expected["two of one"][1])
        assert first.untyped_storage().data_ptr() == second.untyped_storage().data_ptr()
        assert torch.equal(batch["sparse"].to_dense(), torch.eye(300))
        assert torch.equal(batch["conjugate"], expected["conjugate"])
        assert batch["empty"].shape == (0, 3)
    kept = batches[0]["parameter"].detach().clone()
    assert len(list(loader)) == 6
    assert torch.equal(batches[0]["parameter"], kept)


def test_a_batch_is_writable_and_ones_own():
    loader = DataLoader(Rows(), 4, num_workers=1)
    iterator = iter(loader)
    first = next(iterator)
    first[0].fill_(255)
    second = next(iterator)
    assert right(second)
    assert (first[0] == 255).all()


def test_a_full_arena_copies_and_says_so_once():
    loader = DataLoader(Rows(), 4, num_workers=1, arena_bytes=50_000)
    with pytest.warns(RuntimeWarning, match="raise arena_bytes") as told:
        kept = list(loader)
    assert len([w for w in told if "arena_bytes" in str(w.message)]) == 1
    assert all(right(batch) for batch in kept)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(right(b) for b in DataLoader(Rows(width=70_000), 4, arena_bytes=1))


def fds():
    return len(os.listdir("/proc/self/fd"))


def children():
    return len(pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


@pytest.mark.parametrize("end", ["whole", "break", "error"])
def test_nothing_is_left_behind(end):
    def once():
        try:
            for nth, _ in enumerate(DataLoader(Rows(), 4, num_workers=2)):
                if end == "break" and nth == 2:
                    break
                if end == "error" and nth == 2:
                    raise ZeroDivisionError
        except ZeroDivisionError:
            pass

    once()
    gc.collect()
    before = fds(), children(), shared_files()
    for _ in range(5):
        once()
    gc.collect()
    assert (fds(), children(), shared_files()) == before


def test_persistent_workers_end_with_their_loader_at_once():
    gc.collect()
    gc.disable()
    try:
        before = children()
        loader = DataLoader(Rows(), 4, num_workers=2, persistent_workers=True)
        list(loader)
        assert children() == before + 2
        del loader
        assert children() == before
    finally:
        gc.enable()


def run(text, **options):
    code = textwrap.dedent(text)
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


SLOW = """
    import os, sys, time, torch
    from stoker.torch import DataLoader
    class Slow:
        def __len__(self): return 1000
        def __getitem__(self, i):
            time.sleep(0.05)
            return i
    iterator = iter(DataLoader(Slow(), 2, num_workers=2))
    next(iterator)
    print(*[w.pid for w in iterator._workers], flush=True)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_workers_end_with_their_parent(how):
    process = run(SLOW + "    time.sleep(60)\n")
    pids = [int(pid) for pid in process.stdout.readline().split()]
    assert len(pids) == 2
    process.send_signal(how)
    process.wait(60)
    assert wait_gone(pids, 60)
    process.communicate()


STUCK = """
    import os, sys, time, torch
    from stoker.torch import DataLoader
    class Stuck:
        def __len__(self): return 1000
        def __getitem__(self, i):
            if i >= 4:
                sum(range(10**11))  # never lets another thread run
            return i
    iterator = iter(DataLoader(Stuck(), 2, num_workers=2))
    next(iterator)
    print(*[w.pid for w in iterator._workers], flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("state", ["holds the GIL", "stopped"])
def test_workers_that_cannot_look_end_with_their_parent_too(state):
    process = run(STUCK if state == "holds the GIL" else SLOW + "    time.sleep(60)\n")
    pids = [int(pid) for pid in process.stdout.readline().split()]
    if state == "stopped":
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
    process.kill()
    process.wait(60)
    assert wait_gone(pids, 60)
    process.communicate()


def test_a_stopped_worker_is_ended_with_its_iterator():
    loader = DataLoader(Rows(), 4, num_workers=1, timeout=60)
    iterator = iter(loader)
    next(iterator)
    iterator._timeout = 1  # from now on: the first batch may take its time
    pid = iterator._workers[0].pid
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(RuntimeError, match=rf"timed out .*pid {pid}"):
        list(iterator)
    del iterator
    gc.collect()
    assert wait_gone([pid], 60)


def test_the_interpreter_ends_with_a_living_iterator():
    process = run(SLOW)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert wait_gone([int(pid) for pid in out.split()], 60)
    assert "Traceback" not in err


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSEGV, "exit"])
def test_a_dead_worker_is_named_at_once(how):
    class Deadly:
        def __len__(self):
            return 100

        def __getitem__(self, i):
            if i == 42:
                if how == "exit":
                    os._exit(3)
                os.kill(os.getpid(), how)
                time.sleep(60)
            return i

    begin = time.monotonic()
    with pytest.raises(RuntimeError, match="DataLoader worker") as caught:
        list(DataLoader(Deadly(), 2, num_workers=2))
    assert time.monotonic() - begin < 30  # torch looks every 5 s; a hang would be for ever
    text = str(caught.value)
    assert "indices [42, 43]" in text
    assert "worker 1 (pid" in text
    assert ("exit code 3" if how == "exit" else f"killed by {how.name}") in text


def test_a_timeout_says_who_waits_for_what():
    class Stuck:
        def __len__(self):
            return 8

        def __getitem__(self, i):
            if i == 5:
                time.sleep(30)
            return i

    iterator = iter(DataLoader(Stuck(), 2, num_workers=2, timeout=60))
    assert len([next(iterator), next(iterator)]) == 2
    iterator._timeout = 1  # from now on: the first batches may take their time
    with pytest.raises(
        RuntimeError, match=r"^DataLoader timed out after 1 seconds; worker 0 .*indices \[4, 5\]"
    ):
        list(iterator)


def test_loaders_in_loaders():
    total = 0
    for outer in DataLoader(Rows(8), 2, num_workers=1):
        for inner in DataLoader(Rows(8), 4, num_workers=1):
            assert right(inner)
            total += 1
        assert right(outer)
    assert total == 8


def test_a_fork_of_the_parent_leaves_the_iterator_alone():
    iterator = iter(DataLoader(Rows(), 4, num_workers=2))
    first = next(iterator)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if right(first) else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert all(right(batch) for batch in iterator)


def test_a_fork_of_the_parent_takes_no_batch_and_ends_no_worker():
    loader = DataLoader(Rows(), 4, num_workers=2, persistent_workers=True)
    iterator = iter(loader)
    next(iterator)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            next(iterator)
        except RuntimeError as error:
            code = 0 if f"belong to process {os.getppid()}" in str(error) else 2
        multiprocessing.util._exit_function()  # what an ordinary exit does
        os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    assert all(right(batch) for batch in iterator)
    assert all(right(batch) for batch in loader)


AT_FORK = []
os.register_at_fork(before=lambda: AT_FORK and AT_FORK.pop()())


class Handled:
    """Samples that tell whether a worker has the handler of the script."""

    def __len__(self):
        return 8

    def __getitem__(self, i):
        return signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("workers", [2, "auto"])
def test_an_interrupt_in_the_middle_of_a_fork_is_not_lost(workers):
    before = children()
    AT_FORK.append(lambda: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        list(DataLoader(Handled(), 4, num_workers=workers))
    assert AT_FORK == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    gc.collect()
    end = time.monotonic() + 60
    while children() > before:
        multiprocessing.active_children()  # waits for those that have ended
        assert time.monotonic() < end
        time.sleep(0.01)
    assert all(torch.cat(list(DataLoader(Handled(), 4, num_workers=2))))


def test_large_tasks_and_large_pickles_do_not_block():
    class Texts:
        def __len__(self):
            return 200_000

        def __getitem__(self, i):
            return f"text {i} " * 3

    iterator = iter(DataLoader(Texts(), 40_000, num_workers=2))
    batch = next(iterator)
    assert batch[39_999] == "text 39999 " * 3
    del iterator  # with tasks and results on their way
    assert sum(len(b) for b in DataLoader(Texts(), 40_000, num_workers=2)) == 200_000


@pytest.mark.filterwarnings("ignore:the arena of the workers is full")
@pytest.mark.parametrize("persistent", [False, True])
def test_workers_whose_pipes_are_full_end_by_themselves(persistent, monkeypatch):
    loader = DataLoader(
        Rows(width=70_000), 4, num_workers=2, arena_bytes=0, persistent_workers=persistent
    )
    iterator = iter(loader)
    next(iterator)
    killed = []
    for worker in iterator._workers:
        process = worker._process
        monkeypatch.setattr(process, "terminate", lambda p=process: killed.append(p) or p.kill())
    time.sleep(0.5)  # they have written what the pipes take, and wait for room
    del iterator, loader
    gc.collect()
    assert not killed


class Numbers:
    """Arrays of a type of number that a library has registered with NumPy."""

    def __init__(self):
        tests = pytest.importorskip("numpy._core._rational_tests")
        self.one, self.zero = tests.rational(1, 3), tests.rational(0)

    def __len__(self):
        return 2

    def __getitem__(self, i):
        return np.array([self.one, self.one + i])


def test_arrays_of_a_type_that_another_library_made():
    got = list(DataLoader(Numbers(), None, num_workers=1, collate_fn=lambda array: array))
    assert [a.dtype for a in got] == [np.dtype(type(Numbers().one))] * 2
    assert got[1].tolist() == Numbers()[1].tolist()


class Owner:
    """Ends a queue when it is collected, in a cycle, with files opened meanwhile."""

    def __init__(self, ended, opened):
        self.ended, self.opened, self.itself = ended, opened, self

    def __del__(self):
        self.opened.extend(os.open(os.devnull, os.O_RDONLY) for _ in range(8))
        self.ended.close()


def filled_results():
    results = ResultQueue()
    reader, writer = multiprocessing.Pipe(duplex=False)
    results.add(reader)
    writer.close()
    return results


@pytest.mark.parametrize("make", [lambda: TaskQueue(multiprocessing), filled_results])
def test_a_collected_queue_closes_no_file_of_others(make):
    gc.collect()
    gc.disable()
    try:
        before = set(os.listdir("/proc/self/fd"))
        opened = []
        Owner(make(), opened)
        gc.collect()
    finally:
        gc.enable()
    for descriptor in opened:
        os.close(descriptor)  # fails if the queue has closed it
    assert len(opened) == 8
    assert set(os.listdir("/proc/self/fd")) == before


@pytest.mark.filterwarnings("ignore:.*quantized tensor creation functions")
def test_quantized_tensors_keep_their_scale():  # without workers: torch sends none from there
    data = [torch.quantize_per_tensor(torch.rand(200, 200), 0.1, 3, torch.quint8) for _ in "ab"]
    (batch,) = DataLoader(data, 2)
    assert torch.equal(batch.dequantize(), torch.stack(data).dequantize())


class Records:
    """As many objects as a dataset of annotations has; a sample is what a collection in its worker copies."""

    def __init__(self):
        self.records = [{"name": str(n), "box": [n, n + 1]} for n in range(100_000)]

    def __len__(self):
        return 2

    def __getitem__(self, index):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before, gc.get_freeze_count()


def test_a_collection_in_a_worker_copies_nothing_of_the_dataset():
    frozen = gc.get_freeze_count()
    loader = DataLoader(Records(), 1, num_workers=2, multiprocessing_context="fork")
    for faults, kept in loader:
        assert kept >= 200_000  # dicts and lists
        assert faults < 500  # of some 5,000 pages that hold the records
    assert gc.get_freeze_count() == frozen  # nothing of that in the parent


def test_what_workers_seed_is_imported_once_and_not_by_each():
    code = "import sys, stoker.torch; print('numpy.random' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
