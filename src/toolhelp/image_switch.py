"""Heap tracing by image name: the registry switch that Windows copies into each new process.

`TracingFlags` (DWORD, bit 0: heap) under Image File Execution Options\\<image> makes every process
of that image that starts afterwards log its heap events. It slows every start of that image for as
long as it stands there, so it is taken back, and a marker under a key of ours says what was there
before: after a crash the next use, or `toolhelp sessions --stop-stale`, takes it back.
"""

from __future__ import annotations

from . import _core
from .errors import ToolhelpError

__all__ = ["ImageSwitch", "restore_stale"]

OPTIONS = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion\Image File Execution Options"
MARKERS = r"SOFTWARE\toolhelp\HeapTracing"
VALUE = "TracingFlags"
HEAP = 1
_INVALID = set('\\/:*?"<>|\0')


def _key(image: str) -> str:
    return f"{OPTIONS}\\{image}"


def check_image(image: str) -> str:
    """The name itself; ValueError when it is no file name of a program."""
    if not image or len(image) > 255 or _INVALID & set(image) or image in (".", ".."):
        raise ValueError(f"an image is a file name like 'app.exe', without a folder, not {image!r}")
    return image


def _restore(image: str, marker: str) -> None:
    _, _, before = marker.partition(":")
    if before.isdecimal():
        _core.registry_set(_key(image), VALUE, int(before))
    else:
        _core.registry_delete(_key(image), VALUE)
    _core.registry_delete(MARKERS, image)


class ImageSwitch:
    """The switch of one image: `set` and `restore`, each safe to call again."""

    def __init__(self, image: str) -> None:
        self.image = check_image(image)
        self._marker: str | None = None

    def set(self) -> None:
        """Mark, then switch on. Errors: `AccessDenied` without elevation, `ToolhelpError`."""
        if self._marker is not None:
            return
        restore_stale()
        before = _core.registry_number(_key(self.image), VALUE)
        marker = f"{_core.current_pid()}:{'absent' if before is None else before}"
        # Written first and kept in mind first: whatever happens next can be taken back.
        self._marker = marker
        _core.registry_set(MARKERS, self.image, marker)
        _core.registry_set(_key(self.image), VALUE, (before or 0) | HEAP)

    def restore(self) -> None:
        """Put back what was there; nothing when it was never set."""
        if self._marker is not None:
            _restore(self.image, self._marker)
            self._marker = None


def _is_running(pid: int) -> bool:
    try:
        return _core.process_facts(pid)[1] is None
    except ToolhelpError as error:
        return error.winerror != 87


def restore_stale() -> list[str]:
    """Take back the switches whose process is gone; their images."""
    restored = []
    for image in _core.registry_names(MARKERS):
        marker = _core.registry_text(MARKERS, image) or ""
        owner = marker.partition(":")[0]
        if owner.isdecimal() and _is_running(int(owner)):
            continue
        _restore(image, marker)
        restored.append(image)
    return restored
