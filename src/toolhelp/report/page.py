"""The report as a page of text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from . import units
from .document import top
from .units import Units

if TYPE_CHECKING:
    from ..analysis import Analysis
    from ..names import Frame, Test
    from ..trace import Trace

DEFINITIONS = """\
live at end  Blocks that no event ended, each process taken at its own end or at the trace's. They
             are candidates: a block that the program still uses is among them. Only where the
             trace is complete and the process has ended are they called leaked.
peak         The largest sum of live bytes of all processes that ran, exact, at its first moment.
             At peak: what each stack held at that moment.
total        Blocks that came to be: an Alloc, or a moving ReAlloc whose Alloc was not seen. Bytes
             with growth in place. Frees are not subtracted, and a reallocation counts once.
temporary    Blocks that ended by Free, a moving ReAlloc or the end of their heap in less than the
             rule (--rule, 1 ms).
growth       Live bytes at the end of the process less those at half time of the trace, by half
             the trace's duration. Flat: less than a hundredth of what is live.
avg age      Mean age of the live blocks at the end of their process or of the trace.
where        Frames of the stack, innermost first, without those of the allocator (--cull).
size         Every block by its last size. Lifetime: every block that an event ended.
before       Frees and reallocations of blocks allocated before the trace began. They are counted,
             and nothing is subtracted for them.
modules      By the module that asked for the memory: the first frame that is not culled.
complete     Nothing lost, damaged, cut off or skipped, and the recording was finished. It says
             nothing about when the recording began.
"""

_BARS = "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
_ARROW = " \u2190 "
_FIXED = "\u00a0"
"""A blank at which no line is broken."""


class Page:
    """Lines of one report, fitted to a width."""

    def __init__(
        self,
        trace: Trace,
        analysis: Analysis,
        *,
        width: int = 100,
        unit: Units = "si",
        number: int | None = 3,
        sort: str = "live",
        cull: Sequence[Test] = (),
    ) -> None:
        self._trace = trace
        self._analysis = analysis
        self._width = max(40, width)
        self._units = unit
        self._number = number
        self._sort = sort
        self._cull = cull
        self._seconds = analysis.duration_ns / 1e9
        self.lines: list[Text] = []

    # -- parts ------------------------------------------------------------------------------------

    def whole(self) -> list[Text]:
        """Everything, the most important first."""
        self.head()
        self.overview()
        self.live()
        self.at_peak_and_temporary()
        self.classes()
        self.places()
        return self.lines

    def head(self) -> None:
        """Can it be trusted, what is it, whose is it."""
        quality = self._analysis.quality
        complete = quality["complete"]
        words = "complete" if complete else "NOT COMPLETE"
        text = "nothing lost, damaged or cut off" if complete else _why(quality["messages"])
        coverage = quality["stack_coverage"]
        if coverage is not None:
            text += f" · stacks on {_percent(coverage)} of allocations"
        self._wrapped("quality", f"{words}: {text}", "bold green" if complete else "bold red")
        before = quality["pre_trace"]
        if before:
            what = _s(before, "free", "frees")
            if self._analysis.totals.adopted_blocks:
                what = _s(before, "free or reallocation", "frees and reallocations")
            self._wrapped("", f"{before:,} {what} of blocks allocated before the trace")
        for message in quality["beside"]:
            self._wrapped("", _clean(message.removesuffix(".")))
        file = self._trace.info["file"]
        parts = [
            file["path"] or "(memory)",
            units.size(file["bytes"], self._units),
            f"Windows {file['os_version']}.{file['os_build']}",
            f"{file['processors']} {_s(file['processors'], 'CPU', 'CPUs')}",
            (file["start"] or "").replace("T", " ")[:19] + " UTC",
            units.time(self._analysis.duration_ns),
        ]
        if file["compressed"]:
            parts.insert(2, "compressed")
        more = len(self._trace.info["files"]) - 1
        if more > 0:
            parts.insert(1, f"and {more} more {_s(more, 'file', 'files')}")
        self._wrapped("file", "  ".join(_clean(part).replace(" ", _FIXED) for part in parts))
        self._wrapped("target", self._target())

    def _target(self) -> str:
        processes, heaps = self._analysis.processes, len(self._analysis.heaps)
        events = f"{self._analysis.events:,} heap events"
        if not len(processes):
            return f"no process with heap blocks, {events}"
        heap_words = f"{heaps} {_s(heaps, 'heap', 'heaps')}, {events}"
        names = []
        for row in processes[:3]:
            ended = "" if row.end_ns is None else ", ended"
            names.append(f"{_clean(row.name or 'process')} (pid {row.pid}{ended})")
        more = len(processes) - 3
        return ", ".join(names) + (f" and {more} more" if more > 0 else "") + f", {heap_words}"

    def overview(self) -> None:
        """Now, at the peak, in all; and the course of it."""
        analysis = self._analysis
        size, count = self._size, units.count
        peak_title = f"peak @ {units.time(analysis.peak.time_ns)}"
        rows = [
            ("", "live at end", peak_title, "total over the run", ""),
            ("bytes", size(analysis.live.bytes), size(analysis.peak.bytes),
             size(analysis.totals.allocated_bytes), ""),
            ("blocks", count(analysis.live.blocks), count(analysis.peak.blocks),
             count(analysis.totals.allocations), self._pace()),
        ]  # fmt: skip
        self._gap()
        column = 20 if self._width >= 90 else 18
        for number, (name, *cells) in enumerate(rows):
            line = Text(f"{name:<8}")
            for cell in cells[:3]:
                line.append(f"{cell:>{column}}", "bold" if number == 0 else "")
            if cells[3]:
                line.append(f"  {cells[3]}", "dim")
            self._add(line)
        temporary = analysis.temporary
        self._add(
            Text(
                f"{'temporary':<11}{count(temporary.blocks)} blocks "
                f"({units.share(temporary.blocks, analysis.totals.allocations)}), "
                f"{size(temporary.bytes)}: lived less than {units.time(temporary.rule_ns)}"
            )
        )
        self._add(self._sparkline())

    def _pace(self) -> str:
        if self._seconds <= 0:
            return ""
        return f"{units.short_count(self._analysis.totals.allocations / self._seconds)} alloc/s"

    def _sparkline(self) -> Text:
        end = f"  0 \u2026 {units.time(self._analysis.duration_ns)}"
        room = self._width - 11 - len(end)
        points = list(self._analysis.timeline["live_bytes"])
        columns = min(room, len(points))
        values = [
            max(points[i * len(points) // columns : (i + 1) * len(points) // columns] or [0])
            for i in range(columns)
        ]
        highest = max(values, default=0)
        bars = "".join(
            _BARS[min(len(_BARS) - 1, value * len(_BARS) // highest)] if highest else _BARS[0]
            for value in values
        )
        line = Text(f"{'live':<11}")
        line.append(bars, "cyan")
        line.append(end, "dim")
        return line

    def live_title(self) -> str:
        quality = self._analysis.quality
        rows = [row for row in self._analysis.processes if row.live_blocks]
        if quality["truncated"]:
            return "LIVE AT CUT"
        if not quality["complete"]:
            return "LIVE AT END, UNRELIABLE"
        if rows and all(row.end_ns is not None for row in rows):
            return "LEAKED: LIVE WHEN THE PROCESS ENDED"
        return "LIVE AT END"

    def live(self, full: bool = False) -> None:
        """The stacks that hold most at the end."""
        analysis = self._analysis
        live_stacks = sum(1 for blocks in analysis.stacks["live_blocks"] if blocks)
        rows = self._top(self._sort, of="live")
        note = f"{live_stacks:,} {_s(live_stacks, 'stack', 'stacks')}"
        if len(rows) < live_stacks:
            note += f", top {len(rows)}; --all for all"
        if not analysis.quality["complete"]:
            note += "; frees may be missing"
        self._title(self.live_title(), note)
        if not rows:
            self._add(Text("  nothing", "dim"))
            return
        head = f"{'bytes':>10} {'blocks':>11} {'avg age':>9} {'first seen':>10} {'growth':>12}  "
        self._add(Text(head + "where", "dim"))
        for number in rows:
            row = analysis.stacks[number]
            age = "-" if row.age_ns is None else units.time(row.age_ns)
            growth = "-" if row.growth is None else units.rate(
                row.growth, row.live_bytes, self._seconds, self._units
            )  # fmt: skip
            first = "-" if row.first_ns is None else units.time(row.first_ns)
            line = Text(
                f"{self._size(row.live_bytes):>10} {units.count(row.live_blocks):>11} {age:>9} "
                f"{first:>10} {growth:>12}  "
            )
            self._where(line, analysis.frames(row), full)

    def at_peak(self, full: bool = False) -> None:
        """The stacks that held most at the peak."""
        whole = self._analysis.peak.bytes
        self._title("AT PEAK", f"{self._size(whole)} @ {units.time(self._analysis.peak.time_ns)}")
        for line, frames in self._peak_rows():
            self._where(line, frames, full)
        if not whole:
            self._add(Text("  nothing", "dim"))

    def temporary(self, full: bool = False) -> None:
        """The stacks with most blocks that lived shortly."""
        rule = units.time(self._analysis.temporary.rule_ns)
        self._title("TEMPORARY", f"lived less than {rule}")
        for line, frames in self._temporary_rows():
            self._where(line, frames, full)
        if not self._analysis.temporary.blocks:
            self._add(Text("  nothing", "dim"))

    def _peak_rows(self) -> list[tuple[Text, tuple[Frame, ...]]]:
        analysis, whole = self._analysis, self._analysis.peak.bytes
        rows = [analysis.stacks[number] for number in self._top("peak")]
        return [
            (
                Text(
                    f"{self._size(row.at_peak_bytes):>10} "
                    f"{units.share(row.at_peak_bytes, whole):>8}  "
                ),
                analysis.frames(row),
            )
            for row in rows
        ]

    def _temporary_rows(self) -> list[tuple[Text, tuple[Frame, ...]]]:
        analysis, whole = self._analysis, self._analysis.temporary.blocks
        rows = [analysis.stacks[number] for number in self._top("temporary")]
        return [
            (
                Text(
                    f"{units.count(row.temporary_blocks):>11} "
                    f"{units.share(row.temporary_blocks, whole):>8} "
                    f"{'avg ' + self._size(row.temporary_bytes / row.temporary_blocks):>12}  "
                ),
                analysis.frames(row),
            )
            for row in rows
        ]

    def at_peak_and_temporary(self) -> None:
        """Side by side where there is room."""
        if self._width < 140:
            self.at_peak()
            self.temporary()
            return
        self._beside(self.at_peak, self.temporary)

    def classes(self) -> None:
        """Sizes and lifetimes."""
        if self._width < 100:
            self._sizes()
            self._lifetimes()
            return
        self._beside(self._sizes, self._lifetimes)

    def _sizes(self) -> None:
        rows = [row for row in self._analysis.sizes if row.blocks]
        blocks = sum(row.blocks for row in rows)
        bytes_ = sum(row.bytes for row in rows)
        names = [_range(row.min, row.max, self._units) for row in rows]
        self._title("SIZE", "")
        self._bars([(name, row.blocks, row.bytes) for name, row in zip(names, rows, strict=True)],
                   blocks, bytes_)  # fmt: skip

    def _lifetimes(self) -> None:
        rows = []
        for row in self._analysis.lifetimes:
            if row.max_ns is None:
                name = f"{_round_time(row.min_ns)} and more"
            elif row.min_ns == 0:
                name = f"below {_round_time(row.max_ns)}"
            else:
                name = f"{_round_time(row.min_ns)} to {_round_time(row.max_ns)}"
            rows.append((name, row.blocks, row.bytes))
        live = self._analysis.live
        rows = [row for row in rows if row[1]]
        if live.blocks:
            rows.append(("live at end", *live))
        self._title("LIFETIME", "")
        self._bars(rows, sum(row[1] for row in rows), sum(row[2] for row in rows))

    def _bars(self, rows: Sequence[tuple[str, int, int]], blocks: int, bytes_: int) -> None:
        if not rows:
            self._add(Text("  nothing", "dim"))
            return
        self._add(Text(f"{'':<16} {'':<10} {'blocks':>8} {'bytes':>8}", "dim"))
        for name, of_blocks, of_bytes in rows:
            line = Text(f"{name:<16} ")
            line.append(f"{_bar(of_blocks, blocks, 10):<10}", "cyan")
            line.append(f" {units.share(of_blocks, blocks):>8} {units.share(of_bytes, bytes_):>8}")
            self._add(line)

    def places(self) -> None:
        """Heaps and modules."""
        if self._width < 100:
            self._heaps()
            self._modules()
            return
        self._beside(self._heaps, self._modules)

    def _heaps(self) -> None:
        rows = sorted(self._analysis.heaps, key=lambda row: (-row.live_bytes, -row.at_peak_bytes))
        shown = rows[: self._number or len(rows)]
        several = len(self._analysis.processes) > 1
        self._title("HEAPS", _more(len(rows), len(shown)))
        self._place_rows(
            [(f"0x{row.heap:x}" + (f" ({row.pid})" if several else ""), row) for row in shown]
        )

    def _modules(self) -> None:
        rows = list(self._analysis.own_modules(self._cull))
        rows.sort(key=lambda row: (-row.live_bytes, -row.at_peak_bytes))
        shown = rows[: self._number or len(rows)]
        self._title("MODULES", _more(len(rows), len(shown)))
        self._place_rows([(_clean(row.name or "(no module)"), row) for row in shown])

    def _place_rows(self, rows: Sequence[tuple[str, Any]]) -> None:
        if not rows:
            self._add(Text("  nothing", "dim"))
            return
        self._add(Text(f"{'':<22} {'live':>11} {'at peak':>11}", "dim"))
        for name, row in rows:
            self._add(
                Text(
                    f"{set_cell_size(_fit(name, 22), 22)} {self._size(row.live_bytes):>11} "
                    f"{self._size(row.at_peak_bytes):>11}"
                )
            )

    def timeline(self) -> None:
        """Every point of it, as a table."""
        self._title("TIMELINE", "most bytes live at once in each span")
        points = list(self._analysis.timeline)
        highest = max((point.live_bytes for point in points), default=0)
        self._add(Text(f"{'time':>12} {'bytes':>12} {'blocks':>13}", "dim"))
        for point in points:
            line = Text(
                f"{point.time_ns / 1e9:>10.3f} s {self._size(point.live_bytes):>12} "
                f"{units.count(point.live_blocks):>13}  "
            )
            line.append(_bar(point.live_bytes, highest, self._width - 41), "cyan")
            self._add(line)

    # -- means ------------------------------------------------------------------------------------

    def _size(self, count: float) -> str:
        return units.size(count, self._units)

    def _top(self, sort: str, of: str = "") -> list[int]:
        rows = top(self._analysis.stacks, sort, None if of else self._number)
        if of:
            live = self._analysis.stacks["live_blocks"]
            rows = [row for row in rows if live[row]]
            if sort == "live":  # blocks of no bytes come last
                rows += [row for row in range(len(live)) if live[row] and row not in set(rows)]
            rows = rows[: self._number] if self._number is not None else rows
        return rows

    def _add(self, line: Text) -> None:
        line.rstrip()
        if line.cell_len > self._width:
            line.truncate(self._width, overflow="ellipsis")
        self.lines.append(line)

    def _gap(self) -> None:
        if self.lines:
            self.lines.append(Text())

    def _title(self, name: str, note: str) -> None:
        self._gap()
        line = Text(name, "bold")
        if note:
            line.append(f"  ({note})", "not bold dim")
        self._add(line)

    def _wrapped(self, name: str, text: str, style: str = "") -> None:
        room = self._width - 9
        pieces = _wrap(text, room)
        for number, piece in enumerate(pieces):
            line = Text(f"{name if number == 0 else '':<9}")
            first, colon, rest = piece.partition(":")
            if number == 0 and style and colon:
                line.append(first, style)
                line.append(colon + rest)
            else:
                line.append(piece)
            self._add(line)

    def _where(self, line: Text, frames: Sequence[Frame], full: bool) -> None:
        """Adds the line with its stack: as much as fits, or frame by frame below it."""
        room = self._width - line.cell_len
        names = [_clean(str(frame)) for frame in self.culled(frames)]
        if not frames:
            line.append("(no stack)", "dim")
            self._add(line)
            return
        if full:
            line.append(_fit(names[0], room))
            self._add(line)
            for frame in frames:
                self._add(Text("      " + _fit(_clean(str(frame)), self._width - 6), "dim"))
            return
        text = _fit(names[0], room)
        for name in names[1:]:
            if cell_len(text) + cell_len(_ARROW) + cell_len(name) > room:
                break
            text += _ARROW + name
        line.append(text)
        self._add(line)

    def culled(self, frames: Sequence[Frame]) -> Sequence[Frame]:
        """Without the innermost frames that say nothing; all of them when none would be left."""
        for number, frame in enumerate(frames):
            if not any(test(frame) for test in self._cull):
                return frames[number:]
        return frames

    def _beside(self, left: Callable[[], None], right: Callable[[], None]) -> None:
        """Two parts next to each other, each in half the width."""
        before, width = self.lines, self._width
        self._width = (width - 3) // 2
        columns = []
        for part in (left, right):
            self.lines = []
            part()
            columns.append(self.lines)
        half, self._width, self.lines = self._width, width, before
        self._gap()
        for number in range(max(map(len, columns))):
            line = columns[0][number].copy() if number < len(columns[0]) else Text()
            if number < len(columns[1]):
                line.append(" " * (half + 3 - line.cell_len))
                line.append_text(columns[1][number])
            self._add(line)


def _s(count: int, one: str, many: str) -> str:
    return one if count == 1 else many


def _why(messages: Sequence[str]) -> str:
    return " ".join(messages) or "see toolhelp info"


def _percent(part: float) -> str:
    """Never rounded up to all of it."""
    percent = 100 * part
    return "100 %" if percent == 100 else f"{min(percent, 99.9):.1f} %"


def _clean(text: str) -> str:
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _fit(text: str, room: int) -> str:
    """As much as there is room for on a terminal, where some characters take two places."""
    return text if cell_len(text) <= room else set_cell_size(text, max(1, room - 1)) + "\u2026"


def _wrap(text: str, room: int) -> list[str]:
    lines, line = [], ""
    for word in text.split(" "):
        if line and cell_len(line) + 1 + cell_len(word) > room:
            lines.append(line.rstrip())
            line = ""
        line = f"{line} {word}" if line else word
    lines.append(line)
    return [line.replace(_FIXED, " ") for line in lines if line] or [""]


def _bar(part: float, whole: float, room: int) -> str:
    if not whole or not part:
        return ""
    eighths = max(1, round(8 * room * part / whole))
    full, rest = divmod(eighths, 8)
    part_of_one = " \u258f\u258e\u258d\u258c\u258b\u258a\u2589"[rest].strip()
    return "\u2588" * full + part_of_one


def _more(count: int, shown: int) -> str:
    return f"{count}, top {shown}" if shown < count else ""


def _range(low: int, high: int, unit: Units) -> str:
    if high >= 2**59:
        return f"over {_round_size(low - 1)}"
    if high <= 512:
        return f"{low}\u2013{high} B"
    return f"up to {_round_size(high)}"


def _round_size(size: int) -> str:
    """Bounds of size classes are powers of two whatever the units."""
    for name in ("B", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if size < 1024:
            return f"{size} {name}"
        size //= 1024
    return f"{size} EiB"


def _round_time(ns: int) -> str:
    for unit, name in ((1_000_000_000, "s"), (1_000_000, "ms"), (1000, "us")):
        if ns >= unit:
            return f"{ns // unit} {name}"
    return f"{ns} ns"
