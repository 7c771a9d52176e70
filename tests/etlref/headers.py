"""Event headers of every kind (section 3 of the agreement)."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator

from .model import Buffer, Event

#: kind: (name, header bytes, offset of Size, pointer size)
KINDS = {
    1: ("SYSTEM32", 0x20, 4, 4),
    2: ("SYSTEM64", 0x20, 4, 8),
    3: ("COMPACT32", 0x18, 4, 4),
    4: ("COMPACT64", 0x18, 4, 8),
    10: ("FULL32", 0x30, 0, 4),
    11: ("INSTANCE32", 0x48, 0, 4),
    12: ("TIMED", 8, 0, 8),
    13: ("ERROR", 8, 0, 8),
    14: ("WNODE", 8, 0, 8),
    16: ("PERFINFO32", 0x10, 4, 4),
    17: ("PERFINFO64", 0x10, 4, 8),
    18: ("EVENT32", 0x50, 0, 4),
    19: ("EVENT64", 0x50, 0, 8),
    20: ("FULL64", 0x30, 0, 8),
    21: ("INSTANCE64", 0x48, 0, 8),
}

_GROUPS = {3: "Process", 5: "Thread", 0x10: "Heap", 0x14: "Image", 0x18: "StackWalk"}


def guid_bytes(text: str) -> bytes:
    a, b, c, d, e = text.split("-")
    return (
        int(a, 16).to_bytes(4, "little")
        + int(b, 16).to_bytes(2, "little")
        + int(c, 16).to_bytes(2, "little")
        + bytes.fromhex(d + e)
    )


_GUIDS = {
    guid_bytes("3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c"): "Process",
    guid_bytes("3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c"): "Thread",
    guid_bytes("2cb15d1d-5fc1-11d2-abe1-00a0c911f518"): "Image",
    guid_bytes("222962ab-6180-4b88-a825-346b75f2a24a"): "Heap",
    guid_bytes("def2fe46-7bd6-4b80-bd94-f57fe20d0ce3"): "StackWalk",
    guid_bytes("b3e675d7-2554-4f18-830b-2762732560de"): "ImageID",
    guid_bytes("9b79ee91-b5fd-41c0-a243-4248e266e9d0"): "SysConfigEx",
    guid_bytes("6a399ae0-4bc6-4de9-870b-3657f8947e7e"): "LostEvent",
}


def events_of(buffer: Buffer, counters: Counter[str]) -> Iterator[Event]:
    """The events of one buffer in place order; damage goes to `counters`."""
    data, end, at = buffer.data, buffer.end, 0x48
    while end - at >= 4:
        rest = end - at
        if data[at : at + 4] == b"\xff\xff\xff\xff" or not data[at:end].strip(b"\0"):
            return
        fault = "cut" if buffer.cut else "bad_events"
        if rest < 8:
            break
        marker, kind = data[at + 3], data[at + 2]
        if marker == 0x90:
            name, header, size_at, pointer = "MESSAGE", 8, 0, 8
        elif marker != 0xC0:
            fault = "bad_events"
            break
        elif kind not in KINDS:
            fault = "unknown_headers"
            break
        else:
            name, header, size_at, pointer = KINDS[kind]
        (size,) = struct.unpack_from("<H", data, at + size_at)
        if size < header:
            fault = "bad_events"
            break
        if size > rest:
            break
        yield _event(buffer, at, data[at : at + size], name, header, pointer)
        at += (size + 7) & ~7
    else:
        return
    if fault != "cut":
        counters[fault] += 1
    counters["bytes_skipped"] += rest


def _event(buffer: Buffer, at: int, raw: bytes, name: str, header: int, pointer: int) -> Event:
    event = Event(
        header=name,
        raw=None,
        cpu=buffer.cpu,
        logger=buffer.logger,
        sequence=buffer.sequence,
        buffer_offset=buffer.offset,
        position=at,
        pointer_size=pointer,
        payload=raw[header:],
    )
    if name.startswith(("SYSTEM", "COMPACT", "PERFINFO")):
        _hooked(event, raw, header)
    elif name == "MESSAGE":
        _message(event, raw)
    elif name.startswith(("FULL", "INSTANCE", "EVENT")):
        event.tid, event.pid, event.raw = struct.unpack_from("<IIq", raw, 8)
        if name.startswith("FULL"):
            event.op, event.version = raw[4], struct.unpack_from("<H", raw, 6)[0]
            event.cls = _GUIDS.get(raw[0x18:0x28])
            event.full = True
        elif name.startswith("INSTANCE"):
            event.op, event.version = raw[4], struct.unpack_from("<H", raw, 6)[0]
        else:
            event.op, event.version = raw[0x2D], raw[0x2A]
            event.cls = _GUIDS.get(raw[0x18:0x28])
            if raw[4] & 1:
                _extended(event, raw)
    if event.pid == 0xFFFFFFFF:
        event.pid = None
    if event.tid == 0xFFFFFFFF:
        event.tid = None
    if event.bad:
        event.payload = b""
    return event


def _hooked(event: Event, raw: bytes, header: int) -> None:
    version, _, event.hook = struct.unpack_from("<HxxHH", raw, 0)
    event.version = version & 0xFF
    event.op, group = raw[6], raw[7]
    event.cls = "Image" if event.hook == 0x030A else _GROUPS.get(group)
    if header == 0x10:
        (event.raw,) = struct.unpack_from("<q", raw, 8)
    else:
        event.tid, event.pid, event.raw = struct.unpack_from("<IIq", raw, 8)
    extension = (8 if version & 0x8000 else 0) + 8 * ((version >> 8) & 7)
    if header + extension > len(raw):
        event.bad = True
    event.payload = raw[header + extension :]


def _message(event: Event, raw: bytes) -> None:
    (options,) = struct.unpack_from("<H", raw, 6)
    at = 8
    if options & 1:
        at += 4
    if options & 4:
        at += 4
    elif options & 2:
        at += 16
    time_at = at
    if options & 8:
        at += 8
    ids_at = at
    if options & 0x20:
        at += 8
    if at > len(raw):
        event.bad = True
        return
    if options & 8:
        (event.raw,) = struct.unpack_from("<q", raw, time_at)
    if options & 0x20:
        event.tid, event.pid = struct.unpack_from("<II", raw, ids_at)
    if options & 0x40:
        event.pointer_size = 4
    event.payload = raw[at:]


def _extended(event: Event, raw: bytes) -> None:
    at, more = 0x50, True
    while more:
        if at + 8 > len(raw):
            event.bad = True
            return
        size, kind, linkage, used = struct.unpack_from("<HHHH", raw, at)
        if size < 8 or at + size > len(raw) or used > size - 8:
            event.bad = True
            return
        event.extended.append((kind, raw[at + 8 : at + 8 + used]))
        more = bool(linkage & 1)
        at += size
    event.payload = raw[at:]
