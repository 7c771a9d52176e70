"""The C ledger against a slow one on random streams of events, every figure of both."""

from __future__ import annotations

import ctypes
import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from ledgerref import Ledger
from ledgerstreams import random_events

ROOT = Path(__file__).resolve().parents[1]
U32, U64, I64 = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int64


class Columns(ctypes.Structure):
    _fields_ = [
        ("time", ctypes.POINTER(I64)),
        ("pid", ctypes.POINTER(U32)),
        ("tid", ctypes.POINTER(U32)),
        ("stack", ctypes.POINTER(U32)),
        ("kind", ctypes.POINTER(ctypes.c_uint8)),
        ("heap", ctypes.POINTER(U64)),
        ("address", ctypes.POINTER(U64)),
        ("size", ctypes.POINTER(U64)),
        ("old_address", ctypes.POINTER(U64)),
        ("old_size", ctypes.POINTER(U64)),
    ]


class Run(ctypes.Structure):
    _fields_ = [
        ("rule_ns", U64),
        ("duration", I64),
        ("end", I64),
        ("since", I64),
        ("until", I64),
        ("buckets", U32),
        ("has_filter", U32),
        ("pids", ctypes.POINTER(U32)),
        ("tids", ctypes.POINTER(U32)),
        ("handles", ctypes.POINTER(U64)),
        ("pid_count", ctypes.c_size_t),
        ("tid_count", ctypes.c_size_t),
        ("handle_count", ctypes.c_size_t),
    ]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if os.name == "nt" or not compiler:
        pytest.skip("needs a C compiler called cc, and POSIX")
    path = tmp_path_factory.mktemp("ledger") / "libledger.so"
    sources = [
        *sorted((ROOT / "csrc/base").glob("*.c")),
        *(
            ROOT / "csrc/heap" / name
            for name in (
                "block_map.c",
                "charge.c",
                "filter.c",
                "histogram.c",
                "id_map.c",
                "ledger.c",
                "owner_table.c",
                "result.c",
                "site_table.c",
                "timeline.c",
            )
        ),
        *sorted((ROOT / "csrc/host").glob("*_posix.c")),
        ROOT / "tests/csrc/ledger_driver.c",
    ]
    subprocess.run(
        [
            *compiler.split(),
            "-std=c11",
            "-O1",
            "-g",
            "-shared",
            "-fPIC",
            "-I",
            ROOT / "csrc",
            *os.environ.get("LEDGER_CFLAGS", "").split(),
            *sources,
            "-o",
            path,
            "-lpthread",
        ],
        check=True,
    )
    loaded = ctypes.CDLL(str(path))
    loaded.test_ledger.restype = ctypes.c_void_p
    loaded.test_ledger.argtypes = [ctypes.POINTER(Run), ctypes.POINTER(Columns), ctypes.c_size_t]
    loaded.test_ledger_free.argtypes = [ctypes.c_void_p]
    return loaded


def array(kind, values):
    values = list(values)
    return (kind * max(1, len(values)))(*values)


def run_c(
    library,
    events,
    *,
    rule_ns=1_000_000,
    buckets=200,
    duration=-1,
    end,
    pids=(),
    tids=(),
    handles=(),
    since=-(2**63),
    until=2**63 - 1,
    filtered=False,
):
    columns = Columns(
        array(I64, (e.time for e in events)),
        array(U32, (e.pid for e in events)),
        array(U32, (e.tid for e in events)),
        array(U32, (e.stack for e in events)),
        array(ctypes.c_uint8, (e.kind for e in events)),
        array(U64, (e.heap for e in events)),
        array(U64, (e.address for e in events)),
        array(U64, (e.size for e in events)),
        array(U64, (e.old_address for e in events)),
        array(U64, (e.old_size for e in events)),
    )
    run = Run(
        rule_ns,
        duration,
        end,
        since,
        until,
        buckets,
        filtered,
        array(U32, pids),
        array(U32, tids),
        array(U64, handles),
        len(pids),
        len(tids),
        len(handles),
    )
    text = library.test_ledger(run, columns, len(events))
    assert text
    try:
        return json.loads(ctypes.string_at(text))
    finally:
        library.test_ledger_free(text)


FIGURES = (
    "live",
    "at_peak",
    "allocated",
    "temporary",
    "growth_bytes",
    "first_ns",
    "last_ns",
    "age_ns",
)


def keyed(rows, *names):
    """Rows of groups that had a block, by their key."""
    return {
        tuple(row[name] for name in names): {figure: row[figure] for figure in FIGURES}
        for row in rows
        if row["first_ns"] != -(2**63)
    }


def compare(c, ref):
    for name in (
        "totals",
        "oddities",
        "live",
        "peak",
        "peak_ns",
        "temporary",
        "lifetimes",
        "timeline",
    ):
        assert c[name] == ref[name], name
    assert keyed(c["sites"], "instance", "stack_id") == ref["sites"]
    assert keyed(c["heaps"], "instance", "handle") == ref["heaps"]
    assert keyed(c["threads"], "instance", "tid") == ref["threads"]
    assert c["processes"] == ref["processes"]
    sizes = {
        row["max"]: {name: row[name] for name in ("all", "live")}
        for row in c["sizes"]
        if row["all"][0]
    }
    assert sizes == ref["sizes"]
    assert sorted(c["ends"]) == ref["ends"]
    reconcile(c)


def reconcile(c):
    """Every view adds up to the totals, and the identity of the ledger holds."""
    totals = c["totals"]
    for i in (0, 1):
        live = (
            totals["allocations"][i]
            + totals["adopted"][i]
            - totals["frees"][i]
            - totals["destroyed"][i]
            - totals["overwritten"][i]
        )
        assert live == c["live"][i]
        for view in ("sites", "heaps", "threads", "processes"):
            rows = c[view]
            assert sum(row["live"][i] for row in rows) == live
            assert sum(row["at_peak"][i] for row in rows) == c["peak"][i]
            assert sum(row["allocated"][i] for row in rows) == totals["allocations"][i]
            assert sum(row["temporary"][i] for row in rows) == c["temporary"][i]
        assert sum(row["live"][i] for row in c["sizes"]) == live


SEEDS = int(os.environ.get("LEDGER_SEEDS", "40"))


@pytest.mark.parametrize("part", range(10))
def test_equals_the_slow_ledger(library, part):
    for seed in range(part * SEEDS, (part + 1) * SEEDS):
        rng = random.Random(seed)
        events = random_events(rng)
        last = events[-1].time if events else 0
        known = rng.random() < 0.6
        options = {
            "rule_ns": rng.choice([0, 1, 1_000_000, 10**9]),
            "buckets": rng.choice([1, 2, 7, 200]),
            "duration": last + rng.choice([0, 0, 1, 1000, last]) if known else -1,
        }
        options["end"] = options["duration"] if known else last + rng.choice([0, 5, 10**6])
        try:
            ledger = Ledger(events)
            compare(run_c(library, events, **options), ledger.figures(**options))
            filters = {
                "pids": rng.choice([(), (4,), (100, 104)]),
                "tids": rng.choice([(), (), (1,), (5, 9)]),
                "handles": rng.choice([(), (), (0x10000,)]),
                "since": rng.choice([-(2**63), last // 3]),
                "until": rng.choice([2**63 - 1, last // 2]),
            }

            def accept(block, f=filters):
                return (
                    (not f["pids"] or block.pid in f["pids"])
                    and (not f["tids"] or block.tid in f["tids"])
                    and (not f["handles"] or block.heap in f["handles"])
                    and f["since"] <= block.birth < f["until"]
                )

            def accept_heap(pid, heap, f=filters):
                return (not f["pids"] or pid in f["pids"]) and (
                    not f["handles"] or heap in f["handles"]
                )

            compare(
                run_c(library, events, filtered=True, **filters, **options),
                ledger.figures(accept=accept, accept_heap=accept_heap, filtered=True, **options),
            )
        except BaseException:
            print(f"seed {seed}, options {options}")
            raise
