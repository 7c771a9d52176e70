"""The heap ledger alone against a bare loop, in one run: builds and runs bench_ledger.c.

    python benchmarks/bench_ledger.py [--events N] [--rounds N]

For 1,000, 60,000 and 10,000,000 live blocks: nanoseconds of processor time an event, the best of
the rounds, of the ledger and of the least that could be done (addresses and sizes in an open table,
the sum and its peak). The answers of both are compared first.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

#: Live blocks and distinct stacks.
CASES = ((1_000, 20), (60_000, 200), (60_000, 20_000), (10_000_000, 20_000))
FIGURES = re.compile(r"([\d.]+) ns; bare loop ([\d.]+) ns")


def main() -> None:
    import native

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = native.sources(*native.READER, "csrc/heap")
        program = native.build(
            Path(folder) / "bench_ledger",
            "benchmarks/bench_ledger.c",
            *files,
            flags=("-O2", "-DNDEBUG"),
        )
        print("live blocks, stacks: ledger ns, M events/s, bare loop ns")
        for live, stacks in CASES:
            best = [float("inf")] * 2
            for _ in range(words.rounds):
                run = [program, str(live), str(words.events), str(stacks)]
                found = subprocess.run(run, capture_output=True, text=True, check=True)
                figures = FIGURES.search(found.stdout)
                assert figures is not None, found.stdout
                best = [
                    min(old, float(new)) for old, new in zip(best, figures.groups(), strict=True)
                ]
            ledger, bare = best
            print(f"{live:>11,}, {stacks:>6,}: {ledger:9.1f}, {1e3 / ledger:12.1f}, {bare:12.1f}",
                  flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
