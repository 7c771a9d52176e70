"""Options that choose blocks, and types of words of the reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from ..report import units

_F = TypeVar("_F", bound=Callable[..., Any])


class _Parsed(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _handle(text: str) -> int:
    try:
        number = int(text, 0)
    except ValueError:
        raise ValueError(f"{text!r} is not a handle; say 0x1c0f0000") from None
    if not 0 <= number < 2**64:
        raise ValueError(f"{text!r} is not a handle of 64 bits")
    return number


def _lifetime(text: str) -> tuple[int | None, int | None]:
    low, dots, high = text.partition("..")
    if not dots or not (low or high):
        raise ValueError(f"{text!r} is not a range; say 10ms..1s, ..1ms or 5s..")
    return (units.parse_time(low) if low else None, units.parse_time(high) if high else None)


def _percent(text: str) -> float:
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        raise ValueError(f"{text!r} is not a share; say 10%") from None
    if not 0 <= value < float("inf"):
        raise ValueError(f"{text!r} is not a share; say 10%")
    return value / 100


SIZE = _Parsed("size", units.parse_size)
TIME = _Parsed("time", units.parse_time)
HANDLE = _Parsed("handle", _handle)
LIFETIME = _Parsed("A..B", _lifetime)
PERCENT = _Parsed("share", _percent)

_OPTIONS = (
    click.option("--pid", "pids", type=click.IntRange(0, 2**32 - 1), multiple=True,
                 help="Blocks of this process."),
    click.option("--heap", "heaps", type=HANDLE, multiple=True, help="Blocks of this heap."),
    click.option("--thread", "tids", type=click.IntRange(0, 2**32 - 1), multiple=True,
                 help="Blocks that this thread allocated."),
    click.option("--module", "modules", multiple=True, metavar="NAME",
                 help="Blocks with a frame in this module; case is ignored."),
    click.option("--under", multiple=True, metavar="FRAME",
                 help="Blocks with a frame whose name has this text in it; * is anything, ^ and $ "
                 "are its ends."),
    click.option("--since", "since_ns", type=TIME, metavar="TIME",
                 help="Blocks born at or after this time of the trace, as 2.5s or 10ms."),
    click.option("--until", "until_ns", type=TIME, metavar="TIME", help="Blocks born before it."),
    click.option("--min-size", type=SIZE, default=0, metavar="SIZE",
                 help="Blocks of at least this size, as 4096, 10kB or 64KiB."),
    click.option("--lifetime", "lifetime_ns", type=LIFETIME, metavar="A..B",
                 help="Blocks that live from A to less than B."),
    click.option("--rule", "rule_ns", type=TIME, default="1ms", show_default=True, metavar="TIME",
                 help="A block that lives less is temporary."),
)  # fmt: skip


def filter_options(function: _F) -> _F:
    """The options that choose blocks; `words` turns them into those of `Trace.analyze`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def words(options: dict[str, Any]) -> dict[str, Any]:
    """Takes the values of `filter_options` out of `options`, for `Trace.analyze`."""
    return {
        "pids": options.pop("pids") or None,
        "heaps": options.pop("heaps") or None,
        "threads": options.pop("tids") or None,
        "modules": options.pop("modules") or None,
        "under": options.pop("under") or None,
        "since_ns": options.pop("since_ns"),
        "until_ns": options.pop("until_ns"),
        "min_size": options.pop("min_size"),
        "lifetime_ns": options.pop("lifetime_ns"),
        "rule_ns": options.pop("rule_ns"),
    }
