"""Where made things are kept between runs. A killed run leaves nothing half-made behind."""

from __future__ import annotations

import fcntl
import os
import shutil
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


def made(name: str, make: Callable[[Path], None]) -> Path:
    """The folder `name` of the cache. `make` fills it once, under another name until it is done."""
    done = root() / name
    if done.is_dir():
        return done
    with locked(name):
        if not done.is_dir():
            half = root() / f"{name}.part"
            shutil.rmtree(half, ignore_errors=True)
            half.mkdir()
            make(half)
            half.rename(done)
    return done
