"""Without these: importing the main module goes wrong in the fork server, or the server outlives its program."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import textwrap
import time

import pytest

pytest.importorskip("torch")

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from dataloader_kit import gone, quiet

pytestmark = pytest.mark.torch


def run(text, *arguments, folder):
    """A program of its own, with its main module in a file."""
    path = folder / "program.py"
    path.write_text(textwrap.dedent(text))
    return subprocess.Popen(
        [sys.executable, *(arguments or [str(path)])],
        cwd=folder,
        env=quiet(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ends_well(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out, err


PROGRAM = """
    import os, sys
    import tempfile
    with open("imports", "a") as file:
        print(__name__, os.getpid(), file=file)
    folder = tempfile.TemporaryDirectory()
    import torch
    from stoker.torch import DataLoader

    class Squares:
        def __len__(self): return 6
        def __getitem__(self, i):
            assert os.path.isdir(folder.name), "another worker has taken the folder away"
            return i * i

    def epochs(method):
        for epoch in range(2):
            loader = DataLoader(Squares(), 2, num_workers=2, multiprocessing_context=method)
            yield [batch.tolist() for batch in loader]

    if __name__ == "__main__":
        for batches in epochs("{method}"):
            assert batches == [[0, 1], [4, 9], [16, 25]], batches
"""


@pytest.mark.parametrize(
    ("method", "arguments"),
    [("spawn", ()), ("spawn", ("-m", "program")), ("forkserver", ())],
)
def test_the_main_module_is_imported_once(tmp_path, method, arguments):
    program = PROGRAM.replace("{method}", method)
    _, err = ends_well(run(program, *arguments, folder=tmp_path))
    assert err == ""
    imports = [line.split() for line in (tmp_path / "imports").read_text().splitlines()]
    assert [name for name, _ in imports] == ["__main__", "__mp_main__"]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_program_without_standard_streams(tmp_path, method):
    program = PROGRAM.replace("{method}", method).replace(
        "            return i * i\n",
        "            os.write(2, b'what a library says of a fault')\n            return i * i\n"
        if method != "fork"
        else "            return i * i\n",
    )
    program += "        open('done', 'w').close()\n"
    program += f"        from stoker.torch import server; assert {method == 'fork'} or server._server.ready\n"
    program += "        open('served', 'w').close()\n"
    (tmp_path / "program.py").write_text(textwrap.dedent(program))
    command = f"exec {sys.executable} program.py <&- >&- 2>&-"
    status = subprocess.run(["sh", "-c", command], cwd=tmp_path, timeout=120, check=False)
    assert status.returncode == 0
    assert (tmp_path / "served").exists()


def test_the_default_method_of_the_program_counts(tmp_path):
    program = PROGRAM.replace(", multiprocessing_context=method)", ")").replace(
        '    if __name__ == "__main__":\n',
        '    if __name__ == "__main__":\n        torch.multiprocessing.set_start_method("spawn")\n',
    )
    ends_well(run(program, folder=tmp_path))
    assert len((tmp_path / "imports").read_text().splitlines()) == 2


def test_a_main_module_that_starts_threads_is_not_forked_from(tmp_path):
    program = PROGRAM.replace("{method}", "spawn").replace("range(2)", "range(1)") + (
        "    import threading, time\n"
        "    if __name__ != '__main__':\n"
        "        threading.Thread(target=time.sleep, args=(60,), daemon=True, name='busy').start()\n"
        "    else:\n"
        "        from stoker.torch import server\n"
        "        assert server._faults[0][1].endswith('starts threads: busy'), server._faults\n"
    )
    ends_well(run(program, folder=tmp_path))
    assert len((tmp_path / "imports").read_text().splitlines()) == 1 + 1 + 2


def test_a_main_module_without_a_guard_fails_as_with_torch(tmp_path):
    told_by = []
    for kind in ("stoker.torch", "torch.utils.data"):
        process = run(
            f"""
            from {kind} import DataLoader
            list(DataLoader([1, 2], num_workers=1, multiprocessing_context="spawn"))
            """,
            folder=tmp_path,
        )
        _, err = process.communicate(timeout=120)
        assert process.returncode == 1
        told_by.append(err)
    for err in told_by:
        assert (
            err.count("before the\n        current process has finished its bootstrapping phase")
            == 1
        )
        assert "exited unexpectedly" in err
    assert "exit code 1" in told_by[0]


@pytest.mark.parametrize("how", ["kill", "exit"])
def test_server_and_workers_end_with_the_parent(tmp_path, how):
    process = run(
        """
        import sys, time
        from stoker.torch import DataLoader, server
        if __name__ == "__main__":
            loader = DataLoader(range(1000), 2, num_workers=2, multiprocessing_context="spawn")
            iterator = iter(loader)
            next(iterator)
            print(server._server.pid, *[w.pid for w in iterator._workers], flush=True)
            sys.stdin.readline()
        """,
        folder=tmp_path,
    )
    pids = [int(pid) for pid in process.stdout.readline().split()]
    assert len(pids) == 3
    if how == "kill":
        process.kill()
        process.communicate()
    else:
        ends_well(process)
    deadline = time.monotonic() + 60
    while not all(gone(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert [pid for pid in pids if not gone(pid)] == []


def test_a_fork_of_the_parent_has_a_server_of_its_own(tmp_path):
    process = run(
        """
        import os
        from stoker.torch import DataLoader, server
        def epoch():
            loader = DataLoader(range(6), 2, num_workers=2, multiprocessing_context="spawn")
            return [batch.tolist() for batch in loader], server._server.pid
        if __name__ == "__main__":
            batches, first = epoch()
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    assert server._server is None
                    again, second = epoch()
                    assert again == batches and first != second
                    server.stop()
                    code = 0
                finally:
                    os._exit(code)
            assert os.waitpid(pid, 0)[1] == 0
            assert epoch() == (batches, first)
        """,
        folder=tmp_path,
    )
    ends_well(process)
