"""Heaps of other processes, suspended targets, long paths: what only Windows itself can prove."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import toolhelp as th
from children import running
from toolhelp import raw

pytestmark = pytest.mark.needs("windows")

CHILD = """
import ctypes
k = ctypes.WinDLL("kernel32")
k.HeapCreate.restype = k.HeapAlloc.restype = ctypes.c_void_p
k.HeapAlloc.argtypes = [ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t]
heap = k.HeapCreate(0, 0, 0)
for _ in range(500):
    k.HeapAlloc(heap, 0, 100000)
print(heap, flush=True)
input()
"""


@pytest.fixture
def child():
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with running([sys.executable, "-c", CHILD], **pipes) as started:
        started.heap = int(started.stdout.readline())
        yield started


def test_heap_list_of_another_process(child):
    found = th.heaps(child.pid, allow_injection=True)
    assert len(found) > 0
    assert [h.is_default for h in found].count(True) == 1


def test_blocks_of_another_process_in_one_query(child):
    found = th.heap_blocks(child.heap, child.pid, allow_injection=True)
    large = [b for b in found if b.kind in ("busy", "large", "lfh") and b.size >= 100_000]
    assert len(large) == 500
    assert all(found["approximate"])
    (row,) = [
        s for s in th.heap_summary(child.pid, allow_injection=True) if s.heap_id == child.heap
    ]
    assert row.busy >= 50_000_000


def test_toolhelp_walk_of_a_small_heap_agrees(child):
    """Heap32 and the one query see the same number of busy blocks in the same heap."""
    by_query = th.heap_blocks(child.heap, child.pid, allow_injection=True)
    by_calls = th.heap_blocks(child.heap, child.pid, "toolhelp", allow_injection=True, timeout=120)
    big = [sum(1 for b in table if b.size >= 100_000) for table in (by_query, by_calls)]
    assert big[0] == big[1] == 500


def test_a_suspended_target_is_refused_and_unharmed(child):
    """T22: no query is made, and the child goes on after it is resumed."""
    ntdll = ctypes.WinDLL("ntdll")
    kernel = ctypes.WinDLL("kernel32")
    kernel.OpenProcess.restype = ctypes.c_void_p
    for call in (ntdll.NtSuspendProcess, ntdll.NtResumeProcess, kernel.CloseHandle):
        call.argtypes = [ctypes.c_void_p]
    handle = kernel.OpenProcess(0x1FFFFF, False, child.pid)
    assert ntdll.NtSuspendProcess(handle) == 0
    try:
        started = time.monotonic()
        with pytest.raises(th.InjectionRefused, match="suspended"):
            th.heap_summary(child.pid, allow_injection=True, timeout=1)
        assert time.monotonic() - started < 5
    finally:
        ntdll.NtResumeProcess(handle)
        kernel.CloseHandle(handle)
    assert len(th.heap_summary(child.pid, allow_injection=True)) > 0


def test_our_own_heaps_by_both_ways():
    by_calls = {h.heap_id for h in th.heaps(method="toolhelp")}
    assert by_calls == set(th.heaps()["heap_id"])


def test_eight_hundred_thousand_small_blocks_in_a_second():
    """T23: the recipe of a report against a library that walked them with Heap32Next."""
    kernel = ctypes.WinDLL("kernel32")
    kernel.HeapCreate.restype = kernel.HeapAlloc.restype = ctypes.c_void_p
    kernel.HeapAlloc.argtypes = [ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t]
    kernel.HeapDestroy.argtypes = [ctypes.c_void_p]
    heap = kernel.HeapCreate(0, 0, 0)
    times = []
    for count in (100_000, 700_000):
        for _ in range(count):
            kernel.HeapAlloc(heap, 0, 2)
        started = time.perf_counter()
        found = th.heap_blocks(heap)
        times.append(time.perf_counter() - started)
    kernel.HeapDestroy(heap)
    assert len(found) >= 800_000
    assert times[1] < 1
    assert times[1] < 30 * times[0]


def test_a_dll_on_a_long_path(tmp_path):
    """T10."""
    folder = tmp_path
    while len(str(folder)) < 290:
        folder = folder / ("d" * 40)
    os.makedirs("\\\\?\\" + str(folder))
    source = Path(os.environ["SYSTEMROOT"]) / "System32" / "version.dll"
    target = str(folder / "longpath.dll")
    with open("\\\\?\\" + target, "wb") as file:
        file.write(source.read_bytes())
    loaded = ctypes.WinDLL("\\\\?\\" + target)
    (row,) = [m for m in th.modules() if m.name.lower() == "longpath.dll"]
    assert row.path.lower() == target.lower()
    assert not row.path_truncated
    ctypes.windll.kernel32.FreeLibrary.argtypes = [ctypes.c_void_p]
    ctypes.windll.kernel32.FreeLibrary(loaded._handle)


def test_a_scan_accounts_for_every_process():
    """T18: rows or an error for every process, whatever the rights."""
    s = th.snapshot(modules=True)
    assert set(s.modules["pid"]) | set(s.errors["pid"]) == set(s.processes["pid"])
    assert not set(s.modules["pid"]) & set(s.errors["pid"])
    assert {0, 4} <= set(s.errors["pid"])


def test_three_thousand_threads():
    """T17."""
    code = (
        "import threading,time;threading.stack_size(65536);"
        "[threading.Thread(target=time.sleep,args=(60,),daemon=True).start() for _ in range(3000)];"
        "print(1,flush=True);input()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with running([sys.executable, "-c", code], **pipes) as child:
        child.stdout.readline()
        assert len(th.threads(child.pid)) >= 3001


def test_raw_heap_calls():
    heap = next(h.heap_id for h in th.heaps(method="toolhelp") if not h.is_default)
    first = raw.Heap32First(os.getpid(), heap)
    assert first is not None
    assert first.th32HeapID == heap
    following = raw.Heap32Next(first)
    assert following is None or following.dwResvd != first.dwResvd


def test_privilege_when_elevated():
    pytest.importorskip("ctypes")
    if not ctypes.windll.shell32.IsUserAnAdmin():
        pytest.skip("needs an elevated process")
    with th.debug_privilege() as granted:
        assert granted
