"""The commands heaps, blocks, tree, who-uses, snapshot, diff and watch over the scripted system."""

from __future__ import annotations

import csv
import io
import json

import pytest

from toolhelp import watching
from toolhelp.cli import exits, main

pytestmark = pytest.mark.needs("fake")

START = 133_000_000_000_000_000


@pytest.fixture
def machine(fake):
    fake.fake_system(pid=100)
    fake.fake_process(100, name="me.exe", threads=[1], create_time=START)
    fake.fake_process(104, ppid=100, name="child.exe", threads=[2], create_time=START + 1)
    fake.fake_process(108, ppid=4, name="locked.exe", open_error=5)
    for pid in (100, 104):
        fake.fake_module(pid, 0x10000, 1, "a.dll", "C:\\a.dll")
        fake.fake_heap(pid, 0x50000, 1, [(0x50000, 4096, 0x100), (0x50010, 10, 1)])
    return fake


def run(capsys, *words):
    with pytest.raises(SystemExit) as stop:
        main(list(words))
    out, err = capsys.readouterr()
    return stop.value.code, out, err


def test_heaps(machine, capsys):
    code, out, _ = run(capsys, "heaps", "--json")
    assert code == 0
    assert json.loads(out)["rows"] == [
        {"pid": 100, "heap_id": "0x50000", "flags": 1, "is_default": True}
    ]
    code, out, _ = run(capsys, "heaps", "--summary", "--csv")
    (row,) = csv.DictReader(io.StringIO(out))
    assert (row["busy"], row["busy_blocks"]) == ("10", "1")
    code, out, _ = run(capsys, "heaps", "--sizes", "104", "--allow-injection", "--csv")
    assert out.splitlines()[1] == "104,0x50000,16,1,10"
    code, _, err = run(capsys, "heaps", "104")
    assert code == exits.NOT_HERE
    assert "allow_injection" in err
    assert run(capsys, "heaps", "--summary", "--sizes")[0] == exits.USAGE


def test_blocks(machine, capsys):
    _, out, _ = run(capsys, "blocks", "--csv")
    assert out.splitlines()[1:] == [
        "0x50000,0x50000,4096,region,1,0,False",
        "0x50000,0x50010,10,busy,4,0,False",
    ]
    _, out, _ = run(capsys, "blocks", "0x50000", "--pid", "104", "--allow-injection", "--csv")
    assert out.splitlines()[2].endswith(",busy,1,0,True")
    assert run(capsys, "blocks", "0x123")[0] == exits.REFUSED
    assert run(capsys, "blocks", "zzz")[0] == exits.USAGE


def test_tree(machine, capsys):
    code, out, _ = run(capsys, "tree")
    assert code == 0
    assert out.splitlines()[:3] == [
        "me.exe (100) [parent 0 has exited]",
        "  child.exe (104)",
        "locked.exe (108) [parent 4 has exited]",
    ]
    assert "OpenProcess" in out.splitlines()[-1]
    _, out, _ = run(capsys, "tree", "--json")
    document = json.loads(out)
    assert [row["link"] for row in document["rows"]] == ["dead", "live", "dead"]
    assert [row["pid"] for row in document["errors"]] == [108]
    assert run(capsys, "tree", "--errors", "raise")[0] == exits.NOT_HERE


def test_who_uses(machine, capsys):
    code, out, _ = run(capsys, "who-uses", "A.DLL", "--json")
    document = json.loads(out)
    assert code == 0
    assert [row["pid"] for row in document["rows"]] == [100, 104]
    assert [(row["pid"], row["reason"]) for row in document["errors"]] == [(108, "denied")]


@pytest.mark.parametrize(
    "format", ["compact", pytest.param("arrow", marks=pytest.mark.needs("pyarrow"))]
)
def test_snapshot_and_diff(machine, capsys, tmp_path, format):
    a, b = str(tmp_path / "a.snap"), str(tmp_path / "b.snap")
    code, out, err = run(capsys, "snapshot", "-o", a, "--heaps", "--format", format)
    assert (code, out) == (0, "")
    assert "3 processes, 2 threads, 2 modules, 4 errors" in err
    assert run(capsys, "snapshot", "-o", a)[0] == exits.REFUSED
    machine.fake_remove(104)
    machine.fake_process(112, ppid=100, name="new.exe", create_time=START + 9)
    machine.fake_module(100, 0x20000, 1, "b.dll", "C:\\b.dll")
    machine.fake_heap(100, 0x60000, 0, [(0x60010, 100, 1)])
    run(capsys, "snapshot", "-o", b, "--heaps", "--format", format)
    code, out, _ = run(capsys, "diff", a, b, "--json")
    assert code == 0
    changes = [(r["what"], r["how"], r["pid"], r["detail"]) for r in json.loads(out)["rows"]]
    assert changes == [
        ("process", "exited", 104, "parent 100"),
        ("process", "started", 112, "parent 100"),
        ("thread", "exited", 104, "thread 2"),
        ("module", "loaded", 100, "C:\\b.dll"),
        ("heap", "grown", 100, "heap 0x60000: +100 bytes, +1 blocks of up to 128"),
    ]
    code, out, _ = run(capsys, "diff", a, "--csv", "--filter", "what=process", "--sort", "-pid")
    assert out.splitlines() == [
        "what,how,pid,name,detail",
        "process,started,112,new.exe,parent 100",
        "process,exited,104,child.exe,parent 100",
    ]


def test_a_file_that_is_no_snapshot(machine, capsys, tmp_path):
    (tmp_path / "x").write_bytes(b"nothing")
    code, _, err = run(capsys, "snapshot-diff", str(tmp_path / "x"))
    assert code == exits.INPUT
    assert "no saved snapshot" in err
    assert run(capsys, "snapshot-diff", str(tmp_path / "y"))[0] == exits.INPUT


def test_watch(machine, capsys, monkeypatch):
    monkeypatch.setattr(
        watching.time, "sleep", lambda _: machine.fake_process(112, name="new\n.exe", ppid=100)
    )
    code, out, err = run(capsys, "watch", "--count", "1")
    assert code == 0
    assert "is not seen" in err
    assert out[8:] == " process started: new\N{REPLACEMENT CHARACTER}.exe (112) parent 100\n"
    machine.fake_remove(112)
    code, out, _ = run(capsys, "watch", "--count", "1", "--json")
    row = json.loads(out)
    assert (row["what"], row["how"], row["pid"]) == ("process", "started", 112)
