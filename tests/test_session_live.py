"""Live heap sessions over the scripted system: what is delivered, in which bounds, to which end."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time

import pytest

import toolhelp as th
from etlmaker import Trace
from liverecords import CLASSES, LOST, records

pytestmark = pytest.mark.needs("fake")

QUIET = {"modules": False}
BATCH = 16384


def script(count: int = 300, stacks: bool = True, pointer_size: int = 8) -> Trace:
    """A trace of one process with heap events of every sort."""
    made = Trace(cpus=2, pointer_size=8)
    time_ = itertools.count(2000, 50)
    made.heap_create(next(time_), 0, pid=1234, tid=7, heap=0x20000, pointer_size=pointer_size)
    for i in range(count):
        frames = (0x7FF600000000 + i % 7 * 16, 0x7FF600000800) if stacks else None
        address = 0x100000 + i % 40 * 0x100
        made.heap_alloc(
            next(time_), i % 2, 1234, 7, 0x20000, 16 + i % 5, address, stack=frames,
            pointer_size=pointer_size,
        )  # fmt: skip
        if i % 3:
            made.heap_free(next(time_), i % 2, 1234, 7, 0x20000, address, pointer_size=pointer_size)
    return made


def wait_for(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.002)


def rows_of(batches):
    return [tuple(row) for batch in batches for row in batch]


def test_everything_scripted_comes_in_order(etw):
    made = script()
    etw.fake_etw(raw_clock=made.t0)
    etw.fake_script(records(made))
    etw.fake_change(1234, exit_code=0)
    with th.HeapTrace([1234], **QUIET) as trace:
        (session,) = etw.fake_sessions()
        assert session["mode"] == 0x08000100
        assert session["flush"] == 1
        assert session["file"] == ""
        rows = []
        for batch in trace.events():
            assert isinstance(batch, th.Table)
            rows += [tuple(row) for row in batch]
    expected = made.expected_rows()
    assert [row[:-1] for row in rows] == [row[:-1] for row in expected]
    assert [row[-1] is None for row in rows] == [want[-1] is None for want in expected]
    assert trace.live_counts.rows == len(expected)
    assert trace.live_counts.records == len(made.items)
    assert trace.live_counts.discarded == 0


@pytest.mark.parametrize("pointer_size", [4, 8])
def test_the_same_as_from_a_file(etw, pointer_size):
    made = script(pointer_size=pointer_size)
    etw.fake_etw(raw_clock=made.t0)
    etw.fake_script(records(made))
    etw.fake_change(1234, exit_code=0)
    with th.HeapTrace([1234], **QUIET) as trace:
        live = rows_of(trace.events())
    with th.open_trace(made.to_bytes()) as opened:
        file = rows_of(opened.heap_events())
    assert live == file


def test_stop_ends_the_events_after_the_last(etw):
    etw.fake_script(flood=1_000_000, per_buffer=1000)
    with th.HeapTrace([1234], **QUIET) as trace:
        batches = trace.events()
        first = next(batches)
        trace.stop()
        total = len(first) + sum(len(batch) for batch in batches)
    assert total == 1_000_000


def test_the_end_of_the_target_ends_the_events(etw):
    etw.fake_script(flood=1000)
    with th.HeapTrace([1234], **QUIET) as trace:
        etw.fake_change(1234, exit_code=0)
        assert sum(len(batch) for batch in trace.events()) == 1000
        assert trace.state == "stopped"


def test_timeout_without_events(etw):
    with th.HeapTrace([1234], **QUIET) as trace:
        begun = time.monotonic()
        assert list(trace.events(timeout=0.2)) == []
        assert 0.15 < time.monotonic() - begun < 10
        assert trace.state == "running"


def test_iteration_and_asyncio(etw):
    etw.fake_script(flood=50_000)
    etw.fake_change(1234, exit_code=0)

    async def count(trace):
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        ticker = asyncio.create_task(tick())
        total = 0
        async for batch in trace:
            total += len(batch)
            await asyncio.sleep(0)
        await asyncio.sleep(0.03)
        ticker.cancel()
        return total, ticks

    with th.HeapTrace([1234], **QUIET) as trace:
        total, ticks = asyncio.run(count(trace))
        assert total == 50_000
        assert ticks > 0
    with th.HeapTrace([1234], **QUIET) as trace:
        assert sum(map(len, trace)) == 50_000


def test_exact_totals_of_ten_million(etw):
    """Every one of ten million events passes the queue once, and in order."""
    count = 10_000_000
    etw.fake_script(flood=count, per_buffer=5000)
    etw.fake_change(1234, exit_code=0)
    total = size = allocs = 0
    last = -1
    with th.HeapTrace([1234], queue_batches=4, **QUIET) as trace:
        for batch in trace.events():
            times = memoryview(batch["time_ns"])
            assert times[0] > last
            last = times[-1]
            total += len(batch)
            sizes = memoryview(batch["size"])
            size += sum(sizes[: min(200, len(sizes))])
            allocs += 1
        assert trace.stats().events_lost == 0
    assert total == count
    assert last == (count - 1) * 100
    counts = trace.live_counts
    assert (counts.records, counts.rows, counts.discarded) == (count, count, 0)


def test_slow_readers_make_the_recorder_lose(etw):
    """Memory stays within the queue; what is lost is counted, and everything adds up."""
    count = 3_000_000
    etw.fake_script(flood=count, ring=700_000, per_buffer=500)
    etw.fake_change(1234, exit_code=0)
    total = 0
    with th.HeapTrace([1234], queue_batches=2, **QUIET) as trace:
        wait_for(lambda: trace.live_counts.waits > 0)
        blocks = etw.fake_live_blocks()
        time.sleep(0.1)
        assert etw.fake_live_blocks() - blocks < 50
        assert trace.live_counts.rows <= 4 * BATCH
        for batch in trace.events():
            total += len(batch)
        lost = trace.stats().events_lost
    assert lost > 0
    assert total + lost == count
    assert "found no room" in trace.stats().advice


def test_stop_while_the_consumer_waits(etw):
    etw.fake_script(flood=1_000_000)
    with th.HeapTrace([1234], queue_batches=1, **QUIET) as trace:
        wait_for(lambda: trace.live_counts.waits > 0)
        trace.stop()
        assert etw.fake_consumers() == 1
    assert etw.fake_consumers() == 0
    counts = trace.live_counts
    assert counts.discarded == counts.rows == 2 * BATCH


def test_close_without_a_reader(etw):
    etw.fake_script(flood=10)
    with th.HeapTrace([1234], **QUIET) as trace:
        wait_for(lambda: trace.live_counts.records == 10)
    assert list(trace.events()) == []
    trace.close()


def test_two_readers_share(etw):
    count = 400_000
    etw.fake_script(flood=count)
    etw.fake_change(1234, exit_code=0)
    totals = []
    with th.HeapTrace([1234], queue_batches=2, **QUIET) as trace:

        def read():
            totals.append(sum(len(batch) for batch in trace.events()))

        threads = [threading.Thread(target=read) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sum(totals) == count


@pytest.mark.parametrize("after", [1, 100, 40_000])
def test_a_consumer_that_fails(etw, after):
    etw.fake_script(flood=100_000, fail_after=after, fail_code=1450)
    with th.HeapTrace([1234], **QUIET) as trace:
        found = []
        with pytest.raises(th.SessionError) as caught:
            found.extend(map(len, trace.events()))
        assert (caught.value.function, caught.value.winerror) == ("ProcessTrace", 1450)
        assert sum(found) == after
        with pytest.raises(th.SessionError):
            next(trace.events())
        assert trace.state == "running"
    assert trace.state == "stopped"


@pytest.mark.parametrize("call", ["OpenTraceW", "QueryPerformanceCounter", "ResumeThread"])
@pytest.mark.parametrize("code", [5, 87, 183, 1450, 4201])
def test_a_live_start_failing(etw, call, code):
    etw.fake_script(flood=1000)
    etw.fake_fail(call, code=code)
    with pytest.raises(th.ToolhelpError) as caught:
        th.HeapTrace.launch("a.exe", live=True, **QUIET).start()
    assert (caught.value.winerror, caught.value.function) == (code, call)
    assert etw.fake_handles() == 0
    assert etw.fake_consumers() == 0
    assert all(not s["running"] for s in etw.fake_sessions())


def test_memory_runs_out_in_the_consumer(etw):
    made = script(40)
    etw.fake_script(records(made))
    ends = set()
    for n in itertools.count(1, 9):
        etw.fake_change(1234, exit_code=0)
        etw.fake_alloc_fail(n)
        try:
            with th.HeapTrace([1234], **QUIET) as trace:
                total = sum(len(batch) for batch in trace.events())
        except MemoryError:
            ends.add("no memory")
            continue
        finally:
            etw.fake_alloc_fail(0)
        ends.add(total)
        if n > 300:
            break
    assert ends == {"no memory", len(made.expected_rows())}


def test_live_and_file_at_once(etw):
    etw.fake_script(flood=100)
    path = "C:\\t\\both.etl"
    with th.HeapTrace([1234], path=path, live=True, **QUIET) as trace:
        (session,) = etw.fake_sessions()
        assert session["mode"] == 0x08000101
        assert session["file"] == trace.path
        etw.fake_change(1234, exit_code=0)
        assert sum(len(batch) for batch in trace.events()) == 100


def test_no_live_events_of_a_file_session(etw):
    file = th.HeapTrace([1234], path="x.etl", **QUIET)
    with file, pytest.raises(ValueError, match="delivers no live events"):
        next(file.events())
    with pytest.raises(ValueError, match="not started yet"):
        next(th.HeapTrace([1234], **QUIET).events())


def test_quiet_times_give_small_batches(etw):
    """Events wait for their stacks; when nothing came for two seconds, no longer."""
    etw.fake_script(records(script(3)))
    with th.HeapTrace([1234], **QUIET) as trace:
        wait_for(lambda: trace.live_counts.records == 9)
        assert list(trace.events(timeout=0.2)) == []
        etw.fake_clock_advance(2_000_000_001)
        (batch,) = trace.events(timeout=0.2)
        assert len(batch) == 6
        assert [row.stack_id for row in batch if row.kind == "alloc"] == [0, 1, 2]


def test_reported_losses_are_no_events(etw):
    made = records(script(2))
    lost = [(made[-1][0] + 1, LOST, opcode, 0, 0x140, 0, 0, 0, b"") for opcode in (32, 33, 34)]
    other = [(made[-1][0] + 2, b"\x11" * 16, 1, 0, 0x140, 0, 0, 0, b"x" * 100)]
    short = [(made[-1][0] + 3, CLASSES[0x10], 33, 2, 0x140, 0, 9, 9, b"x")]
    etw.fake_script(made + lost + other + short)
    with th.HeapTrace([1234], **QUIET) as trace:
        etw.fake_change(1234, exit_code=0)
        assert len(rows_of(trace.events())) == 4
        assert trace.live_counts.records == len(made) + 5


def test_a_companion_is_merged_by_time(etw):
    """Process ends of the other session fall between the heap events where they belong."""
    made = script(50)
    side = Trace(cpus=1)
    middle = made.items[len(made.items) // 2].time + 1
    side.process(2, middle, 0, 1234, 1)
    etw.fake_etw(raw_clock=made.t0)
    etw.fake_script(records(made))
    etw.fake_script(records(side), heap=False)
    with th.HeapTrace([1234], companion=True, **QUIET) as trace:
        assert len(etw.fake_sessions()) == 2
        wait_for(lambda: etw.fake_consumers() == 2)
        etw.fake_change(1234, exit_code=0)
        rows = rows_of(trace.events())
    assert len(rows) == len(made.expected_rows())
    assert trace.live_counts.records == len(made.items) + 1
