"""Processes, threads and modules folded from their events (section 7 of the agreement)."""

from __future__ import annotations

from typing import Any

from . import payloads
from .model import Event, Module, Process, Thread

_START, _END, _DC_START, _DC_END = 1, 2, 3, 4


def _complete(row: Any, **values: Any) -> None:
    for name, value in values.items():
        if getattr(row, name) in (None, ""):
            setattr(row, name, value)


class _Fold:
    """Rows of one class: key -> rows, and all of them in order."""

    def __init__(self, start: str, end: str) -> None:
        self.rows: list[Any] = []
        self.by_key: dict[Any, list[Any]] = {}
        self.start, self.end = start, end

    def open(self, key: Any) -> Any | None:
        rows = self.by_key.get(key)
        return rows[-1] if rows and getattr(rows[-1], self.end) is None else None

    def event(self, key: Any, op: int, time: int, new: Any, **values: Any) -> Any:
        row = self.open(key)
        if op == _START and row is not None:
            setattr(row, self.end, time)
            row = None
        if row is None:
            row = new
            self.rows.append(row)
            self.by_key.setdefault(key, []).append(row)
            if op == _START:
                setattr(row, self.start, time)
        _complete(row, **values)
        if op == _END:
            setattr(row, self.end, time)
        return row


class Entities:
    """Fed with events in merged order; `add` returns False for a bad payload."""

    def __init__(self) -> None:
        self.processes = _Fold("start_ns", "end_ns")
        self.threads = _Fold("start_ns", "end_ns")
        self.modules = _Fold("load_ns", "unload_ns")
        self.volumes: list[tuple[str, str]] = []
        self._ids: list[tuple[tuple[int, int], int, dict[str, Any]]] = []
        self._first_seen: dict[int, int] = {}  # id of a module row: raw time

    def add(self, event: Event) -> bool:
        method = {
            "Process": self._process,
            "Thread": self._thread,
            "Image": self._image,
            "ImageID": self._image_id,
            "SysConfigEx": self._volume,
        }[event.cls or ""]
        return method(event)

    def _process(self, event: Event) -> bool:
        if event.op not in (_START, _END, _DC_START, _DC_END):
            return True
        row = payloads.process(event)
        if row is None:
            return False
        if event.op in (_START, _END):
            for (pid, _), modules in self.modules.by_key.items():
                if pid == row.pid and modules[-1].unload_ns is None:
                    modules[-1].unload_ns = event.time_ns
        self.processes.event(
            row.pid,
            event.op,
            event.time_ns,
            Process(row.pid),
            ppid=row.ppid,
            session_id=row.session_id,
            name=row.name,
            command_line=row.command_line,
            wow64=row.wow64,
            exit_status=row.exit_status if event.op == _END else None,
        )
        return True

    def _thread(self, event: Event) -> bool:
        if event.op not in (_START, _END, _DC_START, _DC_END) or event.version < 2:
            return True
        row = payloads.thread(event)
        if row is None:
            return False
        pid, tid, address = row
        self.threads.event(tid, event.op, event.time_ns, Thread(tid, pid), start_address=address)
        return True

    def _image(self, event: Event) -> bool:
        op = {10: _START, 2: _END, 3: _DC_START, 4: _DC_END}.get(event.op)
        if op is None:
            return True
        row = payloads.image(event)
        if row is None:
            return False
        key = row.pid, row.base
        module = self.modules.event(
            key,
            op,
            event.time_ns,
            Module(row.pid, row.base),
            size=row.size,
            path=row.path,
            checksum=row.checksum,
            timestamp=row.timestamp,
        )
        assert event.raw is not None
        self._first_seen.setdefault(id(module), event.raw)
        return True

    def _image_id(self, event: Event) -> bool:
        values: dict[str, Any]
        if event.op == 36:
            found = payloads.debug_id(event)
            if found is None:
                return False
            pid, base, guid, age, name = found
            values = {"pdb_guid": guid, "pdb_age": age, "pdb_name": name}
        elif event.op == 0:
            info = payloads.image_info(event)
            if info is None:
                return False
            pid, base, stamp = info
            values = {"timestamp": stamp}
        else:
            return True
        assert event.raw is not None
        self._ids.append(((pid, base), event.raw, values))
        return True

    def _volume(self, event: Event) -> bool:
        if event.op == 35:
            nt, at, _ = payloads.utf16(event.payload, 0)
            dos, _, _ = payloads.utf16(event.payload, at)
            self.volumes.append((nt, dos))
        return True

    def finish(self) -> None:
        """Gives the ImageID events to their modules."""
        for key, raw, values in self._ids:
            rows = self.modules.by_key.get(key)
            if not rows:
                continue
            before = [row for row in rows if self._first_seen[id(row)] <= raw]
            row = before[-1] if before else rows[0]
            if "timestamp" in values:
                row.timestamp = row.timestamp or values["timestamp"]
            elif row.pdb_guid is None:
                _complete(row, **values)
