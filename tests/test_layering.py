"""The rules of the sources: who includes what, how long files are, what no file contains."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CSRC = ROOT / "csrc"
LONGEST = 600

# Which folders of csrc a folder may include from; itself always.
MAY_INCLUDE = {
    "base": set(),
    "host": {"base"},
    "sys": {"base"},
    "table": {"base"},
    "snapshot": {"base", "host", "sys", "table"},
    "session": {"base", "host", "sys", "table", "etl"},
    "etl": {"base", "host", "table"},
    "heap": {"base", "host", "table", "etl"},
    "py": {"base", "host", "sys", "table", "snapshot", "session", "etl", "heap"},
}
OF_SYS = {"sys.h", "etw.h", "launch.h", "privilege.h", "registry.h"}
# Reads the clock that stamps the events of a trace session.
STAMPS = "etw_win32.c"
WINDOWS_HEADERS = {"windows.h", "tlhelp32.h", "winternl.h", "psapi.h", "evntrace.h", "evntcons.h",
                   "tdh.h", "process.h", "winsock2.h", "dbghelp.h"}  # fmt: skip

pytestmark = pytest.mark.skipif(not CSRC.is_dir(), reason="the sources are not there")


def includes(path: Path) -> list[tuple[str, str]]:
    text = path.read_text(encoding="utf-8")
    return re.findall(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', text, re.MULTILINE)


def c_files(folder: Path = CSRC) -> list[Path]:
    return sorted([*folder.rglob("*.c"), *folder.rglob("*.h")])


def load_setup():
    pytest.importorskip("setuptools", reason="setuptools is not installed")
    spec = importlib.util.spec_from_file_location("toolhelp_setup_for_layering", ROOT / "setup.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_folders_are_known():
    assert {path.name for path in CSRC.iterdir() if path.is_dir()} <= MAY_INCLUDE.keys()


def test_includes_go_one_way():
    wrong = []
    for path in c_files():
        folder = path.relative_to(CSRC).parts[0]
        for bracket, name in includes(path):
            if bracket == "<":
                continue
            target, _, file = name.partition("/")
            allowed = target == folder or target in MAY_INCLUDE[folder]
            if target == "sys" and folder != "sys":
                allowed = allowed and file in OF_SYS
            if not allowed or not (CSRC / name).is_file():
                wrong.append(f"{named(path)} includes {name}")
    assert wrong == []


def test_windows_headers_are_behind_the_door():
    wrong = []
    for path in c_files():
        behind = path.name.endswith("_win32.c") and path.parent.name in ("sys", "host")
        # A header that what lies behind the door shares among itself.
        behind = behind or (path.parent.name == "sys" and path.name.endswith("_win32.h"))
        wrong += [
            f"{named(path)} includes {name}"
            for _, name in includes(path)
            if name.lower() in WINDOWS_HEADERS and not behind
        ]
    assert wrong == []


def test_python_is_known_in_one_folder():
    wrong = []
    for path in [*c_files(), *c_files(ROOT / "tests" / "csrc")]:
        known = path.parent == CSRC / "py"
        if path.parent.name == "csrc" and path.parent.parent.name == "tests":
            known = path.name.startswith(("fake_control", "fake_module"))
        uses = [
            name
            for _, name in includes(path)
            if name in ("Python.h", "structmember.h") or name.startswith("py/")
        ]
        if uses and not known:
            wrong.append(f"{named(path)} includes {uses}")
    assert wrong == []


def test_python_comes_first():
    """Python.h sets what the system's headers look at."""
    for path in c_files(CSRC / "py"):
        names = [name for _, name in includes(path)]
        assert names[0].startswith("py/") or names[0] == "Python.h", named(path)


def test_no_call_into_python_below_it():
    word = re.compile(r"\bPy(Object|Err|Mem|List|Dict|Unicode|Long|Bytes|Eval|GILState)_\w+")
    wrong = [
        named(path)
        for path in c_files()
        if path.parent != CSRC / "py" and word.search(path.read_text(encoding="utf-8"))
    ]
    assert wrong == []


def test_one_door_to_the_allocator():
    word = re.compile(r"\b(malloc|calloc|realloc|free|strdup|alloca)\s*\(")
    wrong = [
        named(path)
        for path in c_files()
        if path != CSRC / "base" / "mem.c" and word.search(without_comments(path))
    ]
    assert wrong == []


def without_comments(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    return re.sub(r"//[^\n]*", " ", text)


def test_only_the_clock_waits_and_tells_the_time():
    """Deadlines go through the host clock, which tests turn by hand."""
    word = re.compile(
        r"\b(Sleep|nanosleep|usleep|clock_gettime|QueryPerformanceCounter|GetTickCount\w*|time)\s*\("
    )
    wrong = [
        named(path)
        for path in c_files()
        if path.parent.name != "host"
        and path.name != STAMPS
        and word.search(without_comments(path))
    ]
    assert wrong == []


def test_no_switch_for_tests():
    wrong = []
    for path in c_files():
        for line in path.read_text(encoding="utf-8").splitlines():
            directive = re.match(r"\s*#\s*(if|ifdef|ifndef|elif)\b(.*)", line)
            if directive and re.search(r"TEST|FAKE|MOCK|STUB", directive[2], re.IGNORECASE):
                wrong.append(f"{named(path)}: {line.strip()}")
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if re.search(r"\bfake_|PYTEST|_TESTING\b|\bmock\b", text):
            wrong.append(named(path))
    assert wrong == []


@pytest.mark.parametrize("folder", ["csrc", "src", "tests", "benchmarks", "examples"])
def test_no_file_is_long(folder):
    long = {
        named(path): lines
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".c", ".h", ".py", ".pyi") and "_build" not in path.parts
        and (lines := len(path.read_bytes().splitlines())) > LONGEST
    }  # fmt: skip
    assert long == {}


def test_every_c_file_is_built_where_its_name_says():
    setup = load_setup()
    windows, elsewhere = set(setup.sources(True)), set(setup.sources(False))
    for path in sorted(CSRC.rglob("*.c")):
        name = named(path)
        assert (name in windows) == (not name.endswith(("_posix.c", "_none.c"))), name
        assert (name in elsewhere) == (not name.endswith("_win32.c")), name
    assert windows | elsewhere == {named(path) for path in CSRC.rglob("*.c")}


def test_headers_are_guarded_by_their_name():
    for path in sorted(CSRC.rglob("*.h")):
        guard = "TH_" + re.sub(r"\W", "_", path.relative_to(CSRC).as_posix()).upper()
        text = path.read_text(encoding="utf-8")
        assert f"#ifndef {guard}\n#define {guard}\n" in text, named(path)


def test_no_mark_of_unfinished_work():
    word = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    wrong = [
        named(path)
        for folder in ("csrc", "src", "tests/csrc")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".c", ".h", ".py", ".pyi") and word.search(path.read_text("utf-8"))
    ]
    assert wrong == []


def test_the_fake_plays_every_call_of_the_door():
    """Each function of sys.h that can fail takes part in planned failures, by the call's name."""
    header = (CSRC / "sys" / "sys.h").read_text(encoding="utf-8")
    declared = set(re.findall(r"\buint32_t (th_sys_\w+)\(", header)) - {"th_sys_current_pid"}
    fakes = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "tests/csrc").glob("fake_*.c")
    )
    walks = re.findall(r"^WALK\((\w+),", fakes, re.MULTILINE)
    played = {f"th_sys_{kind}_{step}" for kind in walks for step in ("first", "next")}
    for name in declared - played:
        body = re.search(rf"\b{name}\([^;{{]*\{{(.*?)^}}", fakes, re.DOTALL | re.MULTILINE)
        assert body, f"{name} has no fake"
        assert "FAKE_CALL(" in body[1], f"{name} cannot be made to fail"
