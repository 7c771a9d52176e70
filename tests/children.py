"""Processes that a test starts: ended, waited for and their pipes closed, whatever happens."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any


@contextlib.contextmanager
def running(words: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """A process while the block runs; `options` as for subprocess.Popen."""
    with subprocess.Popen(words, **options) as process:
        try:
            yield process
        finally:
            process.kill()
