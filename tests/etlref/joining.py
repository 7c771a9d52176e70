"""Stacks: their parts, keys, and the events they belong to (section 6 of the agreement)."""

from __future__ import annotations

from collections import Counter, defaultdict

from .model import Event
from .payloads import pointer, u32

WINDOW_NS = 1_000_000_000


class _Part:
    """Frames of one stack event; a key's frames arrive later, or never."""

    def __init__(self, frames: tuple[int, ...] | None) -> None:
        self.frames = frames


class Joiner:
    """Fed with heap events and stack events in merged order."""

    def __init__(self, file_pointer_size: int, counters: Counter[str]) -> None:
        self.file_pointer_size = file_pointer_size
        self.counters = counters
        self.parts: dict[int, list[_Part]] = defaultdict(list)  # heap row: parts
        self.times: list[int] = []  # heap row: time_ns
        self.exact: dict[tuple[int, int | None, int | None], int] = {}
        self.unowned: dict[int, list[tuple[int, int]]] = defaultdict(list)  # raw: (cpu, row)
        self.waiting: dict[tuple[int, int], list[int]] = defaultdict(list)
        self.pending: dict[tuple[str, int], list[_Part]] = defaultdict(list)

    def heap(self, event: Event) -> None:
        row = len(self.times)
        self.times.append(event.time_ns)
        assert event.raw is not None
        if event.tid is None:
            self.unowned[event.raw].append((event.cpu, row))
        else:
            self.exact[event.raw, event.pid, event.tid] = row

    def stack(self, event: Event) -> bool:
        """False if the payload is too short."""
        data, width = event.payload, event.pointer_size
        minimum = {32: 16, 37: 16 + width, 38: 16 + width, 35: width, 36: width}
        if len(data) < minimum.get(event.op, 0):
            return False
        if event.op == 32:
            frames = self._frames(data[16:], width)
            self._part(event, _Part(frames), self._is_kernel(frames, width))
        elif event.op in (37, 38):
            part = _Part(None)
            table = "kernel" if event.op == 37 else "user"
            self.pending[table, pointer(data, 16, width)].append(part)
            self.counters["unresolved_keys"] += 1
            self._part(event, part, event.op == 37)
        elif event.op in (35, 36):
            frames = self._frames(data[width:], width)
            table = "kernel" if self._is_kernel(frames, width) else "user"
            for part in self.pending.pop((table, pointer(data, 0, width)), []):
                part.frames = frames
                self.counters["unresolved_keys"] -= 1
        return True

    @staticmethod
    def _frames(data: bytes, width: int) -> tuple[int, ...]:
        frames = (pointer(data, i * width, width) for i in range(len(data) // width))
        return tuple(frame for frame in frames if frame)

    def _is_kernel(self, frames: tuple[int, ...], width: int) -> bool:
        if not frames:
            return False
        if width == 8:
            return bool(frames[-1] >> 63)
        return self.file_pointer_size == 4 and frames[-1] >= 0x80000000

    def _own(self, raw: int, pid: int, tid: int, event: Event) -> int | None:
        row = self.exact.get((raw, pid, tid))
        if row is None:
            candidates = self.unowned.get(raw, [])
            same_cpu = [r for cpu, r in candidates if cpu == event.cpu]
            row = same_cpu[-1] if same_cpu else candidates[-1][1] if candidates else None
        return row if row is not None and self._recent(event, row) else None

    def _recent(self, event: Event, row: int) -> bool:
        return event.time_ns - self.times[row] <= WINDOW_NS

    def _part(self, event: Event, part: _Part, kernel: bool) -> None:
        self.counters["stacks_seen"] += 1
        raw = int.from_bytes(event.payload[:8], "little", signed=True)
        pid, tid = u32(event.payload, 8), u32(event.payload, 12)
        own = self._own(raw, pid, tid, event)
        targets = [] if own is None else [own]
        if kernel:
            if own is not None and own not in self.waiting[pid, tid]:
                self.waiting[pid, tid].append(own)
        else:
            waits = self.waiting.pop((pid, tid), [])
            late = [row for row in waits if self._recent(event, row)]
            targets = late + [row for row in targets if row not in late]
        for row in targets:
            self.parts[row].append(part)
        self.counters["stacks_joined" if targets else "stacks_unmatched"] += 1

    def result(self, row: int) -> tuple[int, ...] | None:
        frames = tuple(
            frame for part in self.parts.get(row, []) if part.frames for frame in part.frames
        )
        return frames or None
