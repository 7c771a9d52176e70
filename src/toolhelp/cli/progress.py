"""A progress bar on stderr: by bytes, after half a second, none when nobody watches."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

_DELAY = 0.5  # seconds
_INTERVAL = 0.1


@contextlib.contextmanager
def shown(title: str) -> Iterator[Callable[[int, int], None] | None]:
    """Gives a function that takes bytes done and bytes in all; None when stderr is no terminal."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb" or os.environ.get("CI"):
        yield None
        return
    bar = _Bar(title)
    try:
        yield bar
    finally:
        bar.stop()


class _Bar:
    def __init__(self, title: str) -> None:
        self._title = title
        self._started = time.monotonic()
        self._shown = self._started
        self._progress: Any = None
        self._task: Any = None

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._started < _DELAY or now - self._shown < _INTERVAL:
            return
        self._shown = now
        if self._progress is None:
            self._start(total)
        self._progress.update(self._task, completed=min(done, total))

    def _start(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._progress.start()
        self._task = self._progress.add_task(self._title, total=total)

    def stop(self) -> None:
        if self._progress is not None:
            self._progress.stop()
