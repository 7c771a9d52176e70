"""Raw times to nanoseconds and file times, against whole numbers of any size."""

from __future__ import annotations

import ctypes

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import native

LOW, HIGH = -(1 << 63), (1 << 63) - 1
FILE_TIME_UNITS = 100  # nanoseconds


class Clock(ctypes.Structure):
    """th_clock."""

    _fields_ = (
        ("zero", ctypes.c_int64),
        ("start", ctypes.c_int64),
        ("numerator", ctypes.c_uint64),
        ("denominator", ctypes.c_uint64),
    )


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    path = tmp_path_factory.mktemp("clock") / "clock.so"
    native.build(path, "csrc/etl/clock.c", flags=("-O2", "-shared", "-fPIC"))
    loaded = ctypes.CDLL(str(path))
    for name in ("th_clock_ns", "th_clock_file_time"):
        function = getattr(loaded, name)
        function.restype = ctypes.c_int64
        function.argtypes = (ctypes.POINTER(Clock), ctypes.c_int64)
    return loaded


def cut(value: int) -> int:
    return max(LOW, min(HIGH, value))


raw_times = st.one_of(st.integers(LOW, HIGH), st.integers(-(10**6), 10**6))
#: numerator and denominator of performance counters, system time, processor cycles
rates = st.one_of(
    st.tuples(st.just(10**9), st.one_of(st.just(10**7), st.integers(1, HIGH))),
    st.just((100, 1)),
    st.tuples(st.just(1000), st.integers(1, 2**32 - 1)),
)


@settings(deadline=None, max_examples=2000, print_blob=True)
@given(zero=raw_times, raw=raw_times, start=st.integers(LOW, HIGH), rate=rates)
@example(zero=0, raw=HIGH, start=0, rate=(10**9, 10**7))
@example(zero=LOW, raw=HIGH, start=HIGH, rate=(10**9, HIGH))
@example(zero=HIGH, raw=LOW, start=LOW, rate=(10**9, HIGH))
@example(zero=HIGH, raw=LOW, start=0, rate=(10**9, 1))
@example(zero=1, raw=0, start=0, rate=(10**9, 3_579_545))
def test_exact(
    library: ctypes.CDLL, zero: int, raw: int, start: int, rate: tuple[int, int]
) -> None:
    numerator, denominator = rate
    clock = Clock(zero, start, numerator, denominator)
    nanoseconds = (raw - zero) * numerator // denominator
    assert library.th_clock_ns(clock, raw) == cut(nanoseconds)
    units = cut((raw - zero) * (numerator // FILE_TIME_UNITS) // denominator)
    assert library.th_clock_file_time(clock, raw) == cut(start + units)


def test_ten_years_of_a_fast_counter(library: ctypes.CDLL) -> None:
    """(t - T0) x 10^9 is beyond 64 bits after 15 minutes of a counter of 10 MHz."""
    for frequency in (10**7, 3_579_545, 24 * 10**6):
        ticks = 10 * 365 * 86400 * frequency
        clock = Clock(5, 133_485_408_000_000_000, 10**9, frequency)
        assert library.th_clock_ns(clock, 5 + ticks) == 10 * 365 * 86400 * 10**9
        end = 133_485_408_000_000_000 + 10 * 365 * 86400 * 10**7
        assert library.th_clock_file_time(clock, 5 + ticks) == end
