"""Compiling for Windows on Linux."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

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
    sources: Iterable[Path],
    output: Path,
    *,
    flags: Iterable[str] = (),
    include: Iterable[Path] = (),
    link: Iterable[str | Path] = (),
) -> None:
    """Compile `sources` into one DLL; an older `output` stays until the new one is whole."""
    half = output.with_name(output.name + ".part")
    words = [*flags, *(f"-I{folder}" for folder in include)]
    with TemporaryDirectory() as work, ThreadPoolExecutor(os.cpu_count()) as pool:
        pairs = [(source, Path(work) / f"{n}.o") for n, source in enumerate(sources)]
        list(pool.map(lambda pair: tool("gcc", *words, "-c", pair[0], "-o", pair[1]), pairs))
        objects = [made for _, made in pairs]
        tool("gcc", "-shared", "-static-libgcc", "-s", *objects, *link, "-o", half)
    half.rename(output)
