"""A live trace as far as it has come: what reports ask of a `Trace`."""

from __future__ import annotations

from typing import Any

from ._core import Table
from .session_stats import SessionStats
from .trace_info import describe

__all__ = ["LiveView"]

#: What the header of a file would say, of a session that has none.
_NO_FILE: dict[str, Any] = {
    "buffer_size": 0,
    "os_major": 0,
    "os_minor": 0,
    "os_build": 0,
    "processors": 0,
    "pointer_size": 8,
    "log_file_mode": 0x100,
    "buffers_lost": 0,
    "cpu_mhz": 0,
    "boot_time": 0,
}


class LiveView:
    """`info`, `quality`, `processes` and `modules` of a live trace at one moment.

    Until the session is stopped `quality["complete"]` is False: more may come.
    """

    def __init__(
        self,
        facts: dict[str, Any],
        stats: SessionStats,
        session: dict[str, Any],
        ended: bool,
        processes: Table[Any],
        modules: Table[Any],
    ) -> None:
        self.processes = processes
        self.modules = modules
        lost = stats.log_buffers_lost + stats.live_buffers_lost
        end = session["start_time"] + max(0, facts["last_ns"]) // 100
        whole = {
            **_NO_FILE,
            **facts,
            **session,
            "events_lost": stats.events_lost,
            "buffers_lost": lost,
            "buffers_written": stats.buffers_written or 1,
            "end_time": end if ended else 0,
        }
        self.info = describe(whole, None)
        self.quality = self.info["quality"]
