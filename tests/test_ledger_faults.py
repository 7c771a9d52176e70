"""Every allocation of the analysis failing in turn: MemoryError, and nothing kept. Ctrl-C."""

from __future__ import annotations

import functools
import gc
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import reporttraces
import toolhelp as th
from etlmaker import Trace


@functools.cache
def sample() -> bytes:
    """Several stacks, heaps, threads and processes, one that ends, and a module."""
    trace = Trace()
    trace.image(10, 1500, 0, 10, 0x7FF100000000, 0x10000, "\\Device\\HarddiskVolume1\\a.dll")
    for number in range(40):
        stack = (0x7FF100001000 + number % 3, 0x7FF200000000 + number % 2)
        trace.heap_alloc(2000 + 10 * number, 0, 10 + number % 2, 11 + number % 4, 0x10000,
                         10 * number, 0x50000 + 0x1000 * number, stack=stack)  # fmt: skip
    for number in range(0, 40, 3):
        trace.heap_free(3000 + 10 * number, 0, 10 + number % 2, 11, 0x10000,
                        0x50000 + 0x1000 * number)  # fmt: skip
    trace.process(2, 5000, 0, 11)
    return trace.to_bytes()


def analyze(**words: Any) -> Callable[[], Any]:
    def run() -> Any:
        with th.open_trace(sample(), threads=0) as trace:
            found = trace.analyze(**words)
            return [found.totals, [tuple(row) for row in found.stacks],
                    [tuple(row) for row in found.modules],
                    [tuple(row) for row in found.functions],
                    [tuple(row) for row in found.processes],
                    [tuple(row) for row in found.timeline]]  # fmt: skip

    return run


def blocks() -> Any:
    with th.open_trace(sample(), threads=0) as trace:
        return [tuple(row) for batch in trace.blocks(min_size=20) for row in batch]


RUNS = {
    "analyze": analyze(),
    "filter by frame and lifetime": analyze(under="a.dll", lifetime_ns=(0, 10**9)),
    "blocks": blocks,
}


@pytest.mark.needs("fake")
@pytest.mark.parametrize("persist", [False, True], ids=["once", "for ever"])
@pytest.mark.parametrize("name", RUNS)
def test_every_allocation_failing(fake: Any, name: str, persist: bool) -> None:
    run = RUNS[name]
    good = run()
    gc.collect()
    kept = fake.fake_live_blocks()
    before = fake.fake_alloc_count()
    assert run() == good
    allocations = fake.fake_alloc_count() - before
    assert allocations > 100
    for nth in range(1, allocations + 1):
        fake.fake_alloc_fail(nth, persist)
        error = None
        try:
            answer = run()
        except MemoryError as caught:
            error = caught
        finally:
            fake.fake_alloc_fail(0)
        if error is None:  # a table that could be kept for later but need not be
            assert answer == good
        error = answer = None
        if fake.fake_live_blocks() != kept:
            gc.collect()
        assert fake.fake_live_blocks() == kept, nth
        assert fake.fake_faults() == []


@pytest.mark.needs("core")
@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.needs("numpy")
def test_ctrl_c_ends_a_report_in_the_middle_of_its_trace(tmp_path: Path) -> None:
    started, bytes_read = tmp_path / "started", tmp_path / "bytes"
    # A trace of some gigabytes, of which only a part may have been read when the command ends.
    code = f"""
import sys, pathlib
sys.path.insert(0, {str(Path(__file__).parent)!r})
from etlmaker.large import Load, Repeated, heap_buffers
from toolhelp.cli import main
import toolhelp.cli.report as report
import toolhelp as th
class Counted(Repeated):
    count = -10**12  # what is read before the report begins does not count
    def readinto(self, buffer):
        found = super().readinto(buffer)
        self.count += found
        if found and self.count > 4_000_000:
            pathlib.Path({str(started)!r}).touch()
        return found
file = Counted(list(heap_buffers(Load(events=40_000, unique_stacks=1000, drain=True))), 1000)
trace = th.open_trace(file)
file.count = 0
report.open_files = lambda *words: trace
try:
    main(["report", "large.etl"])
finally:
    pathlib.Path({str(bytes_read)!r}).write_text(f"{{file.count}} {{file.size}}")
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        deadline = time.monotonic() + 60
        while not started.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert started.exists()
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=120)
    assert (child.returncode, out, err.strip()) == (130, b"", b"toolhelp: interrupted")
    count, size = map(int, bytes_read.read_text().split())
    assert 4_000_000 < count < size


@pytest.mark.needs("core")
def test_one_pass_belongs_to_one_analysis_and_many_can_run() -> None:
    """Two analyses of one trace in two threads."""
    import concurrent.futures

    trace = th.open_trace(reporttraces.leaky_bytes())
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: trace.analyze().live, range(8)))
    assert set(found) == {(401, 1_462_144)}
