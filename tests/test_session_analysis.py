"""Live figures: the same script through a stream and through a file gives the same answers."""

from __future__ import annotations

import itertools
import random
import threading
import time

import pytest

import toolhelp as th
from etlmaker import Trace
from liverecords import records

pytestmark = pytest.mark.needs("fake")

QUIET = {"modules": False}
#: Not known to a stream before its end.
OF_LENGTH = {"growth", "age_ns"}


def script(seed: int, count: int = 4000) -> Trace:
    """Allocations of two processes, with stacks, moves, resizes, destroyed heaps and odd frees."""
    draw = random.Random(seed)
    made = Trace(cpus=3)
    time_ = itertools.count(2000, 40)
    live: list[tuple[int, int, int, int]] = []
    addresses = itertools.count(0x100000, 0x40)

    def place() -> dict[str, int]:
        pid = draw.choice((1234, 77))
        return {
            "pid": pid,
            "tid": pid + draw.randrange(3),
            "heap": pid * 0x10000 + draw.randrange(2),
        }

    for _ in range(count):
        what, cpu = draw.random(), draw.randrange(3)
        where = place()
        stack = tuple(
            draw.choice((0x7FF600000010, 0x7FF600000020, 0x7FF600000030)) for _ in range(3)
        )
        if what < 0.55 or not live:
            address, size = next(addresses), draw.randrange(1, 5000)
            made.heap_alloc(
                next(time_), cpu, where["pid"], where["tid"], where["heap"], size, address,
                stack=stack if draw.random() < 0.9 else None,
            )  # fmt: skip
            live.append((where["pid"], where["heap"], address, size))
        elif what < 0.9:
            pid, heap, address, _ = live.pop(draw.randrange(len(live)))
            made.heap_free(next(time_), cpu, pid, where["tid"], heap, address)
        elif what < 0.96:
            index = draw.randrange(len(live))
            pid, heap, address, size = live[index]
            new = draw.randrange(1, 6000)
            made.heap_realloc(
                next(time_), cpu, pid, where["tid"], heap, address, address, new, size, stack=stack
            )
            live[index] = (pid, heap, address, new)
        elif what < 0.99:
            made.heap_free(next(time_), cpu, where["pid"], where["tid"], where["heap"], 0x99)
        else:
            made.heap_destroy(next(time_), cpu, where["pid"], where["tid"], where["heap"])
            live = [block for block in live if block[:2] != (where["pid"], where["heap"])]
    return made


def table_of(table):
    names = [name for name in table.columns if not name.startswith(tuple(OF_LENGTH))]
    return {name: list(table[name]) for name in names}


def figures(analysis):
    """Everything but what depends on the length of the trace."""
    found = {
        "totals": analysis.totals,
        "live": analysis.live,
        "peak": analysis.peak,
        "temporary": analysis.temporary,
        "events": analysis.events,
    }
    for name in ("stacks", "heaps", "threads", "sizes", "lifetimes", "functions", "processes"):
        found[name] = table_of(getattr(analysis, name))
    found["frames"] = [
        [frame.address for frame in analysis.frames(stack)] for stack in analysis.stacks
    ]
    quality = analysis.quality
    for name in ("unmatched_frees", "realloc_repairs", "pre_trace", "stack_coverage", "complete"):
        found[name] = quality[name]
    return found


@pytest.mark.parametrize("seed", range(4))
def test_live_and_file_agree(etw, seed):
    made = script(seed)
    etw.fake_process(77, 1, "b.exe")
    etw.fake_etw(raw_clock=made.t0)
    etw.fake_script(records(made), per_buffer=100)
    with th.HeapTrace([1234, 77], **QUIET) as trace:
        trace.analyze()
        while trace.live_counts.records < len(made.items):
            time.sleep(0.002)
    live = figures(trace.analyze())
    with th.open_trace(made.to_bytes()) as opened:
        file = figures(opened.analyze())
    assert live == file
    assert live["peak"].bytes > 0
    assert live["complete"] is True


def test_companion_and_file_agree(etw):
    """Process ends from the other session: exits, and peaks that leave them out."""
    made = script(7, 1500)
    times = sorted(item.time for item in made.items)
    middle = times[len(times) // 2] + 1
    side = Trace(cpus=1)
    side.process(2, middle, 0, 77, 1)
    whole = Trace(cpus=3)
    whole.items = [*made.items, *side.items]
    etw.fake_process(77, 1, "b.exe")
    etw.fake_etw(raw_clock=made.t0)
    etw.fake_script(records(side), heap=False)
    etw.fake_script(records(made), after=1)
    with th.HeapTrace([1234, 77], companion=True, **QUIET) as trace:
        trace.analyze()
        while trace.live_counts.records < len(made.items) + 1:
            time.sleep(0.002)
    live = figures(trace.analyze())
    with th.open_trace(whole.to_bytes()) as opened:
        file = figures(opened.analyze())
    for name in ("totals", "live", "peak", "temporary", "stacks", "heaps", "threads"):
        assert live[name] == file[name], name


def test_read_at_any_time(etw):
    """Figures only grow while the ledger runs, from several threads at once."""
    etw.fake_script(flood=2_000_000, per_buffer=1000)
    seen = []
    with th.HeapTrace([1234], **QUIET) as trace:
        trace.analyze()

        def watch():
            for _ in range(20):
                seen.append(trace.analyze().totals.allocations)

        threads = [threading.Thread(target=watch) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert trace.analyze().quality["complete"] is False
        assert trace.live_counts.discarded == 0
    last = trace.analyze()
    assert last.totals.allocations == 1_000_000
    assert last.totals.frees == 1_000_000
    assert last.live.blocks == 0
    assert last.peak.bytes == 115
    assert all(0 <= count <= 1_000_000 for count in seen)
    assert trace.live_counts.waits == 0


def test_ledger_and_batches_at_once(etw):
    etw.fake_script(flood=300_000)
    etw.fake_change(1234, exit_code=0)
    with th.HeapTrace([1234], queue_batches=2, **QUIET) as trace:
        trace.analyze()
        total = sum(len(batch) for batch in trace.events())
        assert trace.analyze().totals.allocations == 150_000
    assert total + trace.live_counts.discarded <= 300_000
    assert trace.analyze().events == 300_000


def test_what_waited_in_the_queue_counts(etw):
    """The ledger gets the events from the first on, also those before the first call."""
    etw.fake_script(flood=1_500_000)
    with th.HeapTrace([1234], queue_batches=3, **QUIET) as trace:
        while not trace.live_counts.waits:
            time.sleep(0.002)
        trace.analyze()
    assert trace.analyze().events == 1_500_000


def test_too_late(etw):
    etw.fake_script(flood=50_000)
    with th.HeapTrace([1234], **QUIET) as trace:
        etw.fake_change(1234, exit_code=0)
        next(trace.events())
        etw.fake_change(1234, exit_code=259)
        with pytest.raises(ValueError, match="events have been taken already"):
            trace.analyze()
    with th.HeapTrace([1234], **QUIET) as trace:
        for words in ({"rule_ns": -1}, {"buckets": 0}):
            with pytest.raises(ValueError, match="must be from"):
                trace.analyze(**words)


def test_modules_name_the_frames(etw):
    made = script(3, 200)
    etw.fake_process(77, 1, "b.exe")
    etw.fake_etw(raw_clock=made.t0)
    etw.fake_script(records(made))
    with th.HeapTrace([1234, 77]) as trace:
        while trace.live_counts.records < len(made.items):
            time.sleep(0.002)
        trace.analyze()
        etw.fake_clock_advance(2_000_000_001)
        found = trace.analyze()
        names = {frame.module for stack in found.stacks for frame in found.frames(stack)}
        assert "app.exe" in names
        assert [row.name for row in found.processes if row.pid == 1234] == ["app.exe"]


def test_memory_runs_out_in_the_ledger(etw):
    made = script(1, 300)
    etw.fake_process(77, 1, "b.exe")
    etw.fake_script(records(made))
    failed = 0
    for n in itertools.count(1, 11):
        etw.fake_alloc_fail(n)
        try:
            with th.HeapTrace([1234, 77], **QUIET) as trace:
                trace.analyze()
                trace.stop()
                list(trace.events())
                etw.fake_alloc_fail(0)
                figures(trace.analyze())
        except MemoryError:
            failed += 1
            continue
        finally:
            etw.fake_alloc_fail(0)
        if n > 300:
            break
    assert failed > 5
