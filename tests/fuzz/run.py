"""Builds the fuzz targets with clang and runs each for a while, two at a time.

    python tests/fuzz/run.py --seconds 60 [--target trace] [--keep DIR] [--more FOLDER]

Exits 0 when nothing was found, 1 with the path of the input that did it, 3 without clang. Inputs
found on the way are thrown away unless `--keep` names a folder for them."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from glob import glob
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FLAGS = [
    "-std=c11",
    "-g",
    "-O1",
    "-fsanitize=fuzzer,address,undefined",
    "-fno-sanitize-recover=all",
    f"-I{ROOT}/csrc",
]
TARGETS = {
    "trace": ("csrc/base", "csrc/host", "csrc/table", "csrc/etl"),
    "unpack": ("csrc/base", "csrc/host", "csrc/etl"),
}
#: The longest input tried: two buffers of the usual size, and room for what follows.
LONGEST = {"trace": 150_000, "unpack": 20_000}


def build(clang: str, target: str, output: Path) -> None:
    files = [str(HERE / f"fuzz_{target}.c")]
    for folder in TARGETS[target]:
        files += [f for f in sorted(glob(f"{ROOT}/{folder}/*.c")) if not f.endswith("_win32.c")]
    if target == "unpack":
        wanted = ("/unpack.c", "/lznt1.c", "/xpress.c", "/xpress_huffman.c")
        files = [f for f in files if "/csrc/etl/" not in f or f.endswith(wanted)]
    subprocess.run([clang, *FLAGS, *files, "-lpthread", "-o", str(output)], check=True)


def run(target: str, program: Path, work: Path, arguments: argparse.Namespace) -> bool:
    found = Path(arguments.keep) / target if arguments.keep else work / f"{target}-found"
    found.mkdir(parents=True, exist_ok=True)
    crashes = work / f"{target}-crash"
    crashes.mkdir()
    command = [str(program), f"-max_total_time={arguments.seconds}", "-timeout=20"]
    command += ["-rss_limit_mb=2048", f"-max_len={LONGEST[target]}", "-print_final_stats=1"]
    command += [f"-artifact_prefix={crashes}/", str(found), str(HERE / "corpus" / target)]
    if target == "trace" and arguments.more:
        command.append(arguments.more)
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    print(target, *done.stderr.splitlines()[-12:], sep="\n  ")
    if done.returncode:
        print(done.stderr)
        for path in crashes.iterdir():
            kept = Path(tempfile.gettempdir()) / path.name
            shutil.copy(path, kept)
            print(f"{target}: the input is at {kept}")
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--target", choices=sorted(TARGETS), action="append")
    parser.add_argument("--keep", help="folder for the inputs found on the way")
    parser.add_argument("--more", help="folder with more traces to begin with")
    arguments = parser.parse_args()
    clang = shutil.which("clang")
    if not clang:
        print("clang is not here: nothing was run", file=sys.stderr)
        return 3
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as two:

        def attempt(target: str) -> bool:
            program = Path(folder) / target
            build(clang, target, program)
            return run(target, program, Path(folder), arguments)

        sound = list(two.map(attempt, arguments.target or sorted(TARGETS)))
    return 0 if all(sound) else 1


if __name__ == "__main__":
    sys.exit(main())
