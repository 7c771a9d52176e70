"""The `wpt` backend over the scripted system: the toolkit's library, found and used."""

from __future__ import annotations

import struct

import pytest

import toolhelp as th

pytestmark = pytest.mark.needs("fake")

CODES = [5, 8, 14, 24, 87, 112, 123, 161, 183, 1004, 1314, 1450, 4201, 7007]
QUIET = {"modules": False, "path": "C:\\t\\app.etl"}


def running(fake):
    return [s for s in fake.fake_sessions() if s["running"]]


@pytest.fixture
def kit(etw, tmp_path, monkeypatch):
    """A kit in a folder that the registry names; its library is a PE head and nothing more."""
    from toolhelp import _core, kits

    folder = tmp_path / "Windows Performance Toolkit"
    folder.mkdir()
    head = b"MZ" + bytes(58) + struct.pack("<I", 64) + b"PE\0\0" + struct.pack("<H", 0x8664)
    # The separators of Windows are plain characters here: the name is one of a single file.
    library = f"{tmp_path}\\Windows Performance Toolkit\\{kits.LIBRARY}"
    with open(library, "wb") as file:
        file.write(head)
    _core.registry_set(kits.KITS_KEYS[0][0], kits.KITS_KEYS[0][1], f"{tmp_path}\\")
    etw.fake_etw(library=library)
    return library


def test_the_wpt_backend(etw, kit):
    from toolhelp import kits

    assert kits.find_library() == kit
    with th.HeapTrace([1234], backend="wpt", **QUIET) as trace:
        assert trace.backend == "wpt"
        (session,) = running(etw)
        assert (session["pids"], session["hooks"]) == ([1234], [0x1021, 0x1022])
        trace.update(stacks=("free",))
        assert running(etw)[0]["hooks"] == [0x1024]
    calls = etw.fake_calls()
    assert calls["StartHeapTrace"] == 1
    assert calls["UpdateHeapTrace"] == 1
    assert "StartTraceW" not in calls


@pytest.mark.parametrize("code", CODES)
def test_the_wpt_backend_failing(etw, kit, code):
    for call in ("LoadLibraryExW", "StartHeapTrace"):
        etw.fake_fail(call, code=code)
        with pytest.raises(th.ToolhelpError) as caught:
            th.HeapTrace([1234], backend="wpt", **QUIET).start()
        assert (caught.value.winerror, caught.value.function) == (code, call)
    with th.HeapTrace([1234], backend="wpt", **QUIET) as trace:
        etw.fake_fail("UpdateHeapTrace", code=code)
        with pytest.raises(th.ToolhelpError):
            trace.update(stacks=())


@pytest.mark.parametrize(("code", "words"), [(127, "another generation"), (193, "this processor")])
def test_a_library_of_another_kind(etw, kit, code, words):
    etw.fake_fail("LoadLibraryExW", code=code)
    with pytest.raises(th.SessionError, match=words):
        th.HeapTrace([1234], backend="wpt", **QUIET).start()


def test_no_kit(etw):
    with pytest.raises(
        th.ToolhelpError, match=r"KernelTraceControl.dll for x64 was not found"
    ) as e:
        th.HeapTrace([1234], backend="wpt", **QUIET)
    assert e.value.winerror == 126


def test_a_library_for_another_processor_is_not_taken(etw, kit):
    with open(kit, "r+b") as file:
        file.seek(68)
        file.write(struct.pack("<H", 0x14C))
    with pytest.raises(th.ToolhelpError, match="for x64 was not found"):
        th.HeapTrace([1234], backend="wpt", **QUIET)


def test_the_current_folder_and_path_are_not_looked_at(etw, kit, tmp_path, monkeypatch):
    from toolhelp import _core, kits

    _core.registry_delete(*kits.KITS_KEYS[0])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in (kits.LIBRARY, f"Windows Performance Toolkit\\{kits.LIBRARY}"):
        with open(kit, "rb") as source, open(name, "wb") as target:
            target.write(source.read())
    with pytest.raises(th.ToolhelpError):
        kits.find_library()
