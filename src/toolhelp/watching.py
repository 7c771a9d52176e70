"""Changes of the machine as they are seen from time to time."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from .diff import Diff
from .scan import Snapshot, snapshot

__all__ = ["Watch", "watch"]


class Watch:
    """An iterator, and an async iterator, of `Diff` objects; see `watch`."""

    def __init__(self, interval: float, count: int | None, options: dict[str, Any]) -> None:
        if not interval > 0:
            raise ValueError(f"interval must be more than 0 seconds, it is {interval!r}")
        if count is not None and count < 0:
            raise ValueError(f"count must not be negative, it is {count!r}")
        self.interval = interval
        self._left = count
        self._options = options
        self._last: Snapshot | None = None
        self._next_time = 0.0

    @property
    def blind_spot(self) -> str:
        """What watching at this interval cannot see, in one sentence."""
        return f"what starts and ends between two snapshots, {self.interval:g} s apart, is not seen"

    def _take(self) -> Snapshot:
        return snapshot(**self._options)

    def _pause(self) -> float:
        """Seconds until the next snapshot. A late one moves those after it."""
        now = time.monotonic()
        pause = max(0.0, self._next_time - now)
        self._next_time = now + pause + self.interval
        return pause

    def _step(self, taken: Snapshot) -> Diff:
        last, self._last = self._last, taken
        assert last is not None
        if self._left is not None:
            self._left -= 1
        return Diff(last, taken)

    def _begin(self, first: Snapshot) -> None:
        self._last = first
        self._next_time = time.monotonic() + self.interval

    def __iter__(self) -> Watch:
        return self

    def __next__(self) -> Diff:
        if self._left == 0:
            raise StopIteration
        if self._last is None:
            self._begin(self._take())
        time.sleep(self._pause())
        return self._step(self._take())

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> Diff:
        if self._left == 0:
            raise StopAsyncIteration
        if self._last is None:
            self._begin(await asyncio.to_thread(self._take))
        await asyncio.sleep(self._pause())
        return self._step(await asyncio.to_thread(self._take))


def watch(
    interval: float = 1.0,
    *,
    count: int | None = None,
    identity: bool = True,
    **options: Any,
) -> Watch:
    """What changes, as a `Diff` every `interval` seconds; `count` of them, or without end.

    For use in `for` and in `async for`. `options` are those of `snapshot`. What starts and ends
    between two snapshots is not seen: `Watch.blind_spot` says so, and nothing but a trace can.
    The first snapshot is taken when the first result is asked for. Errors: those of `snapshot`.
    """
    return Watch(interval, count, {"identity": identity, **options})
