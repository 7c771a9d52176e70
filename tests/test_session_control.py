"""Heap sessions over the scripted system: life cycles, failures of every call, what is left."""

from __future__ import annotations

import gc
import itertools
import re
import struct
import sys
import threading

import pytest

import toolhelp as th
from toolhelp import heaptrace

pytestmark = pytest.mark.needs("fake")

HEAP = struct.pack("<IHH", 0x222962AB, 0x6180, 0x4B88) + bytes.fromhex("a825346b75f2a24a")
#: Codes that session calls are known to give.
CODES = [5, 8, 14, 24, 87, 112, 123, 161, 183, 1004, 1314, 1450, 4201, 7007]
QUIET = {"modules": False, "path": "C:\\t\\app.etl"}


def running(fake):
    return [s for s in fake.fake_sessions() if s["running"]]


# ----- life ---------------------------------------------------------------------------------------


def test_a_whole_life(etw):
    trace = th.HeapTrace([1234], **QUIET)
    assert trace.state == "new"
    assert trace.backend == "native"
    assert etw.fake_calls() == {}
    with trace as entered:
        assert entered is trace
        assert trace.state == "running"
        (session,) = running(etw)
        assert session["name"] == trace.name
        assert re.fullmatch(r"toolhelp-4242-\d+", trace.name)
        assert session["guid"] == HEAP
        assert session["file"] == trace.path
        assert session["mode"] == 0x08000001
        assert session["pids"] == [1234]
        assert session["hooks"] == [0x1021, 0x1022]
        assert (session["buffer_kb"], session["clock"], session["flush"]) == (1024, 1, 0)
        assert session["min_buffers"] >= 64
        assert session["max_buffers"] == 4 * session["min_buffers"]
        assert not session["stack_caching"]
        etw.fake_etw(lost=5)
        stats = trace.stats()
        assert (stats.events_lost, stats.buffer_kb) == (5, 1024)
        assert stats.buffers == session["min_buffers"]
        assert not stats.lossless
        assert "5 events found no room" in stats.advice
        trace.flush()
        assert running(etw)[0]["flushes"] == 1
    assert trace.state == "stopped"
    assert running(etw) == []
    assert trace.stats() == stats
    trace.stop()
    trace.stop()
    assert etw.fake_calls()["ControlTraceW.STOP"] == 1


def test_stats_without_loss_need_no_advice(etw):
    with th.HeapTrace(1234, **QUIET) as trace:
        assert trace.stats().lossless
        assert trace.stats().advice is None


@pytest.mark.parametrize("stacks", [(), ("alloc",), "free", tuple(heaptrace.STACKS)])
def test_stacks_and_the_privilege_for_them(etw, stacks):
    with th.HeapTrace([1234], stacks=stacks, **QUIET) as trace:
        wanted = (stacks,) if isinstance(stacks, str) else stacks
        assert trace.stacks == wanted
        assert running(etw)[0]["hooks"] == [heaptrace.STACKS[name] for name in wanted]
        assert not etw.fake_privilege()
    assert etw.fake_calls().get("AdjustTokenPrivileges", 0) == (2 if stacks else 0)


def test_update_gives_the_full_sets(etw):
    etw.fake_process(77, 1, "b.exe")
    with th.HeapTrace([1234], path="C:\\t\\x.etl", live=True, modules=False) as trace:
        trace.update(pids=[77, 1234, 77])
        assert running(etw)[0]["pids"] == [77, 1234]
        assert running(etw)[0]["hooks"] == [0x1021, 0x1022]
        trace.update(stacks=("free",))
        (session,) = running(etw)
        assert (session["pids"], session["hooks"]) == ([77, 1234], [0x1024])
        assert session["mode"] & 0x100, "real time goes on"
        assert (trace.pids, trace.stacks) == ((77, 1234), ("free",))
        with pytest.raises(th.ProcessNotFound, match="there is no such process"):
            trace.update(pids=[77, 78])
        etw.fake_fail("ControlTraceW.UPDATE", code=87)
        with pytest.raises(th.SessionError):
            trace.update(pids=[77])
        assert (trace.pids, trace.stacks) == ((77, 1234), ("free",))
        assert running(etw)[0]["pids"] == [77, 1234]


def test_wrong_order(etw):
    trace = th.HeapTrace([1234], **QUIET)
    for call in (trace.flush, trace.stats, lambda: trace.update(pids=[1234])):
        with pytest.raises(ValueError, match="not started yet"):
            call()
    trace.stop()
    with trace:
        with pytest.raises(ValueError, match="starts once"):
            trace.start()
        trace = th.HeapTrace([1234], **QUIET) if trace.state != "running" else trace
    for call in (trace.flush, lambda: trace.update(pids=[1234])):
        with pytest.raises(ValueError, match="is stopped"):
            call()
    with pytest.raises(ValueError, match="starts once"):
        trace.start()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"stacks": ["alloc", "lock"]}, "stacks are a subset of create, alloc"),
        ({"mode": "ring"}, "mode is one of sequential, circular, buffering"),
        ({"clock": "tsc"}, "clock is one of qpc, system"),
        ({"backend": "dll"}, "backend is native or wpt"),
        ({"path": None, "live": False}, "needs a path, or live=True"),
        ({"live": True, "mode": "buffering"}, "delivers nothing live"),
        ({"mode": "circular"}, "needs a largest size"),
        ({"module_seconds": 0}, "module_seconds must be positive"),
        ({"name": "a\\b"}, "no back slash"),
        ({"buffer_kb": 20000}, "at most 16384 KB"),
        ({"pids": [-1]}, "a process id must be"),
    ],
)
def test_wrong_options(etw, words, message):
    with pytest.raises(ValueError, match=message):
        th.HeapTrace(**{"pids": [1234], **QUIET, **words})
    assert etw.fake_calls() == {}


def test_nobody_to_trace(etw):
    with pytest.raises(ValueError, match="at least one process id"):
        th.HeapTrace([], **QUIET).start()


def test_a_target_that_is_gone(etw):
    with pytest.raises(th.ProcessNotFound) as caught:
        th.HeapTrace([1234, 999], **QUIET).start()
    assert (caught.value.pid, caught.value.function) == (999, "OpenProcess")
    assert running(etw) == []


def test_a_target_that_may_not_be_opened_is_traced(etw):
    etw.fake_process(50, 1, "protected.exe", open_error=5)
    with th.HeapTrace([50], **QUIET) as trace:
        assert running(etw)[0]["pids"] == [50]
        assert not trace.targets_gone()


def test_targets_that_end(etw):
    etw.fake_process(77, 1, "b.exe")
    with th.HeapTrace([1234, 77], **QUIET) as trace:
        assert not trace.targets_gone()
        etw.fake_change(77, exit_code=0)
        assert not trace.targets_gone()
        etw.fake_change(1234, exit_code=3)
        assert trace.targets_gone()


def test_circular_and_compressed_and_buffering(etw):
    with th.HeapTrace(1234, mode="circular", max_file_mb=64, compress=True, **QUIET) as trace:
        (session,) = running(etw)
        assert (session["mode"], session["max_file"]) == (0x0C000002, 64)
        assert trace.compressed
    with th.HeapTrace(1234, mode="buffering", **QUIET) as trace:
        (session,) = running(etw)
        assert (session["mode"], session["file"]) == (0x08000400, "")
    session = etw.fake_sessions()[0]
    assert (session["flushes"], session["file"]) == (1, trace.path)


def test_a_system_that_does_not_compress(etw):
    etw.fake_fail("StartTraceW", code=87)
    with th.HeapTrace([1234], compress=True, **QUIET) as trace:
        assert not trace.compressed
        assert running(etw)[0]["mode"] == 0x08000001


# ----- failures -----------------------------------------------------------------------------------

CLASSES = {
    5: th.AccessDenied,
    183: th.SessionExists,
    1314: th.AccessDenied,
    1450: th.TooManySessions,
    4201: th.SessionNotFound,
}
WORDS = {
    5: "run elevated",
    8: "fewer or smaller",
    14: "fewer or smaller",
    24: "too long",
    87: "refuses these options together",
    112: "too little room",
    123: "check the path",
    161: "its folder must be there",
    183: "one heap session can run at a time",
    1004: "refuses these flags together",
    1314: r"stacks=\(\)",
    1450: "left behind",
    4201: "heap_sessions",
    7007: "on their way",
}


@pytest.mark.parametrize("code", CODES)
def test_every_code_of_a_start(etw, code):
    etw.fake_fail("StartTraceW", code=code)
    with pytest.raises(CLASSES.get(code, th.SessionError), match=WORDS[code]) as caught:
        th.HeapTrace([1234], **QUIET).start()
    assert (caught.value.winerror, caught.value.function) == (code, "StartTraceW")
    assert running(etw) == []


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("call", ["OpenProcess", "AdjustTokenPrivileges", "StartTraceW"])
def test_every_call_of_a_start_failing(etw, call, code):
    etw.fake_fail(call, code=code)
    trace = th.HeapTrace([1234], **QUIET)
    if (call, code) == ("OpenProcess", 5):
        trace.start()  # a process that may not be opened can be traced all the same
        trace.stop()
    else:
        with pytest.raises(th.ToolhelpError) as caught:
            trace.start()
        assert caught.value.winerror == code
    assert running(etw) == []
    assert etw.fake_handles() == 0 or trace.state == "stopped"


@pytest.mark.parametrize("code", CODES)
def test_every_code_of_the_others(etw, code):
    with th.HeapTrace([1234], **QUIET) as trace:
        for call, act in (
            ("QUERY", trace.stats),
            ("FLUSH", trace.flush),
            ("UPDATE", lambda: trace.update(pids=[1234])),
        ):
            etw.fake_fail(f"ControlTraceW.{call}", code=code)
            with pytest.raises(CLASSES.get(code, th.SessionError), match=WORDS[code]):
                act()
            act()
        etw.fake_fail("ControlTraceW.STOP", code=code)
        if code == 4201:
            trace.stop()  # somebody else stopped it: so it is stopped
            (session,) = running(etw)
            th.stop_session(session["name"])
        else:
            with pytest.raises(CLASSES.get(code, th.SessionError)):
                trace.stop()
            assert trace.state == "running"
            trace.stop()
    assert running(etw) == []


def test_more_data_is_success(etw):
    with th.HeapTrace([1234], **QUIET) as trace:
        for call, act in (("QUERY", trace.stats), ("FLUSH", trace.flush), ("STOP", trace.stop)):
            etw.fake_fail(f"ControlTraceW.{call}", code=234)
            act()
        assert trace.state == "stopped"
        th.stop_session(trace.name)


def test_a_stop_that_fails_in_exit_is_tried_again(etw):
    etw.fake_fail("ControlTraceW.STOP", code=87)
    with pytest.raises(th.SessionError), th.HeapTrace([1234], **QUIET) as trace:
        pass
    assert trace.state == "stopped"


def test_an_exception_inside_stops_the_session(etw):
    with pytest.raises(KeyError), th.HeapTrace([1234], **QUIET):
        raise KeyError
    assert running(etw) == []


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_forgotten_trace_stops(etw):
    trace = th.HeapTrace([1234], **QUIET).start()
    del trace
    gc.collect()
    assert running(etw) == []


def test_a_forgotten_trace_warns(etw):
    recording = th.HeapTrace([1234], **QUIET)._recording
    recording.start()
    held = [recording]
    del recording
    with pytest.warns(ResourceWarning, match="was not stopped"):
        held.clear()


def test_another_heap_session(etw):
    etw.fake_session("Heap by WPR", HEAP)
    with pytest.raises(th.SessionExists, match="'Heap by WPR'") as caught:
        th.HeapTrace([1234], **QUIET).start()
    assert isinstance(caught.value, FileExistsError)
    assert "toolhelp sessions --stop" in str(caught.value)
    th.stop_session("Heap by WPR")


def test_a_stale_session(etw):
    etw.fake_session("toolhelp-31999-1", HEAP)
    etw.fake_session("Other", b"o" * 16)
    etw.fake_session("toolhelp-900-3-companion", b"c" * 16)
    rows = [tuple(row)[:4] for row in th.heap_sessions()]
    assert rows == [
        ("toolhelp-31999-1", True, 31999, True),
        ("toolhelp-900-3-companion", False, 900, False),
    ]
    with pytest.raises(th.SessionExists, match="--stop-stale"):
        th.HeapTrace([1234], **QUIET).start()
    assert th.stop_stale_sessions() == ["toolhelp-31999-1"]
    with th.HeapTrace([1234], **QUIET):
        assert len(th.heap_sessions()) == 2


@pytest.mark.parametrize(
    "name", ["toolhelp-", "toolhelp-x", "toolhelp-99999999999-1", "Toolhelp-1"]
)
def test_names_that_are_not_ours(etw, name):
    etw.fake_session(name, HEAP)
    (row,) = th.heap_sessions()
    assert (row.owner_pid, row.stale) == (None, False)
    th.stop_session(name)


def test_the_table_of_sessions_is_full(etw):
    etw.fake_session("toolhelp-31999-1", b"a" * 16)
    etw.fake_session("toolhelp-900-2", b"b" * 16)
    etw.fake_etw(max_sessions=2)
    with pytest.raises(th.TooManySessions, match="2 of them are of toolhelp, 1 of these left") as e:
        th.HeapTrace([1234], **QUIET).start()
    assert "EtwMaxLoggers" in str(e.value)


def test_stopping_by_name(etw):
    with pytest.raises(th.SessionNotFound) as caught:
        th.stop_session("nobody")
    assert isinstance(caught.value, LookupError)
    with th.HeapTrace([1234], **QUIET) as trace:
        th.stop_session(trace.name)
        with pytest.raises(th.SessionNotFound):
            trace.stats()
    assert trace.state == "stopped"
    with pytest.raises(TypeError):
        th.stop_session(5)


def test_a_system_that_only_pretends(etw):
    """Wine's calls answer 0 and do nothing."""
    etw.fake_system(wine=True)
    with pytest.raises(th.UnsupportedPlatform, match="says that it worked and does nothing"):
        th.HeapTrace([1234], **QUIET).start()
    with pytest.raises(th.UnsupportedPlatform, match="QueryAllTracesW"):
        th.heap_sessions()
    with pytest.raises(th.UnsupportedPlatform, match="ControlTraceW"):
        th.stop_session("x")


def test_no_privilege(etw):
    etw.fake_etw(privilege=False)
    with pytest.raises(th.AccessDenied, match="record without stacks") as caught:
        th.HeapTrace([1234], **QUIET).start()
    assert caught.value.winerror == 1314
    with th.HeapTrace([1234], stacks=(), **QUIET):
        pass


def test_memory_runs_out_anywhere(etw):
    etw.fake_etw()

    def life():
        with th.HeapTrace([1234], path="C:\\t\\y.etl", companion=True, modules=False) as trace:
            trace.update(pids=[1234])
            trace.stats()

    for n in itertools.count(1):
        etw.fake_alloc_fail(n)
        try:
            life()
        except MemoryError:
            assert running(etw) == []
            continue
        finally:
            etw.fake_alloc_fail(0)
        break
    assert n > 10


# ----- the companion ------------------------------------------------------------------------------


def test_a_companion_runs_beside(etw):
    with th.HeapTrace([1234], companion=True, **QUIET) as trace:
        companion, heap = running(etw)
        assert heap["name"] == trace.name
        assert companion["name"] == f"{trace.name}-companion"
        assert companion["file"] == trace.companion_path
        assert trace.companion_path.endswith("app.companion.etl")
        assert companion["mode"] == 0x0A000001
        assert companion["enable_flags"] == 7
        assert companion["clock"] == heap["clock"]
        assert companion["guid"] not in (HEAP, bytes(16))
        etw.fake_etw(lost=2)
        stats = trace.stats()
        assert stats.companion.events_lost == 2
        trace.flush()
        assert [s["flushes"] for s in running(etw)] == [1, 1]
    assert "process and module events" in trace.stats().advice
    assert running(etw) == []


@pytest.mark.parametrize("nth", [1, 2])
def test_a_companion_that_does_not_start(etw, nth):
    etw.fake_fail("StartTraceW", nth=nth, code=1450)
    with pytest.raises(th.TooManySessions):
        th.HeapTrace([1234], companion=True, **QUIET).start()
    assert running(etw) == []


@pytest.mark.parametrize("nth", [1, 2])
def test_one_of_two_stops_failing(etw, nth):
    trace = th.HeapTrace([1234], companion=True, **QUIET).start()
    etw.fake_fail("ControlTraceW.STOP", nth=nth, code=5)
    with pytest.raises(th.AccessDenied):
        trace.stop()
    assert len(running(etw)) == 1
    trace.stop()
    assert running(etw) == []


# ----- interrupts and threads ---------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_interrupts_anywhere(etw):
    """KeyboardInterrupt at 200 different lines of the library: the session is always stopped."""
    package = heaptrace.__file__.rsplit("heaptrace", 1)[0]
    hits = 0
    for point in range(1, 201):
        left = point

        def tracer(frame, event, arg):
            nonlocal left
            if not frame.f_code.co_filename.startswith(package):
                return None
            if event == "line":
                left -= 1
                if left == 0:
                    raise KeyboardInterrupt
            return tracer

        def life():
            with th.HeapTrace.launch("a.exe", path="C:\\t\\z.etl", module_seconds=99) as trace:
                trace.stats()
                trace.update(stacks=())

        sys.settrace(tracer)
        try:
            life()
        except KeyboardInterrupt:
            hits += 1
        finally:
            sys.settrace(None)
        if running(etw):
            gc.collect()
        assert running(etw) == [], point
        assert not any(c["suspended"] for c in etw.fake_children()), point
        etw.fake_reset()
        etw.fake_default()
        assert threading.active_count() <= 3
    assert hits > 100


def test_two_threads(etw):
    """Calls from threads follow one another; each fails or works, and all is stopped."""
    trace = th.HeapTrace([1234], **QUIET).start()
    errors = []

    def work():
        for _ in range(200):
            try:
                trace.stats()
                trace.update(stacks=("free",))
                trace.flush()
            except ValueError as error:
                errors.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    trace.stop()
    for thread in threads:
        thread.join()
    assert set(errors) <= {"the session is stopped"}
    assert running(etw) == []
