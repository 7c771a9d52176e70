"""Memory of processes: read with one open handle, partial reads reported."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from . import _core
from .errors import PartialCopy, ToolhelpError

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["MemoryRange", "ProcessMemory", "debug_privilege", "read_memory"]


class MemoryRange(NamedTuple):
    """One range of `ProcessMemory.read_many`.

    `data` holds what could be read from `address` on, up to the first page that cannot be; `error`
    is None when that is all of `size` bytes.
    """

    address: int
    size: int
    data: bytes
    error: ToolhelpError | None


class ProcessMemory:
    """The memory of one process behind one handle; use it with `with`, or close() it.

    Windows calls: OpenProcess(PROCESS_VM_READ) once, ReadProcessMemory once per range; when a
    range cannot be read whole, again on parts of it until the end is found.
    """

    def __init__(self, pid: int | None = None) -> None:
        """Opens process `pid`; None is this process. Errors: `ProcessNotFound`, `AccessDenied`."""
        self._handle = _core.memory_open(pid)

    @property
    def pid(self) -> int:
        """Id of the process."""
        return self._handle.pid

    @property
    def closed(self) -> bool:
        """Whether the handle is closed."""
        return self._handle.closed

    def close(self) -> None:
        """Closes the handle; a second time does nothing."""
        self._handle.close()

    def __enter__(self) -> ProcessMemory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, address: int, size: int, *, partial: bool = False) -> bytes:
        """`size` bytes at `address`.

        When they cannot all be read: `PartialCopy`, whose `data` holds those before the first page
        that cannot be, or with partial=True just these bytes. `ToolhelpError` (998, 299) when
        nothing can be read, `ValueError` on a closed process or a range past the last address.
        """
        if size < 0:
            raise ValueError(f"size must not be negative, it is {size}")
        buffer = bytearray(size)
        read = self._handle.read_into(address, buffer)
        data = bytes(buffer) if read == size else bytes(memoryview(buffer)[:read])
        if read < size and not partial:
            raise _cut(self.pid, address, size, data)
        return data

    def read_into(self, address: int, buffer: Buffer) -> int:
        """Fills a writable buffer from `address`; how many bytes were read, fewer than the buffer
        has when a page in the range cannot be read. Errors as for `read`, but `PartialCopy`."""
        return self._handle.read_into(address, buffer)

    def read_many(self, ranges: Iterable[tuple[int, int]]) -> list[MemoryRange]:
        """Each (address, size) of `ranges` as a `MemoryRange`; a failure is part of the result."""
        found = []
        for address, size in ranges:
            data = b""
            error: ToolhelpError | None = None
            try:
                data = self.read(address, size)
            except PartialCopy as cut:
                data, error = cut.data, cut
            except ToolhelpError as failed:
                error = failed
            found.append(MemoryRange(address, size, data, error))
        return found


def _cut(pid: int, address: int, size: int, data: bytes) -> PartialCopy:
    error = PartialCopy(
        f"ReadProcessMemory: of {size} bytes at 0x{address:x} of process {pid} only "
        f"{len(data)} can be read",
        winerror=299,
        function="ReadProcessMemory",
        pid=pid,
    )
    error.data = data
    return error


def read_memory(pid: int | None, address: int, size: int, *, partial: bool = False) -> bytes:
    """`size` bytes at `address` of process `pid` (None: this process); see `ProcessMemory.read`.

    For several ranges of one process `ProcessMemory` opens it once.
    """
    with ProcessMemory(pid) as memory:
        return memory.read(address, size, partial=partial)


_lock = threading.Lock()
_users = 0
_before: bool | None = None


@contextlib.contextmanager
def debug_privilege() -> Iterator[bool]:
    """Switches SeDebugPrivilege on for this process while the block runs, and back after it.

        with toolhelp.debug_privilege() as granted: ...

    `granted` is False when the token of this process does not hold it (run elevated). With it,
    processes of other users can be opened; protected ones stay closed. The privilege is of the
    process: other threads have it, too, and the last block to end switches it back.
    Windows calls: OpenProcessToken, LookupPrivilegeValueW, AdjustTokenPrivileges.
    """
    global _users, _before
    with _lock:
        if _users == 0:
            _before = _core.debug_privilege(True)
        _users += 1
        granted = _before is not None
    try:
        yield granted
    finally:
        with _lock:
            _users -= 1
            if _users == 0 and _before is False:
                _core.debug_privilege(False)
