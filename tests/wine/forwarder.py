"""`python3.dll`: every export of `python3XX.dll` passed on, as abi3 extensions expect."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from wine import mingw


def build(python_dll: Path, output: Path, import_library: Path) -> None:
    """Make the DLL, and what extensions are linked with: newer linkers read no forwarders."""
    names = mingw.exports(python_dll)
    if "PyModuleDef_Init" not in names:
        raise mingw.CompileError(f"the exports of {python_dll.name} cannot be read")
    with TemporaryDirectory() as work:
        table = Path(work) / "python3.exp"
        forwards = Path(work) / "forwards.def"
        forwards.write_text(_definition(f'"{name}" = "{python_dll.stem}.{name}"' for name in names))
        mingw.tool("dlltool", "-d", forwards, "-e", table, "-D", output.name)
        mingw.tool("gcc", "-shared", "-nostdlib", "-Wl,--entry=0", table, "-o", output)
        plain = Path(work) / "plain.def"
        plain.write_text(_definition(names))
        mingw.tool("dlltool", "-d", plain, "-l", import_library, "-D", output.name)


def _definition(exports: Iterable[str]) -> str:
    return "\n".join(["LIBRARY python3.dll", "EXPORTS", *exports, ""])
