"""Where the bytes of a trace come from: files, memory, streams, archives."""

from __future__ import annotations

import fnmatch
import gzip
import io
import os
import sys
import tempfile
import threading
import zipfile
import zlib
from collections.abc import Callable, Sequence
from typing import IO, Any, Protocol, TypeAlias, cast
from xml.etree import ElementTree

from . import _core
from .errors import CorruptTrace

__all__ = ["MAX_EXPAND", "Opened", "TraceInput", "companion_name", "open_input"]

MAX_EXPAND = 64 << 30
"""Bytes that an archive may expand to, unless told otherwise."""

MAX_RATIO = 1000
"""Times its own size that an archive may expand to: traces do not pack better than that."""

_CHUNK = 1 << 20
_METADATA = "metadata.xml"
_METADATA_MAX = 16 << 20
_ETL_RESOURCE = "DiagnosticsHub.Resource.EtlFile"


class _BinaryFile(Protocol):
    def read(self, size: int = -1, /) -> bytes | None: ...


TraceInput: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview | _BinaryFile"


class Opened:
    """The bytes of one file, ready to be read: the core's source, and what they are called.

    `identity` is equal for what was opened from the same file; None: not known. `chosen`: it is a
    member of an archive that may hold several.
    """

    chosen = False

    def __init__(self, source: Any, name: str | None, identity: object = None) -> None:
        self.source = source
        self.name = name
        self.identity = identity
        self.size: int = _core.trace_source_size(source)


class _File:
    """An open descriptor that is closed with the last user of it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)
        self._close: Callable[[int], None] = os.close
        self.descriptor = -1
        self.descriptor = os.open(path, flags | getattr(os, "O_CLOEXEC", 0))
        if os.path.isdir(path):  # Linux opens directories, too
            raise IsADirectoryError(21, os.strerror(21), os.fspath(path))

    def __del__(self) -> None:
        if self.descriptor >= 0:
            self._close(self.descriptor)
            self.descriptor = -1


class _Temporary:
    """A temporary file that is closed, and with that gone, with the last user of it."""

    def __init__(self) -> None:
        self.file: IO[bytes] = tempfile.TemporaryFile(prefix="toolhelp-")  # noqa: SIM115

    def __del__(self) -> None:
        if hasattr(self, "file"):
            self.file.close()

    def opened(self, name: str | None) -> Opened:
        self.file.flush()
        return Opened(_core.trace_source_file(_handle(self.file.fileno()), self), name)


class _Reader:
    """Positioned reads of a binary file object, from one thread at a time."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._lock = threading.Lock()

    def __call__(self, offset: int, size: int) -> bytes:
        parts = []
        with self._lock:
            self._file.seek(offset)
            while size > 0:
                part = self._file.read(size)
                if not part:
                    break
                parts.append(bytes(part))
                size -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)


def companion_name(name: str) -> str | None:
    """Where the companion of a trace is: `app.companion.etl` beside `app.etl`."""
    stem, suffix = os.path.splitext(name)
    if suffix.lower() != ".etl" or stem.lower().endswith(".companion"):
        return None
    return f"{stem}.companion.etl"


def open_input(
    trace: TraceInput, *, max_expand: int = MAX_EXPAND, members: Sequence[str] = ()
) -> list[Opened]:
    """Open what `open_trace` was given; archives are spooled to temporary files.

    One file, but for archives that hold several traces of one recording.
    """
    if isinstance(trace, (str, os.PathLike)):
        return _open_path(trace, max_expand, members)
    if hasattr(trace, "read"):
        name = getattr(trace, "name", None)
        return _open_file(
            cast("IO[bytes]", trace), name if isinstance(name, str) else None, max_expand, members
        )
    try:
        view = memoryview(cast("bytes", trace)).cast("B")
    except TypeError:
        raise TypeError(
            "a trace is a path, bytes, a contiguous memoryview or a binary file object, "
            f"not {type(trace).__name__}"
        ) from None
    if _kind(bytes(view[:8])):
        return _unpack(io.BytesIO(view), None, len(view), max_expand, members)
    return [Opened(_core.trace_source_memory(view), None)]


def _open_path(
    path: str | os.PathLike[str], max_expand: int, members: Sequence[str]
) -> list[Opened]:
    name = os.fspath(path)
    file = _File(path)
    if not _is_regular(file.descriptor):
        with open(file.descriptor, "rb", closefd=False) as stream:
            return _open_file(stream, name, max_expand, members)
    found = os.fstat(file.descriptor)
    start = _first_bytes(file.descriptor)
    if _kind(start):
        with open(file.descriptor, "rb", closefd=False) as stream:
            opened = _unpack(stream, name, found.st_size, max_expand, members)
        for one in opened:
            one.identity = (found.st_dev, found.st_ino, one.name)
        return opened
    source = _core.trace_source_file(_handle(file.descriptor), file)
    return [Opened(source, name, (found.st_dev, found.st_ino))]


def _is_regular(descriptor: int) -> bool:
    import stat

    return stat.S_ISREG(os.fstat(descriptor).st_mode)


def _first_bytes(descriptor: int) -> bytes:
    start = os.read(descriptor, 8)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return start


def _handle(descriptor: int) -> int:
    if sys.platform == "win32":
        import msvcrt

        return msvcrt.get_osfhandle(descriptor)
    return descriptor


def _open_file(
    file: IO[bytes], name: str | None, max_expand: int, members: Sequence[str]
) -> list[Opened]:
    start = file.read(0)
    if isinstance(start, str):
        raise TypeError("the trace must be opened in binary mode ('rb')")
    try:
        seekable = file.seekable()
    except AttributeError:
        seekable = False
    temporary = None
    if seekable:
        size = file.seek(0, os.SEEK_END)
    else:
        temporary = _Temporary()
        size = _spool(file, temporary.file, max_expand, None)
        file = temporary.file
    file.seek(0)
    start = _read_up_to(file, 8)
    file.seek(0)
    if _kind(start):
        return _unpack(file, name, size, max_expand, members)
    if temporary is not None:
        return [temporary.opened(name)]
    return [Opened(_core.trace_source_reader(_Reader(file), size), name, id(file))]


def _read_up_to(file: IO[bytes], size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = file.read(size - len(data))
        if not part:
            break
        data += part
    return data


def _kind(start: bytes) -> str | None:
    """What sort of archive begins with these bytes; None: not an archive."""
    if start[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return "zip"
    if start[:3] == b"\x1f\x8b\x08":
        return "gzip"
    if start[:4] == b"\x28\xb5\x2f\xfd":
        return "zstd"
    if start[:8] == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
        return "compound"
    return None


def _unpack(
    file: IO[bytes], name: str | None, packed: int, max_expand: int, members: Sequence[str]
) -> list[Opened]:
    kind = _kind(_read_up_to(file, 8))
    file.seek(0)
    if kind == "compound":
        raise CorruptTrace(
            "this is an old .diagsession (a compound file); only those that are ZIP files, "
            "as Visual Studio writes them now, can be read",
            0,
        )
    try:
        if kind == "zip":
            with zipfile.ZipFile(file) as archive:
                return _unpack_members(archive, name, max_expand, members)
        temporary = _Temporary()
        if kind == "gzip":
            with gzip.GzipFile(fileobj=file) as stream:
                _spool(cast("IO[bytes]", stream), temporary.file, max_expand, packed)
        else:
            zstd = _zstd()
            with zstd.ZstdFile(file) as stream:
                _spool(stream, temporary.file, max_expand, packed)
    except (zipfile.BadZipFile, zlib.error, EOFError, gzip.BadGzipFile) as error:
        raise CorruptTrace(f"the archive is damaged: {error}") from error
    except RuntimeError as error:  # zipfile: encrypted
        raise CorruptTrace(f"the archive cannot be read: {error}") from error
    except Exception as error:
        if type(error).__name__ == "ZstdError":
            raise CorruptTrace(f"the archive is damaged: {error}") from error
        raise
    return [temporary.opened(name)]


def _unpack_members(
    archive: zipfile.ZipFile, name: str | None, max_expand: int, members: Sequence[str]
) -> list[Opened]:
    opened: list[Opened] = []
    for chosen in _choose(archive, members):
        temporary = _Temporary()
        before = sum(one.size for one in opened)
        with archive.open(chosen) as stream:
            _spool(stream, temporary.file, max_expand, max(chosen.compress_size, 1), before)
        opened.append(temporary.opened(f"{name}!{chosen.filename}" if name else chosen.filename))
        opened[-1].chosen = True
    return opened


def _zstd() -> Any:
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        try:
            from backports import zstd  # type: ignore[import-not-found, unused-ignore, no-redef]
        except ImportError:
            raise ModuleNotFoundError(
                "reading .zst needs Python 3.14, or: pip install 'toolhelp[zstd]'"
            ) from None
    return zstd


def _spool(
    stream: IO[bytes], to: IO[bytes], max_expand: int, packed: int | None, before: int = 0
) -> int:
    """Copy a stream, up to the ceiling; `packed`: bytes it was packed into, `before`: what others
    of the archive took of the ceiling."""
    size = 0
    while chunk := stream.read(_CHUNK):
        size += len(chunk)
        if before + size > max_expand:
            raise CorruptTrace(
                f"the input expands to more than {max_expand:,} bytes (the --max-expand ceiling)"
            )
        if packed is not None and size > max(packed * MAX_RATIO, _CHUNK):
            raise CorruptTrace(
                f"the archive expands to more than {MAX_RATIO:,} times its size: not a trace"
            )
        to.write(chunk)
    return size


def _choose(archive: zipfile.ZipFile, members: Sequence[str]) -> list[zipfile.ZipInfo]:
    """The traces of a ZIP file that are to be read as one recording."""
    files = [item for item in archive.infolist() if not item.is_dir()]
    traces = [item for item in files if item.filename.lower().endswith(".etl")]
    if members:
        return _named(files, traces, members)
    found = _diagsession_traces(archive, files)
    if found:
        return found
    if not traces:
        raise CorruptTrace("the archive holds no .etl file")
    if len(traces) == 1 or _are_companions(traces):
        return traces
    names = ", ".join(item.filename for item in traces)
    raise CorruptTrace(
        f"the archive holds several traces; choose one with --member (member=): {names}; or '*', "
        "when all of them are one recording"
    )


def _named(
    files: list[zipfile.ZipInfo], traces: list[zipfile.ZipInfo], members: Sequence[str]
) -> list[zipfile.ZipInfo]:
    chosen: list[zipfile.ZipInfo] = []
    for member in members:
        found = [item for item in files if item.filename == member][:1]
        if not found and ("*" in member or "?" in member):
            found = [item for item in traces if fnmatch.fnmatchcase(item.filename, member)]
        if not found:
            raise CorruptTrace(f"the archive has no member {member!r}")
        chosen += [item for item in found if item not in chosen]
    return chosen


def _are_companions(traces: list[zipfile.ZipInfo]) -> bool:
    """Whether these two are a trace and its companion."""
    names = [item.filename for item in traces]
    return len(names) == 2 and (
        companion_name(names[0]) == names[1] or companion_name(names[1]) == names[0]
    )


def _diagsession_traces(
    archive: zipfile.ZipFile, files: list[zipfile.ZipInfo]
) -> list[zipfile.ZipInfo]:
    """The traces that a Visual Studio .diagsession lists in its metadata."""
    listed = next((item for item in files if item.filename.lower() == _METADATA), None)
    if listed is None or listed.file_size > _METADATA_MAX:
        return []
    try:
        root = ElementTree.fromstring(archive.read(listed))
    except ElementTree.ParseError as error:
        raise CorruptTrace(f"{_METADATA} of the .diagsession is damaged: {error}") from error
    found = []
    for element in root.iter():
        if element.get("Type") != _ETL_RESOURCE:
            continue
        parts = (element.get("ResourcePackageUriPrefix"), element.get("Name"))
        path = "/".join(part.replace("\\", "/").strip("/") for part in parts if part).lower()
        for item in files:
            name = item.filename.lower()
            if path and (name == path or name.startswith(path + "/")) and item not in found:
                found.append(item)
    return found
