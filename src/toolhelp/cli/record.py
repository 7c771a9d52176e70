"""record, live, sessions: heap traces of programs on this machine."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import click

import toolhelp as th

from ..heaptrace import STACKS, HeapTrace
from ..image_switch import restore_stale
from . import exits
from .exits import OutputFailed
from .tables import table_options, write

_F = TypeVar("_F", bound=Callable[..., Any])

POLL_SECONDS = 0.25
LINE_SECONDS = 30.0


def target_options(function: _F) -> _F:
    """Whom to trace, and how."""
    for option in (
        click.option(
            "--pid",
            "pids",
            type=click.IntRange(1, 2**32 - 1),
            multiple=True,
            metavar="N",
            help="A process that runs. May be given more than once.",
        ),
        click.option(
            "--exe",
            metavar="NAME",
            help="Every process of this image (app.exe) that starts from now on; sets a registry "
            "value for as long as the recording runs.",
        ),
        click.option(
            "--stacks",
            default="alloc,realloc",
            show_default=True,
            metavar="LIST",
            help=f"Events with a call stack: of {', '.join(STACKS)}; 'none' for none.",
        ),
        click.option(
            "--buffer-kb",
            type=click.IntRange(4, 16384),
            default=1024,
            show_default=True,
            metavar="KIB",
            help="Size of a buffer in KiB.",
        ),
        click.option("--min-buffers", type=click.IntRange(2), help="Buffers at the start."),
        click.option("--max-buffers", type=click.IntRange(2), help="Buffers at most."),
        click.option(
            "--seconds", type=click.FloatRange(0, min_open=True), help="Stop after so long."
        ),
        click.option(
            "--companion", is_flag=True, help="Also record process and image events, beside."
        ),
        click.option(
            "--backend", type=click.Choice(["native", "wpt"]), default="native", show_default=True
        ),
        click.argument("command", nargs=-1, type=click.UNPROCESSED),
    ):
        function = option(function)
    return function


def make_trace(
    pids: tuple[int, ...],
    exe: str | None,
    command: tuple[str, ...],
    stacks: str,
    seconds: float | None,
    **options: Any,
) -> HeapTrace:
    """The trace that the words ask for: exactly one of processes, an image and a program."""
    if sum([bool(pids), exe is not None, bool(command)]) != 1:
        raise click.UsageError("say whom to trace: --pid N, --exe NAME, or -- COMMAND ...")
    names = [] if stacks == "none" else [name.strip() for name in stacks.split(",")]
    try:
        if command:
            return HeapTrace.launch(list(command), stacks=names, **options)
        if exe is not None:
            return HeapTrace.by_image(exe, stacks=names, **options)
        return HeapTrace(pids, stacks=names, **options)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def watch(trace: HeapTrace, seconds: float | None) -> Iterator[float]:
    """Seconds since the start, now and then, until the targets have ended or time is over."""
    begun = time.monotonic()
    while True:
        passed = time.monotonic() - begun
        yield passed
        if trace.targets_gone() or (seconds is not None and passed >= seconds):
            return
        left = POLL_SECONDS if seconds is None else max(0.0, min(POLL_SECONDS, seconds - passed))
        time.sleep(left)


@contextlib.contextmanager
def status() -> Iterator[Callable[[str], None]]:
    """Shows a line on stderr: on a terminal in place, else one now and then."""
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("CI"):
        from rich.console import Console

        with Console(stderr=True).status("") as shown:
            yield shown.update
        return
    last = time.monotonic()

    def say(text: str) -> None:
        nonlocal last
        if time.monotonic() - last >= LINE_SECONDS:
            last = time.monotonic()
            exits.say(text)

    yield say


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


@click.command(context_settings={"ignore_unknown_options": False})
@target_options
@click.option("-o", "--output", required=True, metavar="FILE", help="The trace, app.etl.")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option(
    "--circular", type=click.IntRange(1), metavar="MIB", help="Keep the last MIB MiB only."
)
@click.option("--compress", is_flag=True, help="Let Windows compress the file where it can.")
def record(
    output: str,
    force: bool,
    circular: int | None,
    compress: bool,
    seconds: float | None,
    **words: Any,
) -> int:
    """Record the heap events of processes to a trace file.

    \b
    toolhelp record --pid 1234 -o app.etl
    toolhelp record --exe app.exe -o app.etl
    toolhelp record -o app.etl -- app.exe --fast

    Needs an elevated prompt. Ends with the last traced process, after --seconds, or with Ctrl-C;
    the file is finished in each case.
    """
    if os.path.exists(output) and not force:
        raise OutputFailed(f"{output} exists already; --force replaces it")
    trace = make_trace(
        seconds=seconds,
        path=output,
        mode="circular" if circular else "sequential",
        max_file_mb=circular or 0,
        compress=compress,
        **words,
    )
    interrupted = False
    with trace, status() as show:
        try:
            for passed in watch(trace, seconds):
                stats = trace.stats()
                lost = stats.events_lost + stats.log_buffers_lost
                show(
                    f"recording {passed:,.0f} s, {_size(trace.path or '') / 1e6:,.1f} MB, "
                    f"{stats.buffers_written:,} buffers, lost so far {lost:,}; Ctrl-C stops"
                )
        except KeyboardInterrupt:
            interrupted = True
    return _finish(trace, output, interrupted)


def _finish(trace: HeapTrace, output: str, interrupted: bool) -> int:
    stats = trace.stats()
    kept = f"{output}: {_size(trace.path or output):,} bytes, {stats.buffers_written:,} buffers"
    exits.say(f"{'stopped; kept ' if interrupted else ''}{kept}")
    if stats.advice:
        exits.say(f"NOT COMPLETE: {stats.advice}")
    code = trace.exit_code if trace.child_pid is not None else None
    if code is not None:
        exits.say(f"the program ended with {code}")
    exits.say(f"see: toolhelp report {output}")
    return exits.INTERRUPTED if interrupted else exits.OK


@click.command()
@target_options
@click.option("--top", type=click.IntRange(1, 50), default=5, show_default=True)
def live(seconds: float | None, top: int, **words: Any) -> int:
    """Watch the heaps of processes as they change: events, live bytes, top stacks, losses."""
    trace = make_trace(seconds=seconds, live=True, **words)
    interrupted = False
    with trace, _screen() as show:
        trace.analyze()
        events, before = 0, 0.0
        try:
            for passed in watch(trace, seconds):
                figures = trace.analyze()
                now = trace.live_counts.records
                rate = (now - events) / (passed - before) if passed > before else 0.0
                events, before = now, passed
                show(trace, figures, rate, top)
        except KeyboardInterrupt:
            interrupted = True
    figures = trace.analyze()
    click.echo(summary(figures))
    advice = trace.stats().advice
    if advice:
        exits.say(f"NOT COMPLETE: {advice}")
    return exits.INTERRUPTED if interrupted else exits.OK


def summary(figures: Any) -> str:
    """The figures in a few lines."""
    totals, live_, peak = figures.totals, figures.live, figures.peak
    return (
        f"{totals.allocations:,} allocations, {totals.frees:,} frees, "
        f"{totals.reallocations:,} reallocations\n"
        f"live {live_.bytes:,} bytes in {live_.blocks:,} blocks; "
        f"peak {peak.bytes:,} bytes in {peak.blocks:,} blocks at {peak.time_ns / 1e9:,.3f} s"
    )


def stack_words(figures: Any, row: Any) -> str:
    """The innermost frames of a stack."""
    frames = [str(frame) for frame in figures.frames(row)[:3]]
    return " < ".join(frames) or "(no stack)"


def table_of(trace: HeapTrace, figures: Any, rate: float, top: int) -> Any:
    """What `live` shows: processes, then the stacks with most live bytes."""
    from rich.table import Table as Shown

    stats = trace.stats()
    lost = stats.events_lost + stats.live_buffers_lost
    shown = Shown(
        title=f"{rate:,.0f} events/s, lost so far {lost:,}",
        title_style="bold red" if lost else "bold",
    )
    for name in ("what", "live bytes", "blocks", "allocated"):
        shown.add_column(name, justify="left" if name == "what" else "right")

    def add(name: str, row: Any) -> None:
        figures_ = (row.live_bytes, row.live_blocks, row.allocated_bytes)
        shown.add_row(name, *(f"{figure:,}" for figure in figures_))

    for row in figures.processes:
        add(f"{row.name or 'process'} {row.pid}", row)
    shown.add_section()
    for row in sorted(figures.stacks, key=lambda row: -row.live_bytes)[:top]:
        add(stack_words(figures, row), row)
    return shown


@contextlib.contextmanager
def _screen() -> Iterator[Callable[[HeapTrace, Any, float, int], None]]:
    """A live table on a terminal; else a line now and then."""
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        from rich.live import Live

        with Live(transient=True, auto_refresh=False) as screen:
            yield lambda *words: screen.update(table_of(*words), refresh=True)
        return
    with status() as say:
        yield lambda trace, figures, rate, top: say(
            f"{rate:,.0f} events/s, live {figures.live.bytes:,} bytes, "
            f"lost so far {trace.stats().events_lost:,}"
        )


@click.command()
@click.option("--stop", metavar="NAME", help="Stop this session, whoever started it.")
@click.option("--stop-stale", is_flag=True, help="Stop what toolhelp left behind after a crash.")
@table_options
def sessions(stop: str | None, stop_stale: bool, **options: Any) -> None:
    """List the heap session of this machine, and other sessions that toolhelp started."""
    if stop is not None and stop_stale:
        raise click.UsageError("--stop and --stop-stale do not go together")
    if stop is not None:
        th.stop_session(stop)
        exits.say(f"stopped {stop}")
    elif stop_stale:
        stopped = [f"stopped {name}" for name in th.stop_stale_sessions()]
        stopped += [f"took back the heap tracing of {image}" for image in restore_stale()]
        for words in stopped or ["nothing was left behind"]:
            exits.say(words)
    else:
        write(th.heap_sessions(), **options)
