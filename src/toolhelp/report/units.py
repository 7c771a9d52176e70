"""Numbers for people: sizes, counts, times; and sizes and times as people write them."""

from __future__ import annotations

import re
from typing import Literal

Units = Literal["si", "iec", "raw"]

_STEPS = {
    "si": (1000, ("B", "kB", "MB", "GB", "TB", "PB", "EB")),
    "iec": (1024, ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")),
}


def size(count: float, units: Units = "si") -> str:
    """10 B, 1.5 kB, 184.2 MB; every byte is shown below one thousand of them."""
    if units == "raw":
        return f"{round(count):,} B"
    step, names = _STEPS[units]
    sign = "-" if count < 0 else ""
    value = abs(count)
    if round(value) < step:
        return f"{sign}{round(value)} B"
    power = 0
    while value >= step - 0.05 and power + 1 < len(names):
        value /= step
        power += 1
    return f"{sign}{value:.1f} {names[power]}"


def rate(per_second: float, live_bytes: int, seconds: float, units: Units = "si") -> str:
    """+2.0 MB/s; `flat` when it makes less than a hundredth of what is live."""
    if abs(per_second) * seconds / 2 < max(1, live_bytes) / 100:
        return "flat"
    sign = "+" if per_second > 0 else ""
    return f"{sign}{size(per_second, units)}/s"


def count(number: float) -> str:
    """1,902,377."""
    return f"{number:,.0f}"


def short_count(number: float) -> str:
    """322 K, 1.9 M."""
    if number < 1000:
        return f"{number:.0f}"
    for name in "KMGT":
        number /= 1000
        if number < 999.95:
            return f"{number:.0f} {name}" if number >= 99.95 else f"{number:.1f} {name}"
    return f"{number:.0f} P"


def time(ns: float) -> str:
    """41.7 s, 12.3 ms, 900 us, 2 h 05 min."""
    seconds = ns / 1e9
    if seconds >= 7200:
        return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60):02} min"
    if seconds >= 600:
        return f"{int(seconds // 60)} min {int(seconds % 60):02} s"
    if seconds >= 0.9995 or ns == 0:
        return f"{seconds:.1f} s"
    if ns >= 999_500:
        return f"{ns / 1e6:.1f} ms"
    if ns >= 1000:
        return f"{ns / 1e3:.0f} us"
    return f"{ns:.0f} ns"


def share(part: float, whole: float) -> str:
    """65.6 %; 0.1 % is the least that is not nothing."""
    if not whole or not part:
        return "0 %"
    percent = 100 * part / whole
    return "<0.1 %" if percent < 0.05 else f"{percent:.1f} %"


_SIZE_NAMES = {
    "": 1,
    "b": 1,
    **{f"{name}{end}": 1000**power for power, name in enumerate("kmgt", 1) for end in ("", "b")},
    **{f"{name}i{end}": 1024**power for power, name in enumerate("kmgt", 1) for end in ("", "b")},
}
_TIME_NAMES = {
    "": 1_000_000_000,
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "min": 60_000_000_000,
    "h": 3_600_000_000_000,
}


def _parse(text: str, names: dict[str, int], what: str) -> int:
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([a-zµ]*)\s*", text.lower())
    if not match or match[2] not in names:
        raise ValueError(f"{text!r} is not {what}")
    whole, _, fraction = match[1].partition(".")
    unit = names[match[2]]
    return int(whole or 0) * unit + int(int(fraction or 0) * unit / 10 ** len(fraction))


def parse_size(text: str) -> int:
    """Bytes of 4096, 10MB (millions), 64KiB ..."""
    return _parse(text, _SIZE_NAMES, "a size; say 4096, 10MB or 64KiB")


def parse_time(text: str) -> int:
    """Nanoseconds of 2.5 (seconds), 10ms, 3us, 1min ..."""
    return _parse(text, _TIME_NAMES, "a time; say 2.5s, 10ms or 3us")
