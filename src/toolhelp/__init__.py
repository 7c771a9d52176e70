"""Windows process, thread, module and heap snapshots, and heap traces read on any system."""

from __future__ import annotations

# Importing this package must cost next to nothing, so what is not always needed is imported when
# first asked for (PEP 562), and nothing here imports typing, enum, re or datetime.
from _collections_abc import Sequence  # what collections.abc re-exports, without collections

from ._core import Column, Module, Process, Table, Thread
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
from .snapshot import Snapshot, modules, processes, snapshot, threads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import raw
    from .trace import Trace, open_trace

__version__ = "0.1.0"

__all__ = [
    "AccessDenied",
    "Column",
    "CorruptTrace",
    "HeapQueryTimeout",
    "InjectionRefused",
    "Module",
    "PartialCopy",
    "Process",
    "ProcessNotFound",
    "SessionError",
    "SessionExists",
    "SessionNotFound",
    "Snapshot",
    "SnapshotRace",
    "Table",
    "Thread",
    "TooManySessions",
    "ToolhelpError",
    "Trace",
    "UnsupportedPlatform",
    "modules",
    "open_trace",
    "processes",
    "raw",
    "snapshot",
    "threads",
]

# Public name -> the module that has it; a module of its own name stands for itself.
_LATER = {
    "Trace": "trace",
    "open_trace": "trace",
    "raw": "raw",
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
