"""Plain records that pass between the parts of the reference reader."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


class Corrupt(ValueError):
    """Not a trace, or no use can be made of it; `offset` is the place in the file."""

    def __init__(self, offset: int, why: str) -> None:
        super().__init__(f"{why} (offset {offset})")
        self.offset = offset


@dataclass
class Event:
    header: str  # "SYSTEM64", ...
    raw: int | None  # raw time stamp
    cpu: int
    logger: int
    sequence: int  # of the buffer
    buffer_offset: int
    position: int  # in the (expanded) buffer
    pointer_size: int = 8
    pid: int | None = None
    tid: int | None = None
    hook: int | None = None
    cls: str | None = None
    op: int = 0
    version: int = 0
    payload: bytes = b""
    bad: bool = False  # counted, but its inside is wrong
    full: bool = False  # FULL header: payload width is in doubt
    time_ns: int = 0
    extended: list[tuple[int, bytes]] = field(default_factory=list)


@dataclass
class Buffer:
    offset: int
    sequence: int
    cpu: int
    logger: int
    flags: int
    kind: int
    data: bytes  # expanded, from the buffer's start, at most `limit` bytes
    end: int  # valid end
    cut: bool


@dataclass
class Process:
    pid: int
    ppid: int | None = None
    session_id: int | None = None
    name: str | None = None
    command_line: str | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    exit_status: int | None = None
    wow64: bool | None = None


@dataclass
class Thread:
    tid: int
    pid: int
    start_ns: int | None = None
    end_ns: int | None = None
    start_address: int | None = None


@dataclass
class Module:
    pid: int
    base: int
    size: int | None = None
    path: str | None = None
    load_ns: int | None = None
    unload_ns: int | None = None
    timestamp: int | None = None
    checksum: int | None = None
    pdb_name: str | None = None
    pdb_guid: str | None = None
    pdb_age: int | None = None


@dataclass
class Result:
    info: dict[str, Any]
    heap_events: list[tuple[Any, ...]]
    processes: list[Process]
    threads: list[Thread]
    modules: list[Module]
    volumes: list[tuple[str, str]]
    counters: dict[str, int]
    events: list[Event]  # all, in merged order

    @property
    def quality(self) -> dict[str, Any]:
        return self.info["quality"]  # type: ignore[no-any-return]
