"""Cases that other readers were seen to get wrong, each with exact answers.

The files are synthetic: they show that the reader does what the format's description says.
"""

from __future__ import annotations

import struct
from typing import Any

import pytest

import toolhelp as th
from etlmaker import Trace
from tracecompare import heap_rows

HEAP_GUID = "222962ab-6180-4b88-a825-346b75f2a24a"
PID, TID, HEAP = 4242, 5000, 0x1D0000


def opened(trace: Trace, **how: Any) -> th.Trace:
    return th.open_trace(trace.to_bytes(**how), threads=0)


def alloc(trace: Trace, time: int, cpu: int = 0, address: int = 0x20000, **more: Any) -> None:
    trace.heap_alloc(time, cpu, PID, more.pop("tid", TID), HEAP, 64, address, **more)


# ---- one event, every kind of header -----------------------------------------------------------


@pytest.mark.parametrize("header", ["SYSTEM", "COMPACT", "FULL", "EVENT"])
@pytest.mark.parametrize("width", [8, 4])
def test_the_same_alloc_in_every_header(header: str, width: int) -> None:
    trace = Trace()
    alloc(trace, 2000, header=header, pointer_size=width)
    rows = heap_rows(opened(trace))
    assert rows == [
        (100_000, 0, PID, TID, "alloc", HEAP, 0x20000, 64, None, None, 3, None),
    ]
    with opened(trace) as read:
        [event] = [row for batch in read.events("heap") for row in batch]
    assert event.kind == "heap.alloc"
    assert event.pointer_size == width
    assert len(event.payload) == (28 if width == 8 else 16)
    assert event.provider == (HEAP_GUID if header in ("FULL", "EVENT") else None)
    assert event.hook == 0x1021


def test_perfinfo_events_name_no_process() -> None:
    trace = Trace()
    alloc(trace, 2000, header="PERFINFO")
    [row] = heap_rows(opened(trace))
    assert row[2:4] == (None, None)
    with opened(trace) as read:
        assert read.quality["unattributed"] == 1
        assert read.quality["messages"] == ["1 heap event names no process."]
        assert read.quality["complete"] is True


def test_events_of_32_bit_processes_in_a_64_bit_file() -> None:
    trace = Trace(pointer_size=8)
    more = {"pointer_size": 4}
    trace.heap_create(2000, 0, PID, TID, HEAP, **more)
    alloc(trace, 2010, **more)
    trace.heap_realloc(2020, 0, PID, TID, HEAP, 0x30000, 0x20000, 128, 64, **more)
    trace.heap_free(2030, 0, PID, TID, HEAP, 0xFFFF0000, **more)
    with opened(trace) as read:
        sizes = [len(row.payload) for batch in read.events("heap") for row in batch]
        kinds = [row[4:11] for row in heap_rows(read)]
        assert read.info["file"]["pointer_size"] == 8
        assert read.info["counts"]["events_by_header"]["SYSTEM32"] == 4
    assert sizes == [20, 16, 24, 12]
    assert kinds == [
        ("create", HEAP, None, None, None, None, None),
        ("alloc", HEAP, 0x20000, 64, None, None, 3),
        ("realloc", HEAP, 0x30000, 128, 0x20000, 64, 3),
        ("free", HEAP, 0xFFFF0000, None, None, None, 3),
    ]


@pytest.mark.parametrize(("size", "good"), [(27, False), (28, True), (29, True), (200, True)])
def test_payloads_may_be_longer_not_shorter(size: int, good: bool) -> None:
    trace = Trace()
    payload = struct.pack("<QQQI", HEAP, 64, 0x20000, 3).ljust(size, b"\xff")[:size]
    trace.raw("SYSTEM", 2000, 0, "Heap", 33, payload, pid=PID, tid=TID, version=2)
    with opened(trace) as read:
        rows = heap_rows(read)
        assert read.quality["bad_events"] == (0 if good else 1)
        assert read.quality["complete"] is good
    expected = (100_000, 0, PID, TID, "alloc", HEAP, 0x20000, 64, None, None, 3, None)
    assert rows == ([expected] if good else [])


def test_unknown_opcodes_are_kept() -> None:
    trace = Trace()
    trace.heap_op(47, 2000, 0, PID, TID, HEAP, tail=bytes(24))
    trace.heap_op(39, 2010, 0, PID, TID, HEAP)
    trace.raw("SYSTEM", 2020, 0, "Heap", 200, b"ab", pid=PID, tid=TID)
    kinds = [row[4:7] for row in heap_rows(opened(trace))]
    assert kinds == [
        ("other", HEAP, None),
        ("create_snapshot", HEAP, None),
        ("other", None, None),
    ]


# ---- clocks -------------------------------------------------------------------------------------

#: 2023-06-29T09:54:23.344566Z as FILETIME.
START = 133_325_060_633_445_660


def test_qpc_counts_from_the_first_event() -> None:
    """Not from the boot, which is what a stamp of 64,500,090,759 invites to."""
    t0 = 64_500_090_759
    trace = Trace(t0=t0, start=START, perf_freq=10_000_000)
    alloc(trace, t0 + 12_345_678)
    with opened(trace) as read:
        assert heap_rows(read)[0][0] == 1_234_567_800
        assert read.info["file"]["start"] == "2023-06-29T09:54:23.3445660Z"
        assert read.info["file"]["clock"] == "qpc"


@pytest.mark.parametrize("frequency", [10_000_000, 3_579_545, 2_337_949, 999_999_937, 1])
def test_thirty_days_do_not_overflow(frequency: int) -> None:
    ticks = 30 * 86_400 * frequency + 12_345
    trace = Trace(t0=1 << 40, perf_freq=frequency)
    alloc(trace, (1 << 40) + ticks)
    assert heap_rows(opened(trace))[0][0] == ticks * 1_000_000_000 // frequency


def test_system_time_and_cycles() -> None:
    system = Trace(clock=2, t0=START, start=START)
    alloc(system, START + 15_625)
    with opened(system) as read:
        assert heap_rows(read)[0][0] == 1_562_500
        assert read.info["file"]["clock"] == "system"
    cycles = Trace(clock=3, mhz=2997, t0=5_000_000)
    alloc(cycles, 5_000_000 + 2_997_001)
    with opened(cycles) as read:
        assert heap_rows(read)[0][0] == 1_000_000_333 // 1000
        assert read.info["file"]["clock"] == "cycles"


# ---- stacks -------------------------------------------------------------------------------------


def stacks_of(trace: Trace) -> list[Any]:
    return [row[11] for row in heap_rows(opened(trace))]


def test_pointer_size_of_the_header_does_not_matter() -> None:
    """A log that says 4 with 64-bit events: no frame is dropped, user and kernel are told apart."""
    trace = Trace(pointer_size=4)
    user, kernel = 0x00007FF612345678, 0xFFFFF80012345678
    alloc(trace, 2000, pointer_size=8)
    trace.stack(2001, 0, 2000, PID, TID, [kernel], pointer_size=8)
    trace.stack(2100, 0, 2000, PID, TID, [user, 0, user + 1], pointer_size=8)
    assert stacks_of(trace) == [(kernel, user, user + 1)]


def test_user_part_completes_every_waiting_kernel_part() -> None:
    trace = Trace()
    kernel = [0xFFFFF80000000001, 0xFFFFF80000000002]
    for number in range(3):
        alloc(trace, 2000 + number)
        trace.stack(2010 + number, 0, 2000 + number, PID, TID, [kernel[0] + number, kernel[1]])
    alloc(trace, 2005, tid=TID + 1)
    trace.stack(2100, 0, 2002, PID, TID, [0x7FF1, 0x7FF2])
    user = (0x7FF1, 0x7FF2)
    assert stacks_of(trace) == [
        (kernel[0], kernel[1], *user),
        (kernel[0] + 1, kernel[1], *user),
        (kernel[0] + 2, kernel[1], *user),
        None,
    ]


def test_equal_times_and_stacks_in_reverse() -> None:
    """Two threads at one tick; their stacks come in the next buffer, the other way round."""
    trace = Trace(cpus=2)
    alloc(trace, 2000, cpu=0, tid=1)
    alloc(trace, 2000, cpu=1, tid=2)
    trace.stack(2050, 0, 2000, PID, 2, [0x7222])
    trace.stack(2060, 1, 2000, PID, 1, [0x7111])
    for shuffle in (None, 1, 2, 3):
        rows = heap_rows(opened(trace, per_buffer=1, shuffle=shuffle))
        assert {row[3]: row[11] for row in rows} == {1: (0x7111,), 2: (0x7222,)}


def test_a_stack_that_comes_much_too_late_is_nobodys() -> None:
    trace = Trace()
    alloc(trace, 2000)
    alloc(trace, 3000)
    trace.stack(2000 + 520_000, 0, 2000, PID, TID, [0x7111])  # 52 ms
    trace.stack(3000 + 20_000_000, 0, 3000, PID, TID, [0x7222])  # 2 s
    with opened(trace) as read:
        assert [row[11] for row in heap_rows(read)] == [(0x7111,), None]
        assert read.quality["stack_coverage"] == 0.5
        assert read.quality["messages"] == ["1 of 2 allocations have no stack."]


def test_stacks_of_events_without_a_thread_prefer_their_processor() -> None:
    trace = Trace(cpus=2)
    alloc(trace, 2000, cpu=0, header="PERFINFO", address=0x1000)
    alloc(trace, 2000, cpu=1, header="PERFINFO", address=0x2000)
    trace.stack(2010, 1, 2000, PID, TID, [0x7111])
    rows = heap_rows(opened(trace))
    assert {row[6]: row[11] for row in rows} == {0x1000: None, 0x2000: (0x7111,)}


def test_keys_are_used_again() -> None:
    """A definition explains the uses since the one before it; a kernel and a user stack may have
    the same key; and keys that turn out to mean the same stack are one stack."""
    trace = Trace()
    key, kernel = 0xFFFFA00012340000, 0xFFFFF80000000001
    for number in range(4):
        time = 2000 + 100 * number
        alloc(trace, time)
        if number == 3:
            trace.stack_key(time + 1, 0, time, PID, TID, key, kernel=True)
        trace.stack_key(time + 2, 0, time, PID, TID, key)
        if number in (0, 1):
            trace.key_definition(time + 50, 0, key, [0x7111, 0x7112 + number], op=35)
    trace.key_definition(3000, 0, key, [kernel])
    trace.key_definition(3001, 0, key, [0x7111, 0x7112])
    alloc(trace, 3100)
    trace.stack_key(3101, 0, 3100, PID, TID, key)
    with opened(trace) as read:
        ids = [row for batch in read.heap_events() for row in batch["stack_id"]]
        stacks = read.stacks
        frames = [None if s is None else tuple(s) for s in stacks["frames"]]
        assert [frames[i] for i in ids] == [
            (0x7111, 0x7112),
            (0x7111, 0x7113),
            (0x7111, 0x7112),
            (kernel, 0x7111, 0x7112),
            None,
        ]
        assert ids == [0, 1, 2, 3, 4]
        assert list(stacks["same_as"]) == [None, None, 0, None, None]
        assert read.info["counts"]["distinct_stacks"] == 3
        assert read.quality["messages"] == [
            "1 stack is only a key whose frames were never written."
        ]


# ---- processes and modules ----------------------------------------------------------------------


def test_pids_and_addresses_are_used_again() -> None:
    trace = Trace()
    trace.process(3, 1100, 0, PID, name="old.exe", command_line="old.exe /a")
    trace.image(3, 1110, 0, PID, 0x7FF600000000, 0x10000, "\\Device\\HarddiskVolume3\\old.exe")
    trace.process(2, 5000, 0, PID, name="old.exe", exit_status=3)
    trace.process(1, 6000, 0, PID, name="new.exe", command_line="new.exe")
    trace.image(10, 6010, 0, PID, 0x7FF600000000, 0x20000, "\\Device\\HarddiskVolume3\\new.exe")
    trace.image(10, 6020, 0, PID, 0x7FF700000000, 0x1000, "\\Device\\Mup\\srv\\x.dll")
    trace.image(2, 7000, 0, PID, 0x7FF700000000, 0x1000, "\\Device\\Mup\\srv\\x.dll")
    trace.image(3, 1120, 0, 0, 0xFFFFF80000000000, 0x1000, "\\SystemRoot\\System32\\ntoskrnl.exe")
    trace.volume(8000, 0, "\\Device\\HarddiskVolume3\\", "C:\\")
    trace.volume(8000, 0, "\\Device\\", "wrong:\\")
    trace.volume(8000, 0, "\\SystemRoot\\", "D:\\Windows\\")
    trace.image(3, 9000, 0, 0, 0xFFFFF80000100000, 0x1000, "\\Windows\\x.sys")
    with opened(trace) as read:
        processes = [
            (r.name, r.command_line, r.start_ns, r.end_ns, r.exit_status) for r in read.processes
        ]
        assert processes == [
            ("old.exe", "old.exe /a", None, 400_000, 3),
            ("new.exe", "new.exe", 500_000, None, None),
        ]
        modules = [(r.pid, r.path, r.load_ns, r.unload_ns) for r in read.modules]
        assert modules == [
            (PID, "C:\\old.exe", None, 400_000),
            (0, "D:\\Windows\\System32\\ntoskrnl.exe", None, None),
            (PID, "C:\\new.exe", 501_000, None),
            (PID, "wrong:\\Mup\\srv\\x.dll", 502_000, 600_000),
            (0, "D:\\Windows\\x.sys", None, None),
        ]
        places = [
            (PID, 0x7FF600000000, 200_000, 0),
            (PID, 0x7FF60000FFFF, 200_000, 0),
            (PID, 0x7FF600010000, 200_000, None),
            (PID, 0x7FF600010000, 550_000, 2),
            (PID, 0x7FF600000000, 450_000, None),
            (PID, 0x7FF700000FFF, 550_000, 3),
            (PID, 0x7FF700000FFF, 650_000, None),
            (PID, 0xFFFFF80000000FFF, 0, 1),
            (PID, 0xFFFFF80000001000, 0, None),
            (17, 0x7FF600000000, 200_000, None),
        ]
        for pid, address, time_ns, row in places:
            assert read.module_at(pid, address, time_ns) == row, (hex(address), time_ns)


# ---- what is missing ----------------------------------------------------------------------------


def test_losses_are_said() -> None:
    trace = Trace(events_lost=2_386_914, buffers_lost=7)
    alloc(trace, 2000)
    with opened(trace) as read:
        quality = read.quality
    assert (quality["events_lost"], quality["buffers_lost"]) == (2_386_914, 7)
    assert quality["complete"] is False
    assert quality["messages"] == [
        "The recorder lost 2,386,914 events.",
        "The recorder lost 7 buffers.",
    ]


def test_a_gap_in_the_sequence_is_no_loss() -> None:
    trace = Trace(cpus=2)
    for number in range(10):
        alloc(trace, 2000 + number, cpu=number % 2)
    with opened(trace, per_buffer=2, first_sequence=500) as read:
        assert read.quality["sequence_gaps"] == 1
        assert read.quality["complete"] is True
        assert read.quality["messages"] == []


def test_a_cut_file_gives_what_is_there() -> None:
    trace = Trace()
    for number in range(100):
        alloc(trace, 2000 + number, address=0x20000 + 64 * number)
    data = trace.to_bytes(per_buffer=20)
    with th.open_trace(data[: len(data) - 65_536 - 65_000]) as read:
        rows = heap_rows(read)
        quality = read.quality
    assert 60 < len(rows) < 80
    assert [row[6] for row in rows] == [0x20000 + 64 * number for number in range(len(rows))]
    assert quality["truncated"] is True
    assert quality["complete"] is False
    assert quality["messages"][0] == "The file is cut off inside a buffer or an event."


def test_a_session_that_was_never_finished_is_read_to_the_end() -> None:
    trace = Trace(finished=False)
    for number in range(100):
        alloc(trace, 2000 + number)
    with opened(trace, per_buffer=20) as read:
        assert len(heap_rows(read)) == 100
        assert read.info["file"]["end"] is None
        assert read.info["file"]["duration_ns"] == 109_900
        assert read.quality["complete"] is False
        assert read.quality["messages"] == [
            "The session was never finished: the end of the recording may be missing."
        ]


def test_header_alone() -> None:
    with opened(Trace()) as read:
        assert list(read.heap_events()) == []
        assert read.info["counts"]["events"] == 2
        assert read.info["counts"]["buffers"] == 1
        assert read.quality["stack_coverage"] is None
        assert (len(read.processes), len(read.stacks), len(read.frames)) == (0, 0, 0)
        assert read.quality["complete"] is True


@pytest.mark.parametrize("value", [0, 0xFFFFFFFF])
def test_records_that_end_a_buffer(value: int) -> None:
    """A record of length 0 or a mark of ones ends its buffer; the others are read."""
    trace = Trace()
    for number in range(40):
        alloc(trace, 2000 + number)
    data = bytearray(trace.to_bytes(per_buffer=20))
    at = 65_536 + 0x48 + 5 * 64
    if value:
        data[at : at + 4] = struct.pack("<I", value)
    else:
        data[at + 4 : at + 6] = b"\0\0"
    with th.open_trace(bytes(data)) as read:
        assert len(heap_rows(read)) == 25
        assert read.quality["bad_events"] == (0 if value else 1)
