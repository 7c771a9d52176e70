"""record, live, sessions: over the scripted system."""

from __future__ import annotations

import json
import struct
import threading
import time

import pytest

pytest.importorskip("click", reason="click is not installed")

from toolhelp import cli

pytestmark = pytest.mark.needs("fake")

HEAP = struct.pack("<IHH", 0x222962AB, 0x6180, 0x4B88) + bytes.fromhex("a825346b75f2a24a")


def code_of(*words: str) -> int:
    with pytest.raises(SystemExit) as stop:
        cli.main(list(words))
    return stop.value.code


def test_recording_a_program(etw, tmp_path, capsys):
    path = tmp_path / "app.etl"

    def end_it():
        while not etw.fake_children():
            time.sleep(0.01)
        etw.fake_change(etw.fake_children()[0]["pid"], exit_code=3)

    thread = threading.Thread(target=end_it)
    thread.start()
    assert code_of("record", "-o", str(path), "--", "app.exe", "--fast", "a b") == 0
    thread.join()
    (session,) = etw.fake_sessions()
    assert not session["running"]
    assert session["file"] == str(path)
    assert etw.fake_children()[0]["command_line"] == 'app.exe --fast "a b"'
    said = capsys.readouterr()
    assert said.out == ""
    assert "the program ended with 3" in said.err
    assert f"toolhelp report {path}" in said.err
    assert (tmp_path / "app.etl.modules.json").exists()


def test_recording_a_process_for_a_while(etw, tmp_path, capsys):
    words = ["--pid", "1234", "--seconds", "0.3", "--stacks", "free,alloc", "--companion"]
    words += ["--circular", "64", "--compress", "--min-buffers", "8", "--max-buffers", "16"]
    assert code_of("record", *words, "-o", str(tmp_path / "a.etl")) == 0
    heap = next(s for s in etw.fake_sessions() if s["guid"] == HEAP)
    assert (heap["pids"], heap["hooks"]) == ([1234], [0x1021, 0x1024])
    assert (heap["mode"], heap["max_file"]) == (0x0C000002, 64)
    assert (heap["min_buffers"], heap["max_buffers"]) == (8, 16)
    assert len(etw.fake_sessions()) == 2


def test_recording_by_image(etw, tmp_path):
    words = ["--exe", "app.exe", "--seconds", "0.1", "--stacks", "none"]
    assert code_of("record", *words, "-o", str(tmp_path / "a.etl")) == 0
    assert etw.fake_sessions()[0]["pids"] == [0]
    assert etw.fake_sessions()[0]["hooks"] == []
    assert etw.fake_registry() == {}


def test_losses_are_said(etw, tmp_path, capsys):
    hits = iter(range(10**6))
    etw.fake_hook(lambda name: next(hits) == 12 and etw.fake_etw(lost=77))
    assert code_of("record", "--pid", "1234", "--seconds", "0.4", "-o", str(tmp_path / "a")) == 0
    etw.fake_hook(None)
    assert "NOT COMPLETE: 77 events found no room" in capsys.readouterr().err


def test_ctrl_c_keeps_what_there_is(etw, tmp_path, capsys, monkeypatch):
    from toolhelp.cli import record

    def interrupted(trace, seconds):
        yield 0.0
        raise KeyboardInterrupt

    monkeypatch.setattr(record, "watch", interrupted)
    assert code_of("record", "--pid", "1234", "-o", str(tmp_path / "a.etl")) == 130
    assert not etw.fake_sessions()[0]["running"]
    assert "stopped; kept" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["record", "--pid", "1234"], 2, "Missing option"),
        (["record", "-o", "x.etl"], 2, "say whom to trace"),
        (["record", "-o", "x.etl", "--pid", "1234", "--", "a.exe"], 2, "say whom to trace"),
        (["record", "-o", "x.etl", "--pid", "1234", "--exe", "a.exe"], 2, "say whom to trace"),
        (["record", "-o", "x.etl", "--pid", "1234", "--stacks", "lock"], 2, "stacks are a subset"),
        (["record", "-o", "x.etl", "--exe", "a\\b.exe"], 2, "an image is a file name"),
        (["record", "-o", "x.etl", "--pid", "999"], 6, "there is no such process"),
        (["live"], 2, "say whom to trace"),
        (["sessions", "--stop", "nobody"], 6, "there is no such session"),
        (["sessions", "--stop", "x", "--stop-stale"], 2, "do not go together"),
    ],
)
def test_what_cannot_be(etw, tmp_path, monkeypatch, capsys, words, code, said):
    monkeypatch.chdir(tmp_path)
    assert code_of(*words) == code
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("winerror", "code"), [(5, 5), (1314, 5), (183, 6), (1450, 6), (112, 6)])
def test_refused(etw, tmp_path, winerror, code):
    etw.fake_fail("StartTraceW", code=winerror)
    assert code_of("record", "--pid", "1234", "-o", str(tmp_path / "a.etl")) == code


def test_an_existing_file_stays(etw, tmp_path, capsys):
    path = tmp_path / "a.etl"
    path.write_bytes(b"old")
    assert code_of("record", "--pid", "1234", "-o", str(path)) == 6
    assert "exists already" in capsys.readouterr().err
    words = ["--pid", "1234", "--seconds", "0.1", "--force", "-o", str(path)]
    assert code_of("record", *words) == 0


def test_watching(etw, capsys):
    etw.fake_script(flood=20_000)
    assert code_of("live", "--pid", "1234", "--seconds", "0.5") == 0
    said = capsys.readouterr()
    assert "10,000 allocations, 10,000 frees" in said.out
    assert "peak 115 bytes" in said.out


def test_what_watching_shows(etw):
    from rich.console import Console

    import toolhelp as th
    from toolhelp.cli import record

    etw.fake_script(flood=2001)
    with th.HeapTrace([1234]) as trace:
        trace.analyze()
    console = Console(width=100)
    with console.capture() as captured:
        console.print(record.table_of(trace, trace.analyze(), 1234.5, 5))
    text = captured.get()
    assert "1,234 events/s, lost so far 0" in text
    assert "(no stack)" in text
    assert "process 10" in text


def test_listing_sessions(etw, capsys):
    etw.fake_session("toolhelp-31999-1", HEAP)
    etw.fake_session("Other", b"o" * 16)
    assert code_of("sessions", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [(row["name"], row["stale"]) for row in found["rows"]] == [("toolhelp-31999-1", True)]
    assert code_of("sessions") == 0
    assert "toolhelp-31999-1" in capsys.readouterr().out


def test_stopping_what_was_left_behind(etw, capsys):
    from toolhelp import _core
    from toolhelp.image_switch import MARKERS, OPTIONS

    etw.fake_session("toolhelp-31999-1", HEAP)
    _core.registry_set(MARKERS, "a.exe", "31999:absent")
    _core.registry_set(f"{OPTIONS}\\a.exe", "TracingFlags", 1)
    assert code_of("sessions", "--stop-stale") == 0
    said = capsys.readouterr().err
    assert "stopped toolhelp-31999-1" in said
    assert "took back the heap tracing of a.exe" in said
    assert etw.fake_registry() == {}
    assert code_of("sessions", "--stop-stale") == 0
    assert "nothing was left behind" in capsys.readouterr().err
    etw.fake_session("x y", HEAP)
    assert code_of("sessions", "--stop", "x y") == 0
