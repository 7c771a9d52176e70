"""Where the Windows Performance Toolkit is installed, for the `wpt` backend.

KernelTraceControl.dll is not part of Windows. It is looked for in the places where its installers
put it, and loaded by its full path alone: never from the current folder or from PATH.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

from . import _core
from .errors import ToolhelpError

__all__ = ["KITS_KEYS", "LIBRARY", "find_library"]

LIBRARY = "KernelTraceControl.dll"
TOOLKIT = "Windows Performance Toolkit"

#: Registry keys and values (HKEY_LOCAL_MACHINE, 64-bit view) that name a folder of the kits.
KITS_KEYS = (
    (r"SOFTWARE\WOW6432Node\Microsoft\Windows Kits\Installed Roots", "KitsRoot10"),
    (r"SOFTWARE\Microsoft\Windows Kits\Installed Roots", "KitsRoot10"),
    (r"SOFTWARE\WOW6432Node\Microsoft\Windows Kits\Installed Roots", "KitsRoot81"),
    (r"SOFTWARE\Microsoft\Windows Kits\Installed Roots", "KitsRoot81"),
    (r"SOFTWARE\WOW6432Node\Microsoft\Windows Kits\Installed Roots", "KitsRoot"),
    (r"SOFTWARE\Microsoft\Windows Kits\Installed Roots", "KitsRoot"),
    (r"SOFTWARE\Microsoft\Microsoft SDKs\Windows\v10.0", "InstallationFolder"),
    (r"SOFTWARE\WOW6432Node\Microsoft\Microsoft SDKs\Windows\v10.0", "InstallationFolder"),
)

#: IMAGE_FILE_MACHINE_* by name of the sub-folder for another processor.
MACHINES = {0x014C: "x86", 0x8664: "x64", 0xAA64: "arm64"}


def machine_of(path: str) -> int | None:
    """IMAGE_FILE_MACHINE_* of an executable file; None when it is none."""
    try:
        with open(path, "rb") as file:
            head = file.read(64)
            if len(head) < 64 or head[:2] != b"MZ":
                return None
            file.seek(struct.unpack_from("<I", head, 60)[0])
            found = file.read(6)
    except OSError:
        return None
    return struct.unpack_from("<H", found, 4)[0] if found[:4] == b"PE\0\0" else None


def _folders() -> Iterator[str]:
    for key, value in KITS_KEYS:
        root = _core.registry_text(key, value)
        if root:
            yield root.rstrip("\\/") + "\\" + TOOLKIT
    # A stand-alone toolkit may lie beside the kits, in either of these.
    for variable in ("ProgramW6432", "ProgramFiles", "ProgramFiles(x86)"):
        base = os.environ.get(variable)
        if base and os.path.isabs(base):
            for version in ("10", "8.1"):
                yield f"{base}\\Windows Kits\\{version}\\{TOOLKIT}"


def find_library(machine: int | None = None) -> str:
    """Full path of a KernelTraceControl.dll for processes of `machine` (None: of this one).

    `ToolhelpError` (126) when there is none: its message says where it was looked for.
    """
    wanted = machine or own_machine()
    looked = []
    for folder in dict.fromkeys(_folders()):
        for path in (f"{folder}\\{LIBRARY}", f"{folder}\\{MACHINES.get(wanted, '?')}\\{LIBRARY}"):
            looked.append(path)
            if machine_of(path) == wanted:
                return path
    places = "; ".join(looked) if looked else "no kit is registered on this machine"
    raise ToolhelpError(
        f"{LIBRARY} for {MACHINES.get(wanted, hex(wanted))} was not found ({places}); install the "
        "Windows Performance Toolkit, or use the native backend, which does not need it",
        winerror=126,
        function="LoadLibraryExW",
    )


def own_machine() -> int:
    """IMAGE_FILE_MACHINE_* of this process."""
    _, _, machine, native, _ = _core.process_facts(_core.current_pid())
    return machine or native or (0x8664 if struct.calcsize("P") == 8 else 0x014C)
