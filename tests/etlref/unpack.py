"""The three formats of packed buffers. Each returns exactly `size` bytes or raises BadStream."""

from __future__ import annotations


class BadStream(Exception):
    pass


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, count: int) -> int:
        if self.at + count > len(self.data):
            raise BadStream("input ends")
        value = int.from_bytes(self.data[self.at : self.at + count], "little")
        self.at += count
        return value


def _copy(out: bytearray, distance: int, length: int, start: int, size: int) -> None:
    if distance > len(out) - start:
        raise BadStream("distance before the start")
    if len(out) + length > size:
        raise BadStream("match past the end")
    for _ in range(length):
        out.append(out[-distance])


def xpress(data: bytes, size: int) -> bytes:
    src = _Reader(data)
    out = bytearray()
    flags = flag_count = 0
    nibble_at: int | None = None
    while len(out) < size:
        if flag_count == 0:
            flags = src.take(4)
            flag_count = 32
        flag_count -= 1
        if not (flags >> flag_count) & 1:
            out.append(src.take(1))
            continue
        value = src.take(2)
        distance = (value >> 3) + 1
        length = value & 7
        if length == 7:
            if nibble_at is None:
                nibble_at = src.at
                nibble = src.take(1) & 15
            else:
                nibble = data[nibble_at] >> 4
                nibble_at = None
            if nibble < 15:
                length = nibble + 10
            else:
                byte = src.take(1)
                if byte < 255:
                    length = byte + 25
                else:
                    word = src.take(2) or src.take(4)
                    if word < 22:
                        raise BadStream("length too small")
                    length = word + 3
        else:
            length += 3
        _copy(out, distance, length, 0, size)
    return bytes(out)


def lznt1(data: bytes, size: int) -> bytes:
    src = _Reader(data)
    out = bytearray()
    while len(out) < size:
        header = src.take(2)
        if header == 0:
            raise BadStream("ends early")
        if (header >> 12) & 7 != 3:
            raise BadStream("chunk signature")
        length = (header & 0xFFF) + 1
        chunk = data[src.at : src.at + length]
        if len(chunk) < length:
            raise BadStream("chunk cut")
        src.at += length
        if not header & 0x8000:
            if len(out) + length > size:
                raise BadStream("past the end")
            out += chunk
            continue
        _lznt1_chunk(chunk, out, size)
    return bytes(out)


def _lznt1_chunk(chunk: bytes, out: bytearray, size: int) -> None:
    src = _Reader(chunk)
    start = len(out)
    ceiling = min(size, start + 4096)
    while src.at < len(chunk):
        flags = src.take(1)
        for bit in range(8):
            if src.at == len(chunk) or len(out) == size:
                return
            if not (flags >> bit) & 1:
                byte = src.take(1)
                if len(out) >= ceiling:
                    raise BadStream("past the end")
                out.append(byte)
                continue
            word = src.take(2)
            produced = len(out) - start
            if produced == 0:
                raise BadStream("match at the start")
            bits = max(4, (produced - 1).bit_length())
            distance = (word >> (16 - bits)) + 1
            _copy(out, distance, (word & ((1 << (16 - bits)) - 1)) + 3, start, ceiling)


def xpress_huffman(data: bytes, size: int) -> bytes:
    src = _Reader(data)
    out = bytearray()
    while len(out) < size:
        table = data[src.at : src.at + 256]
        if len(table) < 256:
            raise BadStream("table cut")
        src.at += 256
        codes = _codes(table)
        _huffman_block(src, codes, out, size)
    return bytes(out)


def _codes(table: bytes) -> dict[tuple[int, int], int]:
    """(length, code) -> symbol, codes given out by length, then symbol."""
    lengths = [n for byte in table for n in (byte & 15, byte >> 4)]
    codes = {}
    code = 0
    for length in range(1, 16):
        for symbol in range(512):
            if lengths[symbol] == length:
                codes[length, code] = symbol
                code += 1
        if code > 1 << length:
            raise BadStream("too many codes")
        code <<= 1
    if code != 1 << 16:
        raise BadStream("code space not filled")
    return codes


class _Bits:
    """Bits come in u16 words that are fetched ahead between the length bytes."""

    def __init__(self, src: _Reader) -> None:
        self.src = src
        self.bits: list[int] = []
        self.ahead = 0  # bits of `bits` that lie past the input
        self._word()
        self._word()

    def _word(self) -> None:
        if self.src.at + 2 <= len(self.src.data):
            word = self.src.take(2)
        else:
            word = 0
            self.ahead += 16
        self.bits += [(word >> (15 - i)) & 1 for i in range(16)]

    def peek(self, count: int) -> int:
        value = 0
        for bit in self.bits[:count]:
            value = value * 2 + bit
        return value

    def drop(self, count: int) -> None:
        del self.bits[:count]
        if len(self.bits) < self.ahead:
            raise BadStream("input ends")
        if len(self.bits) < 16:
            self._word()


def _huffman_block(
    src: _Reader, codes: dict[tuple[int, int], int], out: bytearray, size: int
) -> None:
    block_end = len(out) + 0x10000
    bits = _Bits(src)
    while len(out) < min(size, block_end):
        length = next(n for n in range(1, 16) if (n, bits.peek(n)) in codes)
        symbol = codes[length, bits.peek(length)]
        bits.drop(length)
        if symbol < 256:
            out.append(symbol)
            continue
        match, distance_bits = symbol & 15, (symbol >> 4) & 15
        if match == 15:
            match = src.take(1)
            if match == 255:
                match = src.take(2)
                if match < 15:
                    raise BadStream("length too small")
            else:
                match += 15
        distance = (1 << distance_bits) + bits.peek(distance_bits)
        bits.drop(distance_bits)
        _copy(out, distance, match + 3, 0, size)


FORMATS = {2: lznt1, 3: xpress, 4: xpress_huffman}


def unpack(data: bytes, size: int, stated: int) -> bytes | None:
    """The stated format first, then the others; None if none gives exactly `size` bytes."""
    if size == 0:
        return b""
    order = [stated] + [f for f in (3, 2, 4) if f != stated]
    for name in order:
        try:
            return FORMATS[name](data, size)
        except BadStream:
            continue
    return None
