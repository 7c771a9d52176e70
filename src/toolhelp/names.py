"""Names of stack frames: `module+0xoffset`, and the one door for symbols."""

from __future__ import annotations

import fnmatch
import re
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

NO_CLASS = 0xFFFFFFFF

Symbolizer = Callable[[Any, int], str | None]
"""Called with a row of `Trace.modules` and an offset from its base; gives the name of the function
there, or None. Called once per distinct frame."""


class Frame(NamedTuple):
    """One frame of a stack: a return address, and what was there."""

    address: int
    module: str | None
    """Name of the module's file; None: nothing known was there."""
    offset: int
    """From the module's base; the address itself without one."""
    symbol: str | None
    """Name of the function, where symbols were given."""

    def __str__(self) -> str:
        if self.module is None:
            return f"0x{self.address:x}"
        if self.symbol is not None:
            return f"{stem(self.module)}!{self.symbol}"
        return f"{self.module}+0x{self.offset:x}"

    def texts(self) -> tuple[str, ...]:
        """What a pattern may match."""
        if self.module is None:
            return (str(self),)
        place = f"{self.module}+0x{self.offset:x}"
        if self.symbol is None:
            return (place, f"{stem(self.module)}+0x{self.offset:x}")
        return (place, f"{self.module}!{self.symbol}", f"{stem(self.module)}!{self.symbol}")


def stem(module: str) -> str:
    """The name without `.dll` or `.exe`."""
    name, dot, end = module.rpartition(".")
    return name if dot and end.lower() in ("dll", "exe", "sys") else module


class Pattern:
    """A part of a frame's name, whatever the case; `*` stands for anything, `^` and `$` for the
    ends of the name."""

    def __init__(self, text: str) -> None:
        self.text = text
        body = text.removeprefix("^")
        start = "" if body == text else "^"
        if body.endswith("$"):
            body, end = body[:-1], "$"
        else:
            end = ""
        middle = ".*".join(re.escape(part) for part in body.split("*"))
        self._search = re.compile(start + middle + end, re.IGNORECASE | re.DOTALL).search

    def __call__(self, frame: Frame) -> bool:
        return any(self._search(text) for text in frame.texts())


class ModulePattern:
    """The name of a module, with or without its extension, whatever the case; `*` and `?` stand for
    anything."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._wanted = text.casefold()

    def __call__(self, frame: Frame) -> bool:
        if frame.module is None:
            return False
        name = frame.module.casefold()
        return any(fnmatch.fnmatchcase(part, self._wanted) for part in (name, stem(name)))


#: Modules in which the memory is handed out, but which are not the reason for it.
ALLOCATORS = (
    "ntdll",
    "kernelbase",
    "kernel32",
    "ucrtbase",
    "ucrtbased",
    "msvcrt",
    "msvcr*",
    "msvcp*",
    "vcruntime*",
    "verifier",
    "vrfcore",
    "vfbasics",
    "wow64",
    "wow64cpu",
)

#: Functions of the same kind, in programs that have the C run time in themselves.
ALLOCATOR_FUNCTIONS = (
    "!malloc$",
    "!calloc$",
    "!realloc$",
    "!_malloc_base$",
    "!_calloc_base$",
    "!_realloc_base$",
    "!_malloc_dbg$",
    "!operator new",
    "!HeapAlloc$",
    "!RtlAllocateHeap$",
    "!std::allocator",
    "!std::_Allocate",
)

Test = Callable[[Frame], bool]


def default_cull() -> list[Test]:
    """Tests for the frames that say nothing about who asked for the memory."""
    return [*map(ModulePattern, ALLOCATORS), *map(Pattern, ALLOCATOR_FUNCTIONS)]


class Names:
    """The frames of an analysis by number."""

    def __init__(self, frames: Any, modules: Any, symbols: Symbolizer | None = None) -> None:
        self._addresses: Sequence[int] = frames["address"]
        self._offsets: Sequence[int] = frames["offset"]
        self._rows: list[int | None] = list(frames["module"])
        self._modules = modules
        self._module_names = modules["name"]
        self._symbols = symbols
        self._made: dict[int, Frame] = {}
        self._classes: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, number: int) -> Frame:
        frame = self._made.get(number)
        if frame is None:
            frame = self._made[number] = self._make(number)
        return frame

    def _make(self, number: int) -> Frame:
        row, offset = self._rows[number], self._offsets[number]
        if row is None:
            return Frame(self._addresses[number], None, offset, None)
        symbol = None
        if self._symbols is not None:
            symbol = self._symbols(self._modules[row], offset)
        name = self._module_names[row] or "?"
        return Frame(self._addresses[number], name, offset, symbol)

    def module_classes(self) -> tuple[array[int], list[str | None]]:
        """For every frame the number of its module, and the names by number. Modules are the same
        when their names are, whatever the case; None: frames outside of all modules."""
        names: list[str | None] = []
        numbers: dict[str | None, int] = {}
        of_row: dict[int | None, int] = {}
        classes = array("I")
        for row in self._rows:
            number = of_row.get(row)
            if number is None:
                name = None if row is None else self._module_names[row] or "?"
                key = None if name is None else name.casefold()
                if key not in numbers:
                    numbers[key] = len(names)
                    names.append(name)
                number = of_row[row] = numbers[key]
            classes.append(number)
        return classes, names

    def function_classes(self) -> tuple[array[int], list[str | None]]:
        """For every frame the number of its function, and the names by number. Without symbols
        every return address is a function of its own."""
        modules, _ = self.module_classes()
        names: list[str | None] = []
        numbers: dict[tuple[int, int | str], int] = {}
        classes = array("I")
        for frame, (module, offset) in enumerate(zip(modules, self._offsets, strict=True)):
            key: tuple[int, int | str] = (module, offset)
            if self._symbols is not None and self[frame].symbol is not None:
                key = (module, str(self[frame].symbol))
            number = numbers.get(key)
            if number is None:
                number = numbers[key] = len(names)
                names.append(str(self[frame]))
            classes.append(number)
        return classes, names

    def where(self, tests: Iterable[Test]) -> list[bool]:
        """For every frame whether one of the tests accepts it."""
        tests = list(tests)
        return [any(test(self[number]) for test in tests) for number in range(len(self))]
