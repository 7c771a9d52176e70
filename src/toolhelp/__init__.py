"""Windows process, thread, module and heap snapshots, and heap traces read on any system."""

from __future__ import annotations

from collections.abc import Sequence

from . import errors as _errors
from . import raw
from . import snapshot as _snapshot
from ._core import Column, Module, Process, Table, Thread
from .errors import *  # noqa: F403
from .snapshot import *  # noqa: F403

__version__ = "0.1.0"

__all__ = [
    *_errors.__all__,
    *_snapshot.__all__,
    "Column",
    "Module",
    "Process",
    "Table",
    "Thread",
    "raw",
]

Sequence.register(Table)
Sequence.register(Column)
