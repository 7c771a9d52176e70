"""Snapshots over the fake system: what is listed, and how failures are told."""

from __future__ import annotations

import pytest

import toolhelp as th

pytestmark = pytest.mark.needs("fake")


def test_endless_24_ends_at_its_deadline(fake):
    fake.fake_fail("CreateToolhelp32Snapshot", code=24, persist=True)
    began = fake.fake_clock_now()
    with pytest.raises(th.SnapshotRace) as caught:
        th.processes()
    assert fake.fake_clock_now() - began == 250_000_000
    assert caught.value.attempts == fake.fake_calls()["CreateToolhelp32Snapshot"] > 1
    assert caught.value.winerror == 24
