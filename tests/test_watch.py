"""Watching: what changes between snapshots, for and async for."""

from __future__ import annotations

import asyncio

import pytest

import toolhelp as th
from toolhelp import watching

pytestmark = pytest.mark.needs("fake")


@pytest.fixture
def machine(fake, monkeypatch):
    """Each pause starts one more process and takes no time."""
    fake.fake_process(100, name="me.exe")
    pauses = []

    def pause(seconds):
        pauses.append(seconds)
        fake.fake_process(200 + 4 * len(pauses), name="new.exe", create_time=1)

    async def async_pause(seconds):
        pause(seconds)

    monkeypatch.setattr(watching.time, "sleep", pause)
    monkeypatch.setattr(watching.asyncio, "sleep", async_pause)
    fake.pauses = pauses
    yield fake
    del fake.pauses


def test_every_interval_gives_what_changed(machine):
    diffs = list(th.watch(5, count=3))
    assert [[p.pid for p in diff.started] for diff in diffs] == [[204], [208], [212]]
    assert all(0 < pause <= 15 for pause in machine.pauses)
    assert machine.fake_calls()["CreateToolhelp32Snapshot"] == 4
    assert diffs[0].after is diffs[1].before


def test_async(machine):
    async def collect():
        return [diff async for diff in th.watch(0.5, count=2)]

    assert [len(diff.started) for diff in asyncio.run(collect())] == [1, 1]


def test_options_go_to_the_snapshots(machine):
    (diff,) = th.watch(1, count=1, modules=True)
    assert diff.modules_loaded is not None
    assert diff.after.has_identity
    (diff,) = th.watch(1, count=1, identity=False)
    assert not diff.after.has_identity


def test_it_states_its_blind_spot(machine):
    assert "2.5 s apart, is not seen" in th.watch(2.5).blind_spot


def test_errors_end_it(machine):
    watch = th.watch(1)
    next(watch)
    machine.fake_fail("CreateToolhelp32Snapshot", code=5)
    with pytest.raises(th.AccessDenied):
        next(watch)
    assert list(th.watch(1, count=0)) == []


@pytest.mark.parametrize("wrong", [{"interval": 0}, {"interval": -1}, {"count": -1}])
def test_wrong_arguments(machine, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        th.watch(**wrong)
