"""Builds the package over the fake system: `python tests/build_fake.py`; prints its folder.

The same sources as setup.py's, with `tests/csrc/fake_*.c` in place of what touches the system.

--sanitize   with address and undefined-behaviour sanitizers
--windows    for the Windows Python of tests/wine (with mingw-w64)
--full-api   against this one Python's whole API, not the limited one
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
BUILD = TESTS / "_build"
WINDOWS = sys.platform == "win32"
REPLACED = ("csrc/sys/", "csrc/base/mem.c", "csrc/host/clock_", "csrc/py/module.c")
SANITIZE = ["-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined",
            "-fno-sanitize-recover=undefined"]  # fmt: skip


def load_setup() -> ModuleType:
    """`setup.py` as a module: it alone says what the sources and flags are."""
    spec = importlib.util.spec_from_file_location("toolhelp_setup", ROOT / "setup.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def core_sources(windows: bool, python: bool = True) -> list[Path]:
    """What the fake build has in common with the shipped one; without `python`, plain C alone."""
    chosen = [name for name in load_setup().sources(windows) if not name.startswith(REPLACED)]
    return [ROOT / name for name in chosen if python or not name.startswith("csrc/py/")]


def fake_sources(python: bool = True) -> list[Path]:
    found = sorted(TESTS.glob("csrc/fake_*.c"))
    return [path for path in found if python or not path.name.startswith(NEEDS_PYTHON)]


NEEDS_PYTHON = ("fake_control", "fake_module")


@dataclass
class Toolchain:
    """A compiler with its words; objects are kept under `tests/_build/obj/<name>`."""

    name: str
    command: list[str]
    flags: list[str]
    link_flags: list[str] = field(default_factory=list)
    include: list[Path] = field(default_factory=list)
    archive: bool = False
    """Link the last source against the others, instead of all of them."""

    def _run(self, *words: str | Path) -> None:
        command = [*self.command, *map(str, words)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            sys.exit(f"{shlex.join(command)}\n{result.stdout}{result.stderr}")

    def _object(self, source: Path, stamp: str) -> tuple[Path, bool]:
        name = source.relative_to(ROOT).as_posix().replace("/", "-")
        output = BUILD / "obj" / self.name / f"{name}.o"
        known = output.with_suffix(".from")
        wanted = hashlib.sha256(stamp.encode() + source.read_bytes()).hexdigest()
        if output.exists() and known.exists() and known.read_text() == wanted:
            return output, False
        known.unlink(missing_ok=True)
        folders = [f"-I{folder}" for folder in self.include]
        self._run(*self.flags, *folders, "-c", source, "-o", output)
        known.write_text(wanted)
        return output, True

    def build(self, sources: Iterable[Path], output: Path, *link: str | Path) -> None:
        """Compile what has changed and link it all. Any changed header changes everything."""
        headers = sorted([*ROOT.glob("csrc/*/*.h"), *TESTS.glob("csrc/*.h")])
        digest = hashlib.sha256(repr((self.command, self.flags, self.include)).encode())
        digest.update(sys.version.encode())
        for header in headers:
            digest.update(header.read_bytes())
        stamp = digest.hexdigest()
        (BUILD / "obj" / self.name).mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            made = list(pool.map(lambda source: self._object(source, stamp), sources))
        objects = [path for path, _ in made]
        if self.archive:
            # Of an archive the linker takes what is needed: areas of the fake that serve other
            # folders of csrc stay out.
            library = BUILD / "obj" / self.name / "lib.a"
            library.unlink(missing_ok=True)
            subprocess.run(["ar", "rcs", library, *objects[:-1]], check=True)
            objects = [objects[-1], library]
        listed = output.with_name(output.name + ".from")
        recipe = repr((stamp, self.link_flags, sorted(map(str, objects)), list(map(str, link))))
        same = output.exists() and listed.exists() and listed.read_text() == recipe
        if same and not any(new for _, new in made):
            return
        output.parent.mkdir(parents=True, exist_ok=True)
        # A loaded library must not be overwritten: put a new file in its place.
        half = output.with_name(output.name + ".part")
        self._run(*self.link_flags, *objects, *link, "-o", half)
        half.replace(output)
        listed.write_text(recipe)


def here(variant: str, sanitize: bool = False, python: bool = True, *more: str) -> Toolchain:
    """The compiler of this system: CC, or what Python was built with, or cc."""
    command = shlex.split(os.environ.get("CC") or "") or ["gcc" if shutil.which("gcc") else "cc"]
    flags = [*load_setup().FLAGS, "-fPIC", *more]
    include = [ROOT / "csrc", TESTS / "csrc"]
    if python:
        include.append(Path(sysconfig.get_path("include")))
    link = []
    if sanitize:
        flags += SANITIZE
        link += SANITIZE
    if not WINDOWS:
        flags.append("-pthread")
        link.append("-pthread")
    return Toolchain(variant, command, flags, link, include)


def copy_package(folder: Path) -> None:
    """The Python half as it is in the work tree."""
    source, package = ROOT / "src" / "toolhelp", folder / "toolhelp"
    wanted = {
        path.relative_to(source)
        for path in source.rglob("*")
        if path.suffix in (".py", ".pyi", ".typed") and "__pycache__" not in path.parts
    }
    for old in package.rglob("*.py") if package.is_dir() else ():
        if old.relative_to(package) not in wanted:
            old.unlink()
    for path in wanted:
        target = package / path
        if target.exists() and target.read_bytes() == (source / path).read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / path, target)


def remove_other_builds(core: Path) -> None:
    for other in core.parent.glob("_core*"):
        if other.suffix in (".so", ".pyd") and other != core:
            other.unlink()


def limited_macros(full_api: bool) -> list[str]:
    macros = load_setup().extension(windows=False).define_macros
    return [] if full_api else [f"-D{name}={value}" for name, value in macros]


def native(sanitize: bool = False, full_api: bool = False) -> Path:
    """The package over the fake for this Python."""
    variant = "fake" + ("-asan" if sanitize else "") + ("-full" if full_api else "")
    folder = BUILD / variant
    macros = limited_macros(full_api)
    suffix = ".abi3.so" if macros else sysconfig.get_config_var("EXT_SUFFIX")
    core = folder / "toolhelp" / f"_core{suffix}"
    tools = here(variant, sanitize, True, *macros)
    tools.link_flags.append("-shared")
    if sys.platform == "darwin":
        tools.link_flags += ["-undefined", "dynamic_lookup"]
    tools.build([*core_sources(False), *fake_sources()], core)
    remove_other_builds(core)
    copy_package(folder)
    return folder


def for_wine(full_api: bool = False) -> Path:
    """The package over the fake for the bed's Windows Python."""
    sys.path.insert(0, str(TESTS))
    from wine import build, mingw
    from wine.run import prepared

    bed = prepared()
    variant = "fake-windows" + ("-full" if full_api else "")
    folder = BUILD / variant
    macros = limited_macros(full_api)
    core = folder / "toolhelp" / build.file_name("_core", bool(macros))
    tools = Toolchain(
        variant,
        [shutil.which(f"{mingw.TRIPLET}-gcc")],
        [*load_setup().FLAGS, *macros],
        ["-shared", "-static-libgcc", "-s"],
        [ROOT / "csrc", TESTS / "csrc", bed.include],
    )
    python = bed.abi3_library if macros else bed.python_dll
    tools.build([*core_sources(True), *fake_sources()], core, python, "-ladvapi32")
    remove_other_builds(core)
    copy_package(folder)
    return folder


def on_windows(full_api: bool = False) -> Path:
    """The same with Microsoft's compiler, which setuptools finds."""
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    setup = load_setup()
    shipped = setup.extension(windows=True)
    variant = "fake" + ("-full" if full_api else "")
    folder = BUILD / variant
    macros = [] if full_api else shipped.define_macros
    extension = Extension(
        "toolhelp._core",
        [os.path.relpath(path, ROOT) for path in [*core_sources(True), *fake_sources()]],
        include_dirs=[str(ROOT / "csrc"), str(TESTS / "csrc")],
        depends=[*map(str, ROOT.glob("csrc/*/*.h")), *map(str, TESTS.glob("csrc/*.h"))],
        extra_compile_args=setup.FLAGS_MSVC,
        libraries=shipped.libraries,
        define_macros=macros,
        py_limited_api=bool(macros),
    )
    os.chdir(ROOT)
    command = build_ext(Distribution({"name": "toolhelp-fake", "ext_modules": [extension]}))
    command.build_lib = str(folder)
    command.build_temp = str(BUILD / "obj" / variant)
    command.ensure_finalized()
    command.run()
    copy_package(folder)
    return folder


SNAPSHOT_CORE = ("base", "host", "table", "snapshot", "session")


def program(main: Path, name: str, *more: str, folders: Iterable[str] = SNAPSHOT_CORE) -> Path:
    """A plain C program over the fake and these folders of csrc: `tests/_build/programs/<name>`."""
    tools = here(f"program-{name}", False, False, *more)
    tools.link_flags += [word for word in more if word.startswith("-fsanitize")]
    tools.archive = True
    output = BUILD / "programs" / name
    core = [path for path in core_sources(WINDOWS, False) if path.parent.name in folders]
    tools.build([*core, *fake_sources(False), main], output)
    return output


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("--sanitize", "--windows", "--full-api"):
        parser.add_argument(name, action="store_true")
    chosen = parser.parse_args(words)
    if chosen.windows and not WINDOWS:
        folder = for_wine(chosen.full_api)
    elif WINDOWS:
        folder = on_windows(chosen.full_api)
    else:
        folder = native(chosen.sanitize, chosen.full_api)
    print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
