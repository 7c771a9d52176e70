"""Heaps of this and of other processes: lists, blocks and totals."""

from __future__ import annotations

from typing import Literal, TypeAlias, cast

from . import _core
from ._core import Heap, HeapBlock, HeapSizes, HeapSummary, Table

__all__ = [
    "Heap",
    "HeapBlock",
    "HeapSizes",
    "HeapSummary",
    "heap_blocks",
    "heap_sizes",
    "heap_summary",
    "heaps",
]

Method: TypeAlias = Literal["auto", "toolhelp"]

# Seconds that a query of another process may take before the caller is let go.
TIMEOUT = 10.0


def nanoseconds(timeout: float) -> int:
    """A time-out in seconds as the core wants it."""
    if not 0 <= timeout <= 86400:
        raise ValueError(f"timeout must be from 0 to 86400 seconds, not {timeout!r}")
    return int(timeout * 1_000_000_000)


def _by_toolhelp(method: Method) -> bool:
    if method not in ("auto", "toolhelp"):
        raise ValueError(f"method must be 'auto' or 'toolhelp', not {method!r}")
    return method == "toolhelp"


def heaps(
    pid: int | None = None,
    *,
    method: Method = "auto",
    allow_injection: bool = False,
    timeout: float = TIMEOUT,
) -> Table[Heap]:
    """Heaps of process `pid`, or of this process, a Table of `Heap`.

    Columns: pid, heap_id, flags, is_default. Of this process `heap_id` is the handle of the heap
    as a number, which `heap_blocks` takes.
    Windows calls: GetProcessHeaps and GetProcessHeap for this process; for another, or with
    method="toolhelp", CreateToolhelp32Snapshot(TH32CS_SNAPHEAPLIST), Heap32ListFirst,
    Heap32ListNext. For another process Windows starts a thread in it: that needs
    `allow_injection=True`, is refused while all of its threads are suspended, and is given up
    after `timeout` seconds. A query that was given up ends in the background when the target
    answers; until then it keeps one thread of this process.
    Errors: `InjectionRefused`, `HeapQueryTimeout`, `ProcessNotFound` (PID 0, too), `AccessDenied`,
    `SnapshotRace`, `UnsupportedPlatform`.
    """
    by_toolhelp = _by_toolhelp(method)
    return _core.heaps(pid, allow_injection, nanoseconds(timeout), by_toolhelp)


def heap_blocks(
    heap_id: int,
    pid: int | None = None,
    method: Method = "auto",
    *,
    allow_injection: bool = False,
    timeout: float = TIMEOUT,
) -> Table[HeapBlock]:
    """Every block of one heap, a Table of `HeapBlock`, in time proportional to their number.

    Columns: heap_id, address, size (bytes), kind, flags, lock_count, approximate.
    This process: HeapWalk under HeapLock, so other threads that allocate from that heap wait;
    addresses are true. HeapWalk gives sizes in 32 bits: of a block of 4 GiB or more the size is
    what is left after a multiple of 4 GiB.
    Another process: one RtlQueryProcessDebugInformation (of ntdll, not documented). It gives no
    addresses; they are added up from the sizes and `approximate` is True.
    method="toolhelp": Heap32First and Heap32Next, for comparison. Windows walks the whole heap
    again for each block: n blocks take n * n steps.
    `allow_injection`, `timeout` and errors as for `heaps`; `ToolhelpError` with code 6 when the
    process has no such heap.
    """
    by_toolhelp = _by_toolhelp(method)
    return _core.heap_blocks(heap_id, pid, allow_injection, nanoseconds(timeout), by_toolhelp)


def heap_summary(
    pid: int | None = None, *, allow_injection: bool = False, timeout: float = TIMEOUT
) -> Table[HeapSummary]:
    """What the blocks of each heap add up to, a Table of `HeapSummary`; no block is kept.

    Columns: pid, heap_id, is_default, committed, uncommitted, busy, free, largest_free (bytes),
    busy_blocks, free_blocks, regions. Windows calls, options and errors as for `heap_blocks`, with
    one walk per heap of this process, or one query of another.
    """
    found = _core.heap_totals(pid, allow_injection, nanoseconds(timeout), False)
    return cast("Table[HeapSummary]", found)


def heap_sizes(
    pid: int | None = None, *, allow_injection: bool = False, timeout: float = TIMEOUT
) -> Table[HeapSizes]:
    """Busy blocks of each heap by size class, a Table of `HeapSizes`.

    Columns: pid, heap_id, size_class (largest size of the class, a power of two), blocks, bytes.
    All else as for `heap_summary`.
    """
    found = _core.heap_totals(pid, allow_injection, nanoseconds(timeout), True)
    return cast("Table[HeapSizes]", found)
