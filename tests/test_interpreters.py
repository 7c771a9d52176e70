"""Sub-interpreters, each with a GIL of its own from Python 3.12 on, and newer Pythons.

Every test runs in a process of its own, with this Python and with each newer one that is found
beside it: the one build for the limited API serves them all.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import toolhelp as th

pytestmark = pytest.mark.needs("fake")

PACKAGE = Path(th.__file__).parent.parent
ABI3 = th._core.__file__.endswith((".abi3.so", "_core.pyd"))


def pythons() -> dict[str, str]:
    """This Python and newer ones with another minor version, by version."""
    found = {f"3.{sys.version_info.minor}": sys.executable}
    if not ABI3 or sys.platform == "win32":
        return found
    for minor in range(sys.version_info.minor + 1, 15):
        beside = sorted(Path(sys.base_prefix).parent.glob(f"3.{minor}.*/bin/python3.{minor}"))
        path = str(beside[-1]) if beside else shutil.which(f"python3.{minor}")
        if path:
            found[f"3.{minor}"] = path
    return found


PYTHONS = pythons()
each_python = pytest.mark.parametrize("version", [f"3.{minor}" for minor in range(11, 15)])

HEAD = """
    import gc, sys, threading
    from toolhelp import _core as core
    import toolhelp as th

    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters

    def create():
        if sys.version_info >= (3, 13):
            return interpreters.create("isolated")
        return interpreters.create()

    def run(interpreter, code):
        run_string = getattr(interpreters, "exec", None) or interpreters.run_string
        failure = run_string(interpreter, code)
        assert failure is None, failure

    def run_each(found, code):
        failures = []
        def body(one):
            try:
                run(one, code)
            except BaseException as failure:
                failures.append(failure)
        threads = [threading.Thread(target=body, args=(one,)) for one in found]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert not failures, failures

    core.fake_reset()
    core.fake_process(4242, 4, "a\\ud800.exe", threads=[1, 2])
    for i in range(50):
        core.fake_module(4242, 4096 * i, 1, f"{i}.dll", f"C:\\\\{i}.dll")
"""

LOOK = """
import toolhelp as th
assert tuple(th.processes()[0]) == (4242, 4, "a\\ud800.exe", 2, 8)
for i in range(20):
    assert [row.base for row in th.modules()] == [4096 * i for i in range(50)]
    assert len(th.threads(4242)) == 2
    assert len(th.modules()["path"].dictionary) == 50
    memoryview(th.modules()["base"])
    try:
        th.modules(5)
    except th.ProcessNotFound as missing:
        assert missing.winerror == 87
    else:
        raise AssertionError
    with th.raw.CreateToolhelp32Snapshot(2) as snapshot:
        assert len(list(th.raw.processes(snapshot))) == 1
"""


def run(version: str, body: str, *options: str) -> str:
    if version not in PYTHONS:
        pytest.skip(f"there is no Python {version} here that could load this build")
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "PYTHONDONTWRITEBYTECODE": "1"}
    code = textwrap.dedent(HEAD) + f"LOOK = {LOOK!r}\n" + textwrap.dedent(body)
    done = subprocess.run(
        [PYTHONS[version], *options, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.strip()


@each_python
def test_this_build_serves_newer_pythons(version):
    said = run(version, "exec(LOOK); print(sys.version_info[:2], core.__file__)")
    major, minor = map(int, version.split("."))
    assert said.startswith(f"({major}, {minor}) {PACKAGE}")


@each_python
def test_interpreters_one_after_the_other(version):
    said = run(version, """
        exec(LOOK)
        gc.collect()
        blocks = core.fake_live_blocks()
        for i in range(5):
            one = create()
            run(one, LOOK)
            interpreters.destroy(one)
        exec(LOOK)
        gc.collect()
        print(core.fake_live_blocks() - blocks, core.fake_handles(), core.fake_faults())
    """)  # fmt: skip
    assert said == "0 0 []"


@each_python
def test_interpreters_at_once(version):
    said = run(version, """
        found = [create() for _ in range(4)]
        run_each(found, LOOK)
        run_each(found, LOOK)
        for one in found:
            interpreters.destroy(one)
        print(core.fake_live_blocks(), core.fake_handles(), core.fake_faults())
    """)  # fmt: skip
    assert said == "0 0 []"


@each_python
def test_types_are_of_one_interpreter(version):
    said = run(version, """
        one = create()
        run(one, "import os, toolhelp as th; t = th.processes(); "
                 "os.write(1, str(id(type(t))).encode() + b' ')")
        interpreters.destroy(one)
        print(id(th.Table))
    """)  # fmt: skip
    theirs, ours = said.split()
    assert theirs != ours


@each_python
def test_module_is_made_and_freed_again(version):
    """Loading it under several names in one interpreter: state is per module, nothing is kept."""
    said = run(version, """
        import importlib.util, weakref
        def load():
            spec = importlib.util.spec_from_file_location("toolhelp._core", core.__file__)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
        first, second = load(), load()
        assert first is not second and first.Table is not second.Table
        table = second.modules()
        kinds = [weakref.ref(first.Table), weakref.ref(second.Table)]
        assert len(table) == 50
        del first, second
        gc.collect()
        assert kinds[0]() is None and kinds[1]() is type(table)
        assert table[3].base == 4096 * 3 and table[3:].take([1])[0].base == 4096 * 4
        del table
        gc.collect()
        assert kinds[1]() is None
        print(core.fake_live_blocks())
    """)  # fmt: skip
    assert said == "0"
