"""The files of one recording: what was given, what lies beside it, and whether they agree."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _core
from .archive import Opened, TraceInput, companion_name, open_input
from .errors import CorruptTrace
from .trace_info import iso

if TYPE_CHECKING:
    from .sidecar import Sidecar

__all__ = ["About", "Part", "Recording", "open_recording"]

MAX_FILES = 256
"""Files of one recording, at most."""

_BOOT_SLACK = 2 * 10_000_000
"""100 ns: setting the clock moves the time at which Windows says that it started."""

_OVERLAP_SLACK = 10_000_000
_SYSTEM_LOGGER = 0x02000000
_KERNEL_LOGGER = "NT Kernel Logger"
_CLOCKS = {2: "system time", 3: "processor cycles"}


@dataclass
class Part:
    """A file of a recording, and the notes of modules beside it, where there are some."""

    opened: Opened
    given: bool
    sidecar: Sidecar | None = None
    notes_path: str | None = None


class Recording:
    """The files of one recording, ready to be read: all of them together are one source."""

    def __init__(self, parts: Sequence[Part], trouble: list[str]) -> None:
        self.parts = tuple(parts)
        self.notes: list[_core._Note] = []
        self.trouble = trouble
        sources = tuple(part.opened.source for part in parts)
        self.source: Any = sources[0] if len(sources) == 1 else sources
        self.name = parts[0].opened.name
        self.size = sum(part.opened.size for part in parts)

    def begin(self, threads: int) -> _core.TracePass:
        """A pass over all files, which knows what was noted beside them."""
        made = _core.trace_pass(self.source, threads)
        if self.notes:
            made.note(self.notes)
        return made

    def about(self) -> About:
        """What stays known when the files are let go."""
        rows = [
            {"name": part.opened.name, "given": part.given, "notes": part.notes_path}
            for part in self.parts
        ]
        return About(rows, self.trouble)


@dataclass
class About:
    """What is said of the files of a recording, besides what a pass counts."""

    files: list[dict[str, Any]]
    trouble: list[str]

    @property
    def name(self) -> str | None:
        """The first file's."""
        name: str | None = self.files[0]["name"]
        return name

    def facts(self, run: _core.TracePass) -> dict[str, Any]:
        """Everything that a finished pass counted, and of which file."""
        facts = run.facts()
        files = [{**counted, **row} for counted, row in zip(run.files(), self.files, strict=True)]
        if len(files) == 1:
            files[0]["last_ns"] = facts["last_ns"]
        return {**facts, "files": files, "trouble": self.trouble}


def open_recording(
    inputs: Sequence[TraceInput],
    *,
    threads: int,
    max_expand: int,
    members: Sequence[str],
    companion: bool,
) -> tuple[Recording, _core.TracePass]:
    """Open files as one recording, with what lies beside them, and begin the first pass."""
    parts: list[Part] = []
    for number, one in enumerate(inputs, 1):
        try:
            opened = open_input(one, max_expand=max_expand, members=members)
        except CorruptTrace as error:
            if len(inputs) == 1:
                raise
            name = os.fspath(one) if isinstance(one, (str, os.PathLike)) else f"file {number}"
            raise CorruptTrace(f"{name}: {error}", error.offset) from None
        parts += [Part(file, True) for file in opened]
    _check_number(parts)
    if members and not any(part.opened.chosen for part in parts):
        raise ValueError(
            "--member (member=) chooses a file of a .zip or .diagsession; "
            f"{parts[0].opened.name or 'this'} is none"
        )
    trouble: list[str] = []
    _read_notes(parts, trouble)
    given = list(parts)
    if companion:
        parts += _companions(given, trouble)
    while True:
        recording = Recording(parts, trouble)
        run = _begin(recording, threads)
        headers = run.files()
        reason = _disagreement(given, headers)
        if reason is not None:
            del run, recording  # its helpers end now, not when the exception is forgotten
            raise CorruptTrace(reason)
        _refuse_copies(given, headers)
        unfit = _unfit_companions(parts, headers)
        if not unfit:
            break
        trouble += unfit.values()
        parts = [part for number, part in enumerate(parts) if number not in unfit]
    recording.notes = _notes(parts, headers)
    if recording.notes:
        run.note(recording.notes)
    return recording, run


def _check_number(parts: list[Part]) -> None:
    if not parts:
        raise ValueError("no trace was given")
    if len(parts) > MAX_FILES:
        raise ValueError(f"a recording of more than {MAX_FILES} files cannot be read")
    seen = set()
    for part in parts:
        identity = part.opened.identity
        if identity is not None and identity in seen:
            raise ValueError(f"{part.opened.name or 'a file'} was given twice")
        seen.add(identity)


def _begin(recording: Recording, threads: int) -> _core.TracePass:
    try:
        return recording.begin(threads)
    except CorruptTrace:
        if len(recording.parts) > 1:
            for number, part in enumerate(recording.parts, 1):
                _say_which(part.opened, number)
        raise


def _say_which(opened: Opened, number: int) -> None:
    try:
        _core.trace_pass(opened.source, 0)
    except CorruptTrace as error:
        reason = f"{opened.name or f'file {number}'}: {error}"
        raise CorruptTrace(reason, error.offset) from None


# ----- whether they agree -----------------------------------------------------------------------


def _difference(a: dict[str, Any], b: dict[str, Any]) -> str | None:
    """What says that a file `b` is not of the recording of `a`; None: nothing does."""

    def clock(header: dict[str, Any]) -> str:
        kind = header["clock"]
        if kind in _CLOCKS:
            rate = f" at {header['cpu_mhz']:,} MHz" if kind == 3 else ""
            return _CLOCKS[kind] + rate
        return f"the performance counter at {header['perf_frequency']:,} Hz"

    def system(header: dict[str, Any]) -> str:
        version = f"{header['os_major']}.{header['os_minor']}.{header['os_build']}"
        return f"Windows {version} with {header['processors']} processors"

    if clock(a) != clock(b):
        return f"its clock is {clock(b)}, not {clock(a)}"
    boots = a["boot_time"], b["boot_time"]
    if all(boots) and abs(boots[0] - boots[1]) > _BOOT_SLACK:
        return f"its system was started at {iso(boots[1])}, not at {iso(boots[0])}"
    if system(a) != system(b):
        return f"it is of {system(b)}, not of {system(a)}"
    return None


def _disagreement(given: list[Part], headers: list[dict[str, Any]]) -> str | None:
    """Why the files that were given are not one recording; None: they are."""
    first = given[0].opened.name or "file 1"
    for number, (part, header) in enumerate(zip(given, headers, strict=False), 1):
        difference = _difference(headers[0], header)
        if difference is not None:
            return (
                f"{part.opened.name or f'file {number}'} is not of the same recording as {first}: "
                f"{difference}. Read each by itself: "
                + (
                    "choose one with --member (member=)"
                    if "!" in (part.opened.name or "")
                    else "toolhelp report --each"
                )
            )
    return None


def _refuse_copies(given: list[Part], headers: list[dict[str, Any]]) -> None:
    """Two copies of a file, one of them cut or packed perhaps: every event would count twice."""
    seen: dict[Any, str] = {}
    for number, (part, header) in enumerate(zip(given, headers, strict=False), 1):
        name = part.opened.name or f"file {number}"
        # The hash of the first buffer's start: its time, number, processor and first events.
        key = header["start_time"], header["session_name"], header["first_events"]
        if header["first_events"] and key in seen:
            raise ValueError(
                f"{name} holds the same events as {seen[key]}: they are copies of one file, "
                "and the events would count twice"
            )
        seen[key] = name


def _unfit_companions(parts: list[Part], headers: list[dict[str, Any]]) -> dict[int, str]:
    """The companions that were picked up and do not belong to what was given, with the reason."""
    known = [header for part, header in zip(parts, headers, strict=True) if part.given]
    start = min(header["start_time"] for header in known)
    end = max(header["end_time"] for header in known)
    if not all(header["end_time"] for header in known):
        end = 2**63
    unfit = {}
    for number, (part, header) in enumerate(zip(parts, headers, strict=True)):
        if part.given:
            continue
        reason = _difference(headers[0], header)
        if reason is None and (
            header["start_time"] > end + _OVERLAP_SLACK
            or 0 < header["end_time"] < start - _OVERLAP_SLACK
        ):
            reason = f"it was recorded at another time, from {iso(header['start_time'])}"
        if reason is not None:
            unfit[number] = _not_used(part.opened.name, reason)
    return unfit


def _not_used(name: str | None, reason: object) -> str:
    return f"The companion {os.path.basename(name or '')} beside the trace is not used: {reason}."


# ----- what lies beside -------------------------------------------------------------------------


def _read_notes(parts: list[Part], trouble: list[str]) -> None:
    """What was noted beside the files while they were recorded."""
    for part in parts:
        path = f"{part.opened.name}.modules.json"
        if part.opened.name is None or not os.path.isfile(path):
            continue
        from .sidecar import Sidecar

        try:
            sidecar = Sidecar.read(path)
            sidecar.notes()  # complains of numbers that fit no event
        except (CorruptTrace, OSError) as error:
            trouble.append(f"The notes beside the trace cannot be used: {error}.")
        else:
            part.sidecar, part.notes_path = sidecar, path


def _notes(parts: Sequence[Part], headers: list[dict[str, Any]]) -> list[_core._Note]:
    """The notes beside all files, as events in the order of time."""
    system = len(parts) > 1 and any(
        not part.given
        or header["log_file_mode"] & _SYSTEM_LOGGER
        or header["session_name"] == _KERNEL_LOGGER
        for part, header in zip(parts, headers, strict=True)
    )
    found: list[_core._Note] = []
    for part in parts:
        if part.sidecar is not None:
            found += part.sidecar.additions() if system else part.sidecar.notes()
    return sorted(found, key=lambda note: note[0])


def _companions(given: list[Part], trouble: list[str]) -> list[Part]:
    """The companions that lie beside the files that were given, each a trace."""
    found: list[Part] = []
    known = {part.opened.identity for part in given}
    names = {os.path.basename(part.opened.name or "") for part in given}
    for part in given:
        if part.opened.name is None:
            continue
        folder = os.path.dirname(part.opened.name)
        noted = part.sidecar.companion if part.sidecar else None
        candidates = [companion_name(part.opened.name)]
        if noted:
            candidates.append(os.path.join(folder, noted))
        path = next((one for one in candidates if one and os.path.isfile(one)), None)
        if path is None:
            if noted and noted not in names:
                trouble.append(
                    f"The companion {noted} that was recorded with the trace is not beside it."
                )
            continue
        status = os.stat(path)
        if (status.st_dev, status.st_ino) in known:
            continue
        try:
            (opened,) = open_input(path)
            _core.trace_pass(opened.source, 0)
        except (CorruptTrace, OSError) as error:
            trouble.append(_not_used(path, error))
            continue
        known.add(opened.identity)
        found.append(Part(opened, False))
    return found
