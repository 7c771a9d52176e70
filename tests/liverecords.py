"""The events of a synthetic trace as ETW would deliver them live."""

from __future__ import annotations

import struct
from typing import Any

from etlmaker import Trace

#: Class GUIDs by group, in the byte order of memory.
CLASSES = {
    0x10: struct.pack("<IHH", 0x222962AB, 0x6180, 0x4B88) + bytes.fromhex("a825346b75f2a24a"),
    0x18: struct.pack("<IHH", 0xDEF2FE46, 0x7BD6, 0x4B80) + bytes.fromhex("bd94f57fe20d0ce3"),
    0x03: struct.pack("<IHH", 0x3D6FA8D0, 0xFE05, 0x11D0) + bytes.fromhex("9dda00c04fd7ba7c"),
    0x05: struct.pack("<IHH", 0x3D6FA8D1, 0xFE05, 0x11D0) + bytes.fromhex("9dda00c04fd7ba7c"),
    0x14: struct.pack("<IHH", 0x2CB15D1D, 0x5FC1, 0x11D2) + bytes.fromhex("abe100a0c911f518"),
}
IMAGE_LOAD = 0x030A
LOST = struct.pack("<IHH", 0x6A399AE0, 0x4BC6, 0x4DE9) + bytes.fromhex("870b3657f8947e7e")

Record = tuple[int, bytes, int, int, int, int, int, int, bytes]
"""(time, guid, opcode, version, flags, cpu, pid, tid, payload)"""


def record(data: bytes, cpu: int) -> Record:
    """One SYSTEM or PERFINFO event."""
    kind = data[2]
    size, hook = struct.unpack_from("<HH", data, 4)
    wide = kind in (2, 17)
    if kind in (1, 2):
        tid, pid, time = struct.unpack_from("<IIq", data, 8)
        payload = data[0x20:size]
    elif kind in (16, 17):
        (time,) = struct.unpack_from("<q", data, 8)
        tid = pid = 0xFFFFFFFF
        payload = data[0x10:size]
    else:
        raise ValueError(f"no live form of header kind {kind}")
    group = 0x14 if hook == IMAGE_LOAD else hook >> 8
    flags = 0x0100 | 0x0200 | (0x40 if wide else 0x20)
    return time, CLASSES[group], hook & 0xFF, data[0], flags, cpu, pid, tid, payload


def records(trace: Trace, groups: set[int] | None = None) -> list[Record]:
    """Every event in order of time; `groups`: of these alone."""
    found: list[Any] = [record(item.data, item.cpu) for item in trace.items]
    found.sort(key=lambda entry: entry[0])
    if groups is None:
        return found
    wanted = {CLASSES[group] for group in groups}
    return [entry for entry in found if entry[1] in wanted]
