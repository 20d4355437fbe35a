"""A CUDA driver made of Python for the tests of pinned memory: a queue of copies that run when the test says so."""

from __future__ import annotations

import ctypes
import pathlib
import threading
import weakref
from collections import defaultdict

import torch
from stoker.torch import pinned
from stoker.torch.pinned import DriverError


def mapped(address, size):
    """Is the whole range mapped into this process?"""
    end = address + size
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        low, high = (int(n, 16) for n in line.split()[0].split("-"))
        if low <= address < high:
            address = high
        if address >= end:
            return True
    return False


class FakeDriver:
    """The methods of `pinned.Driver`, and devices that read late.

    `copy` queues a read of a tensor's memory; `run` lets some of them happen and checks what they see.
    """

    def __init__(self, devices=1, active=(0,)):
        self.count = devices
        self.in_use = set(active)
        self.registered = {}  # size by address
        self.history = []  # every address that was ever registered
        self.issued = defaultdict(int)  # copies by context
        self.ran = defaultdict(int)
        self.queues = defaultdict(list)
        self.events = {}
        self.capturing = False  # what torch says of the current stream
        self.refuse_record = False  # a stream that torch does not know of is being captured
        self.fail = {}  # error by method
        self.threads = set()
        self.records = 0
        self.wrong = []
        self.shown = []  # tensors whose memory has to stay registered

    def _called(self, name):
        self.threads.add(threading.get_ident())
        if name in self.fail:
            raise DriverError(f"{name}: CUDA_ERROR_{self.fail[name]}")

    def devices(self):
        self._called("devices")
        return self.count

    def active(self, device):
        self._called("active")
        return device in self.in_use

    def retain(self, device):
        self._called("retain")
        self.in_use.add(device)
        return 1000 + device

    def register(self, context, address, size):
        self._called("register")
        assert mapped(address, size)
        assert address % 4096 == 0
        assert address not in self.registered
        self.registered[address] = size
        self.history.append(address)

    def unregister(self, context, address):
        self._called("unregister")
        size = self.registered.pop(address)  # a second time is a KeyError
        assert mapped(address, size)
        for ref in self.shown:
            tensor = ref()
            assert tensor is None or not address <= tensor.data_ptr() < address + size
        for queue in self.queues.values():
            assert not [place for place, _, _ in queue if address <= place < address + size]

    def event(self, context):
        self._called("event")
        event = len(self.events) + 1
        self.events[event] = (context, 0)
        return event

    def record(self, context, event):
        self._called("record")
        self.records += 1
        if self.refuse_record:
            return False
        assert self.events[event][0] == context
        self.events[event] = (context, self.issued[context])
        return True

    def done(self, context, event):
        self._called("done")
        return self.ran[context] >= self.events[event][1]

    def is_pinned(self, tensor):
        at = tensor.data_ptr()
        return any(low <= at < low + size for low, size in self.registered.items())

    def watch(self, tensor):
        self.shown.append(weakref.ref(tensor))
        return tensor

    def copy(self, tensor, device=0):
        """What tensor.to("cuda", non_blocking=True) leaves behind."""
        tensor = tensor.contiguous()
        size = tensor.numel() * tensor.element_size()
        expected = ctypes.string_at(tensor.data_ptr(), size)
        context = 1000 + device
        self.in_use.add(device)
        self.issued[context] += 1
        self.queues[context].append((tensor.data_ptr(), size, expected))

    def run(self, n=None, device=0):
        """Let the device do its next n copies; all of them by default."""
        context = 1000 + device
        queue = self.queues[context]
        for _ in range(len(queue) if n is None else min(n, len(queue))):
            address, size, expected = queue.pop(0)
            if ctypes.string_at(address, size) != expected:
                self.wrong.append(self.ran[context])
            self.ran[context] += 1


class FakeCuda:
    """torch as it would be with one CUDA device, as far as its loader asks."""

    def __init__(self, monkeypatch, driver):
        self.driver = driver
        self.copies = 0  # tensors that were pinned by a copy
        registrar = pinned.Registrar(driver, lambda: driver.capturing, lambda: 0)
        self.registrar = registrar
        monkeypatch.setattr(pinned, "_of_the_process", lambda: registrar)
        monkeypatch.setattr(torch.version, "cuda", "13.0")
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        accelerator = torch.accelerator
        monkeypatch.setattr(accelerator, "is_available", lambda: True)
        monkeypatch.setattr(accelerator, "current_accelerator", lambda: torch.device("cuda"))
        monkeypatch.setattr(accelerator, "current_device_index", lambda: 0)
        monkeypatch.setattr(accelerator, "set_device_index", lambda index: None)

        def pin_memory(tensor, device=None):
            if driver.is_pinned(tensor):
                return tensor
            self.copies += 1
            return tensor.clone()

        monkeypatch.setattr(torch.Tensor, "pin_memory", pin_memory)
