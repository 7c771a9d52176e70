"""Payloads (sections 5 and 7 of the agreement). Each parser returns None for a bad payload."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from .model import Event


def pointer(data: bytes, at: int, width: int) -> int:
    return int.from_bytes(data[at : at + width], "little")


def u32(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "little")


def ansi(data: bytes, at: int) -> tuple[str, int, bool]:
    """Text, position behind it, and whether a NUL ended it."""
    nul = data.find(b"\0", at)
    end = len(data) if nul < 0 else nul
    raw = data[at:end]
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    return text, min(end + 1, len(data)) if nul >= 0 else end, nul >= 0


def utf16(data: bytes, at: int) -> tuple[str, int, bool]:
    end = at
    while end + 2 <= len(data) and data[end : end + 2] != b"\0\0":
        end += 2
    ended = end + 2 <= len(data)
    text = data[at:end].decode("utf-16-le", "surrogatepass")
    return text, end + 2 if ended else len(data), ended


def pick_width(event: Event, fits: Any) -> int:
    """The header's width unless only the other one fits exactly (FULL headers)."""
    own = event.pointer_size
    other = 12 - own
    if event.full and not fits(own) and fits(other):
        return other
    return own


# ---- heap ---------------------------------------------------------------------------------------

HEAP_NAMES = {
    32: "create",
    33: "alloc",
    34: "realloc",
    35: "destroy",
    36: "free",
    37: "expand",
    38: "snapshot",
    42: "contract",
    43: "lock",
    44: "unlock",
    45: "validate",
    46: "walk",
}


def heap_minimum(op: int, version: int, width: int) -> int:
    pointers, words = {
        32: (1, 1) if version < 3 else (4, 1),
        33: (3, 1),
        34: (5, 1),
        35: (1, 0),
        36: (2, 1),
        37: (6, 1) if version < 3 else (7, 1),
        38: (4, 1) if version < 2 else (5, 4) if version == 2 else (6, 4),
        42: (6, 1) if version < 3 else (7, 1),
    }.get(op, (1, 0))
    return pointers * width + 4 * words


def heap(event: Event) -> dict[str, Any] | None:
    data, op = event.payload, event.op
    if op not in HEAP_NAMES:
        width = event.pointer_size
        handle = pointer(data, 0, width) if len(data) >= width else None
        return {"kind": f"op{op}", "heap": handle}
    width = pick_width(event, lambda w: len(data) == heap_minimum(op, event.version, w))
    if len(data) < heap_minimum(op, event.version, width):
        return None
    field = [pointer(data, i * width, width) for i in range(len(data) // width)]
    row: dict[str, Any] = {"kind": HEAP_NAMES[op], "heap": field[0]}
    if op == 33:
        row.update(size=field[1], address=field[2], source=u32(data, 3 * width))
    elif op == 34:
        row.update(
            address=field[1],
            old_address=field[2],
            size=field[3],
            old_size=field[4],
            source=u32(data, 5 * width),
        )
    elif op == 36:
        row.update(address=field[1], source=u32(data, 2 * width))
    elif op in (37, 42):
        row.update(size=field[1], address=field[2])
    return row


# ---- process ------------------------------------------------------------------------------------


@dataclass
class ProcessRow:
    pid: int
    ppid: int
    session_id: int | None
    exit_status: int | None
    wow64: bool | None
    name: str
    command_line: str | None
    exact: bool


def _after_sid(data: bytes, at: int, width: int) -> int | None:
    """Position behind the SID block, None if it does not fit."""
    if at + 4 > len(data):
        return None
    sid = at + 2 * width
    if u32(data, at) == 0:
        head = data[sid : sid + 8]
        if len(head) == 8 and head[0] == 1 and head[1] <= 15 and head[2:6] == bytes(4):
            end = sid + 8 + 4 * head[1]
            if end <= len(data):
                return end
        return at + 4
    if sid + 8 > len(data) or data[sid] != 1 or data[sid + 1] > 15:
        return None
    end = sid + 8 + 4 * data[sid + 1]
    return end if end <= len(data) else None


def _process(event: Event, width: int) -> ProcessRow | None:
    data, version = event.payload, event.version
    extra = width - 4
    fixed = (
        2 * width
        if version == 0
        else 20 + extra
        if version <= 2
        else 24 + 2 * extra
        if version == 3
        else 28 + 2 * extra
    )
    if fixed > len(data):
        return None
    at = _after_sid(data, fixed, width)
    if at is None:
        return None
    ended = []
    name, at, ok = ansi(data, at)
    ended.append(ok)
    command = None
    if version >= 2:
        command, at, ok = utf16(data, at)
        ended.append(ok)
    if version >= 4:
        for _ in range(2):
            _, at, ok = utf16(data, at)
            ended.append(ok)
    exact = all(ended) and at + (8 if version >= 5 else 0) == len(data)
    if version == 0:
        return ProcessRow(u32(data, 0), u32(data, width), None, None, None, name, command, exact)
    pid, ppid, session, status = struct.unpack_from("<IIIi", data, width)
    wow64 = bool(u32(data, 24 + 2 * extra) & 2) if version >= 4 else None
    return ProcessRow(pid, ppid, session, status, wow64, name, command, exact)


def process(event: Event) -> ProcessRow | None:
    def fits(width: int) -> bool:
        row = _process(event, width)
        return row is not None and row.exact

    return _process(event, pick_width(event, fits))


# ---- thread -------------------------------------------------------------------------------------


def thread(event: Event) -> tuple[int, int, int] | None:
    """(pid, tid, start address); only for version 2 and later."""
    data = event.payload

    def minimum(width: int) -> int:
        return (68 if width == 8 else 40) + (4 if event.version >= 3 else 0)

    def fits(width: int) -> bool:
        least = minimum(width)
        if len(data) <= least:
            return len(data) == least
        _, end, ended = utf16(data, least)
        return ended and end == len(data)

    width = pick_width(event, fits)
    if len(data) < minimum(width):
        return None
    return u32(data, 0), u32(data, 4), pointer(data, 48 if width == 8 else 28, width)


# ---- image --------------------------------------------------------------------------------------


@dataclass
class ImageRow:
    base: int
    size: int
    pid: int
    checksum: int | None
    timestamp: int | None
    path: str
    exact: bool


def _image(event: Event, width: int) -> ImageRow | None:
    data, version = event.payload, event.version
    fixed = {0: 2 * width, 1: 2 * width + 4}.get(version, 56 if width == 8 else 44)
    if fixed > len(data):
        return None
    path, at, ended = utf16(data, fixed)
    return ImageRow(
        base=pointer(data, 0, width),
        size=pointer(data, width, width),
        pid=u32(data, 2 * width) if version >= 1 else event.pid or 0,
        checksum=u32(data, 2 * width + 4) if version >= 2 else None,
        timestamp=u32(data, 2 * width + 8) if version >= 2 else None,
        path=path,
        exact=ended and at == len(data),
    )


def image(event: Event) -> ImageRow | None:
    def fits(width: int) -> bool:
        row = _image(event, width)
        return row is not None and row.exact

    return _image(event, pick_width(event, fits))


def debug_id(event: Event) -> tuple[int, int, str, int, str] | None:
    """(pid, base, guid, age, name)."""
    data = event.payload

    def fits(width: int) -> bool:
        if len(data) < width + 24:
            return False
        _, end, ended = ansi(data, width + 24)
        return ended and end == len(data)

    width = pick_width(event, fits)
    if len(data) < width + 24:
        return None
    raw = data[width + 4 : width + 20]
    guid = (raw[3::-1] + raw[5:3:-1] + raw[7:5:-1] + raw[8:]).hex().upper()
    name = ansi(data, width + 24)[0]
    return u32(data, width), pointer(data, 0, width), guid, u32(data, width + 20), name


def image_info(event: Event) -> tuple[int, int, int] | None:
    """(pid, base, time stamp)."""
    data = event.payload

    def fits(width: int) -> bool:
        if len(data) < 2 * width + 8:
            return False
        _, end, ended = utf16(data, 2 * width + 8)
        return ended and end == len(data)

    width = pick_width(event, fits)
    if len(data) < 2 * width + 8:
        return None
    return u32(data, 2 * width), pointer(data, 0, width), u32(data, 2 * width + 4)
