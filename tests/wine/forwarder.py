"""`python3.dll`: every export of `python3XX.dll` passed on, as abi3 extensions expect."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from wine import mingw


def build(python_dll: Path, output: Path) -> None:
    target = python_dll.stem
    lines = ["LIBRARY python3.dll", "EXPORTS"]
    lines += [f'"{name}" = "{target}.{name}"' for name in mingw.exports(python_dll)]
    with TemporaryDirectory() as work:
        definition = Path(work) / "python3.def"
        definition.write_text("\n".join(lines) + "\n")
        table = Path(work) / "python3.exp"
        mingw.tool("dlltool", "-d", definition, "-e", table, "-D", "python3.dll")
        mingw.tool("gcc", "-shared", "-nostdlib", "-Wl,--entry=0", table, "-o", output)
