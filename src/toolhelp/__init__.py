"""Windows process, thread, module and heap snapshots, and heap traces read on any system."""

from __future__ import annotations

# Importing this package must cost next to nothing, so what is not always needed is imported when
# first asked for (PEP 562), and nothing here imports typing, enum, re or datetime.
from _collections_abc import Sequence  # what collections.abc re-exports, without collections

from ._core import Column, Module, Process, Table, Thread, TraceSession
from .errors import (
    AccessDenied,
    CorruptTrace,
    HeapQueryTimeout,
    InjectionRefused,
    PartialCopy,
    ProcessNotFound,
    SessionError,
    SessionExists,
    SessionNotFound,
    SnapshotRace,
    ToolhelpError,
    TooManySessions,
    UnsupportedPlatform,
)
from .lists import modules, processes, threads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import raw
    from .analysis import (
        Analysis,
    )
    from .capability import (
        Capability,
        capabilities,
    )
    from .diff import (
        Diff,
        HeapGrowth,
    )
    from .heapinfo import (
        Heap,
        HeapBlock,
        HeapSizes,
        HeapSummary,
        heap_blocks,
        heap_sizes,
        heap_summary,
        heaps,
    )
    from .heaptrace import (
        HeapTrace,
        SessionStats,
    )
    from .memory import (
        MemoryRange,
        ProcessMemory,
        debug_privilege,
        read_memory,
    )
    from .proctree import (
        Tree,
        TreeNode,
    )
    from .scan import (
        DllUsers,
        Error,
        IdentifiedProcess,
        Snapshot,
        snapshot,
        tree,
        who_uses,
    )
    from .sessions import (
        heap_sessions,
        stop_session,
        stop_stale_sessions,
    )
    from .store import (
        load_snapshot,
    )
    from .trace import (
        Trace,
        open_trace,
    )
    from .watching import (
        Watch,
        watch,
    )

__version__ = "0.1.0"

__all__ = [
    "AccessDenied",
    "Analysis",
    "Capability",
    "Column",
    "CorruptTrace",
    "Diff",
    "DllUsers",
    "Error",
    "Heap",
    "HeapBlock",
    "HeapGrowth",
    "HeapQueryTimeout",
    "HeapSizes",
    "HeapSummary",
    "HeapTrace",
    "IdentifiedProcess",
    "InjectionRefused",
    "MemoryRange",
    "Module",
    "PartialCopy",
    "Process",
    "ProcessMemory",
    "ProcessNotFound",
    "SessionError",
    "SessionExists",
    "SessionNotFound",
    "SessionStats",
    "Snapshot",
    "SnapshotRace",
    "Table",
    "Thread",
    "TooManySessions",
    "ToolhelpError",
    "Trace",
    "TraceSession",
    "Tree",
    "TreeNode",
    "UnsupportedPlatform",
    "Watch",
    "capabilities",
    "debug_privilege",
    "heap_blocks",
    "heap_sessions",
    "heap_sizes",
    "heap_summary",
    "heaps",
    "load_snapshot",
    "modules",
    "open_trace",
    "processes",
    "raw",
    "read_memory",
    "snapshot",
    "stop_session",
    "stop_stale_sessions",
    "threads",
    "tree",
    "watch",
    "who_uses",
]

# Public name -> the module that has it; a module of its own name stands for itself.
_LATER = {
    "Analysis": "analysis",
    "Capability": "capability",
    "Diff": "diff",
    "DllUsers": "scan",
    "Error": "scan",
    "Heap": "heapinfo",
    "HeapBlock": "heapinfo",
    "HeapGrowth": "diff",
    "HeapSizes": "heapinfo",
    "HeapSummary": "heapinfo",
    "HeapTrace": "heaptrace",
    "IdentifiedProcess": "scan",
    "MemoryRange": "memory",
    "ProcessMemory": "memory",
    "SessionStats": "heaptrace",
    "Snapshot": "scan",
    "Trace": "trace",
    "Tree": "proctree",
    "TreeNode": "proctree",
    "Watch": "watching",
    "capabilities": "capability",
    "debug_privilege": "memory",
    "heap_blocks": "heapinfo",
    "heap_sessions": "sessions",
    "heap_sizes": "heapinfo",
    "heap_summary": "heapinfo",
    "heaps": "heapinfo",
    "load_snapshot": "store",
    "open_trace": "trace",
    "raw": "raw",
    "read_memory": "memory",
    "snapshot": "scan",
    "stop_session": "sessions",
    "stop_stale_sessions": "sessions",
    "tree": "scan",
    "watch": "watching",
    "who_uses": "scan",
}

Sequence.register(Table)
Sequence.register(Column)


def __getattr__(name: str) -> object:
    if name not in _LATER:
        # A kind of row has its name here, so that pickle finds it.
        from . import _core

        kind: object = getattr(_core, name, None)
        if isinstance(kind, type) and issubclass(kind, tuple):
            return kind
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module(f"{__name__}.{_LATER[name]}")
    found: object = module if name == _LATER[name] else getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
