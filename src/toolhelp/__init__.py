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
    from .analysis import Analysis
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
    from .heaptrace import HeapTrace, SessionStats
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
    from .sessions import heap_sessions, stop_session, stop_stale_sessions
    from .trace import (
        Trace,
        open_trace,
    )

__version__ = "0.1.0"

__all__ = [
    "AccessDenied",
    "Analysis",
    "Column",
    "CorruptTrace",
    "DllUsers",
    "Error",
    "Heap",
    "HeapBlock",
    "HeapQueryTimeout",
    "HeapSizes",
    "HeapSummary",
    "HeapTrace",
    "IdentifiedProcess",
    "InjectionRefused",
    "Module",
    "PartialCopy",
    "Process",
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
    "heap_blocks",
    "heap_sessions",
    "heap_sizes",
    "heap_summary",
    "heaps",
    "modules",
    "open_trace",
    "processes",
    "raw",
    "snapshot",
    "stop_session",
    "stop_stale_sessions",
    "threads",
    "tree",
    "who_uses",
]

# Public name -> the module that has it; a module of its own name stands for itself.
_LATER = {
    "DllUsers": "scan",
    "Error": "scan",
    "Heap": "heapinfo",
    "HeapBlock": "heapinfo",
    "HeapSizes": "heapinfo",
    "HeapSummary": "heapinfo",
    "IdentifiedProcess": "scan",
    "Snapshot": "scan",
    "Analysis": "analysis",
    "Trace": "trace",
    "Tree": "proctree",
    "TreeNode": "proctree",
    "heap_blocks": "heapinfo",
    "heap_sizes": "heapinfo",
    "heap_summary": "heapinfo",
    "heaps": "heapinfo",
    "open_trace": "trace",
    "raw": "raw",
    "snapshot": "scan",
    "tree": "scan",
    "who_uses": "scan",
    "HeapTrace": "heaptrace",
    "SessionStats": "heaptrace",
    "heap_sessions": "sessions",
    "stop_session": "sessions",
    "stop_stale_sessions": "sessions",
}

Sequence.register(Table)
Sequence.register(Column)


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module(f"{__name__}.{_LATER[name]}")
    found: object = module if name == _LATER[name] else getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
