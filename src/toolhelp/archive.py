"""Where the bytes of a trace come from: files, memory, streams, archives."""

from __future__ import annotations

import gzip
import io
import os
import sys
import tempfile
import threading
import zipfile
import zlib
from collections.abc import Callable
from typing import IO, Any, Protocol, TypeAlias, cast
from xml.etree import ElementTree

from . import _core
from .errors import CorruptTrace

__all__ = ["MAX_EXPAND", "Opened", "TraceInput", "open_input"]

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
    """The bytes of one trace, ready to be read: the core's source, and what they are called."""

    def __init__(self, source: Any, name: str | None) -> None:
        self.source = source
        self.name = name
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


def open_input(
    trace: TraceInput, *, max_expand: int = MAX_EXPAND, member: str | None = None
) -> Opened:
    """Open what `open_trace` was given; archives are spooled to a temporary file."""
    if isinstance(trace, (str, os.PathLike)):
        return _open_path(trace, max_expand, member)
    if hasattr(trace, "read"):
        name = getattr(trace, "name", None)
        return _open_file(
            cast("IO[bytes]", trace), name if isinstance(name, str) else None, max_expand, member
        )
    try:
        view = memoryview(cast("bytes", trace)).cast("B")
    except TypeError:
        raise TypeError(
            "a trace is a path, bytes, a contiguous memoryview or a binary file object, "
            f"not {type(trace).__name__}"
        ) from None
    if _kind(bytes(view[:8])):
        return _unpack(io.BytesIO(view), None, len(view), max_expand, member)
    _no_member(member, None)
    return Opened(_core.trace_source_memory(view), None)


def _open_path(path: str | os.PathLike[str], max_expand: int, member: str | None) -> Opened:
    name = os.fspath(path)
    file = _File(path)
    if not _is_regular(file.descriptor):
        with open(file.descriptor, "rb", closefd=False) as stream:
            return _open_file(stream, name, max_expand, member)
    start = _first_bytes(file.descriptor)
    if _kind(start):
        with open(file.descriptor, "rb", closefd=False) as stream:
            size = os.fstat(file.descriptor).st_size
            return _unpack(stream, name, size, max_expand, member)
    _no_member(member, name)
    return Opened(_core.trace_source_file(_handle(file.descriptor), file), name)


def _no_member(member: str | None, name: str | None) -> None:
    if member is not None:
        raise ValueError(
            f"--member (member=) chooses a file of a .zip or .diagsession; {name or 'this'} is none"
        )


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


def _open_file(file: IO[bytes], name: str | None, max_expand: int, member: str | None) -> Opened:
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
        return _unpack(file, name, size, max_expand, member)
    _no_member(member, name)
    if temporary is not None:
        return temporary.opened(name)
    return Opened(_core.trace_source_reader(_Reader(file), size), name)


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
    file: IO[bytes], name: str | None, packed: int, max_expand: int, member: str | None
) -> Opened:
    kind = _kind(_read_up_to(file, 8))
    file.seek(0)
    if kind == "compound":
        raise CorruptTrace(
            "this is an old .diagsession (a compound file); only those that are ZIP files, "
            "as Visual Studio writes them now, can be read",
            0,
        )
    if kind != "zip":
        _no_member(member, name)
    temporary = _Temporary()
    spooled = temporary.file
    try:
        if kind == "zip":
            with zipfile.ZipFile(file) as archive:
                chosen = _choose(archive, member)
                with archive.open(chosen) as stream:
                    _spool(stream, spooled, max_expand, max(chosen.compress_size, 1))
                name = f"{name}!{chosen.filename}" if name else chosen.filename
        elif kind == "gzip":
            with gzip.GzipFile(fileobj=file) as stream:
                _spool(cast("IO[bytes]", stream), spooled, max_expand, packed)
        else:
            zstd = _zstd()
            with zstd.ZstdFile(file) as stream:
                _spool(stream, spooled, max_expand, packed)
    except (zipfile.BadZipFile, zlib.error, EOFError, gzip.BadGzipFile) as error:
        raise CorruptTrace(f"the archive is damaged: {error}") from error
    except RuntimeError as error:  # zipfile: encrypted
        raise CorruptTrace(f"the archive cannot be read: {error}") from error
    except Exception as error:
        if type(error).__name__ == "ZstdError":
            raise CorruptTrace(f"the archive is damaged: {error}") from error
        raise
    return temporary.opened(name)


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


def _spool(stream: IO[bytes], to: IO[bytes], max_expand: int, packed: int | None) -> int:
    """Copy a stream, up to the ceiling; `packed`: bytes it was packed into."""
    size = 0
    while chunk := stream.read(_CHUNK):
        size += len(chunk)
        if size > max_expand:
            raise CorruptTrace(
                f"the input expands to more than {max_expand:,} bytes (the --max-expand ceiling)"
            )
        if packed is not None and size > max(packed * MAX_RATIO, _CHUNK):
            raise CorruptTrace(
                f"the archive expands to more than {MAX_RATIO:,} times its size: not a trace"
            )
        to.write(chunk)
    return size


def _choose(archive: zipfile.ZipFile, member: str | None) -> zipfile.ZipInfo:
    """The one trace of a ZIP file."""
    files = [item for item in archive.infolist() if not item.is_dir()]
    if member is not None:
        found = [item for item in files if item.filename == member]
        if not found:
            raise CorruptTrace(f"the archive has no member {member!r}")
        return found[0]
    found = _diagsession_traces(archive, files)
    if not found:
        found = [item for item in files if item.filename.lower().endswith(".etl")]
    if len(found) == 1:
        return found[0]
    if not found:
        raise CorruptTrace("the archive holds no .etl file")
    names = ", ".join(item.filename for item in found)
    raise CorruptTrace(
        f"the archive holds several traces; choose one with --member (member=): {names}"
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
