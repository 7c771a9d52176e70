"""Rows on a terminal, as JSON or as CSV; chosen and ordered by the user."""

from __future__ import annotations

import csv
import fnmatch
import io
import json
import operator
import re
from collections.abc import Callable, Sequence
from typing import IO, Any, TypeVar

import click

from .._core import Table
from .output import opened, output_options

_F = TypeVar("_F", bound=Callable[..., Any])

# Columns whose numbers are addresses: people and JSON get them in hexadecimal.
ADDRESSES = frozenset(["base", "address", "heap_id", "heap", "old_address"])

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "!=": operator.ne,
    "=": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}


def table_options(function: _F) -> _F:
    """The options of every listing: --json, --csv, --sort, --filter, -o, --force."""
    function = output_options(function)
    function = click.option(
        "--filter",
        "filters",
        multiple=True,
        metavar="RULE",
        help="Keep rows where COLUMN=PATTERN (* and ? in text), COLUMN>N, < >= <= !=; "
        "or that hold a bare WORD. May be given more than once.",
    )(function)
    function = click.option(
        "--sort", metavar="COLUMN", help="Order by COLUMN; -COLUMN for the largest first."
    )(function)
    function = click.option("--csv", "as_csv", is_flag=True, help="Comma-separated values.")(
        function
    )
    return click.option("--json", "as_json", is_flag=True, help="JSON with schema_version.")(
        function
    )


def plain(text: str) -> str:
    """The text with U+FFFD for lone surrogates."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def shown(column: str, value: Any) -> Any:
    """A value as JSON and CSV carry it."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, bytes):
        return value.hex()
    if column in ADDRESSES and isinstance(value, int):
        return f"0x{value:x}"
    return value


class PlainRows(list[tuple[Any, ...]]):
    """Rows that no Table of the core holds, with what a listing asks of a Table."""

    def __init__(self, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
        super().__init__(rows)
        self.columns = tuple(columns)
        self.schema = {
            name: "text" if any(isinstance(row[place], str) for row in rows) else "uint64"
            for place, name in enumerate(columns)
        }


def write(
    table: Table[Any] | PlainRows,
    *,
    title: str = "",
    errors: Table[Any] | None = None,
    as_json: bool = False,
    as_csv: bool = False,
    sort: str | None = None,
    filters: Sequence[str] = (),
    output: str | None = None,
    force: bool = False,
) -> None:
    """Writes the rows that pass the filters, in the order asked for."""
    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other")
    rows = ordered(table, chosen(table, filters), sort)
    with opened(output, force) as stream:
        if as_json:
            _write_json(stream, table.columns, rows, errors)
        elif as_csv:
            _write_csv(stream, table.columns, rows)
        else:
            write_text(stream, table.columns, rows, title)
            if errors is not None and len(errors):
                write_text(stream, errors.columns, list(errors), "Errors")


def chosen(table: Table[Any] | PlainRows, filters: Sequence[str]) -> list[Any]:
    rows = list(table)
    for rule in filters:
        keep = _rule(table, rule)
        rows = [row for row in rows if keep(row)]
    return rows


def _rule(table: Table[Any] | PlainRows, rule: str) -> Callable[[Any], bool]:
    match = re.match(r"([a-z_]+)(>=|<=|!=|=|>|<)(.*)$", rule, re.DOTALL)
    if not match:
        word = rule.casefold()
        return lambda row: any(isinstance(v, str) and word in v.casefold() for v in row)
    column, sign, text = match.groups()
    place = _place(table, column)
    kind = table.schema[column]
    compare = _COMPARISONS[sign]
    if kind in ("text", "label"):
        if sign not in ("=", "!="):
            raise click.UsageError(f"--filter {rule}: {column} is text; use = or !=")
        pattern = re.compile(fnmatch.translate(text.casefold()))
        return lambda row: bool(pattern.match((row[place] or "").casefold())) == (sign == "=")
    if kind == "bool":
        return lambda row: compare(row[place], text.casefold() in ("true", "1", "yes"))
    try:
        number = int(text, 0)
    except ValueError:
        raise click.UsageError(f"--filter {rule}: {text!r} is not a number") from None
    return lambda row: row[place] is not None and compare(row[place], number)


def _place(table: Table[Any] | PlainRows, column: str) -> int:
    if column not in table.columns:
        known = ", ".join(table.columns)
        raise click.UsageError(f"there is no column {column!r}; there are {known}")
    return table.columns.index(column)


def ordered(table: Table[Any] | PlainRows, rows: list[Any], sort: str | None) -> list[Any]:
    if not sort:
        return rows
    place = _place(table, sort.lstrip("-"))

    def key(row: Any) -> tuple[bool, Any]:
        value = row[place]
        return value is not None, value.casefold() if isinstance(value, str) else value or 0

    return sorted(rows, key=key, reverse=sort.startswith("-"))


def rows_as_objects(names: Sequence[str], rows: Sequence[Any]) -> list[dict[str, Any]]:
    """Rows as JSON has them."""
    return [
        {name: shown(name, value) for name, value in zip(names, row, strict=True)} for row in rows
    ]


def _write_json(
    stream: IO[str], columns: Sequence[str], rows: list[Any], errors: Table[Any] | None
) -> None:
    document = {
        "schema_version": 1,
        "rows": rows_as_objects(columns, rows),
        "errors": [] if errors is None else rows_as_objects(errors.columns, errors),
    }
    json.dump(document, stream, ensure_ascii=False, indent=1)
    stream.write("\n")


def _write_csv(stream: IO[str], columns: Sequence[str], rows: list[Any]) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow(
            "" if value is None else shown(name, value)
            for name, value in zip(columns, row, strict=True)
        )


def write_text(stream: IO[str], columns: Sequence[str], rows: Sequence[Any], title: str) -> None:
    """A table for people. Off a terminal, nothing is cut and nothing is coloured."""
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    table = RichTable(title=title or None, title_justify="left", box=None, pad_edge=False)
    for place, column in enumerate(columns):
        sample = next((row[place] for row in rows if row[place] is not None), None)
        number = isinstance(sample, int) and not isinstance(sample, bool)
        table.add_column(column, justify="right" if number else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(_cell(name, value)) for name, value in zip(columns, row, strict=True)))
    if stream.isatty():
        Console(file=stream).print(table)
        return
    drawn = io.StringIO()
    Console(file=drawn, width=2000, soft_wrap=True).print(table, crop=False)
    for line in drawn.getvalue().splitlines():
        stream.write(line.rstrip() + "\n")


def _cell(column: str, value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = str(shown(column, value))
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
