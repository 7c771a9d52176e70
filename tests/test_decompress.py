"""The three decompressors against `dissect.util`, the reference reader, and damaged input."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import native
from etlmaker import pack
from etlref import unpack

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")
NUMBERS = {"lznt1": 2, "xpress": 3, "xpress_huffman": 4}
PACKERS: dict[str, Callable[[bytes], bytes]] = {name: getattr(pack, name) for name in NUMBERS}
CANARY = b"\xa5" * 64
#: Big enough for a table of the Huffman decoder, whatever its layout.
TABLE = 1 << 17


class Native:
    """The functions of one shared library, with canaries around what they write."""

    def __init__(self, library: Path) -> None:
        self.library = ctypes.CDLL(str(library))

    def expand(self, name: str, packed: bytes, size: int) -> bytes | None:
        function = getattr(self.library, f"th_{name}_expand")
        function.restype = ctypes.c_bool
        out = ctypes.create_string_buffer(CANARY + b"\x5a" * size + CANARY, size + 2 * len(CANARY))
        middle = ctypes.c_void_p(ctypes.addressof(out) + len(CANARY))
        more: list[Any] = [ctypes.create_string_buffer(TABLE)] if name == "xpress_huffman" else []
        exact = function(packed, ctypes.c_size_t(len(packed)), middle, ctypes.c_size_t(size), *more)
        assert out.raw[: len(CANARY)] == CANARY
        assert out.raw[len(CANARY) + size :] == CANARY
        return out.raw[len(CANARY) : len(CANARY) + size] if exact else None


@pytest.fixture(scope="module")
def expander(tmp_path_factory: pytest.TempPathFactory) -> Native:
    library = tmp_path_factory.mktemp("unpack") / "unpack.so"
    files = [f"csrc/etl/{name}.c" for name in NUMBERS]
    return Native(native.build(library, *files, flags=("-O2", "-shared", "-fPIC")))


def dissect(name: str, packed: bytes) -> bytes:
    compression = pytest.importorskip("dissect.util.compression", reason="dissect.util is absent")
    module = {"xpress": "lzxpress", "xpress_huffman": "lzxpress_huffman"}.get(name, name)
    pytest.importorskip(f"dissect.util.compression.{module}")
    return bytes(getattr(compression, module).decompress(packed))


def reference(name: str, packed: bytes, size: int) -> bytes | None:
    try:
        return getattr(unpack, name)(packed, size)
    except unpack.BadStream:
        return None


#: Text that repeats near and far, in runs, and not at all.
texts = st.builds(
    lambda parts: b"".join(part * times for part, times in parts),
    st.lists(
        st.tuples(
            st.one_of(st.binary(max_size=12), st.sampled_from([b"\0", b"ab", b"abc", b"heap----"])),
            st.integers(1, 700),
        ),
        max_size=25,
    ),
)
every_format = pytest.mark.parametrize("name", sorted(NUMBERS))
relaxed = settings(deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)


@every_format
@relaxed
@given(text=texts)
@example(text=b"")
@example(text=bytes(200_000))
@example(text=bytes(range(256)) * 300)
def test_round_trip(expander: Native, name: str, text: bytes) -> None:
    packed = PACKERS[name](text)
    assert expander.expand(name, packed, len(text)) == text


@every_format
@relaxed
@given(text=texts)
def test_same_as_dissect(expander: Native, name: str, text: bytes) -> None:
    packed = PACKERS[name](text)
    expected = dissect(name, packed)
    if name == "xpress_huffman":
        # It stops once it has read all input and drops what it holds of bits then: up to 32 of
        # them, none shorter than a code of one bit.
        got = expander.expand(name, packed, len(text))
        assert got is not None
        assert got.startswith(expected[: len(text)])
        assert expander.expand(name, packed, len(expected)) == expected or len(expected) > len(text)
    else:
        assert expander.expand(name, packed, len(text)) == expected


@every_format
@relaxed
@given(text=texts, data=st.data())
def test_damaged_same_as_reference(
    expander: Native, name: str, text: bytes, data: st.DataObject
) -> None:
    packed = bytearray(PACKERS[name](text))
    for _ in range(data.draw(st.integers(0, 4))):
        if packed:
            packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    packed = packed[: data.draw(st.integers(0, len(packed)))]
    size = max(0, len(text) + data.draw(st.sampled_from([0, 0, 0, -1, 1, -9, 40])))
    assert expander.expand(name, bytes(packed), size) == reference(name, bytes(packed), size)


@every_format
@relaxed
@given(packed=st.binary(max_size=600), size=st.integers(0, 5000))
def test_noise_same_as_reference(expander: Native, name: str, packed: bytes, size: int) -> None:
    assert expander.expand(name, packed, size) == reference(name, packed, size)


def test_lengths_and_distances(expander: Native) -> None:
    """Every distance below 20, at lengths around each step of the length code."""
    for distance in range(1, 20):
        head = bytes(range(1, distance + 1))
        for length in (3, 9, 10, 11, 24, 25, 26, 279, 280, 281, 65_000, 70_000):
            text = (head * (length // distance + 2))[: distance + length] + b"\xfe\xff" * 40
            for name, packer in PACKERS.items():
                assert expander.expand(name, packer(text), len(text)) == text
