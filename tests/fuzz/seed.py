"""Writes the first files of the corpora: small synthetic traces and packed buffers.

    python tests/fuzz/seed.py

Always the same bytes, so that running it again changes nothing."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from etlmaker import pack  # noqa: E402
from etlstrategies import FAULTS, MODELLED, make  # noqa: E402
from plaintraces import plain  # noqa: E402

ALONE = [f for f in MODELLED if f not in ("small_buffers", "circular")]


def write(folder: str, name: str, data: bytes) -> None:
    path = HERE / "corpus" / folder
    path.mkdir(parents=True, exist_ok=True)
    (path / name).write_bytes(data)


def main() -> None:
    small = {"small_buffers"}
    for number, feature in enumerate([*ALONE, *FAULTS]):
        write("trace", f"{feature}.etl", make(number, 6, small | {feature}).data)
    write("trace", "many.etl", make(1, 25, small | {"entities", "stacks", "keys", "noise"}).data)
    write("trace", "ties.etl", make(2, 20, small | {"ties", "xpress"}).data)
    for name, cpus, burst in (("plain", 1, 1), ("bursts", 3, 20)):
        trace = plain(1, 25 * burst if burst > 1 else 40, cpus, 12, burst=burst)
        trace.buffer_size = 0x1000
        write("trace", f"{name}.etl", trace.to_bytes())
    text = b"".join(bytes([i % 7, 0, i % 3, 0, 2, 192]) * (i % 5) for i in range(400))
    packers = {2: pack.lznt1, 3: pack.xpress, 4: pack.xpress_huffman}
    for number, packer in packers.items():
        for size in (0, 1, 300, len(text)):
            head = struct.pack("<BH", number - 2, size)
            write("unpack", f"{number}-{size}.bin", head + packer(text[:size]))


if __name__ == "__main__":
    main()
