"""A short run over the fake system, to be watched by valgrind: `valgrind python tests/memcheck.py`.

Snapshots, rows, columns and Arrow streams, with every allocation and every system call on the way
failing once. Needs the fake build on PYTHONPATH.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import suppress

import toolhelp as th
from toolhelp import _core


def walk() -> int:
    """Everything a snapshot can be asked for; how many rows there were."""
    snapshot = th.snapshot(modules=True)
    tables = [snapshot.processes, snapshot.threads, snapshot.modules]
    for table in tables:
        assert len(list(table)) == len(table)
        table.to_dict()
        table[1:].__arrow_c_stream__()
        for name in table.columns:
            column = table[name]
            list(column)
            with suppress(BufferError):
                memoryview(column).tobytes()
    return sum(map(len, tables))


def until_nothing_fails(arm: Callable[[int], None]) -> int:
    """Call `walk` with the n-th thing failing, for every n there is; how many failures came out."""
    failures = 0
    for n in range(1, 2000):
        _core.fake_reset()
        _core.fake_default()
        arm(n)
        try:
            walk()
        except (MemoryError, OSError):
            failures += 1
        else:
            return failures
    raise AssertionError("it never stopped failing")


def main() -> None:
    _core.fake_reset()
    _core.fake_default()
    rows = walk()
    memory = until_nothing_fails(_core.fake_alloc_fail)
    calls = until_nothing_fails(lambda n: _core.fake_fail("*", nth=n, code=5))
    gc.collect()
    assert _core.fake_handles() == 0, f"{_core.fake_handles()} handles are open"
    assert _core.fake_live_blocks() == 0, f"{_core.fake_live_blocks()} blocks are not freed"
    print(f"{rows} rows; {memory} failed allocations and {calls} failed calls came out as errors")


if __name__ == "__main__":
    main()
