"""Builds the package over the fake system with the bare loops in it: `build.py [--full-api]`.

Prints its folder. The `_core` in it exports the scripted Windows calls as plain C functions, so
that ctypes can walk the very same system.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import build_fake


def build(full_api: bool) -> Path:
    """The folder with the package; `full_api` instead of the limited one."""
    variant = "bench-full" if full_api else "bench"
    folder = build_fake.BUILD / variant
    macros = build_fake.limited_macros(full_api)
    suffix = ".abi3.so" if macros else sysconfig.get_config_var("EXT_SUFFIX")
    tools = build_fake.here(variant, False, True, *macros, "-fvisibility=default")
    tools.link_flags.append("-shared")
    fakes = [path for path in build_fake.fake_sources() if path.name != "fake_module.c"]
    bare = ROOT / "benchmarks" / "csrc" / "bare_walk.c"
    core = folder / "toolhelp" / f"_core{suffix}"
    tools.build([*build_fake.core_sources(False), *fakes, bare], core)
    build_fake.remove_other_builds(core)
    build_fake.copy_package(folder)
    return folder


if __name__ == "__main__":
    print(build("--full-api" in sys.argv[1:]))
