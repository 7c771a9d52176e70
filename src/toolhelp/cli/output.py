"""Where a result goes: stdout, or a file that appears whole or not at all."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
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
def opened(
    output: str | None, force: bool, binary: bool = False, apart: Iterable[str | None] = ()
) -> Iterator[IO[Any]]:
    """The stream of the result; a file as `whole` writes it, an old one only with `force`.

    `apart`: what the command reads, or writes besides; none of it may be replaced.
    """
    if output is None:
        if exits.stdout_is_closed():
            raise OutputFailed("standard output is closed")
        yield sys.stdout.buffer if binary else sys.stdout
        return
    if not output:
        raise click.UsageError("the name of the output is empty")
    keep_apart(output, apart)
    if not force and not is_special(output) and os.path.lexists(output):
        raise OutputFailed(f"{output} exists already; --force replaces it")
    try:
        with whole(output, "wb" if binary else "w", None if binary else "utf-8") as stream:
            yield stream
    except OSError as error:
        if getattr(error, "winerror", None) is not None and error.filename is None:
            raise
        raise OutputFailed(f"{output} cannot be written: {error.strerror or error}") from error


def keep_apart(output: str, others: Iterable[str | None]) -> None:
    """A usage error when writing `output` would replace one of `others`."""
    for other in others:
        if other and not is_special(output) and _are_one(output, other):
            raise click.UsageError(f"{output} would be replaced, but {other} is used as well")


def _are_one(a: str, b: str) -> bool:
    try:
        return os.path.samefile(a, b)
    except (OSError, ValueError):
        return os.path.realpath(a) == os.path.realpath(b)


def read_text(path: str) -> str:
    """The text of a file that somebody named; `InputFailed` when it is no text."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read()
    except UnicodeDecodeError:
        raise InputFailed(f"{path} is not a text in UTF-8") from None
