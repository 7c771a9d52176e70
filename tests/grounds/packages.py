"""Debian packages the tests need: installed when root on Debian, else a sentence says which."""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

MINOR = sys.version_info.minor
HEADERS = Path(sysconfig.get_path("include")) / "Python.h"


@dataclass(frozen=True)
class Tool:
    """Something from outside PyPI: how to see that it is there, and where Debian has it."""

    what: str
    present: Callable[[], bool]
    debian: Callable[[], list[str]]


def _on_path(*programs: str) -> Callable[[], bool]:
    return lambda: all(shutil.which(program) for program in programs)


def _packages(*names: str) -> Callable[[], list[str]]:
    return lambda: list(names)


def wine_loader() -> str | None:
    """Wine's 64-bit loader; Debian's `wine` script complains of the missing 32-bit one."""
    for known in ("/usr/lib/wine/wine64", shutil.which("wine64"), shutil.which("wine")):
        if known and os.access(known, os.X_OK):
            return known
    return None


def _clang_says(*question: str) -> str:
    if not shutil.which("clang"):
        return ""
    answer = subprocess.run(["clang", *question], capture_output=True, text=True, check=False)
    return answer.stdout.strip()


def _has_fuzzer_runtime() -> bool:
    found = _clang_says("-print-file-name=libclang_rt.fuzzer-x86_64.a")
    other = _clang_says("-print-file-name=libclang_rt.fuzzer.a")
    return any(os.path.isabs(path) and os.path.exists(path) for path in (found, other))


def _clang_runtime_packages() -> list[str]:
    """The runtime's package carries clang's major version, which clang alone can tell."""
    major = _clang_says("-dumpversion").partition(".")[0]
    return [f"libclang-rt-{major}-dev"] if major else ["clang"]


COMPILER = Tool("a C compiler", _on_path("gcc"), _packages("gcc", "libc6-dev"))
PYTHON_HEADERS = Tool(
    "the headers of this Python",
    HEADERS.exists,
    _packages(f"python3.{MINOR}-dev"),
)
VENV = Tool(
    "Python's venv module",
    lambda: importlib.util.find_spec("ensurepip") is not None,
    _packages(f"python3.{MINOR}-venv"),
)
WINE = Tool("Wine", lambda: wine_loader() is not None, _packages("wine", "wine64"))
MINGW = Tool(
    "mingw-w64",
    _on_path("x86_64-w64-mingw32-gcc", "x86_64-w64-mingw32-dlltool"),
    _packages("gcc-mingw-w64-x86-64"),
)
CLANG = Tool("clang with lld", _on_path("clang", "ld.lld"), _packages("clang", "lld"))
CLANG_RUNTIME = Tool("clang's fuzzer runtime", _has_fuzzer_runtime, _clang_runtime_packages)
VALGRIND = Tool("valgrind", _on_path("valgrind"), _packages("valgrind", "libc6-dbg"))


def apt_install(packages: list[str]) -> str:
    """Install Debian packages; the end of apt's own words when that failed, else nothing."""
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages]
    result = None
    for command in (install, ["apt-get", "update", "-qq"], install):
        result = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if command is install and result.returncode == 0:
            return ""
    return result.stdout.strip()[-2000:]


def can_install() -> bool:
    return sys.platform == "linux" and os.geteuid() == 0 and shutil.which("apt-get") is not None


def ensure(*tools: Tool, say: Callable[[str], None] = print) -> list[Tool]:
    """Bring in what is missing of `tools`, in order; return those that are still missing."""
    missing = [tool for tool in tools if not tool.present()]
    wanted = [name for tool in missing for name in tool.debian()]
    if missing and can_install():
        say(f"Installing {' '.join(wanted)} ...")
        trouble = apt_install(list(dict.fromkeys(wanted)))
        if trouble:
            say(trouble)
        importlib.invalidate_caches()
        missing = [tool for tool in missing if not tool.present()]
    return missing


def advice(missing: Iterable[Tool]) -> str:
    """One sentence: what is missing and what to install."""
    missing = list(missing)
    what = ", ".join(tool.what for tool in missing)
    names = " ".join(dict.fromkeys(name for tool in missing for name in tool.debian()))
    return f"Missing: {what}. On Debian or Ubuntu install: {names}."
