"""Compressors for packed buffers: greedy, slow, and good enough to make real matches."""

from __future__ import annotations

import heapq
import struct
from collections.abc import Iterator


def _tokens(
    data: bytes, start: int, end: int, floor: int, reach: int, longest: int
) -> Iterator[tuple[int, int]]:
    """(distance, length) for a match, (0, byte) for a literal; looks back `reach` bytes, but not
    before `floor`."""
    seen: dict[bytes, int] = {}
    for at in range(max(floor, start - reach), start):
        seen[data[at : at + 3]] = at
    at = start
    while at < end:
        key = data[at : at + 3]
        found = seen.get(key)
        length = 0
        if found is not None and len(key) == 3 and at - found <= reach and at + 3 <= end:
            length = 3
            while (
                length < longest
                and at + length < end
                and (data[found + length] == data[at + length])
            ):
                length += 1
        if length and found is not None:
            yield at - found, length
        else:
            yield 0, data[at]
            length = 1
        for _ in range(length):
            seen[data[at : at + 3]] = at
            at += 1


def xpress(data: bytes, longest: int = 1 << 20) -> bytes:
    out = bytearray()
    flags_at, flags, count = 0, 0, 32
    nibble_at: int | None = None
    for distance, value in _tokens(data, 0, len(data), 0, 8192, longest):
        if count == 32:
            if out:
                struct.pack_into("<I", out, flags_at, flags)
            flags_at, flags, count = len(out), 0, 0
            out += bytes(4)
        flags |= bool(distance) << (31 - count)
        count += 1
        if not distance:
            out.append(value)
            continue
        excess = value - 3
        out += struct.pack("<H", (distance - 1) << 3 | min(excess, 7))
        if excess < 7:
            continue
        nibble = min(excess - 7, 15)
        if nibble_at is None:
            nibble_at = len(out)
            out.append(nibble)
        else:
            out[nibble_at] |= nibble << 4
            nibble_at = None
        if nibble == 15:
            rest = excess - 22
            if rest < 255:
                out.append(rest)
            elif excess < 0x10000:
                out += struct.pack("<BH", 255, excess)
            else:
                out += struct.pack("<BHI", 255, 0, excess)
    if out:
        while count < 32:  # unused flags are ones, as in the published description
            flags |= 1 << (31 - count)
            count += 1
        struct.pack_into("<I", out, flags_at, flags)
    return bytes(out)


def lznt1(data: bytes) -> bytes:
    out = bytearray()
    for start in range(0, len(data), 4096):
        chunk = data[start : start + 4096]
        packed = _lznt1_chunk(chunk)
        if len(packed) < len(chunk):
            out += struct.pack("<H", 0xB000 | (len(packed) - 1)) + packed
        else:
            out += struct.pack("<H", 0x3000 | (len(chunk) - 1)) + chunk
    return bytes(out)


def _lznt1_chunk(chunk: bytes) -> bytes:
    out = bytearray()
    at, group, flags, count = 0, bytearray(), 0, 0
    seen: dict[bytes, int] = {}
    while at < len(chunk):
        bits = max(4, (at - 1).bit_length()) if at else 4
        longest = (1 << (16 - bits)) + 2
        found = seen.get(chunk[at : at + 3])
        length = 0
        if found is not None and at + 3 <= len(chunk):
            while (
                length < longest
                and at + length < len(chunk)
                and (chunk[found + length] == chunk[at + length])
            ):
                length += 1
        if length >= 3 and found is not None:
            flags |= 1 << count
            group += struct.pack("<H", (at - found - 1) << (16 - bits) | (length - 3))
        else:
            group.append(chunk[at])
            length = 1
        for _ in range(length):
            seen[chunk[at : at + 3]] = at
            at += 1
        count += 1
        if count == 8 or at == len(chunk):
            out.append(flags)
            out += group
            group, flags, count = bytearray(), 0, 0
    return bytes(out)


def xpress_huffman(data: bytes) -> bytes:
    out = bytearray()
    for start in range(0, len(data), 0x10000):
        end = min(start + 0x10000, len(data))
        tokens = list(_tokens(data, start, end, 0, 0xFFFF, 0x10000))
        _huffman_block(out, tokens, end == len(data))
    return bytes(out)


def _symbol(distance: int, value: int) -> int:
    if not distance:
        return value
    return 256 | (distance.bit_length() - 1) << 4 | min(value - 3, 15)


def _huffman_block(out: bytearray, tokens: list[tuple[int, int]], last: bool) -> None:
    counts = [0] * 512
    for token in tokens:
        counts[_symbol(*token)] += 1
    counts[256] += last
    if sum(map(bool, counts)) < 2:  # a code needs two symbols
        counts[1 if counts[0] else 0] += 1
    lengths = _code_lengths(counts)
    out += bytes(lengths[i] | lengths[i + 1] << 4 for i in range(0, 512, 2))
    codes, code = {}, 0
    for length in range(1, 16):
        for symbol in range(512):
            if lengths[symbol] == length:
                codes[symbol] = (code, length)
                code += 1
        code <<= 1
    writer = _BitWriter(out)
    for distance, value in tokens:
        writer.bits(*codes[_symbol(distance, value)])
        if distance:
            if value - 3 >= 270:
                out += struct.pack("<BH", 255, value - 3)
            elif value - 3 >= 15:
                out.append(value - 18)
            width = distance.bit_length() - 1
            writer.bits(distance - (1 << width), width)
    if last:
        writer.bits(*codes[256])
    writer.flush()


def _code_lengths(counts: list[int]) -> list[int]:
    """Huffman lengths of at most 15 bits; rare symbols are made less rare until they fit."""
    while True:
        heap = [(n, i, (i,)) for i, n in enumerate(counts) if n]
        heapq.heapify(heap)
        lengths = [0] * 512
        serial = 512
        while len(heap) > 1:
            a, b = heapq.heappop(heap), heapq.heappop(heap)
            for symbol in a[2] + b[2]:
                lengths[symbol] += 1
            heapq.heappush(heap, (a[0] + b[0], serial, a[2] + b[2]))
            serial += 1
        if max(lengths) <= 15:
            return lengths
        counts = [(n + 1) // 2 for n in counts]


class _BitWriter:
    """Two u16 slots stay reserved ahead; length bytes go behind them."""

    def __init__(self, out: bytearray) -> None:
        self.out = out
        self.slots = [len(out), len(out) + 2]
        out += bytes(4)
        self.word, self.free = 0, 16

    def bits(self, value: int, count: int) -> None:
        for shift in range(count - 1, -1, -1):
            if self.free == 0:
                self._store()
                self.slots.append(len(self.out))
                self.out += bytes(2)
                self.word, self.free = 0, 16
            self.word = self.word << 1 | (value >> shift) & 1
            self.free -= 1

    def _store(self) -> None:
        struct.pack_into("<H", self.out, self.slots.pop(0), self.word)

    def flush(self) -> None:
        self.word <<= self.free
        self._store()


FORMATS = {"lznt1": (2, lznt1), "xpress": (3, xpress), "xpress_huffman": (4, xpress_huffman)}
