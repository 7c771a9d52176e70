"""Snapshots of a real system: Windows, or Windows' calls as Wine has them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import toolhelp as th
from children import running
from toolhelp import raw

pytestmark = pytest.mark.needs("windows-calls")

TESTS = Path(__file__).resolve().parent
PLAIN_WALK = TESTS / "_build" / "wine" / "plain_walk.exe"
CREATE = "CreateToolhelp32Snapshot"
CREATE_SUSPENDED = 0x4
MANY = 10_000
WINE = hasattr(ctypes.WinDLL("ntdll"), "wine_get_version") if sys.platform == "win32" else False


def kernel32():
    return ctypes.WinDLL("kernel32", use_last_error=True)


def handle_count() -> int:
    library, count = kernel32(), ctypes.c_uint32()
    library.GetCurrentProcess.restype = ctypes.c_void_p
    library.GetProcessHandleCount.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint32)]
    assert library.GetProcessHandleCount(library.GetCurrentProcess(), ctypes.byref(count))
    return count.value


def waiting_program() -> list[str]:
    """A small program that runs until its standard input ends."""
    if PLAIN_WALK.exists():
        return [str(PLAIN_WALK)]
    return [sys.executable, "-S", "-c", "input()"]


@contextlib.contextmanager
def child(*words: str, **options):
    """A running child; it is ended and waited for."""
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL,
               "stderr": subprocess.DEVNULL, **options}  # fmt: skip
    with running(list(words) or waiting_program(), **options) as process:
        yield process


def modules_once_there(pid: int) -> th.Table[th.Module]:
    """Modules of a process that was just started. Wine has it without any for a moment."""
    until = time.monotonic() + 30
    while True:
        try:
            if table := th.modules(pid):
                return table
        except th.ToolhelpError as error:
            # Wine says 998 (an address cannot be read) of a process that is still being made.
            starting = isinstance(error, th.PartialCopy) or (WINE and error.winerror == 998)
            if not starting or time.monotonic() > until:
                raise
        assert time.monotonic() < until


def forgotten(pids: set[int]) -> bool:
    """Whether none of these exited processes is listed any more. Wine takes a moment to forget."""
    until = time.monotonic() + 10
    while pids & {row.pid for row in th.processes()}:
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


# ----- what is listed -----


def test_own_process_is_listed():
    (own,) = [row for row in th.processes() if row.pid == os.getpid()]
    assert own.name.lower() == Path(sys.executable).name.lower()
    assert own.ppid == os.getppid()
    assert own.num_threads >= 1
    assert 0 <= own.base_priority <= 31


def test_own_threads_are_listed():
    gate = threading.Event()
    threads = [threading.Thread(target=gate.wait) for _ in range(5)]
    for thread in threads:
        thread.start()
    try:
        mine = {row.tid for row in th.threads(os.getpid())}
        assert {thread.native_id for thread in threads} <= mine
        assert threading.get_native_id() in mine
        every = th.threads()
        assert mine <= {row.tid for row in every if row.owner_pid == os.getpid()}
        assert {row.owner_pid for row in th.threads(os.getpid())} == {os.getpid()}
    finally:
        gate.set()
        for thread in threads:
            thread.join()


def test_own_modules_are_listed():
    table = th.modules()
    names = [row.name.lower() for row in table]
    assert "kernel32.dll" in names
    assert "ntdll.dll" in names
    assert {row.pid for row in table} == {os.getpid()}
    (core,) = [row for row in table if row.name.lower() == Path(th._core.__file__).name.lower()]
    assert os.path.samefile(core.path, th._core.__file__)
    handle = kernel32().GetModuleHandleW
    handle.restype, handle.argtypes = ctypes.c_void_p, [ctypes.c_wchar_p]
    assert handle("kernel32.dll") == table[names.index("kernel32.dll")].base
    assert all(row.size > 0 and not row.path_truncated for row in table)
    expected = {8: {"x64", "arm64"}, 4: {"x86"}}[struct.calcsize("P")]
    assert {row.machine for row in table} <= expected


def test_snapshot_agrees_with_itself():
    seen = th.snapshot(modules=True)
    owners = [row.owner_pid for row in seen.threads]
    for process in seen.processes:
        assert owners.count(process.pid) == process.num_threads
    assert len(seen.modules) > 3


def test_many_started_processes_are_all_listed():
    with contextlib.ExitStack() as stack:
        started = [stack.enter_context(child(close_fds=True)) for _ in range(200)]
        listed = {row.pid: row for row in th.processes()}
        assert {process.pid for process in started} <= listed.keys()
        assert {listed[process.pid].ppid for process in started} == {os.getpid()}
        name = Path(waiting_program()[0]).name.lower()
        assert {listed[process.pid].name.lower() for process in started} == {name}
        for process in started:
            process.stdin.close()
        for process in started:
            process.wait(60)
    # Nobody else gets their ids as long as `started` holds their handles.
    assert forgotten({process.pid for process in started})


# ----- second opinions -----


def text_of(digits: str) -> str:
    units = b"" if digits == "-" else bytes.fromhex(digits)
    return units.decode("utf-16-be", "surrogatepass")


@pytest.mark.skipif(not PLAIN_WALK.exists(), reason="plain_walk.exe is not built here")
def test_rows_equal_a_plain_c_walk():
    agreed = set()  # processes whose whole rows were equal once
    for _ in range(200):
        before = th.snapshot()
        done = subprocess.run(
            [str(PLAIN_WALK), str(os.getpid())], capture_output=True, text=True, check=True
        )
        after = th.snapshot()
        lines = [line.split() for line in done.stdout.splitlines()]
        modules = [
            (int(w[1]), int(w[2]), int(w[3]), text_of(w[4]), text_of(w[5]))
            for w in lines if w[0] == "m"
        ]  # fmt: skip
        assert modules == [tuple(row)[:5] for row in th.modules()]
        threads = {(int(w[1]), int(w[2]), int(w[3])) for w in lines if w[0] == "t"}
        assert set(map(tuple, before.threads)) & set(map(tuple, after.threads)) <= threads
        processes = {
            int(w[1]): (int(w[1]), int(w[2]), text_of(w[5]), int(w[3]), int(w[4]))
            for w in lines if w[0] == "p"
        }  # fmt: skip
        # Processes that are in both of ours are in the walk. How many threads others have may
        # change from moment to moment; rows that did not change are compared whole.
        lasting = set(map(tuple, before.processes)) & set(map(tuple, after.processes))
        assert {row[0] for row in lasting} <= processes.keys()
        for row in lasting:
            assert (*row[:3], row[4]) == (*processes[row[0]][:3], processes[row[0]][4])
        agreed |= {row[0] for row in lasting if processes[row[0]] == row}
        if lasting and {row[0] for row in lasting} <= agreed:
            return
    pytest.fail("no two walks agreed in 200 attempts")


class PROCESSENTRY32W(ctypes.Structure):
    _fields_ = [
        ("dwSize", ctypes.c_uint32), ("cntUsage", ctypes.c_uint32),
        ("th32ProcessID", ctypes.c_uint32), ("th32DefaultHeapID", ctypes.c_size_t),
        ("th32ModuleID", ctypes.c_uint32), ("cntThreads", ctypes.c_uint32),
        ("th32ParentProcessID", ctypes.c_uint32), ("pcPriClassBase", ctypes.c_int32),
        ("dwFlags", ctypes.c_uint32), ("szExeFile", ctypes.c_wchar * 260),
    ]  # fmt: skip


class MODULEENTRY32W(ctypes.Structure):
    _fields_ = [
        ("dwSize", ctypes.c_uint32), ("th32ModuleID", ctypes.c_uint32),
        ("th32ProcessID", ctypes.c_uint32), ("GlblcntUsage", ctypes.c_uint32),
        ("ProccntUsage", ctypes.c_uint32), ("modBaseAddr", ctypes.c_size_t),
        ("modBaseSize", ctypes.c_uint32), ("hModule", ctypes.c_size_t),
        ("szModule", ctypes.c_wchar * 256), ("szExePath", ctypes.c_wchar * 260),
    ]  # fmt: skip


def ctypes_walk(flags: int, kind: type[ctypes.Structure], name: str) -> list[tuple[object, ...]]:
    library = kernel32()
    create = library.CreateToolhelp32Snapshot
    create.restype, create.argtypes = ctypes.c_void_p, [ctypes.c_uint32, ctypes.c_uint32]
    library.CloseHandle.argtypes = [ctypes.c_void_p]
    steps = [getattr(library, name + step) for step in ("FirstW", "NextW")]
    for step in steps:
        step.argtypes = [ctypes.c_void_p, ctypes.POINTER(kind)]
    snapshot = create(flags, 0)
    entry = kind(dwSize=ctypes.sizeof(kind))
    rows = []
    more = steps[0](snapshot, ctypes.byref(entry))
    while more:
        rows.append(tuple(getattr(entry, field) for field, _ in kind._fields_))
        more = steps[1](snapshot, ctypes.byref(entry))
    assert ctypes.get_last_error() == 18
    library.CloseHandle(snapshot)
    return rows


@pytest.mark.parametrize(
    ("flags", "kind", "name"),
    [
        (raw.TH32CS_SNAPPROCESS, PROCESSENTRY32W, "Process32"),
        (raw.TH32CS_SNAPMODULE | raw.TH32CS_SNAPMODULE32, MODULEENTRY32W, "Module32"),
    ],
)
def test_raw_rows_equal_what_ctypes_sees(flags, kind, name):
    walker = {"Process32": raw.processes, "Module32": raw.modules}[name]
    for _ in range(20):
        before = ctypes_walk(flags, kind, name)
        with raw.CreateToolhelp32Snapshot(flags) as snapshot:
            ours = [tuple(row) for row in walker(snapshot)]
        if before == ctypes_walk(flags, kind, name):
            break
        time.sleep(0.1)  # others come and go
    assert ours == before
    assert len(ours) > 2


def test_columns_equal_what_ctypes_sees():
    for _ in range(20):
        before = ctypes_walk(raw.TH32CS_SNAPPROCESS, PROCESSENTRY32W, "Process32")
        table = th.processes()
        if before == ctypes_walk(raw.TH32CS_SNAPPROCESS, PROCESSENTRY32W, "Process32"):
            break
        time.sleep(0.1)  # others come and go
    assert [tuple(row) for row in table] == [(r[2], r[6], r[9], r[5], r[7]) for r in before]


@pytest.mark.needs("psutil")
def test_pids_equal_what_psutil_sees():
    import psutil

    for _ in range(20):
        before = psutil.pids()
        ours = sorted(row.pid for row in th.processes())
        if before == psutil.pids():
            break
        time.sleep(0.1)  # others come and go
    # psutil adds the idle process, which Wine does not list.
    assert set(before) - {0} == set(ours) - {0}


# ----- handles -----


def test_many_snapshots_leave_no_handle():
    def one(i: int) -> None:
        kind = i % 20
        if kind == 0:
            th.processes()
        elif kind == 1:
            th.modules()
        elif kind < 8:
            with contextlib.suppress(th.ToolhelpError):
                th.modules(0xFFFFFFFC)
        elif kind < 14:
            with (
                contextlib.suppress(ZeroDivisionError),
                raw.CreateToolhelp32Snapshot(raw.TH32CS_SNAPPROCESS) as snapshot,
            ):
                for _ in raw.processes(snapshot):
                    1 / 0  # noqa: B018
        else:
            raw.CreateToolhelp32Snapshot(raw.TH32CS_SNAPTHREAD).close()

    for i in range(20):
        one(i)
    before = handle_count()
    for i in range(MANY):
        one(i)
    assert handle_count() == before


def test_modules_of_others_leave_no_handle():
    with child() as process:
        modules_once_there(process.pid)
        before = handle_count()
        for _ in range(50):
            assert len(th.modules(process.pid)) > 1
        assert handle_count() == before


def test_handle_is_inherited_only_when_asked():
    library = kernel32()
    library.GetHandleInformation.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint32)]
    for flags, expected in ((2, 0), (2 | raw.TH32CS_INHERIT, 1)):
        flags_of = ctypes.c_uint32()
        with raw.CreateToolhelp32Snapshot(flags) as snapshot:
            assert library.GetHandleInformation(snapshot.handle, ctypes.byref(flags_of))
        assert flags_of.value & 1 == expected


# ----- PIDs -----


def test_pids_that_cannot_be_asked(capfd):
    with pytest.raises(th.ProcessNotFound) as caught:
        th.modules(0)
    assert (caught.value.winerror, caught.value.pid) == (87, 0)
    with pytest.raises(th.ToolhelpError) as caught:
        th.modules(4)
    assert caught.value.winerror in (5, 87, 299)
    with pytest.raises(th.ProcessNotFound) as caught:
        th.modules(0xFFFFFFFC)
    assert (caught.value.winerror, caught.value.function) == (87, CREATE)


def test_exited_process():
    with child() as process:
        pid = process.pid
        assert len(modules_once_there(pid)) > 0
        process.stdin.close()
        process.wait()
        with pytest.raises(th.ToolhelpError) as caught:  # its handle is still open in `process`
            th.modules(pid)
        assert isinstance(caught.value, th.ProcessNotFound | th.PartialCopy)
    del process
    assert forgotten({pid})
    with pytest.raises(th.ProcessNotFound) as caught:
        th.modules(pid)
    assert caught.value.pid == pid
    with pytest.raises(th.ProcessNotFound) as caught:
        th.threads(pid)
    assert (caught.value.winerror, caught.value.pid) == (87, pid)


# ----- names and paths -----


@pytest.mark.parametrize("name", ["한글-é-\U0001f600.exe", "a\ud800b.exe"], ids=["pair", "lone"])
def test_names_of_programs(tmp_path, name):
    if not PLAIN_WALK.exists():
        pytest.skip("no program that runs from anywhere is built here")
    target = tmp_path / name
    with contextlib.ExitStack() as stack:
        try:
            shutil.copyfile(PLAIN_WALK, target)
            process = stack.enter_context(child(str(target)))
        except (OSError, UnicodeError) as refusal:
            pytest.skip(f"this system takes no such name: {refusal!r}")
        (row,) = [row for row in th.processes() if row.pid == process.pid]
        assert row.name == name
        assert modules_once_there(process.pid)[0].name == name
        process.stdin.close()
        process.wait()


def test_dll_on_a_long_path(tmp_path):
    """300 characters and more: the row is there, with its whole path."""
    folder = "\\\\?\\" + str(tmp_path)
    while len(folder) < 300:
        folder += "\\" + "folder" * 8
        os.mkdir(folder)
    path = folder + "\\long_path_test.dll"
    source = Path(sys.base_prefix, "DLLs", "_queue.pyd")
    shutil.copyfile(source, path)
    library = kernel32()
    library.LoadLibraryExW.restype = ctypes.c_void_p
    library.LoadLibraryExW.argtypes = [ctypes.c_wchar_p, ctypes.c_void_p, ctypes.c_uint32]
    library.FreeLibrary.argtypes = [ctypes.c_void_p]
    handle = library.LoadLibraryExW(path, None, 0)
    if not handle:
        pytest.skip(f"the DLL cannot be loaded from there: {ctypes.get_last_error()}")
    try:
        (row,) = [row for row in th.modules() if row.base == handle]
        assert (row.path_truncated, row.path) == (False, path.removeprefix("\\\\?\\"))
        assert row.name == "long_path_test.dll"
    finally:
        library.FreeLibrary(handle)


@pytest.mark.needs("windows")
def test_modules_while_dlls_come_and_go():
    """Not under Wine, which walks the loader's list without its lock: half rows, endless walks."""
    library = kernel32()
    library.LoadLibraryW.restype = ctypes.c_void_p
    library.FreeLibrary.argtypes = [ctypes.c_void_p]
    stop = threading.Event()

    def load():
        while not stop.is_set():
            library.FreeLibrary(library.LoadLibraryW("winmm.dll"))

    worker = threading.Thread(target=load)
    worker.start()
    try:
        for _ in range(1000):
            for row in th.modules():
                assert row.pid == os.getpid()
                assert row.size > 0
                assert row.path.lower().endswith(row.name.lower())
    finally:
        stop.set()
        worker.join()


# ----- other processes -----


@pytest.mark.needs("windows")
@pytest.mark.skipif(struct.calcsize("P") == 4, reason="for a 64-bit Python")
def test_32_bit_process():
    system = Path(os.environ["SYSTEMROOT"])
    with child(str(system / "SysWOW64" / "cmd.exe")) as process:
        until = time.monotonic() + 30
        while len(names := [r.name.lower() for r in modules_once_there(process.pid)]) < 5:
            assert time.monotonic() < until
        table = th.modules(process.pid)
        assert names.count("ntdll.dll") == 2
        found = [row for row in table if row.name.lower() == "ntdll.dll"]
        assert found[0].base != found[1].base
        assert {row.machine for row in found} == {"x86", table[1].machine} or len(
            {row.machine for row in found}
        ) == 2
        (kernel,) = [row for row in table if row.name.lower() == "kernel32.dll"]
        assert kernel.machine == "x86"


@pytest.mark.needs("windows")
@pytest.mark.skipif(struct.calcsize("P") == 8, reason="for a 32-bit Python")
def test_64_bit_process_from_32_bits():
    system = Path(os.environ["SYSTEMROOT"])
    with (
        child(str(system / "Sysnative" / "cmd.exe")) as process,
        pytest.raises(th.PartialCopy, match="32-bit Python") as caught,
    ):
        th.modules(process.pid)
    assert caught.value.reason == "bitness"


def test_suspended_process():
    """A process that never ran has no modules to list: an error that says so, in bounded time."""
    with child(creationflags=CREATE_SUSPENDED) as process:
        began = time.monotonic()
        try:
            table = th.modules(process.pid)
        except th.PartialCopy as partial:
            assert partial.reason == "starting"  # noqa: PT017
            assert partial.attempts > 1  # noqa: PT017
        except th.ToolhelpError as error:
            assert WINE
            assert error.winerror == 998  # noqa: PT017
        else:
            # Wine's loader and some Windows builds have put the first modules there by then.
            assert len(table) >= 1
        assert time.monotonic() - began < 5
        resume = ctypes.WinDLL("ntdll").NtResumeProcess
        resume.argtypes = [ctypes.c_void_p]
        assert resume(int(process._handle)) == 0
        until = time.monotonic() + 30
        while "kernel32.dll" not in [r.name.lower() for r in modules_once_there(process.pid)]:
            assert time.monotonic() < until


# ----- what Wine lacks -----


@pytest.mark.needs("wine")
def test_heap_lists_are_not_entered_under_wine():
    with raw.CreateToolhelp32Snapshot(raw.TH32CS_SNAPPROCESS) as snapshot:
        for call in (raw.Heap32ListFirst, raw.Heap32ListNext):
            with pytest.raises(th.UnsupportedPlatform, match="Wine"):
                call(snapshot)
