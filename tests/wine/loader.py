"""Wine itself: finding it, a private prefix, starting a Windows program in it."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from grounds.packages import wine_loader
from wine import cache

# Nothing of the caller's own Python may reach the one in the bed.
UNWANTED = ("PYTHON", "VIRTUAL_ENV", "PIP_", "NOX_", "PYTEST_", "COV_", "LD_PRELOAD", "WINE")

# Nor is a screen needed. Newer Wine complains when the runtime folder is not named.
UNWANTED += ("DISPLAY", "WAYLAND_", "XDG_RUNTIME_DIR")

# No start menu entries, no offers to download .NET or a browser.
OVERRIDES = "winemenubuilder.exe=d;mscoree=d;mshtml=d"


class WineMissing(RuntimeError):
    """Wine is not installed, or cannot start a program."""


def windows_path(path: Path | str) -> str:
    """Wine shows the whole Linux tree as drive Z."""
    return "Z:" + os.path.abspath(path).replace("/", "\\")


def loader() -> str:
    found = wine_loader()
    if found is None:
        raise WineMissing("Wine is not installed")
    return found


def environment(prefix: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(UNWANTED)}
    return kept | {
        "WINEPREFIX": str(prefix),
        "XDG_RUNTIME_DIR": str(prefix),
        "WINEDEBUG": "-all",
        "WINEARCH": "win64",
        "WINEDLLOVERRIDES": OVERRIDES,
        **more,
    }


def _run(prefix: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [loader(), *words],
        env=environment(prefix),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
        timeout=300,
    )


def _wait_for_server(prefix: Path) -> None:
    """Wine's server of this prefix has written its registry and is gone."""
    for known in ("/usr/lib/wine/wineserver64", "/usr/lib/wine/wineserver", "wineserver"):
        server = shutil.which(known)
        if server:
            subprocess.run(
                [server, "-w"], env=environment(prefix), stdin=subprocess.DEVNULL, check=False
            )
            return


def _make_prefix(prefix: Path) -> None:
    key = ["reg", "add", r"HKCU\Software\Wine", "/v", "Version", "/d", "win10", "/f"]
    result = _run(prefix, *key)
    if result.returncode != 0:
        raise WineMissing(f"Wine cannot start a program here: {result.stdout.strip()[-500:]}")
    _wait_for_server(prefix)


def prefix() -> Path:
    """The prefix of this Wine. It says it is Windows 10, as CPython 3.11 and newer want."""
    answer = subprocess.run([loader(), "--version"], capture_output=True, text=True, check=False)
    recipe = Path(__file__).read_bytes() + answer.stdout.encode()
    return cache.made(f"prefix-{hashlib.sha256(recipe).hexdigest()[:16]}", _make_prefix)
