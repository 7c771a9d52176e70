"""heaps, blocks, tree, who-uses, snapshot, diff, watch: what processes have, and how it changes."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import IO, Any, TypeVar

import click

import toolhelp as th

from .output import keep_apart, opened
from .tables import PlainRows, rows_as_objects, table_options, write, write_text

_F = TypeVar("_F", bound=Callable[..., Any])

PID = click.IntRange(0, 2**32 - 1)


class Number(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A number that may be written in hexadecimal (0x...)."""

    name = "number"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        if isinstance(value, int):
            return value
        with contextlib.suppress(ValueError):
            number = int(value, 0)
            if 0 <= number < 2**64:
                return number
        self.fail(f"{value!r} is not a number from 0 to 2**64 - 1 (0x... is hexadecimal)")


def injection_options(function: _F) -> _F:
    """--allow-injection and --timeout: for queries that start a thread in their target."""
    function = click.option(
        "--timeout",
        type=click.FloatRange(0, 86400),
        default=10.0,
        show_default=True,
        help="Seconds that a query of another process may take.",
    )(function)
    return click.option(
        "--allow-injection",
        is_flag=True,
        help="Let Windows start a thread in other processes, which heap queries need.",
    )(function)


def errors_option(function: _F) -> _F:
    return click.option(
        "--errors",
        type=click.Choice(["report", "raise", "ignore"]),
        default="report",
        show_default=True,
        help="Processes that cannot be asked: a last table, the end of the command, or nothing.",
    )(function)


@click.command()
@click.argument("pid", type=PID, required=False)
@click.option("--summary", is_flag=True, help="What the blocks of each heap add up to.")
@click.option("--sizes", is_flag=True, help="Busy blocks of each heap by size class.")
@click.option("--toolhelp", is_flag=True, help="List by Heap32ListFirst for this process, too.")
@injection_options
@table_options
def heaps(
    pid: int | None,
    summary: bool,
    sizes: bool,
    toolhelp: bool,
    allow_injection: bool,
    timeout: float,
    **options: Any,
) -> None:
    """List the heaps of process PID (without it: of this command itself)."""
    if summary + sizes + toolhelp > 1:
        raise click.UsageError("--summary, --sizes and --toolhelp exclude each other")
    if summary:
        found: Any = th.heap_summary(pid, allow_injection=allow_injection, timeout=timeout)
    elif sizes:
        found = th.heap_sizes(pid, allow_injection=allow_injection, timeout=timeout)
    else:
        found = th.heaps(
            pid,
            method="toolhelp" if toolhelp else "auto",
            allow_injection=allow_injection,
            timeout=timeout,
        )
    write(found, **options)


@click.command()
@click.argument("heap_id", metavar="HEAP", type=Number(), required=False)
@click.option("--pid", type=PID, help="The process; without it, this command itself.")
@click.option("--toolhelp", is_flag=True, help="By Heap32First and Heap32Next: n * n steps.")
@injection_options
@table_options
def blocks(
    heap_id: int | None,
    pid: int | None,
    toolhelp: bool,
    allow_injection: bool,
    timeout: float,
    **options: Any,
) -> None:
    """List the blocks of heap HEAP (see `toolhelp heaps`; without it: the default heap)."""
    guards: dict[str, Any] = {"allow_injection": allow_injection, "timeout": timeout}
    if heap_id is None:
        known = th.heaps(pid, **guards)
        heap_id = next((heap.heap_id for heap in known if heap.is_default), None)
        if heap_id is None:
            raise click.UsageError("the process has no default heap; name one")
    method: Any = "toolhelp" if toolhelp else "auto"
    write(th.heap_blocks(heap_id, pid, method, **guards), **options)


@click.command()
@errors_option
@table_options
def tree(errors: Any, **options: Any) -> None:
    """Show who started whom, links checked by creation times."""
    taken = th.snapshot(identity=True, errors=errors)
    found = taken.tree()
    plain = not any(options[name] for name in ("as_json", "as_csv", "sort", "filters"))
    if not plain:
        write(found.nodes, errors=taken.errors, **options)
        return
    with opened(options["output"], options["force"]) as stream:
        for line in found.lines():
            stream.write(_printable(line) + "\n")
        for ring in found.cycles:
            stream.write(f"ring of recorded parents: {', '.join(map(str, ring))}\n")
        _write_errors(stream, taken.errors)


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _write_errors(stream: IO[str], errors: Any) -> None:
    if len(errors):
        write_text(stream, errors.columns, list(errors), "Errors")


@click.command("who-uses")
@click.argument("dll")
@errors_option
@table_options
def who_uses(dll: str, errors: Any, **options: Any) -> None:
    """List the processes that have DLL loaded, by name or full path; * and ? stand for any text."""
    users = th.snapshot(modules=True, errors=errors).who_uses(dll)
    write(users.modules, errors=users.errors, **options)


@click.command()
@click.option("-o", "--output", metavar="FILE", required=True, help="The file to write.")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option("--modules/--no-modules", default=True, show_default=True)
@click.option("--heaps", "heap_sizes", is_flag=True, help="Heaps and their size classes, too.")
@click.option(
    "--format",
    type=click.Choice(["arrow", "compact"]),
    help="Arrow needs pyarrow, to write and to read; without the option, arrow where it is there.",
)
@errors_option
@injection_options
def snapshot(
    output: str,
    force: bool,
    modules: bool,
    heap_sizes: bool,
    format: Any,
    errors: Any,
    allow_injection: bool,
    timeout: float,
) -> None:
    """Save processes, threads and modules of this machine to FILE, for `toolhelp diff`."""
    from ..store import write as write_snapshot

    taken = th.snapshot(
        modules=modules,
        identity=True,
        heaps="sizes" if heap_sizes else False,
        errors=errors,
        allow_injection=allow_injection,
        timeout=timeout,
    )
    chosen = format or _best_format()
    with opened(output, force, binary=True) as stream:
        write_snapshot(taken, stream, chosen)
    click.echo(
        f"{output}: {len(taken.processes)} processes, {len(taken.threads)} threads, "
        f"{len(taken.modules or ())} modules, {len(taken.errors)} errors",
        err=True,
    )


def _best_format() -> str:
    from importlib.util import find_spec

    return "arrow" if find_spec("pyarrow") else "compact"


@click.command("snapshot-diff")
@click.argument("before", metavar="BEFORE")
@click.argument("after", metavar="AFTER", required=False)
@table_options
def snapshot_diff(before: str, after: str | None, **options: Any) -> None:
    """Compare two saved snapshots, or one with the machine as it is now (also: `diff`).

    Each row is one change: what (process, thread, module, heap), how (started, exited, changed,
    loaded, unloaded, grown, shrunk), and of which process.
    """
    if options["output"]:
        keep_apart(options["output"], (before, after))
    first = th.load_snapshot(before)
    if after is not None:
        second = th.load_snapshot(after)
    else:
        second = th.snapshot(modules=first.modules is not None, identity=first.has_identity)
    write(PlainRows(COLUMNS, _changes(first.diff(second))), errors=second.errors, **options)


COLUMNS = ("what", "how", "pid", "name", "detail")


def _changes(diff: th.Diff) -> list[tuple[Any, ...]]:
    """A row of COLUMNS for every change."""
    found: list[tuple[Any, ...]] = []
    names = dict(zip(diff.before.processes["pid"], diff.before.processes["name"], strict=True))
    names |= dict(zip(diff.after.processes["pid"], diff.after.processes["name"], strict=True))
    for how, processes in (("exited", diff.exited), ("started", diff.started)):
        found += [("process", how, p.pid, p.name, f"parent {p.ppid}") for p in processes]
    for old, new in diff.changed:
        parts = [
            f"{name} {a} -> {b}"
            for name, a, b in zip(diff.before.processes.columns, old, new, strict=False)
            if a != b and a is not None and b is not None
        ]
        found.append(("process", "changed", new.pid, new.name, ", ".join(parts)))
    for how, threads in (("exited", diff.threads_exited), ("started", diff.threads_started)):
        found += [
            ("thread", how, t.owner_pid, names.get(t.owner_pid, ""), f"thread {t.tid}")
            for t in threads
        ]
    for how, modules in (("unloaded", diff.modules_unloaded), ("loaded", diff.modules_loaded)):
        found += [("module", how, m.pid, names.get(m.pid, ""), m.path) for m in modules or ()]
    for heap in diff.heap_growth or ():
        change = heap.bytes_after - heap.bytes_before
        how = "grown" if change >= 0 else "shrunk"
        detail = (
            f"heap 0x{heap.heap_id:x}: {change:+} bytes, "
            f"{heap.blocks_after - heap.blocks_before:+} blocks of up to {heap.size_class}"
        )
        found.append(("heap", how, heap.pid, names.get(heap.pid, ""), detail))
    return found


@click.command()
@click.option(
    "--interval",
    type=click.FloatRange(0, min_open=True),
    default=1.0,
    show_default=True,
    help="Seconds between snapshots.",
)
@click.option("--count", type=click.IntRange(0), help="End after this many intervals.")
@click.option("--modules", is_flag=True, help="Modules, too.")
@click.option("--threads", "with_threads", is_flag=True, help="Threads, too.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
def watch(
    interval: float, count: int | None, modules: bool, with_threads: bool, as_json: bool
) -> None:
    """Show what changes on this machine, until interrupted."""
    th.processes()  # where there is nothing to watch, that is the first and only thing to say
    changes = th.watch(interval, count=count, modules=modules)
    click.echo(f"toolhelp: {changes.blind_spot}", err=True)
    for diff in changes:
        time = datetime.now(UTC)
        for row in _changes(diff):
            if row[0] == "thread" and not with_threads:
                continue
            if as_json:
                words = {"time": time.isoformat(), **rows_as_objects(COLUMNS, [row])[0]}
                click.echo(json.dumps(words, ensure_ascii=False))
            else:
                what, how, pid, name, detail = row
                line = f"{time:%H:%M:%S} {what} {how}: {name} ({pid}) {detail}"
                click.echo(_printable(line))
