"""This package against other readers of .etl files, on the same files.

    pip install dissect.etl==3.14 etl-parser==1.0.1
    python benchmarks/bench_trace_peers.py [FOLDER | FILE ...]

Each reader goes over all events of a file and reads their headers: `Trace.events` here, with
payloads; the event callbacks of etl-parser; the iterator of dissect.etl. What each counts stands
behind its rate, or the error it fails with. Without arguments: a synthetic trace and, where they
are, the real files of the tests.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import toolhelp as th  # noqa: E402
from etlmaker import Trace  # noqa: E402

REAL = ROOT.parent / "shared" / "data" / "etl"
SLOW = 60.0  # seconds after which a reader is stopped; its rate so far counts


class Late(Exception):
    """The reader had its time."""


class Counter:
    """Counts events, and stops whoever takes too long."""

    def __init__(self) -> None:
        self.count = 0
        self.until = time.perf_counter() + SLOW

    def one(self, *_: object) -> None:
        self.count += 1
        if self.count % 64 == 0 and time.perf_counter() > self.until:
            raise Late


def ours(data: bytes, counter: Counter) -> None:
    with th.open_trace(data) as trace:
        for batch in trace.events():
            counter.count += len(batch)


def ours_heap(data: bytes, counter: Counter) -> None:
    with th.open_trace(data) as trace:
        for batch in trace.heap_events():
            counter.count += len(batch)


def dissect(data: bytes, counter: Counter) -> None:
    import io

    from dissect.etl import ETL

    for event in ETL(io.BytesIO(data)):
        event.header  # noqa: B018
        counter.one()


def etl_parser(data: bytes, counter: Counter) -> None:
    from etl.etl import IEtlFileObserver, build_from_stream

    names = [name for name in dir(IEtlFileObserver) if name.startswith("on_")]
    observer = type("Observer", (IEtlFileObserver,), dict.fromkeys(names, _note(counter)))
    build_from_stream(data).parse(observer())


def _note(counter: Counter) -> Callable[..., None]:
    return lambda _self, *_event: counter.one()


READERS = {
    "toolhelp": ours,
    "toolhelp, heap events": ours_heap,
    "dissect.etl": dissect,
    "etl-parser": etl_parser,
}


def synthetic() -> bytes:
    trace = Trace(cpus=4)
    for number in range(4_000):
        time_, cpu = 2000 + 10 * number, number % 4
        trace.heap_alloc(time_, cpu, 100, 4 * cpu + 4, 0x10000, 64, 0x20000 + 64 * number)
    return trace.to_bytes()


def measure(reader: Callable[[bytes, Counter], None], data: bytes) -> tuple[int, float] | str:
    """Events and seconds, the best of some tries where one is short; or what it failed with."""
    best = float("inf")
    for _ in range(9):
        counter = Counter()
        started = time.perf_counter()
        try:
            reader(data, counter)
        except Late:
            pass
        except Exception as problem:
            return type(problem).__name__
        took = time.perf_counter() - started
        best = min(best, took)
        if took > 0.5:
            break
    return counter.count, best


def main() -> None:
    files: dict[str, bytes] = {}
    given = [Path(name) for name in sys.argv[1:]]
    if not given:
        files["synthetic, 4,000 allocations"] = synthetic()
        given = [REAL] if REAL.is_dir() else []
    for path in given:
        for file in sorted(path.glob("*.etl")) if path.is_dir() else [path]:
            files[file.name] = file.read_bytes()
    print("| file | MB | " + " | ".join(f"{name}, events/s" for name in READERS), end=" |")
    print(" times dissect.etl | times etl-parser |")
    print("| --- " * (len(READERS) + 4) + "|")
    for name, data in files.items():
        found = {reader: measure(call, data) for reader, call in READERS.items()}
        cells, rates = [], {}
        for reader, answer in found.items():
            if isinstance(answer, str):
                cells.append(answer)
            elif answer[0]:
                rates[reader] = answer[0] / answer[1]
                cells.append(f"{rates[reader]:,.0f} ({answer[0]:,})")
            else:
                cells.append("none")
        for peer in ("dissect.etl", "etl-parser"):
            ratio = rates["toolhelp"] / rates[peer] if {"toolhelp", peer} <= rates.keys() else None
            cells.append(f"{ratio:,.0f}" if ratio else "-")
        print(f"| {name} | {len(data) / 1e6:.1f} | " + " | ".join(cells), end=" |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
