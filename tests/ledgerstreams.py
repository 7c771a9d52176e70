"""Random streams of heap events that visit every rule of the ledger, and traces made of them."""

from __future__ import annotations

import random

from etlmaker import Trace
from ledgerref import ALLOC, CREATE, DESTROY, FREE, NO_STACK, PROCESS_ENDS, REALLOC, Event


def random_events(rng: random.Random, quantum: int = 1, no_pid: bool = True) -> list[Event]:
    """Few addresses, so that they meet again and again. Times are multiples of `quantum` ns."""
    pids = rng.sample([4, 100, 104, 2000], rng.randint(1, 3))
    tids = [1, 5, 9][: rng.randint(1, 3)]
    heaps = [0x10000, 0x20000, 0x30000][: rng.randint(1, 3)]
    addresses = [0x1000 + 16 * i for i in range(rng.choice([3, 8, 40]))]
    stacks = [0, 1, 2, 7, NO_STACK]
    sizes = [0, 1, 15, 16, 17, 80, 4096, 5000, 2**32 + 16, 2**45]
    steps = [0, 0, 1, 50, 9_999, 10_000, 500_000, 1_000_000, 30_000_000]
    loss = rng.choice([0, 0, 0.1, 0.4])
    marks = rng.random() < 0.6
    live: dict[tuple[int, int], int] = {}
    events: list[Event] = []
    time = 0

    def put(kind: int, **fields: int) -> None:
        nonlocal time
        time += rng.choice(steps) // quantum * quantum
        if rng.random() >= loss:
            events.append(Event(time, kind, **fields))

    for _ in range(rng.choice([0, 1, 5, 60, 60, 200])):
        pid, tid, heap = rng.choice(pids), rng.choice(tids), rng.choice(heaps)
        who = {"pid": pid, "tid": tid, "heap": heap}
        stack, address, size = rng.choice(stacks), rng.choice(addresses), rng.choice(sizes)
        old = rng.choice(addresses)
        choice = rng.random()
        if choice < 0.42:
            put(ALLOC, address=rng.choice([address] * 9 + [0]), size=size, stack=stack, **who)
            live[pid, address] = size
        elif choice < 0.7:
            put(FREE, address=rng.choice([address] * 9 + [0]), **who)
            live.pop((pid, address), None)
        elif choice < 0.78:
            old_size = rng.choice([live.get((pid, address), size), size])
            put(REALLOC, address=address, old_address=address, size=size, old_size=old_size,
                stack=stack, **who)  # fmt: skip
        elif choice < 0.92:
            moved = {
                "address": address,
                "old_address": rng.choice([old] * 5 + [0]),
                "size": size,
                "old_size": live.get((pid, old), 0),
                "stack": stack,
            }
            halves = [
                (ALLOC, {"address": address, "size": size, "stack": stack}),
                (FREE, {"address": old}),
                (REALLOC, moved),
            ]
            rng.shuffle(halves)
            for kind, fields in halves[: rng.choice([3, 3, 3, 2, 1])]:
                put(kind, **fields, **who)
                if rng.random() < 0.1:
                    other = {**who, "tid": rng.choice(tids)}
                    put(rng.choice([ALLOC, FREE]), address=rng.choice(addresses), size=3, **other)
        elif choice < 0.94:
            put(REALLOC, address=0, old_address=address, size=size, **who)
        elif choice < 0.96:
            put(CREATE, **who)
        elif choice < 0.98:
            put(DESTROY, **who)
        elif choice < 0.99:
            if no_pid:
                put(ALLOC, address=address, size=size, **{**who, "pid": 0xFFFFFFFF})
        elif marks:
            put(PROCESS_ENDS, pid=pid)
    return events


#: Frames of stack number n; some share frames, one recurses.
FRAMES = {
    0: (0x7FF100001000, 0x7FF200002000),
    1: (0x7FF100001000, 0x7FF300003000, 0x7FF100001000),
    2: (0x7FF200002000,),
    7: (0x7FF400004000, 0x7FF200002000, 0x7FF300003000),
}


def trace_of(events: list[Event], rng: random.Random, *, cpus: int = 1, wow64: bool = False,
             end_ns: int | None = None) -> Trace:  # fmt: skip
    """The events as a file; times in ns become ticks of 100 ns. `wow64`: 32-bit payloads where
    sizes and addresses allow."""
    trace = Trace(cpus=cpus)
    ticks = trace.t0
    for event in events:
        ticks = trace.t0 + event.time // 100
        cpu = rng.randrange(cpus)
        who = (ticks, cpu, event.pid, event.tid, event.heap)
        more: dict[str, object] = {}
        narrow = max(event.size, event.old_size) < 2**32
        if wow64 and narrow and rng.random() < 0.5:
            more["pointer_size"] = 4
        if event.stack != NO_STACK:
            # The stack names its event by time and thread; its own place is a little later.
            more |= {"stack": FRAMES[event.stack], "stack_delay": 0}
            if more.get("pointer_size") == 4:
                del more["pointer_size"]
        if event.kind == CREATE:
            trace.heap_create(*who, **more)
        elif event.kind == ALLOC:
            trace.heap_alloc(*who, event.size, event.address, **more)
        elif event.kind == REALLOC:
            trace.heap_realloc(*who, event.address, event.old_address, event.size, event.old_size,
                               **more)  # fmt: skip
        elif event.kind == DESTROY:
            trace.heap_destroy(*who, **more)
        elif event.kind == FREE:
            trace.heap_free(*who, event.address, **more)
        elif event.kind == PROCESS_ENDS:
            trace.process(2, ticks, cpu, event.pid)
    if end_ns is not None:
        trace.end = trace.start + end_ns // 100
    return trace
