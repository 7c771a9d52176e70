"""The commands over heap traces and their files: outputs, pipes, copies, what cannot be read."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import reporttraces
from test_report_command import ok, run

pytestmark = pytest.mark.needs("core")


@pytest.fixture(scope="module")
def leaky(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "leaky.etl"
    path.write_bytes(reporttraces.leaky_bytes())
    return path


def test_an_output_never_replaces_what_is_read(
    leaky: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace, rules = tmp_path / "app.etl", tmp_path / "rules.txt"
    trace.write_bytes(leaky.read_bytes())
    rules.write_text("leak:nothing\n")
    link = tmp_path / "link.etl"
    if os.name == "posix":
        link.symlink_to(trace)
    limit = ("--max-live", "1GB")
    for words in (
        ("report", trace, "-o", trace, "--force"),
        ("report", trace, "--each", "-o", trace, "--force"),
        ("report", trace, "--cull", rules, "-o", rules, "--force"),
        ("events", trace, "-o", trace, "--force"),
        ("info", trace, "-o", link if os.name == "posix" else trace, "--force"),
        ("diff", leaky, trace, "-o", trace, "--force"),
        ("check", trace, *limit, "-o", trace, "--force"),
        ("check", trace, *limit, "--junit", trace),
        ("check", trace, *limit, "--suppressions", rules, "--junit", rules),
        ("check", trace, *limit, "--junit", tmp_path / "new", "-o", tmp_path / "new"),
        ("report", trace, "-o", ""),
    ):
        done = run(*words)
        assert (done.returncode, done.stdout) == (2, ""), words
        assert "would be replaced" in done.stderr or "is empty" in done.stderr
    monkeypatch.chdir(tmp_path)
    ok("report", trace, "-o", "default")  # the word of --cull is no file
    assert trace.read_bytes() == leaky.read_bytes()
    assert rules.read_text() == "leak:nothing\n"
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("words", "code"), [(("--max-live", "1"), 1), (("--max-live", "1GB"), 0)], ids=["broken", "ok"]
)
def test_a_verdict_holds_when_nobody_reads_it(leaky: Path, words: Any, code: int) -> None:
    command = [sys.executable, "-m", "toolhelp", "check", str(leaky), *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        child.stdout.close()
        assert child.stderr.read() == b""
    assert child.returncode == code


def test_copies_are_not_several_files(leaky: Path, tmp_path: Path) -> None:
    whole = leaky.read_bytes()
    copies = {"copy.etl": whole, "cut.etl": whole[: len(whole) * 2 // 3]}
    for name, data in copies.items():
        (tmp_path / name).write_bytes(data)
    with gzip.open(tmp_path / "copy.etl.gz", "wb") as file:
        file.write(whole)
    for name in (*copies, "copy.etl.gz"):
        done = run("report", leaky, tmp_path / name)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"{name} holds the same events as" in done.stderr


def test_each_goes_on_after_a_file_that_cannot_be_read(leaky: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.etl"
    empty.touch()
    done = run("report", "--each", "--json", empty, leaky, tmp_path / "missing.etl")
    assert done.returncode == 3
    (found,) = json.loads(done.stdout)["reports"]
    assert found["live"] == {"blocks": 401, "bytes": 1_462_144}
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == ["toolhelp"] * 2
    assert "empty.etl" in done.stderr
    assert "missing.etl" in done.stderr
    done = run("report", "--each", "--json", empty)
    assert (done.returncode, json.loads(done.stdout)["reports"]) == (3, [])
    done = run("report", "--each", empty, leaky)
    assert (done.returncode, done.stdout) == (3, ok("report", "--each", leaky))


@pytest.mark.parametrize("live", ['{"bytes": NaN, "blocks": 1}', "[]", '{"bytes": Infinity}'])
def test_a_baseline_that_is_none(leaky: Path, tmp_path: Path, live: str) -> None:
    found = json.loads(ok("report", leaky, "--json"))
    text = json.dumps({**found, "live": "HERE"}).replace('"HERE"', live)
    (tmp_path / "base.json").write_text(text)
    done = run("check", leaky, "--baseline", tmp_path / "base.json")
    assert (done.returncode, done.stdout) == (3, "")
    assert "base.json" in done.stderr
