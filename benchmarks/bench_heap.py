"""heap_blocks against a bare HeapWalk loop, in one run, on real heaps: under Wine, or on Windows.

    python benchmarks/bench_heap.py              on Linux: builds what is needed, runs under Wine
    python benchmarks/bench_heap.py DLL          on Windows; DLL: csrc/bare_heap.c, built

Prints, for each number of blocks, the best times, and how many times as long heap_blocks takes as a
bare loop that only counts the entries (counted), as one that keeps them in an array (kept), and as
one that keeps the 16 bytes of them that say something (packed). Target: at most 1.3.
"""

from __future__ import annotations

import subprocess
import sys
import time
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COUNTS = (100_000, 200_000, 400_000, 800_000)
ROUNDS = 25


def measure(dll: str) -> None:
    import ctypes

    import toolhelp as th

    library = ctypes.CDLL(dll)
    count_all, *keepers = (library[f"bare_heap_{name}"] for name in ("count", "keep", "pack"))
    pointer, number = ctypes.c_void_p, ctypes.c_uint64
    count_all.restype, count_all.argtypes = number, [pointer]
    for keep in keepers:
        keep.restype, keep.argtypes = number, [pointer, number]
    kernel = ctypes.WinDLL("kernel32")
    kernel.HeapCreate.restype = ctypes.c_void_p
    kernel.HeapAlloc.restype = ctypes.c_void_p
    kernel.HeapAlloc.argtypes = [ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t]
    heap = kernel.HeapCreate(0, 0, 0)
    made = 0
    print("           milliseconds                              heap_blocks as a multiple of")
    print(" blocks  counted     kept   packed  heap_blocks    counted     kept   packed")
    for count in COUNTS:
        for _ in range(count - made):
            kernel.HeapAlloc(heap, 0, 2)
        made = count
        rows = count_all(heap)
        assert len(th.heap_blocks(heap)) == rows >= count
        assert [keep(heap, rows + 1) for keep in keepers] == [rows, rows]
        calls = [
            partial(count_all, heap),
            *(partial(keep, heap, rows + 1) for keep in keepers),
            partial(th.heap_blocks, heap),
        ]
        best = [float("inf")] * len(calls)
        for _ in range(ROUNDS):
            for place, call in enumerate(calls):
                started = time.perf_counter()
                call()
                best[place] = min(best[place], time.perf_counter() - started)
        *bare, ours = best
        times = "".join(f"{seconds * 1e3:>9.1f}" for seconds in bare)
        multiples = "".join(f"{ours / seconds:>9.2f}" for seconds in bare)
        print(f"{count:>7}{times}{ours * 1e3:>13.1f}  {multiples}", flush=True)


def under_wine() -> int:
    sys.path.insert(0, str(ROOT / "tests"))
    from wine import loader, mingw

    folder = ROOT / "tests" / "_build" / "bench-heap"
    folder.mkdir(parents=True, exist_ok=True)
    dll = folder / "bare_heap.dll"
    mingw.tool("gcc", "-O2", "-shared", ROOT / "benchmarks" / "csrc" / "bare_heap.c", "-o", dll)
    run = [sys.executable, str(ROOT / "tests" / "wine" / "run.py"), __file__]
    return subprocess.run([*run, loader.windows_path(dll)], check=False).returncode


if __name__ == "__main__":
    if sys.platform == "win32":
        measure(sys.argv[1])
    else:
        sys.exit(under_wine())
