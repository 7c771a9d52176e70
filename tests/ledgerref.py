"""A slow, obvious heap ledger. It keeps every block for ever and works out every figure afterwards
from the list of blocks and the list of changes; nothing is maintained on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

CREATE, ALLOC, REALLOC, DESTROY, FREE = range(5)
PROCESS_ENDS = 200
NO_STACK = 0xFFFFFFFF
NEVER = -(2**63)
ENDS = ("live", "free", "realloc", "destroy", "overwritten", "exit")
LIFETIME_EDGES = [10_000 * 10**k for k in range(7)]


class Event(NamedTuple):
    """Addresses: `address` and `size` are the new ones of a ReAlloc."""

    time: int
    kind: int
    pid: int
    tid: int = 1
    heap: int = 0
    address: int = 0
    size: int = 0
    old_address: int = 0
    old_size: int = 0
    stack: int = NO_STACK


@dataclass(eq=False)
class Block:
    serial: int
    instance: int
    pid: int
    tid: int
    heap: int
    address: int
    size: int
    birth: int
    stack: int
    adopted: bool
    end: str = "live"
    death: int | None = None
    # (step, bytes) of every change of its size, first of all its birth
    changes: list[tuple[int, int]] = field(default_factory=list)
    last_step: int | None = None  # at which it left the running sum
    grown: int = 0
    shrunk: int = 0

    def running_at(self, step: int) -> int | None:
        """Its size after that step, or None when it was not live in a running process then."""
        if step < self.changes[0][0] or (self.last_step is not None and step >= self.last_step):
            return None
        return [size for at, size in self.changes if at <= step][-1]


@dataclass
class Instance:
    pid: int
    first: int
    end: int | None = None


class Pairing:
    def __init__(self) -> None:
        self.alloc: int | None = None
        self.free: int | None = None
        self.awaited: set[tuple[int, int]] = set()  # (kind, address)

    def swallows(self, kind: int, address: int) -> bool:
        if (kind, address) in self.awaited:
            self.awaited.remove((kind, address))
            return True
        self.awaited.clear()
        if kind == ALLOC:
            self.alloc = address
        else:
            self.free = address
        return False


class Ledger:
    def __init__(self, events: list[Event]) -> None:
        self.events = events
        self.blocks: list[Block] = []
        self.live: dict[tuple[int, int], Block] = {}
        self.instances: list[Instance] = []
        self.current: dict[int, int] = {}
        self.pairings: dict[tuple[int, int], Pairing] = {}
        self.created: set[tuple[int, int]] = set()
        self.odd = dict.fromkeys(
            "unmatched_frees adopted_blocks realloc_repairs size_mismatches handle_mismatches "
            "heaps_reused unattributed stack_wanted stack_seen".split(),
            0,
        )
        self.reallocations: list[tuple[int, Block | None]] = []  # instance, block
        self.heap_events: list[tuple[int, int, int]] = []  # instance, kind, heap
        self.threads_seen: list[tuple[int, int]] = []
        for step, event in enumerate(events):
            self.enter(step, event)

    # -- rules ---------------------------------------------------------------------------------

    def enter(self, step: int, event: Event) -> None:
        if event.kind == PROCESS_ENDS:
            self.end_process(step, event)
            return
        if event.kind > FREE:
            return
        if event.pid == 0xFFFFFFFF:
            self.odd["unattributed"] += 1
            return
        if event.pid not in self.current:
            self.current[event.pid] = len(self.instances)
            self.instances.append(Instance(event.pid, event.time))
        instance = self.current[event.pid]
        thread = (instance, event.tid)
        if thread not in self.pairings:
            self.pairings[thread] = Pairing()
        pairing = self.pairings[thread]
        if event.kind in (ALLOC, REALLOC):
            self.odd["stack_wanted"] += 1
            self.odd["stack_seen"] += event.stack != NO_STACK
        if event.kind == ALLOC:
            if event.address and not pairing.swallows(ALLOC, event.address):
                self.born(step, event, instance)
        elif event.kind == FREE:
            if event.address and not pairing.swallows(FREE, event.address):
                self.freed(step, event, instance, event.address, "free")
        elif event.kind == REALLOC:
            self.reallocated(step, event, instance, pairing)
        else:
            key = (instance, event.heap)
            self.heap_events.append((instance, event.kind, event.heap))
            of_heap = [b for (i, _), b in self.live.items() if (i, b.heap) == key]
            if event.kind == CREATE and (key in self.created or of_heap):
                self.odd["heaps_reused"] += 1
            for block in of_heap:
                self.ended(step, event.time, block, "destroy")
            if event.kind == CREATE:
                self.created.add(key)
            else:
                self.created.discard(key)

    def end_process(self, step: int, event: Event) -> None:
        instance = self.current.pop(event.pid, None)
        if instance is None:
            return
        self.instances[instance].end = event.time
        for block in [b for b in self.live.values() if b.instance == instance]:
            self.ended(step, event.time, block, "exit")

    def born(self, step: int, event: Event, instance: int, adopted: bool = False) -> None:
        old = self.live.get((instance, event.address))
        if old:
            self.ended(step, event.time, old, "overwritten")
        block = Block(
            serial=len(self.blocks),
            instance=instance,
            pid=event.pid,
            tid=event.tid,
            heap=event.heap,
            address=event.address,
            size=event.size,
            birth=event.time,
            stack=event.stack,
            adopted=adopted,
            changes=[(step, event.size)],
        )
        self.blocks.append(block)
        self.live[instance, event.address] = block

    def ended(self, step: int, time: int, block: Block, end: str) -> None:
        del self.live[block.instance, block.address]
        block.end, block.death, block.last_step = end, time, step

    def freed(self, step: int, event: Event, instance: int, address: int, end: str) -> None:
        block = self.live.get((instance, address))
        if block is None:
            self.odd["unmatched_frees"] += 1
            return
        if block.heap != event.heap:
            self.odd["handle_mismatches"] += 1
        self.ended(step, event.time, block, end)

    def reallocated(self, step: int, event: Event, instance: int, pairing: Pairing) -> None:
        new, old = event.address, event.old_address
        alloc_seen = pairing.alloc == new
        free_seen = pairing.free == old
        pairing.alloc = pairing.free = None
        pairing.awaited.clear()
        if new != 0 and new == old:
            block = self.live.get((instance, new))
            if block is None:
                self.odd["adopted_blocks"] += 1
                self.born(step, event, instance, adopted=True)
            else:
                self.check_size(block, event)
                if event.size > block.size:
                    block.grown += event.size - block.size
                else:
                    block.shrunk += block.size - event.size
                block.size = event.size
                block.changes.append((step, event.size))
        elif new != 0:
            if old != 0 and not free_seen:
                self.odd["realloc_repairs"] += 1
                self.check_size(self.live.get((instance, old)), event)
                self.freed(step, event, instance, old, "realloc")
                pairing.awaited.add((FREE, old))
            if not alloc_seen:
                self.odd["realloc_repairs"] += 1
                self.born(step, event, instance)
                pairing.awaited.add((ALLOC, new))
        self.reallocations.append((instance, self.live.get((instance, new or old))))

    def check_size(self, block: Block | None, event: Event) -> None:
        if block is not None and block.size != event.old_size:
            self.odd["size_mismatches"] += 1

    # -- figures -------------------------------------------------------------------------------

    def figures(
        self,
        *,
        rule_ns: int = 1_000_000,
        buckets: int = 200,
        duration: int = -1,
        end: int,
        accept=lambda block: True,
        accept_heap=lambda pid, heap: True,
        filtered: bool = False,
    ) -> dict:
        counted = [b for b in self.blocks if accept(b)]
        return _Figures(
            self, counted, rule_ns, buckets, duration, end, accept_heap, filtered
        ).result()


def size_class(size: int) -> int:
    """The largest size of its class: 16, 32, 64 ..."""
    edge = 16
    while size > edge:
        edge *= 2
    return edge


def amount(sizes) -> list[int]:
    sizes = list(sizes)
    return [len(sizes), sum(sizes)]


class _Figures:
    def __init__(self, ledger, blocks, rule_ns, buckets, duration, end, accept_heap, filtered):
        self.ledger, self.blocks = ledger, blocks
        self.rule_ns, self.buckets, self.duration, self.end = rule_ns, buckets, duration, end
        self.accept_heap, self.filtered = accept_heap, filtered
        self.steps = len(ledger.events)
        self.sums = self.running_sums(blocks)
        self.peak_step = self.peak_of(self.sums)
        self.half_step = None
        if duration >= 0:
            before = [i for i, e in enumerate(ledger.events) if e.time <= duration // 2]
            self.half_step = before[-1] if before else -1

    def running_sums(self, blocks) -> list[tuple[int, int]]:
        """(blocks, bytes) after every step."""
        deltas = [[0, 0] for _ in range(self.steps)]
        for block in blocks:
            size = 0
            for number, (step, new) in enumerate(block.changes):
                deltas[step][0] += number == 0
                deltas[step][1] += new - size
                size = new
            if block.last_step is not None:
                deltas[block.last_step][0] -= 1
                deltas[block.last_step][1] -= size
        sums, count, total = [], 0, 0
        for more, bytes_ in deltas:
            count += more
            total += bytes_
            sums.append((count, total))
        return sums

    @staticmethod
    def peak_of(sums) -> int | None:
        best, where = 0, None
        for step, (_, total) in enumerate(sums):
            if total > best:
                best, where = total, step
        return where

    def is_live(self, block) -> bool:
        return block.end in ("live", "exit")

    def is_temporary(self, block) -> bool:
        return (
            block.end in ("free", "realloc", "destroy") and block.death - block.birth < self.rule_ns
        )

    def end_of(self, block) -> int:
        end = self.ledger.instances[block.instance].end
        return self.end if end is None else end

    def summary(self, blocks) -> dict:
        live = [b for b in blocks if self.is_live(b)]
        at_peak = []
        if self.peak_step is not None:
            at_peak = [s for b in blocks if (s := b.running_at(self.peak_step)) is not None]
        growth = 0
        if self.half_step is not None and self.half_step + 1 < self.steps:
            half = 0
            for block in blocks:
                size = block.running_at(self.half_step)
                if size is None and block.end == "exit" and block.last_step <= self.half_step:
                    size = block.size
                half += size or 0
            growth = sum(b.size for b in live) - half
        return {
            "live": amount(b.size for b in live),
            "at_peak": amount(at_peak),
            "allocated": [
                sum(not b.adopted for b in blocks),
                sum((0 if b.adopted else b.changes[0][1]) + b.grown for b in blocks),
            ],
            "temporary": amount(b.size for b in blocks if self.is_temporary(b)),
            "growth_bytes": growth,
            "first_ns": min((b.birth for b in blocks), default=NEVER),
            "last_ns": max((b.birth for b in blocks), default=NEVER),
            "age_ns": sum(self.end_of(b) - b.birth for b in live),
        }

    def totals(self, instance: int | None) -> dict:
        ours = [b for b in self.blocks if instance in (None, b.instance)]
        born = [b for b in ours if not b.adopted]

        def ended(*ends):
            return amount(b.size for b in ours if b.end in ends)

        frees = ended("free", "realloc")
        counted = set(self.blocks)
        heap_events = [
            kind
            for i, kind, heap in self.ledger.heap_events
            if instance in (None, i) and self.accept_heap(self.ledger.instances[i].pid, heap)
        ]
        return {
            "allocations": [
                len(born),
                sum(b.changes[0][1] for b in born) + sum(b.grown for b in ours),
            ],
            "frees": [frees[0], frees[1] + sum(b.shrunk for b in ours)],
            "adopted": amount(b.changes[0][1] for b in ours if b.adopted),
            "overwritten": ended("overwritten"),
            "destroyed": ended("destroy"),
            "reallocations": sum(
                instance in (None, i) and (not self.filtered or block in counted)
                for i, block in self.ledger.reallocations
            ),
            "heaps_created": heap_events.count(CREATE),
            "heaps_destroyed": heap_events.count(DESTROY),
        }

    def groups(self, key, names) -> dict:
        found: dict = {}
        for block in self.blocks:
            found.setdefault(key(block), []).append(block)
        return {k: self.summary(v) for k, v in found.items()}

    def processes(self) -> list[dict]:
        rows = []
        for number, instance in enumerate(self.ledger.instances):
            blocks = [b for b in self.blocks if b.instance == number]
            sums = self.running_sums(blocks)
            peak = self.peak_of(sums)
            rows.append(
                {
                    "pid": instance.pid,
                    "ended": instance.end is not None,
                    "process_first_ns": instance.first,
                    "end_ns": self.end if instance.end is None else instance.end,
                    "peak": list(sums[peak]) if peak is not None else [0, 0],
                    "peak_ns": self.ledger.events[peak].time if peak is not None else 0,
                    "totals": self.totals(number),
                    **self.summary(blocks),
                }
            )
        return rows

    def timeline(self) -> list[list[int]]:
        if self.duration >= 0:
            starts = [self.duration * k // self.buckets for k in range(self.buckets)]
        else:
            width = 1000
            while self.end >= width * self.buckets:
                width *= 2
            starts = [width * k for k in range(self.end // width + 1)]
        points = []
        events = self.ledger.events
        for k, start in enumerate(starts):
            last = k + 1 == len(starts)
            before = [i for i, e in enumerate(events) if e.time < start]
            inside = [
                i
                for i, e in enumerate(events)
                if start <= e.time and (last or e.time < starts[k + 1])
            ]
            candidates = [self.sums[before[-1]] if before else (0, 0)]
            candidates += [self.sums[i] for i in inside]
            best = max(candidates, key=lambda c: c[1])  # the first of the largest
            points.append([start, *best])
        return points

    def sizes(self) -> dict:
        found: dict = {}
        for block in self.blocks:
            found.setdefault(size_class(block.size), []).append(block)
        return {
            edge: {
                "all": amount(b.size for b in blocks),
                "live": amount(b.size for b in blocks if self.is_live(b)),
            }
            for edge, blocks in found.items()
        }

    def lifetimes(self) -> list[list[int]]:
        rows: list[list[int]] = [[0, 0] for _ in range(len(LIFETIME_EDGES) + 1)]
        for block in self.blocks:
            if self.is_live(block):
                continue
            row = rows[sum(block.death - block.birth >= edge for edge in LIFETIME_EDGES)]
            row[0] += 1
            row[1] += block.size
        return rows

    def result(self) -> dict:
        peak = self.peak_step
        return {
            "totals": self.totals(None),
            "oddities": self.ledger.odd,
            "live": amount(b.size for b in self.blocks if self.is_live(b)),
            "peak": list(self.sums[peak]) if peak is not None else [0, 0],
            "peak_ns": self.ledger.events[peak].time if peak is not None else 0,
            "temporary": amount(b.size for b in self.blocks if self.is_temporary(b)),
            "sites": self.groups(lambda b: (b.instance, b.stack), None),
            "heaps": self.groups(lambda b: (b.instance, b.heap), None),
            "threads": self.groups(lambda b: (b.instance, b.tid), None),
            "processes": self.processes(),
            "sizes": self.sizes(),
            "lifetimes": self.lifetimes(),
            "timeline": self.timeline(),
            "ends": [
                [b.serial, ENDS.index(b.end), b.death] for b in self.blocks if b.end != "live"
            ],
        }
