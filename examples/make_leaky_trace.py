"""Writes leaky.etl: a synthetic heap trace of a program that leaks. No Windows machine made it.

    python examples/make_leaky_trace.py [FILE]

The program (app.exe, pid 4812) renders 200 frames in 10 seconds. On every frame it decodes pictures
and builds strings that it frees again; every second frame `plug.dll` keeps 4 buffers of 3,000 bytes
that nobody ever frees: the planted leak, 400 blocks and 1,200,000 bytes. One arena of 256 KiB
stays on purpose, to the end of the process at second 9.98. At second 4 a mesh of 6 MB makes the
peak.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from etlmaker import Trace

PID, MAIN, WORKER = 4812, 100, 104
HEAP, OWN_HEAP = 0x1C0F0000, 0x1D200000
TICKS = 10_000_000  # per second

APP, PNG, GFX, PLUG = 0x7FF600000000, 0x7FFA10000000, 0x7FFA20000000, 0x7FFA30000000
UCRT, NTDLL = 0x7FFB40000000, 0x7FFB50000000
MODULES = {
    "app.exe": (APP, 0x80000),
    "png.dll": (PNG, 0x40000),
    "gfx.dll": (GFX, 0x90000),
    "plug.dll": (PLUG, 0x30000),
    "ucrtbase.dll": (UCRT, 0x100000),
    "ntdll.dll": (NTDLL, 0x1F0000),
}

ALLOCATOR = (NTDLL + 0x2A3F1, UCRT + 0x1B7A0)
MAIN_FRAMES = (APP + 0x1C40, APP + 0x1000)
STACKS = {
    "leak": (*ALLOCATOR, PLUG + 0x41C2, PLUG + 0x2010, APP + 0x8F10, *MAIN_FRAMES),
    "decode": (*ALLOCATOR, PNG + 0x3A20, GFX + 0x11800, APP + 0x6A00, *MAIN_FRAMES),
    "string": (*ALLOCATOR, APP + 0x9120, APP + 0x9204, *MAIN_FRAMES),
    "arena": (*ALLOCATOR, APP + 0x4400, *MAIN_FRAMES),
    "mesh": (*ALLOCATOR, GFX + 0x22310, GFX + 0x20140, APP + 0x7720, *MAIN_FRAMES),
}


class Program:
    """Allocates and frees at the current time, each allocation with its stack."""

    def __init__(self) -> None:
        self.trace = Trace(cpus=2, os=(10, 0, 26100), file_name="C:\\leaky.etl")
        self.time = self.trace.t0 + 100
        self._next = 0x20000000
        self.free_places: dict[int, list[int]] = {}

    def at(self, seconds: float) -> None:
        self.time = max(self.time, self.trace.t0 + int(seconds * TICKS))

    def alloc(self, size: int, stack: str, tid: int = MAIN, heap: int = HEAP) -> int:
        places = self.free_places.get(size)
        if places:
            address = places.pop()
        else:
            address, self._next = self._next, self._next + (size + 31) // 16 * 16
        self.time += 20
        self.trace.heap_alloc(
            self.time, tid // 4 % 2, PID, tid, heap, size, address,
            stack=STACKS[stack], stack_delay=5,
        )  # fmt: skip
        return address

    def free(self, address: int, size: int, tid: int = MAIN, heap: int = HEAP) -> None:
        self.time += 20
        self.trace.heap_free(self.time, tid // 4 % 2, PID, tid, heap, address)
        self.free_places.setdefault(size, []).append(address)


def make_trace() -> Trace:
    program = Program()
    trace = program.trace
    trace.process(1, program.time, 0, PID, 1000, "app.exe", "C:\\app\\app.exe")
    for name, (base, size) in MODULES.items():
        program.time += 10
        path = f"\\Device\\HarddiskVolume3\\app\\{name}"
        trace.image(10, program.time, 0, PID, base, size, path)
    trace.heap_create(program.time + 5, 0, PID, MAIN, HEAP)
    trace.heap_create(program.time + 6, 0, PID, MAIN, OWN_HEAP)
    program.time += 10
    program.alloc(262_144, "arena")
    for frame in range(200):
        program.at(0.05 * frame)
        render(program, frame)
    program.at(9.98)
    trace.process(2, program.time, 0, PID, 1000, "app.exe", "C:\\app\\app.exe")
    return trace


def make() -> bytes:
    return make_trace().to_bytes(compression="xpress")


def render(program: Program, frame: int) -> None:
    pictures = [(program.alloc(20_000, "decode", WORKER, OWN_HEAP), 20_000) for _ in range(3)]
    for number in range(40):
        size = 24 + 8 * (number % 5)
        program.free(program.alloc(size, "string"), size)
    if frame % 2 == 0:
        for _ in range(4):
            program.alloc(3_000, "leak")
    mesh = None
    if frame == 80:
        mesh = program.alloc(6_000_000, "mesh", heap=OWN_HEAP)
    program.time += int(0.02 * TICKS)
    for address, size in pictures:
        program.free(address, size, WORKER, OWN_HEAP)
    if mesh is not None:
        program.free(mesh, 6_000_000, heap=OWN_HEAP)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("leaky.etl")
    target.write_bytes(make())
    print(f"wrote {target}, {target.stat().st_size:,} bytes")
