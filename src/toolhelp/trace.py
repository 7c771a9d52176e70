"""Traces of Windows (.etl files), read on any system."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _core
from ._core import Table
from .archive import MAX_EXPAND, Opened, TraceInput, open_input
from .batches import Batches

if TYPE_CHECKING:
    from .analysis import Analysis
    from .names import Symbolizer

__all__ = ["Trace", "open_trace"]

_COMPRESSED_MODE = 0x04000000
_CLOCKS = {2: "system", 3: "cycles"}
_FILETIME_ZERO = datetime(1601, 1, 1, tzinfo=UTC)

_COUNTS_OF_FILE = (
    "buffers",
    "compressed_buffers",
    "events",
    "events_by_header",
    "events_by_hook",
    "heap_events",
)

Progress = Callable[[int, int], None]
"""Called with bytes read and bytes in all."""


def open_trace(
    trace: TraceInput,
    *,
    threads: int | None = None,
    max_expand: int = MAX_EXPAND,
    member: str | None = None,
) -> Trace:
    """Open a trace: a path, bytes, a memoryview, or a binary file object.

    Also reads `.etl` files inside `.zip` and Visual Studio `.diagsession` files (`member` chooses
    when there are several), `.etl.gz` and `.etl.zst`, and streams that cannot seek: these are
    copied to a temporary file first, up to `max_expand` bytes. A file object must stay open while
    the trace is used; it is never closed here.

    `threads` helpers read and unpack ahead (default: up to 2, none on one processor).

    Raises `CorruptTrace` when the bytes are not a trace, and what opening a file raises. Damage
    inside a trace is not an error: `Trace.quality` says what is missing.
    """
    if threads is None:
        threads = max(0, min(2, _processors() - 1))
    elif not 0 <= threads <= 64:
        raise ValueError("threads must be from 0 to 64")
    return Trace(open_input(trace, max_expand=max_expand, member=member), threads)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Trace:
    """An open trace; made by `open_trace`.

    It can be used from several threads: every iterator reads the bytes on its own. Threads may also
    share one iterator: each Table then goes to one of them. To another process send the path of the
    trace; its Tables and their rows can be pickled. Times are nanoseconds since the trace's start,
    or absolute UTC as ISO 8601 text.

    `info["counts"]["stacks"]` counts the stacks in the file, or parts of stacks, of any event;
    `distinct_stacks` the rows of `stacks` without repetitions.
    """

    def __init__(self, opened: Opened, threads: int) -> None:
        self._opened: Opened | None = opened
        self._threads = threads
        self._lock = threading.Lock()
        self._summary: _core.TracePass | None = None
        self._facts: dict[str, Any] | None = None
        self._notes, self._trouble = _notes_beside(opened.name)
        self._first: _core.TracePass | None = self._new_pass(opened)

    def __enter__(self) -> Trace:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._opened is None:
            return "<toolhelp.Trace, closed>"
        return f"<toolhelp.Trace of {self._opened.name or 'memory'!r}, {self._opened.size:,} bytes>"

    def __reduce__(self) -> Any:
        raise TypeError("an open trace cannot be pickled: send its path and open it there")

    def close(self) -> None:
        """Let go of the bytes. Iterators that were begun keep them until they end."""
        self._opened = None
        self._first = None

    def _source(self) -> Opened:
        opened = self._opened
        if opened is None:
            raise ValueError("the trace is closed")
        return opened

    def _begin(self) -> _core.TracePass:
        """A pass that nobody else has begun; the one that opening made serves first."""
        opened = self._source()
        with self._lock:
            first, self._first = self._first, None
        return first or self._new_pass(opened)

    def _new_pass(self, opened: Opened) -> _core.TracePass:
        made = _core.trace_pass(opened.source, self._threads)
        if self._notes:
            made.note(self._notes)
        return made

    def _give_back(self, run: Any) -> None:
        """Undoes `_begin` for a pass that was not used after all."""
        with self._lock:
            if self._first is None and self._opened is not None:
                self._first = run

    def read(self, progress: Progress | None = None) -> None:
        """Read the whole trace once, so that what follows is at hand.

        `info`, `quality` and the tables do this by themselves when first asked for. `progress` is
        called with the bytes read so far and the bytes in all.
        """
        if self._summary is not None:
            return
        run = self._begin()
        size = self._source().size
        run.run(None if progress is None else lambda done: progress(done, size))
        self._keep(run)

    def _keep(self, run: _core.TracePass) -> None:
        with self._lock:
            if self._summary is None:
                self._facts = run.facts()
                self._facts["trouble"] = self._trouble
                self._summary = run

    def _whole(self) -> _core.TracePass:
        self.read()
        assert self._summary is not None
        return self._summary

    def _counted(self) -> dict[str, Any]:
        self.read()
        assert self._facts is not None
        return self._facts

    @property
    def info(self) -> dict[str, Any]:
        """What the trace is (`file`) and what it holds (`counts`), as `toolhelp info --json`."""
        return describe(self._counted(), self._name())

    @property
    def quality(self) -> dict[str, Any]:
        """What is missing from the trace, in numbers and in sentences (`messages`)."""
        return _quality(self._counted())

    def _name(self) -> str | None:
        return self._opened.name if self._opened is not None else None

    @property
    def processes(self) -> Table[Any]:
        """Every life of a process that the trace names, in the order of their first event.

        Table of TraceProcess(pid, ppid, name, start_ns, end_ns, exit_status, session_id,
        command_line, bits).
        """
        return self._whole().processes()

    @property
    def threads(self) -> Table[Any]:
        """Every life of a thread: Table of TraceThread(tid, pid, start_ns, end_ns,
        start_address, name)."""
        return self._whole().threads()

    @property
    def modules(self) -> Table[Any]:
        """Every stay of a module in a process.

        Table of TraceModule(pid, base, size, name, path, nt_path, load_ns, unload_ns, timestamp,
        checksum, pdb_name, pdb_guid, pdb_age). Processes 0 and 4 are the kernel.
        """
        return self._whole().modules()

    def module_at(self, pid: int, address: int, time_ns: int) -> int | None:
        """The row of `modules` that held an address of a process at a time; None: none did.

        The kernel's modules (processes 0 and 4) serve every process.
        """
        return self._whole().find_module(pid, time_ns, address)

    @property
    def stacks(self) -> Table[Any]:
        """The call stacks of heap events: Table of Stack(stack_id, frames, same_as).

        Row i is the stack that `stack_id` i of a heap event names. Frames are return addresses,
        innermost first. Where the recorder cached stacks, a number can turn out to be the same
        stack as a lower one (`same_as`), or to have frames that the trace never tells (None).
        """
        return self._whole().stacks()

    @property
    def frames(self) -> Table[Any]:
        """Every address that occurs in a stack, ascending: Table of Frame(address, stacks)."""
        return self._whole().frames()

    def heap_events(self, progress: Progress | None = None) -> Iterator[Table[Any]]:
        """The heap events in order of time, as Tables of some thousand rows.

        Table of HeapEvent(time_ns, cpu, pid, tid, kind, heap, address, size, old_address,
        old_size, source, stack_id). Memory stays bounded whatever the size of the trace.
        """
        size, run = self._source().size, self._begin()
        return Batches(self._kept(_watched(run, size, progress), run))

    def _kept(self, batches: Iterator[Table[Any]], run: _core.TracePass) -> Iterator[Table[Any]]:
        yield from batches
        self._keep(run)

    def events(
        self, kinds: str | Iterable[str] | None = None, progress: Progress | None = None
    ) -> Iterator[Table[Any]]:
        """Events of any kind in order of time, as Tables of some thousand rows.

        `kinds`: one or several of "heap" (or "heap.alloc", "heap.free" ...), "stack", "process",
        "thread", "image", "imageid", "lost", "other"; None: all. Table of TraceEvent(time_ns,
        cpu, pid, tid, kind, header, provider, hook, id, opcode, version, level, pointer_size,
        payload).
        """
        wanted = _filter(kinds)
        opened = self._source()
        run = _core.trace_events(opened.source, self._threads, wanted)
        return Batches(_watched(run, opened.size, progress))

    def analyze(
        self,
        *,
        rule_ns: int = 1_000_000,
        buckets: int = 200,
        pids: int | Iterable[int] | None = None,
        threads: int | Iterable[int] | None = None,
        heaps: int | Iterable[int] | None = None,
        modules: str | Iterable[str] | None = None,
        under: str | Iterable[str] | None = None,
        since_ns: int | None = None,
        until_ns: int | None = None,
        min_size: int = 0,
        lifetime_ns: tuple[int | None, int | None] | None = None,
        symbols: Symbolizer | None = None,
        progress: Progress | None = None,
    ) -> Analysis:
        """Run the heap ledger over the trace.

        `rule_ns`: a block that lives less is temporary. `buckets`: points of the timeline. The
        other words choose blocks after the ledger has run over all of them, and every figure is
        then of those blocks alone: allocated by one of `pids`, of `threads`, in one of `heaps`
        (handles), with a frame in one of `modules` (names; case is ignored), with a frame that has
        one of the texts `under` in its name, born from `since_ns` to before `until_ns`, of at
        least `min_size` bytes at the end, living from the first to below the second of
        `lifetime_ns`. Choosing by frames, size or lifetime takes one or two passes more.

        `symbols` names functions: called with a row of `modules` and an offset.
        Raises ValueError for words out of range, MemoryError, and what reading raises.
        """
        from .analysis import analyze

        return analyze(
            self,
            rule_ns=rule_ns,
            buckets=buckets,
            pids=pids,
            threads=threads,
            heaps=heaps,
            modules=modules,
            under=under,
            since_ns=since_ns,
            until_ns=until_ns,
            min_size=min_size,
            lifetime_ns=lifetime_ns,
            symbols=symbols,
            progress=progress,
        )

    def blocks(
        self,
        *,
        pids: int | Iterable[int] | None = None,
        threads: int | Iterable[int] | None = None,
        heaps: int | Iterable[int] | None = None,
        modules: str | Iterable[str] | None = None,
        under: str | Iterable[str] | None = None,
        since_ns: int | None = None,
        until_ns: int | None = None,
        min_size: int = 0,
        lifetime_ns: tuple[int | None, int | None] | None = None,
        symbols: Symbolizer | None = None,
    ) -> Iterator[Table[Any]]:
        """Every heap block as one row, its allocation paired with its end; words as in `analyze`.

        Tables of Block(pid, heap, address, size, tid, birth_ns, death_ns, end, stack_id), in the
        order of their ends; at last those that are still live. `end` is one of live, free,
        realloc, destroy, overwritten, exit. Memory stays bounded by the blocks live at once.
        """
        from .analysis import blocks

        return blocks(
            self,
            pids=pids,
            threads=threads,
            heaps=heaps,
            modules=modules,
            under=under,
            since_ns=since_ns,
            until_ns=until_ns,
            min_size=min_size,
            lifetime_ns=lifetime_ns,
            symbols=symbols,
        )


def _notes_beside(name: str | None) -> tuple[list[_core._Note], str | None]:
    """What was noted beside the trace while it was recorded, and why that is of no use."""
    if name is None or not os.path.isfile(f"{name}.modules.json"):
        return [], None
    from .errors import CorruptTrace
    from .sidecar import Sidecar

    try:
        return Sidecar.read(f"{name}.modules.json").notes(), None
    except (CorruptTrace, OSError) as error:
        return [], f"The notes beside the trace cannot be used: {error}."


def _watched(
    run: _core.TracePass | _core.TraceEvents, size: int, progress: Progress | None
) -> Iterator[Table[Any]]:
    """The batches of a run; `progress` is told after each."""
    if progress is None:
        batches: Iterator[Table[Any]] = run
        return batches
    return _told(run, size, progress)


def _told(
    run: _core.TracePass | _core.TraceEvents, size: int, progress: Progress
) -> Iterator[Table[Any]]:
    for batch in run:
        progress(run.bytes_read(), size)
        yield batch


def _filter(kinds: str | Iterable[str] | None) -> int:
    names: tuple[str, ...] = _core.trace_kinds()
    if kinds is None:
        return (1 << len(names)) - 1
    wanted = 0
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        bits = [i for i, name in enumerate(names) if name == kind or name.startswith(kind + ".")]
        if not bits:
            heap = [name for name in names if name.startswith("heap.")]
            other = [name for name in names if name not in heap]
            known = heap if kind.startswith("heap.") else ["heap.alloc ...", *other]
            raise ValueError(f"unknown kind {kind!r}; known are heap, {', '.join(known)}")
        for bit in bits:
            wanted |= 1 << bit
    return wanted


def _iso(ticks: int) -> str | None:
    """A FILETIME (100 ns since 1601, UTC) as ISO 8601 text; None outside the years 1601-9999."""
    seconds, part = divmod(ticks, 10_000_000)
    try:
        moment = _FILETIME_ZERO + timedelta(seconds=seconds)
    except OverflowError:
        return None
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{part:07d}Z" if ticks >= 0 else None


def describe(facts: dict[str, Any], name: str | None) -> dict[str, Any]:
    """What `Trace.info` gives, from the facts of a finished pass."""
    start, end = facts["start_time"], facts["end_time"]
    finished = end != 0 and end >= start
    return {
        "schema_version": 1,
        "file": {
            "path": name,
            "bytes": facts["bytes"],
            "os_version": f"{facts['os_major']}.{facts['os_minor']}",
            "os_build": facts["os_build"],
            "processors": facts["processors"],
            "pointer_size": facts["pointer_size"],
            "log_file_mode": facts["log_file_mode"],
            "compressed": bool(facts["log_file_mode"] & _COMPRESSED_MODE),
            "clock": _CLOCKS.get(facts["clock"], "qpc"),
            "start": _iso(start),
            "end": _iso(end) if end else None,
            "duration_ns": (end - start) * 100 if finished else max(0, facts["last_ns"]),
            "session_name": facts["session_name"],
        },
        "counts": {
            **{key: facts[key] for key in _COUNTS_OF_FILE},
            "stacks": facts["stack_parts"],
            "distinct_stacks": facts["stacks"],
            "processes": facts["processes"],
            "threads": facts["threads"],
            "modules": facts["modules"],
        },
        "quality": _quality(facts),
    }


def _quality(facts: dict[str, Any]) -> dict[str, Any]:
    heap = facts["heap_events"]
    allocations = heap.get("alloc", 0) + heap.get("realloc", 0)
    finished = facts["end_time"] != 0 and facts["buffers_written"] != 0
    lost_flags = facts["flagged_event_loss"] or facts["flagged_buffer_loss"]
    missing = (
        facts["truncated"]
        or facts["events_lost"]
        or facts["buffers_lost"]
        or facts["buffers_skipped"]
        or facts["bytes_skipped"]
        or facts["unknown_headers"]
        or facts["bad_events"]
        or lost_flags
        or facts["lost_events"]
    )
    return {
        "complete": finished and not missing,
        "truncated": facts["truncated"],
        "events_lost": facts["events_lost"],
        "buffers_lost": facts["buffers_lost"],
        "buffers_skipped": facts["buffers_skipped"],
        "bytes_skipped": facts["bytes_skipped"],
        "unknown_headers": facts["unknown_headers"],
        "bad_events": facts["bad_events"],
        "sequence_gaps": facts["sequence_gaps"],
        "stack_coverage": facts["with_stack"] / allocations if allocations else None,
        "unattributed": facts["unattributed"],
        "messages": _messages(facts, finished, allocations),
    }


def _messages(facts: dict[str, Any], finished: bool, allocations: int) -> list[str]:
    said = []

    def say(count: int, one: str, many: str) -> None:
        if count:
            said.append(one if count == 1 else many.format(n=f"{count:,}"))

    if facts.get("trouble"):
        said.append(facts["trouble"])
    if not finished:
        said.append("The session was never finished: the end of the recording may be missing.")
    if facts["truncated"]:
        said.append("The file is cut off inside a buffer or an event.")
    say(
        facts["events_lost"],
        "The recorder lost 1 event.",
        "The recorder lost {n} events.",
    )
    say(
        facts["buffers_lost"],
        "The recorder lost 1 buffer.",
        "The recorder lost {n} buffers.",
    )
    say(
        max(facts["flagged_event_loss"], facts["flagged_buffer_loss"]),
        "1 buffer is marked: events were lost before it.",
        "{n} buffers are marked: events were lost before them.",
    )
    say(
        facts["lost_events"],
        "1 event reports a loss in real time.",
        "{n} events report losses in real time.",
    )
    say(
        facts["buffers_skipped"],
        "1 buffer could not be used.",
        "{n} buffers could not be used.",
    )
    say(
        facts["bytes_skipped"],
        "1 byte was skipped.",
        "{n} bytes were skipped.",
    )
    say(
        facts["bad_events"],
        "1 event is damaged.",
        "{n} events are damaged.",
    )
    say(
        facts["unknown_headers"],
        "1 event has a header of unknown kind.",
        "{n} events have headers of unknown kinds.",
    )
    say(
        facts["reordered"],
        "1 event is out of order in its buffers.",
        "{n} events are out of order in their buffers.",
    )
    say(
        facts["unresolved_keys"],
        "1 stack is only a key whose frames were never written.",
        "{n} stacks are only keys whose frames were never written.",
    )
    say(
        facts["forced_rows"],
        "1 heap event could not wait for its stack.",
        "{n} heap events could not wait for their stacks: too many came at once.",
    )
    say(
        facts["unattributed"],
        "1 heap event names no process.",
        "{n} heap events name no process.",
    )
    without = allocations - facts["with_stack"]
    if facts["with_stack"] and without:
        said.append(f"{without:,} of {allocations:,} allocations have no stack.")
    return said
