"""Tables and rows as pickles: equal when they come back, and checked when they do."""

from __future__ import annotations

import concurrent.futures
import copy
import multiprocessing
import pickle

import pytest

import toolhelp as th
from etlmaker import Trace

pytestmark = pytest.mark.needs("core")

FRAMES = (0x7FF600000010, 0x7FF600000020)


def made() -> Trace:
    """Text, missing values, bytes, lists of addresses, words, flags: a column of each type."""
    trace = Trace()
    trace.process(3, 900, 0, 77, 4, name="a.exe", command_line="a.exe \ud800 \u20ac")
    trace.process(3, 910, 0, 78, 77, name="b.exe", command_line="")
    trace.thread(3, 920, 0, 77, 5, 0x1000, name="main")
    trace.thread(3, 925, 0, 77, 6, 0x1000)
    trace.image(10, 930, 0, 77, 0x7FF600000000, 0x1000, "\\Device\\x\\a.exe")
    trace.image(10, 940, 0, 77, 0x7FF700000000, 0x1000, "\\Device\\x\\b.dll")
    for number in range(40):
        where = (2000 + 10 * number, 0, 77, 5, 0x10000)
        stack = (FRAMES[number % 2], *FRAMES) if number % 3 else None
        trace.heap_alloc(*where, 16 + number, 0x20000 + 64 * number, stack=stack)
    trace.heap_free(9000, 0, 77, 5, 0x10000, 0x20000)
    return trace


@pytest.fixture(scope="module")
def tables():
    with th.open_trace(made().to_bytes()) as trace:
        analysis = trace.analyze()
        found = {
            "events": next(trace.events()),
            "heap_events": next(trace.heap_events()),
            "blocks": next(trace.blocks()),
        }
        for name in ("processes", "threads", "modules", "stacks", "frames"):
            found[name] = getattr(trace, name)
        for name in ("stacks", "heaps", "sizes", "lifetimes", "functions", "timeline"):
            found[f"analysis.{name}"] = getattr(analysis, name)
    assert all(len(table) for table in found.values())
    return found


def test_tables_come_back_equal(tables):
    for name, table in tables.items():
        for part in (table, table[1:], table[1:3], table[::2], table[:0], table.take([0])):
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                back = pickle.loads(pickle.dumps(part, protocol))
                assert back == part, name
                assert (back.columns, back.schema) == (part.columns, part.schema)
                assert back.to_dict() == part.to_dict(), name
                assert back.replaced_text == part.replaced_text


def test_rows_come_back_equal(tables):
    for name, table in tables.items():
        for row in table[:3]:
            back = pickle.loads(pickle.dumps(row))
            assert (type(back), back) == (type(row), row), name
            assert type(row) is getattr(th, type(row).__name__)
            assert (copy.copy(row), copy.deepcopy(row)) == (row, row)


def test_text_of_other_rows_stays_behind(tables):
    table = tables["processes"][:1]
    assert list(table["command_line"]) == ["a.exe \ud800 \u20ac"]
    back = pickle.loads(pickle.dumps(table))
    assert back["name"].dictionary == ("a.exe",)
    assert "b.exe" in table["name"].dictionary


def test_copies_are_the_same_table(tables):
    table = tables["heap_events"]
    assert copy.copy(table) is table
    assert copy.deepcopy(table) is table
    column = table["pid"]
    assert copy.copy(column) is column
    assert copy.deepcopy([column])[0] is column


def rows_with(table, pid):
    """Runs in another process."""
    rows = [row for row in table if row.pid == pid]
    return table, rows


def test_to_other_processes_and_back(tables):
    context = multiprocessing.get_context("spawn")
    table = tables["processes"]
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        back, rows = pool.submit(rows_with, table, 78).result()
    assert back == table
    assert [(type(row), row.name) for row in rows] == [(type(table[0]), "b.exe")]


def test_what_cannot_be_pickled_says_what_to_do(tables):
    with pytest.raises(TypeError, match=r"pickle the Table, or list\(column\)"):
        pickle.dumps(tables["heap_events"]["pid"])
    with th.open_trace(made().to_bytes()) as trace:
        with pytest.raises(TypeError, match="send its path and open it there"):
            pickle.dumps(trace)
        with pytest.raises(TypeError, match=r"pickle its tables, such as \.stacks"):
            pickle.dumps(trace.analyze())
    with pytest.raises(AttributeError, match="no attribute 'TracePass'"):
        th.TracePass  # noqa: B018


def test_index_and_count(tables):
    table = tables["processes"]
    assert table.index(table[1]) == 1
    assert table.index(table[1], -1) == 1
    assert (table.count(table[0]), table.count(None)) == (1, 0)
    assert [row.pid for row in reversed(table)] == [78, 77]
    for bounds in ((0, 1), (2,), (-1, -1)):
        with pytest.raises(ValueError, match="is not in it"):
            table.index(table[1], *bounds)
    names = table["name"]
    assert (names.index("b.exe"), names.count("a.exe")) == (1, 1)
    with pytest.raises(ValueError, match=r"'c\.exe' is not in it"):
        names.index("c.exe")
    sizes = tables["heap_events"]["size"]
    assert sizes.index(17) == 1
    assert sizes.count(None) == 1  # of the Free
    assert 17 in sizes
    assert table[0] in table

    class Odd:
        def __eq__(self, other):
            raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        names.index(Odd())
    with pytest.raises(RuntimeError):
        names.count(Odd())


def test_annotations_work_at_run_time():
    assert str(th.Table[th.Process]) == "toolhelp.Table[toolhelp.Process]"
    assert th.Table[th.Process].__origin__ is th.Table


def test_damaged_pickles_are_refused(tables):
    build, (kind, rows, columns) = tables["stacks"].__reduce__()
    assert build(kind, rows, columns) == tables["stacks"]
    place = tables["stacks"].columns.index("frames")

    def with_frames(*parts):
        return build(kind, rows, (*columns[:place], parts, *columns[place + 1 :]))

    offsets, valid, pool = columns[place]
    for parts, said in (
        ((offsets[:-8], valid, pool), "has not the bytes of its rows"),
        ((offsets, valid, pool + b"1234567"), "do not fit its bytes"),
        ((offsets, valid, pool[:-8]), "do not fit its bytes"),
        ((b"\1" + offsets[1:], valid, pool), "do not fit its bytes"),
        ((offsets[:-8] + b"\xff" * 8, valid, pool), "do not ascend"),
        ((offsets[:8] + b"\xff" * 7 + b"\x7f" + offsets[16:], valid, pool), "do not ascend"),
    ):
        with pytest.raises(ValueError, match=said):
            with_frames(*parts)
    with pytest.raises(TypeError):
        with_frames(offsets, valid, None)
    with pytest.raises(ValueError, match="no table is of kind 'Nothing'"):
        build("Nothing", rows, columns)
