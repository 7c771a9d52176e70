"""The companion of a heap trace: read together with it, or said to be missing or foreign."""

from __future__ import annotations

import dataclasses
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

import toolhelp as th
from etlmaker import Trace
from test_sidecar import GUID, notes_of_a_process, trace_of_a_process
from toolhelp.sidecar import Sidecar, sidecar_path

pytestmark = pytest.mark.needs("core")

SECOND = 10_000_000
HEAP = Trace(t0=1000)


def companion_of(**more: Any) -> Trace:
    """Process, thread and image events of the process of `trace_of_a_process`."""
    made = Trace(**{"t0": 900, "session_name": "c", "mode": 0x0A000001, **more})
    made.volume(950, 0, "\\Device\\HarddiskVolume3\\", "C:\\")
    made.process(3, 1010, 0, 9, name="a.exe")
    made.thread(3, 1020, 0, 9, 1, 0x1010, name="main")
    made.image(3, 1030, 0, 9, 0x1000, 0x100, "\\Device\\HarddiskVolume3\\a.exe")
    made.image(10, 15_000_000, 0, 9, 0x3000, 0x100, "\\Device\\HarddiskVolume3\\late.dll")
    made.process(2, 25_000_000, 0, 9, name="a.exe")
    return made


@pytest.fixture
def app(tmp_path: Path) -> Path:
    path = trace_of_a_process(tmp_path)
    (tmp_path / "app.companion.etl").write_bytes(companion_of().to_bytes())
    return path


def files(trace: th.Trace) -> list[tuple[str, bool]]:
    return [(Path(row["path"]).name, row["given"]) for row in trace.info["files"]]


BOTH = [("app.etl", True), ("app.companion.etl", False)]


def test_it_is_picked_up(app: Path) -> None:
    with th.open_trace(app) as trace:
        assert files(trace) == BOTH
        assert trace.quality["messages"] == []
        assert trace.quality["complete"]
        assert sum(map(len, trace.heap_events())) == 35
        assert [(p.pid, p.name, p.end_ns) for p in trace.processes] == [(9, "a.exe", 2_499_910_000)]
        assert [(m.name, m.path, m.load_ns) for m in trace.modules] == [
            ("a.exe", "C:\\a.exe", None),
            ("late.dll", "C:\\late.dll", 1_499_910_000),
        ]
        assert [(t.tid, t.name) for t in trace.threads] == [(1, "main")]
        stack = trace.analyze().frames(trace.analyze().stacks[0])
        assert stack[0].module == "a.exe"


def test_both_given_are_the_same(app: Path) -> None:
    with th.open_trace(app) as one, th.open_trace([app, app.with_name("app.companion.etl")]) as two:
        assert files(two) == [("app.etl", True), ("app.companion.etl", True)]
        assert list(one.modules) == list(two.modules)
        assert one.analyze().live == two.analyze().live
        assert one.quality == two.quality


def test_alone_when_asked(app: Path) -> None:
    with th.open_trace(app, companion=False) as trace:
        assert files(trace) == [("app.etl", True)]
        assert len(trace.modules) == 0
    with th.open_trace(app.with_name("app.companion.etl")) as trace:
        assert files(trace) == [("app.companion.etl", True)]


def test_the_notes_add_to_it(app: Path) -> None:
    """The companion says when modules came and went, the notes how symbol servers know them."""
    notes = notes_of_a_process()
    late = next(module for module in notes.modules if module.name == "late.dll")
    late.pdb_name, late.pdb_guid, late.pdb_age = "late.pdb", GUID, 7
    notes.write(sidecar_path(app))
    with th.open_trace(app) as trace:
        assert [row["notes"] for row in trace.info["files"]] == [f"{app}.modules.json", None]
        assert [(p.pid, p.end_ns) for p in trace.processes] == [(9, 2_499_910_000)]
        modules = {m.name: m for m in trace.modules}
        assert len(trace.modules) == 3
        assert (modules["late.dll"].load_ns, modules["late.dll"].pdb_name) == (
            1_499_910_000,
            "late.pdb",
        )
        assert (modules["a.exe"].pdb_guid, modules["a.exe"].timestamp) == (GUID, 7)
        assert modules["gone.dll"].load_ns is None


def test_one_that_was_recorded_and_is_missing(app: Path) -> None:
    notes = dataclasses.replace(notes_of_a_process(), companion="app.companion.etl")
    notes.write(sidecar_path(app))
    assert Sidecar.read(sidecar_path(app)).companion == "app.companion.etl"
    app.with_name("app.companion.etl").rename(app.with_name("elsewhere.etl"))
    with th.open_trace(app) as trace:
        assert trace.quality["messages"][0] == (
            "The companion app.companion.etl that was recorded with the trace is not beside it."
        )
        assert len(trace.modules) == 3
    with th.open_trace(app, companion=False) as trace:
        assert trace.quality["messages"] == []


def test_a_trace_that_was_renamed_finds_it_by_its_notes(app: Path) -> None:
    moved = app.rename(app.with_name("other.etl"))
    with th.open_trace(moved) as trace:
        assert files(trace) == [("other.etl", True)]
    notes = dataclasses.replace(notes_of_a_process(), companion="app.companion.etl")
    notes.write(sidecar_path(moved))
    with th.open_trace(moved) as trace:
        assert files(trace) == [("other.etl", True), ("app.companion.etl", False)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"clock": 2}, "its clock is system time"),
        ({"boot": HEAP.start}, "its system was started at 2024-01-01T00:00:00"),
        ({"cpus": 2}, "with 2 processors, not of"),
        (
            {"start": HEAP.start - 60 * SECOND, "boot": HEAP.start - 6_000_000_000},
            "it was recorded at another time, from 2023-12-31T23:59:00",
        ),
        (
            {"start": HEAP.start + 60 * SECOND, "boot": HEAP.start - 6_000_000_000},
            "it was recorded at another time, from 2024-01-01T00:01:00",
        ),
    ],
)
def test_a_foreign_one_is_said_and_not_mixed(app: Path, change: dict[str, Any], words: str) -> None:
    path = app.with_name("app.companion.etl")
    path.write_bytes(companion_of(**change).to_bytes())
    with th.open_trace(app) as trace:
        assert files(trace) == [("app.etl", True)]
        (message,) = trace.quality["messages"]
        assert trace.quality["beside"] == [message]
        assert message.startswith(f"The companion {path.name} beside the trace is not used: ")
        assert words in message
        assert len(trace.modules) == 0
        assert trace.quality["complete"]


@pytest.mark.parametrize("content", [b"", b"nonsense" * 100])
def test_one_that_cannot_be_read(app: Path, content: bytes) -> None:
    app.with_name("app.companion.etl").write_bytes(content)
    with th.open_trace(app) as trace:
        assert files(trace) == [("app.etl", True)]
        assert "is not used: this is not an event trace" in trace.quality["messages"][0]


def test_a_damaged_one_is_used_and_said(app: Path) -> None:
    path = app.with_name("app.companion.etl")
    data = path.read_bytes()
    path.write_bytes(data[:-100])
    with th.open_trace(app) as trace:
        assert files(trace) == BOTH
        assert not trace.quality["complete"]
        assert trace.quality["messages"][0].startswith("app.companion.etl: The file is cut off")


def test_a_file_object_has_one_by_its_name(app: Path) -> None:
    with app.open("rb") as file, th.open_trace(file) as trace:
        assert files(trace) == BOTH
    with th.open_trace(app.read_bytes()) as trace:
        assert len(trace.info["files"]) == 1


# ----- archives ---------------------------------------------------------------------------------


def zipped(members: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return made.getvalue()


def diagsession(traces: dict[str, bytes]) -> bytes:
    resources = "".join(
        f'<Resource Id="{name}" Name="{name}" ResourcePackageUriPrefix="8f2a" '
        'Type="DiagnosticsHub.Resource.EtlFile"/>'
        for name in traces
    )
    metadata = (
        '<Package xmlns="urn:diagnosticshub-package-metadata-2-1"><Content>'
        f"{resources}</Content></Package>"
    )
    return zipped(
        {"metadata.xml": metadata.encode(), "unlisted.etl": b"x"}
        | {f"8f2a/{name}": data for name, data in traces.items()}
    )


def test_a_diagsession_with_several_traces_is_one_recording(app: Path, tmp_path: Path) -> None:
    heap, kernel = app.read_bytes(), companion_of().to_bytes()
    path = tmp_path / "x.diagsession"
    path.write_bytes(diagsession({"user.etl": heap, "kernel.etl": kernel}))
    with th.open_trace(path) as trace:
        assert files(trace) == [
            ("user.etl", True),
            ("kernel.etl", True),
        ]
        assert [row["path"] for row in trace.info["files"]] == [
            f"{path}!8f2a/user.etl",
            f"{path}!8f2a/kernel.etl",
        ]
        assert [m.name for m in trace.modules] == ["a.exe", "late.dll"]
        assert sum(map(len, trace.heap_events())) == 35
    with th.open_trace(path, member="8f2a/user.etl") as trace:
        assert len(trace.info["files"]) == 1
    other = companion_of(clock=2).to_bytes()
    path.write_bytes(diagsession({"user.etl": heap, "kernel.etl": other}))
    with pytest.raises(th.CorruptTrace, match=r"kernel.etl is not of the same recording.*--member"):
        th.open_trace(path)


def test_a_zip_with_several_traces_only_when_asked(app: Path) -> None:
    heap, kernel = app.read_bytes(), companion_of().to_bytes()
    data = zipped({"t/b.etl": heap, "t/a.etl": kernel, "c.etl": b"x", "notes.txt": b"x"})
    with pytest.raises(
        th.CorruptTrace, match=r"several traces.*t/b\.etl, t/a\.etl, c\.etl; or '\*'"
    ):
        th.open_trace(data)

    def names(member: Any) -> list[str]:
        with th.open_trace(data, member=member) as trace:
            assert sum(map(len, trace.heap_events())) == 35
            return [row["path"] for row in trace.info["files"]]

    assert names(["t/a.etl", "t/b.etl"]) == ["t/a.etl", "t/b.etl"]
    assert names("t/*") == ["t/b.etl", "t/a.etl"]
    assert names(("t/?.etl", "t/b.etl")) == ["t/b.etl", "t/a.etl"]
    assert names("t/b.etl") == ["t/b.etl"]
    with pytest.raises(th.CorruptTrace, match=r"c\.etl: this is not an event trace"):
        th.open_trace(data, member="*")
    with pytest.raises(th.CorruptTrace, match="no member 'x\\*'"):
        th.open_trace(data, member=["t/a.etl", "x*"])


def test_a_trace_and_its_companion_in_a_zip(app: Path) -> None:
    heap, kernel = app.read_bytes(), companion_of().to_bytes()
    with th.open_trace(zipped({"d/app.companion.etl": kernel, "d/app.etl": heap})) as trace:
        assert len(trace.info["files"]) == 2
        assert len(trace.modules) == 2
    with pytest.raises(th.CorruptTrace, match="several traces"):
        th.open_trace(zipped({"d/app.companion.etl": kernel, "app.etl": heap}))


def test_the_ceiling_is_for_all_members(app: Path) -> None:
    heap = app.read_bytes()
    data = zipped({"a.etl": heap, "b.etl": heap})
    with pytest.raises(th.CorruptTrace, match=f"more than {2 * len(heap) - 1:,} bytes"):
        th.open_trace(data, member="*", max_expand=2 * len(heap) - 1)
    with th.open_trace(data, member="a.etl", max_expand=len(heap)) as trace:
        assert len(trace.info["files"]) == 1


# ----- what the recorder writes ------------------------------------------------------------------


@pytest.mark.needs("fake")
def test_the_recorder_notes_its_companion(etw: Any, tmp_path: Path) -> None:
    path = tmp_path / "rec.etl"
    for companion, name in ((True, "rec.companion.etl"), (False, None)):
        with th.HeapTrace([1234], path=path, companion=companion):
            pass
        found = Sidecar.read(sidecar_path(path))
        assert found.companion == name
        assert ("companion" in json.loads(sidecar_path(path).read_bytes())) == companion


def test_notes_of_a_live_trace_are_told_once() -> None:
    notes = notes_of_a_process()
    told: set[Any] = set(notes.fresh(set(), companion=True))
    assert len(told) == 1 + 3 + 1  # a process, its modules, the PDB of one
    assert all(note[1] != 0x0302 for note in told)  # its end is not for the notes to tell
    for module in notes.modules:
        module.last_raw += 10_000_000
    assert notes.fresh(told, companion=True) == []
    told = set(notes.fresh(set(), companion=False))
    assert any(note[1] == 0x0302 for note in told)
    assert notes.fresh(told, companion=False) == []


@pytest.mark.parametrize("name", ["", "a/b.etl", "..\\b.etl", "C:b.etl", 7])
def test_a_name_that_is_no_file_name(app: Path, name: object) -> None:
    notes = notes_of_a_process().to_dict()
    sidecar_path(app).write_text(json.dumps({**notes, "companion": name}))
    with th.open_trace(app) as trace:
        assert "is not the name of a file" in trace.quality["messages"][0]
        assert files(trace) == BOTH
