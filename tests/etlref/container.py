"""Buffers: the walk over the file, valid ends, unpacking (sections 2 and 3 of the agreement)."""

from __future__ import annotations

import itertools
import struct
from collections import Counter

from .model import Buffer, Corrupt
from .unpack import unpack

HEADER = 0x48
MAX_BUFFER = 64 << 20
PROC_INDEX, COMPRESSED = 0x20, 0x40
MODE_COMPRESSED = 0x04000000


class _Fields:
    def __init__(self, data: bytes, offset: int) -> None:
        (self.size, self.saved, self.current) = struct.unpack_from("<III", data, offset)
        (self.sequence,) = struct.unpack_from("<q", data, offset + 0x18)
        (processor, self.logger, self.state, self.offset, self.flags, self.kind) = (
            struct.unpack_from("<HHIIHH", data, offset + 0x28)
        )
        self.cpu = processor & 0x7FF if self.flags & PROC_INDEX else processor & 0xFF

    def valid_end(self, limit: int) -> int:
        if HEADER <= self.offset <= limit:
            return self.offset
        if self.saved >= HEADER:
            return min(self.saved, limit)
        if self.current >= HEADER:
            return min(self.current, limit)
        return HEADER


def _make(fields: _Fields, offset: int, data: bytes, cut: bool) -> Buffer:
    return Buffer(
        offset=offset,
        sequence=fields.sequence,
        cpu=fields.cpu,
        logger=fields.logger,
        flags=fields.flags,
        kind=fields.kind,
        data=data,
        end=fields.valid_end(len(data)),
        cut=cut,
    )


def first_buffer(data: bytes) -> tuple[Buffer, int]:
    """The header buffer and the compression format that its State names."""
    if len(data) < HEADER:
        raise Corrupt(0, "shorter than a buffer header")
    fields = _Fields(data, 0)
    if not HEADER <= fields.size <= MAX_BUFFER:
        raise Corrupt(0, f"first buffer has size {fields.size}")
    limit = min(fields.size, len(data))
    return _make(fields, 0, data[:limit], fields.size > len(data)), fields.state & 0xFFFF


def walk(data: bytes, first: Buffer, state: int, mode: int, counters: Counter[str]) -> list[Buffer]:
    """All buffers whose events can be read, in file order, the first included."""
    stated = state if mode & MODE_COMPRESSED and state in (2, 3, 4) else 3
    found = [first]
    sequences = {first.sequence}
    counters["buffers"] += 1
    counters["lost_flags"] += bool(first.flags & 6)
    if first.cut:
        counters["truncated"] = 1
    at = len(first.data)
    while at < len(data):
        rest = len(data) - at
        if not data[at : at + 1].strip(b"\0") and not data[at:].strip(b"\0"):
            break
        if rest < HEADER:
            counters["truncated"] = 1
            counters["bytes_skipped"] += rest
            break
        fields = _Fields(data, at)
        if not HEADER <= fields.size <= MAX_BUFFER:
            counters["buffers_skipped"] += 1
            counters["bytes_skipped"] += rest
            break
        packed = bool(fields.flags & COMPRESSED)
        cut = fields.size > rest
        counters["buffers"] += 1
        counters["compressed_buffers"] += packed
        counters["lost_flags"] += bool(fields.flags & 6)
        sequences.add(fields.sequence)
        content = data[at : at + fields.size]
        if cut:
            counters["truncated"] = 1
        if packed and cut:
            counters["buffers_skipped"] += 1
            counters["bytes_skipped"] += rest
        elif packed:
            whole = None
            if HEADER <= fields.saved <= MAX_BUFFER:
                whole = unpack(content[HEADER:], fields.saved - HEADER, stated)
            if whole is None:
                counters["buffers_skipped"] += 1
                counters["bytes_skipped"] += fields.size - HEADER
            else:
                found.append(_make(fields, at, content[:HEADER] + whole, cut))
        else:
            found.append(_make(fields, at, content, cut))
        at += fields.size
    order = sorted(sequences)
    counters["sequence_gaps"] += sum(
        after - before > 1 for before, after in itertools.pairwise(order)
    )
    return found
