"""Writes synthetic .etl files for tests and benchmarks.

    trace = Trace(cpus=2)
    trace.heap_create(2000, 0, pid=10, tid=11, heap=0x10000)
    trace.heap_alloc(2010, 0, 10, 11, 0x10000, 64, 0x20000, stack=(0x7FF1, 0x7FF2))
    data = trace.to_bytes(compression="xpress", shuffle=1)

Times are raw clock ticks. These files show that a reader understands the format as it is described;
they are no proof of what Windows writes. `etlmaker.large` makes big files fast.
"""

from .buffers import BUFFER_HEADER, buffer_bytes
from .trace import Trace

__all__ = ["BUFFER_HEADER", "Trace", "buffer_bytes"]
