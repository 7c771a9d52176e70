"""Snapshots saved and loaded again; files that are damaged or lie."""

from __future__ import annotations

import io
import json
import os
import struct
import subprocess
import zipfile

import pytest

import toolhelp as th
from toolhelp import store

pytestmark = pytest.mark.needs("fake")

START = 133_000_000_000_000_000
TABLES = ("processes", "threads", "modules", "heaps", "heap_sizes", "errors")


@pytest.fixture
def taken(fake):
    fake.fake_system(pid=100)
    fake.fake_process(
        100, name="mé\U0001f600.exe", threads=[1], create_time=START, path="C:\\m.exe"
    )
    fake.fake_process(104, ppid=100, name="locked.exe", open_error=5)
    fake.fake_process(108, ppid=100, name="x86.exe", machine=0x14C, create_time=START + 5)
    fake.fake_module(100, 0x7FF8_0000_0000, 1, "a.dll", "C:\\a.dll")
    fake.fake_heap(100, 0x50000, 1, [(0x50010, 10)])
    return th.snapshot(modules=True, identity=True, heaps="sizes")


FORMATS = ["compact", pytest.param("arrow", marks=pytest.mark.needs("pyarrow"))]


@pytest.mark.parametrize("format", FORMATS)
def test_a_snapshot_comes_back_as_it_was(taken, tmp_path, format):
    path = tmp_path / "a.snap"
    taken.save(path, format)
    loaded = th.load_snapshot(path)
    for name in TABLES:
        assert getattr(loaded, name) == getattr(taken, name), name
    assert loaded.taken_at == taken.taken_at
    assert loaded.processes[1][5:] == (None, None, None)
    assert not taken.diff(loaded)
    assert [n.pid for n in loaded.tree().roots] == [100]
    assert loaded.who_uses("A.DLL").pids == [100]


@pytest.mark.parametrize("format", FORMATS)
def test_what_was_not_taken_is_not_there(fake, tmp_path, format):
    th.snapshot().save(tmp_path / "a.snap", format)
    loaded = th.load_snapshot(tmp_path / "a.snap")
    assert loaded.modules is None
    assert loaded.heaps is None
    assert len(loaded.processes) == 0


def test_lone_surrogates_are_kept_in_the_compact_form(fake, tmp_path):
    fake.fake_process(4, name="a\ud800b")
    th.snapshot().save(tmp_path / "a.snap", "compact")
    assert th.load_snapshot(tmp_path / "a.snap").processes[0].name == "a\ud800b"


def test_slices_are_saved_as_slices(taken, tmp_path):
    import dataclasses

    part = dataclasses.replace(taken, processes=taken.processes[1:])
    part.save(tmp_path / "a.snap", "compact")
    assert th.load_snapshot(tmp_path / "a.snap").processes == taken.processes[1:]


def test_equal_snapshots_make_equal_files(taken):
    files = []
    for _ in range(2):
        files.append(io.BytesIO())
        store.write(taken, files[-1], "compact")
    assert files[0].getvalue() == files[1].getvalue()


def test_the_compact_form_is_the_documented_one(fake):
    fake.fake_process(4, ppid=2, name="ab")
    file = io.BytesIO()
    store.write(th.snapshot(), file, "compact")
    data = zipfile.ZipFile(file).read("processes.cols")
    assert data[:8] == b"THCOLS1\n"
    (size,) = struct.unpack_from("<I", data, 8)
    columns = json.loads(data[12 : 12 + size])["columns"]
    assert [c["name"] for c in columns] == ["pid", "ppid", "name", "num_threads", "base_priority"]
    assert [c["strings"] for c in columns] == [0, 0, 8, 0, 0]
    values = struct.pack("<IIIIHHIi", 4, 2, 0, 2, ord("a"), ord("b"), 0, 8)
    assert data[12 + size :] == values


def rewritten(snapshot, change, meta=None):
    """The file with one member changed."""
    source, target = io.BytesIO(), io.BytesIO()
    store.write(snapshot, source, "compact")
    with zipfile.ZipFile(source) as a, zipfile.ZipFile(target, "w") as b:
        for name in a.namelist():
            data = a.read(name)
            if name == "meta.json" and meta:
                words = json.loads(data)
                meta(words)
                data = json.dumps(words).encode()
            if name != "meta.json" and change:
                data = change(name, data)
            if data is not None:
                b.writestr(name, data)
    return target.getvalue()


def refused(tmp_path, data):
    path = tmp_path / "bad.snap"
    path.write_bytes(data)
    with pytest.raises(th.CorruptTrace, match="no saved snapshot"):
        th.load_snapshot(path)


@pytest.mark.parametrize(
    "meta",
    [
        lambda m: m.update(format="other"),
        lambda m: m.update(version=2),
        lambda m: m.update(taken_at="yesterday"),
        lambda m: m.update(taken_at="2024-01-01T00:00:00"),
        lambda m: m["tables"].pop("threads"),
        lambda m: m["tables"]["threads"].update(kind="Module"),
        lambda m: m["tables"]["threads"].update(member="processes.cols"),
        lambda m: m["tables"]["threads"].update(rows=2**40),
        lambda m: m["tables"]["threads"].update(rows=-1),
        lambda m: m["tables"]["threads"].update(rows="1"),
        lambda m: m["tables"]["threads"].update(rows=2),
        lambda m: m["tables"]["threads"].update(member="missing.cols"),
        lambda m: m.update(tables=3),
    ],
)
def test_meta_that_lies(taken, tmp_path, meta):
    refused(tmp_path, rewritten(taken, None, meta))


def test_no_archive_and_no_meta(taken, tmp_path):
    refused(tmp_path, b"")
    refused(tmp_path, b"PK\x03\x04 not really")
    empty = io.BytesIO()
    zipfile.ZipFile(empty, "w").close()
    refused(tmp_path, empty.getvalue())


def test_every_byte_of_a_table_changed_is_a_table_or_refused(taken, tmp_path):
    source = io.BytesIO()
    store.write(taken, source, "compact")
    empty = store.empty_table("IdentifiedProcess")
    data = zipfile.ZipFile(source).read("processes.cols")
    good = refusals = 0
    for place in range(len(data)):
        for value in (0, 0xFF, data[place] ^ 1):
            bad = data[:place] + bytes([value]) + data[place + 1 :]
            try:
                columns = store._unpack_compact(empty, bad)
                table = store._core.build_table("IdentifiedProcess", 3, columns)
            except (ValueError, KeyError, TypeError, struct.error):
                refusals += 1
            else:
                assert len(list(table)) == 3
                good += 1
    assert good > 0
    assert refusals > 0
    for end in range(len(data)):
        with pytest.raises((ValueError, KeyError, struct.error)):
            store._unpack_compact(empty, data[:end])


def column(values, valid=None, strings=None):
    return (values, valid, strings)


@pytest.mark.parametrize(
    ("kind", "rows", "columns", "what"),
    [
        ("Nothing", 0, (), "kind"),
        ("Thread", 1, (column(b"1234"),) * 2, "cannot be right"),
        ("Thread", 2, (column(b"1234"),) * 3, "not the bytes"),
        ("Thread", 1, (column(b"1234", b"\1"), *(column(b"1234"),) * 2), "missing"),
        ("Thread", 1, (column(b"1234"), column(b"123"), column(b"1234")), "not the bytes"),
        ("Heap", 1, (column(b"1234"), column(bytes(8)), column(b"1234"), column(b"\2")), "range"),
        ("Error", 1, (column(b"1234"), column(b"\1\0\0\0", None, ("a",))) + (column(b"1234"),) * 3,
         "string"),
        ("Error", 1, (column(b"1234"), column(b"\0\0\0\0", None, ())) + (column(b"1234"),) * 3,
         "string"),
        ("Error", 1, (column(b"1234"), column(b"\0\0\0\0", None, ("a",)), column(b"1234"),
                      column(b"\x63"), column(b"1234")), "range"),
    ],
)  # fmt: skip
def test_tables_of_bad_columns(fake, kind, rows, columns, what):
    with pytest.raises(ValueError, match=what):
        fake.build_table(kind, rows, columns)


def test_building_with_every_allocation_failing(fake):
    columns = (
        column(b"12345678"),
        column(b"\0\0\0\0\1\0\0\0", None, ("a", "b\ud800")),
        column(b"12345678"),
        column(b"\1\2"),
        column(b"12345678"),
    )
    before = fake.fake_alloc_count()
    whole = fake.build_table("Error", 2, columns)
    for n in range(1, fake.fake_alloc_count() - before + 1):
        fake.fake_alloc_fail(n)
        with pytest.raises(MemoryError):
            fake.build_table("Error", 2, columns)
    assert fake.build_table("Error", 2, columns) == whole


def test_wrong_format(taken, tmp_path):
    with pytest.raises(ValueError, match="format"):
        taken.save(tmp_path / "x", "xml")
    assert not (tmp_path / "x").exists()
    with pytest.raises(FileNotFoundError):
        th.load_snapshot(tmp_path / "x")


# ----- files that appear whole or not at all -----


@pytest.mark.parametrize("trouble", [KeyboardInterrupt, MemoryError, OSError])
def test_a_save_that_fails_leaves_the_old_file(taken, tmp_path, monkeypatch, trouble):
    path = tmp_path / "a.snap"
    taken.save(path, "compact")
    before = path.read_bytes()
    pack, packed = store._pack_compact, []

    def fail(table):
        packed.append(table)
        if len(packed) == 3:
            raise trouble
        return pack(table)

    monkeypatch.setattr(store, "_pack_compact", fail)
    for target in (path, tmp_path / "new.snap"):
        packed.clear()
        with pytest.raises(trouble):
            taken.save(target, "compact")
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.snap"]
    assert path.read_bytes() == before


@pytest.mark.skipif(os.name != "posix", reason="modes and named pipes of POSIX")
def test_a_save_keeps_the_mode_and_pipes_stay_pipes(taken, tmp_path):
    path, pipe = tmp_path / "a.snap", tmp_path / "pipe"
    path.write_bytes(b"old")
    path.chmod(0o640)
    taken.save(path, "compact")
    assert path.stat().st_mode & 0o777 == 0o640
    assert th.load_snapshot(path).processes == taken.processes
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    try:
        taken.save(pipe, "compact")
        path.write_bytes(reader.communicate(timeout=20)[0])
    finally:
        reader.kill()
        reader.wait()
    assert pipe.is_fifo()
    assert th.load_snapshot(path).modules == taken.modules
