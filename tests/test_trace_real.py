"""The reader over real files: every figure that an independent scanner took of them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import etlref
import toolhelp as th
import tracecompare

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "etl"
EXPECTED: dict[str, Any] = json.loads((DATA / "expected.json").read_text()) if DATA.is_dir() else {}
VALID = [name for name, expected in EXPECTED.items() if expected["valid"]]
CLOCKS = {1: "qpc", 2: "system", 3: "cycles"}

pytestmark = pytest.mark.skipif(not EXPECTED, reason="real traces (../shared/data/etl) absent")


def info_json(path: Path) -> dict[str, Any]:
    """What `toolhelp info --json` writes."""
    made = subprocess.run(
        [sys.executable, "-m", "toolhelp", "info", "--json", os.fspath(path)],
        capture_output=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(made.stdout.decode())
    return found


@pytest.mark.parametrize("name", VALID)
def test_info_equals_the_expected_figures(name: str) -> None:
    expected, found = EXPECTED[name], info_json(DATA / name)
    assert found["schema_version"] == 1
    file, counts, quality = found["file"], found["counts"], found["quality"]
    for key in ("bytes", "os_version", "os_build", "processors", "pointer_size", "log_file_mode"):
        assert file[key] == expected[key], key
    for key in ("buffers", "compressed_buffers", "events", "events_by_header", "events_by_hook"):
        assert counts[key] == expected[key], key
    assert quality["events_lost"] == expected["events_lost"]
    assert quality["buffers_lost"] == expected["buffers_lost"]
    assert file["clock"] == CLOCKS[expected["clock_type"]]
    assert file["start"][:19].replace("T", " ") == expected["start"]
    assert file["end"][:19].replace("T", " ") == expected["end"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z", file["start"])
    assert file["compressed"] is bool(expected["log_file_mode"] & 0x04000000)
    assert quality["complete"] is (expected["events_lost"] == 0)
    for key in ("buffers_skipped", "bytes_skipped", "unknown_headers", "bad_events"):
        assert quality[key] == 0, key


@pytest.mark.parametrize("name", VALID)
def test_every_row_equals_the_reference_reader(name: str) -> None:
    tracecompare.compare((DATA / name).read_bytes())


@pytest.mark.parametrize("name", VALID)
def test_events_are_all_there_in_order(name: str) -> None:
    with th.open_trace(DATA / name) as trace:
        kinds: Counter[str] = Counter()
        headers: Counter[str] = Counter()
        last = None
        for batch in trace.events():
            kinds.update(batch["kind"])
            headers.update(batch["header"])
            times = list(batch["time_ns"])
            assert times == sorted(times)
            assert last is None or last <= times[0]
            last = times[-1]
        assert headers == EXPECTED[name]["events_by_header"]
        for kind in ("stack", "process", "image"):
            chosen = [row for batch in trace.events(kind) for row in batch]
            assert len(chosen) == kinds[kind]
            assert {row.kind for row in chosen} <= {kind}


def test_not_a_trace() -> None:
    with pytest.raises(th.CorruptTrace) as caught:
        th.open_trace(DATA / "negative-rlfs.etl")
    assert caught.value.offset == 0
    made = subprocess.run(
        [sys.executable, "-m", "toolhelp", "info", os.fspath(DATA / "negative-rlfs.etl")],
        capture_output=True,
        text=True,
    )
    assert made.returncode == 3
    assert made.stdout == ""
    assert "not an event trace" in made.stderr


@pytest.mark.parametrize("version", ["32_v1", "32_v2", "32_v3", "64_v2"])
def test_process_versions_and_widths(version: str) -> None:
    """Kernel-class events in FULL32 headers; 64_v2 carries 64-bit payloads in them."""
    with th.open_trace(DATA / f"sawbuck-process_data_{version}.etl") as trace:
        rows = trace.processes
    names = ["Idle", "System", "smss.exe", "notepad.exe"]
    assert list(rows["name"]) == (names[3:] if version == "32_v1" else names)
    notepad = rows[-1]
    assert (notepad.pid, notepad.ppid, notepad.session_id, notepad.exit_status) == (1776, 988, 1, 0)
    assert notepad.bits == (None if version == "64_v2" else 32)
    has_command = [value is not None for value in rows["command_line"]]
    assert has_command == [version != "32_v1"] * len(rows)


@pytest.mark.parametrize("version", ["32_v0", "32_v1", "32_v2"])
def test_image_versions(version: str) -> None:
    with th.open_trace(DATA / f"sawbuck-image_data_{version}.etl") as trace:
        rows = trace.modules
    assert len(rows) == 25
    assert all(path.lower().endswith((".dll", ".exe")) for path in rows["path"])
    assert (rows[1].base, rows[1].size) == (0x76E10000, 1208320)
    assert [row.checksum is None for row in rows] == [version != "32_v2"] * 25


def test_modules_have_drive_letters_and_symbols() -> None:
    with th.open_trace(DATA / "perfview-net452-x86.etl") as trace:
        modules = [row for row in trace.modules if row.pid == 3644]
        [target] = [row for row in trace.processes if row.name == "Test.x86.exe"]
    assert (target.pid, target.ppid, target.bits, target.exit_status) == (3644, 3508, 32, 0)
    [ntdll] = [row for row in modules if row.base == 0x77710000]
    assert (ntdll.pdb_name, ntdll.pdb_age, ntdll.timestamp) == ("wntdll.pdb", 2, 1343270522)
    assert ntdll.path == "C:\\Windows\\SysWOW64\\ntdll.dll"
    assert ntdll.name == "ntdll.dll"
    assert ntdll.nt_path == "\\SystemRoot\\SysWOW64\\ntdll.dll"
    system = next(r for r in modules if r.nt_path == "\\SystemRoot\\System32\\ntdll.dll")
    assert system.path == "C:\\Windows\\System32\\ntdll.dll"
    assert ntdll.pdb_guid is not None
    assert ntdll.pdb_guid.startswith("EC83D8DF5559")


def baseline_events() -> list[tuple[float, str, dict[str, str]]]:
    """The events that the PerfView project's own dump of the file shows."""
    text = (DATA / "perfview-net452-x86.baseline.txt").read_text(encoding="utf-8-sig")
    found = []
    for line in text.splitlines():
        match = re.match(r"EVENT ([\d.,]+): (.*?) (PID=.*)", line)
        if match:
            fields = dict(re.findall(r"(\w+)=(.*?); ", match[3]))
            found.append((float(match[1].replace(",", "")), match[2], fields))
    return found


def number(text: str) -> int:
    return int(text, 16) if text.startswith("0x") else int(text.replace(",", ""))


def test_payloads_agree_with_the_dump_of_perfview() -> None:
    with th.open_trace(DATA / "perfview-net452-x86.etl") as trace:
        processes = {(r.pid, r.ppid, r.name, r.bits) for r in trace.processes}
        threads = {(r.pid, r.tid, r.start_address) for r in trace.threads}
        modules = {(r.base, r.size, r.checksum) for r in trace.modules}
        symbols = {
            (r.base, r.pdb_guid[:8].lower(), r.pdb_age, r.pdb_name)
            for r in trace.modules
            if r.pdb_guid is not None
        }
    checked: Counter[str] = Counter()
    for _, name, fields in baseline_events():
        kind = name.split("/")[1] if name.startswith("Windows Kernel/") else name.split("/")[-1]
        if name.endswith(("Defunct", "PerfCtr", "PerfCtrRundown")):
            continue
        if kind == "Process":
            bits = 32 if "Wow64" in fields["Flags"] else 64
            ids = number(fields["ProcessID"]), number(fields["ParentID"])
            row: tuple[Any, ...] = (*ids, fields["ImageFileName"], bits)
            assert row in processes
        elif kind == "Thread":
            ids = number(fields["PID"]), number(fields["TID"])
            assert (*ids, number(fields["Win32StartAddr"])) in threads
        elif kind == "Image":
            numbers = (number(fields[n]) for n in ("ImageBase", "ImageSize", "ImageChecksum"))
            assert tuple(numbers) in modules
        elif kind == "DbgID_RSDS":
            row = number(fields["ImageBase"]), fields["GuidSig"][:8], number(fields["Age"])
            assert (*row, fields["PDBFileName"]) in symbols
        else:
            continue
        checked[kind] += 1
    assert checked == {"Process": 12, "Thread": 10, "Image": 20, "DbgID_RSDS": 5}


def test_reference_agrees_on_stacks_of_other_events() -> None:
    """No heap events, so no stack is kept; but all are counted."""
    name = "perfview-net452-x86.etl"
    with th.open_trace(DATA / name) as trace:
        assert len(trace.stacks) == 0
        found = trace.info["counts"]["stacks"]
    result = etlref.decode((DATA / name).read_bytes())
    assert found == result.counters["stacks_seen"] == 12401
