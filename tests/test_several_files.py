"""Several files of one recording: read as one, they say what one file of it would."""

from __future__ import annotations

import dataclasses
import gc
import os
import random
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import children
import toolhelp as th
from etlmaker import Trace
from etlmaker.buffers import Item
from toolhelp.report.document import document

pytestmark = pytest.mark.needs("core")

KERNEL = 0xFFFFF80000000001
SECOND = 10_000_000


def whole_trace(seed: int = 0, cpus: int = 3, events: int = 600) -> Trace:
    """A bit of everything; no two events at one time."""
    rng = random.Random(seed)
    trace = Trace(cpus=cpus)
    trace.volume(1050, 0, "\\Device\\HarddiskVolume3\\", "C:\\")
    trace.process(3, 1100, 0, 10, name="app.exe")
    trace.thread(3, 1120, 0, 10, 11, 0x7FF0, name="worker")
    path = "\\Device\\HarddiskVolume3\\app.exe"
    trace.image(3, 1130, 1, 10, 0x7FF600000000, 0x10000, path)
    live: list[int] = []
    for number in range(events):
        time, cpu = 2000 + 40 * number, rng.randrange(cpus)
        if live and rng.random() < 0.4:
            address = live.pop(rng.randrange(len(live)))
            trace.heap_free(time, cpu, 10, 11, 0x10000, address)
        else:
            live.append(0x20000 + 64 * number)
            trace.heap_alloc(time, cpu, 10, 11, 0x10000, 8 + number % 7, live[-1])
        frames = [0x7FF600000001 + number % 5, 0x7FF600000100]
        if number % 5 == 0:
            trace.stack(time + 1, cpu, time, 10, 11, [KERNEL])
        if number % 5 < 3:
            trace.stack(time + 2, rng.randrange(cpus), time, 10, 11, frames)
        if number % 5 == 4:
            trace.stack_key(time + 3, cpu, time, 10, 11, 0xA000 + number % 8)
        if number % 50 == 7:
            trace.key_definition(time + 4, 0, 0xA000 + number % 8, [KERNEL, KERNEL + 1])
        if number % 20 == 0:
            trace.raw("INSTANCE", time + 5, cpu, "Heap", 33, bytes(24))
            trace.raw("FULL", time + 6, cpu, "Other", 1, b"other")
    trace.process(1, 30_000, 2, 12, name="late.exe")
    trace.process(2, 40_000, 1, 10, name="app.exe")
    return trace


def split(trace: Trace, number: Callable[[Item], int]) -> list[Trace]:
    """The same session in several files, by the number of each event's file."""
    files: dict[int, list[Item]] = {}
    for item in trace.items:
        files.setdefault(number(item), []).append(item)
    return [dataclasses.replace(trace, items=items) for _, items in sorted(files.items())]


def group(item: Item) -> int:
    """Heap events and stacks, processes, images, and all the rest."""
    kind, hook = item.data[2], item.data[7] if item.data[2] < 10 or item.data[2] in (16, 17) else 0
    return {0x10: 0, 0x18: 0, 0x03: 1, 0x05: 1, 0x14: 2}.get(hook, 3) if kind else 3


SPLITS: dict[str, Callable[[Item], int]] = {
    "by processor": lambda item: item.cpu,
    "by time": lambda item: item.time // 12000,
    "by provider": group,
    "at random": lambda item: hash((item.time, item.cpu)) % 4,
    "two": lambda item: item.time % 2,
}


def rows_of(trace: th.Trace) -> list[Any]:
    return [tuple(row) for batch in trace.heap_events() for row in batch]


def events_of(trace: th.Trace) -> list[Any]:
    """Every event but those with which each file begins."""
    rows = [tuple(row) for batch in trace.events() for row in batch]
    return [row for row in rows if row[0] != 0]


def everything(trace: th.Trace) -> dict[str, Any]:
    report = document(trace, trace.analyze(), None)
    for key in ("file", "files"):
        report.pop(key)
    return {
        "rows": rows_of(trace),
        "events": events_of(trace),
        **{
            name: [tuple(row) for row in getattr(trace, name)]
            for name in ("processes", "threads", "modules", "stacks", "frames")
        },
        "blocks": [tuple(row) for batch in trace.blocks() for row in batch],
        "report": report,
        "heap_events": trace.info["counts"]["heap_events"],
    }


@pytest.mark.parametrize("compression", [None, "xpress"])
@pytest.mark.parametrize("way", SPLITS)
def test_files_say_what_the_one_file_says(way: str, compression: str | None) -> None:
    trace = whole_trace()
    options: dict[str, Any] = {"compression": compression, "per_buffer": 40}
    files = [one.to_bytes(**options) for one in split(trace, SPLITS[way])]
    assert 2 <= len(files) <= 4
    with th.open_trace(trace.to_bytes(**options)) as one, th.open_trace(files) as several:
        expected, found = everything(one), everything(several)
        assert len(expected["rows"]) == 600
        assert len(expected["modules"]) == 1
        for key, value in expected.items():
            assert found[key] == value, key
        assert found["report"]["quality"]["complete"]
        info = several.info
        assert info["file"]["bytes"] == sum(map(len, files))
        assert [row["bytes"] for row in info["files"]] == list(map(len, files))
        assert all(row["given"] and row["complete"] for row in info["files"])
        heads = 2 * (len(files) - 1)  # two events begin each file
        assert info["counts"]["events"] == one.info["counts"]["events"] + heads
        assert sum(row["events"] for row in info["files"]) == info["counts"]["events"]


@pytest.mark.parametrize("seed", range(6))
def test_many_files_in_any_order(seed: int) -> None:
    """No order of the files changes anything when no two events have the same time."""
    rng = random.Random(seed)
    trace = whole_trace(seed, events=200)
    places = {id(item): rng.randrange(30) for item in trace.items}
    files = [one.to_bytes(per_buffer=9) for one in split(trace, lambda item: places[id(item)])]
    rng.shuffle(files)
    with th.open_trace(trace.to_bytes()) as one, th.open_trace(files, threads=seed % 3) as several:
        assert rows_of(several) == rows_of(one)
        assert events_of(several) == events_of(one)


def test_ties_go_by_the_order_of_the_files() -> None:
    def file(first: int, times: Sequence[int]) -> bytes:
        trace = Trace()
        for number, time in enumerate(times):
            trace.heap_alloc(time, 0, 10, 11, 0x10000, 1, first + number)
        return trace.to_bytes()

    a, b, c = (file(100, [2000, 2000, 2001, 2003]), file(200, [1999, 2000, 2000, 2003]),
               file(300, [2000, 2001, 2003]))  # fmt: skip

    def addresses(*files: bytes) -> list[int]:
        with th.open_trace(files) as trace:
            return [row[6] for row in rows_of(trace)]

    assert addresses(a, b, c) == [200, 100, 101, 201, 202, 300, 102, 301, 103, 203, 302]
    assert addresses(c, a, b) == [200, 300, 100, 101, 201, 202, 301, 102, 302, 103, 203]


def test_one_file_in_a_list_is_that_file() -> None:
    data = whole_trace().to_bytes()
    with th.open_trace([data]) as listed, th.open_trace(data) as plain:
        assert listed.info == plain.info
        assert rows_of(listed) == rows_of(plain)


@pytest.mark.needs("linux")
def test_closing_lets_go_of_every_file(tmp_path: Path) -> None:
    paths = written(tmp_path, split(whole_trace(), SPLITS["two"]))

    def descriptors() -> int:
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    before = descriptors()
    trace = th.open_trace(paths)
    batches = trace.heap_events()
    next(batches)
    assert descriptors() == before + 2
    trace.close()
    with pytest.raises(ValueError, match="closed"):
        trace.events()
    del batches
    assert descriptors() == before


def written(folder: Path, traces: Sequence[Trace], **options: Any) -> list[Path]:
    paths = []
    for number, trace in enumerate(traces, 1):
        paths.append(folder / f"app_{number}.etl")
        paths[-1].write_bytes(trace.to_bytes(**options))
    return paths


def test_two_threads_read_at_the_same_time(tmp_path: Path) -> None:
    trace = th.open_trace(written(tmp_path, split(whole_trace(events=3000), SPLITS["two"])))
    expected = rows_of(trace)
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(rows_of(trace))) for _ in range(3)
    ]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(expected) == 3000
    assert found == [expected] * 3


def test_file_objects_and_streams(tmp_path: Path) -> None:
    paths = written(tmp_path, split(whole_trace(), SPLITS["by processor"]))
    with th.open_trace(paths) as trace:
        expected = rows_of(trace)
    with paths[0].open("rb") as first, paths[2].open("rb") as third:
        with th.open_trace([first, paths[1].read_bytes(), third]) as trace:
            assert rows_of(trace) == expected
        assert not first.closed
        with pytest.raises(ValueError, match="given twice"):
            th.open_trace([first, first])


def test_a_reader_that_fails_says_so(tmp_path: Path) -> None:
    class Failing:
        def __init__(self, path: Path) -> None:
            self.file, self.failing = path.open("rb"), False

        def seekable(self) -> bool:
            return True

        def seek(self, *words: int) -> int:
            return self.file.seek(*words)

        def read(self, size: int = -1) -> bytes:
            if self.failing:
                raise ZeroDivisionError("of ours")
            return self.file.read(size)

    traces = split(whole_trace(events=3000), SPLITS["two"])
    paths = written(tmp_path, traces, per_buffer=50)
    second = Failing(paths[1])
    with th.open_trace([paths[0], second], threads=0) as trace:  # type: ignore[list-item]
        second.failing = True
        with pytest.raises(ZeroDivisionError, match="of ours"):
            rows_of(trace)
        second.failing = False
        assert len(rows_of(trace)) == 3000
    second.file.close()


# ----- the recording as a whole ---------------------------------------------------------------


def test_start_end_and_losses_are_those_of_all() -> None:
    first = Trace(t0=5000 + SECOND, events_lost=2, session_name="Heap")
    start = first.start
    first = dataclasses.replace(first, start=start + SECOND, boot=start - 60 * SECOND)
    second = Trace(t0=5000, buffers_lost=3, session_name="Kernel", boot=start - 60 * SECOND,
                   end=start + 30 * SECOND)  # fmt: skip
    first.heap_alloc(5000 + SECOND + 10, 0, 10, 11, 0x10000, 1, 0x100)
    second.heap_alloc(5010, 0, 10, 11, 0x10000, 1, 0x200)
    with th.open_trace([first.to_bytes(), second.to_bytes()]) as trace:
        info, quality = trace.info, trace.quality
        assert info["file"]["session_name"] == "Heap, Kernel"
        assert info["file"]["start"] == "2024-01-01T00:00:00.0000000Z"
        assert info["file"]["end"] == "2024-01-01T00:00:30.0000000Z"
        assert info["file"]["duration_ns"] == 30 * 10**9
        assert [row["duration_ns"] for row in info["files"]] == [10 * 10**9, 30 * 10**9]
        assert [row[0] for row in rows_of(trace)] == [1000, 10**9 + 1000]
        assert (quality["events_lost"], quality["buffers_lost"]) == (2, 3)
        assert quality["messages"] == ["file 1: The recorder lost 2 events.",
                                       "file 2: The recorder lost 3 buffers."]  # fmt: skip
        assert not quality["complete"]
        assert trace.analyze().duration_ns == 30 * 10**9


def test_one_file_not_finished_leaves_the_recording_unfinished(tmp_path: Path) -> None:
    traces = split(whole_trace(), SPLITS["two"])
    traces[1] = dataclasses.replace(traces[1], finished=False)
    with th.open_trace(written(tmp_path, traces)) as trace:
        assert trace.info["file"]["end"] is None
        assert [row["complete"] for row in trace.info["files"]] == [True, False]
        assert trace.info["files"][1]["duration_ns"] is None
        assert trace.quality["messages"][0].startswith("app_2.etl: The session was never finished")
        last = max(row[0] for row in events_of(trace))
        assert trace.info["file"]["duration_ns"] == trace.analyze().duration_ns == last


def test_damage_is_said_with_the_file(tmp_path: Path) -> None:
    traces = split(whole_trace(), SPLITS["two"])
    paths = written(tmp_path, traces, per_buffer=30)
    data = paths[1].read_bytes()
    paths[1].write_bytes(data[: len(data) // 2 + 100])
    bad = dataclasses.replace(traces[0])
    bad.raw("SYSTEM", 2500, 0, "Heap", 33, b"short")
    paths[0].write_bytes(bad.to_bytes())
    with th.open_trace(paths) as trace:
        quality = trace.quality
        assert quality["truncated"] is True
        assert quality["bad_events"] == 1
        assert quality["messages"][0] == "app_1.etl: 1 event is damaged."
        assert quality["messages"][1] == (
            "app_2.etl: The file is cut off inside a buffer or an event."
        )
        assert [row["complete"] for row in trace.info["files"]] == [False, False]
        kept = len(rows_of(trace))
    with th.open_trace(paths[0]) as alone, th.open_trace(paths[1]) as other:
        assert kept == len(rows_of(alone)) + len(rows_of(other))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"clock": 2}, "its clock is system time, not the performance counter at 10,000,000 Hz"),
        ({"perf_freq": 3_000_000}, "its clock is the performance counter at 3,000,000 Hz, not"),
        ({"boot": 133_485_408_000_000_000}, "its system was started at 2024-01-01T00:00:00"),
        ({"os": (10, 0, 22621)}, r"it is of Windows 10\.0\.22621 with 1 processors, not of"),
        ({"cpus": 4}, r"with 4 processors"),
    ],
)
def test_files_of_different_recordings(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    paths = written(tmp_path, [Trace(), dataclasses.replace(Trace(), **change)])
    with pytest.raises(th.CorruptTrace, match=words) as caught:
        th.open_trace(paths)
    assert str(paths[1]) in str(caught.value)
    assert "--each" in str(caught.value)


def test_a_second_more_between_the_boots_is_a_clock_that_was_set() -> None:
    a = Trace()
    b = dataclasses.replace(a, boot=a.start - 6_000_000_000 + SECOND)
    with th.open_trace([a.to_bytes(), b.to_bytes()]) as trace:
        assert len(trace.info["files"]) == 2


def test_words_that_are_wrong(tmp_path: Path) -> None:
    (path,) = written(tmp_path, [Trace()])
    with pytest.raises(ValueError, match="no trace was given"):
        th.open_trace([])
    with pytest.raises(ValueError, match="given twice"):
        th.open_trace([path, str(path)])
    with pytest.raises(ValueError, match="more than 256"):
        th.open_trace([path.read_bytes()] * 257)
    with pytest.raises(th.CorruptTrace, match="file 2: this is not an event trace"):
        th.open_trace([path, b"x" * 200])
    with pytest.raises(FileNotFoundError):
        th.open_trace([path, tmp_path / "none.etl"])


def test_progress_counts_the_bytes_of_all(tmp_path: Path) -> None:
    paths = written(tmp_path, split(whole_trace(events=3000), SPLITS["two"]), per_buffer=50)
    told: list[tuple[int, int]] = []
    with th.open_trace(paths, threads=0) as trace:
        for _ in trace.heap_events(progress=lambda done, size: told.append((done, size))):
            pass
    size = sum(path.stat().st_size for path in paths)
    assert told[-1] == (size, size)


@pytest.mark.needs("linux", "own-memory", "numpy")
def test_memory_is_flat() -> None:
    """Two files, merged event by event: their size does not show in what is held."""
    code = """
import toolhelp as th
from etlmaker.large import Load, Repeated, heap_buffers
load = dict(events=40_000, unique_stacks=1000, drain=True)
first, second = (list(heap_buffers(Load(seed=seed, **load))) for seed in (1, 2))
used = []

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) // 1024

def rows_of(*files):
    with th.open_trace(files) as trace:
        return sum(len(batch) for batch in trace.heap_events())

once = rows_of(Repeated(first, 1)) + rows_of(Repeated(second, 1))
for times in (10, 40):
    files = [Repeated(first, times), Repeated(second, times)]
    rows = rows_of(*files)
    used.append(peak())
print(sum(file.size for file in files), rows - 40 * once, *used)
"""
    size, surplus, before, after = children.numbers_of(code)
    assert size > 500_000_000
    assert surplus == 0
    assert after - before <= 20
    assert after <= 250


@pytest.mark.parametrize("seed", range(40))
def test_damaged_files_add_up(seed: int) -> None:
    """Whatever is wrong inside the files, each gives to the recording what it gives alone."""
    rng = random.Random(seed)
    trace = dataclasses.replace(whole_trace(seed, events=100), buffer_size=0x800)
    files = []
    for one in split(trace, SPLITS["at random"])[:3]:
        data = bytearray(one.to_bytes(compression=rng.choice([None, "xpress", "lznt1"])))
        for _ in range(rng.randint(0, 12)):
            data[rng.randrange(0x300, len(data))] = rng.choice([0, 1, 0xFF, rng.getrandbits(8)])
        if rng.random() < 0.4:
            del data[rng.randrange(0x800, len(data)) :]
        files.append(bytes(data))
    alone = []
    for data in files:
        with th.open_trace(data, threads=0) as trace:
            found = rows_of(trace)
            alone.append((trace.info["counts"]["events"], len(found), trace.quality))
    with th.open_trace(files, threads=seed % 3) as trace:
        rows = rows_of(trace)
        assert len(rows) == sum(count for _, count, _ in alone)
        assert trace.info["counts"]["events"] == sum(events for events, _, _ in alone)
        assert sum(map(len, trace.events())) <= trace.info["counts"]["events"]
        quality = trace.quality
        for key in ("buffers_skipped", "bytes_skipped", "unknown_headers", "bad_events"):
            assert quality[key] == sum(one[key] for _, _, one in alone), key
        assert quality["truncated"] == any(one["truncated"] for _, _, one in alone)
