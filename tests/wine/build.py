"""Builds extensions for the bed: `toolhelp._core` from `setup.py`'s own sources, or any other."""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from wine import mingw
from wine.bed import MINOR, Bed

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "tests" / "_build" / "wine"


def load_setup() -> ModuleType:
    """`setup.py` as a module: what it says of sources and flags is said nowhere else."""
    spec = importlib.util.spec_from_file_location("toolhelp_setup", ROOT / "setup.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def file_name(name: str, abi3: bool) -> str:
    """What Windows CPython looks for: abi3 extensions have no tag of their own there."""
    return f"{name}.pyd" if abi3 else f"{name}.cp3{MINOR}-win_amd64.pyd"


def _changed(inputs: Iterable[Path], words: str, output: Path) -> str | None:
    """A stamp of everything that goes into `output`, unless it was built from just that."""
    digest = hashlib.sha256(words.encode())
    for path in sorted(inputs):
        digest.update(f"\0{path}\0".encode())
        digest.update(path.read_bytes())
    stamp = digest.hexdigest()
    known = output.with_name(output.name + ".from")
    if output.exists() and known.exists() and known.read_text() == stamp:
        return None
    known.unlink(missing_ok=True)
    return stamp


def extension(
    bed: Bed,
    sources: Iterable[Path],
    output: Path,
    *,
    macros: Iterable[tuple[str, str | None]] = (),
    include: Iterable[Path] = (),
    libraries: Iterable[str] = (),
    flags: Iterable[str] | None = None,
) -> Path:
    """Build one extension for the bed's Python, if anything it is made of has changed.

    `sources` are C files, `output` the `.pyd` to write (see `file_name`). With `Py_LIMITED_API`
    among `macros` it is linked against `python3.dll`, else against that of the one version.
    """
    sources, include, macros = list(sources), list(include), list(macros)
    flags = load_setup().FLAGS if flags is None else list(flags)
    abi3 = any(name == "Py_LIMITED_API" for name, _ in macros)
    defines = [f"-D{name}" if value is None else f"-D{name}={value}" for name, value in macros]
    link = [bed.abi3_library if abi3 else bed.python_dll, *(f"-l{name}" for name in libraries)]
    headers = [path for folder in include for path in Path(folder).rglob("*.h")]
    words = repr((bed.folder, flags, defines, list(map(str, [*sources, *include, *link]))))
    output.parent.mkdir(parents=True, exist_ok=True)
    stamp = _changed([*sources, *headers], words, output)
    if stamp is not None:
        mingw.shared(
            sources,
            output,
            flags=[*flags, *defines],
            include=[*include, bed.include],
            link=link,
        )
        output.with_name(output.name + ".from").write_text(stamp)
    return output


def copy_package(folder: Path) -> Path:
    """The Python half of the package as it is in the work tree, under `folder`."""
    package = folder / "toolhelp"
    source = ROOT / "src" / "toolhelp"
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {path.relative_to(source) for path in source.rglob("*") if path.is_file()}
    wanted = {path for path in wanted if path.suffix in (".py", ".pyi", ".typed")}
    for old in package.rglob("*.py") if package.is_dir() else ():
        if old.relative_to(package) not in wanted:
            old.unlink()
    for path in wanted:
        (package / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source / path, package / path)
    return package


def package(bed: Bed, folder: Path = OUTPUT, *, full_api: bool = False) -> Path:
    """The package as it is shipped for Windows, in `folder`: a directory for PYTHONPATH."""
    setup = load_setup()
    shipped = setup.extension(windows=True)
    macros = [pair for pair in shipped.define_macros if not full_api or pair[0] != "Py_LIMITED_API"]
    abi3 = any(name == "Py_LIMITED_API" for name, _ in macros)
    built = extension(
        bed,
        [ROOT / source for source in shipped.sources],
        folder / "toolhelp" / file_name("_core", abi3),
        macros=macros,
        include=[ROOT / name for name in shipped.include_dirs],
        libraries=shipped.libraries,
    )
    for other in built.parent.glob("_core*.pyd"):
        if other != built:
            other.unlink()
    copy_package(folder)
    return folder


def layout(bed: Bed, folder: Path = OUTPUT) -> Path:
    """A module that says how large our headers believe the interpreter's objects are."""
    source = Path(__file__).with_name("layout.c")
    return extension(bed, [source], folder / file_name("_layout", abi3=False))


def plain_walk(folder: Path = OUTPUT) -> Path:
    """A program that walks the Tool Help lists in plain C, as a second opinion."""
    source = Path(__file__).with_name("plain_walk.c")
    output = folder / "plain_walk.exe"
    output.parent.mkdir(parents=True, exist_ok=True)
    stamp = _changed([source], "", output)
    if stamp is not None:
        mingw.tool("gcc", "-O2", "-s", "-Wall", "-Wextra", "-Werror", source, "-o", output)
        output.with_name(output.name + ".from").write_text(stamp)
    return output
