"""Trace sessions where they do not exist: on other systems, and under Wine, whose calls answer that
they worked and do nothing."""

from __future__ import annotations

import os

import pytest

import toolhelp as th
from toolhelp import _core


@pytest.mark.needs("wine")
class TestWine:
    def test_no_sessions_to_list(self):
        with pytest.raises(th.UnsupportedPlatform, match="does nothing, as Wine does") as caught:
            th.heap_sessions()
        assert caught.value.function == "QueryAllTracesW"

    def test_no_session_to_stop(self):
        with pytest.raises(th.UnsupportedPlatform, match="does nothing, as Wine does"):
            th.stop_session("NT Kernel Logger")

    @pytest.mark.parametrize("stacks", [(), ("alloc",)])
    @pytest.mark.parametrize("live", [False, True])
    def test_no_session_to_start(self, tmp_path, stacks, live):
        path = None if live else tmp_path / "x.etl"
        trace = th.HeapTrace([os.getpid()], stacks=stacks, path=path, live=live)
        with pytest.raises(th.UnsupportedPlatform, match="StartTraceW"):
            trace.start()
        assert trace.state == "new"
        assert list(tmp_path.iterdir()) == []

    def test_facts_of_this_process(self):
        created, exited, machine, native, heap = _core.process_facts(os.getpid())
        assert 133_000_000_000_000_000 < created < 200_000_000_000_000_000
        assert exited is None
        assert (machine, native) == (0, 0x8664)
        import ctypes

        call = ctypes.windll.kernel32.GetProcessHeap
        call.restype = ctypes.c_void_p
        assert heap == call()

    def test_clocks(self):
        first, frequency = _core.raw_clock(1)
        second, same = _core.raw_clock(1)
        assert second >= first > 0
        assert frequency == same == 10_000_000
        filetime, frequency = _core.raw_clock(2)
        assert 133_000_000_000_000_000 < filetime < 200_000_000_000_000_000
        assert frequency == 10_000_000

    def test_the_registry(self):
        key, name = r"SOFTWARE\toolhelp\Test", "v"
        assert _core.registry_number(key, name) is None
        assert _core.registry_names(key) == []
        _core.registry_set(key, name, 0xFFFFFFFF)
        _core.registry_set(key, "t", "a\u20ac")
        assert _core.registry_number(key, name) == 0xFFFFFFFF
        assert _core.registry_text(key, "t") == "a\u20ac"
        assert sorted(_core.registry_names(key)) == ["t", "v"]
        with pytest.raises(th.ToolhelpError) as caught:
            _core.registry_text(key, name)
        assert caught.value.winerror == 13
        for value in (name, "t", "t"):
            _core.registry_delete(key, value)
        assert _core.registry_names(key) == []


@pytest.mark.needs("no-windows")
class TestElsewhere:
    @pytest.mark.parametrize(
        "call",
        [
            th.heap_sessions,
            lambda: th.stop_session("x"),
            lambda: th.HeapTrace([4], path="x.etl", stacks=()).start(),
            lambda: th.HeapTrace([4]).start(),
            lambda: th.HeapTrace.launch("a.exe").start(),
            lambda: th.HeapTrace.by_image("a.exe", path="x.etl").start(),
        ],
    )
    def test_it_needs_windows(self, call):
        with pytest.raises(th.UnsupportedPlatform, match="needs Windows"):
            call()
