"""The raw calls: one to one, C names, handles that close."""

from __future__ import annotations

import pickle
import threading

import pytest

import toolhelp as th
from toolhelp import raw

OWN = 4242
CREATE = "CreateToolhelp32Snapshot"

fake_only = pytest.mark.needs("fake")


def test_constants_are_those_of_tlhelp32():
    assert {flag.name: flag.value for flag in raw.TH32CS} == {
        "SNAPHEAPLIST": 1, "SNAPPROCESS": 2, "SNAPTHREAD": 4, "SNAPMODULE": 8, "SNAPMODULE32": 16,
        "INHERIT": 0x80000000,
    }  # fmt: skip
    assert raw.TH32CS_SNAPALL == 15
    assert not raw.TH32CS_SNAPALL & raw.TH32CS_SNAPMODULE32
    assert (raw.HF32_DEFAULT, raw.HF32_SHARED) == (1, 2)
    assert raw.TH32CS_INHERIT | raw.TH32CS_SNAPPROCESS == 0x80000002
    for name in raw.__all__:
        assert hasattr(raw, name)


def test_fields_are_those_of_tlhelp32():
    def fields(kind):
        return list(kind.__match_args__)

    assert fields(raw.PROCESSENTRY32W) == [
        "dwSize", "cntUsage", "th32ProcessID", "th32DefaultHeapID", "th32ModuleID", "cntThreads",
        "th32ParentProcessID", "pcPriClassBase", "dwFlags", "szExeFile",
    ]  # fmt: skip
    assert fields(raw.THREADENTRY32) == [
        "dwSize", "cntUsage", "th32ThreadID", "th32OwnerProcessID", "tpBasePri", "tpDeltaPri",
        "dwFlags",
    ]  # fmt: skip
    assert fields(raw.MODULEENTRY32W) == [
        "dwSize", "th32ModuleID", "th32ProcessID", "GlblcntUsage", "ProccntUsage", "modBaseAddr",
        "modBaseSize", "hModule", "szModule", "szExePath",
    ]  # fmt: skip
    assert fields(raw.HEAPLIST32) == ["dwSize", "th32ProcessID", "th32HeapID", "dwFlags"]


@pytest.fixture
def machine(fake):
    fake.fake_process(4, 0, "System", threads=[8, 12])
    fake.fake_process(OWN, 4, "python.exe", threads=[100])
    fake.fake_module(OWN, 0x10000, 1, "a.dll", "C:\\a.dll")
    fake.fake_module(OWN, 0x20000, 2, "b" * 300, "C:\\" + "b" * 300)
    fake.fake_heap(OWN, 0x1000, 1)
    fake.fake_heap(OWN, 0x2000)
    return fake


@fake_only
def test_walks(machine):
    with raw.CreateToolhelp32Snapshot(raw.TH32CS_SNAPALL) as snapshot:
        assert [tuple(row) for row in raw.processes(snapshot)] == [
            (568, 0, 4, 0, 0, 2, 0, 8, 0, "System"),
            (568, 0, OWN, 0, 0, 1, 4, 8, 0, "python.exe"),
        ]
        assert [tuple(row) for row in raw.threads(snapshot)] == [
            (28, 0, 8, 4, 8, 0, 0), (28, 0, 12, 4, 8, 0, 0), (28, 0, 100, OWN, 8, 0, 0),
        ]  # fmt: skip
        assert [tuple(row) for row in raw.modules(snapshot)] == [
            (1080, 1, OWN, 0xFFFF, 0xFFFF, 0x10000, 1, 0x10000, "a.dll", "C:\\a.dll"),
            (1080, 1, OWN, 0xFFFF, 0xFFFF, 0x20000, 2, 0x20000, "b" * 255,
             ("C:\\" + "b" * 300)[:259]),
        ]  # fmt: skip
        assert [tuple(row) for row in raw.heap_lists(snapshot)] == [
            (32, OWN, 0x1000, 1), (32, OWN, 0x2000, 0),
        ]  # fmt: skip
        # Every walk starts anew.
        assert len(list(raw.processes(snapshot))) == 2


@fake_only
def test_first_and_next(machine):
    snapshot = raw.CreateToolhelp32Snapshot(raw.TH32CS_SNAPPROCESS)
    assert raw.Process32First(snapshot).th32ProcessID == 4
    assert raw.Process32Next(snapshot).th32ProcessID == OWN
    assert raw.Process32Next(snapshot) is None
    assert raw.Process32Next(snapshot) is None
    assert raw.Process32First(snapshot).th32ProcessID == 4
    # What the snapshot was not asked for is an empty list, not an error.
    assert raw.Thread32First(snapshot) is None
    assert raw.Module32First(snapshot) is None
    assert raw.Heap32ListFirst(snapshot) is None
    raw.CloseHandle(snapshot)
    raw.CloseHandle(snapshot)
    assert machine.fake_calls()["CloseHandle"] == 1


@fake_only
def test_closed_snapshot(machine):
    snapshot = raw.CreateToolhelp32Snapshot(raw.TH32CS_SNAPALL)
    assert (snapshot.closed, snapshot.handle > 0) == (False, True)
    with snapshot as same:
        assert same is snapshot
    assert snapshot.closed
    calls = machine.fake_calls()
    for name in ("Process32First", "Process32Next", "Thread32First", "Thread32Next",
                 "Module32First", "Module32Next", "Heap32ListFirst", "Heap32ListNext"):  # fmt: skip
        with pytest.raises(ValueError, match="closed"):
            getattr(raw, name)(snapshot)
    with pytest.raises(ValueError, match="closed"):
        snapshot.handle  # noqa: B018
    assert machine.fake_calls() == calls


@fake_only
def test_forgotten_snapshot_is_closed_and_told(machine):
    snapshot = raw.CreateToolhelp32Snapshot(raw.TH32CS_SNAPPROCESS)
    assert machine.fake_handles() == 1
    with pytest.warns(ResourceWarning, match=f"unclosed snapshot handle {snapshot.handle:#x}"):
        del snapshot
    assert machine.fake_handles() == 0


@fake_only
def test_iteration_that_stops_half_way(machine):
    with raw.CreateToolhelp32Snapshot(raw.TH32CS_SNAPPROCESS) as snapshot:
        next(raw.processes(snapshot))
    assert machine.fake_handles() == 0


@fake_only
def test_exception_in_the_block_closes(machine):
    with pytest.raises(KeyError), raw.CreateToolhelp32Snapshot(raw.TH32CS_SNAPPROCESS):
        raise KeyError
    assert machine.fake_handles() == 0


@fake_only
@pytest.mark.parametrize(
    ("code", "kind"),
    [(5, th.AccessDenied), (24, th.SnapshotRace), (87, th.ProcessNotFound), (299, th.PartialCopy),
     (18, th.ToolhelpError), (120, th.UnsupportedPlatform), (8, th.ToolhelpError)],
)  # fmt: skip
def test_create_is_called_once(machine, code, kind):
    machine.fake_fail(CREATE, code=code, persist=True)
    with pytest.raises(th.ToolhelpError) as caught:
        raw.CreateToolhelp32Snapshot(raw.TH32CS_SNAPMODULE, 900)
    assert type(caught.value) is kind
    assert (caught.value.winerror, caught.value.function, caught.value.pid) == (code, CREATE, 900)
    assert machine.fake_calls() == {CREATE: 1}
    assert not isinstance(caught.value, FileNotFoundError)


@fake_only
def test_failing_close_is_told(machine):
    snapshot = raw.CreateToolhelp32Snapshot(raw.TH32CS_SNAPPROCESS)
    machine.fake_fail("CloseHandle", code=6)
    with pytest.raises(th.ToolhelpError) as caught:
        snapshot.close()
    assert (caught.value.winerror, caught.value.function) == (6, "CloseHandle")
    assert snapshot.closed
    snapshot.close()


@fake_only
def test_failing_close_does_not_hide_what_came_before(machine):
    machine.fake_fail("CloseHandle", code=6)
    machine.fake_fail("Process32NextW", code=8)
    with pytest.raises(th.ToolhelpError) as caught, raw.CreateToolhelp32Snapshot(2) as snapshot:
        list(raw.processes(snapshot))
    assert caught.value.function == "Process32NextW"


@fake_only
def test_heap_lists_are_not_entered_under_wine(machine):
    machine.fake_system(wine=True)
    with raw.CreateToolhelp32Snapshot(raw.TH32CS_SNAPHEAPLIST) as snapshot:
        for call in (raw.Heap32ListFirst, raw.Heap32ListNext):
            with pytest.raises(th.UnsupportedPlatform, match="Wine does not implement it"):
                call(snapshot)
    assert not any(name.startswith("Heap32") for name in machine.fake_calls())


@pytest.mark.needs("core")
@pytest.mark.parametrize(
    ("flags", "pid", "kind"),
    [(-1, 0, ValueError), (2**32, 0, ValueError), (2, -1, ValueError), (2, 2**32, ValueError),
     ("2", 0, TypeError), (2.0, 0, TypeError), (2, None, TypeError)],
)  # fmt: skip
def test_arguments(flags, pid, kind):
    with pytest.raises(kind):
        raw.CreateToolhelp32Snapshot(flags, pid)


@fake_only
def test_handles_do_not_pickle(machine):
    with (
        raw.CreateToolhelp32Snapshot(2) as snapshot,
        pytest.raises(TypeError, match="cannot pickle"),
    ):
        pickle.dumps(snapshot)


@fake_only
def test_one_snapshot_from_several_threads(fake):
    """Each Next gives another row, to whichever thread; closing ends them all."""
    for pid in range(1, 2001):
        fake.fake_process(pid, 0, "p")
    with raw.CreateToolhelp32Snapshot(raw.TH32CS_SNAPPROCESS) as snapshot:
        seen = [snapshot.Process32First().th32ProcessID]

        def body():
            while row := snapshot.Process32Next():
                seen.append(row.th32ProcessID)

        threads = [threading.Thread(target=body) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(seen) == list(range(1, 2001))
