"""Recording the heap events of processes with Event Tracing for Windows.

    with toolhelp.HeapTrace(pids=[1234], path="app.etl") as trace:
        time.sleep(10)
    print(trace.stats())

    with toolhelp.HeapTrace.launch(["app.exe", "--fast"], path="app.etl") as trace:
        trace.wait()

Recording needs Windows and an elevated process; reading the file needs neither.
"""

from __future__ import annotations

import atexit
import ntpath
import os
import threading
import time
import weakref
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from . import _core, kits
from ._core import Table
from .batches import Batches
from .errors import SessionError, ToolhelpError
from .image_switch import ImageSwitch
from .launching import Launch, command_line, environment_block
from .session_stats import LiveCounts, SessionStats
from .sessions import explained, new_name
from .sidecar import Sidecar, sidecar_path

if TYPE_CHECKING:
    from .analysis import Analysis
    from .names import Symbolizer

__all__ = ["HeapTrace", "SessionStats"]

Backend: TypeAlias = Literal["native", "wpt"]
Mode: TypeAlias = Literal["sequential", "circular", "buffering"]

#: Events that can have a stack, with their hook ids (group 0x10, opcode).
STACKS = {
    "create": 0x1020,
    "alloc": 0x1021,
    "realloc": 0x1022,
    "destroy": 0x1023,
    "free": 0x1024,
    "expand": 0x1025,
}
CLOCKS = {"qpc": 1, "system": 2}
MODES = {"sequential": 0x1, "circular": 0x2, "buffering": 0x400}
REAL_TIME, COMPRESSED, INDEPENDENT, SYSTEM_LOGGER = 0x100, 0x04000000, 0x08000000, 0x02000000
#: Of the companion: process, thread and image events of the system logger.
COMPANION_FLAGS = 0x1 | 0x2 | 0x4

WAIT_SLICE_MS = 100
#: Nanoseconds from 1601 to 1970.
_UNIX_NS = 11_644_473_600_000_000_000
#: How long the end of a `with` waits for a ledger to take what is on its way.
DRAIN_SECONDS = 60.0


def _hooks(stacks: Iterable[str]) -> tuple[int, ...]:
    names = (stacks,) if isinstance(stacks, str) else tuple(stacks)
    unknown = [name for name in names if name not in STACKS]
    if unknown:
        raise ValueError(f"stacks are a subset of {', '.join(STACKS)}; not {unknown[0]!r}")
    return tuple(hook for name, hook in STACKS.items() if name in names)


def _pids(pids: Iterable[int] | int) -> tuple[int, ...]:
    return (pids,) if isinstance(pids, int) else tuple(dict.fromkeys(pids))


_running: weakref.WeakSet[HeapTrace] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """A session outlives its process: none is left when the interpreter ends in order."""
    for trace in list(_running):
        try:
            trace.stop()
        except Exception as error:  # the others are still to be stopped
            import sys

            print(f"toolhelp: {error}", file=sys.stderr)


class HeapTrace:
    """A heap trace of processes: to a file, live, or both.

    pids: processes to trace; they must be running. stacks: which events get a call stack, a subset
    of create, alloc, realloc, destroy, free, expand. path: the log file, `.etl`. live: deliver the
    events to this process (the default when there is no path).

    mode: "sequential", "circular" (the last `max_file_mb` MiB), or "buffering" (in memory; written
    to `path` by `flush` and `stop`). compress: let Windows compress the file where it can.
    buffer_kb (KiB), min_buffers, max_buffers: memory of the session, taken from the non-paged pool.
    Allocations with stacks make about 350 bytes each, so the defaults (64 to 256 buffers of
    1 MiB) hold about a second of 200,000 to 700,000 allocations; see docs/recording.md.
    flush_seconds: after how long partly filled buffers are handed on; 0: when full (1 when live).
    clock: "qpc" (100 ns or better) or "system" (10 to 16 ms). stack_cache: (bytes, buckets), lets
    Windows write repeated stacks once; not for live use. companion: record process and image events
    in a second session beside. modules: note the modules of the traced processes at start, stop and
    every `module_seconds`, in `<path>.modules.json`. queue_batches: how many batches of up to
    16,384 live events wait for who reads them (about 1 MB each). backend: "native" (StartTraceW)
    or "wpt" (StartHeapTrace of the Windows Performance Toolkit).

    A HeapTrace is used once, best with `with`: whatever happens inside, the session is stopped.
    """

    def __init__(
        self,
        pids: Iterable[int] | int = (),
        *,
        stacks: Iterable[str] = ("alloc", "realloc"),
        path: str | os.PathLike[str] | None = None,
        live: bool | None = None,
        mode: Mode = "sequential",
        compress: bool = False,
        max_file_mb: int = 0,
        buffer_kb: int = 1024,
        min_buffers: int | None = None,
        max_buffers: int | None = None,
        flush_seconds: int | None = None,
        clock: Literal["qpc", "system"] = "qpc",
        stack_cache: tuple[int, int] | None = None,
        name: str | None = None,
        backend: Backend = "native",
        companion: bool = False,
        modules: bool = True,
        module_seconds: float = 10.0,
        queue_batches: int = 16,
    ) -> None:
        self._pids = _pids(pids)
        self._stacks = tuple(name for name, hook in STACKS.items() if hook in _hooks(stacks))
        self.path = None if path is None else os.path.abspath(os.fspath(path))
        self.live = path is None if live is None else live
        if mode not in MODES:
            raise ValueError(f"mode is one of {', '.join(MODES)}, not {mode!r}")
        if clock not in CLOCKS:
            raise ValueError(f"clock is one of {', '.join(CLOCKS)}, not {clock!r}")
        if backend not in ("native", "wpt"):
            raise ValueError(f"backend is native or wpt, not {backend!r}")
        if self.path is None and not self.live:
            raise ValueError("a heap trace needs a path, or live=True")
        if self.live and mode == "buffering":
            raise ValueError("a session that keeps its buffers in memory delivers nothing live")
        if not 1 <= queue_batches <= 4096:
            raise ValueError("queue_batches is from 1 to 4096")
        if module_seconds <= 0:
            raise ValueError("module_seconds must be positive")
        self.name = name or new_name()
        self.backend: Backend = backend
        self.compressed = compress and self.path is not None
        self._mode = mode
        self._clock = CLOCKS[clock]
        self._companion = companion
        self._take_modules = modules
        self._module_seconds = module_seconds
        self._queue_batches = queue_batches
        self._launch: Launch | None = None
        self._switch: ImageSwitch | None = None
        self.sidecar: Sidecar | None = None
        self._timer_end = threading.Event()
        self._rule_ns: int | None = None
        self._start_time = self._frequency = 0
        self._noted: set[tuple[Any, ...]] = set()
        self._sidecar_lock = threading.Lock()
        least = max(64, 2 * (os.cpu_count() or 1)) if min_buffers is None else min_buffers
        self._words: dict[str, Any] = {
            "buffer_kb": buffer_kb,
            "min_buffers": least,
            "max_buffers": 4 * least if max_buffers is None else max_buffers,
            "max_file": max_file_mb,
            "clock": self._clock,
            "flush_seconds": int(self.live) if flush_seconds is None else flush_seconds,
            "stack_cache": stack_cache,
        }
        self._recording = self._new_recording()

    # ----- other ways to begin ------------------------------------------------------------------

    @classmethod
    def launch(
        cls,
        argv: Sequence[str | os.PathLike[str]] | str,
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        pids: Iterable[int] | int = (),
        **options: Any,
    ) -> HeapTrace:
        """A trace of a new program from its first allocation on.

        The program is created suspended when the trace starts (`with`, or `start`), traced, and
        then resumed. If tracing fails it is ended: it never stays suspended, and never runs without
        being traced. It inherits the console and the rights of this process. `argv` as for
        subprocess.Popen, `env` the whole environment or None, `options` as for HeapTrace.
        Windows calls: CreateProcessW(CREATE_SUSPENDED), ResumeThread, TerminateProcess.
        """
        made = Launch(
            command_line(argv), environment_block(env), None if cwd is None else os.fspath(cwd)
        )
        trace = cls(pids, **options)
        trace._launch = made
        return trace

    @classmethod
    def by_image(cls, image: str, **options: Any) -> HeapTrace:
        """A trace of every process of an image ("app.exe") that starts while it runs.

        Sets the registry value TracingFlags of the image under Image File Execution Options in the
        64-bit view, and puts back what was there when the trace stops (after a crash: with the next
        such trace, or `toolhelp sessions --stop-stale`). Processes that run already are not traced.
        """
        trace = cls((0,), **options)
        trace._switch = ImageSwitch(image)
        return trace

    # ----- the session --------------------------------------------------------------------------

    def _log_mode(self) -> int:
        mode = INDEPENDENT
        if self.path is not None:
            mode |= MODES[self._mode]
        if self.live:
            mode |= REAL_TIME
        if self.compressed:
            mode |= COMPRESSED
        return mode

    def _new_recording(self) -> _core.Recording:
        heap = {
            **self._words,
            "name": self.name,
            "file": self.path,
            "mode": self._log_mode(),
            "pids": self._pids,
            "hooks": _hooks(self._stacks),
        }
        if self.backend == "wpt":
            heap["library"] = kits.find_library()
        companion = None
        if self._companion:
            companion = {
                "name": f"{self.name}-companion",
                "file": self.companion_path,
                "guid": os.urandom(16),
                "mode": INDEPENDENT
                | SYSTEM_LOGGER
                | (0x1 if self.path is not None else 0)
                | (REAL_TIME if self.live else 0),
                "buffer_kb": 64,
                "min_buffers": max(16, 2 * (os.cpu_count() or 1)),
                "flush_seconds": 1,
                "clock": self._clock,
                "enable_flags": COMPANION_FLAGS,
                "extension": False,
            }
        return _core.recording(heap, companion, self._queue_batches if self.live else 0)

    @property
    def companion_path(self) -> str | None:
        """Where the companion writes: `app.companion.etl` beside `app.etl`."""
        if self.path is None or not self._companion:
            return None
        return f"{os.path.splitext(self.path)[0]}.companion.etl"

    @property
    def state(self) -> Literal["new", "running", "stopped"]:
        """Where the session stands."""
        return self._recording.state

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes that are traced; with a launched one, once it exists."""
        child = self._recording.child_pid
        return self._pids if child is None or child in self._pids else (*self._pids, child)

    @property
    def stacks(self) -> tuple[str, ...]:
        """Events that get a stack."""
        return self._stacks

    def start(self) -> HeapTrace:
        """Start the session; with a launched program, start that, too. Returns the trace itself.

        Windows calls: OpenProcess for each pid, StartTraceW or StartHeapTrace; with stacks
        AdjustTokenPrivileges (SeSystemProfilePrivilege, for the call alone).
        Errors: `SessionExists` (another heap session; its name is in the message), `AccessDenied`
        (not elevated), `ProcessNotFound`, `TooManySessions`, `SessionError`, `UnsupportedPlatform`;
        ValueError when it was started before. After an error nothing is left running.
        """
        if self.state != "new":
            raise ValueError("a heap trace starts once; make another")
        try:
            self._start()
        except BaseException:
            self._clean_up()
            raise
        return self

    def _start(self) -> None:
        _running.add(self)
        if self._switch is not None:
            self._switch.set()
        if self.live:
            self._start_time = (time.time_ns() + _UNIX_NS) // 100
            self._frequency = _core.raw_clock(self._clock)[1]
        launch = None
        if self._launch is not None:
            wanted = self._launch
            launch = (wanted.command_line, wanted.environment, wanted.directory)
        try:
            self._recording.start(launch)
        except SessionError as error:
            if not (error.winerror == 87 and self.compressed):
                raise explained(error) from None
            # A system that does not compress refuses the mode: record without.
            self.compressed = False
            self._recording = self._new_recording()
            try:
                self._recording.start(launch)
            except SessionError as second:
                raise explained(second) from None
        if self._take_modules:
            self.sidecar = Sidecar(clock=self._clock)
            if self.companion_path is not None:
                self.sidecar.companion = ntpath.basename(self.companion_path)
            self._note()
            _start_timer(self)

    def _clean_up(self) -> None:
        """After a failed or interrupted start: everything that may have come to be ends."""
        if self.state == "new":
            _running.discard(self)
        try:
            self._recording.stop()
            if self._recording.child_pid is not None and self.exit_code is None:
                self.terminate()
        except ToolhelpError:
            pass
        if self._switch is not None:
            self._switch.restore()

    def update(
        self, pids: Iterable[int] | int | None = None, stacks: Iterable[str] | None = None
    ) -> None:
        """Change what is traced: each argument that is given is the new full set.

        Windows calls: ControlTraceW(EVENT_TRACE_CONTROL_UPDATE) or UpdateHeapTrace. Errors as for
        `start`; ValueError when the session does not run. After an error the old sets are traced.
        """
        new_pids = self.pids if pids is None else _pids(pids)
        new_hooks = _hooks(self._stacks if stacks is None else stacks)
        self._recording.update(new_pids, new_hooks)
        self._pids = new_pids
        self._stacks = tuple(name for name, hook in STACKS.items() if hook in new_hooks)
        self._note()

    def flush(self) -> None:
        """Hand on what lies in partly filled buffers; a buffering session writes its file.

        Windows call: ControlTraceW(EVENT_TRACE_CONTROL_FLUSH).
        """
        self._recording.flush()

    def stats(self) -> SessionStats:
        """The recorder's counters now; after `stop`, its last ones.

        Windows call: ControlTraceW(EVENT_TRACE_CONTROL_QUERY).
        """
        heap, companion = self._recording.query()
        return SessionStats(*heap, None if companion is None else SessionStats(*companion))

    def stop(self) -> None:
        """Stop the session and complete its file; again: nothing.

        A launched program goes on, untraced. Windows call: ControlTraceW(EVENT_TRACE_CONTROL_STOP).
        """
        self._timer_end.set()
        try:
            if self.state == "running":
                self._note()
        finally:
            self._stop()

    def _stop(self) -> None:
        try:
            self._recording.stop()
        finally:
            if self._switch is not None:
                self._switch.restore()
            if self.state != "running":
                _running.discard(self)

    def __enter__(self) -> HeapTrace:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.stop()
        except BaseException:
            self._stop()  # interrupted, or refused once: not without a second try
            raise
        finally:
            self.close()

    def close(self) -> None:
        """Stop, and end the consumer of live events: batches that nobody took are dropped.

        `with` does this at its end; after `stop` alone what is on its way can still be read.
        """
        try:
            self._stop()
            if self._rule_ns is not None:
                end = time.monotonic() + DRAIN_SECONDS
                while not self._recording.live_wait_end(WAIT_SLICE_MS) and time.monotonic() < end:
                    pass
        finally:
            self._recording.live_close()

    def __reduce__(self) -> Any:
        raise TypeError("a HeapTrace cannot be pickled: send its events, which are Tables")

    def __repr__(self) -> str:
        where = self.path or "live"
        return f"<HeapTrace {self.name} of {list(self.pids)}, {where}, {self.state}>"

    # ----- live events --------------------------------------------------------------------------

    def events(self, timeout: float | None = None) -> Iterator[Table[Any]]:
        """Live heap events in order of time, as Tables of HeapEvent.

        Goes on until the session is stopped, or every traced process has ended (then the session
        is stopped, too), or nothing has come for `timeout` seconds. Batches hold up to 16,384
        events; quiet times give small ones within a second or two. When they are not taken fast
        enough the recorder loses events: see `stats`. Times are nanoseconds since the start.
        Threads may share the iterator: each Table goes to one of them.
        Windows calls: OpenTraceW, ProcessTrace. Errors: what ended the events, as `SessionError`.
        """
        return Batches(self._events(timeout))

    def _events(self, timeout: float | None) -> Iterator[Table[Any]]:
        waited = 0.0
        while True:
            batch, ended = self._recording.live_next(WAIT_SLICE_MS)
            if batch is not None:
                waited = 0.0
                yield batch
            elif ended:
                return
            else:
                waited += WAIT_SLICE_MS / 1000
                if timeout is not None and waited >= timeout:
                    return
                if self.state == "running" and self.targets_gone():
                    self.stop()

    async def events_async(self, timeout: float | None = None) -> AsyncIterator[Table[Any]]:
        """`events` for asyncio: waits on a thread, so that other tasks run meanwhile."""
        import asyncio

        batches = self.events(timeout)
        while (batch := await asyncio.to_thread(next, batches, None)) is not None:
            yield batch

    def __iter__(self) -> Iterator[Table[Any]]:
        return self.events()

    def __aiter__(self) -> AsyncIterator[Table[Any]]:
        return self.events_async()

    def analyze(
        self,
        *,
        rule_ns: int = 1_000_000,
        buckets: int = 200,
        symbols: Symbolizer | None = None,
    ) -> Analysis:
        """The figures of the live events so far, as `Trace.analyze` gives them of a file.

        The first call begins the ledger, which then runs beside the events: call it again, at any
        time, for newer figures (with the options of the first). It needs every event, so ask for it
        before the first batch is taken. With nobody in `events` the ledger alone takes the events,
        and nothing waits. Since the end is not known, there is no growth, and the timeline adapts
        its buckets.
        ValueError after batches have been taken.
        """
        from .analysis import Analysis
        from .live_view import LiveView

        if self._rule_ns is None:
            if not 0 <= rule_ns < 2**64:
                raise ValueError("rule_ns must be from 0 to 2**64 - 1")
            if not 1 <= buckets <= 1_000_000:
                raise ValueError("buckets must be from 1 to 1,000,000")
            self._recording.live_analyze(rule_ns, buckets)
            self._rule_ns = rule_ns
        figures, facts, processes, modules = self._recording.live_result()
        session = {
            "session_name": self.name,
            "start_time": self._start_time,
            "clock": self._clock,
            "perf_frequency": self._frequency,
        }
        ended = self.state == "stopped" and self._recording.live_wait_end(0)
        view = LiveView(facts, self.stats(), session, ended, processes, modules)
        return Analysis(figures, view, facts["last_ns"], self._rule_ns, symbols)

    @property
    def live_counts(self) -> LiveCounts:
        """What the consumer of live events has seen so far."""
        return LiveCounts(*self._recording.live_counts())

    # ----- a launched program -------------------------------------------------------------------

    @property
    def child_pid(self) -> int | None:
        """Process id of the launched program, once it exists."""
        return self._recording.child_pid

    @property
    def exit_code(self) -> int | None:
        """Exit code of the launched program; None while it runs."""
        return self._recording.child_wait(0)

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait for the launched program to end, at most `timeout` seconds; its exit code or None.

        Windows calls: WaitForSingleObject, GetExitCodeProcess. ValueError without such a program.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = WAIT_SLICE_MS
            if end is not None:
                left = max(0, min(left, int(1000 * (end - time.monotonic()))))
            code = self._recording.child_wait(left)
            if code is not None or (end is not None and time.monotonic() >= end):
                return code
            if left == 0:
                time.sleep(0.001)

    def terminate(self, exit_code: int = 1) -> None:
        """End the launched program. Windows call: TerminateProcess."""
        self._recording.child_terminate(exit_code)

    def targets_gone(self) -> bool:
        """Whether every traced process has ended (False when one cannot be watched)."""
        return self._recording.targets_gone()

    # ----- modules ------------------------------------------------------------------------------

    @property
    def sidecar_path(self) -> str | None:
        """Where the modules are noted: beside the log file."""
        return None if self.path is None else str(sidecar_path(self.path))

    def _note(self) -> None:
        """Look at modules now. A failure to do so is a row of the notes, not one of the trace."""
        with self._sidecar_lock:
            if self.sidecar is None:
                return
            self.sidecar.take(self.pids)
            if self.path is not None:
                self.sidecar.write(sidecar_path(self.path))
            if self.live and self.state != "new":
                fresh = self.sidecar.fresh(self._noted, self._companion)
                self._recording.live_note(fresh)
                self._noted.update(fresh)


def _start_timer(trace: HeapTrace) -> None:
    """Notes modules now and then, for as long as the trace runs and somebody holds it."""
    held = weakref.ref(trace)
    end, seconds = trace._timer_end, trace._module_seconds

    def run() -> None:
        while not end.wait(seconds):
            found = held()
            if found is None or found.state != "running":
                return
            try:
                found._note()
            except (OSError, ValueError):
                return
            del found

    threading.Thread(target=run, name="toolhelp-modules", daemon=True).start()
