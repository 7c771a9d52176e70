"""Snapshots in files that every system reads.

A saved snapshot is a ZIP archive of `meta.json` and one member per table:

    meta.json      {"format": "toolhelp snapshot", "version": 1, "taken_at": "...", "tables":
                    {"processes": {"kind": "Process", "rows": 3, "member": "processes.cols"}, ...}}
    NAME.arrow     the table as an Arrow IPC stream
    NAME.cols      the table in the compact form

The compact form is the bytes `THCOLS1\\n`, the length of a JSON header (uint32), the header, and
then for each column its values, its validity bits and its strings, each as long as the header says.
All numbers are little-endian. The header is {"columns": [{"name": "pid", "values": 12, "valid": 0,
"strings": 0}, ...]}. Values are those of Arrow: 4 bytes for uint32, 8 for uint64 and times (ns
since 1970 UTC), 1 for bool; text is a uint32 number of a string, a label a uint8 number of a word.
Validity bits are those of Arrow; none when no value is missing. Strings are UTF-16: for each its
length in units (uint32), then the units.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import zipfile
import zlib
from array import array
from collections.abc import Callable
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Any, Literal

from . import _core
from ._core import Column, Table
from .errors import CorruptTrace
from .scan import Snapshot
from .writing import whole

if TYPE_CHECKING:
    _Parts = tuple[bytes, bytes | None, tuple[str, ...] | None]

__all__ = ["load_snapshot", "save"]

FORMAT = "toolhelp snapshot"
VERSION = 1
MAGIC = b"THCOLS1\n"

# Names of the tables of a snapshot, and of the kinds that each may be of.
KINDS = {
    "processes": ("Process", "IdentifiedProcess"),
    "threads": ("Thread",),
    "modules": ("Module",),
    "heaps": ("Heap",),
    "heap_sizes": ("HeapSizes",),
    "errors": ("Error",),
}
NEEDED = ("processes", "threads", "errors")

# A file says how large its parts are; these are the largest that are believed.
MOST_BYTES = 1 << 30
MOST_META = 1 << 20

# What reading something else may end in, zipfile's own faults included.
_NOT_ONE = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    EOFError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)

# Fixed, so that equal snapshots make equal files.
_DATE = (1980, 1, 1, 0, 0, 0)


def save(
    snapshot: Snapshot, path: str | os.PathLike[str], format: Literal["arrow", "compact"] | None
) -> None:
    """Writes a snapshot; see `Snapshot.save`."""
    chosen = format or ("arrow" if _has_pyarrow() else "compact")
    if chosen not in ("arrow", "compact"):
        raise ValueError(f"format must be 'arrow' or 'compact', not {format!r}")
    with whole(path) as stream:
        write(snapshot, stream, chosen)


def write(snapshot: Snapshot, stream: IO[bytes], format: str) -> None:
    """Writes a snapshot to a binary stream."""
    ending, pack = ("arrow", _pack_arrow) if format == "arrow" else ("cols", _pack_compact)
    tables: dict[str, dict[str, Any]] = {}
    with zipfile.ZipFile(stream, "w") as archive:
        for name in KINDS:
            table = getattr(snapshot, name)
            if table is None:
                continue
            member = f"{name}.{ending}"
            kind = _kind_of(name, table)
            tables[name] = {"kind": kind, "rows": len(table), "member": member}
            _put(archive, member, pack(table))
        meta = {
            "format": FORMAT,
            "version": VERSION,
            "taken_at": snapshot.taken_at.isoformat(),
            "tables": tables,
        }
        _put(archive, "meta.json", json.dumps(meta, indent=1).encode())


def load_snapshot(path: str | os.PathLike[str]) -> Snapshot:
    """The snapshot in a file that `Snapshot.save` wrote, on any system.

    Errors: `OSError` when the file cannot be read, `CorruptTrace` when it is no snapshot or is
    damaged, `ModuleNotFoundError` when it holds Arrow tables and pyarrow is not installed.
    """
    with open(path, "rb") as stream:
        try:
            return _read(stream)
        except CorruptTrace:
            raise
        except _NOT_ONE as no:
            raise CorruptTrace(f"{os.fspath(path)} is no saved snapshot: {no}") from no


def is_snapshot(path: str) -> bool:
    """Whether there is a file at `path` that looks like a saved snapshot."""
    try:
        with zipfile.ZipFile(path) as archive:
            meta = json.loads(_get(archive, "meta.json", MOST_META))
            return bool(meta.get("format") == FORMAT)
    except (OSError, *_NOT_ONE):
        return False


def _read(stream: IO[bytes]) -> Snapshot:
    with zipfile.ZipFile(stream) as archive:
        meta = json.loads(_get(archive, "meta.json", MOST_META))
        if meta["format"] != FORMAT:
            raise ValueError("it says that it is something else")
        if meta["version"] != VERSION:
            raise ValueError(f"its version is {meta['version']!r}, this toolhelp reads {VERSION}")
        tables: dict[str, Table[Any] | None] = dict.fromkeys(KINDS)
        for name, kinds in KINDS.items():
            facts = meta["tables"].get(name)
            if facts is None:
                if name in NEEDED:
                    raise ValueError(f"it has no {name}")
                continue
            if facts["kind"] not in kinds:
                raise ValueError(f"its {name} are of kind {facts['kind']!r}")
            tables[name] = _table(archive, facts)
        taken_at = datetime.fromisoformat(meta["taken_at"])
    if taken_at.tzinfo is None:
        raise ValueError("its time has no zone")
    return Snapshot(**tables, taken_at=taken_at.astimezone(UTC))  # type: ignore[arg-type]


def _table(archive: zipfile.ZipFile, facts: dict[str, Any]) -> Table[Any]:
    member, kind, rows = facts["member"], facts["kind"], facts["rows"]
    if not isinstance(rows, int) or not 0 <= rows < 1 << 31:
        raise ValueError(f"a table cannot have {rows!r} rows")
    unpack: Callable[[Table[Any], bytes], tuple[_Parts, ...]]
    unpack = _unpack_arrow if member.endswith(".arrow") else _unpack_compact
    data = _get(archive, member, MOST_BYTES)
    return _core.build_table(kind, rows, unpack(empty_table(kind), data))


def empty_table(kind: str) -> Table[Any]:
    """A table of a kind without rows, which knows its columns and their types."""
    for count in range(3, 12):
        with contextlib.suppress(ValueError):
            return _core.build_table(kind, 0, ((b"", None, ()),) * count)
    raise ValueError(f"no table is of kind {kind!r}")


def _kind_of(name: str, table: Table[Any]) -> str:
    for kind in KINDS[name]:
        if empty_table(kind).columns == table.columns:
            return kind
    raise ValueError(f"{name} is not a table of {' or '.join(KINDS[name])}")


def _put(archive: zipfile.ZipFile, member: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(member, _DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, data)


def _get(archive: zipfile.ZipFile, member: str, most: int) -> bytes:
    with archive.open(member) as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise ValueError(f"{member} is larger than {most} bytes")
    return data


# ----- the compact form -----


def _parts(column: Column, rows: int) -> _Parts:
    """Values, validity bits and strings of a column."""
    strings = None
    try:
        values = bytes(column.codes)
        strings = column.dictionary
    except (TypeError, ValueError, AttributeError):
        values = bytes(memoryview(column))
    valid = _pack_bits([value is not None for value in column]) if column.valid else None
    return values, valid, strings


def _pack_bits(flags: list[bool]) -> bytes:
    bits = bytearray((len(flags) + 7) // 8)
    for row, flag in enumerate(flags):
        bits[row >> 3] |= flag << (row & 7)
    return bytes(bits)


def _pack_strings(strings: tuple[str, ...]) -> bytes:
    parts = []
    for text in strings:
        units = text.encode("utf-16-le", "surrogatepass")
        parts += [struct.pack("<I", len(units) // 2), units]
    return b"".join(parts)


def _pack_compact(table: Table[Any]) -> bytes:
    header, parts = [], []
    for name in table.columns:
        values, valid, strings = _parts(table[name], len(table))
        texts = _pack_strings(strings) if table.schema[name] == "text" and strings else b""
        sizes = {"values": len(values), "valid": len(valid or b""), "strings": len(texts)}
        header.append({"name": name, **sizes})
        parts += [values, valid or b"", texts]
    words = json.dumps({"columns": header}).encode()
    return b"".join([MAGIC, struct.pack("<I", len(words)), words, *parts])


class _Bytes:
    """What is left of a file; asking for more than that is an error."""

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)

    def take(self, size: Any) -> bytes:
        if not isinstance(size, int) or not 0 <= size <= len(self._data):
            raise ValueError("a part is longer than the file")
        taken, self._data = self._data[:size], self._data[size:]
        return bytes(taken)

    def __bool__(self) -> bool:
        return len(self._data) > 0


def _unpack_strings(data: bytes) -> tuple[str, ...]:
    left, strings = _Bytes(data), []
    while left:
        (units,) = struct.unpack("<I", left.take(4))
        strings.append(left.take(2 * units).decode("utf-16-le", "surrogatepass"))
    return tuple(strings)


def _unpack_compact(empty: Table[Any], data: bytes) -> tuple[_Parts, ...]:
    left = _Bytes(data)
    if left.take(len(MAGIC)) != MAGIC:
        raise ValueError("a table does not begin as one")
    (size,) = struct.unpack("<I", left.take(4))
    header = json.loads(left.take(size))["columns"]
    if tuple(column["name"] for column in header) != empty.columns:
        raise ValueError("the columns are not those of the kind")
    columns = []
    for column in header:
        values = left.take(column["values"])
        valid = left.take(column["valid"]) or None
        texts = left.take(column["strings"])
        is_text = empty.schema[column["name"]] == "text"
        columns.append((values, valid, _unpack_strings(texts) if is_text else None))
    return tuple(columns)


# ----- Arrow -----


def _has_pyarrow() -> bool:
    from importlib.util import find_spec

    return find_spec("pyarrow") is not None


def _pack_arrow(table: Table[Any]) -> bytes:
    import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]

    rows = pa.table(table)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue())


_CODES = {"uint32": "I", "int32": "i", "uint64": "Q", "bool": "B", "timestamp[ns, UTC]": "q"}


def _unpack_arrow(empty: Table[Any], data: bytes) -> tuple[_Parts, ...]:
    import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]

    try:
        rows = pa.ipc.open_stream(data).read_all()
        rows.validate(full=True)
        if tuple(rows.column_names) != empty.columns:
            raise ValueError("the columns are not those of the kind")
        return tuple(_from_arrow(empty, name, rows[name]) for name in empty.columns)
    except (pa.ArrowException, OSError) as no:
        raise ValueError(str(no)) from no


def _from_arrow(empty: Table[Any], name: str, column: Any) -> _Parts:
    import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]

    kind = empty.schema[name]
    if kind == "timestamp[ns, UTC]":
        column = column.cast(pa.int64())
    values = column.to_pylist()
    valid = _pack_bits([value is not None for value in values]) if None in values else None
    if kind == "text":
        texts = tuple(dict.fromkeys(value for value in values if value is not None))
        places = {text: place for place, text in enumerate(texts)}
        numbers = [0 if value is None else places[value] for value in values]
        return array("I", numbers).tobytes(), valid, texts
    if kind == "label":
        words = {word: code for code, word in enumerate(empty[name].dictionary)}
        numbers = [0 if value is None else words[value] for value in values]
        return array("B", numbers).tobytes(), valid, None
    numbers = [0 if value is None else value for value in values]
    return array(_CODES[kind], numbers).tobytes(), valid, None
