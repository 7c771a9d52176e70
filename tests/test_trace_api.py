"""open_trace and Trace: inputs, archives, iterators, threads, interrupts."""

from __future__ import annotations

import gzip
import io
import os
import re
import signal
import struct
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import children
import toolhelp as th
from etlmaker import Trace
from etlmaker.large import Load, Repeated, heap_buffers
from tracecompare import heap_rows

T0 = 64_500_090_759
ALLOC = (16, 4242, 5000, "alloc", 0x10000, 0x20000, 64)


def small_trace() -> Trace:
    trace = Trace(cpus=2, t0=T0)
    trace.heap_create(T0 + 10, 0, pid=4242, tid=5000, heap=0x10000)
    trace.heap_alloc(T0 + 20, 0, 4242, 5000, 0x10000, 64, 0x20000, stack=(0x7FF1, 0x7FF2))
    trace.heap_free(T0 + 30, 1, 4242, 5001, 0x10000, 0x20000)
    return trace


@pytest.fixture(scope="module")
def data() -> bytes:
    return small_trace().to_bytes()


@pytest.fixture(scope="module")
def large() -> list[bytes]:
    return list(heap_buffers(Load(events=30_000, unique_stacks=50, drain=True)))


class Pipe(io.RawIOBase):
    """A binary stream that cannot seek and gives little at a time."""

    def __init__(self, data: bytes) -> None:
        self._rest = data

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._rest[: min(len(buffer), 1000)]
        self._rest = self._rest[len(part) :]
        buffer[: len(part)] = part
        return len(part)


def zipped(**members: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/").replace("_etl", ".etl"), content)
    return made.getvalue()


def diagsession(data: bytes, others: dict[str, bytes]) -> bytes:
    """As Visual Studio writes it: metadata.xml says which member is the trace."""
    metadata = (
        '<?xml version="1.0" encoding="utf-8"?>'
        '<Package xmlns="urn:diagnosticshub-package-metadata-2-1"><Content>'
        '<Resource CompressionOption="notCompressed" Id="sc.user_aux.1" IsDirectoryOnDisk="false" '
        'Name="sc.user_aux.etl" ResourcePackageUriPrefix="8f2a" '
        'Type="DiagnosticsHub.Resource.EtlFile"/>'
        '<Resource Id="x" Name="other.bin" ResourcePackageUriPrefix="8f2b" Type="Other"/>'
        "</Content></Package>"
    )
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("metadata.xml", metadata)
        archive.writestr("8f2a/sc.user_aux.etl", data)
        for name, content in others.items():
            archive.writestr(name, content)
    return made.getvalue()


def zstd(data: bytes) -> bytes:
    try:
        from compression import zstd as module  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        module = pytest.importorskip(
            "backports.zstd", reason="zstd needs Python 3.14 or backports.zstd"
        )
    return module.compress(data)  # type: ignore[no-any-return, unused-ignore]


def test_rows(data: bytes) -> None:
    with th.open_trace(data) as trace:
        [batch] = trace.heap_events()
        assert batch.columns == (
            *("time_ns", "cpu", "pid", "tid", "kind", "heap", "address", "size"),
            *("old_address", "old_size", "source", "stack_id"),
        )
        create, alloc, free = batch
        assert tuple(create) == (
            *(1000, 0, 4242, 5000, "create", 0x10000, None, None, None, None, None, None),
        )
        assert alloc.time_ns == 2000
        assert (alloc.kind, alloc.address, alloc.size, alloc.stack_id) == ("alloc", 0x20000, 64, 0)
        assert (free.kind, free.cpu, free.tid, free.address, free.size, free.stack_id) == (
            *("free", 1, 5001, 0x20000, None, None),
        )
        [stack] = trace.stacks
        assert (stack.stack_id, list(stack.frames), stack.same_as) == (0, [0x7FF1, 0x7FF2], None)
        assert [tuple(row) for row in trace.frames] == [(0x7FF1, 1), (0x7FF2, 1)]
        assert trace.quality["complete"] is True
        assert trace.quality["messages"] == []
        assert trace.quality["stack_coverage"] == 1.0
        assert trace.info["counts"]["heap_events"] == {"create": 1, "alloc": 1, "free": 1}


def inputs(data: bytes, folder: Path) -> Iterator[tuple[str, Any]]:
    path = folder / "t.etl"
    path.write_bytes(data)
    yield "path", path
    yield "text path", os.fspath(path)
    yield "bytes", data
    yield "bytearray", bytearray(data)
    yield "memoryview", memoryview(data)
    yield "array of words", memoryview(data + bytes(-len(data) % 8)).cast("Q")
    yield "BytesIO", io.BytesIO(data)
    yield "pipe", Pipe(data)
    yield "zip", io.BytesIO(zipped(a__t_etl=data, readme=b"x"))
    yield "zip bytes", zipped(T_etl=data)
    yield "gzip", gzip.compress(data)
    yield "gzip pipe", Pipe(gzip.compress(data))
    yield "diagsession", diagsession(data, {"other.etl": b"not this one"})
    for name, content in (("z.zip", zipped(t_etl=data)), ("z.gz", gzip.compress(data))):
        packed = folder / name
        packed.write_bytes(content)
        yield name, packed


def test_every_input_gives_the_same(data: bytes, tmp_path: Path) -> None:
    with th.open_trace(data) as trace:
        expected = heap_rows(trace)
    seen = 0
    for name, source in inputs(data, tmp_path):
        with th.open_trace(source) as trace:
            assert heap_rows(trace) == expected, name
        seen += 1
    assert seen == 15


def test_open_file_stays_open(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.etl"
    path.write_bytes(data)
    with path.open("rb") as file:
        with th.open_trace(file) as trace:
            assert len(heap_rows(trace)) == 3
        assert not file.closed


def test_zstd(data: bytes) -> None:
    with th.open_trace(zstd(data)) as trace:
        assert len(heap_rows(trace)) == 3
    with pytest.raises(th.CorruptTrace, match="damaged"):
        th.open_trace(zstd(data)[:-20])


def test_archives_that_cannot_be_read(data: bytes) -> None:
    with pytest.raises(th.CorruptTrace, match=r"holds no \.etl"):
        th.open_trace(zipped(readme=b"x"))
    two = zipped(a_etl=data, b_etl=data)
    several = r"several traces; choose one with --member \(member=\): a\.etl, b\.etl"
    with pytest.raises(th.CorruptTrace, match=several):
        th.open_trace(two)
    with th.open_trace(two, member="b.etl") as trace:
        assert len(heap_rows(trace)) == 3
    with pytest.raises(th.CorruptTrace, match="no member"):
        th.open_trace(two, member="c.etl")
    with pytest.raises(th.CorruptTrace, match="damaged"):
        th.open_trace(gzip.compress(data)[:-30])
    with pytest.raises(th.CorruptTrace, match="damaged"):
        th.open_trace(zipped(t_etl=data)[:-30])
    with pytest.raises(th.CorruptTrace, match="compound file"):
        th.open_trace(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))


def test_what_is_no_trace_says_what_is(data: bytes, tmp_path: Path) -> None:
    for wrong in (3.5, None, 7, [[data]], object()):
        said = f"a trace is a path, bytes, .*binary file object, not {type(wrong).__name__}"
        with pytest.raises(TypeError, match=said):
            th.open_trace(wrong)  # type: ignore[arg-type]


def test_member_needs_an_archive(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.etl"
    path.write_bytes(data)
    for source in (path, data, io.BytesIO(data), Pipe(data), gzip.compress(data)):
        with pytest.raises(ValueError, match=r"chooses a file of a \.zip or \.diagsession"):
            th.open_trace(source, member="a.etl")


def test_ceilings_of_archives(data: bytes) -> None:
    with pytest.raises(th.CorruptTrace, match="more than 1,000 bytes"):
        th.open_trace(gzip.compress(data), max_expand=1000)
    with pytest.raises(th.CorruptTrace, match="more than 1,000 bytes"):
        th.open_trace(Pipe(data), max_expand=1000)
    with pytest.raises(th.CorruptTrace, match="1,000 times its size"):
        th.open_trace(gzip.compress(bytes(16 << 20)))


def test_what_is_no_trace(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        th.open_trace(tmp_path / "no.etl")
    assert missing.value.filename == os.fspath(tmp_path / "no.etl")
    with pytest.raises(IsADirectoryError if os.name == "posix" else PermissionError):
        th.open_trace(tmp_path)
    with pytest.raises(TypeError, match="binary"):
        th.open_trace(io.StringIO("text"))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        th.open_trace(17)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="threads"):
        th.open_trace(b"", threads=-1)
    for size in (0, 71, 72, 73):
        with pytest.raises(th.CorruptTrace) as caught:
            th.open_trace(bytes(size))
        assert caught.value.offset == 0


def test_reader_errors_come_out_as_they_are(large: list[bytes]) -> None:
    class Failing(Repeated):
        left = 2**60

        def readinto(self, buffer: object) -> int:
            if self.left == 0:
                raise ZeroDivisionError("from the reader")
            self.left -= 1
            return super().readinto(buffer)

    file = Failing(large, 4)
    trace = th.open_trace(file, threads=0)
    file.left = 3
    with pytest.raises(ZeroDivisionError, match="from the reader"):
        trace.read()
    file.left = 2**60
    assert sum(len(batch) for batch in trace.heap_events()) > 100_000
    wrong = Failing(large, 4)
    wrong.left = 0
    with pytest.raises(ZeroDivisionError):
        th.open_trace(wrong)


def test_iterators_are_independent(large: list[bytes]) -> None:
    data = b"".join(large)
    trace = th.open_trace(data)
    first, second = trace.heap_events(), trace.heap_events()
    a, b = next(first), next(second)
    assert a == b
    rest_a = [a, *first]
    rest_b = [b, *second]
    assert rest_a == rest_b
    assert sum(map(len, rest_a)) == sum(trace.info["counts"]["heap_events"].values())


def test_batches_that_are_kept_do_not_change(large: list[bytes]) -> None:
    """Tables that were let go of are used again; those that are held are not."""
    file = Repeated(large, 6)
    held, copies = [], []
    for batch in th.open_trace(file, threads=0).heap_events():
        held.append(batch)
        copies.append((list(batch["time_ns"]), list(batch["address"]), list(batch["stack_id"])))
        del batch
        if len(held) > 4:
            held.pop(0)
            copies.pop(0)
        for table, copy in zip(held, copies, strict=True):
            assert (list(table["time_ns"]), list(table["address"]), list(table["stack_id"])) == copy
    column = None
    for batch in th.open_trace(file, threads=0).heap_events():
        if column is None:
            column = memoryview(batch["address"])
            first = column.tolist()
    assert column is not None
    assert column.tolist() == first


def test_threads(large: list[bytes]) -> None:
    """Two traces, and two iterators of one trace, at the same time."""
    file = Repeated(large, 3)
    shared = th.open_trace(file)
    expected = sum(len(batch) for batch in shared.heap_events())
    counts: list[int] = []

    def count(trace: th.Trace) -> None:
        counts.append(sum(len(batch) for batch in trace.heap_events()))
        counts.append(sum(trace.info["counts"]["heap_events"].values()))

    traces = [shared, shared, th.open_trace(b"".join(large)), th.open_trace(Repeated(large, 3))]
    workers = [threading.Thread(target=count, args=(trace,)) for trace in traces]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(counts) == sorted([expected // 3] * 2 + [expected] * 6)


@pytest.mark.parametrize("what", ["heap_events", "events", "blocks"])
def test_threads_share_an_iterator(large: list[bytes], what: str) -> None:
    """Each Table goes to one of them; none is lost, none comes twice."""
    trace = th.open_trace(Repeated(large, 2))
    expected = [table.to_dict() for table in getattr(trace, what)()]
    batches = getattr(trace, what)()
    taken: list[Any] = []
    workers = [threading.Thread(target=lambda: taken.extend(batches)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    found = [table.to_dict() for table in taken]
    assert len(found) == len(expected) > 1
    assert all(table in expected for table in found)
    assert sum(map(len, taken)) == sum(len(next(iter(table.values()))) for table in expected)
    assert next(batches, None) is None


def test_asked_from_within(data: bytes) -> None:
    """An iterator that waited for itself would wait for ever."""
    trace = th.open_trace(data, threads=0)
    batches = trace.heap_events(progress=lambda done, size: next(batches))
    with pytest.raises(ValueError, match="already executing"):
        list(batches)


def test_closed(data: bytes) -> None:
    trace = th.open_trace(data)
    assert repr(trace) == f"<toolhelp.Trace of 'memory', {len(data):,} bytes>"
    batches = trace.heap_events()
    trace.close()
    assert repr(trace) == "<toolhelp.Trace, closed>"
    assert [len(batch) for batch in batches] == [3]
    assert trace.quality["complete"] is True
    trace = th.open_trace(data)
    trace.close()
    for use in (trace.heap_events, trace.events, trace.read):
        with pytest.raises(ValueError, match="closed"):
            use()


def test_kinds(data: bytes) -> None:
    with th.open_trace(data) as trace:
        [everything] = trace.events()
        assert [row.kind for row in everything] == [
            *("other", "other", "heap.create", "heap.alloc", "stack", "heap.free"),
        ] or len(everything) == 6
        [heap] = trace.events("heap")
        assert list(heap["kind"]) == ["heap.create", "heap.alloc", "heap.free"]
        [some] = trace.events(["stack", "heap.free"])
        assert sorted(some["kind"]) == ["heap.free", "stack"]
        stack = next(row for row in some if row.kind == "stack")
        assert (stack.pid, stack.tid, stack.hook, stack.header) == (
            None,
            None,
            0x1820,
            "PERFINFO64",
        )
        assert struct.unpack("<QII2Q", stack.payload) == (T0 + 20, 4242, 5000, 0x7FF1, 0x7FF2)
        assert list(trace.events("lost")) == []
        some = "unknown kind 'heaps'; known are heap, heap.alloc ..., stack, process, thread, "
        with pytest.raises(ValueError, match=re.escape(some)):
            trace.events("heaps")
        every = "known are heap, heap.create, heap.alloc, .*heap.walk, heap.other$"
        with pytest.raises(ValueError, match=every):
            trace.events("heap.nope")


def test_progress(large: list[bytes]) -> None:
    file = Repeated(large, 5)
    told: list[tuple[int, int]] = []
    with th.open_trace(file, threads=0) as trace:
        trace.read(lambda done, total: told.append((done, total)))
    assert len(told) > 5
    assert {total for _, total in told} == {file.size}
    assert told == sorted(told)
    assert file.size // 2 < told[-1][0] <= file.size


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX has them")
def test_interrupt(large: list[bytes]) -> None:
    """Ctrl-C ends a long pass, and the trace can be used afterwards."""
    file = Repeated(large, 300)
    trace = th.open_trace(b"".join(large))
    endless = th.open_trace(file)

    def interrupt() -> None:
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    worker = threading.Thread(target=interrupt)
    worker.start()
    with pytest.raises(KeyboardInterrupt):
        endless.read()
    worker.join()
    assert len(next(endless.heap_events())) == 16384
    assert sum(len(batch) for batch in trace.heap_events()) == 30_000


@pytest.mark.needs("linux", "own-memory")
def test_memory_is_flat() -> None:
    """A trace of 1 GB through a file object; its size does not show."""
    code = """
import sys
import toolhelp as th
from etlmaker.large import Load, Repeated, heap_buffers
blocks = list(heap_buffers(Load(events=40_000, unique_stacks=1000, drain=True)))
used = []

def peak():
    # Not ru_maxrss, which a child inherits from whoever started it.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) // 1024

for times in (20, int(sys.argv[1])):
    file = Repeated(blocks, times)
    with th.open_trace(file) as trace:
        rows = sum(len(batch) for batch in trace.heap_events())
    used.append(peak())
print(file.size, rows, *used)
"""
    pytest.importorskip("numpy", reason="the large file is made with NumPy")
    size, rows, before, after = children.numbers_of(code, "150")
    assert size > 1_000_000_000
    assert rows == 6_000_000
    assert after - before <= 20
    assert after <= 200
