"""Scans of all processes over the scripted system: order, errors as data, races, who uses what."""

from __future__ import annotations

import pytest

import toolhelp as th

pytestmark = pytest.mark.needs("fake")

SECOND = 10_000_000  # in 100 ns
START = 133_000_000_000_000_000


def machine(fake, count=20, modules=5):
    """Processes 100, 104 ... each with modules of shared and of own names."""
    fake.fake_system(pid=100)
    for i in range(count):
        pid = 100 + 4 * i
        fake.fake_process(
            pid,
            ppid=100 if i else 0,
            name=f"app{i}.exe",
            threads=[pid + 1, pid + 2],
            create_time=START + i * SECOND,
            path=f"C:\\apps\\app{i}.exe",
        )
        for j in range(modules):
            own = j == modules - 1
            name = f"own{i}.dll" if own else f"Shared{j}.DLL"
            fake.fake_module(pid, 0x10000 * (j + 1), 0x1000, name, f"C:\\dlls\\{name}")


def test_modules_of_all_processes_in_the_order_of_processes(fake):
    machine(fake)
    s = th.snapshot(modules=True)
    assert list(s.processes["pid"]) == [100 + 4 * i for i in range(20)]
    assert len(s.threads) == 40
    assert list(s.modules["pid"]) == [100 + 4 * i for i in range(20) for _ in range(5)]
    assert [m.name for m in s.modules if m.pid == 108] == [
        *(f"Shared{j}.DLL" for j in range(4)),
        "own2.dll",
    ]
    assert s.modules[0].path == "C:\\dlls\\Shared0.DLL"
    assert s.heaps is None
    assert s.heap_sizes is None
    assert list(s.errors) == []


def test_the_number_of_workers_changes_nothing(fake):
    machine(fake, 50, 7)
    fake.fake_change(120, open_error=5)
    fake.fake_change(160, exit_code=1)
    results = [
        fake.scan(True, True, False, True, None, False, 10**9, workers, False)
        for workers in (1, 2, 16)
    ]
    assert results[0] == results[1] == results[2]
    assert len(results[0][2]) == 48 * 7


def test_one_create_per_snapshot(fake):
    machine(fake)
    th.snapshot(modules=True)
    calls = fake.fake_calls()
    assert calls["CreateToolhelp32Snapshot"] == 1 + 20
    assert calls["Module32FirstW"] == 20
    assert calls["Module32NextW"] == 100
    # One handle per process for its machine; the caller has a constant.
    assert calls["OpenProcess"] == calls["IsWow64Process2"] - 1 == 19


def test_rows_and_errors_account_for_every_process(fake):
    machine(fake)
    fake.fake_process(0, name="[System Process]")
    fake.fake_process(4, name="System", open_error=5)
    fake.fake_change(112, open_error=5)
    fake.fake_change(116, exit_code=3)
    fake.fake_fail("CreateToolhelp32Snapshot", code=24, pid=124, persist=True)
    s = th.snapshot(modules=True)
    errors = {e.pid: (e.winerror, e.reason) for e in s.errors}
    assert errors == {
        0: (87, "gone"),
        4: (5, "denied"),
        112: (5, "denied"),
        116: (299, "exiting"),
        124: (24, "race"),
    }
    assert set(s.modules["pid"]) | errors.keys() == set(s.processes["pid"])
    assert not set(s.modules["pid"]) & errors.keys()
    assert {e.function for e in s.errors} == {"CreateToolhelp32Snapshot"}
    (race,) = [e for e in s.errors if e.pid == 124]
    assert race.attempts > 5


def test_pid_0_never_gives_our_own_modules(fake):
    machine(fake)
    fake.fake_process(0, name="[System Process]")
    s = th.snapshot(modules=True, pids=[0])
    assert len(s.modules) == 0
    assert [(e.pid, e.winerror) for e in s.errors] == [(0, 87)]
    assert fake.fake_calls()["CreateToolhelp32Snapshot"] == 1


def test_a_process_that_vanishes_during_the_scan_is_an_error_row(fake):
    machine(fake)
    seen = []

    def vanish(name):
        if name == "Module32FirstW" and not seen:
            seen.append(name)
            fake.fake_remove(176)

    fake.fake_hook(vanish)
    s = th.snapshot(modules=True)
    assert 176 in set(s.processes["pid"])
    assert [(e.pid, e.winerror, e.reason) for e in s.errors] == [(176, 87, "gone")]
    assert len(s.modules) == 19 * 5


def test_chosen_processes_alone_are_asked(fake):
    machine(fake)
    s = th.snapshot(modules=True, pids=[112, 9999, 104, 112])
    assert len(s.processes) == 20
    assert list(dict.fromkeys(s.modules["pid"])) == [112, 104]
    assert [(e.pid, e.winerror, e.reason) for e in s.errors] == [(9999, 87, "gone")]
    assert len(th.snapshot(modules=True, pids=[]).modules) == 0


def test_errors_raised_or_ignored(fake):
    machine(fake)
    fake.fake_process(4, name="System", open_error=5)
    fake.fake_change(112, open_error=5)
    with pytest.raises(th.AccessDenied) as caught:
        th.snapshot(modules=True, errors="raise")
    assert (caught.value.pid, caught.value.winerror) == (112, 5)
    assert len(th.snapshot(modules=True, errors="ignore").errors) == 0
    fake.fake_change(112, open_error=0)
    assert len(th.snapshot(modules=True, errors="raise").errors) == 1  # PID 4, never raised
    with pytest.raises(th.AccessDenied):
        th.snapshot(modules=True, errors="raise", pids=[4])


@pytest.mark.parametrize(
    "wrong", [{"errors": "all"}, {"heaps": "blocks"}, {"timeout": -1}, {"pids": [-1]}]
)
def test_wrong_arguments(fake, wrong):
    machine(fake, 1)
    with pytest.raises(ValueError, match=next(iter(wrong)).rstrip("s")):
        th.snapshot(**wrong)


def test_identity(fake):
    machine(fake, 4)
    fake.fake_process(4, name="System", open_error=5)
    fake.fake_process(300, name="old.exe", create_time=0, path="", machine=0x14C)
    s = th.snapshot(identity=True)
    assert s.has_identity
    rows = {p.pid: p for p in s.processes}
    base = (START - 116444736000000000) * 100
    assert rows[104].create_time == base + 1_000_000_000
    assert rows[104].path == "C:\\apps\\app1.exe"
    assert rows[104].machine == "x64"
    assert rows[4][5:] == (None, None, None)
    assert rows[300][5:] == (None, "", "x86")
    assert [(e.pid, e.function, e.reason) for e in s.errors] == [(4, "OpenProcess", "denied")]
    assert s.processes["create_time"][0] == base


def test_identity_on_arm64_tells_x64_processes(fake):
    fake.fake_system(pid=100, native=0xAA64)
    for pid in (100, 104, 108):
        fake.fake_process(pid, name="a.exe", create_time=START)
    fake.fake_heap_target(104, own_machine=0x8664)
    fake.fake_process(112, name="b.exe", machine=0x14C)
    s = th.snapshot(identity=True, modules=True)
    assert list(s.processes["machine"]) == ["arm64", "x64", "arm64", "x86"]


@pytest.mark.parametrize("function", ["GetProcessTimes", "QueryFullProcessImageNameW"])
def test_identity_that_cannot_be_had_is_none_and_reported(fake, function):
    machine(fake, 3)
    fake.fake_fail(function, pid=104, code=31)
    s = th.snapshot(identity=True)
    row = s.processes[1]
    assert (row.create_time is None) == (function == "GetProcessTimes")
    assert (row.path is None) == (function == "QueryFullProcessImageNameW")
    assert [(e.pid, e.function, e.winerror, e.reason) for e in s.errors] == [
        (104, function, 31, "failed")
    ]


def test_who_uses(fake):
    machine(fake)
    fake.fake_change(112, open_error=5)
    users = th.who_uses("shared0.dll")
    assert users.pids == [p for p in range(100, 180, 4) if p != 112]
    assert [e.pid for e in users.errors] == [112]
    assert {m.name for m in users} == {"Shared0.DLL"}
    s = th.snapshot(modules=True)
    assert s.who_uses("OWN3.DLL").pids == []
    assert s.who_uses("own4.dll").pids == [116]
    assert s.who_uses("own1?.dll").pids == [100 + 4 * i for i in range(10, 20)]
    assert s.who_uses("c:/dlls/own5.dll").pids == [120]
    assert s.who_uses("C:\\other\\own5.dll").pids == []
    with pytest.raises(ValueError, match="modules=True"):
        th.snapshot().who_uses("a.dll")


def test_dll_index(fake):
    machine(fake, 3)
    s = th.snapshot(modules=True)
    assert s.dll_index() == {
        "own0.dll": [100],
        "own1.dll": [104],
        "own2.dll": [108],
        **{f"shared{j}.dll": [100, 104, 108] for j in range(4)},
    }
    assert s.dll_index("path")["c:\\dlls\\own1.dll"] == [104]


def test_the_same_address_with_another_dll_is_not_mixed_up(fake):
    fake.fake_system(pid=100)
    for i in range(6):
        fake.fake_process(100 + 4 * i, name="a.exe")
        fake.fake_module(
            100 + 4 * i, 0x7FF000000000, 1, "x" * (i % 3 + 1) + ".dll", "C:\\" + "y" * i
        )
    s = th.snapshot(modules=True)
    assert list(s.modules["name"]) == ["x.dll", "xx.dll", "xxx.dll"] * 2
    assert list(s.modules["path"]) == ["C:\\" + "y" * i for i in range(6)]


def test_both_lists_of_a_32_bit_process(fake):
    fake.fake_system(pid=100)
    fake.fake_process(100, name="me.exe")
    fake.fake_process(104, name="old.exe", machine=0x14C)
    fake.fake_module(104, 0x7FF800000000, 1, "ntdll.dll", "C:\\Windows\\System32\\ntdll.dll")
    fake.fake_module(104, 0x77000000, 1, "ntdll.dll", "C:\\Windows\\SysWOW64\\ntdll.dll")
    rows = th.snapshot(modules=True).modules
    assert [(m.base, m.machine) for m in rows] == [(0x7FF800000000, "x64"), (0x77000000, "x86")]


def test_a_hundred_thousand_processes(fake):
    fake.fake_system(pid=4)
    count = 100_000
    fake.fake_fill(count)
    s = th.snapshot(identity=True, modules=True)
    assert len(s.processes) == count
    assert len(s.errors) == 0
    tree = s.tree()
    assert len(tree) == count
    assert len(set(tree.nodes["pid"])) == count
    assert max(tree.nodes["depth"]) == 16
    assert [n.pid for n in tree.roots] == [4]


def scan_once(fake, allow=True):
    return fake.scan(True, True, True, True, None, allow, 10**10, 1, False)


def small(fake):
    machine(fake, 3, 2)
    for pid in (100, 104, 108):
        fake.fake_heap(pid, 0x10000 * pid, 1, [(0x20000 * pid, 64, 0x100), (0x20010 * pid, 24)])


def test_every_call_failing_in_turn(fake):
    small(fake)
    whole = scan_once(fake)
    assert [len(t) for t in whole] == [3, 6, 6, 3, 3, 0]
    total = sum(fake.fake_calls().values())
    codes = set()
    for nth in range(1, total + 1):
        fake.fake_reset()
        small(fake)
        fake.fake_fail("*", nth=nth, code=31)
        try:
            found = scan_once(fake)
        except (th.ToolhelpError, MemoryError) as error:  # memory: of VirtualAlloc
            codes.add(getattr(error, "winerror", None))
            continue
        assert len(found[0]) == 3
        assert fake.fake_handles() == 0
    assert codes <= {31, None}
    assert fake.fake_faults() == []


def test_every_call_failing_for_ever(fake):
    for name in (*_calls_of(fake), "*"):
        fake.fake_reset()
        small(fake)
        fake.fake_fail(name, code=5, persist=True)
        try:
            found = scan_once(fake)
        except (th.ToolhelpError, MemoryError):
            continue
        assert len(found[0]) == 3, name


def _calls_of(fake):
    small(fake)
    scan_once(fake)
    return list(fake.fake_calls())


@pytest.mark.parametrize("persist", [False, True])
def test_every_allocation_failing_in_turn(fake, persist):
    small(fake)
    before = fake.fake_alloc_count()
    whole = scan_once(fake)
    count = fake.fake_alloc_count() - before
    for n in range(1, count + 1):
        fake.fake_alloc_fail(n, persist=persist)
        with pytest.raises(MemoryError):
            scan_once(fake)
        fake.fake_alloc_fail(0)
    assert scan_once(fake) == whole
