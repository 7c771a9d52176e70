"""Builds the one extension, `toolhelp._core`. All metadata is in pyproject.toml."""

from __future__ import annotations

import os
import sys
from glob import glob

from setuptools import Extension, setup

ROOT = os.path.dirname(os.path.abspath(__file__))

# A file name says where it belongs: `x_win32.c` is Windows only, `x_posix.c` is for every other
# system, `x_none.c` stands in for Windows calls where there are none. Every other file is for all.
WINDOWS_ONLY = ("_win32.c",)
ELSEWHERE_ONLY = ("_posix.c", "_none.c")

FLAGS = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden"]
FLAGS_MSVC = ["/std:c11", "/O2", "/W4", "/WX", "/wd4200", "/guard:cf", "/sdl"]

# The limited API of the oldest supported Python: one wheel per system serves every later one.
# The free-threaded build has no limited API before 3.15 (PEP 803), so there the full one is used.
FREE_THREADED = bool(__import__("sysconfig").get_config_var("Py_GIL_DISABLED"))
LIMITED_API = 0x030B0000


def sources(windows: bool) -> list[str]:
    """Every C file of the extension on Windows, or on any other system; relative to the root."""
    unwanted = ELSEWHERE_ONLY if windows else WINDOWS_ONLY
    found = sorted(glob("csrc/*/*.c", root_dir=ROOT))
    return [path.replace(os.sep, "/") for path in found if not path.endswith(unwanted)]


def extension(windows: bool = sys.platform == "win32") -> Extension:
    return Extension(
        "toolhelp._core",
        sources(windows),
        include_dirs=["csrc"],
        depends=sorted(glob("csrc/*/*.h", root_dir=ROOT)),
        extra_compile_args=FLAGS_MSVC if windows else FLAGS,
        extra_link_args=["/CETCOMPAT", "/guard:cf"] if windows else [],
        libraries=["advapi32"] if windows else [],
        define_macros=[] if FREE_THREADED else [("Py_LIMITED_API", hex(LIMITED_API))],
        py_limited_api=not FREE_THREADED,
    )


if __name__ == "__main__":
    options = {} if FREE_THREADED else {"bdist_wheel": {"py_limited_api": "cp311"}}
    setup(ext_modules=[extension()], options=options)
