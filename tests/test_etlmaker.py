"""The writer of synthetic traces, judged by the reference reader and by what it was told to write.

All files here are synthetic: agreement shows that writer and readers understand the format alike.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings

import etlref
import etlstrategies
from etlmaker import Trace, pack
from etlmaker.large import Load, Repeated, heap_buffers
from etlref.unpack import FORMATS


@settings(max_examples=150, deadline=None, print_blob=True)
@given(etlstrategies.traces(etlstrategies.MODELLED, 40))
def test_reader_finds_what_was_written(made: etlstrategies.Made) -> None:
    result = etlref.decode(made.data)
    assert result.heap_events == made.trace.expected_rows()
    assert result.quality["complete"] is True
    assert result.info["counts"]["events"] == len(made.trace.items) + 2


@settings(max_examples=150, deadline=None, print_blob=True)
@given(etlstrategies.traces((*etlstrategies.ALL, *etlstrategies.DAMAGE), 40))
def test_any_file_is_read_or_refused(made: etlstrategies.Made) -> None:
    try:
        result = etlref.decode(made.data)
    except etlref.Corrupt as refusal:
        refused_at = refusal.offset
    else:
        raws = [event.raw for event in result.events]
        assert raws == sorted(raws)
        if not made.features & {*etlstrategies.FAULTS, *etlstrategies.DAMAGE}:
            assert result.quality["complete"] is True
            assert len(raws) == len(made.trace.items) + 2
        return
    assert refused_at in (0, 0x48)
    assert made.features & {"cut", "flips"}


def blob(rng: random.Random, size: int) -> bytes:
    """Bytes with runs, near and far repeats."""
    out = bytearray(rng.randbytes(8))
    while len(out) < size:
        choice = rng.random()
        if choice < 0.3:
            out += rng.randbytes(rng.randint(1, 20))
        elif choice < 0.35:
            out += bytes([rng.getrandbits(8)]) * rng.choice([5, 30, 300, 5000, 70000])
        else:
            distance = rng.randint(1, min(len(out), rng.choice([10, 100, 8000, 70000])))
            for _ in range(rng.randint(3, 100)):
                out.append(out[-distance])
    return bytes(out[:size])


SIZES = (1, 2, 3, 7, 100, 4095, 4096, 4097, 65535, 65536, 65537, 150_000)


@pytest.mark.parametrize("name", pack.FORMATS)
@pytest.mark.parametrize("size", SIZES)
def test_packing(name: str, size: int) -> None:
    number, compress = pack.FORMATS[name]
    data = blob(random.Random(size), size)
    packed = compress(data)
    assert FORMATS[number](packed, size) == data
    if size > 1000:
        assert len(packed) < size


@pytest.mark.parametrize("name", pack.FORMATS)
@pytest.mark.parametrize("size", SIZES)
def test_packing_against_another_library(name: str, size: int) -> None:
    compression = pytest.importorskip(
        "dissect.util.compression", reason="dissect.util (test-only oracle) is not installed"
    )
    module = {"xpress": "lzxpress"}.get(name, name.replace("xpress_huff", "lzxpress_huff"))
    rng = random.Random(size)
    data = blob(rng, size)
    oracle = __import__(f"{compression.__name__}.{module}", fromlist=["decompress"]).decompress
    compress = pack.FORMATS[name][1]
    if name == "xpress_huffman":  # it stops with the input, up to 32 bits before the output ends
        assert oracle(compress(data + rng.randbytes(100))).startswith(data)
    else:
        assert oracle(compress(data)) == data


# ---- single rules, each on a file made for it ---------------------------------------------------


def decode(trace: Trace, **options: Any) -> etlref.Result:
    return etlref.decode(trace.to_bytes(**options))


def test_lengths_of_heap_payloads() -> None:
    """Alloc, ReAlloc, Free and Create v3 have 28, 44, 20 and 36 bytes on x64 in a public account
    of a real recording."""
    trace = Trace()
    trace.heap_alloc(2000, 0, 1, 2, 3, 4, 5)
    trace.heap_realloc(2001, 0, 1, 2, 3, 4, 5, 6, 7)
    trace.heap_free(2002, 0, 1, 2, 3, 4)
    trace.heap_create(2003, 0, 1, 2, 3)
    payloads = [len(e.payload) for e in decode(trace).events if e.cls == "Heap"]
    assert payloads == [28, 44, 20, 36]


def test_stacks_of_equal_times_in_the_next_buffer_in_reverse_order() -> None:
    trace = Trace(cpus=2)
    trace.heap_alloc(2000, 0, 1, 10, 3, 4, 5)
    trace.heap_alloc(2000, 1, 1, 11, 3, 4, 6)
    trace.stack(2005, 0, 2000, 1, 11, (0x11,))
    trace.stack(2006, 0, 2000, 1, 10, (0x10,))
    rows = decode(trace, per_buffer=1).heap_events
    assert [(row[3], row[-1]) for row in rows] == [(10, (0x10,)), (11, (0x11,))]


def test_key_reuse() -> None:
    trace = Trace()
    for time, frames in ((2000, (1, 2)), (3000, (3, 4))):
        trace.heap_alloc(time, 0, 1, 2, 3, 4, 5)
        trace.stack_key(time + 1, 0, time, 1, 2, 77)
        trace.key_definition(time + 500, 0, 77, frames, op=35)
    trace.heap_alloc(4000, 0, 1, 2, 3, 4, 5)
    trace.stack_key(4001, 0, 4000, 1, 2, 77)
    result = decode(trace)
    assert [row[-1] for row in result.heap_events] == [(1, 2), (3, 4), None]
    assert result.counters["unresolved_keys"] == 1
    assert result.quality["stack_coverage"] == pytest.approx(2 / 3)


def test_kernel_part_waits_for_the_user_part() -> None:
    trace = Trace()
    trace.heap_alloc(2000, 0, 1, 2, 3, 4, 5)
    trace.heap_alloc(2010, 0, 1, 2, 3, 4, 6)
    trace.stack(2011, 0, 2000, 1, 2, (9, 1 << 63))
    trace.stack(2012, 0, 2010, 1, 2, (8, 1 << 63 | 1))
    trace.stack(2013, 0, 2010, 1, 2, (7,))
    assert [row[-1] for row in decode(trace).heap_events] == [
        (9, 1 << 63, 7),
        (8, 1 << 63 | 1, 7),
    ]


def test_wow64_events_in_a_64_bit_file() -> None:
    trace = Trace()
    trace.heap_alloc(2000, 0, 1, 2, 0x1000, 64, 0xFFFF0000, pointer_size=4, stack=(1, 0xF0000000))
    trace.heap_alloc(2100, 0, 1, 2, 0x1000, 64, 0xFFFFFFFFFFFF0000, stack=(1, 2))
    result = decode(trace)
    assert result.heap_events == trace.expected_rows()
    headers = result.info["counts"]["events_by_header"]
    assert (headers["SYSTEM32"], headers["PERFINFO32"]) == (1, 1)


def test_processor_number_without_its_flag() -> None:
    trace = Trace(cpus=4)
    trace.heap_destroy(2000, 3, 1, 2, 3)
    for flag in (True, False):
        assert [row[1] for row in decode(trace, proc_index=flag).heap_events] == [3]


@pytest.mark.parametrize(
    ("clock", "ticks", "expected"),
    [(1, 7, 700), (2, 7, 700), (3, 7, 2), (1, -1, -100), (3, -1, -1), (1, 1 << 61, 1 << 63)],
)
def test_clocks(clock: int, ticks: int, expected: int) -> None:
    trace = Trace(clock=clock, t0=1 << 20)
    trace.heap_destroy((1 << 20) + ticks, 0, 1, 2, 3)
    assert decode(trace).heap_events[0][0] == min(expected, (1 << 63) - 1)


def test_unfinished_file_is_read_to_its_end() -> None:
    trace = Trace(finished=False)
    trace.heap_alloc(2000, 0, 1, 2, 3, 4, 5)
    result = decode(trace)
    assert len(result.heap_events) == 1
    assert result.info["file"]["end"] is None
    assert result.info["file"]["duration_ns"] == 100_000
    assert (result.quality["complete"], result.quality["truncated"]) == (False, False)


def test_cut_in_the_middle_of_an_event() -> None:
    trace = Trace()
    for index in range(10):
        trace.heap_alloc(2000 + index, 0, 1, 2, 3, 4, 5)
    keep = trace.buffer_size + 0x48 + 5 * 64 + 30
    quality = (result := decode(trace, cut=keep)).quality
    assert len(result.heap_events) == 5
    assert (quality["truncated"], quality["bytes_skipped"], quality["bad_events"]) == (True, 30, 0)


def test_cut_packed_buffer_is_skipped() -> None:
    trace = Trace()
    for index in range(100):
        trace.heap_alloc(2000 + index, 0, 1, 2, 3, 4, 5)
    whole = trace.to_bytes(compression="xpress")
    quality = etlref.decode(whole[:-1]).quality
    assert quality["bytes_skipped"] == len(whole) - 1 - trace.buffer_size
    assert (quality["truncated"], quality["buffers_skipped"]) == (True, 1)


def test_sequence_gap_is_not_a_loss() -> None:
    trace = Trace()
    for index in range(6):
        trace.heap_alloc(2000 + index, 0, 1, 2, 3, 4, 5 + index)
    result = decode(trace, per_buffer=1, circular=True)
    assert [row[6] for row in result.heap_events] == [5, 6, 7, 8, 9, 10]
    assert (result.quality["sequence_gaps"], result.quality["complete"]) == (1, True)


def test_losses() -> None:
    trace = Trace(events_lost=2_386_914, buffers_lost=7)
    quality = decode(trace).quality
    assert (quality["events_lost"], quality["buffers_lost"]) == (2_386_914, 7)
    assert quality["complete"] is False
    trace = Trace()
    trace.heap_destroy(2000, 0, 1, 2, 3)
    result = decode(trace, lost_flags={0: 4})
    assert (result.counters["lost_flags"], result.quality["complete"]) == (1, False)


def test_rows_of_processes_threads_and_modules() -> None:
    trace = Trace(t0=0)
    trace.process(3, 10, 0, 100, name="old.exe")
    trace.image(3, 11, 0, 100, 0x10000, 0x1000, "\\a.dll")
    trace.process(2, 20, 0, 100, exit_status=3)
    trace.process(1, 30, 0, 100, name="new.exe", flags=2)
    trace.thread(1, 31, 0, 100, 7, 0x7000)
    trace.debug_id(32, 0, 100, 0x10000, bytes(range(16)), 4, "b.pdb")
    trace.image(10, 32, 0, 100, 0x10000, 0x2000, "\\b.dll", timestamp=5, checksum=6)
    trace.image(2, 40, 0, 100, 0x10000, 0x2000, "\\b.dll")
    trace.thread(2, 41, 0, 100, 7, 0x7000)
    result = decode(trace)
    assert [(p.name, p.start_ns, p.end_ns, p.exit_status, p.wow64) for p in result.processes] == [
        ("old.exe", None, 2000, 3, False),
        ("new.exe", 3000, None, None, True),
    ]
    assert [(m.path, m.load_ns, m.unload_ns, m.pdb_name) for m in result.modules] == [
        ("\\a.dll", None, 2000, None),
        ("\\b.dll", 3200, 4000, "b.pdb"),
    ]
    assert result.modules[1].pdb_guid == "03020100050407060809" + "0A0B0C0D0E0F"
    assert [(t.tid, t.pid, t.start_ns, t.end_ns, t.start_address) for t in result.threads] == [
        (7, 100, 3100, 4100, 0x7000)
    ]


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize("width", [4, 8])
@pytest.mark.parametrize("sid", ["none", "user", "zero_user"])
@pytest.mark.parametrize("other", [False, True])
def test_process_layouts(version: int, width: int, sid: str, other: bool) -> None:
    """Also with the payload of the other width in a FULL header."""
    trace = Trace()
    more = {"header": "FULL", "payload_width": width} if other else {}
    given_width = 12 - width if other else width
    trace.process(
        3, 2000, 0, 77, 5, "größe.exe", "a b", version=version, sid_style=sid,
        pointer_size=given_width, **more,
    )  # fmt: skip
    (row,) = decode(trace).processes
    command = "a b" if version >= 2 else None
    assert (row.pid, row.ppid, row.name, row.command_line) == (77, 5, "größe.exe", command)


# ---- large files --------------------------------------------------------------------------------


def replay(result: etlref.Result) -> dict[tuple[int, int], int]:
    """Live blocks at the end; any event that does not fit is an error."""
    live: dict[tuple[int, int], int] = {}
    for row in result.heap_events:
        pid, kind, address, size = row[2], row[4], row[6], row[7]
        if kind == "alloc":
            assert (pid, address) not in live
            live[pid, address] = size
        elif kind == "free":
            del live[pid, address]
        else:
            assert live[pid, address] == row[9]
            live[pid, address] = size
    return live


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_large_load_is_consistent(share: float) -> None:
    load = Load(events=5000, seed=2, live=500, wow64_share=share, unique_stacks=50)
    result = etlref.decode(b"".join(heap_buffers(load)))
    assert sum(result.info["counts"]["heap_events"].values()) == 5000
    assert len({row[-1] for row in result.heap_events if row[-1]}) <= 100
    assert result.quality["stack_coverage"] == 1
    assert result.quality["complete"] is True
    assert 300 < len(replay(result)) < 700


def test_repeated_load() -> None:
    pytest.importorskip("numpy", reason="NumPy stamps the repeated buffers")
    blocks = list(heap_buffers(Load(events=1500, seed=5, live=100, drain=True, cpus=2)))
    once = etlref.decode(b"".join(blocks))
    thrice = etlref.decode(Repeated(blocks, 3).read())
    assert replay(once) == replay(thrice) == {}
    assert len(thrice.heap_events) == 3 * len(once.heap_events)
    assert thrice.quality["stack_coverage"] == 1
    assert thrice.counters["unordered_streams"] == 0
