"""What is possible here and now, and why not."""

from __future__ import annotations

from dataclasses import dataclass

from . import _core
from .errors import ToolhelpError

__all__ = ["Capability", "capabilities"]


@dataclass(frozen=True)
class Capability:
    """Whether something can be had; `why_not` is one sentence, empty when it can."""

    name: str
    available: bool
    why_not: str = ""

    def __bool__(self) -> bool:
        return self.available


def _try_privilege() -> str:
    """Why SeDebugPrivilege cannot be had; switched on and back to find out."""
    try:
        before = _core.debug_privilege(True)
    except ToolhelpError as error:
        return str(error)
    if before is None:
        return "the token of this process does not hold SeDebugPrivilege; run elevated"
    if before is False:
        _core.debug_privilege(False)
    return ""


def _try_processes() -> str:
    try:
        _core.system_snapshot(True, False)
    except ToolhelpError as error:
        return str(error)
    return ""


def capabilities() -> dict[str, Capability]:
    """What toolhelp can do here and now, by name, each with the reason when it cannot.

    snapshots: processes, threads, modules. own_heaps: heaps and blocks of this process.
    other_heaps: of other processes (which also needs allow_injection=True). toolhelp_heaps: the
    Heap32 calls. read_memory: memory of processes that may be opened. other_users: processes of
    other users (SeDebugPrivilege). traces: reading .etl files and saved snapshots.
    """
    reason = _try_processes()
    wine = "Wine does not implement it" if not reason and _core.is_wine() else ""
    on_windows = {
        "snapshots": reason,
        "own_heaps": reason,
        "other_heaps": reason or wine,
        "toolhelp_heaps": reason or wine,
        "read_memory": reason,
        "other_users": reason or _try_privilege(),
    }
    found = [Capability(name, not why, why) for name, why in on_windows.items()]
    found.append(Capability("traces", True))
    return {one.name: one for one in found}
