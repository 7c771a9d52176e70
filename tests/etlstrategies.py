"""Random traces for the comparison of readers.

    @given(traces())
    def test_equal(made): ... made.data, made.features

A trace follows from (seed, count, features) alone, so a failure can be repeated without hypothesis:
`make(seed, count, features)`. Hypothesis shrinks the count and the set of features.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from etlmaker import Trace, layouts
from etlmaker.headers import NONE_ID

#: Sound files whose heap rows follow from the way they were made (`Made.trace.expected_rows`).
MODELLED = (
    "pointer4",  # a 32-bit file
    "wow64",  # events of 32-bit processes
    "headers",  # heap events in every header kind
    "versions",
    "stacks",
    "kernel",  # stacks in a kernel and a user part
    "keys",  # stack keys, reused
    "entities",  # processes, threads, images, ImageID, volumes
    "noise",  # other events of every header kind
    "extension",  # header extension bits
    "clock2",
    "clock3",
    "odd_frequency",
    "xpress",
    "lznt1",
    "xpress_huffman",
    "mixed",  # not every buffer is packed
    "shuffle",
    "circular",
    "loggers",
    "noproc",  # no PROC_INDEX flag
    "win7",
    "merged",
    "small_buffers",
    "zero_tail",
    "ids",  # all-ones pid and tid, large addresses
)
#: Sound files that only a second reader can judge.
JUDGED = (
    "ties",  # equal times
    "late",  # stacks far behind their event, or of no event
    "spread",  # stacks up to 60 ms behind, parts interleaved
    "full_width",  # FULL headers with payloads of the other width
    "same_keys",  # few pids, tids and bases: rows open and close often
    "unresolved",  # key uses without a definition
)
#: Files with something missing or wrong in known places.
FAULTS = (
    "short",  # payloads below their minimum
    "inside",  # extended items, extensions, message options past the size
    "unfinished",
    "losses",
    "cut",
    "junk_tail",
    "unknown_kind",
)
#: Random bytes changed anywhere: readers may also differ in how far they put up with disorder.
DAMAGE = ("flips",)
ALL = MODELLED + JUDGED + FAULTS


@dataclass
class Made:
    seed: int
    count: int
    features: frozenset[str]
    data: bytes
    trace: Trace

    def __repr__(self) -> str:
        return f"make({self.seed}, {self.count}, {sorted(self.features)})"


class _Maker:
    def __init__(self, seed: int, features: frozenset[str]) -> None:
        self.rng = random.Random(seed)
        self.on = features
        rng = self.rng
        self.trace = Trace(
            pointer_size=4 if "pointer4" in features else 8,
            clock=2 if "clock2" in features else 3 if "clock3" in features else 1,
            perf_freq=rng.choice([2337949, 3579545, 24_000_000, 999_999_937])
            if "odd_frequency" in features
            else 10_000_000,
            mhz=rng.choice([1, 997, 3592]),
            t0=rng.choice([0, 1000, 1 << 40, 133_485_408_000_000_000]),
            cpus=rng.randint(1, 5),
            os=rng.choice([(6, 1, 7601), (6, 2, 9200), (10, 0, 19041)]),
            buffer_size=rng.choice([0x400, 0x800]) if "small_buffers" in features else 0x2000,
            session_name=rng.choice(["Heap", "", "Überwachung 堆"]),
            finished="unfinished" not in features,
            events_lost=rng.choice([0, 7]) if "losses" in features else 0,
            buffers_lost=rng.choice([0, 2]) if "losses" in features else 0,
        )
        self.now = self.trace.t0 + rng.randint(0, 1000)
        self.definitions: list[tuple[int, tuple[int, ...]]] = []

    # ---- choices --------------------------------------------------------------------------------

    def ticks(self, nanoseconds: int) -> int:
        per_second = {1: self.trace.perf_freq, 2: 10**7, 3: self.trace.mhz * 10**6}
        return nanoseconds * per_second[self.trace.clock] // 10**9

    def step(self) -> int:
        if not ("ties" in self.on and self.rng.random() < 0.4):
            self.now += self.rng.choice([1, 2, 10, 1000, max(1, self.ticks(1_000_000))])
        return self.now

    def cpu(self) -> int:
        return self.rng.randrange(self.trace.cpus)

    def width(self) -> int:
        if self.trace.pointer_size == 8 and "wow64" in self.on and self.rng.random() < 0.5:
            return 4
        return self.trace.pointer_size

    def number(self, width: int) -> int:
        bits = 8 * width if "ids" in self.on and self.rng.random() < 0.3 else 8 * width - 20
        return self.rng.getrandbits(bits)

    def few(self, low: int, high: int) -> int:
        if "same_keys" in self.on:
            return low + self.rng.randrange(2)
        return self.rng.randint(low, high)

    def text(self) -> str:
        rng = self.rng
        plain = ["", "a", "ntdll.dll", "größe.exe", "программа", "\U0001f600.dll", "x" * 40]
        return rng.choice(plain)

    def wide_text(self) -> str:
        return self.text() + self.rng.choice(["", "\ud800", " -v"])

    # ---- heap events and their stacks -----------------------------------------------------------

    def heap(self) -> None:
        rng, trace, time, cpu, width = self.rng, self.trace, self.step(), self.cpu(), self.width()
        pid, tid = 4 * rng.randint(1, 3), 4 * rng.randint(10, 15)
        more: dict[str, Any] = {"pointer_size": width, "heap": 0x10000 * rng.randint(1, 3)}
        if "headers" in self.on:
            more["header"] = rng.choice(["SYSTEM", "COMPACT", "PERFINFO", "FULL", "EVENT"])
        if "ids" in self.on and rng.random() < 0.1:
            pid = tid = NONE_ID
        if "extension" in self.on and more.get("header") not in ("FULL", "EVENT"):
            more["pebs"], more["counters"] = rng.random() < 0.5, rng.randrange(8)
        version = rng.randint(0, 4) if "versions" in self.on else 2
        ids = time, cpu, pid, tid
        more["version"] = version
        op = rng.choice(
            [33] * 8 + [36] * 5 + [34] * 3 + [32, 35, 37, 42, 38, 43, 44, 45, 46, 39, 51]
        )
        address, size = self.number(width), rng.getrandbits(12)
        old, old_size, source = self.number(width), rng.getrandbits(12), rng.randint(0, 7)
        if op == 32:
            trace.heap_create(*ids, **more)
        elif op == 33:
            trace.heap_alloc(*ids, size=size, address=address, source=source, **more)
        elif op == 34:
            sizes = {"new_size": size, "old_size": old_size}
            trace.heap_realloc(*ids, new=address, old=old, source=source, **sizes, **more)
        elif op == 35:
            trace.heap_destroy(*ids, **more)
        elif op == 36:
            trace.heap_free(*ids, address=address, source=source, **more)
        elif op in (37, 42):
            kind = "expand" if op == 37 else "contract"
            trace.heap_range(kind, *ids, size=size, address=address, **more)
        elif op == 38:
            trace.heap_snapshot(*ids, **more)
        else:
            # A tail would make the width of a FULL event ambiguous.
            tail = b"" if more.get("header") == "FULL" else rng.randbytes(rng.randint(0, 20))
            trace.heap_op(op, *ids, tail=tail, **more)
        if "stacks" in self.on and rng.random() < 0.8:
            self.stack_of(time, cpu, pid, tid, width)

    def frames(self, width: int, kernel: bool = False) -> tuple[int, ...]:
        """The last frame decides; a 32-bit kernel address exists in 32-bit files only."""
        rng = self.rng
        top = 1 << (8 * width - 1)
        made = [rng.choice([0, rng.randrange(1, top)]) for _ in range(rng.randint(0, 6))]
        last = rng.randrange(1, top) | (top if kernel else 0)
        return (*made, last, *[0] * rng.randint(0, 1))

    def stack_of(self, time: int, cpu: int, pid: int, tid: int, width: int) -> None:
        rng, trace = self.rng, self.trace
        if "late" in self.on and rng.random() < 0.3:
            behind = max(1, self.ticks(2_100_000_000)) if rng.random() < 0.5 else 5
            wrong = time + rng.choice([0, 0, 1, -1]), pid, tid + rng.choice([0, 0, 4])
            trace.stack(time + behind, cpu, *wrong, self.frames(width), pointer_size=width)
            return
        parts = [False]
        if "kernel" in self.on and (width == 8 or trace.pointer_size == 4):
            parts = rng.choice([[False], [True, False], [True, False], [True]])
        if "spread" in self.on:
            later = sorted(rng.randint(1, self.ticks(60_000_000) + 1) for _ in parts)
            at = [time + lag for lag in later]
            cpu = self.cpu()
        else:
            at = [time + 1 + index for index in range(len(parts))]
            self.now = max(self.now, at[-1])
        whole: tuple[int, ...] = ()
        for kernel, when in zip(parts, at, strict=True):
            frames = self.frames(width, kernel)
            whole += tuple(frame for frame in frames if frame)
            if "keys" in self.on and rng.random() < 0.5:
                key = rng.randint(1, 4)
                self.key(when, cpu, (time, pid, tid), key, frames, kernel, width)
            else:
                trace.stack(when, cpu, time, pid, tid, frames, pointer_size=width)
        if parts == [True]:  # nothing may stay waiting, or the next user part would join it
            self.now += 1
            trace.stack(self.now, cpu, time + 1, pid, tid, (), pointer_size=width)
        trace.rows[-1].stack = whole or None

    def key(
        self,
        when: int,
        cpu: int,
        owner: tuple[int, int, int],
        key: int,
        frames: tuple[int, ...],
        kernel: bool,
        width: int,
    ) -> None:
        """A use; its definition is due before the key is used for other frames."""
        code = (width << 8 | kernel << 7) + key
        self.trace.stack_key(when, cpu, *owner, code, kernel, pointer_size=width)
        if "unresolved" in self.on and self.rng.random() < 0.3:
            return
        lag = self.rng.randint(1, 3)
        self.now = max(self.now, when + lag)
        op = self.rng.choice([35, 36])
        self.trace.key_definition(when + lag, cpu, code, frames, op, pointer_size=width)

    # ---- other events ---------------------------------------------------------------------------

    def entity(self) -> None:
        rng, trace, time, cpu = self.rng, self.trace, self.step(), self.cpu()
        more: dict[str, Any] = {"pointer_size": self.width()}
        more["header"] = rng.choice(["SYSTEM", "PERFINFO", "FULL", "COMPACT"])
        other = 12 - more["pointer_size"]
        if "full_width" in self.on and more["header"] == "FULL" and rng.random() < 0.5:
            more["payload_width"] = other
        w = more.get("payload_width", more["pointer_size"])
        pid, base = self.few(4, 9), 0x10000 * self.few(1, 9)
        what = rng.randrange(7)
        if what == 0:
            trace.process(
                rng.choice([1, 2, 3, 4, 39, 11]),
                time,
                cpu,
                pid,
                rng.randint(0, 3),
                self.text(),
                self.wide_text(),
                version=rng.randint(0, 5),
                flags=rng.randrange(8),
                exit_status=rng.randint(-2, 259),
                sid_style=rng.choice(["none", "user", "zero_user"]),
                package=self.text(),
                app=self.text(),
                **more,
            )
        elif what == 1:
            name = rng.choice([None, "", "worker"])
            version, start = rng.randint(0, 4), self.number(w)
            op = rng.choice([1, 2, 3, 4, 36])
            tid = self.few(40, 49)
            trace.thread(op, time, cpu, pid, tid, start, version=version, name=name, **more)
        elif what in (2, 3, 4):
            values = {"timestamp": rng.choice([0, 77, 1 << 31]), "checksum": rng.getrandbits(32)}
            if "full_width" not in self.on or rng.random() < 0.7:
                values["version"] = rng.choice([2, 3])
            else:
                values["version"] = rng.randrange(4)
            op, path = rng.choice([10, 2, 3, 4, 33]), self.wide_text()
            if rng.random() < 0.5:
                self.image_id(time, cpu, pid, base)
            trace.image(op, time, cpu, pid, base, 0x1000, path, **values, **more)
        elif what == 5:
            self.image_id(time, cpu, pid, base)
        else:
            trace.volume(time, cpu, "\\Device\\HarddiskVolume2\\", rng.choice(["C:\\", ""]))

    def image_id(self, time: int, cpu: int, pid: int, base: int) -> None:
        rng = self.rng
        header, width = rng.choice(["FULL", "EVENT"]), self.width()
        more: dict[str, Any] = {"header": header, "pointer_size": width}
        if rng.random() < 0.6:
            guid, age = rng.randbytes(16), rng.randint(1, 9)
            self.trace.debug_id(time, cpu, pid, base, guid, age, self.text(), **more)
        else:
            stamp = rng.getrandbits(32)
            self.trace.image_info(time, cpu, pid, base, 0x1000, stamp, self.text(), **more)

    def noise(self) -> None:
        rng, trace, time, cpu = self.rng, self.trace, self.step(), self.cpu()
        payload = rng.randbytes(rng.randint(0, 40))
        kinds = ["SYSTEM", "COMPACT", "PERFINFO", "FULL", "INSTANCE", "EVENT"]
        kind = rng.choice([*kinds, "TIMED", "ERROR", "WNODE", "MESSAGE"])
        width = self.width()
        if kind == "MESSAGE":
            parts: dict[str, Any] = {"stamped": rng.random() < 0.7, "pointer_size": width}
            if rng.random() < 0.5:
                parts |= {"pid": 4, "tid": 8}
            if rng.random() < 0.5:
                parts["sequence"] = 5
            if rng.random() < 0.5:
                parts["component"] = 6
            elif rng.random() < 0.5:
                parts["provider"] = "ce1dbfb4-137e-4da6-87b0-3f59aa102cbc"
            trace.message(time, cpu, payload, **parts)
            return
        more: dict[str, Any] = {"pointer_size": width, "pid": 4, "tid": 8}
        if kind == "EVENT" and rng.random() < 0.7:
            types = [1, 6, 0xB, 0xC, 0x12, 0x77]
            items = [(rng.choice(types), rng.randbytes(rng.randint(0, 30))) for _ in range(3)]
            more["extended"] = tuple(items[: rng.randint(1, 3)])
        if kind in ("SYSTEM", "COMPACT", "PERFINFO") and "extension" in self.on:
            more["pebs"], more["counters"] = rng.random() < 0.5, rng.randrange(8)
        cls, op = rng.choice([("Other", 0x16), ("PerfInfo", 46), ("PageFault", 102)])
        trace.raw(kind, time, cpu, cls, op, payload, **more)

    # ---- faults ---------------------------------------------------------------------------------

    def short(self) -> None:
        """Known classes with payloads of any length."""
        rng, time, cpu = self.rng, self.step(), self.cpu()
        pairs = [("Heap", op) for op in (*range(32, 47), 51)]
        pairs += [("StackWalk", op) for op in range(32, 39)]
        pairs += [(cls, op) for cls in ("Process", "Thread") for op in (1, 2, 3, 4)]
        pairs += [("Image", op) for op in (2, 3, 4, 10)]
        pairs += [("ImageID", 0), ("ImageID", 36), ("SysConfigEx", 35)]
        cls, op = rng.choice(pairs)
        plain = ["SYSTEM", "COMPACT", "PERFINFO"] if not cls.startswith(("ImageID", "Sys")) else []
        header = rng.choice([*plain, "FULL", "EVENT"])
        payload = rng.choice([bytes, rng.randbytes])(rng.randint(0, 64))
        more = {"pid": 4, "tid": 8, "version": rng.randint(0, 5), "pointer_size": self.width()}
        self.trace.raw(header, time, cpu, cls, op, payload, **more)

    def inside(self) -> None:
        from etlmaker.headers import event, message

        rng, time, cpu = self.rng, self.step(), self.cpu()
        what = rng.randrange(3)
        if what == 0:
            items = ((6, bytes(16)), (1, bytes(16)))
            made = bytearray(event("EVENT", "Heap", 33, bytes(28), time=time, extended=items))
            at = 0x50 + rng.choice([0, 24])
            place, value = rng.choice([(0, 0), (0, 7), (0, 0x7FF8), (6, 60)])
            made[at + place : at + place + 2] = value.to_bytes(2, "little")
        elif what == 1:
            made = bytearray(event("COMPACT", "Heap", 35, layouts.words(8, 1), time=time))
            made[1] = rng.choice([0x87, 0x02, 0x80])
        else:
            made = bytearray(message(b"", time=time))
            made[6] = 0xFF
        self.trace.add(time, cpu, bytes(made))

    def unknown_kind(self) -> None:
        time, cpu = self.step(), self.cpu()
        kind = self.rng.choice([0, 5, 9, 15, 22, 255])
        self.trace.add(time, cpu, bytes([2, 0, kind, 0xC0, 24, 0, 1, 1]) + bytes(16))

    # ---- the file -------------------------------------------------------------------------------

    def file(self) -> bytes:
        rng, on = self.rng, self.on
        compression = next((f for f in ("xpress", "lznt1", "xpress_huffman") if f in on), None)
        if "loggers" in on:
            for item in self.trace.items:
                item.logger = rng.choice([1, 0x8001])
        per_buffer = None if "small_buffers" in on else rng.choice([None, 3, 20])
        data = self.trace.to_bytes(
            compression=compression,
            compress_every=2 if "mixed" in on else 1,
            shuffle=rng.randrange(1000) if "shuffle" in on else None,
            proc_index="noproc" not in on,
            header_style="win7" if "win7" in on else "merged" if "merged" in on else "kernel",
            first_sequence=rng.choice([1, 1, 500, 1 << 40]),
            circular="circular" in on,
            per_buffer=per_buffer,
            zero_tail=rng.choice([0, 40, 0x2000]) if "zero_tail" in on else 0,
            lost_flags={rng.randrange(4): rng.choice([2, 4])} if "losses" in on else None,
        )
        if "junk_tail" in on:
            data += rng.randbytes(rng.choice([1, 71, 72, 300]))
        if "cut" in on:
            data = data[: rng.randint(0, len(data))]
        if "flips" in on:
            changed = bytearray(data)
            for _ in range(rng.randint(1, 8)):
                if changed:
                    at = rng.randrange(len(changed))
                    changed[at] = rng.choice([0, 1, 0xFF, rng.getrandbits(8)])
            data = bytes(changed)
        return data


def make(seed: int, count: int, features: Iterable[str]) -> Made:
    """The trace of `count` random events with these features."""
    on = frozenset(features)
    maker = _Maker(seed, on)
    optional = ("entities", "noise", "short", "inside", "unknown_kind")
    methods = {name: getattr(maker, name.replace("entities", "entity")) for name in optional}
    chosen = [methods[name] for name in optional if name in on]
    for _ in range(count):
        rare = chosen and maker.rng.random() < 0.4
        (maker.rng.choice(chosen) if rare else maker.heap)()
    return Made(seed, count, on, maker.file(), maker.trace)


def traces(features: tuple[str, ...] = ALL, max_events: int = 60) -> st.SearchStrategy[Made]:
    """Random traces with any subset of `features`."""
    return st.builds(
        make,
        st.integers(0, 2**32 - 1),
        st.integers(0, max_events),
        st.sets(st.sampled_from(features)) if features else st.just(set()),
    )
