"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from typing import IO, Any, Literal, cast

__all__ = ["is_special", "whole"]

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_FLAGS |= getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0) | getattr(os, "O_CLOEXEC", 0)


@contextlib.contextmanager
def whole(
    path: str | os.PathLike[str], mode: Literal["wb", "w"] = "wb", encoding: str | None = None
) -> Iterator[IO[Any]]:
    """A stream into a file that takes the place of `path` when the block ends without an exception.

    Until then it is under another name in the same folder, and gone if anything fails, Ctrl-C
    included: what was at `path` stays as it was. The mode of a file that is replaced, and as far as
    that is allowed its owner, go on to the new one. A device or a named pipe is written to, and
    never replaced; a link stays a link, what it leads to is replaced. Text ends its lines with \\n.

    Errors: `OSError` with the path, also when the file that is there may not be written.
    """
    newline = None if mode == "wb" else "\n"
    if is_special(path):
        with open(path, mode, encoding=encoding, newline=newline) as stream:
            yield stream
        return
    final = os.path.realpath(path)
    before = _look(path, final)
    temporary: str | None = f"{os.path.join(os.path.dirname(final), '.toolhelp-')}{_random_name()}"
    try:
        try:
            descriptor = os.open(cast(str, temporary), _FLAGS, 0o600 if before else 0o666)
        except OSError as no:
            if no.errno == errno.EEXIST:
                temporary = None  # somebody else's
            raise _about(path, no) from no
        with open(descriptor, mode, encoding=encoding, newline=newline) as stream:
            yield stream
        if before:
            _become(cast(str, temporary), before)
        try:
            os.replace(cast(str, temporary), final)
        except OSError as no:
            raise _about(path, no) from no
        temporary = None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def is_special(path: str | os.PathLike[str]) -> bool:
    """Whether there is something at `path` that is neither a file nor a folder."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _look(path: str | os.PathLike[str], final: str) -> os.stat_result | None:
    """The file that is there; an error when it must not be replaced."""
    try:
        before = os.stat(final)
    except FileNotFoundError:
        return None
    code = errno.EISDIR if stat.S_ISDIR(before.st_mode) else errno.EACCES
    if code == errno.EISDIR or not os.access(final, os.W_OK):
        raise OSError(code, os.strerror(code), os.fspath(path))
    return before


def _random_name() -> str:
    return os.urandom(8).hex()


def _about(path: str | os.PathLike[str], error: OSError) -> OSError:
    """The error as if it had met `path` itself."""
    code, winerror = error.errno or errno.EIO, getattr(error, "winerror", None)
    return OSError(code, error.strerror, os.fspath(path), winerror)


def _become(path: str, before: os.stat_result) -> None:
    """Gives a file the owner and the mode of another."""
    if os.name != "posix":
        return
    made = os.stat(path)
    if (made.st_uid, made.st_gid) != (before.st_uid, before.st_gid):
        with contextlib.suppress(OSError):
            os.chown(path, before.st_uid, before.st_gid)
    os.chmod(path, stat.S_IMODE(before.st_mode) & 0o777)
