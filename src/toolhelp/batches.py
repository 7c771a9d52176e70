"""Tables one after the other, for one thread or for several."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from ._core import Table

__all__ = ["Batches"]


class Batches(Iterator[Table[Any]]):
    """An iterator that threads may share: each Table goes to one of them, none is lost or doubled.

    A thread that asks while another one is at work waits for its turn.
    """

    def __init__(self, tables: Iterator[Table[Any]]) -> None:
        self._tables = tables
        self._lock = threading.RLock()  # asked again from within, it complains instead of waiting

    def __next__(self) -> Table[Any]:
        with self._lock:
            return next(self._tables)
