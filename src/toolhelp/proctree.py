"""The tree of processes: who started whom, as far as that can be known."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from . import _core
from ._core import Table, TreeNode

__all__ = ["Tree", "TreeNode"]


class Tree:
    """Processes under the processes that started them.

    `nodes` is a Table of `TreeNode` in the order of printing: a process, then everything under it.
    Windows records the id of the parent when a process is created and never corrects it, so a link
    is accepted only when the parent was created no later than the child. `TreeNode.link` says what
    was found: live, unverified (a time is missing; accepted), dead, reused (the id belongs to a
    younger process), cycle (accepting it would close a ring; cut at its first process), self.
    """

    nodes: Table[TreeNode]
    processes: Table[Any]

    def __init__(self, processes: Table[Any]) -> None:
        self.processes = processes
        self.nodes = _core.tree(processes)

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[TreeNode]:
        return iter(self.nodes)

    def __repr__(self) -> str:
        return f"<Tree of {len(self)} processes, {len(self.roots)} of them roots>"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """A line for each process, indented by its depth, with what is odd about its parent."""
        return [
            f"{'  ' * node.depth}{node.name} ({node.pid}){self._remark(node)}"
            for node in self.nodes
        ]

    @staticmethod
    def _remark(node: TreeNode) -> str:
        return {
            "dead": f" [parent {node.ppid} has exited]",
            "reused": f" [parent {node.ppid} has exited; its id is in use again]",
            "cycle": f" [parent {node.ppid} would close a ring]",
            "unverified": " [unverified]",
        }.get(node.link, "")

    @cached_property
    def _places(self) -> dict[int, int]:
        places: dict[int, int] = {}
        for place, pid in enumerate(self.nodes["pid"]):
            places.setdefault(pid, place)
        return places

    def node(self, pid: int) -> TreeNode:
        """The node of a process; `KeyError` when it is not in the tree."""
        return self.nodes[self._places[pid]]

    @property
    def roots(self) -> list[TreeNode]:
        """Processes without an accepted parent."""
        return [self.nodes[i] for i, depth in enumerate(self.nodes["depth"]) if depth == 0]

    def children(self, pid: int, recursive: bool = False) -> list[TreeNode]:
        """Processes directly under a process, or all under it; `KeyError` when it is not there."""
        place = self._places[pid]
        depths = self.nodes["depth"]
        found = []
        for i in range(place + 1, len(self.nodes)):
            if depths[i] <= depths[place]:
                break
            if recursive or depths[i] == depths[place] + 1:
                found.append(self.nodes[i])
        return found

    @property
    def cycles(self) -> list[list[int]]:
        """Rings of recorded parents that were met and cut: the ids of each."""
        rings: dict[int, list[int]] = {}
        for node in self.nodes:
            if node.cycle is not None:
                rings.setdefault(node.cycle, []).append(node.pid)
        return [rings[number] for number in sorted(rings)]
