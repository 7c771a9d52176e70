"""Builds small C programs of the tests from the project's own sources, with whatever compiler there
is; a test that needs one is skipped with the reason when there is none."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
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


@cache
def _included() -> bytes:
    """A digest of everything a source may include: of the project's own, other sources, too."""
    digest = hashlib.sha256()
    for path in sorted([*ROOT.glob("csrc/**/*.[ch]"), *ROOT.glob("tests/csrc/*.h")]):
        digest.update(path.read_bytes())
    return digest.digest()


def _call(*words: str) -> None:
    done = subprocess.run([compiler(), *words], capture_output=True, text=True)
    if done.returncode and "-fsanitize=address,undefined" in words and "lib" in done.stderr:
        pytest.skip(f"the compiler has no sanitizers: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr


def _object(source: Path, words: tuple[str, ...]) -> Path:
    """The compiled source, kept from program to program and run to run."""
    recipe = hashlib.sha256(repr((compiler(), words, str(source))).encode() + _included())
    recipe.update(source.read_bytes())
    kept = ROOT / "tests/_build/native" / f"{source.stem}-{recipe.hexdigest()[:24]}.o"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        new = kept.with_suffix(f".{os.getpid()}.o")  # others may be making the same one
        _call(*words, "-c", str(source), "-o", str(new))
        new.replace(kept)
    return kept


def build(output: Path, *files: str, flags: tuple[str, ...] = ("-O2",)) -> Path:
    """One program or shared library (`-shared` among the flags) from these files."""
    words = (*STRICT, *flags, f"-I{ROOT}/csrc")
    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(lambda path: str(_object(ROOT / path, words)), files))
    _call(*flags, *objects, "-o", str(output), "-lpthread")
    return output


def run(*words: object, limit: float = 300) -> subprocess.CompletedProcess[str]:
    """Run such a program, which must exit with 0."""
    # What a sanitized interpreter preloads is not for other programs.
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    done = subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        timeout=limit,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    return done
