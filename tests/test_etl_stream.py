"""The lower half of the trace reader by itself: counts of real files, events of synthetic ones."""

from __future__ import annotations

import datetime
import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

import etlref
import native
from etlstrategies import FAULTS, JUDGED, MODELLED, Made, traces

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

REAL = native.ROOT.parent / "shared" / "data" / "etl"


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("dump") / "etl_dump"
    reader = native.sources(*native.READER)
    return native.build(output, "tests/csrc/etl_dump.c", *reader, flags=native.SANITIZE)


def read(dump: Path, path: Path, *options: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    done = subprocess.run([dump, *options, path], capture_output=True, text=True, timeout=600)
    assert done.returncode in (0, 3), done.stderr
    assert not done.stderr
    *events, summary = [json.loads(line) for line in done.stdout.splitlines()]
    return events, summary


def utc(file_time: int) -> str:
    start = datetime.datetime(1601, 1, 1)
    return str(start + datetime.timedelta(microseconds=file_time // 10))[:19]


def expected_files() -> dict[str, dict[str, Any]]:
    listing = REAL / "expected.json"
    return json.loads(listing.read_text()) if listing.exists() else {}


@pytest.mark.parametrize("name", expected_files() or [None])
def test_real_file(dump: Path, name: str | None) -> None:
    if name is None:
        pytest.skip(f"no real traces at {REAL}")
    expected = expected_files()[name]
    if not expected["valid"]:
        _, met = read(dump, REAL / name)
        assert (met["status"], met["offset"]) == ("CORRUPT", 0)
        assert met["detail"] == "this is not an event trace: it does not begin with a buffer"
        return
    digests = set()
    for options in ((), ("--memory",), ("--threads", "1"), ("--threads", "3")):
        _, met = read(dump, REAL / name, *options)
        met["start"], met["end"] = utc(met["start_time"]), utc(met["end_time"])
        keys = set(expected) - {"bytes", "sha256", "scan_errors", "valid", "events_by_class"}
        assert {key: met[key] for key in keys} == {key: expected[key] for key in keys}
        damage = ("bad_events", "bytes_skipped", "unknown_headers", "buffers_skipped", "reordered")
        assert [met[key] for key in damage] == [0] * len(damage)
        assert (met["inversions"], met["truncated"]) == (0, False)
        digests.add(met["hash"])
    assert len(digests) == 1


COUNTERS = (
    "buffers",
    "compressed_buffers",
    "buffers_skipped",
    "bytes_skipped",
    "unknown_headers",
    "sequence_gaps",
    "lost_flags",
    "unordered_streams",
)


KEYS = ("header", "time", "cpu", "logger", "pointer_size", "pid", "tid", "version", "payload")


def as_dumped(event: Any) -> dict[str, Any]:
    return {
        "header": event.header,
        "time": event.raw,
        "cpu": event.cpu,
        "logger": event.logger,
        "pointer_size": event.pointer_size,
        "pid": event.pid,
        "tid": event.tid,
        "version": event.version,
        "payload": event.payload.hex(),
    }


#: Where LogFileMode stands in every file of the maker, and the bit that says that all processors
#: share the buffers: then each lane is sorted in a window from the start.
MODE_AT, SHARED = 0x48 + 0x20 + 0x20, 0x10


def check(dump: Path, made: Made, folder: Path, *options: str, shared: bool = False) -> None:
    path = folder / "made.etl"
    if shared and len(made.data) > MODE_AT + 4:
        data = bytearray(made.data)
        data[MODE_AT + 3] |= SHARED
        made = replace(made, data=bytes(data))
    path.write_bytes(made.data)
    events, met = read(dump, path, "--events", *options)
    corrupt = None
    try:
        expected = etlref.decode(made.data)
    except etlref.Corrupt as error:
        corrupt = error
    if corrupt:
        assert (met["status"], met["offset"]) == ("CORRUPT", corrupt.offset)
        return
    assert met["status"] == "OK"
    counters = expected.counters
    assert {key: met[key] for key in COUNTERS} == {key: counters.get(key, 0) for key in COUNTERS}
    assert met["truncated"] == bool(counters.get("truncated", 0))
    assert met["events"] == len(expected.events)
    got = [{key: event[key] for key in KEYS} for event in events]
    wanted = [as_dumped(event) for event in expected.events if not event.bad]
    if met["unordered_streams"] and not shared:
        # What runs backwards is sorted in a window, which begins where it is noticed.
        got, wanted = (sorted(rows, key=repr) for rows in (got, wanted))
    assert got == wanted
    # The reference also counts payloads that are too short; those are somebody else's work here.
    headers = sum(event.bad for event in expected.events)
    assert headers <= met["bad_events"] <= counters.get("bad_events", 0)
    if not made.features & {"short", "inside", "flips"}:
        assert met["bad_events"] == counters.get("bad_events", 0)


@settings(deadline=None, print_blob=True, suppress_health_check=list(HealthCheck))
@given(made=traces(MODELLED + JUDGED))
def test_sound_synthetic_file(dump: Path, tmp_path_factory: Any, made: Made) -> None:
    check(dump, made, tmp_path_factory.getbasetemp())


@settings(deadline=None, print_blob=True, suppress_health_check=list(HealthCheck))
@given(made=traces(MODELLED + JUDGED + FAULTS))
def test_damaged_synthetic_file(dump: Path, tmp_path_factory: Any, made: Made) -> None:
    check(dump, made, tmp_path_factory.getbasetemp())


@settings(deadline=None, print_blob=True, suppress_health_check=list(HealthCheck))
@given(made=traces((*MODELLED, *FAULTS, "flips")))
def test_flipped_synthetic_file(dump: Path, tmp_path_factory: Any, made: Made) -> None:
    check(dump, made, tmp_path_factory.getbasetemp())


@settings(deadline=None, print_blob=True, suppress_health_check=list(HealthCheck))
@given(made=traces((*MODELLED, *JUDGED, *FAULTS, "flips")))
def test_shared_buffers(dump: Path, tmp_path_factory: Any, made: Made) -> None:
    """Lanes that are sorted in a window: of files that fit into it the order is exact."""
    check(dump, made, tmp_path_factory.getbasetemp(), shared=True)


@pytest.mark.parametrize("threads", ["1", "4"])
@settings(deadline=None, print_blob=True, max_examples=30, suppress_health_check=list(HealthCheck))
@given(made=traces((*MODELLED, *FAULTS, "flips")))
def test_threads_change_nothing(
    dump: Path, tmp_path_factory: Any, made: Made, threads: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "threads.etl"
    path.write_bytes(made.data)
    assert (
        read(dump, path, "--threads", threads) == read(dump, path) == read(dump, path, "--memory")
    )
