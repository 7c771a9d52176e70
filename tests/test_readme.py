"""The README promises nothing that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import toolhelp
from toolhelp.cli import commands

README = Path(__file__).resolve().parent.parent / "README.md"
TEXT = README.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(set(re.findall(r"\bth\.(\w+)", TEXT))))
def test_names_exist(name: str) -> None:
    assert hasattr(toolhelp, name)


def test_commands_exist() -> None:
    block = TEXT.split("## The command")[1].split("```")[1]
    lines = [
        re.split(r"\s{3,}|--", line.removeprefix("toolhelp "))[0] for line in block.split("\n")
    ]
    words = {part.split()[0] for line in lines for part in line.split("|") if part.split()}
    assert words
    assert words <= set(commands.COMMANDS)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:docs|benchmarks)/[\w.-]+)`", TEXT))))
def test_named_files_exist(path: str) -> None:
    assert (README.parent / path).is_file()
