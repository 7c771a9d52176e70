"""The C reader's answers in the shapes of the reference reader, for comparison."""

from __future__ import annotations

from typing import Any

import pytest

import etlref
import toolhelp as th

#: What heap events are called; the reference reader names unknown opcodes "op<n>".
KINDS = {39: "create_snapshot", 40: "destroy_snapshot", 41: "extend_snapshot"}


def kind_of(name: str) -> str:
    return KINDS.get(int(name[2:]), "other") if name.startswith("op") else name


def heap_rows(trace: th.Trace) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for batch in trace.heap_events():
        rows.extend(tuple(row) for row in batch)
    frames = [None if row.frames is None else tuple(row.frames) for row in trace.stacks]
    return [(*row[:11], None if row[11] is None else frames[row[11]]) for row in rows]


def expected_rows(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [
        (*row[:4], kind_of(row[4]), *row[5:11], None if row[11] is None else tuple(row[11]))
        for row in rows
    ]


def processes(trace: th.Trace) -> list[Any]:
    return [
        (
            *(r.pid, r.ppid, r.session_id, r.name, r.command_line or None),
            *(r.start_ns, r.end_ns, r.exit_status),
        )
        for r in trace.processes
    ]


def expected_processes(result: etlref.Result) -> list[Any]:
    return [
        (
            *(r.pid, r.ppid, r.session_id, r.name or "", r.command_line or None),
            *(r.start_ns, r.end_ns, r.exit_status),
        )
        for r in result.processes
    ]


def bits(trace: th.Trace) -> list[int | None]:
    return [row.bits for row in trace.processes]


def threads(trace: th.Trace) -> list[Any]:
    return [(r.tid, r.pid, r.start_ns, r.end_ns, r.start_address) for r in trace.threads]


def expected_threads(result: etlref.Result) -> list[Any]:
    return [(r.tid, r.pid, r.start_ns, r.end_ns, r.start_address) for r in result.threads]


def modules(trace: th.Trace) -> list[Any]:
    return [
        (
            *(r.pid, r.base, r.size, r.nt_path, r.load_ns, r.unload_ns, r.checksum),
            *(r.pdb_name, r.pdb_guid, r.pdb_age),
        )
        for r in trace.modules
    ]


def expected_modules(result: etlref.Result) -> list[Any]:
    return [
        (
            *(r.pid, r.base, r.size, r.path or "", r.load_ns, r.unload_ns, r.checksum),
            *(r.pdb_name, r.pdb_guid, r.pdb_age),
        )
        for r in result.modules
    ]


def timestamps(trace: th.Trace) -> list[int | None]:
    return [row.timestamp for row in trace.modules]


QUALITY = (
    "complete",
    "truncated",
    "events_lost",
    "buffers_lost",
    "buffers_skipped",
    "bytes_skipped",
    "unknown_headers",
    "bad_events",
    "sequence_gaps",
    "unattributed",
)
FILE = (
    "bytes",
    "os_version",
    "os_build",
    "processors",
    "pointer_size",
    "log_file_mode",
    "clock",
    "start",
    "end",
    "duration_ns",
    "session_name",
)
COUNTS = (
    "buffers",
    "compressed_buffers",
    "events",
    "events_by_header",
    "events_by_hook",
    "stacks",
    "processes",
    "threads",
    "modules",
)


def figures(info: dict[str, Any]) -> dict[str, Any]:
    heap: dict[str, int] = {}
    for name, count in info["counts"]["heap_events"].items():
        heap[kind_of(name)] = heap.get(kind_of(name), 0) + count
    found = {name: info["file"][name] for name in FILE}
    found |= {name: info["counts"][name] for name in COUNTS}
    found |= {name: info["quality"][name] for name in QUALITY}
    return {**found, "heap_events": heap}


def compare(data: bytes, threads_used: int = 0) -> None:
    """Both readers over the same bytes: every row and every figure."""
    try:
        result = etlref.decode(data)
    except etlref.Corrupt as refusal:
        refused_at = refusal.offset
    else:
        _compare(data, result, threads_used)
        return
    with pytest.raises(th.CorruptTrace) as caught:
        th.open_trace(data)
    assert caught.value.offset == refused_at


def _compare(data: bytes, result: etlref.Result, threads_used: int) -> None:
    with th.open_trace(data, threads=threads_used) as trace:
        assert heap_rows(trace) == expected_rows(result.heap_events)
        assert figures(trace.info) == figures(result.info)
        assert processes(trace) == expected_processes(result)
        assert threads(trace) == expected_threads(result)
        assert modules(trace) == expected_modules(result)
