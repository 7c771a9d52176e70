"""info, events: what a trace is, and what it holds."""

from __future__ import annotations

import csv
import importlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any, TypeVar

import click

from ..errors import CorruptTrace
from ..trace import Trace, open_trace
from . import exits, progress
from .filters import SIZE
from .output import opened, output_options
from .tables import plain, shown

_F = TypeVar("_F", bound=Callable[..., Any])


def trace_options(function: _F) -> _F:
    """FILE... and the options of every command that reads a trace."""
    function = click.option(
        "--member",
        "members",
        metavar="NAME",
        multiple=True,
        help="Which trace of an archive that holds several; may be given more than once, and have "
        "* and ? in it: what it names is read as one recording.",
    )(function)
    function = click.option(
        "--max-expand",
        type=SIZE,
        default="64GiB",
        show_default=True,
        metavar="SIZE",
        help="Most bytes that an archive may expand to, as 500MB or 64GiB.",
    )(function)
    function = click.option(
        "--threads", type=click.IntRange(0, 64), help="Helpers that read and unpack ahead."
    )(function)
    return click.argument("files", metavar="FILE...", nargs=-1, required=True)(function)


def open_files(
    files: Sequence[str], threads: int | None, max_expand: int, members: Sequence[str]
) -> Trace:
    """The trace of the command line, several files as one; `-` is standard input."""
    sources: list[Any] = [sys.stdin.buffer if file == "-" else file for file in files]
    try:
        return open_trace(sources, threads=threads, max_expand=max_expand, member=members)
    except CorruptTrace as error:
        if len(files) > 1:  # it says which itself
            raise exits.InputFailed(str(error)) from None
        name = "standard input" if files[0] == "-" else files[0]
        raise exits.InputFailed(f"{name}: {error}") from None
    except ValueError as error:
        raise click.UsageError(str(error)) from None


@click.command()
@trace_options
@click.option("--json", "as_json", is_flag=True, help="JSON with schema_version.")
@click.option("--strict", is_flag=True, help="Exit with 4 when the trace is not complete.")
@output_options
def info(
    files: tuple[str, ...],
    threads: int | None,
    max_expand: int,
    members: tuple[str, ...],
    as_json: bool,
    strict: bool,
    output: str | None,
    force: bool,
) -> int:
    """Say what the trace FILE is, what it holds and what is missing from it.

    Several files are read as one recording.
    """
    with open_files(files, threads, max_expand, members) as trace:
        with progress.shown("reading") as report:
            trace.read(report)
        found = trace.info
    with opened(output, force, apart=files) as stream:
        if as_json:
            text = json.dumps(found, ensure_ascii=False, indent=1)
            stream.write(plain(text) + "\n")
        else:
            _write_info(stream, found)
    return exits.INCOMPLETE if strict and not found["quality"]["complete"] else exits.OK


def _write_info(stream: IO[str], found: dict[str, Any]) -> None:
    file, counts, quality = found["file"], found["counts"], found["quality"]

    def line(name: str, value: Any) -> None:
        text = plain(str(value))
        text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
        stream.write(f"{name:12}{text}\n")

    for one in found["files"]:
        found_beside = "" if one["given"] else ", found beside"
        line("file", f"{one['path'] or '(memory)'}, {one['bytes']:,} bytes{found_beside}")
        if one["notes"]:
            line("notes", f"{one['notes']}, found beside")
    line("session", file["session_name"])
    line(
        "system",
        f"Windows {file['os_version']}.{file['os_build']}, {file['processors']} processors, "
        f"{file['pointer_size'] * 8}-bit",
    )
    line("start", file["start"])
    line("end", file["end"] or "not recorded")
    line("duration", f"{file['duration_ns'] / 1e9:,.3f} s, clock {file['clock']}")
    packed = counts["compressed_buffers"]
    line("buffers", f"{counts['buffers']:,}" + (f", {packed:,} packed" if packed else ""))
    line("events", f"{counts['events']:,}")
    for title, key in (("by header", "events_by_header"), ("heap", "heap_events")):
        names = ", ".join(f"{name} {count:,}" for name, count in counts[key].items())
        if names:
            line(title, names)
    for name in ("stacks", "processes", "threads", "modules"):
        line(name, f"{counts[name]:,}")
    if quality["stack_coverage"] is not None:
        line("coverage", f"{quality['stack_coverage']:.1%} of allocations have a stack")
    line("quality", "complete" if quality["complete"] else "NOT COMPLETE")
    for message in quality["messages"]:
        line("", message)


@click.command()
@trace_options
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    metavar="KIND",
    help="heap (decoded), heap.alloc ..., stack, process, thread, image, imageid, lost, other. "
    "May be given more than once; without it, all, with their bytes as in the file.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "csv", "parquet"]),
    default="table",
    show_default=True,
)
@click.option("--limit", type=click.IntRange(0), metavar="N", help="Stop after N events.")
@output_options
def events(
    files: tuple[str, ...],
    threads: int | None,
    max_expand: int,
    members: tuple[str, ...],
    kinds: tuple[str, ...],
    form: str,
    limit: int | None,
    output: str | None,
    force: bool,
) -> None:
    """Write the events of the trace FILE in the order of their time.

    Several files are read as one recording.
    """
    writers: dict[str, Callable[[IO[Any], Iterator[Any]], None]]
    writers = {"table": _text, "json": _json, "csv": _csv, "parquet": _parquet}
    if form == "parquet":
        importlib.import_module("pyarrow")  # complains before anything is written
    with (
        open_files(files, threads, max_expand, members) as trace,
        progress.shown("reading") as report,
    ):
        try:
            batches = _batches(trace, kinds, report)
        except ValueError as error:
            raise click.UsageError(str(error)) from None
        with opened(output, force, binary=form == "parquet", apart=files) as stream:
            writers[form](stream, _limited(batches, limit))


def _batches(trace: Trace, kinds: tuple[str, ...], report: Any) -> Iterator[Any]:
    """Decoded heap events when nothing but such is asked for, else events as in the file."""
    if not kinds or any(kind.split(".")[0] != "heap" for kind in kinds):
        return trace.events(kinds or None, progress=report)
    trace.events(kinds)  # complains of unknown kinds
    batches = trace.heap_events(progress=report)
    if "heap" in kinds:
        return batches
    wanted = {kind.removeprefix("heap.") for kind in kinds}
    return (
        batch.take([row for row, kind in enumerate(batch["kind"]) if kind in wanted])
        for batch in batches
    )


def _limited(batches: Iterator[Any], limit: int | None) -> Iterator[Any]:
    for batch in batches:
        if limit is None:
            yield batch
            continue
        if len(batch):
            yield batch[:limit]
        limit -= min(limit, len(batch))
        if not limit:
            return


def _rows(batches: Iterator[Any]) -> Iterator[dict[str, Any]]:
    for batch in batches:
        names = batch.columns
        for row in batch:
            yield {name: shown(name, value) for name, value in zip(names, row, strict=True)}


def _json(stream: IO[str], batches: Iterator[Any]) -> None:
    stream.write('{"schema_version": 1, "rows": [')
    for place, row in enumerate(_rows(batches)):
        stream.write(("\n " if place == 0 else ",\n ") + json.dumps(row, ensure_ascii=False))
    stream.write('\n], "errors": []}\n')


def _csv(stream: IO[str], batches: Iterator[Any]) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    header = None
    for batch in batches:
        if header is None:
            header = batch.columns
            writer.writerow(header)
        for row in _rows(iter([batch])):
            writer.writerow("" if value is None else value for value in row.values())


_WIDTHS = {"time_ns": 14, "provider": 36, "kind": 12, "header": 11, "payload": 32}
_PAYLOAD_SHOWN = 32


def _text(stream: IO[str], batches: Iterator[Any]) -> None:
    header = None
    for batch in batches:
        if header is None:
            header = batch.columns
            widths = [_WIDTHS.get(name, max(len(name), 8)) for name in header]
            stream.write(_line(header, widths))
        for row in _rows(iter([batch])):
            cells = [_cell(name, value) for name, value in row.items()]
            stream.write(_line(cells, widths))


def _line(cells: Any, widths: list[int]) -> str:
    text = "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
    return text.rstrip() + "\n"


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "-"
    text = str(value)
    if name == "payload" and len(text) > _PAYLOAD_SHOWN:
        return text[:_PAYLOAD_SHOWN] + "..."
    return text


def _parquet(stream: IO[bytes], batches: Iterator[Any]) -> None:
    pyarrow = importlib.import_module("pyarrow")
    parquet = importlib.import_module("pyarrow.parquet")
    first = next(batches, None)
    if first is None:
        raise exits.OutputFailed("there are no such events, so there is no Parquet file to write")
    table = pyarrow.table(first)
    writer = parquet.ParquetWriter(stream, table.schema, compression="zstd")
    try:
        writer.write_table(table)
        for batch in batches:
            writer.write_table(pyarrow.table(batch).cast(table.schema))
    finally:
        writer.close()
