"""check, diff: a trace against rules, and against another one."""

from __future__ import annotations

import json
import os
import sys
from typing import IO, TYPE_CHECKING, Any

import click

from ..archive import MAX_EXPAND
from ..report import units
from . import exits
from .filters import PERCENT, SIZE, filter_options, words
from .output import keep_apart, opened, output_options, read_text
from .report import analyzed
from .tables import plain
from .trace import trace_options

if TYPE_CHECKING:
    from ..report.check import Verdict
    from ..report.document import Document

_DIFF_ROWS = 20


@click.command()
@click.option("--max-live", type=SIZE, metavar="SIZE", help="Most bytes live at the end.")
@click.option("--max-blocks", type=click.IntRange(0), metavar="N", help="Most blocks live then.")
@click.option("--max-peak", type=SIZE, metavar="SIZE", help="Most bytes live at once.")
@click.option(
    "--max-temp-rate",
    type=PERCENT,
    metavar="SHARE",
    help="Largest share of temporary blocks among allocations, as 10%.",
)
@click.option(
    "--per-stack", type=SIZE, metavar="SIZE", help="Most bytes of one stack live at the end."
)
@click.option(
    "--suppressions",
    type=click.Path(),
    metavar="FILE",
    help="Lines `leak:pattern`: live blocks with such a frame are left out.",
)
@click.option(
    "--baseline",
    type=click.Path(),
    metavar="FILE",
    help="What `report --json` wrote earlier: no more live bytes, live blocks or peak than there.",
)
@click.option(
    "--tolerance",
    type=PERCENT,
    default="0%",
    show_default=True,
    metavar="SHARE",
    help="Growth over the baseline that is allowed, as 5%.",
)
@click.option("--junit", type=click.Path(), metavar="FILE", help="Also write JUnit XML.")
@click.option(
    "--top",
    "number",
    type=click.IntRange(0),
    default=5,
    show_default=True,
    help="Stacks to name for a broken rule.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with 4 when the trace is not complete, or there was nothing to check.",
)
@trace_options
@filter_options
@output_options
def check(**options: Any) -> int:
    """Hold the trace FILE against rules; exit with 1 when one is broken.

    When there is not one block to check, it says so first, and exits with 4 under --strict.
    Several files are read as one recording.
    """
    from ..report.check import Checker, annotation, junit, nothing_checked

    limits = _limits(options)
    suppressions = _suppressions(options["suppressions"])
    files = options["files"]
    file = files[0]
    chosen = words(dict(options))
    read = (*files, options["suppressions"], options["baseline"])
    if options["junit"]:
        keep_apart(options["junit"], read)
    with (
        opened(options["output"], options["force"], apart=(*read, options["junit"])) as stream,
        analyzed(files, options, chosen) as (_, analysis),
    ):
        checker = Checker(analysis, limits, suppressions, options["number"])
        verdicts = checker.verdicts()
        quality = analysis.quality
        filtered = any(chosen[name] for name in chosen if name != "rule_ns")
        nothing = nothing_checked(analysis, chosen["pids"] or (), filtered)
        if options["junit"]:
            with opened(options["junit"], True, binary=True) as target:
                target.write(junit(verdicts, file, nothing))
        with exits.reader_may_leave():
            if nothing:
                stream.write(f"NOTHING CHECKED: {nothing}.\n")
            if not quality["complete"]:
                stream.write("NOT COMPLETE: " + plain(" ".join(quality["messages"])) + "\n")
            for verdict in verdicts:
                _write_verdict(stream, verdict, nothing is not None)
            if checker.suppressed:
                stream.write(f"suppressed: {checker.suppressed:,} live blocks\n")
    if os.environ.get("GITHUB_ACTIONS") == "true":
        with exits.reader_may_leave():
            for verdict in verdicts:
                if verdict.broken:
                    sys.stdout.write(plain(annotation(verdict, file)) + "\n")
    if options["strict"] and (nothing or not quality["complete"]):
        return exits.INCOMPLETE
    return exits.RULE_BROKEN if any(verdict.broken for verdict in verdicts) else exits.OK


def _limits(options: dict[str, Any]) -> Any:
    from ..report.check import Limits

    limits = Limits(
        max_live=options["max_live"],
        max_blocks=options["max_blocks"],
        max_peak=options["max_peak"],
        max_temp_rate=options["max_temp_rate"],
        per_stack=options["per_stack"],
        baseline=None if options["baseline"] is None else _document(options["baseline"]),
        tolerance=options["tolerance"],
    )
    if not limits.any():
        raise click.UsageError("give at least one rule, such as --max-live 1MB")
    return limits


def _document(path: str) -> Document:
    from ..report.document import load

    try:
        return load(path)
    except ValueError as error:
        raise exits.InputFailed(str(error)) from None


def _suppressions(path: str | None) -> list[Any]:
    from ..report.check import parse_suppressions

    if path is None:
        return []
    text = read_text(path)
    try:
        return parse_suppressions(text, path)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _write_verdict(stream: IO[str], verdict: Verdict, nothing: bool) -> None:
    word = "BROKEN" if verdict.broken else "nothing" if nothing else "ok"
    stream.write(plain(f"{word:<7} {verdict.rule:<15} {verdict.sentence}") + "\n")
    for one in verdict.offenders:
        stream.write(f"          {one.text}\n")
        for frame in one.frames or ("(no stack)",):
            stream.write("            " + plain(str(frame)) + "\n")


@click.command()
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option(
    "--top",
    "number",
    type=click.IntRange(1),
    default=_DIFF_ROWS,
    show_default=True,
    metavar="N",
    help="Stacks to show.",
)
@click.option("--all", "everything", is_flag=True, help="All stacks.")
@click.option(
    "--units", "unit", type=click.Choice(["si", "iec", "raw"]), default="si", show_default=True
)
@click.option("--json", "as_json", is_flag=True, help="JSON with schema_version.")
@click.option("--strict", is_flag=True, help="Exit with 4 when a trace is not complete.")
@filter_options
@output_options
def diff(before: str, after: str, **options: Any) -> int:
    """Say what changed from A to B: traces, or what `report --json --all` wrote of them."""
    from ..report.compare import difference

    options |= {"threads": None, "max_expand": MAX_EXPAND, "members": ()}
    with opened(options["output"], options["force"], apart=(before, after)) as stream:
        found = difference(_report_of(before, options), _report_of(after, options))
        if not options["everything"]:
            found["stacks"] = found["stacks"][: options["number"]]
        if options["as_json"]:
            stream.write(plain(json.dumps(found, ensure_ascii=False, indent=1)) + "\n")
        else:
            _write_diff(stream, found, options["unit"])
    complete = found["before"]["complete"] and found["after"]["complete"]
    return exits.INCOMPLETE if options["strict"] and not complete else exits.OK


def _report_of(path: str, options: dict[str, Any]) -> Document:
    from ..report.document import document

    if path.endswith(".json"):
        return _document(path)
    with analyzed([path], options, words(dict(options))) as (trace, analysis):
        return document(trace, analysis, None)


def _write_diff(stream: IO[str], found: dict[str, Any], unit: Any) -> None:
    from ..report.document import frame_text

    before, after = found["before"], found["after"]
    for name, side in (("A", before), ("B", after)):
        note = "" if side["complete"] else "  NOT COMPLETE"
        stream.write(plain(f"{name}  {side['file']['path'] or '(memory)'}{note}") + "\n")
    stream.write(f"\n{'':<20}{'A':>14}{'B':>14}{'change':>14}\n")
    rows = [
        ("live bytes", before["live"]["bytes"], after["live"]["bytes"], True),
        ("live blocks", before["live"]["blocks"], after["live"]["blocks"], False),
        ("peak bytes", before["peak"]["bytes"], after["peak"]["bytes"], True),
        ("allocations", before["totals"]["allocations"], after["totals"]["allocations"], False),
        ("allocated bytes", before["totals"]["allocated_bytes"],
         after["totals"]["allocated_bytes"], True),
        ("temporary blocks", before["temporary"]["blocks"], after["temporary"]["blocks"], False),
    ]  # fmt: skip
    for name, a, b, of_bytes in rows:
        left, right, change = (
            units.size(n, unit) if of_bytes else units.count(n) for n in (a, b, b - a)
        )
        change = change if b <= a else "+" + change
        stream.write(f"{name:<20}{left:>14}{right:>14}{change:>14}\n")
    stream.write("\nLIVE AT END, BY STACK\n")
    if not found["stacks"]:
        stream.write("  no stack has changed\n")
    for row in found["stacks"]:
        sign = "+" if row["live_bytes"] > 0 else ""
        blocks = f"{row['live_blocks']:+,} blocks"
        stream.write(
            f"{sign + units.size(row['live_bytes'], unit):>12} {blocks:>16}  {row['state']}\n"
        )
        for frame in row["frames"]:
            stream.write("      " + plain(frame_text(frame)) + "\n")
