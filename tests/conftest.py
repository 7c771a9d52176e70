"""What this run stands on, and which tests need what of it.

    @pytest.mark.needs("fake")             skipped, with the reason, where there is no fake system
    pytest --require=fake,pyarrow          the named facts must hold: their skips become failures

See `FACTS` for the words.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SHARED_ETL = ROOT.parent / "shared" / "data" / "etl"
WINDOWS = sys.platform == "win32"

sys.path.insert(0, str(ROOT / "tests"))


@dataclass(frozen=True)
class Fact:
    holds: Callable[[], bool]
    otherwise: str
    """Why a test that needs it cannot run."""


def _has(module: str) -> Callable[[], bool]:
    return lambda: importlib.util.find_spec(module) is not None


def _core() -> object | None:
    try:
        from toolhelp import _core
    except ImportError:
        return None
    return _core


def is_fake() -> bool:
    return hasattr(_core(), "fake_reset")


def is_wine() -> bool:
    if not WINDOWS:
        return False
    import ctypes

    try:
        ctypes.WinDLL("ntdll").wine_get_version  # noqa: B018
    except AttributeError:
        return False
    return True


def is_elevated() -> bool:
    if not WINDOWS:
        return False
    import ctypes

    return bool(ctypes.windll.shell32.IsUserAnAdmin())


def is_free_threaded() -> bool:
    return not getattr(sys, "_is_gil_enabled", lambda: True)()


def interpreters_module() -> object | None:
    for name in ("_interpreters", "_xxsubinterpreters"):
        if importlib.util.find_spec(name):
            return importlib.import_module(name)
    return None


FACTS = {
    "fake": Fact(is_fake, "runs over the fake system only (tests/build_fake.py)"),
    "real": Fact(lambda: _core() is not None and not is_fake(), "not over the fake system"),
    "core": Fact(lambda: _core() is not None, "the extension is not built"),
    "windows": Fact(
        lambda: WINDOWS and not is_wine() and not is_fake(), "needs Windows itself, not Wine"
    ),
    "wine": Fact(lambda: is_wine() and not is_fake(), "runs under Wine only (tests/wine/run.py)"),
    "windows-calls": Fact(lambda: WINDOWS and not is_fake(), "needs Windows' calls, or Wine's"),
    "no-windows": Fact(lambda: not WINDOWS and not is_fake(), "for systems without Windows' calls"),
    "linux": Fact(lambda: sys.platform == "linux", "for Linux only"),
    "elevated": Fact(lambda: is_elevated() and not is_wine(), "needs an elevated Windows process"),
    "own-memory": Fact(
        lambda: "asan" not in os.environ.get("LD_PRELOAD", ""),
        "the sanitizers' own memory would be measured",
    ),
    "shared": Fact(SHARED_ETL.is_dir, "the folder with real traces is not there"),
    "numpy": Fact(_has("numpy"), "NumPy is not installed"),
    "pyarrow": Fact(_has("pyarrow"), "pyarrow is not installed"),
    "psutil": Fact(_has("psutil"), "psutil is not installed"),
    "hypothesis": Fact(_has("hypothesis"), "hypothesis is not installed"),
    "free-threaded": Fact(is_free_threaded, "for an interpreter without a GIL only"),
    "subinterpreters": Fact(
        lambda: sys.version_info >= (3, 12) and interpreters_module() is not None,
        "interpreters with a GIL of their own need Python 3.12",
    ),
    "testcapi": Fact(_has("_testcapi"), "this Python has no _testcapi module"),
}
"""Everything a test can need."""

_known: dict[str, bool] = {}


def fact(name: str) -> bool:
    if name not in _known:
        _known[name] = FACTS[name].holds()
    return _known[name]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--require",
        default="",
        metavar="A,B",
        help="facts that must hold: a test that would be skipped for one of them fails",
    )


def required(config: pytest.Config) -> list[str]:
    return [name for name in config.getoption("--require").split(",") if name]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs(*facts): what the test stands on; see conftest.py")
    unknown = [name for name in required(config) if name not in FACTS]
    if unknown:
        raise pytest.UsageError(f"--require does not know {', '.join(unknown)}")
    if fact("hypothesis"):
        from hypothesis import HealthCheck, settings

        # The same examples each time: what fails here fails everywhere.
        settings.register_profile(
            "toolhelp",
            derandomize=True,
            deadline=None,
            max_examples=50,
            suppress_health_check=[HealthCheck.too_slow],
        )
        settings.load_profile("toolhelp")


def _needs(item: pytest.Item) -> list[str]:
    names = [name for marker in item.iter_markers("needs") for name in marker.args]
    return list(dict.fromkeys(names))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        for name in _needs(item):
            if name not in FACTS:
                raise pytest.UsageError(f"{item.nodeid} needs {name!r}, which conftest.py lacks")


def pytest_runtest_setup(item: pytest.Item) -> None:
    names = _needs(item)
    missing = [name for name in names if not fact(name)]
    item.user_properties.append(("needs", (names, bool(missing))))
    if not missing:
        return
    reason = "; ".join(FACTS[name].otherwise for name in missing)
    demanded = [name for name in missing if name in required(item.config)]
    if demanded:
        pytest.fail(f"required, but: {reason}", pytrace=False)
    pytest.skip(reason)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A required fact that does not hold fails the run even if no test asked for it."""
    if session.exitstatus == 0 and any(not fact(name) for name in required(session.config)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    config = terminalreporter.config
    counts: dict[str, list[int]] = {}
    for report in (r for reports in terminalreporter.stats.values() for r in reports):
        # A test that ran is counted by its call, a skipped or broken one by its setup.
        for key, value in getattr(report, "user_properties", ()):
            if key == "needs" and getattr(report, "when", "") in ("setup", "call"):
                for name in value[0]:
                    counts.setdefault(name, [0, 0])[value[1]] += 1
    if counts:
        told = [f"{name} {ran}/{skipped}" for name, (ran, skipped) in sorted(counts.items())]
        terminalreporter.write_line(f"needs (ran/skipped): {', '.join(told)}")
    for name in required(config):
        if not fact(name):
            terminalreporter.write_line(f"required, but: {name}: {FACTS[name].otherwise}")


@pytest.fixture(scope="session")
def shared_etl() -> Path:
    """The folder of real traces."""
    if not fact("shared"):
        pytest.skip(FACTS["shared"].otherwise)
    return SHARED_ETL


@pytest.fixture
def fake(request):
    """`toolhelp._core` of the fake build, reset; at its end nothing may be open or left over."""
    if not is_fake():
        pytest.skip(FACTS["fake"].otherwise)
    import gc

    core = _core()
    core.fake_reset()
    if core.fake_live_blocks():
        gc.collect()
    # What is there by now is no litter of this test: its many collections need not look at it.
    gc.freeze()
    blocks = core.fake_live_blocks()
    yield core
    core.fake_hook(None)
    core.fake_alloc_fail(0)
    request.node.funcargs.clear()  # what other fixtures gave to the test
    if core.fake_handles() or core.fake_live_blocks() != blocks:
        gc.collect()
    handles, faults = core.fake_handles(), core.fake_faults()
    left = core.fake_live_blocks() - blocks
    core.fake_reset()
    core.fake_default()
    assert (handles, faults, left) == (0, [], 0), "open handles, misuses, blocks not freed"


@pytest.fixture
def etw(fake):
    """The fake with process 1234 to trace; at its end no session of ours and no consumer runs, no
    child is suspended and no privilege is left enabled."""
    import gc

    fake.fake_default()
    fake.fake_process(1234, 4242, "app.exe", threads=[1])
    fake.fake_module(1234, 0x7FF600000000, 0x1000, "app.exe", "C:\\app\\app.exe")
    fake.fake_heap(1234, 0x20000, 1)

    def left() -> list[str]:
        sessions = [s["name"] for s in fake.fake_sessions() if s["running"]]
        return [name for name in sessions if name.startswith("toolhelp-4242-")]

    yield fake
    if left() or fake.fake_consumers():
        gc.collect()
    suspended = [child for child in fake.fake_children() if child["suspended"]]
    found = (left(), suspended, fake.fake_privilege(), fake.fake_consumers())
    assert found == ([], [], False, 0), "sessions, suspended children, privilege, consumers"


@pytest.fixture
def base_seed() -> int:
    """The seed of tests that draw at random; TOOLHELP_SEED sets another."""
    return int(os.environ.get("TOOLHELP_SEED", "20240101"))
