"""The ledger on a thread of its own: the same figures, no race, and nothing kept when it fails."""

from __future__ import annotations

import functools
import io
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

import native
import toolhelp as th
from etlmaker.large import Load, heap_buffers


@functools.cache
def sample() -> bytes:
    """Enough for several batches."""
    load = Load(events=70_000, seed=3, unique_stacks=40, depth=(2, 5), live=300)
    return b"".join(heap_buffers(load))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sample.etl"
    path.write_bytes(sample())
    return path


def program(folder: Path, *flags: str) -> Path:
    files = [
        path
        for path in native.sources(*native.READER, "csrc/heap")
        if not path.endswith(("/base/mem.c", "/host/host_posix.c"))
    ]
    return native.build(folder / "feeder", "tests/csrc/feeder_main.c", *files, flags=flags)


def run(*words: object) -> str:
    done = native.run(*words, limit=500)
    assert done.stderr == ""
    return done.stdout


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return program(tmp_path_factory.mktemp("sanitized"), *native.SANITIZE)


def test_the_same_figures_with_and_without(sanitized: Path, file: Path) -> None:
    found = run(sanitized, "same", file)
    assert found == "70000 events, all as they should be\n"


def test_every_allocation_failing(sanitized: Path, file: Path) -> None:
    found = run(sanitized, "fail", file)
    assert int(found.split()[0]) > 200


@pytest.mark.needs("linux")
def test_no_race_under_thread_sanitizer(tmp_path: Path, file: Path) -> None:
    made = program(tmp_path, "-g", "-O1", "-fsanitize=thread")
    assert "all as they should be" in run(made, "same", file)


@pytest.mark.needs("linux")
def test_no_race_under_helgrind(tmp_path: Path, file: Path) -> None:
    valgrind = shutil.which("valgrind")
    if not valgrind:
        pytest.skip("valgrind is not installed")
    words = [valgrind, "-q", "--tool=helgrind", "--error-exitcode=9"]
    assert "all as they should be" in run(*words, program(tmp_path, "-g", "-O1"), "same", file)


def everything(threads: int, **words: Any) -> list[Any]:
    with th.open_trace(io.BytesIO(sample()), threads=threads) as trace:
        found = trace.analyze(**words)
        tables = ("stacks", "functions", "heaps", "threads", "processes", "sizes", "timeline")
        return [found.totals, found.live, found.peak, found.quality] + [
            [tuple(row) for row in getattr(found, name)] for name in tables
        ]


@pytest.mark.needs("core")
@pytest.mark.parametrize("words", [{}, {"min_size": 500, "lifetime_ns": (0, 3_000_000)}])
def test_python_sees_no_difference(words: dict[str, Any]) -> None:
    assert everything(1, **words) == everything(0, **words)


@pytest.mark.needs("core")
def test_an_exception_in_the_middle_ends_the_thread() -> None:
    """What the progress function raises comes out; the trace serves on."""
    calls = 0

    def others() -> int:
        """Threads that Python does not know: those of libraries, and any that we left."""
        return len(os.listdir("/proc/self/task")) - len(sys._current_frames())

    def progress(done: int, size: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyError("enough")

    before = others() if sys.platform == "linux" else 0

    with th.open_trace(sample(), threads=1) as trace:
        with pytest.raises(KeyError, match="enough"):
            trace.analyze(progress=progress)
        assert calls == 3
        assert trace.analyze().events == 70_000
        if sys.platform == "linux":
            assert others() == before
