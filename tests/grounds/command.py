"""Runs one command of a ground, with an end to its patience."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path


class Failed(Exception):
    """The ground is there and something in it is wrong."""


class Missing(Exception):
    """The ground, or a part of it, is not there; the message says why."""


def _stop(process: subprocess.Popen[str]) -> None:
    """End a command and everything it started."""
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(timeout=5)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        subprocess.run(
            ["taskkill", "/F", "/T", "/PID", str(process.pid)], capture_output=True, check=False
        )
    process.wait()
    if process.stdout:
        process.stdout.close()


def run(
    words: list[str],
    *,
    env: Mapping[str, str] | None = None,
    limit: float = 600,
    capture: bool = False,
    ok: tuple[int, ...] = (0,),
) -> str:
    """Run a command; what it printed if `capture`. An exit code not in `ok` is a failure."""
    process = subprocess.Popen(
        words,
        env=dict(os.environ) | dict(env or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if capture else None,
        stderr=subprocess.STDOUT if capture else None,
        text=True,
        errors="replace",
        start_new_session=os.name == "posix",
    )
    shown = " ".join([Path(words[0]).name, *words[1:]])
    try:
        output = process.communicate(timeout=limit)[0] or ""
    except subprocess.TimeoutExpired:
        _stop(process)
        raise Failed(f"stopped after {limit:.0f} s: {shown}") from None
    except BaseException:
        _stop(process)
        raise
    if process.returncode not in ok:
        if output:
            print(output.rstrip()[-8000:], flush=True)
        raise Failed(f"exit code {process.returncode}: {shown}")
    return output
