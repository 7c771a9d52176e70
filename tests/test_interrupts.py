"""Ctrl-C at any moment of a command: exit code 130, one line, never a traceback."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from children import running
from conftest import ROOT, WINDOWS

pytestmark = pytest.mark.needs("core")

TRACE = str(ROOT / "examples" / "leaky.etl")

# SIGINT at the n-th import after the program has begun; nothing when there are fewer.
AT_IMPORT = """
import signal, sys
import toolhelp.cli

class Interrupter:
    left = int(sys.argv.pop(1))

    def find_spec(self, name, path=None, target=None):
        Interrupter.left -= 1
        if Interrupter.left == 0:
            sys.stdout.write("interrupting at " + name + "\\n")
            sys.stdout.flush()
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupter())
toolhelp.cli.main()
"""

WHEN_READY = """
import os, sys
import toolhelp.cli
try:
    print("ready", flush=True)
    toolhelp.cli.main()
except KeyboardInterrupt:
    os._exit(99)  # main had not been entered
"""


def said(text: str) -> list[str]:
    """The lines of stderr; click ends the line in which a terminal shows ^C."""
    return [line for line in text.splitlines() if line]


@pytest.mark.parametrize("number", [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 120, 150])
def test_while_it_imports(number):
    done = subprocess.run(
        [sys.executable, "-c", AT_IMPORT, str(number), "report", TRACE, "--top", "1"],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    if "interrupting at" not in done.stdout:
        assert number > 55, "a report takes more imports than that"
        assert done.returncode == 0
        return
    assert said(done.stderr) == ["toolhelp: interrupted"]
    assert done.returncode == 130


@pytest.mark.skipif(WINDOWS, reason="Windows has no way to interrupt one process")
@pytest.mark.parametrize("milliseconds", [0, 5, 15, 30, 60, 90, 120, 160, 200, 250, 400])
def test_after_so_long(milliseconds):
    command = [sys.executable, "-c", WHEN_READY, "report", TRACE]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with running(command, **pipes, encoding="utf-8") as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(milliseconds / 1000)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, said(errors)) in (
        (130, ["toolhelp: interrupted"]),
        (0, []),  # it was quicker
        (99, []),
    )


def test_made_into_another_exception(monkeypatch, capsys):
    """As the compiler does, which says that it cannot load a module."""
    from toolhelp import cli
    from toolhelp.cli import exits

    def body():
        with pytest.raises(KeyboardInterrupt):
            cli._interrupt(signal.SIGINT, None)
        raise SyntaxError("can't load unicodedata module")

    monkeypatch.setattr(cli, "_seen", [])
    assert exits.run(body) == 130
    assert said(capsys.readouterr().err) == ["toolhelp: interrupted"]


def test_pressed_twice(capsys, monkeypatch):
    """A second Ctrl-C while the first one is answered."""
    from toolhelp import cli

    class Interrupting:
        def write(self, text):
            raise KeyboardInterrupt

        def flush(self):
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stderr", Interrupting())
    assert cli.interrupted() == 130
