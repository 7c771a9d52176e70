"""The examples run as they stand."""

from __future__ import annotations

import json
import os
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.mark.needs("windows-calls")
def test_snapshot_columns(capsys):
    runpy.run_path(str(EXAMPLES / "snapshot_columns.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    own = str(os.getpid())
    assert lines[0].endswith(f"'>' marks this process, PID {own}.")
    marked = [line.split() for line in lines if line.startswith(">")]
    assert [(words[1], words[3].lower()) for words in marked] == [(own, "python.exe")]
    assert any("kernel32.dll" in line.lower() for line in lines)
    (row,) = json.loads(lines[-1])
    assert (str(row["pid"]), row["name"].lower()) == (own, "python.exe")
