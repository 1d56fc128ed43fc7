"""The graph under construction: nodes in compile order, edges in the order Salt adds them.

Which dependents pull a state forward depends on the order of its edges, so the graph keeps that order. The final graph,
numbered in serial order, is made from this one when everything is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from asyncstate.model.plan import NodeKind
from asyncstate.model.requisite import RequisiteKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from asyncstate.compile.low.lowstate import Draft

KINDS = tuple(RequisiteKind)
REQUIRE = RequisiteKind.REQUIRE.weight
PREREQ = RequisiteKind.PREREQ.weight
PREREQUIRED = RequisiteKind.PREREQUIRED.weight
SET_MEMBER = len(KINDS)
GROUP_MEMBER = SET_MEMBER + 1
"""The kind of an edge is a number: the weight of its requisite, or SET_MEMBER from a member to its set, or GROUP_MEMBER
to an aggregate group and from it to its members."""

_NONE: Final[list[int]] = []
"""The edges of every node that has none: one list, which never changes, for most nodes of a large tree."""

KIND_BITS = 4
KIND_MASK = (1 << KIND_BITS) - 1


class RequisiteGraph:
    """Nodes ``0 … len(drafts)-1`` are the drafts; checks, sets and groups are added behind them.

    ``chunk[n]`` is the draft of a node, -1 for sets and groups. ``after[n]`` are the nodes that wait for ``n``, and
    ``kinds[n]`` the kinds of those edges, both in the order the edges were added. ``requisites[n]``, if there are any,
    are those of draft n, each as one number: ``node << 4 | kind``.
    """

    def __init__(self, drafts: list[Draft]) -> None:
        size = len(drafts)
        self.drafts: list[Draft] = drafts
        self.chunk: list[int] = list(range(size))
        self.kind: list[NodeKind] = [NodeKind.CHUNK] * size
        self.after: list[list[int]] = [_NONE] * size
        self.kinds: list[list[int]] = [_NONE] * size
        self.requisites: dict[int, dict[int, None]] = {}
        self.members: dict[int, tuple[int, ...]] = {}
        self.label: dict[int, str] = {}
        self.check_of: dict[int, int] = {}

    def add_edge(self, before: int, after: int, kind: int) -> None:
        """Make ``after`` wait for ``before``."""
        if self.after[before]:
            self.after[before].append(after)
            self.kinds[before].append(kind)
        else:
            self.after[before] = [after]
            self.kinds[before] = [kind]

    def edges_from(self, node: int) -> Iterator[tuple[int, int]]:
        """Yield (after, kind) for each edge from a node, in the order they were added."""
        return zip(self.after[node], self.kinds[node], strict=True)

    def require(self, number: int, node: int, kind: int) -> bool:
        """Add a requisite to a draft; return False if the draft has it already."""
        requisites = self.requisites.get(number)
        if requisites is None:
            requisites = self.requisites[number] = {}
        packed = node << KIND_BITS | kind
        if packed in requisites:
            return False
        requisites[packed] = None
        return True

    def requisites_of(self, number: int) -> Iterator[tuple[int, int]]:
        """Yield (kind, node) for each requisite of a draft, in order."""
        for packed in self.requisites.get(number, ()):
            yield packed & KIND_MASK, packed >> KIND_BITS

    def add_node(self, kind: NodeKind, chunk: int = -1) -> int:
        """Add a node."""
        self.chunk.append(chunk)
        self.kind.append(kind)
        self.after.append(_NONE)
        self.kinds.append(_NONE)
        return len(self.chunk) - 1

    def add_set(self, members: tuple[int, ...], label: str) -> int:
        """Add a node that ends when all its members have ended."""
        node = self.add_node(NodeKind.SET)
        self.members[node] = members
        self.label[node] = label
        for member in members:
            self.add_edge(member, node, SET_MEMBER)
        return node

    def seen_in(self, nodes: Iterable[int]) -> list[int]:
        """Return the drafts of ``nodes`` without repetition. A draft with a check takes the place of the check."""
        return list(dict.fromkeys(self.chunk[node] for node in nodes if self.chunk[node] >= 0))

    def empty(self) -> None:
        """Drop drafts, requisites and edges: a plan has been made of them, and a large tree is not held twice."""
        for held in (self.drafts, self.requisites, self.after, self.kinds):
            held.clear()

    def in_degrees(self) -> list[int]:
        """Return how many edges lead to each node; double edges count twice."""
        waiting = [0] * len(self.chunk)
        for targets in self.after:
            for target in targets:
                waiting[target] += 1
        return waiting
