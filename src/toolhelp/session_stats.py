"""What a session says about itself: the recorder's counters, and those of a live consumer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["LiveCounts", "SessionStats"]


@dataclass(frozen=True)
class SessionStats:
    """The recorder's own counters. Once the session is stopped they are its last ones.

    `events_lost`: no buffer had room when the event came; `log_buffers_lost`: buffers that could
    not be written to the file; `live_buffers_lost`: buffers that were not delivered live.
    `buffers` and `free_buffers` are those of now, `buffers_written` all that went to the file or to
    the consumer; `buffer_kb` is the size of one, KB. `companion`: the same of the companion.
    """

    buffer_kb: int
    min_buffers: int
    max_buffers: int
    buffers: int
    free_buffers: int
    buffers_written: int
    events_lost: int
    log_buffers_lost: int
    live_buffers_lost: int
    companion: SessionStats | None = None

    @property
    def lossless(self) -> bool:
        """Whether neither session has lost anything so far."""
        lost = self.events_lost + self.log_buffers_lost + self.live_buffers_lost
        return lost == 0 and (self.companion is None or self.companion.lossless)

    @property
    def advice(self) -> str | None:
        """What to change when something was lost; None when nothing was."""
        if self.lossless:
            return None
        held = f"{self.max_buffers or self.buffers} buffers of {self.buffer_kb} KB"
        words = []
        if self.events_lost:
            words.append(f"{self.events_lost:,} events found no room in {held}: double max_buffers")
        if self.log_buffers_lost:
            words.append(
                f"{self.log_buffers_lost:,} buffers could not be written: write to a faster or "
                "emptier drive, or ask for fewer stacks"
            )
        if self.live_buffers_lost:
            words.append(
                f"{self.live_buffers_lost:,} buffers were not delivered in time: record to a file, "
                "or read the events faster"
            )
        if self.companion is not None and not self.companion.lossless:
            words.append("process and module events were lost as well")
        return "; ".join(words)


class LiveCounts(NamedTuple):
    """Counts of a live session: `records` delivered by ETW, `rows` of heap events handed on,
    `discarded` rows that nobody took before the end, `waits` for room in the queue."""

    records: int
    rows: int
    discarded: int
    waits: int
