"""Payload bytes by class, version and pointer size `w`."""

from __future__ import annotations

import struct


def words(w: int, *parts: int) -> bytes:
    return b"".join((p & ((1 << 8 * w) - 1)).to_bytes(w, "little") for p in parts)


def u32(*parts: int) -> bytes:
    return b"".join((p & 0xFFFFFFFF).to_bytes(4, "little") for p in parts)


def wide(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass") + b"\0\0"


# ---- heap ---------------------------------------------------------------------------------------


def heap_create(w: int, version: int, heap: int, flags: int, sizes: tuple[int, int, int]) -> bytes:
    return words(w, heap) + u32(flags) + (words(w, *sizes) if version >= 3 else b"")


def heap_alloc(w: int, heap: int, size: int, address: int, source: int) -> bytes:
    return words(w, heap, size, address) + u32(source)


def heap_realloc(
    w: int, heap: int, new: int, old: int, new_size: int, old_size: int, source: int
) -> bytes:
    return words(w, heap, new, old, new_size, old_size) + u32(source)


def heap_free(w: int, heap: int, address: int, source: int) -> bytes:
    return words(w, heap, address) + u32(source)


def heap_range(
    w: int, version: int, heap: int, size: int, address: int, rest: tuple[int, int, int]
) -> bytes:
    """Expand and Contract; `rest`: free, committed, reserved space."""
    tail = words(w, rest[1]) if version >= 3 else b""
    return words(w, heap, size, address, *rest) + u32(7) + tail


def heap_snapshot(w: int, version: int, heap: int, pid: int) -> bytes:
    out = words(w, heap, 0x1000, 0x20000, 0x100000) + u32(2)
    if version >= 2:
        out += u32(pid) + words(w, 0x3000) + u32(5, 6)
    return out + (words(w, 0x8000) if version >= 3 else b"")


# ---- process, thread, image ---------------------------------------------------------------------


def sid(w: int, style: str) -> bytes:
    """Styles: "none" (4 zero bytes), "user" (TOKEN_USER and SID), "zero_user" (seen in tool-made
    files: the TOKEN_USER is all zero, a SID follows)."""
    if style == "none":
        return bytes(4)
    body = bytes([1, 5, 0, 0, 0, 0, 0, 5]) + u32(21, 1111, 2222, 3333, 1001)
    token = bytes(2 * w) if style == "zero_user" else words(w, 0x7FF01234, 0)
    return token + body


def process(
    w: int,
    version: int,
    pid: int,
    ppid: int,
    name: str,
    command_line: str,
    *,
    session: int = 1,
    exit_status: int = 259,
    flags: int = 0,
    sid_style: str = "user",
    package: str = "",
    app: str = "",
) -> bytes:
    ansi = name.encode("utf-8") + b"\0"
    if version == 0:
        return words(w, pid, ppid) + sid(w, sid_style) + ansi
    out = words(w, 0x7A5000) + u32(pid, ppid, session, exit_status)
    if version >= 3:
        out += words(w, 0x187000)
    if version >= 4:
        out += u32(flags)
    out += sid(w, sid_style) + ansi
    if version >= 2:
        out += wide(command_line)
    if version >= 4:
        out += wide(package) + wide(app)
    if version >= 5:
        out += struct.pack("<Q", 132_000_000_000_000_000)
    return out


def thread(w: int, version: int, pid: int, tid: int, start: int, name: str | None = None) -> bytes:
    out = u32(pid, tid) + words(w, 0xA000, 0x9000, 0xB000, 0xA800)
    out += words(w, start if version < 3 else 0xFF, start, 0x7F6000) + u32(3)
    if version >= 3:
        out += bytes([8, 5, 2, 0])
    return out + (wide(name) if name is not None else b"")


def image(
    w: int,
    version: int,
    pid: int,
    base: int,
    size: int,
    path: str,
    *,
    timestamp: int = 0,
    checksum: int = 0,
) -> bytes:
    out = words(w, base, size)
    if version >= 1:
        out += u32(pid)
    if version >= 2:
        out += u32(checksum, timestamp) + bytes(4) + words(w, base) + bytes(16)
        out = out.ljust(56 if w == 8 else 44, b"\0")
    return out + wide(path)


def debug_id(w: int, pid: int, base: int, guid: bytes, age: int, name: str) -> bytes:
    return words(w, base) + u32(pid) + guid + u32(age) + name.encode("utf-8") + b"\0"


def image_info(w: int, pid: int, base: int, size: int, timestamp: int, name: str) -> bytes:
    return words(w, base, size) + u32(pid, timestamp) + wide(name)


# ---- stacks -------------------------------------------------------------------------------------


def stack(w: int, event_time: int, pid: int, tid: int, frames: tuple[int, ...]) -> bytes:
    return struct.pack("<q", event_time) + u32(pid, tid) + words(w, *frames)


def stack_key(w: int, event_time: int, pid: int, tid: int, key: int) -> bytes:
    return stack(w, event_time, pid, tid, (key,))


def key_definition(w: int, key: int, frames: tuple[int, ...]) -> bytes:
    return words(w, key, *frames)


# ---- the first event ----------------------------------------------------------------------------


def logfile_header(
    w: int,
    *,
    buffer_size: int,
    os: tuple[int, int, int],
    processors: int,
    end: int,
    mode: int,
    buffers_written: int,
    events_lost: int,
    mhz: int,
    perf_freq: int,
    start: int,
    clock: int,
    buffers_lost: int,
    session_name: str,
    file_name: str,
    pointer_size: int,
    boot: int,
) -> bytes:
    major, minor, build = os
    out = u32(buffer_size) + bytes([major, minor, 1, 5]) + u32(build, processors)
    out += struct.pack("<q", end)
    out += u32(156250, 500, mode, buffers_written, 1, pointer_size, events_lost, mhz)
    out += words(w, 0, 0)
    out += bytes(172) + bytes(4)  # time zone and padding
    out += struct.pack("<qqq", boot, perf_freq, start)
    out += u32(clock, buffers_lost)
    return out + wide(session_name) + wide(file_name)
