"""Where a result goes: stdout, or a file that appears whole or not at all."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import IO, Any, TypeVar

import click

from .exits import OutputFailed

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
    that a failure leaves nothing behind and an old file as it was."""
    if output is None:
        yield sys.stdout.buffer if binary else sys.stdout
        return
    if not force and os.path.exists(output):
        raise OutputFailed(f"{output} exists already; --force replaces it")
    folder = os.path.dirname(os.path.abspath(output))
    temporary = None
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=".toolhelp-", dir=folder)
        mode, encoding = ("wb", None) if binary else ("w", "utf-8")
        with open(descriptor, mode, encoding=encoding, newline=None if binary else "\n") as stream:
            yield stream
        _permit(temporary)
        os.replace(temporary, output)
        temporary = None
    except OSError as error:
        if getattr(error, "winerror", None) is not None and error.filename is None:
            raise
        raise OutputFailed(f"{output} cannot be written: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _permit(path: str) -> None:
    """A temporary file is private; the result gets the rights that any new file gets."""
    if os.name == "posix":
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(path, 0o666 & ~mask)
