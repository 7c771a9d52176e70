"""The bed under Wine: its headers fit its interpreter, and the extension is the shipped one."""

from __future__ import annotations

import builtins
import struct

import pytest

layout = pytest.importorskip("_layout", reason="only in the Wine bed (tests/wine/run.py)")


@pytest.mark.parametrize("name", sorted(layout.sizes()))
def test_objects_are_as_large_as_the_interpreter_says(name):
    assert layout.sizes()[name] == getattr(builtins, name).__basicsize__


@pytest.mark.parametrize("letter", sorted(layout.scalars()))
def test_scalars_are_those_of_64_bit_windows(letter):
    assert layout.scalars()[letter] == struct.calcsize(letter)
