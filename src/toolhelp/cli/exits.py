"""Exit codes, and the one place where an exception becomes one."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import click

from ..errors import (
    AccessDenied,
    CorruptTrace,
    InjectionRefused,
    ToolhelpError,
    UnsupportedPlatform,
)
from . import INTERRUPTED as INTERRUPTED
from . import interrupted, was_interrupted

OK = 0
RULE_BROKEN = 1
USAGE = 2
INPUT = 3
INCOMPLETE = 4
NOT_HERE = 5
REFUSED = 6
FAULT = 70


# Only a write fails so.
_NO_ROOM = {getattr(errno, name, None) for name in ("ENOSPC", "EDQUOT", "EFBIG")} - {None}


class _Nowhere(io.TextIOWrapper):
    """What stands for a standard output that was closed before we began."""


class OutputFailed(Exception):
    """The output could not be written; the message says where and why."""


class InputFailed(Exception):
    """An input cannot be read for what it should be; the message says which and why."""


def run(body: Callable[[], Any]) -> int:
    """Runs `body` and gives the exit code; says on stderr what went wrong, in one sentence."""
    result: Any = None
    try:
        prepare_streams()
        result = body()
        sys.stdout.flush()
        return result if isinstance(result, int) else OK
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (KeyboardInterrupt, click.Abort):
        return interrupted()
    except click.ClickException as error:
        error.show()
        return USAGE if isinstance(error, click.UsageError) else error.exit_code
    except (BrokenPipeError, SystemExit):
        # click itself ends with SystemExit(1) on a closed pipe, and on nothing else.
        return _closed_pipe(result)
    except OSError as error:
        if _is_closed_pipe(error):
            return _closed_pipe(result)
        if error.errno in _NO_ROOM and error.filename is None:
            say(f"the output cannot be written: {error.strerror}")
            _closed_pipe()
            return REFUSED
        say(sentence(error))
        return _code_of(error)
    except (CorruptTrace, InputFailed, OutputFailed) as error:
        say(str(error))
        return REFUSED if isinstance(error, OutputFailed) else INPUT
    except MemoryError:
        say("out of memory")
        return REFUSED
    except ModuleNotFoundError as error:
        if was_interrupted():
            return interrupted()
        if error.name and error.name.split(".")[0] == "toolhelp":
            return _fault()
        say(f"{error.name} is not installed; it comes with one of the extras of toolhelp")
        return NOT_HERE
    except Exception:
        return interrupted() if was_interrupted() else _fault()


def say(sentence: str) -> None:
    """One line on stderr."""
    click.echo(f"toolhelp: {sentence}", err=True)


def prepare_streams() -> None:
    """Output is UTF-8 when it goes to a file or a pipe; a terminal gets what it can show."""
    if sys.stdout is None:
        sys.stdout = _Nowhere(open(os.devnull, "wb"), encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is None:
            continue
        if stream.isatty():
            reconfigure(errors="replace")
        else:
            reconfigure(encoding="utf-8", errors="replace")


def stdout_is_closed() -> bool:
    """Whether a result that goes to standard output would be lost."""
    return isinstance(sys.stdout, _Nowhere)


def sentence(error: Exception) -> str:
    """What an exception says, with the file that it is about."""
    if not isinstance(error, OSError) or isinstance(error, ToolhelpError) or not error.strerror:
        return str(error)
    name = f"{error.filename}: " if error.filename is not None else ""
    return f"{name}{error.strerror}"


def _code_of(error: OSError) -> int:
    if isinstance(error, UnsupportedPlatform | AccessDenied | InjectionRefused):
        return NOT_HERE
    return REFUSED if isinstance(error, ToolhelpError) else INPUT


def _is_closed_pipe(error: OSError) -> bool:
    # Windows says EINVAL for a write to a pipe whose reader has gone.
    return sys.platform == "win32" and error.errno == errno.EINVAL and error.filename is None


@contextlib.contextmanager
def reader_may_leave() -> Iterator[None]:
    """Around writing what is not all of the result: a verdict holds when nobody reads its text."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        if not isinstance(error, BrokenPipeError) and not _is_closed_pipe(error):
            raise
        _closed_pipe()


def _closed_pipe(result: Any = None) -> int:
    """Who reads us has gone: nothing is wrong, and nobody is left to tell.

    What was found out before, such as the verdict of `check`, still holds.
    """
    try:
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, sys.stdout.fileno())
        os.close(devnull)
    except (OSError, ValueError):
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    return result if isinstance(result, int) else OK


def _fault() -> int:
    text = traceback.format_exc()
    if os.environ.get("TOOLHELP_DEBUG") == "1":
        click.echo(text, err=True)
        say("this is a fault of toolhelp")
        return FAULT
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="toolhelp-", suffix=".txt", delete=False, encoding="utf-8"
        ) as file:
            file.write(text)
        say(f"this is a fault of toolhelp; what is known of it is in {file.name}")
    except OSError:
        click.echo(text, err=True)
        say("this is a fault of toolhelp")
    return FAULT
