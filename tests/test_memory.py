"""Memory of processes over the scripted system, privileges, capabilities, the raw heap calls."""

from __future__ import annotations

import pytest

import toolhelp as th
from toolhelp import raw

pytestmark = pytest.mark.needs("fake")

BASE = 0x7FF000000000


@pytest.fixture
def target(fake):
    fake.fake_system(pid=100)
    fake.fake_process(100, name="me.exe")
    fake.fake_process(104, name="other.exe")
    fake.fake_memory(104, BASE, bytes(range(256)) * 64)  # 4 pages
    fake.fake_memory(100, 0x1000, b"own memory")
    return fake


def test_known_bytes(target):
    assert th.read_memory(104, BASE + 5, 10) == bytes(range(5, 15))
    assert th.read_memory(None, 0x1000, 10) == b"own memory"
    assert th.read_memory(104, BASE, 0) == b""
    assert target.fake_calls()["ReadProcessMemory"] == 2


def test_partial_at_a_boundary(target):
    with pytest.raises(th.PartialCopy) as caught:
        th.read_memory(104, BASE + 0x2FF0, 0x5000)
    assert caught.value.data == (bytes(range(256)) * 64)[0x2FF0:]
    assert (caught.value.pid, caught.value.winerror) == (104, 299)
    assert caught.value.reason == "unknown"
    whole = th.read_memory(104, BASE, 1 << 24, partial=True)
    assert whole == bytes(range(256)) * 64
    # The end is found by halving, not page by page.
    assert target.fake_calls()["ReadProcessMemory"] < 60


@pytest.mark.parametrize("start", [0, 1, 4095, 4096, 16383])
@pytest.mark.parametrize("size", [1, 4096, 16384, 20000, 100_000])
def test_every_reach(target, start, size):
    got = th.read_memory(104, BASE + start, size, partial=True)
    assert got == (bytes(range(256)) * 64)[start : start + size]


def test_a_bad_address(target):
    with pytest.raises(th.ToolhelpError) as caught:
        th.read_memory(104, 0x10, 8)
    assert (caught.value.winerror, caught.value.function) == (998, "ReadProcessMemory")
    with pytest.raises(th.ToolhelpError):
        th.read_memory(104, 0x10, 8, partial=True)


@pytest.mark.parametrize(
    ("address", "size", "error"),
    [(2**64, 1, ValueError), (-1, 1, ValueError), (2**64 - 4, 8, ValueError), (0, -1, ValueError),
     ("a", 1, TypeError)],
)  # fmt: skip
def test_wrong_ranges(target, address, size, error):
    with pytest.raises(error):
        th.read_memory(104, address, size)


def test_many_ranges_with_one_handle(target):
    with th.ProcessMemory(104) as memory:
        found = memory.read_many([(BASE, 4), (0x10, 4), (BASE + 0x3FFE, 4)])
        assert memory.pid == 104
    assert [(r.data, r.error is None) for r in found] == [
        (b"\0\1\2\3", True),
        (b"", False),
        (b"\xfe\xff", False),
    ]
    assert found[1].error.winerror == 998
    assert isinstance(found[2].error, th.PartialCopy)
    assert target.fake_calls()["OpenProcess"] == 1
    assert memory.closed
    memory.close()
    with pytest.raises(ValueError, match="closed"):
        memory.read(BASE, 1)


def test_into_a_buffer(target):
    buffer = bytearray(8)
    with th.ProcessMemory(104) as memory:
        assert memory.read_into(BASE + 1, buffer) == 8
        assert buffer == bytes(range(1, 9))
        assert memory.read_into(BASE + 0x4000 - 3, buffer) == 3
        with pytest.raises((TypeError, BufferError)):
            memory.read_into(BASE, b"read only")


def test_processes_that_cannot_be_opened(target):
    target.fake_process(108, open_error=5)
    with pytest.raises(th.AccessDenied):
        th.read_memory(108, BASE, 1)
    for pid in (0, 9999):
        with pytest.raises(th.ProcessNotFound):
            th.read_memory(pid, BASE, 1)


def test_a_dropped_object_closes_its_handle(target):
    memory = th.ProcessMemory(104)
    assert target.fake_handles() == 1
    del memory
    assert target.fake_handles() == 0


def test_every_allocation_failing(target):
    before = target.fake_alloc_count()
    th.read_memory(104, BASE, 10)
    assert target.fake_alloc_count() == before  # there is none that could


# ----- the privilege -----


def test_the_privilege_is_scoped(target):
    target.fake_heap_system(may_debug=True)
    assert not target.fake_debugs()
    with th.debug_privilege() as granted:
        assert granted
        assert target.fake_debugs()
        with th.debug_privilege() as again:
            assert again
        assert target.fake_debugs()
    assert not target.fake_debugs()
    with pytest.raises(KeyError), th.debug_privilege():
        raise KeyError
    assert not target.fake_debugs()


def test_a_privilege_that_was_on_stays_on(target):
    target.fake_heap_system(may_debug=True)
    target.debug_privilege(True)
    with th.debug_privilege() as granted:
        assert granted
    assert target.fake_debugs()


def test_a_privilege_that_is_not_held(target):
    with th.debug_privilege() as granted:
        assert not granted
    target.fake_fail("AdjustTokenPrivileges", code=5)
    with pytest.raises(th.AccessDenied), th.debug_privilege():
        pass
    with th.debug_privilege() as granted:
        assert not granted


def test_capabilities(target):
    found = th.capabilities()
    assert [name for name, one in found.items() if not one] == ["other_users"]
    assert "SeDebugPrivilege" in found["other_users"].why_not
    target.fake_system(pid=100, wine=True)
    target.fake_heap_system(may_debug=True)
    found = th.capabilities()
    assert [name for name, one in found.items() if not one] == ["other_heaps", "toolhelp_heaps"]
    assert found["other_heaps"].why_not == "Wine does not implement it"
    assert not target.fake_debugs()
    target.fake_fail("CreateToolhelp32Snapshot", code=120, persist=True)
    assert [name for name, one in th.capabilities().items() if one] == ["traces"]


# ----- raw -----


def test_raw_blocks(target):
    target.fake_heap(104, 0x5000, 0, [(0x5010, 8, 1), (0x5020, 16, 2)])
    blocks = list(raw.heap_blocks(104, 0x5000))
    assert [(b.dwAddress, b.dwBlockSize, b.dwFlags) for b in blocks] == [
        (0x5010, 8, raw.LF32_FIXED),
        (0x5020, 16, raw.LF32_FREE),
    ]
    assert {(b.th32ProcessID, b.th32HeapID, b.dwSize) for b in blocks} == {(104, 0x5000, 56)}
    assert raw.Heap32First(104, 0x9999) is None
    target.fake_fail("Heap32Next", code=13)
    with pytest.raises(th.ToolhelpError) as caught:
        raw.Heap32Next(blocks[0])
    assert (caught.value.winerror, caught.value.pid) == (13, 104)
    with pytest.raises(TypeError, match="HEAPENTRY32"):
        raw.Heap32Next((1,) * 9)


def test_raw_heap_calls_are_not_entered_under_wine(target):
    target.fake_heap(100, 0x5000, 0, [(0x5010, 8, 1)])
    entry = raw.Heap32First(0, 0x5000)
    target.fake_system(pid=100, wine=True)
    calls = target.fake_calls()
    for call in (lambda: raw.Heap32First(0, 0x5000), lambda: raw.Heap32Next(entry)):
        with pytest.raises(th.UnsupportedPlatform, match="Wine"):
            call()
    assert target.fake_calls() == calls


def test_raw_memory(target):
    assert raw.Toolhelp32ReadProcessMemory(104, BASE, 4) == b"\0\1\2\3"
    assert raw.Toolhelp32ReadProcessMemory(0, 0x1000, 3) == b"own"
    with pytest.raises(th.ToolhelpError) as caught:
        raw.Toolhelp32ReadProcessMemory(104, BASE + 0x3FFF, 2)
    assert caught.value.winerror == 998
    with pytest.raises(th.ProcessNotFound):
        raw.Toolhelp32ReadProcessMemory(999, 0, 1)
    with pytest.raises(ValueError, match="negative"):
        raw.Toolhelp32ReadProcessMemory(104, BASE, -1)
    target.fake_alloc_fail(1)
    with pytest.raises(MemoryError):
        raw.Toolhelp32ReadProcessMemory(104, BASE, 4)
