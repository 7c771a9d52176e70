"""The words of CreateProcessW for a program that is launched to be traced."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Launch", "command_line", "environment_block"]


def command_line(argv: Sequence[str | os.PathLike[str]] | str) -> str:
    if isinstance(argv, str):
        line = argv
    else:
        line = subprocess.list2cmdline([os.fspath(word) for word in argv])
    if not line.strip():
        raise ValueError("there is no program to launch")
    if "\0" in line or len(line) > 32766:
        raise ValueError("a command line has up to 32,766 characters and no zero among them")
    return line


def environment_block(env: Mapping[str, str] | None) -> str | None:
    """The block of CreateProcessW: sorted by name without regard to case, each ended by a zero."""
    if env is None:
        return None
    for name, value in env.items():
        if not name or "=" in name[1:] or "\0" in name or "\0" in value:
            raise ValueError(f"{name!r} cannot be an environment variable with {value!r}")
    pairs = sorted(env.items(), key=lambda pair: pair[0].upper())
    return "".join(f"{name}={value}\0" for name, value in pairs) + ("\0" if not pairs else "")


@dataclass(frozen=True)
class Launch:
    command_line: str
    environment: str | None
    directory: str | None
