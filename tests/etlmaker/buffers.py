"""Events into buffers, buffers into a file."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass

from .pack import FORMATS

BUFFER_HEADER = 0x48
GENERIC, HEADER = 0, 4
FLUSH, EVENTS_LOST, BUFFER_LOST, PROC_INDEX, COMPRESSED = 1, 2, 4, 0x20, 0x40


def buffer_bytes(
    events: bytes,
    *,
    size: int,
    cpu: int,
    sequence: int,
    time: int = 0,
    logger: int = 1,
    kind: int = GENERIC,
    flags: int = 0,
    state: int = 3,
    proc_index: bool = True,
    compression: str | None = None,
    saved: int | None = None,
    offset: int | None = None,
    current: int | None = None,
) -> bytes:
    """One buffer; `size` is its whole length unless it is packed. The tail is 0xFF."""
    used = BUFFER_HEADER + len(events)
    if used > size:
        raise ValueError(f"{used} bytes do not fit a buffer of {size}")
    if compression:
        body = FORMATS[compression][1](events)
        flags |= COMPRESSED
        total = BUFFER_HEADER + len(body)
    else:
        body = events.ljust(size - BUFFER_HEADER, b"\xff")
        total = size
    processor = cpu if proc_index else 0x0800 | cpu
    head = struct.pack(
        "<IIIiqqQHHIIHH16x",
        total,
        used if saved is None else saved,
        size + used if current is None else current,  # real files: beyond the buffer
        0,
        time,
        sequence,
        0xFFFFF80012345678,
        processor,
        logger,
        state,
        used if offset is None else offset,
        flags | (PROC_INDEX if proc_index else 0),
        kind,
    )
    return head + body


def padded(event: bytes) -> bytes:
    return event.ljust((len(event) + 7) & ~7, b"\0")


@dataclass
class Item:
    time: int
    cpu: int
    data: bytes
    logger: int | None = None


@dataclass
class Chunk:
    """The events of one data buffer."""

    cpu: int
    logger: int
    first: int
    last: int
    events: bytes


def fill(items: list[Item], size: int, per_buffer: int | None, logger: int) -> list[Chunk]:
    """Per (logger, cpu) in time order; chunks in the order of their last event (flush order)."""
    chunks: list[Chunk] = []
    open_chunks: dict[tuple[int, int], list[Item]] = {}
    used: dict[tuple[int, int], int] = {}

    def close(key: tuple[int, int]) -> None:
        held = open_chunks.pop(key)
        used[key] = 0
        data = b"".join(padded(item.data) for item in held)
        chunks.append(Chunk(key[1], key[0], held[0].time, held[-1].time, data))

    for item in sorted(items, key=lambda item: item.time):
        key = (logger if item.logger is None else item.logger, item.cpu)
        held = open_chunks.get(key, [])
        length = len(padded(item.data))
        full = used.get(key, 0) + length > size - BUFFER_HEADER
        if held and (full or len(held) == per_buffer):
            close(key)
        open_chunks.setdefault(key, []).append(item)
        used[key] = used.get(key, 0) + length
    for key in list(open_chunks):
        close(key)
    return chunks


def assemble(
    header: bytes,
    chunks: list[Chunk],
    *,
    size: int,
    first_sequence: int,
    compression: str | None,
    compress_every: int,
    proc_index: bool,
    shuffle: int | None,
    circular: bool,
    lost_flags: dict[int, int],
    zero_tail: int,
) -> bytes:
    """Sequence numbers follow the time of the first event; the file has flush order, or a shuffled
    one, or (circular) the newest part first, with a gap before the oldest."""
    order = sorted(range(len(chunks)), key=lambda i: (chunks[i].first, i))
    sequence = {index: first_sequence + place for place, index in enumerate(order)}
    if circular:
        for place, index in enumerate(order):
            sequence[index] += 0 if place < len(order) // 2 else 7
    made = []
    for index, chunk in enumerate(chunks):
        packed = compression if index % compress_every == 0 else None
        made.append(
            buffer_bytes(
                chunk.events,
                size=size,
                cpu=chunk.cpu,
                logger=chunk.logger,
                sequence=sequence[index],
                time=chunk.last,
                flags=lost_flags.get(index, 0),
                proc_index=proc_index,
                compression=packed,
            )
        )
    if circular:
        half = len(made) // 2
        made = made[half:] + made[:half]
    if shuffle is not None:
        random.Random(shuffle).shuffle(made)
    return header + b"".join(made) + bytes(zero_tail)
