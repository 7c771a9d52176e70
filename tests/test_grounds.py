"""How test grounds are run and counted, and how made things are kept."""

from __future__ import annotations

import os
import sys
import time

import pytest

from grounds import command, packages, report
from grounds.command import Failed, Missing
from grounds.report import Ground, Result


def fails():
    raise Failed("exit code 1: pytest")


def misses():
    raise Missing("Wine is not installed")


@pytest.mark.parametrize(
    ("start", "required", "state", "note"),
    [
        (lambda: None, [], "passed", ""),
        (fails, [], "FAILED", "exit code 1: pytest"),
        (misses, [], "skipped", "Wine is not installed"),
        (misses, ["fake"], "skipped", "Wine is not installed"),
        (misses, ["wine"], "FAILED", "required, but: Wine is not installed"),
    ],
)
def test_how_a_ground_ends(start, required, state, note):
    result = report.run_one(Ground("wine", 10, start), required, start)
    assert (result.name, result.state, result.note, result.budget) == ("wine", state, note, 10)


def test_required_words_need_a_ground_that_passed():
    grounds = [Ground("native", 1, fails, frozenset({"shared"})), Ground("wine", 1, fails)]
    passed = [Result("native", "passed", 1, 1), Result("wine", "skipped", 0, 1)]
    assert report.unmet(["shared", "native"], grounds, passed) == []
    assert report.unmet(["wine", "shared", "moon"], grounds, passed) == ["wine", "moon"]


def test_summary_names_what_is_over_its_budget():
    text = report.summary([Result("fake", "passed", 12.4, 10)], ["wine"])
    assert "fake        passed      12 s of  10 s (over)" in text
    assert text.endswith("Required and not there: wine.")


def test_advice_is_one_sentence_with_each_package_once():
    tools = [
        packages.Tool("a", lambda: False, lambda: ["x", "y"]),
        packages.Tool("b", lambda: False, lambda: ["y"]),
    ]
    assert packages.advice(tools) == "Missing: a, b. On Debian or Ubuntu install: x y."


def test_exit_code_is_a_failure_unless_expected():
    words = [sys.executable, "-c", "print('words'); raise SystemExit(3)"]
    assert command.run(words, capture=True, ok=(0, 3)).strip() == "words"
    with pytest.raises(Failed, match="exit code 3"):
        command.run(words, capture=True)


def ask_for_a_while(pid):
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        os.kill(pid, 0)
        time.sleep(0.05)


@pytest.mark.skipif(os.name != "posix", reason="asks for the child in the POSIX way")
def test_a_command_over_its_limit_is_stopped_with_its_children(tmp_path):
    note = tmp_path / "child"
    child = "import time; time.sleep(60)"
    parent = (
        "import pathlib, subprocess, sys, time\n"
        f"child = subprocess.Popen([sys.executable, '-c', {child!r}])\n"
        f"pathlib.Path({str(note)!r}).write_text(str(child.pid))\n"
        "time.sleep(60)\n"
    )
    with pytest.raises(Failed, match="stopped after 2 s"):
        command.run([sys.executable, "-c", parent], limit=2, capture=True)
    pid = int(note.read_text())
    with pytest.raises(ProcessLookupError):
        ask_for_a_while(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="the Wine bed is for Linux")
class TestCache:
    @pytest.fixture(autouse=True)
    def empty_cache(self, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def test_a_thing_is_made_once(self):
        from wine import cache

        calls = []

        def make(folder):
            calls.append(folder.name)
            (folder / "content").write_text("x")

        first = cache.made("thing-1", make)
        assert cache.made("thing-1", make) == first
        assert calls == ["thing-1.part"]
        assert (first / "content").read_text() == "x"

    def test_an_interrupted_thing_is_not_there(self):
        from wine import cache

        def broken(folder):
            (folder / "half").write_text("x")
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            cache.made("thing-1", broken)
        assert not (cache.root() / "thing-1").exists()
        whole = cache.made("thing-1", lambda folder: (folder / "all").write_text("y"))
        assert [path.name for path in whole.iterdir()] == ["all"]

    def test_what_was_not_used_for_long_is_dropped(self):
        from wine import cache

        old = cache.made("thing-1", lambda folder: None)
        other = cache.made("kept-1", lambda folder: None)
        for folder in (old, other):
            os.utime(folder, (0, 0))
        new = cache.made("thing-2", lambda folder: None)
        assert new.is_dir()
        assert not old.exists()
        assert other.is_dir()
