"""The trace reader against bare C loops and memcpy: builds `etl_c` and prints its tables.

    python benchmarks/bench_trace.py [MEGABYTES [ROUNDS]]

Needs a C compiler (`CC`, else `cc`) on Linux or macOS; the package itself is not needed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("benchmarks/etl_c", "csrc/etl", "csrc/table", "csrc/base")


def build(output: Path) -> Path:
    """Compiles the benchmark as `setup.py` compiles the extension."""
    files = [str(path) for folder in FOLDERS for path in sorted((ROOT / folder).glob("*.c"))]
    files += [str(path) for path in sorted((ROOT / "csrc/host").glob("*_posix.c"))]
    includes = [f"-I{ROOT / folder}" for folder in ("csrc", "benchmarks/etl_c")]
    compiler = os.environ.get("CC", "cc")
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", *includes]
    subprocess.run([compiler, *flags, *files, "-lpthread", "-o", str(output)], check=True)
    return output


def machine() -> str:
    """What this runs on, as far as Linux tells."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{len(names)} x {names[0]}, load {os.getloadavg()[0]:.1f}"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder) / "bench")
        if sys.platform == "linux":
            print(machine(), flush=True)
        subprocess.run([str(program), *sys.argv[1:]], check=True)


if __name__ == "__main__":
    main()
