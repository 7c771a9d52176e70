"""Every input of the fuzzers' corpora, without a fuzzer, under the sanitizers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import native

CORPUS = native.ROOT / "tests" / "fuzz" / "corpus"
UNPACK = [f"csrc/etl/{name}.c" for name in ("unpack", "lznt1", "xpress", "xpress_huffman")]


@pytest.mark.parametrize("target", ["trace", "unpack"])
def test_corpus(target: str, tmp_path: Path) -> None:
    inputs = sorted(str(path) for path in (CORPUS / target).iterdir())
    assert len(inputs) >= 10
    if target == "trace":
        files = native.sources(*native.READER)
    else:
        files = [*native.sources("csrc/base"), *UNPACK]
    main = [f"tests/fuzz/fuzz_{target}.c", "tests/fuzz/replay_main.c"]
    program = native.build(tmp_path / target, *main, *files, flags=native.SANITIZE)
    done = subprocess.run([program, *inputs], capture_output=True, text=True, timeout=300)
    assert done.stderr == ""
    assert (done.returncode, done.stdout) == (0, f"{len(inputs)} files\n")
