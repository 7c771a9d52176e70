"""Runs the bed's Python: `python tests/wine/run.py [--package=DIR] -m pytest tests`.

What follows is handed to the Windows interpreter as it stands, in the current folder, with
the package built from the work tree on its path (`--package=DIR`: the one in DIR instead).
"""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from grounds import packages
from wine import bed, build, loader, mingw

NO_BED = 125


def prepared() -> bed.Bed:
    """The bed, with everything it needs installed if that is possible here."""
    reason = bed.why_not()
    if reason:
        raise bed.NoBed(reason)
    if importlib.util.find_spec("setuptools") is None:
        raise bed.NoBed(f"setuptools is needed in {sys.executable}")
    missing = packages.ensure(packages.PYTHON_HEADERS, packages.WINE, packages.MINGW, say=_say)
    if missing:
        raise bed.NoBed(packages.advice(missing))
    return bed.provide()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _copy(source: IO[bytes], target: IO[bytes]) -> None:
    while chunk := os.read(source.fileno(), 65536):
        target.write(chunk)
        target.flush()


def run(where: bed.Bed, prefix: Path, path: list[Path], words: list[str]) -> int:
    """Start the bed's Python with `words`; its exit code. Both streams go through pipes."""
    search = ";".join(loader.windows_path(folder) for folder in path)
    process = subprocess.Popen(
        [loader.loader(), str(where.python), *words],
        env=loader.environment(prefix, PYTHONPATH=search, PYTHONDONTWRITEBYTECODE="1"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    pumps = [
        threading.Thread(target=_copy, args=pair, daemon=True)
        for pair in ((process.stdout, sys.stdout.buffer), (process.stderr, sys.stderr.buffer))
    ]
    for pump in pumps:
        pump.start()
    try:
        code = process.wait()
    except BaseException:
        # Everything it started is in its session and goes with it.
        os.killpg(process.pid, signal.SIGKILL)
        raise
    for pump in pumps:
        pump.join(timeout=10)
    return code if code >= 0 else 128 - code


def main(words: list[str]) -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    chosen = None
    if words and words[0].startswith("--package="):
        chosen = Path(words.pop(0).partition("=")[2]).resolve()
    try:
        where = prepared()
        prefix = loader.prefix()
        build.layout(where)
        build.plain_walk()
        path = [chosen, build.OUTPUT] if chosen else [build.package(where)]
    except (bed.NoBed, loader.WineMissing) as trouble:
        _say(str(trouble))
        return NO_BED
    except mingw.CompileError as trouble:
        _say(str(trouble))
        return 1
    try:
        return run(where, prefix, path, words)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
