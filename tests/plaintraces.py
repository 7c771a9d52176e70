"""Traces of the commonest events, interrupted now and then by others."""

from __future__ import annotations

import random

from etlmaker import Trace

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
