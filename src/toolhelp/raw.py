"""The Tool Help library one to one: C names, C flags, one call per call.

Nothing is retried and nothing is merged here; `toolhelp.processes()` and its like do that. The end
of a list is None, every other failure an exception.

    with raw.CreateToolhelp32Snapshot(raw.TH32CS_SNAPPROCESS) as snapshot:
        for entry in raw.processes(snapshot):
            print(entry.th32ProcessID, entry.szExeFile)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import IntFlag
from typing import TypeVar

from . import _core
from ._core import (
    HEAPENTRY32,
    HEAPLIST32,
    MODULEENTRY32W,
    PROCESSENTRY32W,
    THREADENTRY32,
    SnapshotHandle,
)

__all__ = [
    "HEAPENTRY32",
    "HEAPLIST32",
    "HF32",
    "HF32_DEFAULT",
    "HF32_SHARED",
    "LF32",
    "LF32_FIXED",
    "LF32_FREE",
    "LF32_MOVEABLE",
    "MODULEENTRY32W",
    "PROCESSENTRY32W",
    "TH32CS",
    "TH32CS_INHERIT",
    "TH32CS_SNAPALL",
    "TH32CS_SNAPHEAPLIST",
    "TH32CS_SNAPMODULE",
    "TH32CS_SNAPMODULE32",
    "TH32CS_SNAPPROCESS",
    "TH32CS_SNAPTHREAD",
    "THREADENTRY32",
    "CloseHandle",
    "CreateToolhelp32Snapshot",
    "Heap32First",
    "Heap32ListFirst",
    "Heap32ListNext",
    "Heap32Next",
    "Module32First",
    "Module32Next",
    "Process32First",
    "Process32Next",
    "SnapshotHandle",
    "Thread32First",
    "Thread32Next",
    "Toolhelp32ReadProcessMemory",
    "heap_blocks",
    "heap_lists",
    "modules",
    "processes",
    "threads",
]


class TH32CS(IntFlag):
    """Flags of CreateToolhelp32Snapshot. SNAPALL does not include SNAPMODULE32."""

    SNAPHEAPLIST = 0x00000001
    SNAPPROCESS = 0x00000002
    SNAPTHREAD = 0x00000004
    SNAPMODULE = 0x00000008
    SNAPMODULE32 = 0x00000010
    SNAPALL = SNAPHEAPLIST | SNAPPROCESS | SNAPTHREAD | SNAPMODULE
    INHERIT = 0x80000000


class HF32(IntFlag):
    """Flags of HEAPLIST32."""

    DEFAULT = 1
    SHARED = 2


class LF32(IntFlag):
    """Flags of HEAPENTRY32."""

    FIXED = 1
    FREE = 2
    MOVEABLE = 4


TH32CS_SNAPHEAPLIST = TH32CS.SNAPHEAPLIST
TH32CS_SNAPPROCESS = TH32CS.SNAPPROCESS
TH32CS_SNAPTHREAD = TH32CS.SNAPTHREAD
TH32CS_SNAPMODULE = TH32CS.SNAPMODULE
TH32CS_SNAPMODULE32 = TH32CS.SNAPMODULE32
TH32CS_SNAPALL = TH32CS.SNAPALL
TH32CS_INHERIT = TH32CS.INHERIT
HF32_DEFAULT = HF32.DEFAULT
HF32_SHARED = HF32.SHARED
LF32_FIXED = LF32.FIXED
LF32_FREE = LF32.FREE
LF32_MOVEABLE = LF32.MOVEABLE


def CreateToolhelp32Snapshot(dwFlags: int, th32ProcessID: int = 0) -> SnapshotHandle:
    """CreateToolhelp32Snapshot: a `SnapshotHandle`; close it, or use it with `with`.

    Process id 0 means the caller, and counts for SNAPMODULE, SNAPMODULE32 and SNAPHEAPLIST only.
    SNAPHEAPLIST of another process makes Windows start a thread in that process.
    The handle is inherited by child processes only with TH32CS_INHERIT.
    """
    return _core.CreateToolhelp32Snapshot(dwFlags, th32ProcessID)


def CloseHandle(hSnapshot: SnapshotHandle) -> None:
    """Closes the handle; a second time does nothing."""
    hSnapshot.close()


def Process32First(hSnapshot: SnapshotHandle) -> PROCESSENTRY32W | None:
    """Process32FirstW: the first process, or None when the snapshot holds none."""
    return hSnapshot.Process32First()


def Process32Next(hSnapshot: SnapshotHandle) -> PROCESSENTRY32W | None:
    """Process32NextW: the next process, or None at the end."""
    return hSnapshot.Process32Next()


def Thread32First(hSnapshot: SnapshotHandle) -> THREADENTRY32 | None:
    """Thread32First: the first thread of the system, or None when the snapshot holds none."""
    return hSnapshot.Thread32First()


def Thread32Next(hSnapshot: SnapshotHandle) -> THREADENTRY32 | None:
    """Thread32Next: the next thread of the system, or None at the end."""
    return hSnapshot.Thread32Next()


def Module32First(hSnapshot: SnapshotHandle) -> MODULEENTRY32W | None:
    """Module32FirstW: the first module of the process, or None when the snapshot holds none."""
    return hSnapshot.Module32First()


def Module32Next(hSnapshot: SnapshotHandle) -> MODULEENTRY32W | None:
    """Module32NextW: the next module of the process, or None at the end."""
    return hSnapshot.Module32Next()


def Heap32ListFirst(hSnapshot: SnapshotHandle) -> HEAPLIST32 | None:
    """Heap32ListFirst: the first heap of the process, or None when the snapshot holds none.

    `UnsupportedPlatform` under Wine, which does not implement it.
    """
    return hSnapshot.Heap32ListFirst()


def Heap32ListNext(hSnapshot: SnapshotHandle) -> HEAPLIST32 | None:
    """Heap32ListNext: the next heap of the process, or None at the end.

    `UnsupportedPlatform` under Wine, which does not implement it.
    """
    return hSnapshot.Heap32ListNext()


def Heap32First(th32ProcessID: int, th32HeapID: int) -> HEAPENTRY32 | None:
    """Heap32First: the first block of a heap as it is now, or None when there is none.

    For another process Windows starts a thread in that process and waits for it, without a
    deadline: a suspended process never answers. Process id 0 means the caller.
    `UnsupportedPlatform` under Wine, which does not implement it.
    """
    return _core.Heap32First(th32ProcessID, th32HeapID)


def Heap32Next(entry: HEAPENTRY32) -> HEAPENTRY32 | None:
    """Heap32Next: the block after `entry`, or None at the end.

    Windows walks the whole heap again for each call, and does not hold the process: keep a handle
    to it open, or its id may come to mean another. `toolhelp.heap_blocks` does neither.
    `UnsupportedPlatform` under Wine, which does not implement it.
    """
    return _core.Heap32Next(entry)


def Toolhelp32ReadProcessMemory(th32ProcessID: int, lpBaseAddress: int, cbRead: int) -> bytes:
    """Toolhelp32ReadProcessMemory: `cbRead` bytes, all or none; opens the process each time.

    Process id 0 means the caller. `toolhelp.ProcessMemory` reads many ranges with one handle.
    """
    return _core.Toolhelp32ReadProcessMemory(th32ProcessID, lpBaseAddress, cbRead)


_Row = TypeVar("_Row")


def _walk(first: Callable[[], _Row | None], following: Callable[[], _Row | None]) -> Iterator[_Row]:
    row = first()
    while row is not None:
        yield row
        row = following()


def processes(hSnapshot: SnapshotHandle) -> Iterator[PROCESSENTRY32W]:
    """Every process of the snapshot, from the first."""
    return _walk(hSnapshot.Process32First, hSnapshot.Process32Next)


def threads(hSnapshot: SnapshotHandle) -> Iterator[THREADENTRY32]:
    """Every thread of the snapshot, from the first."""
    return _walk(hSnapshot.Thread32First, hSnapshot.Thread32Next)


def modules(hSnapshot: SnapshotHandle) -> Iterator[MODULEENTRY32W]:
    """Every module of the snapshot, from the first."""
    return _walk(hSnapshot.Module32First, hSnapshot.Module32Next)


def heap_lists(hSnapshot: SnapshotHandle) -> Iterator[HEAPLIST32]:
    """Every heap of the snapshot, from the first."""
    return _walk(hSnapshot.Heap32ListFirst, hSnapshot.Heap32ListNext)


def heap_blocks(th32ProcessID: int, th32HeapID: int) -> Iterator[HEAPENTRY32]:
    """Every block of a heap, by Heap32First and Heap32Next: n blocks take n * n steps."""
    entry = Heap32First(th32ProcessID, th32HeapID)
    while entry is not None:
        yield entry
        entry = Heap32Next(entry)
