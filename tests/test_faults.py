"""Every system call and every allocation failing in turn: the right exception, nothing kept."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import toolhelp as th
from toolhelp import raw

pytestmark = pytest.mark.needs("fake")

CREATE = "CreateToolhelp32Snapshot"
OWN = 4242
LONG = "C:\\" + "folder\\" * 150 + "long.dll"
CODES = [1, 5, 6, 8, 13, 24, 87, 120, 299, 998, 1450]

# A failure of these takes something from a row; the rest of the answer stands.
TOLERATED = {
    "OpenProcess",
    "IsWow64Process2",
    "GetModuleFileNameExW",
    "GetExitCodeProcess",
    "NtQueryInformationProcess",
}


def script(core: Any) -> None:
    core.fake_reset()
    core.fake_process(4, 0, "System", threads=[8, 12])
    core.fake_process(OWN, 4, "python.exe", threads=[100, 104])
    core.fake_process(900, OWN, "a\ud800.exe", threads=[904])
    for pid in (OWN, 900):
        core.fake_module(pid, 0x10000, 1, "a.dll", "C:\\a.dll")
        core.fake_module(pid, 0x20000, 2, "long.dll", LONG)
        core.fake_module(pid, 0x30000, 3, "b.dll", "C:\\b.dll")
        core.fake_heap(pid, 0x1000, 1)
        core.fake_heap(pid, 0x2000, 0)


@dataclass(frozen=True)
class Operation:
    name: str
    run: Callable[[], Any]
    raw: bool = False


def walk(flags: int, pid: int, walker: Callable[[raw.SnapshotHandle], Any]) -> Callable[[], Any]:
    def run() -> list[Any]:
        with raw.CreateToolhelp32Snapshot(flags, pid) as snapshot:
            return list(walker(snapshot))

    return run


OPERATIONS = [
    Operation("processes", th.processes),
    Operation("threads", th.threads),
    Operation("threads of one", lambda: th.threads(900)),
    Operation("modules of ours", th.modules),
    Operation("modules of another", lambda: th.modules(900)),
    Operation("snapshot", th.snapshot),
    Operation(
        "snapshot with modules",
        lambda: th.snapshot(modules=True, errors="raise", pids=[OWN]),
    ),
    Operation("raw processes", walk(raw.TH32CS_SNAPPROCESS, 0, raw.processes), raw=True),
    Operation("raw threads", walk(raw.TH32CS_SNAPTHREAD, 0, raw.threads), raw=True),
    Operation("raw modules", walk(raw.TH32CS_SNAPMODULE, 900, raw.modules), raw=True),
    Operation("raw heaps", walk(raw.TH32CS_SNAPHEAPLIST, 900, raw.heap_lists), raw=True),
]
each_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)


def rows_of(answer: Any) -> Any:
    """Everything in an answer, as plain values."""
    if isinstance(answer, th.Snapshot):
        tables = (answer.processes, answer.threads, answer.modules)
        return [rows_of(table) for table in tables if table is not None]
    return [tuple(row) for row in answer]


def without_tolerated(rows: Any) -> Any:
    """The same without what a tolerated failure takes away: long paths, machines."""
    if rows and isinstance(rows[0], list):
        return [without_tolerated(part) for part in rows]
    return [
        (*row[:4], row[4][:259]) if len(row) == 7 and isinstance(row[4], str) else row
        for row in rows
    ]


def sequence_of(core: Any, operation: Operation) -> list[str]:
    """The system calls an operation makes, in order."""
    names: list[str] = []
    script(core)
    core.fake_hook(names.append)
    operation.run()
    core.fake_hook(None)
    return names


def nothing_kept(core: Any, blocks: int) -> None:
    if core.fake_live_blocks() != blocks or core.fake_handles():
        gc.collect()
    assert core.fake_handles() == 0
    assert core.fake_faults() == []
    assert core.fake_live_blocks() == blocks


def expected(function: str, code: int, about_process: bool) -> type[Exception]:
    if function == CREATE and code == 24:
        return th.SnapshotRace
    if function == CREATE and code == 299:
        return th.PartialCopy
    if code == 5:
        return th.AccessDenied
    if code == 87 and about_process:
        return th.ProcessNotFound
    if code == 120:
        return th.UnsupportedPlatform
    return th.ToolhelpError


@pytest.mark.parametrize("persist", [False, True], ids=["once", "for ever"])
@pytest.mark.parametrize("code", CODES)
@each_operation
def test_every_system_call_failing(fake, operation, code, persist):
    blocks = fake.fake_live_blocks()
    script(fake)
    good = rows_of(operation.run())
    sequence = sequence_of(fake, operation)
    assert sequence[0] == CREATE
    assert sequence[-1] == "CloseHandle"
    for nth, function in enumerate(sequence, 1):
        script(fake)
        fake.fake_fail("*", nth=nth, code=code, persist=persist)
        error = answer = None
        try:
            answer = operation.run()
        except Exception as caught:
            error = caught
        assert fake.fake_handles() == 0
        following = sequence[nth - 1 :] if persist else [function]
        passing = {"CloseHandle"} if not operation.raw else set()
        failed = next((name for name in following if name not in TOLERATED | passing), None)
        if failed is None:
            assert error is None
            assert without_tolerated(rows_of(answer)) == without_tolerated(good)
        elif failed == CREATE and code == 24 and not persist and not operation.raw:
            assert rows_of(answer) == good  # tried again
        else:
            assert answer is None
            check(error, failed, code)
        del answer, error
        nothing_kept(fake, blocks)


OF_A_PROCESS = {"Module32FirstW", "Module32NextW", "Heap32ListFirst", "Heap32ListNext"}


def check(error: Any, function: str, code: int) -> None:
    about_process = error.pid is not None
    if function != CREATE:
        assert about_process == (function in OF_A_PROCESS)
    assert type(error) is expected(function, code, about_process), repr(error)
    assert (error.winerror, error.function) == (code, function)
    assert code == 120 or f"Windows error {code}" in str(error)
    assert not isinstance(error, FileNotFoundError)
    if code in (24, 299):
        assert not isinstance(error, PermissionError)


# ----- the C allocator -----


def numpy_of(table: th.Table[Any]) -> Any:
    pytest.importorskip("numpy", reason="NumPy is not installed")
    return table.to_numpy()


def of_modules(use: Callable[[th.Table[Any]], Any]) -> Callable[[], Any]:
    return lambda: use(th.modules(900))


def without_machines() -> th.Table[Any]:
    th._core.fake_fail("OpenProcess", code=5, persist=True)
    return th.modules(900)


USES = [
    Operation("slice", of_modules(lambda table: table[1:])),
    Operation("stepped slice", of_modules(lambda table: table[::2])),
    Operation("take", of_modules(lambda table: table.take([2, 0]))),
    Operation("rows", of_modules(list)),
    Operation("to_dict", of_modules(lambda table: table.to_dict())),
    Operation("to_numpy", of_modules(numpy_of)),
    Operation("buffer", of_modules(lambda table: bytes(memoryview(table["base"])))),
    Operation("codes", of_modules(lambda table: bytes(memoryview(table["path"].codes)))),
    Operation("dictionary", of_modules(lambda table: table["path"].dictionary)),
    Operation("valid", lambda: without_machines()["machine"].valid),
    Operation("arrow schema", of_modules(lambda table: table.__arrow_c_schema__())),
    Operation("arrow stream", of_modules(lambda table: table.__arrow_c_stream__())),
]


@pytest.mark.parametrize("persist", [False, True], ids=["once", "for ever"])
@pytest.mark.parametrize("operation", OPERATIONS + USES, ids=lambda one: one.name)
def test_every_allocation_failing(fake, operation, persist):
    blocks = fake.fake_live_blocks()
    script(fake)
    before = fake.fake_alloc_count()
    answer = operation.run()
    allocations = fake.fake_alloc_count() - before
    del answer
    nothing_kept(fake, blocks)
    assert operation.raw or allocations > 4
    for nth in range(1, allocations + 1):
        script(fake)
        fake.fake_alloc_fail(nth, persist)
        with pytest.raises(MemoryError):
            operation.run()
        fake.fake_alloc_fail(0)
        nothing_kept(fake, blocks)


@pytest.mark.needs("pyarrow")
def test_every_allocation_failing_in_arrow(fake):
    import pyarrow as pa

    script(fake)
    table = th.modules(900)
    blocks = fake.fake_live_blocks()
    before = fake.fake_alloc_count()
    rows = pa.table(table)
    allocations = fake.fake_alloc_count() - before
    assert rows.num_rows == 3
    del rows
    nothing_kept(fake, blocks)
    for nth in range(1, allocations + 1):
        fake.fake_alloc_fail(nth)
        with pytest.raises((MemoryError, pa.ArrowException, OSError)):
            pa.table(table)
        fake.fake_alloc_fail(0)
        nothing_kept(fake, blocks)


# ----- Python's allocator -----

NO_MEMORY = """
    import gc, sys
    import _testcapi
    import toolhelp as th
    from toolhelp import _core, raw

    sys.path.insert(0, {tests!r})
    import test_faults

    chosen = next(one for one in test_faults.OPERATIONS + test_faults.USES if one.name == {name!r})
    test_faults.script(_core)
    chosen.run()
    gc.collect()
    blocks = _core.fake_live_blocks()
    run = chosen.run
    failures = 0
    for nth in range(100000):
        answer = None
        test_faults.script(_core)
        _testcapi.set_nomemory(nth, nth + 1)
        try:
            answer = run()
            failed = False
        except MemoryError:
            failed = True
        finally:
            _testcapi.remove_mem_hooks()
        assert _core.fake_handles() == 0, nth
        failures += failed
        if not failed:
            good = answer is not None
            answer = None
            break
    gc.collect()
    assert good and failures > 0
    assert _core.fake_live_blocks() == blocks
    assert _core.fake_faults() == [], _core.fake_faults()
    print(failures)
"""


@pytest.mark.needs("testcapi")
@pytest.mark.parametrize(
    "operation",
    [one for one in OPERATIONS + USES if one.name not in ("to_numpy", "raw heaps")],
    ids=lambda one: one.name,
)
def test_every_python_allocation_failing(operation):
    """In a process of its own: a fault here would take the interpreter with it."""
    code = NO_MEMORY.format(tests=str(Path(__file__).parent), name=operation.name)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 0
