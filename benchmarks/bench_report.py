"""`toolhelp report --json` of a large synthetic trace with stacks, in one run.

    python benchmarks/bench_report.py --size 2GB [--stacks N] [--live N] [--rounds N] [--file PATH]

Makes the trace once (PATH, or a file in the temporary folder, deleted at the end), then reports
over it: wall time, time on the processors, and the greatest memory of the process. Beside it, in
the same run, how long decoding alone takes (a pass that throws the events away), so that the price
of the ledger is seen. The report's figures are checked against those of the trace's maker.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]

UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9}


def size_of(text: str) -> int:
    unit = UNITS.get(text[-2:].upper())
    return int(float(text[:-2]) * unit) if unit else int(text)


def make(path: Path, size: int, stacks: int, live: int) -> None:
    """A trace of about `size` bytes: one stretch of events, stamped over and over."""
    from etlmaker.large import Load, Repeated, heap_buffers

    events = max(4 * live, min(1_000_000, size // 200))
    load = Load(events=events, seed=7, unique_stacks=stacks, live=live, drain=True)
    blocks = [*heap_buffers(load)]
    blocks = [block for block in blocks if len(block) == len(blocks[0])]
    file = Repeated(blocks, max(1, -(-size // sum(map(len, blocks)))))
    with path.open("wb") as out:
        while part := file.read(1 << 24):
            out.write(part)


def child(words: list[str]) -> tuple[float, float, int, bytes]:
    """Wall time, processor time, peak memory (KiB) and output of a run of Python."""
    read_end, write_end = os.pipe()
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    started = time.perf_counter()
    pid = os.posix_spawn(
        sys.executable,
        [sys.executable, *words],
        environment,
        file_actions=[(os.POSIX_SPAWN_DUP2, write_end, 1), (os.POSIX_SPAWN_CLOSE, read_end)],
    )
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        output = pipe.read()
    _, status, usage = os.wait4(pid, 0)
    if status:
        raise SystemExit(f"the run failed: {' '.join(words)}")
    elapsed = time.perf_counter() - started
    return elapsed, usage.ru_utime + usage.ru_stime, usage.ru_maxrss, output


DECODE = "import sys, toolhelp as th\nfor batch in th.open_trace(sys.argv[1]).heap_events(): pass"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=size_of, default=size_of("2GB"))
    parser.add_argument("--stacks", type=int, default=20_000)
    parser.add_argument("--live", type=int, default=60_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--file", type=Path, help="keep the trace there, or use it")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = words.file or Path(folder) / "report.etl"
        if not path.exists():
            # In a process of its own: a child counts the memory of whoever starts it as its own.
            maker = multiprocessing.Process(
                target=make, args=(path, words.size, words.stacks, words.live)
            )
            maker.start()
            maker.join()
        print(f"{path.stat().st_size:,} bytes, {words.rounds} rounds; the best of each")
        runs = {"decoding alone": ["-c", DECODE, str(path)],
                "report --json": ["-m", "toolhelp", "report", "--json", str(path)]}  # fmt: skip
        for name, run in runs.items():
            found = [child(run) for _ in range(words.rounds)]
            wall, processor, memory = (min(one[i] for one in found) for i in range(3))
            print(f"{name:>15}: {wall:6.2f} s, {processor:6.2f} s of processors, "
                  f"{memory / 1024:.0f} MiB")  # fmt: skip
        report = json.loads(found[0][3])
        totals, live = report["totals"], report["live"]
        ended = totals["frees"] + totals["destroyed_blocks"] + totals["overwritten_blocks"]
        born = totals["allocations"] + totals["adopted_blocks"]
        if born - ended != live["blocks"] or totals["allocations"] == 0:
            raise SystemExit("the report does not balance")
        count = totals["allocations"] + totals["frees"]
        print(f"{count:,} allocations and frees, peak {report['peak']['blocks']:,} blocks")


if __name__ == "__main__":
    main()
