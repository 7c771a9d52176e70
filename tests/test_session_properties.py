"""The bytes that a session is started with, against a construction of their own from the published
layout of EVENT_TRACE_PROPERTIES and of its extension."""

from __future__ import annotations

import struct

import pytest

from toolhelp import _core

pytestmark = pytest.mark.needs("core")

HEAP = struct.pack(
    "<IHH8B", 0x222962AB, 0x6180, 0x4B88, 0xA8, 0x25, 0x34, 0x6B, 0x75, 0xF2, 0xA2, 0x4A
)
SEQUENTIAL, CIRCULAR, REAL_TIME, BUFFERING = 0x1, 0x2, 0x100, 0x400
ALL_HOOKS = (0x1020, 0x1021, 0x1022, 0x1023, 0x1024, 0x1025)


def item(kind: int, values: tuple[int, ...]) -> bytes:
    return struct.pack(f"<HH{len(values)}I", len(values) + 1, kind, *values)


def expected(
    pointer_size: int,
    name: str,
    *,
    file: str | None = None,
    guid: bytes = HEAP,
    mode: int,
    buffer_kb: int = 0,
    min_buffers: int = 0,
    max_buffers: int = 0,
    max_file: int = 0,
    flush_seconds: int = 0,
    clock: int = 1,
    pids: tuple[int, ...] = (),
    hooks: tuple[int, ...] = (),
    stack_cache: tuple[int, int] | None = None,
) -> bytes:
    names = bytes(2 * len(name) + 2)  # StartTraceW writes it
    file_at = 0
    if file is not None:
        file_at = 0x78 + len(names)
        names += file.encode("utf-16-le") + b"\0\0"
    names += bytes(-len(names) % 4)
    items = [item(2, pids)]
    if hooks:
        items.append(item(3, hooks))
    if stack_cache:
        items.append(item(5, stack_cache))
    body = b"".join(items)
    block = struct.pack("<HH", 1 + len(body) // 4, len(items)) + body
    flags = 0x80FF0000 | (0x78 + len(names))
    total = 0x78 + len(names) + len(block)
    head = struct.pack("<IIQQ", total, 0, 0, 0) + guid + struct.pack("<II", clock, 0x20000)
    head += struct.pack("<IIIIIII", buffer_kb, min_buffers, max_buffers, max_file, mode,
                        flush_seconds, flags)  # fmt: skip
    head += bytes(4 * 7)  # age limit and the six figures that Windows writes
    if pointer_size == 8:
        head += struct.pack("<QII", 0, file_at, 0x78)
    else:
        head += struct.pack("<IIII", 0, file_at, 0x78, 0)
    assert len(head) == 0x78
    return head + names + block


@pytest.mark.parametrize("pointer_size", [8, 4])
@pytest.mark.parametrize("pid_count", [1, 2, 3, 50])
@pytest.mark.parametrize("hook_count", range(7))
@pytest.mark.parametrize("live", [False, True])
def test_pids_and_hooks(pointer_size, pid_count, hook_count, live):
    words = {
        "name": "toolhelp-4242-1",
        "file": None if live else "C:\\t\\app.etl",
        "mode": REAL_TIME if live else SEQUENTIAL,
        "buffer_kb": 1024,
        "min_buffers": 64,
        "max_buffers": 256,
        "flush_seconds": 1 if live else 0,
        "pids": tuple(range(100, 100 + pid_count)),
        "hooks": ALL_HOOKS[:hook_count],
    }
    assert _core.session_properties(pointer_size, **words) == expected(pointer_size, **words)


@pytest.mark.parametrize("pointer_size", [8, 4])
@pytest.mark.parametrize(("name", "file"), [
    ("n" * 1024, None), ("a", "f" * 1024), ("n" * 1023, "f" * 1024), ("\u20ac\U0001f600", "\u00e9"),
])  # fmt: skip
def test_long_and_odd_names(pointer_size, name, file):
    words = {"name": name, "file": file, "mode": SEQUENTIAL if file else REAL_TIME, "pids": (4,)}
    if "\U0001f600" in name:  # two units
        name = name.replace("\U0001f600", "xx")
    made = _core.session_properties(pointer_size, **words)
    assert made == expected(pointer_size, **{**words, "name": name})
    assert len(made) % 4 == 0


def test_stack_caching_and_other_fields():
    words = {
        "name": "s",
        "file": "x.etl",
        "mode": CIRCULAR,
        "max_file": 512,
        "clock": 2,
        "pids": (1, 0xFFFFFFFF),
        "hooks": (0x1021,),
        "stack_cache": (0x4000, 256),
        "guid": bytes(range(16)),
    }
    assert _core.session_properties(8, **words) == expected(8, **words)


def test_the_known_bytes():
    """One block in full, so that a mistake shared by both constructions would show."""
    made = _core.session_properties(
        8, name="s", mode=REAL_TIME, pids=(7, 9), hooks=(0x1021, 0x1022)
    )
    assert made.hex() == (
        "98000000" + "00" * 20  # Wnode.BufferSize: 0x98
        + "ab6229228061884ba825346b75f2a24a" + "01000000" + "00000200"
        + "00" * 16 + "00010000" + "00000000" + "7c00ff80" + "00" * 36 + "00000000" + "78000000"
        + "00000000"  # room for "s"
        + "07000200" + "03000200" + "07000000" + "09000000"
        + "03000300" + "21100000" + "22100000"
    )  # fmt: skip


def test_a_plain_session_has_no_extension():
    made = _core.session_properties(
        8, name="k", mode=REAL_TIME | 0x02000000, extension=False, enable_flags=7, guid=b"g" * 16
    )
    assert made[0x48:0x4C] == struct.pack("<I", 7)
    assert len(made) == 0x78 + 4
    assert made[0x18:0x28] == b"g" * 16


WRONG = [
    ({"name": ""}, "a session name has 1 to 1024 characters"),
    ({"name": "n" * 1025}, "a session name has 1 to 1024 characters"),
    ({"name": "a\0b"}, "a session name has no zero character"),
    ({"name": "a\\b"}, "a session name has no back slash"),
    ({"file": ""}, "the path of a log file has 1 to 1024 characters"),
    ({"file": "f" * 1025}, "the path of a log file has 1 to 1024 characters"),
    ({"file": "a\0b"}, "the path of a log file has no zero character"),
    ({"file": "a%d%d", "mode": 8}, "a log that goes on in new files needs exactly one %d"),
    ({"file": "a%s", "mode": 8}, "a log that goes on in new files needs exactly one %d"),
    ({"clock": 0}, "the clock is 1"),
    ({"clock": 4}, "the clock is 1"),
    ({"mode": 0}, "a session needs a log file, real time or buffering"),
    ({"file": "f", "mode": 3}, "a log is sequential or circular, not both"),
    ({"file": "f", "mode": BUFFERING | 1}, "keeps its buffers in memory has no file mode"),
    ({"file": "f", "mode": CIRCULAR}, "needs a largest size"),
    ({"mode": REAL_TIME | 0x800}, "real time goes neither with a private session"),
    ({"file": "f", "mode": 0x801}, "a private session cannot trace the heaps"),
    ({"buffer_kb": 16385}, "a buffer has at most 16384 KB"),
    ({"min_buffers": 9, "max_buffers": 8}, "the largest number of buffers is below the smallest"),
    ({"enable_flags": 1}, "kernel flags and process ids do not go together"),
    ({"hooks": [0x1021] * 257}, "stacks can be asked for at most 256 kinds of events"),
    ({"pids": ()}, "a heap session needs at least one process id"),
    ({"pids": range(65535)}, "a heap session takes at most 65534 process ids"),
    ({"pids": range(65534)}, "too many process ids and stack hooks together"),
    ({"pids": [-1]}, "a process id must be from 0"),
    ({"pids": [2**32]}, "a process id must be from 0"),
    ({"hooks": [65536]}, "a stack hook must be from 0 to 65535"),
    ({"guid": b"short"}, "guid must be 16 bytes"),
]


@pytest.mark.parametrize(("words", "message"), WRONG, ids=lambda value: str(value)[:40])
def test_limits_are_checked_first(words, message):
    with pytest.raises(ValueError, match=message.replace("(", "\\(")):
        _core.session_properties(8, **{"name": "s", "mode": REAL_TIME, "pids": (4,), **words})


def test_the_largest_number_of_pids():
    made = _core.session_properties(8, name="s", mode=REAL_TIME, pids=range(65533))
    assert struct.unpack_from("<HHHH", made, 0x7C) == (65535, 1, 65534, 2)
    assert len(made) == 0x7C + 4 * 65535


def test_types():
    with pytest.raises(ValueError, match="pointer_size is 4 or 8"):
        _core.session_properties(3, name="s")
    with pytest.raises(TypeError):
        _core.session_properties(8, name=5)
    with pytest.raises(TypeError):
        _core.session_properties(8, name="s", pids=(4,), mode=REAL_TIME, stack_cache=5)
