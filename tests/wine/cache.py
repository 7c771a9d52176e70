"""Where made things are kept between runs. A killed run leaves nothing half-made behind."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def root() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(base) if base.startswith("/") else Path.home() / ".cache"
    folder = home / "toolhelp-tests"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def locked(name: str) -> Iterator[None]:
    """One process at a time makes a thing; the others wait for it. A dead holder lets go."""
    with open(root() / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _forget_unused(kind: str, days: int = 14) -> None:
    """Remove what no run has used for a while: beds of recipes that have changed since."""
    for folder in root().glob(f"{kind}-*"):
        if folder.is_dir() and time.time() - folder.stat().st_mtime > days * 86400:
            shutil.rmtree(folder, ignore_errors=True)
            folder.with_name(f"{folder.name}.lock").unlink(missing_ok=True)


def made(name: str, make: Callable[[Path], None]) -> Path:
    """The folder `name` of the cache. `make` fills it once, under another name until it is done.

    What stands before the first dash of the name is its kind: old ones of a kind are dropped.
    """
    done = root() / name
    if done.is_dir():
        os.utime(done)
        return done
    with locked(name):
        if not done.is_dir():
            half = root() / f"{name}.part"
            shutil.rmtree(half, ignore_errors=True)
            half.mkdir()
            make(half)
            half.rename(done)
            _forget_unused(name.partition("-")[0])
    return done
