"""Heaps, scans and memory against real calls: under Wine, and on Windows."""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import sys
import time

import pytest

import toolhelp as th
from children import running as started_child
from toolhelp import raw

pytestmark = pytest.mark.needs("windows-calls")


class Heap:
    """A heap of its own, filled through ctypes."""

    def __init__(self):
        self.kernel = kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        pointer, size, word = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint
        kernel.HeapCreate.restype = kernel.HeapAlloc.restype = pointer
        kernel.HeapCreate.argtypes = [word, size, size]
        kernel.HeapAlloc.argtypes = [pointer, word, size]
        kernel.HeapFree.argtypes = [pointer, word, pointer]
        kernel.HeapDestroy.argtypes = [pointer]
        self.handle = kernel.HeapCreate(0, 0, 0)

    def alloc(self, size):
        address = self.kernel.HeapAlloc(self.handle, 0, size)
        assert address
        return address

    def free(self, address):
        assert self.kernel.HeapFree(self.handle, 0, address)


@pytest.fixture
def heap():
    made = Heap()
    yield made
    made.kernel.HeapDestroy(made.handle)


@pytest.fixture
def children():
    started = []

    def start(count, code="input()"):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        for _ in range(count):
            one = started_child([sys.executable, "-S", "-E", "-c", code], **pipes)
            started.append(stack.enter_context(one))
        return started

    with contextlib.ExitStack() as stack:
        yield start


def test_own_heaps_are_those_of_the_system():
    kernel = ctypes.WinDLL("kernel32")
    kernel.GetProcessHeap.restype = ctypes.c_void_p
    handles = (ctypes.c_void_p * 1000)()
    count = kernel.GetProcessHeaps(1000, handles)
    found = th.heaps()
    assert list(found["heap_id"]) == list(handles[:count])
    assert [h.heap_id for h in found if h.is_default] == [kernel.GetProcessHeap()]
    assert set(found["pid"]) == {os.getpid()}


def test_two_thousand_blocks_of_known_sizes_and_addresses(heap):
    known = {}
    for i in range(2000):
        size = 1 + i * 7 % 4000
        known[heap.alloc(size)] = size
    found = th.heap_blocks(heap.handle)
    busy = {b.address: b.size for b in found if b.kind == "busy"}
    assert {address: busy.get(address) for address in known} == known
    assert "region" in set(found["kind"])
    assert not any(found["approximate"])
    gone = list(known)[::2]
    for address in gone:
        heap.free(address)
    left = {b.address for b in th.heap_blocks(heap.handle) if b.kind == "busy"}
    assert left.isdisjoint(gone)
    assert left.issuperset(set(known) - set(gone))


@pytest.mark.parametrize("count", [100_000, 800_000])
def test_many_small_blocks_are_all_there(heap, count):
    alloc, handle = heap.kernel.HeapAlloc, heap.handle
    known = {alloc(handle, 0, 2) for _ in range(count)}
    assert len(known) == count
    found = th.heap_blocks(handle)
    busy = [a for a, kind in zip(found["address"], found["kind"], strict=True) if kind == "busy"]
    assert known <= set(busy)
    sizes = [s for s in th.heap_sizes() if s.heap_id == handle and s.size_class == 16]
    assert sizes[0].blocks >= count


def test_summary_adds_up(heap):
    for size in (10, 100, 1000):
        heap.alloc(size)
    (row,) = [s for s in th.heap_summary() if s.heap_id == heap.handle]
    blocks = th.heap_blocks(heap.handle)
    busy = [b.size for b in blocks if b.kind == "busy"]
    free = [b.size for b in blocks if b.kind == "free"]
    assert (row.busy_blocks, row.busy) == (len(busy), sum(busy))
    assert (row.free_blocks, row.free, row.largest_free) == (len(free), sum(free), max(free))
    assert row.busy >= 1110
    assert row.committed > 0


def test_the_walk_while_other_threads_allocate(heap):
    import threading

    stop = threading.Event()

    def churn():
        while not stop.is_set():
            heap.free(heap.alloc(64))

    workers = [threading.Thread(target=churn) for _ in range(3)]
    for worker in workers:
        worker.start()
    try:
        for _ in range(200):
            assert len(th.heap_blocks(heap.handle)) > 0
        default = next(h.heap_id for h in th.heaps() if h.is_default)
        for _ in range(50):
            assert len(th.heap_blocks(default)) > 0
    finally:
        stop.set()
        for worker in workers:
            worker.join()


def test_what_is_no_heap():
    with pytest.raises(th.ToolhelpError) as caught:
        th.heap_blocks(0x12345678)
    assert caught.value.winerror == 6


@pytest.mark.needs("wine")
def test_unfinished_calls_of_wine_are_refused(heap, children):
    (child,) = children(1)
    for call in (
        lambda: raw.Heap32First(0, heap.handle),
        lambda: th.heaps(method="toolhelp"),
        lambda: th.heap_blocks(heap.handle, method="toolhelp"),
        lambda: th.heaps(child.pid, allow_injection=True),
        lambda: th.heap_summary(child.pid, allow_injection=True),
    ):
        with pytest.raises(th.UnsupportedPlatform, match="Wine"):
            call()
    capable = th.capabilities()
    assert capable["own_heaps"]
    assert not capable["other_heaps"]


def test_injection_is_refused_without_consent(children):
    (child,) = children(1)
    with pytest.raises(th.InjectionRefused):
        th.heaps(child.pid)


READY = "print('ready', flush=True);input()"


def running(started):
    """The ids of the children that run. Nobody else gets them while `started` holds the handles."""
    return {child.pid for child in started if child.poll() is None}


def test_a_scan_of_a_hundred_processes(children):
    started = children(100, READY)
    said = {child.pid: child.stdout.readline().strip() for child in started}
    assert set(said.values()) == {b"ready"}, said
    pids = running(started)
    assert len(pids) == 100
    # Others come and go: Wine lists them for a moment without any module. Ours are always there.
    for _ in range(20):
        s = th.snapshot(modules=True, identity=True)
        users = s.who_uses("kernel32.dll")
        assert running(started) == pids, "a child has exited by itself"
        assert pids <= set(s.processes["pid"])
        assert pids <= set(s.modules["pid"])
        assert pids <= set(users.pids)
        assert pids.isdisjoint(s.errors["pid"])
        asked = set(s.modules["pid"]) | set(s.errors["pid"])
        if asked == set(s.processes["pid"]):
            break
        time.sleep(0.2)
    assert asked == set(s.processes["pid"])
    rows = {p.pid: p for p in s.processes}
    now = time.time_ns()
    for pid in pids:
        assert rows[pid].path.lower() == sys.executable.lower()
        assert 0 < now - rows[pid].create_time < 600 * 10**9
        assert rows[pid].machine == "x64"
    tree = s.tree()
    assert pids <= {n.pid for n in tree.children(os.getpid())}
    assert {tree.node(pid).link for pid in pids} == {"live"}


def test_started_and_exited_processes_are_seen(children):
    before = th.snapshot(identity=True)
    (child,) = children(1)
    middle = th.snapshot(identity=True)
    assert child.pid in before.diff(middle).started["pid"]
    child.kill()
    child.wait()
    for _ in range(200):  # Wine takes a moment to forget it
        after = th.snapshot(identity=True)
        if child.pid not in set(after.processes["pid"]):
            break
        time.sleep(0.05)
    assert child.pid in middle.diff(after).exited["pid"]


def test_saved_here_read_here(tmp_path):
    s = th.snapshot(modules=True, identity=True, heaps="sizes")
    s.save(tmp_path / "a.snap", "compact")
    loaded = th.load_snapshot(tmp_path / "a.snap")
    assert loaded.modules == s.modules
    assert loaded.processes == s.processes
    assert loaded.heap_sizes == s.heap_sizes


def test_memory_of_this_process():
    data = ctypes.create_string_buffer(b"known bytes")
    address = ctypes.addressof(data)
    assert th.read_memory(os.getpid(), address, 11) == b"known bytes"
    assert th.read_memory(None, address, 11) == b"known bytes"
    assert raw.Toolhelp32ReadProcessMemory(0, address, 11) == b"known bytes"
    for read in (th.read_memory, raw.Toolhelp32ReadProcessMemory):
        with pytest.raises(th.ToolhelpError) as caught:
            read(os.getpid(), 0x10, 8)
        assert caught.value.winerror in (998, 299)


def test_memory_at_a_boundary():
    kernel = ctypes.WinDLL("kernel32")
    kernel.VirtualAlloc.restype = ctypes.c_void_p
    kernel.VirtualAlloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint, ctypes.c_uint]
    kernel.VirtualFree.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint]
    # Far from everything: Wine keeps pages around its own areas that read as zeros.
    base = kernel.VirtualAlloc(0x5000_0000_0000, 0x3000, 0x3000, 4)
    assert base == 0x5000_0000_0000
    try:
        ctypes.memset(base, 0x5A, 0x3000)
        with pytest.raises(th.PartialCopy) as caught:
            th.read_memory(os.getpid(), base + 0x10, 0x20000)
        assert caught.value.data == b"\x5a" * 0x2FF0
        assert th.read_memory(None, base + 0x2FFF, 0x2000, partial=True) == b"\x5a"
    finally:
        kernel.VirtualFree(base, 0, 0x8000)


def test_memory_of_another_process(children):
    code = (
        "import ctypes,sys;b=ctypes.create_string_buffer(b'of a child');"
        "print(ctypes.addressof(b),flush=True);input()"
    )
    (child,) = children(1, code)
    address = int(child.stdout.readline())
    with th.ProcessMemory(child.pid) as memory:
        assert memory.read(address, 10) == b"of a child"
    child.kill()
    child.wait()


def test_the_privilege_goes_back():
    th._core.debug_privilege(False)  # psutil, once imported, has switched it on
    with th.debug_privilege() as granted:
        assert granted in (True, False)
    assert th._core.debug_privilege(False) in (False, None)
