"""The tree of processes over the scripted system: links, cycles, reused ids."""

from __future__ import annotations

import pytest

import toolhelp as th

pytestmark = pytest.mark.needs("fake")

START = 133_000_000_000_000_000


def tree_of(fake, *rows):
    """rows: (pid, ppid, time), time None for a process that may not be opened."""
    for pid, ppid, time in rows:
        fake.fake_process(
            pid,
            ppid=ppid,
            name=f"p{pid}",
            create_time=START + (time or 0),
            open_error=5 if time is None else 0,
        )
    return th.tree()


def links(tree):
    return {n.pid: (n.parent, n.link) for n in tree}


def test_the_parent_must_not_be_younger(fake):
    # The ids are in the wrong order on purpose: they say nothing.
    tree = tree_of(fake, (90, 0, 10), (80, 90, 9), (70, 90, 10), (60, 90, 11))
    assert links(tree) == {
        90: (None, "dead"),
        80: (None, "reused"),
        70: (90, "live"),
        60: (90, "live"),
    }
    assert [n.pid for n in tree.roots] == [90, 80]
    assert [n.pid for n in tree.children(90)] == [70, 60]


def test_a_missing_time_is_unverified_and_not_dropped(fake):
    tree = tree_of(fake, (4, 0, None), (8, 4, 5), (12, 8, None), (16, 12, 6))
    assert links(tree) == {
        4: (None, "dead"),
        8: (4, "unverified"),
        12: (8, "unverified"),
        16: (12, "unverified"),
    }
    assert list(tree.nodes["depth"]) == [0, 1, 2, 3]


def test_without_identity_every_link_is_unverified(fake):
    tree_of(fake, (4, 0, 1), (8, 4, 0))
    tree = th.snapshot().tree()
    assert links(tree)[8] == (4, "unverified")


def test_rings_are_cut_once_and_told(fake):
    tree = tree_of(
        fake,
        (10, 30, 5),  # 10 -> 30 -> 20 -> 10
        (20, 10, 5),
        (30, 20, 5),
        (40, 30, 5),  # hangs on the ring
        (50, 60, 5),  # 50 <-> 60
        (60, 50, 5),
        (70, 70, 5),  # its own parent
        (0, 0, None),
    )
    assert sorted(n.pid for n in tree) == [0, 10, 20, 30, 40, 50, 60, 70]
    assert sorted(map(sorted, tree.cycles)) == [[10, 20, 30], [50, 60]]
    found = links(tree)
    assert found[10] == (None, "cycle")
    assert found[20] == (10, "live")
    assert found[30] == (20, "live")
    assert found[40] == (30, "live")
    assert found[50] == (None, "cycle")
    assert found[60] == (50, "live")
    assert found[70] == (None, "self")
    assert found[0] == (None, "self")
    assert [n.cycle is None for n in tree if n.pid in (40, 70, 0)] == [True] * 3


def test_order_depth_and_children(fake):
    tree = tree_of(
        fake, (1, 0, 1), (2, 1, 2), (3, 1, 3), (4, 2, 4), (5, 3, 5), (6, 4, 6), (7, 9, 7)
    )
    assert [(n.pid, n.depth, n.children) for n in tree] == [
        (1, 0, 2),
        (2, 1, 1),
        (4, 2, 1),
        (6, 3, 0),
        (3, 1, 1),
        (5, 2, 0),
        (7, 0, 0),
    ]
    assert [n.pid for n in tree.children(2, recursive=True)] == [4, 6]
    assert [n.pid for n in tree.children(1)] == [2, 3]
    assert tree.node(6).name == "p6"
    assert [tree.processes[n.row].pid for n in tree] == [n.pid for n in tree]
    with pytest.raises(KeyError):
        tree.node(99)
    assert str(tree).splitlines()[:3] == ["p1 (1) [parent 0 has exited]", "  p2 (2)", "    p4 (4)"]


def test_a_ring_of_a_hundred_thousand(fake):
    fake.fake_fill(100_000)
    s = th.snapshot(identity=True)
    assert len(s.tree()) == 100_000
    # The same ids as one long chain, and as one ring, through a saved table.
    count = 100_000
    from array import array

    def table(ppids):
        pids = array("I", range(1, count + 1)).tobytes()
        zeros = bytes(4 * count)
        columns = (
            (pids, None, None),
            (array("I", ppids).tobytes(), None, None),
            (zeros, None, ("a.exe",)),
            (zeros, None, None),
            (zeros, None, None),
        )
        return fake.build_table("Process", count, columns)

    chain = th.Tree(table(range(count)))
    assert max(chain.nodes["depth"]) == count - 1
    assert chain.cycles == []
    ring = th.Tree(table([count, *range(1, count)]))
    assert len(ring) == count
    assert [len(cycle) for cycle in ring.cycles] == [count]
    assert len(ring.roots) == 1


def test_a_process_that_is_listed_twice(fake):
    fake.fake_process(4, name="a", create_time=START)
    one = th.snapshot(identity=True).processes
    fake.fake_process(8, ppid=4, name="b", create_time=START + 1)
    s = th.snapshot(identity=True)
    twice = s.processes.take([0, 0, 1])
    tree = th.Tree(twice)
    assert [(n.pid, n.depth) for n in tree] == [(4, 0), (8, 1), (4, 0)]
    assert len(th.Tree(one[:0])) == 0
    assert [n.pid for n in th.Tree(s.processes[1:])] == [8]


def test_the_wrong_table(fake):
    with pytest.raises(TypeError, match="Table of Process"):
        th.Tree(th.snapshot().threads)


def test_every_allocation_failing(fake):
    processes = tree_of(fake, (1, 0, 1), (2, 1, 2), (3, 9, None)).processes
    before = fake.fake_alloc_count()
    whole = fake.tree(processes)
    for n in range(1, fake.fake_alloc_count() - before + 1):
        fake.fake_alloc_fail(n)
        with pytest.raises(MemoryError):
            fake.tree(processes)
    assert fake.tree(processes) == whole
