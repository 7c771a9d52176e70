"""Cost of rows and columns over the bare calls, all on the same scripted machine.

    python benchmarks/build.py
    PYTHONPATH=tests/_build/bench pytest benchmarks/bench_snapshot.py

Answers are checked before anything is timed. Report ratios of one run; absolute times of a shared
machine prove nothing.
"""

from __future__ import annotations

import ctypes

import pytest

import toolhelp
from conftest import MODULES, PROCESSES, THREADS

core = toolhelp._core
ROWS = {"processes": PROCESSES, "threads": THREADS, "modules": MODULES}


class ThreadEntry(ctypes.Structure):
    """th_sys_thread of csrc/sys/sys.h."""

    _fields_ = [
        (name, ctypes.c_uint32) for name in ("size", "usage", "tid", "owner_pid", "flags")
    ] + [(name, ctypes.c_int32) for name in ("base_priority", "delta_priority")]


class ProcessEntry(ctypes.Structure):
    """th_sys_process of csrc/sys/sys.h."""

    _fields_ = [
        *((n, ctypes.c_uint32) for n in ("size", "usage", "pid", "module_id", "threads")),
        *((n, ctypes.c_uint32) for n in ("parent_pid", "flags")),
        ("base_priority", ctypes.c_int32),
        ("default_heap_id", ctypes.c_uint64),
        ("name", ctypes.c_uint16 * 260),
    ]


class ModuleEntry(ctypes.Structure):
    """th_sys_module of csrc/sys/sys.h."""

    _fields_ = [
        *((n, ctypes.c_uint32) for n in ("size", "module_id", "pid", "global_usage")),
        *((n, ctypes.c_uint32) for n in ("process_usage", "base_size")),
        ("base", ctypes.c_uint64),
        ("handle", ctypes.c_uint64),
        ("name", ctypes.c_uint16 * 256),
        ("path", ctypes.c_uint16 * 260),
    ]


def _text(field) -> str:
    return bytes(field).decode("utf-16-le").partition("\0")[0]


def _ctypes_walk(kind: str, flags: int, pid: int) -> list[tuple]:
    library = ctypes.CDLL(core.__file__)
    entry = {"process": ProcessEntry, "thread": ThreadEntry, "module": ModuleEntry}[kind]()
    handle = ctypes.c_size_t()
    library.th_sys_create_snapshot(flags, pid, ctypes.byref(handle))
    step, rows = getattr(library, f"th_sys_{kind}_first"), []
    while step(handle, ctypes.byref(entry)) == 0:
        if kind == "process":
            rows.append(
                (entry.pid, entry.parent_pid, _text(entry.name), entry.threads, entry.base_priority)
            )
        elif kind == "thread":
            rows.append((entry.tid, entry.owner_pid, entry.base_priority))
        else:
            rows.append(
                (entry.pid, entry.base, entry.base_size, _text(entry.name), _text(entry.path))
            )
        step = getattr(library, f"th_sys_{kind}_next")
    library.th_sys_close(handle)
    return rows


def ways(kind: str, pids: list[int]) -> dict:
    """name -> function that gives the rows, the columns or nothing."""
    if kind == "modules":
        return {
            "walk": lambda: [core.bare_walk_modules(pid) for pid in pids],
            "columns": lambda: [toolhelp.modules(pid) for pid in pids],
            "rows": lambda: [list(toolhelp.modules(pid)) for pid in pids],
            "bare_rows": lambda: [core.bare_rows_modules(pid) for pid in pids],
            "ctypes": lambda: [_ctypes_walk("module", 0x18, pid) for pid in pids],
        }
    flags = {"processes": 2, "threads": 4}[kind]
    table = getattr(toolhelp, kind)
    return {
        "walk": getattr(core, f"bare_walk_{kind}"),
        "columns": table,
        "rows": lambda: list(table()),
        "bare_rows": getattr(core, f"bare_rows_{kind}"),
        "ctypes": lambda: _ctypes_walk({2: "process", 4: "thread"}[flags], flags, 0),
    }


def flat(found) -> list:
    return [row for part in found for row in part] if found and len(found) == 200 else list(found)


@pytest.mark.parametrize("kind", ["processes", "threads", "modules"])
def test_answers_agree(kind, machine):
    way = ways(kind, machine)
    rows = flat(way["rows"]())
    assert len(rows) == ROWS[kind]
    assert flat(way["bare_rows"]()) == rows
    width = 5 if kind == "modules" else len(rows[0])
    assert flat(way["ctypes"]()) == [tuple(row)[:width] for row in rows]


@pytest.mark.parametrize("way", ["walk", "columns", "bare_rows", "rows", "ctypes"])
@pytest.mark.parametrize("kind", ["processes", "threads", "modules"])
def test_speed(kind, way, machine, benchmark):
    benchmark.group = kind
    benchmark.extra_info["rows"] = ROWS[kind]
    benchmark(ways(kind, machine)[way])
