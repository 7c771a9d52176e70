"""How often a trace is read for its figures: once, unless its length was guessed wrongly."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import toolhelp as th
import toolhelp.analysis
from etlmaker import Trace

pytestmark = pytest.mark.needs("core")

EVENTS = 400


def recording(**words: Any) -> Trace:
    """Blocks of 100 bytes on two processors, in many small buffers; every third is freed. The last
    event comes 40 us after the start."""
    trace = Trace(cpus=2, buffer_size=0x1000, **words)
    for number in range(EVENTS):
        time, cpu = trace.t0 + number + 1, number % 2
        trace.heap_alloc(time, cpu, 10, 11, 0x10000, 100, 0x50000 + 0x100 * number)
        if number % 3 == 0:
            trace.heap_free(time, cpu, 10, 11, 0x10000, 0x50000 + 0x100 * number)
    return trace


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of all passes of the ledger."""
    made: list[int] = []
    run = th.analysis._core.trace_analysis

    def counted(one: Any, rule_ns: int, buckets: int, length: int, *more: Any) -> Any:
        made.append(length)
        return run(one, rule_ns, buckets, length, *more)

    monkeypatch.setattr(toolhelp.analysis._core, "trace_analysis", counted)
    return made


def everything(analysis: th.Analysis) -> list[Any]:
    tables = ("stacks", "heaps", "threads", "processes", "sizes", "lifetimes", "timeline")
    return [analysis.totals, analysis.live, analysis.peak, analysis.duration_ns] + [
        [tuple(row) for row in getattr(analysis, name)] for name in tables
    ]


@pytest.mark.parametrize("compression", [None, "xpress"])
@pytest.mark.parametrize("finished", [True, False])
def test_one_pass(passes: list[int], finished: bool, compression: str | None) -> None:
    file = recording(finished=finished, end=None).to_bytes(compression=compression)
    with th.open_trace(file) as trace:
        found = everything(trace.analyze())
    last_ns = EVENTS * 100
    assert passes == [10_000_000_000 if finished else last_ns]
    assert found[3] == passes[0]
    assert found[1] == (EVENTS - 134, (EVENTS - 134) * 100)
    with th.open_trace(file) as trace:
        trace.read()
        assert everything(trace.analyze()) == found


def test_one_pass_over_a_trace_that_is_cut_off(passes: list[int]) -> None:
    file = recording().to_bytes()
    with th.open_trace(file[: len(file) * 3 // 4 + 100]) as trace:
        found = everything(trace.analyze())
        assert trace.quality["truncated"]
    assert len(passes) == 1
    assert found[3] == passes[0] < EVENTS * 100


def test_a_wrong_guess_is_made_good(passes: list[int]) -> None:
    made = recording(finished=False)
    # One event says that it came 1 s later than the buffers around it.
    late = made.t0 + 10_000_000
    made.heap_alloc(late, 0, 10, 11, 0x10000, 5, 0x9000000)
    made.items[-1] = dataclasses.replace(made.items[-1], time=made.t0 + 30)
    file = made.to_bytes()
    with th.open_trace(file) as trace:
        found = everything(trace.analyze())
        assert passes == [EVENTS * 100, 1_000_000_000]
        assert found[3] == 1_000_000_000
        del passes[:]
        assert everything(trace.analyze()) == found
        assert passes == [1_000_000_000]


def test_a_trace_without_events(passes: list[int]) -> None:
    with th.open_trace(Trace(finished=False).to_bytes()) as trace:
        assert trace.analyze().duration_ns == 0
    assert passes == [0]


def test_one_pass_over_several_files(passes: list[int]) -> None:
    """The latest of their last events counts."""
    first, second = recording(finished=False), Trace(cpus=2, finished=False, session_name="Kernel")
    second.heap_alloc(second.t0 + EVENTS + 77, 0, 10, 11, 0x10000, 8, 0x8000000)
    files = [first.to_bytes(), second.to_bytes()]
    for order in (files, files[::-1]):
        del passes[:]
        with th.open_trace(order) as trace:
            assert trace.analyze().duration_ns == (EVENTS + 77) * 100
        assert passes == [(EVENTS + 77) * 100]
