"""The commands over heap traces: JSON, exit codes, rules, comparison."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import reporttraces
from etlmaker import Trace

pytestmark = pytest.mark.needs("core")

LEAK = ["plug.dll", 0x41C2]


def run(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "toolhelp", *map(str, words)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        env={**os.environ, "GITHUB_ACTIONS": "", **environment},
    )


def ok(*words: object, code: int = 0, **environment: str) -> str:
    done = run(*words, **environment)
    assert (done.returncode, done.stderr) == (code, "")
    return done.stdout


@pytest.fixture(scope="module")
def leaky(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "leaky.etl"
    path.write_bytes(reporttraces.leaky_bytes())
    return path


@pytest.fixture(scope="module")
def cut(leaky: Path) -> Path:
    path = leaky.with_name("cut.etl")
    data = leaky.read_bytes()
    path.write_bytes(data[: len(data) // 2 + 7])
    return path


@pytest.fixture(scope="module")
def mid_life(leaky: Path) -> Path:
    path = leaky.with_name("mid.etl")
    path.write_bytes(reporttraces.mid_life().to_bytes())
    return path


def test_the_example_is_what_its_script_makes() -> None:
    path = reporttraces.ROOT / "examples" / "leaky.etl"
    assert path.read_bytes() == reporttraces.leaky_bytes()


def test_the_planted_leak_comes_first(leaky: Path) -> None:
    found = json.loads(ok("report", leaky, "--json"))
    first = found["stacks"][0]
    assert first["live"] == {"blocks": 400, "bytes": 1_200_000}
    frame = first["frames"][2]
    assert [frame["module"], frame["offset"]] == LEAK
    assert frame == {"address": "0x7ffa300041c2", "module": "plug.dll", "offset": 0x41C2,
                     "symbol": None}  # fmt: skip
    page = ok("report", leaky)
    rows = page.split("LEAKED")[1].splitlines()
    assert rows[2].split()[:3] == ["1.2", "MB", "400"]
    assert "plug.dll+0x41c2" in rows[2]


def test_json_has_the_documented_keys(leaky: Path) -> None:
    found = json.loads(ok("report", leaky, "--json", "--all"))
    assert list(found) == [
        "schema_version", "file", "files", "quality", "totals", "live", "peak", "temporary",
        "processes",
        "heaps", "threads", "modules", "functions", "stacks", "sizes", "lifetimes", "timeline",
    ]  # fmt: skip
    assert found["schema_version"] == 1
    assert found["live"] == {"blocks": 401, "bytes": 1_462_144}
    assert found["totals"] == {
        "allocations": 9002, "allocated_bytes": 1_200_000 + 262_144 + 6_000_000 + 600 * 20_000
        + 200 * 8 * (24 + 32 + 40 + 48 + 56), "frees": 8601,
        "freed_bytes": 6_000_000 + 600 * 20_000 + 200 * 8 * (24 + 32 + 40 + 48 + 56),
        "reallocations": 0, "adopted_blocks": 0, "adopted_bytes": 0, "overwritten_blocks": 0,
        "overwritten_bytes": 0, "destroyed_blocks": 0, "destroyed_bytes": 0, "heaps_created": 2,
        "heaps_destroyed": 0,
    }  # fmt: skip
    # frame 80 holds 41 leaks of four, the arena, three pictures and the mesh
    peak = 41 * 4 * 3_000 + 262_144 + 3 * 20_000 + 6_000_000
    assert found["peak"]["bytes"] == peak
    assert found["peak"]["blocks"] == 41 * 4 + 1 + 3 + 1
    assert found["temporary"] == {"blocks": 8000, "bytes": 320_000, "rule_ns": 1_000_000}
    assert len(found["timeline"]) == 200
    assert max(point["live_bytes"] for point in found["timeline"]) == peak
    for key in ("pre_trace", "unmatched_frees", "realloc_repairs", "stack_coverage", "complete"):
        assert key in found["quality"]
    for view in ("stacks", "heaps", "threads", "processes"):
        for figure in ("live", "at_peak", "allocated", "temporary"):
            total = {
                unit: sum(row[figure][unit] for row in found[view]) for unit in ("blocks", "bytes")
            }
            whole = {
                "live": found["live"],
                "at_peak": {key: found["peak"][key] for key in ("blocks", "bytes")},
                "allocated": {"blocks": 9002, "bytes": found["totals"]["allocated_bytes"]},
                "temporary": {key: found["temporary"][key] for key in ("blocks", "bytes")},
            }[figure]
            assert total == whole, (view, figure)
    process = found["processes"][0]
    assert [process["pid"], process["name"], process["live"]] == [4812, "app.exe", found["live"]]
    assert process["totals"] == found["totals"]
    assert sum(row["blocks"] for row in found["sizes"]) == 9002
    assert sum(row["blocks"] for row in found["lifetimes"]) == 8601
    modules = {row["name"]: row for row in found["modules"]}
    assert modules["app.exe"]["live"] == found["live"]  # inclusive
    assert modules["plug.dll"]["live"]["bytes"] == 1_200_000


def test_functions_count_recursion_once(tmp_path: Path) -> None:
    trace = Trace()
    trace.heap_alloc(2000, 0, 10, 11, 0x10000, 64, 0x20000, stack=(0x7F10, 0x7F20, 0x7F10))
    path = tmp_path / "recursion.etl"
    path.write_bytes(trace.to_bytes())
    found = json.loads(ok("report", path, "--json"))
    assert {row["name"]: row["live"]["bytes"] for row in found["functions"]} == {
        "0x7f10": 64,
        "0x7f20": 64,
    }


@pytest.mark.parametrize(
    ("words", "live"),
    [
        (["--pid", "4812"], 1_462_144),
        (["--pid", "1"], 0),
        (["--thread", "104"], 0),
        (["--module", "PLUG.dll"], 1_200_000),
        (["--module", "plug"], 1_200_000),
        (["--module", "Benchmark*"], 0),
        (["--under", "plug.dll+0x41c2"], 1_200_000),
        (["--under", "APP.EXE+0x44"], 262_144),
        (["--heap", "0x1c0f0000"], 1_462_144),
        (["--heap", "0x1d200000"], 0),
        (["--since", "5s"], 600_000),
        (["--until", "5s", "--module", "plug"], 600_000),
        (["--min-size", "3001"], 262_144),
        (["--lifetime", "..1ms"], 0),
        (["--lifetime", "5s..", "--module", "plug"], 597_000 + 3_000),
    ],
)
def test_filters(leaky: Path, words: list[str], live: int) -> None:
    found = json.loads(ok("report", leaky, "--json", *words))
    assert found["live"]["bytes"] == live
    assert sum(row["live"]["bytes"] for row in found["stacks"]) == live


def test_strict(leaky: Path, cut: Path, mid_life: Path) -> None:
    ok("report", leaky, "--strict")
    ok("report", mid_life, "--strict")
    ok("report", cut)
    for command in ("report", "leaks", "peak", "temp", "timeline"):
        assert "NOT COMPLETE" in ok(command, cut, "--strict", code=4)
    assert json.loads(ok("report", cut, "--json", "--strict", code=4))["quality"]["truncated"]


def test_mid_life(mid_life: Path) -> None:
    quality = json.loads(ok("report", mid_life, "--json"))["quality"]
    assert (quality["pre_trace"], quality["unmatched_frees"], quality["complete"]) == (
        484,
        483,
        True,
    )


def test_words_that_are_wrong(leaky: Path, tmp_path: Path) -> None:
    for words in (
        ["report"],
        ["report", leaky, "--sort", "colour"],
        ["report", leaky, "--lifetime", "5"],
        ["report", leaky, "--min-size", "many"],
        ["report", leaky, "--heap", "ntdll"],
        ["report", leaky, "--since", "5s", "--until", "1s"],
        ["report", leaky, leaky],
        ["check", leaky],
        ["check", leaky, "--max-temp-rate", "x%"],
    ):
        done = run(*words)
        assert (done.returncode, done.stdout) == (2, ""), words
    assert run("report", tmp_path / "none.etl").returncode == 3
    (tmp_path / "text.etl").write_text("no trace")
    assert run("report", tmp_path / "text.etl").returncode == 3
    assert run("report", leaky, "--cull", tmp_path / "none").returncode == 3


def test_explain() -> None:
    assert "live at end  Blocks that no event ended" in ok("report", "--explain")


def test_each(leaky: Path, mid_life: Path) -> None:
    found = json.loads(ok("report", leaky, mid_life, "--each", "--json"))
    assert [one["live"]["bytes"] for one in found["reports"]] == [1_462_144, 110]
    assert ok("report", leaky, mid_life, "--each").count("quality  complete") == 2


def parts_of(folder: Path, count: int = 3) -> list[Path]:
    """The leaky trace in files of one recording: every event in one of them."""
    trace = reporttraces.leaky_trace()
    paths = []
    for number in range(count):
        paths.append(folder / f"part{number}.etl")
        part = dataclasses.replace(trace, items=trace.items[number::count])
        paths[-1].write_bytes(part.to_bytes())
    return paths


def test_several_files_are_one_recording(leaky: Path, tmp_path: Path) -> None:
    paths = parts_of(tmp_path)
    one, several = (json.loads(ok("report", *files, "--json")) for files in ([leaky], paths))
    assert [row["path"] for row in several.pop("files")] == list(map(str, paths))
    assert several.pop("file")["path"] == str(paths[0])
    del one["file"], one["files"]
    assert several == one
    assert "and 2 more files" in ok("report", *paths)
    for command in ("leaks", "peak", "temp", "timeline"):
        pages = [ok(command, *files).split("target", 1)[1] for files in ([leaky], paths)]
        assert pages[0] == pages[1], command
    assert "ok      max-live" in ok("check", *paths, "--max-live", "2MB")
    ok("check", *paths, "--max-live", "1MB", code=1)
    found = json.loads(ok("info", *paths, "--json"))
    assert [row["path"] for row in found["files"]] == list(map(str, paths))
    shown = ok("info", *paths)
    assert all(f"file        {path}, " in shown for path in paths)
    events = [
        ok("events", *files, "--kind", "heap", "--format", "csv") for files in ([leaky], paths)
    ]
    assert events[0] == events[1]
    assert len(events[0].splitlines()) == 17_606


def test_files_that_are_not_one_recording(leaky: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.etl"
    other.write_bytes(Trace(clock=2).to_bytes())
    for words in (["report"], ["info", "--json"], ["leaks"], ["check", "--max-live", "1MB"]):
        done = run(*words, leaky, other)
        assert (done.returncode, done.stdout) == (3, "")
        assert f"{other} is not of the same recording as {leaky}: its clock is" in done.stderr
        assert "--each" in done.stderr
    twice = run("report", leaky, leaky)
    assert twice.returncode == 2
    assert f"{leaky} was given twice" in twice.stderr
    assert run("report").returncode == 2


def test_a_companion_is_picked_up_and_said(leaky: Path, tmp_path: Path) -> None:
    path, beside = tmp_path / "app.etl", tmp_path / "app.companion.etl"
    path.write_bytes(leaky.read_bytes())
    trace = reporttraces.leaky_trace()
    beside.write_bytes(dataclasses.replace(trace, items=[]).to_bytes())
    shown = ok("info", path)
    assert f"file        {beside}, 65,536 bytes, found beside" in shown
    found = json.loads(ok("report", path, "--json"))
    assert [row["given"] for row in found["files"]] == [True, False]
    beside.write_bytes(Trace(clock=2).to_bytes())
    assert f"The companion {beside.name} beside the trace is not used" in ok("info", path)
    page = "".join(ok("report", path).split())
    assert page.startswith("qualitycomplete")
    assert f"Thecompanion{beside.name}besidethetraceisnotused:itsclockissystemtime" in page


def test_output_file(leaky: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    ok("report", leaky, "--json", "-o", target)
    assert json.loads(target.read_text("utf-8"))["live"]["blocks"] == 401
    done = run("report", leaky, "--json", "-o", target)
    assert done.returncode == 6
    assert "--force" in done.stderr


def test_color_only_on_terminals(leaky: Path) -> None:
    assert "\x1b" not in ok("report", leaky)


# -- check ----------------------------------------------------------------------------------------


def test_check_fails_a_build_on_the_leak(leaky: Path) -> None:
    found = ok("check", leaky, "--max-live", "1MB", "--per-stack", "500kB", code=1)
    assert found.splitlines()[0] == ("BROKEN  max-live        live at end: 1.5 MB, allowed 1.0 MB")
    assert "1.2 MB in 400 blocks" in found
    assert "plug.dll+0x41c2" in found


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--max-live", "1462144"], 0),
        (["--max-live", "1462143"], 1),
        (["--max-blocks", "401"], 0),
        (["--max-blocks", "400"], 1),
        (["--max-peak", "6814144"], 0),
        (["--max-peak", "6814143"], 1),
        (["--max-temp-rate", "89%"], 0),
        (["--max-temp-rate", "88%"], 1),
        (["--per-stack", "1200000"], 0),
        (["--per-stack", "1199999"], 1),
        (["--max-live", "0", "--under", "nowhere"], 0),
        (["--max-live", "262144", "--under", "app.exe+0x4400"], 0),
    ],
)
def test_limits(leaky: Path, words: list[str], code: int) -> None:
    done = run("check", leaky, *words)
    assert (done.returncode, done.stderr) == (code, "")


def test_suppressions(leaky: Path, tmp_path: Path) -> None:
    path = tmp_path / "known.txt"
    path.write_text("# known\n\nleak:app.exe+0x4400\nleak:PLUG.dll+*1c2$\n")
    found = ok("check", leaky, "--max-live", "0", "--max-blocks", "0", "--suppressions", path)
    assert "suppressed: 401 live blocks" in found
    path.write_text("leek:plug\n")
    assert run("check", leaky, "--max-live", "0", "--suppressions", path).returncode == 2


def test_baseline(leaky: Path, tmp_path: Path) -> None:
    path = tmp_path / "base.json"
    document: dict[str, Any] = json.loads(ok("report", leaky, "--json", "--all"))
    path.write_text(json.dumps(document))
    ok("check", leaky, "--baseline", path)
    for stack in document["stacks"]:
        stack["live"]["bytes"] = stack["live"]["bytes"] * 96 // 100
    document["live"]["bytes"] = document["live"]["bytes"] * 96 // 100
    path.write_text(json.dumps(document))
    ok("check", leaky, "--baseline", path, "--tolerance", "5%")
    found = ok("check", leaky, "--baseline", path, code=1)
    assert "BROKEN  baseline-live" in found
    assert "48.0 kB more than in the baseline" in found
    path.write_text("{}")
    assert run("check", leaky, "--baseline", path).returncode == 3


def test_check_of_an_incomplete_trace(cut: Path) -> None:
    assert ok("check", cut, "--max-live", "1GB").startswith("NOT COMPLETE: ")
    ok("check", cut, "--max-live", "1", code=1)
    ok("check", cut, "--max-live", "1", "--strict", code=4)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--pid", "99999"], "the trace holds no heap events of process 99999"),
        (["--under", "nowhere"], "no block passes the filters"),
        (["--since", "1h"], "no block passes the filters"),
    ],
)
def test_check_of_nothing(leaky: Path, tmp_path: Path, words: list[str], reason: str) -> None:
    path = tmp_path / "junit.xml"
    limits = ["--max-live", "1MB", "--max-blocks", "0", "--junit", path]
    lines = ok("check", leaky, *limits, *words).splitlines()
    assert lines[0] == f"NOTHING CHECKED: {reason}."
    assert [line.split()[:2] for line in lines[1:]] == [
        ["nothing", "max-live"],
        ["nothing", "max-blocks"],
    ]
    root = ElementTree.parse(path).getroot()
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("2", "0", "2")
    assert [case[0].tag for case in root] == ["skipped", "skipped"]
    assert ok("check", leaky, *limits, *words, "--strict", code=4).startswith("NOTHING CHECKED: ")


def test_check_of_a_trace_without_heap_events(tmp_path: Path) -> None:
    path = tmp_path / "empty.etl"
    path.write_bytes(Trace().to_bytes())
    found = ok("check", path, "--max-live", "0")
    assert found.startswith("NOTHING CHECKED: the trace holds no heap events.\n")
    ok("check", path, "--max-live", "0", "--strict", code=4)
    trace = Trace()
    trace.heap_free(2000, 0, 10, 11, 0x10000, 0x5000)
    path.write_bytes(trace.to_bytes())
    found = ok("check", path, "--max-live", "0")
    assert found.startswith("NOTHING CHECKED: the trace holds no allocations.\n")


def test_check_says_nothing_of_the_kind_when_there_are_blocks(leaky: Path) -> None:
    assert "NOTHING" not in ok("check", leaky, "--max-live", "1GB", "--strict")


def test_check_without_a_rule(leaky: Path) -> None:
    done = run("check", leaky)
    assert (done.returncode, done.stdout) == (2, "")
    assert "give at least one rule" in done.stderr


def test_junit_and_annotations(leaky: Path, tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    found = ok("check", leaky, "--max-live", "1MB", "--max-peak", "1GB", "--junit", path, code=1,
               GITHUB_ACTIONS="true")  # fmt: skip
    root = ElementTree.parse(path).getroot()
    assert (root.tag, root.get("tests"), root.get("failures")) == ("testsuite", "2", "1")
    cases = {case.get("name"): case for case in root}
    assert list(cases) == ["max-live", "max-peak"]
    failure = cases["max-live"].find("failure")
    assert failure is not None
    assert failure.get("message") == "live at end: 1.5 MB, allowed 1.0 MB"
    assert "plug.dll+0x41c2" in (failure.text or "")
    assert cases["max-peak"].find("failure") is None
    line = next(line for line in found.splitlines() if line.startswith("::"))
    assert line.startswith("::error title=toolhelp check%3A max-live::")
    assert "%0A1.2 MB in 400 blocks: ntdll.dll+0x2a3f1 < " in line


# -- diff -----------------------------------------------------------------------------------------


def test_diff(leaky: Path, mid_life: Path, tmp_path: Path) -> None:
    assert "no stack has changed" in ok("diff", leaky, leaky)
    found = json.loads(ok("diff", mid_life, leaky, "--json"))
    changes = {row["live_bytes"]: row["state"] for row in found["stacks"]}
    assert changes[1_200_000] == "new"
    assert changes[-110] == "gone"
    report = tmp_path / "a.json"
    ok("report", leaky, "--json", "--all", "-o", report)
    assert "no stack has changed" in ok("diff", report, leaky)
    text = ok("diff", mid_life, leaky, "--units", "raw")
    assert "+1,200,000 B" in text
    assert "plug.dll+0x41c2" in text
