"""A table that was handed out stays as it was, whatever is read and recorded after it."""

from __future__ import annotations

import threading
import time

import pytest

import toolhelp as th
from etlmaker import Trace
from liverecords import records

EVENTS = 120_000


@pytest.fixture(scope="module")
def data():
    trace = Trace(cpus=2)
    for number in range(EVENTS // 3):
        time_ = 2000 + 40 * number
        stack = (0x7FF600000000 + 16 * (number % 5000), 0x7FF600000010)
        where = (time_, number % 2, 77, 5, 0x10000)
        trace.heap_alloc(*where, 16, 0x20000 + 64 * number, stack=stack)
        if number % 20 == 0:
            trace.process(1, time_ + 1, 0, 1000 + number, 4, name=f"program-{number}.exe")
        trace.heap_free(time_ + 2, number % 2, 77, 5, 0x10000, 0x20000 + 64 * number)
    return trace.to_bytes()


@pytest.mark.parametrize("what", ["heap_events", "events", "blocks"])
def test_batches_and_their_exports(data, what):
    """Tables, slices, columns and Arrow exports of early batches, read after the last one."""
    try:
        import pyarrow as pa
    except ImportError:
        pa = None
    kept = []
    with th.open_trace(data) as trace:
        for number, batch in enumerate(getattr(trace, what)()):
            if number % 2 == 0:
                part = batch[len(batch) // 2 :]
                export = pa.table(part) if pa else None
                kept.append((batch.to_dict(), part, memoryview(batch["pid"]), export))
            del batch
        trace.stacks, trace.processes  # noqa: B018
    assert len(kept) > 1
    for values, part, pids, export in kept:
        half = len(values["pid"]) - len(part)
        assert part.to_dict() == {name: column[half:] for name, column in values.items()}
        if None not in values["pid"]:
            assert pids.tolist() == values["pid"]
        if export is not None:
            export.validate(full=True)
            assert (
                export["kind" if what != "blocks" else "end"].to_pylist()
                == (values["kind" if what != "blocks" else "end"][half:])
            )


@pytest.mark.needs("fake")
def test_live_tables_while_more_is_recorded(etw):
    """The decoder goes on collecting names; tables of earlier figures must not notice."""
    made = Trace(cpus=1)
    made.process(3, 1000, 0, 77, 4, name="first.exe", command_line="first")
    made.image(10, 1010, 0, 77, 0x7FF500000000, 0x1000, "\\Device\\HarddiskVolume3\\first.exe")
    for number in range(20_000):
        made.heap_alloc(2000 + 20 * number, 0, 1234, 1, 0x20000, 16, 0x100000 + 64 * number)
        name = f"a-rather-long-name-of-a-program-{number}.exe"
        made.process(1, 2010 + 20 * number, 0, 2000 + number, 4, name=name, command_line=name)
    etw.fake_process(77, 1, "b.exe")
    etw.fake_etw(raw_clock=made.t0)
    script = records(made)
    etw.fake_script(script, per_buffer=10)
    wrong = []
    over = threading.Event()

    def read(tables):
        while not over.is_set():
            for table, names in tables:
                if list(table["name"]) != names or table["name"].dictionary.count(None):
                    wrong.append(table["name"].dictionary)

    with th.HeapTrace([1234, 77], modules=False) as trace:
        trace.analyze()
        while trace.live_counts.records < 100:
            time.sleep(0.0005)
        tables = [trace.analyze().processes, trace._recording.live_result()[2]]
        tables.append(trace._recording.live_result()[3])
        kept = [(table, list(table["name"])) for table in tables if "name" in table.columns]
        reader = threading.Thread(target=read, args=(kept,))
        reader.start()
        while trace.live_counts.records < len(script):
            time.sleep(0.001)
        last = len(trace._recording.live_result()[2])
        over.set()
        reader.join()
    assert wrong == []
    rows = tables[1]
    assert rows["name"][0] == "first.exe"
    assert set(rows["name"].dictionary) <= {*rows["name"], *rows["command_line"]}
    assert len(rows) <= last == 20_001
    assert [list(table["name"]) for table, _ in kept] == [names for _, names in kept]
