"""What a trace is, what it holds and what is missing from it, from the counts of a pass."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

__all__ = ["describe", "iso", "quality_of"]

_COMPRESSED_MODE = 0x04000000
_CLOCKS = {2: "system", 3: "cycles"}
_FILETIME_ZERO = datetime(1601, 1, 1, tzinfo=UTC)
_COUNTS_OF_FILE = (
    "buffers",
    "compressed_buffers",
    "events",
    "events_by_header",
    "events_by_hook",
    "heap_events",
)


def iso(ticks: int) -> str | None:
    """A FILETIME (100 ns since 1601, UTC) as ISO 8601 text; None outside the years 1601-9999."""
    seconds, part = divmod(ticks, 10_000_000)
    try:
        moment = _FILETIME_ZERO + timedelta(seconds=seconds)
    except OverflowError:
        return None
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{part:07d}Z" if ticks >= 0 else None


def describe(facts: dict[str, Any], name: str | None) -> dict[str, Any]:
    """What `Trace.info` gives, from the facts of a finished pass.

    `facts["files"]`, where there are files: the facts of each, with its name, whether it was given
    or picked up, and the notes beside it.
    """
    files = facts.get("files", [])
    whole = _file(facts, name)
    if len(files) > 1:
        names = dict.fromkeys(one["session_name"] for one in files)
        whole["session_name"] = ", ".join(names)
    return {
        "schema_version": 1,
        "file": whole,
        "files": [
            {
                **_file(one, one["name"]),
                "given": one["given"],
                "notes": one["notes"],
                "buffers": one["buffers"],
                "events": one["events"],
                "complete": _finished(one) and not _missing(one),
            }
            for one in files
        ],
        "counts": {
            **{key: facts[key] for key in _COUNTS_OF_FILE},
            "stacks": facts["stack_parts"],
            "distinct_stacks": facts["stacks"],
            "processes": facts["processes"],
            "threads": facts["threads"],
            "modules": facts["modules"],
        },
        "quality": quality_of(facts),
    }


def _file(facts: dict[str, Any], name: str | None) -> dict[str, Any]:
    start, end = facts["start_time"], facts["end_time"]
    return {
        "path": name,
        "bytes": facts["bytes"],
        "os_version": f"{facts['os_major']}.{facts['os_minor']}",
        "os_build": facts["os_build"],
        "processors": facts["processors"],
        "pointer_size": facts["pointer_size"],
        "log_file_mode": facts["log_file_mode"],
        "compressed": bool(facts["log_file_mode"] & _COMPRESSED_MODE),
        "clock": _CLOCKS.get(facts["clock"], "qpc"),
        "start": iso(start),
        "end": iso(end) if end else None,
        "duration_ns": _duration(facts),
        "session_name": facts["session_name"],
    }


def _duration(facts: dict[str, Any]) -> int | None:
    start, end = facts["start_time"], facts["end_time"]
    if end != 0 and end >= start:
        return int(end - start) * 100
    last = facts.get("last_ns")  # of one file among several nobody knows it
    return None if last is None else max(0, last)


def _finished(facts: dict[str, Any]) -> bool:
    return bool(facts["end_time"] != 0 and facts["buffers_written"] != 0)


def _missing(facts: dict[str, Any]) -> bool:
    names = (
        "truncated",
        "events_lost",
        "buffers_lost",
        "buffers_skipped",
        "bytes_skipped",
        "unknown_headers",
        "bad_events",
        "flagged_event_loss",
        "flagged_buffer_loss",
        "lost_events",
    )
    return any(facts.get(name) for name in names)


def quality_of(facts: dict[str, Any]) -> dict[str, Any]:
    """What `Trace.quality` gives."""
    heap = facts["heap_events"]
    allocations = heap.get("alloc", 0) + heap.get("realloc", 0)
    return {
        "complete": _finished(facts) and not _missing(facts),
        "truncated": facts["truncated"],
        "events_lost": facts["events_lost"],
        "buffers_lost": facts["buffers_lost"],
        "buffers_skipped": facts["buffers_skipped"],
        "bytes_skipped": facts["bytes_skipped"],
        "unknown_headers": facts["unknown_headers"],
        "bad_events": facts["bad_events"],
        "sequence_gaps": facts["sequence_gaps"],
        "stack_coverage": facts["with_stack"] / allocations if allocations else None,
        "unattributed": facts["unattributed"],
        "beside": list(facts.get("trouble", ())),
        "messages": _messages(facts, allocations),
    }


def _sayer(said: list[str]) -> Callable[[int, str, str], None]:
    def say(count: int, one: str, many: str) -> None:
        if count:
            said.append(one if count == 1 else many.format(n=f"{count:,}"))

    return say


def _messages(facts: dict[str, Any], allocations: int) -> list[str]:
    said = list(facts.get("trouble", ()))
    files = facts.get("files", ())
    if len(files) > 1:
        for name, file in zip(_short_names(files), files, strict=True):
            said += [f"{name}: {message}" for message in _file_messages(file)]
        _losses(facts, _sayer(said))
    else:
        said += _file_messages(facts)
    return said + _decoder_messages(facts, allocations)


def _short_names(files: list[dict[str, Any]]) -> list[str]:
    """The names of files, without their folders when that is enough to tell them apart."""
    paths = [file["name"] or f"file {number}" for number, file in enumerate(files, 1)]
    short = [os.path.basename(path) for path in paths]
    return short if len(set(short)) == len(short) else paths


def _losses(facts: dict[str, Any], say: Callable[[int, str, str], None]) -> None:
    say(
        facts.get("lost_events", 0),
        "1 event reports a loss in real time.",
        "{n} events report losses in real time.",
    )


def _file_messages(facts: dict[str, Any]) -> list[str]:
    """What can be said of one file alone."""
    said: list[str] = []
    say = _sayer(said)
    if not _finished(facts):
        said.append("The session was never finished: the end of the recording may be missing.")
    if facts["truncated"]:
        said.append("The file is cut off inside a buffer or an event.")
    say(
        facts["events_lost"],
        "The recorder lost 1 event.",
        "The recorder lost {n} events.",
    )
    say(
        facts["buffers_lost"],
        "The recorder lost 1 buffer.",
        "The recorder lost {n} buffers.",
    )
    say(
        max(facts["flagged_event_loss"], facts["flagged_buffer_loss"]),
        "1 buffer is marked: events were lost before it.",
        "{n} buffers are marked: events were lost before them.",
    )
    _losses(facts, say)
    say(
        facts["buffers_skipped"],
        "1 buffer could not be used.",
        "{n} buffers could not be used.",
    )
    say(
        facts["bytes_skipped"],
        "1 byte was skipped.",
        "{n} bytes were skipped.",
    )
    say(
        facts["bad_events"],
        "1 event is damaged.",
        "{n} events are damaged.",
    )
    say(
        facts["unknown_headers"],
        "1 event has a header of unknown kind.",
        "{n} events have headers of unknown kinds.",
    )
    say(
        facts["reordered"],
        "1 event is out of order in its buffers.",
        "{n} events are out of order in their buffers.",
    )
    return said


def _decoder_messages(facts: dict[str, Any], allocations: int) -> list[str]:
    said: list[str] = []
    say = _sayer(said)
    say(
        facts["unresolved_keys"],
        "1 stack is only a key whose frames were never written.",
        "{n} stacks are only keys whose frames were never written.",
    )
    say(
        facts["forced_rows"],
        "1 heap event could not wait for its stack.",
        "{n} heap events could not wait for their stacks: too many came at once.",
    )
    say(
        facts["unattributed"],
        "1 heap event names no process.",
        "{n} heap events name no process.",
    )
    without = allocations - facts["with_stack"]
    if facts["with_stack"] and without:
        said.append(f"{without:,} of {allocations:,} allocations have no stack.")
    return said
