"""Trace sessions of this machine: which one traces heaps, which were left behind, and their end."""

from __future__ import annotations

import itertools

from . import _core
from ._core import Table, TraceSession
from .errors import (
    SessionError,
    SessionExists,
    SessionNotFound,
    ToolhelpError,
    TooManySessions,
)

__all__ = ["heap_sessions", "stop_session", "stop_stale_sessions"]

PREFIX = "toolhelp-"
_numbers = itertools.count(1)


def new_name() -> str:
    """A session name of ours: it says which process owns it, so that a stale one can be told."""
    return f"{PREFIX}{_core.current_pid()}-{next(_numbers)}"


def heap_sessions() -> Table[TraceSession]:
    """Heap sessions that run on this machine, and other sessions that toolhelp started.

    A Table of `TraceSession`: name, is_heap, owner_pid and stale (for those of toolhelp), log_file,
    mode, buffer figures and losses. Windows has room for one heap session at a time: the row with
    `is_heap` is the one that holds it, whoever started it. Only sessions that this process may see
    are listed; run elevated to see all.
    Windows calls: QueryAllTracesW, OpenProcess, GetExitCodeProcess.
    Errors: `UnsupportedPlatform` (also under Wine, whose QueryAllTracesW does nothing),
    `SessionError`, `AccessDenied`.
    """
    return _core.trace_sessions()


def stop_session(name: str) -> None:
    """Stop a session by its name, whoever started it; its log file is completed.

    Windows call: ControlTraceW(EVENT_TRACE_CONTROL_STOP).
    Errors: `SessionNotFound`, `AccessDenied`, `UnsupportedPlatform`, `SessionError`.
    """
    _core.stop_trace_session(name)


def stop_stale_sessions() -> list[str]:
    """Stop the sessions of toolhelp whose process is gone; their names."""
    stopped = []
    for row in heap_sessions():
        if row.stale:
            try:
                stop_session(row.name)
            except SessionNotFound:  # somebody else was quicker
                continue
            stopped.append(row.name)
    return stopped


def explained(error: SessionError) -> SessionError:
    """With the name of who holds the slot (183), or how many sessions are ours (1450)."""
    if not isinstance(error, SessionExists | TooManySessions):
        return error
    try:
        rows = list(_core.trace_sessions())
    except ToolhelpError:
        return error
    if isinstance(error, SessionExists):
        heap = [row for row in rows if row.is_heap]
        if not heap:
            return error
        row = heap[0]
        if row.stale:
            hint = "its process is gone: toolhelp sessions --stop-stale ends it"
        elif row.owner_pid is not None:
            hint = f"process {row.owner_pid} records with toolhelp"
        else:
            hint = f"toolhelp sessions --stop {row.name!r} ends it, if nobody needs it"
        text = f"{error}. Now running: {row.name!r} ({hint})"
    else:
        ours = [row for row in rows if row.owner_pid is not None]
        stale = sum(row.stale for row in ours)
        text = f"{error}. {len(ours)} of them are of toolhelp, {stale} of these left behind"
    made = type(error)(text, winerror=error.winerror, function=error.function)
    return made
