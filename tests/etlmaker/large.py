"""Big synthetic heap traces, fast: bytes are packed straight into buffers.

    with open(path, "wb") as out:
        for block in heap_buffers(Load(events=1_000_000, seed=1)):
            out.write(block)

`Repeated` is a file-like object that stamps the data buffers of such a trace over and over with
later times and sequence numbers, so a trace of many GB needs neither disk nor memory (NumPy).
"""

from __future__ import annotations

import io
import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from .buffers import BUFFER_HEADER, buffer_bytes
from .trace import Trace

PID, FIRST_TID, HEAP = 4242, 5000, 0x1D0000
_HEAD = struct.Struct("<HBBHHIIq8x")  # SYSTEM
_PERF = struct.Struct("<HBBHHq")  # PERFINFO


@dataclass(kw_only=True)
class Load:
    """What to generate. `events` counts Alloc, ReAlloc and Free; stacks come on top."""

    events: int = 100_000
    seed: int = 0
    cpus: int = 4
    threads: int = 8
    live: int = 10_000  # blocks alive in the steady state
    unique_stacks: int = 1_000  # 0: no stacks
    depth: tuple[int, int] = (12, 40)
    realloc_share: float = 0.01  # in place
    wow64_share: float = 0.0  # events of 32-bit threads, in SYSTEM32 form
    buffer_size: int = 0x10000
    compression: str | None = None  # slow: for small loads
    tick: tuple[int, int] = (5, 40)  # clock ticks between events
    drain: bool = False  # free everything at the end (needed to repeat it)


class _Cpu:
    def __init__(self, size: int) -> None:
        self.data = bytearray(size)
        self.used = 0
        self.time = 0


def _stacks(load: Load, rng: random.Random, width: int) -> list[bytes]:
    """Frames of the unique stacks: deep ones share their outer frames, as real ones do."""
    code = "<%d" + ("Q" if width == 8 else "I")
    low, high = (0x7FF600000000, 0x7FFE00000000) if width == 8 else (0x400000, 0x78000000)
    sites = [rng.randrange(low, high) for _ in range(max(64, load.unique_stacks // 4))]
    made = []
    for index in range(load.unique_stacks):
        depth = rng.randint(*load.depth)
        frames = [low + 16 * index] + [
            sites[(index // (1 + place) + 31 * place) % len(sites)] for place in range(1, depth)
        ]
        made.append(b"".join(struct.pack(code % 1, frame) for frame in frames))
    return made


def heap_buffers(load: Load) -> Iterator[bytes]:
    """The header buffer, then data buffers in flush order, `cpus` of them interleaved."""
    rng = random.Random(load.seed)
    trace = Trace(cpus=load.cpus, buffer_size=load.buffer_size, session_name="Synthetic heap load")
    yield trace.header_buffer("kernel", load.compression, 2, True)
    room = load.buffer_size - BUFFER_HEADER
    cpus = [_Cpu(room) for _ in range(load.cpus)]
    sequence = 0
    stacks = {8: _stacks(load, rng, 8), 4: _stacks(load, rng, 4) if load.wow64_share else []}
    wide_threads = max(1, round(load.threads * (1 - load.wow64_share)))
    time = trace.t0 + 1000
    live: list[tuple[int, int, int, int]] = []  # address, size, heap, pid
    free_addresses: dict[int, list[int]] = {8: [], 4: []}
    next_address = {8: 0x20000000000, 4: 0x1000000}
    pick, low, high = rng.random, *load.tick

    def flush(number: int) -> bytes:
        nonlocal sequence
        cpu = cpus[number]
        sequence += 1
        block = buffer_bytes(
            bytes(cpu.data[: cpu.used]),
            size=load.buffer_size,
            cpu=number,
            sequence=sequence,
            time=cpu.time,
            compression=load.compression,
        )
        cpu.used = 0
        return block

    total = load.events
    made = 0
    while made < total or (load.drain and live):
        made += 1
        draining = made > total or (load.drain and total - made < len(live))
        time += low + int(pick() * (high - low))
        number = int(pick() * load.cpus)
        thread = int(pick() * load.threads)
        width = 8 if thread < wide_threads else 4
        cpu = cpus[number]
        if cpu.used + 80 + 16 + 16 + 8 * (load.depth[1] + 1) > room:
            yield flush(number)
        cpu.time = time
        chance = pick()
        tid = FIRST_TID + 4 * thread
        with_stack = False
        if live and chance < load.realloc_share and not draining:
            at = int(pick() * len(live))
            address, size, heap, pid = live[at]
            width = 4 if address < 1 << 32 else 8
            tid = FIRST_TID + 4 * (load.threads - 1 if width == 4 else 0)
            new_size = size + 16
            live[at] = (address, new_size, heap, pid)
            code = "<QQQQQI" if width == 8 else "<IIIIII"
            body = struct.pack(code, heap, address, address, new_size, size, 3)
            op, with_stack = 0x22, True
        elif live and (draining or chance < len(live) / (2.0 * load.live)):
            at = int(pick() * len(live))
            address, size, heap, pid = live[at]
            live[at] = live[-1]
            live.pop()
            width = 4 if address < 1 << 32 else 8
            tid = FIRST_TID + 4 * (load.threads - 1 if width == 4 else 0)
            free_addresses[width].append(address)
            body = struct.pack("<QQI" if width == 8 else "<III", heap, address, 3)
            op = 0x24
        else:
            pool = free_addresses[width]
            if pool:
                address = pool.pop()
            else:
                address = next_address[width]
                next_address[width] += 0x40
            size = 16 + int(pick() * pick() * 2000)
            heap, pid = (HEAP, PID) if width == 8 else (HEAP + 0x10000, PID + 4)
            live.append((address, size, heap, pid))
            code = "<QQQI" if width == 8 else "<IIII"
            body = struct.pack(code, heap, size, address, 2)
            op, with_stack = 0x21, True
        kind = 2 if width == 8 else 1
        at = cpu.used
        data = cpu.data
        length = 32 + len(body)
        _HEAD.pack_into(data, at, 2, kind, 0xC0, length, 0x1000 | op, tid, pid, time)
        data[at + 32 : at + length] = body
        at += (length + 7) & ~7
        if with_stack and stacks[width]:
            # A skewed choice: few stacks make most of the events.
            frames = stacks[width][int(pick() * pick() * len(stacks[width]))]
            length = 32 + len(frames)
            perf = 17 if width == 8 else 16
            _PERF.pack_into(data, at, 2, perf, 0xC0, length, 0x1820, time + 3)
            struct.pack_into("<qII", data, at + 16, time, pid, tid)
            data[at + 32 : at + length] = frames
            at += (length + 7) & ~7
        cpu.used = at
    for number, cpu in enumerate(cpus):
        if cpu.used:
            yield flush(number)


def stamp_places(block: bytes) -> list[int]:
    """Offsets, in 8-byte words, of every time in a data buffer of `heap_buffers`."""
    (end,) = struct.unpack_from("<I", block, 0x30)
    places, at = [], BUFFER_HEADER
    while at < end:
        kind = block[at + 2]
        (size,) = struct.unpack_from("<H", block, at + 4)
        if kind in (16, 17):
            places += [(at + 8) // 8, (at + 16) // 8]
        else:
            places.append((at + 16) // 8)
        at += (size + 7) & ~7
    return places


class Repeated(io.RawIOBase):
    """A seekable binary file: the header buffer, then the data buffers `times` times."""

    def __init__(self, blocks: list[bytes], times: int) -> None:
        import numpy

        self._numpy = numpy
        self._header, self._blocks = blocks[0], blocks[1:]
        size = len(self._blocks[0])
        if any(len(block) != size for block in blocks):
            raise ValueError("blocks must have one size: no compression")
        self._block_size = size
        self._words = [numpy.frombuffer(block, dtype="<i8") for block in self._blocks]
        self._places = [numpy.array(stamp_places(block)) for block in self._blocks]
        last = max(int(w[p].max()) for w, p in zip(self._words, self._places, strict=True))
        first = min(int(w[p].min()) for w, p in zip(self._words, self._places, strict=True))
        self._period = last - first + 100
        self.size = size * (1 + times * len(self._blocks))
        self._at = 0
        self._cached: tuple[int, bytes] = (-1, b"")

    def _block(self, index: int) -> bytes:
        if index == 0:
            return self._header
        if self._cached[0] != index:
            turn, number = divmod(index - 1, len(self._blocks))
            words = self._words[number].copy()
            words[self._places[number]] += turn * self._period
            words[0x10 // 8] += turn * self._period
            words[0x18 // 8] += turn * len(self._blocks)
            self._cached = (index, words.tobytes())
        return self._cached[1]

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        done = 0
        while done < len(view) and self._at < self.size:
            index, start = divmod(self._at, self._block_size)
            part = self._block(index)[start : start + len(view) - done]
            view[done : done + len(part)] = part
            done += len(part)
            self._at += len(part)
        return done
