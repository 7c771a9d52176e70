"""Windows process, thread, module and heap snapshots, and heap traces read on any system."""

from __future__ import annotations

from collections.abc import Sequence

from . import errors as _errors
from ._core import Column, Table
from .errors import *  # noqa: F403

__version__ = "0.1.0"

__all__ = [*_errors.__all__, "Column", "Table"]

Sequence.register(Table)
Sequence.register(Column)
