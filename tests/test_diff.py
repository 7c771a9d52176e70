"""Differences of snapshots over the scripted system."""

from __future__ import annotations

import pytest

import toolhelp as th

pytestmark = pytest.mark.needs("fake")

START = 133_000_000_000_000_000


@pytest.fixture
def machine(fake):
    fake.fake_system(pid=100)
    fake.fake_process(100, name="me.exe", threads=[1, 2], create_time=START)
    fake.fake_process(104, ppid=100, name="a.exe", threads=[3], create_time=START + 1)
    fake.fake_process(108, ppid=100, name="b.exe", threads=[4], create_time=START + 2)
    for pid in (100, 104, 108):
        fake.fake_module(pid, 0x10000, 1, "x.exe", "C:\\x.exe")
        fake.fake_module(pid, 0x20000, 1, "old.dll", "C:\\old.dll")
    return fake


def take(**options):
    return th.snapshot(identity=True, modules=True, **options)


def test_nothing_changed(machine):
    diff = take().diff(take())
    assert not diff
    assert diff.modules_loaded is not None
    assert len(diff.modules_loaded) == 0
    assert diff.not_compared == []
    assert diff.heap_growth is None


def test_started_exited_changed(machine):
    before = take()
    machine.fake_remove(104)
    machine.fake_process(112, ppid=108, name="new.exe", threads=[9], create_time=START + 9)
    machine.fake_thread(5, 108)
    diff = before.diff(take())
    assert [p.pid for p in diff.exited] == [104]
    assert [p.pid for p in diff.started] == [112]
    assert [(a.pid, a.num_threads, b.num_threads) for a, b in diff.changed] == [(108, 1, 2)]
    assert [t.tid for t in diff.threads_exited] == [3]
    assert [t.tid for t in diff.threads_started] == [9, 5]
    assert diff
    assert repr(diff) == "<Diff: 1 processes started, 1 exited, 1 changed>"


def test_a_reused_id_is_another_process(machine):
    before = take()
    machine.fake_remove(104)
    machine.fake_process(104, ppid=100, name="a.exe", create_time=START + 50)
    machine.fake_module(104, 0x10000, 1, "y.exe", "C:\\y.exe")
    after = take()
    diff = before.diff(after)
    assert [p.pid for p in diff.exited] == [104]
    assert [p.pid for p in diff.started] == [104]
    # Its modules are no news of a process that goes on.
    assert len(diff.modules_loaded) == len(diff.modules_unloaded) == 0


def test_an_unknown_time_falls_back_to_name_and_parent(machine):
    before = take()
    machine.fake_change(104, open_error=5)
    machine.fake_change(108, open_error=5)
    after = take()
    diff = before.diff(after)
    assert len(diff.exited) == len(diff.started) == len(diff.changed) == 0
    assert diff.not_compared == [104, 108]
    assert len(diff.modules_unloaded) == 0  # not read is not unloaded
    machine.fake_process(104, ppid=100, name="other.exe", open_error=5)
    diff = before.diff(take())
    assert [p.name for p in diff.exited] == ["a.exe"]
    assert [p.name for p in diff.started] == ["other.exe"]


def test_snapshots_with_and_without_identity(machine):
    plain = th.snapshot()
    machine.fake_remove(108)
    diff = plain.diff(take())
    assert [p.pid for p in diff.exited] == [108]
    assert len(diff.started) == 0
    assert diff.modules_loaded is None


def test_modules(machine):
    before = take()
    machine.fake_process(104, ppid=100, name="a.exe", threads=[3], create_time=START + 1)
    machine.fake_module(104, 0x10000, 1, "x.exe", "C:\\x.exe")
    machine.fake_module(104, 0x30000, 1, "new.dll", "C:\\new.dll")
    diff = before.diff(take())
    assert [(m.pid, m.name) for m in diff.modules_loaded] == [(104, "new.dll")]
    assert [(m.pid, m.name) for m in diff.modules_unloaded] == [(104, "old.dll")]


def test_heap_growth_by_size_class(machine):
    machine.fake_heap(100, 0x50000, 1, [(0x50010, 10), (0x50020, 16), (0x50040, 17)])
    before = take(heaps="sizes")
    assert [tuple(r) for r in before.heap_sizes] == [
        (100, 0x50000, 16, 2, 26),
        (100, 0x50000, 32, 1, 17),
    ]
    machine.fake_process(100, name="me.exe", threads=[1, 2], create_time=START)
    machine.fake_heap(
        100, 0x50000, 1, [(0x50010, 10), (0x50020, 16), (0x50030, 1), (0x51000, 5000)]
    )
    diff = before.diff(take(heaps="sizes"))
    assert [tuple(growth) for growth in diff.heap_growth] == [
        (100, 0x50000, 16, 2, 3, 26, 27),
        (100, 0x50000, 32, 1, 0, 17, 0),
        (100, 0x50000, 8192, 0, 1, 0, 5000),
    ]


def test_rows_of_equal_names_are_paired_in_order(fake):
    fake.fake_process(4, name="a", threads=[1])
    one = th.snapshot().threads
    twice = one.take([0, 0, 0])
    gone, new, old, now, same = fake.diff(twice, one, ("tid",))
    assert (len(gone), len(new), len(old), len(now), same) == (2, 0, 0, 0, 1)
    gone, new, *_ = fake.diff(one[:0], twice, ("tid", "owner_pid"))
    assert (len(gone), len(new)) == (0, 3)


@pytest.mark.parametrize("keys", [(), ("nothing",), ("tid",) * 9, None, (1,)])
def test_wrong_keys(fake, keys):
    fake.fake_process(4, threads=[1])
    threads = th.snapshot().threads
    with pytest.raises((TypeError, ValueError), match=r"key|column"):
        fake.diff(threads, threads, keys)


def test_tables_of_different_kinds(fake):
    fake.fake_process(4, threads=[1])
    s = th.snapshot()
    with pytest.raises(TypeError, match="one kind"):
        fake.diff(s.threads, s.processes, ("tid",))


def test_every_allocation_failing(machine):
    before = take()
    machine.fake_remove(104)
    machine.fake_process(112, name="new\ud800.exe", create_time=START + 9)
    machine.fake_thread(5, 108)
    after = take()
    count = machine.fake_alloc_count()
    whole = machine.diff(before.processes, after.processes, None)
    for n in range(1, machine.fake_alloc_count() - count + 1):
        machine.fake_alloc_fail(n)
        with pytest.raises(MemoryError):
            machine.diff(before.processes, after.processes, None)
    assert machine.diff(before.processes, after.processes, None) == whole
