"""The exceptions of toolhelp, and the one place where a failed call becomes a sentence."""

from __future__ import annotations

import errno
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, TypeAlias

    Reason: TypeAlias = Literal["bitness", "starting", "exiting", "unknown"]

__all__ = [
    "AccessDenied",
    "CorruptTrace",
    "HeapQueryTimeout",
    "InjectionRefused",
    "PartialCopy",
    "ProcessNotFound",
    "SessionError",
    "SessionExists",
    "SessionNotFound",
    "SnapshotRace",
    "TooManySessions",
    "ToolhelpError",
    "UnsupportedPlatform",
]


class ToolhelpError(OSError):
    """A Windows call failed.

    `winerror` is its Win32 code (0 when the call does not exist here), `function` the call, `pid`
    the process asked about or None, `attempts` how often it was tried (0: not counted).
    """

    function: str | None
    pid: int | None
    attempts: int
    _errno = errno.EIO

    def __init__(
        self,
        message: str,
        *,
        winerror: int = 0,
        function: str | None = None,
        pid: int | None = None,
        attempts: int = 0,
    ) -> None:
        super().__init__(self._errno, message)
        self.winerror = winerror
        self.function = function
        self.pid = pid
        self.attempts = attempts

    def __str__(self) -> str:
        return str(self.strerror)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), str(self), dict(self.__dict__), self.winerror)


def _restore(
    kind: type[ToolhelpError], message: str, state: dict[str, Any], winerror: int
) -> ToolhelpError:
    error = kind(message, winerror=winerror)
    error.__dict__.update(state)
    return error


class AccessDenied(ToolhelpError, PermissionError):
    """Rights are missing (Win32 codes 5 and 1314)."""

    _errno = errno.EACCES


class ProcessNotFound(ToolhelpError, ProcessLookupError):
    """There is no such process, or it has exited; PID 0 where a process is asked for."""

    _errno = errno.ESRCH


class SnapshotRace(ToolhelpError):
    """The list kept changing while Windows copied it (code 24), through every bounded retry."""

    _errno = errno.EAGAIN


class PartialCopy(ToolhelpError):
    """Something of a process could not be read whole (code 299; 18: the list of its modules was
    there and empty, since it starts or exits); `reason` says why, and of memory `data` is what
    could be read."""

    reason: Reason = "unknown"
    data: bytes = b""


class HeapQueryTimeout(ToolhelpError, TimeoutError):
    """A query of another process' heaps did not end before its deadline."""

    _errno = errno.ETIMEDOUT


class InjectionRefused(ToolhelpError, PermissionError):
    """A query that starts a thread in another process, without `allow_injection=True`."""

    _errno = errno.EPERM


class SessionError(ToolhelpError):
    """A call that controls a trace session failed."""


class SessionExists(SessionError, FileExistsError):
    """A session of that name, or another heap session, is already running (code 183)."""

    _errno = errno.EEXIST


class SessionNotFound(SessionError, LookupError):
    """No session of that name is running (code 4201)."""

    _errno = errno.ENOENT


class TooManySessions(SessionError):
    """The system's table of trace sessions is full (code 1450)."""


class UnsupportedPlatform(ToolhelpError, NotImplementedError):
    """The call does not exist on this system."""

    _errno = errno.ENOSYS


class CorruptTrace(ValueError):
    """Not a trace, or damaged beyond use; `offset` is where, in bytes, or None."""

    def __init__(self, message: str, offset: int | None = None) -> None:
        super().__init__(message)
        self.offset = offset

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.offset)


# What the codes that are met here mean, so that a saved message reads the same on every system.
_CODES = {
    2: "there is no such file",
    3: "there is no such folder",
    5: "access is denied",
    6: "the handle is invalid",
    8: "not enough memory in the system",
    13: "the data is invalid",
    14: "not enough memory in the system",
    18: "there are no more entries",
    24: "the list changed while it was copied, or a size is wrong",
    87: "a parameter is wrong",
    112: "the disk is full",
    120: "this system does not implement the call",
    122: "a buffer is too small",
    123: "the file name is not valid",
    126: "the library, or one it needs, was not found",
    127: "the library does not have the function",
    161: "the path is not valid",
    183: "it exists already",
    193: "it is not a program for this kind of processor",
    234: "more data is available",
    267: "the folder name is not valid",
    299: "only a part could be read",
    740: "it needs to be run elevated",
    998: "the address cannot be read",
    1004: "the flags do not go together",
    1223: "it was cancelled",
    1306: "the revisions do not match",
    1314: "a privilege is not held",
    1450: "the system has no resources left for it",
    4201: "there is no such session",
    7007: "the trace is being closed",
}

_SESSION_CALLS = frozenset(
    [
        "StartTraceW",
        "ControlTraceW",
        "QueryAllTracesW",
        "OpenTraceW",
        "ProcessTrace",
        "CloseTrace",
        "TraceSetInformation",
        "StartHeapTrace",
        "UpdateHeapTrace",
    ]
)

# What a person can do about a session call that failed.
_SESSION_ADVICE = {
    5: "run elevated, as an administrator, and check that the log file can be written there",
    8: "the buffers are too much for the non-paged pool: ask for fewer or smaller ones",
    14: "the buffers are too much for the non-paged pool: ask for fewer or smaller ones",
    24: "the names or the list of processes are too long for this Windows",
    87: "this Windows refuses these options together: try the defaults, then one at a time",
    112: "the log's drive has too little room: free some, or ask for a smaller max_file_mb",
    123: "check the path of the log file",
    161: "check the path of the log file: its folder must be there, and no other session may "
    "write to the file",
    183: "one heap session can run at a time; see toolhelp.heap_sessions() for which",
    1004: "this Windows refuses these flags together: try the defaults",
    1450: "stop sessions that were left behind (toolhelp.heap_sessions()), or raise EtwMaxLoggers "
    "(HKLM\\SYSTEM\\CurrentControlSet\\Control\\WMI, up to 256) and restart Windows",
    4201: "see toolhelp.heap_sessions() for those that run",
    7007: "wait until the events that are on their way have been delivered",
}

# What a call that is missing was wanted for, as the start of a sentence.
_WANTED = {
    "Recording and watching heap traces": _SESSION_CALLS
    | {
        "QueryPerformanceCounter",
        "CreateProcessW",
        "ResumeThread",
        "TerminateProcess",
        "LoadLibraryExW",
        "RegEnumValueW",
        "RegQueryValueExW",
        "RegSetValueExW",
        "RegDeleteValueW",
    },
    "Reading the memory of processes": {"ReadProcessMemory", "Toolhelp32ReadProcessMemory"},
    "Looking at the heaps of processes": {
        "GetProcessHeaps",
        "HeapLock",
        "HeapWalk",
        "Heap32ListFirst",
        "Heap32First",
        "RtlQueryProcessDebugInformation",
    },
    "Looking at processes, threads and modules": {"CreateToolhelp32Snapshot"},
    "Tracing or looking into another process": {"OpenProcess"},
    "Taking a privilege": {"AdjustTokenPrivileges"},
}

_LIBRARY_ADVICE = {
    126: "install the Windows Performance Toolkit, or use the native backend",
    127: "this KernelTraceControl.dll is of another generation of Windows; use the native backend",
    193: "install the toolkit for this processor, or use the native backend",
}

_PRIVILEGE_ADVICE = "run elevated, as an administrator, or record without stacks (stacks=())"

_REASONS = {
    "bitness": "a 32-bit Python cannot read a 64-bit process; use a 64-bit Python",
    "starting": "the process has not loaded its modules yet; try again once it runs",
    "exiting": "the process is exiting",
    "unknown": "the process may be protected, or just starting or exiting",
}


def describe_code(code: int) -> str:
    """What a Win32 code means, in a few words."""
    if code in _CODES:
        return _CODES[code]
    if sys.platform == "win32":  # pragma: no cover
        import ctypes

        return ctypes.FormatError(code).strip().rstrip(".")
    return "unknown code"


def _sentence(function: str | None, code: int, pid: int | None, attempts: int, advice: str) -> str:
    text = f"{function or 'A Windows call'} failed"
    if pid is not None:
        text += f" for process {pid}"
    text += f": Windows error {code} ({describe_code(code)})"
    if attempts > 1:
        text += f" after {attempts} attempts"
    return f"{text}; {advice}" if advice else text


def _system_error(function: str | None, code: int, pid: int | None) -> tuple[type, str]:
    """Class and advice for a call that failed with `code`."""
    if code == 1314:
        session = function in _SESSION_CALLS or function == "AdjustTokenPrivileges"
        return AccessDenied, _PRIVILEGE_ADVICE if session else "run elevated, as an administrator"
    if code == 5 and function in _SESSION_CALLS:
        return AccessDenied, _SESSION_ADVICE[5]
    if code == 5:
        return AccessDenied, (
            "run elevated; processes of other users also need toolhelp.debug_privilege(), "
            "and protected ones stay closed"
            if pid is not None
            else "run elevated, as an administrator"
        )
    if code == 87 and pid is not None:
        return ProcessNotFound, "there is no such process (it may have exited)"
    if code == 120:
        return UnsupportedPlatform, "Windows itself has it"
    if function in _SESSION_CALLS:
        special = {183: SessionExists, 1450: TooManySessions, 4201: SessionNotFound}
        return special.get(code, SessionError), _SESSION_ADVICE.get(code, "")
    if function == "LoadLibraryExW":
        return SessionError, _LIBRARY_ADVICE.get(code, "")
    return ToolhelpError, ""


def _not_here(function: str | None) -> str:
    what = next((what for what, calls in _WANTED.items() if function in calls), "This")
    return (
        f"{what} needs Windows; on {sys.platform} toolhelp reads and reports what was recorded "
        "there: traces (.etl files) and saved snapshots"
    )


def from_failure(
    status: str,
    code: int,
    function: str | None,
    pid: int | None,
    attempts: int,
    offset: int | None,
    detail: str,
    reason: Reason | None,
) -> BaseException:
    """The exception for what the C core says of a failure (called by the core)."""
    facts: dict[str, Any] = {
        "winerror": code,
        "function": function,
        "pid": pid,
        "attempts": attempts,
    }
    if code == 120 and sys.platform != "win32":
        return UnsupportedPlatform(_not_here(function), **facts)
    if status == "SYSTEM" and reason == "exiting":
        advice = "the process has exited"
        return ProcessNotFound(_sentence(function, code, pid, attempts, advice), **facts)
    if status == "SYSTEM":
        kind, advice = _system_error(function, code, pid)
        error: BaseException = kind(_sentence(function, code, pid, attempts, advice), **facts)
        return error
    if status == "RACE":
        advice = "the list keeps changing; try again"
        return SnapshotRace(_sentence(function, code, pid, attempts, advice), **facts)
    if status == "PARTIAL":
        partial = PartialCopy(
            _sentence(function, code, pid, attempts, _REASONS[reason or "unknown"]), **facts
        )
        partial.reason = reason or "unknown"
        return partial
    about = f" (process {pid})" if pid is not None else ""
    if status == "TIMEOUT":
        return HeapQueryTimeout(f"{function}: {detail}{about}", **facts)
    if status == "REFUSED":
        return InjectionRefused(f"{function}: {detail}{about}", **facts)
    if status == "UNSUPPORTED":
        return UnsupportedPlatform(
            f"{function}: {detail}" if function else f"{detail[:1].upper()}{detail[1:]}", **facts
        )
    if status == "CORRUPT":
        where = "" if offset is None else f" (at byte {offset})"
        return CorruptTrace(f"{detail}{where}", offset)
    if status == "IO":
        if sys.platform == "win32":  # pragma: no cover
            return OSError(None, detail, None, code)
        return OSError(code, detail)
    if status == "INTERRUPTED":
        return KeyboardInterrupt()
    return ValueError(detail)
