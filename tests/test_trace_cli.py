"""The commands info and events: forms, exit codes, what goes where."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import toolhelp
from etlmaker import Trace

pytest.importorskip("click", reason="click is not installed")


def run(*words: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(Path(toolhelp.__file__).parent.parent)}
    options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(
        [sys.executable, "-m", "toolhelp", *words],
        capture_output=True,
        env=environment,
        **{k: v for k, v in options.items() if not (k == "stdin" and "input" in options)},
    )


def trace_of(**how: Any) -> Trace:
    trace = Trace(session_name="Größe \N{GRINNING FACE}", **how)
    trace.process(3, 1100, 0, 10, name="app.exe")
    for number in range(5):
        trace.heap_alloc(2000 + number, 0, 10, 11, 0x10000, 64, 0x20000 + 64 * number)
    trace.heap_free(3000, 0, 10, 11, 0x10000, 0x20000)
    trace.stack(3001, 0, 2004, 10, 11, [0x7FF1])
    return trace


@pytest.fixture
def path(tmp_path: Path) -> str:
    made = tmp_path / "t.etl"
    made.write_bytes(trace_of().to_bytes())
    return os.fspath(made)


def test_info_json(path: str) -> None:
    done = run("info", path, "--json")
    assert (done.returncode, done.stderr) == (0, b"")
    found = json.loads(done.stdout.decode())
    assert found["schema_version"] == 1
    assert found["file"]["path"] == path
    assert found["file"]["session_name"] == "Größe \N{GRINNING FACE}"
    assert set(found["file"]) == {
        *("path", "bytes", "os_version", "os_build", "processors", "pointer_size"),
        *("log_file_mode", "compressed", "clock", "start", "end", "duration_ns", "session_name"),
    }
    counts = found["counts"]
    assert counts["heap_events"] == {"alloc": 5, "free": 1}
    assert counts["events_by_hook"] == {
        **{"0000": 1, "0050": 1, "0303": 1, "1021": 5, "1024": 1, "1820": 1}
    }
    names = ("buffers", "events", "stacks", "processes", "threads", "modules")
    assert [counts[name] for name in names] == [2, 10, 1, 1, 0, 0]
    assert found["quality"]["complete"] is True
    assert found["quality"]["messages"] == ["4 of 5 allocations have no stack."]


def test_info_text(path: str) -> None:
    done = run("info", path)
    text = done.stdout.decode().replace("\r\n", "\n")
    assert done.returncode == 0
    assert "session     Größe \N{GRINNING FACE}\n" in text
    assert "system      Windows 10.0.19041, 1 processors, 64-bit\n" in text
    assert "heap        alloc 5, free 1\n" in text
    assert "quality     complete\n            4 of 5 allocations have no stack.\n" in text


def test_exit_codes(tmp_path: Path, path: str) -> None:
    lost = tmp_path / "lost.etl"
    lost.write_bytes(trace_of(events_lost=3).to_bytes())
    assert run("info", os.fspath(lost)).returncode == 0
    assert run("info", os.fspath(lost), "--strict").returncode == 4
    assert run("info", path, "--strict").returncode == 0
    missing = run("info", os.fspath(tmp_path / "no.etl"))
    assert missing.returncode == 3
    assert b"no.etl: No such file" in missing.stderr
    (tmp_path / "text.etl").write_text("no trace at all\n" * 20)
    wrong = run("info", os.fspath(tmp_path / "text.etl"))
    assert (wrong.returncode, wrong.stdout) == (3, b"")
    assert b"not an event trace" in wrong.stderr
    assert run("info").returncode == 2
    assert run("events", path, "--kind", "heaps").returncode == 2
    assert run("events", path, "--format", "xml").returncode == 2
    many = run("info", path, "--max-expand", "many")
    assert many.returncode == 2
    assert b"'many' is not a size; say 4096, 10MB or 64KiB" in many.stderr
    member = run("info", path, "--member", "a.etl")
    assert (member.returncode, member.stdout) == (2, b"")
    assert b"chooses a file of a .zip or .diagsession" in member.stderr
    nope = run("events", path, "--kind", "heap.nope")
    assert (nope.returncode, nope.stdout) == (2, b"")
    assert b"heap.contract, heap.lock, heap.unlock, heap.validate" in nope.stderr


def test_sizes_mean_the_same_everywhere(path: str, tmp_path: Path) -> None:
    """1 MB is a million bytes, 1 MiB 1,048,576, whichever option takes it."""
    packed = tmp_path / "t.etl.gz"
    for word, most in (("1kB", 1000), ("1KiB", 1024), ("1k", 1000), ("1.5Ki", 1536)):
        packed.write_bytes(gzip.compress(os.urandom(most + 1)))
        done = run("info", os.fspath(packed), "--max-expand", word)
        assert done.returncode == 3
        assert f"more than {most:,} bytes".encode() in done.stderr


def test_events_csv_and_json(path: str) -> None:
    done = run("events", path, "--kind", "heap", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout.decode())))
    assert [row["kind"] for row in rows] == ["alloc"] * 5 + ["free"]
    assert rows[1]["address"] == "0x20040"
    assert [row["stack_id"] for row in rows] == ["", "", "", "", "0", ""]
    done = run("events", path, "--kind", "heap.free", "--kind", "heap.alloc", "--format", "json")
    found = json.loads(done.stdout)
    assert found["schema_version"] == 1
    assert found["errors"] == []
    assert [row["time_ns"] for row in found["rows"]] == [*range(100_000, 100_500, 100), 200_000]
    done = run("events", path, "--kind", "heap.free", "--format", "json")
    [row] = json.loads(done.stdout)["rows"]
    assert (row["kind"], row["size"], row["address"]) == ("free", None, "0x20000")
    done = run("events", path, "--kind", "process", "--kind", "heap.free", "--format", "json")
    rows = json.loads(done.stdout)["rows"]
    assert [(row["kind"], row["hook"]) for row in rows] == [
        ("process", 0x0303),
        ("heap.free", 0x1024),
    ]
    assert bytes.fromhex(rows[1]["payload"])[8:16] == (0x20000).to_bytes(8, "little")
    done = run("events", path, "--kind", "lost", "--format", "json")
    assert json.loads(done.stdout) == {"schema_version": 1, "rows": [], "errors": []}


def test_events_text_and_limit(path: str) -> None:
    done = run("events", path, "--kind", "heap", "--limit", "2")
    lines = done.stdout.decode().splitlines()
    assert len(lines) == 3
    assert lines[0].split()[:5] == ["time_ns", "cpu", "pid", "tid", "kind"]
    assert lines[1].split()[:7] == ["100000", "0", "10", "11", "alloc", "0x10000", "0x20000"]
    everything = run("events", path).stdout.decode().splitlines()
    assert len(everything) == 11


def test_events_parquet(path: str, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")
    out = tmp_path / "t.parquet"
    done = run("events", path, "--kind", "heap", "--format", "parquet", "-o", os.fspath(out))
    assert (done.returncode, done.stdout) == (0, b"")
    table = parquet.read_table(out)
    assert table.column("address").to_pylist()[:2] == [0x20000, 0x20040]
    assert table.column("kind").to_pylist() == ["alloc"] * 5 + ["free"]
    assert table.column("size").to_pylist() == [64] * 5 + [None]
    again = run("events", path, "--kind", "heap", "--format", "parquet", "-o", os.fspath(out))
    assert again.returncode == 6
    done = run("events", path, "--format", "parquet", "-o", os.fspath(out), "--force")
    assert done.returncode == 0
    assert parquet.read_table(out).num_rows == 10


def test_standard_input(path: str) -> None:
    data = Path(path).read_bytes()
    done = run("info", "-", "--json", input=data)
    assert done.returncode == 0
    assert json.loads(done.stdout)["counts"]["events"] == 10


def test_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    trace = Trace()
    for number in range(20_000):
        trace.heap_free(2000 + number, 0, 10, 11, 0x10000, 0x20000)
    path = tmp_path / "t.etl"
    path.write_bytes(trace.to_bytes())
    environment = {**os.environ, "PYTHONPATH": str(Path(toolhelp.__file__).parent.parent)}
    with subprocess.Popen(
        [sys.executable, "-m", "toolhelp", "events", os.fspath(path), "--format", "csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b"time_ns,cpu")
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0
