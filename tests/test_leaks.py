"""Nothing is kept: every public function, called again and again, leaves memory where it was.

A public name without a leak test fails `test_every_public_name_is_covered`.
"""

from __future__ import annotations

import functools
import gc
import inspect
import os
import pathlib
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import pytest

import toolhelp as th
from toolhelp import raw

pytestmark = pytest.mark.needs("fake")

OWN = 4242
ROUNDS = 40

CASES: dict[str, Callable[[], Any]] = {}


def case(*names: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """The leak test of these public names."""

    def register(body: Callable[[], Any]) -> Callable[[], Any]:
        for name in names:
            CASES[name] = body
        return body

    return register


def fails(kind: type[Exception], call: Callable[..., Any], *arguments: Any) -> None:
    try:
        call(*arguments)
    except kind:
        return
    raise AssertionError(f"{call} did not fail")


CASES["processes"] = lambda: list(th.processes())
CASES["threads"] = lambda: [list(th.threads()), list(th.threads(900))]
CASES["modules"] = lambda: [list(th.modules()), list(th.modules(900))]


@case("snapshot", "Snapshot")
def _():
    seen = th.snapshot(modules=True)
    return repr(seen), seen.processes, seen.threads, seen.modules


@case("ToolhelpError", "ProcessNotFound", "AccessDenied", "SnapshotRace", "PartialCopy")
def _():
    fails(th.ProcessNotFound, th.modules, 5)
    fails(th.ProcessNotFound, th.threads, 5)
    fails(th.AccessDenied, th.modules, 4)
    for code, kind in ((24, th.SnapshotRace), (299, th.PartialCopy), (8, th.ToolhelpError)):
        th._core.fake_fail("CreateToolhelp32Snapshot", code=code, times=64)
        fails(kind, th.processes)
        th._core.fake_reset()
        script()


@case("Table", "Process", "Thread", "Module")
def _():
    table = th.modules()
    part = table[1:]
    return [
        list(part), table[::2], table.take([0, 1]), table == part, table.to_dict(), repr(table),
        table.columns, table.schema, table.replaced_text, table[0], table[-1],
        table.__arrow_c_schema__(), table.__arrow_c_stream__(),
        fails(IndexError, table.__getitem__, 99), fails(KeyError, table.__getitem__, "x"),
        fails(TypeError, table.__getitem__, None), fails(IndexError, table.take, [99]),
        fails(TypeError, table.take, ["x"]),
    ]  # fmt: skip


@case("Column")
def _():
    table = th.modules(900)
    return [
        [list(table[name]), list(table[name][::2]), repr(table[name])] for name in table.columns
    ] + [
        table["path"].codes, table["path"].dictionary, table["machine"].valid,
        memoryview(table["base"])[1:], bytes(memoryview(table["path"].codes)),
        fails(BufferError, memoryview, table["path"]),
        fails(AttributeError, getattr, table["base"], "codes"),
    ]  # fmt: skip


@case("raw.CreateToolhelp32Snapshot", "raw.CloseHandle", "raw.SnapshotHandle")
def _():
    snapshot = raw.CreateToolhelp32Snapshot(raw.TH32CS_SNAPALL)
    handle = (snapshot.handle, snapshot.closed)
    raw.CloseHandle(snapshot)
    fails(ValueError, snapshot.Process32First)
    fails(th.ProcessNotFound, raw.CreateToolhelp32Snapshot, raw.TH32CS_SNAPMODULE, 5)
    fails(ValueError, raw.CreateToolhelp32Snapshot, -1)
    return handle


@case("raw.processes", "raw.threads", "raw.modules", "raw.heap_lists", "raw.PROCESSENTRY32W",
      "raw.THREADENTRY32", "raw.MODULEENTRY32W", "raw.HEAPLIST32")  # fmt: skip
def _():
    with raw.CreateToolhelp32Snapshot(raw.TH32CS_SNAPALL) as snapshot:
        walks = (raw.processes, raw.threads, raw.modules, raw.heap_lists)
        return [list(walk(snapshot)) for walk in walks]


STEPS = [
    f"{kind}32{step}" for kind in ("Process", "Thread", "Module") for step in ("First", "Next")
]


@case(*(f"raw.{name}" for name in [*STEPS, "Heap32ListFirst", "Heap32ListNext"]))
def _():
    with raw.CreateToolhelp32Snapshot(raw.TH32CS_SNAPALL) as snapshot:
        found = [getattr(raw, name)(snapshot) for name in [*STEPS, "Heap32ListFirst"]]
        found += [raw.Heap32ListNext(snapshot), raw.Heap32ListNext(snapshot)]
        return found


@case("raw.Heap32First", "raw.Heap32Next", "raw.heap_blocks", "raw.HEAPENTRY32",
      "raw.Toolhelp32ReadProcessMemory")  # fmt: skip
def _():
    fails(th.ToolhelpError, raw.Toolhelp32ReadProcessMemory, 900, 0, 10)
    first = raw.Heap32First(OWN, 0x2000)
    return [raw.Heap32Next(first), list(raw.heap_blocks(OWN, 0x2000))]


@case("heaps", "heap_blocks", "heap_summary", "heap_sizes", "Heap", "HeapBlock", "HeapSummary",
      "HeapSizes")  # fmt: skip
def _():
    fails(th.AccessDenied, th.heaps, 900)
    fails(th.ToolhelpError, th.heap_blocks, 0x5000)
    found = [th.heaps(), th.heap_blocks(0x2000), th.heap_summary(), th.heap_sizes()]
    found.append(th.heaps(method="toolhelp"))
    return [list(table) for table in found]


@case("Error", "IdentifiedProcess", "who_uses", "DllUsers", "tree", "Tree",
      "TreeNode", "Diff", "HeapGrowth", "load_snapshot", "watch", "Watch")  # fmt: skip
def _():
    fails(th.ToolhelpError, th.snapshot, True, False, True, [900], "raise")
    fails(ValueError, th.snapshot, True, False, False, [-1])
    taken = th.snapshot(modules=True, heaps="sizes", identity=True)
    found = [list(taken.errors), list(taken.processes), list(th.who_uses("*")), list(th.tree())]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.snap")
        taken.save(path, "compact")
        diff = taken.diff(th.load_snapshot(path))
        pathlib.Path(path).write_bytes(b"PK")
        fails(th.CorruptTrace, th.load_snapshot, path)
    found.append([list(diff.exited), diff.heap_growth, list(th.watch(0.001, count=1))])
    return found


@case("read_memory", "ProcessMemory", "MemoryRange", "debug_privilege", "capabilities",
      "Capability")  # fmt: skip
def _():
    fails(th.AccessDenied, th.read_memory, 900, 0, 1)
    fails(th.ToolhelpError, th.read_memory, None, 0, 1)
    with th.debug_privilege() as granted, th.ProcessMemory() as memory:
        return [granted, memory.read_many([(0, 1), (5, 2)]), th.capabilities()]


@functools.cache
def sample_trace() -> bytes:
    pytest.importorskip("hypothesis", reason="hypothesis is not installed")
    import etlstrategies

    data: bytes = etlstrategies.make(1, 40, ["stacks"]).data
    return data


@case("open_trace", "Trace", "CorruptTrace")
def _():
    fails(th.CorruptTrace, lambda: th.open_trace(b"no trace at all").info)
    with th.open_trace(sample_trace(), threads=0) as trace:
        tables = [trace.processes, trace.threads, trace.modules, trace.stacks, trace.frames]
        return [trace.info, trace.quality, tables, list(trace.events()), list(trace.heap_events())]


@case("HeapTrace", "SessionStats", "TraceSession", "heap_sessions", "stop_session",
      "stop_stale_sessions")  # fmt: skip
def _():
    with th.HeapTrace([900], path="x.etl", stacks=["alloc"], modules=False, companion=True) as t:
        fails(th.SessionExists, th.HeapTrace([900], modules=False, live=False, path="y").start)
        t.update(pids=[900, OWN], stacks=())
        found = [t.stats(), list(th.heap_sessions()), repr(t)]
        th.stop_session(t.name)
        th._core.fake_session("toolhelp-77-1", b"x" * 16)
        found.append(th.stop_stale_sessions())
    with th.HeapTrace.launch("a.exe", path="x.etl", modules=False) as t:
        t.terminate(3)
        found.append((t.wait(), t.stats().advice))
    th._core.fake_reset()
    script()
    return found


@case("Analysis")
def _():
    with th.open_trace(sample_trace(), threads=0) as trace:
        found = trace.analyze()
        fails(ValueError, lambda: trace.analyze(buckets=0))
        tables = [
            found.stacks, found.functions, found.modules, found.own_modules(), found.heaps,
            found.threads, found.processes, found.sizes, found.lifetimes, found.timeline,
        ]  # fmt: skip
        frames = [found.frames(row) for row in found.stacks]
        chosen = trace.analyze(under="0x", min_size=1, lifetime_ns=(1, None))
        return [tables, frames, found.quality, chosen.totals, list(trace.blocks(min_size=2))]


# Pure Python that makes nothing of the core's, or whose tests are in another file.
ELSEWHERE = {
    "raw.TH32CS": "flags",
    "raw.HF32": "flags",
    "raw.LF32": "flags",
}


def public_names() -> list[str]:
    """Functions and types of the package and of `raw`; of the exceptions those that have a case."""
    found = []
    for prefix, module in (("", th), ("raw.", raw)):
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.ismodule(value) or isinstance(value, int):
                continue
            if (
                isinstance(value, type)
                and issubclass(value, Exception)
                and prefix + name not in CASES
            ):
                continue
            found.append(prefix + name)
    return found


def script() -> None:
    core = th._core
    core.fake_process(4, 0, "System", threads=[8], open_error=5)
    core.fake_process(OWN, 4, "a\ud800.exe", threads=[100, 104])
    core.fake_process(900, OWN, "한글.exe", threads=[904])
    for pid in (OWN, 900):
        for i in range(3):
            core.fake_module(pid, 0x10000 * i, i, f"{i}.dll", "C:\\" + "x" * 200 * i)
    core.fake_heap(OWN, 0x1000, 1)
    core.fake_heap(OWN, 0x2000, 0, [(0x2010, 5, 1), (0x2020, 9, 2)])
    core.fake_fail("OpenProcess", code=5, persist=True)


def test_every_public_name_is_covered():
    assert sorted(set(public_names()) - CASES.keys() - ELSEWHERE.keys()) == []
    assert not CASES.keys() & ELSEWHERE.keys()


# Names that share a body are tested together.
BODIES = {body: name for name, body in reversed(CASES.items())}


@pytest.mark.parametrize("body", BODIES, ids=BODIES.values())
def test_nothing_is_kept(fake, body):
    script()

    def rounds(count: int) -> tuple[int, int, int]:
        for _ in range(count):
            body()
        gc.collect()
        return fake.fake_live_blocks(), fake.fake_handles(), sys.getallocatedblocks()

    rounds(ROUNDS)
    # One block a round would be ROUNDS blocks each time; what the interpreter keeps for itself
    # gets less and less. (Over plain malloc it counts no blocks at all.)
    results = []
    for _ in range(20):
        before = sys.getallocatedblocks()
        after = rounds(ROUNDS)
        assert after[:2] == (0, 0)
        results.append(after[2] - before)
        if results[-1] < ROUNDS // 2:
            return
    pytest.fail(f"blocks kept by {ROUNDS} rounds, again and again: {results}")
