"""Dag: a directed graph over small integers, with the few algorithms that a plan needs, all iterative."""

from __future__ import annotations

from collections import deque
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_SEARCH_BUDGET = 5_000_000
"""The most edges visited in a search for a short cycle: it stays quick in a dense graph of 100,000 nodes."""


_BLOCK = 4096
"""The number of nodes looked up in one pass over the graph: bounds the memory for a plan of 100,000 states."""


_SHIFT = 32
_MASK = (1 << _SHIFT) - 1
"""An edge is stored under one number, ``before << 32 | after``: half the memory of a tuple, and quicker."""

_SINGLE: dict[str, tuple[str, ...]] = {}
"""Most edges have one source; those tuples are shared."""


_NONE: list[int] = []
"""The neighbours of every node without any: one list, which never changes, for most nodes of a large graph."""

FOOTPRINT = "footprint"
"""The source of an edge between two nodes that touch the same resource, at least one of them writing it."""
STAGE = "stage"
"""The source of an edge between states of different explicit orders, through a STAGE node."""
FILE_ORDER = "file"
"""The source of an edge between states that run one after another because a file has them so."""
GROUP = "group"
"""The source of an edge to a GROUP node, and from it to its members."""
SET = "set"
"""The source of an edge from a member of a SET node to it."""


class Edge(NamedTuple):
    """An edge: ``before`` ends before ``after`` starts, because of ``source``: a requisite kind, a stage, a footprint.

    For a footprint, ``resources`` are the names of the resources that both touch.
    """

    before: int
    after: int
    source: str
    resources: tuple[str, ...] = ()


class Dag:
    """A directed multigraph over nodes ``0 … size-1``; parallel edges with different sources are kept once each."""

    __slots__ = ("_after", "_before", "_resources", "_sources", "size")

    def __init__(self, size: int = 0) -> None:
        self.size: int = size
        self._after: list[list[int]] = [_NONE] * size
        self._before: list[list[int]] = [_NONE] * size
        self._sources: dict[int, tuple[str, ...]] = {}
        self._resources: dict[int, tuple[str, ...]] = {}

    def add_node(self) -> int:
        """Add a node and return its number."""
        self._after.append(_NONE)
        self._before.append(_NONE)
        self.size += 1
        return self.size - 1

    def add(self, before: int, after: int, source: str, resources: tuple[str, ...] = ()) -> None:
        """Add an edge, with the ``resources`` that cause it. Adding the same edge again changes nothing."""
        key = before << _SHIFT | after
        sources = self._sources.get(key)
        if sources is None:
            single = _SINGLE.get(source)
            if single is None:
                single = _SINGLE[source] = (source,)
            self._sources[key] = single
            _put(self._after, before, after)
            _put(self._before, after, before)
            if resources:
                self._resources[key] = resources
            return
        if source not in sources:
            self._sources[key] = (*sources, source)
        if resources:
            self._resources[key] = tuple(dict.fromkeys(self._resources.get(key, ()) + resources))

    def successors(self, node: int) -> Sequence[int]:
        """Nodes that wait for ``node``, in the order the edges were added."""
        return self._after[node]

    def predecessors(self, node: int) -> Sequence[int]:
        """Nodes that ``node`` waits for, in the order the edges were added."""
        return self._before[node]

    def sources(self, before: int, after: int) -> tuple[str, ...]:
        """The reasons for an edge; empty if there is no such edge."""
        return self._sources.get(before << _SHIFT | after, ())

    def resources(self, before: int, after: int) -> tuple[str, ...]:
        """The resources that both nodes touch, if they cause the edge: ``path:/etc/x``, ``user:www``."""
        return self._resources.get(before << _SHIFT | after, ())

    def edges(self) -> Iterator[Edge]:
        """Every edge, once for each source, in the order of their first appearance."""
        for key, sources in self._sources.items():
            for source in sources:
                resources = self._resources.get(key, ()) if source == FOOTPRINT else ()
                yield Edge(key >> _SHIFT, key & _MASK, source, resources)

    def joined(self) -> Iterator[tuple[int, int, tuple[str, ...], tuple[str, ...]]]:
        """Every pair of joined nodes: before, after, the sources of the edge, and its resources."""
        resources = self._resources
        for key, sources in self._sources.items():
            yield key >> _SHIFT, key & _MASK, sources, resources.get(key, ())

    def copy(self) -> Dag:
        """Return the same graph, to be changed apart from this one."""
        other = Dag(self.size)
        other._after = [after and after[:] for after in self._after]
        other._before = [before and before[:] for before in self._before]
        other._sources, other._resources = self._sources.copy(), self._resources.copy()
        return other

    def renamed(self, rename: Callable[[int, int, tuple[str, ...]], tuple[str, ...]]) -> Dag:
        """Return the same graph with other names of resources: ``rename(before, after, resources)``.

        Nodes and edges are shared with this graph, which must not be changed afterwards.
        """
        other = Dag()
        other.size, other._after, other._before, other._sources = self.size, self._after, self._before, self._sources
        other._resources = {
            key: rename(key >> _SHIFT, key & _MASK, resources) for key, resources in self._resources.items()
        }
        return other

    def packed(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Every pair of joined nodes as one number, with its sources; for fingerprints of large graphs."""
        return iter(self._sources.items())

    def in_degrees(self) -> list[int]:
        """The number of distinct nodes that each node waits for."""
        return [len(before) for before in self._before]

    def topological_order(self, key: Callable[[int], Any]) -> list[int]:
        """Return the nodes in topological order; among free nodes, the one with the smallest key comes first.

        This is Kahn's algorithm with a heap. ``key`` is called when a node becomes free. Returns fewer than ``size``
        nodes if the graph has a cycle.
        """
        waiting = self.in_degrees()
        heap = [(key(node), node) for node in range(self.size) if not waiting[node]]
        heapify(heap)
        order = []
        while heap:
            node = heappop(heap)[1]
            order.append(node)
            for successor in self._after[node]:
                waiting[successor] -= 1
                if not waiting[successor]:
                    heappush(heap, (key(successor), successor))
        return order

    def unordered(self, pairs: set[tuple[int, int]]) -> set[tuple[int, int]]:
        """Return the pairs without a path between their nodes. Needs an acyclic graph."""
        left = {(one, two) for one, two in pairs if not self.sources(one, two)}
        asked = sorted({node for pair in left for node in pair})
        order = self.topological_order(lambda node: node) if asked else []
        ordered: set[tuple[int, int]] = set()
        for start in range(0, len(asked), _BLOCK):
            bit = {node: 1 << number for number, node in enumerate(asked[start : start + _BLOCK])}
            before = [0] * self.size
            for node in order:
                mask = bit.get(node, 0)
                for other in self.predecessors(node):
                    mask |= before[other]
                before[node] = mask
            for one, two in left:
                if bit.get(one, 0) & before[two] or bit.get(two, 0) & before[one]:
                    ordered.add((one, two))
        return left - ordered

    def components(self) -> list[list[int]]:
        """Return the strongly connected components, each before its successors: Tarjan's algorithm."""
        number, low = dict[int, int](), dict[int, int]()
        stack, open_, found = list[int](), set[int](), list[list[int]]()
        for root in range(self.size):
            path = [(root, iter(self._after[root]))] if root not in number else []
            while path:
                node, successors = path[-1]
                if node not in number:
                    number[node] = low[node] = len(number)
                    stack.append(node)
                    open_.add(node)
                after = next((each for each in successors if each not in number or each in open_), None)
                if after is not None and after not in number:
                    path.append((after, iter(self._after[after])))
                    continue
                if after is not None:
                    low[node] = min(low[node], number[after])
                    continue
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == number[node]:
                    component = [stack.pop()]
                    while component[-1] != node:
                        component.append(stack.pop())
                    open_.difference_update(component)
                    found.append(sorted(component))
        return found[::-1]

    def critical_path(self, weights: Sequence[float]) -> tuple[float, list[int]]:
        """Return the heaviest path through the graph and its weight. Needs an acyclic graph."""
        best = list(weights)
        via = [-1] * self.size
        for node in self.topological_order(lambda node: node):
            for successor in self._after[node]:
                weight = best[node] + weights[successor]
                if weight > best[successor]:
                    best[successor], via[successor] = weight, node
        if not best:
            return 0.0, []
        node = max(range(self.size), key=lambda node: best[node])
        total, path = best[node], []
        while node != -1:
            path.append(node)
            node = via[node]
        return total, path[::-1]

    def find_cycle(self) -> list[int]:
        """Return the nodes of a shortest cycle in order, or [] if there is none.

        Nodes outside every cycle are removed first. Then, for one node after the other, a breadth-first search finds
        the shortest cycle through it, and the node is removed. In graphs that are too large for that, a short cycle is
        returned instead of the shortest.
        """
        for node in range(self.size):
            if self.sources(node, node):
                return [node]
        alive = self._nodes_on_cycles(set(range(self.size)))
        best: list[int] = []
        budget = _SEARCH_BUDGET
        while alive and budget > 0:
            start = min(alive)
            cycle, cost = self._shortest_cycle_through(start, alive, len(best))
            budget -= cost + len(alive)
            if cycle:
                best = cycle
            if len(best) == 2:
                break
            alive.discard(start)
            alive = self._nodes_on_cycles(alive)
        return best

    def _nodes_on_cycles(self, alive: set[int]) -> set[int]:
        """Remove nodes without predecessor or successor among ``alive``, repeatedly; return the rest."""
        for step, back in ((self._after, self._before), (self._before, self._after)):
            waiting = {node: sum(other in alive for other in back[node]) for node in alive}
            free = [node for node, count in waiting.items() if not count]
            while free:
                node = free.pop()
                alive.discard(node)
                for other in step[node]:
                    if other in waiting and other in alive:
                        waiting[other] -= 1
                        if not waiting[other]:
                            free.append(other)
        return alive

    def _shortest_cycle_through(self, start: int, alive: set[int], limit: int) -> tuple[list[int], int]:
        """Return the shortest cycle through ``start`` of fewer than ``limit`` nodes (0: any), and the edges visited."""
        via = {start: -1}
        depth = {start: 1}
        queue = deque([start])
        cost = 0
        while queue:
            node = queue.popleft()
            if limit and depth[node] >= limit:
                break
            for successor in self._after[node]:
                cost += 1
                if successor == start:
                    cycle = [node]
                    while via[node] != -1:
                        node = via[node]
                        cycle.append(node)
                    return cycle[::-1], cost
                if successor in alive and successor not in via:
                    via[successor] = node
                    depth[successor] = depth[node] + 1
                    queue.append(successor)
        return [], cost


def _put(neighbours: list[list[int]], node: int, other: int) -> None:
    if neighbours[node]:
        neighbours[node].append(other)
    else:
        neighbours[node] = [other]
