"""Compiling for Windows on Linux."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

TRIPLET = "x86_64-w64-mingw32"


class CompileError(RuntimeError):
    """The compiler's own words."""


def tool(name: str, *words: str | Path) -> str:
    """Run one of mingw's tools and return what it printed."""
    program = shutil.which(f"{TRIPLET}-{name}")
    if program is None:
        raise CompileError(f"{TRIPLET}-{name} is not installed")
    command = [program, *map(str, words)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise CompileError(f"{' '.join(command)}\n{result.stdout}{result.stderr}")
    return result.stdout


def exports(dll: Path) -> list[str]:
    """The names a DLL exports, sorted."""
    names = []
    in_table = False
    for line in tool("objdump", "-p", dll).splitlines():
        if line.startswith("[Ordinal/Name Pointer] Table"):
            in_table = True
        elif in_table:
            words = line.split()
            if not words or not words[0].startswith("["):
                break
            names.append(words[-1])
    return sorted(names)


def imports(dll: Path) -> dict[str, list[str]]:
    """The names a DLL takes from each other DLL."""
    found: dict[str, list[str]] = {}
    names: list[str] = []
    for line in tool("objdump", "-p", dll).splitlines():
        words = line.split()
        if line.strip().startswith("DLL Name:"):
            names = found.setdefault(words[-1], [])
        elif len(words) in (3, 4) and words[-2].isdigit() and line.startswith("\t"):
            names.append(words[-1])
    return found


def shared(
    sources: Iterable[str | Path],
    output: Path,
    *,
    flags: Iterable[str] = (),
    include: Iterable[str | Path] = (),
    link: Iterable[str | Path] = (),
) -> None:
    """Compile `sources` into one DLL; an older `output` stays until the new one is whole."""
    half = output.with_name(output.name + ".part")
    folders = [f"-I{folder}" for folder in include]
    tool("gcc", *flags, *folders, "-shared", "-static-libgcc", "-s", *sources, *link, "-o", half)
    half.rename(output)
