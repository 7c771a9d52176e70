"""Traces of Windows (.etl files), read on any system."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _core
from ._core import Table
from .archive import MAX_EXPAND, TraceInput
from .batches import Batches
from .parts import Recording, open_recording
from .trace_info import describe, quality_of

if TYPE_CHECKING:
    from .analysis import Analysis
    from .names import Symbolizer

__all__ = ["Trace", "open_trace"]


Progress = Callable[[int, int], None]
"""Called with bytes read and bytes in all."""


def open_trace(
    trace: TraceInput | Sequence[TraceInput],
    *,
    threads: int | None = None,
    max_expand: int = MAX_EXPAND,
    member: str | Sequence[str] | None = None,
    companion: bool = True,
) -> Trace:
    """Open a trace: a path, bytes, a memoryview, or a binary file object; or a list of such that
    are the files of one recording.

    Several files are read as one, their events merged by time: a kernel session and a user session
    that ran side by side, the files of a session that begins a new one every so many megabytes. A
    companion that `HeapTrace(companion=True)` wrote beside the trace is picked up by itself, unless
    `companion` is False; `info["files"]` says so.

    Also reads `.etl` files inside `.zip` and Visual Studio `.diagsession` files, `.etl.gz` and
    `.etl.zst`, and streams that cannot seek: these are copied to a temporary file first, up to
    `max_expand` bytes. `member` chooses when there are several in an archive: one, a pattern with
    `*` and `?`, or a list; without it the traces of a `.diagsession` are read as one recording. A
    file object must stay open while the trace is used; it is never closed here.

    `threads` helpers read and unpack ahead (default: up to 2, none on one processor); of several
    files each has its own, as long as there are few.

    Raises `CorruptTrace` when the bytes are not a trace or the files are not one recording (another
    clock, another start of Windows), ValueError when a file is given twice, and what opening a file
    raises. Damage inside a trace is not an error: `Trace.quality` says what is missing.
    """
    if threads is None:
        threads = max(0, min(2, _processors() - 1))
    elif not 0 <= threads <= 64:
        raise ValueError("threads must be from 0 to 64")
    members = () if member is None else (member,) if isinstance(member, str) else tuple(member)
    inputs: Sequence[Any] = trace if isinstance(trace, (list, tuple)) else [trace]
    recording, first = open_recording(
        inputs, threads=threads, max_expand=max_expand, members=members, companion=companion
    )
    return Trace(recording, threads, first)


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

    def __init__(self, recording: Recording, threads: int, first: _core.TracePass) -> None:
        self._recording: Recording | None = recording
        self._about = recording.about()
        self._threads = threads
        self._lock = threading.Lock()
        self._summary: _core.TracePass | None = None
        self._facts: dict[str, Any] | None = None
        self._first: _core.TracePass | None = first

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
        recording = self._recording
        if recording is None:
            return "<toolhelp.Trace, closed>"
        more = f" and {len(recording.parts) - 1} more" if len(recording.parts) > 1 else ""
        return f"<toolhelp.Trace of {recording.name or 'memory'!r}{more}, {recording.size:,} bytes>"

    def __reduce__(self) -> Any:
        raise TypeError("an open trace cannot be pickled: send its path and open it there")

    def close(self) -> None:
        """Let go of the bytes. Iterators that were begun keep them until they end."""
        self._recording = None
        self._first = None

    def _source(self) -> Recording:
        recording = self._recording
        if recording is None:
            raise ValueError("the trace is closed")
        return recording

    def _begin(self) -> _core.TracePass:
        """A pass that nobody else has begun; the one that opening made serves first."""
        recording = self._source()
        with self._lock:
            first, self._first = self._first, None
        return first or recording.begin(self._threads)

    def _give_back(self, run: Any) -> None:
        """Undoes `_begin` for a pass that was not used after all."""
        with self._lock:
            if self._first is None and self._recording is not None:
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
                self._facts = self._about.facts(run)
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
        return describe(self._counted(), self._about.name)

    @property
    def quality(self) -> dict[str, Any]:
        """What is missing from the trace, in numbers and in sentences (`messages`)."""
        return quality_of(self._counted())

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
        recording = self._source()
        run = _core.trace_events(recording.source, self._threads, wanted)
        return Batches(_watched(run, recording.size, progress))

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
