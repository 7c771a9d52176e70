"""The bed under Wine: its headers say of its interpreter's objects what that says itself."""

from __future__ import annotations

import builtins
import importlib
import struct

import pytest

pytestmark = pytest.mark.needs("wine")


@pytest.fixture
def layout():
    """Built by tests/wine/build.py from the same headers as the extension."""
    return importlib.import_module("_layout")


@pytest.mark.parametrize(
    "name", ["object", "type", "float", "complex", "list", "dict", "set", "str", "bytearray"]
)
def test_objects_are_as_large_as_the_interpreter_says(layout, name):
    assert layout.sizes()[name] == getattr(builtins, name).__basicsize__


@pytest.mark.parametrize("letter", ["l", "P", "n", "d"])
def test_scalars_are_those_of_64_bit_windows(layout, letter):
    assert layout.scalars()[letter] == struct.calcsize(letter)
