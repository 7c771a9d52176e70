"""Heap sessions on Windows itself, elevated: a program with known allocations, traced.

The recorded traces stay in `tests/_build/recorded`, which the workflow keeps as an artifact. There
is one heap session per machine: these tests run one after another and fail if somebody else's runs.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import toolhelp as th
from children import running
from toolhelp import _core

pytestmark = [pytest.mark.needs("windows", "elevated")]

# In a virtual environment python.exe only starts another: that one does the work.
PYTHON = getattr(sys, "_base_executable", sys.executable)
KEPT = Path(__file__).resolve().parents[1] / "_build" / "recorded"
HEAP_GUID = struct.pack("<IHH", 0x222962AB, 0x6180, 0x4B88) + bytes.fromhex("a825346b75f2a24a")

# 3,000 blocks of 4,321 bytes of which 100 are never freed, 500 of 777 that grow to 1,777, and one
# heap that is destroyed with 50 blocks of 2,345 in it. Sizes that nobody else uses.
PROGRAM = r"""
import ctypes, sys, time
k = ctypes.windll.kernel32
k.GetProcessHeap.restype = k.HeapAlloc.restype = k.HeapReAlloc.restype = ctypes.c_void_p
k.HeapCreate.restype = ctypes.c_void_p
k.HeapCreate.argtypes = [ctypes.c_uint32, ctypes.c_size_t, ctypes.c_size_t]
k.HeapAlloc.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_size_t]
k.HeapReAlloc.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t]
k.HeapFree.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p]
k.HeapDestroy.argtypes = [ctypes.c_void_p]
def work():
    heap = k.GetProcessHeap()
    blocks = [k.HeapAlloc(heap, 0, 4321) for _ in range(3000)]
    for block in blocks[100:]:
        k.HeapFree(heap, 0, block)
    grown = [k.HeapReAlloc(heap, 0, k.HeapAlloc(heap, 0, 777), 1777) for _ in range(500)]
    for block in grown:
        k.HeapFree(heap, 0, block)
    other = k.HeapCreate(0, 0, 0)
    for _ in range(50):
        k.HeapAlloc(other, 0, 2345)
    k.HeapDestroy(other)
if len(sys.argv) > 1:
    time.sleep(float(sys.argv[1]))
work()
sys.exit(7)
"""


@pytest.fixture(scope="module", autouse=True)
def alone():
    """Nothing of ours from an earlier run, and nobody else's heap session."""
    th.stop_stale_sessions()
    others = [row.name for row in th.heap_sessions() if row.is_heap]
    assert others == [], "another heap session runs on this machine"
    KEPT.mkdir(parents=True, exist_ok=True)


@pytest.fixture
def program(tmp_path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def fresh(name: str) -> Path:
    path = KEPT / name
    for old in (path, Path(f"{path}.modules.json")):
        old.unlink(missing_ok=True)
    return path


def counts(batches) -> Counter[tuple[str, int]]:
    """How many events of each kind and size."""
    found: Counter[tuple[str, int]] = Counter()
    for batch in batches:
        found.update(zip(batch["kind"], batch["size"], strict=True))
    return found


def check_truth(found: Counter[tuple[str, int]]) -> None:
    assert found["alloc", 4321] == 3000
    assert found["alloc", 777] == 500
    assert found["realloc", 1777] == 500
    assert found["alloc", 2345] == 50


def check_figures(analysis) -> None:
    sizes = [row for row in analysis.stacks if row.allocated_bytes >= 3000 * 4321]
    assert sizes, "no stack holds the 3,000 blocks"
    assert analysis.live.bytes >= 100 * 4321
    assert analysis.peak.bytes >= 3000 * 4321


def test_a_file_of_a_launched_program(program):
    path = fresh("launched.etl")
    with th.HeapTrace.launch([PYTHON, str(program)], path=path) as trace:
        assert trace.wait(120) == 7
        assert trace.targets_gone()
    stats = trace.stats()
    assert stats.lossless, stats.advice
    with th.open_trace(path) as opened:
        assert opened.quality["complete"], opened.quality["messages"]
        check_truth(counts(opened.heap_events()))
        assert {row.pid for row in opened.processes} == {trace.child_pid}
        names = {row.name.lower() for row in opened.modules}
        assert {"ntdll.dll", "kernel32.dll"} <= names
        analysis = opened.analyze()
        check_figures(analysis)
        assert opened.quality["stack_coverage"] > 0.99
        modules = {frame.module for s in analysis.stacks for frame in analysis.frames(s)}
        assert any(name and name.lower() == "ntdll.dll" for name in modules)


def test_stacks_on_frees_and_nothing_else(program):
    path = fresh("frees.etl")
    words = [PYTHON, str(program)]
    with th.HeapTrace.launch(words, path=path, stacks=["free"]) as trace:
        trace.wait(120)
    with th.open_trace(path) as opened:
        with_stack: Counter[str] = Counter()
        for batch in opened.heap_events():
            with_stack.update(row.kind for row in batch if row.stack_id is not None)
    assert set(with_stack) == {"free"}


@pytest.mark.parametrize("compress", [False, True])
def test_compressed_or_not(program, compress):
    path = fresh(f"compressed-{compress}.etl")
    words = [PYTHON, str(program)]
    with th.HeapTrace.launch(words, path=path, compress=compress) as trace:
        trace.wait(120)
    with th.open_trace(path) as opened:
        assert opened.info["file"]["compressed"] == trace.compressed
        check_truth(counts(opened.heap_events()))


def test_live_events(program):
    with th.HeapTrace.launch([PYTHON, str(program)]) as trace:
        found = counts(trace.events(timeout=60))
    assert trace.stats().lossless
    check_truth(found)
    assert trace.exit_code == 7


def test_live_figures(program):
    with th.HeapTrace.launch([PYTHON, str(program)]) as trace:
        trace.analyze()
        trace.wait(120)
    assert trace.stats().lossless
    analysis = trace.analyze()
    check_figures(analysis)
    assert analysis.quality["stack_coverage"] > 0.99


def test_live_and_file_of_one_session_agree(program):
    path = fresh("both.etl")
    with th.HeapTrace.launch([PYTHON, str(program)], path=path, live=True) as trace:
        trace.analyze()
        trace.wait(120)
    assert trace.stats().lossless
    live = trace.analyze()
    with th.open_trace(path) as opened:
        file = opened.analyze()
    assert live.totals == file.totals
    assert live.live == file.live
    assert live.peak[:2] == file.peak[:2]


@pytest.mark.parametrize("count", [1, 2, 3, 50])
def test_several_processes(program, count):
    """How many processes a session takes is not documented."""
    words = [PYTHON, str(program), "15"]
    with contextlib.ExitStack() as stack:
        start = (running(words, stdin=subprocess.DEVNULL) for _ in range(count))
        children = [stack.enter_context(one) for one in start]
        pids = [child.pid for child in children]
        path = fresh(f"{count}-processes.etl")
        with th.HeapTrace(pids, path=path, stacks=()) as trace:
            for child in children:
                child.wait(300)
            assert trace.stats().lossless
        with th.open_trace(path) as opened:
            by_pid: Counter[int] = Counter()
            for batch in opened.heap_events():
                by_pid.update(row.pid for row in batch if row.size == 4321 and row.kind == "alloc")
        assert by_pid == dict.fromkeys(pids, 3000)


def test_updating_the_processes(program):
    """Of two processes the second is traced from the update on."""
    words = [PYTHON, str(program), "6"]
    path = fresh("update.etl")
    with (
        running(words, stdin=subprocess.DEVNULL) as first,
        running(words, stdin=subprocess.DEVNULL) as second,
        th.HeapTrace([first.pid], path=path) as trace,
    ):
        trace.update(pids=[first.pid, second.pid], stacks=["alloc"])
        assert trace.pids == (first.pid, second.pid)
        first.wait(120)
        second.wait(120)
    with th.open_trace(path) as opened:
        found: Counter[int] = Counter()
        for batch in opened.heap_events():
            found.update(row.pid for row in batch if row.size == 4321 and row.kind == "alloc")
    assert found == {first.pid: 3000, second.pid: 3000}


def test_by_image(program, tmp_path):
    """A copy of the interpreter's launcher under a name of its own."""
    import shutil

    folder = Path(sys.base_prefix)
    image = "toolhelp-heap-test.exe"
    copy = folder / image
    try:
        shutil.copy2(folder / "python.exe", copy)
    except OSError as error:
        pytest.skip(f"python.exe cannot be copied: {error}")
    try:
        path = fresh("image.etl")
        with th.HeapTrace.by_image(image, path=path) as trace:
            child = subprocess.run([str(copy), str(program)], stdin=subprocess.DEVNULL, check=False)
            assert child.returncode == 7
            assert trace.stats().lossless
        with th.open_trace(path) as opened:
            check_truth(counts(opened.heap_events()))
        from toolhelp.image_switch import OPTIONS

        assert _core.registry_number(f"{OPTIONS}\\{image}", "TracingFlags") is None
    finally:
        copy.unlink()


def test_a_companion(program):
    path = fresh("with-companion.etl")
    words = [PYTHON, str(program)]
    with th.HeapTrace.launch(words, path=path, companion=True) as trace:
        trace.wait(120)
    with th.open_trace(trace.companion_path) as opened:
        lives = [row for row in opened.processes if row.pid == trace.child_pid]
        assert lives
        assert lives[0].exit_status == 7
        assert any(row.pid == trace.child_pid for row in opened.modules)


def test_a_second_session_and_a_stale_one(program, tmp_path):
    """A process that is killed leaves its session; it is named, seen as stale, and stopped."""
    source = (
        "import os, sys, toolhelp as th\n"
        "t = th.HeapTrace([os.getpid()], path=sys.argv[1]).start()\n"
        "print(t.name, flush=True)\n"
        "os._exit(0)\n"
    )
    words = [sys.executable, "-c", source, str(tmp_path / "stale.etl")]
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    )
    name = done.stdout.strip()
    assert [(row.name, row.stale) for row in th.heap_sessions()] == [(name, True)]
    with pytest.raises(th.SessionExists, match=name):
        th.HeapTrace([os.getpid()], path=tmp_path / "second.etl").start()
    assert th.stop_stale_sessions() == [name]
    assert len(th.heap_sessions()) == 0


def test_a_target_that_is_gone(tmp_path):
    with pytest.raises(th.ProcessNotFound):
        th.HeapTrace([0xFFFFFFFC], path=tmp_path / "x.etl").start()


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(th.SessionError):
        th.HeapTrace([os.getpid()], path=tmp_path / "no" / "x.etl", modules=False).start()
    assert len(th.heap_sessions()) == 0


# ----- against ProcessTrace -----------------------------------------------------------------------


class Header(ctypes.Structure):
    _fields_ = [
        ("Size", ctypes.c_uint16), ("HeaderType", ctypes.c_uint16), ("Flags", ctypes.c_uint16),
        ("EventProperty", ctypes.c_uint16), ("ThreadId", ctypes.c_uint32),
        ("ProcessId", ctypes.c_uint32), ("TimeStamp", ctypes.c_int64),
        ("ProviderId", ctypes.c_ubyte * 16), ("Id", ctypes.c_uint16), ("Version", ctypes.c_uint8),
        ("Channel", ctypes.c_uint8), ("Level", ctypes.c_uint8), ("Opcode", ctypes.c_uint8),
        ("Task", ctypes.c_uint16), ("Keyword", ctypes.c_uint64), ("Time", ctypes.c_uint64),
        ("ActivityId", ctypes.c_ubyte * 16),
    ]  # fmt: skip


class Record(ctypes.Structure):
    _fields_ = [
        ("EventHeader", Header), ("Cpu", ctypes.c_uint16), ("LoggerId", ctypes.c_uint16),
        ("ExtendedDataCount", ctypes.c_uint16), ("UserDataLength", ctypes.c_uint16),
        ("ExtendedData", ctypes.c_void_p), ("UserData", ctypes.c_void_p),
        ("UserContext", ctypes.c_void_p),
    ]  # fmt: skip


def as_process_trace_says(path: Path) -> list[tuple[int, int, int, int, int, int, bytes]]:
    """(raw time, cpu, pid, tid, opcode, version, payload) of every heap event, by OpenTraceW and
    ProcessTrace with raw time stamps."""
    assert ctypes.sizeof(ctypes.c_void_p) == 8, "the offsets below are those of 64 bits"
    assert ctypes.sizeof(Record) == 0x70
    found = []

    def on_record(pointer) -> None:
        record = pointer.contents
        header = record.EventHeader
        if bytes(header.ProviderId) == HEAP_GUID:
            cpu = record.Cpu if header.Flags & 0x200 else record.Cpu & 0xFF
            payload = ctypes.string_at(record.UserData, record.UserDataLength)
            found.append((header.TimeStamp, cpu, header.ProcessId, header.ThreadId,
                          header.Opcode, header.Version, payload))  # fmt: skip

    callback = ctypes.WINFUNCTYPE(None, ctypes.POINTER(Record))(on_record)
    logfile = ctypes.create_string_buffer(0x1C0)
    name = ctypes.create_unicode_buffer(str(path))
    struct.pack_into("<Q", logfile, 0, ctypes.addressof(name))
    struct.pack_into("<I", logfile, 0x1C, 0x10000000 | 0x1000)  # event records, raw time
    struct.pack_into("<Q", logfile, 0x1A8, ctypes.cast(callback, ctypes.c_void_p).value)
    advapi = ctypes.windll.advapi32
    advapi.OpenTraceW.restype = ctypes.c_uint64
    handle = ctypes.c_uint64(advapi.OpenTraceW(logfile))
    assert handle.value != 2**64 - 1, ctypes.GetLastError()
    code = advapi.ProcessTrace(ctypes.byref(handle), 1, None, None)
    advapi.CloseTrace(handle)
    assert code == 0
    return found


def test_our_decode_is_that_of_process_trace(program):
    path = fresh("compared.etl")
    with th.HeapTrace.launch([PYTHON, str(program)], path=path) as trace:
        trace.wait(120)
    theirs = as_process_trace_says(path)
    with th.open_trace(path) as opened:
        ours = []
        for batch in opened.events(["heap"]):
            ours += [(row.cpu, row.pid, row.tid, row.opcode, row.version, row.payload)
                     for row in batch]  # fmt: skip
        times = [row.time_ns for batch in opened.events(["heap"]) for row in batch]
        frequency_counts = opened.info["counts"]["heap_events"]
    assert len(ours) == len(theirs) > 8000
    key = lambda row: (row[0], row[1], row[2], row[-1])  # noqa: E731
    assert sorted(ours, key=key) == sorted((row[1:] for row in theirs), key=key)
    assert sum(frequency_counts.values()) == len(ours)
    raw = sorted(row[0] for row in theirs)
    _, frequency = _core.raw_clock(1)
    span = (raw[-1] - raw[0]) * 1_000_000_000 // frequency
    assert abs((max(times) - min(times)) - span) <= 1


def test_the_session_survives_a_flush_and_shows_figures(program):
    path = fresh("flushed.etl")
    words = [PYTHON, str(program), "2"]
    with th.HeapTrace.launch(words, path=path) as trace:
        time.sleep(1)
        trace.flush()
        stats = trace.stats()
        assert stats.buffers >= stats.min_buffers > 0
        assert stats.buffer_kb == 1024
        trace.wait(120)
    assert trace.stats().buffers_written > 0
