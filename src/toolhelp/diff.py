"""What changed between two snapshots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from . import _core
from ._core import HeapSizes, Module, Table, Thread

if TYPE_CHECKING:
    from .scan import Snapshot

__all__ = ["Diff", "HeapGrowth"]


class HeapGrowth(NamedTuple):
    """Busy blocks of one size class of a heap, before and after (bytes are of data)."""

    pid: int
    heap_id: int
    size_class: int
    blocks_before: int
    blocks_after: int
    bytes_before: int
    bytes_after: int


class Diff:
    """What changed from snapshot `before` to snapshot `after`.

    Processes are the same when their ids and creation times are; where a creation time is not
    known (no identity=True, or the process may not be opened), when id, name and parent are.

    started, exited: Tables of processes. changed: pairs of rows (before, after) of processes that
    go on with other values; a value that is missing on one side is no change.
    threads_started, threads_exited: Tables of Thread, of all processes.
    modules_loaded, modules_unloaded: Tables of Module, of processes that are in both snapshots and
    were read in both, or None when a snapshot has no modules; not_compared: ids of processes in
    both whose modules were not read in one of them.
    heap_growth: list of HeapGrowth of processes in both, or None without heaps="sizes".
    """

    def __init__(self, before: Snapshot, after: Snapshot) -> None:
        self.before = before
        self.after = after
        gone, new, old_rows, new_rows, _ = _core.diff(before.processes, after.processes, None)
        self.exited: Table[Any] = gone
        self.started: Table[Any] = new
        self.changed: list[tuple[Any, Any]] = list(zip(old_rows, new_rows, strict=True))
        self.threads_exited: Table[Thread]
        self.threads_started: Table[Thread]
        self.threads_exited, self.threads_started, *_rest = _core.diff(
            before.threads, after.threads, ("tid", "owner_pid")
        )
        self._going_on = set(before.processes["pid"]) - set(gone["pid"])
        self.modules_loaded: Table[Module] | None = None
        self.modules_unloaded: Table[Module] | None = None
        self.not_compared: list[int] = []
        if before.modules is not None and after.modules is not None:
            self._compare_modules(before.modules, after.modules)
        self.heap_growth: list[HeapGrowth] | None = None
        if before.heap_sizes is not None and after.heap_sizes is not None:
            self.heap_growth = self._growth(before.heap_sizes, after.heap_sizes)

    def __repr__(self) -> str:
        return (
            f"<Diff: {len(self.started)} processes started, {len(self.exited)} exited, "
            f"{len(self.changed)} changed>"
        )

    def __bool__(self) -> bool:
        """Whether anything changed."""
        tables = (
            self.started,
            self.exited,
            self.threads_started,
            self.threads_exited,
            self.modules_loaded,
            self.modules_unloaded,
        )
        return bool(self.changed or self.heap_growth) or any(map(_has_rows, tables))

    def _compare_modules(self, before: Table[Module], after: Table[Module]) -> None:
        # A process without any rows was not read: every process has its own program as a module.
        read = set(before["pid"]) & set(after["pid"]) & self._going_on
        self.not_compared = sorted(self._going_on - read)
        gone, new, *_rest = _core.diff(before, after, ("pid", "base", "size", "path"))
        self.modules_unloaded = _of_processes(gone, read)
        self.modules_loaded = _of_processes(new, read)

    def _growth(self, before: Table[HeapSizes], after: Table[HeapSizes]) -> list[HeapGrowth]:
        comparable = set(before["pid"]) & set(after["pid"]) & self._going_on
        gone, new, old, now, _ = _core.diff(before, after, ("pid", "heap_id", "size_class"))
        found = [
            HeapGrowth(*a[:4], b.blocks, a.bytes, b.bytes) for a, b in zip(old, now, strict=True)
        ]
        found += [HeapGrowth(*a[:4], 0, a.bytes, 0) for a in gone]
        found += [HeapGrowth(*b[:3], 0, b.blocks, 0, b.bytes) for b in new]
        return sorted(growth for growth in found if growth.pid in comparable)


def _has_rows(table: Table[Any] | None) -> bool:
    return table is not None and len(table) > 0


def _of_processes(modules: Table[Module], pids: set[int]) -> Table[Module]:
    return modules.take([row for row, pid in enumerate(modules["pid"]) if pid in pids])
