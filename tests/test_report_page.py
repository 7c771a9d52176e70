"""The text report, pinned by golden files.

TOOLHELP_GOLDEN=write python -m pytest tests/test_report_page.py     writes them anew
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import reporttraces
import toolhelp as th
from etlmaker import Trace
from toolhelp.names import default_cull
from toolhelp.report import units
from toolhelp.report.page import DEFINITIONS, Page

pytestmark = pytest.mark.needs("core")

GOLDEN = Path(__file__).with_name("golden")


def page(trace: th.Trace, width: int = 100, **options: Any) -> Page:
    options.setdefault("cull", default_cull())
    return Page(trace, trace.analyze(), width=width, **options)


def drawn(made: Page, width: int, color: bool = False) -> str:
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=True,
        force_terminal=color,
        color_system="standard" if color else None,
        legacy_windows=False,
        _environ={},
    )
    for line in made.lines:
        console.print(line)
    return stream.getvalue()


def golden(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("TOOLHELP_GOLDEN") == "write":
        path.write_text(text, encoding="utf-8", newline="\n")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize("width", [80, 100, 160])
def test_whole_report(width: int, color: bool) -> None:
    made = page(reporttraces.leaky(), width, number=5)
    made.whole()
    assert max(line.cell_len for line in made.lines) <= width
    golden(f"report-{width}{'-color' if color else ''}.txt", drawn(made, width, color))


@pytest.mark.parametrize("width", [80, 100])
def test_views(width: int) -> None:
    made = page(reporttraces.leaky(), width, number=20)
    made.head()
    made.live(full=True)
    made.at_peak(full=True)
    made.temporary(full=True)
    made.timeline()
    assert max(line.cell_len for line in made.lines) <= width
    golden(f"views-{width}.txt", drawn(made, width))


def text(trace: Trace | th.Trace, **options: Any) -> str:
    if isinstance(trace, Trace):
        trace = th.open_trace(trace.to_bytes())
    made = page(trace, **options)
    made.whole()
    return drawn(made, made._width)


def test_a_trace_that_begins_in_mid_life_is_complete_and_says_so() -> None:
    found = text(reporttraces.mid_life())
    assert "quality  complete: nothing lost" in found
    assert "484 frees and reallocations of blocks allocated before the trace" in found
    assert "LIVE AT END  (2 stacks" not in found  # both blocks have no stack: one row
    assert "(no stack)" in found
    assert "10 B" not in found.split("LIVE AT END")[0].split("bytes")[0]
    assert "110 B" in found  # 100 adopted + 10


def test_frees_alone_are_called_frees() -> None:
    trace = Trace()
    trace.heap_free(2000, 0, 10, 11, 0x10000, 0x900000)
    assert "1 free of blocks allocated before the trace" in text(trace)


def test_ten_bytes_are_shown() -> None:
    trace = Trace()
    trace.heap_alloc(2000, 0, 10, 11, 0x10000, 10, 0x900000, stack=(0x7FF1,))
    found = text(trace)
    assert "LIVE AT END  (1 stack)" in found
    assert "      10 B           1" in found


def test_losses_come_first() -> None:
    trace = reporttraces.mid_life(events_lost=2_386_914, buffers_lost=7)
    found = text(trace)
    first = found.splitlines()[0]
    assert first.startswith("quality  NOT COMPLETE: The recorder lost 2,386,914 events. The")
    assert "LIVE AT END, UNRELIABLE" in found
    assert "frees may be missing" in found


def test_a_cut_trace_has_live_at_cut() -> None:
    data = reporttraces.leaky_bytes()
    trace = th.open_trace(data[: len(data) * 6 // 10 + 7])
    found = text(trace)
    assert "NOT COMPLETE" in found.splitlines()[0]
    assert "LIVE AT CUT" in found
    assert "LEAK" not in found


def test_leak_is_said_only_of_ended_processes() -> None:
    assert "LEAKED: LIVE WHEN THE PROCESS ENDED" in text(reporttraces.leaky())
    assert "LEAK" not in text(reporttraces.mid_life())


def test_a_trace_without_heap_events() -> None:
    found = text(Trace())
    assert "no process with heap blocks, 0 heap events" in found
    assert "nothing" in found


@pytest.mark.parametrize(("unit", "shown"), [("si", "1.2 MB"), ("iec", "1.1 MiB"),
                                             ("raw", "1,200,000 B")])  # fmt: skip
def test_units(unit: Any, shown: str) -> None:
    assert shown in text(reporttraces.leaky(), unit=unit)


def test_control_characters_of_a_trace_do_not_reach_the_terminal() -> None:
    trace = Trace()
    trace.process(1, 1500, 0, 10, 4, "a\x1b[31m\nb.exe")
    trace.heap_alloc(2000, 0, 10, 11, 0x10000, 10, 0x900000)
    found = text(trace)
    assert "\x1b" not in found
    assert "a\N{REPLACEMENT CHARACTER}[31m\N{REPLACEMENT CHARACTER}b.exe" in found


def test_definitions_name_every_heading() -> None:
    for word in ("live at end", "peak", "total", "temporary", "growth", "avg age", "where",
                 "complete"):  # fmt: skip
        assert f"\n{word}" in "\n" + DEFINITIONS


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 B"), (10, "10 B"), (999, "999 B"), (1000, "1.0 kB"), (999_949, "999.9 kB"),
     (999_951, "1.0 MB"), (184_200_000, "184.2 MB"), (2**64, "18.4 EB"), (-1500, "-1.5 kB")],
)  # fmt: skip
def test_sizes(count: int, shown: str) -> None:
    assert units.size(count) == shown


@pytest.mark.parametrize(
    ("ns", "shown"),
    [(0, "0.0 s"), (500, "500 ns"), (1500, "2 us"), (12_300_000, "12.3 ms"),
     (999_600_000, "1.0 s"), (41_700_000_000, "41.7 s"), (700_000_000_000, "11 min 40 s"),
     (7_500_000_000_000, "2 h 05 min")],
)  # fmt: skip
def test_times(ns: int, shown: str) -> None:
    assert units.time(ns) == shown


@pytest.mark.parametrize(
    ("text_", "value"),
    [("4096", 4096), ("10MB", 10_000_000), ("10 mb", 10_000_000), ("64KiB", 65536),
     ("1.5k", 1500), ("1Gi", 2**30), (".5kB", 500)],
)  # fmt: skip
def test_parsed_sizes(text_: str, value: int) -> None:
    assert units.parse_size(text_) == value


@pytest.mark.parametrize("text_", ["", "MB", "-1", "1 XB", "1e3", "1..2"])
def test_sizes_that_are_none(text_: str) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        units.parse_size(text_)


@pytest.mark.parametrize(
    ("text_", "value"), [("2.5", 2_500_000_000), ("10ms", 10_000_000), ("3us", 3000),
                         ("1min", 60_000_000_000)]
)  # fmt: skip
def test_parsed_times(text_: str, value: int) -> None:
    assert units.parse_time(text_) == value


def test_names_of_wide_characters_stay_in_their_columns():
    from rich.cells import cell_len

    made = Trace()
    name = "\u30d7\u30e9\u30b0\u30a4\u30f3-\ud55c\uae00\u6a21\u5757\u5e93.dll"
    made.process(3, 900, 0, 77, 4, name="a.exe")
    made.image(10, 910, 0, 77, 0x7FF600000000, 0x1000, f"\\Device\\x\\{name}")
    made.image(10, 920, 0, 77, 0x7FF700000000, 0x1000, "\\Device\\x\\b.dll")
    for number in range(8):
        base = 0x7FF600000010 if number % 2 else 0x7FF700000010
        stack = (base, *(base + 16 * deep for deep in range(1, 9)))
        where = (2000 + 10 * number, 0, 77, 5, 0x10000)
        made.heap_alloc(*where, 4096, 0x20000 + 8192 * number, stack=stack)
    with th.open_trace(made.to_bytes()) as trace:
        for width in (80, 100):
            report = page(trace, width)
            report.whole()
            lines = drawn(report, width).splitlines()
            assert max(map(cell_len, lines)) <= width
            start = next(i for i, line in enumerate(lines) if "MODULES" in line)
            ends = {cell_len(line.rstrip()) for line in lines[start + 1 : start + 4]}
            assert len(ends) == 1, lines[start : start + 4]
