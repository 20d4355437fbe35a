"""Without these: a handle or size cut to 32 bits, a context left current, an error of the driver taken for success."""

from __future__ import annotations

import logging
import mmap
import pathlib
import shutil
import subprocess
import sys
import threading

import pytest

torch = pytest.importorskip("torch")

from stoker.torch import pinned  # noqa: E402
from stoker.torch.pinned import Driver, DriverError, Registrar  # noqa: E402

HERE = pathlib.Path(__file__).parent
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(COMPILER is None, reason="no C compiler"),
    pytest.mark.skipif(sys.maxsize < 2**32, reason="handles of 64 bits"),
]

CONTEXT = 0xC0FFEE0012345678
EVENT = 0xE0E0E0E011112222


def build(folder, *flags):
    library = folder / "libcuda.so.1"
    source = HERE / "fake_cuda_driver.c"
    command = [COMPILER, "-shared", "-fPIC", "-Wall", "-Werror", *flags, "-o", library, source]
    subprocess.run(command, check=True)
    return str(library)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return build(tmp_path_factory.mktemp("cuda"))


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """What the driver was asked since the last look, line by line."""
    log = tmp_path / "log"
    log.touch()
    monkeypatch.setenv("FAKE_CUDA_LOG", str(log))

    def read():
        lines = log.read_text().splitlines()
        log.write_text("")
        return lines

    return read


def test_each_function_gets_what_it_takes(library, calls):
    driver = Driver(library)
    assert driver.devices() == 2
    assert [driver.active(device) for device in (0, 1)] == [False, True]
    assert driver.retain(1) == CONTEXT
    assert calls() == [
        "cuInit mode=0 current=0 0",
        "cuDeviceGetCount mode=0 current=0 ",
        "cuDevicePrimaryCtxGetState mode=0 current=0 0",
        "cuDevicePrimaryCtxGetState mode=0 current=0 1",
        "cuDevicePrimaryCtxRetain mode=0 current=0 1",
    ]
    inside = {
        "cuMemHostRegister": (lambda: driver.register(CONTEXT, 0x7F0123456000, 6 << 30), None),
        "cuMemHostUnregister": (lambda: driver.unregister(CONTEXT, 0x7F0123456000), None),
        "cuEventCreate": (lambda: driver.event(CONTEXT), EVENT),
        "cuCtxRecordEvent": (lambda: driver.record(CONTEXT, EVENT), True),
        "cuEventQuery": (lambda: driver.done(CONTEXT, EVENT), True),
    }
    arguments = {
        "cuMemHostRegister": "7f0123456000 180000000 1",
        "cuMemHostUnregister": "7f0123456000",
        "cuEventCreate": "2",
        "cuCtxRecordEvent": "c0ffee0012345678 e0e0e0e011112222",
        "cuEventQuery": "e0e0e0e011112222",
    }
    for name, (call, result) in inside.items():
        assert call() == result, name
        assert calls() == [
            "cuCtxPushCurrent mode=2 current=0 c0ffee0012345678",
            f"{name} mode=2 current=1 {arguments[name]}",
            "cuCtxPopCurrent mode=2 current=0 ",
        ]
    assert driver.devices() == 2
    assert "mode=0 current=0" in calls()[0]  # the thread's own mode and context are back


@pytest.mark.parametrize(
    ("function", "call"),
    [
        ("cuInit", lambda driver: driver.devices()),
        ("cuDeviceGetCount", lambda driver: driver.devices()),
        ("cuDevicePrimaryCtxGetState", lambda driver: driver.active(0)),
        ("cuDevicePrimaryCtxRetain", lambda driver: driver.retain(0)),
        ("cuCtxPushCurrent", lambda driver: driver.event(CONTEXT)),
        ("cuMemHostRegister", lambda driver: driver.register(CONTEXT, 4096, 4096)),
        ("cuMemHostUnregister", lambda driver: driver.unregister(CONTEXT, 4096)),
        ("cuEventCreate", lambda driver: driver.event(CONTEXT)),
        ("cuCtxRecordEvent", lambda driver: driver.record(CONTEXT, EVENT)),
        ("cuEventQuery", lambda driver: driver.done(CONTEXT, EVENT)),
    ],
)
def test_an_error_has_the_name_of_its_function(library, calls, monkeypatch, function, call):
    driver = Driver(library)
    monkeypatch.setenv(f"FAKE_CUDA_{function}", "700")
    with pytest.raises(DriverError, match=rf"^{function}.*: CUDA_ERROR_ILLEGAL_ADDRESS \(700\)$"):
        call(driver)
    monkeypatch.setenv(f"FAKE_CUDA_{function}", "12345")
    with pytest.raises(DriverError, match=rf"^{function}.*: error 12345$"):
        call(driver)


def test_not_ready_and_capturing_are_no_errors(library, calls, monkeypatch):
    driver = Driver(library)
    monkeypatch.setenv("FAKE_CUDA_cuEventQuery", "600")
    assert driver.done(CONTEXT, EVENT) is False
    for code in ("900", "906", "908"):
        monkeypatch.setenv("FAKE_CUDA_cuCtxRecordEvent", code)
        assert driver.record(CONTEXT, EVENT) is False
    monkeypatch.setenv("FAKE_CUDA_cuCtxRecordEvent", "600")
    with pytest.raises(DriverError):
        driver.record(CONTEXT, EVENT)


def test_a_mapping_from_end_to_end(library, calls, monkeypatch):
    registrar = Registrar(Driver(library), lambda: False, lambda: 0)
    buffer = mmap.mmap(-1, 8192)
    registration = registrar.register(buffer)
    (registered,) = [line for line in calls() if line.startswith("cuMemHostRegister")]
    address = registered.split()[3]
    assert registered.endswith(" 2000 1")
    del registration
    assert calls() == []  # a finalizer asks nothing
    monkeypatch.setenv("FAKE_CUDA_cuEventQuery", "600")
    registrar.look()
    registrar.look()
    names = [line.split()[0] for line in calls()]
    assert names.count("cuCtxRecordEvent") == 1
    assert names.count("cuEventQuery") == 2
    assert "cuMemHostUnregister" not in names
    monkeypatch.setenv("FAKE_CUDA_cuEventQuery", "0")
    thread = threading.Thread(target=registrar.look)
    thread.start()
    thread.join()
    assert [line.split()[3] for line in calls() if line.startswith("cuMemHostUnregister")] == [
        address
    ]


@pytest.fixture
def unknown(monkeypatch):
    """As in a process that has not yet looked for a driver."""
    monkeypatch.setattr(pinned, "_one", None)
    monkeypatch.setattr(pinned, "_missing", False)


def test_an_old_driver_or_none_leaves_it_to_torch(tmp_path, monkeypatch, unknown, caplog):
    made = Driver.__init__
    old = build(tmp_path, "-DOLD_DRIVER", "-DOWN_TYPES")
    for library, what in ((old, "cuCtxRecordEvent"), ("libcuda-of-nobody.so", "libcuda-of-nobody")):
        monkeypatch.setattr(pinned, "_missing", False)
        monkeypatch.setattr(Driver, "__init__", lambda self, library=library: made(self, library))
        caplog.clear()
        with caplog.at_level(logging.INFO, "stoker.torch"):
            assert pinned._of_the_process() is None
            assert pinned._of_the_process() is None
        assert len(caplog.records) == 1
        assert what in caplog.text


def test_one_registrar_for_the_process(library, monkeypatch, unknown):
    made = Driver.__init__
    monkeypatch.setattr(Driver, "__init__", lambda self: made(self, library))
    first = pinned._of_the_process()
    assert isinstance(first, Registrar)
    assert pinned._of_the_process() is first
    first.pid += 1  # as in a forked child
    assert pinned._of_the_process() is None
