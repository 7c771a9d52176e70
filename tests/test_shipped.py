"""What is shipped: the extension's exports and imports, and the files of the wheel."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "tests" / "_build" / "shipped"

pytestmark = [
    pytest.mark.needs("linux"),
    pytest.mark.skipif(not (ROOT / "setup.py").exists(), reason="the sources are not there"),
]

# Traces of a test build: control functions, test switches, sources of tests. (The path of the work
# tree may be in there, in messages of assert.)
HOOKS = re.compile(rb"fake_|mock_|pytest|test_only|tests/csrc", re.IGNORECASE)
WINDOWS_DLLS = {"kernel32.dll", "advapi32.dll", "ntdll.dll", "msvcrt.dll", "python3.dll"}


def say(*words: str | Path) -> str:
    return subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=True
    ).stdout


@pytest.fixture(scope="module")
def wheel() -> Path:
    """The wheel as pip builds it from the work tree, without the network."""
    setuptools = pytest.importorskip("setuptools", reason="setuptools is not installed")
    if int(setuptools.__version__.partition(".")[0]) < 77 or shutil.which("gcc") is None:
        pytest.skip("setuptools 77 or newer and gcc are needed to build the wheel")
    shutil.rmtree(OUTPUT, ignore_errors=True)
    # A copy, so that nothing is left in the tree and other builds are not in the way.
    source = OUTPUT / "source"
    names = ["setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "CHANGELOG.md"]
    source.mkdir(parents=True)
    for name in names:
        shutil.copyfile(ROOT / name, source / name)
    ignore = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd", "*.egg-info")
    for folder in ("src", "csrc"):
        shutil.copytree(ROOT / folder, source / folder, ignore=ignore)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps",
               "--no-build-isolation", "--no-index", "-w", OUTPUT, source]  # fmt: skip
    done = subprocess.run([str(w) for w in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    (found,) = OUTPUT.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def shared_object(wheel: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".so")]
        return Path(archive.extract(name, OUTPUT / "unpacked"))


def test_wheel_holds_the_package_alone(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = sorted(archive.namelist())
    info = [name for name in names if ".dist-info/" in name]
    sources = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "toolhelp").rglob("*")
        if path.suffix in (".py", ".pyi", ".typed")
    }
    (core,) = [name for name in names if re.match(r"toolhelp/_core\.\S*so$", name)]
    assert set(names) - set(info) == sources | {core}
    assert any(name.endswith("licenses/LICENSE") for name in info)


def test_wheel_is_of_the_limited_api(wheel):
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("the free-threaded build has no limited API")
    assert "-cp311-abi3-" in wheel.name


def test_exports(shared_object):
    lines = say("nm", "-D", "--defined-only", shared_object).splitlines()
    assert [line.split()[-1] for line in lines] == ["PyInit__core"]


def test_no_test_hook(shared_object):
    assert HOOKS.findall(shared_object.read_bytes()) == []


def test_needs_system_libraries_alone(shared_object):
    needed = set(re.findall(r"NEEDED\s+(\S+)", say("objdump", "-p", shared_object)))
    assert needed <= {"libc.so.6", "libpthread.so.0", "libm.so.6"}


# ----- the Windows extension, built with mingw-w64 -----


@pytest.fixture(scope="module")
def windows_core() -> Path:
    from wine import bed, build, loader, mingw

    if bed.why_not() or shutil.which(f"{mingw.TRIPLET}-gcc") is None:
        pytest.skip(bed.why_not() or "mingw-w64 is not installed")
    try:
        folder = build.package(bed.provide())
    except (bed.NoBed, loader.WineMissing) as missing:
        pytest.skip(str(missing).splitlines()[0])
    (found,) = (folder / "toolhelp").glob("_core*.pyd")
    return found


def test_exports_on_windows(windows_core):
    from wine import mingw

    assert mingw.exports(windows_core) == ["PyInit__core"]


def test_imports_on_windows(windows_core):
    from wine import mingw

    imports = {name.lower(): names for name, names in mingw.imports(windows_core).items()}
    assert imports.keys() <= WINDOWS_DLLS
    kernel = set(imports["kernel32.dll"])
    assert {"CreateToolhelp32Snapshot", "Process32FirstW", "Process32NextW", "Module32FirstW",
            "Module32NextW", "Thread32First", "Thread32Next", "CloseHandle"} <= kernel  # fmt: skip
    # The ANSI twins cut and mangle names.
    assert not kernel & {"Process32First", "Process32Next", "Module32First", "Module32Next"}


def test_no_test_hook_on_windows(windows_core):
    assert HOOKS.findall(windows_core.read_bytes()) == []
