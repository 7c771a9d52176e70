"""What is noted beside a heap trace: modules, processes and heaps of the traced processes.

A heap session has no events of processes and modules, so a trace alone knows addresses only. While
it is recorded the modules of the traced processes are looked up at the start, now and then, and at
the end, and written beside it as `<trace>.modules.json`:

    {"format": "toolhelp.modules", "version": 1,
     "clock": {"type": 1, "frequency": 10000000},
     "points": [{"raw": 81234, "utc": "2026-01-01T00:00:00.000000Z"}, ...],
     "processes": [{"pid", "name", "path", "created", "exited", "bits", "default_heap",
                    "first_raw", "last_raw"}, ...],
     "modules": [{"pid", "base", "size", "name", "path", "first_raw", "last_raw",
                  "timestamp", "pdb_name", "pdb_guid", "pdb_age"}, ...],
     "errors": [{"pid", "function", "winerror"}, ...]}

`raw` values are ticks of the clock that stamps the events; `created` and `exited` are FILETIMEs
(100 ns since 1601 UTC); `first_raw` and `last_raw` are the points at which something was first and
last seen. Values that are not known are null.
"""

from __future__ import annotations

import json
import os
import re
import struct
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from . import _core
from .errors import CorruptTrace, ToolhelpError
from .writing import whole

__all__ = ["Sidecar", "SidecarModule", "SidecarProcess", "pdb_identity", "sidecar_path"]

FORMAT = "toolhelp.modules"
VERSION = 1
MAX_BYTES = 256 << 20
_WIDE = {0x8664, 0xAA64}


def sidecar_path(trace: str | os.PathLike[str]) -> Path:
    """Where the notes of a trace are."""
    return Path(f"{os.fspath(trace)}.modules.json")


@dataclass
class SidecarProcess:
    """A traced process; see the module's text for units."""

    pid: int
    name: str | None
    path: str | None
    created: int | None
    exited: int | None
    bits: int | None
    default_heap: int | None
    first_raw: int
    last_raw: int


@dataclass
class SidecarModule:
    """A module of a traced process; see the module's text for units."""

    pid: int
    base: int
    size: int
    name: str
    path: str
    first_raw: int
    last_raw: int
    timestamp: int | None = None
    pdb_name: str | None = None
    pdb_guid: str | None = None
    pdb_age: int | None = None


@dataclass
class Sidecar:
    """Notes of one trace. `take` adds a point; `write` and `read` are the file."""

    clock: int = 1
    frequency: int = 0
    points: list[dict[str, Any]] = field(default_factory=list)
    processes: list[SidecarProcess] = field(default_factory=list)
    modules: list[SidecarModule] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    companion: str | None = None
    """File name of the companion that was recorded with the trace."""

    def take(self, pids: Iterable[int]) -> None:
        """Look at each process now. What cannot be read becomes a row of `errors`, once."""
        raw, self.frequency = _core.raw_clock(self.clock)
        utc = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        self.points.append({"raw": raw, "utc": utc})
        for pid in dict.fromkeys(pids):
            if pid:
                self._take_process(pid, raw)

    def _take_process(self, pid: int, raw: int) -> None:
        try:
            created, exited, machine, native, heap = _core.process_facts(pid)
        except ToolhelpError as error:
            self._fail(error, pid)
            return
        known = self._process(pid, created, raw)
        known.exited = exited
        kind = machine or native
        known.bits = None if not kind else 64 if kind in _WIDE else 32
        if heap is not None:
            known.default_heap = heap
        if exited is not None:
            return
        known.last_raw = raw
        try:
            rows = _core.modules(pid)
        except ToolhelpError as error:
            self._fail(error, pid)
            return
        seen = {(m.base, m.path): m for m in self.modules if m.pid == pid}
        for index, row in enumerate(rows):
            if index == 0:
                known.name, known.path = row.name, row.path
            module = seen.get((row.base, row.path))
            if module is None:
                module = SidecarModule(pid, row.base, row.size, row.name, row.path, raw, raw)
                identity = pdb_identity(row.path)
                if identity:
                    module.timestamp = identity.timestamp
                    module.pdb_name = identity.pdb_name
                    module.pdb_guid = identity.pdb_guid
                    module.pdb_age = identity.pdb_age
                self.modules.append(module)
            module.last_raw = raw

    def _process(self, pid: int, created: int, raw: int) -> SidecarProcess:
        for known in self.processes:
            if known.pid == pid and known.created == created:
                return known
        made = SidecarProcess(pid, None, None, created, None, None, None, raw, raw)
        self.processes.append(made)
        return made

    def _fail(self, error: ToolhelpError, pid: int) -> None:
        row = {"pid": pid, "function": error.function, "winerror": error.winerror}
        if row not in self.errors:
            self.errors.append(row)

    def notes(self) -> list[Note]:
        """The same as events of processes and images, for the decoder: in the order of time.

        A module that was there at the first look at its process was there before; one that came
        later came after the look before; one that was gone went when it was first missed.
        """
        looks = sorted(point["raw"] for point in self.points)
        found: list[Note] = []
        for process in self.processes:
            found.append(_process_note(process.first_raw, 3, process))
            end = self._raw_of(process.exited)
            if end is not None:
                found.append(_process_note(end, 2, process))
        first_look = {
            pid: min(p.first_raw for p in self.processes if p.pid == pid)
            for pid in {process.pid for process in self.processes}
        }
        last_look = {
            pid: max(p.last_raw for p in self.processes if p.pid == pid) for pid in first_look
        }
        for module in self.modules:
            pid, came = module.pid, module.first_raw
            if came <= first_look.get(pid, came):
                found.append(_image_note(came, _IMAGE_THERE, module))
            else:
                came = max((look for look in looks if look < came), default=came)
                found.append(_image_note(came, _IMAGE_LOAD, module))
            if module.pdb_guid and module.pdb_name and module.pdb_age is not None:
                found.append(_identity_note(came, module))
            if module.last_raw < last_look.get(pid, module.last_raw):
                gone = min(look for look in looks if look > module.last_raw)
                found.append(_image_note(gone, _IMAGE_UNLOAD, module))
        # At equal times a process comes before its modules.
        found.sort(key=lambda note: (note[0], note[1] not in (_PROCESS_END, _PROCESS_THERE)))
        return found

    def additions(self) -> list[Note]:
        """What the notes add to a recording with events of processes and images of its own.

        Those say when something came and went; the notes say that it was there when last seen, and
        how symbol servers know it.
        """
        found = [_process_note(process.first_raw, 3, process) for process in self.processes]
        for module in self.modules:
            found.append(_image_note(module.last_raw, _IMAGE_THERE, module))
            if module.pdb_guid and module.pdb_name and module.pdb_age is not None:
                found.append(_identity_note(module.last_raw, module))
        found.sort(key=lambda note: (note[0], note[1] != _PROCESS_THERE))
        return found

    def fresh(self, told: set[Note], companion: bool) -> list[Note]:
        """The notes of a live trace that were not told before; `companion`: one tells the rest."""
        if not companion:
            return [note for note in self.notes() if note not in told]
        known = {note[1:] for note in told}
        return [note for note in self.additions() if note[1:] not in known]

    def _raw_of(self, filetime: int | None) -> int | None:
        """The clock at a FILETIME, with a margin for what the two clocks disagree by."""
        if filetime is None or not self.points or self.frequency <= 0:
            return None
        moment = _UNIX + timedelta(microseconds=(filetime - _UNIX_FILETIME) // 10)
        nearest = min(
            self.points, key=lambda point: abs((_utc(point["utc"]) - moment).total_seconds())
        )
        distance = moment - _utc(nearest["utc"]) + _MARGIN
        return int(nearest["raw"] + distance / timedelta(seconds=1) * self.frequency)

    def to_dict(self) -> dict[str, Any]:
        """As the file has it."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "clock": {"type": self.clock, "frequency": self.frequency},
            "points": self.points,
            "processes": [asdict(process) for process in self.processes],
            "modules": [asdict(module) for module in self.modules],
            "errors": self.errors,
            **({"companion": self.companion} if self.companion else {}),
        }

    def write(self, path: str | os.PathLike[str]) -> None:
        """Beside, then renamed: a reader never sees half of it."""
        text = json.dumps(self.to_dict(), ensure_ascii=True, indent=1)
        with whole(path, "w", "ascii") as file:
            file.write(text)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Sidecar:
        """Read such a file. `CorruptTrace` when it is none, or of a later version."""
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise CorruptTrace(f"{os.fspath(path)} is too large to be the notes of a trace")
        try:
            return cls._from_json(json.loads(data))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, CorruptTrace):
                raise
            reason = f"{os.fspath(path)} is not a toolhelp.modules file: {error}"
            raise CorruptTrace(reason) from None

    @classmethod
    def _from_json(cls, found: Any) -> Sidecar:
        if found["format"] != FORMAT:
            raise CorruptTrace(f"the notes of a trace have format {FORMAT!r}")
        if found["version"] != VERSION:
            raise CorruptTrace(f"notes of version {found['version']!r} need a newer toolhelp")
        return cls(
            clock=_number(found["clock"]["type"]),
            frequency=_number(found["clock"]["frequency"]),
            points=[_point(point) for point in found["points"]],
            processes=[_row(SidecarProcess, row) for row in found["processes"]],
            modules=[_row(SidecarModule, row) for row in found["modules"]],
            errors=[dict(row) for row in found["errors"]],
            companion=_file_name(found.get("companion")),
        )


# ----- as events --------------------------------------------------------------------------------

Note: TypeAlias = tuple[int, "int | bytes", int, int, bytes]

_UNIX = datetime(1970, 1, 1, tzinfo=UTC)
_UNIX_FILETIME = 116_444_736_000_000_000
_MARGIN = timedelta(milliseconds=100)
_PROCESS_END, _PROCESS_THERE = 0x0302, 0x0303
_IMAGE_LOAD, _IMAGE_UNLOAD, _IMAGE_THERE = 0x030A, 0x1402, 0x1403
#: b3e675d7-2554-4f18-830b-2762732560de, with opcode 36: the RSDS record of an image.
_IMAGE_ID = struct.pack("<IHH", 0xB3E675D7, 0x2554, 0x4F18) + bytes.fromhex("830b2762732560de")
_RSDS = 36


def _utc(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _wide(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass") + b"\0\0"


def _process_note(raw: int, opcode: int, process: SidecarProcess) -> Note:
    name = (process.name or "").encode("utf-8", "replace") + b"\0"
    payload = struct.pack("<QQI", process.pid, 0, 0) + name  # version 0: no more than is known
    return raw, 0x0300 | opcode, 0, process.pid, payload


def _image_note(raw: int, hook: int, module: SidecarModule) -> Note:
    head = struct.pack(
        "<QQIII", module.base, module.size, module.pid, 0, module.timestamp or 0
    ).ljust(56, b"\0")
    return raw, hook, 2, module.pid, head + _wide(module.path)


def _identity_note(raw: int, module: SidecarModule) -> Note:
    text = module.pdb_guid or ""
    guid = struct.pack("<IHH", int(text[:8], 16), int(text[8:12], 16), int(text[12:16], 16))
    guid += bytes.fromhex(text[16:32])
    payload = struct.pack("<QI", module.base, module.pid) + guid
    payload += struct.pack("<I", module.pdb_age or 0) + (module.pdb_name or "").encode() + b"\0"
    return raw, _IMAGE_ID, _RSDS, module.pid, payload


def _number(value: Any) -> int:
    if type(value) is not int or not -(2**63) <= value < 2**64:
        raise ValueError(f"{value!r} is not a number of 64 bits")
    return value


def _file_name(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not value or re.search(r"[/\\:\0]", value):
        raise ValueError(f"{value!r} is not the name of a file")
    return value


def _point(point: dict[str, Any]) -> dict[str, Any]:
    if _utc(point["utc"]).tzinfo is None:
        raise ValueError(f"{point['utc']} has no time zone")
    return {"raw": _number(point["raw"]), "utc": point["utc"]}


_TEXTS = {"name", "path", "pdb_name", "pdb_guid"}


def _row(kind: Any, row: dict[str, Any]) -> Any:
    made = kind(**row)
    for name, value in vars(made).items():
        optional = kind is SidecarProcess or name.startswith(("pdb_", "timestamp"))
        if value is None and optional and name not in ("pid", "first_raw", "last_raw"):
            continue
        if name in _TEXTS:
            if not isinstance(value, str):
                raise ValueError(f"{name} is a text, not {value!r}")
        else:
            _number(value)
    if kind is SidecarModule and made.pdb_guid is not None:
        if not re.fullmatch("[0-9A-F]{32}", made.pdb_guid):
            raise ValueError(f"{made.pdb_guid!r} is no GUID")
        if made.pdb_age is not None and not 0 <= made.pdb_age < 2**32:
            raise ValueError("a PDB's age is a number of 32 bits")
    limits = {"pid": 2**32, "timestamp": 2**32, "base": 2**64, "size": 2**64}
    for name, limit in limits.items():
        value = getattr(made, name, None)
        if value is not None and not 0 <= value < limit:
            raise ValueError(f"{name} is out of range: {value}")
    if not -(2**63) <= made.first_raw <= made.last_raw < 2**63:
        raise ValueError("first_raw and last_raw are in order, and of 63 bits")
    if any(len(value) > 30000 for value in vars(made).values() if isinstance(value, str)):
        raise ValueError("a text is too long")
    return made


# ----- identity of an image ---------------------------------------------------------------------


@dataclass(frozen=True)
class ImageIdentity:
    """How symbol servers know an image. `pdb_guid`: upper-case hex without dashes."""

    timestamp: int
    size: int
    pdb_name: str | None
    pdb_guid: str | None
    pdb_age: int | None


def pdb_identity(path: str | os.PathLike[str]) -> ImageIdentity | None:
    """Time stamp, size, and the RSDS record of a PE file; None when it cannot be read."""
    try:
        with open(path, "rb") as file:
            return _identity(file)
    except (OSError, struct.error, ValueError):
        return None


def _identity(file: Any) -> ImageIdentity | None:
    head = file.read(0x1000)
    if head[:2] != b"MZ":
        return None
    (pe,) = struct.unpack_from("<I", head, 0x3C)
    file.seek(pe)
    head = file.read(0x1000)
    if head[:4] != b"PE\0\0":
        return None
    sections, timestamp = struct.unpack_from("<HI", head, 6)
    (optional_size,) = struct.unpack_from("<H", head, 20)
    (magic,) = struct.unpack_from("<H", head, 24)
    (size,) = struct.unpack_from("<I", head, 24 + 56)
    directory = 24 + (112 if magic == 0x20B else 96) + 6 * 8
    debug_rva, debug_size = struct.unpack_from("<II", head, directory)
    plain = ImageIdentity(timestamp, size, None, None, None)
    table = 24 + optional_size
    for number in range(min(sections, 96)):
        rva, raw_size, raw = struct.unpack_from("<III", head, table + 40 * number + 12)
        if rva <= debug_rva < rva + raw_size:
            return _debug_directory(file, raw + debug_rva - rva, debug_size, plain)
    return plain


def _debug_directory(file: Any, at: int, size: int, plain: ImageIdentity) -> ImageIdentity:
    file.seek(at)
    entries = file.read(min(size, 28 * 64))
    for offset in range(0, len(entries) - 27, 28):
        kind, data_size, _, pointer = struct.unpack_from("<IIII", entries, offset + 12)
        if kind != 2 or data_size < 25:
            continue
        file.seek(pointer)
        data = file.read(min(data_size, 0x1000))
        if data[:4] != b"RSDS":
            continue
        first, second, third = struct.unpack_from("<IHH", data, 4)
        guid = f"{first:08X}{second:04X}{third:04X}{data[12:20].hex().upper()}"
        (age,) = struct.unpack_from("<I", data, 20)
        name = data[24:].split(b"\0")[0].decode("utf-8", "replace")
        return ImageIdentity(plain.timestamp, plain.size, name, guid, age)
    return plain
