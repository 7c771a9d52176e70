"""The workflows cannot run here, but they can be read: by their schema and by a security linter."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

GITHUB = Path(__file__).resolve().parents[1] / ".github"
WORKFLOWS = sorted(GITHUB.glob("workflows/*.yml"))

pytestmark = pytest.mark.skipif(not WORKFLOWS, reason="an sdist has no workflows")


def run(*words: str | Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    result = subprocess.run(
        list(map(str, words)),
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stdout


def test_schema():
    if importlib.util.find_spec("check_jsonschema") is None:
        pytest.skip("check-jsonschema is not installed")
    schema = "vendor.github-workflows"
    run(sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *WORKFLOWS)


def test_security():
    zizmor = shutil.which("zizmor", path=sysconfig.get_path("scripts"))
    if zizmor is None:
        pytest.skip("zizmor is not installed")
    run(zizmor, "--offline", "--no-progress", "--config", GITHUB / "zizmor.yml", *WORKFLOWS)


@pytest.fixture(scope="module")
def expected():
    spec = importlib.util.spec_from_file_location("expected", GITHUB / "expected_files.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("toolhelp-0.1.0.tar.gz", "sdist"),
        ("toolhelp-0.1.0-cp311-abi3-win_amd64.whl", "cp311-abi3-win_amd64"),
        ("toolhelp-0.1.0-cp311-abi3-win32.whl", "cp311-abi3-win32"),
        (
            "toolhelp-1.0-cp311-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
            "cp311-abi3-manylinux_x86_64",
        ),
        (
            "toolhelp-1.0-cp314-cp314t-musllinux_1_2_aarch64.whl",
            "cp314-cp314t-musllinux_aarch64",
        ),
        ("toolhelp-1.0-cp311-abi3-macosx_10_9_x86_64.whl", "cp311-abi3-macosx_x86_64"),
        ("toolhelp-1.0-cp314-cp314t-macosx_11_0_arm64.whl", "cp314-cp314t-macosx_arm64"),
    ],
)
def test_kind_of_a_file(expected, name, kind):
    assert expected.kind(name) == kind


def test_what_differs_from_the_expected_files(expected):
    names = [f"toolhelp-1.0-{kind}.whl" for kind in sorted(expected.EXPECTED - {"sdist"})]
    assert expected.differences([*names, "toolhelp-1.0.tar.gz"]) == []
    assert expected.differences([*names[1:], "toolhelp-1.0.tar.gz"]) == [
        "missing: cp311-abi3-macosx_arm64"
    ]
    assert expected.differences([*names, names[0], "toolhelp-1.0.tar.gz", "notes.txt"]) == [
        "unexpected: notes.txt",
        "twice: cp311-abi3-macosx_arm64",
    ]
