"""Heaps over the scripted system: our own by walking, others by guarded queries."""

from __future__ import annotations

import struct
import threading
import time

import pytest

import toolhelp as th

pytestmark = pytest.mark.needs("fake")

OWN, OTHER = 100, 104
H1, H2 = 0x150000, 0x990000
FREE, REGION, UNCOMMITTED, LARGE, LFH = 2, 0x100, 0x200, 0x400, 0x800
BLOCKS = [
    (0x150000, 0x10000, REGION),
    (0x150010, 24, 1),
    (0x150040, 100, FREE),
    (0x150100, 300, 1),
    (0x158000, 0x8000, UNCOMMITTED),
]
SECOND = 10**9


@pytest.fixture
def machine(fake):
    fake.fake_system(pid=OWN)
    fake.fake_process(OWN, name="me.exe", threads=[1])
    fake.fake_process(OTHER, ppid=OWN, name="other.exe", threads=[2, 3])
    for pid in (OWN, OTHER):
        fake.fake_heap(pid, H1, 0, BLOCKS)
        fake.fake_heap(pid, H2, 1, [(H2, 4096, REGION), (H2 + 16, 7, 1)])
    return fake


# ----- our own -----


def test_own_heaps(machine):
    assert [tuple(h) for h in th.heaps()] == [(OWN, H1, 0, False), (OWN, H2, 1, True)]
    assert th.heaps(OWN) == th.heaps()
    assert set(machine.fake_calls()) == {"GetProcessHeaps"}


def test_more_heaps_than_the_first_guess(machine):
    for i in range(200):
        machine.fake_heap(OWN, 0x1000000 + i * 0x10000)
    assert len(th.heaps()) == 202
    assert machine.fake_calls()["GetProcessHeaps"] == 2


def test_own_blocks(machine):
    assert [tuple(b) for b in th.heap_blocks(H1)] == [
        (H1, 0x150000, 0x10000, "region", 1, 0, False),
        (H1, 0x150010, 24, "busy", 4, 0, False),
        (H1, 0x150040, 100, "free", 0, 0, False),
        (H1, 0x150100, 300, "busy", 4, 0, False),
        (H1, 0x158000, 0x8000, "uncommitted", 2, 0, False),
    ]
    calls = machine.fake_calls()
    assert calls["HeapWalk"] == len(BLOCKS) + 1
    assert (calls["HeapLock"], calls["HeapUnlock"], calls["GetProcessHeaps"]) == (1, 1, 1)


def test_calls_grow_with_the_blocks_and_no_faster(machine):
    for count in (1000, 100_000):
        heap = 0x10000000 + count * 0x1000
        blocks = [(heap + 16 * i + 16, 2, 1) for i in range(count)]
        machine.fake_heap(OWN, heap, 0, blocks)
        before = machine.fake_calls().get("HeapWalk", 0)
        found = th.heap_blocks(heap)
        assert machine.fake_calls()["HeapWalk"] - before == count + 1
        assert list(found["address"]) == [b[0] for b in blocks]
        assert set(found["size"]) == {2}


def test_what_is_no_heap_is_never_locked(machine):
    for wrong in (0, 1, H1 + 1, 2**64 - 1):
        with pytest.raises(th.ToolhelpError) as caught:
            th.heap_blocks(wrong)
        assert (caught.value.winerror, caught.value.pid) == (6, OWN)
    assert "HeapLock" not in machine.fake_calls()


@pytest.mark.parametrize("function", ["GetProcessHeaps", "HeapLock", "HeapWalk", "HeapUnlock"])
@pytest.mark.parametrize("call", [lambda: th.heap_blocks(H1), th.heap_summary, th.heap_sizes])
def test_failures_unlock_the_heap(machine, function, call):
    machine.fake_fail(function, nth=1, code=13)
    with pytest.raises(th.ToolhelpError) as caught:
        call()
    assert (caught.value.winerror, caught.value.function) == (13, function)
    calls = machine.fake_calls()
    locked = calls.get("HeapLock", 0) - (function == "HeapLock")
    assert calls.get("HeapUnlock", 0) == locked
    assert len(th.heap_blocks(H1)) == len(BLOCKS)


def test_a_walk_that_fails_in_the_middle_gives_nothing(machine):
    machine.fake_fail("HeapWalk", nth=3, code=13)
    with pytest.raises(th.ToolhelpError):
        th.heap_blocks(H1)


ADDRESSES, MEMORY = "VirtualAlloc", "VirtualAlloc of reserved pages"


@pytest.mark.parametrize("function", [ADDRESSES, MEMORY])
def test_no_pages_for_the_columns(machine, function):
    machine.fake_fail(function, code=8, persist=True)
    with pytest.raises(MemoryError):
        th.heap_blocks(H1)


def many_blocks(machine, count):
    heap = 0x10000000
    blocks = [(heap + 16 * i + 16, i % 5000, (1, FREE, UNCOMMITTED)[i % 3]) for i in range(count)]
    machine.fake_heap(OWN, heap, 0, blocks)
    kinds = ("busy", "free", "uncommitted")
    return heap, [(heap, a, s, kinds[i % 3], (4, 0, 2)[i % 3], 0, False)
                  for i, (a, s, _) in enumerate(blocks)]  # fmt: skip


def wanted_pages(machine):
    calls = machine.fake_calls()
    return calls[ADDRESSES], calls[MEMORY] / 7


# Around where a table keeps the pages, and where they get more memory.
@pytest.mark.parametrize("count", [4095, 4096, 4097, 16383, 16384, 16385, 70_000])
def test_columns_of_many_blocks(machine, count):
    heap, rows = many_blocks(machine, count)
    blocks = th.heap_blocks(heap)
    assert [tuple(b) for b in blocks] == rows
    assert [tuple(b) for b in blocks[count - 3 :]] == rows[-3:]
    steps = 1 + sum(count > 4096 << i for i in range(6))
    assert wanted_pages(machine) == (1, steps)


def test_few_addresses_make_the_columns_move(machine):
    heap, rows = many_blocks(machine, 200_000)
    machine.fake_fail(ADDRESSES, times=6, code=8)
    assert [tuple(b) for b in th.heap_blocks(heap)] == rows
    # 4 Mi rows were refused and all halves down to 128 Ki; 64 Ki, 128 Ki and 256 Ki were given.
    assert wanted_pages(machine)[0] == 9


def test_columns_with_every_call_for_memory_failing(machine):
    heap, rows = many_blocks(machine, 70_000)
    machine.fake_fail(ADDRESSES, times=6, code=8)
    whole = th.heap_blocks(heap)
    assert [tuple(b) for b in whole] == rows
    for nth in range(1, machine.fake_calls()[MEMORY] + 1):
        machine.fake_fail(ADDRESSES, times=6, code=8)
        machine.fake_fail(MEMORY, nth=nth, code=8)
        with pytest.raises(MemoryError):
            th.heap_blocks(heap)
    machine.fake_fail(ADDRESSES, times=6, code=8)
    assert th.heap_blocks(heap) == whole


def test_no_addresses_to_move_to(machine):
    heap, _ = many_blocks(machine, 70_000)
    machine.fake_fail(ADDRESSES, times=6, code=8)
    machine.fake_fail(ADDRESSES, nth=8, code=8)
    with pytest.raises(MemoryError):
        th.heap_blocks(heap)


@pytest.mark.parametrize(
    "call", [th.heaps, lambda: th.heap_blocks(H1), th.heap_summary, th.heap_sizes]
)
def test_own_with_every_allocation_failing(machine, call):
    before = machine.fake_alloc_count()
    whole = call()
    for n in range(1, machine.fake_alloc_count() - before + 1):
        machine.fake_alloc_fail(n)
        with pytest.raises(MemoryError):
            call()
    assert call() == whole


def test_own_summary(machine):
    assert [tuple(s) for s in th.heap_summary()] == [
        (OWN, H1, False, 0x8000, 0x8000, 324, 100, 100, 2, 1, 1),
        (OWN, H2, True, 2048, 0, 7, 0, 0, 1, 0, 1),
    ]


@pytest.mark.parametrize(
    ("size", "size_class"),
    [(0, 16), (1, 16), (16, 16), (17, 32), (32, 32), (33, 64), (4096, 4096), (2**31, 2**31)],
)
def test_size_classes(fake, size, size_class):
    fake.fake_process(4242, name="me")
    fake.fake_heap(4242, H1, 0, [(H1, size, 1)])
    assert [tuple(s) for s in th.heap_sizes()] == [(4242, H1, size_class, 1, size)]


# ----- other processes: guarded -----

REMOTE = [
    lambda **k: th.heaps(OTHER, **k),
    lambda **k: th.heap_blocks(H1, OTHER, **k),
    lambda **k: th.heap_blocks(H1, OTHER, "toolhelp", **k),
    lambda **k: th.heap_summary(OTHER, **k),
    lambda **k: th.heap_sizes(OTHER, **k),
]
QUERIES = {
    "CreateToolhelp32Snapshot",
    "Heap32ListFirst",
    "Heap32First",
    "RtlCreateQueryDebugBuffer",
    "RtlQueryProcessDebugInformation",
}
each_remote = pytest.mark.parametrize("query", REMOTE, ids=["list", "blocks", "th", "sum", "sizes"])


@each_remote
def test_nothing_is_injected_unless_allowed(machine, query):
    with pytest.raises(th.InjectionRefused, match="allow_injection=True") as caught:
        query()
    assert caught.value.pid == OTHER
    assert not QUERIES & machine.fake_calls().keys()


@each_remote
def test_suspended_targets_are_refused(machine, query):
    machine.fake_heap_target(OTHER, suspended=True)
    with pytest.raises(th.InjectionRefused, match="suspended"):
        query(allow_injection=True)
    assert not QUERIES & machine.fake_calls().keys()


@each_remote
def test_wines_stubs_are_never_entered(machine, query):
    machine.fake_system(pid=OWN, wine=True)
    with pytest.raises(th.UnsupportedPlatform, match="Wine"):
        query(allow_injection=True)
    with pytest.raises(th.UnsupportedPlatform, match="Wine"):
        th.heaps(method="toolhelp")
    with pytest.raises(th.UnsupportedPlatform, match="Wine"):
        th.heap_blocks(H1, method="toolhelp")
    assert not QUERIES & machine.fake_calls().keys()


@each_remote
def test_the_other_bitness_cannot_be_seen(machine, query):
    machine.fake_process(OTHER, name="other.exe", threads=[2], machine=0x14C)
    with pytest.raises(th.UnsupportedPlatform, match="bitness"):
        query(allow_injection=True)
    assert not QUERIES & machine.fake_calls().keys()


@each_remote
@pytest.mark.parametrize("pid", [0, 9999])
def test_no_such_process(machine, query, pid):
    with pytest.raises(th.ProcessNotFound):
        th.heaps(pid, allow_injection=True)
    with pytest.raises(th.ProcessNotFound):
        th.heap_blocks(H1, pid)


def hang(machine, name):
    """The named call hangs, and a minute passes, until the event is set."""
    go_on = threading.Event()

    def hook(called):
        if called == name:
            machine.fake_clock_advance(60 * SECOND)
            go_on.wait(30)

    machine.fake_hook(hook)
    return go_on


@pytest.mark.parametrize(
    ("query", "name"),
    [
        (REMOTE[0], "CreateToolhelp32Snapshot"),
        (REMOTE[1], "RtlQueryProcessDebugInformation"),
        (REMOTE[2], "Heap32First"),
        (REMOTE[3], "RtlQueryProcessDebugInformation"),
    ],
)
def test_a_hanging_query_times_out_and_cleans_up_when_it_comes_back(machine, query, name):
    blocks = machine.fake_live_blocks()
    go_on = hang(machine, name)
    started = time.monotonic()
    with pytest.raises(th.HeapQueryTimeout) as caught:
        query(allow_injection=True, timeout=10)
    assert time.monotonic() - started < 5
    assert isinstance(caught.value, TimeoutError)
    assert caught.value.pid == OTHER
    # The caller goes on while the query hangs.
    assert len(th.heap_blocks(H1)) == len(BLOCKS)
    assert machine.fake_live_blocks() > blocks
    go_on.set()
    for _ in range(500):
        if machine.fake_live_blocks() == blocks and machine.fake_handles() == 0:
            break
        time.sleep(0.01)
    assert (machine.fake_live_blocks(), machine.fake_handles()) == (blocks, 0)


def test_a_walk_that_was_given_up_stops(machine):
    machine.fake_heap(OTHER, 0x2000000, 0, [(16 * i, 8, 1) for i in range(100_000)])
    go_on = hang(machine, "Heap32First")
    with pytest.raises(th.HeapQueryTimeout):
        th.heap_blocks(0x2000000, OTHER, "toolhelp", allow_injection=True)
    go_on.set()
    for _ in range(500):
        if machine.fake_handles() == 0:
            break
        time.sleep(0.01)
    assert machine.fake_handles() == 0
    assert machine.fake_calls().get("Heap32Next", 0) < 10


# ----- other processes: answers -----


def test_heap_list_of_another(machine):
    found = th.heaps(OTHER, allow_injection=True)
    assert [tuple(h) for h in found] == [(OTHER, H1, 0, False), (OTHER, H2, 1, True)]
    assert machine.fake_calls()["CreateToolhelp32Snapshot"] == 1


@pytest.mark.parametrize("build", [19045, 22000, 22631])
@pytest.mark.parametrize("layout", [0, 1, 2])
def test_blocks_of_another_in_both_layouts(machine, build, layout):
    """The layout of the build comes first; one that does not check is not used."""
    machine.fake_heap_system(build=build, layout=layout)
    found = th.heap_blocks(H1, OTHER, allow_injection=True)
    assert [tuple(b) for b in found] == [
        (H1, 0x150000, 0x10000, "region", 2, 0, True),
        (H1, 0x150010, 24, "busy", 1, 0, True),
        (H1, 0x150028, 100, "free", 0, 0, True),
        (H1, 0x15008C, 300, "busy", 1, 0, True),
        (H1, 0x1501A8, 0x8000, "uncommitted", 0x1000, 0, True),
    ]
    assert machine.fake_calls()["RtlQueryProcessDebugInformation"] == 1
    assert [tuple(s) for s in th.heap_summary(OTHER, allow_injection=True)] == [
        (OTHER, H1, False, 0x8000, 0x8000, 324, 100, 100, 2, 1, 1),
        (OTHER, H2, True, 2048, 0, 7, 0, 0, 1, 0, 1),
    ]


def test_large_and_lfh_blocks_are_busy(machine):
    machine.fake_heap(OTHER, 0x2000000, 0, [(0, 100, LARGE), (0, 50, LFH)])
    blocks = th.heap_blocks(0x2000000, OTHER, allow_injection=True)
    assert [b.kind for b in blocks] == ["large", "lfh"]
    summary = th.heap_summary(OTHER, allow_injection=True)
    assert (summary[2].busy, summary[2].busy_blocks) == (150, 2)


def test_the_buffer_doubles(machine):
    count = 300_000  # 32 bytes each: 9.6 MB
    machine.fake_heap(OTHER, 0x2000000, 0, [(0, 8, 1)] * count)
    found = th.heap_blocks(0x2000000, OTHER, allow_injection=True)
    assert len(found) == count
    assert machine.fake_calls()["RtlQueryProcessDebugInformation"] == 3  # 4, 8, 16 MiB


def test_a_buffer_that_is_never_large_enough(machine):
    machine.fake_fail("RtlQueryProcessDebugInformation", code=8, persist=True)
    with pytest.raises(th.ToolhelpError) as caught:
        th.heap_summary(OTHER, allow_injection=True)
    assert caught.value.winerror == 8
    assert caught.value.attempts == 10  # 4 MiB to 2 GiB


def test_toolhelp_blocks_of_another(machine):
    found = th.heap_blocks(H1, OTHER, "toolhelp", allow_injection=True)
    assert [(b.address, b.size, b.kind, b.approximate) for b in found][1:3] == [
        (0x150010, 24, "busy", True),
        (0x150040, 100, "free", True),
    ]
    assert machine.fake_calls()["Heap32Next"] == len(BLOCKS)


def test_no_heap_of_that_id(machine):
    with pytest.raises(th.ToolhelpError) as caught:
        th.heap_blocks(0x1230000, OTHER, allow_injection=True)
    assert caught.value.winerror == 6


def test_a_frozen_process_with_no_heaps(machine):
    machine.fake_heap_target(OTHER, no_heap_list=True)
    with pytest.raises(th.InjectionRefused, match="frozen"):
        th.heap_summary(OTHER, allow_injection=True)


def test_a_cut_buffer_is_refused(machine):
    machine.fake_heap_system(cut=1)
    with pytest.raises(th.ToolhelpError) as caught:
        th.heap_blocks(H1, OTHER, allow_injection=True)
    assert caught.value.winerror == 13


@each_remote
def test_remote_with_every_call_failing(machine, query):
    whole = list(query(allow_injection=True))
    names = set(machine.fake_calls()) - {"CloseHandle", "RtlDestroyQueryDebugBuffer"}
    for name in names:
        for nth in (1, 2):
            before = machine.fake_calls()
            machine.fake_fail(name, nth=nth, code=31)
            try:
                assert list(query(allow_injection=True)) == whole
            except th.ToolhelpError as error:
                assert error.winerror == 31, name  # noqa: PT017
            # What was not met yet must not hit the next round.
            for _ in range(4):
                if machine.fake_calls()[name] - before[name] >= nth:
                    break
                try:
                    query(allow_injection=True)
                except th.ToolhelpError:
                    break


@each_remote
def test_remote_with_every_allocation_failing(machine, query):
    before = machine.fake_alloc_count()
    whole = query(allow_injection=True)
    for n in range(1, machine.fake_alloc_count() - before + 1):
        machine.fake_alloc_fail(n)
        with pytest.raises(MemoryError):
            query(allow_injection=True)
        machine.fake_alloc_fail(0)
    assert query(allow_injection=True) == whole


# ----- scans -----


def test_heaps_in_a_scan(machine):
    s = th.snapshot(heaps=True)
    assert [h.pid for h in s.heaps] == [OWN, OWN]
    assert [(e.pid, e.reason, e.winerror) for e in s.errors] == [(OTHER, "refused", 0)]
    s = th.snapshot(heaps=True, allow_injection=True)
    assert [h.pid for h in s.heaps] == [OWN, OWN, OTHER, OTHER]
    assert len(s.errors) == 0
    s = th.snapshot(heaps="sizes", allow_injection=True)
    assert [(r.pid, r.heap_id, r.size_class, r.blocks, r.bytes) for r in s.heap_sizes] == [
        (pid, *row)
        for pid in (OWN, OTHER)
        for row in ((H1, 32, 1, 24), (H1, 512, 1, 300), (H2, 16, 1, 7))
    ]
    with pytest.raises(th.InjectionRefused):
        th.snapshot(heaps=True, errors="raise")


def test_a_hanging_target_does_not_stop_a_scan(machine):
    go_on = hang(machine, "RtlQueryProcessDebugInformation")
    s = th.snapshot(heaps="sizes", allow_injection=True)
    go_on.set()
    assert [(e.pid, e.reason) for e in s.errors] == [(OTHER, "timeout")]
    assert len(s.heaps) == 2
    for _ in range(500):
        if machine.fake_handles() == 0:
            break
        time.sleep(0.01)
    time.sleep(0.05)


# ----- the parser, on bytes -----


def debug_buffer(
    pointer_size=8, v2=False, heaps=((0x150000, [(24, 1), (100, 0)]),), address=0x10000
):
    """A query buffer as documented by public headers, built independently of the C code."""
    word = "<Q" if pointer_size == 8 else "<I"
    data = bytearray(0x1000)

    def put(at, value, form=word):
        struct.pack_into(form, data, at, value)

    wide = pointer_size == 8
    stride = (0x58 if wide else 0x40) + (8 if v2 else 0)
    put(0x70 if wide else 0x38, address + 0x200)
    put(0x98 if wide else 0x4C, heaps[0][0])
    put(0x200, len(heaps), "<I")
    at, entries = 0x200 + (8 if wide else 4), 0x800
    for base, blocks in heaps:
        put(at, base)
        put(at + (0xC if wide else 8), 16, "<H")
        put(at + (0x18 if wide else 0x10), 0x5000)
        put(at + (0x24 if wide else 0x18), len(blocks), "<I")
        put(at + (0x50 if wide else 0x3C), address + entries)
        for size, flags in blocks:
            put(entries, size)
            put(entries + (8 if wide else 4), flags, "<H")
            entries += 0x20 if wide else 0x10
        at += stride
    return bytes(data)


@pytest.mark.parametrize("pointer_size", [4, 8])
@pytest.mark.parametrize("v2", [False, True])
@pytest.mark.parametrize("build", [0, 19045, 26100])
def test_parsing(fake, pointer_size, v2, build):
    data = debug_buffer(
        pointer_size, v2, ((0x150000, [(24, 1), (100, 0)]), (0x160000, [(8, 0x8001)]))
    )
    assert fake.fake_parse_heaps(data, 0x10000, pointer_size, build) == [
        (0x150000, 0x5000, 0, [(0x150010, 24, 0, 1, 0, 1), (0x150028, 100, 0, 0, 1, 0)]),
        (0x160000, 0x5000, 0, [(0x160010, 8, 0, 0x8001, 5, 1)]),
    ]


@pytest.mark.parametrize("pointer_size", [4, 8])
def test_parsing_every_cut_and_every_changed_byte(fake, pointer_size):
    data = debug_buffer(pointer_size)
    last = max(i for i, byte in enumerate(data) if byte)
    for end in range(0, 0x880):
        answer = fake.fake_parse_heaps(data[:end], 0x10000, pointer_size, 22631)
        assert end > 0x810 or answer == "damaged", end
    for place in [i for i in range(last + 1) if data[i]]:
        for value in (0, 0x7F, 0xFF):
            bad = data[:place] + bytes([value]) + data[place + 1 :]
            answer = fake.fake_parse_heaps(bad, 0x10000, pointer_size, 22631)
            assert isinstance(answer, str) or len(answer) in (0, 1), hex(place)


def test_parsing_hostile_counts(fake):
    data = bytearray(debug_buffer())
    struct.pack_into("<I", data, 0x200, 0xFFFFFFFF)
    assert fake.fake_parse_heaps(bytes(data), 0x10000, 8, 0) == "damaged"
    data = bytearray(debug_buffer())
    struct.pack_into("<I", data, 0x208 + 0x24, 0xFFFFFFFF)
    assert fake.fake_parse_heaps(bytes(data), 0x10000, 8, 0) == "damaged"
    data = bytearray(debug_buffer())
    struct.pack_into("<Q", data, 0x70, 2**64 - 1)
    assert fake.fake_parse_heaps(bytes(data), 0x10000, 8, 0) == "damaged"
    data = bytearray(debug_buffer())
    struct.pack_into("<Q", data, 0x800, 2**64 - 8)  # a size that wraps around
    ((_, _, _, blocks),) = fake.fake_parse_heaps(bytes(data), 0x10000, 8, 0)
    assert blocks[1][0] == 0x150000 - 8 + 16
    assert fake.fake_parse_heaps(bytes(0x1000), 0x10000, 8, 0) == "no heaps"
    assert fake.fake_parse_heaps(b"", 0x10000, 8, 0) == "damaged"


def system_information(pointer_size, processes):
    wide = pointer_size == 8
    head, thread = (0x100, 0x50) if wide else (0xB8, 0x40)
    out = bytearray()
    for number, (pid, states) in enumerate(processes):
        entry = bytearray(head + thread * len(states))
        size = 0 if number == len(processes) - 1 else len(entry)
        struct.pack_into("<II", entry, 0, size, len(states))
        struct.pack_into("<I", entry, 0x50 if wide else 0x44, pid)
        for i, (state, reason) in enumerate(states):
            at = head + thread * i + (0x44 if wide else 0x34)
            struct.pack_into("<II", entry, at, state, reason)
        out += entry
    return bytes(out)


@pytest.mark.parametrize("pointer_size", [4, 8])
def test_states_of_targets(fake, pointer_size):
    data = system_information(
        pointer_size,
        [(0, [(2, 0)]), (8, [(5, 5), (5, 5)]), (12, [(5, 5), (5, 6)]), (16, []), (20, [(5, 5)])],
    )
    states = [fake.fake_target_state(data, pointer_size, pid) for pid in (0, 8, 12, 16, 20, 24)]
    assert states == ["runs", "suspended", "runs", "runs", "suspended", "gone"]
    for end in range(len(data)):
        assert fake.fake_target_state(data[:end], pointer_size, 20) != "suspended"
