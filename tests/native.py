"""Builds small C programs of the tests from the project's own sources, with whatever compiler there
is; a test that needs one is skipped with the reason when there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from glob import glob
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
#: The trace reader and everything below it, for any system but Windows.
READER = ("csrc/base", "csrc/host", "csrc/table", "csrc/etl")
STRICT = ("-std=c11", "-Wall", "-Wextra", "-Werror")
SANITIZE = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


@cache
def compiler() -> str:
    if sys.platform == "win32":
        pytest.skip("the small C programs of these tests are built on POSIX systems")
    for name in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
        if name and (found := shutil.which(name.split()[0])):
            return found
    pytest.skip("no C compiler here")


def sources(*folders: str) -> list[str]:
    """The C files of these folders that are for this system."""
    files = [path for folder in folders for path in sorted(glob(f"{ROOT}/{folder}/*.c"))]
    return [path for path in files if not path.endswith("_win32.c")]


def build(output: Path, *files: str, flags: tuple[str, ...] = ("-O2",)) -> Path:
    """One program or shared library (`-shared` among the flags) from these files."""
    paths = [path if os.path.isabs(path) else f"{ROOT}/{path}" for path in files]
    command = [
        compiler(),
        *STRICT,
        *flags,
        f"-I{ROOT}/csrc",
        *paths,
        "-o",
        str(output),
        "-lpthread",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode and "-fsanitize=address,undefined" in flags and "lib" in done.stderr:
        pytest.skip(f"the compiler has no sanitizers: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return output
