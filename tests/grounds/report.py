"""Runs grounds one after the other and says how each of them ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from grounds.command import Failed, Missing


@dataclass(frozen=True)
class Ground:
    name: str
    budget: int
    body: Callable[..., None]
    meets: frozenset[str] = field(default_factory=frozenset)
    """The words of `--require` that a test run on this ground can meet."""


@dataclass(frozen=True)
class Result:
    name: str
    state: str
    seconds: float
    budget: int
    note: str = ""

    def line(self) -> str:
        time_spent = f"{self.seconds:5.0f} s of {self.budget:3d} s"
        over = " (over)" if self.seconds > self.budget else ""
        return f"{self.name:<11} {self.state:<8} {time_spent}{over}  {self.note}".rstrip()


def run_one(ground: Ground, required: Iterable[str], start: Callable[[], None]) -> Result:
    """Run `start`; a missing ground is a failure if it is required by name."""
    print(f"\n== {ground.name} (budget {ground.budget} s)", flush=True)
    began = time.monotonic()
    state, note = "passed", ""
    try:
        start()
    except Missing as reason:
        state, note = "skipped", str(reason).strip()
        if ground.name in required:
            state, note = "FAILED", f"required, but: {note}"
    except Failed as reason:
        state, note = "FAILED", str(reason)
    result = Result(ground.name, state, time.monotonic() - began, ground.budget, note)
    print(f"== {result.line()}", flush=True)
    return result


def unmet(required: Iterable[str], grounds: Iterable[Ground], results: list[Result]) -> list[str]:
    """Words of `--require` for which no ground that could meet them passed."""
    passed = {result.name for result in results if result.state == "passed"}
    able: set[str] = set()
    for ground in grounds:
        if ground.name in passed:
            able |= {ground.name, *ground.meets}
    return [word for word in required if word not in able]


def summary(results: list[Result], unmet_words: list[str]) -> str:
    lines = ["", "Grounds:", *(f"  {result.line()}" for result in results)]
    total = sum(result.seconds for result in results)
    lines.append(f"  {'together':<20} {total:5.0f} s of {sum(r.budget for r in results):3d} s")
    if unmet_words:
        lines.append(f"Required and not there: {', '.join(unmet_words)}.")
    return "\n".join(lines)
