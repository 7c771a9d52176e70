"""Checks that a folder holds the release's files and no others: `expected_files.py dist`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

PYTHONS = ["cp311-abi3", "cp314-cp314t"]
PLATFORMS = [
    "win_amd64",
    "win_arm64",
    "win32",
    "manylinux_x86_64",
    "manylinux_aarch64",
    "musllinux_x86_64",
    "musllinux_aarch64",
    "macosx_x86_64",
    "macosx_arm64",
]
EXPECTED = {f"{python}-{platform}" for python in PYTHONS for platform in PLATFORMS} | {"sdist"}

VERSION_OF_PLATFORM = re.compile(r"^(manylinux|musllinux|macosx)[0-9_]+_(?=[a-z])")


def kind(name: str) -> str:
    """`cp311-abi3-manylinux_x86_64` for a wheel, whatever its version and platform's version."""
    if name.endswith(".tar.gz"):
        return "sdist"
    found = re.fullmatch(r"[^-]+-[^-]+-([^-]+-[^-]+)-([^-]+)\.whl", name)
    if not found:
        return name
    platform = VERSION_OF_PLATFORM.sub(r"\g<1>_", found[2].split(".")[0])
    return f"{found[1]}-{platform}"


def differences(names: list[str]) -> list[str]:
    """What is missing, unexpected or there twice, one line each."""
    kinds = [kind(name) for name in names]
    lines = [f"missing: {wanted}" for wanted in sorted(EXPECTED - set(kinds))]
    lines += [f"unexpected: {found}" for found in sorted(set(kinds) - EXPECTED)]
    lines += [f"twice: {found}" for found in sorted({k for k in kinds if kinds.count(k) > 1})]
    return lines


if __name__ == "__main__":
    trouble = differences([path.name for path in Path(sys.argv[1]).iterdir()])
    print("\n".join(trouble) or f"all {len(EXPECTED)} files are there")
    sys.exit(bool(trouble))
