"""The same lists by toolhelp, ctypes, psutil and tlhelp32, on Windows or under Wine.

    python tests/wine/run.py -m pytest benchmarks/bench_peers.py       (Linux, through Wine)

Under Wine a row costs hundreds of microseconds in Wine's own server, so the figures compare calls
made, not speed on Windows.
"""

from __future__ import annotations

import ctypes
import os
import sys

import pytest

import toolhelp

pytestmark = pytest.mark.skipif(sys.platform != "win32", reason="needs Windows or Wine")


class ThreadEntry(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("dwSize", "cntUsage", "tid", "owner_pid")] + [
        (name, ctypes.c_int32) for name in ("base_priority", "delta_priority", "dwFlags")
    ]


class ProcessEntry(ctypes.Structure):
    _fields_ = [
        ("dwSize", ctypes.c_uint32),
        ("cntUsage", ctypes.c_uint32),
        ("pid", ctypes.c_uint32),
        ("heap", ctypes.c_size_t),
        ("module", ctypes.c_uint32),
        ("threads", ctypes.c_uint32),
        ("ppid", ctypes.c_uint32),
        ("base_priority", ctypes.c_int32),
        ("dwFlags", ctypes.c_uint32),
        ("name", ctypes.c_wchar * 260),
    ]


class ModuleEntry(ctypes.Structure):
    _fields_ = [
        ("dwSize", ctypes.c_uint32),
        ("module", ctypes.c_uint32),
        ("pid", ctypes.c_uint32),
        ("usage", ctypes.c_uint32 * 2),
        ("base", ctypes.c_size_t),
        ("size", ctypes.c_uint32),
        ("handle", ctypes.c_size_t),
        ("name", ctypes.c_wchar * 256),
        ("path", ctypes.c_wchar * 260),
    ]


KINDS = {
    "processes": (2, ProcessEntry, "Process32FirstW", "Process32NextW"),
    "threads": (4, ThreadEntry, "Thread32First", "Thread32Next"),
    "modules": (0x18, ModuleEntry, "Module32FirstW", "Module32NextW"),
}
FIELDS = {
    "processes": ("pid", "ppid", "name", "threads", "base_priority"),
    "threads": ("tid", "owner_pid", "base_priority"),
    "modules": ("pid", "base", "size", "name", "path"),
}


def by_ctypes(kind: str) -> list[tuple]:
    flags, entry_type, first, following = KINDS[kind]
    kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
    kernel32.CreateToolhelp32Snapshot.restype = ctypes.c_void_p
    handle = ctypes.c_void_p(kernel32.CreateToolhelp32Snapshot(flags, 0))
    entry, rows = entry_type(dwSize=ctypes.sizeof(entry_type)), []
    more = getattr(kernel32, first)(handle, ctypes.byref(entry))
    while more:
        rows.append(tuple(getattr(entry, field) for field in FIELDS[kind]))
        more = getattr(kernel32, following)(handle, ctypes.byref(entry))
    kernel32.CloseHandle(handle)
    return rows


def by_toolhelp(kind: str) -> list[tuple]:
    return [tuple(row)[: len(FIELDS[kind])] for row in getattr(toolhelp, kind)()]


def by_psutil(kind: str) -> list:
    psutil = pytest.importorskip("psutil")
    if kind == "processes":
        # Under Wine psutil cannot give names: parents alone, which is less work than ours.
        return [process.info for process in psutil.process_iter(["pid", "ppid"])]
    if kind == "threads":
        return [thread.id for p in psutil.process_iter() for thread in _threads(p)]
    return psutil.Process().memory_maps(grouped=False)


def _threads(process) -> list:
    try:
        return process.threads()
    except OSError:
        return []


def by_tlhelp32(kind: str) -> list:
    tlhelp32 = pytest.importorskip("tlhelp32")
    taker = {
        "processes": tlhelp32.ProcessSnapshot,
        "threads": tlhelp32.ThreadSnapshot,
        "modules": tlhelp32.ModuleSnapshot,
    }[kind]
    with taker() as snapshot:
        return list(snapshot)


WAYS = {
    "toolhelp": by_toolhelp,
    "ctypes": by_ctypes,
    "psutil": by_psutil,
    "tlhelp32": by_tlhelp32,
}


@pytest.mark.parametrize("kind", KINDS)
def test_answers_agree(kind):
    own = by_toolhelp(kind)
    assert own
    other = by_ctypes(kind)
    if kind == "modules":
        assert own == other
    else:
        mine = os.getpid()
        place = 0 if kind == "processes" else 1
        assert [r for r in own if r[place] == mine] == [r for r in other if r[place] == mine]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_speed(kind, way, benchmark):
    benchmark.group = kind
    WAYS[way](kind)
    benchmark.pedantic(WAYS[way], (kind,), rounds=20, warmup_rounds=2)
