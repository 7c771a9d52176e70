"""The notes beside a trace: taken over the scripted system, written, read, used by the reader."""

from __future__ import annotations

import contextlib
import json
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolhelp as th
from etlmaker import Trace
from toolhelp.sidecar import Sidecar, SidecarModule, SidecarProcess, pdb_identity, sidecar_path

GUID = "00112233445566778899AABBCCDDEEFF"
FT = 116_444_736_000_000_000  # 1970


def utc(seconds: float) -> str:
    return f"1970-01-01T00:00:{seconds:09.6f}Z"


def notes_of_a_process() -> Sidecar:
    """Looked at thrice, a second apart: a module came, one went, the process ended at 2.5 s."""
    frequency = 10_000_000
    raw = [1000 + i * frequency for i in range(4)]
    return Sidecar(
        clock=1,
        frequency=frequency,
        points=[{"raw": r, "utc": utc(i)} for i, r in enumerate(raw)],
        processes=[
            SidecarProcess(9, "a.exe", "C:\\a.exe", 1, FT + 25_000_000, 64, 0x20000, raw[0], raw[2])
        ],
        modules=[
            SidecarModule(
                9, 0x1000, 0x100, "a.exe", "C:\\a.exe", raw[0], raw[2], 7, "a.pdb", GUID, 3
            ),
            SidecarModule(9, 0x2000, 0x100, "gone.dll", "C:\\gone.dll", raw[0], raw[0]),
            SidecarModule(9, 0x3000, 0x100, "late.dll", "C:\\late.dll", raw[2], raw[2]),
        ],
    )  # fmt: skip


def trace_of_a_process(folder: Path) -> Path:
    made = Trace(t0=1000)
    for i in range(35):
        time = 2000 + i * 1_000_000
        made.heap_alloc(time, 0, 9, 1, 0x20000, 10, 0x5000 + 64 * i, stack=(0x1010, 0x3010))
    path = folder / "app.etl"
    path.write_bytes(made.to_bytes())
    return path


@pytest.mark.needs("core")
class TestReader:
    def test_modules_and_processes_of_a_heap_trace(self, tmp_path):
        path = trace_of_a_process(tmp_path)
        with th.open_trace(path) as trace:
            assert (len(trace.modules), len(trace.processes)) == (0, 0)
        notes_of_a_process().write(sidecar_path(path))
        with th.open_trace(path) as trace:
            found = {row.name: row for row in trace.modules}
            assert set(found) == {"a.exe", "gone.dll", "late.dll"}
            assert found["a.exe"].path == "C:\\a.exe"
            assert found["a.exe"].load_ns is None
            assert (found["a.exe"].pdb_name, found["a.exe"].pdb_age) == ("a.pdb", 3)
            assert found["a.exe"].pdb_guid.replace("-", "").upper() == GUID
            assert found["a.exe"].timestamp == 7
            assert found["gone.dll"].unload_ns == 1_000_000_000
            assert found["late.dll"].load_ns == 1_000_000_000
            (process,) = trace.processes
            assert (process.pid, process.name) == (9, "a.exe")
            assert process.end_ns == 2_600_000_000
            analysis = trace.analyze()
            names = [frame.module for frame in analysis.frames(analysis.stacks[0])]
            assert names[0] == "a.exe"
            # Blocks of 26 events at 0.1 s each lived when the process ended.
            assert [row.live_blocks for row in analysis.processes] == [26, 9]

    def test_notes_that_cannot_be_used(self, tmp_path):
        path = trace_of_a_process(tmp_path)
        sidecar_path(path).write_text("{")
        with th.open_trace(path) as trace:
            assert len(trace.modules) == 0
            assert "The notes beside the trace cannot be used" in trace.quality["messages"][0]
            assert trace.info["counts"]["heap_events"] == {"alloc": 35}


def test_written_and_read_again(tmp_path):
    made = notes_of_a_process()
    made.errors.append({"pid": 4, "function": "OpenProcess", "winerror": 5})
    path = tmp_path / "x.json"
    made.write(path)
    assert Sidecar.read(path) == made
    found = json.loads(path.read_text())
    assert (found["format"], found["version"]) == ("toolhelp.modules", 1)
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"version": 2},
        {"clock": {"type": "x", "frequency": 1}},
        {"points": [{"raw": 1, "utc": "yesterday"}]},
        {"points": [{"raw": 1, "utc": "2020-01-01T00:00:00"}]},
        {"points": [{"raw": True, "utc": utc(1)}]},
        {"processes": [{"pid": 1}]},
        {"modules": [{"pid": 1, "surprise": 2}]},
        {"modules": 5},
    ],
)
def test_what_is_no_such_file(tmp_path, change):
    path = tmp_path / "x.json"
    path.write_text(json.dumps({**notes_of_a_process().to_dict(), **change}))
    with pytest.raises(th.CorruptTrace):
        Sidecar.read(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pid", -1), ("pid", 2**32), ("base", -1), ("size", 2**64), ("name", None), ("path", 5),
        ("pdb_guid", "x"), ("pdb_age", -1), ("pdb_age", 2**32), ("timestamp", 2**32),
        ("first_raw", None), ("first_raw", 2**62), ("path", "x" * 40000),
    ],
)  # fmt: skip
def test_modules_out_of_range(tmp_path, name, value):
    found = notes_of_a_process().to_dict()
    found["modules"][0][name] = value
    path = tmp_path / "x.json"
    path.write_text(json.dumps(found))
    with pytest.raises(th.CorruptTrace):
        Sidecar.read(path)


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["format", "version", "clock", "points", "processes", "modules", "errors",
                         "type", "frequency", "raw", "utc", "pid"]), inner, max_size=5),
    max_leaves=12,
))  # fmt: skip
def test_any_json_at_all(found):
    with contextlib.suppress(th.CorruptTrace, ValueError, KeyError, TypeError, AttributeError):
        Sidecar._from_json(found)


# ----- taken --------------------------------------------------------------------------------------


@pytest.mark.needs("fake")
class TestTaken:
    def test_start_update_stop(self, etw, tmp_path):
        path = tmp_path / "app.etl"
        etw.fake_process(77, 1, "b.exe", machine=0x14C)
        etw.fake_module(77, 0x400000, 0x2000, "b.exe", "C:\\b.exe")
        with th.HeapTrace([1234], path=path) as trace:
            first = Sidecar.read(trace.sidecar_path)
            assert [m.name for m in first.modules] == ["app.exe"]
            (process,) = first.processes
            assert (process.pid, process.name, process.bits) == (1234, "app.exe", 64)
            assert process.default_heap == 0x20000
            assert process.exited is None
            etw.fake_etw(raw_clock=5000)
            etw.fake_module(1234, 0x7FF610000000, 0x1000, "late.dll", "C:\\late.dll")
            trace.update(pids=[1234, 77])
            etw.fake_etw(raw_clock=9000)
            etw.fake_change(1234, exit_code=0)
        last = Sidecar.read(trace.sidecar_path)
        assert [point["raw"] for point in last.points] == [1000, 5000, 9000]
        assert [(m.pid, m.name, m.first_raw, m.last_raw) for m in last.modules] == [
            (1234, "app.exe", 1000, 5000),
            (1234, "late.dll", 5000, 5000),
            (77, "b.exe", 5000, 9000),
        ]
        assert [(p.pid, p.bits, p.first_raw, p.last_raw) for p in last.processes] == [
            (1234, 64, 1000, 5000),
            (77, 32, 5000, 9000),
        ]
        assert last.processes[0].exited is not None
        assert last.frequency == 10_000_000

    def test_now_and_then(self, etw, tmp_path):
        import time

        path = tmp_path / "app.etl"
        with th.HeapTrace([1234], path=path, module_seconds=0.05) as trace:
            end = time.monotonic() + 10
            while len(trace.sidecar.points) < 4 and time.monotonic() < end:
                time.sleep(0.01)
        assert len(Sidecar.read(trace.sidecar_path).points) >= 5

    def test_what_may_not_be_looked_at(self, etw, tmp_path):
        etw.fake_process(50, 1, "protected.exe", open_error=5)
        with th.HeapTrace([50], path=tmp_path / "app.etl") as trace:
            pass
        found = Sidecar.read(trace.sidecar_path)
        assert found.errors == [{"pid": 50, "function": "OpenProcess", "winerror": 5}]
        assert found.modules == []

    def test_a_full_disk_does_not_keep_the_session(self, etw, tmp_path):
        folder = tmp_path / "gone"
        folder.mkdir()
        trace = th.HeapTrace([1234], path=folder / "app.etl").start()
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
        with pytest.raises(FileNotFoundError):
            trace.stop()
        assert trace.state == "stopped"

    def test_modules_false(self, etw, tmp_path):
        with th.HeapTrace([1234], path=tmp_path / "app.etl", modules=False) as trace:
            assert trace.sidecar is None
        assert list(tmp_path.iterdir()) == []


# ----- identity of images -------------------------------------------------------------------------


def image(path: Path, *, wide: bool = True, rsds: bool = True) -> None:
    """A PE file with one section and, with `rsds`, a CodeView record."""
    optional = bytearray(240 if wide else 224)
    struct.pack_into("<H", optional, 0, 0x20B if wide else 0x10B)
    struct.pack_into("<I", optional, 56, 0x5000)
    directory = (112 if wide else 96) + 48
    data = b"RSDS" + bytes(range(16)) + struct.pack("<I", 5) + "ä.pdb".encode() + b"\0"
    if rsds:
        struct.pack_into("<II", optional, directory, 0x1010, 28)
    head = b"MZ" + bytes(58) + struct.pack("<I", 64)
    head += b"PE\0\0" + struct.pack("<HHIIIHH", 0x8664, 1, 0x5F000001, 0, 0, len(optional), 0)
    section = b".rdata\0\0" + struct.pack("<IIIIIIHHI", 0x200, 0x1000, 0x200, 0x400, 0, 0, 0, 0, 0)
    body = (head + bytes(optional) + section).ljust(0x410, b"\0")
    body += struct.pack("<IIHHIIII", 0, 0, 0, 0, 2, len(data), 0x1040, 0x440)
    path.write_bytes(body.ljust(0x440, b"\0") + data)


@pytest.mark.parametrize("wide", [True, False])
def test_identity_of_an_image(tmp_path, wide):
    path = tmp_path / "a.exe"
    image(path, wide=wide)
    found = pdb_identity(path)
    assert (found.timestamp, found.size) == (0x5F000001, 0x5000)
    assert found.pdb_guid == "03020100050407060" + "8090A0B0C0D0E0F"
    assert (found.pdb_name, found.pdb_age) == ("ä.pdb", 5)
    image(path, wide=wide, rsds=False)
    assert pdb_identity(path).pdb_guid is None


def test_what_is_no_image(tmp_path):
    path = tmp_path / "a.exe"
    assert pdb_identity(path) is None
    image(path)
    whole = path.read_bytes()
    for size in range(0, len(whole), 7):
        path.write_bytes(whole[:size])
        found = pdb_identity(path)
        assert found is None or found.timestamp == 0x5F000001
