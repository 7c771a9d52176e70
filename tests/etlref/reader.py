"""Puts the parts together: bytes in, Result out."""

from __future__ import annotations

import datetime
import struct
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

from . import container, headers, payloads
from .entities import Entities
from .joining import Joiner
from .model import Buffer, Corrupt, Event, Result

_NS_MIN, _NS_MAX = -(1 << 63), (1 << 63) - 1


@dataclass
class _LogFile:
    """TRACE_LOGFILE_HEADER."""

    version: tuple[int, int]
    build: int
    processors: int
    end: int
    mode: int
    buffers_written: int
    pointer_size: int
    events_lost: int
    mhz: int
    perf_freq: int
    start: int
    clock_type: int
    buffers_lost: int
    session_name: str
    t0: int

    @property
    def clock(self) -> str:
        return {2: "system", 3: "cycles"}.get(self.clock_type, "qpc")

    def time_ns(self, raw: int) -> int:
        ticks = raw - self.t0
        if self.clock == "system":
            value = ticks * 100
        elif self.clock == "cycles":
            value = ticks * 1000 // self.mhz
        else:
            value = ticks * 10**9 // self.perf_freq
        return max(_NS_MIN, min(_NS_MAX, value))


def _log_file(first: Buffer) -> _LogFile:
    event = next(headers.events_of(first, Counter()), None)
    if event is None or event.header not in ("SYSTEM32", "SYSTEM64") or event.hook != 0:
        raise Corrupt(0x48, "the first event is not a logfile header")
    data, wide = event.payload, event.header == "SYSTEM64"
    fixed = 0x118 if wide else 0x110
    if event.bad or len(data) < fixed:
        raise Corrupt(0x48, "logfile header too short")
    tail = 0xF8 if wide else 0xF0
    perf_freq, start, clock_type, buffers_lost = struct.unpack_from("<qqII", data, tail + 8)
    pointer_size = payloads.u32(data, 0x2C)
    assert event.raw is not None
    log = _LogFile(
        version=(data[4], data[5]),
        build=payloads.u32(data, 8),
        processors=payloads.u32(data, 0xC),
        end=struct.unpack_from("<q", data, 0x10)[0],
        mode=payloads.u32(data, 0x20),
        buffers_written=payloads.u32(data, 0x24),
        pointer_size=pointer_size if pointer_size in (4, 8) else event.pointer_size,
        events_lost=payloads.u32(data, 0x30),
        mhz=payloads.u32(data, 0x34),
        perf_freq=perf_freq,
        start=start,
        clock_type=clock_type,
        buffers_lost=buffers_lost,
        session_name=payloads.utf16(data, fixed)[0],
        t0=event.raw,
    )
    if log.clock == "cycles" and log.mhz == 0:
        raise Corrupt(0x48, "cycle clock without a speed")
    if log.clock == "qpc" and perf_freq <= 0:
        raise Corrupt(0x48, "clock without a frequency")
    return log


def iso_time(filetime: int) -> str | None:
    """ISO 8601 UTC to 100 ns; None outside the years 1601-9999."""
    if not 0 <= filetime < 2650467744000000000:
        return None
    seconds, rest = divmod(filetime, 10**7)
    moment = datetime.datetime(1601, 1, 1) + datetime.timedelta(seconds=seconds)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{rest:07d}Z".rjust(28, "0")


def _merged(buffers: list[Buffer], log: _LogFile, counters: Counter[str]) -> list[Event]:
    streams: dict[tuple[int, int], list[Buffer]] = defaultdict(list)
    for buffer in buffers:
        streams[buffer.logger, buffer.cpu].append(buffer)
    events = []
    for stream in streams.values():
        last = None
        inverted = False
        for buffer in sorted(stream, key=lambda b: (b.sequence, b.offset)):
            for event in headers.events_of(buffer, counters):
                if event.raw is None:
                    event.raw = log.t0 if last is None else last
                inverted |= last is not None and event.raw < last
                last = event.raw
                event.time_ns = log.time_ns(event.raw)
                events.append(event)
        counters["unordered_streams"] += inverted
    events.sort(key=lambda e: (e.raw, e.sequence, e.buffer_offset, e.position))
    return events


_ENTITIES = ("Process", "Thread", "Image", "ImageID", "SysConfigEx")


def decode(data: bytes) -> Result:
    """Everything that the file says. Raises Corrupt if it is not a trace."""
    counters: Counter[str] = Counter()
    first, state = container.first_buffer(data)
    log = _log_file(first)
    buffers = container.walk(data, first, state, log.mode, counters)
    events = _merged(buffers, log, counters)

    joiner = Joiner(log.pointer_size, counters)
    entities = Entities()
    rows: list[tuple[Event, dict[str, Any]]] = []
    for event in events:
        good = not event.bad
        if good and event.cls == "Heap":
            row = payloads.heap(event)
            good = row is not None
            if row is not None:
                joiner.heap(event)
                rows.append((event, row))
        elif good and event.cls == "StackWalk":
            good = joiner.stack(event)
        elif good and event.cls in _ENTITIES:
            good = entities.add(event)
        elif good and event.cls == "LostEvent" and event.op in (32, 33, 34):
            counters["lost_events"] += 1
        counters["bad_events"] += not good

    entities.finish()

    heap_events = [
        (
            event.time_ns,
            event.cpu,
            event.pid,
            event.tid,
            row["kind"],
            row["heap"],
            row.get("address"),
            row.get("size"),
            row.get("old_address"),
            row.get("old_size"),
            row.get("source"),
            joiner.result(index),
        )
        for index, (event, row) in enumerate(rows)
    ]
    counters["unattributed"] = sum(row[2] is None for row in heap_events)
    wanted = [row for row in heap_events if row[4] in ("alloc", "realloc")]
    counters["stacks_missing"] = sum(row[11] is None for row in wanted)
    return Result(
        info=_info(data, log, counters, events, heap_events, entities, len(wanted)),
        heap_events=heap_events,
        processes=entities.processes.rows,
        threads=entities.threads.rows,
        modules=entities.modules.rows,
        volumes=entities.volumes,
        counters=dict(counters),
        events=events,
    )


def _info(
    data: bytes,
    log: _LogFile,
    counters: Counter[str],
    events: list[Event],
    heap_events: list[tuple[Any, ...]],
    entities: Entities,
    stack_candidates: int,
) -> dict[str, Any]:
    last = max([0, *(event.time_ns for event in events)])
    ended = log.end != 0 and log.end >= log.start
    hooks = Counter(f"{e.hook >> 8:02x}{e.hook & 255:02x}" for e in events if e.hook is not None)
    finished = log.end != 0 and log.buffers_written != 0
    damage = {
        "events_lost": log.events_lost,
        "buffers_lost": log.buffers_lost,
        "buffers_skipped": counters["buffers_skipped"],
        "bytes_skipped": counters["bytes_skipped"],
        "unknown_headers": counters["unknown_headers"],
        "bad_events": counters["bad_events"],
    }
    truncated = bool(counters["truncated"])
    unsound = truncated or counters["lost_flags"] or counters["lost_events"]
    missing = counters["stacks_missing"]
    return {
        "schema_version": 1,
        "file": {
            "path": None,
            "bytes": len(data),
            "os_version": f"{log.version[0]}.{log.version[1]}",
            "os_build": log.build,
            "processors": log.processors,
            "pointer_size": log.pointer_size,
            "log_file_mode": log.mode,
            "compressed": bool(log.mode & container.MODE_COMPRESSED),
            "clock": log.clock,
            "start": iso_time(log.start),
            "end": iso_time(log.end) if log.end else None,
            "duration_ns": (log.end - log.start) * 100 if ended else last,
            "session_name": log.session_name,
            "perf_freq": log.perf_freq,
            "clock_type": log.clock_type,
        },
        "counts": {
            "buffers": counters["buffers"],
            "compressed_buffers": counters["compressed_buffers"],
            "events": len(events),
            "events_by_header": dict(sorted(Counter(e.header for e in events).items())),
            "events_by_hook": dict(sorted(hooks.items())),
            "heap_events": dict(sorted(Counter(row[4] for row in heap_events).items())),
            "stacks": counters["stacks_seen"],
            "processes": len(entities.processes.rows),
            "threads": len(entities.threads.rows),
            "modules": len(entities.modules.rows),
        },
        "quality": {
            "complete": finished and not unsound and not any(damage.values()),
            "truncated": truncated,
            **damage,
            "sequence_gaps": counters["sequence_gaps"],
            "unattributed": counters["unattributed"],
            "stack_coverage": 1 - missing / stack_candidates if stack_candidates else None,
            "finished": finished,
            "messages": [f"{name}: {count}" for name, count in damage.items() if count],
        },
    }
