"""heap_blocks against a bare HeapWalk loop, in one run, on real heaps: under Wine, or on Windows.

    python benchmarks/bench_heap.py              on Linux: builds what is needed, runs under Wine
    python benchmarks/bench_heap.py DLL          on Windows; DLL: csrc/bare_heap.c, built

Prints, for each number of blocks, the best times of both and their ratio (target: at most 1.3).
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COUNTS = (100_000, 200_000, 400_000, 800_000)
ROUNDS = 7


def measure(dll: str) -> None:
    import ctypes

    import toolhelp as th

    bare = ctypes.CDLL(dll).bare_heap_walk
    bare.restype, bare.argtypes = ctypes.c_uint64, [ctypes.c_void_p]
    kernel = ctypes.WinDLL("kernel32")
    kernel.HeapCreate.restype = ctypes.c_void_p
    kernel.HeapAlloc.restype = ctypes.c_void_p
    kernel.HeapAlloc.argtypes = [ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t]
    heap = kernel.HeapCreate(0, 0, 0)
    made = 0
    print("blocks    bare, ms    heap_blocks, ms    ratio")
    for count in COUNTS:
        for _ in range(count - made):
            kernel.HeapAlloc(heap, 0, 2)
        made = count
        assert len(th.heap_blocks(heap)) == bare(heap) >= count
        best = [float("inf"), float("inf")]
        for _ in range(ROUNDS):
            for place, call in enumerate((bare, th.heap_blocks)):
                started = time.perf_counter()
                call(heap)
                best[place] = min(best[place], time.perf_counter() - started)
        a, b = best
        print(f"{count:>7}  {a * 1e3:>8.1f}  {b * 1e3:>15.1f}  {b / a:>9.2f}", flush=True)


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
