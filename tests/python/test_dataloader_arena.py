"""Without these, two workers could be given one slot, memory could grow without end, and a death could lock all out."""

from __future__ import annotations

import errno
import itertools
import multiprocessing
import os
import random
import signal

import pytest

pytest.importorskip("torch")
from hypothesis import given
from hypothesis import strategies as st
from stoker.torch import arena
from stoker.torch.arena import FREE, HEAD, PAGE, Memory, Pool, Reader, Seat, Writer


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(1, 5 * PAGE), st.booleans()),
        min_size=1,
        max_size=60,
    ),
    st.integers(PAGE, 20 * PAGE),
)
def test_slots_in_use_never_overlap_and_stay_under_the_ceiling(steps, ceiling):
    memory = Memory()
    writers = [Writer(memory, ceiling) for _ in range(3)]
    live = []
    for worker, size, release in steps:
        if release and live:
            number = live.pop(0)[0]
            memory.set_state(number, FREE)
        slot = writers[worker].acquire(size)
        if slot is None:
            continue
        assert slot.capacity >= size
        live.append((slot.number, slot.offset, slot.capacity))
        places = sorted((offset, offset + capacity) for _, offset, capacity in live)
        assert places[0][0] >= HEAD
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(places))
        assert memory.size() <= ceiling
        assert sum(capacity for _, _, capacity in live) <= memory.size()
    memory.close()


def test_a_slot_is_used_again_by_whichever_worker_is_next():
    memory = Memory()
    one, two = Writer(memory, 1 << 20), Writer(memory, 1 << 20)
    slot = one.acquire(3 * PAGE)
    slot.buffer[:5] = b"whole"
    one.publish(slot)
    other = two.acquire(3 * PAGE)
    assert other.number != slot.number
    shown = Reader(memory).lease(slot.number, slot.offset, slot.capacity)
    assert bytes(shown[:5]) == b"whole"
    del shown
    assert two.acquire(PAGE).number == slot.number
    memory.close()


def test_slots_that_are_too_small_are_given_back_to_the_system():
    memory = Memory()
    writer = Writer(memory, 1 << 30)
    small = [writer.acquire(64 * PAGE) for _ in range(4)]
    for slot in small:
        writer.give_back(slot)
    before = os.fstat(memory.fd).st_blocks
    large = writer.acquire(100 * PAGE)
    assert large.capacity == 113 * PAGE  # some room, as sizes seem to vary
    assert os.fstat(memory.fd).st_blocks * 512 <= before * 512 - 256 * PAGE + 120 * PAGE
    assert memory.size() == large.capacity
    memory.close()


def test_no_room_costs_nothing():
    memory = Memory()
    writer = Writer(memory, 4 * PAGE)
    slot = writer.acquire(4 * PAGE)
    assert writer.acquire(1) is None
    writer.give_back(slot)
    assert writer.acquire(4 * PAGE) is not None
    memory.close()


def hammer(memory, worker, rounds):
    """Take slots, write one's number all over each, look again, give them back."""
    draw = random.Random(worker)
    writer = Writer(memory, 64 * PAGE)
    held = []
    for _ in range(rounds):
        slot = writer.acquire(draw.randint(1, 3 * PAGE))
        if slot is not None:
            slot.buffer[:] = bytes([worker]) * slot.capacity
            held.append(slot)
        if len(held) > 3 or slot is None:
            draw.shuffle(held)
            if held:
                back = held.pop()
                if back.buffer[:] != bytes([worker]) * back.capacity:
                    os._exit(1)
                writer.give_back(back)
    os._exit(0)


def test_workers_never_get_the_same_slot():
    memory = Memory()
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=hammer, args=(memory, n, 1500)) for n in range(1, 5)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * 4
    memory.close()


def die_inside(memory):
    with memory.lock():
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_death_inside_the_lock_locks_nobody_out():
    memory = Memory()
    context = multiprocessing.get_context("fork")
    worker = context.Process(target=die_inside, args=(memory,))
    worker.start()
    worker.join(60)
    assert worker.exitcode == -signal.SIGKILL
    worker = context.Process(target=hammer, args=(memory, 1, 10))
    worker.start()
    worker.join(60)
    assert worker.exitcode == 0
    memory.close()


def test_mappings_that_go_do_not_give_the_lock_back():
    """The system takes back all locks of a process on a file when it closes any descriptor of it."""
    memory = Memory()
    writer = Writer(memory, 1 << 30)
    slot = writer.acquire(PAGE)
    writer.give_back(slot)
    with memory.lock():
        writer._retire(slot.number)
        del slot
        child = os.fork()
        if child == 0:
            import fcntl

            try:
                fcntl.lockf(memory.gate, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os._exit(0)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    memory.close()


def test_a_worker_tells_its_memory():
    memory = Memory()
    seats = [Seat(memory, 0), Seat(memory, 1)]
    assert seats[1].noted_memory() == (0, 0)
    seats[1].note_memory()
    now, peak = seats[1].noted_memory()
    assert 1 << 20 < now <= peak
    assert seats[0].noted_memory() == (0, 0)
    memory.close()


def test_a_pool_keeps_to_its_ceiling():
    pool = Pool(3 * PAGE)
    first = pool.lease(2 * PAGE)
    assert pool.lease(2 * PAGE) is None
    del first
    assert pool.lease(PAGE) is not None


def test_a_pool_for_batches_that_grow_keeps_no_old_buffers():
    pool = Pool(1 << 40)
    for pages in range(1, 50):
        shown = pool.lease(pages * PAGE)
        other = pool.lease(PAGE)
        del shown, other
    assert pool.total <= 2 * 50 * PAGE
    kept = [pool.lease(60 * PAGE) for _ in range(5)]
    assert all(part is not None for part in kept)


def test_a_slot_that_cannot_be_mapped_takes_no_memory(monkeypatch):
    memory = Memory()
    writer = Writer(memory, 1 << 30)

    def fails(*_):
        raise OSError(errno.ENOMEM, "no address space")

    with monkeypatch.context() as patched:
        patched.setattr(arena, "map_file", fails)
        assert writer.acquire(100 * PAGE) is None
    assert os.fstat(memory.fd).st_blocks * 512 <= HEAD
    assert memory.size() == 0
    assert writer.acquire(100 * PAGE) is not None
    assert os.fstat(memory.fd).st_blocks * 512 >= 100 * PAGE


@pytest.mark.parametrize(
    ("own", "file"),
    [("0::/job/step\n", "job/memory.max"), ("4:memory:/job\n", "memory/job/memory.limit_in_bytes")],
)
def test_the_ceiling_is_half_of_the_least_limit(tmp_path, own, file):
    (tmp_path / "own").write_text(own)
    free = arena.default_ceiling(str(tmp_path), str(tmp_path / "own"))
    limited = tmp_path / file
    limited.parent.mkdir(parents=True)
    limited.write_text("67108864\n")
    assert arena.default_ceiling(str(tmp_path), str(tmp_path / "own")) == 32 << 20 < free
