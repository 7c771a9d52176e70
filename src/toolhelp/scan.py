"""One snapshot of the whole machine: processes, threads, and what each process has loaded."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from . import _core
from ._core import Error, Heap, HeapSizes, IdentifiedProcess, Module, Table, Thread
from .heapinfo import TIMEOUT, nanoseconds
from .proctree import Tree

if TYPE_CHECKING:
    from .diff import Diff

__all__ = ["DllUsers", "Error", "IdentifiedProcess", "Snapshot", "snapshot", "tree", "who_uses"]

Errors: TypeAlias = Literal["report", "raise", "ignore"]
Heaps: TypeAlias = bool | Literal["sizes"]


@dataclass(frozen=True)
class DllUsers:
    """Who has a DLL loaded: `modules` are its rows, `errors` the processes that could not be asked
    (each of them may use it, too)."""

    dll: str
    modules: Table[Module]
    errors: Table[Error]

    @property
    def pids(self) -> list[int]:
        """Ids of the processes, each once, in the order of the snapshot."""
        return list(dict.fromkeys(self.modules["pid"]))

    def __len__(self) -> int:
        return len(self.modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self.modules)


@dataclass(frozen=True, repr=False)
class Snapshot:
    """What one call of `snapshot` saw: tables that never change.

    `processes` and `threads` come from one copy of the system's lists, so they agree with each
    other; `modules`, `heaps` and `heap_sizes` are None unless asked for, and were asked of each
    process afterwards. `errors` says of which process what could not be had. `taken_at` is the
    time in UTC.
    """

    processes: Table[Any]
    threads: Table[Thread]
    modules: Table[Module] | None
    heaps: Table[Heap] | None
    heap_sizes: Table[HeapSizes] | None
    errors: Table[Error]
    taken_at: datetime

    def __repr__(self) -> str:
        return (
            f"<Snapshot of {len(self.processes)} processes and {len(self.threads)} threads, "
            f"{self.taken_at:%Y-%m-%d %H:%M:%S} UTC>"
        )

    @property
    def has_identity(self) -> bool:
        """Whether the processes have create_time, path and machine."""
        return "create_time" in self.processes.columns

    def tree(self) -> Tree:
        """The tree of processes. Without identity=True all links are unverified."""
        return Tree(self.processes)

    def who_uses(self, dll: str) -> DllUsers:
        """Processes that have a DLL loaded: by file name, or by full path when `dll` has one;
        upper and lower case are alike, and * and ? stand for any text.

        `ValueError` when the snapshot was taken without modules=True.
        """
        modules = self._with_modules()
        by_path = "\\" in dll or "/" in dll
        column = modules["path" if by_path else "name"]
        wanted = dll.replace("/", "\\").casefold()
        matches = _matcher(wanted)
        codes = {code for code, text in enumerate(column.dictionary) if matches(text.casefold())}
        rows = [row for row, code in enumerate(column.codes) if code in codes]
        return DllUsers(dll, modules.take(rows), self.errors)

    def dll_index(self, by: Literal["name", "path"] = "name") -> dict[str, list[int]]:
        """From every DLL (its name, or its full path, in lower case) to the ids of the processes
        that have it loaded, each once.

        `ValueError` when the snapshot was taken without modules=True.
        """
        modules = self._with_modules()
        column = modules[by]
        names = [text.lower() for text in column.dictionary]
        index: dict[str, dict[int, None]] = {}
        for code, pid in zip(column.codes, modules["pid"], strict=True):
            index.setdefault(names[code], {})[pid] = None
        return {name: list(index[name]) for name in sorted(index)}

    def diff(self, later: Snapshot) -> Diff:
        """What changed from this snapshot to a later one."""
        from .diff import Diff

        return Diff(self, later)

    def save(
        self, path: str | os.PathLike[str], format: Literal["arrow", "compact"] | None = None
    ) -> None:
        """Writes the snapshot to a file that `load_snapshot` reads on any system.

        format: "arrow" (Arrow IPC streams, needs pyarrow), "compact" (our own, needs nothing);
        None takes Arrow where pyarrow is installed. See docs/snapshots.md for both.
        The file appears under its name once it is whole; when that fails, a file that was there
        is as it was. Errors: `OSError`.
        """
        from .store import save

        save(self, path, format)

    def _with_modules(self) -> Table[Module]:
        if self.modules is None:
            raise ValueError("the snapshot has no modules; take it with modules=True")
        return self.modules


def _matcher(wanted: str) -> Callable[[str], bool]:
    if any(sign in wanted for sign in "*?"):
        return lambda text: fnmatch.fnmatchcase(text, wanted.replace("[", "[[]"))
    return lambda text: text == wanted


def snapshot(
    modules: bool = False,
    heaps: Heaps = False,
    identity: bool = False,
    pids: Iterable[int] | None = None,
    errors: Errors = "report",
    allow_injection: bool = False,
    *,
    timeout: float = TIMEOUT,
) -> Snapshot:
    """Processes and threads of the system from one consistent snapshot and, if asked for, what each
    process has: modules, heaps, identity. Processes are asked in parallel without the GIL.

    modules: modules of every process; `identity`: creation time, path and machine as further
    columns of `processes`, None where a process may not be opened; `heaps`: True for the lists,
    "sizes" for the busy blocks by size class as well. `pids`: only these processes are asked; all
    are listed. Heaps of other processes need `allow_injection=True` (see `heaps`), and each query
    ends after `timeout` seconds.

    errors: "report" gives failures as rows of `Snapshot.errors`, so that rows and errors account
    for every process; "raise" raises the first; "ignore" leaves `errors` empty. PIDs 0 and 4 can
    never be asked: they are reported, and raised only when named in `pids`.

    Windows calls: CreateToolhelp32Snapshot once for the system and once per process for modules
    (and heap lists); OpenProcess with limited rights, GetProcessTimes,
    QueryFullProcessImageNameW, IsWow64Process2 for identity; those of `heap_blocks` for sizes.
    Errors: those of `processes`.
    """
    if errors not in ("report", "raise", "ignore"):
        raise ValueError(f"errors must be 'report', 'raise' or 'ignore', not {errors!r}")
    if heaps not in (False, True, "sizes"):
        raise ValueError(f"heaps must be False, True or 'sizes', not {heaps!r}")
    chosen = None if pids is None else list(dict.fromkeys(pids))
    taken_at = datetime.now(UTC)
    (
        process_table,
        thread_table,
        module_table,
        heap_table,
        size_table,
        failures,
    ) = _core.scan(
        modules,
        bool(heaps),
        heaps == "sizes",
        identity,
        chosen,
        allow_injection,
        nanoseconds(timeout),
        0,
        errors == "raise",
    )
    if errors == "ignore":
        failures = failures[:0]
    return Snapshot(
        process_table, thread_table, module_table, heap_table, size_table, failures, taken_at
    )


def tree() -> Tree:
    """The tree of processes as it is now, links checked by creation times.

    Takes `snapshot(identity=True)`; its calls and errors.
    """
    return snapshot(identity=True).tree()


def who_uses(dll: str) -> DllUsers:
    """Processes that have a DLL loaded now (see `Snapshot.who_uses`).

    Takes `snapshot(modules=True)`; its calls and errors.
    """
    return snapshot(modules=True).who_uses(dll)
