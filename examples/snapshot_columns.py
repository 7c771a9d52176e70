"""One snapshot of this machine: as rows, as columns, as an Arrow schema and as JSON."""

from __future__ import annotations

import json
import os
import sys

import toolhelp as th

SHOWN = 8


def print_table(title: str, table: th.Table, *columns: str, marked: int | None = None) -> None:
    """The first rows of a table; the one of PID `marked` stands out."""
    print(f"\n{title}")
    first = table[:SHOWN]
    texts = []
    for name in columns:
        cells = [name, *(hex(value) if name == "base" else str(value) for value in first[name])]
        width = max(map(len, cells))
        left = table.schema[name] == "text"
        texts.append([cell.ljust(width) if left else cell.rjust(width) for cell in cells])
    for number, line in enumerate(zip(*texts, strict=True)):
        this = number > 0 and marked is not None and first[number - 1].pid == marked
        print("  ".join([">" if this else " ", *line]).rstrip())
    if len(table) > SHOWN:
        print(f"   ... and {len(table) - SHOWN} more")


def busiest_first(processes: th.Table[th.Process], own: int) -> th.Table[th.Process]:
    """This process, then the others by their number of threads."""
    threads = processes["num_threads"]
    pids = processes["pid"]
    order = sorted(range(len(processes)), key=lambda row: (pids[row] != own, -threads[row]))
    return processes.take(order)


def main() -> None:
    own = os.getpid()
    snapshot = th.snapshot(modules=True)
    processes, threads, modules = snapshot.processes, snapshot.threads, snapshot.modules
    print(f"{snapshot!r}; '>' marks this process, PID {own}.")

    ours = threads.take(row for row, pid in enumerate(threads["owner_pid"]) if pid == own)
    busiest = busiest_first(processes, own)
    title = f"{len(processes)} processes, those with most threads first"
    print_table(title, busiest, "pid", "ppid", "name", "num_threads", marked=own)
    title = f"{len(threads)} threads, {len(ours)} of this process"
    print_table(title, ours, "tid", "owner_pid", "base_priority")
    title = f"{len(modules)} modules of this process"
    print_table(title, modules, "base", "size", "name", "path")

    print("\nThe same snapshot by column, no copy made")
    sizes = memoryview(modules["size"])
    print(
        f"  modules['size']: {sizes.format!r} x {len(sizes)}, {sum(sizes) / 2**20:.1f} MiB in all"
    )
    try:
        import numpy
    except ImportError:
        pass
    else:
        array = numpy.asarray(processes["num_threads"])
        print(
            f"  NumPy:  num_threads mean {array.mean():.1f}, largest {array.max()}, {array.dtype}"
        )
    try:
        import pyarrow
    except ImportError:
        fields = ", ".join(f"{name} {kind}" for name, kind in processes.schema.items())
        print(f"  Arrow:  {fields}")
    else:
        print(f"  Arrow:  {pyarrow.table(processes).schema.to_string().replace(chr(10), ', ')}")

    print("\nThe same snapshot as JSON, by row")
    rows = [row for row in processes if row.pid == own]
    json.dump([dict(zip(processes.columns, row, strict=True)) for row in rows], sys.stdout)
    print()


if __name__ == "__main__":
    main()
