"""Without these: each worker of each epoch imports torch again, or a spawned one lacks what its parent gave it."""

from __future__ import annotations

import atexit
import gc
import logging
import multiprocessing
import os
import pathlib
import resource
import signal
import sys
import threading
import time

import pytest

torch = pytest.importorskip("torch")

from stoker.torch import DataLoader, server, storage  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import dataloader_kit as kit  # noqa: E402

pytestmark = pytest.mark.torch
METHODS = ["spawn", "forkserver"]


@pytest.fixture(scope="module", autouse=True)
def no_server_is_left():
    yield
    server.stop()


@pytest.fixture
def no_server_yet():
    server.stop()
    yield
    server.stop()


class Told:
    """Samples that tell of the process that made them."""

    def __len__(self):
        return 4

    def __getitem__(self, i):
        process = multiprocessing.current_process()
        return {
            "pid": os.getpid(),
            "parent": os.getppid(),
            "multiprocessing's parent": multiprocessing.parent_process().pid,
            "name": process.name,
            "daemon": process.daemon,
            "authkey": bytes(process.authkey),
            "path": list(sys.path),
            "argv": list(sys.argv),
            "folder": os.getcwd(),
            "variable": os.environ.get("STOKER_TEST"),
            "method": multiprocessing.get_start_method(),
            "files": resource.getrlimit(resource.RLIMIT_NOFILE),
            "affinity": sorted(os.sched_getaffinity(0)),
            "interrupt": signal.getsignal(signal.SIGINT) is signal.default_int_handler,
            "umask": umask(),
        }


def umask():
    old = os.umask(0o77)
    os.umask(old)
    return old


def same(samples):
    return samples


def told(method, num_workers=2):
    loader = DataLoader(
        Told(), 1, num_workers=num_workers, multiprocessing_context=method, collate_fn=same
    )
    return [sample for batch in loader for sample in batch]


def asked_of_the_standard_library(method):
    """The same of a process that is none of ours."""
    context = multiprocessing.get_context(method)
    pool = context.Pool(1)
    try:
        return pool.apply(Told().__getitem__, (0,))
    finally:
        pool.terminate()
        pool.join()


@pytest.mark.parametrize("method", METHODS)
def test_a_worker_has_what_a_spawned_process_has(method, monkeypatch, tmp_path):
    told(method)  # the server runs; all that is changed now has to reach the workers all the same
    pid = server._server.pid
    monkeypatch.setenv("STOKER_TEST", "later")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.setattr(sys, "argv", ["program", "--word"])
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 1, hard))
    old = os.umask(0o27)
    try:
        expected = {**asked_of_the_standard_library("spawn"), "method": method}
        samples = told(method)
    finally:
        os.umask(old)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert server._server.pid == pid
    kind = {"spawn": "SpawnProcess", "forkserver": "ForkServerProcess"}[method]
    assert len({sample["pid"] for sample in samples}) == 2
    for sample in samples:
        assert sample["name"].startswith(kind + "-")
        for name in expected:
            if name not in ("pid", "name"):
                assert sample[name] == expected[name], name
    assert samples[0]["variable"] == "later"
    assert samples[0]["umask"] == 0o27


def test_an_ignored_interrupt_stays_ignored():
    told("spawn")
    old = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        ignored = told("spawn")
    finally:
        signal.signal(signal.SIGINT, old)
    assert not any(sample["interrupt"] for sample in ignored)
    assert all(sample["interrupt"] for sample in told("spawn"))


def test_a_server_that_loaded_with_other_variables_is_replaced(no_server_yet, monkeypatch):
    told("spawn")
    pid = server._server.pid
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    told("spawn")
    assert server._server.pid != pid


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("persistent", [False, True])
def test_workers_are_children_and_tell_how_they_ended(method, persistent):
    loader = DataLoader(
        kit.Mixed(8),
        2,
        num_workers=2,
        multiprocessing_context=method,
        persistent_workers=persistent,
    )
    iterator = iter(loader)
    workers = iterator._workers
    assert all(isinstance(w._process, multiprocessing.process.BaseProcess) for w in workers)
    assert {w._process for w in workers} <= set(multiprocessing.active_children())
    assert all(w.daemon and w.is_alive() and w.exitcode is None for w in workers)
    assert len(list(iterator)) == 4
    if persistent:
        assert len(list(loader)) == 4
        assert loader._iterator._workers is workers
    iterator._shutdown_workers()
    assert [w.exitcode for w in workers] == [0, 0]
    workers[0].join()
    assert not workers[0].is_alive()


class Deadly:
    def __len__(self):
        return 8

    def __getitem__(self, i):
        if i == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return i


@pytest.mark.parametrize("method", METHODS)
def test_a_killed_worker_is_named(method):
    begin = time.monotonic()
    with pytest.raises(RuntimeError, match=r"killed by SIGKILL.*indices \[4, 5\]"):
        list(DataLoader(Deadly(), 2, num_workers=2, multiprocessing_context=method))
    assert time.monotonic() - begin < 60
    assert len(told(method)) == 4  # and the next loader is none the worse for it


def test_terminate_and_kill_reach_the_worker():
    for end, signum in (("terminate", signal.SIGTERM), ("kill", signal.SIGKILL)):
        process = server.SpawnProcess(target=time.sleep, args=(600,))
        process.start()
        assert process.join(0) is None
        assert process.exitcode is None
        getattr(process, end)()
        process.join()
        assert process.exitcode == -signum
        process.close()


def leave(code):
    sys.exit(code)


@pytest.mark.parametrize("code", [0, 7])
def test_exit_codes_arrive(code):
    process = server.SpawnProcess(target=leave, args=(code,))
    process.start()
    process.join()
    assert process.exitcode == code


def registers(path):
    atexit.register(pathlib.Path(path).touch)


def test_what_a_worker_registers_for_its_exit_is_called(tmp_path):
    process = server.SpawnProcess(target=registers, args=(str(tmp_path / "mark"),))
    process.start()
    process.join()
    assert (tmp_path / "mark").exists()


class Written:
    def __len__(self):
        return 2

    def __getitem__(self, i):
        print(f"sample {i}", flush=True)
        os.write(2, b"to the standard error\n")
        return i


def test_what_workers_print_goes_where_the_parent_prints(capfd):
    told("spawn")  # the server has the streams of this moment
    capfd.readouterr()
    with open(os.devnull, "w") as null:
        kept = os.dup(1)
        os.dup2(null.fileno(), 1)
        try:
            list(DataLoader(Written(), 2, num_workers=1, multiprocessing_context="spawn"))
        finally:
            os.dup2(kept, 1)
            os.close(kept)
    out, err = capfd.readouterr()
    assert "sample" not in out
    assert err.count("to the standard error") == 2
    list(DataLoader(Written(), 2, num_workers=1, multiprocessing_context="spawn"))
    assert capfd.readouterr().out == "sample 0\nsample 1\n"


class Tensors:
    """More tensors than descriptors fit into one message."""

    def __init__(self, count):
        self.parts = [torch.full((4,), k) for k in range(count)]

    def __len__(self):
        return len(self.parts)

    def __getitem__(self, i):
        return self.parts[i]


@pytest.mark.parametrize("method", METHODS)
def test_hundreds_of_descriptors_travel(method):
    loader = DataLoader(Tensors(600), 100, num_workers=1, multiprocessing_context=method)
    assert torch.equal(torch.cat(list(loader))[:, 0], torch.arange(600))


def test_a_limit_of_descriptors_that_was_raised_later(no_server_yet):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 1500:
        pytest.skip("needs 1500 descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        told("spawn", 1)
        resource.setrlimit(resource.RLIMIT_NOFILE, (1500, hard))
        loader = DataLoader(Tensors(500), 100, num_workers=1, multiprocessing_context="spawn")
        assert torch.equal(torch.cat(list(loader))[:, 0], torch.arange(500))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_tensors_without_shared_memory_of_torch(monkeypatch):
    def refused(_):
        raise RuntimeError("unable to open shared memory object: No such file or directory")

    monkeypatch.setattr(storage, "reduce_storage", refused)
    dataset = Tensors(6)
    dataset.parts[5] = dataset.parts[4][1:]  # two tensors over the same bytes
    first = torch.cat([t[:3] for t in dataset.parts]).view(6, 3)
    loader = DataLoader(dataset, 2, num_workers=3, multiprocessing_context="spawn", collate_fn=same)
    got = [tensor[:3] for batch in loader for tensor in batch]
    assert torch.equal(torch.stack(got), first)
    assert len(storage._copies) == 5  # one for each storage, not for each worker
    dataset.parts[0].fill_(17)
    assert next(iter(loader))[0].tolist() == [17] * 4
    del dataset, loader, got
    storage._copy(torch.zeros(1).untyped_storage())
    assert len(storage._copies) == 1


def test_what_cannot_be_pickled_fails_as_with_torch():
    class Local:
        def __len__(self):
            return 3

    errors = []
    for kind in (DataLoader, torch.utils.data.DataLoader):
        with (
            pytest.warns(UserWarning, match="Got pickle error"),
            pytest.raises((AttributeError, TypeError)) as caught,
        ):
            iter(kind(Local(), num_workers=1, multiprocessing_context="spawn"))
        errors.append((type(caught.value), str(caught.value).replace("DataLoader", "")))
    assert errors[0] == errors[1]
    assert len(told("spawn")) == 4


class OwnProcess(multiprocessing.context.SpawnProcess):
    pass


class OwnContext(multiprocessing.context.SpawnContext):
    Process = OwnProcess


def test_a_context_of_ones_own_is_left_alone(monkeypatch):
    assert server.process_class(OwnContext()) is OwnProcess
    fork = multiprocessing.get_context("fork")
    assert server.process_class(fork) is fork.Process
    spawn = multiprocessing.get_context("spawn")
    assert server.process_class(spawn) is server.SpawnProcess
    monkeypatch.setenv(server.SWITCH, "0")
    assert server.process_class(spawn) is spawn.Process


def descriptors():
    gc.collect()  # what earlier tests left to it
    return len(os.listdir("/proc/self/fd"))


def test_epochs_leave_nothing_behind_and_stop_ends_the_server():
    told("spawn")
    before = descriptors()
    for _ in range(3):
        told("spawn")
    assert descriptors() == before
    pid = server._server.pid
    assert server._server.alive()
    server.stop()
    assert not pathlib.Path(f"/proc/{pid}").exists()
    assert descriptors() == before - 1
    assert len(told("spawn")) == 4


def test_a_server_that_was_killed_is_replaced():
    iterator = iter(DataLoader(kit.Mixed(8), 2, num_workers=2, multiprocessing_context="spawn"))
    next(iterator)
    os.kill(server._server.pid, signal.SIGKILL)
    assert len(list(iterator)) == 3  # workers do not need it
    assert len(told("spawn")) == 4


def test_a_server_that_cannot_run_leaves_the_work_to_the_standard_library(
    no_server_yet, monkeypatch, caplog
):
    monkeypatch.setattr(server, "PROGRAM", "raise SystemExit(3) # {path} {control} {data}")
    with caplog.at_level(logging.INFO, "stoker.torch"):
        samples = told("spawn")
    assert len(samples) == 4
    assert "the fork server has ended" in caplog.text
    assert server._server is None


def test_a_system_without_subreapers(no_server_yet, monkeypatch, caplog):
    monkeypatch.setattr(server, "PR_SET_CHILD_SUBREAPER", server.PR_GET_CHILD_SUBREAPER)
    if os.getpid() == 1:
        pytest.skip("process 1 adopts all")
    with caplog.at_level(logging.INFO, "stoker.torch"):
        assert len(told("spawn")) == 4
    assert "does not let this process adopt" in caplog.text


def test_threads_may_start_loaders_at_once():
    results = []

    def one():
        results.append(len(told("spawn", 1)))

    threads = [threading.Thread(target=one) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert results == [4, 4, 4]
