"""The report as data: what `toolhelp report --json` writes and what comparisons read."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..analysis import Analysis
    from ..names import Frame
    from ..trace import Trace

SCHEMA_VERSION = 1

Document = dict[str, Any]

#: Orders of stacks, and the column that each goes by.
SORTS = {
    "live": "live_bytes",
    "blocks": "live_blocks",
    "peak": "at_peak_bytes",
    "allocated": "allocated_bytes",
    "allocations": "allocated_blocks",
    "temporary": "temporary_blocks",
    "growth": "growth",
}
_TOPS = ("live", "peak", "allocated", "temporary")


def top(table: Any, sort: str, number: int | None, at_least: int = 1) -> list[int]:
    """The rows with most of something, most first; rows with nothing of it are left out."""
    column = table[SORTS[sort]]
    values = [column[row] or 0 for row in range(len(table))]
    rows = (row for row, value in enumerate(values) if value >= at_least)

    def key(row: int) -> tuple[float, int]:
        return (values[row], -row)

    if number is None:
        return sorted(rows, key=key, reverse=True)
    return heapq.nlargest(number, rows, key=key)


def amount(blocks: int, bytes_: int) -> dict[str, int]:
    return {"blocks": blocks, "bytes": bytes_}


def figures(row: Any) -> dict[str, Any]:
    """The five figures of a row, and its times."""
    return {
        "live": amount(row.live_blocks, row.live_bytes),
        "at_peak": amount(row.at_peak_blocks, row.at_peak_bytes),
        "allocated": amount(row.allocated_blocks, row.allocated_bytes),
        "temporary": amount(row.temporary_blocks, row.temporary_bytes),
        "growth": row.growth,
        "first_ns": row.first_ns,
        "last_ns": row.last_ns,
        "average_age_ns": row.age_ns,
    }


def frame(found: Frame) -> dict[str, Any]:
    return {
        "address": f"0x{found.address:x}",
        "module": found.module,
        "offset": None if found.module is None else found.offset,
        "symbol": found.symbol,
    }


def _stack(analysis: Analysis, number: int) -> dict[str, Any]:
    row = analysis.stacks[number]
    return {
        "id": row.stack_id,
        "frames": [frame(one) for one in analysis.frames(row)],
        **figures(row),
    }


def chosen_stacks(analysis: Analysis, number: int | None) -> list[int]:
    """Rows of the stacks to show: all, or those among the first by any of the main figures."""
    if number is None:
        return sorted(
            range(len(analysis.stacks)), key=lambda row: -analysis.stacks["live_bytes"][row]
        )
    found = {row for sort in _TOPS for row in top(analysis.stacks, sort, number)}
    return sorted(found, key=lambda row: (-analysis.stacks["live_bytes"][row], row))


def document(trace: Trace, analysis: Analysis, number: int | None = 20) -> Document:
    """The whole report; `number` of stacks and functions by each main figure, None: all."""
    functions = analysis.functions
    function_rows = (
        range(len(functions))
        if number is None
        else sorted({row for sort in _TOPS for row in top(functions, sort, number)})
    )
    totals = analysis.totals
    return {
        "schema_version": SCHEMA_VERSION,
        "file": trace.info["file"],
        "files": trace.info["files"],
        "quality": analysis.quality,
        "totals": totals._asdict(),
        "live": amount(*analysis.live),
        "peak": {**amount(*analysis.peak[:2]), "time_ns": analysis.peak.time_ns},
        "temporary": {**amount(*analysis.temporary[:2]), "rule_ns": analysis.temporary.rule_ns},
        "processes": [_process(row) for row in analysis.processes],
        "heaps": [
            {"pid": row.pid, "heap": f"0x{row.heap:x}", **figures(row)} for row in analysis.heaps
        ],
        "threads": [{"pid": row.pid, "tid": row.tid, **figures(row)} for row in analysis.threads],
        "modules": _named(analysis.modules, range(len(analysis.modules))),
        "functions": _named(functions, function_rows),
        "stacks": [_stack(analysis, row) for row in chosen_stacks(analysis, number)],
        "sizes": [
            {"min": row.min, "max": row.max, "blocks": row.blocks, "bytes": row.bytes}
            for row in analysis.sizes
        ],
        "lifetimes": [row_dict(row, analysis.lifetimes.columns) for row in analysis.lifetimes],
        "timeline": [row_dict(row, analysis.timeline.columns) for row in analysis.timeline],
    }


def row_dict(row: Any, columns: Sequence[str]) -> dict[str, Any]:
    return dict(zip(columns, row, strict=True))


def _named(table: Any, rows: Iterable[int]) -> list[dict[str, Any]]:
    return [{"name": table[row].name, **figures(table[row])} for row in rows]


def _process(row: Any) -> dict[str, Any]:
    return {
        "pid": row.pid,
        "name": row.name,
        "end_ns": row.end_ns,
        "peak": {**amount(row.peak_blocks, row.peak_bytes), "time_ns": row.peak_ns},
        "totals": {
            "allocations": row.allocations,
            "allocated_bytes": row.total_allocated_bytes,
            **{
                name: getattr(row, name)
                for name in (
                    "frees",
                    "freed_bytes",
                    "reallocations",
                    "adopted_blocks",
                    "adopted_bytes",
                    "overwritten_blocks",
                    "overwritten_bytes",
                    "destroyed_blocks",
                    "destroyed_bytes",
                    "heaps_created",
                    "heaps_destroyed",
                )
            },
        },
        **figures(row),
    }


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is not a number of JSON")


def load(path: str) -> Document:
    """A report written earlier. Raises ValueError when it is not one."""
    with open(path, encoding="utf-8") as file:
        try:
            found = json.load(file, parse_constant=_no_number)
        except ValueError as error:
            raise ValueError(f"{path} is not JSON: {error}") from None
    if not isinstance(found, dict) or not all(
        isinstance(found.get(name), dict) for name in ("live", "peak")
    ):
        raise ValueError(f"{path} is not what `toolhelp report --json` writes")
    if found.get("schema_version") != SCHEMA_VERSION:
        raise ValueError(
            f"{path} has schema_version {found.get('schema_version')}, not {SCHEMA_VERSION}"
        )
    return found


def frame_text(found: dict[str, Any]) -> str:
    """A frame of a document as text, as in reports."""
    from ..names import Frame

    address, offset = int(found["address"], 16), found["offset"]
    return str(
        Frame(address, found["module"], address if offset is None else offset, found["symbol"])
    )
