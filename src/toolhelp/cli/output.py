"""Where a result goes: stdout, or a file that appears whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import IO, Any, TypeVar

import click

from . import exits
from .exits import InputFailed, OutputFailed

_F = TypeVar("_F", bound=Callable[..., Any])


def output_options(function: _F) -> _F:
    """The options -o and --force."""
    function = click.option("--force", is_flag=True, help="Replace FILE if it exists.")(function)
    return click.option(
        "-o", "--output", metavar="FILE", help="Write to FILE (made beside it, then renamed)."
    )(function)


@contextlib.contextmanager
def opened(output: str | None, force: bool, binary: bool = False) -> Iterator[IO[Any]]:
    """The stream of the result. A file is written under another name and renamed at the end, so
    that a failure leaves nothing behind and an old file as it was. A device or a named pipe is
    written to, and never replaced; a link stays a link, what it leads to is replaced."""
    if output is None:
        if exits.stdout_is_closed():
            raise OutputFailed("standard output is closed")
        yield sys.stdout.buffer if binary else sys.stdout
        return
    special = _is_special(output)
    if not force and not special and os.path.lexists(output):
        raise OutputFailed(f"{output} exists already; --force replaces it")
    mode, encoding = ("wb", None) if binary else ("w", "utf-8")
    newline = None if binary else "\n"
    temporary = None
    try:
        if special:
            with open(output, mode, encoding=encoding, newline=newline) as stream:
                yield stream
            return
        final = os.path.realpath(output)
        folder = os.path.dirname(final)
        descriptor, temporary = tempfile.mkstemp(prefix=".toolhelp-", dir=folder)
        with open(descriptor, mode, encoding=encoding, newline=newline) as stream:
            yield stream
        _permit(temporary)
        os.replace(temporary, final)
        temporary = None
    except OSError as error:
        if getattr(error, "winerror", None) is not None and error.filename is None:
            raise
        raise OutputFailed(f"{output} cannot be written: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _is_special(path: str) -> bool:
    """Whether there is something at `path` that is neither a file nor a folder."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def read_text(path: str) -> str:
    """The text of a file that somebody named; `InputFailed` when it is no text."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read()
    except UnicodeDecodeError:
        raise InputFailed(f"{path} is not a text in UTF-8") from None


def _permit(path: str) -> None:
    """A temporary file is private; the result gets the rights that any new file gets."""
    if os.name == "posix":
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(path, 0o666 & ~mask)
