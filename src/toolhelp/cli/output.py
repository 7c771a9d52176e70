"""Where a result goes: stdout, or a file that appears whole or not at all."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import IO, Any, TypeVar

import click

from ..writing import is_special, whole
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
    """The stream of the result; a file as `whole` writes it, an old one only with `force`."""
    if output is None:
        if exits.stdout_is_closed():
            raise OutputFailed("standard output is closed")
        yield sys.stdout.buffer if binary else sys.stdout
        return
    if not force and not is_special(output) and os.path.lexists(output):
        raise OutputFailed(f"{output} exists already; --force replaces it")
    try:
        with whole(output, "wb" if binary else "w", None if binary else "utf-8") as stream:
            yield stream
    except OSError as error:
        if getattr(error, "winerror", None) is not None and error.filename is None:
            raise
        raise OutputFailed(f"{output} cannot be written: {error.strerror or error}") from error


def read_text(path: str) -> str:
    """The text of a file that somebody named; `InputFailed` when it is no text."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read()
    except UnicodeDecodeError:
        raise InputFailed(f"{path} is not a text in UTF-8") from None
