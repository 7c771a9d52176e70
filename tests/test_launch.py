"""Programs that are launched to be traced: over the scripted system every step fails in turn; under
Wine and on Windows the child itself is real."""

from __future__ import annotations

import os
import sys
import time

import pytest

import toolhelp as th
from toolhelp import _core, launching

QUIET = {"modules": False, "path": "C:\\t\\app.etl"}
GIVEN_UP = 0xC000013A


@pytest.mark.needs("fake")
class TestScripted:
    def test_suspended_traced_resumed(self, etw):
        order = []
        etw.fake_hook(order.append)
        with th.HeapTrace.launch(["C:\\a b\\app.exe", "x y", "z"], **QUIET) as trace:
            etw.fake_hook(None)
            (child,) = etw.fake_children()
            assert child["command_line"] == '"C:\\a b\\app.exe" "x y" z'
            assert (child["environment"], child["directory"]) == ("", "")
            assert not child["suspended"]
            assert trace.child_pid == child["pid"]
            assert trace.pids == (child["pid"],)
            assert etw.fake_sessions()[0]["pids"] == [child["pid"]]
            assert trace.exit_code is None
            assert trace.wait(0.01) is None
            assert not trace.targets_gone()
            etw.fake_change(child["pid"], exit_code=7)
            assert trace.wait() == 7
            assert trace.exit_code == 7
            assert trace.targets_gone()
        steps = [name for name in order if name != "CloseHandle"]
        assert steps == [
            "CreateProcessW",
            "OpenProcess",
            "AdjustTokenPrivileges",
            "StartTraceW",
            "AdjustTokenPrivileges",
            "ResumeThread",
        ]
        assert trace.exit_code == 7

    def test_environment_and_folder(self, etw):
        env = {"b": "2", "A": "1=1", "=C:": "C:\\x"}
        with th.HeapTrace.launch("app.exe", env=env, cwd="C:\\w", **QUIET) as trace:
            (child,) = etw.fake_children()
            assert child["environment"] == "=C:=C:\\x\0A=1=1\0b=2\0"
            assert child["directory"] == "C:\\w"
            trace.terminate(9)
            assert trace.wait() == 9
            trace.terminate(1)  # again: fine
        with th.HeapTrace.launch("app.exe", env={}, **QUIET) as trace:
            assert etw.fake_children()[1]["environment"] == ""
            trace.terminate()

    def test_others_besides_the_child(self, etw):
        with th.HeapTrace.launch("a.exe", pids=[900], **QUIET) as trace:
            assert trace.pids == (900, trace.child_pid)
            assert etw.fake_sessions()[0]["pids"] == [900, trace.child_pid]
            trace.update(stacks=("free",))
            assert etw.fake_sessions()[0]["pids"] == [900, trace.child_pid]
            trace.terminate()

    def test_the_child_goes_on_after_the_trace(self, etw):
        with th.HeapTrace.launch("a.exe", **QUIET) as trace:
            pass
        assert trace.exit_code is None
        trace.terminate(4)
        assert trace.exit_code == 4

    @pytest.mark.parametrize("code", [2, 5, 87, 183, 740, 1314, 1450])
    @pytest.mark.parametrize(
        "step",
        ["CreateProcessW", "OpenProcess", "AdjustTokenPrivileges", "StartTraceW", "ResumeThread"],
    )
    def test_every_step_failing(self, etw, step, code):
        trace = th.HeapTrace.launch("a.exe", companion=True, **QUIET)
        etw.fake_fail(step, code=code)
        if (step, code) == ("OpenProcess", 5):
            with trace:
                trace.terminate()
            return
        with pytest.raises(th.ToolhelpError) as caught:
            trace.start()
        assert caught.value.winerror == code
        assert caught.value.function == step
        assert etw.fake_handles() == 0
        for child in etw.fake_children():
            assert child["exit_code"] == GIVEN_UP
        assert len(etw.fake_children()) == (step != "CreateProcessW")
        assert trace.child_pid is None

    def test_the_second_session_failing(self, etw):
        etw.fake_fail("StartTraceW", nth=2, code=183)
        with pytest.raises(th.SessionExists):
            th.HeapTrace.launch("a.exe", companion=True, **QUIET).start()
        assert etw.fake_handles() == 0
        assert etw.fake_children()[0]["exit_code"] == GIVEN_UP

    def test_ending_the_child_fails_once(self, etw):
        etw.fake_fail("ResumeThread", code=5)
        etw.fake_fail("TerminateProcess", code=5)
        with pytest.raises(th.ToolhelpError):
            th.HeapTrace.launch("a.exe", **QUIET).start()
        assert etw.fake_children()[0]["exit_code"] == GIVEN_UP

    def test_an_exception_inside(self, etw):
        with pytest.raises(KeyError), th.HeapTrace.launch("a.exe", **QUIET) as trace:
            raise KeyError
        assert trace.state == "stopped"
        trace.terminate()

    @pytest.mark.parametrize("call", ["WaitForSingleObject", "GetExitCodeProcess"])
    def test_waiting_fails(self, etw, call):
        with th.HeapTrace.launch("a.exe", **QUIET) as trace:
            etw.fake_change(trace.child_pid, exit_code=1)
            etw.fake_fail(call, code=6)
            with pytest.raises(th.ToolhelpError) as caught:
                trace.wait()
            assert (caught.value.winerror, caught.value.pid) == (6, trace.child_pid)
            assert trace.wait() == 1

    def test_no_child(self, etw):
        trace = th.HeapTrace([900], **QUIET)
        assert trace.child_pid is None
        for call in (lambda: trace.exit_code, trace.wait, trace.terminate):
            with pytest.raises(ValueError, match="no program was launched"):
                call()

    @pytest.mark.parametrize("argv", ["", "  ", [], ["a\0b"], ["x" * 32767]])
    def test_what_cannot_be_launched(self, etw, argv):
        with pytest.raises(ValueError, match=r"program to launch|command line"):
            th.HeapTrace.launch(argv, **QUIET)

    @pytest.mark.parametrize("env", [{"": "x"}, {"a=b": "x"}, {"a\0": "x"}, {"a": "\0"}])
    def test_what_is_no_environment(self, etw, env):
        with pytest.raises(ValueError, match="environment variable"):
            th.HeapTrace.launch("a.exe", env=env, **QUIET)


@pytest.mark.needs("fake")
class TestImageSwitch:
    KEY = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion\Image File Execution Options\app.exe"
    MARKERS = r"SOFTWARE\toolhelp\HeapTracing"

    def test_set_and_restored(self, etw):
        with th.HeapTrace.by_image("app.exe", **QUIET) as trace:
            assert trace.pids == (0,)
            assert etw.fake_sessions()[0]["pids"] == [0]
            assert etw.fake_registry() == {
                (self.KEY, "TracingFlags"): 1,
                (self.MARKERS, "app.exe"): "4242:absent",
            }
        assert etw.fake_registry() == {}
        trace.stop()

    @pytest.mark.parametrize("before", [0, 1, 2, 3])
    def test_what_was_there_comes_back(self, etw, before):
        _core.registry_set(self.KEY, "TracingFlags", before)
        with th.HeapTrace.by_image("app.exe", **QUIET):
            assert etw.fake_registry()[self.KEY, "TracingFlags"] == before | 1
        assert etw.fake_registry() == {(self.KEY, "TracingFlags"): before}

    @pytest.mark.parametrize("call", ["StartTraceW", "AdjustTokenPrivileges"])
    def test_restored_when_the_start_fails(self, etw, call):
        etw.fake_fail(call, code=5)
        with pytest.raises(th.AccessDenied):
            th.HeapTrace.by_image("app.exe", **QUIET).start()
        assert etw.fake_registry() == {}

    @pytest.mark.parametrize("nth", [1, 2])
    def test_restored_when_setting_fails(self, etw, nth):
        etw.fake_fail("RegSetValueExW", nth=nth, code=5)
        with pytest.raises(th.AccessDenied):
            th.HeapTrace.by_image("app.exe", **QUIET).start()
        assert etw.fake_registry() == {}
        assert etw.fake_sessions() == []

    def test_restored_after_a_crash(self, etw):
        from toolhelp.image_switch import restore_stale

        _core.registry_set(self.KEY, "TracingFlags", 3)
        _core.registry_set(self.MARKERS, "app.exe", "31999:2")
        _core.registry_set(self.MARKERS, "live.exe", "900:absent")
        assert restore_stale() == ["app.exe"]
        assert etw.fake_registry() == {
            (self.KEY, "TracingFlags"): 2,
            (self.MARKERS, "live.exe"): "900:absent",
        }

    @pytest.mark.parametrize("image", ["", "a\\b.exe", "C:a.exe", "a/b", "..", "x" * 256, "a\0"])
    def test_no_image(self, etw, image):
        with pytest.raises(ValueError, match="an image is a file name"):
            th.HeapTrace.by_image(image, **QUIET)


# ----- for real -----------------------------------------------------------------------------------


def code_of(body: str) -> str:
    return f'"{sys.executable}" -c "{body}"'


@pytest.mark.needs("windows-calls")
class TestRealChild:
    """The child half alone, with `start` of a recording kept from the session it cannot have."""

    def plan(self):
        return _core.recording({"name": f"toolhelp-{os.getpid()}-t", "mode": 0x100})

    def test_given_up_under_wine(self, tmp_path):
        """Wine has no sessions: the child must end without having run."""
        if not _core.is_wine():
            pytest.skip("for Wine: elsewhere the session starts")
        witness = tmp_path / "ran"
        body = f"open(r'{witness}', 'w')"
        before = {row.pid for row in th.processes()}
        with pytest.raises(th.UnsupportedPlatform):
            self.plan().start((code_of(body), None, None))
        time.sleep(0.5)
        assert not witness.exists()
        assert {row.pid for row in th.processes()} - before == set()

    def test_no_such_program(self):
        with pytest.raises(th.ToolhelpError) as caught:
            self.plan().start(("C:\\nowhere\\no.exe", None, None))
        assert caught.value.function == "CreateProcessW"
        assert caught.value.winerror in (2, 3)


@pytest.mark.needs("windows-calls")
class TestChildProcess:
    """Create suspended, resume, wait, exit code, terminate: `ChildProcess` of the core."""

    def test_runs_only_when_resumed(self, tmp_path):
        witness = tmp_path / "ran"
        child = _core.child_process(code_of(f"open(r'{witness}', 'w'); raise SystemExit(5)"))
        time.sleep(0.5)
        assert not witness.exists()
        assert child.wait(0) is None
        assert child.pid in th.processes()["pid"]
        child.resume()
        assert child.wait(20000) == 5
        assert witness.exists()

    def test_environment_and_folder(self, tmp_path):
        target = tmp_path / "said"
        body = f"import os; open(r'{target}', 'w').write(os.environ['TH_X'] + os.getcwd())"
        env = launching.environment_block({**os.environ, "TH_X": "\u00e9!"})
        child = _core.child_process(code_of(body), env, str(tmp_path))
        child.resume()
        assert child.wait(20000) == 0
        assert "!" in target.read_text(errors="replace")
        assert target.read_text(errors="replace").lower().endswith(str(tmp_path).lower())

    def test_terminated(self):
        child = _core.child_process(code_of("import time; time.sleep(60)"))
        child.resume()
        assert child.wait(0) is None
        child.terminate(77)
        assert child.wait(20000) == 77
        child.terminate(78)
        assert child.wait(0) == 77

    def test_dropped_while_suspended(self, tmp_path):
        witness = tmp_path / "ran"
        child = _core.child_process(code_of(f"open(r'{witness}', 'w')"))
        pid = child.pid
        del child
        deadline = time.monotonic() + 10
        while pid in th.processes()["pid"] and time.monotonic() < deadline:
            time.sleep(0.05)
        assert pid not in th.processes()["pid"]
        assert not witness.exists()
