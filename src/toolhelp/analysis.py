"""The heap ledger over a trace: who leaks, what peaks, what churns."""

from __future__ import annotations

import functools
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _core
from ._core import Table
from .batches import Batches
from .names import (
    NO_CLASS,
    Frame,
    ModulePattern,
    Names,
    Pattern,
    Symbolizer,
    Test,
    default_cull,
)

if TYPE_CHECKING:
    from .live_view import LiveView
    from .trace import Progress, Trace

__all__ = ["Amount", "Analysis", "Peak", "Temporary", "Totals", "analyze", "blocks"]

_FIRST, _LAST = -(2**63), 2**63 - 1
_FOREVER = 2**64 - 1


class Amount(NamedTuple):
    """A number of blocks and their bytes."""

    blocks: int
    bytes: int


class Peak(NamedTuple):
    """The first moment at which most bytes were live: their bytes, the blocks then, and when, in
    nanoseconds since the trace's start."""

    blocks: int
    bytes: int
    time_ns: int


class Temporary(NamedTuple):
    """Blocks that ended by Free, a moving ReAlloc or Destroy in less than `rule_ns`."""

    blocks: int
    bytes: int
    rule_ns: int


class Totals(NamedTuple):
    """What happened in all. Blocks and bytes balance: allocations + adopted - frees - destroyed -
    overwritten = live."""

    allocations: int
    allocated_bytes: int
    frees: int
    freed_bytes: int
    reallocations: int
    adopted_blocks: int
    adopted_bytes: int
    overwritten_blocks: int
    overwritten_bytes: int
    destroyed_blocks: int
    destroyed_bytes: int
    heaps_created: int
    heaps_destroyed: int


_NUMBERS = (
    "unmatched_frees",
    "realloc_repairs",
    "pre_trace",
    "size_mismatches",
    "handle_mismatches",
    "heaps_reused",
)


class Analysis:
    """The figures of a trace, or of the blocks that a filter chose; made by `Trace.analyze`.

    Every table of groups has the same figures per row: live (at the end of the process or of the
    trace), at_peak, allocated and temporary, each in blocks and bytes; growth in bytes per second
    since half time; first_ns and last_ns, the earliest and the latest birth; age_ns, the mean age
    of the live blocks.
    """

    def __init__(
        self,
        raw: Any,
        trace: Trace | LiveView,
        duration_ns: int,
        rule_ns: int,
        symbols: Symbolizer | None,
    ) -> None:
        self._raw: _core.HeapAnalysis = raw
        self._trace = trace
        self._facts: dict[str, Any] = raw.facts()
        self._symbols = symbols
        self._rule_ns = rule_ns
        self.duration_ns = duration_ns
        """Length of the trace in nanoseconds: as recorded, or up to the last event."""

    def __reduce__(self) -> Any:
        raise TypeError("an Analysis cannot be pickled: pickle its tables, such as .stacks")

    def __repr__(self) -> str:
        return (
            f"<toolhelp.Analysis, {self.totals.allocations:,} allocations, "
            f"{self.live.bytes:,} bytes live>"
        )

    @property
    def events(self) -> int:
        """Heap events of the trace."""
        return int(self._facts["events"])

    @functools.cached_property
    def totals(self) -> Totals:
        """What happened in all."""
        facts = self._facts
        pairs = ("allocations", "frees", "adopted", "overwritten", "destroyed")
        blocks = {name: facts[name][0] for name in pairs}
        bytes_ = {name: facts[name][1] for name in pairs}
        return Totals(
            allocations=blocks["allocations"],
            allocated_bytes=bytes_["allocations"],
            frees=blocks["frees"],
            freed_bytes=bytes_["frees"],
            reallocations=facts["reallocations"],
            adopted_blocks=blocks["adopted"],
            adopted_bytes=bytes_["adopted"],
            overwritten_blocks=blocks["overwritten"],
            overwritten_bytes=bytes_["overwritten"],
            destroyed_blocks=blocks["destroyed"],
            destroyed_bytes=bytes_["destroyed"],
            heaps_created=facts["heaps_created"],
            heaps_destroyed=facts["heaps_destroyed"],
        )

    @functools.cached_property
    def live(self) -> Amount:
        """Blocks not ended by an event, each process taken at its own end or at the trace's."""
        return Amount(*self._facts["live"])

    @functools.cached_property
    def peak(self) -> Peak:
        """The largest sum of live bytes over all processes that ran, exact."""
        blocks, bytes_ = self._facts["peak"]
        return Peak(blocks, bytes_, self._facts["peak_ns"])

    @functools.cached_property
    def temporary(self) -> Temporary:
        """Blocks that ended sooner than the rule."""
        blocks, bytes_ = self._facts["temporary"]
        return Temporary(blocks, bytes_, self._rule_ns)

    @functools.cached_property
    def quality(self) -> dict[str, Any]:
        """`Trace.quality` and what the ledger met: `unmatched_frees`, `realloc_repairs`,
        `pre_trace`, `size_mismatches`, `handle_mismatches`, `heaps_reused`."""
        found = dict(self._trace.quality)
        messages = list(found["messages"])
        found.update({name: self._facts[name] for name in _NUMBERS})
        messages += _messages(self._facts)
        found["messages"] = messages
        return found

    @functools.cached_property
    def names(self) -> Names:
        """The frames of all stacks by number."""
        return Names(self._raw.frames(), self._trace.modules, self._symbols)

    @functools.cached_property
    def stacks(self) -> Table[Any]:
        """By call stack, in the order of first use: Table of StackFigures(stack_id, site, ...).

        `frames` names a row's frames. stack_id None: blocks whose allocation has no stack. The
        rows add up to the totals.
        """
        return self._raw.stacks()

    def frames(self, stack: Any) -> tuple[Frame, ...]:
        """The frames of a row of `stacks`, innermost first."""
        names = self.names
        return tuple(names[number] for number in self._raw.site_frames(stack.site))

    @functools.cached_property
    def functions(self) -> Table[Any]:
        """By function, inclusive: every stack in which it occurs, once however often it does.

        Table of FunctionFigures(name, ...). Without symbols every return address counts as a
        function of its own.
        """
        classes, names = self.names.function_classes()
        return self._raw.classes(0, classes, names, False)

    @functools.cached_property
    def modules(self) -> Table[Any]:
        """By module, inclusive: Table of ModuleFigures(name, ...); name None: outside of all."""
        classes, names = self.names.module_classes()
        return self._raw.classes(1, classes, names, False)

    def own_modules(self, cull: Iterable[Test] | None = None) -> Table[Any]:
        """By the module that asked for the memory: that of the innermost frame which no test of
        `cull` accepts (None: those of the allocator itself)."""
        classes, names = self.names.module_classes()
        culled = self.names.where(default_cull() if cull is None else cull)
        for number, out in enumerate(culled):
            if out:
                classes[number] = NO_CLASS
        return self._raw.classes(1, classes, names, True)

    @functools.cached_property
    def heaps(self) -> Table[Any]:
        """By heap: Table of HeapFigures(pid, heap, ...)."""
        return self._raw.heaps()

    @functools.cached_property
    def threads(self) -> Table[Any]:
        """By allocating thread: Table of ThreadFigures(pid, tid, ...)."""
        return self._raw.threads()

    @functools.cached_property
    def processes(self) -> Table[Any]:
        """By life of a process: Table of ProcessFigures(pid, name, end_ns, peak_blocks, ...)."""
        names = _process_names(self._raw.lives(), self._trace.processes)
        return self._raw.processes(names)

    @functools.cached_property
    def sizes(self) -> Table[Any]:
        """Table of SizeClass(min, max, blocks, bytes, live_blocks, live_bytes), up to the largest
        that occurs: every block, the adopted ones included, by its last size."""
        return self._raw.sizes()

    @functools.cached_property
    def lifetimes(self) -> Table[Any]:
        """Table of LifetimeClass(min_ns, max_ns, blocks, bytes): blocks that an event ended."""
        return self._raw.lifetimes()

    @functools.cached_property
    def timeline(self) -> Table[Any]:
        """Table of TimelinePoint(time_ns, live_bytes, live_blocks): for each of the equal spans of
        the trace its start, the most bytes live at once in it, and the blocks then."""
        return self._raw.timeline()


def _messages(facts: dict[str, Any]) -> list[str]:
    said = []
    sentences = {
        "unmatched_frees": "{n} of blocks allocated before the trace.",
        "realloc_repairs": "{n} of reallocations had to be made up.",
        "size_mismatches": "{n} another size than the block had.",
        "handle_mismatches": "{n} another heap than the block's.",
        "heaps_reused": "{n} created again without having been destroyed.",
    }
    units = {
        "unmatched_frees": ("free", "frees"),
        "realloc_repairs": ("half", "halves"),
        "size_mismatches": ("reallocation names", "reallocations name"),
        "handle_mismatches": ("free names", "frees name"),
        "heaps_reused": ("heap was", "heaps were"),
    }
    for key, sentence in sentences.items():
        count = facts[key]
        if count:
            said.append(sentence.format(n=f"{count:,} {units[key][count != 1]}"))
    adopted = facts["adopted"][0]
    if adopted:
        noun = "block" if adopted == 1 else "blocks"
        said.append(f"{adopted:,} {noun} older than the trace, first seen in a reallocation.")
    return said


def _process_names(lives: Sequence[tuple[int, int]], processes: Table[Any]) -> list[str | None]:
    """The name of each life: that of the process which had the pid then, or of the nearest."""
    by_pid: dict[int, list[Any]] = {}
    for row in processes:
        by_pid.setdefault(row.pid, []).append(row)

    def name(pid: int, time_ns: int) -> str | None:
        def distance(row: Any) -> int:
            start = _FIRST if row.start_ns is None else row.start_ns
            end = _LAST if row.end_ns is None else row.end_ns
            return max(start - time_ns, time_ns - end, 0)

        rows = by_pid.get(pid)
        found: str | None = min(rows, key=distance).name if rows else None
        return found

    return [name(pid, time_ns) for pid, time_ns in lives]


class Filter(NamedTuple):
    """Which blocks count."""

    pids: tuple[int, ...]
    threads: tuple[int, ...]
    heaps: tuple[int, ...]
    since_ns: int
    until_ns: int
    min_size: int
    min_lifetime: int
    max_lifetime: int
    frames: tuple[tuple[Test, ...], ...]
    """A block's stack needs a frame for each group of tests."""

    def raw(self, blocks: bytes | None = None, sites: bytes | None = None) -> Any:
        """What the extension takes."""
        return (
            array("I", self.pids),
            array("I", self.threads),
            array("Q", self.heaps),
            self.since_ns,
            self.until_ns,
            self.min_size,
            self.min_lifetime,
            self.max_lifetime,
            blocks,
            sites,
        )

    def needs_end(self) -> bool:
        return bool(self.min_size or self.min_lifetime) or self.max_lifetime != _FOREVER


def _several(value: Any, name: str, kind: type) -> tuple[Any, ...]:
    if value is None:
        return ()
    values = (value,) if isinstance(value, kind) else tuple(value)
    for one in values:
        if not isinstance(one, kind):
            raise TypeError(f"{name} must be {kind.__name__}, or several of them, not {one!r}")
    return values


def _ids(value: Any, name: str, limit: int) -> tuple[int, ...]:
    values = _several(value, name, int)
    for one in values:
        if not 0 <= one < limit:
            raise ValueError(f"{name} must be from 0 to {limit - 1}, not {one}")
    return values


def make_filter(
    pids: int | Iterable[int] | None = None,
    threads: int | Iterable[int] | None = None,
    heaps: int | Iterable[int] | None = None,
    modules: str | Iterable[str] | None = None,
    under: str | Iterable[str] | None = None,
    since_ns: int | None = None,
    until_ns: int | None = None,
    min_size: int = 0,
    lifetime_ns: tuple[int | None, int | None] | None = None,
) -> Filter | None:
    """The filter of these words; None when they accept every block."""
    low, high = lifetime_ns or (None, None)
    groups: list[tuple[Test, ...]] = []
    wanted = _several(modules, "modules", str)
    if wanted:
        groups.append(tuple(map(ModulePattern, wanted)))
    beneath = _several(under, "under", str)
    if beneath:
        groups.append(tuple(map(Pattern, beneath)))
    made = Filter(
        _ids(pids, "pids", 2**32),
        _ids(threads, "threads", 2**32),
        _ids(heaps, "heaps", 2**64),
        _FIRST if since_ns is None else since_ns,
        _LAST if until_ns is None else until_ns,
        min_size,
        low or 0,
        _FOREVER if high is None else high,
        tuple(groups),
    )
    if min(made.min_size, made.min_lifetime, made.max_lifetime) < 0:
        raise ValueError("sizes and lifetimes cannot be negative")
    if made.min_lifetime > made.max_lifetime or made.since_ns > made.until_ns:
        raise ValueError("a range must begin before it ends")
    return None if made == _EVERYTHING else made


_EVERYTHING = Filter((), (), (), _FIRST, _LAST, 0, 0, _FOREVER, ())


def _length(facts: dict[str, Any], declared_ns: int) -> int:
    """How long the trace is: as its header says, when nothing is cut off and nothing is later."""
    last: int = max(0, facts["last_ns"])
    if declared_ns < last or facts["truncated"]:
        return last
    return declared_ns


class _Passes:
    """Passes over one trace, and its length."""

    def __init__(self, trace: Trace, progress: Progress | None) -> None:
        self._trace = trace
        self._progress = progress
        self.declared_ns = -1

    def begin(self) -> Any:
        run = self._trace._begin()
        self.declared_ns = run.declared_ns()
        return run

    def told(self) -> Any:
        progress, size = self._progress, self._trace._source().size
        return None if progress is None else lambda done: progress(done, size)

    def over(self, run: Any) -> None:
        self._trace._keep(run)

    def known(self) -> int | None:
        """The length, if the trace was read before."""
        facts = self._trace._facts
        return None if facts is None else _length(facts, self.declared_ns)

    def length(self) -> int:
        """The length, if the trace was read before; else what it most probably is."""
        run = self.begin()
        length = self.known()
        if length is None:
            guess = {"last_ns": run.last_ns(), "truncated": run.truncated()}
            length = _length(guess, self.declared_ns)
        self._trace._give_back(run)
        return length

    def analysis(self, rule_ns: int, buckets: int, raw_filter: Any) -> tuple[Any, int]:
        """The ledger at the end of a pass, over the right length: of a second pass when the
        first found the guess wrong."""
        while True:
            guess = self.length()
            run = self.begin()
            raw = _core.trace_analysis(run, rule_ns, buckets, guess, raw_filter, self.told())
            self.over(run)
            length = self.known()
            assert length is not None
            if length == guess:
                return raw, length

    def decide(self, raw_filter: Any) -> bytes:
        guess = self.length()
        run = self.begin()
        bits: bytes = _core.trace_decide(run, guess, raw_filter, self.told())
        self.over(run)
        length = self.known()
        return bits if length == guess else self.decide(raw_filter)


def _site_bits(raw: Any, names: Names, groups: Sequence[Sequence[Test]]) -> bytes:
    """A bit for every site whose frames satisfy each group."""
    result: int | None = None
    size = 0
    for group in groups:
        accepted = names.where(group)
        classes = array("I", (0 if yes else NO_CLASS for yes in accepted))
        bits = raw.site_bits(classes)
        size = len(bits)
        number = int.from_bytes(bits, "little")
        result = number if result is None else result & number
    return (result or 0).to_bytes(size, "little")


def _resolve(
    trace: Trace, passes: _Passes, chosen: Filter, symbols: Symbolizer | None, ends: bool
) -> Any:
    """The filter as the extension takes it, after the passes that it needs first."""
    sites = None
    if chosen.frames:
        raw, _ = passes.analysis(0, 1, None)
        names = Names(raw.frames(), trace.modules, symbols)
        sites = _site_bits(raw, names, chosen.frames)
    bits = None
    if ends and chosen.needs_end():
        bits = passes.decide(chosen.raw(None, sites))
    return chosen.raw(bits, sites)


def analyze(
    trace: Trace,
    *,
    rule_ns: int = 1_000_000,
    buckets: int = 200,
    symbols: Symbolizer | None = None,
    progress: Progress | None = None,
    **words: Any,
) -> Analysis:
    """What `Trace.analyze` does; see there."""
    if not 0 <= rule_ns < 2**64:
        raise ValueError("rule_ns must be from 0 to 2**64 - 1")
    if not 1 <= buckets <= 1_000_000:
        raise ValueError("buckets must be from 1 to 1,000,000")
    chosen = make_filter(**words)
    passes = _Passes(trace, progress)
    raw_filter = None
    if chosen is not None:
        raw_filter = _resolve(trace, passes, chosen, symbols, ends=True)
    raw, length = passes.analysis(rule_ns, buckets, raw_filter)
    return Analysis(raw, trace, length, rule_ns, symbols)


def blocks(
    trace: Trace, *, symbols: Symbolizer | None = None, **words: Any
) -> Iterator[Table[Any]]:
    """What `Trace.blocks` does; see there."""
    chosen = make_filter(**words)
    passes = _Passes(trace, None)
    raw_filter = None
    if chosen is not None:
        raw_filter = _resolve(trace, passes, chosen, symbols, ends=False)
    length = passes.length() if chosen is not None and chosen.needs_end() else -1
    run = passes.begin()
    return Batches(_finishing(_core.trace_blocks(run, length, raw_filter), passes, run))


def _finishing(batches: Iterator[Table[Any]], passes: _Passes, run: Any) -> Iterator[Table[Any]]:
    yield from batches
    passes.over(run)
