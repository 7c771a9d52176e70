"""Traces for the tests of reports."""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path
from types import ModuleType

import toolhelp as th
from etlmaker import Trace

ROOT = Path(__file__).resolve().parents[1]


def _example() -> ModuleType:
    path = ROOT / "examples" / "make_leaky_trace.py"
    spec = importlib.util.spec_from_file_location("make_leaky_trace", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@functools.cache
def leaky_trace() -> Trace:
    """The trace of examples/make_leaky_trace.py."""
    made: Trace = _example().make_trace()
    return made


@functools.cache
def leaky_bytes() -> bytes:
    """It as a file."""
    return leaky_trace().to_bytes(compression="xpress")


@functools.cache
def leaky() -> th.Trace:
    return th.open_trace(leaky_bytes())


def mid_life(**more: object) -> Trace:
    """A trace that begins in the middle of a program's life: 483 frees of older blocks, one
    reallocation in place of another, and one allocation."""
    trace = Trace(**more)  # type: ignore[arg-type]
    for number in range(483):
        trace.heap_free(2000 + number, 0, 10, 11, 0x10000, 0x900000 + 16 * number)
    trace.heap_realloc(3000, 0, 10, 11, 0x10000, 0x800000, 0x800000, 100, 60)
    trace.heap_alloc(4000, 0, 10, 11, 0x10000, 10, 0x700000)
    return trace
