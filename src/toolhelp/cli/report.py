"""report, leaks, peak, temp, timeline: what the heap of a trace says."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

from ..errors import CorruptTrace
from . import exits, progress
from .filters import filter_options, words
from .output import opened, output_options, read_text
from .tables import plain
from .trace import open_files, trace_options

if TYPE_CHECKING:
    from ..analysis import Analysis
    from ..report.document import Document
    from ..report.page import Page
    from ..trace import Trace

_F = TypeVar("_F", bound=Callable[..., Any])

_WIDTH_WITHOUT_TERMINAL = 100
_REPORT_ROWS = 5
_CULL_WORDS = ("default", "none")
_SORTS = ("live", "blocks", "growth", "peak", "allocated", "allocations", "temporary")


def _view_options(function: _F) -> _F:
    """Options of every page."""
    options = (
        click.option("--top", "number", type=click.IntRange(1), metavar="N",
                     help="Rows of each list."),
        click.option("--all", "everything", is_flag=True, help="All rows."),
        click.option("--sort", type=click.Choice(_SORTS), default="live", show_default=True,
                     help="What the list of live blocks goes by."),
        click.option("--cull", metavar="default|none|FILE", default="default", show_default=True,
                     help="Innermost frames to leave out: those of the allocator, none, or those "
                     "that a line of FILE matches."),
        click.option("--units", "unit", type=click.Choice(["si", "iec", "raw"]), default="si",
                     show_default=True),
        click.option("--strict", is_flag=True,
                     help="Exit with 4 when the trace is not complete."),
        click.option("--json", "as_json", is_flag=True, help="JSON with schema_version."),
    )  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


def _reading_options(function: _F) -> _F:
    return trace_options(filter_options(output_options(function)))


def _opened(options: dict[str, Any], files: Sequence[str]) -> Trace:
    return open_files(files, options["threads"], options["max_expand"], options["members"])


@contextlib.contextmanager
def analyzed(
    files: Sequence[str], options: dict[str, Any], chosen: dict[str, Any]
) -> Iterator[tuple[Trace, Analysis]]:
    """The figures of a recording, and its trace while it is open."""
    with _opened(options, files) as trace:
        try:
            with progress.shown("reading") as report:
                analysis = trace.analyze(progress=report, **chosen)
        except ValueError as error:
            if isinstance(error, CorruptTrace):
                raise
            raise click.UsageError(str(error)) from None
        yield trace, analysis


def _cull(word: str) -> list[Any]:
    from ..names import Pattern, default_cull

    if word == "default":
        return default_cull()
    if word == "none":
        return []
    lines = (line.strip() for line in read_text(word).splitlines())
    return [Pattern(line) for line in lines if line and not line.startswith("#")]


def _width(stream: IO[Any]) -> int:
    if not stream.isatty() and "COLUMNS" not in os.environ:
        return _WIDTH_WITHOUT_TERMINAL
    return shutil.get_terminal_size((_WIDTH_WITHOUT_TERMINAL, 24)).columns


def _print(stream: IO[str], lines: Sequence[Any], width: int) -> None:
    from rich.console import Console

    console = Console(
        file=stream, width=width, highlight=False, markup=False, emoji=False, soft_wrap=True
    )
    for line in lines:
        console.print(line)


def _json(stream: IO[str], found: Document) -> None:
    stream.write(plain(json.dumps(found, ensure_ascii=False, indent=1)) + "\n")


def _code(strict: bool, complete: bool, otherwise: int = exits.OK) -> int:
    return exits.INCOMPLETE if strict and not complete else otherwise


def _number(options: dict[str, Any], otherwise: int) -> int | None:
    if options["everything"]:
        return None
    return int(options["number"] or otherwise)


def _page(trace: Trace, analysis: Analysis, options: dict[str, Any], width: int, rows: int) -> Page:
    from ..report.page import Page

    return Page(
        trace,
        analysis,
        width=width,
        unit=options["unit"],
        number=_number(options, rows),
        sort=options["sort"],
        cull=_cull(options["cull"]),
    )


def _show(
    files: Sequence[str],
    options: dict[str, Any],
    stream: IO[str],
    draw: Callable[[Page], object],
    rows: int,
) -> bool:
    """One report of one recording; says whether the trace is complete."""
    from ..report.document import document

    chosen = words(dict(options))
    with analyzed(files, options, chosen) as (trace, analysis):
        if options["as_json"]:
            _json(stream, document(trace, analysis, _number(options, 20)))
        else:
            width = _width(stream)
            page = _page(trace, analysis, options, width, rows)
            draw(page)
            _print(stream, page.lines, width)
        return bool(analysis.quality["complete"])


def _output(files: Sequence[str], options: dict[str, Any]) -> AbstractContextManager[IO[str]]:
    cull = None if options["cull"] in _CULL_WORDS else options["cull"]
    return opened(options["output"], options["force"], apart=(*files, cull))


def _one(
    files: Sequence[str], options: dict[str, Any], draw: Callable[[Page], object], rows: int
) -> int:
    with _output(files, options) as stream:
        complete = _show(files, options, stream, draw, rows)
    return _code(options["strict"], complete)


def _explain(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    from ..report.page import DEFINITIONS

    click.echo(DEFINITIONS, nl=False)
    ctx.exit()


@click.command()
@click.option("--each", is_flag=True, help="One report for each file.")
@click.option("--explain", is_flag=True, is_eager=True, expose_value=False, callback=_explain,
              help="Say what the words of the report mean, and exit.")  # fmt: skip
@_view_options
@_reading_options
def report(files: tuple[str, ...], each: bool, **options: Any) -> int:
    """Say who holds the heap at the end of the trace FILE, at its peak, and who churns it.

    Several files are read as one recording: a user and a kernel session that ran side by side, or
    the parts of one session.
    """
    if not each:
        return _one(files, options, _draw_report, _REPORT_ROWS)
    with _output(files, options) as stream:
        complete, failed = _each(files, options, stream)
    return exits.INPUT if failed else _code(options["strict"], complete)


def _each(files: Sequence[str], options: dict[str, Any], stream: IO[str]) -> tuple[bool, bool]:
    """Reports of what can be read, the reason for the rest; whether all is complete, or failed."""
    complete, failed = True, False
    between = '{"schema_version": 1, "reports": [\n' if options["as_json"] else ""
    for file in files:
        # By itself first: nothing of a report that fails half-way is written.
        one = _Draft(stream)
        try:
            complete &= _show([file], options, one, _draw_report, _REPORT_ROWS)
        except (CorruptTrace, exits.InputFailed, OSError) as error:
            if isinstance(error, BrokenPipeError):
                raise
            exits.say(exits.sentence(error))
            failed = True
            continue
        stream.write(between + one.getvalue())
        between = ",\n" if options["as_json"] else "\n"
    if options["as_json"]:
        stream.write("]}\n" if between[0] == "," else between + "]}\n")
    return complete, failed


class _Draft(io.StringIO):
    """A text that will go to a stream, made as wide and coloured as if it were there."""

    def __init__(self, stream: IO[str]) -> None:
        super().__init__()
        self._stream = stream

    def isatty(self) -> bool:
        return self._stream.isatty()


def _view(name: str, text: str, draw: Callable[[Page], object]) -> click.Command:
    @click.command(name, help=text)
    @_view_options
    @_reading_options
    def command(files: tuple[str, ...], **options: Any) -> int:
        return _one(files, options, draw, 20)

    return command


def _draw_report(page: Page) -> None:
    page.whole()


def _draw_leaks(page: Page) -> None:
    page.head()
    page.live(full=True)


def _draw_peak(page: Page) -> None:
    page.head()
    page.overview()
    page.at_peak(full=True)


def _draw_temp(page: Page) -> None:
    page.head()
    page.temporary(full=True)


def _draw_timeline(page: Page) -> None:
    page.head()
    page.timeline()


leaks = _view("leaks", "List the stacks whose blocks are live at the end of FILE.", _draw_leaks)
peak = _view("peak", "List the stacks that held most at the peak of FILE.", _draw_peak)
temp = _view("temp", "List the stacks with most short-lived blocks in FILE.", _draw_temp)
timeline = _view("timeline", "List the largest sum of live bytes over time of FILE.",
                 _draw_timeline)  # fmt: skip
