"""What changed from one report to another."""

from __future__ import annotations

from typing import Any

from .document import Document, frame_text

Key = tuple[str, ...]


def keyed(found: Document) -> dict[Key, dict[str, Any]]:
    """The stacks of a document by their frames. Frames in modules are compared by offset, so that
    another base address makes no difference."""
    stacks: dict[Key, dict[str, Any]] = {}
    for stack in found["stacks"]:
        key = tuple(frame_text(frame).casefold() for frame in stack["frames"])
        held = stacks.get(key)
        if held is None:
            stacks[key] = {**stack, "live": dict(stack["live"]), "at_peak": dict(stack["at_peak"])}
            continue
        for figure in ("live", "at_peak"):
            for unit in ("blocks", "bytes"):
                held[figure][unit] += stack[figure][unit]
    return stacks


_NONE = {"blocks": 0, "bytes": 0}


def difference(before: Document, after: Document) -> dict[str, Any]:
    """Totals of both and what each stack gained or lost, the greatest change first."""
    old, new = keyed(before), keyed(after)
    rows = []
    for key in [*new, *(key for key in old if key not in new)]:
        left, right = old.get(key), new.get(key)
        shown = right or left
        assert shown is not None
        a = left["live"] if left else _NONE
        b = right["live"] if right else _NONE
        peak_a = left["at_peak"] if left else _NONE
        peak_b = right["at_peak"] if right else _NONE
        if a == b and peak_a == peak_b:
            continue
        rows.append(
            {
                "frames": shown["frames"],
                "before": a,
                "after": b,
                "live_bytes": b["bytes"] - a["bytes"],
                "live_blocks": b["blocks"] - a["blocks"],
                "at_peak_bytes": peak_b["bytes"] - peak_a["bytes"],
                "state": "new" if left is None else "gone" if right is None else "changed",
            }
        )
    rows.sort(key=lambda row: (-abs(row["live_bytes"]), -abs(row["live_blocks"])))
    return {
        "schema_version": 1,
        "before": _head(before),
        "after": _head(after),
        "stacks": rows,
    }


def _head(found: Document) -> dict[str, Any]:
    return {
        "file": found["file"],
        "complete": found["quality"]["complete"],
        **{name: found[name] for name in ("live", "peak", "temporary", "totals")},
    }
