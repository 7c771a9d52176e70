"""Brings nox into a private environment of its own when it is missing."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from grounds import packages

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / ".private" / "nox"
WANTED = "nox>=2025.2.9"


def _python_of(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _quietly(*words: str | Path) -> None:
    command = list(map(str, words))
    result = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if result.returncode != 0:
        sys.exit(f"{result.stdout.strip()[-2000:]}\nThis failed: {' '.join(command)}")


def _private_python() -> Path:
    """The Python of an environment that has nox; made anew unless it is known to be whole."""
    python = _python_of(HOME)
    whole = HOME / "whole"
    recipe = f"{WANTED} {sys.version} {sys.base_prefix}"
    if python.exists() and whole.exists() and whole.read_text() == recipe:
        return python
    missing = packages.ensure(packages.VENV)
    if missing:
        sys.exit(packages.advice(missing))
    print("Bringing nox into .private/nox ...", flush=True)
    shutil.rmtree(HOME, ignore_errors=True)
    _quietly(sys.executable, "-m", "venv", HOME)
    _quietly(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", WANTED)
    whole.write_text(recipe)
    return python


def start_nox(words: list[str]) -> int:
    """Run nox on the repository's `noxfile.py` with the words of the call; its exit code."""
    if sys.version_info < (3, 11):  # noqa: UP036
        sys.exit("Python 3.11 or newer is needed: call noxfile.py with that one.")
    python = Path(sys.executable)
    if importlib.util.find_spec("nox") is None:
        python = _private_python()
    command = [str(python), "-m", "nox", "-f", str(ROOT / "noxfile.py"), *words]
    if os.name == "posix":
        # In place of this process, so that what ends it ends nox and what nox has started.
        sys.stdout.flush()
        os.execv(command[0], command)
    return subprocess.run(command, check=False).returncode
