"""Long runs of the commonest events, taken many at a time, and what interrupts them.

Against the reference reader: the answers may not depend on which events came in one go.
"""

from __future__ import annotations

import pytest

import toolhelp as th
from plaintraces import plain
from tracecompare import compare


@pytest.mark.parametrize("cpus", [1, 4])
@pytest.mark.parametrize("every", [7, 300])
@pytest.mark.parametrize("packed", [None, "xpress"])
def test_interrupted_runs(cpus: int, every: int, packed: str | None) -> None:
    for seed in range(3):
        compare(plain(seed, 1500, cpus, every).to_bytes(compression=packed))


@pytest.mark.parametrize("every", [40, 1000])
def test_many_of_one_processor_in_a_row(every: int) -> None:
    for seed in range(3):
        compare(plain(seed, 2500, 4, every, burst=30).to_bytes())


@pytest.mark.parametrize("cpus", [1, 3])
def test_more_than_a_batch(cpus: int) -> None:
    """Rows go on from one batch to the next, and stacks with them."""
    trace = plain(5, 20_000, cpus, 2000)
    data = trace.to_bytes()
    with th.open_trace(data) as opened:
        assert [len(batch) for batch in opened.heap_events()] == [16384, 20_000 - 16384]
    compare(data)


def swap_times(data: bytearray, of: int) -> None:
    """Exchanges the times of the `of`-th heap event in the file and of the one behind it."""
    places = []
    at = data.find(b"\x02\xc0")
    while at >= 0:
        head = at - 2
        if head >= 0 and data[head + 7 : head + 8] == b"\x10":
            places.append(head + 16)
        at = data.find(b"\x02\xc0", at + 1)
    first, second = places[of], places[of + 1]
    data[first : first + 8], data[second : second + 8] = (
        data[second : second + 8],
        data[first : first + 8],
    )


@pytest.mark.parametrize("at", [0, 1, 20, 70, 300, 600])
def test_runs_that_go_backwards(at: int) -> None:
    """An event earlier than the one before it: the rows come in order all the same."""
    trace = plain(3, 900, 1, 10**9, ())
    trace.buffer_size = 0x10000  # in which they are put in order
    data = bytearray(trace.to_bytes())
    swap_times(data, at)
    with th.open_trace(bytes(data)) as opened:
        times = [time for batch in opened.heap_events() for time in batch["time_ns"]]
        assert len(times) == 900
        assert times == sorted(times)
        assert any("out of order" in message for message in opened.quality["messages"])
