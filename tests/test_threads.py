"""Several threads at once: stress over the fake system, and race detectors on the C core."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import native
import toolhelp as th
from toolhelp import raw

TESTS = Path(__file__).resolve().parent
OWN = 4242
THREADS = 6
ROUNDS = 60


def at_once(*bodies) -> None:
    """Runs the bodies each in a thread, from the same moment; the first failure is raised."""
    gate = threading.Barrier(len(bodies))
    failures = []

    def run(body):
        gate.wait()
        try:
            body()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(body,)) for body in bodies]
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(switch)
    if failures:
        raise failures[0]


@pytest.fixture
def machine(fake):
    fake.fake_process(4, 0, "System", threads=[8, 12])
    fake.fake_process(OWN, 4, "python.exe", threads=[100, 104])
    for i in range(20):
        fake.fake_module(OWN, 0x10000 * (i + 1), 1, f"m{i}.dll", f"C:\\{'x' * 20 * i}\\m{i}.dll")
    return fake


@pytest.mark.needs("fake")
def test_calls_at_once(machine):
    expected = [list(call()) for call in (th.processes, th.threads, th.modules)]

    def body():
        for _ in range(ROUNDS):
            assert [list(call()) for call in (th.processes, th.threads, th.modules)] == expected
            with raw.CreateToolhelp32Snapshot(raw.TH32CS_SNAPMODULE) as snapshot:
                assert len(list(raw.modules(snapshot))) == 20

    at_once(*[body] * THREADS)


@pytest.mark.needs("fake")
def test_script_that_changes_meanwhile(machine, base_seed):
    """One thread adds and removes processes, loads and unloads modules: every answer is whole."""
    stop = threading.Event()

    def change():
        draw = random.Random(base_seed)
        for i in range(300):
            pid = 900 + draw.randrange(3)
            machine.fake_process(pid, 4, f"p{i}.exe", threads=range(pid * 10, pid * 10 + i % 5))
            machine.fake_module(pid, 0x5000, 7, "x.dll", "C:\\x.dll")
            if i % 10 == 0:
                machine.fake_fail("CreateToolhelp32Snapshot", code=24)
            if draw.random() < 0.3:
                machine.fake_remove(pid)
        stop.set()

    def look():
        while not stop.is_set():
            seen = th.snapshot()
            owners = [row.owner_pid for row in seen.threads]
            for process in seen.processes:
                assert owners.count(process.pid) == process.num_threads
            try:
                rows = [tuple(row)[:4] for row in th.modules(901)]
                assert rows in ([(901, 0x5000, 7, "x.dll")], [])
            except th.ProcessNotFound as missing:
                assert missing.pid == 901  # noqa: PT017

    at_once(change, look, look, look)


@pytest.mark.needs("fake")
def test_one_table_in_many_threads(machine):
    table = th.modules()
    rows = [tuple(row) for row in table]

    def body():
        for _ in range(ROUNDS):
            assert [tuple(row) for row in table] == rows
            assert [row.path for row in table[3:9]] == [row[4] for row in rows[3:9]]
            assert table["path"].dictionary == tuple(row[4] for row in rows)
            assert memoryview(table["base"])[2] == rows[2][1]
            assert len(table.take([5, 4, 3])) == 3
            assert table == table[:]
            table.__arrow_c_stream__()

    at_once(*[body] * THREADS)


@pytest.mark.needs("fake", "pyarrow")
def test_arrow_from_many_threads(machine):
    import pyarrow as pa

    table = th.modules()
    expected = pa.table(table).to_pylist()

    def body():
        for _ in range(ROUNDS):
            assert pa.table(table).to_pylist() == expected

    at_once(*[body] * THREADS)


@pytest.mark.needs("fake")
def test_close_while_others_walk(machine):
    for pid in range(1000, 1500):
        machine.fake_process(pid, 4, "p")
    for _ in range(30):
        snapshot = raw.CreateToolhelp32Snapshot(raw.TH32CS_SNAPPROCESS)

        def walk(snapshot=snapshot):
            try:
                while snapshot.Process32Next() is not None:
                    assert snapshot.handle > 0
            except ValueError as closed:
                assert "closed" in str(closed)  # noqa: PT017

        at_once(walk, walk, snapshot.close, snapshot.close)
        assert snapshot.closed
    assert machine.fake_handles() == 0
    assert machine.fake_calls()["CloseHandle"] == 30


@pytest.mark.needs("fake")
def test_the_gil_is_released(machine):
    """While a call is held up in the system, other threads run."""
    inside, go_on = threading.Event(), threading.Event()

    def hook(name):
        if name == "Thread32First":
            inside.set()
            assert go_on.wait(30)

    machine.fake_hook(hook)
    seen = []
    worker = threading.Thread(target=lambda: seen.append(len(th.threads())))
    worker.start()
    assert inside.wait(30)
    machine.fake_hook(None)
    assert len(th.processes()) == 2
    assert seen == []
    go_on.set()
    worker.join()
    assert seen == [4]


@pytest.mark.needs("free-threaded", "core")
def test_gil_comes_back_on_import():
    """Objects that hold a running child have no lock of their own yet, so the module does not say
    that it can do without the GIL, and a free-threaded interpreter turns it on."""
    code = "import sys, toolhelp; print(sys._is_gil_enabled())"
    environment = {key: value for key, value in os.environ.items() if key != "PYTHON_GIL"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        env={**environment, "PYTHONPATH": str(Path(th.__file__).parent.parent)},
        check=True,
    )
    assert done.stdout.strip() == "True"


# ----- race detectors on the C core over the fake -----


def program(name: str, main: str, *flags: str) -> Path:
    if sys.platform == "win32":
        pytest.skip("the C programs are built on Linux and macOS")
    import build_fake

    if shutil.which("gcc") is None and shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    if not (TESTS / "csrc" / main).exists():
        pytest.skip("the sources are not there")
    return build_fake.program(TESTS / "csrc" / main, name, *flags)


def run(*words: object) -> str:
    return native.run(*words).stdout


def valgrind() -> str:
    found = shutil.which("valgrind")
    if not found:
        pytest.skip("valgrind is not installed")
    return found


@pytest.mark.needs("fake")
def test_outputs_are_untouched_on_failure():
    assert "failures, all as they should be" in run(program("outputs", "outputs_main.c", "-g"))


@pytest.mark.needs("fake", "linux")
def test_core_in_threads_under_thread_sanitizer():
    flags = ["-g", "-O1", "-fsanitize=thread"]
    assert "all as it should be" in run(program("threads-tsan", "thread_main.c", *flags), 400)


@pytest.mark.needs("fake", "linux")
def test_core_in_threads_under_helgrind():
    words = [valgrind(), "-q", "--tool=helgrind", "--error-exitcode=9"]
    assert "all as it should be" in run(*words, program("threads", "thread_main.c", "-g"), 40)


@pytest.mark.needs("fake", "linux")
def test_core_under_memcheck():
    words = [valgrind(), "-q", "--leak-check=full", "--errors-for-leak-kinds=definite",
             "--error-exitcode=9"]  # fmt: skip
    assert "all as it should be" in run(*words, program("threads", "thread_main.c", "-g"), 40)
    assert "failures, all as they" in run(*words, program("outputs", "outputs_main.c", "-g"))
