"""Bytes of one event: every header kind, with its size field and extension."""

from __future__ import annotations

import struct
import uuid

#: name: (kind byte for pointer size 4, for 8)
_KIND = {
    "SYSTEM": (1, 2),
    "COMPACT": (3, 4),
    "FULL": (10, 20),
    "INSTANCE": (11, 21),
    "TIMED": (12, 12),
    "ERROR": (13, 13),
    "WNODE": (14, 14),
    "PERFINFO": (16, 17),
    "EVENT": (18, 19),
}

_CLASSES = {
    "Heap": (0x10, "222962ab-6180-4b88-a825-346b75f2a24a"),
    "StackWalk": (0x18, "def2fe46-7bd6-4b80-bd94-f57fe20d0ce3"),
    "Process": (0x03, "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c"),
    "Thread": (0x05, "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c"),
    "Image": (0x14, "2cb15d1d-5fc1-11d2-abe1-00a0c911f518"),
    "PageFault": (0x02, "3d6fa8d3-fe05-11d0-9dda-00c04fd7ba7c"),
    "EventTrace": (0x00, "68fdd900-4a3e-11d1-84f4-0000f80464e3"),
    "PerfInfo": (0x0F, "ce1dbfb4-137e-4da6-87b0-3f59aa102cbc"),
    "ImageID": (None, "b3e675d7-2554-4f18-830b-2762732560de"),
    "SysConfigEx": (None, "9b79ee91-b5fd-41c0-a243-4248e266e9d0"),
    "LostEvent": (None, "6a399ae0-4bc6-4de9-870b-3657f8947e7e"),
    "Other": (0x0B, "01853a65-418f-4f36-aefc-dc0f1d2fd235"),
}

HOOKED = ("SYSTEM", "COMPACT", "PERFINFO")
NONE_ID = 0xFFFFFFFF


def guid(text: str) -> bytes:
    return uuid.UUID(text).bytes_le


def hook_of(cls: str, op: int) -> int:
    """Image load lives in the process group on disk."""
    if cls == "Image" and op == 10:
        return 0x030A
    group = _CLASSES[cls][0]
    if group is None:
        raise ValueError(f"{cls} has no hook; use a FULL or EVENT header")
    return group << 8 | op


def event(
    header: str,
    cls: str,
    op: int,
    payload: bytes,
    *,
    time: int,
    pid: int = NONE_ID,
    tid: int = NONE_ID,
    version: int = 2,
    pointer_size: int = 8,
    pebs: bool = False,
    counters: int = 0,
    extended: tuple[tuple[int, bytes], ...] = (),
    hook: int | None = None,
    provider: str | None = None,
) -> bytes:
    """One event without padding. `extended`: (type, data) items of an EVENT header."""
    kind = _KIND[header][pointer_size == 8]
    if header in HOOKED:
        extension = bytes(range(8)) * (pebs + counters)
        word = version | (0x8000 if pebs else 0) | counters << 8
        number = hook_of(cls, op) if hook is None else hook
        ids = b"" if header == "PERFINFO" else struct.pack("<II", tid, pid)
        tail = bytes(8) if header == "SYSTEM" else b""
        size = 8 + len(ids) + 8 + len(tail) + len(extension) + len(payload)
        head = struct.pack("<HBBHH", word, kind, 0xC0, _fits(size), number)
        return head + ids + struct.pack("<q", time) + tail + extension + payload
    who = guid(provider or _CLASSES[cls][1])
    if header in ("FULL", "INSTANCE"):
        body = bytes(8)
        if header == "INSTANCE":
            body += struct.pack("<II", 1, 2) + bytes(16)
        size = 0x28 + len(body) + len(payload)
        head = struct.pack("<HBBBBH", _fits(size), kind, 0xC0, op, 0, version)
        return head + struct.pack("<IIq", tid, pid, time) + who + body + payload
    if header == "EVENT":
        items = _items(extended)
        size = 0x50 + len(items) + len(payload)
        flags = (0x20 if pointer_size == 4 else 0x40) | bool(items)
        head = struct.pack("<HBBHH", _fits(size), kind, 0xC0, flags, 0)
        head += struct.pack("<IIq", tid, pid, time) + who
        head += struct.pack("<HBBBBHQ", 0, version, 0, 4, op, 0, 0)
        return head + bytes(8) + bytes(16) + items + payload
    size = 8 + len(payload)
    return struct.pack("<HBBI", _fits(size), kind, 0xC0, 0) + payload


def message(
    payload: bytes,
    *,
    time: int | None = None,
    pid: int | None = None,
    tid: int | None = None,
    sequence: int | None = None,
    component: int | None = None,
    provider: str | None = None,
    number: int = 10,
    pointer_size: int = 8,
) -> bytes:
    """A WPP message with the optional parts that are given."""
    options, body = (0x40 if pointer_size == 4 else 0x80), b""
    if sequence is not None:
        options |= 1
        body += struct.pack("<I", sequence)
    if component is not None:
        options |= 4
        body += struct.pack("<I", component)
    elif provider is not None:
        options |= 2
        body += guid(provider)
    if time is not None:
        options |= 8
        body += struct.pack("<q", time)
    if pid is not None and tid is not None:
        options |= 0x20
        body += struct.pack("<II", tid, pid)
    size = _fits(8 + len(body) + len(payload))
    return struct.pack("<HBBHH", size, 0, 0x90, number, options) + body + payload


def _fits(size: int) -> int:
    if size > 0xFFFF:
        raise ValueError(f"an event of {size} bytes does not fit its size field")
    return size


def _items(extended: tuple[tuple[int, bytes], ...]) -> bytes:
    out = b""
    for index, (kind, data) in enumerate(extended):
        padded = (8 + len(data) + 7) & ~7
        more = index + 1 < len(extended)
        out += struct.pack("<HHHH", padded, kind, more, len(data))
        out += data.ljust(padded - 8, b"\0")
    return out
