"""One machine for all snapshot benchmarks: 300 processes, 4,000 threads, 20,000 modules."""

from __future__ import annotations

import pytest

PROCESSES, THREADS, MODULES, PATHS = 300, 4_000, 20_000, 500
OWNERS = 200  # processes that the modules are spread over


@pytest.fixture(scope="session")
def machine():
    """The scripted machine; gives the pids that have modules."""
    core = pytest.importorskip("toolhelp")._core
    if not hasattr(core, "bare_walk_processes"):
        pytest.skip("needs the build of benchmarks/build.py on PYTHONPATH")
    core.fake_reset()
    pids = [4 * (number + 1) for number in range(PROCESSES)]
    share, left = divmod(THREADS, PROCESSES)
    tid = 10_000
    for place, pid in enumerate(pids):
        count = share + (place < left)
        core.fake_process(pid, 4, f"program{place % 60}.exe", threads=list(range(tid, tid + count)))
        tid += count
    for place in range(MODULES):
        pid = pids[place % OWNERS]
        name = f"library{(place * 7919) % PATHS:03}.dll"
        path = f"C:\\Windows\\System32\\some folder\\{name}"
        core.fake_module(pid, 0x7FF000000000 + place * 0x10000, 0x8000, name, path)
    return pids[:OWNERS]
