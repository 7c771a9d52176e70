"""The reference reader over real files, and over small files made here."""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import etlref

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "etl"
EXPECTED: dict[str, Any] = json.loads((DATA / "expected.json").read_text()) if DATA.is_dir() else {}

needs_data = pytest.mark.skipif(not EXPECTED, reason="real traces (../shared/data/etl) absent")


@functools.cache
def real(name: str) -> etlref.Result:
    return etlref.decode((DATA / name).read_bytes())


def figures(info: dict[str, Any]) -> dict[str, Any]:
    """The figures of `info` under the names of expected.json."""
    file, counts, quality = info["file"], info["counts"], info["quality"]
    same = ("bytes", "clock_type", "log_file_mode", "os_build", "os_version", "perf_freq")
    return {
        **{name: file[name] for name in (*same, "pointer_size", "processors")},
        **{name: counts[name] for name in ("buffers", "compressed_buffers", "events")},
        **{name: counts[name] for name in ("events_by_header", "events_by_hook")},
        **{name: quality[name] for name in ("events_lost", "buffers_lost")},
        "start": file["start"][:19].replace("T", " "),
        "end": (file["end"] or "1601-01-01 00:00:00")[:19].replace("T", " "),
    }


@needs_data
@pytest.mark.parametrize("name", [n for n, e in EXPECTED.items() if e["valid"]])
def test_real_file_figures(name: str) -> None:
    expected = {
        key: value
        for key, value in EXPECTED[name].items()
        if key not in ("events_by_class", "scan_errors", "sha256", "valid")
    }
    result = real(name)
    assert figures(result.info) == expected
    quality = result.quality
    assert quality["complete"] is (expected["events_lost"] == 0)
    assert [quality[k] for k in ("bytes_skipped", "bad_events", "unknown_headers")] == [0, 0, 0]
    assert result.counters["unordered_streams"] == 0


@needs_data
def test_not_a_trace() -> None:
    with pytest.raises(etlref.Corrupt) as caught:
        real("negative-rlfs.etl")
    assert caught.value.offset == 0


# ---- payloads against the PerfView project's own dump of one file -------------------------------

BASELINE = "perfview-net452-x86"


def baseline_events() -> list[tuple[float, str, dict[str, str]]]:
    found = []
    text = (DATA / f"{BASELINE}.baseline.txt").read_text(encoding="utf-8-sig")
    for line in text.splitlines():
        match = re.match(r"EVENT ([\d.,]+): (.*?) (PID=.*)", line)
        if match:
            fields = dict(re.findall(r"(\w+)=(.*?); ", match[3]))
            found.append((float(match[1].replace(",", "")), match[2], fields))
    return found


def number(text: str) -> int:
    return int(text, 16) if text.startswith("0x") else int(text.replace(",", ""))


def same_text(whole: str, shown: str) -> bool:
    """The dump shortens long texts to 20 characters and three dots."""
    return whole.startswith(shown[:-3]) if shown.endswith("...") else whole == shown


@needs_data
def test_baseline_counts() -> None:
    text = (DATA / f"{BASELINE}.baseline.txt").read_text(encoding="utf-8-sig")
    theirs = {k: int(n) for k, n in re.findall(r"^COUNT (.*):(\d+)$", text, re.MULTILINE)}
    ours = Counter((e.cls, e.op) for e in real(f"{BASELINE}.etl").events)
    names = {
        "Windows Kernel/Process/Start": ("Process", 1),
        "Windows Kernel/Process/Stop": ("Process", 2),
        "Windows Kernel/Process/DCStart": ("Process", 3),
        "Windows Kernel/Process/DCStop": ("Process", 4),
        "Windows Kernel/Thread/Start": ("Thread", 1),
        "Windows Kernel/Thread/Stop": ("Thread", 2),
        "Windows Kernel/Image/Load": ("Image", 10),
        "Windows Kernel/Image/Unload": ("Image", 2),
        "Windows Kernel/Image/DCStart": ("Image", 3),
        "Windows Kernel/Image/DCStop": ("Image", 4),
        "KernelTraceControl/ImageID": ("ImageID", 0),
        "KernelTraceControl/ImageID/DbgID_RSDS": ("ImageID", 36),
        "Windows Kernel/SysConfig/VolumeMapping": ("SysConfigEx", 35),
    }
    assert {name: theirs[name] for name in names} == {n: ours[key] for n, key in names.items()}


@needs_data
def test_baseline_payloads() -> None:
    from etlref import payloads

    result = real(f"{BASELINE}.etl")
    by_class: dict[str | None, list[Any]] = {}
    for event in result.events:
        by_class.setdefault(event.cls, []).append(event)
    checked: Counter[str] = Counter()
    for time, name, fields in baseline_events():
        kind = name.split("/")[1] if name.startswith("Windows Kernel/") else name.split("/")[-1]
        cls = {"DbgID_RSDS": "ImageID"}.get(kind, kind)
        if kind not in ("Process", "Thread", "Image", "DbgID_RSDS"):
            continue
        if name.endswith(("Defunct", "PerfCtr", "PerfCtrRundown")):
            continue
        length = number(fields["DataLen"])
        candidates = [
            e
            for e in by_class[cls]
            if len(e.payload) == length and abs(e.time_ns / 1e6 - time) < 0.0006
        ]
        assert candidates, (time, name)
        wanted, text, rows = [], "", []
        for event in candidates:
            if kind == "Process":
                row = payloads.process(event)
                assert row is not None
                rows.append(((row.pid, row.ppid, row.name, row.wow64), row.command_line or ""))
                wow64 = "Wow64" in fields["Flags"]
                ids = number(fields["ProcessID"]), number(fields["ParentID"])
                wanted, text = [*ids, fields["ImageFileName"], wow64], fields["CommandLine"]
            elif kind == "Thread":
                rows.append((payloads.thread(event), ""))
                ids = number(fields["PID"]), number(fields["TID"])
                wanted = [*ids, number(fields["Win32StartAddr"])]
            elif kind == "Image":
                image = payloads.image(event)
                assert image is not None
                values = (image.base, image.size, image.checksum, image.timestamp)
                rows.append((values, image.path))
                numbers = ("ImageBase", "ImageSize", "ImageChecksum", "TimeDateStamp")
                wanted = [number(fields[n]) for n in numbers]
                wanted[-1] &= 0xFFFFFFFF
                text = image.path[:1] + "..."  # the dump shows DOS paths, we the NT ones
            else:
                found = payloads.debug_id(event)
                assert found is not None
                rows.append(((found[1], found[2][:8].lower(), found[3]), found[4]))
                guid = fields["GuidSig"][:8]
                wanted = [number(fields["ImageBase"]), guid, number(fields["Age"])]
                text = fields["PDBFileName"]
        assert any(r == tuple(wanted) and same_text(t, text) for r, t in rows), (time, name)
        checked[kind] += 1
    assert checked == {"Process": 12, "Thread": 10, "Image": 20, "DbgID_RSDS": 5}


@needs_data
def test_volumes_and_modules() -> None:
    result = real(f"{BASELINE}.etl")
    assert result.volumes[:3] == [
        ("\\??\\", ""),
        ("\\SystemRoot\\", "C:\\Windows\\"),
        ("\\Device\\HarddiskVolume2\\", "C:\\"),
    ]
    target = [p for p in result.processes if p.name == "Test.x86.exe"]
    assert [(p.pid, p.ppid, p.wow64, p.exit_status) for p in target] == [(3644, 3508, True, 0)]
    ntdll = [m for m in result.modules if m.pid == 3644 and m.base == 0x77710000]
    assert [(m.pdb_name, m.pdb_age, m.timestamp) for m in ntdll] == [("wntdll.pdb", 2, 1343270522)]


@needs_data
@pytest.mark.parametrize("version", ["32_v1", "32_v2", "32_v3", "64_v2"])
def test_sawbuck_processes(version: str) -> None:
    rows = real(f"sawbuck-process_data_{version}.etl").processes
    names = ["Idle", "System", "smss.exe", "notepad.exe"]
    assert [row.name for row in rows] == (names[3:] if version == "32_v1" else names)
    notepad = rows[-1]
    assert (notepad.pid, notepad.ppid, notepad.session_id, notepad.exit_status) == (1776, 988, 1, 0)
    has_command = [row.command_line is not None for row in rows]
    assert has_command == [version != "32_v1"] * len(rows)


@needs_data
@pytest.mark.parametrize("version", ["32_v0", "32_v1", "32_v2"])
def test_sawbuck_images(version: str) -> None:
    rows = real(f"sawbuck-image_data_{version}.etl").modules
    assert len(rows) == 25
    assert all((row.path or "").lower().endswith((".dll", ".exe")) for row in rows), rows
    assert (rows[1].base, rows[1].size) == (0x76E10000, 1208320)
    assert [row.checksum is None for row in rows] == [version != "32_v2"] * 25
