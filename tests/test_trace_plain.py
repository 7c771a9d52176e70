"""Long runs of the commonest events, taken many at a time, and what interrupts them.

Against the reference reader: the answers may not depend on which events came in one go.
"""

from __future__ import annotations

import random

import pytest

import toolhelp as th
from etlmaker import Trace
from tracecompare import compare

#: What comes between plain allocations, frees and stacks, every so often.
ODDITIES = ("realloc", "tail", "no_ids", "wow64", "twice", "late", "kernel", "zeros", "unmatched")


def plain(
    seed: int,
    count: int,
    cpus: int,
    every: int,
    odd: tuple[str, ...] = ODDITIES,
    burst: int = 1,
) -> Trace:
    """A trace of `count` heap events; about one in `every` comes with something unusual.

    `burst`: so many events of one processor in a row, in the middle.
    """
    rng = random.Random(seed)
    trace = Trace(cpus=cpus, buffer_size=rng.choice([0x1000, 0x10000]))
    now = trace.t0
    stacks = [tuple(rng.randrange(1, 1 << 47) for _ in range(rng.randint(1, 20))) for _ in range(9)]
    cpu = 0
    for _ in range(count):
        now += rng.choice([0, 1, 2, 3, 50]) if burst > 1 else rng.choice([1, 2, 3, 50])
        cpu = rng.randrange(cpus) if rng.randrange(burst) == 0 else cpu
        pid, tid = 4 * rng.randint(1, 2), 4 * rng.randint(10 + 3 * cpu, 12 + 3 * cpu)
        what = rng.choice(odd) if odd and rng.randrange(every) == 0 else ""
        ids, address = (now, cpu, pid, tid, 0x10000), rng.getrandbits(40)
        width = 4 if what == "wow64" else 8
        more = {"pointer_size": width}
        if what == "realloc":
            trace.heap_realloc(*ids, address, address + 8, 16, 8, **more)
        elif what == "tail":
            trace.heap_op(33, *ids, tail=bytes(20 + 16), **more)
        elif what == "no_ids":
            trace.heap_free(now, cpu, 0xFFFFFFFF, 0xFFFFFFFF, 0x10000, address, **more)
        elif rng.random() < 0.5:
            trace.heap_free(*ids, address & 0xFFFFFFFF, **more)
            continue
        else:
            trace.heap_alloc(*ids, rng.getrandbits(12), address & 0xFFFFFFFF, **more)
        frames = rng.choice(stacks)
        if what == "wow64":
            frames = tuple(frame & 0x7FFFFFFF or 1 for frame in frames)
        owner = now, pid, tid
        now += 1
        if what == "kernel":
            trace.stack(now, cpu, *owner, (*frames, 0xFFFFF80000001000), **more)
            now += 1
        if what == "zeros":
            frames = (0, *frames, 0, 7)
        if what == "late":  # of an event that is no longer close, perhaps
            trace.stack(now + rng.choice([100, 300]), cpu, *owner, frames, **more)
        elif what == "unmatched":
            trace.stack(now, cpu, owner[0], pid, tid + 400, frames, **more)
        else:
            for _ in range(2 if what == "twice" else 1):
                trace.stack(now, cpu, *owner, frames, **more)
                now += 1
    return trace


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
