"""Without these: a slot is overwritten while the device still reads it, or memory is unmapped that the driver holds."""

from __future__ import annotations

import gc
import logging
import os
import pathlib
import queue
import random
import sys
import threading

import pytest

torch = pytest.importorskip("torch")

from stoker.torch import DataLoader, pinned  # noqa: E402
from stoker.torch.arena import FILLED  # noqa: E402
from stoker.torch.queues import ResultQueue  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import dataloader_kit as kit  # noqa: E402
from dataloader_kit import right  # noqa: E402
from pinned_kit import FakeCuda, FakeDriver, mapped  # noqa: E402

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(not hasattr(torch, "accelerator"), reason="torch before 2.6"),
]


class Rows(kit.Rows):
    """Large enough, in batches of four, for the pool, too."""

    def __init__(self, n=64, width=20_000):
        super().__init__(n, width)


@pytest.fixture
def driver():
    return FakeDriver()


@pytest.fixture
def cuda(monkeypatch, driver):
    yield FakeCuda(monkeypatch, driver)
    assert all(mapped(*pair) for pair in driver.registered.items())


@pytest.mark.parametrize(("num_workers", "mode"), [(0, "process"), (2, "process"), (2, "thread")])
def test_pinning_copies_nothing(cuda, driver, num_workers, mode):
    options = {"num_workers": num_workers, "worker_mode": mode, "pin_memory": True}
    loader = DataLoader(Rows(), 4, shuffle=True, **options)
    iterator = iter(loader)
    for _ in range(16):
        rows, indices = next(iterator)
        assert right((rows, indices))
        assert driver.is_pinned(rows)
    # in this process the small field is memory of torch's own, and it copies that
    assert cuda.copies == 0 if num_workers and mode == "process" else cuda.copies >= 16


@pytest.mark.parametrize(("num_workers", "mode"), [(0, "process"), (2, "process"), (2, "thread")])
@pytest.mark.parametrize("seed", range(2))
def test_a_slot_is_not_overwritten_under_a_pending_copy(cuda, driver, num_workers, mode, seed):
    draw = random.Random(seed)
    loader = DataLoader(
        Rows(256),
        4,
        shuffle=True,
        num_workers=num_workers,
        worker_mode=mode,
        pin_memory=True,
        persistent_workers=num_workers > 0,
    )
    for _ in range(3):
        for batch in loader:
            assert right(batch)
            driver.copy(batch[0])
            driver.run(draw.randrange(5) if len(driver.queues[1000]) > 8 else draw.randrange(2))
    driver.run()
    assert driver.ran[1000] == 192
    assert driver.wrong == []
    assert len(driver.history) < 60  # of 192 batches: slots were used again
    assert len(driver.events) < 30  # and so were events


def test_a_slot_is_free_only_when_its_event_is_done(cuda, driver):
    iterator = iter(DataLoader(Rows(8), 4, num_workers=1, pin_memory=True))
    batches = [next(iterator), next(iterator)]  # all there are: the worker takes no slot any more
    results = iterator._worker_result_queue
    slots = range(results.memory.count())
    assert sum(results.memory.state(slot) == FILLED for slot in slots) == 2
    driver.copy(batches[0][0])
    batches.clear()
    for _ in range(3):
        cuda.registrar.look()
        assert sum(results.memory.state(slot) == FILLED for slot in slots) == 2
    assert driver.records == 1
    driver.run()
    cuda.registrar.look()
    assert not any(results.memory.state(slot) == FILLED for slot in slots)


def test_all_is_given_back_after_the_last_batch(cuda, driver):
    for nth, batch in enumerate(DataLoader(Rows(), 4, num_workers=2, pin_memory=True)):
        driver.watch(batch[0])
        driver.watch(batch[1])
        if nth % 3 == 0:
            driver.copy(batch[0])
            driver.run()
    assert driver.registered  # the last batch is still shown
    del batch
    gc.collect()
    cuda.registrar.look()
    assert driver.registered == {}  # one that was taken back twice would have been a KeyError
    assert len(driver.history) >= 2


def test_batches_outlive_their_loader(cuda, driver):
    loader = DataLoader(Rows(), 4, num_workers=2, pin_memory=True)
    iterator = iter(loader)
    kept = [driver.watch(next(iterator)[0]) for _ in range(3)]
    driver.copy(kept[0])
    del iterator, loader
    gc.collect()
    before = dict(driver.registered)
    cuda.registrar.look()
    assert all(driver.is_pinned(tensor) for tensor in kept)
    assert [tensor[0, 0].item() for tensor in kept] == [0, 4, 8]
    del kept[1:]
    cuda.registrar.look()
    assert driver.registered == before  # a copy is under way: nothing is known to be done
    del kept
    driver.run()
    cuda.registrar.look()
    assert driver.registered == {}
    assert driver.wrong == []


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("how", ["capturing", "refuse_record"])
def test_a_captured_graph_puts_it_off(cuda, driver, num_workers, how):
    iterator = iter(DataLoader(Rows(), 4, num_workers=num_workers, pin_memory=True))
    setattr(driver, how, True)
    for _ in range(6):
        batch = next(iterator)
        driver.copy(batch[0])
    assert driver.records == 0 or how == "refuse_record"  # asking is what breaks the capture
    assert len(cuda.registrar._fences) == 0
    assert len(cuda.registrar._released) >= 5
    assert len(driver.events) <= 1  # one that could not be recorded is tried again
    setattr(driver, how, False)
    driver.run()
    batch = next(iterator)
    assert len(cuda.registrar._released) <= 1  # the batch before, since the look
    assert len(cuda.registrar._fences) == 0
    assert all(right(batch) for batch in iterator)
    assert driver.wrong == []


def test_asking_for_a_capture_may_fail(driver):
    def refuse():
        raise RuntimeError("operation would make the legacy stream depend on a capturing stream")

    registrar = pinned.Registrar(driver, refuse, lambda: 0)
    called = []
    registrar.later(lambda: called.append(1), None)
    registrar.look()
    assert called == []
    assert driver.records == 0


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("method", ["done", "record", "event", "unregister"])
def test_after_an_unforeseen_error_nothing_registered_is_used_again(
    cuda, driver, caplog, num_workers, method
):
    loader = DataLoader(Rows(80), 4, num_workers=num_workers, pin_memory=True)
    with caplog.at_level(logging.WARNING, "stoker.torch"):
        iterator = iter(loader)
        for _ in range(4):
            driver.copy(next(iterator)[0])
        driver.fail[method] = "ILLEGAL_ADDRESS"
        driver.run(4 if method == "unregister" else 3)
        for _ in range(16):
            batch = next(iterator)
            assert right(batch)
            if driver.is_pinned(batch[0]) and method != "unregister":
                driver.copy(batch[0])
        assert next(iterator, None) is None
        del iterator, loader, batch
        gc.collect()
        cuda.registrar.look()
    driver.run()
    assert driver.wrong == []
    assert len(caplog.records) == 1
    assert "ILLEGAL_ADDRESS" in caplog.text
    assert driver.registered  # kept, and by the fixture: still mapped


def test_every_device_in_use_is_asked(monkeypatch):
    driver = FakeDriver(devices=3, active=(1,))
    cuda = FakeCuda(monkeypatch, driver)
    draw = random.Random(7)
    for nth, batch in enumerate(DataLoader(Rows(256), 4, num_workers=2, pin_memory=True)):
        assert right(batch)
        driver.copy(batch[0], device=1 if nth < 8 else draw.choice([1, 2]))
        for device in (1, 2):
            driver.run(draw.randrange(3), device)
    del batch
    for device in (2, 1):
        cuda.registrar.look()
        assert driver.registered
        driver.run(device=device)
    cuda.registrar.look()
    assert driver.wrong == []
    assert driver.registered == {}
    assert driver.in_use == {1, 2}  # no context was made on a device that nobody uses


def test_without_a_context_the_current_device_gets_one(monkeypatch):
    driver = FakeDriver(devices=2, active=())
    FakeCuda(monkeypatch, driver)
    batch = next(iter(DataLoader(Rows(), 4, pin_memory=True)))
    assert driver.is_pinned(batch[0])
    assert driver.in_use == {0}


def test_a_finalizer_calls_no_driver(cuda, driver):
    iterator = iter(DataLoader(Rows(), 4, num_workers=1, pin_memory=True))
    held = [next(iterator)]
    driver.copy(held[0][0])
    seen = []

    def drop():
        seen.append(threading.get_ident())
        held.clear()

    thread = threading.Thread(target=drop)
    thread.start()
    thread.join()
    assert len(cuda.registrar._released) == 1
    assert all(right(batch) for batch in iterator)
    pin_thread_and_this = 2
    assert len(driver.threads) <= pin_thread_and_this
    driver.run()
    assert driver.wrong == []


def test_threads_may_look_at_once(driver):
    registrar = pinned.Registrar(driver, lambda: False, lambda: 0)
    driver.in_use = {0}
    done = []

    def work(start):
        for nth in range(start, start + 500):
            registrar.later(lambda nth=nth: done.append(nth), None)
            registrar.look()

    threads = [threading.Thread(target=work, args=(1000 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    registrar.look()
    assert sorted(done) == [1000 * n + k for n in range(4) for k in range(500)]


@pytest.mark.parametrize("registered", [True, False])
@pytest.mark.parametrize("num_workers", [0, 1])
def test_a_forked_child_frees_nothing_of_its_parent(cuda, driver, num_workers, registered):
    loader = DataLoader(Rows(), 4, num_workers=num_workers, pin_memory=registered)
    iterator = iter(loader)
    batch = next(iterator)
    pid = os.fork()
    if pid == 0:
        torch.set_num_threads(1)  # as in torch's workers: OpenMP's threads are not forked
        calls = len(driver.threads), driver.records
        driver.threads.clear()
        good = right(batch)
        del batch
        gc.collect()
        cuda.registrar.look()
        if num_workers == 0:  # goes on with an iterator that is its own
            good = good and all(right(b) for b in iterator)
        good = good and not driver.threads and driver.records == calls[1]
        os._exit(0 if good else 1)
    assert os.waitpid(pid, 0)[1] == 0
    cuda.registrar.look()
    later = [next(iterator) for _ in range(8)]
    assert right(batch)
    assert batch[1].tolist() == [
        0,
        1,
        2,
        3,
    ]  # a batch that is another one as a whole looks right, too
    assert all(right(b) for b in later)


def test_a_forked_child_shares_no_buffer_with_its_parent(cuda, driver):
    class Shifted(Rows):
        shift = 0

        def __getitem__(self, i):
            return super().__getitem__(i)[0] + self.shift, i

    data = Shifted()
    iterator = iter(DataLoader(data, 4, pin_memory=True))
    kept = [next(iterator) for _ in range(4)]
    del kept[1:]
    cuda.registrar.look()  # three buffers are free
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        torch.set_num_threads(1)
        data.shift = 100  # other rows than the parent has in the same place
        os.read(read, 1)
        rest = sum(not right(b) for b in iterator)
        os._exit(0 if rest == 12 else 1)
    kept += [next(iterator) for _ in range(3)]
    os.write(write, b"x")
    assert os.waitpid(pid, 0)[1] == 0
    os.close(read)
    os.close(write)
    assert all(right(b) for b in kept)


def test_what_cannot_be_registered_is_copied_and_free_at_once(cuda, driver, caplog):
    driver.fail["register"] = "OUT_OF_MEMORY"
    loader = DataLoader(Rows(256), 4, num_workers=2, pin_memory=True, persistent_workers=True)
    with caplog.at_level(logging.WARNING, "stoker.torch"):
        for batch in loader:
            assert right(batch)
    assert cuda.copies == 128
    assert driver.history == []
    assert driver.records == 0
    assert [record.name for record in caplog.records] == ["stoker.torch"]
    assert "OUT_OF_MEMORY" in caplog.text
    assert len(loader._iterator._worker_result_queue._reader.maps) <= 10


@pytest.mark.parametrize("num_workers", [0, 1])
def test_it_can_be_switched_off(cuda, driver, num_workers):
    options = {"num_workers": num_workers, "pin_memory": True}
    assert all(right(b) for b in DataLoader(Rows(), 4, register_arena=False, **options))
    assert all(right(b) for b in DataLoader(Rows(), 4, num_workers=num_workers))
    assert driver.threads == set()
    assert cuda.copies == 32
    loader = DataLoader(Rows(), 4, register_arena=False, **options)
    list(loader)
    loader.register_arena = True  # takes effect at the next iterator, as torch's arguments do
    assert driver.is_pinned(next(iter(loader))[0])
    loader.register_arena = False
    assert not driver.is_pinned(next(iter(loader))[0])


def test_only_cuda_is_registered(cuda, monkeypatch):
    loader = DataLoader(Rows(), 4, pin_memory=True)
    assert pinned.registrar_for(loader) is cuda.registrar
    with monkeypatch.context() as patch:
        patch.setattr(torch.version, "cuda", None)  # ROCm says of itself that it is torch.cuda
        assert pinned.registrar_for(loader) is None
    with monkeypatch.context() as patch:
        patch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("xpu"))
        assert pinned.registrar_for(loader) is None
    with monkeypatch.context() as patch:
        patch.setattr(torch.cuda, "is_available", lambda: False)
        assert pinned.registrar_for(loader) is None


def test_the_thread_that_pins_ends_at_once():
    """torch joins it at the end of each epoch; what wakes it is what torch puts into the queue of results."""
    results = ResultQueue()
    seen = []

    def wait():
        try:
            results.get(600)
        except queue.Empty:
            seen.append("woken")

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    results.put((None, None))
    thread.join(60)
    assert seen == ["woken"]
    results.close()


def test_a_retired_slot_is_given_back(cuda, driver):
    """Batches that grow: the system gets the memory of the small slots back, and so does the driver."""

    class Growing(Rows):
        def __getitem__(self, i):
            return torch.full((20_000 if i < 40 else 80_000,), i % 251, dtype=torch.uint8), i

    loader = DataLoader(Growing(160), 4, num_workers=1, pin_memory=True)
    iterator = iter(loader)
    most = 0
    for batch in iterator:
        assert right(batch)
        small = len([size for size in driver.registered.values() if size < 300_000])
        most = max(most, small)
    # One that waited for the device while the last large slot was made is not looked at again.
    assert most >= 2
    assert small < most


def test_without_pinning_a_forked_child_has_buffers_of_its_own():
    loader = DataLoader(Rows(width=40_000), 4)
    kept = next(iter(loader))
    pid = os.fork()
    if pid == 0:
        torch.set_num_threads(1)
        del kept  # its buffer is used again, for other rows
        iterator = iter(loader)
        next(iterator)
        batches = [next(iterator) for _ in range(3)]
        os._exit(0 if all(right(batch) for batch in batches) else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert right(kept)
    assert kept[1].tolist() == [0, 1, 2, 3]


def test_a_child_of_a_fork_while_another_thread_asks_for_the_registrar():
    asked, answered = threading.Event(), threading.Event()

    def ask():
        with pinned._one_lock:
            asked.set()
            answered.wait(60)

    thread = threading.Thread(target=ask)
    thread.start()
    asked.wait(60)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if pinned._one_lock.acquire(timeout=30) else 1)
    status = os.waitpid(pid, 0)[1]
    answered.set()
    thread.join()
    assert status == 0
