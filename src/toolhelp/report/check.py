"""Rules that a trace must keep, for builds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from ..names import Frame, Pattern
from . import units
from .compare import keyed
from .document import Document

if TYPE_CHECKING:
    from ..analysis import Analysis


@dataclass(frozen=True)
class Limits:
    """The most that is allowed; None: not a rule."""

    max_live: int | None = None
    max_blocks: int | None = None
    max_peak: int | None = None
    max_temp_rate: float | None = None
    per_stack: int | None = None
    baseline: Document | None = None
    tolerance: float = 0.0

    def any(self) -> bool:
        return self != Limits(tolerance=self.tolerance)


@dataclass
class Offender:
    """A stack that has to do with a broken rule."""

    text: str
    frames: tuple[Frame, ...]


@dataclass
class Verdict:
    """One rule and how it went."""

    rule: str
    sentence: str
    broken: bool
    offenders: list[Offender] = field(default_factory=list)


def parse_suppressions(text: str, name: str) -> list[Pattern]:
    """Lines `leak:pattern`; empty lines and `#` lines are passed over. ValueError for others."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        kind, colon, pattern = line.partition(":")
        if kind.strip() != "leak" or not colon or not pattern.strip():
            raise ValueError(f"{name}, line {number}: {line!r} is not `leak:pattern`")
        found.append(Pattern(pattern.strip()))
    return found


@dataclass
class _Live:
    row: Any
    frames: tuple[Frame, ...]


class Checker:
    """Holds an analysis against limits."""

    def __init__(
        self,
        analysis: Analysis,
        limits: Limits,
        suppressions: Sequence[Pattern] = (),
        number: int = 5,
    ) -> None:
        self._analysis = analysis
        self._limits = limits
        self._number = number
        self._stacks: list[_Live] = []
        self.suppressed = 0
        for row in analysis.stacks:
            if not row.live_blocks:
                continue
            frames = analysis.frames(row)
            if any(test(frame) for test in suppressions for frame in frames):
                self.suppressed += row.live_blocks
            else:
                self._stacks.append(_Live(row, frames))
        self._stacks.sort(key=lambda stack: (-stack.row.live_bytes, -stack.row.live_blocks))
        self._live_bytes = sum(stack.row.live_bytes for stack in self._stacks)
        self._live_blocks = sum(stack.row.live_blocks for stack in self._stacks)

    def verdicts(self) -> list[Verdict]:
        """One per rule, in a fixed order."""
        limits, peak = self._limits, self._analysis.peak
        found = []
        if limits.max_live is not None:
            found.append(
                self._sizes("max-live", "live at end", self._live_bytes, limits.max_live,
                            self._leaky())
            )  # fmt: skip
        if limits.max_blocks is not None:
            broken = self._live_blocks > limits.max_blocks
            sentence = f"live at end: {self._live_blocks:,} blocks, allowed {limits.max_blocks:,}"
            found.append(Verdict("max-blocks", sentence, broken, self._leaky() if broken else []))
        if limits.max_peak is not None:
            found.append(
                self._sizes("max-peak", f"peak at {units.time(peak.time_ns)}", peak.bytes,
                            limits.max_peak, self._of_peak())
            )  # fmt: skip
        if limits.max_temp_rate is not None:
            found.append(self._temporary(limits.max_temp_rate))
        if limits.per_stack is not None:
            found.append(self._per_stack(limits.per_stack))
        if limits.baseline is not None:
            found += self._baseline(limits.baseline, limits.tolerance)
        return found

    def _sizes(
        self, rule: str, what: str, value: int, allowed: int, offenders: list[Offender]
    ) -> Verdict:
        broken = value > allowed
        sentence = f"{what}: {_size(value)}, allowed {_size(allowed)}"
        return Verdict(rule, sentence, broken, offenders if broken else [])

    def _leaky(self) -> list[Offender]:
        return [
            Offender(f"{_size(s.row.live_bytes)} in {s.row.live_blocks:,} blocks", s.frames)
            for s in self._stacks[: self._number]
        ]

    def _top(self, column: str) -> list[Any]:
        rows = sorted(self._analysis.stacks, key=lambda row: -getattr(row, column))
        return [row for row in rows[: self._number] if getattr(row, column)]

    def _of_peak(self) -> list[Offender]:
        return [
            Offender(f"{_size(row.at_peak_bytes)} at the peak", self._analysis.frames(row))
            for row in self._top("at_peak_bytes")
        ]

    def _temporary(self, allowed: float) -> Verdict:
        blocks = self._analysis.temporary.blocks
        whole = self._analysis.totals.allocations
        rate = blocks / whole if whole else 0.0
        broken = rate > allowed
        offenders = [
            Offender(f"{row.temporary_blocks:,} temporary blocks", self._analysis.frames(row))
            for row in (self._top("temporary_blocks") if broken else [])
        ]
        sentence = f"temporary: {100 * rate:.1f} % of allocations, allowed {100 * allowed:g} %"
        return Verdict("max-temp-rate", sentence, broken, offenders)

    def _per_stack(self, allowed: int) -> Verdict:
        over = [stack for stack in self._stacks if stack.row.live_bytes > allowed]
        offenders = [
            Offender(f"{_size(s.row.live_bytes)} in {s.row.live_blocks:,} blocks", s.frames)
            for s in over[: self._number]
        ]
        most = self._stacks[0].row.live_bytes if self._stacks else 0
        sentence = f"live at end per stack: {_size(most)} at most, allowed {_size(allowed)}"
        if over:
            sentence += f"; {len(over):,} over it"
        return Verdict("per-stack", sentence, bool(over), offenders)

    def _baseline(self, baseline: Document, tolerance: float) -> list[Verdict]:
        peak = self._analysis.peak.bytes
        before = {
            "live at end": baseline["live"]["bytes"],
            "blocks": baseline["live"]["blocks"],
            "peak": baseline["peak"]["bytes"],
        }
        verdicts = [
            self._growth("baseline-live", "live at end", self._live_bytes, before["live at end"],
                         tolerance, _size, self._grown(baseline)),
            self._growth("baseline-blocks", "blocks live at end", self._live_blocks,
                         before["blocks"], tolerance, lambda n: f"{n:,.0f}", self._grown(baseline)),
            self._growth("baseline-peak", "peak", peak, before["peak"], tolerance, _size,
                         self._of_peak()),
        ]  # fmt: skip
        return verdicts

    def _growth(
        self, rule: str, what: str, now: int, before: int, tolerance: float, text: Any,
        offenders: list[Offender],
    ) -> Verdict:  # fmt: skip
        broken = now > before * (1 + tolerance)
        sentence = f"{what}: {text(now)}, baseline {text(before)}, tolerance {100 * tolerance:g} %"
        return Verdict(rule, sentence, broken, offenders if broken else [])

    def _grown(self, baseline: Document) -> list[Offender]:
        """The stacks that hold more than in the baseline."""
        old = keyed(baseline)
        grown = []
        for stack in self._stacks:
            key = tuple(str(frame).casefold() for frame in stack.frames)
            before = old[key]["live"]["bytes"] if key in old else 0
            more = stack.row.live_bytes - before
            if more > 0:
                grown.append((more, stack))
        grown.sort(key=lambda pair: -pair[0])
        return [
            Offender(f"{_size(more)} more than in the baseline", stack.frames)
            for more, stack in grown[: self._number]
        ]


def _size(value: float) -> str:
    return units.size(value)


def nothing_checked(analysis: Analysis, pids: Sequence[int], filtered: bool) -> str | None:
    """Why no rule was put to the test: there is not one block. None: there are blocks."""
    if analysis.totals.allocations or analysis.totals.adopted_blocks:
        return None
    if not analysis.events:
        return "the trace holds no heap events"
    if pids and not {row.pid for row in analysis.processes} & set(pids):
        which = " or ".join(map(str, pids))
        return f"the trace holds no heap events of process {which}"
    return "no block passes the filters" if filtered else "the trace holds no allocations"


def junit(verdicts: Sequence[Verdict], suite: str, nothing: str | None = None) -> bytes:
    """The verdicts as JUnit XML; `nothing`: why none of them means anything."""
    failures = sum(verdict.broken for verdict in verdicts)
    root = ElementTree.Element(
        "testsuite",
        name="toolhelp check",
        tests=str(len(verdicts)),
        failures=str(failures),
        errors="0",
        skipped=str(len(verdicts) if nothing else 0),
    )
    for verdict in verdicts:
        case = ElementTree.SubElement(
            root, "testcase", classname=_xml(suite), name=verdict.rule, time="0"
        )
        if nothing:
            ElementTree.SubElement(case, "skipped", message=_xml(f"nothing checked: {nothing}"))
        if verdict.broken:
            failure = ElementTree.SubElement(
                case, "failure", message=_xml(verdict.sentence), type="limit"
            )
            failure.text = "\n".join(
                _xml(f"{one.text}\n" + "\n".join(f"    {frame}" for frame in one.frames))
                for one in verdict.offenders
            )
    ElementTree.indent(root)
    made: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return made + b"\n"


def _xml(text: str) -> str:
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def annotation(verdict: Verdict, file: str) -> str:
    """The line by which a GitHub workflow shows a broken rule."""
    text = verdict.sentence
    for one in verdict.offenders[:3]:
        text += f"\n{one.text}: " + " < ".join(str(frame) for frame in one.frames[:4])
    title = _property(f"toolhelp check: {verdict.rule}")
    return f"::error title={title}::{_message(f'{file}: {text}')}"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
