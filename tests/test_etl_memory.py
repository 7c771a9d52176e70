"""The trace reader without memory: each allocation failing in turn, once and for ever."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import native
from etlstrategies import make

FEATURES: dict[str, set[str]] = {
    "plain": {"small_buffers", "noise", "inside"},
    "xpress": {"small_buffers", "xpress", "mixed"},
    "huffman": {"small_buffers", "xpress_huffman"},
    "flips": {"small_buffers", "flips", "xpress"},
    "shared": {"small_buffers", "ties"},
}
#: LogFileMode of the files, and its bit that has every lane sorted in a window.
MODE_AT, SHARED = 0x48 + 0x20 + 0x20, 0x10


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = [f for f in native.sources(*native.READER) if not f.endswith("/base/mem.c")]
    output = tmp_path_factory.mktemp("fail") / "etl_fail"
    return native.build(output, "tests/csrc/etl_fail_main.c", *files, flags=native.SANITIZE)


@pytest.mark.parametrize("threads", [0, 2])
def test_every_allocation_failing(program: Path, tmp_path: Path, threads: int) -> None:
    paths = []
    for seed, (name, features) in enumerate(FEATURES.items()):
        for again in range(3):
            path = tmp_path / f"{name}{again}.etl"
            data = bytearray(make(100 * again + seed, 40, features).data)
            data[MODE_AT + 3] |= SHARED if name == "shared" else 0
            path.write_bytes(data)
            paths.append(path)
    command = [program, str(threads), *paths]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stderr == ""
    assert done.returncode == 0, done.stdout
    tried = int(done.stdout.split()[0])
    assert tried > 20 * len(paths)


def test_memory_is_flat(tmp_path: Path) -> None:
    """Sixty-four processors, buffers of 64 KiB: what is held does not grow with the trace."""
    program = native.build(
        tmp_path / "etl_large", "tests/csrc/etl_large_main.c", *native.sources(*native.READER)
    )
    held = []
    for gigabytes in ("1", "3"):
        done = subprocess.run([program, gigabytes], capture_output=True, text=True, timeout=300)
        verdict, events, _, kibibytes, _ = done.stdout.split()
        assert (done.returncode, verdict) == (0, "right:")
        assert int(events) == int(gigabytes) * 16384 * 1022
        held.append(int(kibibytes))
    assert max(held) < 64 * 1024
    # 48 bytes of index for each buffer more, and what the allocator rounds up
    assert held[1] - held[0] < 8 * 1024
