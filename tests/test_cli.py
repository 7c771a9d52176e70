"""The command: words, output forms, exit codes. What it lists is tested elsewhere."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import toolhelp
from children import running
from toolhelp import cli
from toolhelp.cli import exits, tables

pytest.importorskip("click", reason="click is not installed")

HAS_SNAPSHOTS = sys.platform == "win32" or hasattr(toolhelp._core, "fake_reset")
needs_snapshots = pytest.mark.skipif(
    not HAS_SNAPSHOTS, reason="needs Windows, Wine or the fake system"
)


def run(*words: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(Path(toolhelp.__file__).parent.parent)}
    return subprocess.run(
        [sys.executable, "-m", "toolhelp", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        **options,  # type: ignore[call-overload]
    )


def code_of(*words: str) -> int:
    with pytest.raises(SystemExit) as stop:
        cli.main(list(words))
    assert isinstance(stop.value.code, int)
    return stop.value.code


def test_version_is_the_package_version() -> None:
    done = run("--version")
    assert done.returncode == 0
    assert done.stdout.decode().strip() == f"toolhelp {toolhelp.__version__}"


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["ps", "--nonsense"],
        ["threads", "x"],
        ["threads", "-1"],
        ["modules", "4294967296"],
        ["ps", "surplus"],
    ],
)
def test_wrong_words_exit_2(words: list[str]) -> None:
    done = run(*words)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"Error:" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(HAS_SNAPSHOTS, reason="this system has snapshots")
@pytest.mark.parametrize(
    ("words", "what"),
    [
        ("ps", "Looking at processes, threads and modules"),
        ("threads 5", "Looking at processes, threads and modules"),
        ("modules", "Looking at processes, threads and modules"),
        ("tree", "Looking at processes, threads and modules"),
        ("who-uses a.dll", "Looking at processes, threads and modules"),
        ("snapshot -o not-written", "Looking at processes, threads and modules"),
        ("watch", "Looking at processes, threads and modules"),
        ("heaps", "Looking at the heaps of processes"),
        ("blocks", "Looking at the heaps of processes"),
        ("heaps 5 --allow-injection", "Tracing or looking into another process"),
        ("live --pid 5", "Recording and watching heap traces"),
        ("live -- a.exe", "Recording and watching heap traces"),
        ("record --exe a.exe -o not-written", "Recording and watching heap traces"),
        ("record -o not-written -- a.exe", "Recording and watching heap traces"),
        ("record --pid 5 -o not-written", "Tracing or looking into another process"),
        ("sessions", "Recording and watching heap traces"),
        ("sessions --stop a", "Recording and watching heap traces"),
        ("sessions --stop-stale", "Recording and watching heap traces"),
    ],
)
def test_elsewhere_exits_5_and_says_what_is_possible(words: str, what: str) -> None:
    done = run(*words.split())
    assert (done.returncode, done.stdout) == (5, b"")
    said = done.stderr.decode()
    assert said.count("\n") == 1
    assert said.startswith(f"toolhelp: {what} needs Windows; on ")
    assert ".etl" in said


@needs_snapshots
def test_json_holds_the_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("ps", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema_version"] == 1
    assert document["errors"] == []
    assert [list(row) for row in document["rows"][:1]] == [list(toolhelp.processes().columns)]


@needs_snapshots
def test_csv_and_json_agree(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("modules", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert code_of("modules", "--csv") == 0
    read = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["path"] for row in read] == [row["path"] for row in rows]
    assert [row["base"] for row in read] == [row["base"] for row in rows]
    assert all(row["base"].startswith("0x") for row in rows)


@needs_snapshots
def test_sort_and_filter(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("threads", "--json", "--sort=-tid") == 0
    tids = [row["tid"] for row in json.loads(capsys.readouterr().out)["rows"]]
    assert tids == sorted(tids, reverse=True)
    assert code_of("threads", "--json", "--filter", f"tid={tids[0]}") == 0
    assert [r["tid"] for r in json.loads(capsys.readouterr().out)["rows"]] == [tids[0]]
    assert code_of("threads", "--filter", "nosuch=1") == 2
    assert code_of("threads", "--filter", "tid=x") == 2
    assert code_of("ps", "--filter", "name>a") == 2
    assert code_of("ps", "--json", "--csv") == 2


@needs_snapshots
def test_output_file_appears_whole_and_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "ps.json"
    assert code_of("ps", "--json", "-o", str(target)) == 0
    first = target.read_text(encoding="utf-8")
    assert json.loads(first)["schema_version"] == 1
    assert code_of("ps", "--json", "-o", str(target)) == 6
    assert "--force" in capsys.readouterr().err
    assert target.read_text(encoding="utf-8") == first
    assert code_of("ps", "--csv", "-o", str(target), "--force") == 0
    assert target.read_text(encoding="utf-8").startswith("pid,")
    assert [p.name for p in tmp_path.iterdir()] == ["ps.json"]


@needs_snapshots
def test_unwritable_output_exits_6(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("ps", "-o", str(tmp_path / "no" / "such" / "file")) == 6
    assert "cannot be written" in capsys.readouterr().err


@needs_snapshots
def test_unknown_process_exits_6(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("modules", "4294967292") == 6
    said = capsys.readouterr().err
    assert "4294967292" in said
    assert said.count("\n") == 1


@needs_snapshots
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX pipes")
def test_closed_pipe_ends_quietly() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    environment = {**os.environ, "PYTHONPATH": str(Path(toolhelp.__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-m", "toolhelp", "--help"],
        stdin=subprocess.DEVNULL,
        stdout=writer,
        stderr=subprocess.PIPE,
        env=environment,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_output_is_utf8_off_a_terminal() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from toolhelp.cli import exits\nexits.run(lambda: print('\\u044f'))",
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(toolhelp.__file__).parent.parent),
            "PYTHONIOENCODING": "ascii",
        },
    )
    assert done.stdout.strip() == "\u044f".encode()


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (toolhelp.UnsupportedPlatform("x"), 5),
        (toolhelp.AccessDenied("x", winerror=5), 5),
        (toolhelp.InjectionRefused("x"), 5),
        (toolhelp.ProcessNotFound("x", winerror=87), 6),
        (toolhelp.SessionExists("x", winerror=183), 6),
        (toolhelp.HeapQueryTimeout("x"), 6),
        (toolhelp.CorruptTrace("x", 72), 3),
        (FileNotFoundError(2, "No such file", "a.etl"), 3),
        (exits.OutputFailed("x"), 6),
        (KeyboardInterrupt(), 130),
        (BrokenPipeError(), 0),
        (MemoryError(), 6),
    ],
)
def test_exception_to_exit_code(
    error: BaseException, code: int, capfd: pytest.CaptureFixture[str]
) -> None:
    script = "import pickle, sys; from toolhelp.cli import exits\n"
    script += "def body(): raise pickle.loads(bytes.fromhex(sys.argv[1]))\n"
    script += "sys.exit(exits.run(body))"
    import pickle

    done = subprocess.run(
        [sys.executable, "-c", script, pickle.dumps(error).hex()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(toolhelp.__file__).parent.parent)},
    )
    assert done.returncode == code, done.stderr
    assert b"Traceback" not in done.stderr


def test_a_fault_exits_70_and_keeps_its_traceback(tmp_path: Path) -> None:
    script = "import sys; from toolhelp.cli import exits\nsys.exit(exits.run(lambda: 1 / 0))"
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(toolhelp.__file__).parent.parent),
        "TMPDIR": str(tmp_path),
        "TEMP": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-c", script],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    assert done.returncode == 70
    said = done.stderr.decode()
    assert "Traceback" not in said
    (kept,) = tmp_path.glob("toolhelp-*.txt")
    assert kept.name in said
    assert "ZeroDivisionError" in kept.read_text(encoding="utf-8")
    shown = subprocess.run(
        [sys.executable, "-c", script],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**environment, "TOOLHELP_DEBUG": "1"},
    )
    assert shown.returncode == 70
    assert b"ZeroDivisionError" in shown.stderr


def test_lone_surrogates_are_shown_as_replacement() -> None:
    assert tables.plain("a\ud800b\U0001f600") == "a\ufffdb\U0001f600"


def test_import_is_lean() -> None:
    """What is slow to import is not imported before it is asked for."""
    heavy = "typing enum re datetime collections click rich contextlib ctypes json".split()
    script = f"import sys, toolhelp; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-S", "-c", script],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(toolhelp.__file__).parent.parent)},
    )
    assert done.stdout.decode().strip() == "[]", done.stderr


posix_only = pytest.mark.skipif(os.name != "posix", reason="named pipes and links of POSIX")
EXAMPLE = Path(__file__).parent.parent / "examples" / "leaky.etl"


@posix_only
@pytest.mark.parametrize("force", [[], ["--force"]])
def test_what_is_no_file_is_written_to_and_never_replaced(tmp_path: Path, force: list[str]) -> None:
    """Renaming over a device would take the device away from the whole machine."""
    target = tmp_path / "pipe"
    os.mkfifo(target)
    with running(["cat", str(target)], stdout=subprocess.PIPE) as reader:
        result = run("info", str(EXAMPLE), "--json", "-o", str(target), *force)
        text, _ = reader.communicate(timeout=20)
    assert result.returncode == 0, result.stderr
    assert target.is_fifo()
    assert json.loads(text)["schema_version"] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


@posix_only
def test_a_link_stays_a_link(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("old")
    link.symlink_to(file)
    assert run("info", str(EXAMPLE), "-o", str(link)).returncode == exits.REFUSED
    assert file.read_text() == "old"
    assert run("info", str(EXAMPLE), "-o", str(link), "--force").returncode == 0
    assert link.is_symlink()
    assert "session" in file.read_text()


@posix_only
def test_force_keeps_the_mode_of_what_it_replaces(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("old")
    old.chmod(0o640)
    for target in (old, new):
        assert run("info", str(EXAMPLE), "-o", str(target), "--force", umask=0o027).returncode == 0
    assert [path.stat().st_mode & 0o777 for path in (old, new)] == [0o640, 0o640]
    old.chmod(0o604)
    assert run("info", str(EXAMPLE), "-o", str(old), "--force", umask=0o077).returncode == 0
    assert old.stat().st_mode & 0o777 == 0o604


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="no /dev/full here")
@pytest.mark.parametrize("words", [["info"], ["report", "--json", "--all"], ["events"]])
def test_a_full_disk_behind_stdout_exits_6(words: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        result = subprocess.run(
            [sys.executable, "-m", "toolhelp", *words, str(EXAMPLE)],
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(Path(toolhelp.__file__).parent.parent)},
        )
    assert result.returncode == exits.REFUSED, result.stderr
    assert result.stderr.count(b"\n") == 1
    assert b"output cannot be written" in result.stderr


@posix_only
@pytest.mark.parametrize("words", [["info"], ["report"], ["events", "--format", "csv"]])
def test_a_closed_stdout_exits_6(words: list[str]) -> None:
    result = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "toolhelp", *words, str(EXAMPLE)],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(toolhelp.__file__).parent.parent)},
    )
    assert result.returncode == exits.REFUSED, result.stderr
    assert result.stderr == b"toolhelp: standard output is closed\n"


@pytest.mark.parametrize(
    "words", [["report", "--cull"], ["check", "--max-live", "1", "--suppressions"]]
)
def test_a_list_that_is_no_text_exits_3(words: list[str], tmp_path: Path) -> None:
    target = tmp_path / "binary"
    target.write_bytes(b"\xff\xfe\x00leak")
    result = run(*words, str(target), str(EXAMPLE))
    assert result.returncode == exits.INPUT
    assert str(target).encode() in result.stderr


def test_the_damaged_one_of_two_traces_is_named(tmp_path: Path) -> None:
    target = tmp_path / "text.etl"
    target.write_text("no trace")
    result = run("diff", str(EXAMPLE), str(target))
    assert result.returncode == exits.INPUT
    assert b"text.etl: this is not an event trace" in result.stderr
