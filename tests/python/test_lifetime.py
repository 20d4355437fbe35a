"""Without these: a job hangs at its end, a forked child waits for threads that are not there, or each
epoch leaves a descriptor, a thread or a slot behind."""

import os
import subprocess
import sys
import textwrap

import pytest

COUNTS = """
import gc, os, sys, time, stoker
from stoker import Label, Image, Bytes
def descriptors(): return len(os.listdir("/proc/self/fd"))
def threads(): return len(os.listdir("/proc/self/task"))
def threads_left():
    for _ in range(500):  # a joined thread of Python may take a moment to go
        if threads() == 1: break
        time.sleep(0.01)
    return threads()
"""


@pytest.fixture
def run(numbered_shards, picture_shards):
    """Run a script in a process of its own; its standard output."""
    names = f"shards = {numbered_shards(200)!r}\npictures = {picture_shards(40)!r}\n"

    def call(script, status=0, timeout=240):
        done = subprocess.run(
            [sys.executable, "-X", "dev", "-c", COUNTS + names + textwrap.dedent(script)],
            capture_output=True,
            text=True,
            timeout=timeout,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # threads are counted
        )
        assert done.returncode == status, done.stdout + done.stderr
        assert "Traceback" not in done.stderr or status != 0, done.stderr
        return done.stdout

    return call


def test_ten_epochs_leave_no_descriptor_and_no_thread(run):
    out = run(
        """
        loader = stoker.Loader(pictures, image=Image("jpg"), batch_size=8, shuffle=True)
        seen = set()
        for epoch in range(10):
            for batch in loader:
                pass
            seen.add((descriptors(), threads()))
        print(len(seen))
        """
    )
    assert out == "1\n"


def test_opening_and_closing_leaves_nothing(run):
    out = run(
        """
        def once(threads):
            with stoker.Loader(pictures, image=Image("jpg"), batch_size=8, threads=threads) as loader:
                next(iter(loader))
        once(2)
        gc.collect()
        before = descriptors(), threads()
        for i in range(30):
            once(i % 4)
        gc.collect()
        print(before == (descriptors(), threads()), threads())
        """
    )
    assert out == "True 1\n"


def test_a_loader_that_is_let_go_joins_its_threads(run):
    out = run(
        """
        loader = stoker.Loader(pictures, image=Image("jpg"), batch_size=8)
        iterator = iter(loader)
        next(iterator)
        print(threads() > 1)
        del loader
        print(threads() > 1)  # the iterator still needs them
        del iterator
        gc.collect()
        print(threads_left())
        """
    )
    assert out == "True\nTrue\n1\n"


@pytest.mark.parametrize(
    "ending",
    [
        "pass",
        "del loader",
        "sys.exit(0)",
        "os.kill(os.getpid(), 0)",
        "kept = batch.image",
        "kept = memoryview(batch.image)",
        "builtins.kept = batch",
        "builtins.kept = (loader, iterator, batch)",
        "loader.close(); kept = batch",
    ],
)
@pytest.mark.parametrize("when", ["first", "last"])
def test_the_interpreter_ends_whatever_is_alive(run, ending, when):
    run(
        f"""
        import builtins
        loader = stoker.Loader(pictures, image=Image("jpg"), batch_size=8, prefetch=4)
        iterator = iter(loader)
        batch = next(iterator)
        if {when!r} == "last":
            for batch in iterator:
                pass
        {ending}
        """
    )


def test_the_interpreter_ends_with_a_thread_waiting_in_the_loader(run):
    run(
        """
        import threading
        loader = stoker.Loader(pictures, image=Image("jpg"), batch_size=8)
        def work():
            try:
                while True:
                    for batch in loader:
                        pass
            except stoker.ClosedError:
                pass
        threading.Thread(target=work, daemon=True).start()
        """
    )


def test_an_exception_in_the_consumer_leaves_a_usable_loader(run):
    out = run(
        """
        loader = stoker.Loader(shards, label=Label("cls"), batch_size=8)
        for epoch in range(3):
            try:
                for batch in loader:
                    raise ZeroDivisionError
            except ZeroDivisionError:
                print(batch.epoch, batch.label[0])
        """
    )
    assert out == "0 0\n1 0\n2 0\n"


def test_close_twice_and_from_anywhere(run):
    out = run(
        """
        import threading
        loader = stoker.Loader(shards, label=Label("cls"), batch_size=8)
        batch = next(iter(loader))
        closers = [threading.Thread(target=loader.close) for _ in range(4)]
        for each in closers: each.start()
        for each in closers: each.join()
        loader.close()
        print(loader.closed, batch.label.tolist())
        for use in (lambda: next(iter(loader)), lambda: len(loader), lambda: loader.state_dict(),
                    lambda: loader.stats(), lambda: loader.damage, lambda: loader.epoch,
                    lambda: loader.at(0, 0), lambda: loader.set_epoch(1), loader.__enter__):
            try:
                use()
                print("nothing")
            except stoker.ClosedError:
                pass
        print(threads_left())
        """
    )
    assert out == "True [0, 1, 2, 3, 4, 5, 6, 7]\n1\n"


def test_close_ends_a_wait_in_another_thread(run):
    out = run(
        """
        import threading, time
        loader = stoker.Loader(pictures, image=Image("jpg"), batch_size=4, memory="16MiB", prefetch=1)
        kept, said = [], []
        def work():
            try:
                while True:
                    for batch in loader:
                        kept.append(batch)
                        time.sleep(0.001)
            except stoker.Error as error:
                said.append(type(error).__name__)
        worker = threading.Thread(target=work)
        worker.start()
        time.sleep(0.3)
        loader.close()
        worker.join(30)
        print(worker.is_alive(), said[0] in ("ClosedError", "SlotsHeld"))
        """
    )
    assert out == "False True\n"


def test_held_batches_end_in_an_error_that_names_the_cure(run):
    out = run(
        """
        loader = stoker.Loader(pictures, image=Image("jpg", stoker.transforms.Resize((700, 700))),
                               batch_size=2, memory="24MiB", prefetch=1, threads=1)
        kept = []
        try:
            while True:
                for batch in loader:
                    kept.append(batch.image)
        except stoker.SlotsHeld as error:
            print(str(error).split("\\n")[1])
        del batch
        kept.clear()
        loader.set_epoch(0)
        print(sum(batch.rows for batch in loader))
        """
    )
    cure, rows = out.splitlines()
    assert "Let go of batches" in cure
    assert rows == "40"


def test_ctrl_c_is_answered_while_waiting(run):
    out = run(
        """
        import signal, threading, time
        loader = stoker.Loader(pictures, image=Image("jpg"), batch_size=8)
        sent = []
        def interrupt():
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
        threading.Timer(0.3, interrupt).start()
        try:
            while True:
                for batch in loader:
                    pass
        except KeyboardInterrupt:
            print(time.monotonic() - sent[0] < 30)
        print(sum(batch.rows for batch in loader))
        loader.close()
        print(threads_left())
        """
    )
    assert out.split() == ["True", "40", "1"]


def test_ctrl_c_without_a_handler_ends_the_process(run):
    run(
        """
        import signal, threading
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        loader = stoker.Loader(pictures, image=Image("jpg"), batch_size=8)
        while True:
            for batch in loader:
                pass
        """,
        status=-2,
    )


FORK = """
import signal
loader = stoker.Loader(pictures, image=Image("jpg"), batch_size=8)
dataset = loader.dataset
iterator = iter(loader)
batch = next(iterator)
first = batch.image.copy()
"""


def test_a_forked_child_gets_an_error_from_every_use(run):
    out = run(
        FORK
        + """
pid = os.fork()
if pid == 0:
    signal.alarm(100)
    for use in (lambda: next(iterator), lambda: next(iter(loader)), lambda: len(loader),
                lambda: loader.state_dict(), lambda: loader.stats(), lambda: loader.damage,
                lambda: loader.epoch, lambda: loader.at(0, 0), lambda: loader.set_epoch(1),
                lambda: loader.order(0), lambda: loader.waits_for()):
        try:
            use()
            os._exit(3)
        except stoker.ForkError as error:
            assert "fork" in str(error)
    loader.close()
    assert (batch.image == first).all()
    del batch, loader, iterator
    gc.collect()
    assert len(dataset[0]["jpg"]) > 100
    sys.exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
print(sum(batch.rows for batch in iterator))
"""
    )
    assert out == "0\n32\n"


def test_a_forked_child_may_open_a_loader_of_its_own(run):
    out = run(
        FORK
        + """
pid = os.fork()
if pid == 0:
    signal.alarm(100)
    with stoker.Loader(dataset, image=Image("jpg"), batch_size=8) as mine:
        rows = sum(batch.rows for batch in mine)
    os._exit(0 if rows == 40 else 3)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    )
    assert out == "0\n"


def test_capsules_of_a_batch_live_beyond_the_interpreters_other_objects(run):
    pytest.importorskip("torch")
    run(
        """
        import builtins, torch
        loader = stoker.Loader(pictures, image=Image("jpg", dtype="bfloat16"), batch_size=8)
        builtins.kept = [torch.from_dlpack(batch.image) for batch in loader]
        loader.close()
        del loader
        gc.collect()
        assert all(each.float().mean() > 0 for each in builtins.kept)
        """
    )


@pytest.mark.skipif(
    "STOKER_TEST_SANITIZED" in os.environ, reason="a sanitizer keeps what was freed"
)
def test_memory_does_not_grow_over_epochs(run):
    out = run(
        """
        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        loader = stoker.Loader(shards, label=Label("cls"), key=stoker.Key(), batch_size=4, shuffle=True)
        sizes = []
        for epoch in range(60):
            for batch in loader:
                batch.label, batch.key
            if epoch >= 20:
                sizes.append(resident())
        print(sizes[-1] - sizes[0] < 1_000_000)
        """
    )
    assert out == "True\n"


@pytest.mark.parametrize("threads", [0, 2])
def test_steady_state_allocates_nothing(run, threads):
    out = run(
        f"""
        loader = stoker.Loader(pictures, image=Image("jpg", stoker.transforms.RandomResizedCrop(32)),
                               raw=Bytes("jpg"), label=Label("cls"), key=stoker.Key(),
                               batch_size=8, shuffle=True, threads={threads})
        for epoch in range(4):
            for batch in loader:
                pass
        del batch
        before = loader.stats()["allocations"]
        for epoch in range(20):
            for batch in loader:
                batch.image, batch.raw, batch.label, batch.key
        print(loader.stats()["allocations"] - before)
        """
    )
    assert out == "0\n"


def test_the_ceiling_holds(run):
    out = run(
        """
        loader = stoker.Loader(pictures, image=Image("jpg", stoker.transforms.Resize((200, 200))),
                               batch_size=16, memory="20MiB", prefetch=32)
        for _ in range(5):
            for batch in loader:
                pass
        print(loader.stats()["memory_peak_bytes"] <= 20 << 20)
        """
    )
    assert out == "True\n"
