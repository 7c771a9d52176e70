"""The declarative trace: events are added, `to_bytes` makes the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from . import layouts
from .buffers import FLUSH, HEADER, Item, assemble, buffer_bytes, fill, padded
from .headers import NONE_ID, event, message
from .pack import FORMATS

#: 2024-01-01 00:00:00 UTC
START = 133_485_408_000_000_000


@dataclass
class HeapRow:
    """What a reader should say about one heap event."""

    time: int
    cpu: int
    pid: int | None
    tid: int | None
    kind: str
    heap: int
    address: int | None = None
    size: int | None = None
    old_address: int | None = None
    old_size: int | None = None
    source: int | None = None
    stack: tuple[int, ...] | None = None


@dataclass(kw_only=True)
class Trace:
    pointer_size: int = 8
    perf_freq: int = 10_000_000
    clock: int = 1  # 1 qpc, 2 system time, 3 cycles
    mhz: int = 3000
    start: int = START
    end: int | None = None  # FILETIME; None: 10 s after start, 0 if not finished
    boot: int | None = None  # FILETIME; None: 10 minutes before start
    t0: int = 1000
    cpus: int = 1
    os: tuple[int, int, int] = (10, 0, 19041)
    mode: int = 1
    buffer_size: int = 0x10000
    events_lost: int = 0
    buffers_lost: int = 0
    session_name: str = "Heap session"
    file_name: str = "C:\\heap.etl"
    finished: bool = True
    logger: int = 1
    items: list[Item] = field(default_factory=list)
    rows: list[HeapRow] = field(default_factory=list)

    # ---- any event ------------------------------------------------------------------------------

    def add(self, time: int, cpu: int, data: bytes, logger: int | None = None) -> None:
        """Ready-made event bytes. `time` only places them."""
        self.items.append(Item(time, cpu, data, logger))

    def raw(
        self,
        header: str,
        time: int,
        cpu: int,
        cls: str = "Other",
        op: int = 0x50,
        payload: bytes = b"",
        **more: Any,
    ) -> None:
        """Any header kind: SYSTEM COMPACT PERFINFO FULL INSTANCE EVENT TIMED ERROR WNODE."""
        more.setdefault("pointer_size", self.pointer_size)
        self.add(time, cpu, event(header, cls, op, payload, time=time, **more))

    def message(self, time: int, cpu: int, payload: bytes = b"", **parts: Any) -> None:
        """A WPP message; `stamped=False` leaves its time out."""
        stamp = time if parts.pop("stamped", True) else None
        self.add(time, cpu, message(payload, time=stamp, **parts))

    # ---- heap -----------------------------------------------------------------------------------

    def _heap(
        self,
        op: int,
        kind: str,
        payload: bytes,
        time: int,
        cpu: int,
        pid: int,
        tid: int,
        *,
        heap: int,
        header: str = "SYSTEM",
        pointer_size: int | None = None,
        version: int = 2,
        stack: Sequence[int] | None = None,
        stack_delay: int = 30,
        stack_cpu: int | None = None,
        values: dict[str, int] | None = None,
        **more: Any,
    ) -> None:
        size = pointer_size or self.pointer_size
        self.raw(
            header,
            time,
            cpu,
            "Heap",
            op,
            payload,
            pid=pid,
            tid=tid,
            version=version,
            pointer_size=size,
            **more,
        )
        known = header != "PERFINFO"
        frames = tuple(frame for frame in stack or () if frame) or None
        row = HeapRow(time, cpu, pid if known else None, tid if known else None, kind, heap)
        for name, value in (values or {}).items():
            setattr(row, name, value)
        row.stack = frames
        self.rows.append(row)
        if stack is not None:
            where = cpu if stack_cpu is None else stack_cpu
            self.stack(time + stack_delay, where, time, pid, tid, stack, pointer_size=size)

    def _w(self, more: dict[str, Any]) -> int:
        return int(more.get("pointer_size") or self.pointer_size)

    def heap_create(
        self, time: int, cpu: int, pid: int, tid: int, heap: int, flags: int = 2, **more: Any
    ) -> None:
        sizes = more.pop("sizes", (0x100000, 0x1000, 0x1000))
        version = more.setdefault("version", 3)
        data = layouts.heap_create(self._w(more), version, heap, flags, sizes)
        self._heap(32, "create", data, time, cpu, pid, tid, heap=heap, **more)

    def heap_alloc(
        self,
        time: int,
        cpu: int,
        pid: int,
        tid: int,
        heap: int,
        size: int,
        address: int,
        source: int = 3,
        **more: Any,
    ) -> None:
        data = layouts.heap_alloc(self._w(more), heap, size, address, source)
        values = {"size": size, "address": address, "source": source}
        self._heap(33, "alloc", data, time, cpu, pid, tid, heap=heap, values=values, **more)

    def heap_realloc(
        self,
        time: int,
        cpu: int,
        pid: int,
        tid: int,
        heap: int,
        new: int,
        old: int,
        new_size: int,
        old_size: int,
        source: int = 3,
        **more: Any,
    ) -> None:
        w = self._w(more)
        data = layouts.heap_realloc(w, heap, new, old, new_size, old_size, source)
        values = {"address": new, "old_address": old, "source": source}
        values |= {"size": new_size, "old_size": old_size}
        self._heap(34, "realloc", data, time, cpu, pid, tid, heap=heap, values=values, **more)

    def heap_destroy(self, time: int, cpu: int, pid: int, tid: int, heap: int, **more: Any) -> None:
        data = layouts.words(self._w(more), heap)
        self._heap(35, "destroy", data, time, cpu, pid, tid, heap=heap, **more)

    def heap_free(
        self,
        time: int,
        cpu: int,
        pid: int,
        tid: int,
        heap: int,
        address: int,
        source: int = 3,
        **more: Any,
    ) -> None:
        data = layouts.heap_free(self._w(more), heap, address, source)
        values = {"address": address, "source": source}
        self._heap(36, "free", data, time, cpu, pid, tid, heap=heap, values=values, **more)

    def heap_range(
        self,
        kind: str,
        time: int,
        cpu: int,
        pid: int,
        tid: int,
        heap: int,
        size: int,
        address: int,
        **more: Any,
    ) -> None:
        """`kind`: "expand" or "contract"."""
        version = more.setdefault("version", 3)
        rest = more.pop("rest", (0x2000, 0x10000, 0x100000))
        data = layouts.heap_range(self._w(more), version, heap, size, address, rest)
        values = {"size": size, "address": address}
        op = {"expand": 37, "contract": 42}[kind]
        self._heap(op, kind, data, time, cpu, pid, tid, heap=heap, values=values, **more)

    def heap_snapshot(
        self, time: int, cpu: int, pid: int, tid: int, heap: int, **more: Any
    ) -> None:
        version = more.setdefault("version", 3)
        data = layouts.heap_snapshot(self._w(more), version, heap, pid)
        self._heap(38, "snapshot", data, time, cpu, pid, tid, heap=heap, **more)

    def heap_op(
        self, op: int, time: int, cpu: int, pid: int, tid: int, heap: int, **more: Any
    ) -> None:
        """Lock 43, unlock 44, validate 45, walk 46, or any other op: handle, then `tail`."""
        kind = {43: "lock", 44: "unlock", 45: "validate", 46: "walk"}.get(op, f"op{op}")
        data = layouts.words(self._w(more), heap) + more.pop("tail", b"")
        self._heap(op, kind, data, time, cpu, pid, tid, heap=heap, **more)

    # ---- stacks ---------------------------------------------------------------------------------

    def _perf(self, cls: str, op: int, payload: bytes, time: int, cpu: int, more: Any) -> None:
        more = dict(more)
        self.raw(more.pop("header", "PERFINFO"), time, cpu, cls, op, payload, **more)

    def stack(
        self,
        time: int,
        cpu: int,
        event_time: int,
        pid: int,
        tid: int,
        frames: Sequence[int],
        **more: Any,
    ) -> None:
        data = layouts.stack(self._w(more), event_time, pid, tid, tuple(frames))
        self._perf("StackWalk", 32, data, time, cpu, more)

    def stack_key(
        self,
        time: int,
        cpu: int,
        event_time: int,
        pid: int,
        tid: int,
        key: int,
        kernel: bool = False,
        **more: Any,
    ) -> None:
        data = layouts.stack_key(self._w(more), event_time, pid, tid, key)
        self._perf("StackWalk", 37 if kernel else 38, data, time, cpu, more)

    def key_definition(
        self,
        time: int,
        cpu: int,
        key: int,
        frames: Sequence[int],
        op: int = 36,
        **more: Any,
    ) -> None:
        """KeyDelete 35, KeyRundown 36 (KeyCreate 34)."""
        data = layouts.key_definition(self._w(more), key, tuple(frames))
        self._perf("StackWalk", op, data, time, cpu, more)

    # ---- processes, threads, images -------------------------------------------------------------

    def process(
        self,
        op: int,
        time: int,
        cpu: int,
        pid: int,
        ppid: int = 4,
        name: str = "app.exe",
        command_line: str = "app.exe -x",
        **more: Any,
    ) -> None:
        """1 start, 2 end, 3 DCStart, 4 DCEnd; `payload_width` for FULL headers that differ."""
        version = more.setdefault("version", 4)
        names = ("session", "exit_status", "flags", "sid_style", "package", "app")
        own = {key: more.pop(key) for key in names if key in more}
        w = more.pop("payload_width", 0) or self._w(more)
        data = layouts.process(w, version, pid, ppid, name, command_line, **own)
        self._perf("Process", op, data, time, cpu, {"header": "SYSTEM", **more})

    def thread(
        self, op: int, time: int, cpu: int, pid: int, tid: int, start: int, **more: Any
    ) -> None:
        version = more.setdefault("version", 3)
        name = more.pop("name", None)
        w = more.pop("payload_width", 0) or self._w(more)
        data = layouts.thread(w, version, pid, tid, start, name)
        self._perf("Thread", op, data, time, cpu, {"header": "SYSTEM", **more})

    def image(
        self,
        op: int,
        time: int,
        cpu: int,
        pid: int,
        base: int,
        size: int,
        path: str,
        **more: Any,
    ) -> None:
        """10 load, 2 unload, 3 DCStart, 4 DCEnd."""
        version = more.setdefault("version", 3)
        own = {key: more.pop(key) for key in ("timestamp", "checksum") if key in more}
        w = more.pop("payload_width", 0) or self._w(more)
        data = layouts.image(w, version, pid, base, size, path, **own)
        self._perf("Image", op, data, time, cpu, {"header": "SYSTEM", **more})

    def debug_id(
        self,
        time: int,
        cpu: int,
        pid: int,
        base: int,
        guid: bytes,
        age: int,
        name: str,
        **more: Any,
    ) -> None:
        data = layouts.debug_id(self._w(more), pid, base, guid, age, name)
        self._perf("ImageID", 36, data, time, cpu, {"header": "FULL", "pid": pid, **more})

    def image_info(
        self,
        time: int,
        cpu: int,
        pid: int,
        base: int,
        size: int,
        timestamp: int,
        name: str,
        **more: Any,
    ) -> None:
        data = layouts.image_info(self._w(more), pid, base, size, timestamp, name)
        self._perf("ImageID", 0, data, time, cpu, {"header": "FULL", "pid": pid, **more})

    def volume(self, time: int, cpu: int, nt_path: str, dos_path: str, **more: Any) -> None:
        data = layouts.wide(nt_path) + layouts.wide(dos_path)
        self._perf("SysConfigEx", 35, data, time, cpu, {"header": "FULL", "pid": 0, **more})

    # ---- the file -------------------------------------------------------------------------------

    def time_ns(self, raw: int) -> int:
        """Nanoseconds since T0."""
        ticks = raw - self.t0
        if self.clock == 2:
            return ticks * 100
        if self.clock == 3:
            return ticks * 1000 // self.mhz
        return ticks * 1_000_000_000 // self.perf_freq

    def header_buffer(
        self, style: str, compression: str | None, buffers: int, proc_index: bool
    ) -> bytes:
        """Styles: "kernel" (full size, all offsets agree), "win7" (SavedOffset 0), "merged"
        (shrunk, SavedOffset stops after the first event, Offset covers both)."""
        unfinished = not self.finished
        end = self.start + 100_000_000 if self.end is None else self.end
        payload = layouts.logfile_header(
            self.pointer_size,
            buffer_size=self.buffer_size,
            os=self.os,
            processors=self.cpus,
            end=0 if unfinished else end,
            mode=self.mode | (0x04000000 if compression else 0),
            buffers_written=0 if unfinished else buffers,
            events_lost=self.events_lost,
            mhz=self.mhz,
            perf_freq=self.perf_freq,
            start=self.start,
            clock=self.clock,
            buffers_lost=self.buffers_lost,
            session_name=self.session_name,
            file_name=self.file_name,
            pointer_size=self.pointer_size,
            boot=self.start - 6_000_000_000 if self.boot is None else self.boot,
        )
        ids = {"pid": 4, "tid": 8, "time": self.t0, "pointer_size": self.pointer_size}
        first = padded(event("SYSTEM", "EventTrace", 0, payload, **ids))  # type: ignore[arg-type]
        second = padded(
            event("SYSTEM", "EventTrace", 0x50, bytes(24), **ids)  # type: ignore[arg-type]
        )
        used = 0x48 + len(first) + len(second)
        size, offsets = self.buffer_size, {}
        if style == "win7":
            offsets = {"saved": 0, "current": used}
        elif style == "merged":
            size = (used + 0x1FF) & ~0x1FF
            offsets = {"saved": 0x48 + len(first), "current": 0}
        return buffer_bytes(
            first + second,
            size=size,
            cpu=0,
            sequence=0,
            time=self.t0,
            logger=self.logger,
            kind=HEADER,
            flags=FLUSH,
            state=FORMATS[compression][0] if compression else 3,
            proc_index=proc_index,
            **offsets,
        )

    def to_bytes(
        self,
        *,
        compression: str | None = None,
        compress_every: int = 1,
        shuffle: int | None = None,
        proc_index: bool = True,
        header_style: str = "kernel",
        first_sequence: int = 1,
        circular: bool = False,
        per_buffer: int | None = None,
        zero_tail: int = 0,
        lost_flags: dict[int, int] | None = None,
        cut: int | None = None,
    ) -> bytes:
        """`compression`: None, "xpress", "lznt1", "xpress_huffman", for every `compress_every`-th
        data buffer. `per_buffer`: at most so many events per buffer. `lost_flags`: {data buffer
        number: BufferFlag bits}. `cut`: bytes kept (negative: bytes dropped at the end)."""
        chunks = fill(self.items, self.buffer_size, per_buffer, self.logger)
        header = self.header_buffer(header_style, compression, len(chunks) + 1, proc_index)
        data = assemble(
            header,
            chunks,
            size=self.buffer_size,
            first_sequence=first_sequence,
            compression=compression,
            compress_every=compress_every,
            proc_index=proc_index,
            shuffle=shuffle,
            circular=circular,
            lost_flags=lost_flags or {},
            zero_tail=zero_tail,
        )
        return data if cut is None else data[:cut]

    def expected_rows(self) -> list[tuple[Any, ...]]:
        """The heap events as tuples in time order, for traces without equal times."""
        ordered = sorted(self.rows, key=lambda row: row.time)
        return [
            (
                self.time_ns(row.time),
                row.cpu,
                None if row.pid == NONE_ID else row.pid,
                None if row.tid == NONE_ID else row.tid,
                row.kind,
                row.heap,
                row.address,
                row.size,
                row.old_address,
                row.old_size,
                row.source,
                row.stack,
            )
            for row in ordered
        ]
