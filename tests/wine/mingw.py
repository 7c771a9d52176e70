"""Compiling for Windows on Linux."""

from __future__ import annotations

import os
import re
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


# binutils print these tables in a slightly different way from version to version.
EXPORT_LINE = re.compile(r"\s*\[\s*\d+\]\s(?:.*\s)?(\S+)$")
IMPORT_LINE = re.compile(r"\t[0-9a-f]+\s+.*\s(\S+)$")


def exports(dll: Path) -> list[str]:
    """The names a DLL exports, sorted."""
    text = tool("objdump", "-p", dll)
    table = text.partition("[Ordinal/Name Pointer] Table")[2].partition("\n\n")[0]
    return sorted(found[1] for line in table.splitlines() if (found := EXPORT_LINE.match(line)))


def imports(dll: Path) -> dict[str, list[str]]:
    """The names a DLL takes from each other DLL, in lower case; those by number are `<none>`."""
    result = {}
    for part in tool("objdump", "-p", dll).split("\tDLL Name: ")[1:]:
        name, _, table = part.partition("\n\n")[0].partition("\n")
        lines = table.splitlines()[1:]
        result[name.lower()] = [found[1] for line in lines if (found := IMPORT_LINE.match(line))]
    return result


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
