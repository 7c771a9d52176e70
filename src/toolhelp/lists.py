"""Processes, threads and modules of a Windows machine, in bulk."""

from __future__ import annotations

from . import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._core import Module, Process, Table, Thread

__all__ = ["modules", "processes", "threads"]


def processes() -> Table[Process]:
    """All processes of the system, a Table of `Process`.

    Columns: pid, ppid, name, num_threads, base_priority (see `Process` for meanings).
    Windows calls: CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS), Process32FirstW, Process32NextW.
    Errors: `SnapshotRace`, `UnsupportedPlatform`, `ToolhelpError`; never an empty table instead.
    """
    found, _ = _core.system_snapshot(True, False)
    return found


def threads(pid: int | None = None) -> Table[Thread]:
    """All threads of the system, or those of process `pid`, a Table of `Thread`.

    Columns: tid, owner_pid, base_priority. Windows copies every thread of the system whatever
    process is asked for; the choice is made here.
    Windows calls: CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD), Thread32First, Thread32Next.
    Errors: `ProcessNotFound` when there is no process `pid`; else as for `processes`.
    """
    _, found = _core.system_snapshot(False, True, pid)
    return found


def modules(pid: int | None = None) -> Table[Module]:
    """Modules of process `pid`, or of this process, a Table of `Module`.

    Columns: pid, base (address), size (bytes in memory), name, path, path_truncated, machine.
    From a 64-bit Python a 32-bit process shows both of its lists, so ntdll.dll twice: tell modules
    apart by `base`. Paths longer than Windows' entry holds are asked for again; `path_truncated`
    says when that failed.
    Windows calls: CreateToolhelp32Snapshot(TH32CS_SNAPMODULE | TH32CS_SNAPMODULE32),
    Module32FirstW, Module32NextW, IsWow64Process2, GetModuleFileNameExW.
    Errors: `ProcessNotFound` (PID 0, too), `AccessDenied`, `PartialCopy` (with `.reason`),
    `SnapshotRace` after bounded retries, `UnsupportedPlatform`.
    """
    return _core.modules(pid)
