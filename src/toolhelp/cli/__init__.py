"""The command `toolhelp`. What it needs is imported in `main`, where Ctrl-C is looked after."""

from __future__ import annotations

import signal
import sys

INTERRUPTED = 130
_seen: list[int] = []


def main(words: list[str] | None = None) -> None:
    """Runs the command and exits with the code that tells what happened."""
    try:
        if words is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, _interrupt)
        from .commands import run

        code = run(words)
    except KeyboardInterrupt:
        code = interrupted()
    if words is None:
        # All is done and written: Ctrl-C has nothing to stop any more.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(code)


def _interrupt(number: int, frame: object) -> None:
    _seen.append(number)
    raise KeyboardInterrupt


def was_interrupted() -> bool:
    """Whether Ctrl-C came: C code can make another exception of it, such as a SyntaxError."""
    return bool(_seen)


def interrupted() -> int:
    """Says so in one line, and is not disturbed by a second Ctrl-C; the exit code."""
    try:  # noqa: SIM105 - contextlib is not imported before `main`
        print("toolhelp: interrupted", file=sys.stderr)
    except (KeyboardInterrupt, OSError):
        pass
    return INTERRUPTED
