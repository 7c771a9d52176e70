"""Snapshots over the fake system: what is listed, and how failures are told."""

from __future__ import annotations

import datetime

import pytest

import toolhelp as th

pytestmark = pytest.mark.needs("fake")

CREATE = "CreateToolhelp32Snapshot"
DEADLINE_NS = 250_000_000
OWN = 4242
X86, X64, ARM64 = 0x014C, 0x8664, 0xAA64
LONG = "C:\\" + "folder\\" * 50 + "long.dll"


@pytest.fixture
def machine(fake):
    """Three processes, of which the caller is one."""
    fake.fake_process(4, 0, "System", threads=[8, 12], base_priority=8, open_error=5)
    fake.fake_process(OWN, 4, "python.exe", threads=[100, 104, 108], base_priority=13)
    fake.fake_process(900, OWN, "child.exe", threads=[904])
    fake.fake_module(OWN, 0x7FF700000000, 0x18000, "python.exe", "C:\\Python\\python.exe")
    fake.fake_module(OWN, 0x7FFA20000000, 0x1F8000, "ntdll.dll", "C:\\Windows\\ntdll.dll")
    fake.fake_module(900, 0x400000, 0x1000, "child.exe", "C:\\child.exe")
    return fake


# ----- what is listed -----


def test_processes(machine):
    table = th.processes()
    assert table.columns == ("pid", "ppid", "name", "num_threads", "base_priority")
    assert [tuple(row) for row in table] == [
        (4, 0, "System", 2, 8),
        (OWN, 4, "python.exe", 3, 13),
        (900, OWN, "child.exe", 1, 8),
    ]
    assert machine.fake_calls() == {
        CREATE: 1, "Process32FirstW": 1, "Process32NextW": 3, "CloseHandle": 1,
    }  # fmt: skip


def test_threads(machine):
    machine.fake_thread(905, 900, base_priority=-1)
    assert [tuple(row) for row in th.threads()] == [
        (8, 4, 8), (12, 4, 8), (100, OWN, 13), (104, OWN, 13), (108, OWN, 13), (904, 900, 8),
        (905, 900, -1),
    ]  # fmt: skip


def test_threads_of_one_process(machine):
    assert [row.tid for row in th.threads(OWN)] == [100, 104, 108]
    machine.fake_process(77, 4, "no threads")
    assert len(th.threads(77)) == 0


def test_modules(machine):
    own = [tuple(row) for row in th.modules()]
    assert own == [
        (OWN, 0x7FF700000000, 0x18000, "python.exe", "C:\\Python\\python.exe", False, "x64"),
        (OWN, 0x7FFA20000000, 0x1F8000, "ntdll.dll", "C:\\Windows\\ntdll.dll", False, "x64"),
    ]
    assert [tuple(row) for row in th.modules(OWN)] == own
    assert [row.name for row in th.modules(900)] == ["child.exe"]


def test_snapshot_takes_processes_and_threads_at_once(machine):
    def hook(name):
        if name == "Process32FirstW":
            machine.fake_process(1000, 4, "late.exe", threads=[1001])
            machine.fake_remove(4)

    machine.fake_hook(hook)
    seen = th.snapshot()
    assert machine.fake_calls()[CREATE] == 1
    assert seen.processes["pid"][:].to_numpy().tolist() == [4, OWN, 900]
    assert {row.owner_pid for row in seen.threads} == {4, OWN, 900}
    for process in seen.processes:
        rows = [row for row in seen.threads if row.owner_pid == process.pid]
        assert len(rows) == process.num_threads
    assert seen.modules is None
    assert seen.taken_at.tzinfo is datetime.UTC


def test_snapshot_with_modules(machine):
    assert [row.name for row in th.snapshot(modules=True).modules] == [
        "python.exe",
        "ntdll.dll",
        "child.exe",
    ]


def test_empty_lists_of_a_working_system(fake):
    assert (len(th.processes()), len(th.threads())) == (0, 0)


def test_many_rows_grow_the_table(fake):
    for pid in range(1, 1501):
        fake.fake_process(pid, pid - 1, f"p{pid % 7}.exe", threads=range(10 * pid, 10 * pid + 8))
    processes, threads = th.processes(), th.threads()
    assert processes["pid"].to_numpy().tolist() == list(range(1, 1501))
    assert [row.name for row in processes][-1] == "p2.exe"
    assert len(processes["name"].dictionary) == 7
    assert len(threads) == 12000
    assert tuple(threads[11999]) == (15007, 1500, 8)


@pytest.mark.parametrize(
    "name", ["", "한글-é-\U0001f600.exe", "a\ud800b", "\udc00\udbff", "n" * 259]
)
def test_names_are_kept_as_they_are(fake, name):
    fake.fake_process(1, 0, name)
    assert th.processes()[0].name == name
    with th.raw.CreateToolhelp32Snapshot(th.raw.TH32CS_SNAPPROCESS) as snapshot:
        assert snapshot.Process32First().szExeFile == name


def test_text_after_the_zero_is_not_read(fake):
    fake.fake_process(1, 0, "a-long-name.exe")
    fake.fake_process(2, 0, "b")
    assert [row.name for row in th.processes()] == ["a-long-name.exe", "b"]


def test_numbers_at_their_limits(fake):
    fake.fake_process(0xFFFFFFFC, 0xFFFFFFFF, "x", num_threads=0xFFFFFFFF, base_priority=-(2**31))
    assert tuple(th.processes()[0]) == (0xFFFFFFFC, 0xFFFFFFFF, "x", 0xFFFFFFFF, -(2**31))
    fake.fake_process(OWN, 0, "me")
    fake.fake_module(OWN, 2**64 - 4096, 2**32 - 1, "m", "m")
    assert tuple(th.modules()[0])[1:3] == (2**64 - 4096, 2**32 - 1)


# ----- PIDs -----


def test_pid_0_never_means_us(machine):
    with pytest.raises(th.ProcessNotFound) as caught:
        th.modules(0)
    assert (caught.value.pid, caught.value.winerror) == (0, 87)
    assert CREATE not in machine.fake_calls()
    with pytest.raises(th.ProcessNotFound):
        th.threads(0)
    machine.fake_process(0, 0, "[System Process]", threads=[0, 0])
    assert [row.owner_pid for row in th.threads(0)] == [0, 0]


def test_pid_0_means_the_caller_in_raw(machine):
    with th.raw.CreateToolhelp32Snapshot(th.raw.TH32CS_SNAPMODULE) as snapshot:
        assert [row.th32ProcessID for row in th.raw.modules(snapshot)] == [OWN, OWN]


@pytest.mark.parametrize("call", [th.modules, th.threads])
def test_no_such_process(machine, call):
    with pytest.raises(th.ProcessNotFound) as caught:
        call(0xFFFFFFFC)
    error = caught.value
    assert isinstance(error, ProcessLookupError)
    assert (error.winerror, error.pid, error.function) == (87, 0xFFFFFFFC, CREATE)
    assert "4294967292" in str(error)


def test_protected_process(machine):
    with pytest.raises(th.AccessDenied) as caught:
        th.modules(4)
    assert isinstance(caught.value, PermissionError)
    assert (caught.value.winerror, caught.value.pid, caught.value.attempts) == (5, 4, 1)


@pytest.mark.parametrize("pid", [-1, 2**32, 2**64])
def test_pids_out_of_range(machine, pid):
    for call in (th.modules, th.threads):
        with pytest.raises(ValueError, match=r"pid must be from 0 to 2\*\*"):
            call(pid)


@pytest.mark.parametrize("pid", ["4", 4.0, b"4"])
def test_pids_of_the_wrong_type(machine, pid):
    for call in (th.modules, th.threads):
        with pytest.raises(TypeError):
            call(pid)


# ----- a list that changes: code 24 -----


def test_endless_24_ends_at_its_deadline(machine):
    machine.fake_fail(CREATE, code=24, persist=True)
    for call in (th.processes, th.threads, th.snapshot, th.modules, lambda: th.modules(900)):
        began, before = machine.fake_clock_now(), machine.fake_calls().get(CREATE, 0)
        with pytest.raises(th.SnapshotRace) as caught:
            call()
        assert machine.fake_clock_now() - began == DEADLINE_NS
        attempts = machine.fake_calls()[CREATE] - before
        assert 2 < attempts <= 64
        error = caught.value
        assert (error.attempts, error.winerror, error.function) == (attempts, 24, CREATE)
        assert f"after {attempts} attempts" in str(error)
        assert not isinstance(error, PermissionError)


def test_endless_24_ends_by_count_when_the_clock_stands(machine):
    """Calls that take no time and a clock that is set back by the hook: still bounded."""
    machine.fake_fail(CREATE, code=24, persist=True)
    machine.fake_hook(lambda name: machine.fake_clock_advance(2**64 - 16_000_000))
    with pytest.raises(th.SnapshotRace) as caught:
        th.processes()
    assert caught.value.attempts == machine.fake_calls()[CREATE] <= 64


@pytest.mark.parametrize("times", [1, 2, 10, 18])
def test_24_for_a_while(machine, times):
    machine.fake_fail(CREATE, code=24, times=times)
    assert len(th.processes()) == 3
    assert machine.fake_calls()[CREATE] == times + 1
    assert machine.fake_sleeps() == times


@pytest.mark.parametrize(
    ("function", "call"),
    [
        ("Process32FirstW", th.processes),
        ("Process32NextW", th.processes),
        ("Thread32First", th.threads),
        ("Thread32Next", th.threads),
        ("Module32FirstW", th.modules),
        ("Module32NextW", th.modules),
    ],
)
def test_24_of_first_and_next_is_not_tried_again(machine, function, call):
    machine.fake_fail(function, code=24)
    with pytest.raises(th.ToolhelpError) as caught:
        call()
    assert type(caught.value) is th.ToolhelpError
    assert (caught.value.winerror, caught.value.function) == (24, function)
    assert machine.fake_calls()[function] == 1
    assert machine.fake_sleeps() == 0


def test_slow_calls_count_for_the_deadline(machine):
    machine.fake_fail(CREATE, code=24, persist=True)
    machine.fake_hook(lambda name: machine.fake_clock_advance(200_000_000))
    with pytest.raises(th.SnapshotRace) as caught:
        th.processes()
    assert caught.value.attempts == 2


# ----- a list that cannot be read whole: code 299 -----


def partial(call) -> th.PartialCopy:
    with pytest.raises(th.PartialCopy) as caught:
        call()
    assert (caught.value.winerror, caught.value.function) == (299, CREATE)
    return caught.value


def test_299_of_a_process_that_never_gets_ready(machine):
    machine.fake_process(7, 4, "stuck.exe", loader_ready=False)
    began = machine.fake_clock_now()
    error = partial(lambda: th.modules(7))
    assert (error.reason, error.pid) == ("starting", 7)
    assert error.attempts == machine.fake_calls()[CREATE] > 2
    assert machine.fake_clock_now() - began == DEADLINE_NS
    assert "not loaded its modules yet" in str(error)


def test_299_of_a_process_that_gets_ready(machine):
    machine.fake_process(7, 4, "new.exe", loader_ready=False)
    machine.fake_module(7, 0x10000, 1, "new.exe", "C:\\new.exe")

    def hook(name):
        if name == CREATE and machine.fake_calls().get(CREATE, 0) == 3:
            machine.fake_change(7, loader_ready=True)

    machine.fake_hook(hook)
    assert [row.name for row in th.modules(7)] == ["new.exe"]
    assert machine.fake_calls()[CREATE] == 4


@pytest.mark.parametrize(
    ("change", "reason"), [({"loader_ready": False}, "starting"), ({"exit_code": 1}, "exiting")]
)
def test_an_empty_list_of_what_starts_or_exits_is_no_list(machine, change, reason):
    """Wine gives such a list for a moment."""
    machine.fake_process(7, 4, "passing.exe")
    assert len(th.modules(7)) == 0  # nothing says that it should be otherwise
    machine.fake_hook(lambda name: name == "Module32FirstW" and machine.fake_change(7, **change))
    with pytest.raises(th.PartialCopy) as caught:
        th.modules(7)
    error = caught.value
    assert (error.reason, error.pid, error.attempts) == (reason, 7, 1)
    assert (error.winerror, error.function) == (18, "Module32FirstW")
    machine.fake_hook(None)
    machine.fake_change(7, loader_ready=True, exit_code=259)
    machine.fake_hook(lambda name: name == "Module32FirstW" and machine.fake_change(7, **change))
    seen = th.snapshot(modules=True, pids=[7])
    assert [tuple(row) for row in seen.errors] == [(7, "Module32FirstW", 18, reason, 1)]
    assert len(seen.modules) == 0


def test_299_of_a_process_that_exits(machine):
    machine.fake_process(7, 4, "gone.exe", exit_code=0)
    error = partial(lambda: th.modules(7))
    assert (error.reason, error.pid, error.attempts) == ("exiting", 7, 1)
    assert machine.fake_sleeps() == 0


def test_299_for_no_reason_that_shows(machine):
    machine.fake_fail(CREATE, code=299, pid=900, persist=True)
    error = partial(lambda: th.modules(900))
    assert (error.reason, error.pid, error.attempts) == ("unknown", 900, 1)


def test_299_of_a_process_that_may_not_be_asked(machine):
    machine.fake_process(7, 4, "stuck.exe", loader_ready=False)
    machine.fake_fail("OpenProcess", code=5, persist=True)
    assert partial(lambda: th.modules(7)).reason == "unknown"
    machine.fake_reset()


def test_299_with_limited_rights(machine):
    """The exit code may still be asked for when memory may not be read."""
    machine.fake_process(7, 4, "gone.exe", exit_code=1)
    machine.fake_fail("OpenProcess", code=5, times=1)
    assert partial(lambda: th.modules(7)).reason == "exiting"
    machine.fake_process(8, 4, "stuck.exe", loader_ready=False)
    machine.fake_fail("OpenProcess", code=5, times=1)
    assert partial(lambda: th.modules(8)).reason == "unknown"


def test_299_of_a_system_snapshot(machine):
    machine.fake_fail(CREATE, code=299, persist=True)
    error = partial(th.processes)
    assert (error.pid, error.reason) == (None, "unknown")


# ----- modules -----


def test_modules_of_a_32_bit_process(fake):
    fake.fake_process(6, 0, "cmd.exe", machine=X86)
    fake.fake_module(6, 0x400000, 1, "cmd.exe", "C:\\Windows\\SysWOW64\\cmd.exe")
    fake.fake_module(6, 0x7FFA20000000, 2, "ntdll.dll", "C:\\Windows\\System32\\ntdll.dll")
    fake.fake_module(6, 0x77000000, 3, "ntdll.dll", "C:\\Windows\\SysWOW64\\ntdll.dll")
    assert [(row.base, row.machine) for row in th.modules(6)] == [
        (0x400000, "x86"), (0x7FFA20000000, "x64"), (0x77000000, "x86"),
    ]  # fmt: skip
    assert [row.base for row in th.modules(6) if row.name == "ntdll.dll"] == [
        0x7FFA20000000, 0x77000000,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("machine_of", "native", "label"),
    [(0, X64, "x64"), (0, ARM64, "arm64"), (0, X86, "x86"), (0x01C4, ARM64, "arm"),
     (0, 0x5064, "other")],
)  # fmt: skip
def test_machine(fake, machine_of, native, label):
    fake.fake_system(native=native)
    fake.fake_process(6, 0, "a.exe", machine=machine_of)
    fake.fake_module(6, 0x400000, 1, "a.exe", "C:\\a.exe")
    assert th.modules(6)[0].machine == label


def test_machine_of_a_process_that_may_not_be_opened(machine):
    machine.fake_fail("OpenProcess", code=5, persist=True)
    table = th.modules(900)
    assert (table[0].name, table[0].machine) == ("child.exe", None)
    assert list(table["machine"].valid) == [False]


def test_long_path_is_asked_for_again(machine):
    machine.fake_module(900, 0x10000, 1, "long.dll", LONG)
    row = th.modules(900)[1]
    assert (row.path, row.path_truncated) == (LONG, False)
    assert machine.fake_calls()["GetModuleFileNameExW"] == 1


@pytest.mark.parametrize("units", [258, 259, 260, 518, 519, 520, 521, 1039, 1040, 5000, 32767])
def test_paths_of_every_length(machine, units):
    path = "C:\\" + "p" * (units - 3)
    machine.fake_module(900, 0x10000, 1, "p.dll", path)
    row = th.modules(900)[1]
    assert (len(row.path), row.path == path, row.path_truncated) == (units, True, False)


def test_path_beyond_the_ceiling_is_flagged(machine):
    machine.fake_module(900, 0x10000, 1, "p.dll", "C:\\" + "p" * 40000)
    row = th.modules(900)[1]
    assert (len(row.path), row.path_truncated) == (259, True)


@pytest.mark.parametrize("function", ["OpenProcess", "GetModuleFileNameExW"])
def test_long_path_that_cannot_be_asked_for_is_flagged(machine, function):
    machine.fake_module(900, 0x10000, 1, "long.dll", LONG)
    machine.fake_fail(function, code=5, persist=True)
    first, second = th.modules(900)
    assert (second.path, second.path_truncated) == (LONG[:259], True)
    assert (first.path, first.path_truncated) == ("C:\\child.exe", False)


def test_long_path_with_prefix(machine):
    machine.fake_module(900, 0x10000, 1, "long.dll", "\\\\?\\" + LONG)
    assert th.modules(900)[1].path == LONG


def test_long_path_of_our_own(machine):
    machine.fake_module(OWN, 0x10000, 1, "long.dll", LONG)
    assert th.modules()[2].path == LONG
    assert "OpenProcess" not in machine.fake_calls()


def test_long_name_comes_from_the_path(machine):
    name = "n" * 300 + ".dll"
    machine.fake_module(900, 0x10000, 1, name, "C:\\dir\\" + name)
    row = th.modules(900)[1]
    assert (row.name, row.path, row.path_truncated) == (name, "C:\\dir\\" + name, False)


def test_cut_name_without_its_path_is_flagged(machine):
    name = "n" * 300 + ".dll"
    machine.fake_module(900, 0x10000, 1, name, "C:\\" + name)
    machine.fake_fail("GetModuleFileNameExW", code=5)
    row = th.modules(900)[1]
    assert (row.name, row.path_truncated) == (name[:255], True)


def test_module_that_goes_while_it_is_asked_for(machine):
    machine.fake_module(900, 0x10000, 1, "long.dll", LONG)

    def hook(name):
        if name == "GetModuleFileNameExW":
            machine.fake_remove(900)
            machine.fake_process(900, 4, "another.exe")

    machine.fake_hook(hook)
    row = th.modules(900)[1]
    assert (row.path, row.path_truncated) == (LONG[:259], True)
