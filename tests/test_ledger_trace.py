"""The analysis of whole trace files against the slow ledger: figures, groups, filters, blocks."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

import toolhelp as th
from ledgerref import NO_STACK, Block, Ledger
from ledgerstreams import FRAMES, random_events, trace_of

pytestmark = pytest.mark.needs("core")

SEEDS = int(os.environ.get("LEDGER_SEEDS", "25"))
FIGURES = ("live", "at_peak", "allocated", "temporary")


def figures(row: Any) -> dict[str, Any]:
    return {
        **{
            name: [getattr(row, f"{name}_blocks"), getattr(row, f"{name}_bytes")]
            for name in FIGURES
        },
        "growth": row.growth,
        "first_ns": row.first_ns,
        "last_ns": row.last_ns,
        "age_ns": row.age_ns,
    }


def expected(found: dict[str, Any], duration: int) -> dict[str, Any]:
    live = found["live"][0]
    return {
        **{name: found[name] for name in FIGURES},
        "growth": pytest.approx(found["growth_bytes"] / (duration / 2e9) if duration else 0),
        "first_ns": found["first_ns"],
        "last_ns": found["last_ns"],
        "age_ns": pytest.approx(found["age_ns"] // live, abs=1, rel=1e-12) if live else None,
    }


def add(into: dict[str, Any] | None, more: dict[str, Any]) -> dict[str, Any]:
    if into is None:
        return dict(more)
    return {
        **{name: [a + b for a, b in zip(into[name], more[name], strict=True)] for name in FIGURES},
        "growth_bytes": into["growth_bytes"] + more["growth_bytes"],
        "age_ns": into["age_ns"] + more["age_ns"],
        "first_ns": min(into["first_ns"], more["first_ns"]),
        "last_ns": max(into["last_ns"], more["last_ns"]),
    }


def compare(analysis: th.Analysis, ref: dict[str, Any], ledger: Ledger) -> None:
    duration = analysis.duration_ns
    totals = ref["totals"]
    flat = [
        *totals["allocations"],
        *totals["frees"],
        totals["reallocations"],
        *totals["adopted"],
        *totals["overwritten"],
        *totals["destroyed"],
        totals["heaps_created"],
        totals["heaps_destroyed"],
    ]
    assert list(analysis.totals) == flat
    assert list(analysis.live) == ref["live"]
    assert list(analysis.peak) == [*ref["peak"], ref["peak_ns"]]
    assert list(analysis.temporary)[:2] == ref["temporary"]
    odd = ref["oddities"]
    quality = analysis.quality
    for name in ("unmatched_frees", "realloc_repairs", "size_mismatches", "handle_mismatches",
                 "heaps_reused"):  # fmt: skip
        assert quality[name] == odd[name], name
    assert quality["pre_trace"] == odd["unmatched_frees"] + odd["adopted_blocks"]
    wanted = odd["stack_wanted"]
    assert quality["stack_coverage"] == (odd["stack_seen"] / wanted if wanted else None)
    assert [
        [p.time_ns, p.live_blocks, p.live_bytes] for p in analysis.timeline
    ] == ref["timeline"]  # fmt: skip

    pids = [instance.pid for instance in ledger.instances]
    grouped: dict[str, dict[Any, Any]] = {"stacks": {}, "heaps": {}, "threads": {}}
    frames: dict[int, Any] = {}
    for (_, stack), row in ref["sites"].items():
        key = FRAMES.get(stack, ())
        grouped["stacks"][key] = add(grouped["stacks"].get(key), row)
        for frame in set(key):
            frames[frame] = add(frames.get(frame), row)
    stacks = {
        tuple(frame.address for frame in analysis.frames(row)): figures(row)
        for row in analysis.stacks
    }
    assert len(stacks) == len(analysis.stacks)
    assert stacks == {key: expected(row, duration) for key, row in grouped["stacks"].items()}
    assert {int(row.name, 16): figures(row) for row in analysis.functions} == {
        key: expected(row, duration) for key, row in frames.items()
    }
    for table, kind, name in ((analysis.heaps, "heaps", "heap"), (analysis.threads, "threads",
                                                                  "tid")):  # fmt: skip
        found = sorted(
            (row.pid, getattr(row, name), row.first_ns, sorted(figures(row).items(), key=str))
            for row in table
        )
        wanted_rows = [
            (pids[i], key, row["first_ns"], expected(row, duration))
            for (i, key), row in ref[kind].items()
        ]
        assert len(found) == len(wanted_rows)
        for row in table:
            candidates = [
                w for pid, key, _, w in wanted_rows if (pid, key) == (row.pid, getattr(row, name))
            ]
            assert figures(row) in candidates
    processes = [
        row
        for row in ref["processes"]
        if row["first_ns"] != -(2**63)
        or row["totals"]["heaps_created"]
        or row["totals"]["heaps_destroyed"]
    ]
    assert [(p.pid, p.peak_blocks, p.peak_bytes, p.end_ns) for p in analysis.processes] == [
        (p["pid"], *p["peak"], p["end_ns"] if p["ended"] else None) for p in processes
    ]
    for row, want in zip(analysis.processes, processes, strict=True):
        assert [row.live_blocks, row.live_bytes] == want["live"]
        assert [row.allocations, row.total_allocated_bytes] == want["totals"]["allocations"]
        assert [row.destroyed_blocks, row.destroyed_bytes] == want["totals"]["destroyed"]
    assert {
        row.max: [[row.blocks, row.bytes], [row.live_blocks, row.live_bytes]]
        for row in analysis.sizes
        if row.blocks
    } == {max_: [row["all"], row["live"]] for max_, row in ref["sizes"].items()}
    assert [[row.blocks, row.bytes] for row in analysis.lifetimes] == ref["lifetimes"]


def compare_blocks(trace: th.Trace, blocks: list[Block], **words: Any) -> None:
    rows = [row for batch in trace.blocks(**words) for row in batch]
    stacks = trace.stacks

    def frames(number: int | None) -> tuple[int, ...]:
        return () if number is None else tuple(stacks[number].frames)

    found = sorted(
        (r.pid, r.heap, r.address, r.size, r.tid, r.birth_ns, -1 if r.death_ns is None else
         r.death_ns, r.end, frames(r.stack_id))
        for r in rows
    )  # fmt: skip
    assert found == sorted(
        (b.pid, b.heap, b.address, b.size, b.tid, b.birth, -1 if b.death is None else b.death,
         b.end, FRAMES.get(b.stack, ()))
        for b in blocks
    )  # fmt: skip


def made(seed: int) -> tuple[random.Random, list[Any], int, th.Trace]:
    rng = random.Random(seed)
    events = random_events(rng, quantum=100, no_pid=False)
    spread = rng.random() < 0.5
    if spread:  # equal times on several processors would leave the order open
        events = [event._replace(time=event.time + 100 * i) for i, event in enumerate(events)]
    last = events[-1].time if events else 0
    end = last + rng.choice([0, 100, 10**9])
    file = trace_of(events, rng, cpus=2 if spread else 1, wow64=True, end_ns=end)
    if rng.random() < 0.3:
        file.finished, file.end = False, None
        end = last
    return rng, events, end, th.open_trace(file.to_bytes())


@pytest.mark.parametrize("part", range(8))
def test_equals_the_slow_ledger(part: int) -> None:
    for seed in range(part * SEEDS, (part + 1) * SEEDS):
        rng, events, end, trace = made(seed)
        try:
            check(rng, events, end, trace)
        except BaseException:
            print(f"seed {seed}")
            raise


def check(rng: random.Random, events: list[Any], end: int, trace: th.Trace) -> None:
    ledger = Ledger(events)
    options = {"rule_ns": rng.choice([0, 1, 1_000_000, 10**9]), "buckets": rng.choice([1, 7, 200])}
    last = events[-1].time if events else 0
    if rng.random() < 0.5:
        trace.read()
    analysis = trace.analyze(**options)
    assert analysis.duration_ns == max(end, last)
    compare(analysis, ledger.figures(duration=end, end=end, **options), ledger)
    compare_blocks(trace, ledger.blocks)

    words: dict[str, Any] = {
        "pids": rng.choice([None, 4, [100, 104]]),
        "threads": rng.choice([None, None, [1, 5]]),
        "heaps": rng.choice([None, None, 0x10000]),
        "since_ns": rng.choice([None, last // 3]),
        "until_ns": rng.choice([None, last // 2]),
        "min_size": rng.choice([0, 16, 5000]),
        "lifetime_ns": rng.choice([None, (None, 10_000_000), (1_000_000, None)]),
        "under": rng.choice([None, None, "300003", ["0x7ff1*", "^0x7ff4"]]),
    }
    if words["since_ns"] is not None and words["until_ns"] is not None:
        words["until_ns"] += words["since_ns"]

    def several(value: Any) -> Any:
        return [value] if isinstance(value, int) else value

    def under(stack: int) -> bool:
        if words["under"] is None:
            return True
        wanted = (0x7FF300003000,) if words["under"] == "300003" else (0x7FF1, 0x7FF4)
        return any(
            frame in wanted or frame >> 32 in wanted for frame in FRAMES.get(stack, ())
        )  # fmt: skip

    def accept(block: Block) -> bool:
        ends = ledger.instances[block.instance].end
        death = block.death if block.death is not None else end if ends is None else ends
        low, high = words["lifetime_ns"] or (None, None)
        lifetime = death - block.birth
        return (
            (words["pids"] is None or block.pid in several(words["pids"]))
            and (words["threads"] is None or block.tid in words["threads"])
            and (words["heaps"] is None or block.heap in several(words["heaps"]))
            and (words["since_ns"] is None or block.birth >= words["since_ns"])
            and (words["until_ns"] is None or block.birth < words["until_ns"])
            and block.size >= words["min_size"]
            and (low is None or lifetime >= low)
            and (high is None or lifetime < high)
            and (words["under"] is None or (block.stack != NO_STACK and under(block.stack)))
        )

    def accept_heap(pid: int, heap: int) -> bool:
        return (words["pids"] is None or pid in several(words["pids"])) and (
            words["heaps"] is None or heap in several(words["heaps"])
        )

    filtered = trace.analyze(**options, **words)
    compare(
        filtered,
        ledger.figures(
            duration=end,
            end=end,
            accept=accept,
            accept_heap=accept_heap,
            filtered=any(words.values()),
            **options,
        ),
        ledger,
    )
    compare_blocks(trace, [block for block in ledger.blocks if accept(block)], **words)
