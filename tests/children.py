"""Processes that a test starts: ended, waited for and their pipes closed, whatever happens."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
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


def numbers_of(code: str, *words: str) -> list[int]:
    """The numbers that a Python program prints which finds what the tests find."""
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    return [int(word) for word in done.stdout.split()]
