"""Every allocation failing in turn while a trace is read: MemoryError, and nothing kept."""

from __future__ import annotations

import dataclasses
import gc
from typing import Any

import pytest

import toolhelp as th
from etlmaker import Trace

pytestmark = pytest.mark.needs("fake")

KERNEL = 0xFFFFF80000000001


def trace_of() -> Trace:
    """A bit of everything, so that every place that asks for memory is passed."""
    trace = Trace(cpus=2)
    trace.volume(1050, 0, "\\Device\\HarddiskVolume3\\", "C:\\")
    trace.process(3, 1100, 0, 10, name="app.exe")
    trace.process(1, 1110, 0, 11, name="b.exe")
    trace.thread(3, 1120, 0, 10, 11, 0x7FF0, name="worker")
    trace.debug_id(1130, 0, 10, 0x7FF600000000, bytes(range(16)), 3, "app.pdb")
    path = "\\Device\\HarddiskVolume3\\app.exe"
    trace.image(3, 1130, 0, 10, 0x7FF600000000, 0x10000, path)
    for number in range(40):
        time = 2000 + 10 * number
        trace.heap_alloc(time, number % 2, 10, 11, 0x10000, 64, 0x20000 + 64 * number)
        if number % 4 == 0:
            trace.stack(time + 1, 0, time, 10, 11, [KERNEL])
        if number % 4 < 2:
            trace.stack(time + 2, 0, time, 10, 11, [0x7FF1 + number, 0, 0x7FF2])
        if number % 4 == 3:
            trace.stack_key(time + 2, 0, time, 10, 11, 0xA000 + number)
            trace.key_definition(time + 3, 0, 0xA000 + number, [0x7FF1, 0x7FF2 + number % 8])
    trace.heap_alloc(3000, 0, 10, 11, 0x10000, 64, 0x30000, header="PERFINFO")
    trace.process(2, 4000, 0, 11, name="b.exe")
    return trace


def files_of(count: int) -> list[bytes]:
    """The trace in so many files of one recording."""
    trace = trace_of()
    return [
        dataclasses.replace(trace, items=trace.items[number::count]).to_bytes(
            compression="xpress", per_buffer=50
        )
        for number in range(count)
    ]


def read(data: list[bytes]) -> Any:
    with th.open_trace(data, threads=0) as trace:
        rows = [len(batch) for batch in trace.heap_events()]
        tables = (trace.processes, trace.threads, trace.modules, trace.stacks, trace.frames)
        events = [len(batch) for batch in trace.events()]
        return rows, [len(table) for table in tables], trace.info["counts"]["stacks"], events


@pytest.mark.parametrize("files", [1, 3])
@pytest.mark.parametrize("persist", [False, True], ids=["once", "for ever"])
def test_every_allocation_failing(fake: Any, persist: bool, files: int) -> None:
    data = files_of(files)
    blocks = fake.fake_live_blocks()
    before = fake.fake_alloc_count()
    answer = read(data)
    allocations = fake.fake_alloc_count() - before
    rows, tables, stacks, events = answer
    assert (sum(rows), tables[:3], stacks) == (41, [2, 1, 1], 40)
    assert sum(events) > 90
    gc.collect()
    assert fake.fake_live_blocks() == blocks
    assert allocations > 50
    for nth in range(1, allocations + 1):
        fake.fake_alloc_fail(nth, persist)
        try:
            with pytest.raises(MemoryError):
                read(data)
        finally:
            fake.fake_alloc_fail(0)
        gc.collect()
        assert fake.fake_live_blocks() == blocks, nth
    assert read(data) == answer
