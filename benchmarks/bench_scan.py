"""Scans, trees and differences over the scripted system.

    python benchmarks/build.py
    PYTHONPATH=tests/_build/bench python benchmarks/bench_scan.py

A scan is measured against a bare walk of the same modules in the same run, so that what is left is
the making of columns (target: at most 60 ns a row). The scripted system has one lock, so one worker
is used. It is measured twice: as it is, when glibc gives the memory of each result back to the
kernel, so that each scan pays for the first touch of its pages; and in a process of its own that
keeps its memory, so that only the work is left. Trees and differences of 100,000 processes: at most
100 ms each.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import toolhelp as th

core: Any = th._core
PROCESSES, MODULES, MANY, ROUNDS = 500, 100, 100_000, 25
KEEP = {"MALLOC_TRIM_THRESHOLD_": "500000000", "MALLOC_MMAP_THRESHOLD_": "500000000"}


def best(*calls: Callable[[], object]) -> list[float]:
    """The shortest time of each call, in seconds; the rounds of all are mixed."""
    found = [float("inf")] * len(calls)
    for _ in range(ROUNDS):
        for place, call in enumerate(calls):
            started = time.process_time()
            call()
            found[place] = min(found[place], time.process_time() - started)
    return found


def scan() -> Any:
    return core.scan(True, False, False, False, None, False, 1, 1, False)


def bare() -> None:
    for pid in range(4, 4 * PROCESSES + 4, 4):
        core.bare_walk_modules(pid)


def touched() -> int:
    """Pages that were touched for the first time so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def measure_scan(memory: str) -> None:
    core.fake_reset()
    core.fake_fill(PROCESSES, MODULES)
    rows = len(scan()[2])
    assert rows == PROCESSES * MODULES
    before = core.fake_calls()
    scan()
    made = core.fake_calls()
    creates = made["CreateToolhelp32Snapshot"] - before["CreateToolhelp32Snapshot"]
    assert creates == PROCESSES + 1
    walked, scanned = best(bare, scan)
    pages = touched()
    scan()
    pages = touched() - pages
    print(f"scan of {PROCESSES} processes with {MODULES} modules each, {memory}: "
          f"{scanned * 1e3:.1f} ms, bare walk {walked * 1e3:.1f} ms: "
          f"{(scanned - walked) / rows * 1e9:.0f} ns a row more; {creates} snapshots, "
          f"{pages} pages touched first", flush=True)  # fmt: skip


def main() -> None:
    measure_scan("memory new each time")
    subprocess.run([sys.executable, __file__, "kept"], env={**os.environ, **KEEP}, check=True)
    core.fake_reset()
    core.fake_fill(MANY)
    a = th.snapshot(identity=True).processes
    core.fake_remove(8)
    b = th.snapshot(identity=True).processes
    assert len(core.tree(a)) == MANY
    assert len(core.diff(a, b, None)[0]) == 1
    tree, diff = best(lambda: core.tree(a), lambda: core.diff(a, b, None))
    print(f"tree of {MANY} processes: {tree * 1e3:.1f} ms; diff of two such tables: "
          f"{diff * 1e3:.1f} ms")  # fmt: skip
    core.fake_reset()


if __name__ == "__main__":
    if sys.argv[1:] == ["kept"]:
        measure_scan("memory kept")
    else:
        main()
