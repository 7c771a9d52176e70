from __future__ import annotations
import pytest
import toolhelp as th
pytestmark = pytest.mark.needs("fake")

def test_x(fake):
    fake.fake_process(4242, 1, "me.exe", threads=[1, 2])
    fake.fake_process(7, 4242, "a\ud800b.exe", threads=[3], base_priority=13)
    fake.fake_module(7, 0x7ff000000, 0x1000, "a.dll", "C:\\" + "x" * 400 + "\\a.dll")
    print(list(th.processes()), list(th.threads()), list(th.modules(7)), fake.fake_calls())
    with pytest.raises(th.SnapshotRace) as e:
        fake.fake_fail("CreateToolhelp32Snapshot", code=24, persist=True)
        th.processes()
    print(e.value, fake.fake_clock_now(), fake.fake_sleeps())
